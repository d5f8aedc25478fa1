"""Wheels on the ground: where they touch, how hard they press, how much friction rolling needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ArgumentError
from draisine.results.trajectory import Trajectory
from draisine.view.plots.labels import label_values, legend_above, mark_events, set_calm_limits, set_time_axis
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WARNING = COLORS[1]


def contact_angles(run: Trajectory, *, width: float = PAGE) -> Figure:
    """Where each wheel touches the ground, as an angle around the wheel, one panel per wheel.

    You should see small excursions from the value at rest (π for a wheel under an upright carrier, π + tilt under a tilted fork)
    that grow with lean and steer (Mauny, Porez & Boyer 2017, figures 6 and 7; about 0.13 rad in their controlled turn).
    """
    return _panel_per_wheel(run, "_contact_angle", "contact angle", width)[0]


def normal_forces(run: Trajectory, *, width: float = PAGE) -> Figure:
    """The force with which the ground carries each wheel, one panel per wheel.

    You should see the wheels share the weight, and positive values only: below zero, shaded, the ground would have to pull, and
    a real wheel would lift.
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


def friction_needed(run: Trajectory, *, width: float = PAGE) -> Figure:
    """The coefficient of friction that rolling without slip needs at each wheel.

    You should see values well below 1; above, shaded, no ordinary tire would hold.
    """
    drawing, axes, names = _wheels(run, "_friction_needed", "friction needed", width)
    worst = max(float(np.nanmax(run[name], initial=0.0)) for name in names)
    with style():
        if worst > 1:
            # a wheel that unloads needs any friction whatever: the interesting part is what comes before
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


def _panel_per_wheel(run: Trajectory, suffix: str, title: str, width: float) -> tuple[Figure, list[Axes], list[str]]:
    """A panel for each wheel, since their values lie apart and their changes are small."""
    names = _names(run, suffix)
    with style():
        from draisine.view.plots.canvas import panels

        drawing, stack = panels(len(names), width, (0.9 + 1.6 * len(names)) if width > 5 else (0.8 + 1.4 * len(names)))
        for number, (axes, name) in enumerate(zip(stack, names, strict=True)):
            axes.plot(run.time, run[name], label=_wheel(name, suffix), color=COLORS[number % len(COLORS)])
            set_calm_limits(axes, run[name][:, None])
            label_values(axes, title, run.channel(name).unit)
            legend_above(axes, width)
        mark_events(stack, run)
        set_time_axis(stack, run)
    return drawing, stack, names


def _wheels(run: Trajectory, suffix: str, title: str, width: float) -> tuple[Figure, Axes, list[str]]:
    """One panel with a line per wheel, and the channels in it."""
    names = _names(run, suffix)
    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 2.9 if width > 5 else 2.6)
        for name in names:
            axes.plot(run.time, run[name], label=_wheel(name, suffix))
        set_calm_limits(axes, np.column_stack([run[name] for name in names]))
        label_values(axes, title, run.channel(names[0]).unit)
        mark_events([axes], run)
        legend_above(axes, width)
        set_time_axis([axes], run)
    return drawing, axes, names


def _wheel(name: str, suffix: str) -> str:
    return name.removesuffix(suffix).replace("_", " ")
