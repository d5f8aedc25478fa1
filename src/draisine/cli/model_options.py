"""`draisine draw MODEL --out FILE`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.arguments import model_of, names_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, add_set
from draisine.cli.terminal import DONE, print_written

# Named here so that help need not load anything; a test compares.
VIEWS = "side, front, top, three-quarter"


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "draw",
        help="a drawing of a model: bodies, joints, wheels, centers of mass",
        description="A drawing of a model in one or two parallel projections. Its configuration may be wished for by name: "
        "--lean 0.1 --steer 0.3",
        epilog="example: draisine draw bicycle --steer 0.3 --out bicycle.svg",
    )
    add_model(parser)
    parser.add_argument(
        "--views", default=None, metavar="NAMES", help=f"with commas between: {VIEWS} (default: the two that show most)"
    )
    add_set(parser)
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="the figure: .svg, .pdf or .png (default MODEL.svg)"
    )
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Write the drawing, and say where."""
    from draisine.view.drawing import draw
    from draisine.view.plots.figure_files import save_figure

    model, parameters = model_of(given.model), numbers_of(given.set, "--set")
    views = names_of(given.views) if given.views is not None else None
    path = given.out if given.out is not None else Path(f"{model.name}.svg")
    save_figure(draw(model, targets_of(extra) or None, parameters=parameters, views=views), path)
    print_written([path], given.json)
    return DONE
