"""Stability over two quantities: regions by what grows there, with their boundaries labeled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.labels import with_unit, words
from draisine.view.plots.style import PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# of stable, one real mode, a pair, both, several real modes, neutral, no motion, not computed
TINTS = ("#E3F2EA", "#FBE3D0", "#D3E4F3", "#EAD7E6", "#F2D3CC", "#F7F3D7", "#FFFFFF", "#EEEEEE")
LINES = ("#D55E00", "#0072B2")  # boundaries of real modes and of pairs
FINEST = 400  # grid lines of a figure beyond which it gains nothing but size


def stability_regions(
    values: Mapping[str, NDArray[np.float64]],
    kind: NDArray[np.uint8],
    kinds: Sequence[str],
    boundaries: Mapping[str, NDArray[np.float64]],
    *,
    units: Mapping[str, str] | None = None,
    width: float = PAGE,
) -> Figure:
    """Regions of a stability map: the first quantity to the right, the second upwards. `boundaries` are points by name, those of
    real modes first."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    with style():
        from draisine.view.plots.canvas import panels

        drawing, (axes,) = panels(1, width, 0.62 * width)
        (one, right), (other, upwards) = values.items()
        i, j = (slice(None, None, max(1, len(v) // FINEST)) for v in (right, upwards))
        colors = ListedColormap(TINTS)
        norm = BoundaryNorm(np.arange(len(TINTS) + 1) - 0.5, colors.N)
        axes.pcolormesh(right[i], upwards[j], kind[i, j].T, cmap=colors, norm=norm, shading="nearest", rasterized=True)
        _name_regions(axes, right, upwards, kind, kinds)
        for k, (name, points) in enumerate(boundaries.items()):
            axes.plot(points[:, 0], points[:, 1], ".", ms=1.6, color=LINES[k % len(LINES)], label=f"{name} boundary")
        axes.set_xlabel(with_unit(words(one), (units or {}).get(one, "")))
        axes.set_ylabel(with_unit(words(other), (units or {}).get(other, "")))
        axes.set_xlim(right.min(), right.max())
        axes.set_ylim(upwards.min(), upwards.max())
        axes.grid(False)
        if boundaries:
            axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=5)
    return drawing


def _name_regions(
    axes: Axes, right: NDArray[np.float64], upwards: NDArray[np.float64], kind: NDArray[np.uint8], kinds: Sequence[str]
) -> None:
    """Each region's name in its middle: where the border is farthest."""
    from scipy.ndimage import distance_transform_edt

    i, j = (np.unique(np.linspace(0, len(v) - 1, 100).round().astype(int)) for v in (right, upwards))
    for number, name in enumerate(kinds):
        inside = kind[np.ix_(i, j)] == number
        if inside.mean() < 0.02:
            continue
        depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
        a, b = np.unravel_index(int(np.argmax(depth)), depth.shape)
        upright = depth.max() < 0.005 * len(name) * len(i)
        axes.annotate(name, (right[i[a]], upwards[j[b]]), ha="center", va="center", fontsize=8, rotation=90 if upright else 0)
