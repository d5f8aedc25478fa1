"""Memory for the sweeps of `sweep`, their compiled form, and what they give as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.restricted.entry import Code, Entry
from draisine.optimal.adjoint.sweep import Sweep
from draisine.simulation.methods.tableau import Scheme

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


@cache
def compiled_sweep() -> Code:
    """Machine code of `sweep.sweep`, from disk if this machine has compiled it before."""
    return Entry("draisine.optimal.adjoint.sweep", "sweep", ()).load()


@dataclass(frozen=True, eq=False)
class Jacobian:
    """Derivatives of a cost of the discrete motion."""

    costates: Reals  # (steps + 1, states) by the state at each end of a step
    inputs: Reals  # (pieces, inputs)
    parameters: Reals
    duration: float


class Runner:
    """Steps through given fractions τ of the duration, forward and backward; `piece` tells which inputs hold in each step."""

    def __init__(self, forward: Kernel, backward: Kernel, scheme: Scheme, fractions: Reals, piece: Indices) -> None:
        self._kernels, self.fractions = (forward, backward), np.asarray(fractions, dtype=float)
        self.sweep = s = Sweep()
        s.steps, s.stages = len(fractions) - 1, scheme.stages
        s.width, s.states, s.inputs = forward.outputs[0].size, forward.inputs[1].size, forward.inputs[2].size
        s.varied, reported = backward.outputs[2].size, forward.outputs[1].size
        s.forward_kernel, s.backward_kernel = forward.address, backward.address
        s.piece = np.ascontiguousarray(piece, dtype=np.int64)
        s.nodes = np.ascontiguousarray(scheme.nodes[: s.stages])
        s.weights = np.ascontiguousarray(scheme.weights[: s.stages + 1, : s.stages])
        pieces, width, stages = int(piece.max()) + 1, s.width, s.stages
        s.allocate(
            {
                **dict.fromkeys(("time", "by_time"), (1,)),
                "times": (s.steps + 1,),
                **dict.fromkeys(("input", "input_slope"), (pieces, s.inputs)),
                "parameter": (forward.inputs[3].size,),
                **dict.fromkeys(("state", "costate"), (s.steps + 1, width)),
                **dict.fromkeys(("point", "rate", "pull"), (stages, width)),
                "told": (stages, reported),
                "load": (width,),
                "by_x": (s.states,),
                "by_input": (s.inputs,),
                **dict.fromkeys(("by_parameter", "parameter_slope"), (s.varied,)),
                "length_slope": (s.steps,),
                "time_slope": (2, s.steps),
            }
        )
        self._run: Callable[[Sweep], int] = compiled_sweep()

    # ---------------------------------------------------------------- sweeps

    def forward(self, begin: float, duration: float, x: Reals, inputs: Reals, p: Reals) -> Reals | None:
        """States and the integral of the cost (steps + 1, w), or None where the motion does not stay finite."""
        s = self.sweep
        s.times[:] = begin + duration * self.fractions
        s.input[...] = inputs.reshape(s.input.shape)
        s.parameter[: p.size] = p
        s.state[0] = 0.0
        s.state[0, : s.states] = x
        s.backward = 0
        return s.state if self._run(s) == s.steps else None

    def backward(self, seed: Reals, integral: float = 1.0) -> Jacobian:
        """Derivatives of seedᵀx(end) + integral × ∫ cost, about the motion that `forward` has made last."""
        s = self.sweep
        s.input_slope[:], s.parameter_slope[:] = 0.0, 0.0
        s.costate[-1] = [*seed, integral]
        s.backward = 1
        self._run(s)
        at, spans = self.fractions[:-1], np.diff(self.fractions)
        moved, shifted = s.time_slope
        # of a step both its length, T Δτ, and its beginning, T τ, change with the duration T
        by_duration = float(spans @ (s.length_slope + shifted) + at @ moved)
        return Jacobian(s.costate[:, : s.states].copy(), s.input_slope.copy(), s.parameter_slope.copy(), by_duration)
