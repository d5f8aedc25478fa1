"""`draisine export MODEL --lang c,julia --what dynamics,linear --out DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_json

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations

# Named here so that help need not load the exporters; a test compares.
LANGUAGES = "c, fortran, julia, octave, javascript, script, rust, python, casadi, fmu"
WHAT = (
    "dynamics, residual, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, events, monitor"
)


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "export",
        help="write a model's programs as source code of another language, or as an FMU",
        description="Write a model's programs as source code of another language, or the model as an FMU 3.0.",
        epilog="example: draisine export bicycle --lang c,octave --what dynamics,linear --out generated; "
        "for fmu, the start may be wished for: --lang fmu --speed 4.6",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument("--lang", default="c", metavar="NAMES", help=f"languages, with commas between: {LANGUAGES} (default c)")
    parser.add_argument("--what", default="dynamics", metavar="NAMES", help=f"programs: {WHAT} (default dynamics)")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="folder for the files (default out)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(given: argparse.Namespace, model: Model | Equations, start: Mapping[str, float]) -> None:
    """Write the files, and say which."""
    from draisine.verbs import export

    written = export(model, _listed(given.lang), _listed(given.what), given.out, start=start)
    if given.json:
        print_json({"written": written})
        return
    for path in written:
        print(path)


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
