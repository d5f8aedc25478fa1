"""Figures of estimation: measured and predicted channels, residuals, intervals, likelihood profiles, filtered states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import display_name, label_axis, legend_above
from draisine.view.plots.style import COLORS, PAGE, style

Reals = NDArray[np.float64]
# experiment, column, unit, time, measured, predicted, residuals over noise
Panel = tuple[str, str, str, Reals, Reals, Reals, Reals]

MOST = 6  # panels below each other
GAP = 4.0  # times the usual distance of samples: between samples farther apart nothing was measured, and no line is drawn


def _dots(count: int) -> float:
    """Size of the dots of so many measurements, in points: few are large enough to be seen, many do not hide each other.

    >>> [round(_dots(count), 1) for count in (20, 200, 2000)]
    [5.0, 3.5, 2.0]
    """
    return float(np.clip(50.0 / np.sqrt(max(count, 1)), 2.0, 5.0))


def _interrupted(time: Reals, values: Reals) -> tuple[Reals, Reals]:
    """A line that ends where samples are missing.

    >>> _interrupted(np.array([0.0, 1, 2, 9, 10]), np.array([1.0, 2, 3, 4, 5]))[1].tolist()
    [1.0, 2.0, 3.0, nan, 4.0, 5.0]
    """
    apart = np.diff(time)
    gaps = np.flatnonzero(apart > GAP * np.median(apart)) + 1 if apart.size else np.zeros(0, dtype=int)
    return np.insert(time, gaps, time[gaps]), np.insert(values, gaps, np.nan)


def measured_and_predicted(panels: Sequence[Panel], width: float = PAGE) -> Any:
    """Measured and predicted channels over time, residuals in standard deviations on the right."""
    shown = panels[:MOST]
    with style():
        drawing = new_figure(width, 0.28 * width * len(shown))
        axes = drawing.subplots(len(shown), 2, squeeze=False, width_ratios=(2, 1))
        several = len({panel[0] for panel in shown}) > 1
        for row, (experiment, column, unit, time, measured, predicted, residuals) in zip(axes, shown, strict=True):
            row[0].plot(time, measured, ".", ms=_dots(len(time)), color="0.6", label="measured")
            row[0].plot(*_interrupted(time, predicted), color=COLORS[0], lw=1, label="predicted")
            label_axis(row[0].yaxis, display_name(column), unit)
            row[0].margins(x=0)
            if several:
                row[0].set_title(experiment, fontsize="small", loc="left")
            row[1].axhspan(-2, 2, color="0.93", lw=0)
            row[1].plot(time, residuals, ".", ms=_dots(len(time)), color=COLORS[1])
            row[1].set_ylabel("residual [σ]")
            row[1].margins(x=0)
        for panel in axes[-1]:
            panel.set_xlabel("time [s]")
        legend_above(axes[0][0], width)
    return drawing


def intervals(rows: Sequence[tuple[str, float, float, float]], truth: Mapping[str, float], width: float = PAGE) -> Any:
    """Intervals of unknowns, (name, value, low, high), in percent of their values; true values, where known, as crosses."""
    with style():
        drawing = new_figure(width, 0.12 * width + 0.06 * width * len(rows))
        axes = drawing.subplots()
        for i, (name, value, low, high) in enumerate(rows):
            size = abs(value) or 1.0
            ends = [100 * (low - value) / size, 100 * (high - value) / size]
            axes.plot(ends, [i, i], color=COLORS[0], lw=2, solid_capstyle="butt")
            axes.plot(0.0, i, "|", color=COLORS[0], ms=8)
            if name in truth:
                axes.plot(100 * (truth[name] - value) / size, i, "x", color=COLORS[1], ms=5)
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row is the upper one
        axes.axvline(0.0, color="0.8", lw=0.5, zorder=0)
        axes.set_xlabel("95 % interval [% of the estimate]" + ("; × true value" if truth else ""))
    return drawing


def coverage_figure(shares: Sequence[tuple[str, float]], level: float, limits: tuple[float, float], width: float = PAGE) -> Any:
    """Coverage of each unknown's interval, with the range expected of correct intervals."""
    with style():
        drawing = new_figure(width, 0.8 + 0.3 * len(shares))
        axes = drawing.subplots()
        rows = np.arange(len(shares))[::-1]
        axes.axvspan(100 * limits[0], 100 * limits[1], color="0.9", lw=0, label="expected of correct intervals")
        axes.axvline(100 * level, color="0.5", lw=0.9, ls="--", label="nominal")
        axes.plot([100 * share for _, share in shares], rows, "o", color=COLORS[0], label="found")
        axes.set_yticks(rows, [display_name(name) for name, _ in shares])
        axes.set_ylim(-0.5, len(shares) - 0.5)
        axes.set_xlabel("data sets whose interval holds the truth [%]")
        legend_above(axes, width)
    return drawing


def likelihood_profile(
    name: str, values: Reals, roots: Reals, low: float, high: float, width: float = PAGE, unit: str = ""
) -> Any:
    """Likelihood profile: the signed root of the growth of the sum of squares along one unknown; a straight line for a linear
    model."""
    with style():
        drawing = new_figure(width, 0.5 * width)
        axes = drawing.subplots()
        axes.plot(values, roots, "o-", ms=3, color=COLORS[0])
        axes.axvspan(low, high, color="0.93", lw=0, zorder=0)
        label_axis(axes.xaxis, display_name(name), unit)
        axes.set_ylabel("± √(growth of χ²) [–]")
    return drawing


def resampled_estimates(columns: Mapping[str, tuple[str, Reals, float, float]], width: float = PAGE) -> Any:
    """A histogram of the estimates of each unknown, (unit, estimates, low, high), with the 95 % interval of its quantiles."""
    with style():
        shown = list(columns.items())[:MOST]
        drawing = new_figure(width, 0.5 + 1.9 * len(shown))
        grid = drawing.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, (name, (unit, estimates, low, high)) in zip(grid, shown, strict=True):
            axes.axvspan(low, high, color="0.9", lw=0, zorder=0, label="95 % interval")
            axes.hist(estimates, bins=max(5, min(40, round(np.sqrt(len(estimates))))), color=COLORS[0], alpha=0.85)
            label_axis(axes.xaxis, display_name(name), unit)
            axes.set_ylabel("draws [–]")
            axes.yaxis.get_major_locator().set_params(integer=True)
        legend_above(grid[0], width)
    return drawing


# ---------------------------------------------------------------- states over time


WIDE = 1.96  # standard deviations on either side: 95 % of a normal distribution


class Band(NamedTuple):
    """One quantity: estimates, standard deviations and, where known, measurements and true values."""

    name: str
    unit: str
    time: Reals
    estimate: Reals
    deviation: Reals
    kind: str  # "filtered", "smoothed"
    measured: Reals | None = None
    truth: tuple[Reals, Reals] | None = None  # its own instants, and values


def bands(panels: Sequence[Sequence[tuple[Any, ...]]], width: float = PAGE) -> Any:
    """One panel per quantity: estimates, 95 % bands, measurements as dots and the true values in black."""
    with style():
        drawing = new_figure(width, 0.3 * width * len(panels))
        axes = drawing.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axis, given in zip(axes, panels, strict=True):
            panel = [Band(*each) for each in given]
            first = panel[0]
            if first.measured is not None:
                axis.plot(first.time, first.measured, ".", ms=_dots(len(first.time)), color="0.6", label="measured")
            for band, color in zip(panel, COLORS[1::-1], strict=False):
                low, high = band.estimate - WIDE * band.deviation, band.estimate + WIDE * band.deviation
                axis.fill_between(band.time, low, high, color=color, alpha=0.25, lw=0, label=f"{band.kind}, 95 %")
                axis.plot(band.time, band.estimate, color=color, lw=1, label=band.kind)
            if first.truth is not None:
                axis.plot(*first.truth, color="black", lw=1, ls="--", label="truth")
            label_axis(axis.yaxis, display_name(first.name), first.unit)
            axis.margins(x=0)
        axes[-1].set_xlabel("time [s]")
        legend_above(axes[0], width)
    return drawing
