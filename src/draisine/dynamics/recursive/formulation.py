"""A tree treated body by body: articulated inertias, rows of contacts solved one by one; it costs so much per body.

The state holds the coordinates and the velocities that no row of a contact was solved for, as in the reduced equations. What is
never formed is a matrix of all velocities: neither masses nor rows nor the kernel of the rows. Ties are no part of the tree: they
eliminate nothing, their forces are solved for together, and drift is projected out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.redundancy import sample_coordinates
from draisine.dynamics.constraints.rows import Rows, Tied, row_multipliers
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.formulation import Derivation, Outputs, nearest
from draisine.dynamics.kinematics.tree import Launch
from draisine.dynamics.linear_algebra import UNIT, ZERO, exact, solve_symmetric
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import Report
from draisine.dynamics.recursive.articulated_body import Accelerating, Node, hold, sprouted, velocities
from draisine.dynamics.recursive.elimination import Holding, Local, in_reference
from draisine.dynamics.recursive.loop_closure import Coupled, Pulling
from draisine.errors import MasslessVelocity, ModelError, NotRecursive
from draisine.expr.expression import Expr
from draisine.program.equations import Equations, Event, Kind, Quantity, RunLimits
from draisine.program.program import Program

SAMPLES = 32  # configurations in which rows are looked at
MOST = 20.0  # times that a row's coefficient may be smaller than usual before a run ends as singular
_LIGHT = 1e-12  # pivot of a velocity, as a part of its largest over the samples, that counts as no inertia


class Grown:
    """A tree in stations with its rows solved: what laws and events do not change."""

    def __init__(self, mechanism: Mechanism) -> None:
        tied = {name for rows in mechanism.residual_rows for name in rows.names}
        heights = [c for c, _ in mechanism.position_constraints if c.kind != Kind.NORM and c.name not in tied]
        if heights:
            raise NotRecursive(f"{heights[0].name!r} ties the positions of its bodies to the ground")
        if mechanism.system.massless:
            raise NotRecursive(f"{mechanism.system.massless[0].name!r} is a coordinate without mass")
        self.mechanism = mechanism
        self.nodes: dict[str, Node] = sprouted(mechanism.links, mechanism.scope, mechanism.repeated)
        hold(self.nodes, mechanism.contacts, Holding(self._sampled))
        solved = [s for node in self.nodes.values() for station in node.part.solved for s in station]
        self.decided = {s.row: s for s in solved}
        bound = {s.freed.velocity for s in solved}
        self.independent = [name for name in mechanism.scope.velocities if name not in bound]
        by_contact = {local.contact.name: local for node in self.nodes.values() for local in node.locals}
        self.locals: list[Local] = [by_contact[c.name] for c in mechanism.contacts]
        for local in self.locals:
            if isinstance(local.contact, WheelContact) and local.kept not in ((0, 1), (0, 1, 2)):
                raise NotRecursive(f"wheel {local.contact.name!r} is held in part only")
        if mechanism.ties:
            self._check_constraints()

    def _check_constraints(self) -> None:
        """Rows of contacts must all be solved for, and every velocity must move some mass by itself."""
        m = self.mechanism
        contacts = sum(rows.count for rows in m.rows) - sum(rows.count for rows in m.residual_rows)
        spare = [s.row for s in m.selection.redundant if s.row < contacts]
        if spare:
            raise NotRecursive(f"constraint {m.row_names[spare[0]]!r} repeats ties")
        rates = dict.fromkeys(self.independent, ZERO)
        motions = velocities(self.nodes, rates, m.repeated)
        try:
            resting = Accelerating(self.nodes, motions, rates, {}, ZERO, m.up, m.repeated)
        except MasslessVelocity as problem:
            raise NotRecursive(f"{problem.velocity!r} moves no mass by itself") from None
        light = self.light(resting.inertias)
        if light is not None:
            raise NotRecursive(f"{light!r} moves no mass by itself")

    def light(self, inertias: dict[str, ca.SX]) -> str | None:
        """A velocity that no body resists, or None."""
        m, scope = self.mechanism, self.mechanism.scope
        if not inertias:
            return None
        given = [scope.t, scope.q, scope.v, scope.u, scope.p]
        evaluate = ca.Function("pivots", given, [ca.densify(ca.vertcat(*inertias.values()))])
        points = sample_coordinates(m.system, 3)[1:]
        pivots = np.array([evaluate(0.0, q, 0.0, 0.0, m.default_parameters).full()[:, 0] for q in points])
        none = (~(np.abs(pivots) > _LIGHT * np.nanmax(np.abs(pivots), initial=1e-300))).all(axis=0)
        return list(inertias)[int(np.argmax(none))] if none.any() else None

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        return sample_coordinates(self.mechanism.system, SAMPLES)

    def _sampled(self, expression: ca.SX) -> NDArray[np.float64]:
        """Values of an expression of coordinates and parameters."""
        m, scope = self.mechanism, self.mechanism.scope
        used = ca.symvar(expression)
        place = {name: i for i, name in enumerate(scope.coordinates)}
        default = dict(zip(scope.parameters, m.default_parameters, strict=True))
        values = [
            self._points[:, place[s.name()]] if s.name() in place else np.full(SAMPLES, default.get(s.name(), 0.0)) for s in used
        ]
        function = ca.Function("sampled", [ca.vertcat(*used)], [ca.densify(expression)])
        return np.asarray(function(np.array(values).reshape(len(used), SAMPLES)).full()).ravel()


@dataclass
class Recursive(Derivation):
    """Velocities that contacts leave, as states; everything else by passes along the tree."""

    grown: Grown
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        self.mechanism = m = self.grown.mechanism
        scope = m.scope
        if m.depends:
            raise ModelError(f"model {m.system.name!r}: forces depend on multipliers; use formulation=Augmented()")
        self.independent = {name: scope.symbol(name) for name in self.grown.independent}
        self._rates = dict(self.independent)
        self._motions = velocities(self.grown.nodes, self._rates, self.mechanism.repeated)
        bound = [name for name in scope.velocities if name not in self.independent]
        laws = self.law_values
        replacements = ca.vertcat(*[self._rates[n] for n in bound])
        if laws and bound:
            laws = ca.substitute(laws, [ca.vertcat(*[scope.symbol(n) for n in bound])], [replacements])
        self._replaced = ca.vertcat(*[scope.symbol(n) for n in bound], *[scope.symbol(n) for n in self.laws])
        self._replacements = ca.vertcat(replacements, *laws)
        generalized_forces, self._driven = self.put_in([m.forces.total, m.forces.driven])
        entries = ca.vertsplit(generalized_forces) if generalized_forces.numel() else []
        named = {name: exact(ca.densify(entry)) for name, entry in zip(scope.velocities, entries, strict=True)}
        try:
            self._inward = Accelerating(self.grown.nodes, self._motions, self._rates, named, m.gravity, m.up, m.repeated)
        except MasslessVelocity as problem:
            raise self._weightless(problem.velocity) from None
        self._tied = [rows for rows in m.kept_rows if isinstance(rows.source, Tied)] if m.ties else []
        felt = self._inward.felt
        self._forces: list[ca.SX] = []  # multipliers of the ties that are solved for
        if self._tied:
            pulling = Pulling(m, self.grown.nodes, self._motions, self.put_in)
            pulls = [pull for rows in self._tied for pull in pulling.rows(rows)]
            coupled = Coupled(self.grown.nodes, felt, pulls, self._inward.ground, m.repeated)
            self._forces = coupled.solved()
            felt = coupled.loaded(self._forces)
        self.moved = self._inward.settled(felt)

    def put_in(self, expressions: list[ca.SX]) -> list[ca.SX]:
        if self._replaced.numel() == 0:
            return expressions
        return list(ca.substitute(expressions, [self._replaced], [self._replacements]))

    @cached_property
    def all_velocities(self) -> ca.SX:
        return ca.vertcat(*[self._rates[n] for n in self.mechanism.scope.velocities])

    @property
    def all_accelerations(self) -> dict[str, ca.SX]:
        return self.moved.values

    def reported(self, outputs: Outputs) -> Program:
        return self.program("report", outputs)

    # ---------------------------------------------------------------- rows

    @cached_property
    def rows(self) -> list[Rows]:
        """Names of the rows, in the order of the other treatments; of contacts without their entries, which are never formed."""
        contacts = [Rows(w.contact, w.names, {}, (ZERO,) * len(w.names), w.kept) for w in self.grown.locals]
        return [*contacts, *self.mechanism.residual_rows]

    @cached_property
    def multipliers(self) -> list[ca.SX]:
        contacts = self._turned([[self.moved.multipliers[name] for name in local.names] for local in self.grown.locals])
        return self.distributed([*contacts, *self._forces]) if self._tied else contacts

    @cached_property
    def row_speeds(self) -> ca.SX:
        """Residuals of the rows in all velocities."""
        return ca.vertcat(self._contact_speeds, *[_speeds(rows) for rows in self.mechanism.residual_rows])

    @cached_property
    def _contact_speeds(self) -> ca.SX:
        scope = self.mechanism.scope
        if not self.grown.locals:
            return ca.SX(0, 1)
        nodes = {name: _unheld(node) for name, node in self.grown.nodes.items()}
        motions = velocities(nodes, {name: scope.symbol(name) for name in scope.velocities}, self.mechanism.repeated)
        found = [ca.densify(w.matrix @ motions[w.contact.link.name][-1]) for w in self.grown.locals]
        return ca.vertcat(*self._turned([ca.vertsplit(speeds) for speeds in found]))

    def _turned(self, shares: list[list[ca.SX]]) -> list[ca.SX]:
        """What wheels have in the axes of their link, in those of the reference body; of blades as it is."""
        found: list[ca.SX] = []
        poses = self.mechanism.measures.poses
        for local, share in zip(self.grown.locals, shares, strict=True):
            contact = local.contact
            if isinstance(contact, WheelContact):
                rotation = poses[contact.link.name].rotation
                if contact.link.spin is not None:
                    rotation = tuple(contact.link.spin.outward(row) for row in rotation)  # type: ignore[assignment]
                whole = [*share, *[ZERO] * (3 - len(share))]
                root = contact.link.root
                launched = bool(root.steps) and isinstance(root.steps[0], Launch)
                turned = in_reference(whole, rotation, root.steps[0].matrix if launched else UNIT)  # type: ignore[union-attr]
                found += [turned[i] for i in local.kept]
            else:
                found += share
        return found

    def repeated(self) -> tuple[list[str], list[str]]:
        return super().repeated() if self._tied else ([], [])  # rows of contacts that repeat others are not solved along the tree

    # ---------------------------------------------------------------- programs

    def equations(self, notes: list[str], again: Callable[[tuple[str, ...]], Equations]) -> Equations:
        """The programs with all names; `again` derives the same system with other independent velocities, in symbols."""
        m, reported = self.mechanism, Report(self)
        light = self.grown.light(self._inward.inertias)
        if light is not None:
            raise self._weightless(light)
        (q_rate,) = self.put_in([m.measures.q_rate])
        slope = ca.vertcat(q_rate, *[self.moved.values[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self._power)
        repeated, remarks = self.remarks()
        system = m.system
        return Equations(
            name=system.name,
            coordinates=m.coordinates,
            velocities=tuple(Quantity(v.name, v.unit) for v in system.velocities),
            independent=tuple(self.independent),
            inputs=tuple(Quantity(u.name, u.unit, u.description) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.description, p.default) for p in system.parameters),
            multipliers=tuple(q for rows in self.rows for q in row_multipliers(rows)),
            outputs=reported.outputs,
            force_outputs=reported.force_names,
            constraints=reported.constraints,
            dynamics=self.program("dynamics", {"xdot": (slope, [f"d{n}/dt" for n in self.x_labels])}),
            report=reported.program(),
            motion=reported.motion(),
            project=self._project(),
            monitor=self._monitor(),
            causes=self._causes(),
            limits=RunLimits(condition=MOST),
            events=reported.event_program(self.event_list),
            event_list=self.event_list,
            quaternions=self.quaternions,
            extra_states=self.extra_states,
            with_independent=None if self._tied else again,
            inverse_dynamics=self.inverse_dynamics(),
            notes=(*notes, *repeated, *remarks),
            warnings=tuple(repeated),
        )

    @property
    def _power(self) -> ca.SX:
        """What inputs and dampers, moved springs and moving ties do; λᵀA v = −λᵀa₀ for the last."""
        m = self.mechanism
        power = ca.dot(self._driven, self.all_velocities) + ca.jacobian(m.forces.potential, m.scope.t)
        drift = [a for rows in self._tied for a in rows.drift]
        return power - ca.dot(ca.vertcat(*self._forces), ca.vertcat(*drift)) if m.moves else power

    def _project(self) -> Program | None:
        """One Newton step of least change onto the positions, and the nearest velocities that the ties admit."""
        m = self.mechanism
        residuals = [r for _, r in (m.held_positions if m.ties else m.position_constraints)]
        if not residuals and not self._tied:
            return None
        q, speeds = m.scope.q, ca.vertcat(*self.independent.values())
        rest = self.x[q.numel() + speeds.numel() :]
        errors = list(residuals)
        if self._tied:
            (held,) = self.put_in([ca.vertcat(*[_speeds(rows) for rows in self._tied])])
            errors.append(held)
            speeds = self._admitted(speeds, held)
        moved = ca.vertcat(nearest(q, residuals) if residuals else q, speeds, rest)
        error = ca.norm_inf(ca.vertcat(*errors))
        return self.program("project", {"x_new": (moved, self.x_labels), "error": (error, ["error"])})

    def _admitted(self, speeds: ca.SX, held: ca.SX) -> ca.SX:
        """v − Gᵀ(G Gᵀ)⁻¹(G v + g₀)."""
        matrix = ca.jacobian(held, speeds)
        gram, count = ca.densify(matrix @ matrix.T), held.numel()
        entries = [[exact(gram[i, j]) for j in range(count)] for i in range(count)]
        return speeds - matrix.T @ ca.vertcat(*solve_symmetric(entries, ca.vertsplit(held)))

    @cached_property
    def _singular(self) -> dict[str, ca.SX]:
        """How many times smaller than usual the coefficient is that each row is solved by, where it changes."""
        found = {}
        for row, solved in self.grown.decided.items():
            if ca.symvar(solved.divisor) and not solved.divisor.is_constant():
                values = np.abs(self.grown._sampled(solved.divisor))
                if np.ptp(values) > 1e-12 * values.max(initial=0.0):
                    found[f"constraint {row!r} no longer decides about {solved.freed.velocity!r}"] = ca.fabs(
                        float(np.median(values)) / solved.divisor
                    )
        return found

    def _monitor(self) -> Program | None:
        if not self._singular:
            return None
        return self.program("monitor", {"condition": (ca.mmax(ca.vertcat(*self._singular.values())), ["condition"])})

    def _causes(self) -> Program | None:
        if not self._singular:
            return None
        return self.program("causes", {"value": (ca.vertcat(*self._singular.values()) ** 2, list(self._singular))})

    def _weightless(self, velocity: str) -> ModelError:
        return ModelError(
            f"model {self.mechanism.system.name!r}: {velocity!r} can change without moving any mass, so that no force decides "
            "about it; give the bodies it moves moments of inertia or a center of mass off its hinge, or take the joint away"
        )


def _speeds(rows: Rows) -> ca.SX:
    """Residuals of a tie's rows in all velocities."""
    source = rows.source
    assert isinstance(source, Tied)
    return ca.vertcat(*[source.ties.velocity[source.start + i] for i in rows.kept])


def _unheld(node: Node) -> Node:
    """The same link with every velocity free."""
    part = node.part
    free = [list(station.freed) for station in part.stations]
    if part.spin is not None:
        free.append([part.spin])
    return replace(node, part=replace(part, solved=[[] for _ in free], free=free, passing=[[] for _ in part.stations]))
