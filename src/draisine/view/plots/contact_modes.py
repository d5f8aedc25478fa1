"""Figure of the modes of contacts that stick, slip and open, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draisine.results.contact_modes import NAMES, ContactHistory
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.labels import display_name
from draisine.view.plots.style import COLORS, INK, PAGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODE_COLORS = {"open": "#E3E3E3", "slip": COLORS[1], "stick": COLORS[0]}
_HEIGHT = 0.6  # of a bar; rows have the distance 1


def mode_figure(history: ContactHistory, *, width: float = PAGE) -> Figure:
    """A row per contact with bars in the color of its mode, and a mark at each impact that it takes.

    You should see impacts where an open contact closes, and at other contacts that are closed then.

        mode_figure(run.modes)
    """
    rows = len(history.contacts)
    with single_panel("time [s]", "", width=width, height=0.9 + 0.4 * rows) as (drawing, axes):
        for row, contact in enumerate(reversed(history.contacts)):
            intervals = history.intervals(contact)
            for mode in NAMES:
                own = [(begin, end - begin) for begin, end, found in intervals if found == mode]
                axes.broken_barh(own, (row - _HEIGHT / 2, _HEIGHT), facecolors=MODE_COLORS[mode], label=None if row else mode)
            times = [change.time for change in history.impacts if contact in change.impulse]
            axes.plot(times, [row] * len(times), "|", color=INK, markersize=12, label=None if row else "impact")
        axes.set_yticks(range(rows), [display_name(name) for name in reversed(history.contacts)])
        axes.set_ylim(-0.5, rows - 0.5)
        begin = history.changes[0].time if history.changes else 0.0
        axes.set_xlim((begin, history.end) if history.end > begin else (begin - 0.5, begin + 0.5))
        axes.grid(axis="y", visible=False)
    return drawing
