"""`draisine equations MODEL --format md|latex|html|sympy|pdf [--out FILE]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.arguments import model_of, targets_of
from draisine.cli.options import add_model
from draisine.cli.terminal import DONE, print_json, print_written
from draisine.errors import ArgumentError

# Named here so that help need not load anything; a test compares.
FORMATS = ("md", "latex", "html", "sympy", "pdf")


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "equations",
        help="a model's equations of motion as a document",
        description="Picture, tree, parameters, constraints, and a listing of named formulas from the state to its derivative. "
        "The picture's configuration may be wished for by name: --steer 0.3",
        epilog="example: draisine equations bicycle --out bicycle.html",
    )
    add_model(parser)
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
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Print the document, or write it and say where."""
    from draisine.view.equation_document import write_equations

    model, targets = model_of(given.model), targets_of(extra)
    if given.out is not None:
        print_written(write_equations(model, given.out, given.format, at=targets or None), given.json)
        return DONE
    if given.format == "pdf":
        raise ArgumentError("a PDF is no text for a terminal: say where to write it, with --out FILE.pdf")
    if targets:
        raise ArgumentError(
            f"--{next(iter(targets))} is for the picture, and only a file has one: say where to write it, with --out FILE"
        )
    from draisine.symbolic.rendering.document import document
    from draisine.symbolic.rendering.formats import TEXTS

    kind = given.format or "md"
    text = TEXTS[kind](document(model))
    if given.json:
        print_json({"format": kind, "text": text})
    else:
        print(text, end="")
    return DONE
