"""Families of steady motions over many parameter points, with their linear models: the basis of sweeps and maps.

One motion is found by `steady`. The others are predicted with the exact derivative of the family and corrected by Newton's method
on a square subsystem where the prediction is not exact. Straight running of a bicycle over speed needs no correction, since its
spins are proportional to the speed. The linear models use derivatives along the essential deviations only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton_batch import BatchNewton, Indices, solve_each
from draisine.numerics.number_range import counted_range
from draisine.numerics.rank import independent_columns
from draisine.program.arguments import refuse_dependent
from draisine.program.equations import Equations
from draisine.program.shared_expressions import short_jacobian
from draisine.program.switching import find_switching
from draisine.results.base import Uncached
from draisine.stability.batch_evaluation import BatchProgram, program_without_cse
from draisine.stability.changing_ground import refuse_changing_ground
from draisine.stability.closed_form_family import EXACT, ClosedFormFamily
from draisine.stability.deviations import Deviations, Naming, deviations_of
from draisine.stability.linearization import explicit_equations_of, linearize, what_is_singular
from draisine.stability.reduced_linearization import EssentialMatrix
from draisine.stability.routh import characteristic
from draisine.stability.steady import steady
from draisine.stability.steady_problem import LEAST_UNIT, SteadyMotion, SteadyProblem
from draisine.stability.switching_limits import limit_note

Array = NDArray[np.float64]

SINGULAR = 1e-11  # singular value of the Jacobian of a motion, relative to the largest, that counts as zero
BESIDE = 0.0123  # of the range: distance of a point beside the middle
MOST_VALUES = 10_000_000  # of a sweep
CLOSER = 1e-6  # by which a motion must be closer to a given one to be preferred
CHUNK = 65_536  # points whose matrices are in memory at once
CORRECTION = BatchNewton(tolerance=1e-15, acceptable=EXACT, max_iterations=25)


@dataclass(frozen=True)
class Matrices:
    """A of the essential deviations at points, and whether each point has its steady motion."""

    A: Array
    found: NDArray[np.bool_]


def _at(values: Mapping[str, Array], share: float) -> dict[str, float]:
    """The values at a share of every sweep."""
    return {name: float(v[min(int(share * len(v)), len(v) - 1)]) for name, v in values.items()}


def _nearest(
    model: Model | System | Equations,
    values: Mapping[str, Array],
    *,
    near: Mapping[str, float],
    fixed: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
) -> dict[str, float]:
    """The middle of the values, or that end of them at which the steady motion is closer to `near`."""
    refuse_changing_ground(model, fixed or {}, near, over=values)
    e, best, least = explicit_equations_of(model), _at(values, 0.5), np.inf
    own = [p.name for p in e.parameters]
    for share in (0.5, 0.0, 1.0):
        point = _at(values, share)
        targets = {**(fixed or {}), **{n: v for n, v in point.items() if n not in own}}
        given = {**(parameters or {}), **{n: v for n, v in point.items() if n in own}}
        try:
            motion = steady(e, targets, free=free, near=near, parameters=given)
        except (SolverError, np.linalg.LinAlgError):
            continue
        away = max((abs(motion[n] - v) / max(abs(v), 1.0) for n, v in near.items() if n not in point), default=0.0)
        if away < least - CLOSER:
            best, least = point, away
    return best


class Family(Uncached):
    """Steady motions of a model as functions of varied quantities: targets for the motion, inputs or parameters."""

    def __init__(
        self,
        model: Model | System | Equations,
        vary: Mapping[str, float],
        *,
        fixed: Mapping[str, float] | None = None,
        free: Sequence[str] = (),
        near: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        states: Sequence[str] = (),
    ) -> None:
        refuse_changing_ground(model, {**(fixed or {}), **vary}, near)
        self.equations = e = explicit_equations_of(model)
        self.vary = tuple(vary)
        self._parameters = [p.name for p in e.parameters]
        self._inputs = [i.name for i in e.inputs]
        outputs = e.motion.output("outputs").labels if e.outputs else ()
        known = [*self._parameters, *self._inputs, *(q.name for q in (*e.states, *e.velocities)), *outputs]
        for name in vary:
            if name not in known:
                refuse_dependent(name, e.dependent_parameters)
                raise ArgumentError(
                    f"{e.name} has no parameter, input, state or output of motion {name!r}{did_you_mean(name, known)}"
                )
        given = {n: v for n, v in vary.items() if n in self._parameters}
        targets = {**(fixed or {}), **{n: v for n, v in vary.items() if n not in self._parameters}}
        self.base: SteadyMotion = steady(e, targets, free=free, near=near, parameters={**(parameters or {}), **given})
        self._choose_states(states)
        own = [n for n in (*vary, *targets) if n in (*self._parameters, *self._inputs)]
        coordinates = self._essential_coordinates
        self.problem = SteadyProblem(e, coordinates, [*free, *dict.fromkeys(own)], {**targets, **given})
        self._square_up()

    @classmethod
    def over(cls, model: Model | System | Equations, values: Mapping[str, Array], **given: Any) -> Family:
        """The family through the middle of the values; through a point beside it if nothing depends on some state, or on some
        coordinate that drifts, just there.

        Lean of a bicycle without gravity, an upright bar whose spring balances its weight: a middle like this is exactly
        degenerate, and its essential states are too few for the others. The heading of a bicycle does not matter without a push
        from the side: there turns are steady motions, which they are not under a push. `near` selects one of several motions: the
        family begins at that one of the middle and the ends at which a motion is closest to it.
        """
        for name in values:
            if name in {**(given.get("fixed") or {}), **(given.get("parameters") or {})}:
                raise ArgumentError(f"{name!r} is swept and has a given value; leave one of them out")
        middle = _nearest(model, values, **given) if given.get("near") else _at(values, 0.5)
        # by another share of each range: degenerate points of two quantities lie on lines through the middle
        shares = BESIDE * (1.0 + 0.382 * np.arange(len(values)))
        beside = {name: middle[name] + s * float(v.max() - v.min()) for s, (name, v) in zip(shares, values.items(), strict=True)}
        if beside == middle:
            return cls(model, middle, **given)
        try:
            family = cls(model, middle, **given)
        except (SolverError, np.linalg.LinAlgError) as failure:
            try:
                return cls(model, beside, **given)
            except SolverError:
                raise failure from None
        states, ignorable = family._states_at(beside, **given)
        degenerate = set(family.states) < states or bool(states and ignorable < set(family.base.ignorable))
        return cls(model, beside, **given) if degenerate else family

    def warn_without_effect(self, values: Mapping[str, Array], stacklevel: int) -> None:
        """Warn of varied quantities on which no linear model of the family depends."""
        for k, (name, given) in enumerate(values.items()):
            if not np.ptp(given):
                continue
            points = np.array(
                [[v.min() + share * np.ptp(v) for v in values.values()] for share in (0.382, 0.618) for _ in range(3)]
            )
            points[:, k] = np.tile(given.min() + np.array([0.0, 0.382, 1.0]) * np.ptp(given), 2)
            found = self.matrices(points)
            a = found.A.reshape(2, 3, *found.A.shape[1:])
            if found.found.all() and a.size and np.array_equal(a, np.repeat(a[:, :1], 3, axis=1)):
                warnings.warn(
                    f"{self.equations.name}: {name} has no effect on the linear models of these motions",
                    stacklevel=stacklevel + 1,
                )

    def _states_at(
        self,
        vary: Mapping[str, float],
        *,
        fixed: Mapping[str, float] | None = None,
        free: Sequence[str] = (),
        near: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        states: Sequence[str] = (),
    ) -> tuple[set[str], set[str]]:
        """Essential states of the steady motion at other values, and its ignorable coordinates; none where there is no such
        motion."""
        given = {n: v for n, v in vary.items() if n in self._parameters}
        targets = {**(fixed or {}), **{n: v for n, v in vary.items() if n not in self._parameters}}
        try:
            motion = steady(self.equations, targets, free=free, near=near, parameters={**(parameters or {}), **given})
            return set(linearize(motion, states=states).essential().states), set(motion.ignorable)
        except SolverError:
            return set(), set()

    # ------------------------------------------------------------ the first motion

    def _choose_states(self, states: Sequence[str]) -> None:
        full = linearize(self.base, states=states)
        essential = full.essential()
        self.states = essential.states
        self.left_out = essential.left_out
        self.full_states = full.states
        self.deviations: Deviations = deviations_of(self.equations, tuple(states))

    @cached_property
    def _essential_coordinates(self) -> list[str]:
        e = self.equations
        plain = deviations_of(e)
        derivatives = plain.derivatives(0.0, self.base.x[None], self.base.u[None], self.base.p[None])
        names = plain.choose(derivatives).names
        return [n for n in names if n not in self.base.ignorable and n not in plain.speeds]

    def _square_up(self) -> None:
        """Choose a square subsystem, and differentiate the motion by each varied quantity."""
        problem, base = self.problem, self.base
        self._y = problem.pack(base.x, base.u, base.p)
        _, jacobian = problem.evaluate(self._y, base.x, base.u, base.p)
        # forces and angles are mixed: scale each unknown by its size, each equation by its entries
        self._sizes = np.maximum(np.abs(self._y), 1.0)
        self._units = np.maximum(np.linalg.norm(jacobian * self._sizes, axis=1), LEAST_UNIT)
        scaled = jacobian * self._sizes / self._units[:, None]
        self._rows = np.sort(np.array(independent_columns(scaled.T), dtype=np.int64))
        # where motions form a family at fixed quantities, take the one nearest to the prediction
        self._idle = np.linalg.svd(scaled[self._rows])[2][len(self._rows) :]
        self._scale = max(1.0, float(np.abs(jacobian).max()))
        self._at = np.array([problem.fixed[name] for name in self.vary])
        self._sensitivity = self._change_for(jacobian[None], self._target_columns(len(jacobian))[None])[0][0]
        derivatives = self.deviations.derivatives(0.0, base.x[None], base.u[None], base.p[None])
        self.naming: Naming = self.deviations.choose(derivatives)

    def _change_for(self, jacobian: Array, sides: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The least-norm change of y that changes F by `sides`, at points, and where it exists."""
        rows = self._rows
        units = self._units[rows, None]
        idle = np.broadcast_to(self._idle, (len(jacobian), *self._idle.shape))
        square = np.concatenate([jacobian[:, rows] * self._sizes / units, idle], axis=1)
        right = np.concatenate([sides[:, rows] / units, np.zeros((len(sides), len(self._idle), sides.shape[2]))], axis=1)
        change, good = solve_each(square, right)
        return change * self._sizes[:, None], good

    def _least_change(self, jacobian: Array, sides: Array) -> Array:
        """The same at one point, where the motion may be singular, as at a real mode that is zero: the smallest change that
        serves."""
        rows = self._rows
        scaled = np.vstack([jacobian[rows] * self._sizes / self._units[rows, None], self._idle])
        right = np.vstack([sides[rows] / self._units[rows, None], np.zeros((len(self._idle), sides.shape[1]))])
        change = np.linalg.lstsq(scaled, right, rcond=SINGULAR)[0]
        if not np.abs(scaled @ change - right).max(initial=0.0) <= np.sqrt(SINGULAR) * max(
            1.0, float(np.abs(right).max(initial=0.0))
        ):
            raise SolverError(
                f"{self.equations.name}: the family of steady motions has a fold here, and no derivative by what is fixed"
            )
        return np.asarray(change * self._sizes[:, None])

    def _target_columns(self, count: int) -> Array:
        """−∂F/∂(varied quantity): 1 in the row that fixes it."""
        names = list(self.problem.fixed)
        columns = np.zeros((count, len(self.vary)))
        for k, name in enumerate(self.vary):
            columns[count - len(names) + names.index(name), k] = 1.0
        return columns

    # ------------------------------------------------------------ motions

    @cached_property
    def _residual(self) -> BatchProgram:
        slots, residual, _ = self.problem._parts
        return BatchProgram(program_without_cse(f"{self.equations.name}_steady_residual", slots, {"residual": residual}))

    @cached_property
    def _newton(self) -> BatchProgram:
        return BatchProgram(self.problem.program)

    def motions(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        """y of the steady motion at each point (points, varied quantities), and whether it was found."""
        y = self._y + (points - self._at) @ self._sensitivity.T
        error, fine = self._errors(y, points)
        some = np.flatnonzero(~(fine <= EXACT))
        if len(some):
            weights = np.maximum(self._units, 1.0)

            def evaluate(y: Array, rows: Indices) -> tuple[Array, Array]:
                residual, jacobian = self._newton(*self._arguments(y[rows], points[some[rows]]))
                return residual[..., 0] / weights, jacobian / weights[:, None]

            def steps(residual: Array, jacobian: Array, damping: Array) -> Array:
                return -self._change_for(jacobian * weights[:, None], (residual * weights)[..., None])[0][..., 0]

            y[some] = CORRECTION.solve(evaluate, y[some], steps).x
            error[some] = self._errors(y[some], points[some])[0]
        return y, np.asarray(error <= EXACT)

    def states_at(self, points: Array) -> tuple[list[Array], NDArray[np.bool_]]:
        """(t, x, u, p) of the steady motion at each point, and whether it was found."""
        y, found = self.motions(points)
        return self._arguments(y, points)[:4], found

    def _errors(self, y: Array, points: Array) -> tuple[Array, Array]:
        """The largest residual relative to the largest entry of the Jacobian, and relative to each row."""
        residual = np.abs(self._residual(*self._arguments(y, points))[0][..., 0])
        return residual.max(axis=1) / self._scale, (residual / np.maximum(self._units, 1.0)).max(axis=1)

    def _arguments(self, y: Array, points: Array) -> list[Array]:
        problem, base = self.problem, self.base
        count = len(y)
        x = np.repeat(base.x[None], count, axis=0)
        u, p = np.repeat(base.u[None], count, axis=0), np.repeat(base.p[None], count, axis=0)
        x[:, : problem.own] = y[:, : problem.own]
        solved = y.shape[1] - problem.own - len(problem.free)
        for k, name in enumerate(problem.free):
            target, names = (u, self._inputs) if name in self._inputs else (p, self._parameters)
            target[:, names.index(name)] = y[:, problem.own + solved + k]
        targets = np.repeat(np.array(list(problem.fixed.values()))[None], count, axis=0)
        for k, name in enumerate(self.vary):
            targets[:, list(problem.fixed).index(name)] = points[:, k]
        return [np.zeros((count, 1)), x, u, p, y[:, problem.own : problem.own + solved], targets]

    # ------------------------------------------------------------ linear models

    @cached_property
    def linear(self) -> EssentialMatrix:
        return EssentialMatrix(self.equations, self.deviations, self.naming, self.states)

    @cached_property
    def closed_form(self) -> ClosedFormFamily | None:
        """The family as one program, where the prediction is exact."""
        return ClosedFormFamily.of(self)

    def matrices(self, points: Array) -> Matrices:
        """A of the essential deviations at points (points, varied quantities)."""
        points = np.asarray(points, dtype=float).reshape(-1, len(self.vary))
        parts = [self._some(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
        return Matrices(np.concatenate([p.A for p in parts]), np.concatenate([p.found for p in parts]))

    def polynomials(self, points: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Coefficients of the characteristic polynomial at points, see `routh`, and where there is a steady motion."""
        count = len(points)
        if self.closed_form is None:
            coefficients, found = np.zeros((count, len(self.states))), np.zeros(count, dtype=bool)
        else:
            coefficients, found = self.closed_form.polynomials(points)
        rest = np.flatnonzero(~found)
        if len(rest):
            others = self._corrected(points[rest])
            coefficients[rest] = characteristic(np.where(others.found[:, None, None], others.A, 0.0))
            found[rest] = others.found
        return coefficients, found

    def _some(self, points: Array) -> Matrices:
        if self.closed_form is None:
            return self._corrected(points)
        a, found = self.closed_form.matrices(points)
        rest = np.flatnonzero(~found)
        if len(rest):
            others = self._corrected(points[rest])
            a[rest], found[rest] = others.A, others.found
        return Matrices(a, found)

    def _corrected(self, points: Array) -> Matrices:
        """Matrices of motions corrected by Newton's method."""
        y, found = self.motions(points)
        a, _, good = self.linear.at(*self._arguments(y, points)[:5])
        found = found & good
        return Matrices(np.where(found[:, None, None], a, np.nan), found)

    def why_missing(self, point: Array) -> str:
        """Why there is no steady motion at a point, as far as the equations show."""
        points = np.asarray(point, dtype=float).reshape(1, len(self.vary))
        y = self._y + (points - self._at) @ self._sensitivity.T
        _, x, u, p = (part[0] for part in self._arguments(y, points)[:4])
        if np.isfinite(x).all() and (singular := what_is_singular(SteadyMotion(self.equations, x, u, p, {}, ()))):
            return singular
        if not np.isfinite(self._residual(*self._arguments(y, points))[0]).all():
            return "its equations have no finite value there"
        return "Newton's method from the neighboring motions did not converge"

    def singular_at(self, points: Array) -> tuple[int, str] | None:
        """The point nearest to a singular configuration and its cause; None if the family stays away from one."""
        e = self.equations
        if e.causes is None or not np.abs(self._sensitivity[: len(e.coordinates)]).max() > 1e-9:
            return None  # the configuration is constant
        y, found = self.motions(points)
        values = np.where(found[:, None], BatchProgram(e.causes)(*self._arguments(y, points)[:4])[0][..., 0], 0.0)
        point, cause = np.unravel_index(int(np.argmax(values)), values.shape)
        return (int(point), e.causes.outputs[0].labels[cause]) if values.max() > e.limits.condition else None

    def limit_at(self, points: Array) -> tuple[int, str] | None:
        """The first point whose motion lies on the limit of a switching function, and a sentence on it; None if there is none."""
        if find_switching(self.equations) is None:
            return None
        (_, x, u, p), found = self.states_at(points)
        notes = ((int(i), limit_note(self.equations, x[i], u[i], p[i])) for i in np.flatnonzero(found))
        return next(((i, note) for i, note in notes if note), None)

    # ------------------------------------------------------------ derivatives

    def derivatives(self, point: Array) -> tuple[Array, Array, dict[str, Array]]:
        """A at a point, ∂A/∂(varied quantity) (varied, states, states), and dA/dparameter for every parameter with all other
        given quantities constant; exact, including the change of the motion."""
        points = np.asarray(point, dtype=float).reshape(1, len(self.vary))
        y, found = self.motions(points)
        if not found[0]:
            given = ", ".join(f"{n} = {v:g}" for n, v in zip(self.vary, points[0], strict=True))
            raise SolverError(f"{self.equations.name}: there is no steady motion at {given} to differentiate about")
        arguments = self._arguments(y, points)
        (jacobian,) = self._newton(*arguments)[1]
        (by_parameter,) = self._by_parameters(*arguments)[0]
        right = np.hstack([self._target_columns(len(jacobian)), -by_parameter])
        directions = self._directions(self._least_change(jacobian, right))
        a, turned = self.linear.derivatives([argument[0] for argument in arguments[:5]], directions)
        count = len(self.vary)
        derivatives = dict(zip(self._parameters, turned[count:], strict=True))
        # a varied or free parameter is not given: the motion determines its value
        derivatives |= {
            n: turned[self.vary.index(n)] if n in self.vary else np.zeros_like(a)
            for n in self._parameters
            if n in self.problem.free
        }
        return a, turned[:count], derivatives

    @cached_property
    def _by_parameters(self) -> BatchProgram:
        slots, residual, _ = self.problem._parts
        return BatchProgram(
            program_without_cse(f"{self.equations.name}_by_parameters", slots, {"jacobian": short_jacobian(residual, slots["p"])})
        )

    def _directions(self, moved: Array) -> list[Array]:
        """Changes (directions, size) of x, u, p and z: along the varied quantities, then along the parameters."""
        problem, base = self.problem, self.base
        count = moved.shape[1]
        x, u, p = (np.zeros((count, len(base_part))) for base_part in (base.x, base.u, base.p))
        x[:, : problem.own] = moved[: problem.own].T
        p[len(self.vary) :] = np.eye(len(base.p))
        solved = len(moved) - problem.own - len(problem.free)
        for k, name in enumerate(problem.free):
            target, names = (u, self._inputs) if name in self._inputs else (p, self._parameters)
            target[:, names.index(name)] = moved[problem.own + solved + k]
        return [x, u, p, moved[problem.own : problem.own + solved].T]


def sweep_values(name: str, given: ArrayLike | tuple[float, float, int]) -> Array:
    """Values of a sweep: an array of finite numbers, or (first, last, number of values)."""
    try:
        plain = np.atleast_1d(np.asarray(counted_range(repr(name), given, 2, MOST_VALUES)))
        values = plain.astype(float) if not np.iscomplexobj(plain) else np.zeros((0, 0))
    except ArgumentError:
        raise
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ArgumentError(
            f"the values of {name!r} to sweep must be finite real numbers in one row, or (first, last, number of values); "
            f"got {given!r}"
        )
    return values
