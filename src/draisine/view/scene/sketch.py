"""Line drawings of a mechanism in parallel projections: bodies, wheels, axes, centers of mass, ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ArgumentError
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import PAGE, style
from draisine.view.scene.pen import Pen
from draisine.view.scene.projection import View, default_views, ground_patch, views_by_name
from draisine.view.scene.scene import Array, Poses, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN = 0.4  # inches around the drawing: labels, extended axes
_FOOT = 0.48  # below it: axes of the world, ruler, title
_GAP = 0.2
_NARROWEST, _TALLEST = 1.9, 3.6


def sketch(
    scene: Scene,
    poses: Poses,
    *,
    views: Sequence[str] | None = None,
    labels: bool = True,
    width: float = PAGE,
    remark: str = "",
    containing: Array | None = None,
) -> Figure:
    """A drawing of the scene at the given poses, with one scale in all views.

    Without names of views (side, front, top, three-quarter): the straight view that shows most, and a three-quarter view. You
    should see bodies as lines from joint to joint, thin lines to the centers of mass (quartered circles), axes of hinges
    dash-dotted or as small circles, constraints dashed, wheels with their contact points on the ground. `containing`: points in
    the world that the picture contains, for a common frame of several pictures.
    """
    scene = scene.fitted(poses)
    points = scene.points(poses)
    if not len(points):
        raise ArgumentError(f"{scene.name!r} has no bodies to draw")
    looks = views_by_name(views) if views is not None else default_views(scene, poses)
    points = points if containing is None else containing
    patch = ground_patch(scene, points)
    boxes = [_box(view, points, patch) for view in looks]
    scale = _scale([high - low for low, high in boxes], width)
    with style():
        sizes = [scale * (high - low) + 2 * _MARGIN for low, high in boxes]
        room = [max(float(size[0]), _NARROWEST) for size in sizes]
        height = max(float(size[1]) for size in sizes) + _FOOT
        drawing = new_figure(width, height, layout=None)
        left = (width - sum(room) - _GAP * (len(room) - 1)) / 2
        for view, (low, high), size, wide in zip(looks, boxes, sizes, room, strict=True):
            axes = drawing.add_axes((left / width, 0.0, wide / width, (size[1] + _FOOT) / height))
            axes.set_axis_off()
            middle = (low[0] + high[0]) / 2
            axes.set_xlim(middle - wide / scale / 2, middle + wide / scale / 2)
            bottom = low[1] - (_MARGIN + _FOOT) / scale
            axes.set_ylim(bottom, bottom + (size[1] + _FOOT) / scale)
            title = f"{view.title}{remark and '; '}{remark}"
            drawing.text((left + wide / 2) / width, 0.08 / height, title, ha="center", fontsize=8.0, color="#555555")
            Pen(axes, view, 72.0 * scale, scene, poses).draw(patch, labels)
            left += wide + _GAP
    return drawing


def _box(view: View, points: Array, patch: Array) -> tuple[Array, Array]:
    """Lower left and upper right corner on paper, in meters."""
    flat = view.flat(np.concatenate([points, patch]) if view.name == "three-quarter" else points)
    low, high = flat.min(axis=0), flat.max(axis=0)
    whole = max(float((high - low).max()), 1e-3)
    least = np.maximum(0.1 * whole - (high - low), 0.0) / 2  # a straight line is no picture
    return low - least, high + least


def _scale(sizes: list[Array], width: float) -> float:
    """Inches per meter."""
    room = width - _GAP * (len(sizes) - 1) - 2 * _MARGIN * len(sizes)
    return min(room / sum(float(size[0]) for size in sizes), _TALLEST / max(float(size[1]) for size in sizes))
