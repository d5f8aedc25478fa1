"""Drawing of one view of a scene on Matplotlib axes; sizes of symbols are in points.

Imported by `sketch` when a sketch is drawn, since it needs Matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, Ellipse, PathPatch, Polygon, Wedge
from matplotlib.path import Path

from draisine.view.plots.labels import display_name
from draisine.view.plots.style import FAINT, INK, body_colors
from draisine.view.scene.projection import View, ground_axes, round_length
from draisine.view.scene.scene import (
    Array,
    Ball,
    Blade,
    Center,
    Cord,
    Hinge,
    InertiaEllipsoid,
    Link,
    Mark,
    Poses,
    Scene,
    Slide,
    Support,
    Wheel,
    orthonormal_pair,
)
from draisine.view.scene.solids import facing, joined, outline

_TIRE, _SPOKE, _GROUND = "#3A3A3A", "#C4C4C4", "#9A9A9A"
_PAPER, _LOW, _LINES, _JOINTS, _TOP = 0.5, 1.0, 3.0, 5.0, 7.0  # layers
_SPOKES = 6
_AXIS_DASHES = (0, (7, 2, 1.5, 2))


class Pen:
    """Draws a scene in one view. `scale` is in points per meter; symbols have a fixed size in points."""

    def __init__(self, axes: Axes, view: View, scale: float, scene: Scene, poses: Poses) -> None:
        self.axes, self.view, self.scale = axes, view, scale
        self.scene, self.poses = scene, poses
        self.centers = [poses[s.body].of(s.at) for s in scene.shapes if isinstance(s, Center)]
        self.color = body_colors(scene.bodies) | {"ground": INK}
        self.filled: list[Array] = []  # drawn points, which labels avoid
        self.written: list[tuple[Array, float, float]] = []  # labels: center, width, height

    def draw(self, patch: Array, labels: bool) -> None:
        """Draw everything; `patch` holds the corners of the visible ground."""
        self._ground(patch)
        self._solids()
        hands: dict[type, Callable[..., None]] = {
            Wheel: self._wheel,
            InertiaEllipsoid: self._ellipsoid,
            Link: self._link,
            Cord: self._cord,
            Slide: self._slide,
            Hinge: self._hinge,
            Ball: self._ball,
            Support: self._support,
            Blade: self._blade,
            Mark: self._mark,
            Center: self._center,
        }
        for kind, hand in hands.items():
            for shape in (s for s in self.scene.shapes if isinstance(s, kind)):
                hand(shape)
        if self.scene.normal is not None:
            for wheel in (s for s in self.scene.shapes if isinstance(s, Wheel)):
                self._dot(wheel.contact(self.poses[wheel.body], self.scene.normal), 1.6, INK, _TOP)
        self._triad()
        self._ruler()
        if labels:
            self._labels()

    # ---------------------------------------------------------------- strokes

    def _size(self, points: Any) -> Any:
        """Meters on paper."""
        return points / self.scale

    def _line(self, points: Array, color: str, width: float, layer: float, **more: Any) -> None:
        flat = self.view.flat(points)
        self.axes.plot(*flat.T, color=color, linewidth=width, zorder=layer, clip_on=False, **more)
        self._fill(flat)

    def _fill(self, flat: Array) -> None:
        """Record drawn points along a line, for the placement of labels."""
        for a, b in pairwise(flat):
            count = int(np.linalg.norm(b - a) / self._size(5.0)) + 2
            self.filled.append(a + np.linspace(0.0, 1.0, count)[:, None] * (b - a))

    def _dot(self, point: Array, radius: float, color: str, layer: float, edge: str | None = None) -> None:
        center = self.view.flat(point)
        self.axes.add_patch(
            Circle(tuple(center), self._size(radius), facecolor=color, edgecolor=edge or color, linewidth=0.9, zorder=layer)
        )
        self.filled.append(center[None, :])

    def _near(self, point: Array) -> float:
        """Order inside a layer, by depth."""
        return float(1.0 / (1.0 + np.exp(-self.view.depth(point))))

    def _solids(self) -> None:
        """Solids that the description gives: filled faintly, with their outlines."""
        for mesh in joined([solid.mesh() for solid in self.scene.solids]):
            pose = self.poses[mesh.body]
            towards = pose.rotation.T @ self.view.towards
            layer = _PAPER + 0.4 * self._near(pose.of(mesh.vertices.mean(axis=0)))
            # visible faces have one orientation in projection, so that one path fills their union
            faces = self.view.flat(pose.of(mesh.vertices))[facing(mesh, towards)]
            corners = np.concatenate([faces, faces[:, :1]], axis=1).reshape(-1, 2)
            codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(faces))
            self.axes.add_patch(PathPatch(Path(corners, codes), facecolor=_paler(mesh.color), edgecolor="none", zorder=layer))
            lines = outline(mesh, towards)
            strokes = Path(self.view.flat(pose.of(lines.reshape(-1, 3))), np.tile([Path.MOVETO, Path.LINETO], len(lines)))
            self.axes.add_patch(PathPatch(strokes, fill=False, edgecolor=mesh.color, linewidth=0.6, zorder=layer + 0.05))

    # ---------------------------------------------------------------- ground, axes of the world, ruler

    def _ground(self, patch: Array) -> None:
        """A line if seen edge-on, a patch if seen obliquely, nothing from above."""
        if self.scene.normal is None:
            return
        seen = float(self.scene.normal @ self.view.towards)
        if abs(seen) < 0.02:
            self._ground_line(self.scene.normal)
        elif seen < 0.95:
            self._ground_grid(patch, self.scene.normal)

    def _ground_line(self, normal: Array) -> None:
        """The ground seen edge-on, hatched below."""
        up = self.view.flat(normal)
        along = np.array([up[1], -up[0]]) * np.sign(up[1])
        low, high = self.axes.get_xlim()
        ends = [along * (x / along[0]) for x in (low + self._size(8), high - self._size(8))]
        self.axes.plot(*np.array(ends).T, color=_GROUND, linewidth=1.1, zorder=_PAPER)
        reach = np.linalg.norm(ends[1] - ends[0])
        for place in np.arange(self._size(6), reach, self._size(7)):
            begin = ends[0] + along * place
            end = begin - along * self._size(5) - up * self._size(5)
            self.axes.plot(*np.array([begin, end]).T, color=_GROUND, linewidth=0.6, zorder=_PAPER)

    def _ground_grid(self, patch: Array, normal: Array) -> None:
        """A patch of squares under the mechanism."""
        basis = np.column_stack(ground_axes(normal))
        self.axes.add_patch(Polygon(self.view.flat(patch), facecolor="#F4F4F2", edgecolor="none", zorder=_PAPER))
        low, high = patch[0] @ basis, patch[2] @ basis
        step = round_length(0.3 * float((high - low).max()))
        for k in (0, 1):
            for place in np.arange(np.ceil(low[k] / step) * step, high[k], step):
                ends = np.array([low, high])
                ends[:, k] = place
                self.axes.plot(*self.view.flat(ends @ basis.T).T, color="#DCDCD8", linewidth=0.6, zorder=_PAPER)

    def _triad(self) -> None:
        """The world's axes, in the lower left corner."""
        corner = np.array([self.axes.get_xlim()[0], self.axes.get_ylim()[0]]) + self._size(np.array([12.0, 26.0]))
        for name, axis in zip("xyz", np.eye(3), strict=True):
            tip = self.view.flat(axis) * self._size(17)
            if np.linalg.norm(tip) < self._size(3):
                continue
            arrow = {"arrowstyle": "-|>,head_width=0.12,head_length=0.25", "color": FAINT, "linewidth": 0.7, "shrinkA": 0.0}
            self.axes.annotate("", corner + tip, corner, arrowprops={**arrow, "shrinkB": 0.0}, annotation_clip=False)
            place = corner + tip * (1 + self._size(6) / np.linalg.norm(tip))
            self.axes.text(
                float(place[0]), float(place[1]), name, fontsize=7, color=FAINT, ha="center", va="center", style="italic"
            )

    def _ruler(self) -> None:
        """A scale bar in the lower right corner."""
        length = round_length(self._size(54))
        right, low = self.axes.get_xlim()[1] - self._size(6), self.axes.get_ylim()[0] + self._size(24)
        self.axes.plot([right - length, right], [low, low], color=FAINT, linewidth=1.0, solid_capstyle="butt", clip_on=False)
        for end in (right - length, right):
            self.axes.plot([end, end], [low - self._size(2), low + self._size(2)], color=FAINT, linewidth=0.8, clip_on=False)
        self.axes.text(right - length / 2, low + self._size(3), f"{length:g} m", fontsize=7, color=FAINT, ha="center")

    # ---------------------------------------------------------------- bodies

    def _wheel(self, wheel: Wheel) -> None:
        pose = self.poses[wheel.body]
        circle = wheel.circle(pose)
        flat = self.view.flat(circle)
        layer = _LOW + self._near(pose.of(wheel.center))
        self.axes.add_patch(Polygon(flat, facecolor=self.color[wheel.body], alpha=0.07, edgecolor="none", zorder=layer))
        first, second = orthonormal_pair(wheel.axis)
        for angle in np.arange(_SPOKES) * np.pi / _SPOKES if wheel.hinged else [0.0]:
            spoke = wheel.radius * (np.cos(angle) * first + np.sin(angle) * second)
            ends = pose.of([wheel.center - spoke, wheel.center + spoke])
            self.axes.plot(*self.view.flat(ends).T, color=_SPOKE, linewidth=0.5, zorder=layer)
        tube = 2 * wheel.tube * self.scale
        if tube > 2.0:  # outline of a tube: a wide line with a lighter one inside
            self.axes.plot(*flat.T, color=_TIRE, linewidth=tube + 1.0, zorder=layer)
            self.axes.plot(*flat.T, color="#EDEDED", linewidth=tube - 1.0, zorder=layer)
        self._line(circle, _TIRE if tube <= 2.0 else FAINT, 1.8 if tube <= 2.0 else 0.6, layer)

    def _ellipsoid(self, blob: InertiaEllipsoid) -> None:
        pose = self.poses[blob.body]
        half = self.view.flat(pose.rotated(blob.axes.T))  # the half-axes on paper, one per row
        directions, sizes, _ = np.linalg.svd(half.T)
        angle = float(np.degrees(np.arctan2(directions[1, 0], directions[0, 0])))
        color = self.color[blob.body]
        middle, layer = pose.of(blob.at), _LOW + self._near(pose.of(blob.at))
        for fill, alpha in ((color, 0.10), ("none", 1.0)):
            ellipse = Ellipse(tuple(self.view.flat(middle)), 2 * sizes[0], 2 * sizes[1], angle=angle, zorder=layer, alpha=alpha)
            ellipse.set(facecolor=fill, edgecolor=color, linewidth=1.2)
            self.axes.add_patch(ellipse)

    def _link(self, link: Link) -> None:
        pose, color = self.poses[link.body], self.color[link.body]
        for line in link.arms:
            self._line(pose.of(np.array(line)), color, 1.0, _LINES)
        for line in link.frame:
            self._line(pose.of(np.array(line)), color, 2.6, _LINES + 0.5 * self._near(pose.of(line[0])))

    def _center(self, center: Center) -> None:
        """The quartered circle."""
        at, radius = self.view.flat(self.poses[center.body].of(center.at)), self._size(4.2)
        near = _TOP + self._near(self.poses[center.body].of(center.at))
        self.axes.add_patch(Circle(tuple(at), radius, facecolor="white", edgecolor=INK, linewidth=0.8, zorder=near))
        for begin in (0, 180):
            self.axes.add_patch(Wedge(tuple(at), radius, begin, begin + 90, facecolor=INK, edgecolor="none", zorder=near))
        self.filled.append(at + radius * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]))

    # ---------------------------------------------------------------- joints

    def _hinge(self, hinge: Hinge) -> None:
        pose = self.poses[hinge.body]
        ends = hinge.end_points(pose)
        axis = self.view.flat(pose.rotated(hinge.axis))
        if np.linalg.norm(axis) < 0.15:
            self._dot(ends[1], 3.0, "white", _JOINTS, INK)
            return
        reach = self._size(13.0 if not hinge.of_wheel else 8.0) / float(np.linalg.norm(axis))
        low, high = min(hinge.ends) - reach, max(hinge.ends) + reach
        low, high = min(low, self._to_ground(hinge, low)), max(high, self._to_ground(hinge, high))
        line = pose.of(hinge.at + np.outer([low, high], hinge.axis))
        self._line(line, INK, 0.8, _JOINTS - 0.5, linestyle=_AXIS_DASHES)
        if np.linalg.norm(self.view.flat(ends[1] - ends[0])) > self._size(3.0):
            self._line(ends, "#777777", 3.4, _LINES - 0.2)
        for end in ends if not hinge.of_wheel else ends[:0]:
            self._dot(end, 1.9, "white", _JOINTS, INK)

    def _to_ground(self, hinge: Hinge, otherwise: float) -> float:
        """Intersection of the axis with the ground, as of a steer axis; none for level axes."""
        if self.scene.normal is None or hinge.of_wheel:
            return otherwise
        pose = self.poses[hinge.body]
        sinking = float(pose.rotated(hinge.axis) @ self.scene.normal)
        return -float(pose.of(hinge.at) @ self.scene.normal) / sinking if abs(sinking) > 0.5 else otherwise

    def _ball(self, ball: Ball) -> None:
        at = self.poses[ball.body].of(ball.at)
        self._dot(at, 3.4, "white", _JOINTS, INK)
        self._dot(at, 1.5, INK, _JOINTS + 0.1)

    def _slide(self, slide: Slide) -> None:
        """A rail through the block, and the block as a box along it."""
        pose, block = self.poses[slide.body], self.poses[slide.child].of(slide.block)
        axis = pose.rotated(slide.axis)
        reach = self._size(26.0)
        self._line(np.array([block - reach * axis, block + reach * axis]), _GROUND, 1.1, _LOW + 0.9)
        along = self.view.flat(axis)
        size = np.linalg.norm(along)
        along = along / size if size > 0.15 else np.array([1.0, 0.0])
        aside = np.array([-along[1], along[0]])
        half, high = self._size(11.0) * max(size, 0.5) * along, self._size(6.0) * aside
        middle = self.view.flat(block)
        corners = np.array([middle - half - high, middle + half - high, middle + half + high, middle - half + high])
        color = self.color[slide.child]
        self.axes.add_patch(Polygon(corners, facecolor="white", edgecolor=color, linewidth=1.6, zorder=_LINES - 0.1))
        self._fill(corners)

    def _support(self, support: Support) -> None:
        """A triangle that stands on hatched ground."""
        tip, a = self.view.flat(support.at), self._size(6.0)
        feet = tip + np.array([[-a, -1.5 * a], [a, -1.5 * a]])
        self.axes.add_patch(Polygon([tip, *feet], facecolor="white", edgecolor=_GROUND, linewidth=0.9, zorder=_LINES - 0.5))
        base = np.array([feet[0] - [a / 2, 0], feet[1] + [a / 2, 0]])
        self.axes.plot(*base.T, color=_GROUND, linewidth=1.0, zorder=_LINES - 0.5)
        for x in np.linspace(base[0, 0] + a / 2, base[1, 0], 5):
            self.axes.plot([x, x - a / 2], [base[0, 1], base[0, 1] - a / 2], color=_GROUND, linewidth=0.6, zorder=_LINES - 0.5)
        self._fill(np.array([tip, *feet]))

    def _blade(self, blade: Blade) -> None:
        """A short bar along the edge."""
        pose = self.poses[blade.body]
        at, along = pose.of(blade.at), pose.rotated(blade.along)
        half = self._size(11.0)
        self._line(np.array([at - half * along, at + half * along]), _TIRE, 4.2, _JOINTS - 0.2, solid_capstyle="butt")

    def _is_hidden(self, mark: Mark) -> bool:
        """Whether a center of mass is drawn at the same point."""
        at = self.poses[mark.body].of(mark.at)
        return any(np.linalg.norm(at - center) < self._size(3.0) for center in self.centers)

    def _mark(self, mark: Mark) -> None:
        if self._is_hidden(mark):
            return
        at = self.view.flat(self.poses[mark.body].of(mark.at))
        arm = self._size(3.0)
        for step in (np.array([arm, arm]), np.array([arm, -arm])):
            self.axes.plot(*np.array([at - step, at + step]).T, color=INK, linewidth=0.9, zorder=_TOP)
        self.filled.append(at[None, :])

    def _cord(self, cord: Cord) -> None:
        ends = np.array([self.poses[body].of(at) for body, at in cord.ends])
        if not cord.is_spring:
            self._line(ends, INK, 1.0, _LINES + 0.8, linestyle=(0, (4, 2.5)))
            for end in ends:
                self._dot(end, 1.7, INK, _JOINTS)
            return
        flat = self.view.flat(ends)
        way = flat[1] - flat[0]
        length = float(np.linalg.norm(way))
        if length < self._size(6.0):
            return
        aside = np.array([-way[1], way[0]]) / length * self._size(3.2)
        count = max(int(length / self._size(5.0)) | 1, 5)
        fractions = np.linspace(0.15, 0.85, count)
        zigzag = [flat[0] + p * way + (0 if k in (0, count - 1) else (-1) ** k) * aside for k, p in enumerate(fractions)]
        self.axes.plot(*np.array([flat[0], *zigzag, flat[1]]).T, color=INK, linewidth=0.8, zorder=_LINES + 0.8)
        self._fill(flat)

    # ---------------------------------------------------------------- names

    def _labels(self) -> None:
        """Names of bodies beside their centers of mass, or what else is seen of them, where they cover least."""
        for body in self.scene.bodies:
            at = self.scene.place_of_name(body)
            if at is not None:
                self._label(self.view.flat(self.poses[body].of(at)), display_name(body), self.color[body])
        for mark in (s for s in self.scene.shapes if isinstance(s, Mark)):
            at = self.view.flat(self.poses[mark.body].of(mark.at))
            if not self._is_hidden(mark):
                self._label(at, display_name(mark.name), INK)

    def _label(self, at: Array, text: str, color: str) -> None:
        width, height = self._size(4.3 * len(text)), self._size(7.5)
        ink = np.concatenate(self.filled)
        (x0, x1), (y0, y1) = self.axes.get_xlim(), self.axes.get_ylim()
        y0 += self._size(36.0)  # space for the world axes and the scale bar
        best: tuple[float, Array] | None = None
        for rank, angle in enumerate(np.radians([30, -30, 150, -150, 90, -90, 0, 180, 60, 120])):
            for far in (8.0, 13.0, 19.0):
                way = np.array([np.cos(angle), np.sin(angle)])
                middle = at + way * (self._size(far) + np.abs(way) * np.array([width, height]) / 2)
                inside = np.abs(ink - middle) < np.array([width, height]) / 2 + self._size(1.5)
                hidden = float(np.count_nonzero(inside.all(axis=1))) + 20 * self._covered(middle, width, height)
                outside = max(x0 - middle[0] + width / 2, middle[0] + width / 2 - x1, y0 - middle[1], middle[1] - y1, 0.0)
                cost = 3 * hidden + 0.08 * far + 0.05 * rank + 40 * float(outside) / (x1 - x0)
                if best is None or cost < best[0]:
                    best = (cost, middle)
        assert best is not None
        middle = best[1]
        behind = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.4}
        self.axes.text(
            float(middle[0]),
            float(middle[1]),
            text,
            fontsize=7.5,
            color=color,
            ha="center",
            va="center",
            zorder=_TOP + 2,
            bbox=behind,
        )
        self.written.append((middle, width, height))

    def _covered(self, middle: Array, width: float, height: float) -> int:
        """Number of labels that a label there would cover."""
        return sum(
            abs(middle[0] - other[0]) < (width + wide) / 2 and abs(middle[1] - other[1]) < (height + high) / 2
            for other, wide, high in self.written
        )


def _paler(color: str) -> tuple[float, ...]:
    """A light tint of a color."""
    return tuple(1 - 0.18 * (1 - part) for part in to_rgb(color))
