"""Parallel projections of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from draisine.errors import ArgumentError
from draisine.view.scene.scene import Array, Hinge, Poses, Scene

_AROUND = 0.12  # of the size: ground drawn around a mechanism
_LONG = 1.5  # ratio of length to width above which the side view is chosen
_FLAT = 0.2  # ratio of height to length below which the top view is chosen
_END_ON = 0.9  # cosine: hinges nearer to the view direction are seen as points


@dataclass(frozen=True, eq=False)
class View:
    """A view direction. `right` and `up` are the image axes in the world; `towards` points to the viewer."""

    name: str
    title: str
    right: Array
    up: Array

    @property
    def towards(self) -> Array:
        return np.cross(self.right, self.up)

    def flat(self, points: ArrayLike) -> Array:
        """Points (or directions), one per row, in the image plane."""
        return np.asarray(points, dtype=float) @ np.column_stack([self.right, self.up])

    def depth(self, points: ArrayLike) -> Array:
        """Distance towards the viewer."""
        return np.asarray(np.asarray(points, dtype=float) @ self.towards)


def _view_from(name: str, title: str, azimuth: float, elevation: float) -> View:
    """Seen from an azimuth (about z, from x) and an elevation, in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return View(name, title, right, np.cross(towards, right))


VIEWS = {
    view.name: view
    for view in (
        _view_from("side", "looking along y", -90.0, 0.0),
        _view_from("front", "looking along −x", 0.0, 0.0),
        _view_from("top", "from above", -90.0, 90.0),
        _view_from("three-quarter", "three-quarter view", -58.0, 18.0),
    )
}


def views_by_name(names: Sequence[str]) -> list[View]:
    """Views by name."""
    unknown = [name for name in names if name not in VIEWS]
    if unknown or not names:
        given = f"unknown view {unknown[0]!r}" if unknown else "no view given"
        raise ArgumentError(f"{given}; choose from {', '.join(VIEWS)}")
    return [VIEWS[name] for name in names]


def default_views(scene: Scene, poses: Poses) -> list[View]:
    """The straight view that shows most, and a three-quarter view.

    Flat mechanisms are seen from above, and so are those with upright hinges in one level, however high the given shapes of
    their bodies are; others along the direction that shows most length, or most hinges end-on.
    """
    axes = [poses[s.body].rotated(s.axis) for s in scene.shapes if isinstance(s, Hinge)]
    long, wide, high = _size(scene.skeleton, poses)
    upright = bool(axes) and all(abs(axis[2]) > _END_ON for axis in axes)
    if _is_flat(long, wide, high) or (upright and _is_flat(*_size(scene.lines, poses))):
        return views_by_name(("top", "three-quarter"))
    if max(long, wide) > _LONG * min(long, wide):
        return views_by_name(("side" if long > wide else "front", "three-quarter"))
    from_side, from_front = (sum(abs(axis[k]) > _END_ON for axis in axes) for k in (1, 0))
    return views_by_name(("front" if from_front > from_side else "side", "three-quarter"))


def _size(scene: Scene, poses: Poses) -> Array:
    """Length, width and height."""
    points = scene.points(poses)
    return np.ptp(points, axis=0) if len(points) else np.zeros(3)


def _is_flat(long: float, wide: float, high: float) -> bool:
    return high < _FLAT * max(long, wide)


def round_length(length: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten, from below.

    >>> round_length(0.7), round_length(3.0)
    (0.5, 2.0)
    """
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= length * (1 + 1e-9)))


def is_straight(scene: Scene, poses: Poses) -> bool:
    """Whether all points lie on one line, as of a stretched arm."""
    points = scene.skeleton.points(poses)
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) if len(points) else np.zeros(3)
    return bool(sizes[0] > 0 and sizes[1] < 1e-6 * sizes[0])


def ground_patch(scene: Scene, points: Array) -> Array:
    """Corners of a ground rectangle under the points; empty without ground contact."""
    if scene.normal is None:
        return np.zeros((0, 3))
    first, second = ground_axes(scene.normal)
    flat = points @ np.column_stack([first, second])
    size = float(np.ptp(flat, axis=0).max()) or float(np.abs(points).max())  # of what stands on one point, its height
    margin = _AROUND * (size or 1.0)
    low, high = flat.min(axis=0) - margin, flat.max(axis=0) + margin
    return np.array([a * first + b * second for a, b in ((low[0], low[1]), (high[0], low[1]), high, (low[0], high[1]))])


def ground_axes(normal: Array) -> tuple[Array, Array]:
    """Directions in the ground's plane: forward and to the left."""
    first = np.array([normal[2], 0.0, -normal[0]])
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)
