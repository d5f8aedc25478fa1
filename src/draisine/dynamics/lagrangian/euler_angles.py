"""States in Euler angles: conversion from quaternions and body velocities and back, and singular configurations of joints.

Three successive turns, as in Euler angles, are singular for any choice of axes: the first and the last axis coincide where the
middle angle is ±90° (or, where first and last axis have the same name, 0° or 180°).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.lagrangian.energies import Energies, angle_names
from draisine.expr.expression import names
from draisine.model.items import Ball, Float, Glide, Joint, Rotate
from draisine.model.system import System
from draisine.program.equations import Structure

Reals = NDArray[np.float64]


class EulerAngleStates:
    """Conversion between the two sets of coordinates of one description."""

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
        angles = self.coordinates(q)
        return angles, np.asarray(np.linalg.solve(self.map(angles), v), dtype=np.float64)

    def map(self, angles: Reals) -> Reals:
        """∂v/∂(rates): the Newton–Euler velocities by the rates of the angles."""
        zero = np.zeros(len(angles))
        return np.asarray(self._translate(angles, zero, zero, self._p)[1].full())

    def accelerations(self, angles: Reals, rates: Reals, vdot: Reals) -> Reals:
        """Second derivatives of the angles for given Newton–Euler accelerations."""
        _, by_rates, rest = (part.full() for part in self._translate(angles, rates, np.zeros(len(angles)), self._p))
        return np.asarray(np.linalg.solve(by_rates, vdot - rest[:, 0]))

    def back(self, angles: Reals, rates: Reals, second: Reals) -> Reals:
        """Newton–Euler accelerations for given second derivatives of the angles."""
        return np.asarray(self._translate(angles, rates, second, self._p)[2].full()[:, 0])

    def force_back(self, angles: Reals, force: Reals) -> Reals:
        """Generalized forces on the Newton–Euler velocities, of the same power."""
        return np.asarray(np.linalg.solve(self.map(angles).T, force))

    def _translation(self) -> ca.Function:
        """(q, v, v̇, p) in angles → Newton–Euler velocities, their Jacobian by v, and their rates."""
        e = self._energies
        _, velocities = own_state(e)
        change = ca.SX.sym("change", e.v.numel())
        by_v = ca.jacobian(velocities, e.v)
        rates = by_v @ change + ca.jtimes(velocities, e.q, e.v)
        return ca.Function("translate", [e.q, e.v, change, e.p], [velocities, ca.densify(by_v), rates])


def own_state(e: Energies) -> tuple[ca.SX, ca.SX]:
    """Coordinates and velocities of the description, with quaternions and body velocities, by angles and their rates."""
    coordinates, velocities = dict[str, ca.SX](), list[ca.SX]()
    for joint in e.system.joints:
        for step in joint.chain:
            if isinstance(step, Float | Glide):
                node = e.nodes[joint.child]
                linear = node.rotation.T @ e.rate(node.position)
                velocities.append(linear if isinstance(step, Float) else linear[:2])
            if isinstance(step, Float | Ball):
                velocities.append(relative_rate(e, joint.parent, joint.child))
                halves = [e.q[e.names.index(n)] / 2 for n in angle_names(joint)]
                coordinates |= dict(zip(step.quaternion, _quaternion(*halves), strict=True))
        velocities += [e.v[e.names.index(c.name)] for c in joint.coordinates if c.rate]
    velocities += [e.v[e.names.index(c.name)] for c in e.system.massless]
    coordinates |= {name: e.q[i] for i, name in enumerate(e.names)}
    return ca.vertcat(*[coordinates[c.name] for c in e.system.coordinates]), ca.vertcat(*velocities)


def _quaternion(heading: ca.SX, lean: ca.SX, pitch: ca.SX) -> tuple[ca.SX, ...]:
    """Of turns about z, x and y by twice these angles, scalar first."""
    (c1, s1), (c2, s2), (c3, s3) = ((ca.cos(angle), ca.sin(angle)) for angle in (heading, lean, pitch))
    return (
        c1 * c2 * c3 - s1 * s2 * s3,
        c1 * s2 * c3 - s1 * c2 * s3,
        c1 * c2 * s3 + s1 * s2 * c3,
        s1 * c2 * c3 + c1 * s2 * s3,
    )


def in_euler_angles(structure: Structure, system: System) -> Structure:
    """The structure with the angles, and their rates, for quaternions and angular velocities."""
    turned, rates = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for joint in system.joints:
        for step in joint.chain:
            if isinstance(step, Float | Ball):
                angles = angle_names(joint)
                turned |= dict.fromkeys(step.quaternion, angles)
                rates |= dict.fromkeys(step.rates, tuple(f"{angle}_rate" for angle in angles))

    def angles_of(given: Iterable[str], known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in given for name in known.get(one, (one,))))

    poses = tuple(
        pose._replace(coordinates=angles_of(pose.coordinates, turned), heading=angles_of(pose.heading, turned)[:1])
        for pose in structure.poses
    )
    return replace(structure, poses=poses, driven=angles_of(structure.driven, rates))


def relative_rate(e: Energies, parent: str, child: str) -> ca.SX:
    """Angular velocity of the child relative to its parent, in the child's axes (free displacements rotate last)."""
    between = e.nodes[parent].rotation.T @ e.nodes[child].rotation
    spin = between.T @ e.rate(between)
    return ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])


CLEAR = 0.14  # smallest singular value of a joint's directions of motion, each of length 1; for Euler angles at about 78°


@dataclass(frozen=True, eq=False)
class CoordinateSingularity:
    """A singularity of the coordinates of a joint."""

    what: str  # description
    known: bool  # whether such a configuration is known to exist
    directions: ca.Function  # (q, p) → relative twist by rate, 6 × count

    def distance(self, angles: Reals, p: Reals) -> float:
        """0 at the singularity, 1 where all directions are orthogonal."""
        columns = self.directions(angles, p).full()
        lengths = np.linalg.norm(columns, axis=0)
        if not np.isfinite(lengths).all() or lengths.min() == 0.0:
            return 0.0
        return float(np.linalg.svd(columns / lengths, compute_uv=False)[-1])


def coordinate_singularities(system: System, energies: Energies, p: Reals) -> list[CoordinateSingularity]:
    """Possible singularities of joints with several coordinates."""
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
        what = where or f"joint {joint.name!r}: where the rates of {', '.join(own)} give dependent motions of {joint.child!r}"
        found.append(
            CoordinateSingularity(what, where is not None, ca.Function("directions", [energies.q, energies.p], [directions]))
        )
    return found


def _own(joint: Joint, energies: Energies) -> list[str]:
    return [n for n in (*(c.name for c in joint.coordinates), *angle_names(joint)) if n in energies.names]


def _where(joint: Joint, energies: Energies, p: Reals) -> str | None:
    """The singular configuration, for three rotations about coordinate axes with no other rotation between them."""
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
    angles_at = sorted(math.degrees((target - offset) / (end - offset)) for target in targets)
    return f"joint {joint.name!r}: {a} and {c} rotate about the same axis where {b} is {angles_at[0]:.4g}° or {angles_at[1]:.4g}°"
