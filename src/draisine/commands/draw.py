"""`draisine draw MODEL --out FILE`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_written

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations

# Named here so that help need not load anything; a test compares.
VIEWS = "side, front, top, three-quarter"


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "draw",
        help="a drawing of a model: bodies, joints, wheels, centres of mass",
        description="A drawing of a model in one or two parallel projections. Its configuration may be wished for by name: "
        "--lean 0.1 --steer 0.3",
        epilog="example: draisine draw bicycle --steer 0.3 --out bicycle.svg",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument(
        "--views", default=None, metavar="NAMES", help=f"with commas between: {VIEWS} (default: the two that show most)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter; may repeat")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="the figure: .svg, .pdf or .png (default MODEL.svg)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    """Write the drawing, and say where."""
    from draisine.presentation import draw
    from draisine.view import save_figure

    views = [word.strip() for word in given.views.split(",") if word.strip()] if given.views is not None else None
    path = given.out if given.out is not None else Path(f"{model.name}.svg")
    save_figure(draw(model, wishes or None, parameters=parameters, views=views), path)
    print_written([path], given.json)
