"""Estimates over time with the band in which the truth should lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import Drawing
from draisine.view.plots.labels import legend_above, with_unit, words
from draisine.view.plots.style import COLORS, PAGE, style

Reals = NDArray[np.float64]

WIDE = 1.96  # standard deviations on either side: 95 % of a normal distribution


class Band(NamedTuple):
    """One quantity: its estimates and their standard deviations, and where known what was measured, and the truth."""

    name: str
    unit: str
    time: Reals
    estimate: Reals
    deviation: Reals
    kind: str  # "filtered", "smoothed"
    measured: Reals | None = None
    truth: tuple[Reals, Reals] | None = None  # its own instants, and values


def bands(panels: Sequence[Sequence[tuple[Any, ...]]], width: float = PAGE) -> Any:
    """Panels below each other, each with the estimates of one quantity, 95 % bands, data as dots and the truth in black."""
    with style():
        drawing = Drawing(figsize=(width, 0.3 * width * len(panels)), layout="constrained")
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
            axis.set_ylabel(with_unit(words(first.name), first.unit))
            axis.margins(x=0)
        axes[-1].set_xlabel("time [s]")
        legend_above(axes[0], width)
    return drawing
