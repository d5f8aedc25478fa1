"""`draisine warm [--all] [--json]`: compile beforehand what first runs would wait for."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from draisine.cli.options import add_json
from draisine.cli.terminal import DONE, print_json


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "warm",
        help="compile beforehand what first runs would wait for",
        description="Compile the loop of explicit methods, which every machine needs once, so that the first run need not wait "
        "for it; with --all those of implicit methods and of ensembles too. What is there already takes no time.",
        epilog="example: draisine warm --all",
    )
    parser.add_argument("--all", action="store_true", help="the loops of implicit methods and of ensembles too")
    add_json(parser)
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Compile what is missing, say how long it took."""
    taken = {name: _seconds(load) for name, load in LOOPS.items() if given.all or name == EXPLICIT}
    if given.json:
        print_json({"ready": taken})
        return DONE
    for name, seconds in taken.items():
        print(f"ready: {name} ({seconds:.1f} s)")
    return DONE


def _seconds(load: Callable[[], object]) -> float:
    begin = time.perf_counter()
    load()
    return time.perf_counter() - begin


def _explicit() -> None:
    from draisine.simulation.stepper.memory import stepping_loop

    stepping_loop()


def _starts() -> None:
    from draisine.simulation.initial.solver import solver_code

    solver_code()


def _implicit() -> None:
    from draisine.simulation.stepper.memory import stepping_loop

    stepping_loop(implicit=True)


def _ensembles() -> None:
    from draisine.simulation.ensemble.batch_stepper import lane_code

    lane_code(side_by_side=False)
    lane_code(side_by_side=True)


EXPLICIT = "explicit methods"
LOOPS: dict[str, Callable[[], None]] = {
    "starts": _starts,
    EXPLICIT: _explicit,
    "implicit methods": _implicit,
    "ensembles": _ensembles,
}
