"""`draisine equations MODEL --format md|latex|html|sympy [--out FILE]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations

# Named here so that help need not load anything; a test compares.
FORMATS = ("md", "latex", "html", "sympy")


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "equations",
        help="a model's equations of motion as a document",
        description="Name, tree, parameters, constraints, and a listing of named formulas from the state to its derivative.",
        epilog="example: draisine equations bicycle --format html --out bicycle.html",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument("--format", choices=FORMATS, default="md", help="Markdown (default), LaTeX, HTML, or Python for SymPy")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write to a file instead of the terminal")
    parser.set_defaults(action=action)


def run(given: argparse.Namespace, model: Model | Equations) -> None:
    """Print the document, or write it and say where."""
    from draisine.equations.writing.document import FORMATS as PRINTERS
    from draisine.equations.writing.document import document
    from draisine.model import Model, ModelError

    if not isinstance(model, Model):
        raise ModelError(f"{model.name!r} was typed as formulas already; a listing is made from a described mechanism")
    text = PRINTERS[given.format](document(model))
    if given.out is None:
        print(text, end="")
        return
    given.out.write_text(text, encoding="utf-8")
    print(f"written: {given.out}")
