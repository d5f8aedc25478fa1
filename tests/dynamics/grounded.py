"""A mechanism on the ground with all derivations of its motion, and sample states."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from brute import Brute, quaternion
from plain import Plain
from vehicles import ALL

from draisine.model.items import Ball, Float, Glide
from draisine.model.model import Model


class Vehicle:
    """A mechanism with its equations, the augmented system and the plain derivation."""

    def __init__(self, model: Model) -> None:
        self.brute = Brute(model)
        self.equations, self.system = self.brute.equations, self.brute.mechanism.system
        self.plain = Plain(self.system, self.equations)
        self.p = self.equations.default_parameters

    def coordinates(self, rng: np.random.Generator) -> np.ndarray:
        """Somewhere people go: any heading, half a radian of lean, joints well inside their spans, contacts on the ground."""
        q = np.array([c.default for c in self.system.coordinates])
        names = [c.name for c in self.system.coordinates]
        for i, c in enumerate(self.system.coordinates):
            if c.rate:
                q[i] = c.default + 0.3 * rng.uniform(-1, 1) * (c.high - c.low) / 2
        for step in (s for joint in self.system.joints for s in joint.chain):
            if isinstance(step, Float | Ball):
                at = names.index(step.quaternion[0])
                heading = rng.uniform(-3, 3) if isinstance(step, Float) else rng.uniform(-0.3, 0.3)
                q[at : at + 4] = quaternion(heading, rng.uniform(-0.5, 0.5), rng.uniform(-0.1, 0.1))
            if isinstance(step, Float | Glide):
                q[[names.index(n) for n in step.position]] = rng.uniform(-1, 1, len(step.position))
        return self.brute.settle(q, self.p)

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """x and u."""
        e = self.equations
        q = self.coordinates(rng)
        return np.concatenate([q, rng.normal(size=len(e.independent)), np.zeros(len(e.extra_states))]), rng.normal(
            size=len(e.inputs)
        ) * 3

    def reference_axes(self, name: str) -> ca.SX:
        """Rotation of the reference body from whose axes a wheel's rows are seen; the world's for a tree that is tied down."""
        here = next(w.body for w in self.system.wheels if w.name == name)
        by_child = {joint.child: joint for joint in self.system.joints}
        while by_child[here].parent != "ground":
            here = by_child[here].parent
        launched = any(isinstance(step, Float | Glide) for step in by_child[here].chain)
        return self.plain.frames[here][:3, :3] if launched else ca.SX.eye(3)

    def rows(self, residuals: np.ndarray) -> dict[str, np.ndarray]:
        """Velocity residuals by contact."""
        labels = [c.name for c in self.equations.constraints]
        contacts = {w.name: [f"{w.name}_{a}" for a in "xyz"] for w in self.system.wheels}
        contacts |= {e.name: [f"{e.name}_across", *([f"{e.name}_normal"] if e.on_ground else [])] for e in self.system.edges}
        return {name: residuals[[labels.index(row) for row in rows]] for name, rows in contacts.items()}


@cache
def vehicle(name: str) -> Vehicle:
    return Vehicle(ALL[name]())


def size(*arrays: np.ndarray) -> float:
    return max(1.0, *(np.abs(a).max(initial=0.0) for a in arrays))
