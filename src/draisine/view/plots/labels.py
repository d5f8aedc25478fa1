"""Axis labels, units, limits and legends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from draisine.results.trajectory import Trajectory
from draisine.view.plots.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# label of a panel with several channels of one unit
_QUANTITIES = {
    "m": "length",
    "m/s": "velocity",
    "m/s^2": "accel.",
    "rad": "angle",
    "rad/s": "rate",
    "N": "force",
    "N*m": "torque",
    "J": "energy",
    "W": "power",
    "": "",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NEGLIGIBLE = 1e-10  # below any visible motion, above rounding
_EFFECTIVELY_INFINITE = 1e300  # limits beyond would overflow
_CONSTANT = 1e-7  # of the value: variation of a constant at usual tolerances
_EVENT_DASHES = ((0, (1, 2)), (0, (4, 2)), (0, (4, 2, 1, 2)))  # by kind of event; more kinds go unnamed


def display_name(name: str) -> str:
    """
    >>> display_name("rear_wheel_normal_force")
    'rear wheel normal force'
    """
    return name.replace("_", " ")


def pretty_unit(unit: str) -> str:
    """
    >>> pretty_unit("kg*m^2/s^-1")
    'kg·m²/s⁻¹'
    """
    raised = re.sub(r"(?:\*\*|\^)(-?\d+)", lambda match: match[1].translate(_SUPERSCRIPTS), unit)
    return raised.replace("*", "·")


def with_unit(text: str, unit: str, exponent: int = 0) -> str:
    """
    >>> with_unit("way", "m"), with_unit("friction", ""), with_unit("way", "m", -6)
    ('way [m]', 'friction [–]', 'way [10⁻⁶ m]')
    """
    power = f"10{str(exponent).translate(_SUPERSCRIPTS)} " if exponent else ""
    return f"{text} [{(power + pretty_unit(unit)).strip() or '–'}]".strip()


def label_axis(axis: Axis, text: str, unit: str) -> None:
    """Name and unit on an axis; the ticks of angles are in degrees, while what is drawn stays in radians.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> axes.set_ylim(-0.1, 0.1)
    (-0.1, 0.1)
    >>> label_axis(axes.yaxis, "lean", "rad")
    >>> axes.get_ylabel(), [tick.get_text() for tick in axes.get_yticklabels()][1:-1]
    ('lean [°]', ['−4', '−2', '0', '2', '4'])
    """
    if unit != "rad":
        axis.set_label_text(with_unit(text, unit))
        return
    from matplotlib.projections.polar import ThetaLocator  # another locator in degrees, on an axis in radians
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(ThetaLocator(MaxNLocator("auto", steps=[1, 2, 3, 5, 6, 10])))
    axis.set_major_formatter(FuncFormatter(_degrees))
    axis.set_label_text(with_unit(text, "°"))


def _degrees(angle: float, _position: int | None = None) -> str:
    return f"{np.degrees(angle):.6g}".replace("-", "−")


def quantity(unit: str) -> str:
    """The physical quantity of a unit, as the label of several channels."""
    return _QUANTITIES.get(unit, "")


def label_values(axes: Axes, text: str, unit: str) -> None:
    """Name and unit on the axis of values; call it when the limits are set.

    A power of ten is part of the unit; Matplotlib would put it where the legend is.
    """
    if unit == "rad":
        label_axis(axes.yaxis, text, unit)
        return
    axes.set_ylabel(with_unit(text, unit, _take_exponent(axes, "y")))


def _take_exponent(axes: Axes, which: Literal["x", "y"]) -> int:
    """The power of ten that the ticks of an axis leave out, of which its label speaks then."""
    axis, limits = (axes.xaxis, axes.get_xlim()) if which == "x" else (axes.yaxis, axes.get_ylim())
    size = float(np.max(np.abs(limits)))
    exponent = 0 if 0.01 <= size < 1e5 else 3 * int(np.floor((np.log10(size) + 1) / 3))  # 0.1 to 99 are left
    if exponent:
        axes.ticklabel_format(axis=which, style="sci", scilimits=(exponent, exponent))
        axis.get_offset_text().set_visible(False)
    return exponent


def set_value_limits(axes: Axes, values: NDArray[np.float64], *, smallest: float = _NEGLIGIBLE) -> None:
    """Limits around the finite values; a constant is drawn as a flat line, its rounding not magnified.

    `smallest` is the least span near zero that is not rounding; 0 for residuals.
    """
    finite = values[np.abs(values) < _EFFECTIVELY_INFINITE]
    if finite.size == 0:
        axes.set_ylim(-1.0, 1.0)
        axes.text(0.5, 0.5, "no finite values", transform=axes.transAxes, ha="center", va="center", color=FAINT)
        return
    low, high = float(finite.min()), float(finite.max())
    middle, size = 0.5 * low + 0.5 * high, max(abs(low), abs(high))
    if high - low > max(_CONSTANT * size, smallest):
        margin = 0.06 * (high - low)
        axes.set_ylim(low - margin, high + margin)
    else:
        half = 0.05 * abs(middle) if size > smallest else 1.0
        axes.set_ylim(middle - half, middle + half)


def set_time_axis(axes: list[Axes], run: Trajectory) -> None:
    """A common time axis under the lowest panel, limited to the run."""
    start, end = sorted((float(run.time[0]), float(run.time[-1])))
    axes[-1].set_xlim((start, end) if end > start else (start - 0.5, start + 0.5))
    axes[-1].set_xlabel(with_unit("time", "s", _take_exponent(axes[-1], "x")))
    axes[0].figure.align_ylabels(axes)


def mark_events(axes: list[Axes], run: Trajectory) -> None:
    """A line at each event through all panels, one dash pattern per name; names are in the legend of the top panel."""
    kinds = list(dict.fromkeys(event.name for event in run.events))
    for kind in kinds:
        rank = kinds.index(kind)
        dashes = _EVENT_DASHES[min(rank, len(_EVENT_DASHES) - 1)]
        label = display_name(kind) if rank < len(_EVENT_DASHES) else None
        for time in (event.time for event in run.events if event.name == kind):
            for panel in axes:
                name = label if panel is axes[0] else None
                panel.axvline(time, color=FAINT, linestyle=dashes, linewidth=0.9, zorder=1, label=name)
                label = None if panel is axes[0] else label


def legend_above(axes: Axes, width: float) -> int:
    """A legend above the panel in as few rows as the width in inches allows; returns the number of rows."""
    handles, names = axes.get_legend_handles_labels()
    if not names:
        return 0
    columns = next((count for count in range(len(names), 1, -1) if _legend_width(names, count) < width - 0.7), 1)
    axes.legend(handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.1)
    return -(-len(names) // columns)


def _legend_width(names: list[str], columns: int) -> float:
    """Approximate width of 8 pt text in inches; Matplotlib fills column by column."""
    parts = np.array_split(np.array([len(name) for name in names]), columns)
    return sum(0.065 * float(part.max()) + 0.45 for part in parts)
