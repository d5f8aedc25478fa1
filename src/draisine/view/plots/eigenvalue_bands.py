"""Eigenvalues against speed with bands of one standard deviation, for a bicycle whose parameters are uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.eigenvalues import eigenvalues_against
from draisine.view.plots.style import COLORS, PAGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def eigenvalue_bands(
    speeds: NDArray[np.float64],
    eigenvalues: NDArray[np.complex128],
    deviations: NDArray[np.complex128],
    names: Sequence[str],
    critical: Sequence[tuple[str, float, float]] = (),
    *,
    width: float = PAGE,
) -> Figure:
    """The figure of `eigenvalues_against`, each curve with its band, each critical speed (what, value, deviation) as a strip."""
    drawing = eigenvalues_against(speeds, eigenvalues, names, ("speed", "m/s"), width=width)
    axes = drawing.axes[0]
    low, high = axes.get_ylim()
    modes = list(dict.fromkeys(name.rstrip("*") for name in names))
    for j, name in enumerate(names):
        color = COLORS[modes.index(name.rstrip("*")) % len(COLORS)]
        z, d = eigenvalues[:, j], deviations[:, j]
        axes.fill_between(speeds, *_band(z.real, d.real, high - low), color=color, alpha=0.3, lw=0)
        if not name.endswith("*"):
            swinging = np.where(np.abs(z.imag) > 0, np.abs(z.imag), np.nan)
            axes.fill_between(speeds, *_band(swinging, d.imag, high - low), color=color, alpha=0.3, lw=0)
    for k, (kind, value, deviation) in enumerate(critical):
        axes.axvspan(value - deviation, value + deviation, color="0.5", alpha=0.25, lw=0)
        axes.axvline(value, color="0.5", lw=0.8, ls=":")
        said, at = (
            f"{kind}: {value:.2f} ± {deviation:.2f} m/s",
            (value, 0.98 - 0.06 * k),
        )  # one above the other: they may be close
        plain = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
        where: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "textcoords": "offset points",
            "va": "top",
            "fontsize": 8,
            "bbox": plain,
        }
        axes.annotate(said, at, (4, 0), **where)
    axes.set_ylim(low, high)
    return drawing


def _band(middle: NDArray[np.float64], half: NDArray[np.float64], most: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper edge; at a double root, where the slope is infinite, there is none."""
    half = np.where(half < most, half, np.nan)
    return middle - half, middle + half
