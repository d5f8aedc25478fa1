"""Scene of a mechanism: shapes fixed in its bodies.

A `Scene` is made once from a description and parameter values (`from_model.scene_of`); poses of the bodies place it for
drawings and animations. Coordinates of a shape are in the axes of its `body`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from draisine.view.scene.solids import Solid

Array = NDArray[np.float64]

_LARGEST = 0.3  # of the mechanism's size: largest half-axis of an inertia ellipsoid


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body: its origin in the world, and the rotation from its axes to the world's."""

    position: Array
    rotation: Array

    def of(self, points: ArrayLike) -> Array:
        """Points of the body, one per row, in the world."""
        return np.asarray(points, dtype=float) @ self.rotation.T + self.position

    def rotated(self, directions: ArrayLike) -> Array:
        return np.asarray(directions, dtype=float) @ self.rotation.T


Poses = Mapping[str, Pose]


@dataclass(frozen=True, eq=False)
class Link:
    """The lines of a body: `frame` from joint to joint, `arms` to the center of mass."""

    body: str
    frame: tuple[tuple[Array, Array], ...]
    arms: tuple[tuple[Array, Array], ...]


@dataclass(frozen=True, eq=False)
class Center:
    """A center of mass."""

    body: str
    at: Array


@dataclass(frozen=True, eq=False)
class InertiaEllipsoid:
    """The ellipsoid with the body's moments of inertia, for a body without other extent; columns of `axes` are its half-axes."""

    body: str
    at: Array
    axes: Array


@dataclass(frozen=True, eq=False)
class Wheel:
    """A circle, or the center circle of a tube. `hinged`: carried by another body; else the body itself is the wheel."""

    name: str
    body: str
    center: Array
    axis: Array
    radius: float
    tube: float
    hinged: bool

    def circle(self, pose: Pose, count: int = 120) -> Array:
        """Points around it, in the world."""
        angles = np.linspace(0.0, 2 * np.pi, count + 1)
        first, second = orthonormal_pair(self.axis)
        return pose.of(self.center + self.radius * (np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second)))

    def contact(self, pose: Pose, normal: Array) -> Array:
        """Its lowest point in the world."""
        axis = pose.rotated(self.axis)
        inward = normal - (normal @ axis) * axis
        size = float(np.linalg.norm(inward))
        down = -inward / size if size > 0 else np.zeros(3)
        return pose.of(self.center) + self.radius * down - self.tube * normal


@dataclass(frozen=True, eq=False)
class Hinge:
    """A hinge axis in the axes of the joint's parent; parent and child attach at `ends`, coordinates along it.

    `child_at` and `child_axis` are the same point and direction in the axes of the child.
    """

    name: str
    body: str
    at: Array
    axis: Array
    ends: tuple[float, float]
    of_wheel: bool
    child: str
    child_at: Array
    child_axis: Array

    def end_points(self, pose: Pose) -> Array:
        """The two attachment points in the world."""
        return pose.of(self.at + np.outer(self.ends, self.axis))


@dataclass(frozen=True, eq=False)
class Ball:
    """A joint with more than one rotation."""

    name: str
    body: str
    at: Array


@dataclass(frozen=True, eq=False)
class Slide:
    """A rail of the parent and the block of the child that slides on it; the axis is the parent's."""

    name: str
    body: str
    at: Array
    axis: Array
    child: str
    block: Array


@dataclass(frozen=True, eq=False)
class Support:
    """A support of a joint on the ground."""

    at: Array


@dataclass(frozen=True, eq=False)
class Blade:
    """A knife edge."""

    name: str
    body: str
    at: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Mark:
    """A named point."""

    name: str
    body: str
    at: Array


@dataclass(frozen=True, eq=False)
class Cord:
    """A massless line between points: a distance constraint or a spring.

    The multiplier of the named row times the factor is its compressive force.
    """

    name: str
    ends: tuple[tuple[str, Array], ...]  # body and point
    is_spring: bool
    row: str = ""
    factor: float = 0.0


@dataclass(frozen=True, eq=False)
class LoopClosure:
    """A point of a body fixed to another body; multipliers of the named rows are the force on it, in the other's frame."""

    name: str
    body: str
    at: Array
    holder: str
    axes: Array  # columns: directions of the rows, in the holder's axes
    rows: tuple[str, ...]


Shape = Link | Center | InertiaEllipsoid | Wheel | Hinge | Ball | Slide | Support | Blade | Mark | Cord | LoopClosure


@dataclass(frozen=True, eq=False)
class Scene:
    """Shapes of a mechanism, and the unit normal of the ground under its wheels and blades (None without contact)."""

    name: str
    bodies: tuple[str, ...]
    shapes: tuple[Shape, ...]
    normal: Array | None
    solids: tuple[Solid, ...] = ()  # given by the description

    def points(self, poses: Poses) -> Array:
        """All points that a picture must contain, in the world."""
        found: list[Array] = [np.zeros((0, 3)), *(poses[body].of(box) for body, box in self._boxes)]
        for shape in self.shapes:
            if isinstance(shape, Link):
                found += [poses[shape.body].of(np.array(line)) for line in (*shape.frame, *shape.arms)]
            elif isinstance(shape, Wheel):
                circle = shape.circle(poses[shape.body], 24)
                found += [circle] if shape.tube == 0 else [circle + shape.tube * step for step in (*np.eye(3), *-np.eye(3))]
            elif isinstance(shape, InertiaEllipsoid):
                found.append(poses[shape.body].of(np.concatenate([shape.at + shape.axes.T, shape.at - shape.axes.T])))
            elif isinstance(shape, Hinge):
                found.append(shape.end_points(poses[shape.body]))
            elif isinstance(shape, Cord):
                found += [poses[body].of(at)[None, :] for body, at in shape.ends]
            elif isinstance(shape, Slide):
                found.append(poses[shape.child].of(shape.block)[None, :])
            else:
                found.append((shape.at if isinstance(shape, Support) else poses[shape.body].of(shape.at))[None, :])
        return np.concatenate(found)

    @property
    def _boxes(self) -> list[tuple[str, Array]]:
        """Bounding boxes of given solids, by body."""
        return _bounding_boxes(self.solids)

    @property
    def skeleton(self) -> Scene:
        """The same without inertia ellipsoids."""
        return replace(self, shapes=tuple(s for s in self.shapes if not isinstance(s, InertiaEllipsoid)))

    @property
    def lines(self) -> Scene:
        """The skeleton without given solids: joints, wheels, points and the lines between them."""
        return replace(self.skeleton, solids=())

    def place_of_name(self, body: str) -> Array | None:
        """Point of a body beside which its name is written: its center of mass, or what else of it is seen.

        That is its wheel or blade, or the middle of its given solids or lines. None for a body that carries joints alone.
        """
        own = [shape for shape in self.shapes if getattr(shape, "body", "") == body]
        centers = [shape.at for shape in own if isinstance(shape, Center)]
        on_ground = [shape.center if isinstance(shape, Wheel) else shape.at for shape in own if isinstance(shape, Wheel | Blade)]
        if centers or on_ground:
            return (centers or on_ground)[0]
        boxes = [box for of, box in self._boxes if of == body]
        ends = [np.array(line) for shape in own if isinstance(shape, Link) for line in shape.frame]
        corners = np.concatenate(boxes or ends or [np.zeros((0, 3))])
        return (corners.min(axis=0) + corners.max(axis=0)) / 2 if len(corners) else None

    def fitted(self, poses: Poses) -> Scene:
        """The same with inertia ellipsoids limited in size: moments of inertia are often arbitrary."""
        rest = self.skeleton.points(poses)
        size = float(np.ptp(rest, axis=0).max()) if len(rest) else 0.0
        if size == 0.0:
            return self
        shapes = [_at_most(s, _LARGEST * size) if isinstance(s, InertiaEllipsoid) else s for s in self.shapes]
        return replace(self, shapes=tuple(shapes))


@lru_cache(maxsize=16)
def _bounding_boxes(solids: tuple[Solid, ...]) -> list[tuple[str, Array]]:
    """Corners of the boxes, by body; scenes of one mechanism share their solids."""
    found = []
    for mesh in (solid.mesh() for solid in solids):
        ends = np.stack([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])
        found.append((mesh.body, np.array(list(product(*ends.T)))))
    return found


def _at_most(ellipsoid: InertiaEllipsoid, length: float) -> InertiaEllipsoid:
    longest = float(np.linalg.norm(ellipsoid.axes, axis=0).max())
    return ellipsoid if longest <= length else replace(ellipsoid, axes=ellipsoid.axes * (length / longest))


def orthonormal_pair(axis: Array) -> tuple[Array, Array]:
    """Two unit vectors perpendicular to an axis and to each other."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, cross(axis, first)


def cross(a: Array, b: Array) -> Array:
    """The cross product of two vectors; NumPy's is made for arrays of many and takes ten times as long for one."""
    (a1, a2, a3), (b1, b2, b3) = a, b
    return np.array([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])
