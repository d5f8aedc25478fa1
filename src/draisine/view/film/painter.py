"""Rendering of footage by Matplotlib: triangles in perspective in painter's order, with one light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draisine.view.film.footage import Footage, force_scale
from draisine.view.plots.style import COLORS
from draisine.view.scene.projection import ground_axes, round_length
from draisine.view.scene.scene import Array, Cord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LAMP = np.array([0.35, -0.5, 0.79])
_SHADOW, _GROUND, _GRID, _FORCE = "#CFCEC8", "#EFEEEA", "#D3D2CC", "#C2185B"
_AROUND = 30.0  # of the extent: ground that is drawn
_NEAR = 0.05


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera: eye, target, and tangent of half the vertical field of view."""

    eye: Array
    target: Array
    half: float = 0.27

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the viewer."""
        towards = (self.eye - self.target) / np.linalg.norm(self.eye - self.target)
        right = np.cross([0.0, 0.0, 1.0], towards)
        right /= np.linalg.norm(right)
        return np.array([right, np.cross(towards, right), towards])

    def flat(self, points: Array) -> tuple[Array, Array]:
        """Image coordinates, with height from −1 to 1, and depths."""
        seen = (points - self.eye) @ self.axes.T
        depth = -seen[..., 2]
        return seen[..., :2] / (self.half * np.maximum(depth, _NEAR))[..., None], depth

    @staticmethod
    def beside(take: Footage, k: int, near: float = 1.0) -> Camera:
        """Three-quarter view from the front; it follows a mechanism that travels. `near`: of the usual distance."""
        travels = float(np.ptp(take.center, axis=0).max()) > 3 * take.extent
        middle = take.center[k] if travels else (take.center.min(axis=0) + take.center.max(axis=0)) / 2
        reach = take.extent if travels else take.extent + float(np.ptp(take.center, axis=0).max()) / 2
        middle = middle + [0.0, 0.0, 0.1 * reach]  # the center lies low in vehicles
        way = np.array([0.62, -1.0, 0.42])
        return Camera(middle + 4.2 * near * reach * way / np.linalg.norm(way), middle)


def paint(axes: Axes, takes: tuple[Footage, ...], k: int, camera: Camera, layers: tuple[str, ...] = ()) -> None:
    """Draw the takes at their k-th instant; axes from −aspect to aspect and −1 to 1."""
    main = takes[0]
    ground, scale = _plane(main), force_scale(takes)
    _draw_ground(axes, main, camera, ground)
    _shadow(axes, main, k, camera, ground)
    for rank, take in enumerate(takes):
        at = min(k, len(take.times) - 1)
        for j, track in enumerate(take.tracks.values()):
            color = COLORS[j % 6] if rank == 0 else "#B9A3B3"
            _line(axes, camera, track[: at + 1], color, 1.6 if rank == 0 else 1.0)
    for rank, take in reversed(list(enumerate(takes))):
        at = min(k, len(take.times) - 1)
        _solids(axes, take, at, camera, ghost=rank > 0)
        _cords(axes, take, at, camera, 0.35 if rank else 1.0)
        _contacts(axes, take, at, camera, 0.35 if rank else 1.0)
        if "forces" in layers:
            _forces(axes, take, at, camera, scale, 0.35 if rank else 1.0)


def _plane(take: Footage) -> tuple[Array, Array]:
    """A point and the unit normal of the ground, or of a floor below mechanisms without contact."""
    if take.ground is not None:
        g = take.ground
        along = (g.heights[-1, 0] - g.heights[0, 0]) / (g.x[-1] - g.x[0])
        across = (g.heights[0, -1] - g.heights[0, 0]) / (g.y[-1] - g.y[0])
        normal = np.array([-along, -across, 1.0])
        return np.array([g.x[0], g.y[0], g.heights[0, 0]]), normal / np.linalg.norm(normal)
    some = range(0, len(take.times), max(1, len(take.times) // 40))
    low = min(float(take.scene.points(take.poses(j))[:, 2].min()) for j in some)
    return np.array([0.0, 0.0, low - 0.05 * take.extent]), np.array([0.0, 0.0, 1.0])


def _draw_ground(axes: Axes, take: Footage, camera: Camera, ground: tuple[Array, Array]) -> None:
    from matplotlib.collections import LineCollection

    if take.ground is not None and take.ground.heights.shape != (2, 2):
        g = take.ground
        surface = np.stack([*np.meshgrid(g.x, g.y, indexing="ij"), g.heights], axis=-1)
        every = max(1, len(g.x) // 40)
        lines = [*surface[::every], *np.swapaxes(surface, 0, 1)[::every]]
        pieces = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
    else:
        at, normal = ground
        first, second = ground_axes(normal)
        foot = camera.target - ((camera.target - at) @ normal) * normal
        basis = np.column_stack([first, second])
        step, reach = round_length(0.6 * take.extent), _AROUND * take.extent
        middle = np.round((foot @ basis) / step) * step
        offsets = np.arange(-reach, reach + step, step)
        ends = np.stack(np.broadcast_arrays(offsets[:, None], np.array([-reach, reach])), axis=-1)
        grid = np.concatenate([ends, ends[..., ::-1]]) + middle
        pieces = foot - basis @ (foot @ basis) + grid @ basis.T
    axes.set_facecolor(_GROUND)
    axes.add_collection(LineCollection(list(_before(camera, pieces)), colors=_GRID, linewidths=0.6, zorder=1), autolim=False)


def _before(camera: Camera, pieces: Array) -> Array:
    """The parts of straight pieces, (m, 2, 3), that are before the camera, in image coordinates, (n, 2, 2)."""
    _, depth = camera.flat(pieces)
    pieces, depth = (table[depth.max(axis=1) > _NEAR] for table in (pieces, depth))
    behind = depth < _NEAR  # at most one end of each
    share = np.where(behind, _NEAR - depth, 0.0) / np.where(behind, depth[:, ::-1] - depth, 1.0)
    return camera.flat(pieces + share[..., None] * (pieces[:, ::-1] - pieces))[0]


def _world(take: Footage, k: int) -> tuple[Array, Array]:
    """Corners of all triangles, (m, 3, 3), and their colors, (m, 3)."""
    from matplotlib.colors import to_rgb

    corners, colors = [], []
    for mesh in take.meshes:
        points = mesh.vertices @ take.rotations[mesh.body][k].T + take.positions[mesh.body][k]
        corners.append(points[mesh.triangles])
        colors.append(np.tile(to_rgb(mesh.color), (len(mesh.triangles), 1)))
    return (np.concatenate(corners), np.concatenate(colors)) if corners else (np.zeros((0, 3, 3)), np.zeros((0, 3)))


def _shadow(axes: Axes, take: Footage, k: int, camera: Camera, ground: tuple[Array, Array]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if take.ground is not None and take.ground.heights.shape != (2, 2):
        return
    corners, _ = _world(take, k)
    lit = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) @ _LAMP > 0  # back faces cast the same shadow
    corners = corners[lit]
    at, normal = ground
    height = (corners - at) @ normal
    fallen = corners - (height / (_LAMP @ normal))[..., None] * _LAMP
    flat, _ = camera.flat(fallen)
    # one path: its triangles all run the same way round, so that it is filled where one of them is
    outline = Path(flat.reshape(-1, 2), np.tile([Path.MOVETO, Path.LINETO, Path.LINETO], len(flat)).astype(Path.code_type))
    axes.add_artist(PathPatch(outline, facecolor=_SHADOW, linewidth=0, antialiased=False, zorder=2))


def _solids(axes: Axes, take: Footage, k: int, camera: Camera, *, ghost: bool) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    corners, colors = _world(take, k)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    facing = np.einsum("mi,mi->m", normals, camera.eye - corners.mean(axis=1)) > 0
    kept = facing & (size > 0)
    corners, colors, normals = corners[kept], colors[kept], normals[kept] / size[kept, None]
    light = 0.62 + 0.38 * np.clip(normals @ _LAMP, -0.6, 1.0)
    flat, depth = camera.flat(corners)
    order = np.argsort(-depth.mean(axis=1))
    shade = np.clip(colors * light[:, None] + 0.04, 0, 1)
    if ghost:
        shade = 0.35 * np.array(to_rgb("#CC79A7")) + 0.65 * np.array(to_rgb(_GROUND)) + 0 * shade
    paint = shade[order]
    # in one array: Matplotlib would turn triangles of a list into paths one by one, in four times the time
    polygons = PolyCollection(flat[order], facecolors=paint, edgecolors=paint, linewidths=0.25, zorder=4 if ghost else 5)  # type: ignore[arg-type]
    axes.add_collection(polygons, autolim=False)


def _line(axes: Axes, camera: Camera, points: Array, color: str, width: float, alpha: float = 1.0, layer: float = 3) -> None:
    flat, depth = camera.flat(points)
    flat = np.where((depth > _NEAR)[:, None], flat, np.nan)
    axes.plot(*flat.T, color=color, linewidth=width, alpha=alpha, zorder=layer, solid_capstyle="round")


def _cords(axes: Axes, take: Footage, k: int, camera: Camera, alpha: float) -> None:
    for cord in (s for s in take.scene.shapes if isinstance(s, Cord)):
        ends = np.array([take.rotations[body][k] @ at + take.positions[body][k] for body, at in cord.ends])
        _line(axes, camera, ends, "#6B7077", 1.4, alpha, 5.5)


def _contacts(axes: Axes, take: Footage, k: int, camera: Camera, alpha: float) -> None:
    """Dots at closed contacts, in the colors of their modes."""
    for contact in take.contacts:
        flat, depth = camera.flat(contact.at[k])
        if contact.colors[k] and depth > _NEAR:
            axes.plot(*flat, "o", color=contact.colors[k], markersize=7, markeredgecolor="white", alpha=alpha, zorder=5.8)


def _forces(axes: Axes, take: Footage, k: int, camera: Camera, scale: float, alpha: float) -> None:
    for force in take.forces if scale > 0 else ():
        ends = np.array([force.at[k], force.at[k] + scale * force.vector[k]])
        if not np.isfinite(ends).all():
            continue
        flat, _ = camera.flat(ends)
        arrow = {"arrowstyle": "-|>,head_width=0.25,head_length=0.5", "color": _FORCE, "linewidth": 2.0, "alpha": alpha}
        axes.annotate("", flat[1], flat[0], arrowprops={**arrow, "shrinkA": 0.0, "shrinkB": 0.0}, zorder=6)
