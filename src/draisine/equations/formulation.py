"""One choice of independent velocities made into programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.equations.choice import SWITCH, Judged
from draisine.equations.contacts import WheelContact
from draisine.equations.dynamics import ReducedDynamics, reduced_dynamics
from draisine.equations.linear import solve_symmetric
from draisine.equations.mechanism import Mechanism
from draisine.equations.newton_euler import inverse_dynamics
from draisine.equations.reduction import Elimination, Reduction
from draisine.equations.report import Report
from draisine.equations.vectors import UNIT, ZERO, exact, mul, plus
from draisine.model.validate import ModelError
from draisine.program.equations import Equations, Event, Quantity
from draisine.program.expression import Expr, closest
from draisine.program.program import Program


@dataclass
class Formulation:
    """One choice of independent velocities, with its laws and events, made into programs."""

    mechanism: Mechanism
    plan: Elimination
    laws: dict[str, Expr]
    events: tuple[Event, ...]
    work: bool | None

    def __post_init__(self) -> None:
        m, scope = self.mechanism, self.mechanism.scope
        unknown = [name for name in self.laws if name not in scope.input_names]
        if unknown:
            raise ModelError(f"model {m.system.name!r} has no input {unknown[0]!r}{closest(unknown[0], scope.input_names)}")
        self.reduction = Reduction(m.rows, self.plan)
        self.independent = {name: scope.symbol(name) for name in self.plan.independent}
        velocities = self.reduction.velocities(self.independent)
        bound = [name for name in scope.velocities if name not in self.independent]
        self._replaced = ca.vertcat(*[scope.symbol(n) for n in bound], *[scope.symbol(n) for n in self.laws])
        laws = [self._law(name) for name in self.laws]
        plain = ca.vertcat(*[scope.symbol(n) for n in bound])
        replacements = [velocities[n] for n in bound]
        laws = ca.substitute(laws, [plain], [ca.vertcat(*replacements)]) if laws and bound else laws
        self._replacements = ca.vertcat(*replacements, *laws)
        (efforts, driven) = self.put_in([m.forces.total, m.forces.driven])
        self.dynamics: ReducedDynamics = reduced_dynamics(
            m.links,
            m.masses,
            m.contacts,
            m.rows,
            self.reduction,
            self.independent,
            m.gravity,
            m.up,
            {name: exact(ca.SX(efforts[i])) for i, name in enumerate(scope.velocities)},
        )
        # a spring whose rest length is moved in time does work too
        self.power = ca.dot(driven, self.all_velocities) + ca.jacobian(m.forces.potential, scope.t)
        changing = ca.depends_on(ca.vertcat(driven, m.forces.potential), ca.vertcat(scope.v, scope.t))
        self.tracks_work = bool(self.laws or changing) if self.work is None else self.work

    def _law(self, name: str) -> ca.SX:
        scope = self.mechanism.scope
        law = self.laws[name]
        value = scope.value(law)
        others = [n for n in scope.input_names if ca.depends_on(value, scope.symbol(n))]  # by itself or through an output
        if others:
            raise ModelError(
                f"the law of input {name!r} uses the input {others[0]!r}; write laws in states, outputs, parameters and t"
            )
        return value

    def put_in(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """Expressions of all velocities and inputs, with dependent velocities and laws put in."""
        if self._replaced.numel() == 0:
            return expressions
        return list(ca.substitute(expressions, [self._replaced], [self._replacements]))

    @property
    def extra_states(self) -> tuple[Quantity, ...]:
        return (Quantity("work", "J", "work done by inputs and dampers"),) if self.tracks_work else ()

    @cached_property
    def x(self) -> ca.SX:
        return ca.vertcat(self.mechanism.scope.q, *self.independent.values(), *[ca.SX.sym(s.name) for s in self.extra_states])

    @cached_property
    def x_labels(self) -> list[str]:
        return [*self.mechanism.scope.coordinates, *self.independent, *[s.name for s in self.extra_states]]

    def program(self, name: str, outputs: dict[str, tuple[ca.SX, list[str]] | ca.SX]) -> Program:
        """A program of (t, x, u, p)."""
        scope = self.mechanism.scope
        inputs = {
            "t": (scope.t, ["t"]),
            "x": (self.x, self.x_labels),
            "u": (scope.u, scope.input_names),
            "p": (scope.p, scope.parameters),
        }
        return Program.build(f"{self.mechanism.system.name}_{name}", inputs, outputs, self.units)

    @cached_property
    def units(self) -> dict[str, str]:
        system = self.mechanism.system
        known = {"t": "s", "work": "J"}
        known |= {c.name: c.unit for c in system.coordinates} | {v.name: v.unit for v in system.velocities}
        known |= {u.name: u.unit for u in system.inputs} | {p.name: p.unit for p in system.parameters}
        return known | {o.name: o.unit for o in system.outputs}

    def equations(self, choices: list[Judged], notes: list[str], again: Callable[[tuple[str, ...]], Equations]) -> Equations:
        """The programs with all names; `again` derives the same system with other independent velocities."""
        m = self.mechanism
        system = m.system
        q_rate = self.put_in([m.measures.q_rate])[0]
        slope = ca.vertcat(q_rate, *[self.dynamics.accelerations[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self.power)
        watches = tuple(Event(w.name, str(w.expression), w.action, w.direction, w.about) for w in system.watches)
        event_list = (*watches, *self.events)
        told = Report(self)
        return Equations(
            name=system.name,
            coordinates=tuple(Quantity(c.name, c.unit, "", c.default) for c in system.coordinates),
            velocities=tuple(Quantity(v.name, v.unit) for v in system.velocities),
            independent=tuple(self.independent),
            inputs=tuple(Quantity(u.name, u.unit, u.about) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.about, p.default) for p in system.parameters),
            multipliers=tuple(Quantity(f"{name}_multiplier", "N") for name in m.row_names),
            outputs=told.outputs,
            force_outputs=told.force_names,
            constraints=told.constraints,
            dynamics=self.program("dynamics", {"xdot": (slope, [f"d{n}/dt" for n in self.x_labels])}),
            report=told.program(),
            motion=told.motion(),
            project=self._project(),
            monitor=self._monitor(),
            events=told.event_program(event_list),
            event_list=event_list,
            extra_states=self.extra_states,
            condition_limit=SWITCH,
            alternates=tuple(j.independent for j in choices),
            with_independent=again,
            inverse_dynamics=self._inverse_dynamics(),
            causes=self._causes(),
            notes=(*notes, *self._remarks()),
            warnings=tuple(notes),
        )

    @cached_property
    def all_velocities(self) -> ca.SX:
        return ca.vertcat(*[self.dynamics.velocities[n] for n in self.mechanism.scope.velocities])

    def _remarks(self) -> list[str]:
        wheels = {
            c.link.name for c in self.mechanism.contacts if isinstance(c, WheelContact) and not c.link.is_rotor and c.link.parent
        }
        return [
            f"wheel body {name!r} is not balanced about its hinge (or carries something): its spin angle enters the equations"
            for name in sorted(wheels)
        ]

    def _project(self) -> Program | None:
        """One Newton step of least change onto the position constraints."""
        constraints = [r for _, r in self.mechanism.position_constraints]
        if not constraints:
            return None
        q = self.mechanism.scope.q
        residual = ca.vertcat(*constraints)
        jacobian = ca.densify(ca.jacobian(residual, q))
        gram = jacobian @ jacobian.T
        count = len(constraints)
        solved = solve_symmetric([[gram[i, j] for j in range(count)] for i in range(count)], [residual[i] for i in range(count)])
        moved = q - jacobian.T @ ca.vertcat(*solved)
        rest = self.x[q.numel() :]
        error = ca.norm_inf(residual)
        return self.program("project", {"x_new": (ca.vertcat(moved, rest), self.x_labels), "error": (error, ["error"])})

    @cached_property
    def _singularities(self) -> dict[str, ca.SX]:
        """Squares of what grows without bound near a singular position, by a sentence that says what is singular there."""
        total = ZERO
        for row in self.reduction.kernel.values():
            for entry in row.values():
                total = plus(total, mul(entry, entry))
        found = {f"the independent velocities ({', '.join(self.independent)}) lose their meaning": total}
        for contact in self.mechanism.contacts:
            # the lowest point of a flat wheel is everywhere, the direction across an upright blade anywhere
            if isinstance(contact, WheelContact):
                found[f"wheel {contact.name!r} lies flat and has no contact point"] = 1 / (contact.tilt * contact.tilt)
            else:
                found[f"knife edge {contact.name!r} stands on end and has no direction"] = 1 / (contact.reach * contact.reach)
        return found

    def _monitor(self) -> Program | None:
        """Root of the sum of squares: for the velocities √Σ H², above the largest amplification, and cheap."""
        if not self.plan.blocks:
            return None
        total = ZERO
        for square in self._singularities.values():
            total = plus(total, square)
        return self.program("monitor", {"condition": (ca.sqrt(total), ["condition"])})

    def _causes(self) -> Program | None:
        if not self.plan.blocks:
            return None
        return self.program("causes", {"value": (ca.vertcat(*self._singularities.values()), list(self._singularities))})

    def _inverse_dynamics(self) -> Program:
        m, scope = self.mechanism, self.mechanism.scope
        accelerations = {name: ca.SX.sym(f"d{name}") for name in scope.velocities}
        rates = {name: scope.symbol(name) for name in scope.velocities}
        efforts = inverse_dynamics(m.links, scope, rates, accelerations, m.gravity, UNIT[2])
        inputs = {
            "q": (scope.q, scope.coordinates),
            "v": (scope.v, scope.velocities),
            "vdot": (ca.vertcat(*accelerations.values()), list(accelerations)),
            "p": (scope.p, scope.parameters),
        }
        outputs = {"efforts": (ca.vertcat(*[efforts[n] for n in scope.velocities]), scope.velocities)}
        return Program.build(f"{m.system.name}_inverse_dynamics", inputs, outputs)
