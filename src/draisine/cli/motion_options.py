"""Options of the commands about steady motions: stability, continuation, regulators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from draisine.cli.options import REPEATED, add_json, add_model, add_motion, add_plot, seconds

SPEEDS = "speed=0:12:121"  # the default sweep of models that have a speed
FREE = "inputs or parameters left free, separated by commas"


def _parser(commands: Any, name: str, text: str, example: str = "") -> Any:
    """A command about the steady motions of a model."""
    description = f"{text[0].upper()}{text[1:]}. Further quantities of the motion are set by name: --NAME VALUE."
    parser = commands.add_parser(name, help=text, description=description, epilog=f"example: {example}" if example else None)
    add_model(parser)
    add_motion(parser)
    add_json(parser)
    parser.set_defaults(takes_targets=True)
    return parser


def _linearized(commands: Any, name: str, text: str) -> Any:
    """A command about linear models, whose states may be named."""
    parser = _parser(commands, name, text)
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities used as states, separated by commas")
    return parser


def _swept(commands: Any, name: str, text: str, example: str) -> Any:
    """A command about linear models over a sweep."""
    parser = _linearized(commands, name, text)
    parser.add_argument("--over", metavar="NAME=FROM:TO:COUNT", help=f"the sweep, e.g. {example}; default {SPEEDS}")
    return parser


def add_modes(commands: Any) -> None:
    parser = _swept(commands, "modes", "eigenvalues of steady motions over a sweep", "speed=0:10:200")
    add_plot(parser, "them")


def add_critical(commands: Any) -> None:
    parser = _swept(commands, "critical", "where steady motions gain or lose stability", "speed=0:10:101")
    parser.add_argument(
        "--gradient", action="store_true", help="also the derivative of each value with respect to every parameter"
    )


def add_steady(commands: Any) -> None:
    parser = _linearized(commands, "steady", "the steady motion with named quantities fixed")
    parser.add_argument("--free", default="", metavar="NAMES", help=FREE)


def add_linearize(commands: Any) -> None:
    parser = _linearized(commands, "linearize", "the linear model of small deviations from a motion")
    parser.add_argument("--full", action="store_true", help="keep states on which nothing depends")


def add_map(commands: Any) -> None:
    parser = _linearized(commands, "map", "stability of steady motions over two quantities")
    parser.add_argument(
        "--over",
        required=True,
        action="append",
        metavar="NAME=FROM:TO:COUNT",
        help="given twice, e.g. speed=0:10:200 and trail=0:0.2:100",
    )
    parser.add_argument("--free", default="", metavar="NAMES", help=FREE)
    parser.add_argument("--growth", action="store_true", help="also the largest real part at every pair")
    add_plot(parser, "the regions")


def add_lqr(commands: Any) -> None:
    parser = commands.add_parser(
        "lqr",
        help="a linear-quadratic regulator about a steady motion: gains and closed-loop eigenvalues",
        description="The linear feedback law of least quadratic cost about a steady motion. The printed text is an argument of "
        "simulate: --input NAME=LAW.",
        epilog="example: draisine lqr bicycle --at speed=2 --weight lean=10 --weight steer=1 --input-weight steer_torque=0.1",
    )
    add_model(parser)
    pair: dict[str, Any] = {**REPEATED, "metavar": "NAME=VALUE"}
    parser.add_argument("--at", **pair, help="set a quantity of the motion, e.g. speed=2 (or --speed 2); may repeat")
    parser.add_argument("--weight", **pair, help="weight of a deviation, by state or output, e.g. lean=10; may repeat")
    parser.add_argument("--input-weight", **pair, help="weight of an input that the law sets, e.g. steer_torque=0.1; may repeat")
    parser.add_argument("--limit", **pair, help="largest magnitude of an input, e.g. steer_torque=5; may repeat")
    parser.add_argument("--set", **pair, help="set a parameter; may repeat")
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities used as states, separated by commas")
    parser.add_argument(
        "--period",
        type=seconds,
        default=None,
        metavar="SECONDS",
        help="design a sampled law with this period and zero-order hold",
    )
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_continue(commands: Any) -> None:
    parser = _parser(
        commands,
        "continue",
        "follow a branch of steady motions, its folds, branch points and Hopf points",
        "draisine continue bicycle --over speed=0:10 --switch --plot turns.png",
    )
    parser.add_argument("--over", required=True, metavar="NAME[=FROM:TO]", help="the continuation quantity, e.g. speed=0:10")
    parser.add_argument("--fix", **REPEATED, metavar="NAME=VALUE", help="a quantity that keeps its value")
    parser.add_argument("--free", default="", metavar="NAMES", help=FREE)
    parser.add_argument("--bound", **REPEATED, metavar="NAME=FROM:TO", help="the range of another quantity")
    parser.add_argument("--switch", action="store_true", help="also follow the branches that cross this one")
    parser.add_argument("--show", default="", metavar="NAMES", help="quantities to plot, separated by commas")
    add_plot(parser, "the branches")


def add_turns(commands: Any) -> None:
    parser = _parser(
        commands,
        "turns",
        "families of hands-free turns of a two-wheeler",
        "draisine turns bicycle --speed 0:10 --plot turns.png",
    )
    parser.add_argument("--speed", default="0:12", metavar="FROM:TO", help="range of speeds (default 0:12)")
    parser.add_argument("--show", default="lean,steer", metavar="NAMES", help="quantities to plot (default lean,steer)")
    add_plot(parser, "the families")


def add_atlas(commands: Any) -> None:
    parser = _parser(
        commands,
        "atlas",
        "inputs, required friction, wheel loads and stability of the turns on a grid",
        "draisine atlas bicycle --over lean=0:0.8:41 --over speed=1:10:46 --friction 0.8 --plot atlas.png",
    )
    parser.add_argument("--over", **REPEATED, metavar="NAME=FROM:TO:COUNT", help="an axis; twice (default lean and speed)")
    parser.add_argument(
        "--hold", default=None, metavar="NAMES", help="inputs that maintain the turn (default steer and pedal torque)"
    )
    parser.add_argument(
        "--friction", type=float, default=None, metavar="MU", help="shade turns that slip at this coefficient of friction"
    )
    add_plot(parser, "the atlas")


def add_uncertainty(commands: Any) -> None:
    parser = commands.add_parser(
        "uncertainty",
        help="modes and critical speeds of a measured bicycle, with standard deviations",
        description="Modes and critical speeds of a bicycle from a parameter file of the BicycleParameters project, with "
        "standard deviations; the errors of the parameters are assumed independent.",
        epilog="example: draisine uncertainty BrowserBenchmark.txt --over speed=0:10:101 --plot bands.png",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a parameter file (.txt)")
    parser.add_argument("--over", default="speed=0:10:101", metavar="speed=FROM:TO:COUNT", help="speeds (default speed=0:10:101)")
    parser.add_argument("--samples", type=int, default=0, metavar="N", help="verify with N random sets of parameters")
    add_plot(parser, "the bands")
    add_json(parser)
