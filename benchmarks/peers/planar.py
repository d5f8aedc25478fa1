"""Two plane mechanisms as equations for solvers of differential-algebraic equations: M(q) v̇ = f(q, v) + Aᵀλ, g(q) = 0, A = ∂g/∂q.

Written in CasADi by Lagrange's formalism, from positions alone and without a line of draisine: the four-bar linkage in the
angles of its bars against the ground, closed by two residuals, and the chain of masses in Cartesian coordinates, held by its
rods. These are the smallest such descriptions with constraints, so that no peer carries more unknowns than it must.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
GRAVITY = 9.81


@dataclass(frozen=True)
class Bars:
    """Lengths of a four-bar linkage, meters, and the mass per length of its bars, kg/m. Angles count from x downwards."""

    crank: float
    coupler: float
    rocker: float
    ground: float
    density: float


@dataclass(frozen=True)
class Mechanism:
    """The equations and a consistent start."""

    q: ca.SX
    v: ca.SX
    mass: ca.SX
    inverse: ca.SX  # of the mass
    force: ca.SX
    closed: ca.SX  # g
    q_start: Vector
    v_start: Vector

    @property
    def rows(self) -> ca.SX:
        """A."""
        return ca.jacobian(self.closed, self.q)

    @property
    def bias(self) -> ca.SX:
        """Ȧ v."""
        return ca.jtimes(ca.jtimes(self.closed, self.q, self.v), self.q, self.v)

    def at_start(self) -> tuple[Vector, Vector]:
        """Accelerations and multipliers."""
        terms = ca.Function("terms", [self.q, self.v], [self.mass, self.force, self.rows, self.bias])
        mass, force, rows, bias = (part.full() for part in terms(self.q_start, self.v_start))
        count = len(rows)
        matrix = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
        solved = np.linalg.solve(matrix, np.concatenate([force, -bias]).ravel())
        return solved[:-count], solved[-count:]


def four_bar(bars: Bars, q_start: Vector, v_start: Vector) -> Mechanism:
    """In the angles of crank, coupler and rocker; z counts downwards here, as the angles do."""
    q, v = ca.SX.sym("q", 3), ca.SX.sym("v", 3)
    lengths = (bars.crank, bars.coupler, bars.rocker)
    along = [ca.vertcat(ca.cos(q[k]), ca.sin(q[k])) for k in range(3)]
    pivot = ca.DM([bars.ground, 0])
    foots = (ca.DM([0, 0]), bars.crank * along[0], pivot)
    kinetic = potential = 0
    for k, (length, foot) in enumerate(zip(lengths, foots, strict=True)):
        m, middle = bars.density * length, foot + length / 2 * along[k]
        kinetic += m / 2 * ca.sumsqr(ca.jtimes(middle, q, v)) + m * length**2 / 24 * v[k] ** 2
        potential += -m * GRAVITY * middle[1]
    momentum = ca.gradient(kinetic, v)
    force = ca.gradient(kinetic - potential, q) - ca.jtimes(momentum, q, v)
    closed = bars.crank * along[0] + bars.coupler * along[1] - pivot - bars.rocker * along[2]
    mass = ca.jacobian(momentum, v)
    return Mechanism(q, v, mass, ca.inv(mass), force, closed, q_start, v_start)


def chain(masses: int) -> Mechanism:
    """Unit masses on rods of unit length, let go from the horizontal; x1, z1, x2, …, z up."""
    q, v = ca.SX.sym("q", 2 * masses), ca.SX.sym("v", 2 * masses)
    places = ca.reshape(q, 2, masses)
    rods = ca.diff(ca.horzcat(ca.SX.zeros(2, 1), places), 1, 1)
    closed = (ca.sum1(rods**2).T - 1) / 2
    force = ca.repmat(ca.vertcat(0, -GRAVITY), masses, 1)
    start = np.column_stack([np.arange(1.0, masses + 1), np.zeros(masses)]).ravel()
    return Mechanism(q, v, ca.SX.eye(2 * masses), ca.SX.eye(2 * masses), force, closed, start, np.zeros(2 * masses))
