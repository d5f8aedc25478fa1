"""New figures, and panels in them. Matplotlib is imported when the first figure is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from draisine.view.plots.labels import label_axis, legend_above
from draisine.view.plots.style import PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from draisine.view.plots.figure_class import SavableFigure


_ANGLE = " [rad]"


def new_figure(width: float, height: float, *, layout: Literal["constrained"] | None = "constrained") -> SavableFigure:
    """An empty figure of a size in inches; call it inside `style()`."""
    from draisine.view.plots.figure_class import SavableFigure  # needs Matplotlib

    return SavableFigure(figsize=(width, height), layout=layout)


def pixels(figure: Figure, dpi: float) -> NDArray[np.uint8]:
    """A figure as an array (height, width, 3) of red, green and blue."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3].copy()


def panels(rows: int, width: float, height: float, ratios: list[float] | None = None) -> tuple[SavableFigure, list[Axes]]:
    """A figure with panels one above the other on a common time axis; call it inside `style()`."""
    figure = new_figure(width, height)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    return figure, list(axes)


@contextmanager
def single_panel(
    xlabel: str, ylabel: str, *, width: float = PAGE, height: float, equal: bool = False
) -> Iterator[tuple[SavableFigure, Axes]]:
    """A figure of one panel in the style of the package, to be drawn in inside `with`.

    On leaving, the axes are labeled (those in "[rad]" with degrees), get equal scales if asked for, and a legend above them if
    lines have labels.
    """
    with style():
        figure, (axes,) = panels(1, width, height)
        yield figure, axes
        if equal:
            axes.set_aspect("equal")
        for axis, label in ((axes.xaxis, xlabel), (axes.yaxis, ylabel)):
            if label.endswith(_ANGLE):
                label_axis(axis, label.removesuffix(_ANGLE), "rad")
            else:
                axis.set_label_text(label)
        legend_above(axes, width)
