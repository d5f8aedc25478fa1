"""`draisine equations MODEL --format md|latex|html|sympy|pdf [--out FILE]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_json, print_written

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations

# Named here so that help need not load anything; a test compares.
FORMATS = ("md", "latex", "html", "sympy", "pdf")


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "equations",
        help="a model's equations of motion as a document",
        description="Picture, tree, parameters, constraints, and a listing of named formulas from the state to its derivative. "
        "The picture's configuration may be wished for by name: --steer 0.3",
        epilog="example: draisine equations bicycle --out bicycle.html",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=None,
        help="Markdown, LaTeX, HTML, Python for SymPy, or PDF (needs LaTeX); by default what the suffix of FILE says, else md",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="FILE",
        help="write to a file, with the picture; otherwise to the terminal, without",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: the files written, or the text")
    parser.set_defaults(action=action)


def run(given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float]) -> None:
    """Print the document, or write it and say where."""
    from draisine.presentation import write_equations

    if given.out is not None:
        print_written(write_equations(model, given.out, given.format, at=wishes or None), given.json)
        return
    if given.format == "pdf":
        raise ValueError("a PDF is no text for a terminal: say where to write it, with --out FILE.pdf")
    if wishes:
        raise ValueError(
            f"--{next(iter(wishes))} is for the picture, and only a file has one: say where to write it, with --out FILE"
        )
    from draisine.equations.writing.document import document
    from draisine.equations.writing.formats import TEXTS

    kind = given.format or "md"
    text = TEXTS[kind](document(model))
    if given.json:
        print_json({"format": kind, "text": text})
    else:
        print(text, end="")
