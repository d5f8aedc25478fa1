"""A described tree as a model of Pinocchio, displacement by displacement."""

from __future__ import annotations

import numpy as np

from draisine.expr.expression import evaluate_number, names
from draisine.model.items import Ball, Float, Joint, Rotate, Translate
from draisine.model.system import System
from draisine.program.equations import Equations


def in_pinocchio(pin, system: System, equations: Equations):
    """The model at the default parameters, and the names of its configuration and velocity entries in Pinocchio's order.

    Every displacement that moves becomes a joint of its own; only the last of a chain carries the body.
    """
    growing = _Growing(pin, {q.name: q.default for q in equations.parameters})
    for joint in system.joints:  # parents come first in these trees
        growing.add(joint, next(b for b in system.bodies if b.name == joint.child))
    growing.model.gravity.linear = np.array([evaluate_number(c, growing.values) for c in system.gravity])
    return growing.model, growing.q_names, growing.v_names


class _Growing:
    def __init__(self, pin, values: dict[str, float]) -> None:
        self.pin, self.values, self.model = pin, values, pin.Model()
        self.hung = {"ground": (0, pin.SE3.Identity())}  # body → joint it hangs on, and its place there
        self.q_names: list[str] = []
        self.v_names: list[str] = []

    def add(self, joint: Joint, body) -> None:
        self.at, self.place = self.hung[joint.parent]
        self.rates = {c.name: c.rate for c in joint.coordinates}
        for step in joint.chain:
            self._step(step)
        i = {k: self._number(getattr(body.inertia, k)) for k in ("xx", "yy", "zz", "xy", "yz", "zx")}
        tensor = np.array([[i["xx"], i["xy"], i["zx"]], [i["xy"], i["yy"], i["yz"]], [i["zx"], i["yz"], i["zz"]]])
        center = np.array([self._number(x) for x in body.center_of_mass])
        self.model.appendBodyToJoint(self.at, self.pin.Inertia(self._number(body.mass), center, tensor), self.place)
        self.hung[body.name] = (self.at, self.place)

    def _number(self, expression) -> float:
        return evaluate_number(expression, self.values | dict.fromkeys(self.rates, 0.0))

    def _move(self, kind: str, coordinates, velocities) -> None:
        self.at = self.model.addJoint(self.at, getattr(self.pin, f"JointModel{kind}")(), self.place, f"joint{self.model.njoints}")
        self.place = self.pin.SE3.Identity()
        self.q_names += coordinates
        self.v_names += velocities

    def _step(self, step) -> None:
        pin = self.pin
        if isinstance(step, Rotate):
            used = sorted(names(step.angle) & set(self.rates))
            if used:
                self._move(f"R{step.axis.upper()}", used, [self.rates[n] for n in used])
            else:
                self.place = self.place * pin.SE3(pin.utils.rotate(step.axis, self._number(step.angle)), np.zeros(3))
        elif isinstance(step, Translate):
            self.place = self.place * pin.SE3(np.eye(3), np.array([self._number(b) for b in step.by]))
            for axis, component in zip("XYZ", step.by, strict=True):
                for n in names(component) & set(self.rates):
                    self._move(f"P{axis}", [n], [self.rates[n]])
        elif isinstance(step, Float):
            w, *vector = step.quaternion
            self._move("FreeFlyer", [*step.position, *vector, w], [*step.velocity, *step.rates])
        else:
            assert isinstance(step, Ball)
            w, *vector = step.quaternion
            self._move("Spherical", [*vector, w], step.rates)
