"""RATTLE with fixed steps, on compiled kernels of one step.

The kernels come from outside (`draisine.equations.drift.hamiltonian` makes their programs): one makes a step of Newton's method
for the velocities before and after the drift and for the tensions, the other finishes the step. Every step is solved to
rounding, for a symplectic method is one only if its equations hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.kernels.kernel import Kernel
from draisine.program.equations import Equations
from draisine.results.status import Ending, Status
from draisine.simulation.result import Run, Segment

Reals = NDArray[np.float64]

_MOST_ITERATIONS = 50
_SETTLED = 1e-13  # part of the velocities' size below which a change is rounding
_PROGRESS = 0.05  # seconds between two words on progress


@dataclass(frozen=True, eq=False)
class RattleKernels:
    """`drift`: (z, q, v, h, p) → z after a step of Newton's method, and its size; `kick`: of the same → q and v at the end."""

    equations: Equations
    drift: Kernel
    kick: Kernel
    dynamics: Kernel
    rows: int


def rattle(
    kernels: RattleKernels,
    x0: Reals,
    until: float,
    step: float,
    parameters: Reals,
    samples: Reals | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Steps of equal length, none longer than `step`, from t = 0 to `until`. Without samples the steps are kept; samples between
    two steps are taken from cubic polynomials."""
    began = told = time.perf_counter()
    count = max(1, math.ceil(abs(until) / step - 1e-9))
    h = until / count
    n = len(kernels.equations.coordinates)
    states = np.tile(x0, (count + 1, 1))  # further states stay as they are
    velocities = slice(n, 2 * n)
    z = np.concatenate([x0[velocities], x0[velocities], np.zeros(kernels.rows)])
    evaluations, done = 0, 0
    status = Status(Ending.FINISHED, f"reached t = {until:g} s")
    try:
        for k in range(count):
            q, v = states[k, :n], states[k, velocities]
            z, spent = _solved(kernels.drift, z, q, v, h, parameters)
            evaluations += spent
            q_new, v_new = kernels.kick(z, q, v, [h], parameters)
            states[k + 1, :n], states[k + 1, velocities] = q_new, v_new
            if spent >= _MOST_ITERATIONS or not np.all(np.isfinite(states[k + 1])):
                status = Status(
                    Ending.NOT_FINITE,
                    f"the equations of a step of RATTLE could not be solved at t = {k * h:.6g} s; a shorter step than {abs(h):g} "
                    "s may do, unless the constraints are singular there",
                )
                break
            done = k + 1
            now = time.perf_counter()
            if progress is not None and now - told > _PROGRESS:
                told = now
                progress(done / count)
    except KeyboardInterrupt:
        status = Status(Ending.INTERRUPTED, f"interrupted at t = {done * h:.6g} s")
    elapsed = time.perf_counter() - began
    steps = np.append(np.arange(done) * h, until if done == count else done * h)
    return _run(kernels, steps, states[: done + 1], samples, parameters, status, (evaluations, elapsed))


def _solved(drift: Kernel, z: Reals, q: Reals, v: Reals, h: float, parameters: Reals) -> tuple[Reals, int]:
    """Newton's method, until a step of it is rounding, or is no smaller than the last when that was small already."""
    last = math.inf
    for k in range(1, _MOST_ITERATIONS + 1):
        z, (change,) = drift(z, q, v, [h], parameters)
        size = 1.0 + float(np.max(np.abs(z[: 2 * len(q)])))
        if change <= _SETTLED * size or (change >= last and last <= 1e4 * _SETTLED * size):
            return z, k
        if not math.isfinite(change):
            return z, _MOST_ITERATIONS
        last = float(change)
    return z, _MOST_ITERATIONS


def _run(
    kernels: RattleKernels,
    steps: Reals,
    states: Reals,
    samples: Reals | None,
    parameters: Reals,
    status: Status,
    cost: tuple[int, float],
) -> Run:
    times, kept = steps, states
    if samples is not None:
        times = samples[np.abs(samples) <= abs(steps[-1])]
        if not status.complete and (not len(times) or times[-1] != steps[-1]):
            times = np.append(times, steps[-1])
        inputs = np.zeros(len(kernels.equations.inputs))
        (slopes,) = kernels.dynamics.map(steps[:, None], states, inputs, parameters)
        kept = _between(steps, states, slopes, times)
    segment = Segment(kernels.equations, times, kept, np.zeros((len(times), len(kernels.equations.inputs))), steps)
    return Run(
        segments=(segment,),
        events=(),
        status=status,
        final_time=float(steps[-1]),
        final_state=states[-1].copy(),
        evaluations=cost[0],
        accepted=len(steps) - 1,
        rejected=0,
        method=f"RATTLE with a fixed step of {abs(float(steps[1])) if len(steps) > 1 else 0.0:g} s, as asked for",
        seconds={"integrate": cost[1]},
    )


def _between(steps: Reals, states: Reals, slopes: Reals, times: Reals) -> Reals:
    """Cubic Hermite polynomials through states and slopes."""
    if len(steps) == 1:
        return np.repeat(states, len(times), axis=0)
    sign = 1.0 if steps[-1] >= steps[0] else -1.0
    k = np.clip(np.searchsorted(sign * steps, sign * times, side="right") - 1, 0, len(steps) - 2)
    h = (steps[k + 1] - steps[k])[:, None]
    s = ((times - steps[k])[:, None]) / h
    ends = (1 + 2 * s) * (1 - s) ** 2 * states[k] + s**2 * (3 - 2 * s) * states[k + 1]
    return np.asarray(ends + h * s * (1 - s) * ((1 - s) * slopes[k] - s * slopes[k + 1]))
