"""Modes of unilateral contacts in the augmented system: one set of equations for all of them.

The mode of a contact is part of the parameters: whether it is closed (σ), whether it sticks (τ), and the direction d of its slip.
Its rows, the rates of gap and slip, are rows of a closed contact that sticks. In the augmented system they become

    σ (A_n v̇ + b_n) + (1 − σ) λ_n = 0
    τ (A_t v̇ + b_t) + (1 − τ) (λ_t + μ λ_n d) = 0

so that an open contact has no force, and one that slips has Coulomb's. While it slips, d is the direction of the slip s itself,
d̂ = s/|s|, and d where s = 0. Once the slip has grown it is ± s/|s| with the sign for which d̂·d > 0, which is smooth where s
passes zero, where the step ends.

Where rows may be dependent (a block on two corners), their forces are not determined. Then the active rows get a compliance ε
that is removed again by iteration, K z⁺ + ε z⁺ = r + ε z, from z = 0: the solution of smallest forces. Where that leaves the
cones of friction although others do not, it begins with one that does not, the preload: forces next to it follow.

A stop of a joint has no tangential rows. Dry friction of a joint has no normal row: its law has forces in the place of
coefficients,

    τ (A_t v̇ + b_t) + (1 − τ) (λ_t + F d) = 0

Resistance to rolling and drilling has no normal row either: its normal force is that of another contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from draisine.model.contact_items import MODE_ENTRIES
from draisine.program.linear_solve import LinearSolveProgram, Pattern, Slots, Solver
from draisine.program.program import Program

TINY = 1e-30  # m/s, where the sign of a slip along its direction is taken
STILL = 1e-14  # m/s, below which the direction of the slip is the given one
BACKWARD = 1e-12  # m/s, by which a slip may go back where it begins: forces at the limit of friction have rounding errors
BACKWARD_SHARE = 0.05  # the same, of the slip below which it keeps its direction: errors of integration
COMPLIANCE = 1e-7  # relative to that of the mechanism: what is left of it after two iterations is rounding error …
REMOVED = 1e-7  # … and the relative change at which they end; forces that are not determined change by rounding errors


@dataclass(frozen=True)
class ContactRows:
    """One contact: the indices of its rows, its mode, and the law of friction in symbols."""

    name: str
    normal: int | None  # None where friction is a given force
    tangential: tuple[int, ...]
    gap: ca.SX
    slip: tuple[ca.SX, ...]  # of the tangential rows
    closed: ca.SX
    sticks: ca.SX
    direction: tuple[ca.SX, ...]  # along the tangential rows
    offset: tuple[ca.SX, ...]  # of the slip where it began
    grown: ca.SX  # whether it is not small any more …
    still: ca.SX  # … and below which slip it keeps its direction until then
    preload: tuple[ca.SX, ...]  # forces along its rows next to which those are that are not determined
    static: ca.SX | None  # infinite
    kinetic: ca.SX | None
    restitution: ca.SX
    impact: str
    stands: bool  # it is a wheel
    unit: str = "m"  # of the gap
    tangential_restitution: ca.SX = field(default_factory=lambda: ca.SX(0))
    lands: ca.SX = field(default_factory=lambda: ca.SX(1))  # it closes only where this is positive
    bounded: bool = False  # it ends where that is not positive any more
    sequential: bool = False  # impacts of several contacts come one after the other
    across_scale: ca.SX = field(default_factory=lambda: ca.SX(1))  # of the slip across the track in its row
    size: ca.SX = field(default_factory=lambda: ca.SX(0))  # of what a body may fly past within a step: a sphere, an edge
    host: int | None = None  # the contact whose resistance it is, by its number …
    host_normal: int | None = None  # … and the row of its normal
    without_collision: bool = False  # impacts resolve Painlevé's paradox

    @property
    def rows(self) -> tuple[int, ...]:
        return self.tangential if self.normal is None else (self.normal, *self.tangential)

    @property
    def load(self) -> int | None:
        """The row of the normal force to which friction is proportional; None where friction is a given force."""
        return self.normal if self.host is None else self.host_normal

    @property
    def moved(self) -> list[ca.SX]:
        """The slip since it began, without its rounding error there."""
        return [s - o for s, o in zip(self.slip, self.offset, strict=True)]

    @property
    def forward(self) -> ca.SX:
        """The slip along its direction."""
        return sum((s * d for s, d in zip(self.moved, self.direction, strict=True)), ca.SX(0))

    @property
    def backward(self) -> ca.SX:
        """By how much it may go back."""
        return BACKWARD + BACKWARD_SHARE * self.still

    @property
    def slip_direction(self) -> list[ca.SX]:
        """d̂ of the tangential rows."""
        if len(self.slip) < 2:
            return list(self.direction)
        along = self.forward
        sign = 1 + self.grown * (along / ca.sqrt(along * along + TINY * TINY) - 1)
        turned = [s * sign + (STILL + self.still) * d for s, d in zip(self.moved, self.direction, strict=True)]
        size = ca.sqrt(sum((c * c for c in turned), ca.SX(TINY * TINY)))
        return [c / size for c in turned]


class ModeRows:
    """The rows of all contacts in an augmented system of n velocities and m rows."""

    def __init__(self, contacts: Sequence[ContactRows], count: int) -> None:
        self.contacts = contacts
        self.entries = MODE_ENTRIES * len(contacts)  # of the parameters
        self.activity = ca.SX.ones(count)
        for contact in contacts:
            if contact.normal is not None:
                self.activity[contact.normal] = contact.closed
            for row in contact.tangential:
                self.activity[row] = contact.sticks

    def matrix(self, rows: ca.SX) -> ca.SX:
        """The lower rows [S A, D]."""
        m = rows.shape[0]
        forces = ca.SX(m, m)
        for contact in self.contacts:
            if contact.normal is not None:
                forces[contact.normal, contact.normal] = 1 - contact.closed
            for row, d in zip(contact.tangential, contact.slip_direction, strict=True):
                forces[row, row] = 1 - contact.sticks
                if contact.kinetic is not None and contact.load is not None:
                    forces[row, contact.load] = (1 - contact.sticks) * contact.kinetic * d
        return ca.horzcat(ca.diag(self.activity) @ rows, forces)

    def preloads(self, count: int) -> ca.SX:
        """Forces along the rows, next to which those are that are not determined."""
        found = ca.SX.zeros(count)
        for c in self.contacts:
            for row, force in zip(c.rows, c.preload, strict=True):
                found[row] = c.closed * force
        return found

    def given_forces(self, count: int) -> ca.SX:
        """The right side of the rows of slip with a given force of friction."""
        side = ca.SX.zeros(count)
        for c in self.contacts:
            if c.load is None and c.kinetic is not None:
                for row, d in zip(c.tangential, c.slip_direction, strict=True):
                    side[row] = -(1 - c.sticks) * c.kinetic * d
        return side

    def friction_power(self, multipliers: ca.SX, speed: ca.SX) -> ca.SX:
        """Power of the forces on contacts that slip."""
        rows = [row for contact in self.contacts for row in contact.tangential]
        return sum(((1 - self.activity[row]) * multipliers[row] * speed[row] for row in rows), ca.SX(0))

    def margins(self, multipliers: ca.SX) -> tuple[ca.SX, list[str]]:
        """Two margins of every contact, positive inside its mode: of opening or landing, and of slipping or sticking."""
        values, labels = [], []
        for c in self.contacts:
            normal = ca.SX(1) if c.normal is None else multipliers[c.normal]
            stays = ca.fmin(normal, c.lands) if c.bounded else normal
            values.append(c.closed * stays + (1 - c.closed) * c.gap)
            tangential = ca.sqrt(sum((multipliers[row] ** 2 for row in c.tangential), ca.SX(0)))
            load = ca.SX(1) if c.load is None else multipliers[c.load]
            room = ca.SX(1) if c.static is None or not c.tangential else c.static * load - tangential
            slips = c.forward + c.backward if c.tangential else ca.SX(1)
            values.append(c.closed * (c.sticks * room + (1 - c.sticks) * slips) + (1 - c.closed))
            labels += [f"{c.name}_gap_or_force", f"{c.name}_slip_or_friction"]
        return ca.vertcat(*values), labels


def compliant(
    name: str,
    inputs: Slots,
    matrix: ca.SX,
    side: ca.SX,
    z: ca.SX,
    outputs: Slots,
    compliance: ca.SX,
    solver: Solver,
    before: ca.SX,
) -> LinearSolveProgram:
    """K z = r with rows that may be dependent; `compliance` is the diagonal that is added and removed again by iteration from
    `before`."""
    filled = ca.sparsify(ca.SX(matrix + ca.diag(compliance)))
    pattern = Pattern.of(filled.sparsity())
    taken = {**inputs, "z": z}
    entries = {"entries": ca.SX(filled.nz[:]), "side": side + compliance * z}
    system = Program.build(f"{name}_system", taken, entries)
    start = Program.build(f"{name}_start", inputs, {"z": ca.densify(before)})
    return LinearSolveProgram(name, system, Program.build(name, taken, outputs), pattern, solver, start=start, tolerance=REMOVED)
