"""Eigenvalues against a swept quantity: real parts as lines, imaginary parts dashed, the stable range shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.labels import with_unit, words
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NEUTRAL = 1e-9  # growth this small, beside the largest eigenvalue or in 1/s, is rounding


def eigenvalues_against(
    values: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    names: Sequence[str],
    over: tuple[str, str],
    critical: Sequence[tuple[str, float]] = (),
    *,
    width: float = PAGE,
) -> Figure:
    """The classic figure of a two-wheeler: one color a mode, vertical lines at critical values."""
    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 0.62 * width)
        # what swings for ever has a real part that is rounding
        stable = np.nanmax(eigenvalues.real, axis=1) < -_NEUTRAL * np.maximum(np.nanmax(np.abs(eigenvalues), axis=1), 1.0)
        whole = axes.get_xaxis_transform()
        axes.fill_between(values, 0, 1, where=stable, transform=whole, color="0.92", lw=0, label="stable")
        modes = list(dict.fromkeys(name.rstrip("*") for name in names))  # the two of a pair share their color
        for j, name in enumerate(names):
            _draw_mode(axes, values, eigenvalues[:, j], name, COLORS[modes.index(name.rstrip("*")) % len(COLORS)])
        for kind, place in critical:
            axes.axvline(place, color="0.5", lw=0.8, ls=":")
            low = (place, 0.02)
            axes.annotate(kind, low, xycoords=("data", "axes fraction"), rotation=90, va="bottom", ha="right", fontsize=8)
        axes.axhline(0.0, color="0.3", lw=0.8)
        axes.set_xlabel(with_unit(words(over[0]), over[1]))
        axes.set_ylabel("eigenvalue [1/s]")
        axes.margins(x=0)
        axes.set_ylim(*_window(eigenvalues))
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawing


def _draw_mode(axes: Axes, values: NDArray[np.float64], mode: NDArray[np.complex128], name: str, color: str) -> None:
    axes.plot(values, mode.real, color=color, lw=1.6, label=None if name.endswith("*") else name)
    swinging = np.where(np.abs(mode.imag) > 0, np.abs(mode.imag), np.nan)
    if np.isfinite(swinging).any() and not name.endswith("*"):
        axes.plot(values, swinging, color=color, lw=1.2, ls="--", label=f"{name}, imaginary part")


def _window(eigenvalues: NDArray[np.complex128]) -> tuple[float, float]:
    """Heights at which the crossings of zero can still be seen: very fast modes may leave the picture below."""
    top = float(np.nanmax(np.maximum(eigenvalues.real, np.abs(eigenvalues.imag))))
    bottom = float(np.nanmin(eigenvalues.real))
    return max(bottom, -2.0 * max(top, 1.0)) * 1.05, top * 1.05
