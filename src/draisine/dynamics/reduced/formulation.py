"""One choice of independent velocities made into programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.dynamics.constraints.rows import Tied, row_multipliers
from draisine.dynamics.contact.ground_contacts import Touching
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.formulation import Derivation, Outputs, nearest
from draisine.dynamics.kinematics.newton_euler import inverse_dynamics
from draisine.dynamics.linear_algebra import ONE, UNIT, ZERO, exact, mul, plus, squared_volume
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import Report
from draisine.dynamics.reduced.independent_velocities import SWITCH, Judged
from draisine.dynamics.reduced.reduction import Elimination, ReducedDynamics, Reduction, reduced_dynamics
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event, Quantity, RunLimits
from draisine.program.program import Program


@dataclass
class Formulation(Derivation):
    """One choice of independent velocities, with its laws and events, made into programs."""

    mechanism: Mechanism
    plan: Elimination
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        m, scope = self.mechanism, self.mechanism.scope
        if m.depends:
            raise ModelError(
                f"model {m.system.name!r}: forces depend on the multipliers of {', '.join(m.depends)}, which are known only when "
                "nothing is eliminated; use formulation=Augmented()"
            )
        laws = self.law_values
        self.reduction = Reduction(m.kept_rows, self.plan)
        self.independent = {name: scope.symbol(name) for name in self.plan.independent}
        velocities = self.reduction.velocities(self.independent)
        bound = [name for name in scope.velocities if name not in self.independent]
        self._replaced = ca.vertcat(*[scope.symbol(n) for n in bound], *[scope.symbol(n) for n in self.laws])
        plain = ca.vertcat(*[scope.symbol(n) for n in bound])
        replacements = [velocities[n] for n in bound]
        laws = ca.substitute(laws, [plain], [ca.vertcat(*replacements)]) if laws and bound else laws
        self._replacements = ca.vertcat(*replacements, *laws)
        (generalized_forces, driven) = self.put_in([m.forces.total, m.forces.driven])
        self.dynamics: ReducedDynamics = reduced_dynamics(
            m.links,
            m.masses,
            m.contacts,
            m.kept_rows,
            self.reduction,
            self.independent,
            m.gravity,
            m.up,
            {name: exact(ca.SX(generalized_forces[i])) for i, name in enumerate(scope.velocities)},
        )
        self._driven = driven

    @cached_property
    def power(self) -> ca.SX:
        """What inputs and dampers, moved springs and moving constraints do; λᵀA v = −λᵀa₀ for the last."""
        m = self.mechanism
        power = ca.dot(self._driven, self.all_velocities) + ca.jacobian(m.forces.potential, m.scope.t)
        drift = ca.vertcat(*[a for rows in m.kept_rows for a in rows.drift])
        return power - ca.dot(ca.vertcat(*self._held_multipliers), drift) if m.moves else power

    @cached_property
    def all_accelerations(self) -> dict[str, ca.SX]:
        return self.dynamics.all_accelerations(self.reduction)

    @cached_property
    def _held_multipliers(self) -> list[ca.SX]:
        """λ of the rows that are solved for, from the efforts that the free motion needs and does not get: Aᵀλ = M v̇ + h − Q."""
        m, scope = self.mechanism, self.mechanism.scope
        if not m.row_names:
            return []
        needed = inverse_dynamics(m.links, scope, self.dynamics.velocities, self.all_accelerations, m.gravity, UNIT[2])
        (given,) = self.put_in([m.forces.total])
        generalized_forces = {name: needed[name] - given[i] for i, name in enumerate(scope.velocities)}
        return self.reduction.multipliers(generalized_forces)

    @cached_property
    def multipliers(self) -> list[ca.SX]:
        return self.distributed(self._held_multipliers)

    def put_in(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions of all velocities and inputs, with dependent velocities and laws put in."""
        if self._replaced.numel() == 0:
            return expressions
        return list(ca.substitute(expressions, [self._replaced], [self._replacements]))

    def reported(self, outputs: Outputs) -> Program:
        return self.program("report", outputs)

    def equations(self, choices: list[Judged], notes: list[str], again: Callable[[tuple[str, ...]], Equations]) -> Equations:
        """The programs with all names; `again` derives the same system with other independent velocities."""
        m = self.mechanism
        system = m.system
        q_rate = self.put_in([m.measures.q_rate])[0]
        slope = ca.vertcat(q_rate, *[self.dynamics.accelerations[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self.power)
        reported = Report(self)
        repeated, remarks = self.remarks()
        return Equations(
            name=system.name,
            coordinates=m.coordinates,
            velocities=tuple(Quantity(v.name, v.unit) for v in system.velocities),
            independent=tuple(self.independent),
            inputs=tuple(Quantity(u.name, u.unit, u.description) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.description, p.default) for p in system.parameters),
            multipliers=tuple(q for rows in m.rows for q in row_multipliers(rows)),
            outputs=reported.outputs,
            force_outputs=reported.force_names,
            constraints=reported.constraints,
            dynamics=self.program("dynamics", {"xdot": (slope, [f"d{n}/dt" for n in self.x_labels])}),
            report=reported.program(),
            motion=reported.motion(),
            project=self._project(),
            monitor=self._monitor(),
            events=reported.event_program(self.event_list),
            event_list=self.event_list,
            quaternions=self.quaternions,
            extra_states=self.extra_states,
            limits=RunLimits(condition=SWITCH),
            alternates=tuple(j.independent for j in choices),
            with_independent=again,
            inverse_dynamics=self.inverse_dynamics(),
            causes=self._causes(),
            notes=(*notes, *repeated, *remarks),
            warnings=(*notes, *repeated),
        )

    @cached_property
    def all_velocities(self) -> ca.SX:
        return ca.vertcat(*[self.dynamics.velocities[n] for n in self.mechanism.scope.velocities])

    def _project(self) -> Program | None:
        """One Newton step of least change onto the position constraints."""
        constraints = [r for _, r in self.mechanism.held_positions]
        if not constraints:
            return None
        q = self.mechanism.scope.q
        rest = self.x[q.numel() :]
        error = ca.norm_inf(ca.vertcat(*[r for _, r in self.mechanism.position_constraints]))
        return self.program(
            "project", {"x_new": (ca.vertcat(nearest(q, constraints), rest), self.x_labels), "error": (error, ["error"])}
        )

    @cached_property
    def _amplified(self) -> dict[str, ca.SX]:
        """Squares of what this choice of velocities amplifies, by a sentence that says what is singular where it has no bound."""
        total = ZERO
        for row in self.reduction.kernel.values():
            for entry in row.values():
                total = plus(total, mul(entry, entry))
        found = (
            {f"the independent velocities ({', '.join(self.independent)}) lose their meaning": total} if self.independent else {}
        )
        if self.mechanism.moves or not self.independent:
            total = ZERO
            for square in self.reduction.squares():
                total = plus(total, self._against_usual(squared_volume(square)))
            found["the mechanism is at a dead center, where it cannot follow what moves it"] = total
        return found

    def _against_usual(self, volume: ca.SX) -> ca.SX:
        """How many times smaller a volume is than it usually is."""
        return ONE if volume.is_constant() else float(np.nanmedian(self.mechanism.at_samples(volume))) / volume

    @cached_property
    def _degenerate(self) -> dict[str, ca.SX]:
        """Squares of what grows without bound where a constraint itself loses its meaning, whatever the velocities."""
        found = {}
        for contact in self.mechanism.contacts:
            # the lowest point of a flat wheel is everywhere, the direction across an upright blade anywhere
            if isinstance(contact, WheelContact):
                found[f"wheel {contact.name!r} lies flat and has no contact point"] = 1 / (contact.tilt * contact.tilt)
            else:
                found[f"knife edge {contact.name!r} stands on end and has no direction"] = 1 / (contact.reach * contact.reach)
        for touching in [c for c in self.mechanism.touching if isinstance(c, Touching)]:
            found[f"wheel {touching.name!r} lies flat and has no contact point"] = 1 / (touching.tilt * touching.tilt)
        for blade in self.mechanism.blades:
            found[f"knife edge {blade.name!r} stands on end and has no direction"] = 1 / (blade.reach * blade.reach)
        for rows in self.mechanism.kept_rows:
            if isinstance(rows.source, Tied):
                volume = squared_volume([[c[i] for c in rows.columns.values()] for i in range(rows.count)])
                sentence = f"constraint {rows.source.name!r} is at a singular position, where it holds less than elsewhere"
                found[sentence] = self._against_usual(volume)
        return found

    def _monitor(self) -> Program | None:
        """Root of the sum of squares: for the velocities √Σ H², above the largest amplification, and cheap."""
        if not self.plan.blocks:
            return None
        total = ZERO
        for square in (*self._amplified.values(), *self._degenerate.values()):
            total = plus(total, square)
        return self.program("monitor", {"condition": (ca.sqrt(total), ["condition"])})

    def _causes(self) -> Program | None:
        if not self.plan.blocks:
            return None
        degenerate = self._degenerate
        # where a tie is singular, so is every choice of velocities: blame the choice only for the rest
        ties = [value for sentence, value in degenerate.items() if sentence.startswith("tie ")]
        least = ca.fmax(1, ca.mmax(ca.vertcat(*ties))) if ties else ONE
        values = {sentence: value / least if ties else value for sentence, value in self._amplified.items()} | degenerate
        return self.program("causes", {"value": (ca.vertcat(*values.values()), list(values))})
