"""Root locus: eigenvalues in the complex plane, colored by the swept quantity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.style import PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

COLORS = "viridis"  # dark to light in even steps, also in gray


def locus(
    values: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    over: str,
    critical: Mapping[str, complex] | None = None,
    *,
    window: tuple[float, float] | None = None,
    width: float = PAGE,
) -> Figure:
    """Every eigenvalue as a line whose color is the value of `over`; crosses where the sweep begins, dots where it ends.

    The half plane of decay is shaded. `critical` marks named places; `window` bounds the real axis, where one mode is so fast
    that the others would not be seen.
    """
    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 0.62 * width)
        low, high = window or _reach(eigenvalues)
        axes.axvspan(min(low, 0.0), 0.0, color="0.95", lw=0)
        axes.axvline(0.0, color="0.3", lw=0.8)
        axes.axhline(0.0, color="0.3", lw=0.8)
        lines = [_draw(axes, values, eigenvalues[:, j]) for j in range(eigenvalues.shape[1])]
        for k, (kind, place) in enumerate((critical or {}).items()):
            axes.plot([place.real], [abs(place.imag)], "osD^v"[k % 5], ms=6, mfc="none", mec="0.2", label=kind)
        if critical:
            axes.legend(loc="lower left", fontsize=8)
        axes.set_xlim(low, high)
        top = 1.1 * max(float(np.nanmax(np.abs(eigenvalues.imag))), 0.1 * (high - low))
        axes.set_ylim(-top, top)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        drawing.colorbar(lines[0], ax=axes, label=over, pad=0.02)
    return drawing


def _draw(axes: Axes, values: NDArray[np.float64], mode: NDArray[np.complex128]) -> LineCollection:
    from matplotlib.collections import LineCollection

    points = np.column_stack([mode.real, mode.imag])
    steps = np.stack([points[:-1], points[1:]], axis=1)
    line = LineCollection(list(steps), cmap=COLORS, linewidths=1.8)
    line.set_array((values[:-1] + values[1:]) / 2)
    line.set_clim(float(values.min()), float(values.max()))
    axes.add_collection(line)
    good = np.flatnonzero(np.isfinite(mode.real))
    axes.plot(*points[good[0]], "x", color="0.2", ms=5)
    axes.plot(*points[good[-1]], ".", color="0.2", ms=6)
    return line


def _reach(eigenvalues: NDArray[np.complex128]) -> tuple[float, float]:
    """Of the real axis: all of it, unless one mode is far faster than anything else."""
    right = float(np.nanmax(eigenvalues.real))
    top = max(right, float(np.nanmax(np.abs(eigenvalues.imag))), 1e-3)
    left = max(float(np.nanmin(eigenvalues.real)), -2.0 * top)
    margin = 0.05 * (max(right, 0.0) - left)
    return left - margin, max(right, 0.0) + margin
