"""The figure class of the package: a Matplotlib `Figure` that notebooks display and that saves itself.

Imported by `canvas` when a figure is made, since it needs Matplotlib.
"""

from __future__ import annotations

import io
import os

from matplotlib.figure import Figure

from draisine.view.plots.figure_files import save_figure
from draisine.view.plots.style import style


class SavableFigure(Figure):
    """A `Figure` made without pyplot, which would need a window system and keep every figure alive."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure as .svg, .pdf or .png, by suffix; complete or not at all."""
        save_figure(self, path)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()
