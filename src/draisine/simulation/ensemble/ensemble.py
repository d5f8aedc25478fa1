"""Ensembles: many runs of one model, on all cores or on a cluster, in chunks that can be stored on disk and resumed."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.errors import ArgumentError, DataError
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.model.system import System
from draisine.numerics.number_range import refuse_large_count
from draisine.program.arguments import checked
from draisine.program.equations import Equations, Event
from draisine.results.channel import HasState
from draisine.results.status import Progress, ProgressCallback
from draisine.simulation.contact_margins import LEAST_FORCE, LEAST_TENSION, MOST_FRICTION
from draisine.simulation.ensemble.distributions import Drawn, Grid, SampleValues
from draisine.simulation.ensemble.job import ClusterExecutor, Executor, Task, ThreadExecutor, joined
from draisine.simulation.ensemble.outputs import units_of
from draisine.simulation.ensemble.problem import BAD_VALUES, ensemble_problem
from draisine.simulation.ensemble.reductions import EventCounts, Final, Keep
from draisine.simulation.ensemble.result import Ensemble
from draisine.simulation.ensemble.statistics import Tally
from draisine.simulation.ensemble.storage import Column, Folder
from draisine.simulation.initial.problem import InitialGuess
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method


def progress_of_runs(done: int, total: int, seconds: float, resumed: int = 0) -> Progress:
    """The progress of an ensemble: runs done and in total, the time taken, and the number of `resumed` runs.

    >>> print(progress_of_runs(2_000, 10_000, 4.0))
    2,000 of 10,000 runs, 500 runs/s, 16 s left
    """
    rate = (done - resumed) / seconds if seconds > 0.0 else 0.0
    left = f"{(total - done) / rate:,.0f} s left" if rate > 0.0 else "time left unknown"
    values = {"done": done, "total": total, "seconds": seconds, "resumed": resumed, "rate": rate}
    return Progress(f"{done:,} of {total:,} runs, {rate:,.0f} runs/s, {left}", done / total, values)


CHUNK = 4096  # runs per chunk
MOST_THREADS = 4096
MOST_RUNS = 1_000_000_000  # of which one column takes 8 GB


@checked
def ensemble(
    model: Model | System | Equations,
    until: float,
    over: Mapping[str, ArrayLike | tuple[float, float, int]] | None = None,
    *,
    cases: Any = None,
    runs: int | None = None,
    outputs: Sequence[str] = (),
    keep: Sequence[Keep] = (Final(), EventCounts()),
    start: Mapping[str, float | InitialGuess] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    events: Sequence[Event] = (),
    method: Method | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    rows: bool = True,
    threads: int | None = None,
    chunk: int = CHUNK,
    on: Any = None,
    progress: ProgressCallback | None = None,
) -> Ensemble:
    """Run a model many times with different parameters, inputs and starts.

    - `until`: duration of each run in seconds.
    - `over`: names and values, whose combinations are all run: lists, or (first, last, count).
    - `cases`: instead of `over`, a table with one row per run: a mapping of columns or a DataFrame; columns may be
      distributions (`Uniform`, `Normal`), from which `runs` numbers are drawn with `seed`.
    - Names are those of parameters, inputs or start targets; "start.lean" where a name is ambiguous.
    - `outputs`: names of outputs, and `keep`: what is kept of them: `Final()`, `Snapshots(1.0, 2.0)`, `Extremes()`,
      `EventCounts()`, `ContactCounts()`.
    - `start`, `parameters`, `inputs`, `events`, `method` apply to all runs, as in `simulate`; `tolerance` stands for DOP853 with
      this relative and absolute tolerance.
    - `out`: a folder for chunks of `chunk` runs, stored as Parquet files or, if its name ends with `.zarr`, as one Zarr group;
      after an interruption the same call resumes from the stored chunks. `rows=False` keeps only the statistics.
    - `on`: a `distributed.Client` or an executor of processes; by default `threads` of this process.
    - `progress`: called with a `Progress` after every chunk (`values`: runs done, in total, seconds, rate).

    A failed run is a row with its status; the statistics of results are those of the runs that reached their end. Results do not
    depend on the number of threads or workers.

    >>> import draisine as dr
    >>> from sympy.abc import k, v, x
    >>> oscillator = dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> found = ensemble(oscillator, 1.0, {"k": [1.0, 4.0]}, outputs=["x"])
    >>> found["x.end"].round(6).tolist()
    [0.540302, -0.416147]
    """
    if not (np.isfinite(until) and until > 0):
        raise ArgumentError(f"until: the duration of each run in seconds must be positive and finite, got {until!r}")
    if method is not None and tolerance is not None:
        raise ArgumentError("tolerance stands for DOP853 with this tolerance; give it, or a method, not both")
    if chunk < 1:
        raise ArgumentError(f"chunk: at least one run, got {chunk}")
    if tolerance is not None:
        method = DOP853(rtol=tolerance, atol=tolerance)
    refuse_large_count("ensemble: runs", runs, MOST_RUNS)
    refuse_large_count("ensemble: threads", threads, MOST_THREADS)
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"ensemble: threads is the number of cores to use, one or more, got {threads!r}")
    varied = _sample_values(over, cases, runs, seed)
    refuse_large_count("ensemble: runs", math.prod(varied.shape), MOST_RUNS)
    problem = ensemble_problem(model, varied, start, parameters or {}, inputs or {}, tuple(events))
    task = Task.of(problem, float(until), tuple(outputs), tuple(keep), method, rows, chunk)
    folder = None
    if out is not None:
        folder = Folder.opened(out, task.fingerprint(), task.description())
    executor = ThreadExecutor(threads or os.cpu_count() or 1) if on is None else ClusterExecutor(on)
    return _EnsembleRun(task, folder, executor, progress).run()


def _sample_values(over: Mapping[str, Any] | None, cases: Any, runs: int | None, seed: int) -> SampleValues:
    if (over is None) == (cases is None):
        raise ArgumentError(
            "the values that differ are missing: give over={name: values} for all combinations, or cases={name: column}"
        )
    if over is not None:
        if runs is not None:
            raise ArgumentError("runs is the number of draws of cases=…; with over=… it is the number of combinations")
        if not isinstance(over, Mapping) or not all(isinstance(name, str) for name in over):
            raise ArgumentError(f"over: give the values that differ by name, such as {{'speed': (2, 8, 13)}}, got {over!r}")
        return Grid.of(over)
    return Drawn.of(cases, runs, seed)


class _EnsembleRun:
    """Computes the missing chunks and stores them."""

    def __init__(self, task: Task, folder: Folder | None, executor: Executor, progress: ProgressCallback | None) -> None:
        self._task, self._folder, self._executor, self._progress = task, folder, executor, progress
        self._parts: dict[int, dict[str, Column]] = {}
        self._began = time.perf_counter()

    def run(self) -> Ensemble:
        task = self._task
        tallies, unusable = self._resumed()
        missing = [chunk for chunk in range(task.chunks) if chunk not in tallies]
        resumed = done = sum(sum(tally.statuses.values()) for tally in tallies.values())
        complete = True
        try:
            for chunk, columns in self._executor.chunks(task, missing) if missing else ():
                tallies[chunk] = self._stored(chunk, columns)
                done += len(columns["run"])
                if self._progress is not None:
                    self._progress(progress_of_runs(done, task.problem.count, time.perf_counter() - self._began, resumed))
        except KeyboardInterrupt:
            complete = False
        tally = Tally({}, {})
        for chunk in sorted(tallies):
            tally = tally.merged(tallies[chunk])
        remade = tuple(text for chunk, text in unusable.items() if chunk in tallies)
        return replace(self._result(tally, complete), chunks=tuple(sorted(tallies)), remade=remade)

    def _resumed(self) -> tuple[dict[int, Tally], dict[int, str]]:
        """The tallies of stored chunks, and what is wrong with chunks that are stored but cannot be used."""
        tallies: dict[int, Tally] = {}
        unusable: dict[int, str] = {}
        for chunk in range(self._task.chunks if self._folder is not None else 0):
            assert self._folder is not None
            try:
                tally = self._folder.tally(chunk)
            except DataError as problem:
                unusable[chunk] = str(problem)
                continue
            if tally is not None:
                tallies[chunk] = tally
        return tallies, unusable

    def _stored(self, chunk: int, columns: dict[str, Column]) -> Tally:
        numbers = {name: column for name, column in columns.items() if column.dtype == np.float64}
        about_run = {*self._task.problem.varied.names, "run", "ended", "steps", LEAST_FORCE, MOST_FRICTION, LEAST_TENSION}
        texts, results = columns["warnings"].tolist(), numbers.keys() - about_run
        tally = Tally.of(numbers, columns["status"].tolist(), self._complaint(columns), texts, results)
        kept = columns if self._task.rows else {name: column[:0] for name, column in columns.items()}
        if self._folder is not None:
            self._folder.write(chunk, kept, tally)
        else:
            self._parts[chunk] = kept
        return tally

    def _complaint(self, columns: dict[str, Column]) -> str:
        """What is wrong with the first run of a chunk that has invalid values."""
        wrong = np.flatnonzero(columns["status"] == BAD_VALUES)
        if not wrong.size:
            return ""
        problem = self._task.problem
        values = {name: float(columns[name][wrong[0]]) for name in problem.varied.names}
        return f"run {columns['run'][wrong[0]]}: {problem.validity.complaint(values)}"

    def _result(self, tally: Tally, complete: bool) -> Ensemble:
        task = self._task
        if set(tally.statuses) == {BAD_VALUES}:
            name, count = task.problem.equations.name, tally.statuses[BAD_VALUES]
            raise ArgumentError(f"{name}: the values of all {count:,} runs are invalid; {tally.complaint}")
        names = task.column_names()
        parts = [self._parts[chunk] for chunk in sorted(self._parts)]
        columns = joined(parts) if parts else {name: np.zeros(0) for name in names}
        return Ensemble(
            name=task.problem.equations.name,
            varied=task.problem.varied.names,
            shape=task.problem.varied.shape,
            units=units_of(task.problem.equations, (*task.problem.varied.names, *task.outputs)),
            tally=tally,
            complete=complete,
            seconds=time.perf_counter() - self._began,
            folder=self._folder,
            _columns=columns if self._folder is None else {},
            names=names,
            of_model=task.problem.equations.warnings,
        )
