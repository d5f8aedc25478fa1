"""Figures of fits: what was measured and predicted, residuals, intervals, likelihood profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import Drawing
from draisine.view.plots.labels import legend_above, with_unit, words
from draisine.view.plots.style import COLORS, PAGE, style

Reals = NDArray[np.float64]
# experiment, column, unit, time, measured, predicted, residuals over noise
Panel = tuple[str, str, str, Reals, Reals, Reals, Reals]

MOST = 6  # panels below each other


def measured_and_predicted(panels: Sequence[Panel], width: float = PAGE) -> Any:
    """Measured and predicted channels over time, residuals in standard deviations on the right."""
    shown = panels[:MOST]
    with style():
        drawing = Drawing(figsize=(width, 0.28 * width * len(shown)), layout="constrained")
        axes = drawing.subplots(len(shown), 2, squeeze=False, width_ratios=(2, 1))
        several = len({panel[0] for panel in shown}) > 1
        for row, (experiment, column, unit, time, measured, predicted, residuals) in zip(axes, shown, strict=True):
            row[0].plot(time, measured, ".", ms=2, color="0.6", label="measured")
            row[0].plot(time, predicted, color=COLORS[0], lw=1, label="predicted")
            row[0].set_ylabel(with_unit(words(column), unit))
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
        drawing = Drawing(figsize=(width, 0.12 * width + 0.06 * width * len(rows)), layout="constrained")
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
    """How often the interval of each unknown holds the truth, with the range in which right intervals lie."""
    with style():
        drawing = Drawing(figsize=(width, 0.8 + 0.3 * len(shares)), layout="constrained")
        axes = drawing.subplots()
        places = np.arange(len(shares))[::-1]
        axes.axvspan(100 * limits[0], 100 * limits[1], color="0.9", lw=0, label="where right intervals lie")
        axes.axvline(100 * level, color="0.5", lw=0.9, ls="--", label="wanted")
        axes.plot([100 * share for _, share in shares], places, "o", color=COLORS[0], label="found")
        axes.set_yticks(places, [words(name) for name, _ in shares])
        axes.set_xlabel("data sets whose interval holds the truth [%]")
        legend_above(axes, width)
    return drawing


def likelihood_profile(
    name: str, values: Reals, roots: Reals, low: float, high: float, width: float = PAGE, unit: str | None = None
) -> Any:
    """The signed root of the growth of the sum of squares along one unknown; straight where linearization serves."""
    with style():
        drawing = Drawing(figsize=(width, 0.5 * width), layout="constrained")
        axes = drawing.subplots()
        axes.plot(values, roots, "o-", ms=3, color=COLORS[0])
        axes.axvspan(low, high, color="0.93", lw=0, zorder=0)
        axes.set_xlabel(words(name) if unit is None else with_unit(words(name), unit))
        axes.set_ylabel("± √(growth of χ²) [–]")
    return drawing
