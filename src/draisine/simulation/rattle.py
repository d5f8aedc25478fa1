"""RATTLE with fixed steps, on compiled kernels of one step.

The kernels come from outside (`dynamics/dae/stabilization/hamiltonian.py` makes their programs): one solves for the velocities
before and after the drift and for the tensions, to rounding, for a symplectic method is one only if its equations hold; the other
finishes the step. Steps are handed to the stepping loop with cubic polynomials, so that samples, events and records are those of
all other methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.restricted.record import bound_kernel
from draisine.simulation.methods.sundials import SCHEME
from draisine.simulation.methods.tableau import Scheme
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Memory

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RATTLE:
    """A method for `integrate`: steps of equal length, none longer than `step`, for the mechanism whose kernels it has.

    `drift`: (z, q, v, h, p) → z, the velocities and tensions of a step; `kick`: of the same → q and v at its end.
    """

    drift: Kernel
    kick: Kernel
    step: float
    max_steps: int = 1_000_000_000

    @property
    def order(self) -> int:
        return 2

    @property
    def adaptive(self) -> bool:
        return False

    @property
    def implicit(self) -> bool:
        return False

    @property
    def scheme(self) -> Scheme:
        return SCHEME

    @property
    def starter(self) -> Scheme:
        return SCHEME


class RattleStepper:
    """Advances a run like the stepping loop: call it with the stepper."""

    def __init__(self, method: RATTLE, memory: Memory, loop: Callable[[Stepper], int]) -> None:
        self._memory, self._loop = memory, loop
        self._pending = False  # a step was made and not yet taken
        z, q, v, _, _ = (slot.size for slot in method.drift.inputs)
        self._given = [np.zeros(size) for size in (z, q, v, 1, len(memory.parameters))]
        self._given[4][:] = memory.parameters
        self._end = np.zeros(q), np.zeros(v)
        self._rates = np.zeros((2, memory.stepper.states))
        self._known = -1  # the step at whose end the rate is known
        self._solution = np.zeros(z)
        self._drift = bound_kernel(method.drift.address, self._given, [self._solution])
        self._kick = bound_kernel(method.kick.address, self._given, self._end)
        s = memory.stepper
        given = (s.time, s.point, s.u, s.parameters)
        self._derivatives = [bound_kernel(s.dynamics, given, [rate]) for rate in self._rates]

    def __call__(self, stepper: Stepper) -> int:
        budget = int(stepper.budget)
        if stepper.phase != layout.RUNNING:
            stepper.budget = 0
            reason = self._loop(stepper)
            if reason != layout.PAUSED:
                return reason
            z, n = self._given[0], len(self._given[2])
            z[:] = 0.0
            z[:n] = z[n : 2 * n] = self._memory.state[n : 2 * n]
            self._pending, self._known = False, -1
        stepper.budget = 1
        for _ in range(budget):
            if stepper.t == stepper.end:
                return layout.REACHED
            if not self._pending and not self._step():
                stepper.bad_time, stepper.trouble = stepper.t, layout.DIVERGED
                return layout.UNSOLVED
            reason = self._loop(stepper)
            self._pending = reason == layout.FULL
            if reason not in (layout.PAUSED, layout.REACHED):
                return int(reason)
        return layout.PAUSED

    def _step(self) -> bool:
        """One step, put where the loop looks for it; False if its equations have no solution."""
        stepper, state = self._memory.stepper, self._memory.state
        _, q, v, h, _ = self._given
        n = len(q)
        q[:], v[:], h[0] = state[:n], state[n : 2 * n], stepper.h
        self._drift()
        self._given[0][:] = self._solution
        self._kick()
        stepper.evaluations += 1
        new = stepper.new
        new[: stepper.states] = state  # further states stay as they are
        new[:n], new[n : 2 * n] = self._end
        if not np.isfinite(new[: stepper.states]).all():
            return False
        stepper.index += 1
        last = stepper.index >= stepper.planned
        stepper.given_time = stepper.end if last else stepper.origin + stepper.index * stepper.h
        if stepper.events or self._samples_before(stepper.given_time):
            self._interpolate()
        return True

    def _interpolate(self) -> None:
        """The cubic polynomial through states and rates."""
        stepper = self._memory.stepper
        x, new, f, count = self._memory.state, stepper.new, stepper.dense, stepper.states
        if self._known == stepper.index - 1:
            self._rates[0] = self._rates[1]
        else:
            self._rate(stepper.t, x, 0)
        self._rate(stepper.given_time, new[:count], 1)
        self._known = int(stepper.index)
        rise, first, second = new[:count] - x, stepper.h * self._rates[0], stepper.h * self._rates[1]
        f[:, :count] = 0.0
        f[0, :count], f[1, :count], f[2, :count] = rise, first - rise, 2.0 * rise - first - second

    def _rate(self, t: float, x: Reals, row: int) -> None:
        stepper = self._memory.stepper
        stepper.time[0], stepper.point[: len(x)] = t, x
        self._derivatives[row]()
        stepper.evaluations += 1

    def _samples_before(self, time: float) -> bool:
        stepper = self._memory.stepper
        if stepper.sampled >= stepper.samples:
            return False
        ahead = time - stepper.sample_time[stepper.sampled]
        return bool(ahead > 0.0 if stepper.end >= stepper.t else ahead < 0.0)
