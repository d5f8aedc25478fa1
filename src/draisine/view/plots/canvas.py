"""The figure that `view` hands out: a plain Matplotlib `Figure`, made without pyplot, which notebooks display by themselves.

Imported where a figure is drawn, since it needs Matplotlib.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from draisine.errors import ArgumentError
from draisine.results.files import replacing
from draisine.view.plots.style import style

_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


class Drawing(Figure):
    """A `Figure` with a picture of itself for notebooks; pyplot would need a window system and keep every figure alive."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as .svg, .pdf or .png, by suffix; complete or not at all."""
        write(self, path)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with style():
            self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def panels(rows: int, width: float, height: float, ratios: list[float] | None = None) -> tuple[Drawing, list[Axes]]:
    """A figure with panels one above the other on a common time axis; call it inside `style()`."""
    drawing = Drawing(figsize=(width, height), layout="constrained")
    axes = drawing.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    return drawing, list(axes)


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure as the suffix says, completely or not at all."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _METADATA:
        raise ArgumentError(f"unknown kind of figure file {target.name!r}: the suffix {suffix!r} is none of .png, .svg and .pdf")
    with replacing(target) as draft, style():
        figure.savefig(draft, format=suffix[1:], metadata=_METADATA[suffix])
