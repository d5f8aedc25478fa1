"""`draisine optimize STUDY`: find the control of a maneuver, put it to the test, and say how good it is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import model_of
from draisine.cli.options import add_json
from draisine.cli.terminal import DONE, ENDED_EARLY, INFEASIBLE, INTERRUPTED, print_json, say
from draisine.errors import ArgumentError

if TYPE_CHECKING:
    from draisine.optimal.ipopt import Progress
    from draisine.optimal.solution import Solution

EVERY = 25  # iterations between two lines when piped


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "optimize",
        help="find the control of a maneuver",
        description="Find the control of a maneuver stated in a file (.toml or .json) or in a study of the gallery, simulate "
        "with it, and report optimality. Exit status: 0 solved; 1 ended without a solution (the best so far is told); 2 the call "
        "or the file is wrong; 3 infeasible, the conditions that fight are named; 130 interrupted, the best so far is told and "
        "written.",
        epilog="example: draisine optimize turn.toml --plot turn.png --out turn.nc --table torques.csv",
    )
    parser.add_argument("study", metavar="STUDY", help="a study of the gallery with a maneuver, or a file (.toml, .json)")
    parser.add_argument("--intervals", type=int, default=None, metavar="N", help="another number of intervals than the file's")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw controls and switching functions")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write motion and costates (.nc)")
    parser.add_argument("--table", type=Path, default=None, metavar="FILE", help="write the inputs as a table (.csv)")
    parser.add_argument("--rate", type=float, default=100.0, metavar="HZ", help="rows per second of the table (default 100)")
    add_json(parser)
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Solve, write, tell; the exit status."""
    with _progress(given.json) as progress:
        found = _solved(given, progress)
    written = _written(given, found)
    reported = found.optimality
    if given.json:
        print_json({**_as_data(found), "optimality": reported.as_data(), "written": written})
    else:
        say(found.status)
        say(reported)
        for note in found.notes:
            print(f"note: {note}")
        for path in written:
            print(f"written: {path}")
    return _code(found)


def _solved(given: argparse.Namespace, progress: Progress) -> Solution:
    from draisine.optimal.ipopt import default_progress

    if Path(given.study).suffix.lower() in (".toml", ".json"):
        from draisine.optimal.study_file import read_study

        stated = read_study(given.study, model_of)
        return (stated if given.intervals is None else stated.on(given.intervals)).solve(progress)
    if given.intervals is not None:
        raise ArgumentError("--intervals: a study of the gallery has its own mesh; write its maneuver into a file to change it")
    from draisine import gallery

    with default_progress(progress):
        return gallery.solution(given.study)


def _written(given: argparse.Namespace, found: Solution) -> list[str]:
    if given.out is not None:
        found.save(given.out)
    if given.table is not None:
        found.feedforward.write(given.table, given.rate)
    if given.plot is not None:
        found.plot().save(given.plot)
    return [str(path) for path in (given.out, given.table, given.plot) if path is not None]


def _code(found: Solution) -> int:
    from draisine.optimal.ipopt import Outcome

    if found.solved:
        return DONE
    return {Outcome.INFEASIBLE: INFEASIBLE, Outcome.INTERRUPTED: INTERRUPTED}.get(found.outcome, ENDED_EARLY)


def _as_data(found: Solution) -> dict[str, Any]:
    return {
        "outcome": str(found.outcome),
        "message": found.status.message,
        "objective": found.objective,
        "duration": found.duration,
        "iterations": found.answer.iterations,
        "kkt_error": found.kkt_error,
        "mesh_error": found.error,
        "discrepancy": found.discrepancy,
        "parameters": dict(found.parameters),
        "final": {name: float(value) for name, value in found.trajectories[-1].final.items()},
        "conflicts": list(found.conflicts),
        "notes": list(found.notes),
        "seconds": dict(found.seconds),
    }


@contextmanager
def _progress(silent: bool) -> Iterator[Progress]:
    """One line that changes on a terminal, now and then a line when piped, nothing for machines."""
    if silent or not sys.stderr.isatty():

        def plainly(iteration: int, objective: float, violation: float) -> None:
            if not silent and iteration % EVERY == 0:
                print(_line(iteration, objective, violation), file=sys.stderr)

        yield plainly
        return
    from rich.console import Console

    with Console(stderr=True).status("searching …") as line:
        yield lambda iteration, objective, violation: line.update(_line(iteration, objective, violation))


def _line(iteration: int, objective: float, violation: float) -> str:
    return f"iteration {iteration}: objective {objective:.8g}, violation {violation:.1e}"
