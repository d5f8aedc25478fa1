"""Reports at points of a run, some of which may slide on a switching surface.

Where a run slides, the report is evaluated with the mixed law that the loop has recorded (`stepper.mixture`): the friction force
of a body at rest, the equivalent control of a relay. Elsewhere it is the report as written.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.program.mixed_branches import fix_program, mix_program
from draisine.program.switching import find_switching
from draisine.simulation.stepper.layout import MEANS, ONE_SIDED

Reals = NDArray[np.float64]


@lru_cache(maxsize=64)
def reporter(equations: Equations) -> Kernel:
    """The compiled report of equations."""
    return compile(equations.report)


@lru_cache(maxsize=64)
def _mixed_reporter(equations: Equations, count: int) -> Kernel:
    """The compiled report with mixed branches, which are appended to p."""
    found = [find_switching(equations, free_kinks) for free_kinks in (True, False)]  # sensitivities fix kinks, too
    switching = next(known for known in found if known is not None and len(known.switches) == count)
    return compile(mix_program(switching, fix_program(switching, equations.report)))


def reported(equations: Equations, t: Reals, x: Reals, u: Reals, p: Reals, mixture: Reals | None) -> dict[str, Reals]:
    """The results of the report by name, points in rows; p is one row or one for each point."""
    names = [slot.name for slot in equations.report.outputs]
    found = dict(zip(names, reporter(equations).map(t[:, None], x, u, p), strict=True))
    slides = sliding_rows(mixture)
    if mixture is not None and slides.size:
        own = p[slides] if p.ndim > 1 else np.tile(p, (slides.size, 1))
        mixed = sliding_report(equations, t[slides], x[slides], u[slides], own, mixture[slides])
        for name, values in mixed.items():
            found[name][slides] = values
    return found


def sliding_rows(mixture: Reals | None) -> NDArray[np.intp]:
    """The points at which a run slides."""
    return np.zeros(0, dtype=np.intp) if mixture is None else np.flatnonzero(mixture[:, 0] != ONE_SIDED)


def sliding_report(equations: Equations, t: Reals, x: Reals, u: Reals, p: Reals, mixture: Reals) -> dict[str, Reals]:
    """The results of the report at points at which the run slides, all with their mixture."""
    names = [slot.name for slot in equations.report.outputs]
    kernel = _mixed_reporter(equations, mixture.shape[1] - 1)

    def at(rows: NDArray[np.intp] | slice, branches: Reals) -> list[Reals]:
        return list(kernel.map(t[rows, None], x[rows], u[rows], np.column_stack([p[rows], branches])))

    found = at(slice(None), mixture[:, 1:])
    for row in np.flatnonzero(mixture[:, 0] == MEANS):
        branches = mixture[row, 1:]
        low = np.floor(branches)
        first = at(np.array([row]), low[None])
        mean = [values.copy() for values in first]
        for i in np.flatnonzero(branches != low):
            other = at(np.array([row]), (low + (np.arange(low.size) == i))[None])
            for total, begin, end in zip(mean, first, other, strict=True):
                total += (branches[i] - low[i]) * (end - begin)
        for whole, values in zip(found, mean, strict=True):
            whole[row] = values[0]
    return dict(zip(names, found, strict=True))
