"""Channels of a run against time, and figures as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ArgumentError
from draisine.results.channel import Group
from draisine.results.trajectory import Trajectory
from draisine.view.plots.labels import (
    label_values,
    legend_above,
    mark_events,
    quantity,
    set_calm_limits,
    set_time_axis,
    with_unit,
    words,
)
from draisine.view.plots.style import PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LINES = 7  # colors that can be told apart on white
_LONGEST_LABEL = 18  # characters beside the lowest panel
_PANEL_HEIGHT = {1: 2.4, 2: 1.9, 3: 1.7}  # inches, by number of panels


def plot(run: Trajectory, *names: str, width: float = PAGE) -> Figure:
    """Channels against time: one panel per unit, the panels on a common axis, a legend above each.

    Without names: all outputs, or all coordinates and velocities where there are no outputs. You should see smooth lines
    (a jump is an event or a switched mode), dotted lines at events, and a constant as a flat line, not as magnified
    rounding. Residuals are the exception: they are rounding, and fill their panel.

        plot(run, "roll_rate", "steer_rate", "speed")
    """
    groups = _by_unit(run, names or _default_names(run))
    with style():
        from draisine.view.plots.canvas import panels

        drawing, axes = panels(len(groups), width, 0.5 + len(groups) * _PANEL_HEIGHT.get(len(groups), 1.5))
        for panel, members in zip(axes, groups, strict=True):
            _draw_channels(panel, run, members)
        mark_events(axes, run)
        for panel in axes:
            legend_above(panel, width)
        set_time_axis(axes, run)
    return drawing


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to .png (200 dots per inch), .svg or .pdf by suffix; complete or not at all."""
    from draisine.view.plots.canvas import write

    write(figure, path)


def _draw_channels(axes: Axes, run: Trajectory, names: Sequence[str]) -> None:
    """Channels of one unit in one panel: a single one with a short name is named on the axis, others in the legend."""
    first = run.channel(names[0])
    on_axis = len(names) == 1 and len(with_unit(first.name, first.unit)) <= _LONGEST_LABEL
    for name in names:
        axes.plot(run.time, run[name], label=None if on_axis else words(name))
    smallest = {"smallest": 0.0} if first.group is Group.RESIDUALS else {}
    set_calm_limits(axes, np.column_stack([run[name] for name in names]), **smallest)
    label_values(axes, words(first.name) if on_axis else quantity(first.unit), first.unit)


def _default_names(run: Trajectory) -> tuple[str, ...]:
    states = run.names(Group.COORDINATES) + run.names(Group.VELOCITIES)
    names = run.names(Group.OUTPUTS) or states or run.names()
    if not names:
        raise ArgumentError(f"the run of {run.model!r} has no channels to plot")
    return names


def _by_unit(run: Trajectory, names: Sequence[str]) -> list[list[str]]:
    """Names in panels: one unit each, residuals apart from motion, at most as many lines as there are colors."""
    groups: dict[tuple[str, bool], list[str]] = {}
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise ArgumentError(f"names are given one by one, plot(run, 'speed', 'lean'); got {strange[0]!r}")
    for name in dict.fromkeys(names):
        channel = run.channel(name)
        groups.setdefault((channel.unit, channel.group is Group.RESIDUALS), []).append(name)
    return [members[i : i + _MOST_LINES] for members in groups.values() for i in range(0, len(members), _MOST_LINES)]
