"""Branches of steady motions with stability by line style and marked special points; atlases of turns as four maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.view.plots.canvas import new_figure, panels
from draisine.view.plots.labels import display_name, label_axis
from draisine.view.plots.style import COLORS, FAINT, INK, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# one mark per kind, distinguishable without color
MARKS = {"fold": "s", "branch point": "o", "Hopf point": "D", "zero crossing": "^"}
MARK_COLORS = {"fold": "white", "branch point": INK, "Hopf point": "white", "zero crossing": INK}
FRICTIONS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
_ROUNDING, _SMALL = 1e-12, np.radians(1.0)  # a quantity that is zero all along is a flat line: 1° if it is an angle
RADII = (2.0, 5.0, 10.0, 20.0, 50.0)


class Point(Protocol):
    """What a figure needs of a special point; `after` is the index of the point before it."""

    @property
    def kind(self) -> str: ...
    @property
    def after(self) -> int: ...
    @property
    def value(self) -> float: ...
    def __getitem__(self, name: str) -> float: ...


class BranchLike(Protocol):
    """What a figure needs of a branch."""

    @property
    def over(self) -> str: ...
    @property
    def columns(self) -> dict[str, Array]: ...
    @property
    def stable(self) -> NDArray[np.bool_]: ...
    @property
    def special(self) -> Sequence[Point]: ...
    @property
    def units(self) -> dict[str, str]: ...
    def __getitem__(self, name: str) -> Array: ...


class AtlasLike(Protocol):
    """What a figure needs of an atlas."""

    @property
    def axes(self) -> tuple[str, str]: ...
    @property
    def first(self) -> Array: ...
    @property
    def second(self) -> Array: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def columns(self) -> dict[str, Array]: ...
    @property
    def exists(self) -> NDArray[np.bool_]: ...
    @property
    def unstable(self) -> NDArray[np.int64]: ...
    @property
    def units(self) -> dict[str, str]: ...
    @property
    def wheels(self) -> tuple[str, ...]: ...
    @property
    def friction(self) -> Array: ...
    @property
    def load(self) -> Array: ...
    def __getitem__(self, name: str) -> Array: ...


# ---------------------------------------------------------------- branches


def branch_figure(
    branches: Mapping[str, BranchLike],
    *names: str,
    against: str | None = None,
    limits: tuple[float, float] | None = None,
    width: float = PAGE,
    values: bool = True,
) -> Figure:
    """Named quantities of one or several branches, each in its panel, against what varies (or `against` another quantity), of
    which `limits` are shown.

    Lines are solid where no mode grows and dashed where one does; `values` labels special points with the varied quantity.
    """
    if not branches:
        raise ArgumentError("no branch to draw: `branches` is empty")
    one = next(iter(branches.values()))
    across = against or one.over
    shown = names or tuple(n for n in ("lean", "steer") if n in one.columns) or _most_varying(one)
    with style():
        drawing, axes = panels(len(shown), width, 0.6 + max(1.9, 3.4 - 0.7 * len(shown)) * len(shown))
        for panel, name in zip(axes, shown, strict=True):
            for k, (title, branch) in enumerate(branches.items()):
                _draw_branch(panel, branch, across, name, title, COLORS[k % len(COLORS)])
            if all(np.nanmax(np.abs(branch[name]), initial=0.0) < _ROUNDING for branch in branches.values()):
                panel.set_ylim(-_SMALL, _SMALL)
            label_axis(panel.yaxis, display_name(name), one.units.get(name, ""))
        if limits is not None:
            axes[0].set_xlim(*limits)
        if values:
            _write_values(axes[0], branches, across, shown[0])
        label_axis(axes[-1].xaxis, display_name(across), one.units.get(across, ""))
        _draw_legend(axes[0], branches, len(branches) > 1)
        drawing.align_ylabels(axes)
    return drawing


def _most_varying(branch: BranchLike) -> tuple[str, ...]:
    """The state that changes most along a branch."""
    spans = {n: float(np.ptp(c)) for n, c in branch.columns.items() if n != branch.over and np.isfinite(c).all()}
    return (max(spans, key=lambda n: spans[n]),)


def _draw_branch(panel: Axes, branch: BranchLike, across: str, name: str, title: str, color: str) -> None:
    for full, x, y in _stretches(branch, across, name):
        panel.plot(x, y, color=color, lw=2.2 if full else 1.1, ls="-" if full else (0, (4, 2)), zorder=3 if full else 2)
    for point in branch.special:
        panel.plot(
            [point[across]],
            [point[name]],
            marker=MARKS.get(point.kind, "x"),
            ms=5.0,
            mfc=MARK_COLORS.get(point.kind, "white"),
            mec=INK,
            mew=0.9,
            ls="none",
            zorder=5,
        )


def _stretches(branch: BranchLike, across: str, name: str) -> list[tuple[bool, list[float], list[float]]]:
    """Parts of a branch of uniform stability, joined at special points."""
    x, y, stable = branch[across], branch[name], branch.stable
    parts: list[tuple[bool, list[float], list[float]]] = []
    for i in range(len(x) - 1):
        between = [(p[across], p[name]) for p in branch.special if p.after == i]
        corners = [(x[i], y[i]), *between, (x[i + 1], y[i + 1])]
        for k, (a, b) in enumerate(pairwise(corners)):
            # without a special point between them, neighbors that differ count as unstable
            full = bool(stable[i] if between and k == 0 else stable[i + 1] if between else stable[i] and stable[i + 1])
            if not parts or parts[-1][0] != full:
                parts.append((full, [a[0]], [a[1]]))
            parts[-1][1].append(b[0])
            parts[-1][2].append(b[1])
    return parts


def _write_values(panel: Axes, branches: Mapping[str, BranchLike], across: str, name: str) -> None:
    """Label special points with the varied quantity, once for each value, where there is room."""
    positions: dict[tuple[str, str], tuple[float, float]] = {}
    for branch in branches.values():
        for point in branch.special:
            key = (point.kind, f"{point.value:.4g}")
            position = (point[across], point[name])
            if key not in positions or position[1] > positions[key][1]:
                positions[key] = position
    panel.autoscale_view()
    taken: list[Array] = []
    size = np.array([0.085, 0.10])  # of a label, as shares of the panel
    to_panel = panel.transData + panel.transAxes.inverted()
    for rank in ("branch point", "Hopf point", "fold", "zero crossing"):
        for (kind, text), position in positions.items():
            at = np.asarray(to_panel.transform(position))
            for shift in ((6, 5), (6, -11), (-28, 5), (-28, -11)):
                corner = at + np.array(shift) / np.array([450.0, 130.0])
                free = all((np.abs(corner - other) > size).any() for other in taken)
                if kind == rank and free and (corner > -0.01).all() and (corner + size < 1.05).all():
                    panel.annotate(
                        text.replace("-", "−"),
                        position,
                        xytext=shift,
                        textcoords="offset points",
                        fontsize=7,
                        color=INK,
                        zorder=6,
                    )
                    taken.append(corner)
                    break


def _draw_legend(panel: Axes, branches: Mapping[str, BranchLike], several: bool) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    if several:
        handles += [Line2D([], [], color=COLORS[k % len(COLORS)], lw=2.2, label=display_name(t)) for k, t in enumerate(branches)]
    handles.append(Line2D([], [], color=FAINT, lw=2.2, label="no mode grows"))
    handles.append(Line2D([], [], color=FAINT, lw=1.1, ls=(0, (4, 2)), label="unstable"))
    kinds = [kind for kind in MARKS if any(p.kind == kind for b in branches.values() for p in b.special)]
    handles += [Line2D([], [], marker=MARKS[kind], ms=5, mfc=MARK_COLORS[kind], mec=INK, ls="none", label=kind) for kind in kinds]
    panel.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(handles) if len(handles) <= 5 else 4,
        borderaxespad=0.2,
    )


# ---------------------------------------------------------------- atlases


def atlas_figure(atlas: AtlasLike, *, friction: float | None = None, width: float = PAGE) -> Figure:
    """Four maps: the input that holds the turn, the friction needed, the load of the wheels, and stability with the path
    radius.

        A heavy line marks turns without the first input; regions without a turn are hatched. With `friction`, turns that would
        slip are shaded.
    """
    with style():
        drawing = new_figure(width, 0.82 * width)
        grid = drawing.subplots(2, 2, sharex=True, sharey=True)
        inputs, slipping, loaded, growing = grid.ravel()
        _input_map(inputs, atlas)
        _friction_map(slipping, atlas)
        _load_map(loaded, atlas)
        _stability_map(growing, atlas)
        for panel in grid.ravel():
            _common(panel, atlas, friction)
        first, second = atlas.axes
        for panel in grid[:, 0]:
            label_axis(panel.yaxis, display_name(first), atlas.units.get(first, ""))
        for panel in grid[-1]:
            label_axis(panel.xaxis, display_name(second), atlas.units.get(second, ""))
        _atlas_legend(grid[-1, 0], atlas, friction)
    return drawing


def _atlas_legend(panel: Axes, atlas: AtlasLike, friction: float | None) -> None:
    """What lines and shades of all maps mean, below the left one."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    if atlas.inputs:
        handles.append(Line2D([], [], color="black", lw=1.8, label=f"no {display_name(atlas.inputs[0])}"))
    if not atlas.exists.all():
        handles.append(Patch(facecolor="#F2F2F2", edgecolor="#BBBBBB", hatch="////", label="no turn"))
    if friction is not None and atlas.wheels:
        handles.append(Line2D([], [], color=COLORS[1], lw=1.6, label=f"slips: friction {friction:g}"))
    _legend_below(panel, handles)


def _legend_below(panel: Axes, handles: Sequence[Any]) -> None:
    """Below a map, not over it."""
    if handles:
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "borderaxespad": 0.0}
        panel.legend(handles=handles, ncols=2, fontsize=7, handlelength=1.4, **place)


def _bar(panel: Axes, filled: Any, text: str, unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    bar = panel.figure.colorbar(filled, ax=panel, pad=0.02, aspect=28, ticks=MaxNLocator(7))
    label_axis(bar.ax.yaxis, text, unit)
    bar.outline.set_linewidth(0.5)


def _lines(panel: Axes, atlas: AtlasLike, values: Array, levels: Sequence[float], form: str, **options: Any) -> None:
    from matplotlib.patheffects import withStroke

    inside = [level for level in levels if np.nanmin(values) < level < np.nanmax(values)]
    if inside:
        lines = panel.contour(atlas.second, atlas.first, values, levels=inside, **{"colors": INK, "linewidths": 0.6, **options})
        dark = options.get("colors") == "white"
        for text in panel.clabel(lines, fmt=form, fontsize=7, inline=True, inline_spacing=3):
            # readable on the whole range of a color map
            text.set_path_effects([withStroke(linewidth=1.6, foreground=INK if dark else "white", alpha=0.8)])


def _input_map(panel: Axes, atlas: AtlasLike) -> None:
    name = atlas.inputs[0] if atlas.inputs else atlas.axes[0]
    values = atlas[name]
    size = max(float(np.nanpercentile(np.abs(values), 93)), 1e-9)
    shown = np.clip(values, -size, size)
    levels = np.linspace(-size, size, 25)
    filled = panel.contourf(atlas.second, atlas.first, shown, levels=levels, cmap="PuOr_r", extend="both")
    _bar(panel, filled, display_name(name), atlas.units.get(name, ""))
    panel.set_title("what holds the turn", loc="left")


def _friction_map(panel: Axes, atlas: AtlasLike) -> None:
    top = min(float(np.nanmax(atlas.friction)), 1.5) if atlas.wheels else 1.0
    if atlas.wheels:
        levels = np.linspace(0.0, top, 16)
        shown = np.minimum(atlas.friction, top)
        _bar(panel, panel.contourf(atlas.second, atlas.first, shown, levels=levels, cmap="cividis_r"), "coefficient", "")
        _lines(panel, atlas, atlas.friction, FRICTIONS, "%.1f")
    panel.set_title("friction needed", loc="left")


def _load_map(panel: Axes, atlas: AtlasLike) -> None:
    if atlas.wheels:
        wheel = atlas.wheels[-1]
        values = atlas[f"{wheel}_normal_force"]
        text = display_name(f"{wheel}_normal_force")
        low, high = np.nanpercentile(values, [0, 96])
        levels = np.linspace(low, high, 16)
        filled = panel.contourf(atlas.second, atlas.first, np.clip(values, low, high), levels=levels, cmap="cividis")
        _bar(panel, filled, text, "N")
        other = atlas[f"{atlas.wheels[0]}_normal_force"]
        levels = np.unique(np.linspace(np.nanpercentile(other, 4), np.nanmax(other), 6).round(-1))
        _lines(panel, atlas, other, levels.tolist(), "%.0f N", colors="white")
        if float(np.nanmin(atlas.load)) < 0:
            panel.contour(atlas.second, atlas.first, atlas.load, levels=[0.0], colors=[COLORS[1]], linewidths=2.0)
        panel.set_title(f"load; lines: {display_name(atlas.wheels[0])}" if len(atlas.wheels) > 1 else "load", loc="left")


def _stability_map(panel: Axes, atlas: AtlasLike) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    shades = ("#009E73", "#E9C46A", "#C97B4A", "#7A3E3E")
    texts = ("no mode grows", "one mode grows", "two grow", "more")
    most = min(int(atlas.unstable.max(initial=0)), len(shades) - 1)
    shown = np.where(atlas.exists, np.minimum(atlas.unstable, most), np.nan)
    norm = BoundaryNorm(np.arange(-0.5, most + 1.5), most + 1) if most else None
    panel.pcolormesh(atlas.second, atlas.first, shown, cmap=ListedColormap(shades[: most + 1]), norm=norm, shading="nearest")
    handles = [Patch(color=shades[k], label=texts[k]) for k in range(most + 1) if (shown == k).any()]
    _legend_below(panel, handles)
    name = next((n for n in atlas.columns if n.endswith("_path_radius")), None)
    if name is not None:
        _lines(panel, atlas, np.minimum(np.abs(atlas[name]), 1e9), RADII, "%g m")
    panel.set_title("stability; lines: radius of the path", loc="left")


def _common(panel: Axes, atlas: AtlasLike, friction: float | None) -> None:
    """Elements of all maps: regions without a turn, turns without input, turns that slip."""
    panel.grid(False)
    panel.set_facecolor("#F2F2F2")
    panel.set_xlim(atlas.second[0], atlas.second[-1])
    panel.set_ylim(atlas.first[0], atlas.first[-1])
    panel.patch.set(hatch="////", edgecolor="#BBBBBB")
    if atlas.inputs:
        values = atlas[atlas.inputs[0]]
        size = float(np.nanmax(np.abs(values)))
        # straight running needs no input; a line along the whole edge has no information
        values = np.where(np.abs(values) < 1e-9 * size, np.nan, values)
        if np.nanmin(values) < 0 < np.nanmax(values):
            panel.contour(atlas.second, atlas.first, values, levels=[0.0], colors=["black"], linewidths=1.8)
    if friction is not None and atlas.wheels:
        slips = np.minimum(atlas.friction, 1e6)
        panel.contourf(atlas.second, atlas.first, slips, levels=[friction, 1e9], colors=["white"], alpha=0.6)
        panel.contour(atlas.second, atlas.first, atlas.friction, levels=[friction], colors=[COLORS[1]], linewidths=1.6)
