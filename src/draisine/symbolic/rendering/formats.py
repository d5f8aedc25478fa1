"""Formats of a document, by name."""

from __future__ import annotations

from collections.abc import Callable

from draisine.symbolic.rendering.document import Document
from draisine.symbolic.rendering.formats import markdown, sympy_source
from draisine.symbolic.rendering.html import webpage
from draisine.symbolic.rendering.latex import latex

TEXTS: dict[str, Callable[[Document], str]] = {"md": markdown, "latex": latex, "html": webpage, "sympy": sympy_source}
