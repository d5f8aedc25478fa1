"""Ground tracks: a run seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.results.trajectory import Trajectory
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import display_name, legend_above
from draisine.view.plots.style import COLORS, INK, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NARROWEST = 0.22  # of the longer side: least height of a straight path
_AT_REST = 1e-9  # meters


def track_figure(
    run: Trajectory, points: Sequence[str] | None = None, *, snapshots: float | None = 0.5, width: float = PAGE
) -> Figure:
    """Tracks of points seen from above, x to the right and y up, equal scales.

    A point is named by the stem of its channels `_x` and `_y`: `"rear_wheel_contact"`; `"rear_wheel"` finds its contact too.
    Without names: all wheel contacts, otherwise every point that has both, otherwise the coordinates x and y. With two points
    or more the vehicle is drawn every `snapshots` seconds as a line from the first point to the last (Mauny, Porez & Boyer
    2017, figure 4); `None` leaves that out.

    You should see the front track outside the rear one in a turn, a circle for the start, a disc for the end, and snapshots
    evenly spaced at constant speed.
    """
    if snapshots is not None and not snapshots > 0:
        raise ArgumentError(
            f"snapshots is the time between two drawings of the vehicle in seconds, got {snapshots}; None for none"
        )
    tracks = _tracks(run, points)
    with style():
        drawing, (axes,) = panels(1, width, width)
        for (name, track), color in zip(tracks.items(), _colors(len(tracks)), strict=True):
            axes.plot(*track.T, color=color, label=display_name(name) or "(x, y)", linewidth=1.1, zorder=2)
            axes.plot(*track[0], "o", color=color, markerfacecolor="white", markersize=5, zorder=4)
            axes.plot(*track[-1], "o", color=color, markersize=5, zorder=4)
        if len(tracks) > 1 and snapshots is not None:
            _draw_snapshots(axes, run, list(tracks), snapshots)
        axes.plot([], [], "o", color=INK, markerfacecolor="white", markersize=5, label="start")
        axes.plot([], [], "o", color=INK, markersize=5, label="end")
        _set_equal_axes(axes, tracks)
        rows = legend_above(axes, width)
        drawing.set_figheight(_height(tracks, width) + 0.6 + 0.17 * rows)
    return drawing


def _tracks(run: Trajectory, points: Sequence[str] | None) -> dict[str, NDArray[np.float64]]:
    if isinstance(points, str):
        points = (points,)
    stems = [_stem(run, point) for point in points] if points else _all_points(run)
    found = {stem: np.column_stack([run[name] for name in _axes_of(stem)]) for stem in stems}
    visible = {stem: track[np.isfinite(track).all(axis=1)] for stem, track in found.items()}
    empty = [stem for stem, track in visible.items() if not len(track)]
    if empty:
        raise ArgumentError(f"the point {empty[0]!r} of {run.model!r} has no finite position to draw")
    return visible


def _axes_of(stem: str) -> tuple[str, str]:
    return (f"{stem}_x", f"{stem}_y") if stem else ("x", "y")


def _stem(run: Trajectory, point: str) -> str:
    for stem in (point, f"{point}_contact"):
        if all(name in run for name in _axes_of(stem)):
            return stem
    known = ", ".join(_candidates(run)) or "none"
    raise UnknownNameError(f"the run of {run.model!r} has no {point}_x and {point}_y to draw; points it has: {known}")


def _candidates(run: Trajectory) -> list[str]:
    return [name[:-2] for name in run.names() if name.endswith("_x") and f"{name[:-2]}_y" in run and len(name) > 2]


def _all_points(run: Trajectory) -> list[str]:
    candidates = _candidates(run)
    contacts = [stem for stem in candidates if stem.endswith("_contact")]
    if contacts or candidates:
        return contacts or candidates
    if "x" in run and "y" in run:
        return [""]
    raise ArgumentError(f"the run of {run.model!r} has no points to draw: no pair of channels ends in _x and _y")


def _colors(count: int) -> list[str]:
    return [COLORS[i % len(COLORS)] for i in range(count)]


def _draw_snapshots(axes: Axes, run: Trajectory, stems: list[str], every: float) -> None:
    from matplotlib.collections import LineCollection

    start, end = sorted((float(run.time[0]), float(run.time[-1])))
    # tolerance for rounding, so that a snapshot at the end is included
    instants = np.minimum(np.arange(start, end + 1e-9 * every, every), end)
    values = run.interpolated(instants)
    ends = [np.column_stack([values[name] for name in _axes_of(stem)]) for stem in (stems[0], stems[-1])]
    axes.add_collection(LineCollection(list(np.stack(ends, axis=1)), colors=INK, linewidths=2.0, alpha=0.75, zorder=3))
    axes.plot([], [], color=INK, linewidth=2.0, alpha=0.75, label=f"every {every:g} s")


def _box(tracks: dict[str, NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Center and size of the panel in meters; never higher than wide."""
    everything = np.concatenate(list(tracks.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    longest = float((high - low).max())
    if longest < _AT_REST:
        return (low + high) / 2, np.array([2.0, 1.0])
    across, up = np.maximum(1.08 * (high - low), _NARROWEST * longest)
    return (low + high) / 2, np.array([max(across, up), up])


def _height(tracks: dict[str, NDArray[np.float64]], width: float) -> float:
    """Inches of panel for equal scales."""
    _, (across, up) = _box(tracks)
    return float((width - 0.6) * up / across)


def _set_equal_axes(axes: Axes, tracks: dict[str, NDArray[np.float64]]) -> None:
    middle, size = _box(tracks)
    axes.set_xlim(middle[0] - size[0] / 2, middle[0] + size[0] / 2)
    axes.set_ylim(middle[1] - size[1] / 2, middle[1] + size[1] / 2)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
