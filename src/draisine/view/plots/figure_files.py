"""Figures as text and bytes, for documents that hold them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from draisine.view.plots.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def as_svg(figure: Figure) -> str:
    """The figure as an SVG element to be put into a web page: vector lines, text that can be selected and read aloud."""
    text = _saved(figure, "svg", {"Date": None, "Creator": None, "Format": None, "Type": None}).decode()
    return text[text.index("<svg") :].strip()


def as_pdf(figure: Figure) -> bytes:
    return _saved(figure, "pdf", {"CreationDate": None})


def _saved(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with style():
        import matplotlib

        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()
