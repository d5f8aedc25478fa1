"""`draisine export MODEL --lang c,julia --what dynamics,linear --out DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.arguments import model_of, names_of, targets_of
from draisine.cli.options import add_json, add_model
from draisine.cli.terminal import DONE, print_json

# Named here so that help need not load the exporters; a test compares.
LANGUAGES = "c, fortran, julia, octave, javascript, script, rust, python, casadi, fmu"
WHAT = (
    "dynamics, residual, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events, monitor"
)


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "export",
        help="write a model's programs as source code of another language, or as an FMU",
        description="Write a model's programs as source code of another language, or the model as an FMU 3.0.",
        epilog="example: draisine export bicycle --lang c,octave --what dynamics,linear --out generated; "
        "for fmu, the start may be wished for: --lang fmu --speed 4.6",
    )
    add_model(parser)
    parser.add_argument("--lang", default="c", metavar="NAMES", help=f"languages, with commas between: {LANGUAGES} (default c)")
    parser.add_argument("--what", default="dynamics", metavar="NAMES", help=f"programs: {WHAT} (default dynamics)")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="folder for the files (default out)")
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Write the files, and say which."""
    from draisine.simulation.compile import export

    written = export(model_of(given.model), names_of(given.lang), names_of(given.what), given.out, start=targets_of(extra))
    if given.json:
        print_json({"written": written})
        return DONE
    for path in written:
        print(path)
    return DONE
