"""Poses and mass properties in numbers: what is welded becomes one rigid body."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Turns = tuple[tuple[str, float], ...]  # successive rotations: axis and angle


class Pose(NamedTuple):
    """A frame in another: x ↦ rotation · x + position. `turns` are the same rotation as successive ones about axes."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turns: Turns = ()

    @staticmethod
    def of(position: Sequence[float], rotation: Array) -> Pose:
        """From a rotation matrix."""
        x, y, z = (float(c) + 0.0 for c in position)
        return Pose((x, y, z), turns_of(rotation))

    @property
    def rotation(self) -> Array:
        matrix = np.eye(3)
        for axis, angle in self.turns:
            matrix = matrix @ rotation_about(axis, angle)
        return matrix

    @property
    def is_identity(self) -> bool:
        return not self.turns and self.position == (0.0, 0.0, 0.0)

    def apply(self, point: Sequence[float] | Array) -> Array:
        """A point of the inner frame, in the outer one."""
        return np.asarray(self.position) + self.rotation @ np.asarray(point, dtype=float)

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame that is placed in this one."""
        if self.is_identity:
            return inner
        if inner.is_identity:
            return self
        x, y, z = (float(c) + 0.0 for c in self.apply(inner.position)) if any(inner.position) else self.position
        return Pose((x, y, z), _joined(self.turns, inner.turns))

    @property
    def angles(self) -> tuple[float, float, float]:
        """Roll, pitch and yaw, as given where the turns are about z, y and x in this order."""
        at = ["zyx".index(axis) for axis, _ in self.turns]
        if at == sorted(set(at)):
            given = dict(self.turns)
            return given.get("x", 0.0), given.get("y", 0.0), given.get("z", 0.0)
        return angles_of(self.rotation)


def _joined(first: Turns, second: Turns) -> Turns:
    """Two successions of turns as one; neighbors about one axis are added, and vanish if they are opposite."""
    found = list(first)
    for axis, angle in second:
        if found and found[-1][0] == axis:
            angle += found.pop()[1]
        if angle != 0.0:
            found.append((axis, angle))
    return tuple(found)


def rotation_about(axis: str, angle: float) -> Array:
    """The matrix of a rotation about x, y or z."""
    k = "xyz".index(axis)
    i, j = (k + 1) % 3, (k + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = math.cos(angle)
    matrix[j, i] = math.sin(angle)
    matrix[i, j] = -matrix[j, i]
    return matrix


def roll_pitch_yaw(angles: Sequence[float]) -> Turns:
    """Rotations about the fixed axes x, y, z, as successive ones about moving axes."""
    roll, pitch, yaw = angles
    return tuple((axis, float(angle)) for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)) if angle != 0.0)


def angles_of(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw. Pitch and roll are those after the yaw found, so that the product has all digits also where roll
    and yaw are about one axis."""
    r = rotation
    yaw = math.atan2(r[1, 0], r[0, 0]) if math.hypot(r[0, 0], r[1, 0]) > 1e-12 else 0.0
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = math.atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return roll + 0.0, pitch + 0.0, yaw + 0.0


def turns_of(rotation: Array) -> Turns:
    """Successive rotations about z, y, x with this product."""
    return roll_pitch_yaw(angles_of(rotation))


def quaternion_rotation(quaternion: Sequence[float]) -> Array:
    """The matrix of a quaternion, scalar first, of any length but zero."""
    w, x, y, z = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def quaternion_of(rotation: Array) -> tuple[float, float, float, float]:
    """The unit quaternion of a rotation, scalar first: an eigenvector of Bar-Itzhack's symmetric matrix (2000)."""
    r = rotation
    if np.array_equal(r, np.eye(3)):
        return 1.0, 0.0, 0.0, 0.0
    k = np.array(
        [
            [np.trace(r), 0.0, 0.0, 0.0],
            [r[2, 1] - r[1, 2], r[0, 0] - r[1, 1] - r[2, 2], 0.0, 0.0],
            [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0.0],
            [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1]],
        ]
    )
    w, x, y, z = np.linalg.eigh(k, UPLO="L")[1][:, -1].tolist()
    sign = -1.0 if w < 0.0 else 1.0
    return sign * w, sign * x, sign * y, sign * z


class MassProperties(NamedTuple):
    """Mass, center of mass, and inertia tensor about it, in the axes of one frame."""

    mass: float
    center: Array  # (3,)
    inertia: Array  # (3, 3)

    def seen_from(self, pose: Pose) -> MassProperties:
        """The same in the frame in which its own has this pose."""
        if pose.is_identity:
            return self
        turn = pose.rotation
        tensor = turn @ self.inertia @ turn.T
        return MassProperties(self.mass, pose.apply(self.center), (tensor + tensor.T) / 2)


def welded(parts: Iterable[MassProperties]) -> MassProperties:
    """Several, given in one frame, as one rigid body (Huygens and Steiner)."""
    found = list(parts)
    if len(found) == 1:
        return found[0]
    mass = math.fsum(part.mass for part in found)
    center = np.zeros(3) if mass == 0.0 else np.array([math.fsum(p.mass * p.center[k] for p in found) for k in range(3)]) / mass
    inertia = np.zeros((3, 3))
    for part in found:
        arm = part.center - center
        inertia += part.inertia + part.mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return MassProperties(mass, center, inertia)
