"""Figures as files (.png, .svg, .pdf), and as text or bytes for documents that contain them."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import ArgumentError
from draisine.results.files import replacing
from draisine.view.plots.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# without times and versions: the same figure gives the same file
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to .png (200 dots per inch), .svg or .pdf by suffix; complete or not at all."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _METADATA:
        raise ArgumentError(f"unknown kind of figure file {target.name!r}: the suffix {suffix!r} is none of .png, .svg and .pdf")
    with replacing(target) as draft, style():
        figure.savefig(draft, format=suffix[1:], metadata=_METADATA[suffix])


def as_svg(figure: Figure) -> str:
    """The figure as an SVG element for a web page: vector lines, and text that can be selected and read aloud."""
    text = _saved(figure, "svg", {"Date": None, "Creator": None, "Format": None, "Type": None}).decode()
    return text[text.index("<svg") :].strip()


def as_png(figure: Figure) -> bytes:
    """The figure as pixels, at the resolution of a screen."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=110, metadata=_METADATA[".png"])
    return buffer.getvalue()


def as_pdf(figure: Figure) -> bytes:
    return _saved(figure, "pdf", {"CreationDate": None})


def _saved(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with style():
        import matplotlib

        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()
