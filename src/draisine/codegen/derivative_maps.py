"""Dynamics, steps and runs as maps with exact derivatives, forward and reverse, over batches (`as_maps`).

A map has `value`, `forward` (the change of its result along changes of its arguments) and `reverse` (the gradient of a weighted
sum of its results by its arguments), all on arrays with an axis of samples first. Derivatives of programs are compiled
(`codegen`): a tangent program, and an adjoint program that costs a few evaluations for any number of arguments. Those of steps
and runs are the exact derivatives of the discrete method, stage by stage, forward in time and back again. A step projects a
state whose residual exceeds a limit; its derivative is always projected, because states beside it would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.runge_kutta import RK4 as TABLEAU
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import FIXED_STEP_RESIDUAL, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.switching import switching_functions

Reals = NDArray[np.float64]
Arguments = tuple[Reals, Reals, Reals, Reals]  # t (batch, 1), x (batch, n), u (batch, m), p (batch, k)
SLOTS = ("t", "x", "u", "p")


class DifferentiableMap(Protocol):
    """A map of several arrays to one; shapes are those of one sample."""

    @property
    def argument_shapes(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def result_shape(self) -> tuple[int, ...]: ...

    def value(self, *arguments: Reals) -> Reals: ...

    def forward(self, arguments: Sequence[Reals], changes: Sequence[Reals]) -> Reals: ...

    def reverse(self, arguments: Sequence[Reals], weights: Reals) -> tuple[Reals, ...]: ...


@dataclass(frozen=True, eq=False)
class ProgramMap:
    """The first result of a program of (t, x, u, p)."""

    program: Program | LinearSolveProgram

    @property
    def argument_shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple((slot.size,) for slot in self.program.inputs)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (self.program.outputs[0].size,)

    @cached_property
    def kernel(self) -> Kernel:
        return compile(self.program, vectorized=True)

    @cached_property
    def _tangent(self) -> Kernel:
        assert isinstance(self.program, Program)
        symbols, value = self._symbols()
        change = ca.SX.sym("change", sum(s.numel() for s in symbols))
        slots = {**dict(zip(SLOTS, symbols, strict=True)), "change": change}
        along = ca.jtimes(value, ca.vertcat(*symbols), change)
        return compile(Program.build(f"{self.program.name}_tangent", slots, {"along": along}, shared=True), vectorized=True)

    @cached_property
    def _adjoint(self) -> Kernel:
        assert isinstance(self.program, Program)
        symbols, value = self._symbols()
        weights = ca.SX.sym("weights", value.numel())
        slots = {**dict(zip(SLOTS, symbols, strict=True)), "weights": weights}
        gradient = ca.jtimes(value, ca.vertcat(*symbols), weights, True)
        return compile(Program.build(f"{self.program.name}_adjoint", slots, {"gradient": gradient}, shared=True), vectorized=True)

    def _symbols(self) -> tuple[list[ca.SX], ca.SX]:
        assert isinstance(self.program, Program)
        symbols = self.program.symbols()
        return symbols, self.program.function.call(symbols)[0]

    @cached_property
    def _jacobians(self) -> tuple[Kernel, ...]:
        """By each argument, where linear systems are solved at run time."""
        return tuple(compile(self.program.jacobian(self.program.outputs[0].name, slot.name)) for slot in self.program.inputs)

    def _matrices(self, arguments: Sequence[Reals]) -> list[Reals]:
        shape = (len(arguments[0]), self.program.outputs[0].size)
        return [np.asarray(kernel.map(*arguments)[0]).reshape(*shape, -1) for kernel in self._jacobians]

    def value(self, *arguments: Reals) -> Reals:
        return np.asarray(self.kernel.map(*arguments)[0])

    def forward(self, arguments: Sequence[Reals], changes: Sequence[Reals]) -> Reals:
        if isinstance(self.program, LinearSolveProgram):
            pairs = zip(self._matrices(arguments), changes, strict=True)
            return np.asarray(sum(np.einsum("sij,sj->si", matrix, change) for matrix, change in pairs))
        return np.asarray(self._tangent.map(*arguments, np.concatenate(changes, axis=1))[0])

    def reverse(self, arguments: Sequence[Reals], weights: Reals) -> tuple[Reals, ...]:
        if isinstance(self.program, LinearSolveProgram):
            return tuple(np.einsum("sij,si->sj", matrix, weights) for matrix in self._matrices(arguments))
        gradient = np.asarray(self._adjoint.map(*arguments, np.ascontiguousarray(weights))[0])
        ends = np.cumsum([slot.size for slot in self.program.inputs])[:-1]
        return tuple(np.split(gradient, ends, axis=1))


@dataclass(eq=False)
class _Trace:
    """What the derivative of a step needs: its stage points, and the states before each projection with those whose change is
    projected."""

    stages: list[Arguments] = field(default_factory=list)
    projections: list[tuple[Arguments, NDArray[np.bool_]]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class StepMap:
    """(t, x, u, p) → the state after one step of the classical Runge–Kutta method, projected where its residual is too large.

    States beyond which the choice of independent velocities is ill-conditioned are NaN: `simulate` changes the choice there.
    """

    equations: Equations
    step: float

    def __post_init__(self) -> None:
        names = switching_functions(self.equations) if self.equations.can_switch else None
        if names is not None:
            raise ArgumentError(
                f"the state derivative of {self.equations.name!r} switches "
                f"({', '.join(names.outputs[0].labels[:3])}), and "
                "derivatives of fixed steps across a switch would be wrong; simulate(…, sensitivity=…) has their jumps"
            )

    @property
    def argument_shapes(self) -> tuple[tuple[int, ...], ...]:
        return self.dynamics.argument_shapes

    @property
    def result_shape(self) -> tuple[int, ...]:
        return self.dynamics.result_shape

    @cached_property
    def dynamics(self) -> ProgramMap:
        return ProgramMap(self.equations.explicit)

    @cached_property
    def _project(self) -> ProgramMap | None:
        return None if self.equations.project is None else ProgramMap(self.equations.project)

    @cached_property
    def _monitor(self) -> Kernel | None:
        return None if self.equations.monitor is None else compile(self.equations.monitor, vectorized=True)

    @property
    def _threshold(self) -> float:
        return self.equations.limits.residual or FIXED_STEP_RESIDUAL

    def value(self, *arguments: Reals) -> Reals:
        return self.traced(arguments)[0]

    def traced(self, arguments: Sequence[Reals]) -> tuple[Reals, _Trace]:
        """The new states, and what the reverse sweep needs."""
        t, x, u, p = arguments
        trace, h = _Trace(), self.step
        rates: list[Reals] = []
        for row, node in zip(TABLEAU.a, TABLEAU.c, strict=True):
            point = x + h * _sum(row[: len(rates)], rates, x)
            trace.stages.append((t + node * h, point, u, p))
            rates.append(self.dynamics.value(*trace.stages[-1]))
        new = x + h * _sum(TABLEAU.b, rates, x)
        new = self._projected((t + h, new, u, p), trace)
        if self._monitor is not None:
            condition = np.asarray(self._monitor.map(t + h, new, u, p)[0])[:, 0]
            new[~(condition <= self.equations.limits.condition)] = np.nan
        return new, trace

    def _projected(self, arguments: Arguments, trace: _Trace) -> Reals:
        t, x, u, p = arguments
        if self._project is None:
            return x
        moved = np.zeros(len(x), dtype=bool)
        for _ in range(self.equations.limits.projections):
            projected, error = self._project.kernel.map(t, x, u, p)
            away = np.asarray(error)[:, 0] > self._threshold
            if not away.any():
                break
            moved |= away
            trace.projections.append(((t, x, u, p), away))
            x = np.where(away[:, None], projected, x)
        if moved.any():  # one Newton step more: derivatives converge one step later than values
            trace.projections.append(((t, x, u, p), moved))
            x = np.where(moved[:, None], self._project.value(t, x, u, p), x)
        if np.isfinite(self._threshold) and not moved.all():
            # A state on the constraints stays as it is, but one beside it would be projected: so is its change.
            trace.projections.append(((t, x, u, p), ~moved))
        return x

    def forward(self, arguments: Sequence[Reals], changes: Sequence[Reals]) -> Reals:
        return self.forward_traced(self.traced(arguments)[1], changes)

    def forward_traced(self, trace: _Trace, changes: Sequence[Reals]) -> Reals:
        """The change of the new state, with the stages known."""
        dt, dx, du, dp = changes
        rates: list[Reals] = []
        for row, stage in zip(TABLEAU.a, trace.stages, strict=True):
            rates.append(self.dynamics.forward(stage, (dt, dx + self.step * _sum(row[: len(rates)], rates, dx), du, dp)))
        change = dx + self.step * _sum(TABLEAU.b, rates, dx)
        for before, away in trace.projections:
            assert self._project is not None
            change = np.where(away[:, None], self._project.forward(before, (dt, change, du, dp)), change)
        return change

    def reverse(self, arguments: Sequence[Reals], weights: Reals) -> tuple[Reals, ...]:
        return self.reverse_traced(self.traced(arguments)[1], weights)

    def reverse_traced(self, trace: _Trace, weights: Reals) -> tuple[Reals, ...]:
        """Gradients by t, x, u and p, with the stages known."""
        total = [np.zeros((len(weights), *shape)) for shape in self.argument_shapes]
        for before, away in reversed(trace.projections):
            assert self._project is not None
            found = self._project.reverse(before, np.where(away[:, None], weights, 0.0))
            weights = np.where(away[:, None], found[1], weights)
            for k in (0, 2, 3):
                total[k] += found[k]
        later = [self.step * b * weights for b in TABLEAU.b]  # weights of the rates
        total[1] += weights
        for row in reversed(range(len(later))):
            found = self.dynamics.reverse(trace.stages[row], later[row])
            for k, part in enumerate(found):
                total[k] += part
            for j in range(row):
                later[j] = later[j] + self.step * TABLEAU.a[row][j] * found[1]
        return tuple(total)


def _sum(weights: Reals, rates: Sequence[Reals], like: Reals) -> Reals:
    total = np.zeros_like(like)
    for weight, rate in zip(weights, rates, strict=True):
        if weight != 0.0:
            total += weight * rate
    return total


@dataclass(frozen=True, eq=False)
class RunMap:
    """(x₀, u, p) → the states (steps + 1, n) of a run from time zero; u (steps, m) is held during each step."""

    step: StepMap
    steps: int

    @property
    def argument_shapes(self) -> tuple[tuple[int, ...], ...]:
        _, n, m, k = (shape[0] for shape in self.step.argument_shapes)
        return (n,), (self.steps, m), (k,)

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (self.steps + 1, *self.step.result_shape)

    def _time(self, index: int, count: int) -> Reals:
        return np.full((count, 1), index * self.step.step)

    def value(self, *arguments: Reals) -> Reals:
        return self._traced(arguments, keep=False)[0]

    def _traced(self, arguments: Sequence[Reals], keep: bool = True) -> tuple[Reals, list[_Trace]]:
        x, u, p = arguments
        states, traces = np.empty((len(x), *self.result_shape)), list[_Trace]()
        states[:, 0] = x
        for k in range(self.steps):
            x, trace = self.step.traced((self._time(k, len(x)), x, u[:, k], p))
            states[:, k + 1] = x
            if keep:
                traces.append(trace)
        return states, traces

    def forward(self, arguments: Sequence[Reals], changes: Sequence[Reals]) -> Reals:
        (dx, du, dp), traces = changes, self._traced(arguments)[1]
        found, still = np.empty((len(dx), *self.result_shape)), np.zeros((len(dx), 1))
        found[:, 0] = dx
        for k, trace in enumerate(traces):
            found[:, k + 1] = self.step.forward_traced(trace, (still, found[:, k], du[:, k], dp))
        return found

    def reverse(self, arguments: Sequence[Reals], weights: Reals) -> tuple[Reals, ...]:
        traces = self._traced(arguments)[1]
        du, dp = np.zeros_like(arguments[1]), np.zeros_like(arguments[2])
        dx = np.array(weights[:, -1])
        for k in reversed(range(self.steps)):
            _, dx, du[:, k], part = self.step.reverse_traced(traces[k], dx)
            dp += part
            dx = dx + weights[:, k]
        return dx, du, dp


@dataclass(frozen=True, eq=False)
class Maps:
    """A model as maps of arrays with an axis of samples first, each with `value`, `forward` and `reverse`.

    - `dynamics`: (t, x, u, p) → the rate of the state.
    - `step`: (t, x, u, p) → the state after one step of the classical Runge–Kutta method.
    - `run(steps)`: (x, u, p) → the states (steps + 1, n) from t = 0; u (steps, m) is held during each step.
    """

    equations: Equations
    length: float  # of a step, in seconds

    @cached_property
    def dynamics(self) -> ProgramMap:
        return ProgramMap(self.equations.explicit)

    @cached_property
    def step(self) -> StepMap:
        return StepMap(self.equations, self.length)

    def run(self, steps: int) -> RunMap:
        """The map of a run of so many steps."""
        return RunMap(self.step, steps)


def as_maps(model: Model | System | Equations, step: float = 0.01) -> Maps:
    """A model as differentiable maps over batches, for libraries that differentiate programs.

    `map.value(*arguments)` are results; `map.forward(arguments, changes)` the change of the results along changes of the
    arguments; `map.reverse(arguments, weights)` the gradients of a weighted sum of the results by each argument. All arrays have
    an axis of samples first; `map.argument_shapes` and `map.result_shape` are those of one sample. `step` is that of the method
    in seconds.

    >>> import draisine as dr
    >>> import numpy as np
    >>> from sympy.abc import k, v, x
    >>> maps = as_maps(dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 4.0}), step=0.1)
    >>> given = [np.array([[1.0, 0.0]]), np.zeros((1, 10, 0)), np.array([[4.0]])]
    >>> maps.run(10).value(*given)[0, -1].round(4).tolist()  # cos 2t, −2 sin 2t
    [-0.4161, -1.8186]
    >>> by_state, _, by_stiffness = maps.run(10).reverse(given, np.eye(22)[20].reshape(1, 11, 2))
    >>> by_stiffness.round(4).tolist()  # −t/4 sin 2t
    [[-0.2273]]
    """
    refuse_unilateral("as_maps", model)
    if isinstance(step, bool) or not isinstance(step, int | float) or not (np.isfinite(step) and step > 0.0):
        raise ArgumentError(f"step is that of the method in seconds, positive and finite, got {step!r}")
    return _maps(model if isinstance(model, Equations) else derive(model, work=False), float(step))


@lru_cache(maxsize=16)
def _maps(equations: Equations, step: float) -> Maps:
    """Shared by all calls of this process, with the compiled derivatives."""
    return Maps(equations, step)
