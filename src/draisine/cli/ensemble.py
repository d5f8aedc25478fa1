"""`draisine ensemble MODEL`: many runs with other parameters, inputs and starts; counts, statistics, files."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import laws_of, model_of, names_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, seconds
from draisine.cli.terminal import DONE, INTERRUPTED, print_json, say
from draisine.errors import ArgumentError, require

if TYPE_CHECKING:
    from draisine.simulation.ensemble.ensemble import Progress
    from draisine.simulation.ensemble.reductions import Keep
    from draisine.simulation.ensemble.result import Ensemble

DISTRIBUTION = re.compile(r"\s*(normal|uniform)\s*\(([^,()]+),([^,()]+)\)\s*")
SHOWN = 12  # columns whose statistics are printed


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "ensemble",
        help="many runs of a model, with statistics",
        description="Run a model many times, with other parameters, inputs and starts each time; --NAME VALUE are wishes for the "
        "start of all runs, as in simulate. A run that fails is a row with its status. Exit status: 0 all runs were made; 2 the "
        "call is wrong; 130 interrupted (with --out, the same call goes on where it stopped).",
        epilog="example: draisine ensemble bicycle --over speed=3:8:60 --over roll_rate=-3:3:60 --until 5 --outputs lean,steer "
        "--out knocks",
    )
    add_model(parser)
    pair: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument(
        "--over", **pair, metavar="NAME=VALUES", help="FROM:TO:COUNT, or numbers with commas between; all combinations are run"
    )
    parser.add_argument(
        "--sample", **pair, metavar="NAME=LAW", help="normal(MEAN,DEVIATION) or uniform(LOW,HIGH), drawn for every run"
    )
    parser.add_argument("--runs", type=int, default=None, metavar="N", help="how many are drawn (with --sample)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default 0)")
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="how long each lasts (default 5)")
    parser.add_argument("--outputs", default="", metavar="NAMES", help="what to tell of each run, with commas between")
    parser.add_argument("--snapshots", default="", metavar="TIMES", help="times at which outputs are kept, with commas between")
    parser.add_argument("--extremes", action="store_true", help="also the smallest and largest value of each output")
    parser.add_argument("--set", **pair, metavar="NAME=VALUE", help="a parameter of all runs; may repeat")
    parser.add_argument("--input", **pair, metavar="NAME=LAW", help="a number or a law for all runs; may repeat")
    parser.add_argument("--tolerance", type=float, default=1e-6, metavar="REL", help="of every run (default 1e-6)")
    parser.add_argument("--threads", type=int, default=None, metavar="N", help="how many cores to use (default all)")
    parser.add_argument("--on", default=None, metavar="ADDRESS", help="a Dask scheduler, e.g. tcp://10.0.0.5:8786")
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep chunks of runs here: Parquet files, or Zarr if it ends with .zarr",
    )
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Make the runs, tell what came of them."""
    from draisine.simulation.ensemble.ensemble import ensemble

    model, targets, parameters = model_of(given.model), targets_of(extra), numbers_of(given.set, "--set")
    inputs = laws_of(given.input, "--input")
    over = dict(values_of(text) for text in given.over)
    samples = dict(distribution_of(text) for text in given.sample)
    with _progress(given.json) as progress, _cluster(given.on) as on:
        found = ensemble(
            model,
            over or None,
            samples=samples or None,
            runs=given.runs,
            until=given.until,
            outputs=names_of(given.outputs),
            keep=_kept(given),
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
        say(found)
        _tell_statistics(found)
        if given.out is not None:
            print(f"written: {given.out}")
    return DONE if found.complete else INTERRUPTED


def values_of(text: str) -> tuple[str, Any]:
    """`speed=3:8:60` or `mass=80,85,90` as a name and its values.

    >>> values_of("mass=80,85")
    ('mass', [80.0, 85.0])
    """
    name, sign, numbers = text.partition("=")
    try:
        if ":" in numbers:
            first, last, count = numbers.split(":")
            values: Any = (float(first), float(last), int(count))
        else:
            values = [float(word) for word in numbers.split(",")]
    except ValueError:
        sign = ""
    if not sign or not name.strip():
        raise ArgumentError(f"--over {text!r}: write NAME=FROM:TO:COUNT, e.g. speed=3:8:60, or NAME=VALUE,VALUE,…")
    return name.strip().replace("-", "_"), values


def distribution_of(text: str) -> tuple[str, Any]:
    """`roll_rate=normal(0,1)` as a name and a distribution.

    >>> distribution_of("roll_rate=normal(0, 0.5)")
    ('roll_rate', Normal(mean=0.0, deviation=0.5))
    """
    from draisine.simulation.ensemble.samples import Normal, Uniform

    name, _, law = text.partition("=")
    match = DISTRIBUTION.fullmatch(law)
    try:
        numbers = [float(word) for word in match.groups()[1:]] if match else []
    except ValueError:
        match = None
    if not match or not name.strip():
        raise ArgumentError(f"--sample {text!r}: write NAME=normal(MEAN,DEVIATION) or NAME=uniform(LOW,HIGH)")
    return name.strip().replace("-", "_"), (Normal if match[1] == "normal" else Uniform)(*numbers)


def as_data(found: Ensemble) -> dict[str, Any]:
    """An ensemble's counts and statistics, for machines."""
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
        "statistics": statistics,
        "folder": None if found.folder is None else str(found.folder.path),
    }


def _kept(given: argparse.Namespace) -> Sequence[Keep]:
    from draisine.simulation.ensemble.reductions import EventCounts, Extremes, Final, Snapshots

    kept: list[Keep] = [Final(), EventCounts()]
    times = names_of(given.snapshots)
    if times:
        try:
            kept.append(Snapshots(*(float(word) for word in times)))
        except ValueError as problem:
            raise ArgumentError(f"--snapshots {given.snapshots!r}: write times that increase, e.g. 0.5,1,2 ({problem})") from None
    return [*kept, Extremes()] if given.extremes else kept


def _tell_statistics(found: Ensemble) -> None:
    reported = [name for name in found.statistics if name not in found.varied]
    width = max((len(name) for name in reported[:SHOWN]), default=0)
    for name in reported[:SHOWN]:
        m = found.statistics[name]
        unit = found.units.get(re.split(r"[.@]", name)[0], "")
        spread = f"mean {m.mean:.6g}, deviation {m.deviation:.3g}, from {m.least:.6g} to {m.greatest:.6g}"
        print(f"  {name:<{width}}  {spread} {unit}".rstrip())
    if len(reported) > SHOWN:
        print(f"  … and {len(reported) - SHOWN} more columns (--json, or --out)")


@contextmanager
def _progress(silent: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, now and then a line when piped, nothing for machines."""
    if silent or not sys.stderr.isatty():
        yield lambda progress: None if silent else print(progress, file=sys.stderr)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(), TextColumn("{task.description}")) as bar:
        task = bar.add_task("compiling …", total=None)
        yield lambda progress: bar.update(task, total=progress.total, completed=progress.done, description=str(progress))


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """A client of the Dask scheduler at this address, or None."""
    if address is None:
        yield None
        return
    distributed = require("distributed", "an ensemble on many machines", "draisine[cluster]")
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as problem:
        raise ArgumentError(f"--on {address!r}: no Dask scheduler answers there ({problem})") from None
    with client:
        yield client
