"""Periodic motions: one period with its Floquet multipliers, and families along a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.results.channel import Group
from draisine.results.trajectory import Trajectory
from draisine.view.plots.canvas import new_figure, panels
from draisine.view.plots.eigenvalues import draw_multipliers
from draisine.view.plots.labels import display_name, label_axis, legend_above
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_MOST = 6  # lines in a panel


def cycle_figure(
    run: Trajectory, multipliers: NDArray[np.complex128], names: Sequence[str] = (), *, width: float = PAGE
) -> Figure:
    """One period of named quantities, one panel per unit, and beside it the Floquet multipliers with the unit circle.

    You should see closed curves (except for cyclic coordinates), and multipliers inside the circle where the motion is stable.
    """
    groups: dict[str, list[str]] = {}
    states = [*run.names(Group.COORDINATES), *run.names(Group.VELOCITIES)]
    for name in names or states:
        groups.setdefault(run.channel(name).unit, []).append(name)
    with style():
        count = len(groups)
        drawing = new_figure(width, max(2.6, 0.6 + 1.5 * count))
        grid = drawing.add_gridspec(count, 2, width_ratios=[1.7, 1.0])
        axes = None
        for row, (unit, members) in enumerate(groups.items()):
            axes = drawing.add_subplot(grid[row, 0], sharex=axes)
            for name in members[:_MOST]:
                axes.plot(*run.curve(name), label=display_name(name))
            alone = members[0] if len(members) == 1 else ""
            label_axis(axes.yaxis, display_name(alone) or "value", unit)
            legend_above(axes, 0.6 * width)
        if axes is not None:
            axes.set_xlabel("time [s]")
        draw_multipliers(drawing.add_subplot(grid[:, 1]), multipliers)
    return drawing


def family_figure(
    parameter: tuple[str, str],
    values: Array,
    stable: Sequence[bool | None],
    quantities: Mapping[str, tuple[str, Array]],
    *,
    width: float = PAGE,
) -> Figure:
    """Quantities of periodic motions along a parameter: filled where stable, open where not, gray where undecided."""
    with style():
        drawing, stack = panels(len(quantities), width, 0.6 + 1.8 * len(quantities))
        kinds: dict[str, tuple[bool | None, dict[str, str]]] = {
            "stable": (True, {"color": COLORS[0], "marker": "o"}),
            "unstable": (False, {"color": COLORS[1], "marker": "s", "markerfacecolor": "white"}),
            "undecided": (None, {"color": "0.5", "marker": "D"}),
        }
        for axes, (name, (unit, amounts)) in zip(stack, quantities.items(), strict=True):
            axes.plot(values, amounts, color="0.75", linewidth=1.0, zorder=1)
            for label, (kind, look) in kinds.items():
                chosen = np.array([one is kind for one in stable])
                if chosen.any():
                    axes.plot(values[chosen], amounts[chosen], linestyle="", markersize=4.5, label=label, **look)  # type: ignore[arg-type]
            label_axis(axes.yaxis, display_name(name), unit)
        legend_above(stack[0], width)
        label_axis(stack[-1].xaxis, display_name(parameter[0]), parameter[1])
    return drawing
