"""`draisine optimize STUDY`: the optimal control of a maneuver, verified by simulation and by optimality conditions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draisine import gallery
from draisine.cli.arguments import model_of
from draisine.cli.terminal import DONE, ENDED_EARLY, INFEASIBLE, INTERRUPTED, print_json, print_text
from draisine.errors import ArgumentError
from draisine.optimal.ipopt import Outcome, default_progress
from draisine.optimal.solution import Solution
from draisine.optimal.study_file import read_study
from draisine.results.status import Progress, ProgressCallback

EVERY = 25  # iterations between lines when piped


def run_optimize(given: argparse.Namespace, _: list[str]) -> int:
    """Solve the maneuver, write the files, print the result."""
    with _progress(given.json) as progress:
        found = _solve(given, progress)
    written = _write(given, found)
    if given.json:
        print_json({**_as_data(found), "optimality": found.optimality.as_data(), "written": written})
    else:
        print_text(found.status)
        print_text(found.optimality)
        for note in found.notes:
            print(f"note: {note}")
        for path in written:
            print(f"written: {path}")
    return _code(found)


def _solve(given: argparse.Namespace, progress: ProgressCallback) -> Solution:
    if Path(given.study).suffix.lower() in (".toml", ".json"):
        stated = read_study(given.study, model_of)
        return (stated if given.intervals is None else stated.on(given.intervals)).solve(progress)
    if given.intervals is not None:
        raise ArgumentError("--intervals: a study of the gallery has a fixed mesh; write its maneuver to a file to change it")
    with default_progress(progress):
        return gallery.solution(given.study)


def _write(given: argparse.Namespace, found: Solution) -> list[str]:
    if given.out is not None:
        found.save(given.out)
    if given.table is not None:
        found.feedforward.write(given.table, given.rate)
    if given.plot is not None:
        found.plot().save(given.plot)
    return [str(path) for path in (given.out, given.table, given.plot) if path is not None]


def _code(found: Solution) -> int:
    if found.solved:
        return DONE
    return {Outcome.INFEASIBLE: INFEASIBLE, Outcome.INTERRUPTED: INTERRUPTED}.get(found.outcome, ENDED_EARLY)


def _as_data(found: Solution) -> dict[str, Any]:
    return {
        "outcome": str(found.outcome),
        "message": str(found.status),
        "objective": found.objective,
        "duration": found.duration,
        "iterations": found.answer.iterations,
        "kkt_error": found.kkt_error,
        "mesh_error": found.error,
        "discrepancy": found.discrepancy,
        "missed": [{"condition": m.name, "amount": m.amount, "unit": m.unit, "time": m.time} for m in found.verdict.missed],
        "parameters": dict(found.parameters),
        "final": {name: float(value) for name, value in found.trajectories[-1].final.items()},
        "conflicts": list(found.conflicts),
        "notes": list(found.notes),
        "seconds": dict(found.seconds),
    }


@contextmanager
def _progress(silent: bool) -> Iterator[ProgressCallback]:
    """One updated line on a terminal, lines when piped, nothing with --json."""
    if silent or not sys.stderr.isatty():

        def print_line(progress: Progress) -> None:
            if not silent and progress.values["iteration"] % EVERY == 0:
                print(progress, file=sys.stderr)

        yield print_line
        return
    from rich.console import Console

    with Console(stderr=True).status("searching …") as line:
        yield lambda progress: line.update(str(progress))
