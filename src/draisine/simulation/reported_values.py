"""What a run tells: everything named, at every sample, from the report of its equations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.results.assembly import Block, Piece, block, energy_block, power_block, residual_block
from draisine.results.channel import Group
from draisine.simulation.run import Segment


@lru_cache(maxsize=64)
def reporter(equations: Equations) -> Kernel:
    """The compiled report of equations."""
    return compile(equations.report)


def account(segment: Segment, p: np.ndarray) -> Piece:
    """A part of a run with all that its equations say about it."""
    equations = segment.equations
    kernel = reporter(equations)
    names = [slot.name for slot in equations.report.outputs]
    reported = dict(zip(names, kernel.map(segment.times[:, None], segment.states, segment.inputs, p), strict=True))
    blocks = blocks_of(equations, segment.states[:, : len(equations.coordinates)], reported)
    return Piece(segment.times, blocks, independent=equations.independent)


def blocks_of(equations: Equations, coordinates: np.ndarray, reported: Mapping[str, np.ndarray]) -> tuple[Block, ...]:
    """Coordinates and what the report tells, samples in rows, as blocks of named columns."""
    count = len(coordinates)
    blocks = [
        block(Group.COORDINATES, equations.coordinates, coordinates),
        block(Group.VELOCITIES, equations.velocities, reported["v"].reshape(count, -1)),
        block(Group.INPUTS, equations.inputs, reported["inputs"].reshape(count, -1)),
        block(Group.OUTPUTS, equations.outputs, reported["outputs"].reshape(count, -1)),
        block(Group.MULTIPLIERS, equations.multipliers, reported["multipliers"].reshape(count, -1)),
        residual_block(equations.constraints, reported["residuals"].reshape(count, -1)),
    ]
    if "energy" in reported:  # a first-order system need not have one
        blocks.append(energy_block(*reported["energy"].reshape(count, 3).T))
        blocks.append(power_block(equations.inputs, reported["power"].reshape(count, -1)))
    return tuple(blocks)
