"""Symplectic runs: RATTLE for holonomic constraints, Gauss–Legendre in coordinates and momenta without constraints.

The kernels of a RATTLE step come from `dynamics/dae/stabilization/hamiltonian.py`. One solves for the velocities before and after
the drift and for the multipliers, to rounding error, because the method is symplectic only if its equations hold; the other
completes the step. Steps are passed to the stepping loop with cubic interpolants, so that samples, events and records work as for
all other methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.restricted.types import bound_kernel
from draisine.dynamics.dae.stabilization.hamiltonian import Momenta, in_momenta, rattle_step
from draisine.dynamics.stabilization import Rattle, Symplectic
from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.results.status import ProgressCallback
from draisine.simulation.compiled_equations import CompiledEquations, VelocityChoices, prepare
from draisine.simulation.methods.gauss import Gauss
from draisine.simulation.methods.selection import Method
from draisine.simulation.methods.sundials import SCHEME
from draisine.simulation.methods.tableau import Advance, Scheme
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.sampled_control import EveryStage, Sampled
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import Stepper
from draisine.simulation.stepper.memory import Memory

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RATTLE:
    """RATTLE as a method for `integrate`: equal steps, none longer than `step`, for the mechanism of its kernels.

    `drift`: (z, q, v, h, p) → z, the velocities and multipliers of a step; `kick`: the same → q and v at its end.
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

    def stepper(
        self, memory: Memory, equations: CompiledEquations, loop: Advance, command: Callable[[], None] | None
    ) -> RattleStepper:
        return RattleStepper(self, memory, loop)


class RattleStepper:
    """Advances a run: called with the `Stepper`, like the stepping loop."""

    def __init__(self, method: RATTLE, memory: Memory, loop: Advance) -> None:
        self._memory, self._loop = memory, loop
        self._pending = False  # a step was made and is not yet accepted
        z, q, v, _, _ = (slot.size for slot in method.drift.inputs)
        self._given = [np.zeros(size) for size in (z, q, v, 1, len(memory.parameters))]
        self._given[4][:] = memory.parameters
        self._end = np.zeros(q), np.zeros(v)
        self._rates = np.zeros((2, memory.stepper.states))
        self._known = -1  # index of the step at whose end the rate is known
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
                stepper.bad_time, stepper.solver_failure = stepper.t, layout.DIVERGED
                return layout.UNSOLVED
            reason = self._loop(stepper)
            self._pending = reason == layout.FULL
            if reason not in (layout.PAUSED, layout.REACHED):
                return int(reason)
        return layout.PAUSED

    def _step(self) -> bool:
        """Make one step and store it for the loop; False if its equations have no solution."""
        stepper, state = self._memory.stepper, self._memory.state
        _, q, v, h, _ = self._given
        n = len(q)
        q[:], v[:], h[0] = state[:n], state[n : 2 * n], stepper.h
        self._drift()
        self._given[0][:] = self._solution
        self._kick()
        stepper.evaluations += 1
        new = stepper.new
        new[: stepper.states] = state  # further states are constant
        new[:n], new[n : 2 * n] = self._end
        if not np.isfinite(new[: stepper.states]).all():
            return False
        stepper.index += 1
        last = stepper.index >= stepper.planned_steps
        stepper.external_time = stepper.end if last else stepper.origin + stepper.index * stepper.h
        if stepper.events or self._memory.has_sample_before(stepper.external_time):
            self._interpolate()
        return True

    def _interpolate(self) -> None:
        """Coefficients of the cubic Hermite polynomial through states and rates."""
        stepper = self._memory.stepper
        x, new, f, count = self._memory.state, stepper.new, stepper.dense, stepper.states
        if self._known == stepper.index - 1:
            self._rates[0] = self._rates[1]
        else:
            self._rate(stepper.t, x, 0)
        self._rate(stepper.external_time, new[:count], 1)
        self._known = int(stepper.index)
        rise, first, second = new[:count] - x, stepper.h * self._rates[0], stepper.h * self._rates[1]
        f[:, :count] = 0.0
        f[0, :count], f[1, :count], f[2, :count] = rise, first - rise, 2.0 * rise - first - second

    def _rate(self, t: float, x: Reals, row: int) -> None:
        stepper = self._memory.stepper
        stepper.time[0], stepper.point[: len(x)] = t, x
        self._derivatives[row]()
        stepper.evaluations += 1


def check_symplectic(drift: Rattle | Symplectic, method: Method | None, control: Sampled | EveryStage | None) -> None:
    """Refuse a method or a control: a symplectic run has its own method, and no control."""
    name = type(drift).__name__
    if method is not None:
        raise ArgumentError(
            f"{name} is an integration method itself, with steps of {drift.step:g} s; leave out method={method!r}"
        )
    if control is not None:
        raise ArgumentError(f"{name} is for conservative mechanisms without control; leave out control=…")


def symplectic_run(
    drift: Rattle | Symplectic,
    equations: Equations,
    x0: Reals,
    until: float,
    inputs: Reals,
    parameters: Reals,
    samples: Reals | None,
    progress: ProgressCallback | None = None,
) -> Run:
    """A symplectic run from a state of equations in which no velocity is eliminated; its states are theirs."""
    name = type(drift).__name__
    if np.any(inputs != 0.0):
        pushed = equations.inputs[int(np.argmax(inputs != 0.0))].name
        raise ArgumentError(f"{equations.name}: {name} is for conservative mechanisms, but the input {pushed!r} is not zero")
    if isinstance(drift, Symplectic):
        return _in_momenta(drift, equations, x0, until, parameters, samples, progress)
    choices, solve, finish = _rattle_kernels(equations)
    method = RATTLE(solve, finish, drift.step)
    return integrate(choices, x0, until, parameters=parameters, method=method, samples=samples, progress=progress)


@lru_cache(maxsize=16)
def _rattle_kernels(equations: Equations) -> tuple[VelocityChoices, Kernel, Kernel]:
    """Kernels of a step. Projection is off: it would destroy symplecticity, and the step satisfies the constraints."""
    step = rattle_step(equations)
    return prepare(replace(equations, project=None, monitor=None)), compile(step.drift), compile(step.kick)


@lru_cache(maxsize=16)
def _momenta_kernels(equations: Equations) -> tuple[Momenta, VelocityChoices, Kernel, Kernel]:
    form = in_momenta(equations)
    return form, prepare(form.equations), compile(form.to_momenta), compile(form.to_velocities)


def _in_momenta(
    drift: Symplectic,
    equations: Equations,
    x0: Reals,
    until: float,
    parameters: Reals,
    samples: Reals | None,
    progress: ProgressCallback | None,
) -> Run:
    _, choices, to_momenta, to_velocities = _momenta_kernels(equations)
    n = len(equations.coordinates)
    (momenta,) = to_momenta(x0[:n], x0[n : 2 * n], parameters)
    method = Gauss(step=drift.step, stages=drift.order // 2)
    begin = np.concatenate([x0[:n], momenta])
    run = integrate(choices, begin, until, parameters=parameters, method=method, samples=samples, progress=progress)

    def reported(state: Reals) -> Reals:
        (speeds,) = to_velocities(state[:n], state[n:], parameters)
        return np.concatenate([state[:n], speeds, x0[2 * n :]])

    def all_reported(states: Reals) -> Reals:
        if len(states) < 2:  # a single sample would be read as a vector of numbers
            return np.array([reported(x) for x in states]).reshape(len(states), len(x0))
        (speeds,) = to_velocities.map(states[:, :n], states[:, n:], parameters)
        return np.hstack([states[:, :n], speeds, np.tile(x0[2 * n :], (len(states), 1))])

    segments = tuple(s._replace(equations=equations, states=all_reported(s.states)) for s in run.segments)
    events = tuple(e._replace(state=reported(e.state)) for e in run.events)
    return replace(run, segments=segments, events=events, final_state=reported(run.final_state))
