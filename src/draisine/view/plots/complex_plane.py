"""Eigenvalues of one motion in the complex plane, and multipliers of a periodic one beside the unit circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, COLUMN, FAINT, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NEUTRAL = 1e-9  # of the largest eigenvalue


def eigenvalue_plane(values: NDArray[np.complex128], *, width: float = 1.3 * COLUMN) -> Figure:
    """Eigenvalues as crosses: blue left of the axis, where motion decays, orange right of it, green on it."""
    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 0.8 * width)
        size = max(float(np.abs(values).max(initial=0.0)), 1e-300)
        axes.axhline(0.0, color=FAINT, linewidth=0.7)
        axes.axvline(0.0, color=FAINT, linewidth=0.7)
        groups = {
            "decays": values[values.real < -_NEUTRAL * size],
            "neither": values[np.abs(values.real) <= _NEUTRAL * size],
            "grows": values[values.real > _NEUTRAL * size],
        }
        for (name, some), color, mark in zip(groups.items(), (COLORS[0], COLORS[2], COLORS[1]), "xos", strict=True):
            if some.size:
                axes.plot(some.real, some.imag, mark, color=color, markersize=6, markeredgewidth=1.6, label=name)
        axes.margins(0.12)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        legend_above(axes, width)
    return drawing


def draw_multipliers(axes: Axes, multipliers: NDArray[np.complex128]) -> None:
    """Floquet multipliers on axes: inside of the circle deviations die away."""
    around = np.linspace(0.0, 2 * np.pi, 241)
    axes.plot(np.cos(around), np.sin(around), color=FAINT, linewidth=0.9, label="unit circle")
    inside = np.abs(multipliers) <= 1 + 1e-9
    for some, color, mark, name in (
        (multipliers[inside], COLORS[0], "x", "multipliers"),
        (multipliers[~inside], COLORS[1], "s", "growing"),
    ):
        if some.size:
            axes.plot(some.real, some.imag, mark, color=color, markersize=6, markeredgewidth=1.6, label=name)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("real part [–]")
    axes.set_ylabel("imaginary part [–]")
    axes.legend(loc="upper right", fontsize=7)
