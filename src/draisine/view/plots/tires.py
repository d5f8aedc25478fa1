"""Curves of a tire: side force and aligning moment over the slip angle, longitudinal force over slip, combined slip, camber."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from draisine.model.contact.tires import Tire
    from draisine.view.plots.figure_class import SavableFigure

DEGREE = np.pi / 180


def tire_figure(
    tire: Tire,
    load: float | Sequence[float] | None = None,
    *,
    slip_angle: float = 15 * DEGREE,
    slip: float = 0.3,
    camber: float = 10 * DEGREE,
    parameters: Mapping[str, float] | None = None,
    width: float = PAGE,
) -> SavableFigure:
    """Six panels: forces over slip angle, slip and camber up to the given values, moments, and combined slip."""
    loads = [float(n) for n in np.atleast_1d(_usual_loads(tire, parameters) if load is None else load)]
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # curves may leave the ranges of a tire file, which are marked
        figure = new_figure(width, 0.95 * width)
        axes = figure.subplots(3, 2)
        alpha, kappa = np.linspace(-slip_angle, slip_angle, 301), np.linspace(-slip, slip, 301)
        gamma = np.linspace(-camber, camber, 201)
        for k, n in enumerate(loads):
            look: dict[str, Any] = {"color": COLORS[k % len(COLORS)], "label": f"{n / 1000:.3g} kN"}
            turned = tire.forces(n, slip_angle=alpha, parameters=parameters)
            axes[0, 0].plot(alpha / DEGREE, turned.lateral / 1000, **look)
            axes[1, 0].plot(alpha / DEGREE, turned.aligning, **look)
            pushed = tire.forces(n, slip=kappa, parameters=parameters)
            axes[0, 1].plot(kappa, pushed.longitudinal / 1000, **look)
            leaned = tire.forces(n, camber=gamma, parameters=parameters)
            axes[1, 1].plot(gamma / DEGREE, leaned.lateral / 1000, **look)
        middle = loads[len(loads) // 2]
        for k, angle in enumerate(np.array([0.0, 2.0, 4.0, 8.0]) * DEGREE):
            both = tire.forces(middle, slip=kappa, slip_angle=angle, parameters=parameters)
            look = {"color": COLORS[k % len(COLORS)], "label": f"α = {angle / DEGREE:.0f}°"}
            axes[2, 0].plot(both.longitudinal / 1000, both.lateral / 1000, **look)
            axes[2, 1].plot(kappa, both.lateral / 1000, **look)
        _mark_ranges(axes[0, 0], axes[1, 0], tire, "slip_angle", DEGREE)
        _mark_ranges(axes[0, 1], axes[2, 1], tire, "slip", 1.0)
        for place, across, up in (
            ((0, 0), "slip angle [°]", "side force [kN]"),
            ((1, 0), "slip angle [°]", "aligning moment [N·m]"),
            ((0, 1), "longitudinal slip κ [–]", "longitudinal force [kN]"),
            ((1, 1), "camber [°]", "side force [kN]"),
            ((2, 0), f"longitudinal force [kN], load {middle / 1000:.3g} kN", "side force [kN]"),
            ((2, 1), f"longitudinal slip κ [–], load {middle / 1000:.3g} kN", "side force [kN]"),
        ):
            axes[place].set_xlabel(across)
            axes[place].set_ylabel(up)
        axes[0, 0].legend(fontsize="small", title="load", title_fontsize="small")
        axes[2, 1].legend(fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _usual_loads(tire: Tire, parameters: Mapping[str, float] | None) -> list[float]:
    """A half, one and one and a half times the nominal load; 1, 3 and 5 kN of a tire that has none."""
    c = tire.numbers(parameters)
    nominal = c.get("FNOMIN", c.get("reference", 2000.0))
    return [0.5 * nominal, nominal, 1.5 * nominal]


def _mark_ranges(upper: Any, lower: Any, tire: Tire, name: str, unit: float) -> None:
    """Lines at the ends of the range of a tire file, where they are in sight."""
    for axes in (upper, lower):
        left, right = axes.get_xlim()
        for end in tire.ranges.get(name, ()):
            if left < end / unit < right:
                axes.axvline(end / unit, color="0.6", linewidth=0.8, linestyle=":")
