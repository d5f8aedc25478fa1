"""Whipple matrices of a two-wheeler: M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f, q = (lean, steer).

Numerically (`WhippleMatrices`) they follow from the exact linearization of the nonlinear model: M is the reduced mass matrix, the
others are fitted to the linear model at several speeds, with a check of the dependence on speed (Meijaard, Papadopoulos, Ruina &
Schwab 2007, eq. 5.3).

As a program of the parameters (`whipple_program`) they are exact, differentiable and evaluated in microseconds. Straight upright
running is written in symbols: states that are constant for all parameters are numbers, the height follows from the contact of a
wheel, the spin from the speed. The projected forces F = Hᵀ(M v̇ + h) of all bodies are differentiated by lean, steer and their
rates; no matrix is inverted, so the expressions stay rational and short. The result is checked against the linear model of the
dynamics at several speeds and parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.results.base import Result
from draisine.stability.deviations import Deviations, deviations_of
from draisine.stability.linearization import Motion, equations_of
from draisine.stability.steady_problem import SteadyMotion, steady_near

Array = NDArray[np.float64]

SPEEDS = (0.0, 1.0, 2.0, 3.0)  # m/s, at which the linear model is fitted
TEST_SPEEDS = (1.0, 1.7, 2.3)  # m/s; with random parameters they separate constants from what depends on parameters
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class WhippleMatrices(Result):
    """M, C₁, K₀ and K₂ for the coordinates `names`, and g, in draisine's axes: lean positive to the right, steer to the left."""

    names: tuple[str, str]
    M: Array
    C1: Array
    K0: Array
    K2: Array
    gravity: float

    def z_down(self) -> WhippleMatrices:
        """The matrices for steer positive to the right, as in texts with the z axis down: diag(1, −1) on both sides."""
        turn = np.array([[1.0, -1.0], [-1.0, 1.0]])
        return WhippleMatrices(self.names, self.M * turn, self.C1 * turn, self.K0 * turn, self.K2 * turn, self.gravity)

    def matrix(self, speed: float) -> Array:
        """The state matrix of (q, q̇) at a speed."""
        stiffness, damping = self.gravity * self.K0 + speed**2 * self.K2, speed * self.C1
        below = -np.linalg.solve(self.M, np.hstack([stiffness, damping]))
        return np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), below])

    def _table(self) -> Mapping[str, Any]:
        parts = {"M": self.M, "C1": self.C1, "K0": self.K0, "K2": self.K2}
        columns = {f"{part} by {name}": matrix[:, k] for part, matrix in parts.items() for k, name in enumerate(self.names)}
        return {"equation": self.names, **columns}

    def __str__(self) -> str:
        lines = [f"Whipple matrices of {self.names[0]} and {self.names[1]}, g = {self.gravity:g} m/s²"]
        for part, matrix in (("M", self.M), ("C1", self.C1), ("K0", self.K0), ("K2", self.K2)):
            lines += [f"  {part if i == 0 else '':<2}" + "".join(f" {value:>14.8g}" for value in matrix[i]) for i in range(2)]
        return "\n".join(lines)


def whipple_matrices(
    model: Model | System | Equations,
    *,
    lean: str = "lean",
    steer: str = "steer",
    speed: str = "speed",
    gravity: str = "gravity",
    parameters: Mapping[str, float] | None = None,
) -> WhippleMatrices:
    """Whipple matrices of a two-wheeler.

    - `lean`, `steer`, `speed`: names of its outputs or states; `gravity`: name of its parameter of gravity.
    - `parameters`: values by name; the others have their defaults.

    >>> import draisine as dr
    >>> dr.bicycle.whipple_matrices(dr.gallery.bicycle()).z_down().M.round(5).tolist()
    [[80.81722, 2.31941], [2.31941, 0.29784]]
    """
    refuse_unilateral("whipple_matrices", model)
    equations = equations_of(model)
    names = [p.name for p in equations.parameters]
    if gravity not in names:
        raise ArgumentError(f"{equations.name} has no parameter {gravity!r} for gravity; name it by gravity=…")
    motions = [steady_near(equations, {speed: v, lean: 0.0, steer: 0.0}, near={speed: v}, parameters=parameters) for v in SPEEDS]
    mass, matrices = None, []
    for motion in motions:
        mass_matrix, matrix = _second_order(motion, (lean, steer))
        mass = mass_matrix if mass is None else mass
        matrices.append(matrix)
    assert mass is not None
    dampings = [-mass @ a[2:, 2:] for a in matrices]
    stiffnesses = [-mass @ a[2:, :2] for a in matrices]
    c1 = dampings[1] / SPEEDS[1]
    rest = stiffnesses[0]
    k2 = (stiffnesses[1] - rest) / SPEEDS[1] ** 2
    for v, damping, stiffness in zip(SPEEDS, dampings, stiffnesses, strict=True):
        misfit = max(np.abs(damping - v * c1).max(), np.abs(stiffness - rest - v * v * k2).max())
        if misfit > 1e-8 * max(1.0, np.abs(stiffness).max()):
            raise ModelError(
                f"{equations.name} does not have the form of Whipple's equations: at {speed} = {v:g} its damping is not v C₁, "
                f"or its stiffness not g K₀ + v² K₂ (misfit {misfit:.2g}); does it have friction or springs?"
            )
    g = float(motions[0].p[names.index(gravity)])
    return WhippleMatrices((lean, steer), mass, c1, rest / g, k2, g)


def _second_order(motion: Motion, names: tuple[str, str]) -> tuple[Array, Array]:
    """Mass matrix and state matrix of (q, q̇) for two coordinates whose deviations do not depend on others."""
    e = motion.equations
    deviations = deviations_of(e, names)
    jacobians = deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    naming = deviations.choose(jacobians)
    a, _ = naming.matrices(jacobians)
    span = naming.span(jacobians)[0]
    at = [naming.names.index(n) for n in names]
    speeds = [i for i, n in enumerate(naming.names) if n in e.independent]
    # δq̇ = N δv: keep only the velocities that change these coordinates
    rates = a[0][np.ix_(at, speeds)]
    moving = [s for s, column in zip(speeds, rates.T, strict=True) if np.abs(column).max() > 1e-9]
    if len(moving) != 2:
        raise ModelError(f"{e.name}: {len(moving)} independent velocities change {names[0]} and {names[1]}; two are needed")
    turn = np.linalg.inv(a[0][np.ix_(at, moving)])
    order = [*at, *moving]
    block = a[0][np.ix_(order, order)]
    outside = [j for j in range(len(naming.names)) if j not in order]
    if np.abs(a[0][np.ix_(order, outside)]).max(initial=0.0) > 1e-8:
        raise ModelError(
            f"{e.name}: {names[0]} and {names[1]} depend on other deviations; it does not have the form of Whipple's equations"
        )
    change = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), turn]])
    columns = _velocity_columns(motion, span[:, moving]) @ turn
    return columns.T @ _mass_matrix(motion) @ columns, np.linalg.solve(change, block @ change)


def _velocity_columns(motion: Motion, directions: Array) -> Array:
    """Derivatives of all velocities with respect to deviations of the independent velocities."""
    e = motion.equations
    symbols = e.report.symbols() if not hasattr(e.report, "system") else e.report.system.symbols()
    velocities = e.report.function.call(symbols)[[s.name for s in e.report.outputs].index("v")]  # type: ignore[union-attr]
    jacobian = ca.Function("columns", symbols, [ca.jacobian(velocities, symbols[1][: len(directions)])])
    return np.asarray(jacobian(0.0, motion.x, motion.u, motion.p).full() @ directions)


def _mass_matrix(motion: Motion) -> Array:
    e = motion.equations
    if e.inverse_dynamics is None:
        raise ModelError(f"{e.name} has no mass matrix; derive the equations from a model")
    q, v, vdot, p = e.inverse_dynamics.symbols()
    forces = e.inverse_dynamics.function.call([q, v, vdot, p])[0]
    mass = ca.Function("mass", [q, v, p], [ca.jacobian(forces, vdot)])
    return np.asarray(mass(motion.x[: len(e.coordinates)], np.zeros(len(e.velocities)), motion.p).full())


# -------------------------------------------------------------------- as a program of the parameters


@dataclass(frozen=True)
class Naming:
    """Names of lean, steer, speed and gravity in a model."""

    lean: str = "lean"
    steer: str = "steer"
    speed: str = "speed"
    gravity: str = "gravity"


def whipple_program(model: Model | System | Equations, naming: Naming | None = None) -> Program:
    """(p) → M, C1, K0, K2 for (lean, steer), in the model's axes, with all parameters symbolic.

    >>> import draisine as dr
    >>> program = whipple_program(dr.gallery.bicycle())
    >>> program([p.default for p in dr.gallery.bicycle().freeze().parameters])[0].round(5).tolist()
    [[80.81722, -2.31941], [-2.31941, 0.29784]]
    """
    refuse_unilateral("whipple_program", model)
    return _program(equations_of(model), naming or Naming())


@lru_cache(maxsize=16)
def _program(e: Equations, naming: Naming) -> Program:
    if not isinstance(e.dynamics, Program) or not isinstance(e.report, Program) or e.inverse_dynamics is None:
        raise ModelError(f"{e.name}: accelerations are solved for at run time, so the matrices have no closed form")
    names = [p.name for p in e.parameters]
    if naming.gravity not in names:
        raise ArgumentError(f"{e.name} has no parameter {naming.gravity!r} for gravity; name it by gravity=…")
    upright = _Upright(e, naming)
    forces = _projected_forces(e, upright.deviations)
    at = names.index(naming.gravity)
    p = ca.SX.sym("p", len(names))

    def along(speed: float, gravity: ca.SX | float) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Mass, damping and stiffness matrix."""
        values = ca.SX(p)
        values[at] = gravity
        by_state, mass = forces(upright.state(values, speed), ca.SX.zeros(len(e.inputs)), values)
        columns = ca.SX(by_state) @ ca.SX(upright.directions)
        return ca.SX(mass)[upright.rows, upright.rows], columns[upright.rows, 2:], columns[upright.rows, :2]

    moving, at_rest = along(1.0, 0.0), along(0.0, 1.0)
    found = {"M": moving[0], "C1": moving[1], "K0": at_rest[2], "K2": moving[2]}
    units = {q.name: q.unit for q in e.parameters}
    program = Program.build(f"{e.name}_canonical", {"p": (p, tuple(names))}, {n: ca.densify(m) for n, m in found.items()}, units)
    for motion, speed, matrix in zip(upright.motions, TEST_SPEEDS, upright.matrices, strict=True):
        if not np.allclose(ca.evalf(upright.state(ca.SX(motion.p), speed)).full()[:, 0], motion.x, rtol=0, atol=1e-8):
            raise ModelError(f"{e.name}: the upright position does not follow from linear equations, so there is no closed form")
        _check(e, program, motion.p, (speed, float(motion.p[at])), matrix)
    return program


def _check(e: Equations, program: Program, p: Array, at: tuple[float, float], matrix: Array) -> None:
    """The linear model of the dynamics must fulfill M A₂ = −[g K₀ + v² K₂, v C₁]."""
    (speed, gravity), (mass, c1, k0, k2) = at, program(p)
    expected = np.hstack([gravity * k0 + speed**2 * k2, speed * c1])
    misfit = float(np.abs(mass @ matrix + expected).max())
    if not misfit <= 1e-8 * max(1.0, float(np.abs(expected).max())):
        raise ModelError(
            f"{e.name} does not have the form of Whipple's equations: its damping is not v C₁, or its stiffness not g K₀ + v² K₂ "
            f"(misfit {misfit:.2g}); does it have friction or springs?"
        )


def _projected_forces(e: Equations, d: Deviations) -> ca.Function:
    """(x, u, p) → ∂F/∂x and ∂F/∂v̇ of F = Hᵀ · inverse dynamics, at zero acceleration of the independent velocities."""
    assert isinstance(e.report, Program) and isinstance(e.dynamics, Program) and e.inverse_dynamics is not None
    arguments = [d._t, d._x, d._u, d._p]
    coordinates, own = len(e.coordinates), len(e.coordinates) + len(e.independent)
    q, speeds = d._x[:coordinates], d._x[coordinates:own]
    v = e.report.function.call(arguments)[[slot.name for slot in e.report.outputs].index("v")]
    columns = ca.jacobian(v, speeds)
    rate = e.dynamics.function.call(arguments)[0]
    acceleration = ca.SX.sym("a", len(e.independent))
    vdot = ca.jacobian(v, q) @ rate[:coordinates] + columns @ acceleration
    force = columns.T @ e.inverse_dynamics.function.call([q, v, vdot, d._p])[0]
    jacobians = [ca.substitute(m, acceleration, 0) for m in (ca.jacobian(force, d._x[:own]), ca.jacobian(force, acceleration))]
    # straight running does not depend on time
    return ca.Function("forces", [d._x, d._u, d._p], [ca.substitute(m, d._t, 0) for m in jacobians])


class _Upright:
    """Straight upright running for any speed and parameters: the state, and the directions of lean, steer and their rates."""

    def __init__(self, e: Equations, naming: Naming) -> None:
        # random parameters below are no machine's, and are not checked by the description
        self.equations, self.naming = replace(e, described=None), naming
        self.deviations = deviations_of(e, (naming.lean, naming.steer))
        rng = np.random.default_rng(2007)
        default = e.default_parameters
        sizes = np.where(default == 0.0, 0.1, np.abs(default))  # parameters that are zero by default are varied too
        self.motions = [self._steady(default + sizes * rng.uniform(-0.1, 0.1, len(default)), speed) for speed in TEST_SPEEDS]
        self._constants()
        self._directions()

    def _steady(self, p: Array, speed: float) -> SteadyMotion:
        fixed = {self.naming.speed: speed, self.naming.lean: 0.0, self.naming.steer: 0.0}
        given: Mapping[str, float] = dict(zip((q.name for q in self.equations.parameters), p.tolist(), strict=True))
        return steady_near(self.equations, fixed, near={self.naming.speed: speed}, parameters=given)

    def _constants(self) -> None:
        states = np.array([m.x for m in self.motions])
        varying = np.flatnonzero(np.ptp(states, axis=0) > _SAME)
        self._fixed = np.where(np.abs(states[0] - states[0].round(9)) < _SAME, states[0].round(9), states[0])
        self._fixed[varying] = 0.0
        count = len(self.equations.coordinates)
        self._unknowns, self._spins = varying[varying < count], varying[varying >= count]
        if len(self._spins) != 1:
            wrong = ", ".join(self.equations.states[i].name for i in self._spins)
            raise ModelError(f"{self.equations.name}: the speed must determine one independent velocity, not {wrong or 'none'}")

    def state(self, p: ca.SX, speed: float) -> ca.SX:
        """The state, with the height from the constraints and the spin from the speed, both linear equations."""
        x = ca.SX(self._fixed)
        if len(self._unknowns):
            residual, jacobian, _ = self._constraints(x, p)
            x[self._unknowns] = -ca.solve(jacobian[self._rows, :], residual[self._rows])
        if speed:
            x[self._spins] = speed / self._constraints(x, p)[2]
        return x

    @cached_property
    def _constraints(self) -> ca.Function:
        """(x, p) → residuals of the constraints, their derivatives by the unknown coordinates, and speed per spin."""
        d = self.deviations
        residual, outputs = d._motion
        unknowns = ca.vertcat(*[d._x[int(i)] for i in self._unknowns])
        speed = outputs[self.equations.motion.output("outputs").labels.index(self.naming.speed)]
        jacobians = residual, ca.jacobian(residual, unknowns), ca.jacobian(speed, d._x[int(self._spins[0])])
        return ca.Function("closing", [d._x, d._p], [ca.substitute(m, ca.vertcat(d._t, d._u), 0) for m in jacobians])

    @cached_property
    def _rows(self) -> list[int]:
        """One constraint for each unknown coordinate, which depends on it."""
        motion = self.motions[0]
        moved = np.abs(self._constraints(motion.x, motion.p)[1].full()) > 1e-6
        rows = [int(np.argmax(column)) for column in moved.T]
        if len(set(rows)) < len(rows):
            raise ModelError(f"{self.equations.name}: the upright position has no closed form")
        return rows

    def _directions(self) -> None:
        """δx of lean, steer and their rates, which must not depend on parameters."""
        e, names = self.equations, (self.naming.lean, self.naming.steer)
        found, rows, self.matrices = [], [], []
        for m in self.motions:
            jacobians = self.deviations.derivatives(0.0, m.x[None], m.u[None], m.p[None])
            chosen = self.deviations.choose(jacobians)
            a = chosen.matrices(jacobians)[0][0]
            at = [chosen.names.index(n) for n in names]
            speeds = [i for i, n in enumerate(chosen.names) if n in e.independent]
            moving = [i for i in speeds if np.abs(a[at, i]).max() > _SAME]
            if len(moving) != 2 or not np.allclose(a[np.ix_(at, moving)], np.eye(2), atol=_SAME):
                raise ModelError(f"{e.name}: the rates of {names[0]} and {names[1]} are not two of its independent velocities")
            found.append(chosen.span(jacobians)[0][:, [*at, *moving]])
            rows.append([e.independent.index(chosen.names[i]) for i in moving])
            self.matrices.append(a[np.ix_(moving, [*at, *moving])])
        if np.ptp(found, axis=0).max() > _SAME or any(r != rows[0] for r in rows):
            raise ModelError(f"{e.name}: the directions of lean and steer depend on parameters")
        self.directions: Array = found[0].round(9)
        self.rows: list[int] = rows[0]
