"""States of the Newton–Euler road, with quaternions and body velocities, as states in Euler angles and their rates, and back."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.lagrangian.energies import Energies, angle_names
from draisine.model.items import Ball, Float, Glide, System

Reals = NDArray[np.float64]


class EulerAngleStates:
    """The way between the two sets of coordinates of one description."""

    def __init__(self, system: System, energies: Energies, p: Reals) -> None:
        self._system, self._energies, self._p = system, energies, p
        self._translate = self._translation()

    def coordinates(self, q: Reals) -> Reals:
        """Coordinates in Euler angles."""
        known = dict(zip((c.name for c in self._system.coordinates), q, strict=True))
        for joint in self._system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Ball):
                    w, x, y, z = (known[n] for n in step.quaternion)
                    sine = np.clip(2 * (y * z + w * x), -1.0, 1.0)
                    heading = np.arctan2(-2 * (x * y - w * z), 1 - 2 * (x * x + z * z))
                    pitch = np.arctan2(-2 * (x * z - w * y), 1 - 2 * (x * x + y * y))
                    known |= dict(zip(angle_names(joint), (heading, np.arcsin(sine), pitch), strict=True))
        return np.array([known[n] for n in self._energies.names])

    def motion(self, q: Reals, v: Reals) -> tuple[Reals, Reals]:
        """Angles and their rates."""
        place = self.coordinates(q)
        return place, np.asarray(np.linalg.solve(self.map(place), v), dtype=np.float64)

    def map(self, place: Reals) -> Reals:
        """∂v/∂(rates): the velocities of the Newton–Euler road by the rates of the angles."""
        zero = np.zeros(len(place))
        return np.asarray(self._translate(place, zero, zero, self._p)[1].full())

    def accelerations(self, place: Reals, rates: Reals, vdot: Reals) -> Reals:
        """Second rates of the angles at accelerations of the Newton–Euler road."""
        _, by_rates, rest = (part.full() for part in self._translate(place, rates, np.zeros(len(place)), self._p))
        return np.asarray(np.linalg.solve(by_rates, vdot - rest[:, 0]))

    def back(self, place: Reals, rates: Reals, second: Reals) -> Reals:
        """Accelerations of the Newton–Euler road at second rates of the angles."""
        return np.asarray(self._translate(place, rates, second, self._p)[2].full()[:, 0])

    def force_back(self, place: Reals, force: Reals) -> Reals:
        """Generalized forces on the velocities of the Newton–Euler road: the same power."""
        return np.asarray(np.linalg.solve(self.map(place).T, force))

    def _translation(self) -> ca.Function:
        """(q, v, v̇, p) in angles → Newton–Euler velocities, their Jacobian by v, and their rates."""
        e = self._energies
        parts: list[ca.SX] = []
        for joint in self._system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Glide):
                    node = e.nodes[joint.child]
                    linear = node.rotation.T @ e.rate(node.position)
                    parts.append(linear if isinstance(step, Float) else linear[:2])
                if isinstance(step, Float | Ball):
                    parts.append(relative_rate(e, joint.parent, joint.child))
            parts += [e.v[e.names.index(c.name)] for c in joint.coordinates if c.rate]
        parts += [e.v[e.names.index(c.name)] for c in self._system.massless]
        velocities = ca.vertcat(*parts)
        change = ca.SX.sym("change", e.v.numel())
        by_v = ca.jacobian(velocities, e.v)
        rates = by_v @ change + ca.jtimes(velocities, e.q, e.v)
        return ca.Function("translate", [e.q, e.v, change, e.p], [velocities, ca.densify(by_v), rates])


def relative_rate(e: Energies, parent: str, child: str) -> ca.SX:
    """Angular velocity of the child relative to its parent, in the child's axes (free displacements turn last)."""
    between = e.nodes[parent].rotation.T @ e.nodes[child].rotation
    spin = between.T @ e.rate(between)
    return ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
