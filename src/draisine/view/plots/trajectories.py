"""Figures of a run against time: channels by unit, energies and their balance, wheel contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.results.channel import Group
from draisine.results.trajectory import KINETIC, POTENTIAL, TOTAL, WORK, Trajectory
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import (
    display_name,
    label_values,
    legend_above,
    mark_events,
    quantity,
    set_time_axis,
    set_value_limits,
    with_unit,
)
from draisine.view.plots.style import COLORS, PAGE, style
from draisine.view.scene.from_model import nominal_contact_angles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

MAIN_CHANNELS = ("speed", "lean", "steer", "roll_rate", "steer_rate", "heading")
_MOST_CHANNELS = 12
_STILL = 1e-6  # smaller changes count as rest
_MOST_LINES = 7  # distinguishable colors on white
_LONGEST_LABEL = 18  # characters beside the lowest panel
_PANEL_HEIGHT = {1: 2.4, 2: 1.9, 3: 1.7}  # inches, by number of panels


def channel_figure(run: Trajectory, *names: str, width: float = PAGE) -> Figure:
    """Channels against time: one panel per unit, the panels on a common axis, a legend above each.

    Without names: all outputs, or all coordinates and velocities where there are no outputs. You should see smooth lines (a
    jump is an event or a mode switch), dotted lines at events, and constants as flat lines without magnified rounding, except
    for residuals, which are rounding.

        channel_figure(run, "roll_rate", "steer_rate", "speed")
    """
    groups = _by_unit(run, names or _default_names(run))
    with style():
        drawing, axes = panels(len(groups), width, 0.5 + len(groups) * _PANEL_HEIGHT.get(len(groups), 1.5))
        for panel, members in zip(axes, groups, strict=True):
            _draw_channels(panel, run, members)
        mark_events(axes, run)
        for panel in axes:
            legend_above(panel, width)
        set_time_axis(axes, run)
    return drawing


def main_channels(run: Trajectory) -> list[str]:
    """The quantities that tell most of a run: speed, lean and steer of vehicles, else those that change."""
    main = [name for name in MAIN_CHANNELS if name in run]
    if len(main) >= 3:
        return main
    rest = [*run.names(Group.OUTPUTS), *run.names(Group.COORDINATES), *run.names(Group.VELOCITIES)]
    moving = [n for n in dict.fromkeys([*main, *rest]) if float(np.ptp(np.nan_to_num(run[n]))) > _STILL]
    return (moving or list(dict.fromkeys(rest)))[:_MOST_CHANNELS]


def _draw_channels(axes: Axes, run: Trajectory, names: Sequence[str]) -> None:
    """Channels of one unit in one panel: a single one with a short name is labeled on the axis, others in the legend."""
    first = run.channel(names[0])
    on_axis = len(names) == 1 and len(with_unit(first.name, first.unit)) <= _LONGEST_LABEL
    for name in names:
        axes.plot(*run.curve(name), label=None if on_axis else display_name(name))
    smallest = {"smallest": 0.0} if first.group is Group.RESIDUALS else {}
    set_value_limits(axes, np.concatenate([run.curve(name)[1] for name in names]), **smallest)
    label_values(axes, display_name(first.name) if on_axis else quantity(first.unit), first.unit)


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
        raise ArgumentError(f"names are separate arguments, run.plot('speed', 'lean'); got {strange[0]!r}")
    for name in dict.fromkeys(names):
        channel = run.channel(name)
        groups.setdefault((channel.unit, channel.group is Group.RESIDUALS), []).append(name)
    return [members[i : i + _MOST_LINES] for members in groups.values() for i in range(0, len(members), _MOST_LINES)]


# ---------------------------------------------------------------- energies


_COLORS = {KINETIC: COLORS[0], POTENTIAL: COLORS[1], TOTAL: COLORS[6], WORK: COLORS[2]}
_LEAST_ERROR, _ROUNDING = 1e-17, 1e-14  # least range of the error panel


def energy_figure(run: Trajectory, *, width: float = PAGE) -> Figure:
    """Energies, their changes since the start, and the error of their balance.

    You should see kinetic and potential energy exchange in the second panel, the change of the total follow the work, and in
    the third an error (total − work, counted from the start, relative to the energy in play) that stays near the tolerance of
    the integration, without a steady climb.
    """
    balance, scale = run.energy_balance, run.energy_scale
    if balance is None or scale is None:
        counted = "it is not a mechanical system" if scale is None else "its equations do not count work; derive with work=True"
        raise ArgumentError(f"the run of {run.model!r} has no energy balance: {counted}")
    with style():
        drawing, axes = panels(3, width, 6.0 if width > 5 else 5.4, ratios=[1.0, 1.0, 0.8])
        top, middle, bottom = axes
        _draw_energies(top, run, (KINETIC, POTENTIAL, TOTAL))
        label_values(top, "energy", "J")
        _draw_energies(middle, run, (KINETIC, POTENTIAL, TOTAL, WORK), from_start=True)
        label_values(middle, "change", "J")
        _draw_error(bottom, run.time, np.abs(balance) / scale)
        mark_events(axes, run)
        for panel in axes:
            legend_above(panel, width)
        set_time_axis(axes, run)
    return drawing


def _draw_energies(axes: Axes, run: Trajectory, names: Sequence[str], from_start: bool = False) -> None:
    drawn = []
    for name in names:
        time, values = run.curve(name)
        values = values - values[0] if from_start else values
        dashes = (0, (4, 2)) if name == WORK else "-"  # coincides with the total without losses
        axes.plot(time, values, color=_COLORS[name], linestyle=dashes, label=name.removesuffix("_energy"))
        drawn.append(values)
    set_value_limits(axes, np.concatenate(drawn))


def _draw_error(axes: Axes, time: Array, error: Array) -> None:
    shown = np.where(error > 0, np.maximum(error, _LEAST_ERROR), np.nan)  # an exact zero cannot be drawn on a logarithmic axis
    worst = float(np.nanmax(shown, initial=0.0))
    axes.semilogy(time, shown, color=COLORS[3], linewidth=1.1, label=f"error of the balance, worst {worst:.1e}")
    axes.set_ylim(_LEAST_ERROR, max(10 * worst, _ROUNDING))
    axes.set_ylabel("error [–]")


# ---------------------------------------------------------------- wheel contacts


_WARNING = COLORS[1]


def contact_angle_figure(run: Trajectory, *, width: float = PAGE) -> Figure:
    """Contact angle of each wheel around its rim, from its nominal value (π for a wheel under an upright carrier, π + tilt under
    a tilted fork); one panel per wheel. Runs from files, which have no description, show the whole angle.

    You should see small excursions from zero that grow with lean and steer (Mauny, Porez & Boyer 2017, figures 6 and 7; about
    0.13 rad, 7.4°, in their controlled turn).
    """
    source = run.source.freeze() if isinstance(run.source, Model) else run.source
    if not isinstance(source, System):
        return _panel_per_wheel(run, "_contact_angle", "contact angle", width)[0]
    nominal = nominal_contact_angles(source, {name: v for name, v in run.parameters.items() if name in source.constants})
    return _panel_per_wheel(run, "_contact_angle", "contact angle", width, nominal)[0]


def normal_force_figure(run: Trajectory, *, width: float = PAGE) -> Figure:
    """Normal force of each wheel, one panel per wheel.

    You should see the wheels share the weight, and positive values only: below zero, shaded, a real wheel would lift.
    """
    drawing, panels, names = _panel_per_wheel(run, "_normal_force", "normal force", width)
    for axes, name in zip(panels, names, strict=True):
        if float(np.nanmin(run[name], initial=0.0)) < 0:
            with style():
                low, high = axes.get_ylim()
                axes.axhspan(low, 0.0, color=_WARNING, alpha=0.12, linewidth=0, label="the ground would have to pull")
                axes.axhline(0.0, color=_WARNING, linewidth=0.8)
                axes.set_ylim(low, max(high, -0.05 * low))
                legend_above(axes, width)
    return drawing


def friction_figure(run: Trajectory, *, width: float = PAGE) -> Figure:
    """The coefficient of friction that rolling without slip needs at each wheel.

    You should see values well below 1; above, shaded, an ordinary tire would slip.
    """
    drawing, axes, names = _wheels(run, "_friction_needed", "friction needed", width)
    worst = max(float(np.nanmax(run[name], initial=0.0)) for name in names)
    with style():
        if worst > 1:
            # the ratio diverges as a wheel unloads: limit the axis
            top = min(1.06 * worst, 3.0)
            axes.axhspan(1.0, top, color=_WARNING, alpha=0.12, linewidth=0, label="more than a tire holds")
            axes.axhline(1.0, color=_WARNING, linewidth=0.8)
            legend_above(axes, width)
        else:
            top = 1.06 * worst if worst > 1e-10 else 1.0
        axes.set_ylim(0.0, top)
        label_values(axes, "friction needed", "")
    return drawing


def _names(run: Trajectory, suffix: str) -> list[str]:
    names = [name for name in run.names() if name.endswith(suffix)]
    if not names:
        raise ArgumentError(f"the run of {run.model!r} has no wheels to draw: no channel ends in {suffix}")
    return names


def _panel_per_wheel(
    run: Trajectory, suffix: str, title: str, width: float, nominal: Mapping[str, float] | None = None
) -> tuple[Figure, list[Axes], list[str]]:
    """A panel per wheel, since values differ more between wheels than in time; from `nominal` values by wheel, where known."""
    names = _names(run, suffix)
    with style():
        drawing, stack = panels(len(names), width, (0.9 + 1.6 * len(names)) if width > 5 else (0.8 + 1.4 * len(names)))
        for number, (axes, name) in enumerate(zip(stack, names, strict=True)):
            usual = (nominal or {}).get(name.removesuffix(suffix), 0.0)
            time, values = run.curve(name)
            values = values - usual
            label = _wheel(name, suffix) + (f", from its nominal {np.degrees(usual):.4g}°" if usual else "")
            axes.plot(time, values, label=label, color=COLORS[number % len(COLORS)])
            set_value_limits(axes, values)
            label_values(axes, title, run.channel(name).unit)
            legend_above(axes, width)
        mark_events(stack, run)
        set_time_axis(stack, run)
    return drawing, stack, names


def _wheels(run: Trajectory, suffix: str, title: str, width: float) -> tuple[Figure, Axes, list[str]]:
    """One panel with a line per wheel, and the channels in it."""
    names = _names(run, suffix)
    with style():
        drawing, (axes,) = panels(1, width, 2.9 if width > 5 else 2.6)
        for name in names:
            axes.plot(*run.curve(name), label=_wheel(name, suffix))
        set_value_limits(axes, np.concatenate([run.curve(name)[1] for name in names]))
        label_values(axes, title, run.channel(names[0]).unit)
        mark_events([axes], run)
        legend_above(axes, width)
        set_time_axis([axes], run)
    return drawing, axes, names


def _wheel(name: str, suffix: str) -> str:
    return name.removesuffix(suffix).replace("_", " ")
