"""`draisine warm [--all] [--json]`: compile the stepping loops in advance."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from draisine.cli.terminal import DONE, print_json
from draisine.codegen.jit.python_call import compile_calls
from draisine.simulation.ensemble.batch_stepper import compile_batches
from draisine.simulation.initial.solver import solver_code
from draisine.simulation.stepper.memory import stepping_loop


def run_warm(given: argparse.Namespace, _: list[str]) -> int:
    """Compile what is missing, print the times."""
    taken = {name: _seconds(load) for name, load in LOOPS.items() if given.all or name in NEEDED}
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


def _switching() -> None:
    stepping_loop(switching=True, at_once=False)
    stepping_loop(implicit=True, switching=True, at_once=False)


def _contacts() -> None:
    stepping_loop(unilateral=True, at_once=False)
    stepping_loop(implicit=True, unilateral=True, at_once=False)


NEEDED = ("starts", "explicit methods")  # by every run
LOOPS: dict[str, Callable[[], object]] = {
    "starts": lambda: solver_code(at_once=False),
    "explicit methods": lambda: stepping_loop(at_once=False),
    "implicit methods": lambda: stepping_loop(implicit=True, at_once=False),
    "switching": _switching,
    "contacts that open": _contacts,
    "ensembles": compile_batches,
    "calls from Python": compile_calls,
}
