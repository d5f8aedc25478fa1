"""The canonical matrices of a two-wheeler: M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f, q = (lean, steer).

They are read off the exact linearization of the whole nonlinear model, whatever that is, as long as its straight running
has this form: the reduced mass matrix gives M, and the linear model at several speeds the rest, with a check that speed
enters as it should (Meijaard, Papadopoulos, Ruina & Schwab 2007, eq. 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.stability.deviations import deviations_of
from draisine.stability.linearization import Motion, equations_of
from draisine.stability.steady import steady

Array = NDArray[np.float64]

SPEEDS = (0.0, 1.0, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class WhippleMatrices:
    """M, C₁, K₀ and K₂ for the coordinates `names`, and g, in draisine's axes: lean to the right, steer to the left positive."""

    names: tuple[str, str]
    M: Array
    C1: Array
    K0: Array
    K2: Array
    gravity: float

    def z_down(self) -> WhippleMatrices:
        """The same with steer to the right positive, as in texts whose z axis points down: diag(1, −1) on both sides."""
        turn = np.array([[1.0, -1.0], [-1.0, 1.0]])
        return WhippleMatrices(self.names, self.M * turn, self.C1 * turn, self.K0 * turn, self.K2 * turn, self.gravity)

    def matrix(self, speed: float) -> Array:
        """A of (q, q̇) at a speed."""
        stiffness, damping = self.gravity * self.K0 + speed**2 * self.K2, speed * self.C1
        below = -np.linalg.solve(self.M, np.hstack([stiffness, damping]))
        return np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), below])


def canonical(
    model: Model | System | Equations,
    *,
    lean: str = "lean",
    steer: str = "steer",
    speed: str = "speed",
    gravity: str = "gravity",
    parameters: Mapping[str, float] | None = None,
) -> WhippleMatrices:
    """Canonical matrices of a bicycle-like model; the names are those of its outputs, states and its parameter of gravity.

    >>> import draisine as dr
    >>> dr.canonical(dr.gallery.bicycle()).z_down().M.round(5).tolist()
    [[80.81722, 2.31941], [2.31941, 0.29784]]
    """
    equations = equations_of(model)
    names = [p.name for p in equations.parameters]
    if gravity not in names:
        raise ArgumentError(
            f"{equations.name} has no parameter {gravity!r} for gravity; say which it is: canonical(…, gravity=…)"
        )
    motions = [steady(equations, {speed: v, lean: 0.0, steer: 0.0}, near={speed: v}, parameters=parameters) for v in SPEEDS]
    mass, matrices = None, []
    for motion in motions:
        here, matrix = _second_order(motion, (lean, steer))
        mass = here if mass is None else mass
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
                f"{equations.name} has no canonical form: at {speed} = {v:g} its damping is not v C₁, or its stiffness not "
                f"g K₀ + v² K₂ (misfit {misfit:.2g}); does it have friction or springs?"
            )
    g = float(motions[0].p[names.index(gravity)])
    return WhippleMatrices((lean, steer), mass, c1, rest / g, k2, g)


def _second_order(motion: Motion, names: tuple[str, str]) -> tuple[Array, Array]:
    """Mass matrix, and A, of (q, q̇) for two coordinates whose deviations close among themselves."""
    e = motion.equations
    deviations = deviations_of(e, names)
    jacobians = deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    naming = deviations.choose(jacobians)
    a, _ = naming.matrices(jacobians)
    span = naming.span(jacobians)[0]
    at = [naming.names.index(n) for n in names]
    speeds = [i for i, n in enumerate(naming.names) if n in e.independent]
    # δq̇ = N δv: keep the velocities that move these coordinates, and none that does not
    rates = a[0][np.ix_(at, speeds)]
    moving = [s for s, column in zip(speeds, rates.T, strict=True) if np.abs(column).max() > 1e-9]
    if len(moving) != 2:
        raise ModelError(f"{e.name}: {len(moving)} independent velocities move {names[0]} and {names[1]}; two are needed")
    turn = np.linalg.inv(a[0][np.ix_(at, moving)])
    order = [*at, *moving]
    block = a[0][np.ix_(order, order)]
    outside = [j for j in range(len(naming.names)) if j not in order]
    if np.abs(a[0][np.ix_(order, outside)]).max(initial=0.0) > 1e-8:
        raise ModelError(f"{e.name}: {names[0]} and {names[1]} depend on further deviations; it has no canonical form")
    change = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), turn]])
    columns = _velocity_columns(motion, span[:, moving]) @ turn
    return columns.T @ _mass_matrix(motion) @ columns, np.linalg.solve(change, block @ change)


def _velocity_columns(motion: Motion, directions: Array) -> Array:
    """All velocities per unit of deviations in independent velocities."""
    e = motion.equations
    symbols = e.report.symbols() if not hasattr(e.report, "system") else e.report.system.symbols()
    reported = e.report.function.call(symbols)[[s.name for s in e.report.outputs].index("v")]  # type: ignore[union-attr]
    slope = ca.Function("columns", symbols, [ca.jacobian(reported, symbols[1][: len(directions)])])
    return np.asarray(slope(0.0, motion.x, motion.u, motion.p).full() @ directions)


def _mass_matrix(motion: Motion) -> Array:
    e = motion.equations
    if e.inverse_dynamics is None:
        raise ModelError(f"{e.name} has no mass matrix of its own; derive it from a model")
    q, v, vdot, p = e.inverse_dynamics.symbols()
    effort = e.inverse_dynamics.function.call([q, v, vdot, p])[0]
    mass = ca.Function("mass", [q, v, p], [ca.jacobian(effort, vdot)])
    return np.asarray(mass(motion.x[: len(e.coordinates)], np.zeros(len(e.velocities)), motion.p).full())
