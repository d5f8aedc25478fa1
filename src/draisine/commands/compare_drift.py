"""`draisine compare-drift MODEL [--until S] [--step S | --tolerance REL] [--invariant NAME] [--json] [--name value …]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_json, say

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations

# What the gallery's models that rest by themselves are set going with when no start is wished for.
LIVELY: dict[str, dict[str, float]] = {
    "bicycle": {"speed": 4.6, "roll_rate": 0.5},
    "rolling_disk": {"speed": 1.5, "lean_rate": 0.2, "heading_rate": 0.0},
}


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "compare-drift",
        help="run a model under every drift control and compare",
        description="Run a model under every drift control that applies: the worst residuals of its constraints, the change of "
        "its energy, and the cost of each; and why the others do not apply. The start is wished for as in simulate: --speed 4.6",
        epilog="example: draisine compare-drift four_bar --until 5 --step 0.01",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument("--until", type=float, default=5.0, metavar="SECONDS", help="how long (default 5)")
    parser.add_argument("--step", type=float, default=None, metavar="SECONDS", help="RK4 with this step in place of DOP853")
    parser.add_argument(
        "--tolerance", type=float, default=1e-8, metavar="REL", help="relative tolerance of DOP853 (default 1e-8)"
    )
    parser.add_argument(
        "--invariant",
        action="append",
        default=[],
        metavar="NAME",
        help="an output or expression that should stay as it is, besides the energy; may repeat",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, e.g. l_crank=0.12; may repeat"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(given: argparse.Namespace, model: Model | Equations, wishes: dict[str, float], parameters: dict[str, float]) -> None:
    """Print the table."""
    from draisine.drift_table import compare_drift

    table = compare_drift(
        model,
        given.until,
        start=wishes or LIVELY.get(model.name, {}),
        parameters=parameters,
        step=given.step,
        tolerance=given.tolerance,
        invariants=given.invariant,
    )
    if given.json:
        print_json(table.as_data())
    else:
        say(table)
