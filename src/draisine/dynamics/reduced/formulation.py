"""Reduced formulation: one choice of independent velocities compiled into programs, and the check that each has inertia."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.dynamics.constraints.rows import ResidualBlock
from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.formulation import BaseFormulation, Outputs, least_norm_step
from draisine.dynamics.kinematics.newton_euler import inverse_dynamics
from draisine.dynamics.linear_algebra import ONE, ZERO, fold_constant, mul, plus, squared_volume
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.reduced.independent_velocities import SWITCH, VelocityChoice
from draisine.dynamics.reduced.reduction import EliminationPlan, ReducedDynamics, Reduction, reduced_dynamics
from draisine.errors import ModelError
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event, RunLimits
from draisine.program.program import Program


@dataclass
class ReducedFormulation(BaseFormulation):
    """One choice of independent velocities, with its laws and events, as programs."""

    mechanism: Mechanism
    plan: EliminationPlan
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        m, scope = self.mechanism, self.mechanism.scope
        if m.multiplier_symbols:
            raise ModelError(
                f"model {m.system.name!r}: forces depend on the multipliers of {', '.join(m.multiplier_symbols)}, which requires "
                "formulation=Augmented()"
            )
        laws = self.law_values
        self.reduction = Reduction(m.kept_rows, self.plan)
        self.independent = {name: scope.symbol(name) for name in self.plan.independent}
        velocities = self.reduction.velocities(self.independent)
        dependent = [name for name in scope.velocities if name not in self.independent]
        self._replaced = ca.vertcat(*[scope.symbol(n) for n in dependent], *[scope.symbol(n) for n in self.laws])
        plain = ca.vertcat(*[scope.symbol(n) for n in dependent])
        replacements = [velocities[n] for n in dependent]
        laws = ca.substitute(laws, [plain], [ca.vertcat(*replacements)]) if laws and dependent else laws
        self._replacements = ca.vertcat(*replacements, *laws)
        (generalized_forces, driven) = self.in_terms_of_state([m.forces.total, m.forces.driven])
        self.dynamics: ReducedDynamics = reduced_dynamics(
            m.links,
            m.masses,
            m.contacts,
            m.kept_rows,
            self.reduction,
            self.independent,
            m.gravity,
            m.up,
            {name: fold_constant(ca.SX(generalized_forces[i])) for i, name in enumerate(scope.velocities)},
        )
        self._driven = driven

    @cached_property
    def power(self) -> ca.SX:
        """Power of inputs, dampers, driven springs and rheonomic constraints; λᵀA v = −λᵀa₀ for the last."""
        m = self.mechanism
        power = ca.dot(self._driven, self.all_velocities) + ca.jacobian(m.forces.potential, m.scope.t)
        drift = ca.vertcat(*[a for rows in m.kept_rows for a in rows.drift])
        return power - ca.dot(ca.vertcat(*self._solved_multipliers), drift) if m.rheonomic else power

    @cached_property
    def all_accelerations(self) -> dict[str, ca.SX]:
        return self.dynamics.all_accelerations(self.reduction)

    @cached_property
    def _solved_multipliers(self) -> list[ca.SX]:
        """λ of the rows that are solved for, from Aᵀλ = M v̇ + h − Q."""
        m, scope = self.mechanism, self.mechanism.scope
        if not m.row_names:
            return []
        needed = inverse_dynamics(m.links, scope, self.dynamics.velocities, self.all_accelerations, m.gravity, m.vertical)
        (given,) = self.in_terms_of_state([m.forces.total])
        generalized_forces = {name: needed[name] - given[i] for i, name in enumerate(scope.velocities)}
        return self.reduction.multipliers(generalized_forces)

    @cached_property
    def multipliers(self) -> list[ca.SX]:
        return self.distributed(self._solved_multipliers)

    def in_terms_of_state(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions of all velocities and inputs, with dependent velocities and laws substituted."""
        if self._replaced.numel() == 0:
            return expressions
        return list(ca.substitute(expressions, [self._replaced], [self._replacements]))

    def reported(self, outputs: Outputs, name: str = "report") -> Program:
        return self.program(name, outputs)

    def equations(
        self, choices: list[VelocityChoice], notes: list[str], again: Callable[[tuple[str, ...]], Equations]
    ) -> Equations:
        """The programs with all names; `again` derives the same system with other independent velocities."""
        m = self.mechanism
        q_rate = self.in_terms_of_state([m.measures.q_rate])[0]
        slope = ca.vertcat(q_rate, *[self.dynamics.accelerations[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self.power)
        repeated, remarks = self.remarks()
        return replace(
            self.explicit_equations(slope),
            project=self._project(),
            monitor=self._monitor(),
            limits=RunLimits(condition=SWITCH, length=m.length),
            alternates=(*((*j.independent, *m.solved_rows) for j in choices), *m.row_alternates()),
            rows=m.solved_rows,
            with_independent=again,
            causes=self._causes(),
            notes=(*notes, *repeated, *remarks),
            warnings=(*notes, *repeated),
        )

    @cached_property
    def all_velocities(self) -> ca.SX:
        return ca.vertcat(*[self.dynamics.velocities[n] for n in self.mechanism.scope.velocities])

    def _project(self) -> Program | None:
        """One least-norm Newton step onto the position constraints."""
        constraints = [r for _, r in self.mechanism.independent_positions]
        if not constraints:
            return None
        q = self.mechanism.scope.q
        rest = self.x[q.numel() :]
        error = ca.norm_inf(ca.vertcat(*[r for _, r in self.mechanism.position_constraints]))
        return self.program(
            "project", {"x_new": (ca.vertcat(least_norm_step(q, constraints), rest), self.x_labels), "error": (error, ["error"])}
        )

    @cached_property
    def _amplified(self) -> dict[str, ca.SX]:
        """Squared amplifications of this choice of velocities, by the description of the singularity where they are unbounded."""
        total = ZERO
        for row in self.reduction.kernel.values():
            for entry in row.values():
                total = plus(total, mul(entry, entry))
        found = (
            {f"the independent velocities ({', '.join(self.independent)}) lose their meaning": total} if self.independent else {}
        )
        if self.mechanism.rheonomic or not self.independent:
            total = ZERO
            for square in self.reduction.block_matrices():
                total = plus(total, self._relative_to_typical(squared_volume(square)))
            found["the mechanism is at a dead center, where it cannot follow its driven constraints"] = total
        return found

    def _relative_to_typical(self, volume: ca.SX) -> ca.SX:
        """Ratio of the typical to the actual volume."""
        return ONE if volume.is_constant() else float(np.nanmedian(self.mechanism.at_samples(volume))) / volume

    @cached_property
    def _degenerate(self) -> dict[str, ca.SX]:
        """Squared quantities that are unbounded where a constraint itself is singular, for any choice of velocities."""
        found = {}
        for contact in self.mechanism.contacts:
            # the contact point of a flat wheel and the lateral direction of a vertical blade are not defined
            if isinstance(contact, WheelContact):
                found[f"wheel {contact.name!r} lies flat and has no contact point"] = 1 / (contact.tilt * contact.tilt)
            else:
                found[f"knife edge {contact.name!r} stands on end and has no direction"] = 1 / (contact.reach * contact.reach)
        for wheel in [c for c in self.mechanism.residual_contacts if isinstance(c, WheelOnGround)]:
            found[f"wheel {wheel.name!r} lies flat and has no contact point"] = 1 / (wheel.tilt * wheel.tilt)
        for blade in self.mechanism.knife_edges:
            found[f"knife edge {blade.name!r} stands on end and has no direction"] = 1 / (blade.reach * blade.reach)
        for rows in self.mechanism.kept_rows:
            if isinstance(rows.source, ResidualBlock):
                volume = squared_volume([[c[i] for c in rows.columns.values()] for i in range(rows.count)])
                sentence = f"residual constraint {rows.source.name!r} is at a singular position, where its rank drops"
                found[sentence] = self._relative_to_typical(volume)
        if self.mechanism.solved_rows:  # those of several constraints together
            matrix = self.mechanism.matrix
            kept = [[fold_constant(matrix[i, j]) for j in range(matrix.shape[1])] for i in self.mechanism.selection.kept]
            found["the rows that are solved for lose rank"] = self._relative_to_typical(squared_volume(kept))
        return found

    @property
    def condition(self) -> ca.SX | None:
        """Root of the sum of squares: √Σ H² for the velocities, a cheap upper bound of the largest amplification."""
        if not self.plan.blocks:
            return None
        total = ZERO
        for square in (*self._amplified.values(), *self._degenerate.values()):
            total = plus(total, square)
        return ca.sqrt(total)

    def _monitor(self) -> Program | None:
        condition = self.condition
        return None if condition is None else self.program("monitor", {"condition": (condition, ["condition"])})

    def _causes(self) -> Program | None:
        if not self.plan.blocks:
            return None
        degenerate = self._degenerate
        # where a constraint is singular, so is every choice of velocities: the choice is the cause only of the remainder
        singular = [value for sentence, value in degenerate.items() if sentence.startswith("residual constraint ")]
        least = ca.fmax(1, ca.mmax(ca.vertcat(*singular))) if singular else ONE
        values = {sentence: value / least if singular else value for sentence, value in self._amplified.items()} | degenerate
        return self.program("causes", {"value": (ca.vertcat(*values.values()), list(values))})


_SAMPLES = 6
_NOTHING = 1e-12  # zero eigenvalue of the mass matrix, scaled by its diagonal
_SHARE = 1e-3  # relative component of a velocity in a null vector that is reported


def check_inertia(formulation: ReducedFormulation) -> None:
    """Raise if a motion has no inertia: bodies without moments of inertia on hinges through their centers of mass."""
    m, names = formulation.mechanism, list(formulation.independent)
    if not names:
        return
    lower = formulation.dynamics.mass_matrix
    whole = ca.vertcat(*[ca.horzcat(*[lower[max(i, j)][min(i, j)] for j in range(len(names))]) for i in range(len(names))])
    points, times = m.sampled
    evaluate = ca.Function("mass", [m.scope.t, m.scope.q, m.scope.p], [ca.densify(whole)])
    kernel = None
    for q, t in list(zip(points, times, strict=True))[-_SAMPLES:]:
        matrix = evaluate(t, q, m.default_parameters).full()
        if not np.isfinite(matrix).all():
            continue
        size = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
        idle = np.abs(np.diag(matrix)) <= _NOTHING * np.abs(matrix).max(initial=1e-300)
        values, vectors = np.linalg.eigh(np.where(idle[:, None] | idle, 0.0, matrix / np.outer(size, size)))
        if values[0] > _NOTHING:
            return  # regular at this configuration
        kernel = np.abs(vectors[:, 0])
    if kernel is None:
        return
    moving = [name for name, share in zip(names, kernel, strict=True) if share > _SHARE * kernel.max()]
    bodies = ", ".join(repr(body.name) for body in m.system.bodies)
    raise ModelError(
        f"model {m.system.name!r}: {', '.join(repr(name) for name in moving)} can change without moving any mass, so no "
        f"force determines it; give one of the bodies ({bodies}) moments of inertia or a center of mass off its hinge, or "
        "remove the joint"
    )
