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


def measured_and_predicted(panels: Sequence[Panel], width: float = PAGE) -> Any:
    """Measured and predicted channels over time, residuals in standard deviations on the right."""
    shown = panels[:MOST]
    with style():
        drawing = new_figure(width, 0.28 * width * len(shown))
        axes = drawing.subplots(len(shown), 2, squeeze=False, width_ratios=(2, 1))
        several = len({panel[0] for panel in shown}) > 1
        for row, (experiment, column, unit, time, measured, predicted, residuals) in zip(axes, shown, strict=True):
            row[0].plot(time, measured, ".", ms=2, color="0.6", label="measured")
            row[0].plot(time, predicted, color=COLORS[0], lw=1, label="predicted")
            label_axis(row[0].yaxis, display_name(column), unit)
            row[0].margins(x=0)
            if several:
                row[0].set_title(experiment, fontsize="small", loc="left")
            row[1].axhspan(-2, 2, color="0.93", lw=0)
            row[1].plot(time, residuals, ".", ms=2, color=COLORS[1])
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
        axes.invert_yaxis()
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
                axis.plot(first.time, first.measured, ".", ms=2, color="0.6", label="measured")
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
