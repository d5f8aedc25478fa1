"""Many runs at once: how they ended over what they differ in, or how often which value came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.labels import legend_above, with_unit, words
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def endings(
    varied: Mapping[str, tuple[str, Array]], status: NDArray[Any], names: Sequence[str] = (), *, width: float = PAGE
) -> Figure:
    """How runs ended over two quantities in which they differ: one color and mark for each way of ending."""
    (first, (unit, x)), (second, (other, y)) = list(varied.items())[:2]
    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 0.68 * width)
        for k, kind in enumerate(names or sorted(set(status.tolist()))):
            some = status == kind
            size = float(np.clip(220.0 / np.sqrt(max(len(x), 1)), 1.5, 7.0))
            label = f"{str(kind).lower().replace('_', ' ')} ({int(some.sum())})"
            axes.plot(x[some], y[some], "osD^vP"[k % 6], color=COLORS[k % 6], markersize=size, markeredgewidth=0, label=label)
        axes.set_xlabel(with_unit(words(first), unit))
        axes.set_ylabel(with_unit(words(second), other))
        legend_above(axes, width)
    return drawing


def outcomes(over: tuple[str, str, Array] | None, columns: Mapping[str, tuple[str, Array]], *, width: float = PAGE) -> Figure:
    """Columns of an ensemble: against the quantity in which its runs differ, or as histograms where nothing orders them."""
    with style():
        from draisine.view.plots.canvas import Drawing, panels

        if over is not None:
            name, unit, x = over
            drawing, stack = panels(len(columns), width, 0.6 + 1.6 * len(columns))
            for k, (axes, (column, (its, values))) in enumerate(zip(stack, columns.items(), strict=True)):
                axes.plot(x, values, ".", markersize=4, color=COLORS[k % 6])
                axes.set_ylabel(with_unit(words(column), its))
            stack[-1].set_xlabel(with_unit(words(name), unit))
            return drawing
        drawing = Drawing(figsize=(width, 0.5 + 1.9 * len(columns)), layout="constrained")
        grid = drawing.subplots(len(columns), 1, squeeze=False)[:, 0]
        for k, (axes, (column, (its, values))) in enumerate(zip(grid, columns.items(), strict=True)):
            finite = values[np.isfinite(values)]
            axes.hist(finite, bins=max(8, min(60, round(np.sqrt(max(len(finite), 1))))), color=COLORS[k % 6], alpha=0.85)
            axes.set_xlabel(with_unit(words(column), its))
            axes.set_ylabel("runs [–]")
    return drawing
