"""Style of all figures: colors for color-blind readers, light axes, sizes for a printed page.

Settings apply inside `with style():` only; the user's Matplotlib settings are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from draisine.errors import require

# Widths in inches: one column of a two-column journal, and the full text width.
COLUMN, PAGE = 3.5, 7.2

# M. Okabe and K. Ito, Color Universal Design (2008); yellow last, since it is faint on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
INK, FAINT, WARNING = "#222222", "#8A8A8A", "#B3261E"


def body_colors(bodies: Sequence[str]) -> dict[str, str]:
    """A color for each body: neither black, used for lines, nor yellow, faint on white."""
    colors = [c for c in COLORS if c not in ("#000000", "#F0E442")]
    return {body: colors[k % len(colors)] for k, body in enumerate(bodies)}


def _look() -> dict[str, Any]:
    cycler = require("cycler", "drawing figures", "matplotlib").cycler
    return {
        "font.size": 9.0,
        "axes.labelsize": 9.0,
        "axes.titlesize": 9.5,
        "xtick.labelsize": 8.0,
        "ytick.labelsize": 8.0,
        "legend.fontsize": 8.0,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": "#666666",
        "xtick.color": "#444444",
        "ytick.color": "#444444",
        "axes.linewidth": 0.7,
        "xtick.major.width": 0.7,
        "ytick.major.width": 0.7,
        "xtick.direction": "out",
        "ytick.direction": "out",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E3E3E3",
        "grid.linewidth": 0.6,
        "axes.prop_cycle": cycler(color=COLORS),
        "axes.formatter.useoffset": False,  # an offset "+4.6" above an axis is easily overlooked
        "axes.formatter.limits": (-4, 5),
        "lines.linewidth": 1.4,
        "lines.solid_capstyle": "round",
        "legend.frameon": False,
        "legend.handlelength": 1.6,
        "legend.columnspacing": 1.4,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "figure.dpi": 110.0,
        "savefig.dpi": 200.0,
        "pdf.fonttype": 42,  # journals refuse Type 3 fonts
        "svg.hashsalt": "draisine",  # the same figure gives the same file
    }


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the package; Matplotlib's settings are restored on exit."""
    matplotlib = require("matplotlib", "drawing figures")
    with matplotlib.rc_context(_look()):
        yield
