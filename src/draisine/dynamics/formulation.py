"""What all formulations of a mechanism have in common: input laws, state, names and units of programs, least-norm projection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import casadi as ca

from draisine.dynamics.constraints.redundancy import RedundantRow, redundancy_messages
from draisine.dynamics.constraints.rows import ResidualBlock, Rows, row_multipliers
from draisine.dynamics.constraints.singular_rows import row_condition
from draisine.dynamics.contact.ground_contacts import WheelOnGround
from draisine.dynamics.contact.point_contacts import PointOnSurface, SphereOnCurvedGround
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.forces import acts_without_inputs
from draisine.dynamics.kinematics.newton_euler import inverse_dynamics
from draisine.dynamics.linear_algebra import ONE, ZERO, coupled_groups, dot, fold_constant, minus, mul, plus, solve_symmetric
from draisine.dynamics.lowering import dependent_parameters
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import ReportBuilder
from draisine.errors import ModelError
from draisine.expr.expression import Expr, calls, did_you_mean, names
from draisine.model.items import Ball, Float
from draisine.program.equations import Equations, Event, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Outputs = dict[str, tuple[ca.SX, list[str]] | ca.SX]


class BaseFormulation(ABC):
    """A mechanism with laws and events. Formulations differ in which velocities are states, and in how accelerations and
    multipliers are computed."""

    mechanism: Mechanism
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    independent: dict[str, ca.SX]  # velocities in the state, by name

    @property
    def activity(self) -> Mapping[str, ca.SX]:
        """By row, whether it is active: those of unilateral contacts."""
        return {}

    @property
    @abstractmethod
    def all_velocities(self) -> ca.SX:
        """All velocities in terms of the state."""

    @property
    @abstractmethod
    def all_accelerations(self) -> dict[str, ca.SX]: ...

    @property
    @abstractmethod
    def multipliers(self) -> list[ca.SX]:
        """λ of all rows of the mechanism."""

    @property
    def rows(self) -> list[Rows]:
        """Rows of contacts and residual constraints, in blocks."""
        return self.mechanism.rows

    @property
    def row_speeds(self) -> ca.SX:
        """A v + a₀ of all rows, in all velocities."""
        m = self.mechanism
        return m.matrix @ m.scope.v + m.drift if m.row_names else ca.SX(0, 1)

    @property
    def row_names(self) -> list[str]:
        return [name for rows in self.rows for name in rows.names]

    @abstractmethod
    def in_terms_of_state(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions of all velocities and inputs in terms of the state, with laws substituted."""

    @abstractmethod
    def reported(self, outputs: Outputs, name: str = "report") -> Program | LinearSolveProgram:
        """A program of (t, x, u, p) for outputs that may depend on accelerations and multipliers."""

    # ---------------------------------------------------------------- multipliers of redundant rows

    def distributed(self, solved: list[ca.SX]) -> list[ca.SX]:
        """λ of all rows from λ of those that are solved for.

        Redundant rows, A_s = C A_k, make λ not unique: any λ_k, λ_s with λ_k + Cᵀλ_s = `solved` are solutions; this is the
        smallest."""
        m = self.mechanism
        found = dict(zip(m.selection.kept, solved, strict=True))
        repeating = [s for s in m.selection.redundant if s.repeats]
        shares = [dict(zip(s.repeats, self._share(s), strict=True)) for s in repeating]
        if shares:
            gram = [[_along(a, b) if a is not b else plus(_along(a, a), ONE) for b in shares] for a in shares]
            extra = solve_symmetric(gram, [_along(a, found) for a in shares])
            for share, amount in zip(shares, extra, strict=True):
                found |= {row: minus(found[row], mul(c, amount)) for row, c in share.items()}
            found |= {s.row: amount for s, amount in zip(repeating, extra, strict=True)}
        return [found.get(i, ZERO) for i in range(len(m.row_names))]

    def _share(self, spare: RedundantRow) -> list[ca.SX]:
        """A redundant row as a combination c of those on which it depends: (A Aᵀ) c = A a."""
        matrix = self.mechanism.matrix
        rows = [[fold_constant(matrix[i, j]) for j in range(matrix.shape[1])] for i in (*spare.repeats, spare.row)]
        own = rows.pop()
        return solve_symmetric([[dot(a, b) for b in rows] for a in rows], [dot(a, own) for a in rows])

    # ---------------------------------------------------------------- laws

    @cached_property
    def law_values(self) -> list[ca.SX]:
        """The laws in all velocities, in the order of `laws`."""
        scope = self.mechanism.scope
        unknown = [name for name in self.laws if name not in scope.input_names]
        if unknown:
            name = self.mechanism.system.name
            raise ModelError(f"model {name!r} has no input {unknown[0]!r}{did_you_mean(unknown[0], scope.input_names)}")
        return [self._law(name) for name in self.laws]

    def _law(self, name: str) -> ca.SX:
        scope = self.mechanism.scope
        law = self.laws[name]
        value = scope.value(law, self._contact_outputs(names(law)))
        others = scope.used_in(value).inputs  # directly or through an output
        if others:
            raise ModelError(
                f"the law of input {name!r} uses the input {others[0]!r}; write laws in states, outputs, parameters and t"
            )
        return value

    def _contact_outputs(self, used: frozenset[str]) -> dict[str, ca.SX]:
        """Outputs of the contacts among the names in a law, such as contact points."""
        scope, own = self.mechanism.scope, {o.name for o in self.mechanism.system.outputs}
        beyond = used - {"t", *scope.coordinates, *scope.velocities, *scope.input_names, *scope.parameters} - own
        return {name: value for name, value in ReportBuilder(self).motion_values.items() if name in beyond} if beyond else {}

    # ---------------------------------------------------------------- state, names, units

    @cached_property
    def tracks_work(self) -> bool:
        """Whether work is a state: on request, or where the forces or constraints are not conservative."""
        return bool(self.mechanism.unilateral) or (self.does_work if self.work is None else self.work)

    @cached_property
    def does_work(self) -> bool:
        """Whether the energy may change while all inputs are zero."""
        m, scope = self.mechanism, self.mechanism.scope
        (driven,) = self.in_terms_of_state([m.forces.driven])
        changing = ca.depends_on(ca.vertcat(driven, m.forces.potential), ca.vertcat(scope.v, scope.t))
        return bool(self.laws or m.laws or m.unilateral or m.rheonomic or changing or acts_without_inputs(driven, scope.u))

    @property
    def extra_states(self) -> tuple[Quantity, ...]:
        return (Quantity("work", "J", "work done by inputs, dampers and moving constraints"),) if self.tracks_work else ()

    @cached_property
    def x(self) -> ca.SX:
        return ca.vertcat(self.mechanism.scope.q, *self.independent.values(), *[ca.SX.sym(s.name) for s in self.extra_states])

    @cached_property
    def x_labels(self) -> list[str]:
        return [*self.mechanism.scope.coordinates, *self.independent, *[s.name for s in self.extra_states]]

    @cached_property
    def arguments(self) -> Outputs:
        """(t, x, u, p)."""
        scope = self.mechanism.scope
        return {
            "t": (scope.t, ["t"]),
            "x": (self.x, self.x_labels),
            "u": (scope.u, scope.input_names),
            "p": (scope.p, scope.parameters),
        }

    def program(self, name: str, outputs: Outputs) -> Program:
        """A program of (t, x, u, p)."""
        m = self.mechanism
        return Program.build(f"{m.system.name}_{name}", self.arguments, outputs, self.units, m.templates.skip_global_cse)

    @cached_property
    def units(self) -> dict[str, str]:
        system = self.mechanism.system
        known = {"t": "s", "work": "J"}
        known |= {c.name: c.unit for c in system.coordinates} | {v.name: v.unit for v in system.velocities}
        known |= {u.name: u.unit for u in system.inputs} | {p.name: p.unit for p in system.arguments}
        return known | {o.name: o.unit for o in system.outputs}

    @cached_property
    def event_list(self) -> tuple[Event, ...]:
        """Events of the model, then those given by the caller, then the ends of the validity of contacts."""
        given = self.mechanism.system.events
        own = (Event(w.name, str(w.expression), w.action, w.direction, w.description) for w in given)
        followed = (_second_contact(c) for c in self.mechanism.followed_contacts)
        return (*own, *self.events, *followed, *_off_paths(self.mechanism))

    @property
    def quaternions(self) -> tuple[tuple[str, str, str, str], ...]:
        return tuple(s.quaternion for j in self.mechanism.system.joints for s in j.chain if isinstance(s, Ball | Float))

    def redundancy_notes(self) -> tuple[list[str], list[str]]:
        """Warnings and notes on redundant rows."""
        return redundancy_messages(self.mechanism.row_names, self.mechanism.selection)

    def remarks(self) -> tuple[list[str], list[str]]:
        """Warnings of every run, and notes."""
        m = self.mechanism
        warnings, notes = self.redundancy_notes()
        wheels = [c.link for c in m.contacts if isinstance(c, WheelContact)]
        names = sorted({link.name for link in wheels if not link.is_rotor and link.parent})
        unbalanced = [
            f"wheel body {name!r} is not balanced about its hinge (or carries another body): its spin angle enters the equations"
            for name in names
        ]
        idle = [f"constraint {name} is satisfied identically: no coordinate enters it, and it has no force" for name in m.idle]
        return [*warnings, *m.forces.warnings], [*unbalanced, *notes, *idle]

    @property
    def loop_condition(self) -> ca.SX | None:
        """How close the position constraints of loops that are solved for are to a loss of rank; None without them."""
        m = self.mechanism
        blocks = [
            rows for rows in m.kept_rows if isinstance(rows.source, ResidualBlock) and rows.source.constraint.level == "position"
        ]
        if not blocks:
            return None
        entries = [[rows.columns.get(name, [ZERO] * rows.count) for name in m.scope.velocities] for rows in blocks]
        matrix = ca.vertcat(*[ca.horzcat(*[ca.vertcat(*column) for column in columns]) for columns in entries])
        return row_condition(matrix, m.at_samples)

    def explicit_equations(self, slope: ca.SX) -> Equations:
        """What formulations with ẋ = `slope` share: all names, dynamics, reports, events."""
        m, system, reported = self.mechanism, self.mechanism.system, ReportBuilder(self)
        return Equations(
            name=system.name,
            coordinates=m.coordinates,
            velocities=tuple(Quantity(v.name, v.unit) for v in system.velocities),
            independent=tuple(self.independent),
            inputs=tuple(Quantity(u.name, u.unit, u.description) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.description, p.default) for p in system.parameters),
            dependent_parameters=dependent_parameters(system),
            multipliers=tuple(q for rows in self.rows for q in row_multipliers(rows)),
            outputs=reported.outputs,
            force_outputs=reported.force_names,
            constraints=reported.constraints,
            dynamics=self.program("dynamics", {"xdot": (slope, [f"d{n}/dt" for n in self.x_labels])}),
            report=reported.program(),
            motion=reported.motion(),
            events=reported.event_program(self.event_list),
            event_list=self.event_list,
            quaternions=self.quaternions,
            extra_states=self.extra_states,
            inverse_dynamics=self.inverse_dynamics(),
        )

    def inverse_dynamics(self) -> Program:
        m, scope = self.mechanism, self.mechanism.scope
        accelerations = {name: ca.SX.sym(f"d{name}") for name in scope.velocities}
        rates = {name: scope.symbol(name) for name in scope.velocities}
        generalized_forces = inverse_dynamics(m.links, scope, rates, accelerations, m.gravity, m.vertical, m.templates)
        inputs = {
            "q": (scope.q, scope.coordinates),
            "v": (scope.v, scope.velocities),
            "vdot": (ca.vertcat(*accelerations.values()), list(accelerations)),
            "p": (scope.p, scope.parameters),
        }
        outputs = {"generalized_forces": (ca.vertcat(*[generalized_forces[n] for n in scope.velocities]), scope.velocities)}
        return Program.build(f"{m.system.name}_inverse_dynamics", inputs, outputs, shared=m.templates.skip_global_cse)


def _second_contact(contact: WheelOnGround | SphereOnCurvedGround) -> Event:
    """A wheel or a sphere comes to a hollow that is sharper than itself."""
    name, kind = contact.name, "wheel" if isinstance(contact, WheelOnGround) else "sphere"
    what = f"{kind} {name!r} touches the ground at a second place"
    return Event(f"{name}_second_contact", f"clearance({name})", "stop", -1, what, "GROUND_TOO_SHARP")


def _off_paths(mechanism: Mechanism) -> Iterator[Event]:
    """Contacts leave the part of the ground on which coordinates of paths hold, if the ground depends on these."""
    system = mechanism.system
    used = calls(system.ground.height) | calls(system.ground.friction)
    for path in system.paths:
        along, across = (function.name for function in path.functions)
        if not used & {along, across}:
            continue
        for contact in mechanism.residual_contacts:
            if not isinstance(contact, WheelOnGround | PointOnSurface):
                continue
            at = f"({contact.name}_contact_x, {contact.name}_contact_y)"
            width = path.coordinates.width
            inside = f"{width!r} - abs({across}{at})"
            if not path.closed:
                first, last = (float(path.coordinates.curve.knots[k]) for k in (0, -1))
                inside = f"min({inside}, {along}{at} - {first!r}, {last!r} - {along}{at})"
            ends = "" if path.closed else f" or is more than {path.beyond:g} m beyond its ends"
            what = f"{contact.name!r} is more than {width:g} m beside path {path.name!r}{ends}, where its coordinates do not hold"
            yield Event(f"{contact.name}_off_{path.name}", inside, "stop", -1, what, "OFF_PATH")


def _along(a: Mapping[int, ca.SX], b: Mapping[int, ca.SX]) -> ca.SX:
    """Inner product over common rows."""
    total = ZERO
    for row, c in a.items():
        total = plus(total, mul(c, b.get(row, ZERO)))
    return total


def least_norm_step(q: ca.SX, residuals: Sequence[ca.SX]) -> ca.SX:
    """q − Jᵀ (J Jᵀ)⁻¹ f, one small solve for each group of residuals that share no coordinate.

    The step is symbolic and compiled with the equations; the stepping loop repeats it.
    """
    residual = ca.vertcat(*residuals)
    jacobian = ca.jacobian(residual, q)
    change = ca.SX(q.numel(), 1)
    for rows in coupled_groups(jacobian.sparsity()):
        part = jacobian[rows, :]
        gram = ca.densify(part @ part.T)
        count = len(rows)
        matrix = [[fold_constant(gram[i, j]) for j in range(count)] for i in range(count)]
        solved = solve_symmetric(matrix, [residual[i] for i in rows])
        change = change + part.T @ ca.vertcat(*solved)
    return q - change
