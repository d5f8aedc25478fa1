"""Kane's equations by differentiation of a program, from the bodies and loads of SymPy's mechanics.

For each body with velocity V(q, u, t) and angular velocity W, resolved in the frame they are written in, the partial velocities
are ∂V/∂u and ∂W/∂u, and the inertia forces are the rates of momentum P = m V and L = I W:

    M = Σ Vᵤᵀ ∂P/∂u + Wᵤᵀ ∂L/∂u,      F = Σ Vᵤᵀ (R − P˚) + Wᵤᵀ (T − L˚)      at u̇ = 0,

where ˚ is d/dt in the ground: the rate of the components plus the frame's angular velocity × them. All speeds are kept; the
constraints between them become rows of the augmented matrix, so that no dependent speeds are chosen and no pivot is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.linear_algebra import solve
from draisine.errors import ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.program.equations import Quantity
from draisine.symbolic.symbol_table import MechanicsSymbols, plain

Reals = NDArray[np.float64]
_NEWTON = Newton(tolerance=1e-12, acceptable=1e-9)  # random states onto the constraints

SAME_SPAN = 1e-8  # of a row's length: the rest outside the span of other rows that counts as rounding
SAMPLES = 4


@dataclass(frozen=True)
class Mechanics:
    """The data of Kane's method, in SymPy's objects."""

    frame: Any  # inertial
    coordinates: tuple[Any, ...]
    speeds: tuple[Any, ...]
    auxiliary: tuple[Any, ...]  # speeds that are zero, introduced for their constraint forces
    kinematics: tuple[Any, ...]  # k(q̇, u, q, t) = 0, linear in q̇, for the coordinates whose rates are not themselves speeds
    bodies: tuple[Any, ...]
    loads: tuple[Any, ...]  # pairs of a point and a force, or of a frame and a torque
    configuration: tuple[tuple[str, Any], ...]  # name, f(q, t) = 0
    motion: tuple[tuple[str, Any], ...]  # name, g(q, u, t) = 0, including rates of the configuration constraints


@dataclass(frozen=True)
class State:
    """A state that satisfies the constraints, with inputs and time."""

    t: float
    q: Reals
    v: Reals
    u: Reals


def second_order(
    m: Mechanics, symbols: MechanicsSymbols, start: dict[str, float], outputs: dict[str, Any], unit: dict[str, str]
) -> SecondOrder:
    """M, F, energies and constraints of the bodies under the loads."""
    rates = _rates(m, symbols)
    sums = BodySums(m.frame, symbols, rates)
    for body in m.bodies:
        sums.add_body(body)
    active = sums.active_forces(m.loads)
    potential = symbols.scalar(sum((body.potential_energy for body in m.bodies), start=0), "the potential energy")
    conservative = -ca.jacobian(sums.rate(potential), symbols.v).T
    system = SecondOrder(
        name=symbols.name,
        t=symbols.t,
        q=symbols.q,
        v=symbols.v,
        u=symbols.u,
        p=symbols.p,
        coordinates=tuple(Quantity(n, unit.get(n, ""), default=start.get(n, 0.0)) for n in symbols.coordinates),
        velocities=tuple(Quantity(n, unit.get(n, ""), default=start.get(n, 0.0)) for n in symbols.speeds),
        inputs=tuple(Quantity(n, unit.get(n, "")) for n in symbols.inputs),
        parameters=tuple(Quantity(n, unit.get(n, ""), default=value) for n, value in symbols.parameters.items()),
        q_rate=rates,
        mass=ca.densify(sums.mass),
        force=ca.densify(active - sums.inertia),
        driven=ca.densify(active - conservative),
        kinetic=sums.kinetic,
        potential=potential,
        outputs=[(Quantity(n, unit.get(n, "")), symbols.scalar(e, f"output {n!r}")) for n, e in outputs.items()],
    )
    configuration = [(n, symbols.scalar(e, f"constraint {n}")) for n, e in m.configuration]
    motion = [(n, symbols.scalar(e, f"constraint {n}")) for n, e in m.motion]
    expressions = [e for _, e in (*configuration, *motion, *system.outputs)]
    # with auxiliary speeds, forces may be unknown: those that these speeds bring into evidence
    forces = () if m.auxiliary else (system.force, system.driven)
    symbols.check(system.mass, *forces, system.kinetic, system.q_rate, *expressions)
    system = _sort_constraints(system, configuration, motion, len(m.auxiliary))
    return _constrain_auxiliary(system, m, symbols, expressions) if m.auxiliary else system


def _rates(m: Mechanics, symbols: MechanicsSymbols) -> ca.SX:
    """q̇ from the kinematic differential equations, solved by cofactors: singular only where their determinant vanishes."""
    rates = [q.diff() for q in m.coordinates]
    unknown = [r for r in rates if r not in m.speeds]
    rate_symbols = [ca.SX.sym(plain(r)) for r in unknown]
    for rate, symbol in zip(unknown, rate_symbols, strict=True):
        symbols.define(rate, symbol)
    equations = symbols.lower(m.kinematics, "a kinematic differential equation")
    if equations.numel() != len(unknown):
        raise ModelError(
            f"{symbols.name}: {len(unknown)} coordinates need as many kinematic differential equations, got {equations.numel()}"
        )
    every = ca.vertcat(ca.SX(0, 1), *rate_symbols)
    matrix, rest = ca.jacobian(equations, every), ca.substitute(equations, every, ca.SX.zeros(len(rate_symbols)))
    if ca.depends_on(matrix, ca.vertcat(every, symbols.v)):
        raise ModelError(f"{symbols.name}: the kinematic differential equations are not linear in the rates of the coordinates")
    rows = [[matrix[i, j] for j in range(len(rate_symbols))] for i in range(len(rate_symbols))]
    (solved,) = solve(rows, [[-rest[i] for i in range(len(rate_symbols))]])
    for rate, value in zip(unknown, solved, strict=True):
        symbols.define(rate, value)
    return symbols.lower(rates, "a rate")


class BodySums:
    """Mass matrix, inertia forces at u̇ = 0 and kinetic energy, summed over bodies."""

    def __init__(self, ground: Any, symbols: MechanicsSymbols, rates: ca.SX) -> None:
        n = symbols.v.numel()
        self._ground, self._symbols, self._rates = ground, symbols, rates
        self._rotations: dict[tuple[Any, Any], ca.SX] = {}
        self.mass, self.inertia, self.kinetic = ca.SX(n, n), ca.SX(n, 1), ca.SX(0)

    def rate(self, quantity: ca.SX) -> ca.SX:
        """d/dt of components, at u̇ = 0."""
        return ca.jtimes(quantity, self._symbols.q, self._rates) + ca.jacobian(quantity, self._symbols.t)

    def add_body(self, body: Any) -> None:
        from sympy.physics.mechanics import RigidBody

        what = f"body {body.name!r}"
        rigid = isinstance(body, RigidBody)
        try:
            velocity = (body.masscenter if rigid else body.point).vel(self._ground)
            spin = body.frame.ang_vel_in(self._ground) if rigid else None
        except ValueError as problem:
            raise ModelError(f"{self._symbols.name}: {what} has no known velocity: {problem}") from None
        if velocity.args:
            frame = _one_frame(velocity) or self._ground
            components = self.components(velocity, frame, what)
            self._add(components, self._symbols.scalar(body.mass, f"the mass of {what}") * components, frame, what)
        if spin is not None and spin.args:
            frame = frame_of_dyadic(body.central_inertia) or body.frame
            inertia = self._symbols.lower(list(body.central_inertia.to_matrix(frame)), f"the inertia of {what}")
            components = self.components(spin, frame, what)
            self._add(components, ca.reshape(inertia, 3, 3) @ components, frame, what)

    def _add(self, velocity: ca.SX, momentum: ca.SX, frame: Any, what: str) -> None:
        partial = ca.jacobian(velocity, self._symbols.v)
        change = self.rate(momentum)
        if frame != self._ground:
            change += ca.cross(self.components(frame.ang_vel_in(self._ground), frame, what), momentum)
        self.mass += partial.T @ ca.jacobian(momentum, self._symbols.v)
        self.inertia += partial.T @ change
        self.kinetic += ca.dot(momentum, velocity) / 2

    def active_forces(self, loads: Sequence[Any]) -> ca.SX:
        """Σ partial velocity · force over points with forces and frames with torques."""
        from sympy.physics.mechanics import ReferenceFrame

        total = ca.SX(self._symbols.v.numel(), 1)
        for target, vector in loads:
            is_torque = isinstance(target, ReferenceFrame)
            velocity = target.ang_vel_in(self._ground) if is_torque else target.vel(self._ground)
            if not velocity.args:
                continue
            what = f"the {'torque on' if is_torque else 'force at'} {target.name!r}"
            frame = _one_frame(velocity) or self._ground
            partial = ca.jacobian(self.components(velocity, frame, what), self._symbols.v)
            total += partial.T @ self.components(vector, frame, what)
        return total

    def components(self, vector: Any, frame: Any, what: str) -> ca.SX:
        """A vector resolved in a frame; its parts are rotated in the program, never multiplied out as formulas."""
        total = ca.SX(3, 1)
        for measures, other in vector.args:
            part = self._symbols.lower(list(measures), what)
            total += part if other == frame else self.rotation(frame, other, what) @ part
        return ca.densify(total)

    def rotation(self, frame: Any, other: Any, what: str) -> ca.SX:
        if (frame, other) not in self._rotations:
            try:
                matrix = frame.dcm(other)
            except ValueError:
                raise ModelError(
                    f"{self._symbols.name}: {what} is written in the frames {frame} and {other}, between which no orientation is "
                    "given; orient one of them, or write the vector in one frame"
                ) from None
            entries = self._symbols.lower(list(matrix.T), f"the orientation of {other}")  # by columns
            self._rotations[frame, other] = ca.reshape(entries, 3, 3)
        return self._rotations[frame, other]


def _one_frame(vector: Any) -> Any:
    """The frame that a vector is written in, if there is only one."""
    return vector.args[0][1] if len(vector.args) == 1 else None


def frame_of_dyadic(dyadic: Any) -> Any:
    frames = {frame for _, *pair in dyadic.args for side in pair for _, frame in side.args}
    return frames.pop() if len(frames) == 1 else None


# ---------------------------------------------------------------- constraints


def _sort_constraints(
    system: SecondOrder, configuration: list[tuple[str, ca.SX]], motion: list[tuple[str, ca.SX]], auxiliary: int
) -> SecondOrder:
    """Configuration constraints with their rates as rows, and the velocity constraints that are independent of them.

    Kane's method takes f(q) = 0 and, among the velocity constraints, its rate in any form. A configuration constraint that the
    kinematics conserve (the norm of a quaternion) has no row. With auxiliary speeds, the last ones, the velocity constraints are
    kept instead of the rates: they contain these speeds, and so bring the forces into evidence.
    """
    names = [n for n, _ in (*configuration, *motion)]
    if not names:
        return system
    count = len(configuration)
    tables = _row_tables(system, configuration, motion)
    idle = [i for i in range(len(names)) if all(np.linalg.norm(rows[i]) <= SAME_SPAN * sizes[i] for rows, sizes in tables)]
    if auxiliary:
        zero = np.eye(system.v.numel())[-auxiliary:]
        kept = [i for i in range(count) if all(not _outside(rows[i], np.vstack([rows[count:], zero])) for rows, _ in tables)]
        idle += [i for i in kept if i not in idle]
    chosen = [i for i in range(count) if i not in idle]
    for i in range(count, len(names)):
        if i not in idle and any(_outside(rows[i], rows[chosen]) for rows, _ in tables):
            chosen.append(i)
    _check_consistency(system.name, names, chosen, idle, count, [rows for rows, _ in tables])
    return replace(
        system,
        holonomic=[configuration[i] for i in chosen if i < count],
        invariants=[configuration[i] for i in idle if i < count],
        nonholonomic=[motion[i - count] for i in chosen if i >= count],
    )


def _outside(row: Reals, others: Reals) -> bool:
    """Whether a row is independent of others."""
    size = float(np.linalg.norm(row))
    if not len(others) or size == 0.0:
        return size > 0.0
    scaled = others / np.maximum(np.linalg.norm(others, axis=1, keepdims=True), 1e-300)
    rest = row - np.linalg.lstsq(scaled.T, row, rcond=1e-10)[0] @ scaled
    return bool(np.linalg.norm(rest) > SAME_SPAN * size)


def _row_tables(
    system: SecondOrder, configuration: list[tuple[str, ca.SX]], motion: list[tuple[str, ca.SX]]
) -> list[tuple[Reals, Reals]]:
    """At a few configurations: the rows ∂g/∂v of all constraints, and a reference length of each."""
    positions = ca.vertcat(ca.SX(0, 1), *[f for _, f in configuration])
    velocities = ca.vertcat(system.rate(positions), *[g for _, g in motion])
    rows, gradient = ca.jacobian(velocities, system.v), ca.jacobian(positions, system.q)
    evaluate = ca.Function("rows", [system.t, system.q, system.v, system.p], [ca.densify(rows), ca.densify(gradient)])
    p = _defaults(system.parameters)
    tables = []
    for s in states(replace(system, holonomic=configuration), SAMPLES):
        matrix, gradients = (part.full() for part in evaluate(s.t, s.q, s.v, p))
        # the rate of f(q) is compared with ∂f/∂q; a velocity constraint without speeds has rounding errors at most
        measure = np.concatenate([np.linalg.norm(gradients, axis=1), np.full(len(motion), 1e-4)])
        tables.append((matrix, measure))
    return tables


def _check_consistency(name: str, names: list[str], chosen: list[int], idle: list[int], count: int, tables: list[Reals]) -> None:
    given = [i for i in range(count, len(names)) if i not in idle]
    if len(chosen) == len(given):
        return
    alone = [names[i] for i in chosen if i < count and any(_outside(rows[i], rows[count:]) for rows in tables)]
    if alone:
        raise ModelError(
            f"{name}: the velocity constraints do not keep the configuration constraint{'s' if len(alone) > 1 else ''} "
            f"{', '.join(alone)} (numbered as given); add the time derivative to velocity_constraints, with a dependent speed"
        )
    dependent = ", ".join(names[i] for i in given)
    raise ModelError(f"{name}: the velocity constraints {dependent} (numbered as given) depend on each other")


def _constrain_auxiliary(system: SecondOrder, m: Mechanics, symbols: MechanicsSymbols, expressions: list[ca.SX]) -> SecondOrder:
    """Auxiliary speeds as velocities constrained to zero: the multipliers are the noncontributing forces.

    Forces named for that purpose (constants without a value, undeclared functions of time) must not affect the motion; those that
    do are missing parameters or inputs.
    """
    count = len(m.auxiliary)
    first = len(m.speeds)
    names = symbols.speeds[first:]
    constrained = replace(system, nonholonomic=[*system.nonholonomic, *((n, system.v[first + i]) for i, n in enumerate(names))])
    undeclared = ca.vertcat(ca.SX(0, 1), *symbols.without_value.values())
    reach = ca.jacobian(system.force, undeclared)
    zero = ca.SX.zeros(undeclared.numel())
    force, driven = (ca.substitute(part, undeclared, zero) for part in (system.force, system.driven))
    symbols.check(system.mass, force, system.kinetic, system.q_rate, *expressions)
    evaluate = ca.Function("reach", [system.t, system.q, system.v, system.u, system.p, undeclared], [ca.densify(reach)])
    p = _defaults(system.parameters)
    rows = ca.Function("rows", [system.t, system.q, system.p], [_constraint_matrix(constrained)])
    for s in states(constrained, SAMPLES):
        matrix, table = rows(s.t, s.q, p).full(), evaluate(s.t, s.q, s.v, s.u, p, np.ones(undeclared.numel())).full()
        # a constraint force lies in the span of the rows; others affect the motion
        rest = table - matrix.T @ np.linalg.lstsq(matrix.T, table, rcond=None)[0]
        acting = np.linalg.norm(rest, axis=0) > 1e-9 * (1 + np.linalg.norm(table, axis=0))
        working = [n for n, acts in zip(symbols.without_value, acting, strict=True) if acts]
        if working:
            symbols.refuse(
                working,
                f". They affect the motion, so the auxiliary speed{'s' if count > 1 else ''} {', '.join(names)} cannot bring "
                "them into evidence",
            )
    return replace(constrained, force=force, driven=driven)


# ---------------------------------------------------------------- states


def _defaults(quantities: Sequence[Quantity]) -> Reals:
    return np.array([q.default for q in quantities])


def _constraint_matrix(system: SecondOrder) -> ca.SX:
    rates = [system.rate(f) for _, f in system.holonomic]
    return ca.densify(ca.jacobian(ca.vertcat(ca.SX(0, 1), *rates, *[g for _, g in system.nonholonomic]), system.v))


def states(system: SecondOrder, count: int) -> list[State]:
    """Random states near the defaults that satisfy the constraints."""
    p = _defaults(system.parameters)
    positions = ca.vertcat(ca.SX(0, 1), *[f for _, f in (*system.holonomic, *system.invariants)])
    velocities = ca.vertcat(ca.SX(0, 1), *[system.rate(f) for _, f in system.holonomic], *[g for _, g in system.nonholonomic])
    position_residual = ca.Function(
        "position_residual", [system.t, system.q, system.p], [positions, ca.densify(ca.jacobian(positions, system.q))]
    )
    velocity_residual = ca.Function(
        "velocity_residual",
        [system.t, system.q, system.v, system.p],
        [velocities, ca.densify(ca.jacobian(velocities, system.v))],
    )
    rng = np.random.default_rng(1961)
    samples: list[State] = []
    for attempt in range(20 * count):
        t, spread = float(rng.uniform(0.1, 1.0)), 0.5 if attempt < 10 * count else 0.05
        q = _defaults(system.coordinates) + rng.uniform(-spread, spread, system.q.numel())
        q = _project(lambda q, t=t: position_residual(t, q, p), q)
        v = rng.normal(size=system.v.numel())
        v = _project(lambda v, t=t, q=q: velocity_residual(t, q, v, p), v)
        if np.isfinite(q).all() and np.isfinite(v).all():
            samples.append(State(t, q, v, rng.normal(size=system.u.numel())))
        if len(samples) == count:
            return samples
    raise ModelError(
        f"{system.name}: no coordinates near the defaults satisfy the configuration constraints; pass "
        "start={coordinate: value} with a configuration that nearly does"
    )


def _project(residual: Any, y: Reals) -> Reals:
    """The nearest solution of residual(y) = 0 by least-norm Newton steps; NaN if it does not converge."""

    def evaluate(y: Reals) -> tuple[Reals, Reals]:
        r, jacobian = (part.full() for part in residual(y))
        return r[:, 0], jacobian

    found = _NEWTON.solve(evaluate, y, LeastNorm())
    return found.point.x if found.converged else np.full_like(y, np.nan)
