"""Second-order systems with constraints, M v̇ = F + Aᵀλ and q̇ = N v + n₀, in symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.augmented.contact_modes import ContactRows
from draisine.program.equations import (
    NO_STRUCTURE,
    DependentQuantity,
    Event,
    Quantity,
    Structure,
)


@dataclass
class SecondOrder:
    """M v̇ = F + Aᵀλ with q̇ = N v + n₀, in symbols. `force` is everything but the reactions; `driven` is the part of inputs and
    dampers. `invariants` are equations f(q) = 0 that q̇ satisfies for any v (the norm of a quaternion): they have no reaction,
    but an initial state must satisfy them and their drift is removed."""

    name: str
    t: ca.SX
    q: ca.SX
    v: ca.SX
    u: ca.SX
    p: ca.SX
    coordinates: tuple[Quantity, ...]
    velocities: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]  # with the modes of unilateral contacts at the end
    q_rate: ca.SX
    mass: ca.SX
    force: ca.SX
    driven: ca.SX
    kinetic: ca.SX
    potential: ca.SX
    holonomic: list[tuple[str, ca.SX]] = field(default_factory=list)
    nonholonomic: list[tuple[str, ca.SX]] = field(default_factory=list)
    invariants: list[tuple[str, ca.SX]] = field(default_factory=list)
    monitored: list[ca.SX] = field(default_factory=list)  # residuals of redundant constraints, not solved for
    outputs: list[tuple[Quantity, ca.SX]] = field(default_factory=list)
    events: list[tuple[Event, ca.SX]] = field(default_factory=list)
    constraint_units: Mapping[str, str] = field(default_factory=dict)  # of residuals, where known
    reactions: ca.SX | None = None  # symbols of λ, holonomic rows first, where forces depend on them
    by_time: ca.SX | None = None  # −∂L/∂t, where kinetic energies may depend on time; ∂V/∂t if not given
    surplus: ca.SX = field(default_factory=lambda: ca.SX(0))  # T + V less Jacobi's integral: not zero on a moving support
    load: ca.SX | None = None  # their typical size: the initial guess of Newton's method where the dependence is nonlinear
    dependent_parameters: tuple[DependentQuantity, ...] = ()
    accelerations: ca.SX | None = None  # symbols of v̇, where outputs depend on them
    structure: Structure = NO_STRUCTURE  # of a described mechanism, for starts
    twists: ca.SX | None = None  # of the bodies that it names, as in `Equations.twists`
    twist_labels: Sequence[str] = ()
    contacts: Sequence[ContactRows] = ()  # unilateral ones; their rows are among the constraints
    merged: tuple[ca.SX, ca.SX] | None = None  # M and F again, in fewer operations: without angles of balanced rotors
    dependent_rows: Sequence[float] = ()  # compliance of every row, where rows of contacts may depend on each other

    @property
    def short(self) -> tuple[ca.SX, ca.SX]:
        """M and F in the fewest operations."""
        return (self.mass, self.force) if self.merged is None else self.merged

    @property
    def motion_outputs(self) -> list[tuple[Quantity, ca.SX]]:
        """Outputs free of accelerations."""
        return [(q, e) for q, e in self.outputs if self.accelerations is None or not ca.depends_on(e, self.accelerations)]

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative of a quantity of q and t (and of v, taken as constant)."""
        return ca.jtimes(quantity, self.q, self.q_rate) + ca.jacobian(quantity, self.t)


def euler_lagrange(lagrangian: ca.SX, q: ca.SX, v: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX]:
    """M and F of M q̈ = F, from L(q, q̇, t): the momenta ∂L/∂q̇ change by ∂L/∂q."""
    momentum = ca.gradient(lagrangian, v)
    mass = ca.jacobian(momentum, v)
    return mass, ca.gradient(lagrangian, q) - ca.jtimes(momentum, q, v) - ca.jacobian(momentum, t)
