"""Figures of the certificate and the diagnosis: disagreement of derivations, degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.view.plots.canvas import new_figure, panels
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 1e-17  # lower limit of the axis, for exact agreement


def disagreements(lines: Sequence[tuple[str, float, float]], *, width: float = PAGE) -> Figure:
    """Worst relative disagreement of each comparison as a dot, with the tolerance as a bar.

    You should see dots near rounding, and none in orange, which exceed the tolerance.
    """
    with style():
        drawing, (axes,) = panels(1, width, 0.8 + 0.24 * len(lines))
        rows = np.arange(len(lines))[::-1]
        worst = np.array([np.clip(w, _LEAST, 1e3) for _, w, _ in lines])
        allowed = np.array([a for _, _, a in lines])
        good = worst <= allowed
        axes.hlines(rows, _LEAST, worst, color="#D8D8D8", linewidth=2.5, zorder=1)
        axes.plot(allowed, rows, "|", color=FAINT, markersize=10, markeredgewidth=1.6, label="allowed")
        axes.plot(worst[good], rows[good], "o", color=COLORS[0], markersize=5, label="worst disagreement")
        if not good.all():
            axes.plot(worst[~good], rows[~good], "D", color=COLORS[1], markersize=6, label="beyond what is allowed")
        axes.set_xscale("log")
        axes.set_ylim(-0.6, len(lines) - 0.4)
        axes.set_yticks(rows, [what for what, _, _ in lines])
        axes.grid(False, axis="y")
        axes.set_xlabel("relative disagreement [–]")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return drawing


def freedoms(counts: Sequence[tuple[str, int]], growth: Sequence[int], *, width: float = PAGE) -> Figure:
    """Numbers of coordinates, velocities, constraints and degrees of freedom; beside them, the growth of the Lie brackets.

    You should see fewer degrees of freedom in velocity than in position where constraints are nonholonomic, and brackets that
    grow from the one to the other.
    """
    with style():
        drawing = new_figure(width, 0.9 + 0.26 * len(counts))
        shares = [3, 2] if growth else [1]
        grid = drawing.subplots(1, len(shares), squeeze=False, width_ratios=shares)[0]
        rows = np.arange(len(counts))[::-1]
        bars = grid[0].barh(rows, [n for _, n in counts], height=0.62, color=COLORS[0])
        grid[0].bar_label(bars, padding=3, fontsize=8)
        grid[0].set_yticks(rows, [what for what, _ in counts])
        grid[0].grid(False, axis="y")
        grid[0].set_xlabel("count [–]")
        grid[0].xaxis.get_major_locator().set_params(integer=True)
        grid[0].margins(x=0.12)
        if growth:
            grid[1].plot(np.arange(1, len(growth) + 1), growth, "o-", color=COLORS[1])
            grid[1].set_xticks(np.arange(1, len(growth) + 1))
            grid[1].set_ylim(0, max(growth) + 0.5)
            grid[1].yaxis.get_major_locator().set_params(integer=True)
            grid[1].set_xlabel("depth of brackets [–]")
            grid[1].set_ylabel("directions reached [–]")
    return drawing
