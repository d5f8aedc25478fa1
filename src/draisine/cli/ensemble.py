"""`draisine ensemble MODEL`: many runs with different parameters, inputs and initial conditions; counts, statistics, files."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from draisine.cli.arguments import identifier, laws_of, model_of, named_once, names_of, numbers_of, targets_of
from draisine.cli.sweeps import Sweeps
from draisine.cli.terminal import DONE, INTERRUPTED, print_json, print_text
from draisine.errors import ArgumentError, require
from draisine.expr.tree import short
from draisine.results.status import ProgressCallback
from draisine.simulation.ensemble.distributions import Normal, Uniform
from draisine.simulation.ensemble.ensemble import ensemble
from draisine.simulation.ensemble.reductions import EventCounts, Extremes, Final, Keep, Snapshots
from draisine.simulation.ensemble.result import Ensemble

DISTRIBUTION = re.compile(r"\s*(normal|uniform)\s*\(([^,()]+),([^,()]+)\)\s*")
SHOWN = 12  # columns whose statistics are printed


def run_ensemble(given: argparse.Namespace, rest: list[str]) -> int:
    """Make the runs, print their statistics."""
    model, targets, parameters = model_of(given.model), targets_of(rest, vars(given)), numbers_of(given.set, "--set")
    inputs = laws_of(given.input, "--input")
    sweeps = Sweeps(model)
    over = named_once((sweeps.values(text) for text in given.over), "--over")
    samples = named_once((_distribution(text, sweeps) for text in given.sample), "--sample")
    with _progress(given.json) as progress, _cluster(given.on) as on:
        found = ensemble(
            model,
            given.until,
            over or None,
            cases=samples or None,
            runs=given.runs,
            outputs=names_of(given.outputs),
            keep=_reductions(given),
            start=targets,
            parameters=parameters,
            inputs=inputs,
            tolerance=given.tolerance,
            seed=given.seed,
            out=given.out,
            threads=given.threads,
            on=on,
            progress=progress,
        )
    if given.json:
        print_json(as_data(found))
    else:
        print_text(found)
        _print_statistics(found)
        if given.out is not None:
            print(f"written: {given.out}")
    return DONE if found.complete else INTERRUPTED


def _distribution(text: str, sweeps: Sweeps) -> tuple[str, Normal | Uniform]:
    """`roll_rate=normal(0,1)` as a name and a distribution."""
    name, _, law = text.partition("=")
    form = "NAME=normal(MEAN,DEVIATION) or NAME=uniform(LOW,HIGH), e.g. speed=normal(20,2km/h)"
    match = DISTRIBUTION.fullmatch(law)
    if not match or not name.strip():
        raise ArgumentError(f"--sample {short(text)!r}: write {form}")
    numbers = sweeps.numbers(identifier(name), match.groups()[1:], f"--sample {short(text)!r}", form)
    return identifier(name), (Normal if match[1] == "normal" else Uniform)(*numbers)


def as_data(found: Ensemble) -> dict[str, Any]:
    """Counts and statistics of an ensemble, for JSON."""
    statistics = {
        name: {"count": m.count, "mean": m.mean, "deviation": m.deviation, "least": m.least, "greatest": m.greatest}
        for name, m in found.statistics.items()
    }
    return {
        "model": found.name,
        "runs": len(found),
        "varied": list(found.varied),
        "shape": list(found.shape),
        "complete": found.complete,
        "seconds": found.seconds,
        "statuses": found.statuses,
        "warnings": list(found.warnings),
        "statistics": statistics,
        "folder": None if found.folder is None else str(found.folder.path),
    }


def _reductions(given: argparse.Namespace) -> Sequence[Keep]:
    reductions: list[Keep] = [Final(), EventCounts()]
    times = names_of(given.snapshots)
    if times:
        try:
            reductions.append(Snapshots(*(float(word) for word in times)))
        except ValueError as problem:
            raise ArgumentError(f"--snapshots {given.snapshots!r}: write increasing times, e.g. 0.5,1,2 ({problem})") from None
    return [*reductions, Extremes()] if given.extremes else reductions


def _print_statistics(found: Ensemble) -> None:
    columns = [name for name in found.statistics if name not in found.varied]
    width = max((len(name) for name in columns[:SHOWN]), default=0)
    for name in columns[:SHOWN]:
        m = found.statistics[name]
        unit = found.units.get(re.split(r"[.@]", name)[0], "")
        spread = f"mean {m.mean:.6g}, deviation {m.deviation:.3g}, from {m.least:.6g} to {m.greatest:.6g}"
        print(f"  {name:<{width}}  {spread} {unit}".rstrip())
    if len(columns) > SHOWN:
        print(f"  … and {len(columns) - SHOWN} more columns (--json, or --out)")


@contextmanager
def _progress(silent: bool) -> Iterator[ProgressCallback]:
    """A progress bar on a terminal, lines when piped, nothing with --json."""
    if silent or not sys.stderr.isatty():
        yield lambda progress: None if silent else print(progress, file=sys.stderr)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(), TextColumn("{task.description}")) as bar:
        task = bar.add_task("compiling …", total=None)
        yield lambda progress: bar.update(task, total=1.0, completed=progress.share, description=str(progress))


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """A client of the Dask scheduler at this address, or None."""
    if address is None:
        yield None
        return
    distributed = require("distributed", "an ensemble on many machines")
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as problem:
        raise ArgumentError(f"--on {address!r}: no Dask scheduler answers there ({problem})") from None
    with client:
        yield client
