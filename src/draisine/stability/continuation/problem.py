"""The continuation problem: steady motions with named quantities fixed and free, as a curve in scaled unknowns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.numerics.continuation import ImplicitCurve
from draisine.numerics.rank import rank_of
from draisine.program.arguments import refuse_dependent
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.stability.continuation.evaluation import Evaluation, columns_of
from draisine.stability.deviations import deviations_of
from draisine.stability.linearization import Motion
from draisine.stability.steady_problem import SteadyMotion, SteadyProblem, ignorable_names, named_values, steady_near

Array = NDArray[np.float64]
Range = tuple[float, float]

ANYWHERE: Range = (-np.inf, np.inf)
ROUNDING = 1e-12  # size of a row of the Jacobian, relative to the largest, below which it is rounding error
PERTURBATION = 0.05  # of a parameter, relative; absolute where it is zero


@dataclass(frozen=True)
class ContinuationProblem:
    """Which steady motions: the continuation quantity and its range, fixed and free quantities."""

    equations: Equations
    over: str
    fixed: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    between: Range = ANYWHERE
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        e = self.equations
        known = [*self.inputs, *self.all_parameters, *(q.name for q in e.states), *self.outputs]
        for name in (self.over, *self.fixed):
            if name in e.force_outputs:
                raise ArgumentError(
                    f"{e.name}: {name!r} depends on accelerations and cannot be fixed or varied; bound it (bounds={{…}}) or read "
                    "it from the branch"
                )
            if name not in known:
                refuse_dependent(name, e.dependent_parameters)
                raise ArgumentError(
                    f"{e.name} has no parameter, input, state or output of motion {name!r}{did_you_mean(name, known)}"
                )
        if self.over in self.fixed:
            raise ArgumentError(f"{e.name}: {self.over!r} is the continuation quantity; do not fix it")
        low, high = self.between
        if not low < high:
            raise ArgumentError(f"{e.name}: {self.over!r} must be between {low:g} and {high:g}; give the lower number first")

    @property
    def inputs(self) -> list[str]:
        return [i.name for i in self.equations.inputs]

    @property
    def all_parameters(self) -> list[str]:
        return [p.name for p in self.equations.parameters]

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.equations.motion.output("outputs").labels) if self.equations.outputs else ()

    def begin(self, start: Mapping[str, float] | Motion | None) -> SteadyMotion:
        """The steady motion at which the branch starts."""
        given = {} if isinstance(start, Motion) else dict(start or {})
        parameters = {**self.parameters, **{n: v for n, v in (*self.fixed.items(), *given.items()) if n in self.all_parameters}}
        fixed = {n: v for n, v in self.fixed.items() if n not in self.all_parameters}
        inputs = {n: v for n, v in given.items() if n in self.inputs and n not in fixed}
        near: Mapping[str, float] | Motion
        if isinstance(start, Motion):
            near = start
        else:
            near = {n: v for n, v in (*fixed.items(), *given.items()) if n not in self.inputs and n not in self.all_parameters}
        own: dict[str, float] = {}
        if not isinstance(near, Motion):
            defaults = {q.name: q.default for q in self.equations.coordinates}
            value = near.get(self.over, defaults.get(self.over))
            own = {} if value is None else {self.over: value}
            near = {**near, **own}
        tries: list[tuple[dict[str, float], tuple[str, ...]]] = [({**fixed, **own}, self.free), (fixed, self.free)]
        if self.over in (*self.inputs, *self.all_parameters):
            tries.append((fixed, (*self.free, self.over)))
        problem: SolverError | None = None
        for targets, free in tries:
            try:
                return steady_near(self.equations, targets, free=free, near=near, parameters=parameters, inputs=inputs)
            except SolverError as missing:
                problem = problem or missing
        assert problem is not None
        raise problem


def _solved_scales(jacobian: Array, solved: slice) -> Array:
    """Scales of accelerations and other unknowns that are solved for: their changes with the scaled other unknowns, so that a
    slow system is not judged by the units of time; one where nothing changes them."""
    inner, outer = jacobian[:, solved], np.delete(jacobian, np.r_[solved], axis=1)
    changes = np.linalg.norm(np.linalg.pinv(inner) @ outer, axis=1)
    return np.where(changes > ROUNDING * changes.max(initial=0.0), changes, 1.0)


class SteadyCurve:
    """The curve of a problem through a steady motion, and the motions at its points."""

    def __init__(self, question: ContinuationProblem, begin: SteadyMotion) -> None:
        self.question, self.begin = question, begin
        e = question.equations
        deviations = deviations_of(e)
        derivatives = deviations.derivatives(0.0, begin.x[None], begin.u[None], begin.p[None])
        names = deviations.choose(derivatives).names
        values = dict(zip(deviations.candidates, derivatives.values[0].tolist(), strict=True))
        own = (*question.inputs, *question.all_parameters)
        free = [*question.free, *(n for n in (*question.fixed, question.over) if n in own and n not in question.free)]
        self.ignorable = drifting_coordinates(begin, free)
        essential = [n for n in names if n not in self.ignorable and n not in deviations.speeds]
        constant = {n: values[n] for n in self.ignorable}
        self.problem = SteadyProblem(e, essential, free, {**constant, **question.fixed, question.over: 0.0})
        y = self.problem.pack(begin.x, begin.u, begin.p)
        scale = np.maximum(1.0, np.abs(y))
        low, high = question.between
        if question.over in free and np.isfinite(high - low):
            scale[len(y) - len(free) + free.index(question.over)] = (high - low) / 10
        _, jacobian = self._evaluate(y)
        between = slice(self.problem.own, len(y) - len(free))
        scale[between] = _solved_scales(jacobian[:-1] * scale, between)
        sizes = np.linalg.norm(jacobian[:-1] * scale, axis=1)
        weights = 1 / np.where(sizes > ROUNDING * sizes.max(initial=0.0), sizes, np.maximum(1.0, sizes))
        self.curve = ImplicitCurve(self._evaluate, scale, weights)
        self.y = y / scale
        self._check_freedom()

    @cached_property
    def _program(self) -> Evaluation:
        return Evaluation(self.problem.program)

    @cached_property
    def _report(self) -> Evaluation | None:
        report = self.question.equations.report
        return Evaluation(report) if isinstance(report, Program) else None

    def _evaluate(self, y: Array) -> tuple[Array, Array]:
        problem = self.problem
        x, u, p = problem.unpack(y, self.begin.x, self.begin.u, self.begin.p)
        z = y[problem.own : len(y) - len(problem.free)]
        residual, jacobian = self._program([0.0], x, u, p, z, list(problem.fixed.values()))
        return residual[:, 0], jacobian

    def _check_freedom(self) -> None:
        """Require one free direction: without one the motion is isolated, with two the motions form a surface."""
        e, curve = self.question.equations, self.curve
        _, jacobian, _ = curve.jacobians(self.y)
        left = curve.unknowns - rank_of(jacobian)
        if left == 0:
            raise ArgumentError(
                f"{e.name}: this steady motion is isolated, {self.question.over!r} cannot vary; leave an input or parameter "
                "free, or fix fewer quantities"
            )
        if left > 1 and self._left_nearby() > 1:
            null = np.linalg.svd(jacobian)[2][-left:]
            moving = [n for n, share in zip(self._names(), np.linalg.norm(null, axis=0), strict=True) if share > 0.05]
            raise ArgumentError(
                f"{e.name}: {left} quantities can vary independently ({', '.join(moving)} with them), so that steady motions "
                f"are not a single branch; fix {left - 1} more (fixed={{…}}) or leave fewer free"
            )

    def _names(self) -> list[str]:
        e, problem = self.question.equations, self.problem
        states = [q.name for q in e.states][: problem.own]
        between = self.curve.unknowns - len(states) - len(problem.free)
        return [*states, *(f"unknown {k}" for k in range(between)), *problem.free]

    def _left_nearby(self) -> int:
        """Free directions at a nearby solution: two at the start alone may be a branch point."""
        curve = self.curve
        _, jacobian, gradient = curve.jacobians(self.y)
        left = curve.unknowns - rank_of(jacobian)
        null = np.linalg.svd(jacobian)[2][-left:]
        found = left
        mixed = null.T @ (null @ gradient)
        for direction in (mixed, *null):
            size = float(np.linalg.norm(direction))
            place = curve.correct(self.y + 1e-3 * direction / size, direction / size) if size > 1e-9 else None
            if place is not None:
                found = min(found, curve.unknowns - rank_of(place.jacobian))
        return found

    # ------------------------------------------------------------ motions

    def state(self, y: Array) -> tuple[Array, Array, Array]:
        """x, u, p at a point of the curve."""
        return self.problem.unpack(y * self.curve.scale, self.begin.x, self.begin.u, self.begin.p)

    def motion(self, y: Array) -> SteadyMotion:
        e = self.question.equations
        x, u, p = self.state(y)
        if self._report is None:
            values = named_values(e, x, u, p)
        else:
            reported = [r.reshape(1, -1, order="F") for r in self._report([0.0], x, u, p)]
            values = {name: float(column[0]) for name, column in columns_of(e, x[None], u[None], reported).items()}
        values |= {
            n: float(p[self.question.all_parameters.index(n)]) for n in self.problem.free if n in self.question.all_parameters
        }
        return SteadyMotion(e, x, u, p, values, self.ignorable)

    def varied_value(self, y: Array) -> float:
        """The value of the continuation quantity."""
        return float(self._evaluate(y * self.curve.scale)[0][-1])

    def reader(self, name: str) -> Callable[[Array], float]:
        """The value of any named quantity at a point."""
        if name == self.question.over:
            return self.varied_value
        known = self.motion(self.y).values
        if name not in known:
            raise ArgumentError(f"{self.question.equations.name} has no {name!r} to bound{did_you_mean(name, list(known))}")
        return lambda y: self.motion(y).values[name]


def drifting_coordinates(begin: SteadyMotion, varied: Collection[str]) -> tuple[str, ...]:
    """Ignorable coordinates of a motion that remain ignorable at other values of the varied inputs and parameters: a lateral
    force, zero at first, makes the heading matter."""
    e = begin.equations
    inputs = np.array([i.name in varied for i in e.inputs], dtype=bool)
    parameters = np.array([p.name in varied for p in e.parameters], dtype=bool)
    if not (inputs.any() or parameters.any()):
        return begin.ignorable
    u = np.where(inputs, begin.u + np.maximum(1.0, np.abs(begin.u)), begin.u)
    p = np.where(parameters, begin.p + PERTURBATION * np.where(begin.p == 0.0, 1.0, begin.p), begin.p)
    try:
        still = ignorable_names(e, Motion(e, begin.x, u, p))
    except (ModelError, SolverError):  # no motion nearby at such values
        return begin.ignorable
    return tuple(name for name in begin.ignorable if name in still)
