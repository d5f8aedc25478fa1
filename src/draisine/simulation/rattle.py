"""RATTLE with fixed steps, on compiled kernels of one step.

The kernels come from outside (`dynamics/dae/stabilization/hamiltonian.py` makes their programs): one solves for the velocities
before and after the drift and for the tensions, to rounding, for a symplectic method is one only if its equations hold; the other
finishes the step. Steps are handed to the stepping loop with cubic polynomials, so that samples, events and records are those of
all other methods.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.simulation.methods.explicit_tableau import Scheme
from draisine.simulation.methods.sundials import SCHEME
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.memory import Memory
from draisine.simulation.stepper.native import KERNEL

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
    """Advances a run like the stepping loop: call it with the address of the block."""

    def __init__(self, method: RATTLE, memory: Memory, loop: Callable[[int], int]) -> None:
        self._memory, self._loop = memory, loop
        self._pending = False  # a step was made and not yet taken
        z, q, v, _, _ = (slot.size for slot in method.drift.inputs)
        self._given = [np.zeros(size) for size in (z, q, v, 1, len(memory.parameters))]
        self._given[4][:] = memory.parameters
        self._end = np.zeros(q), np.zeros(v)
        self._rates = np.zeros((2, memory.block.states))
        self._known = -1  # the step at whose end the rate is known
        self._solution = np.zeros(z)
        self._drift = _bound(method.drift, self._given, [self._solution])
        self._kick = _bound(method.kick, self._given, self._end)

    def __call__(self, address: int) -> int:
        block = self._memory.block
        budget = int(block.budget)
        if block.phase != layout.RUNNING:
            block.budget = 0
            reason = self._loop(address)
            if reason != layout.PAUSED:
                return reason
            z, n = self._given[0], len(self._given[2])
            z[:] = 0.0
            z[:n] = z[n : 2 * n] = self._memory.state[n : 2 * n]
            self._pending, self._known = False, -1
        block.budget = 1
        for _ in range(budget):
            if block.t == block.end:
                return layout.REACHED
            if not self._pending and not self._step():
                block.bad_time, block.trouble = block.t, layout.DIVERGED
                return layout.UNSOLVED
            reason = self._loop(address)
            self._pending = reason == layout.FULL
            if reason not in (layout.PAUSED, layout.REACHED):
                return int(reason)
        return layout.PAUSED

    def _step(self) -> bool:
        """One step, put where the loop looks for it; False if its equations have no solution."""
        block, arrays, state = self._memory.block, self._memory.arrays, self._memory.state
        _, q, v, h, _ = self._given
        n = len(q)
        q[:], v[:], h[0] = state[:n], state[n : 2 * n], block.h
        self._drift()
        self._given[0][:] = self._solution
        self._kick()
        block.evaluations += 1
        new = arrays["new_at"]
        new[: block.states] = state  # further states stay as they are
        new[:n], new[n : 2 * n] = self._end
        if not np.isfinite(new[: block.states]).all():
            return False
        block.index += 1
        last = block.index >= block.planned
        block.given_time = block.end if last else block.origin + block.index * block.h
        if block.events or self._samples_before(block.given_time):
            self._interpolate()
        return True

    def _interpolate(self) -> None:
        """The cubic polynomial through states and rates."""
        block, arrays = self._memory.block, self._memory.arrays
        x, new, f, count = self._memory.state, arrays["new_at"], arrays["dense_at"], block.states
        if self._known == block.index - 1:
            self._rates[0] = self._rates[1]
        else:
            self._rate(block.t, x, 0)
        self._rate(block.given_time, new[:count], 1)
        self._known = int(block.index)
        rise, first, second = new[:count] - x, block.h * self._rates[0], block.h * self._rates[1]
        f[:, :count] = 0.0
        f[0, :count], f[1, :count], f[2, :count] = rise, first - rise, 2.0 * rise - first - second

    def _rate(self, t: float, x: Reals, row: int) -> None:
        arrays = self._memory.arrays
        arrays["time_at"][0], arrays["point_at"][: len(x)] = t, x
        arrays["results"][0] = self._rates[row].ctypes.data
        KERNEL(self._memory.block.dynamics)(int(arrays["arguments"].ctypes.data), int(arrays["results"].ctypes.data))
        self._memory.block.evaluations += 1

    def _samples_before(self, time: float) -> bool:
        block = self._memory.block
        if block.sampled >= block.samples:
            return False
        ahead = time - self._memory.arrays["sample_time_at"][block.sampled]
        return bool(ahead > 0.0 if block.end >= block.t else ahead < 0.0)


def _bound(kernel: Kernel, given: list[Reals], taken: list[Reals] | tuple[Reals, ...]) -> Callable[[], None]:
    """A call of a kernel on arrays that stay where they are."""
    arguments = (ctypes.c_void_p * len(given))(*[array.ctypes.data for array in given])
    results = (ctypes.c_void_p * len(taken))(*[array.ctypes.data for array in taken])
    run, at, to = KERNEL(kernel.address), ctypes.addressof(arguments), ctypes.addressof(results)
    alive = (kernel, arguments, results)  # what the pointers point to

    def call() -> None:
        run(at, to)
        assert alive

    return call
