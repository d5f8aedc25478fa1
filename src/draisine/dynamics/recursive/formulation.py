"""Recursive formulation of a tree: articulated inertias and contact rows eliminated one by one, at linear cost.

The state holds the coordinates and the velocities that contacts leave independent, as in the reduced formulation. No matrix of
all velocities is formed: neither masses nor rows nor a null-space basis. Loop closures are not part of the tree: they eliminate
nothing, their forces are solved for together, and drift is removed by projection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.configurations import sample_coordinates
from draisine.dynamics.constraints.rows import ResidualBlock, Rows
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.formulation import BaseFormulation, Outputs, least_norm_step
from draisine.dynamics.kinematics.tree import FreeMotion
from draisine.dynamics.linear_algebra import UNIT, ZERO, fold_constant, solve_symmetric
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.recursive.articulated_body import (
    ArticulatedBodyAlgorithm,
    Node,
    eliminate_contacts,
    tree_nodes,
    velocities,
)
from draisine.dynamics.recursive.elimination import LocalRows, PivotSelection, in_reference
from draisine.dynamics.recursive.loop_closure import LoopClosure, LoopRowBuilder
from draisine.errors import MasslessVelocity, ModelError, NotRecursive
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event, Kind, RunLimits
from draisine.program.program import Program

SAMPLES = 32  # configurations at which pivots are chosen
MOST = 20.0  # ratio of the typical to the actual pivot coefficient at which a run ends as singular
_MASSLESS = 1e-12  # relative pivot of a velocity below which it has no inertia


class EliminatedTree:
    """A tree as elementary frames with its contact rows eliminated: everything independent of laws and events."""

    def __init__(self, mechanism: Mechanism) -> None:
        residual_names = {name for rows in mechanism.residual_rows for name in rows.names}
        heights = [c for c, _ in mechanism.position_constraints if c.kind != Kind.NORM and c.name not in residual_names]
        if heights:
            raise NotRecursive(f"{heights[0].name!r} is a position constraint of its bodies with the ground")
        if mechanism.system.massless:
            raise NotRecursive(f"{mechanism.system.massless[0].name!r} is a coordinate without mass")
        self.mechanism = mechanism
        self.nodes: dict[str, Node] = tree_nodes(mechanism.links, mechanism.scope, mechanism.templates)
        eliminate_contacts(self.nodes, mechanism.contacts, PivotSelection(self._sampled))
        solved = [s for node in self.nodes.values() for frame in node.structure.solved for s in frame]
        self.eliminated = {s.row: s for s in solved}
        bound = {s.entry.velocity for s in solved}
        self.independent = [name for name in mechanism.scope.velocities if name not in bound]
        by_contact = {local.contact.name: local for node in self.nodes.values() for local in node.contact_rows}
        self.contact_rows: list[LocalRows] = [by_contact[c.name] for c in mechanism.contacts]
        for local in self.contact_rows:
            if isinstance(local.contact, WheelContact) and local.kept not in ((0, 1), (0, 1, 2)):
                raise NotRecursive(f"wheel {local.contact.name!r} is only partly constrained")
        if mechanism.residual_constraints:
            self._check_loops()

    def _check_loops(self) -> None:
        """All rows of contacts must be independent, and every velocity must have inertia by itself."""
        m = self.mechanism
        contacts = sum(rows.count for rows in m.rows) - sum(rows.count for rows in m.residual_rows)
        spare = [s.row for s in m.selection.redundant if s.row < contacts]
        if spare:
            raise NotRecursive(f"constraint {m.row_names[spare[0]]!r} is redundant with residual constraints")
        rates = dict.fromkeys(self.independent, ZERO)
        motions = velocities(self.nodes, rates, m.templates)
        try:
            resting = ArticulatedBodyAlgorithm(self.nodes, motions, rates, {}, ZERO, m.vertical, m.up, m.templates)
        except MasslessVelocity as problem:
            raise NotRecursive(f"{problem.velocity!r} has no inertia by itself") from None
        massless = self.massless(resting.inertias)
        if massless is not None:
            raise NotRecursive(f"{massless!r} has no inertia by itself")

    def massless(self, inertias: dict[str, ca.SX]) -> str | None:
        """A velocity without inertia, or None."""
        m, scope = self.mechanism, self.mechanism.scope
        if not inertias:
            return None
        given = [scope.t, scope.q, scope.v, scope.u, scope.p]
        evaluate = ca.Function("pivots", given, [ca.densify(ca.vertcat(*inertias.values()))])
        points = sample_coordinates(m.system, 3)[1:]
        pivots = np.array([evaluate(0.0, q, 0.0, 0.0, m.default_parameters).full()[:, 0] for q in points])
        none = (~(np.abs(pivots) > _MASSLESS * np.nanmax(np.abs(pivots), initial=1e-300))).all(axis=0)
        return list(inertias)[int(np.argmax(none))] if none.any() else None

    def formulation(self, laws: dict[str, Expr], events: tuple[Event, ...], work: bool | None) -> RecursiveFormulation:
        """The equations with these laws and events."""
        return RecursiveFormulation(self, laws, events, work)

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        return sample_coordinates(self.mechanism.system, SAMPLES)

    def _sampled(self, expression: ca.SX) -> NDArray[np.float64]:
        """Values of an expression of coordinates and parameters."""
        m, scope = self.mechanism, self.mechanism.scope
        used = ca.symvar(expression)
        index = {name: i for i, name in enumerate(scope.coordinates)}
        default = dict(zip(scope.parameters, m.default_parameters, strict=True))
        values = [
            self._points[:, index[s.name()]] if s.name() in index else np.full(SAMPLES, default.get(s.name(), 0.0)) for s in used
        ]
        function = ca.Function("sampled", [ca.vertcat(*used)], [ca.densify(expression)])
        return np.asarray(function(np.array(values).reshape(len(used), SAMPLES)).full()).ravel()


@dataclass
class RecursiveFormulation(BaseFormulation):
    """The velocities that contacts leave independent are states; all else is computed by passes along the tree."""

    tree: EliminatedTree
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        self.mechanism = m = self.tree.mechanism
        scope = m.scope
        if m.multiplier_symbols:
            raise ModelError(f"model {m.system.name!r}: forces depend on multipliers; use formulation=Augmented()")
        self.independent = {name: scope.symbol(name) for name in self.tree.independent}
        self._rates = dict(self.independent)
        self._motions = velocities(self.tree.nodes, self._rates, self.mechanism.templates)
        bound = [name for name in scope.velocities if name not in self.independent]
        laws = self.law_values
        replacements = ca.vertcat(*[self._rates[n] for n in bound])
        if laws and bound:
            laws = ca.substitute(laws, [ca.vertcat(*[scope.symbol(n) for n in bound])], [replacements])
        self._replaced = ca.vertcat(*[scope.symbol(n) for n in bound], *[scope.symbol(n) for n in self.laws])
        self._replacements = ca.vertcat(replacements, *laws)
        generalized_forces, self._driven = self.in_terms_of_state([m.forces.total, m.forces.driven])
        entries = ca.vertsplit(generalized_forces) if generalized_forces.numel() else []
        named = {name: fold_constant(ca.densify(entry)) for name, entry in zip(scope.velocities, entries, strict=True)}
        try:
            self._inward = ArticulatedBodyAlgorithm(
                self.tree.nodes, self._motions, self._rates, named, m.gravity, m.vertical, m.up, m.templates
            )
        except MasslessVelocity as problem:
            raise self._massless_error(problem.velocity) from None
        self._loops = [rows for rows in m.kept_rows if isinstance(rows.source, ResidualBlock)] if m.residual_constraints else []
        articulated = self._inward.articulated
        self._forces: list[ca.SX] = []  # multipliers of the loop closures
        if self._loops:
            builder = LoopRowBuilder(m, self.tree.nodes, self._motions, self.in_terms_of_state)
            loop_rows = [row for rows in self._loops for row in builder.rows(rows)]
            closure = LoopClosure(self.tree.nodes, articulated, loop_rows, self._inward.ground, m.templates)
            self._forces = closure.solved()
            articulated = closure.with_multipliers(self._forces)
        self.accelerated = self._inward.outward_pass(articulated)

    def in_terms_of_state(self, expressions: list[ca.SX]) -> list[ca.SX]:
        if self._replaced.numel() == 0:
            return expressions
        return list(ca.substitute(expressions, [self._replaced], [self._replacements]))

    @cached_property
    def all_velocities(self) -> ca.SX:
        return ca.vertcat(*[self._rates[n] for n in self.mechanism.scope.velocities])

    @property
    def all_accelerations(self) -> dict[str, ca.SX]:
        return self.accelerated.values

    def reported(self, outputs: Outputs, name: str = "report") -> Program:
        return self.program(name, outputs)

    # ---------------------------------------------------------------- rows

    @cached_property
    def rows(self) -> list[Rows]:
        """Names of the rows, in the order of the other formulations; of contacts without their entries, which are not formed."""
        contacts = [Rows(w.contact, w.names, {}, (ZERO,) * len(w.names), w.kept) for w in self.tree.contact_rows]
        return [*contacts, *self.mechanism.residual_rows]

    @cached_property
    def multipliers(self) -> list[ca.SX]:
        contacts = self._turned(
            [[self.accelerated.multipliers[name] for name in local.names] for local in self.tree.contact_rows]
        )
        return self.distributed([*contacts, *self._forces]) if self._loops else contacts

    @cached_property
    def row_speeds(self) -> ca.SX:
        """Residuals of the rows in all velocities."""
        return ca.vertcat(self._contact_speeds, *[_speeds(rows) for rows in self.mechanism.residual_rows])

    @cached_property
    def _contact_speeds(self) -> ca.SX:
        scope = self.mechanism.scope
        if not self.tree.contact_rows:
            return ca.SX(0, 1)
        nodes = {name: _unconstrained(node) for name, node in self.tree.nodes.items()}
        motions = velocities(nodes, {name: scope.symbol(name) for name in scope.velocities}, self.mechanism.templates)
        found = [ca.densify(w.matrix @ motions[w.contact.link.name][-1]) for w in self.tree.contact_rows]
        return ca.vertcat(*self._turned([ca.vertsplit(speeds) for speeds in found]))

    def _turned(self, shares: list[list[ca.SX]]) -> list[ca.SX]:
        """Components for wheels, rotated from link to reference axes; those for knife edges unchanged."""
        found: list[ca.SX] = []
        poses = self.mechanism.measures.poses
        for local, share in zip(self.tree.contact_rows, shares, strict=True):
            contact = local.contact
            if isinstance(contact, WheelContact):
                rotation = poses[contact.link.name].rotation
                if contact.link.spin is not None:
                    rotation = tuple(contact.link.spin.outward(row) for row in rotation)  # type: ignore[assignment]
                whole = [*share, *[ZERO] * (3 - len(share))]
                root = contact.link.root
                launched = bool(root.steps) and isinstance(root.steps[0], FreeMotion)
                turned = in_reference(whole, rotation, root.steps[0].matrix if launched else UNIT)  # type: ignore[union-attr]
                found += [turned[i] for i in local.kept]
            else:
                found += share
        return found

    def redundancy_notes(self) -> tuple[list[str], list[str]]:
        return super().redundancy_notes() if self._loops else ([], [])  # redundant contact rows have no recursive formulation

    # ---------------------------------------------------------------- programs

    def equations(self, notes: list[str], again: Callable[[tuple[str, ...]], Equations]) -> Equations:
        """The programs with all names; `again` derives the same system with other independent velocities, in reduced form, or
        with other rows of its loops."""
        m = self.mechanism
        massless = self.tree.massless(self._inward.inertias)
        if massless is not None:
            raise self._massless_error(massless)
        (q_rate,) = self.in_terms_of_state([m.measures.q_rate])
        slope = ca.vertcat(q_rate, *[self.accelerated.values[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self._power)
        repeated, remarks = self.remarks()
        return replace(
            self.explicit_equations(slope),
            project=self._project(),
            monitor=self._monitor(),
            causes=self._causes(),
            limits=RunLimits(condition=MOST, length=m.length),
            alternates=tuple((*self.independent, *rows) for rows in m.other_rows) if self._loops else (),
            rows=m.solved_rows if self._loops else (),
            with_independent=again if not self._loops or m.solved_rows else None,
            notes=(*notes, *repeated, *remarks),
            warnings=tuple(repeated),
        )

    @property
    def _power(self) -> ca.SX:
        """Power of inputs, dampers, driven springs and rheonomic constraints; λᵀA v = −λᵀa₀ for the last."""
        m = self.mechanism
        power = ca.dot(self._driven, self.all_velocities) + ca.jacobian(m.forces.potential, m.scope.t)
        drift = [a for rows in self._loops for a in rows.drift]
        return power - ca.dot(ca.vertcat(*self._forces), ca.vertcat(*drift)) if m.rheonomic else power

    def _project(self) -> Program | None:
        """One least-norm Newton step onto the position constraints, and the nearest admissible velocities."""
        m = self.mechanism
        residuals = [r for _, r in (m.independent_positions if m.residual_constraints else m.position_constraints)]
        if not residuals and not self._loops:
            return None
        q, speeds = m.scope.q, ca.vertcat(*self.independent.values())
        rest = self.x[q.numel() + speeds.numel() :]
        errors = [*residuals, *m.monitored_positions]
        if self._loops:
            (loop_speeds,) = self.in_terms_of_state([ca.vertcat(*[_speeds(rows) for rows in self._loops])])
            errors.append(loop_speeds)
            speeds = self._admissible(speeds, loop_speeds)
        moved = ca.vertcat(least_norm_step(q, residuals) if residuals else q, speeds, rest)
        error = ca.norm_inf(ca.vertcat(*errors))
        return self.program("project", {"x_new": (moved, self.x_labels), "error": (error, ["error"])})

    def _admissible(self, speeds: ca.SX, loop_speeds: ca.SX) -> ca.SX:
        """v − Gᵀ(G Gᵀ)⁻¹(G v + g₀)."""
        matrix = ca.jacobian(loop_speeds, speeds)
        gram, count = ca.densify(matrix @ matrix.T), loop_speeds.numel()
        entries = [[fold_constant(gram[i, j]) for j in range(count)] for i in range(count)]
        return speeds - matrix.T @ ca.vertcat(*solve_symmetric(entries, ca.vertsplit(loop_speeds)))

    @cached_property
    def _singular(self) -> dict[str, ca.SX]:
        """Ratio of the typical to the actual pivot coefficient of each row, where it varies."""
        found = {}
        for row, solved in self.tree.eliminated.items():
            if ca.symvar(solved.divisor) and not solved.divisor.is_constant():
                values = np.abs(self.tree._sampled(solved.divisor))
                if np.ptp(values) > 1e-12 * values.max(initial=0.0):
                    found[f"constraint {row!r} no longer determines {solved.entry.velocity!r}"] = ca.fabs(
                        float(np.median(values)) / solved.divisor
                    )
        loops = self.loop_condition if self._loops else None
        if loops is not None:
            found["loop closures are at a singular position, where their rank drops"] = loops
        return found

    def _monitor(self) -> Program | None:
        if not self._singular:
            return None
        return self.program("monitor", {"condition": (ca.mmax(ca.vertcat(*self._singular.values())), ["condition"])})

    def _causes(self) -> Program | None:
        if not self._singular:
            return None
        return self.program("causes", {"value": (ca.vertcat(*self._singular.values()) ** 2, list(self._singular))})

    def _massless_error(self, velocity: str) -> ModelError:
        return ModelError(
            f"model {self.mechanism.system.name!r}: {velocity!r} can change without moving any mass, so no force "
            "determines it; give the bodies it moves moments of inertia or a center of mass off the hinge, or remove the joint"
        )


def _speeds(rows: Rows) -> ca.SX:
    """Residuals of the rows of a constraint in all velocities."""
    source = rows.source
    assert isinstance(source, ResidualBlock)
    return ca.vertcat(*[source.system.velocity[source.start + i] for i in rows.kept])


def _unconstrained(node: Node) -> Node:
    """The same link with every velocity free."""
    structure = node.structure
    free = [list(frame.free_entries) for frame in structure.frames]
    if structure.spin is not None:
        free.append([structure.spin])
    return replace(
        node, structure=replace(structure, solved=[[] for _ in free], free=free, passing=[[] for _ in structure.frames])
    )
