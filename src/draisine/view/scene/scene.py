"""What a mechanism looks like: shapes that are fixed in its bodies.

A `Scene` is made once from a description and numbers for its parameters (`shapes.scene_of`); poses of the bodies put it
anywhere, for a drawing of one instant or for as many as one likes. Coordinates of a shape are in the axes of its `body`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from draisine.view.scene.solids import Solid

Array = NDArray[np.float64]

_LARGEST = 0.3  # of the mechanism's size: half the length of a blob


@dataclass(frozen=True, eq=False)
class Pose:
    """Where a body is: its origin in the world, and the rotation from its axes to the world's."""

    position: Array
    rotation: Array

    def of(self, points: ArrayLike) -> Array:
        """Points of the body, one per row, in the world."""
        return np.asarray(points, dtype=float) @ self.rotation.T + self.position

    def turned(self, directions: ArrayLike) -> Array:
        return np.asarray(directions, dtype=float) @ self.rotation.T


Poses = Mapping[str, Pose]


@dataclass(frozen=True, eq=False)
class Link:
    """The lines of a body: `frame` from joint to joint, `arms` from there to the center of mass."""

    body: str
    frame: tuple[tuple[Array, Array], ...]
    arms: tuple[tuple[Array, Array], ...]


@dataclass(frozen=True, eq=False)
class Center:
    """A center of mass."""

    body: str
    at: Array


@dataclass(frozen=True, eq=False)
class Blob:
    """The ellipsoid with the body's moments of inertia, for a body that has no other extent. Columns are its half-axes."""

    body: str
    at: Array
    axes: Array


@dataclass(frozen=True, eq=False)
class Wheel:
    """A circle, or the circle of a tube's centers. `hinged`: another body carries it; else it rolls by itself."""

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
        first, second = across(self.axis)
        return pose.of(self.center + self.radius * (np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second)))

    def contact(self, pose: Pose, normal: Array) -> Array:
        """Its lowest point, in the world."""
        axis = pose.turned(self.axis)
        inward = normal - (normal @ axis) * axis
        size = float(np.linalg.norm(inward))
        down = -inward / size if size > 0 else np.zeros(3)
        return pose.of(self.center) + self.radius * down - self.tube * normal


@dataclass(frozen=True, eq=False)
class Hinge:
    """An axis, in the axes of the joint's parent; parent and child hold it at `ends`, places along it.

    `child_at` and `child_axis` are the same place and direction in the axes of the child.
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

    def held(self, pose: Pose) -> Array:
        """The two places where it is held, in the world."""
        return pose.of(self.at + np.outer(self.ends, self.axis))


@dataclass(frozen=True, eq=False)
class Ball:
    """A joint that turns in more than one way."""

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
    """A place where the ground holds a joint."""

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
    """Something that runs from place to place and has no mass: a tie, or a spring.

    The multiplier of the row named, times the factor, is the thrust with which it keeps its ends apart.
    """

    name: str
    places: tuple[tuple[str, Array], ...]  # body and point
    is_spring: bool
    row: str = ""
    factor: float = 0.0


@dataclass(frozen=True, eq=False)
class Closing:
    """A point of a body held at a place of another; multipliers of the rows named are the force on it, in the other's frame."""

    name: str
    body: str
    at: Array
    holder: str
    axes: Array  # columns: directions of the rows, in the holder's axes
    rows: tuple[str, ...]


Shape = Link | Center | Blob | Wheel | Hinge | Ball | Slide | Support | Blade | Mark | Cord | Closing


@dataclass(frozen=True, eq=False)
class Scene:
    """Shapes of a mechanism, and the unit normal of the ground that its wheels and blades touch (None: they touch none)."""

    name: str
    bodies: tuple[str, ...]
    shapes: tuple[Shape, ...]
    normal: Array | None
    solids: tuple[Solid, ...] = ()  # those that the description gives

    def points(self, poses: Poses) -> Array:
        """Everything that a picture must hold, in the world."""
        found: list[Array] = [np.zeros((0, 3)), *(poses[body].of(box) for body, box in self._boxes)]
        for shape in self.shapes:
            if isinstance(shape, Link):
                found += [poses[shape.body].of(np.array(line)) for line in (*shape.frame, *shape.arms)]
            elif isinstance(shape, Wheel):
                circle = shape.circle(poses[shape.body], 24)
                found += [circle] if shape.tube == 0 else [circle + shape.tube * step for step in (*np.eye(3), *-np.eye(3))]
            elif isinstance(shape, Blob):
                found.append(poses[shape.body].of(np.concatenate([shape.at + shape.axes.T, shape.at - shape.axes.T])))
            elif isinstance(shape, Hinge):
                found.append(shape.held(poses[shape.body]))
            elif isinstance(shape, Cord):
                found += [poses[body].of(at)[None, :] for body, at in shape.places]
            elif isinstance(shape, Slide):
                found.append(poses[shape.child].of(shape.block)[None, :])
            else:
                found.append((shape.at if isinstance(shape, Support) else poses[shape.body].of(shape.at))[None, :])
        return np.concatenate(found)

    @cached_property
    def _boxes(self) -> list[tuple[str, Array]]:
        """Corners of what is given, by body."""
        found = []
        for mesh in (solid.mesh() for solid in self.solids):
            ends = np.stack([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])
            found.append((mesh.body, np.array(list(product(*ends.T)))))
        return found

    @property
    def skeleton(self) -> Scene:
        """The same without blobs."""
        return replace(self, shapes=tuple(s for s in self.shapes if not isinstance(s, Blob)))

    def fitted(self, poses: Poses) -> Scene:
        """The same with blobs no larger than goes with the rest: moments of inertia are often chosen, and tell no size."""
        rest = self.skeleton.points(poses)
        size = float(np.ptp(rest, axis=0).max()) if len(rest) else 0.0
        if size == 0.0:
            return self
        shapes = [_at_most(s, _LARGEST * size) if isinstance(s, Blob) else s for s in self.shapes]
        return replace(self, shapes=tuple(shapes))


def _at_most(blob: Blob, length: float) -> Blob:
    longest = float(np.linalg.norm(blob.axes, axis=0).max())
    return blob if longest <= length else replace(blob, axes=blob.axes * (length / longest))


def across(axis: Array) -> tuple[Array, Array]:
    """Two unit vectors that stand on an axis and on each other."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
