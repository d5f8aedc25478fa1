"""`draisine compare-drift MODEL [--until S] [--step S | --tolerance REL] [--invariant NAME] [--json] [--name value …]`."""

from __future__ import annotations

import argparse
from typing import Any

from draisine.cli.arguments import model_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, add_set, seconds
from draisine.cli.terminal import DONE, print_json, say

# What the gallery's models that rest by themselves are set going with when no start is wished for.
LIVELY: dict[str, dict[str, float]] = {
    "bicycle": {"speed": 4.6, "roll_rate": 0.5},
    "rolling_disk": {"speed": 1.5, "lean_rate": 0.2, "heading_rate": 0.0},
}


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "compare-drift",
        help="run a model under every drift control and compare",
        description="Run a model under every drift control that applies: the worst residuals of its constraints, the change of "
        "its energy, and the cost of each; and why the others do not apply. The start is wished for as in simulate: --speed 4.6",
        epilog="example: draisine compare-drift four_bar --until 5 --step 0.01",
    )
    add_model(parser)
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="how long (default 5)")
    parser.add_argument("--step", type=seconds, default=None, metavar="SECONDS", help="RK4 with this step in place of DOP853")
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
    add_set(parser, "l_crank=0.12")
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Print the table."""
    from draisine.simulation.compare_drift import compare_drift

    model = model_of(given.model)
    table = compare_drift(
        model,
        given.until,
        start=targets_of(extra) or LIVELY.get(model.name, {}),
        parameters=numbers_of(given.set, "--set"),
        step=given.step,
        tolerance=given.tolerance,
        invariants=given.invariant,
    )
    if given.json:
        print_json(table.as_data())
    else:
        say(table)
    return DONE
