"""Phases of a maneuver in given modes of its contacts: conditions along a phase, at its end, and the impact into the next one.

In a mode the equations are smooth (`program.fixed_modes`). Along a phase the mode must be admissible,

    λ_n ≥ 0 while it is closed,   μ_s λ_n ≥ |λ_t| while it sticks,   d s ≥ 0 while it slips along d,   g ≥ 0 while it is open.

A phase ends where its mode does: at g = 0 for a landing, at s = 0 for a slip that ends. A contact that lifts, or begins to slip,
reaches λ_n = 0 or μ_s λ_n = |λ_t| there, unless controls that jump at the end decide it; then the conditions of both phases say
all. At a landing the impulses P of all closed contacts change the velocities, M (v⁺ − v⁻) = Aᵀ P, with u = A v

    u_n⁺ = −e u_n⁻,   u_t⁺ = 0 where the contact sticks afterwards, P_t = −μ_k d P_n where it slips.

This is the result of all laws of impact where a slip neither begins nor reverses within the impact, and without restitution also
where it stops; `verification` simulates what follows from the control alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.errors import ArgumentError
from draisine.optimal.mode_verification import StatedModes
from draisine.optimal.symbolic_model import Condition, SymbolicModel
from draisine.program.equations import Equations, Unilateral
from draisine.program.fixed_modes import Mode, mode_values, read_modes
from draisine.program.linear_solve import LinearSolveProgram

if TYPE_CHECKING:
    from draisine.optimal.maneuver import OptimalControlProblem

Reals = NDArray[np.float64]

_DRAWN = 3  # random states at which the dependence of forces on controls is seen
_INDEPENDENT = 1e-9  # relative change of a force below which controls do not decide it


def frictionless(equations: Equations) -> frozenset[str]:
    """Contacts whose coefficient of friction is zero."""
    terms = equations.contact_terms
    if terms is None:
        return frozenset()
    found = terms.function.call(terms.symbols())[[s.name for s in terms.outputs].index("coefficients")]
    return frozenset(c.name for i, c in enumerate(equations.unilateral) if found[3 * i].is_zero())


def modes_of(equations: Equations, given: Mapping[str, str]) -> dict[str, Mode]:
    """The modes of all contacts in a phase, as stated."""
    for contact in equations.unilateral:
        if contact.bounded:
            raise ArgumentError(
                f"{equations.name}: contact {contact.name!r} is one with a part of a ground profile, of which phases are not "
                "made; describe plane ground instead"
            )
        if contact.host >= 0:
            raise ArgumentError(
                f"{equations.name}: {contact.name!r} is the resistance of a contact to rolling or drilling, which phases do not "
                "have; leave it out of the model"
            )
    return read_modes(equations, given, frictionless(equations))


def refuse_modes(function: str, maneuver: OptimalControlProblem) -> None:
    """Refuse a maneuver with given modes of contacts, for functions of one set of equations."""
    if any(problem.contact_modes for problem in maneuver.phases):
        raise ArgumentError(
            f"{function}: the maneuver states modes of contacts, .modes(…), through which Collocation and MultipleShooting lead; "
            f"{function} takes one set of equations. Fix the modes of the model, model.in_modes({{…}}), or leave out friction= "
            "for contacts that are ideal and permanent"
        )


@dataclass(frozen=True, eq=False)
class Landing:
    """Velocities after an impact, by name, and what its impulses must satisfy; expressions of the phase before."""

    velocities: Mapping[str, ca.SX]
    conditions: tuple[Condition, ...]


NO_LANDING = Landing({}, ())


@dataclass(frozen=True, eq=False)
class ContactPhase:
    """The contacts of one phase. `source` are the equations of all modes, `symbols` those of this one."""

    source: Equations
    modes: Mapping[str, Mode]
    symbols: SymbolicModel

    @property
    def stated(self) -> StatedModes:
        """The modes, as plain data."""
        return StatedModes(self.source, tuple(self.modes.items()), frictionless(self.source))

    @cached_property
    def _terms(self) -> dict[str, ca.SX]:
        program, plant = self.source.contact_terms, self.symbols.plant
        assert program is not None
        p = ca.vertcat(plant.p, ca.SX(mode_values(self.source, self.modes).tolist()))
        found = program.function.call([plant.t, plant.x, plant.inputs, p])
        return dict(zip((slot.name for slot in program.outputs), found, strict=True))

    def _force(self, row: int) -> ca.SX:
        return self.symbols.solution[len(self.source.velocities) + row]

    def _load(self, contact: Unilateral) -> ca.SX:
        """What the coefficient of friction multiplies; 1 where friction is a given force."""
        return self._force(contact.normal) if contact.normal >= 0 else ca.SX(1)

    def _coefficients(self, index: int) -> tuple[ca.SX | None, ca.SX | None, ca.SX]:
        """Static and kinetic friction, None where it is infinite, and restitution."""
        static, kinetic, restitution = (self._terms["coefficients"][3 * index + k] for k in range(3))
        endless = static.is_constant() and float(static) < 0.0
        return (None, None, restitution) if endless else (static, kinetic, restitution)

    @property
    def _contacts(self) -> list[tuple[int, Unilateral, Mode]]:
        return [(i, c, self.modes[c.name]) for i, c in enumerate(self.source.unilateral)]

    # ---------------------------------------------------------------- along the phase

    @cached_property
    def path(self) -> tuple[Condition, ...]:
        """What the modes need."""
        found: list[Condition] = []
        for i, c, mode in self._contacts:
            if not mode.closed:
                if self._terms["landing"][4 * i + 1].is_one():  # else it may pass below the surface; a simulation shows it
                    found.append(Condition(f"{c.name} stays open", self._terms["gap"][i], 0.0, math.inf))
                continue
            if c.normal >= 0:
                found.append(Condition(f"{c.name} stays closed", self._force(c.normal), 0.0, math.inf))
            if mode.sticks:
                found += [Condition(f"{c.name} sticks", room, 0.0, math.inf) for room in self._rooms(i, c)]
            elif mode.direction:
                forward = mode.direction * self._terms["speed"][c.tangential]
                found.append(Condition(f"{c.name} slips on", forward, 0.0, math.inf))
        return tuple(found)

    def _rooms(self, index: int, c: Unilateral) -> list[ca.SX]:
        """Room of the friction cone of a contact that sticks: of both sides, or, in two dimensions, of squares."""
        static = self._coefficients(index)[0]
        if static is None or not c.count:
            return []
        return _cone(static * self._load(c), [self._force(c.tangential + k) for k in range(c.count)])

    # ---------------------------------------------------------------- at the end

    def ends(self, after: Mapping[str, Mode], struck: Mapping[str, Mode], p: Reals, x: Reals, inputs: Reals) -> list[Condition]:
        """Conditions at the end, where the modes become those of the next phase; `struck` contacts bounce. `p`, `x` and `inputs`
        are parameters, a state and inputs at which restitution and the effect of controls are seen."""
        found: list[Condition] = []
        impact = self.impact(after, struck) is not NO_LANDING
        for i, c, mode in self._contacts:
            new = after[c.name]
            if not mode.closed and (new.closed or c.name in struck):
                found.append(Condition(f"{c.name} lands", self._terms["gap"][i], 0.0, 0.0))
                if new.closed and self._number(self._coefficients(i)[2], p) > 0.0:  # it would bounce
                    found.append(Condition(f"{c.name} lands at rest", self._terms["speed"][c.normal], 0.0, 0.0))
            if not mode.closed or impact:
                continue
            if not new.closed:
                if not self._decided_by_controls([c.normal], p, x, inputs):
                    found.append(Condition(f"{c.name} lifts", self._force(c.normal), 0.0, 0.0))
            elif mode.sticks and not new.sticks:
                found += self._begins_to_slip(i, c, new, p, x, inputs)
            elif not mode.sticks and (new.sticks or new.direction != mode.direction):
                if c.count > 1:
                    raise ArgumentError(
                        f"{self.source.name}: contact {c.name!r} slips in two dimensions; a phase does not end where such a slip "
                        "ends, since its direction is not determined there. Describe a motion along a line, or end the maneuver "
                        "before it"
                    )
                found.append(Condition(f"the slip of {c.name} ends", self._terms["speed"][c.tangential], 0.0, 0.0))
        return found

    def _begins_to_slip(self, index: int, c: Unilateral, new: Mode, p: Reals, x: Reals, inputs: Reals) -> list[Condition]:
        rows = [*([c.normal] if c.normal >= 0 else []), *range(c.tangential, c.tangential + c.count)]
        rooms = self._rooms(index, c)
        if not rooms:
            raise ArgumentError(f"{self.source.name}: contact {c.name!r} has infinite friction and never slips")
        if self._decided_by_controls(rows, p, x, inputs):
            return []
        # the force points against the slip that begins
        room = rooms[0] if len(rooms) == 1 or new.direction < 0 else rooms[1]
        return [Condition(f"{c.name} begins to slip", room, 0.0, 0.0)]

    def _number(self, value: ca.SX, p: Reals) -> float:
        plant = self.symbols.plant
        function = ca.Function("number", [plant.p], [value], {"allow_free": True})
        if function.has_free():
            raise ArgumentError(f"{self.source.name}: a restitution depends on the motion, of which phases are not made")
        return float(function(p))

    def _decided_by_controls(self, rows: list[int], p: Reals, x: Reals, inputs: Reals) -> bool:
        """Whether forces of these rows change with the controls, which may jump at the end of a phase."""
        dynamics = self.symbols.equations.dynamics
        assert isinstance(dynamics, LinearSolveProgram)
        names = [q.name for q in self.symbols.equations.inputs]
        chosen = [names.index(name) for name in self.symbols.controls]
        if not chosen:
            return False
        rng, count = np.random.default_rng(1781), len(self.source.velocities)
        for _ in range(_DRAWN):
            at = x + 0.1 * rng.uniform(-1.0, 1.0, len(x))
            other = inputs.copy()
            other[chosen] += rng.uniform(0.5, 1.5, len(chosen)) * np.maximum(1.0, np.abs(inputs[chosen]))
            one, two = (np.asarray(dynamics.solution([0.0], at, u, p)) for u in (inputs, other))
            forces = [count + row for row in rows]
            if np.abs(one - two)[forces].max() > _INDEPENDENT * max(np.abs(one).max(), np.abs(two).max()):
                return True
        return False

    # ---------------------------------------------------------------- impacts

    def impact(self, after: Mapping[str, Mode], struck: Mapping[str, Mode]) -> Landing:
        """The impact at the end of this phase, if contacts land or are `struck`, which bounce in these modes of their impact."""
        during = {**after, **struck}
        landing = [c.name for _, c, mode in self._contacts if not mode.closed and during[c.name].closed]
        if not landing:
            return NO_LANDING
        terms, everything = self._terms, range(len(self._terms["speed"].nz))
        own = {row for c in self.source.unilateral for row in c.rows}
        solved: list[int] = [row for row in everything if row not in own]  # rows whose velocity is known afterwards
        wanted = {row: ca.SX(0) for row in solved}
        follows: dict[int, tuple[int, ca.SX]] = {}  # impulses of slips, by that of the normal row
        for i, c, _ in self._contacts:
            mode = during[c.name]
            if not mode.closed or c.normal < 0:  # dry friction of joints takes no impulse
                continue
            if not terms["landing"][4 * i].is_zero():
                raise ArgumentError(
                    f"{self.source.name}: contact {c.name!r} has tangential restitution, which phases do not have; leave it out"
                )
            _, kinetic, restitution = self._coefficients(i)
            solved.append(c.normal)
            bounces = c.name in struck
            wanted[c.normal] = -restitution * terms["speed"][c.normal] if bounces else ca.SX(0)
            for k in range(c.count):
                row = c.tangential + k
                if mode.sticks:
                    solved.append(row)
                    wanted[row] = ca.SX(0)
                elif kinetic is not None and not kinetic.is_zero():
                    follows[row] = c.normal, -self._slip_factor(c, mode) * kinetic
        matrix = terms["rows"]  # Aᵀ
        chosen = ca.SX(matrix.shape[1], len(solved))  # impulses of all rows from those that are solved for
        for k, row in enumerate(solved):
            chosen[row, k] = 1
        for row, (normal, share) in follows.items():
            chosen[row, solved.index(normal)] = share
        side = ca.densify(stacked([wanted[row] - terms["speed"][row] for row in solved]))
        impulses, change = _impulses(ca.sparsify(terms["mass"]), matrix, solved, chosen, side)
        velocities = {v.name: self.symbols.plant.values[v.name] + change[k] for k, v in enumerate(self.source.velocities)}
        slips = terms["speed"] + matrix.T @ change
        return Landing(velocities, tuple(self._impulse_conditions(during, impulses, slips)))

    def _slip_factor(self, c: Unilateral, mode: Mode) -> int:
        if c.count > 1:
            raise ArgumentError(
                f"{self.source.name}: contact {c.name!r} slips in two dimensions, and the direction of its slip changes in an "
                "impact; let it stick, or describe a motion in a plane"
            )
        return mode.direction

    def _impulse_conditions(self, during: Mapping[str, Mode], impulses: ca.SX, after: ca.SX) -> list[Condition]:
        """Impulses push, and are within the friction of contacts that stick; slips keep their direction within the impact."""
        found: list[Condition] = []
        for i, c, _ in self._contacts:
            mode = during[c.name]
            if not mode.closed or c.normal < 0:
                continue
            normal = impulses[c.normal]
            found.append(Condition(f"impulse of {c.name}", normal, 0.0, math.inf))
            kinetic = self._coefficients(i)[1]
            if mode.sticks and c.count and kinetic is not None:
                sides = _cone(kinetic * normal, [impulses[c.tangential + k] for k in range(c.count)])
                found += [Condition(f"impulse of {c.name} sticks", side, 0.0, math.inf) for side in sides]
            elif mode.direction:
                for when, speed in (("before", self._terms["speed"]), ("after", after)):
                    forward = mode.direction * speed[c.tangential]
                    found.append(Condition(f"{c.name} slips on {when} its impact", forward, 0.0, math.inf))
        return found


def _impulses(mass: ca.SX, rows: ca.SX, solved: list[int], chosen: ca.SX, side: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Impulses of all rows Aᵀ, and the change of velocities, with M Δv = Aᵀ P and given changes along the rows `solved`."""
    count = mass.shape[0]
    if len(set(mass.sparsity().row())) == count:
        response = ca.ldl_solve(rows, *ca.ldl(mass))  # M⁻¹ Aᵀ
        system = stacked([(rows.T @ response)[row, :] for row in solved]) @ chosen
        impulses = chosen @ ca.solve(ca.SX(ca.densify(system)), side)
        return impulses, response @ impulses
    # rates of contact places on curved ground have no inertia: the rows that determine them are solved for together with M
    system = ca.blockcat([[mass, -(rows @ chosen)], [rows[:, solved].T, ca.SX(len(solved), len(solved))]])
    found = ca.solve(ca.sparsify(system), ca.vertcat(ca.SX.zeros(count), side))
    return chosen @ found[count:], found[:count]


def _cone(limit: ca.SX, forces: list[ca.SX]) -> list[ca.SX]:
    """What is positive inside a friction cone."""
    if len(forces) == 1:
        return [limit - forces[0], limit + forces[0]]
    return [limit * limit - sum((f * f for f in forces), ca.SX(0))]
