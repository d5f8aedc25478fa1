"""Documents of a model's equations with its picture: Markdown, LaTeX, HTML, PDF, SymPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.results.files import write_bytes, write_text
from draisine.symbolic.rendering.document import Picture, document
from draisine.symbolic.rendering.formats import TEXTS
from draisine.symbolic.rendering.latex import typeset
from draisine.view.drawing import draw
from draisine.view.plots.figure_files import as_pdf, as_svg

if TYPE_CHECKING:
    from draisine.symbolic.rendering.document import Picture

# suffix of a file → format of the document
SUFFIXES = {".md": "md", ".tex": "latex", ".html": "html", ".py": "sympy", ".pdf": "pdf"}


def write_equations(
    model: Model | System | Equations,
    out: str | Path,
    format: str | None = None,
    *,
    at: Mapping[str, float] | None = None,
    picture: bool = True,
) -> list[Path]:
    """Write a model's equations as a document; return the files written.

    The suffix of `out` (.md, .tex, .html, .pdf, .py for SymPy) or `format` (md, latex, html, pdf, sympy) selects the format. The
    document contains the model's picture (with `at` as in `draw`), its tree, parameters, constraints, matrices where they are
    short, and the listing of named formulas. Markdown and LaTeX refer to the picture in a separate file, HTML contains it; PDF
    needs LaTeX.
    """
    path = Path(out)
    kind = format or SUFFIXES.get(path.suffix.lower())
    if kind not in (*TEXTS, "pdf"):
        given = f"format {format!r}" if format else f"suffix {path.suffix!r} of {path.name!r}"
        raise ArgumentError(f"equations: the {given} is none of {', '.join((*TEXTS, 'pdf') if format else SUFFIXES)}")
    drawn = None if isinstance(model, Equations) or not picture or kind == "sympy" else _picture(model, at, path.stem)
    doc = document(model, drawn)
    if kind == "pdf":
        write_bytes(path, typeset(doc))
        return [path]
    write_text(path, TEXTS[kind](doc))
    if drawn is None or kind == "html":
        return [path]
    beside = path.with_name(f"{drawn.file}.{'pdf' if kind == 'latex' else 'svg'}")
    write_bytes(beside, drawn.pdf if kind == "latex" else drawn.svg.encode())
    return [path, beside]


def _picture(model: Model | System, at: Mapping[str, float] | None, stem: str) -> Picture:
    figure = draw(model, at)
    # TeX and Markdown read the name: letters, digits and hyphens only
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem)
    return Picture(as_svg(figure), as_pdf(figure), f"{plain}-picture")
