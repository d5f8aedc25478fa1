"""Where coordinates lose their meaning: positions of a joint in which two of its rates move the body alike.

Three turns one after the other, as in Euler angles, have such a position for any choice of axes: first and last turn about one
axis when the middle one stands at ±90° (or, where first and last are the same axis, at 0° or 180°).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.lagrangian.energies import Energies, angle_names
from draisine.dynamics.lagrangian.euler_angles import relative_rate
from draisine.expr.expression import names
from draisine.model.items import Ball, Float, Joint, Rotate, System

Reals = NDArray[np.float64]

CLEAR = 0.14  # smallest singular value of a joint's directions of motion, each of length 1; for Euler angles about 78° from zero


@dataclass(frozen=True, eq=False)
class Pole:
    """A joint whose coordinates may become singular, and in words where."""

    what: str
    known: bool  # whether it is known to have such a position
    directions: ca.Function  # (q, p) → relative twist by rate, 6 × count

    def distance(self, place: Reals, p: Reals) -> float:
        """0 at the pole, 1 where all directions are at right angles."""
        columns = self.directions(place, p).full()
        lengths = np.linalg.norm(columns, axis=0)
        if not np.isfinite(lengths).all() or lengths.min() == 0.0:
            return 0.0
        return float(np.linalg.svd(columns / lengths, compute_uv=False)[-1])


def poles_of(system: System, energies: Energies, p: Reals) -> list[Pole]:
    """The joints with several coordinates."""
    found = []
    for joint in system.joints:
        own = _own(joint, energies)
        if len(own) < 2:
            continue
        outer, inner = energies.nodes[joint.parent], energies.nodes[joint.child]
        shift = energies.rate(outer.rotation.T @ (inner.position - outer.position))
        twist = ca.vertcat(relative_rate(energies, joint.parent, joint.child), shift)
        directions = ca.densify(ca.jacobian(twist, energies.v)[:, [energies.names.index(n) for n in own]])
        where = _where(joint, energies, p)
        said = where or f"joint {joint.name!r}: where the rates of {', '.join(own)} do not move {joint.child!r} in as many ways"
        found.append(Pole(said, where is not None, ca.Function("directions", [energies.q, energies.p], [directions])))
    return found


def _own(joint: Joint, energies: Energies) -> list[str]:
    return [n for n in (*(c.name for c in joint.coordinates), *angle_names(joint)) if n in energies.names]


def _where(joint: Joint, energies: Energies, p: Reals) -> str | None:
    """The position in words, for three turns about coordinate axes with nothing that turns between them."""
    turns: list[tuple[str, str, ca.SX]] = []
    for step in joint.chain:
        if isinstance(step, Float | Ball):
            angles = angle_names(joint)
            turns += [(axis, n, energies.q[energies.names.index(n)]) for axis, n in zip("zxy", angles, strict=True)]
        elif isinstance(step, Rotate):
            driven = [n for n in names(step.angle) if n in energies.names]
            turns.append((step.axis, driven[0] if driven else "", energies.value(step.angle)))
    while turns and not turns[0][1]:
        turns.pop(0)
    if len(turns) < 3 or not all(name for _, name, _ in turns[:3]):
        return None
    (first, a, _), (_, b, angle), (last, c, _) = turns[:3]
    targets = (0.0, math.pi) if first == last else (-math.pi / 2, math.pi / 2)
    middle = energies.q[energies.names.index(b)]
    offset, end = (float(ca.Function("angle", [middle, energies.p], [angle])(value, p)) for value in (0.0, 1.0))
    places = sorted(math.degrees((target - offset) / (end - offset)) for target in targets)
    return f"joint {joint.name!r}: {a} and {c} turn about one axis where {b} is {places[0]:.4g}° or {places[1]:.4g}°"
