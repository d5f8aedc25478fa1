"""Reference mechanics: 4 × 4 matrices from joint to joint, everything else by automatic differentiation.

A second road to the equations of motion that shares nothing with `draisine.dynamics`: positions and rotations of the bodies in
the world are differentiated in time as they stand. No recursion, no twists carried along, no merged rotors, no reduction. From it
come the Lagrangian, the equations of virtual power (valid for quasi-velocities too), and the velocity of the material point of a
wheel that touches the ground.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from draisine.expr.expression import Expr, evaluate
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.model.items import Ball, Float, Glide, Rotate, Translate
from draisine.program.equations import Equations

AXES = {"x": ca.DM([1, 0, 0]), "y": ca.DM([0, 1, 0]), "z": ca.DM([0, 0, 1])}


def _turn(axis: str, angle: ca.SX) -> ca.SX:
    """Rodrigues: E + sin K + (1 − cos) K²."""
    k = ca.skew(AXES[axis])
    return ca.DM.eye(3) + ca.sin(angle) * k + (1 - ca.cos(angle)) * (k @ k)


def _frame(rotation: ca.SX, position: ca.SX) -> ca.SX:
    return ca.blockcat([[ca.SX(rotation), ca.SX(position)], [ca.DM([[0, 0, 0]]), ca.SX(1)]])


def _of_quaternion(w: ca.SX, r: ca.SX) -> ca.SX:
    """(w² − r·r) E + 2 r rᵀ + 2 w r×, for a unit quaternion."""
    return (w * w - ca.dot(r, r)) * ca.DM.eye(3) + 2 * r @ r.T + 2 * w * ca.skew(r)


class Plain:
    """A described system in symbols t, q, v, v̇, u, p, in the order of its `Equations`."""

    def __init__(self, system, equations: Equations) -> None:
        self.system = system
        self.t = ca.SX.sym("t")
        self.known: dict[str, ca.SX] = {"t": self.t}

        def column(quantities) -> ca.SX:
            symbols = [ca.SX.sym(item.name) for item in quantities]
            self.known |= {item.name: s for item, s in zip(quantities, symbols, strict=True)}
            return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)

        self.q, self.v = column(equations.coordinates), column(equations.velocities)
        self.u, self.p = column(equations.inputs), column(equations.parameters)
        self.a = ca.SX.sym("a", self.v.numel())
        self.arguments = [self.t, self.q, self.v, self.a, self.u, self.p]
        self._tables = {table.name: table for table in system.tables}
        self._outputs = {o.name: o.expression for o in system.outputs}
        self._points = {point.name: point for point in system.points}
        self.frames: dict[str, ca.SX] = {"ground": ca.SX.eye(4)}
        rates: dict[str, ca.SX] = {}
        waiting = list(system.joints)
        while waiting:
            joint = next(j for j in waiting if j.parent in self.frames)
            waiting.remove(joint)
            frame = self.frames[joint.parent]
            rates |= {c.name: self.known[c.rate] for c in joint.coordinates if c.rate}
            for step in joint.chain:
                frame = frame @ self._step(step, rates)
            self.frames[joint.child] = frame
        self.q_rate = ca.vertcat(*[rates[c.name] for c in equations.coordinates]) if equations.coordinates else ca.SX(0, 1)

    def _step(self, step, rates: dict[str, ca.SX]) -> ca.SX:
        if isinstance(step, Rotate):
            return _frame(_turn(step.axis, self.value(step.angle)), ca.DM.zeros(3))
        if isinstance(step, Translate):
            return _frame(ca.DM.eye(3), self.vector(step.by))
        if isinstance(step, Glide):
            rotation = _turn("z", self.known[step.heading])
            moved = rotation @ ca.vertcat(*[self.known[n] for n in step.velocity], 0)
            rates |= dict(zip(step.position, ca.vertsplit(moved[:2]), strict=True))
            return _frame(rotation, ca.vertcat(*[self.known[n] for n in step.position], 0))
        w, *r = (self.known[n] for n in step.quaternion)
        r = ca.vertcat(*r)
        rotation, spin = _of_quaternion(w, r), ca.vertcat(*[self.known[n] for n in step.rates])
        # q̇ = ½ q ∘ (0, Ω), by the product of quaternions
        changes = ca.vertcat(-ca.dot(r, spin), w * spin + ca.cross(r, spin)) / 2
        rates |= dict(zip(step.quaternion, ca.vertsplit(changes), strict=True))
        if isinstance(step, Ball):
            return _frame(rotation, ca.DM.zeros(3))
        assert isinstance(step, Float)
        position = ca.vertcat(*[self.known[n] for n in step.position])
        moved = rotation @ ca.vertcat(*[self.known[n] for n in step.velocity])
        rates |= dict(zip(step.position, ca.vertsplit(moved), strict=True))
        return _frame(rotation, position)

    # ---------------------------------------------------------------- expressions

    def value(self, expression: Expr) -> ca.SX:
        special = {"distance": self._distance, "rate": lambda arguments: self.rate(self.value(arguments[0]))}
        for i, axis in enumerate("xyz"):
            special[f"position_{axis}"] = lambda a, i=i: self.place(a[0].identifier)[i]
            special[f"velocity_{axis}"] = lambda a, i=i: self.rate(self.place(a[0].identifier))[i]
        return ca.SX(evaluate(expression, self._look_up, {**SX_FUNCTIONS, **self._tables}, special))

    def _look_up(self, name: str) -> ca.SX:
        return self.value(self._outputs[name]) if name in self._outputs else self.known[name]

    def vector(self, components) -> ca.SX:
        return ca.vertcat(*[self.value(c) for c in components])

    def place(self, name: str) -> ca.SX:
        """Where a point, or the origin of a body, is in the world."""
        if name not in self._points:
            return self.frames[name][:3, 3]
        return self.at(self._points[name].body, self.vector(self._points[name].at))

    def frame_of(self, name: str) -> ca.SX:
        """Pose of a body, a point (with the axes of its body) or a frame with axes of its own."""
        if name not in self._points:
            return self.frames[name]
        point = self._points[name]
        pose = self.frames[point.body] @ _frame(ca.DM.eye(3), self.vector(point.at))
        for step in point.orientation:
            pose = pose @ self._step(step, {})
        return pose

    def _distance(self, arguments) -> ca.SX:
        apart = self.place(arguments[1].identifier) - self.place(arguments[0].identifier)
        return ca.sqrt(ca.dot(apart, apart))

    # ---------------------------------------------------------------- motion

    def rate(self, expression: ca.SX) -> ca.SX:
        """d/dt along the motion, inputs held."""
        change = ca.jtimes(expression, self.q, self.q_rate) + ca.jtimes(expression, self.v, self.a)
        return change + ca.jtimes(expression, self.t, ca.SX(1))

    def at(self, body: str, point: ca.SX) -> ca.SX:
        return (self.frames[body] @ ca.vertcat(point, 1))[:3]

    def spin(self, body: str) -> ca.SX:
        """Ω of RᵀṘ, in the axes of the body."""
        rotation = self.frames[body][:3, :3]
        return ca.inv_skew(rotation.T @ ca.reshape(self.rate(ca.vec(rotation)), 3, 3))

    def inertia(self, body) -> ca.SX:
        i = body.inertia
        xx, yy, zz, xy, yz, zx = (self.value(e) for e in (i.xx, i.yy, i.zz, i.xy, i.yz, i.zx))
        return ca.blockcat([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])

    def center(self, body) -> ca.SX:
        return self.at(body.name, self.vector(body.center_of_mass))

    @cached_property
    def kinetic(self) -> ca.SX:
        total = ca.SX(0)
        for body in self.system.bodies:
            velocity, spin = self.rate(self.center(body)), self.spin(body.name)
            total += (self.value(body.mass) * ca.dot(velocity, velocity) + ca.dot(spin, self.inertia(body) @ spin)) / 2
        return total

    @cached_property
    def weight_energy(self) -> ca.SX:
        return sum((-self.value(b.mass) * ca.dot(self.gravity, self.center(b)) for b in self.system.bodies), ca.SX(0))

    @cached_property
    def gravity(self) -> ca.SX:
        return ca.vertcat(*[self.value(c) for c in self.system.gravity])

    @cached_property
    def potential(self) -> ca.SX:
        return sum((self.value(field.energy) for field in self.system.potentials), self.weight_energy)

    # ---------------------------------------------------------------- equations of motion

    def lagrange(self) -> ca.SX:
        """d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q for weight alone, where all velocities are rates of coordinates."""
        momenta = ca.gradient(self.kinetic, self.v)
        # velocities and coordinates correspond one to one, though perhaps not in the same order
        order = ca.jacobian(self.q_rate, self.v)
        return self.rate(momenta) - order.T @ ca.gradient(self.kinetic - self.weight_energy, self.q)

    def virtual_power(self) -> ca.SX:
        """Σ (∂V_G/∂v)ᵀ m (V̇_G − g) + (∂Ω/∂v)ᵀ (I Ω̇ + Ω × I Ω): any velocities."""
        total = ca.SX.zeros(self.v.numel())
        for body in self.system.bodies:
            velocity, spin, inertia = self.rate(self.center(body)), self.spin(body.name), self.inertia(body)
            force = self.value(body.mass) * (self.rate(velocity) - self.gravity)
            moment = inertia @ self.rate(spin) + ca.cross(spin, inertia @ spin)
            total += ca.jacobian(velocity, self.v).T @ force + ca.jacobian(spin, self.v).T @ moment
        return total

    def forces(self) -> ca.SX:
        """Efforts on the velocities of everything applied, weight excepted, by virtual power."""
        total = -ca.jacobian(self.rate(self.potential - self.weight_energy), self.v).T
        for effort in self.system.generalized_forces:
            total += ca.jacobian(self.rate(self.value(effort.measure)), self.v).T * self.value(effort.amount)
        for wrench in self.system.wrenches:
            body = self._points[wrench.point].body if wrench.point in self._points else wrench.point
            rotation = self.frames[body][:3, :3]
            axes = rotation if wrench.axes == "body" else ca.SX.eye(3)
            motion, spin = self.rate(self.place(wrench.point)), rotation @ self.spin(body)
            total += ca.jacobian(motion, self.v).T @ axes @ self.vector(wrench.force)
            total += ca.jacobian(spin, self.v).T @ axes @ self.vector(wrench.torque)
        return ca.densify(total)

    # ---------------------------------------------------------------- contacts

    @cached_property
    def normal(self) -> ca.SX:
        """Of the plane through (1, 0, tan slope) and (0, 1, tan bank)."""
        slope, bank = self.value(self.system.ground.slope), self.value(self.system.ground.bank)
        n = ca.cross(ca.vertcat(1, 0, ca.tan(slope)), ca.vertcat(0, 1, ca.tan(bank)))
        return n / ca.sqrt(ca.dot(n, n))

    def lowest(self, wheel) -> ca.SX:
        """Contact point of a wheel in the world: down the steepest line of its plane, then the tube's radius straight down."""
        axle, n = self.frames[wheel.body][:3, :3] @ AXES[wheel.axis], self.normal
        steepest = n - axle * ca.dot(axle, n)
        down = self.value(wheel.radius) / ca.sqrt(ca.dot(steepest, steepest)) * steepest
        return self.at(wheel.body, self.vector(wheel.center)) - down - self.value(wheel.tube) * n

    def carried(self, body: str, place: ca.SX) -> ca.SX:
        """Velocity of the material point of the body that is at a place in the world."""
        rotation, origin = self.frames[body][:3, :3], self.frames[body][:3, 3]
        return self.rate(origin) + ca.cross(rotation @ self.spin(body), place - origin)

    def constraint_rates(self) -> dict[str, ca.SX]:
        """What must vanish, by contact: for wheels in the world's axes, for edges across the blade (and along the normal)."""
        found = {w.name: self.carried(w.body, self.lowest(w)) for w in self.system.wheels}
        for edge in self.system.edges:
            blade = self.frames[edge.body][:3, :3] @ AXES[edge.along]
            across = ca.cross(self.normal, blade)
            velocity = self.rate(self.at(edge.body, self.vector(edge.at)))
            parts = [ca.dot(across, velocity) / ca.sqrt(ca.dot(across, across))]
            found[edge.name] = ca.vertcat(*parts, *([ca.dot(self.normal, velocity)] if edge.on_ground else []))
        return found

    # ---------------------------------------------------------------- numbers

    def function(self, *expressions: ca.SX):
        """Numbers from (t, q, v, v̇, u, p)."""
        inner = ca.Function("plain", self.arguments, [ca.densify(e) for e in expressions])

        def call(t, q, v, a, u, p):
            results = inner(t, q, v, a, u, p)
            results = results if isinstance(results, tuple) else (results,)
            arrays = [r.full() for r in results]
            return [x[:, 0] if x.shape[1] == 1 else x for x in arrays]

        return call

    @cached_property
    def _augmented(self):
        rates = list(self.constraint_rates().values())
        rows = ca.vertcat(*rates) if rates else ca.SX(0, 1)
        inertial = self.virtual_power()
        return self.function(
            ca.jacobian(inertial, self.a),
            ca.substitute(inertial, self.a, ca.DM.zeros(self.a.numel())),
            self.forces(),
            ca.jacobian(rows, self.v),
            ca.substitute(self.rate(rows), self.a, ca.DM.zeros(self.a.numel())),
        )

    def accelerations(self, t, q, v, u, p) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """v̇ and the force of the ground by contact, from the augmented system M v̇ + h = Q + Aᵀλ, A v̇ = −Ȧ v."""
        mass, bias, forces, rows, rates = self._augmented(t, q, v, np.zeros(len(v)), u, p)
        n, m = len(v), rows.size // max(len(v), 1)
        mass, rows = mass.reshape(n, n), rows.reshape(m, n)
        big = np.block([[mass, -rows.T], [rows, np.zeros((m, m))]])
        solved = np.linalg.solve(big, np.concatenate([forces - bias, -rates]))
        sizes = {name: e.numel() for name, e in self.constraint_rates().items()}
        ends = np.cumsum([0, *sizes.values()])
        return solved[:n], {name: solved[n + a : n + b] for name, a, b in zip(sizes, ends, ends[1:], strict=False)}
