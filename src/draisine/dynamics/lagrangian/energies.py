"""Lagrangian derivation from the same graph: energies and Euler–Lagrange equations with reactions (Sanjuan Szklarz &
Jarzębowska).

Forward kinematics by products of [T, B] in Euler angles, velocities by differentiating positions and rotations, kinetic and
potential energy, M(q), C(q, q̇) by Christoffel symbols, g(q), and the wheel constraint (2). It shares no code with
the Newton–Euler derivation: neither kinematics, contact rows and forces nor the solution. Hence their agreement is evidence.

Free bodies and ball joints have heading, lean and pitch (about z, then x, then y) here; a lean of ±90° is singular.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.lagrangian.contacts import Named, contact_constraints
from draisine.dynamics.lowering import dependent_parameters
from draisine.dynamics.stabilization import Baumgarte
from draisine.errors import ModelError
from draisine.expr.expression import Expr, evaluate, names
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.model.contact.laws import Rolling
from draisine.model.contact_items import KnifeEdge, PointContact, Wheel
from draisine.model.items import GROUND, Ball, Float, Glide, Joint, Rotate, Translate
from draisine.model.model import Model
from draisine.model.system import System
from draisine.model.vocabulary import events_with_forces
from draisine.program.equations import Equations, Event, Quantity
from draisine.program.program import Program

ANGLES = ("heading", "lean", "pitch")


def derive_by_energies(model: Model | System, stabilization: Baumgarte | None = None) -> Equations:
    """`Equations` of a described mechanism from energies; all coordinates and velocities are states.

    Events that depend on forces are left out, with a warning.
    """
    energies = Energies(model.freeze() if isinstance(model, Model) else model)
    found = augmented(energies.second_order(), stabilization)
    left_out = events_with_forces(energies.system)
    warnings = [f"event {name!r} depends on forces and is left out of the equations by energies" for name in left_out]
    return replace(found, warnings=(*found.warnings, *warnings)) if left_out else found


def unsupported_by_energies(system: System) -> str:
    """The first feature of a description that only the Newton–Euler derivation supports, or "": slip laws, contacts of surfaces,
    and forces that depend on multipliers."""
    if system.unilateral:
        contacts = ", ".join(contact.name for contact in system.unilateral)
        return f"the contacts {contacts} open and slip, which the derivation from energies does not support; fix their modes"
    slips = next((wheel.name for wheel in system.wheels if not isinstance(wheel.contact, Rolling)), None)
    if slips is not None:
        return f"wheel {slips!r} has a slip law, which the derivation from energies does not support"
    if system.surface_contacts or system.surface_parameters:
        return "surface parameters belong to no body, and the derivation from energies supports bodies only"
    loads = {f"{name}_multiplier" for constraint in system.constraints for name, _ in constraint.residuals}
    given = [(f"generalized force {e.name!r}", e.amount) for e in system.generalized_forces]
    given += [(f"wrench {w.name!r}", part) for w in system.wrenches for part in (*w.force, *w.torque)]
    for where, expression in given:
        named = names(expression) & loads
        if named:
            return f"{where} depends on {min(named)}, and the derivation from energies does not support that"
    return ""


def _turn(axis: str, angle: ca.SX) -> ca.SX:
    """Ω_x, Ω_y, Ω_z, all by the right-hand rule (Ω_y of the paper has the opposite sign)."""
    c, s = ca.cos(angle), ca.sin(angle)
    rows: dict[str, list[list[Any]]] = {
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }
    return ca.vertcat(*[ca.horzcat(*row) for row in rows[axis]])


@dataclass(frozen=True)
class Node:
    """A body's frame in the world (eqs 8 and 9)."""

    position: ca.SX
    rotation: ca.SX


class Energies:
    """Symbolic energies and constraints of a description, and the programs of source B."""

    def __init__(self, system: System) -> None:
        unsupported = unsupported_by_energies(system)
        if unsupported:
            raise ModelError(unsupported)
        self.system = system
        self.t = ca.SX.sym("t")
        self.names = [name for joint in system.joints for name in _coordinate_names(joint)]
        self.names += [place.name for place in system.massless]  # contact points of wheels on curved ground
        self.q = ca.vertcat(*[ca.SX.sym(n) for n in self.names]) if self.names else ca.SX(0, 1)
        self.v = ca.vertcat(*[ca.SX.sym(f"{n}_rate") for n in self.names]) if self.names else ca.SX(0, 1)
        self.u = ca.vertcat(*[ca.SX.sym(i.name) for i in system.inputs]) if system.inputs else ca.SX(0, 1)
        self.p = ca.vertcat(*[ca.SX.sym(p.name) for p in system.parameters]) if system.parameters else ca.SX(0, 1)
        self.a = ca.SX.sym("accelerations", self.v.numel())  # for outputs that depend on them
        self._known: dict[str, ca.SX] = {"t": self.t}
        self._known |= {n: self.q[i] for i, n in enumerate(self.names)}
        rates = {c.name: c.rate for c in system.coordinates if c.rate}
        self._known |= {rates[n]: self.v[i] for i, n in enumerate(self.names) if n in rates}
        self._known |= {item.name: self.u[i] for i, item in enumerate(system.inputs)}
        self._known |= {item.name: self.p[i] for i, item in enumerate(system.parameters)}
        self._outputs = {o.name: o.expression for o in system.outputs} | system.definitions
        self._functions: dict[str, Any] = {**SX_FUNCTIONS, **{table.name: table for table in system.functions}}
        self._special: Mapping[str, Any] = {}  # measures are not available to displacements of joints
        self.nodes = self._forward()
        self._special = self._measures()

    # ---------------------------------------------------------------- geometry

    def _forward(self) -> dict[str, Node]:
        """B = B₁B₂…, c = T₁ + B₁(T₂ + …) along the arrows of the graph."""
        nodes = {GROUND: Node(ca.SX.zeros(3), ca.SX.eye(3))}
        waiting = list(self.system.joints)
        while waiting:
            joint = next(j for j in waiting if j.parent in nodes)
            waiting.remove(joint)
            node = nodes[joint.parent]
            for step in joint.chain:
                node = self._moved(node, step, joint)
            nodes[joint.child] = node
        return nodes

    def _moved(self, node: Node, step: object, joint: Joint) -> Node:
        if isinstance(step, Rotate):
            return Node(node.position, node.rotation @ _turn(step.axis, self.value(step.angle)))
        if isinstance(step, Translate):
            return Node(node.position + node.rotation @ ca.vertcat(*[self.value(c) for c in step.by]), node.rotation)
        if isinstance(step, Glide):
            x, y, heading = (self._known[n] for n in (*step.position, step.heading))
            return Node(node.position + node.rotation @ ca.vertcat(x, y, 0), node.rotation @ _turn("z", heading))
        place = ca.SX.zeros(3)
        if isinstance(step, Float):
            place = ca.vertcat(*[self._known[n] for n in step.position])
        turned = node.rotation
        for axis, name in zip("zxy", angle_names(joint), strict=True):
            turned = turned @ _turn(axis, self._known[name])
        return Node(node.position + node.rotation @ place, turned)

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative of a quantity of position and time (and of velocities, taken as constant)."""
        column = ca.vec(quantity)
        return ca.reshape(ca.jtimes(column, self.q, self.v) + ca.jacobian(column, self.t), *quantity.shape)

    def total_rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative of a quantity of position, time and velocities."""
        if ca.depends_on(quantity, self.a):
            raise ModelError(
                f"model {self.system.name!r}: the rate of an acceleration is not available; differentiate at most twice"
            )
        return self.rate(quantity) + ca.reshape(ca.jtimes(ca.vec(quantity), self.v, self.a), *quantity.shape)

    def body_rate(self, body: str) -> ca.SX:
        """ω in the body's axes from Bᵀ Ḃ (eq. 11)."""
        rotation = self.nodes[body].rotation
        spin = rotation.T @ self.rate(rotation)
        return ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])

    def point(self, name: str) -> tuple[str, ca.SX]:
        """Body and world position of a named point or body."""
        for point in self.system.points:
            if point.name == name:
                node = self.nodes[point.body]
                return point.body, node.position + node.rotation @ ca.vertcat(*[self.value(c) for c in point.at])
        if name not in self.nodes:
            raise ModelError(f"model {self.system.name!r} has no body or point {name!r}")
        return name, self.nodes[name].position

    def axes(self, name: str) -> ca.SX:
        """World axes of a body, or of a named frame."""
        body, _ = self.point(name)
        turned = self.nodes[body].rotation
        for point in self.system.points:
            if point.name == name:
                for turn in point.orientation:
                    turned = turned @ _turn(turn.axis, self.value(turn.angle))
        return turned

    # ---------------------------------------------------------------- expressions

    def value(self, expression: Expr, given: Mapping[str, ca.SX] | None = None) -> ca.SX:
        """The expression in symbols; `given` are values that override names."""
        own = given or {}

        def look_up(name: str) -> ca.SX:
            return own[name] if name in own else self.look_up(name)

        return ca.SX(evaluate(expression, look_up, self._functions, self._special))

    def look_up(self, name: str) -> ca.SX:
        if name in self._outputs:
            return self.value(self._outputs[name])
        if name not in self._known:
            raise ModelError(
                f"model {self.system.name!r}: {name!r} does not exist in Euler-angle coordinates; write the expression with "
                "measures such as rate_x(body) instead of the velocities of a free body"
            )
        return self._known[name]

    def _measures(self) -> dict[str, Callable[[tuple[Expr, ...]], ca.SX]]:
        def of(measure: Callable[[str], ca.SX]) -> Callable[[tuple[Expr, ...]], ca.SX]:
            return lambda arguments: measure(str(arguments[0]))

        def component(vector: Callable[[str], ca.SX], index: int, name: str) -> ca.SX:
            return vector(name)[index]

        fall = ca.vertcat(*[self.value(c) for c in self.system.gravity])
        vectors: dict[str, Callable[[str], ca.SX]] = {
            "position": lambda name: self.point(name)[1],
            "velocity": lambda name: self.rate(self.point(name)[1]),
            "body_velocity": lambda name: self.axes(name).T @ self.rate(self.point(name)[1]),
            "rate": self._frame_rate,
            "acceleration": lambda name: self.total_rate(self.rate(self.point(name)[1])),
            "body_acceleration": lambda name: self.axes(name).T @ self.total_rate(self.rate(self.point(name)[1])),
            "specific_force": lambda name: self.axes(name).T @ (self.total_rate(self.rate(self.point(name)[1])) - fall),
        }
        found: dict[str, Callable[[tuple[Expr, ...]], ca.SX]] = {}
        for quantity, vector in vectors.items():
            for i, axis in enumerate("xyz"):
                found[f"{quantity}_{axis}"] = of(partial(component, vector, i))
        found["heading"] = of(lambda n: ca.atan2(-self.axes(n)[0, 1], self.axes(n)[1, 1]))
        found["lean"] = of(lambda n: ca.asin(self.axes(n)[2, 1]))
        found["pitch"] = of(lambda n: ca.atan2(-self.axes(n)[2, 0], self.axes(n)[2, 2]))
        found["distance"] = lambda names: ca.norm_2(self.point(str(names[1]))[1] - self.point(str(names[0]))[1])
        for i, first in enumerate("xyz"):
            found[f"offset_{first}"] = partial(self._offset, i)
            for j, second in enumerate("xyz"):
                found[f"cosine_{first}{second}"] = partial(self._cosine, i, j)
        found["rate"] = lambda quantity: self.total_rate(self.value(quantity[0]))
        return found

    def _offset(self, axis: int, names: tuple[Expr, ...]) -> ca.SX:
        a, b = map(str, names)
        return ca.dot(self.axes(a)[:, axis], self.point(b)[1] - self.point(a)[1])

    def _cosine(self, first: int, second: int, names: tuple[Expr, ...]) -> ca.SX:
        a, b = map(str, names)
        return ca.dot(self.axes(a)[:, first], self.axes(b)[:, second])

    def _frame_rate(self, name: str) -> ca.SX:
        body, _ = self.point(name)
        return self.axes(name).T @ self.nodes[body].rotation @ self.body_rate(body)

    # ---------------------------------------------------------------- energies

    @cached_property
    def kinetic(self) -> ca.SX:
        """Σ ½ m v·v + ½ ω·Iω (eq. 16)."""
        total = ca.SX(0)
        for body in self.system.bodies:
            inertia = body.inertia
            xx, yy, zz, xy, yz, zx = (
                self.value(e) for e in (inertia.xx, inertia.yy, inertia.zz, inertia.xy, inertia.yz, inertia.zx)
            )
            tensor = ca.vertcat(ca.horzcat(xx, xy, zx), ca.horzcat(xy, yy, yz), ca.horzcat(zx, yz, zz))
            velocity, omega = self.rate(self._center(body.name)), self.body_rate(body.name)
            total += (self.value(body.mass) * ca.dot(velocity, velocity) + ca.dot(omega, tensor @ omega)) / 2
        return total

    def _center(self, body: str) -> ca.SX:
        found = next(b for b in self.system.bodies if b.name == body)
        node = self.nodes[body]
        return node.position + node.rotation @ ca.vertcat(*[self.value(c) for c in found.center_of_mass])

    @cached_property
    def potential(self) -> ca.SX:
        size = self.system.downward_gravity
        upward = [-self.value(c) for c in self.system.gravity]
        total = ca.SX(0)
        for body in self.system.bodies:
            mass, center = self.value(body.mass), self._center(body.name)
            total += mass * ca.dot(ca.vertcat(*upward), center) if size is None else mass * self.value(size) * center[2]
        for field in self.system.potentials:
            total += self.value(field.energy)
        return total

    @cached_property
    def mass(self) -> ca.SX:
        """M(q) = ∂²T/∂q̇²."""
        return ca.hessian(self.kinetic, self.v)[0]

    @cached_property
    def coriolis(self) -> ca.SX:
        """C(q, q̇) by Christoffel symbols c_ijk = ½(∂M_kj/∂q_i + ∂M_ki/∂q_j − ∂M_ij/∂q_k), so that Ṁ − 2C is skew."""
        n, entries = self.q.numel(), ca.vec(ca.densify(self.mass))
        by_coordinate = [ca.reshape(ca.jacobian(entries, self.q[i]), n, n) for i in range(n)]
        rate = ca.reshape(ca.jacobian(entries, self.q) @ self.v, n, n)  # Ṁ, the sum of the first terms
        turned = ca.horzcat(*[matrix @ self.v for matrix in by_coordinate])  # that of the second; of the third its transpose
        return (rate + turned - turned.T) / 2

    @cached_property
    def gravity(self) -> ca.SX:
        """g(q) = ∂V/∂q."""
        return ca.gradient(self.potential, self.q)

    @cached_property
    def driven(self) -> ca.SX:
        """Generalized forces of joint forces and wrenches, by virtual displacements."""
        total = ca.SX.zeros(self.q.numel())
        for applied in self.system.generalized_forces:
            total += ca.densify(ca.jacobian(self.value(applied.measure), self.q)).T * self.value(applied.amount)
        for wrench in self.system.wrenches:
            body, place = self.point(wrench.point)
            force, torque = (ca.vertcat(*[self.value(c) for c in part]) for part in (wrench.force, wrench.torque))
            if wrench.axes == "body":
                force, torque = self.axes(wrench.point) @ force, self.axes(wrench.point) @ torque
            total += ca.jacobian(place, self.q).T @ force
            total += ca.jacobian(self.nodes[body].rotation @ self.body_rate(body), self.v).T @ torque
        return total

    # ---------------------------------------------------------------- constraints

    @cached_property
    def constraints(self) -> tuple[list[Named], list[Named]]:
        """Holonomic constraints (heights, position residuals) and nonholonomic ones (rolling, knife edges, velocity residuals);
        those of wheels from the wheel constraint 0 = v_o + Ḃ c (eqs 2 and 27)."""
        heights: list[Named] = []
        rolling: list[Named] = []
        contacts: list[Wheel | KnifeEdge | PointContact] = [*self.system.wheels, *self.system.edges, *self.system.point_contacts]
        for contact in contacts:
            group, slips = contact_constraints(self, contact)
            heights += group
            rolling += slips
        for constraint in self.system.constraints:
            group = heights if constraint.level == "position" else rolling
            group += [(name, self.value(residual)) for name, residual in constraint.residuals]
        group = [(name, height) for name, height in heights if self._is_changed_by(height, self.q)]
        return group, [(name, slip) for name, slip in rolling if self._is_changed_by(slip, self.v)]

    def _is_changed_by(self, residual: ca.SX, by: ca.SX) -> bool:
        """Whether any coordinate (or velocity) changes a residual. Decided numerically, since cos² + sin² does not cancel in
        symbols."""
        slope = ca.Function("slope", [self.t, self.q, self.p], [ca.densify(ca.jacobian(residual, by))])
        values = np.array([p.default for p in self.system.parameters])
        points = np.random.default_rng(3).uniform(-1.0, 1.0, (4, self.q.numel()))
        return any(np.abs(slope(1.0, q, values).full()).max(initial=0.0) > 1e-12 for q in points)

    @cached_property
    def rows(self) -> tuple[ca.SX, ca.SX]:
        """D(q, t) and b(q, q̇, t) of D q̈ = b (eq. 26)."""
        velocity = self._velocity_constraints
        return ca.densify(ca.jacobian(velocity, self.v)), -ca.densify(self.rate(velocity))

    @cached_property
    def _velocity_constraints(self) -> ca.SX:
        """All constraints at velocity level: D q̇ + d₀."""
        heights, rolling = self.constraints
        return ca.densify(ca.vertcat(*[self.rate(h) for _, h in heights], *[r for _, r in rolling]))

    @cached_property
    def drift(self) -> ca.SX:
        """d₀(q, t) of rheonomic constraints."""
        return ca.substitute(self._velocity_constraints, self.v, ca.SX.zeros(self.v.numel()))

    # ---------------------------------------------------------------- programs

    def second_order(self) -> SecondOrder:
        system = self.system
        heights, rolling = self.constraints
        defaults = {c.name: c.default for c in system.coordinates}
        units = {c.name: c.unit for c in system.coordinates}
        rates = {c.name: c.rate for c in system.coordinates if c.rate}
        return SecondOrder(
            name=f"{system.name}_by_energies",
            t=self.t,
            q=self.q,
            v=self.v,
            u=self.u,
            p=self.p,
            coordinates=tuple(Quantity(n, units.get(n, "rad"), default=defaults.get(n, 0.0)) for n in self.names),
            velocities=tuple(Quantity(rates.get(n, f"{n}_rate"), f"{units.get(n, 'rad')}/s") for n in self.names),
            inputs=tuple(Quantity(u.name, u.unit, u.description) for u in system.inputs),
            parameters=tuple(Quantity(p.name, p.unit, p.description, p.default) for p in system.parameters),
            dependent_parameters=dependent_parameters(system),
            q_rate=self.v,
            accelerations=self.a,
            mass=self.mass,
            force=self.driven - self.coriolis @ self.v - self.gravity,
            driven=self.driven,
            kinetic=self.kinetic,
            potential=self.potential,
            holonomic=heights,
            nonholonomic=rolling,
            outputs=[
                (Quantity(o.name, o.unit, o.description), self.value(o.expression))
                for o in system.outputs
                if o.name not in self.names
            ],
            events=[
                (Event(w.name, str(w.expression), w.action, w.direction, w.description), self.value(w.expression))
                for w in system.events
                if w.name not in events_with_forces(system)
            ],
            constraint_units={
                name: constraint.unit_of(name) for constraint in system.constraints for name, _ in constraint.residuals
            },
        )

    def program(self, name: str, outputs: dict[str, ca.SX], further: Mapping[str, ca.SX] | None = None) -> Program:
        """A program of (t, q, v, u, p) and further arguments."""
        inputs: dict[str, Any] = {
            "t": self.t,
            "q": (self.q, self.names),
            "v": self.v,
            "u": self.u,
            "p": self.p,
            **(further or {}),
        }
        # evaluated at a few states: finding what is common takes longer than computing it twice
        return Program.build(f"{self.system.name}_{name}", inputs, outputs, shared=True)

    def matrices(self) -> Program:
        """M, C, g, D, b of M q̈ + C q̇ + g = Q + Dᵀλ, D q̈ = b (eqs 26 and 35)."""
        rows, side = self.rows
        parts = {"M": self.mass, "C": self.coriolis, "g": self.gravity, "Q": self.driven, "D": rows, "b": side}
        return self.program("matrices", parts)

    def projectors(self) -> Program:
        """𝒢-orthogonal projectors onto the admissible velocities and their complement: P = 1 − Q, Q = M⁻¹Dᵀ(D M⁻¹Dᵀ)⁻¹D."""
        rows, _ = self.rows
        carried = ca.solve(self.mass, rows.T)
        onto = carried @ ca.solve(rows @ carried, rows)
        return self.program("projectors", {"P": ca.SX.eye(self.q.numel()) - onto, "Q": onto})

    def connection(self, rank: int | None = None) -> Program:
        """Accelerations of the constrained affine connection (eqs 5 and 6, with −P grad V): q̈ = P(M⁻¹(Q − C q̇ − g)) + D⁺ b.

        With redundant rows, `rank` combinations S D q̈ = S b are used; S is then a further argument.
        """
        rows, side = self.rows
        combined: dict[str, ca.SX] = {}
        if rank is not None:
            combined["S"] = ca.SX.sym("S", rank, rows.shape[0])
            rows, side = combined["S"] @ rows, combined["S"] @ side
        carried = ca.solve(self.mass, rows.T)
        free = ca.solve(self.mass, self.driven - self.coriolis @ self.v - self.gravity)
        onto = ca.solve(rows @ carried, ca.horzcat(rows @ free, side))
        return self.program("connection", {"accelerations": free - carried @ onto[:, 0] + carried @ onto[:, 1]}, combined)

    def reactions(self) -> Program:
        """λ of D M⁻¹Dᵀ λ = b + D M⁻¹(C q̇ + g − Q) (eq. 38)."""
        rows, side = self.rows
        carried = ca.solve(self.mass, rows.T)
        free = ca.solve(self.mass, self.driven - self.coriolis @ self.v - self.gravity)
        return self.program("reactions", {"reactions": ca.solve(rows @ carried, side - rows @ free)})


def angle_names(joint: Joint) -> tuple[str, str, str]:
    """Names of the three angles that replace a quaternion."""
    stem = joint.child if any(isinstance(step, Float) for step in joint.chain) else joint.name
    return tuple(f"{stem}_{angle}" for angle in ANGLES)  # type: ignore[return-value]


def _coordinate_names(joint: Joint) -> list[str]:
    turned = {n for step in joint.chain if isinstance(step, Ball | Float) for n in step.quaternion}
    names = [c.name for c in joint.coordinates if c.name not in turned]
    return [*names, *(angle_names(joint) if turned else ())]
