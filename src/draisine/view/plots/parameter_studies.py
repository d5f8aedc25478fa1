"""Studies over varied quantities: regions of a stability map, and outcomes of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.canvas import new_figure, panels
from draisine.view.plots.labels import display_name, label_axis, legend_above
from draisine.view.plots.style import COLORS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# of stable, one real mode, a pair, both, several real modes, neutral, no motion, not computed
TINTS = ("#E3F2EA", "#FBE3D0", "#D3E4F3", "#EAD7E6", "#F2D3CC", "#F7F3D7", "#FFFFFF", "#EEEEEE")
FURTHER = ("#CDE7E5", "#E4DCF1", "#F6E3B4", "#DCE6C5", "#F5D5DF", "#C9D6E3", "#E9DCCB", "#D9D9EE")  # of modes named by shapes
LINES = ("#D55E00", "#0072B2")  # boundaries of real modes and of pairs
FINEST = 400  # grid points per axis; more would only enlarge the file


def stability_regions(
    values: Mapping[str, NDArray[np.float64]],
    kind: NDArray[np.uint8],
    kinds: Sequence[str],
    boundaries: Mapping[str, NDArray[np.float64]],
    *,
    units: Mapping[str, str] | None = None,
    pulled: NDArray[np.bool_] | None = None,
    width: float = PAGE,
) -> Figure:
    """Regions of a stability map: the first quantity to the right, the second upwards. `boundaries` are points by name, those of
    real modes first. Where the ground would have to pull (`pulled`) the map is hatched."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    with style():
        drawing, (axes,) = panels(1, width, 0.62 * width)
        (one, right), (other, upwards) = values.items()
        i, j = (slice(None, None, max(1, len(v) // FINEST)) for v in (right, upwards))
        tints = [*TINTS, *(FURTHER[k % len(FURTHER)] for k in range(len(kinds) - len(TINTS)))]
        norm = BoundaryNorm(np.arange(len(tints) + 1) - 0.5, len(tints))
        axes.pcolormesh(
            right[i], upwards[j], kind[i, j].T, cmap=ListedColormap(tints), norm=norm, shading="nearest", rasterized=True
        )
        _name_regions(axes, right, upwards, kind, kinds)
        if pulled is not None and pulled.any():
            hatched = pulled[i, j].T.astype(float)
            axes.contourf(right[i], upwards[j], hatched, levels=[0.5, 1.5], colors="none", hatches=["////"])
            axes.set_title("hatched: the ground would have to pull", fontsize=8, loc="left")
        for k, (name, points) in enumerate(boundaries.items()):
            axes.plot(points[:, 0], points[:, 1], ".", ms=1.6, color=LINES[k % len(LINES)], label=f"{name} boundary")
        label_axis(axes.xaxis, display_name(one), (units or {}).get(one, ""))
        label_axis(axes.yaxis, display_name(other), (units or {}).get(other, ""))
        axes.set_xlim(right.min(), right.max())
        axes.set_ylim(upwards.min(), upwards.max())
        axes.grid(False)
        if boundaries:
            axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=5)
    return drawing


def _name_regions(
    axes: Axes, right: NDArray[np.float64], upwards: NDArray[np.float64], kind: NDArray[np.uint8], kinds: Sequence[str]
) -> None:
    """Label each region at its point farthest from the boundary."""
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


# ---------------------------------------------------------------- ensembles


Array = NDArray[np.float64]


def endings(
    varied: Mapping[str, tuple[str, Array]],
    status: NDArray[Any],
    names: Sequence[str] = (),
    *,
    pulled: NDArray[np.bool_] | None = None,
    width: float = PAGE,
) -> Figure:
    """Status of runs over two varied quantities: one color and mark per status; runs in which the ground would have to pull
    (`pulled`) are crossed out."""
    (first, (unit, x)), (second, (other, y)) = list(varied.items())[:2]
    with style():
        drawing, (axes,) = panels(1, width, 0.68 * width)
        size = float(np.clip(220.0 / np.sqrt(max(len(x), 1)), 1.5, 7.0))
        for k, kind in enumerate(names or sorted(set(status.tolist()))):
            some = status == kind
            label = f"{str(kind).lower().replace('_', ' ')} ({int(some.sum())})"
            axes.plot(x[some], y[some], "osD^vP"[k % 6], color=COLORS[k % 6], markersize=size, markeredgewidth=0, label=label)
        if pulled is not None and pulled.any():
            label = f"ground would have to pull ({int(pulled.sum())})"
            axes.plot(x[pulled], y[pulled], "x", color="black", markersize=size, markeredgewidth=0.12 * size, label=label)
        label_axis(axes.xaxis, display_name(first), unit)
        label_axis(axes.yaxis, display_name(second), other)
        legend_above(axes, width)
    return drawing


def outcomes(over: tuple[str, str, Array] | None, columns: Mapping[str, tuple[str, Array]], *, width: float = PAGE) -> Figure:
    """Columns of an ensemble: against the varied quantity, or as histograms."""
    with style():
        if over is not None:
            name, unit, x = over
            drawing, stack = panels(len(columns), width, 0.6 + 1.6 * len(columns))
            for k, (axes, (column, (its, values))) in enumerate(zip(stack, columns.items(), strict=True)):
                size = float(np.clip(60.0 / np.sqrt(max(len(x), 1)), 2.0, 8.0))  # few dots are large enough to be seen
                axes.plot(x, values, ".", markersize=size, color=COLORS[k % 6])
                label_axis(axes.yaxis, display_name(column), its)
            label_axis(stack[-1].xaxis, display_name(name), unit)
            return drawing
        drawing = new_figure(width, 0.5 + 1.9 * len(columns))
        grid = drawing.subplots(len(columns), 1, squeeze=False)[:, 0]
        for k, (axes, (column, (its, values))) in enumerate(zip(grid, columns.items(), strict=True)):
            finite = values[np.isfinite(values)]
            axes.hist(finite, bins=max(8, min(60, round(np.sqrt(max(len(finite), 1))))), color=COLORS[k % 6], alpha=0.85)
            label_axis(axes.xaxis, display_name(column), its)
            axes.set_ylabel("runs [–]")
    return drawing
