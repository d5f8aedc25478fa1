"""Eigenvalues against a swept quantity, with standard deviations, in the complex plane, and as a root locus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import display_name, label_axis, legend_above
from draisine.view.plots.style import COLORS, COLUMN, FAINT, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

_NEUTRAL = 1e-9  # growth this small, beside the largest eigenvalue or in 1/s, is rounding


def eigenvalues_against(
    values: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    names: Sequence[str],
    over: tuple[str, str],
    critical: Sequence[tuple[str, float]] = (),
    *,
    width: float = PAGE,
) -> Figure:
    """Real parts as lines, imaginary parts dashed, the stable range shaded; one color per mode, vertical lines at critical
    values."""
    with style():
        drawing, (axes,) = panels(1, width, 0.62 * width)
        for k, (low, high) in enumerate(stable_ranges(values, eigenvalues, [value for _, value in critical])):
            axes.axvspan(low, high, color="0.92", lw=0, label=None if k else "stable")
        modes = list(dict.fromkeys(name.rstrip("*") for name in names))  # a pair has one color
        for j, name in enumerate(names):
            _draw_mode(axes, values, eigenvalues[:, j], name, COLORS[modes.index(name.rstrip("*")) % len(COLORS)])
        for kind, value in critical:
            axes.axvline(value, color="0.5", lw=0.8, ls=":")
            axes.annotate(
                kind, (value, 0.02), xycoords=("data", "axes fraction"), rotation=90, va="bottom", ha="right", fontsize=8
            )
        axes.axhline(0.0, color="0.3", lw=0.8)
        label_axis(axes.xaxis, display_name(over[0]), over[1])
        axes.set_ylabel("eigenvalue [1/s]")
        axes.margins(x=0)
        axes.set_ylim(*_value_limits(eigenvalues))
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawing


def stable_ranges(
    values: NDArray[np.float64], eigenvalues: NDArray[np.complex128], critical: Sequence[float] = ()
) -> list[tuple[float, float]]:
    """Ranges of the swept quantity in which every mode decays.

    Each ends at the critical value between two neighboring samples, or where the largest real part, linear between them, is zero.

    >>> growth = np.array([[1.0], [-1.0], [-1.0], [1.0]]) + 0j
    >>> stable_ranges(np.arange(4.0), growth, [0.3])
    [(0.3, 2.5)]
    """
    growth = np.nanmax(eigenvalues.real, axis=1)
    # undamped modes have a real part that is rounding
    stable = growth < -_NEUTRAL * np.maximum(np.nanmax(np.abs(eigenvalues), axis=1), 1.0)

    def edge(k: int) -> float:
        """Where stability changes between samples k and k + 1."""
        a, b, (low, high) = float(values[k]), float(values[k + 1]), sorted(values[k : k + 2])
        known = [value for value in critical if low <= value <= high]
        if known:
            return float(known[0] if stable[k + 1] == (b > a) else known[-1])
        share = growth[k] / (growth[k] - growth[k + 1]) if growth[k] * growth[k + 1] < 0 else float(stable[k])
        return float(a + share * (b - a))

    changes = np.flatnonzero(stable[1:] != stable[:-1]).tolist()
    ends = [float(values[0]), *(edge(k) for k in changes), float(values[-1])]
    firsts = [0, *(k + 1 for k in changes)]
    return [(low, high) for k, low, high in zip(firsts, ends, ends[1:], strict=False) if stable[k]]


def _draw_mode(axes: Axes, values: NDArray[np.float64], mode: NDArray[np.complex128], name: str, color: str) -> None:
    axes.plot(values, mode.real, color=color, lw=1.6, label=None if name.endswith("*") else name)
    swinging = np.where(np.abs(mode.imag) > 0, np.abs(mode.imag), np.nan)
    if np.isfinite(swinging).any() and not name.endswith("*"):
        axes.plot(values, swinging, color=color, lw=1.2, ls="--", label=f"{name}, imaginary part")


def _value_limits(eigenvalues: NDArray[np.complex128]) -> tuple[float, float]:
    """Limits at which zero crossings remain visible: very fast modes may lie below."""
    top = float(np.nanmax(np.maximum(eigenvalues.real, np.abs(eigenvalues.imag))))
    bottom = float(np.nanmin(eigenvalues.real))
    return max(bottom, -2.0 * max(top, 1.0)) * 1.05, top * 1.05


# ---------------------------------------------------------------- with standard deviations


def eigenvalue_bands(
    speeds: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    deviations: NDArray[np.complex128],
    names: Sequence[str],
    critical: Sequence[tuple[str, float, float]] = (),
    *,
    width: float = PAGE,
) -> Figure:
    """The figure of `eigenvalues_against` with bands of one standard deviation; critical speeds (kind, value, deviation) as
    strips."""
    drawing = eigenvalues_against(
        speeds, eigenvalues, names, ("speed", "m/s"), [("", value) for _, value, _ in critical], width=width
    )
    axes = drawing.axes[0]
    low, high = axes.get_ylim()
    modes = list(dict.fromkeys(name.rstrip("*") for name in names))
    for j, name in enumerate(names):
        color = COLORS[modes.index(name.rstrip("*")) % len(COLORS)]
        z, d = eigenvalues[:, j], deviations[:, j]
        axes.fill_between(speeds, *_band(z.real, d.real, high - low), color=color, alpha=0.3, lw=0)
        if not name.endswith("*"):
            swinging = np.where(np.abs(z.imag) > 0, np.abs(z.imag), np.nan)
            axes.fill_between(speeds, *_band(swinging, d.imag, high - low), color=color, alpha=0.3, lw=0)
    for k, (kind, value, deviation) in enumerate(critical):
        axes.axvspan(value - deviation, value + deviation, color="0.5", alpha=0.25, lw=0)
        axes.axvline(value, color="0.5", lw=0.8, ls=":")
        text = f"{kind}: {value:.2f} ± {deviation:.2f} m/s"
        at = (value, 0.98 - 0.06 * k)  # stacked: values may be close
        plain = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
        where: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "textcoords": "offset points",
            "va": "top",
            "fontsize": 8,
            "bbox": plain,
        }
        axes.annotate(text, at, (4, 0), **where)
    axes.set_ylim(low, high)
    return drawing


def _band(middle: NDArray[np.float64], half: NDArray[np.float64], most: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper edge; none at a double root, where the derivative is infinite."""
    half = np.where(half < most, half, np.nan)
    return middle - half, middle + half


# ---------------------------------------------------------------- complex plane


def eigenvalue_plane(values: NDArray[np.complex128], *, width: float = 1.3 * COLUMN) -> Figure:
    """Eigenvalues in the complex plane by sign of the real part: decaying, neutral, growing."""
    with style():
        drawing, (axes,) = panels(1, width, 0.8 * width)
        size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        axes.axhline(0.0, color=FAINT, linewidth=0.7)
        axes.axvline(0.0, color=FAINT, linewidth=0.7)
        groups = {
            "decays": values[values.real < -_NEUTRAL * size],
            "neutral": values[np.abs(values.real) <= _NEUTRAL * size],
            "grows": values[values.real > _NEUTRAL * size],
        }
        for (name, some), color, mark in zip(groups.items(), (COLORS[0], COLORS[2], COLORS[1]), "xos", strict=True):
            if some.size:
                axes.plot(some.real, some.imag, mark, color=color, markersize=6, markeredgewidth=1.6, label=name)
        axes.margins(0.12)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        legend_above(axes, width)
    return drawing


def draw_multipliers(axes: Axes, multipliers: NDArray[np.complex128]) -> None:
    """Floquet multipliers with the unit circle; inside it deviations decay."""
    around = np.linspace(0.0, 2 * np.pi, 241)
    axes.plot(np.cos(around), np.sin(around), color=FAINT, linewidth=0.9, label="unit circle")
    inside = np.abs(multipliers) <= 1 + 1e-9
    for some, color, mark, name in (
        (multipliers[inside], COLORS[0], "x", "multipliers"),
        (multipliers[~inside], COLORS[1], "s", "growing"),
    ):
        if some.size:
            axes.plot(some.real, some.imag, mark, color=color, markersize=6, markeredgewidth=1.6, label=name)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("real part [–]")
    axes.set_ylabel("imaginary part [–]")
    axes.legend(loc="upper right", fontsize=7)


# ---------------------------------------------------------------- root locus


COLOR_MAP = "viridis"  # dark to light in even steps, also in gray


def root_locus_figure(
    values: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    over: str,
    critical: Mapping[str, complex] | None = None,
    *,
    window: tuple[float, float] | None = None,
    width: float = PAGE,
) -> Figure:
    """Every eigenvalue as a line colored by the value of `over`; crosses at the first value, dots at the last.

    The stable half plane is shaded. `critical` marks named eigenvalues; `window` limits the real axis if one mode is much
    faster than the others.
    """
    with style():
        drawing, (axes,) = panels(1, width, 0.62 * width)
        low, high = window or _real_axis_limits(eigenvalues)
        marks = {kind: eigenvalue for kind, eigenvalue in (critical or {}).items() if low <= eigenvalue.real <= high}
        axes.axvspan(min(low, 0.0), 0.0, color="0.95", lw=0)
        axes.axvline(0.0, color="0.3", lw=0.8)
        axes.axhline(0.0, color="0.3", lw=0.8)
        lines = [_draw(axes, values, eigenvalues[:, j]) for j in range(eigenvalues.shape[1])]
        for k, (kind, eigenvalue) in enumerate(marks.items()):
            axes.plot([eigenvalue.real], [abs(eigenvalue.imag)], "osD^v"[k % 5], ms=6, mfc="none", mec="0.2", label=kind)
        if marks:
            axes.legend(loc="lower left", fontsize=8)
        axes.set_xlim(low, high)
        top = 1.1 * max(float(np.nanmax(np.abs(eigenvalues.imag))), 0.1 * (high - low))
        axes.set_ylim(-top, top)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        drawing.colorbar(lines[0], ax=axes, label=over, pad=0.02)
    return drawing


def _draw(axes: Axes, values: NDArray[np.float64], mode: NDArray[np.complex128]) -> LineCollection:
    from matplotlib.collections import LineCollection

    points = np.column_stack([mode.real, mode.imag])
    steps = np.stack([points[:-1], points[1:]], axis=1)
    line = LineCollection(list(steps), cmap=COLOR_MAP, linewidths=1.8)
    line.set_array((values[:-1] + values[1:]) / 2)
    line.set_clim(float(values.min()), float(values.max()))
    axes.add_collection(line)
    good = np.flatnonzero(np.isfinite(mode.real))
    axes.plot(*points[good[0]], "x", color="0.2", ms=5)
    axes.plot(*points[good[-1]], ".", color="0.2", ms=6)
    return line


def _real_axis_limits(eigenvalues: NDArray[np.complex128]) -> tuple[float, float]:
    """All eigenvalues, unless one mode is much faster than the others."""
    right = float(np.nanmax(eigenvalues.real))
    top = max(right, float(np.nanmax(np.abs(eigenvalues.imag))), 1e-3)
    left = max(float(np.nanmin(eigenvalues.real)), -2.0 * top)
    margin = 0.05 * (max(right, 0.0) - left)
    return left - margin, max(right, 0.0) + margin
