"""What every treatment of a mechanism has in common: laws for inputs, the state, names and units of its programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

import casadi as ca

from draisine.dynamics.constraints.redundancy import Spare, tell
from draisine.dynamics.constraints.rows import Rows
from draisine.dynamics.contact.rolling import WheelContact
from draisine.dynamics.kinematics.newton_euler import inverse_dynamics
from draisine.dynamics.linear_algebra import ONE, UNIT, ZERO, dot, exact, minus, mul, plus, solve_symmetric
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import Report
from draisine.errors import ModelError
from draisine.expr.expression import Expr, did_you_mean, names
from draisine.model.items import Ball, Float
from draisine.program.equations import Event, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

Outputs = dict[str, tuple[ca.SX, list[str]] | ca.SX]


class Derivation(ABC):
    """A mechanism with laws and events. The kinds differ in which velocities are states, and in where accelerations and
    multipliers come from."""

    mechanism: Mechanism
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    independent: dict[str, ca.SX]  # velocities in the state, by name

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
        """Rows of contacts and ties, in blocks."""
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
    def put_in(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions of all velocities and inputs in terms of the state, with laws put in."""

    @abstractmethod
    def reported(self, outputs: Outputs) -> Program | LinearSolveProgram:
        """A program of (t, x, u, p) for outputs that may depend on accelerations and multipliers."""

    # ---------------------------------------------------------------- forces that are not unique

    def distributed(self, held: list[ca.SX]) -> list[ca.SX]:
        """λ of all rows from λ of those that are solved for.

        Where some repeat others, A_s = C A_k, any λ_k, λ_s with λ_k + Cᵀλ_s = `held` do the same; these are the smallest.
        """
        m = self.mechanism
        found = dict(zip(m.selection.kept, held, strict=True))
        repeating = [s for s in m.selection.redundant if s.repeats]
        shares = [dict(zip(s.repeats, self._share(s), strict=True)) for s in repeating]
        if shares:
            gram = [[_along(a, b) if a is not b else plus(_along(a, a), ONE) for b in shares] for a in shares]
            extra = solve_symmetric(gram, [_along(a, found) for a in shares])
            for share, amount in zip(shares, extra, strict=True):
                found |= {row: minus(found[row], mul(c, amount)) for row, c in share.items()}
            found |= {s.row: amount for s, amount in zip(repeating, extra, strict=True)}
        return [found.get(i, ZERO) for i in range(len(m.row_names))]

    def _share(self, spare: Spare) -> list[ca.SX]:
        """A spare row as a combination c of those it repeats: (A Aᵀ) c = A a."""
        matrix = self.mechanism.matrix
        rows = [[exact(matrix[i, j]) for j in range(matrix.shape[1])] for i in (*spare.repeats, spare.row)]
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
        others = scope.used_in(value).inputs  # by itself or through an output
        if others:
            raise ModelError(
                f"the law of input {name!r} uses the input {others[0]!r}; write laws in states, outputs, parameters and t"
            )
        return value

    def _contact_outputs(self, asked: frozenset[str]) -> dict[str, ca.SX]:
        """Outputs of motion among the names of a law that the description does not name itself: places of contact, …"""
        scope, own = self.mechanism.scope, {o.name for o in self.mechanism.system.outputs}
        beyond = asked - {"t", *scope.coordinates, *scope.velocities, *scope.input_names, *scope.parameters} - own
        return {name: value for name, value in Report(self).of_motion.items() if name in beyond} if beyond else {}

    # ---------------------------------------------------------------- state, names, units

    @cached_property
    def tracks_work(self) -> bool:
        """Whether work is a state: where it is asked for, or where something but inputs does any."""
        m, scope = self.mechanism, self.mechanism.scope
        if self.work is not None:
            return self.work
        (driven,) = self.put_in([m.forces.driven])
        changing = ca.depends_on(ca.vertcat(driven, m.forces.potential), ca.vertcat(scope.v, scope.t))
        return bool(self.laws or m.laws or m.moves or changing)

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
        return Program.build(f"{m.system.name}_{name}", self.arguments, outputs, self.units, m.repeated.enough)

    @cached_property
    def units(self) -> dict[str, str]:
        system = self.mechanism.system
        known = {"t": "s", "work": "J"}
        known |= {c.name: c.unit for c in system.coordinates} | {v.name: v.unit for v in system.velocities}
        known |= {u.name: u.unit for u in system.inputs} | {p.name: p.unit for p in system.parameters}
        return known | {o.name: o.unit for o in system.outputs}

    @cached_property
    def event_list(self) -> tuple[Event, ...]:
        """The model's own, then those that were asked for."""
        watches = self.mechanism.system.events
        return (*(Event(w.name, str(w.expression), w.action, w.direction, w.description) for w in watches), *self.events)

    @property
    def quaternions(self) -> tuple[tuple[str, str, str, str], ...]:
        return tuple(s.quaternion for j in self.mechanism.system.joints for s in j.chain if isinstance(s, Ball | Float))

    def repeated(self) -> tuple[list[str], list[str]]:
        """What is to be said of rows that repeat others: warnings and notes."""
        return tell(self.mechanism.row_names, self.mechanism.selection)

    def remarks(self) -> tuple[list[str], list[str]]:
        """What every run should repeat, and what is worth knowing."""
        m = self.mechanism
        warnings, notes = self.repeated()
        wheels = [c.link for c in m.contacts if isinstance(c, WheelContact)]
        names = sorted({link.name for link in wheels if not link.is_rotor and link.parent})
        unbalanced = [
            f"wheel body {name!r} is not balanced about its hinge (or carries something): its spin angle enters the equations"
            for name in names
        ]
        idle = [f"constraint {name} holds by itself: no coordinate enters it, and it has no force" for name in m.idle]
        return warnings, [*unbalanced, *notes, *idle]

    def inverse_dynamics(self) -> Program:
        m, scope = self.mechanism, self.mechanism.scope
        accelerations = {name: ca.SX.sym(f"d{name}") for name in scope.velocities}
        rates = {name: scope.symbol(name) for name in scope.velocities}
        generalized_forces = inverse_dynamics(m.links, scope, rates, accelerations, m.gravity, UNIT[2], m.repeated)
        inputs = {
            "q": (scope.q, scope.coordinates),
            "v": (scope.v, scope.velocities),
            "vdot": (ca.vertcat(*accelerations.values()), list(accelerations)),
            "p": (scope.p, scope.parameters),
        }
        outputs = {"generalized_forces": (ca.vertcat(*[generalized_forces[n] for n in scope.velocities]), scope.velocities)}
        return Program.build(f"{m.system.name}_inverse_dynamics", inputs, outputs, shared=m.repeated.enough)


def _along(a: Mapping[int, ca.SX], b: Mapping[int, ca.SX]) -> ca.SX:
    """Product over the rows that both have."""
    total = ZERO
    for row, c in a.items():
        total = plus(total, mul(c, b.get(row, ZERO)))
    return total
