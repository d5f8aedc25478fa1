"""Where the energy is, where it goes, and how well its balance closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.results.trajectory import KINETIC, POTENTIAL, TOTAL, WORK, Trajectory
from draisine.view.plots.labels import label_values, legend_above, mark_events, set_calm_limits, set_time_axis
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_COLORS = {KINETIC: COLORS[0], POTENTIAL: COLORS[1], TOTAL: COLORS[6], WORK: COLORS[2]}
_LEAST_ERROR, _ROUNDING = 1e-17, 1e-14  # the panel of errors always shows at least this range


def energy(run: Trajectory, *, width: float = PAGE) -> Figure:
    """Energies, their changes since the start, and the error of their balance.

    You should see kinetic and potential energy exchange in the second panel, the change of the total follow the work, and in
    the third an error (total − work, counted from the start, relative to the energy in play) that stays near the tolerance of
    the integration, without a steady climb.
    """
    balance, scale = run.energy_balance, run.energy_scale
    if balance is None or scale is None:
        raise ArgumentError(f"the run of {run.model!r} has no energy: it is not a mechanical system")
    with style():
        from draisine.view.plots.canvas import panels

        drawing, axes = panels(3, width, 6.0 if width > 5 else 5.4, ratios=[1.0, 1.0, 0.8])
        top, middle, bottom = axes
        _draw_energies(top, run.time, {name: run[name] for name in (KINETIC, POTENTIAL, TOTAL)})
        label_values(top, "energy", "J")
        _draw_energies(middle, run.time, {name: run[name] - run[name][0] for name in (KINETIC, POTENTIAL, TOTAL, WORK)})
        label_values(middle, "change", "J")
        _draw_error(bottom, run.time, np.abs(balance) / scale)
        mark_events(axes, run)
        for panel in axes:
            legend_above(panel, width)
        set_time_axis(axes, run)
    return drawing


def _draw_energies(axes: Axes, time: Array, columns: dict[str, Array]) -> None:
    for name, values in columns.items():
        dashes = (0, (4, 2)) if name == WORK else "-"  # it lies on the total where nothing is lost
        axes.plot(time, values, color=_COLORS[name], linestyle=dashes, label=name.removesuffix("_energy"))
    set_calm_limits(axes, np.column_stack(list(columns.values())))


def _draw_error(axes: Axes, time: Array, error: Array) -> None:
    shown = np.where(error > 0, np.maximum(error, _LEAST_ERROR), np.nan)  # an exact zero has no place on a logarithmic axis
    worst = float(np.nanmax(shown, initial=0.0))
    axes.semilogy(time, shown, color=COLORS[3], linewidth=1.1, label=f"error of the balance, worst {worst:.1e}")
    axes.set_ylim(_LEAST_ERROR, max(10 * worst, _ROUNDING))
    axes.set_ylabel("error [–]")
