"""From a description to `Equations`: the whole way in one place.

1. lower the tree to symbols (`tree`, `lowering`), 2. rows of the contacts (`contacts`), 3. choose independent velocities
(`choice`, `sampling`), 4. reduce (`reduction`, `dynamics`), 5. name what people ask for (`report`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.equations import report
from draisine.equations.choice import POOR, SWITCH, Judged, amplification, complements, dependent_rows, judge, plan_blocks
from draisine.equations.contacts import EdgeContact, Rows, WheelContact, edge_contact, height_of, rows_of, wheel_contact
from draisine.equations.dynamics import ReducedDynamics, reduced_dynamics
from draisine.equations.forces import AppliedForces, applied_forces
from draisine.equations.inertia import Mass, masses_of
from draisine.equations.kinematics import directions
from draisine.equations.lowering import Scope
from draisine.equations.measures import Measures
from draisine.equations.newton_euler import inverse_dynamics
from draisine.equations.reduction import Elimination, Reduction
from draisine.equations.sampling import onto_constraints, sample_coordinates
from draisine.equations.tree import Link, grow
from draisine.equations.vectors import UNIT, ZERO, Vec, exact, is_zero, mul, plus
from draisine.model.items import Ball, Float, System
from draisine.model.model import Model
from draisine.model.validate import ModelError
from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity
from draisine.program.expression import Expr, closest
from draisine.program.program import Program

SAMPLES = 64  # configurations at which choices of independent velocities are judged


def derive(
    model: Model | System, laws: Mapping[str, Expr] | None = None, events: tuple[Event, ...] = (), work: bool | None = None
) -> Equations:
    """Equations of motion of a described mechanism.

    `laws` gives inputs as expressions (compiled in); `events` adds to the model's own; `work` adds the work of inputs and
    dampers as a state, so that the energy balance can be checked (by default where laws are given or the model has dampers).
    """
    system = model.freeze() if isinstance(model, Model) else model
    return _derive(system, tuple(sorted((laws or {}).items())), tuple(events), work, ())


@lru_cache(maxsize=32)
def _derive(
    system: System, laws: tuple[tuple[str, Expr], ...], events: tuple[Event, ...], work: bool | None, independent: tuple[str, ...]
) -> Equations:
    started = time.perf_counter()
    mechanism = _mechanism(system)
    plan, choices, notes = mechanism.choose(independent or system.independent)
    formulation = Formulation(mechanism, plan, dict(laws), events, work)
    equations = formulation.equations(choices, notes)
    equations.seconds["derive"] = time.perf_counter() - started
    return equations


@lru_cache(maxsize=32)
def _mechanism(system: System) -> Mechanism:
    return Mechanism(system)


class Mechanism:
    """A description in symbols: what does not depend on the choice of independent velocities."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.scope = scope = Scope(system)
        self.links: list[Link] = grow(system, scope)
        self.measures = Measures(scope, self.links)
        slope, bank = scope.value(system.ground.slope), scope.value(system.ground.bank)
        # The plane z = x tan(slope) + y tan(bank), by its unit normal.
        tilt = (-ca.sin(slope) * ca.cos(bank), -ca.cos(slope) * ca.sin(bank), ca.cos(slope) * ca.cos(bank))
        flat = all(t.is_zero() for t in tilt[:2])
        size = ca.SX(1) if flat else ca.sqrt(tilt[0] ** 2 + tilt[1] ** 2 + tilt[2] ** 2)
        self.world_normal: Vec = UNIT[2] if flat else tuple(t / size for t in tilt)  # type: ignore[assignment]
        self.up = directions(self.links, UNIT[2])
        normal = self.up if flat else directions(self.links, self.world_normal)
        by_name = {link.name: link for link in self.links}
        self.contacts: list[WheelContact | EdgeContact] = [
            *(wheel_contact(w, by_name[w.body], normal[w.body], scope) for w in system.wheels),
            *(edge_contact(e, by_name[e.body], normal[e.body], scope) for e in system.edges),
        ]
        # Blocks are eliminated in the order of the tree: contacts nearest the reference body first.
        self.contacts.sort(key=lambda c: len(c.link.path()))
        self.rows: list[Rows] = [rows_of(c) for c in self.contacts]
        self.row_names = [name for rows in self.rows for name in rows.names]
        self.masses: list[Mass] = masses_of(self.links, scope)
        self.gravity = scope.value(system.gravity)
        self.default_parameters = np.array([p.default for p in system.parameters])

    @cached_property
    def matrix(self) -> ca.SX:
        """A(q), rows × velocities."""
        matrix = ca.SX(len(self.row_names), len(self.scope.velocities))
        start = 0
        for rows in self.rows:
            for name, column in rows.columns.items():
                for i, entry in enumerate(column):
                    if not is_zero(entry):
                        matrix[start + i, self.scope.velocities.index(name)] = entry
            start += rows.count
        return matrix

    @cached_property
    def position_constraints(self) -> list[tuple[Constraint, ca.SX]]:
        """Heights of contacts above the ground, and norms of quaternions."""
        found = []
        for contact in self.contacts:
            height = height_of(contact, self.measures.poses, self.world_normal)
            if height is not None:
                found.append((Constraint(f"{contact.name}_height", Kind.HOLONOMIC, "position", "m"), height))
        for joint in self.system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Ball):
                    q = ca.vertcat(*[self.scope.symbol(n) for n in step.quaternion])
                    found.append((Constraint(f"{joint.child}_quaternion", Kind.NORM, "position"), (ca.sumsqr(q) - 1) / 2))
        return found

    @cached_property
    def forces(self) -> AppliedForces:
        return applied_forces(self.scope, self.measures)

    @cached_property
    def samples(self) -> NDArray[np.float64]:
        """Constraint matrices at configurations spread over where people go."""
        scope = self.scope
        residual = ca.vertcat(*[r for _, r in self.position_constraints])
        points = sample_coordinates(self.system, SAMPLES)
        points = onto_constraints(points, residual, scope.q, scope.p, self.default_parameters)
        if len(points) == 0:
            raise ModelError(
                f"model {self.system.name!r}: no configuration was found in which all its wheels touch the ground; "
                "check radii, hub positions and the spans of the joints"
            )
        evaluate = ca.Function("rows", [scope.q, scope.p], [ca.densify(self.matrix)]).map(len(points))
        values = evaluate(points.T, np.repeat(self.default_parameters[:, None], len(points), axis=1)).full()
        matrices = values.reshape(len(self.row_names), len(points), len(scope.velocities)).transpose(1, 0, 2)
        whole = np.isfinite(matrices).all(axis=(1, 2))
        if not whole.any():
            raise ModelError(
                f"model {self.system.name!r}: its wheels lie flat, or its knife edges stand on end, in every configuration; "
                "check their axes and directions"
            )
        return matrices[whole]

    @cached_property
    def choices(self) -> list[Judged]:
        velocities = self.scope.velocities
        if len(self.row_names) == 0:
            return [Judged(tuple(velocities), np.ones(1), 0)]
        units = np.array(
            [[bool(self.matrix[i, j].is_one()) for j in range(len(velocities))] for i in range(len(self.row_names))], dtype=bool
        )
        if len(self.row_names) > len(velocities):
            raise ModelError(
                f"model {self.system.name!r} has {len(self.row_names)} velocity constraints ({', '.join(self.row_names)}) but only "
                f"{len(velocities)} velocities; take a contact away"
            )
        judged = judge(self.samples, velocities, units)
        if not judged:
            self._explain_dependence()
        return judged

    def _explain_dependence(self) -> None:
        rank = int(np.linalg.matrix_rank(self.samples, tol=1e-9).max())
        taking_part = ", ".join(self.row_names[i] for i in dependent_rows(self.samples))
        raise ModelError(
            f"model {self.system.name!r}: only {rank} of its {len(self.row_names)} velocity constraints count; {taking_part} are "
            "dependent; take away the contact that repeats another or holds by itself, or give its body a freedom of its own"
        )

    def choose(self, wanted: tuple[str, ...]) -> tuple[Elimination, list[Judged], list[str]]:
        """The plan for the wanted independent velocities, or for the best; notes say what the user should know."""
        notes = []
        velocities = self.scope.velocities
        if wanted:
            self._check_wanted(wanted)
            ordered = tuple(v for v in velocities if v in wanted)
            amplified = amplification(self.samples, velocities, ordered) if self.row_names else np.ones(1)
            worst = float(amplified.max())
            if not np.isfinite(amplified).any():
                raise ModelError(
                    f"model {self.system.name!r}: ({', '.join(ordered)}) cannot be the independent velocities, since the constraints "
                    f"leave the others undetermined in every configuration; ({', '.join(self.choices[0].independent)}) would do"
                )
            others = [j for j in (self.choices if worst > POOR else []) if set(j.independent) != set(wanted)]
            if others and others[0].worst < worst:
                amount = f"{worst:.3g}" if np.isfinite(worst) else "infinitely many"
                notes.append(
                    f"the chosen independent velocities ({', '.join(ordered)}) amplify others up to {amount} times in some "
                    f"configurations; ({', '.join(others[0].independent)}) stays below {others[0].worst:.3g}"
                )
            independent = ordered
        else:
            independent = self.choices[0].independent
        groups, start = [], 0
        for rows in self.rows:
            groups.append(list(range(start, start + rows.count)))
            start += rows.count
        if not groups:
            return Elimination((), tuple(velocities)), [], notes
        plan = plan_blocks(self.samples, velocities, groups, independent, self._cost)
        return plan, self._alternates(independent), notes

    def _alternates(self, independent: tuple[str, ...]) -> list[Judged]:
        chosen = amplification(self.samples, self.scope.velocities, independent)
        return complements(chosen, [j for j in self.choices if set(j.independent) != set(independent)], count=3)

    def _cost(self, rows: Sequence[int], dependent: Sequence[str]) -> float:
        """Filled entries of the block, less those that are plain units."""
        columns = [self.scope.velocities.index(d) for d in dependent]
        entries = [self.matrix[r, c] for r in rows for c in columns]
        return float(sum(2 - (2 if e.is_zero() else 0) - (1 if e.is_one() else 0) for e in entries))

    def _check_wanted(self, wanted: tuple[str, ...]) -> None:
        velocities = self.scope.velocities
        for name in wanted:
            if name not in velocities:
                raise ModelError(f"model {self.system.name!r} has no velocity {name!r}{closest(name, velocities)}")
        count = len(velocities) - len(self.row_names)
        if len(set(wanted)) != count:
            raise ModelError(
                f"model {self.system.name!r} has {len(velocities)} velocities and {len(self.row_names)} velocity constraints: "
                f"choose {count} independent velocities, got {len(set(wanted))} ({', '.join(wanted)})"
            )


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

    def equations(self, choices: list[Judged], notes: list[str]) -> Equations:
        m = self.mechanism
        system = m.system
        q_rate = self.put_in([m.measures.q_rate])[0]
        slope = ca.vertcat(q_rate, *[self.dynamics.accelerations[n] for n in self.independent])
        if self.tracks_work:
            slope = ca.vertcat(slope, self.power)
        watches = tuple(Event(w.name, str(w.expression), w.action, w.direction, w.about) for w in system.watches)
        event_list = (*watches, *self.events)
        told = report.Report(self)
        arguments = (system, tuple(sorted(self.laws.items())), self.events, self.work)
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
            with_independent=lambda names: _derive(*arguments, tuple(names)),
            inverse_dynamics=self._inverse_dynamics(),
            notes=(*notes, *self._remarks()),
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
        from draisine.equations.linear import solve_symmetric

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

    def _monitor(self) -> Program | None:
        """√Σ H²: above the largest amplification, and cheap."""
        if not self.plan.blocks:
            return None
        total = ZERO
        for row in self.reduction.kernel.values():
            for entry in row.values():
                total = plus(total, mul(entry, entry))
        return self.program("monitor", {"condition": (ca.sqrt(total), ["condition"])})

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
