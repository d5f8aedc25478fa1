"""Augmented formulation: [M −Aᵀ; A 0] solved at every step, with M from inverse dynamics and nothing eliminated.

Constraint rows and outputs are those of the reduced formulation. Only redundant constraints are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.dynamics.augmented.contact_modes import COMPLIANCE, TINY, ContactRows
from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.constraints.rows import ResidualBlock, row_multipliers
from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.joint_contacts import JointSlip, JointStop, exclusive_rows
from draisine.dynamics.contact.point_contacts import PointOnSurface
from draisine.dynamics.contact.resistances import ResistanceOfContact
from draisine.dynamics.contact.surface_pair import SurfacePair
from draisine.dynamics.formulation import BaseFormulation, Outputs
from draisine.dynamics.formulations import Augmented
from draisine.dynamics.kinematics.newton_euler import inverse_dynamics
from draisine.dynamics.linear_algebra import UNIT, fold_constant, squared_volume
from draisine.dynamics.lowering import dependent_parameters
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import ReportBuilder
from draisine.dynamics.reduced.formulation import ReducedFormulation
from draisine.dynamics.reduced.independent_velocities import SWITCH
from draisine.dynamics.reduced.reduction import free_dynamics
from draisine.dynamics.reduced.usual_modes import Solved, usual_programs, usual_system
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.model.contact.dry_friction import IMPACT_ORDERS, SLIP
from draisine.model.contact_items import mode_entries
from draisine.model.system import System
from draisine.program.equations import YIELDING, Equations, Event, Quantity, RunLimits
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

_COMPARED = 4  # configurations


@dataclass
class AugmentedFormulation(BaseFormulation):
    """All velocities are states; accelerations and multipliers are the unknowns z of a linear system."""

    mechanism: Mechanism
    options: Augmented
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        m, scope = self.mechanism, self.mechanism.scope
        self.independent = {name: scope.symbol(name) for name in scope.velocities}
        # rows that are rates of position constraints come first, as in `augmented`
        kept = [(rows, i) for rows in m.kept_rows for i in range(rows.count)]
        holonomic = [
            (rows, i) for rows, i in kept if isinstance(rows.source, ResidualBlock) and rows.source.constraint.level == "position"
        ]
        free = [pair for pair in kept if pair not in holonomic]
        self._holonomic = [(rows.names[i], _position(rows.source, rows.kept[i])) for rows, i in holonomic]
        self._free_names = [rows.names[i] for rows, i in free]
        self._z = ca.SX.sym("z", len(scope.velocities) + len(kept))

    @property
    def _solved_rows(self) -> list[str]:
        """Names of the rows that are solved for, in the order of `augmented`."""
        return [*(name for name, _ in self._holonomic), *self._free_names]

    @cached_property
    def activity(self) -> dict[str, ca.SX]:
        found: dict[str, ca.SX] = {}
        for contact in self.mechanism.unilateral:
            closed, sticks, *_ = (self.mechanism.scope.symbol(entry.name) for entry in mode_entries(contact.name))
            found |= {f"{contact.name}_normal": closed} | {f"{contact.name}_{way}": sticks for way in ("along", "across")}
        return found

    @property
    def all_velocities(self) -> ca.SX:
        return self.mechanism.scope.v

    @cached_property
    def all_accelerations(self) -> dict[str, ca.SX]:
        return {name: self._z[i] for i, name in enumerate(self.mechanism.scope.velocities)}

    @cached_property
    def multipliers(self) -> list[ca.SX]:
        return self._multipliers_from(self._z[len(self.mechanism.scope.velocities) :])

    def _multipliers_from(self, solved: ca.SX) -> list[ca.SX]:
        """λ of all rows from those of the rows that are solved for, in the order of `augmented`."""
        found = {name: solved[i] for i, name in enumerate(self._solved_rows)}
        return self.distributed([found[name] for rows in self.mechanism.kept_rows for name in rows.names])

    def in_terms_of_state(self, expressions: list[ca.SX]) -> list[ca.SX]:
        return self._with_multipliers(self._with_laws(expressions), self.multipliers)

    def _with_laws(self, expressions: list[ca.SX]) -> list[ca.SX]:
        values = self.law_values
        if not values:
            return expressions
        symbols = ca.vertcat(*[self.mechanism.scope.symbol(name) for name in self.laws])
        return list(ca.substitute(expressions, [symbols], [ca.vertcat(*values)]))

    def _with_multipliers(self, expressions: list[ca.SX], multipliers: list[ca.SX]) -> list[ca.SX]:
        """Multipliers substituted for the symbols on which forces depend."""
        m = self.mechanism
        if not m.multiplier_symbols:
            return expressions
        known = dict(zip(m.row_names, multipliers, strict=True))
        symbols, values = zip(*[(symbol, known[row]) for row, symbol in m.multiplier_symbols.items()], strict=True)
        return list(ca.substitute(expressions, [ca.vertcat(*symbols)], [ca.vertcat(*values)]))

    def reported(self, outputs: Outputs, name: str = "report") -> LinearSolveProgram:
        name = f"{self.mechanism.system.name}_{name}"
        after = Program.build(name, {**self.arguments, "z": self._z}, outputs, self.units)
        return replace(self._solved, name=name, after=after)

    @cached_property
    def _solved(self) -> LinearSolveProgram:
        assert isinstance(self._equations.dynamics, LinearSolveProgram)  # the type that `augmented` builds
        return self._equations.dynamics

    @cached_property
    def _equations(self) -> Equations:
        """Dynamics and projection."""
        return augmented(self.second_order(), self.options.stabilization, self.tracks_work, self.options.solver)

    def second_order(self) -> SecondOrder:
        """Masses, forces and constraints in symbols."""
        m, scope, system = self.mechanism, self.mechanism.scope, self.mechanism.system
        holonomic = {name for name, _ in self._holonomic}
        speeds = m.matrix @ scope.v + m.drift if m.row_names else ca.SX(0, 1)
        index = {name: i for i, name in enumerate(m.row_names)}
        reactions = ca.SX.sym("reactions", len(self._holonomic) + len(self._free_names)) if m.multiplier_symbols else None
        total, driven = self._with_laws([m.forces.total, m.forces.driven])
        if reactions is not None:
            total, driven = self._with_multipliers([total, driven], self._multipliers_from(reactions))
        kinetic, potential = ReportBuilder(self).energies
        return SecondOrder(
            name=system.name,
            t=scope.t,
            q=scope.q,
            v=scope.v,
            u=scope.u,
            p=scope.p,
            coordinates=m.coordinates,
            velocities=tuple(Quantity(v.name, v.unit) for v in system.velocities),
            inputs=tuple(Quantity(u.name, u.unit, u.description) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.description, p.default) for p in system.arguments),
            dependent_parameters=dependent_parameters(system),
            q_rate=m.measures.q_rate,
            mass=m.mass_matrix,
            force=total - self._needed,
            driven=driven,
            kinetic=kinetic,
            potential=potential,
            holonomic=self._holonomic,
            nonholonomic=[(name, speeds[index[name]]) for name in self._free_names],
            invariants=[(c.name, r) for c, r in m.independent_positions if c.name not in holonomic],
            monitored=self._monitored(speeds),
            reactions=reactions,
            outputs=ReportBuilder(self).described_motion,
            events=[(e, value) for e, value in ReportBuilder(self).event_values(self.event_list) if value is not None],
            load=sum((scope.value(b.mass) for b in system.bodies), ca.SX(0))
            * m.gravity
            * (1 if m.vertical is UNIT[2] else ca.norm_2(ca.vertcat(*m.vertical))),
            contacts=self.contacts,
            merged=self._merged(total),
            dependent_rows=self._dependent_rows(),
        )

    @cached_property
    def contacts(self) -> list[ContactRows]:
        """Unilateral contacts, with the indices of their rows in the order of `augmented`."""
        names = self._solved_rows
        scope, found = self.mechanism.scope, list[ContactRows]()
        loads = [contact.name for contact in self.mechanism.unilateral]
        for contact in self.mechanism.unilateral:
            ways = [k for k, way in enumerate(("along", "across")) if f"{contact.name}_{way}" in names]
            tangential = tuple(names.index(f"{contact.name}_{('along', 'across')[k]}") for k in ways)
            closed, sticks, *direction = (scope.symbol(entry.name) for entry in mode_entries(contact.name))
            ground = contact if isinstance(contact, WheelOnGround | PointOnSurface | SurfacePair) else None
            own = f"{contact.name}_normal"
            host = loads.index(contact.item.of) if isinstance(contact, ResistanceOfContact) else None
            normal = names.index(own) if own in names else None
            scales = (ca.SX(1), ca.SX(1)) if ground is None else ground.row_scales
            speed = ca.sqrt(sum((s * s for s in contact.slip), ca.SX(TINY * TINY)))
            law = contact.friction
            assert law is not None  # it is unilateral
            static, kinetic = (
                None if amount is None else self._not_negative(self._with_laws([scope.value(amount, {SLIP: speed})])[0])
                for amount in (law.static, law.kinetic)
            )
            found.append(
                ContactRows(
                    contact.name,
                    normal,
                    tangential,
                    contact.gap[0],
                    tuple(scales[k] * contact.slip[k] for k in ways),
                    closed,
                    sticks,
                    tuple(direction[: len(ways)]),  # as the loop counts them: by row
                    tuple(direction[2 : 2 + len(ways)]),
                    direction[4],
                    direction[5],
                    (*([] if normal is None else direction[6:7]), *direction[7 : 7 + len(ways)]),
                    static,
                    kinetic,
                    scope.value(law.restitution),
                    law.impact,
                    isinstance(contact, WheelOnGround) and not contact.bounded,
                    contact.item.unit if isinstance(contact, JointStop | JointSlip) else "m",
                    scope.value(law.tangential_restitution),
                    ca.SX(1) if ground is None else ground.lands,
                    ground is not None and ground.bounded,
                    self.mechanism.system.impacts == IMPACT_ORDERS[1],
                    contact.scale if isinstance(contact, ResistanceOfContact) else scales[1],
                    ca.SX(0) if ground is None else ground.size,
                    host,
                    None if host is None else self._loaded(found[host]),
                    self.mechanism.system.impacts_without_collision,
                )
            )
        return found

    def _loaded(self, contact: ContactRows) -> int:
        """The row of the normal force of a contact with resistance."""
        if contact.normal is None:
            raise ModelError(
                f"{self.mechanism.system.name}: the height of contact {contact.name!r} is fixed by joints, so it has no normal "
                "force to which its resistance is proportional; let it move up and down, or give dry friction, m.friction(…)"
            )
        return contact.normal

    def usual_system(self) -> System | None:
        """The description with its contacts in their usual modes, or None."""
        return usual_system(self.mechanism.system, self.contacts)

    def usual_programs(self, reduced: ReducedFormulation, report: LinearSolveProgram) -> Mapping[str, Program]:
        """Programs of the usual modes from the reduced equations of that description, and from the report of all modes."""
        return usual_programs(self.mechanism, self.contacts, reduced, Solved(report, self._solved_rows))

    def _not_negative(self, amount: ca.SX) -> ca.SX:
        """An amount of friction, which does not drive: where it depends on the motion or on time, no less than zero."""
        scope = self.mechanism.scope
        return ca.fmax(amount, 0) if ca.depends_on(amount, ca.vertcat(scope.t, scope.q, scope.v)) else amount

    def _dependent_rows(self) -> list[float]:
        """The compliance of every row if rows of some contacts may be dependent, or none.

        Which contacts are closed together is not known: all rows are compared, in configurations in which they may be open.
        """
        m = self.mechanism
        if not m.unilateral:
            return []
        points = m.open_configurations(_COMPARED)
        rows, mass = m.at_configurations(m.matrix, points), m.at_configurations(m.mass_matrix, points)
        finite = np.isfinite(rows).all(axis=(1, 2)) & np.isfinite(mass).all(axis=(1, 2))
        if not finite.any():
            return []
        apart = exclusive_rows(m.joint_contacts)
        together = rows[finite][:, [name not in apart for name in m.row_names]]
        if int(np.linalg.matrix_rank(together).min()) == together.shape[1]:
            return []
        rows, mass = rows[finite][0], mass[finite][0]
        order = [m.row_names.index(name) for name in self._solved_rows]
        # contact points on curved ground, which move no mass, or a body without a moment of inertia: the run says so
        if m.system.massless or np.linalg.det(mass) == 0.0:
            yielding = np.linalg.pinv(mass, hermitian=True) @ rows.T
        else:
            yielding = np.linalg.solve(mass, rows.T)
        sizes = np.einsum("ij,ji->i", rows, yielding)[order]
        sizes = np.maximum(sizes, COMPLIANCE * sizes.max())  # rows that vanish there
        shares = {row: YIELDING if c.normal is None else 1.0 for c in self.contacts for row in c.rows}
        return [COMPLIANCE * shares.get(i, 0.0) * float(size) for i, size in enumerate(sizes)]

    def _merged(self, total: ca.SX) -> tuple[ca.SX, ca.SX] | None:
        """The mass matrix and forces with rotors merged into their carriers, where steps are made of them."""
        m = self.mechanism
        if not m.unilateral:
            return None
        mass, rest = free_dynamics(m.links, m.masses, self.independent, m.gravity, m.up)
        return mass, total + rest

    def _monitored(self, speeds: ca.SX) -> list[ca.SX]:
        """Residuals of redundant constraints at position and velocity level."""
        m = self.mechanism
        return [*m.monitored_positions, *(speeds[redundant.row] for redundant in m.selection.redundant if redundant.repeats)]

    @property
    def _needed(self) -> ca.SX:
        """h(q, v): generalized forces that the motion requires at zero accelerations."""
        m, scope = self.mechanism, self.mechanism.scope
        needed = inverse_dynamics(m.links, scope, self.independent, {}, m.gravity, m.vertical)
        return ca.vertcat(*[needed[name] for name in scope.velocities])

    def _monitor(self) -> Program | None:
        """Loss of rank of the rows that are solved for: a run takes others where it can, and else passes a singular position."""
        m = self.mechanism
        if m.unilateral:
            return None
        if not m.solved_rows:
            condition = self.loop_condition
            return None if condition is None else self.program("monitor", {"condition": (condition, ["condition"])})
        rows = [[fold_constant(m.matrix[i, j]) for j in range(m.matrix.shape[1])] for i in m.selection.kept]
        volume = squared_volume(rows)
        typical = float(np.nanmedian(m.at_samples(volume)))
        return self.program("monitor", {"condition": (ca.sqrt(typical / volume), ["condition"])})

    def equations(self, notes: list[str], again: Callable[[tuple[str, ...]], Equations]) -> Equations:
        """The programs with all names; `again` derives the same system with other rows that are solved for."""
        m, reported = self.mechanism, ReportBuilder(self)
        repeated, remarks = self.remarks()
        return replace(
            self._equations,
            multipliers=tuple(q for rows in m.rows for q in row_multipliers(rows)),
            outputs=reported.outputs,
            force_outputs=reported.force_names,
            constraints=reported.constraints,
            report=reported.program(),
            motion=reported.motion(),
            events=reported.event_program(self.event_list),
            event_list=self.event_list,
            quaternions=self.quaternions,
            monitor=self._monitor(),
            limits=RunLimits(condition=SWITCH, length=m.length),
            alternates=tuple((*self.independent, *rows) for rows in m.other_rows),
            rows=m.solved_rows,
            with_independent=again if m.solved_rows else None,
            inverse_dynamics=self.inverse_dynamics(),
            notes=(*notes, *repeated, *remarks),
            warnings=tuple(repeated),
        )


def _position(source: object, index: int) -> ca.SX:
    assert isinstance(source, ResidualBlock)
    return source.position[index]
