"""Steady motions (relative equilibria, trim): equilibria, steady turning, rolling in a circle, spinning.

The velocities and every coordinate on which the dynamics depends are constant. Ignorable coordinates (position on the plane,
heading, angles of rotors) may drift; they are detected from the linear model at random admissible states. With named quantities
fixed, the rest follows by Newton's method with least-norm steps.

**Acceleration.** A machine that is braked or driven has no steady motion, but a trim: with the acceleration a of its speed V all
velocities change in proportion, v̇ = (a/V) v, so that the radius of its path, its slips and its attitude are constant at this
instant. With a = 0 it is the steady motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.given_parameters import given_parameters
from draisine.errors import ArgumentError, SolverError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.newton import LeastNorm, Linearized, Newton
from draisine.numerics.rank import independent_columns, unit_rows
from draisine.program.arguments import parameter_values
from draisine.program.equations import ENERGIES, SPRING_LOAD, Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.shared_expressions import short_jacobian
from draisine.results.base import Result, Uncached
from draisine.results.channel import HasState
from draisine.results.linear import LinearModel
from draisine.simulation.contact_margins import contact_warnings, sliding_tires
from draisine.stability.batch_evaluation import program_without_cse
from draisine.stability.deviations import Naming, deviations_of, entry_rounding
from draisine.stability.explicit_time import changing_rates, require_no_time
from draisine.stability.linearization import (
    Motion,
    explicit_equations_of,
    linearize,
    motion_at,
    motion_of,
    named_quantities,
    real_values,
    what_is_singular,
)
from draisine.stability.switching_limits import limit_note

Array = NDArray[np.float64]

RANDOM_STATES = 3  # random admissible states at which ignorable coordinates are detected
FAST = 1e3  # of velocities at random states: rounding errors of larger ones hide whether positions satisfy their constraints
ACCELERATION, SPEED = "acceleration", "speed"  # target of a trim, and the output whose rate it is
STEADY = 1e-7  # relative change by drifting coordinates that round-off may cause
ROUNDED = 64 * np.finfo(float).eps  # residual of a row, relative to its terms, that rounding may leave
IN_THE_AIR = 1e-6  # m between a tire and the ground that matter
PRESSED = 5e-3  # m, deflection of tires from which Newton's method begins where they were in the air
LEAST_UNIT = 1e-3  # smallest scale of an equation: rows that vanish on the constraints contain round-off only
PRESSING = Newton(max_iterations=8)  # full steps: residuals that are left are a compromise
NEWTON = Newton(acceptable=1e-11, step_tolerance=1e-13, max_iterations=60, least_share=1e-4)
# where a small residual of one equation, a curvature, keeps steps short because those of the others, accelerations, would grow
FULL_STEPS = Newton(acceptable=1e-11, step_tolerance=1e-13, max_iterations=12, patience=3, max_step=1e3)


@dataclass(frozen=True)
class SteadyMotion(Motion, Result):
    """A steady motion with the values of all named quantities: states, outputs, contact forces, inputs."""

    values: dict[str, float]
    ignorable: tuple[str, ...]

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise UnknownNameError(f"{self.equations.name} has no {name!r}{did_you_mean(name, list(self.values))}")
        return self.values[name]

    def linearize(self, states: Sequence[str] = ()) -> LinearModel:
        return linearize(self, states=states)

    @property
    def units(self) -> dict[str, str]:
        """Units by name."""
        e = self.equations
        named = {q.name: q.unit for q in (*e.coordinates, *e.velocities, *e.multipliers, *e.outputs, *e.inputs)}
        return dict.fromkeys(ENERGIES, "J") | ({ACCELERATION: "m/s^2"} if self._accelerates else {}) | named

    @property
    def warnings(self) -> tuple[str, ...]:
        """What ideal contacts would have to do in this motion; that it is none, where all is prescribed in time; and whether it
        lies on the limit of a switching function."""
        driven = changing_rates(self.equations, self.x, self.u, self.p)
        prescribed = (
            ("nothing is free to move: its motion is prescribed in time, and this is its state at t = 0",) if driven else ()
        )
        note = limit_note(self.equations, self.x, self.u, self.p)
        changes = (
            (f"its speed changes with {self.values[ACCELERATION]:.6g} m/s²: a trim at this instant",) if self._accelerates else ()
        )
        return (*prescribed, *changes, *contact_warnings(self.values), *((note,) if note else ()))

    @property
    def _accelerates(self) -> bool:
        """Whether it is a trim with an acceleration, which is not zero."""
        return accelerates(self.equations, self.values) and abs(self.values[ACCELERATION]) > STEADY

    def _table(self) -> Mapping[str, Any]:
        units = self.units
        return {"name": list(self.values), "value": list(self.values.values()), "unit": [units.get(n, "") for n in self.values]}

    def __repr__(self) -> str:
        return f"<SteadyMotion of {self.equations.name}; {self._drifting} may drift>"

    def __str__(self) -> str:
        """All named values with units, and the drifting coordinates."""
        e = self.equations
        unit = self.units
        wide = max(len(name) for name in self.values)
        lines = [f"  {name:<{wide}}  {value:.9g} {unit.get(name, '')}".rstrip() for name, value in self.values.items()]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join([f"{e.name}: steady motion; {self._drifting} may drift", *lines])

    @property
    def _drifting(self) -> str:
        return ", ".join(self.ignorable) or "nothing"


def ignorable_names(equations: Equations, motion: Motion, rows: Sequence[int] | None = None) -> tuple[str, ...]:
    """Coordinates on which nothing depends at random admissible states near a motion; `rows` are independent constraints."""
    rng = np.random.default_rng(2007)
    own = len(equations.coordinates) + len(equations.independent)
    rows = _naming_at(motion).rows if rows is None else rows
    states = []
    for _ in range(RANDOM_STATES):
        x = motion.x.copy()
        speeds = slice(len(equations.coordinates), own)
        x[speeds] = np.clip(x[speeds], -FAST, FAST)
        x[:own] += rng.uniform(-0.15, 0.15, own) * np.maximum(np.abs(x[:own]), 1.0)
        states.append(onto_constraints(equations, x, motion.u, motion.p, rows))
    return ignorable_at(equations, states, motion.u, motion.p)


def _naming_at(motion: Motion) -> Naming:
    deviations = deviations_of(motion.equations)
    return deviations.choose(deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None]))


def ignorable_at(
    equations: Equations, states: Sequence[Array], u: Array, p: Array, times: Sequence[float] | None = None
) -> tuple[str, ...]:
    """Coordinates on which nothing depends, at all of the admissible states, at their times if these are given."""
    deviations = deviations_of(equations)
    speeds = set(deviations.speeds)
    common: set[str] | None = None
    for x, t in zip(states, times or [0.0] * len(states), strict=True):
        derivatives = deviations.derivatives(t, x[None], u[None], p[None])
        naming = deviations.choose(derivatives)
        a, rounding = naming.matrices(derivatives)[0][0], entry_rounding(deviations, naming, x, u, p, t)
        none = np.zeros((len(a), 0))
        bare = LinearModel(equations.name, naming.names, (), (), a, none, none.T, np.zeros((0, 0)), rounding=rounding)
        idle = set(bare.essential().left_out) - speeds
        common = idle if common is None else common & idle
    return tuple(name for name in deviations.candidates if name in (common or set()))


def onto_constraints(equations: Equations, x: Array, u: Array, p: Array, rows: Sequence[int] | None = None) -> Array:
    """The nearest state that satisfies the constraints, by least-norm Newton steps on the independent constraints `rows` (by
    default all)."""
    problem = SteadyProblem(equations, (), (), {}, rates=False, rows=rows)
    return problem.solve(problem.pack(x, u, p), x, u, p)[0]


def pressed(motion: Motion, targets: Mapping[str, float], rows: Sequence[int]) -> Motion:
    """The motion with its tires pressed on the ground, if some of them are in the air: there Newton's method does not feel the
    ground. The machine is lowered to the same small deflection of all, as closely as its suspension allows."""
    e, named = motion.equations, dict[str, float]()
    known = e.motion.output("outputs").labels if e.outputs else ()
    names = [f"{q.name.removesuffix('_normal_force')}_deflection" for q in e.outputs if q.description.startswith(SPRING_LOAD)]
    if names := [name for name in names if name in known]:
        named = named_values(e, motion.x, motion.u, motion.p)
    if not any(named[name] < -IN_THE_AIR for name in names):
        return motion
    wanted = {n: v for n, v in targets.items() if n in known or n in {q.name for q in e.coordinates}}
    problem = SteadyProblem(e, (), (), wanted | dict.fromkeys(names, PRESSED), rates=False, rows=rows)
    given = motion.x, motion.u, motion.p
    found = PRESSING.solve(lambda y: problem.evaluate(y, *given), problem.pack(*given), problem._least_change)
    x = problem.unpack(found.point.x, *given)[0]
    try:
        return Motion(e, onto_constraints(e, x, motion.u, motion.p, rows), motion.u, motion.p)
    except SolverError:  # a machine with a tire that cannot reach the ground
        return motion


class SteadyProblem(Uncached):
    """F(y) = 0 for y = (x, unknowns solved for at run time, free inputs and parameters): constraints, rates, fixed quantities.

    Constraints may be redundant (four wheels of a car on one plane). `rows` are independent ones at an admissible state: Newton's
    method solves these, and the others must vanish with them. Away from the constraint manifold all rows are independent with
    tiny pivots, and least-norm steps on all of them diverge. With `trim`, the acceleration may be one of the free quantities.
    """

    def __init__(
        self,
        equations: Equations,
        essential: Sequence[str],
        free: Sequence[str],
        fixed: Mapping[str, float],
        rates: bool = True,
        rows: Sequence[int] | None = None,
        trim: bool = False,
    ) -> None:
        self.equations = e = equations
        self.essential = tuple(essential)
        self.fixed = dict(fixed)
        self.rates = rates
        self._constraints = rows
        self._inputs, self._parameters = [i.name for i in e.inputs], [p.name for p in e.parameters]
        self.accelerates = accelerates(e, (*free, *fixed))
        for name in free:
            known = [*self._inputs, *self._parameters]
            if name not in known and not (self.accelerates and name == ACCELERATION):
                raise ArgumentError(f"{e.name} has no input or parameter {name!r} to leave free{did_you_mean(name, known)}")
        self.free = tuple(free)
        if self.accelerates and not trim:
            raise ArgumentError(
                f"{e.name}: an acceleration is a target of `steady` alone; families of motions have constant speeds"
            )
        own = (*self._inputs, *self._parameters, *self._own_targets)
        wanted = dict.fromkeys((*self.essential, *fixed, *((SPEED,) if self.accelerates else ())))
        self.deviations = deviations_of(e, tuple(n for n in wanted if n not in own))

    @property
    def _own_targets(self) -> tuple[str, ...]:
        """Names that are targets of the problem, and not of the model."""
        return (ACCELERATION,) if self.accelerates else ()

    @cached_property
    def own(self) -> int:
        return len(self.equations.coordinates) + len(self.equations.independent)

    @cached_property
    def _solved(self) -> int:
        dynamics = self.equations.explicit
        return dynamics.size if isinstance(dynamics, LinearSolveProgram) and self.rates else 0

    @property
    def program(self) -> Program:
        """(t, x, u, p, z, targets) → residual, jacobian by y."""
        return _steady_program(self.equations, self.essential, self.free, tuple(self.fixed), self.rates)

    @cached_property
    def _parts(self) -> tuple[dict[str, ca.SX], ca.SX, ca.SX]:
        """Argument slots, F and y as symbols."""
        d, e = self.deviations, self.equations
        arguments = [d._t, d._x, d._u, d._p]
        z = ca.SX.sym("z", self._solved)
        targets = ca.SX.sym("targets", len(self.fixed))
        rate = ca.SX.sym("rate")
        rows = [d._motion[0]]
        if self.rates:
            dynamics = e.explicit
            if isinstance(dynamics, LinearSolveProgram):
                matrix, side = dynamics.linear(arguments, z)
                rows.append(matrix @ z - side)
                slope = dynamics.after.function.call([*arguments, z])[0][: self.own]
            else:
                slope = dynamics.function.call(arguments)[0][: self.own]
            own = d._x[: self.own]
            zeta = ca.vertcat(*[d.candidates[name] for name in self.essential])
            speeds = slope[len(e.coordinates) :]
            if tuple(d.speeds) != e.independent:  # a disc on its rim: its angular velocity turns with it
                speeds = short_jacobian(ca.vertcat(*d.speeds.values()), own) @ slope
            if self.accelerates:
                speeds = speeds - rate / d.candidates[SPEED] * ca.vertcat(*d.speeds.values())
            rows += [short_jacobian(zeta, own) @ slope, speeds]
        own_names = (*self._inputs, *self._parameters, *self._own_targets)
        symbols = {name: rate if name in self._own_targets else self._symbol(name) for name in own_names}
        known = {**d.candidates, **symbols}
        rows += [known[name] - targets[k] for k, name in enumerate(self.fixed)]
        slots = {"t": d._t, "x": d._x, "u": d._u, "p": d._p, "z": z, "targets": targets}
        slots |= {"rate": rate} if self.accelerates else {}
        unknowns = ca.vertcat(d._x[: self.own], z, *[symbols[name] for name in self.free])
        return slots, ca.densify(ca.vertcat(*rows)), unknowns

    def _symbol(self, name: str) -> ca.SX:
        d = self.deviations
        return d._u[self._inputs.index(name)] if name in self._inputs else d._p[self._parameters.index(name)]

    # ------------------------------------------------------------ numbers

    def pack(self, x: Array, u: Array, p: Array) -> Array:
        dynamics = self.equations.explicit
        z = dynamics.solution([0.0], x, u, p) if self._solved and isinstance(dynamics, LinearSolveProgram) else np.zeros(0)
        rates = dict.fromkeys(self._own_targets, self.fixed.get(ACCELERATION, 0.0))
        values = dict(zip((*self._inputs, *self._parameters), (*u, *p), strict=True)) | rates
        return np.concatenate([x[: self.own], z, [values[n] for n in self.free]])

    def unpack(self, y: Array, x: Array, u: Array, p: Array) -> tuple[Array, Array, Array]:
        x, u, p = x.copy(), u.copy(), p.copy()
        x[: self.own] = y[: self.own]
        for name, value in zip(self.free, y[self.own + self._solved :], strict=True):
            if name in self._inputs:
                u[self._inputs.index(name)] = value
            elif name not in self._own_targets:
                p[self._parameters.index(name)] = value
        return x, u, p

    def evaluate(self, y: Array, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Residual and Jacobian at y."""
        x, u, p = self.unpack(y, x, u, p)
        z = y[self.own : self.own + self._solved]
        rate = [[y[self.own + self._solved + self.free.index(ACCELERATION)]]] if self.accelerates else []
        residual, jacobian = self.program([0.0], x, u, p, z, list(self.fixed.values()), *rate)
        return residual, np.reshape(jacobian, (len(residual), len(y)))

    @cached_property
    def _working_rows(self) -> NDArray[np.int64]:
        """Rows of F that are solved; the others are redundant."""
        count = self.program.outputs[0].size
        if self._constraints is None:
            return np.arange(count)
        return np.array([*self._constraints, *range(len(self.equations.constraints), count)], dtype=np.int64)

    def _dependent_rates(self, jacobian: Array) -> list[int]:
        """Rows of rates of velocities that follow from the others where constraints of velocities hold: as many as these have
        independent rows, for formulations that eliminate none. Beside the constraints they are independent with tiny pivots."""
        e, first = self.equations, len(self.equations.coordinates)
        levels = [i for i, constraint in enumerate(e.constraints) if constraint.level == "velocity"]
        kept = levels if self._constraints is None else [i for i in levels if i in self._constraints]
        if not self.rates or not kept or tuple(self.deviations.speeds) != e.independent:
            return []
        begin = len(jacobian) - len(self.fixed) - len(e.independent)
        return [begin + j for j in independent_columns(unit_rows(jacobian[kept][:, first : self.own]))]

    def solve(self, y: Array, x: Array, u: Array, p: Array) -> tuple[Array, Array, Array]:
        """x, u, p of the solution, by damped least-norm Newton steps."""
        rows = np.setdiff1d(self._working_rows, self._dependent_rates(self.evaluate(y, x, u, p)[1]))

        def evaluate(y: Array) -> tuple[Array, Array]:
            residual, jacobian = self.evaluate(y, x, u, p)
            return residual[rows], jacobian[rows]

        nearest: tuple[float, Array] | None = None
        for newton in (NEWTON, FULL_STEPS):
            found = newton.solve(evaluate, y, self._least_change).point.x
            residual, jacobian = self.evaluate(found, x, u, p)
            scale = np.abs(jacobian).max(axis=1, initial=1.0)  # of each row: stiff tires do not blur a target
            worst = float(np.abs(residual).max(initial=0.0))
            rounded = ROUNDED * np.abs(jacobian) @ np.abs(found)  # all that large numbers allow
            motion = slice(
                len(residual) - len(self.fixed)
            )  # rates share a mass matrix and products of velocities; targets do not
            rounded[motion] = max(rounded[motion].max(initial=0.0), ROUNDED * np.abs(found).max(initial=0.0))
            if (np.abs(residual) <= np.maximum(1e-9 * scale, rounded)).all():
                return self.unpack(found, x, u, p)
            nearest = min(nearest or (np.inf, y), (worst, found), key=lambda candidate: candidate[0])
            if not self.rates:
                break
        assert nearest is not None
        raise _not_found(self.equations.name, self.fixed, self.unpack(nearest[1], x, u, p), nearest[0], steady=self.rates)

    def _least_change(self, point: Linearized) -> Array:
        """The smallest change of state that makes F vanish to first order. Forces are scaled by their magnitude and equations by
        their entries, so that small numbers are not mistaken for round-off."""
        sizes = np.ones(len(point.x))
        forces = slice(self.own, self.own + self._solved)
        sizes[forces] = np.maximum(np.abs(point.x[forces]), 1.0)
        units = np.maximum(np.linalg.norm(point.jacobian * sizes, axis=1), LEAST_UNIT)
        scaled = Linearized(point.x, point.residual / units, point.jacobian / units[:, None])
        return LeastNorm(1e-11, sizes)(scaled)


def accelerates(equations: Equations, targets: Iterable[str]) -> bool:
    """Whether the acceleration is a target, or left free, and not a name of the model's own."""
    return ACCELERATION in targets and not any(q.name == ACCELERATION for q in named_quantities(equations))


@lru_cache(maxsize=64)
def _steady_program(
    equations: Equations, essential: tuple[str, ...], free: tuple[str, ...], fixed: tuple[str, ...], rates: bool
) -> Program:
    """The fixed values are arguments, so that one program serves all of them."""
    slots, residual, unknowns = SteadyProblem(equations, essential, free, dict.fromkeys(fixed, 0.0), rates, trim=True)._parts
    jacobian = short_jacobian(residual, unknowns)
    return program_without_cse(f"{equations.name}_steady", slots, {"residual": residual, "jacobian": jacobian})


def _not_found(
    model: str,
    fixed: Mapping[str, float],
    nearest: tuple[Array, Array, Array],
    residual: float,
    others: Callable[[], Sequence[str]] = tuple,
    *,
    steady: bool = True,
    singular: str = "",
) -> SolverError:
    """The error for a steady motion that does not exist; `nearest` is (x, u, p) of the last iterate."""
    what = f"no steady motion with {_listed(fixed)} was found" if steady else "no state that satisfies its constraints was found"
    best = singular or (f"smallest residual {residual:.2g}" if np.isfinite(residual) else "singular configuration")
    cure = "fix fewer quantities, leave an input free to maintain the motion, or give near=… closer to it"
    return SolverError(f"{model}: {what} ({best})", nearest=nearest, residual=residual, cure=cure, others=others)


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value if abs(value) > 1e-12 else 0:.6g}" for name, value in values.items()) or "nothing fixed"


def _moved(motion: Motion, parameters: Mapping[str, float] | None, inputs: Mapping[str, float]) -> Motion:
    """A motion with other parameters and inputs, where they are given."""
    e, u = motion.equations, motion.u.copy()
    for k, quantity in enumerate(e.inputs):
        u[k] = inputs.get(quantity.name, u[k])
    if not parameters:
        return Motion(e, motion.x, u, motion.p)
    own = dict(zip((q.name for q in e.parameters), motion.p.tolist(), strict=False))
    p = parameter_values(e, own | dict(parameters))
    return Motion(e, motion.x, u, np.concatenate([p[: len(own)], motion.p[len(own) :]]))


def steady_near(
    model: Model | System | Equations,
    fixed: Mapping[str, float] | None = None,
    *,
    free: Sequence[str] = (),
    near: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> SteadyMotion:
    """The steady motion with named quantities fixed, by Newton's method from a state; arguments as in `steady`."""
    equations = explicit_equations_of(model)
    given_parameters(model, equations, parameters)
    targets = real_values(equations, "fixed quantity", fixed)
    known = {i.name for i in equations.inputs}
    trimmed = {ACCELERATION} if accelerates(equations, (*targets, *free)) else set()
    if trimmed and SPEED not in {o.name for o in equations.outputs}:
        raise ArgumentError(f"{equations.name}: an acceleration is that of the output 'speed', which the model does not have")
    begin = motion_of(near) if near is not None else {n: v for n, v in targets.items() if n not in known | trimmed}
    given = {**{n: v for n, v in targets.items() if n in known}, **(inputs or {})}
    try:
        motion = _moved(begin, parameters, given) if isinstance(begin, Motion) else motion_at(equations, begin, parameters, given)
        naming = _naming_at(motion)
        if naming.names:
            require_no_time(equations, motion.x, motion.u, motion.p, "a steady motion")
        ignorable = _known_ignorable(near, motion) or ignorable_names(equations, motion, naming.rows)
    except SolverError as failure:
        cause = what_is_singular(Motion(equations, *failure.nearest))
        raise _not_found(equations.name, targets, failure.nearest, failure.residual, singular=cause) from None
    names = [n for n in naming.names if n not in ignorable and n not in deviations_of(equations).speeds]
    if near is None:
        motion = pressed(motion, targets, naming.rows)

    def solved(required: Mapping[str, float], freed: Sequence[str]) -> tuple[Array, Array, Array]:
        left = [*freed, *(n for n in required if n in known | trimmed and n not in freed)]
        problem = SteadyProblem(equations, names, left, required, rows=naming.rows, trim=True)
        found = Motion(equations, *problem.solve(problem.pack(motion.x, motion.u, motion.p), motion.x, motion.u, motion.p))
        # a lateral force makes the heading matter: drifting coordinates must have no effect at the solution either
        if left and not trimmed and (change := _change_by_drift(found, ignorable)) > STEADY:
            raise _not_found(equations.name, required, (found.x, found.u, found.p), change)
        return found.x, found.u, found.p

    try:
        x, u, p = solved(targets, free)
    except SolverError as failure:
        raise _not_found(
            equations.name,
            targets,
            failure.nearest,
            failure.residual,
            lambda: _alternatives(equations, targets, free, solved),
            singular=what_is_singular(Motion(equations, *failure.nearest)),
        ) from None
    values = named_values(equations, x, u, p)
    if trimmed:
        values[ACCELERATION] = _acceleration(equations, x, u, p, values[SPEED])
    return SteadyMotion(equations, x, u, p, values, ignorable)


def _known_ignorable(near: object, motion: Motion) -> tuple[str, ...]:
    """Those of the steady motion from which a search starts, if it is one of the same equations and parameters."""
    same = isinstance(near, SteadyMotion) and near.equations is motion.equations and np.array_equal(near.p, motion.p)
    return near.ignorable if same else ()  # type: ignore[attr-defined]


def _acceleration(equations: Equations, x: Array, u: Array, p: Array, speed: float) -> float:
    """The acceleration of a trim, from the rates of all velocities, which are in proportion to them."""
    own = slice(len(equations.coordinates), len(equations.coordinates) + len(equations.independent))
    rates = np.ravel(equations.explicit([0.0], x, u, p)[0])[own]
    return float(speed * (rates @ x[own]) / (x[own] @ x[own]))


def _change_by_drift(motion: Motion, ignorable: Sequence[str]) -> float:
    """Rate of change of the rates due to drifting coordinates, relative to the largest entry of A."""
    deviations = deviations_of(motion.equations)
    derivatives = deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    naming = deviations.choose(derivatives)
    a, rates = naming.matrices(derivatives)[0][0], naming.rates(derivatives)[0]
    running = [j for j, name in enumerate(naming.names) if name in ignorable]
    rest = [i for i, name in enumerate(naming.names) if name not in ignorable]
    change = np.abs(a[np.ix_(rest, running)] @ rates[running]).max(initial=0.0)
    return float(change / max(1.0, np.abs(a).max(initial=0.0)))


def _alternatives(
    equations: Equations,
    targets: Mapping[str, float],
    free: Sequence[str],
    solved: Callable[[Mapping[str, float], Sequence[str]], tuple[Array, Array, Array]],
) -> list[str]:
    """Steady motions that exist: with one or two more inputs left free, and with each target dropped."""
    found = []
    inputs = [i.name for i in equations.inputs if i.name not in (*free, *targets)]
    tries = [(targets, (*free, *more), list(more)) for count in (1, 2) for more in combinations(inputs, count)]
    tries += [({n: v for n, v in targets.items() if n != name}, tuple(free), [name]) for name in targets]
    for required, freed, released in tries:
        try:
            values = named_values(equations, *solved(required, freed))
        except (ValueError, SolverError, np.linalg.LinAlgError):
            continue  # does not exist either
        if not sliding_tires(values) and all(name in values for name in released):
            dropped = [name for name in released if name in targets]
            kept = f" and {_listed(required)}" if dropped and required else ""
            found.append(f"with {_listed({name: values[name] for name in released})}{kept}")
        if len(found) == 3:
            break
    return found


def named_values(equations: Equations, x: Array, u: Array, p: Array) -> dict[str, float]:
    """All named values at a state: states, all velocities, multipliers, outputs, inputs, energies."""
    reported = dict(zip((slot.name for slot in equations.report.outputs), equations.report([0.0], x, u, p), strict=True))
    values = dict(zip((q.name for q in equations.states), x.tolist(), strict=True))
    for slot in equations.report.outputs:
        if slot.name in ("v", "multipliers", "outputs", "energy"):
            values |= dict(zip(slot.labels, np.ravel(reported[slot.name]).tolist(), strict=True))
    return values | dict(zip((i.name for i in equations.inputs), u.tolist(), strict=True))
