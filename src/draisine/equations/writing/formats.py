"""Formats of a document, by name."""

from __future__ import annotations

from collections.abc import Callable

from draisine.equations.writing.document import Document
from draisine.equations.writing.latex import latex
from draisine.equations.writing.markdown import markdown
from draisine.equations.writing.sympy_source import sympy_source
from draisine.equations.writing.webpage import webpage

TEXTS: dict[str, Callable[[Document], str]] = {"md": markdown, "latex": latex, "html": webpage, "sympy": sympy_source}
