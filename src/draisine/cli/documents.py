"""`draisine show`, `equations`, `draw` and `export`: a model as text, document, drawing or source code."""

from __future__ import annotations

import argparse
from pathlib import Path

from draisine.cli.arguments import model_of, names_of, numbers_of, targets_of
from draisine.cli.terminal import DONE, print_json, print_text, print_written
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.simulation.export import export
from draisine.symbolic.rendering.document import document
from draisine.symbolic.rendering.formats import TEXTS
from draisine.symbolic.rendering.model_text import describe, describe_as_data
from draisine.view.drawing import draw
from draisine.view.equation_document import write_equations
from draisine.view.plots.figure_files import save_figure


def run_show(given: argparse.Namespace, _: list[str]) -> int:
    """Print the tree, the constraints and the parameters."""
    model = model_of(given.model)
    system = None if isinstance(model, Equations) else model.freeze()
    equations = model if isinstance(model, Equations) else derive(model)
    if given.json:
        print_json(describe_as_data(equations, system))
    else:
        print_text(describe(equations, system))
    return DONE


def run_equations(given: argparse.Namespace, rest: list[str]) -> int:
    """Print the document, or write it to a file."""
    model, targets = model_of(given.model), targets_of(rest, vars(given))
    if given.out is not None:
        print_written(write_equations(model, given.out, given.format, at=targets or None), given.json)
        return DONE
    if given.format == "pdf":
        raise ArgumentError("a PDF cannot be printed to a terminal; name a file: --out FILE.pdf")
    if targets:
        raise ArgumentError(f"--{next(iter(targets))} sets the picture, and only a file has one; name a file: --out FILE")
    kind = given.format or "md"
    text = TEXTS[kind](document(model))
    if given.json:
        print_json({"format": kind, "text": text})
    else:
        print(text, end="")
    return DONE


def run_draw(given: argparse.Namespace, rest: list[str]) -> int:
    """Write the drawing."""
    model, parameters = model_of(given.model), numbers_of(given.set, "--set")
    views = names_of(given.views) if given.views is not None else None
    path = given.out if given.out is not None else Path(f"{model.name}.svg")
    save_figure(draw(model, targets_of(rest, vars(given)) or None, parameters=parameters, views=views), path)
    print_written([path], given.json)
    return DONE


def run_export(given: argparse.Namespace, rest: list[str]) -> int:
    """Write the source files."""
    written = export(
        model_of(given.model), names_of(given.lang), names_of(given.what), given.out, start=targets_of(rest, vars(given))
    )
    if given.json:
        print_json({"written": written})
        return DONE
    for path in written:
        print(path)
    return DONE
