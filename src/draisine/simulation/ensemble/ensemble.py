"""The verb: many runs of one model, on all cores or many machines, in chunks that can be kept on disk and taken up again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.program.equations import Equations, Event
from draisine.simulation.ensemble.ensemble import Progress
from draisine.simulation.ensemble.job import Elsewhere, Makers, Task, Threads, joined
from draisine.simulation.ensemble.outputs import units_of
from draisine.simulation.ensemble.problem import BAD_VALUES, pose
from draisine.simulation.ensemble.reductions import EventCounts, Final, Keep
from draisine.simulation.ensemble.result import Ensemble
from draisine.simulation.ensemble.samples import Drawn, Grid, LaneValues
from draisine.simulation.ensemble.statistics import Tally
from draisine.simulation.ensemble.storage import Column, Folder
from draisine.simulation.initial.problem import InitialGuess
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method

CHUNK = 4096  # runs that are written together


def ensemble(
    model: Model | System | Equations,
    over: Mapping[str, ArrayLike | tuple[float, float, int]] | None = None,
    *,
    until: float,
    samples: Any = None,
    runs: int | None = None,
    outputs: Sequence[str] = (),
    keep: Sequence[Keep] = (Final(), EventCounts()),
    start: Mapping[str, float | InitialGuess] | None = None,
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
    progress: Callable[[Progress], None] | None = None,
) -> Ensemble:
    """Many runs of a model with different parameters, inputs and starts.

    - `over`: names and values, all combinations of which are run: lists, or (first, last, count).
    - `samples`: instead, a table with one row per run: a mapping of columns or a DataFrame; columns may be distributions
      (`Uniform`, `Normal`), of which `runs` numbers are drawn from `seed`.
    - Names are those of parameters, inputs or wishes for the start; "start.lean" where a name could mean more than one.
    - `outputs`: what to tell, and `keep`: how much of it: `Final()`, `Snapshots(1.0, 2.0)`, `Extremes()`, `Happenings()`.
    - `start`, `parameters`, `inputs`, `events`, `method` are those of all runs, as in `simulate`; `tolerance` stands for
      DOP853 with this relative and absolute tolerance.
    - `out`: a folder in which chunks of `chunk` runs are kept, as Parquet files or, if its name ends with `.zarr`, as one Zarr
      group; called again after an interruption, what is there is not computed anew. `rows=False` keeps the statistics alone.
    - `on`: who computes: a `distributed.Client`, or an executor of processes; left out, `threads` of this process do.

    A run that fails is a row with its status. Results do not depend on the number of threads or workers.

    >>> import draisine as dr
    >>> from sympy.abc import k, v, x
    >>> oscillator = dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> found = ensemble(oscillator, {"k": [1.0, 4.0]}, until=1.0, outputs=["x"])
    >>> found["x.end"].round(6).tolist()
    [0.540302, -0.416147]
    """
    if not (np.isfinite(until) and until > 0):
        raise ArgumentError(f"until: how long each run lasts, in seconds; it must be positive and finite, got {until!r}")
    if method is not None and tolerance is not None:
        raise ArgumentError("tolerance stands for DOP853 with this tolerance; give it, or a method, not both")
    if chunk < 1:
        raise ArgumentError(f"chunk: at least one run, got {chunk}")
    if tolerance is not None:
        method = DOP853(rtol=tolerance, atol=tolerance)
    lanes = _lanes(over, samples, runs, seed)
    posed = pose(model, lanes, start or {}, parameters or {}, inputs or {}, tuple(events))
    task = Task.of(posed, float(until), tuple(outputs), tuple(keep), method, rows, chunk)
    folder = None
    if out is not None:
        folder = Folder.opened(out, task.fingerprint(), task.description())
    makers = Threads(threads or os.cpu_count() or 1) if on is None else Elsewhere(on)
    return _Conductor(task, folder, makers, progress).run()


def _lanes(over: Mapping[str, Any] | None, samples: Any, runs: int | None, seed: int) -> LaneValues:
    if (over is None) == (samples is None):
        raise ArgumentError("give what the runs differ in: over={name: values} for all combinations, or samples={name: column}")
    if over is not None:
        if runs is not None:
            raise ArgumentError("runs says how many are drawn of samples=…; with over=… the combinations decide")
        return Grid.of(over)
    return Drawn.of(samples, runs, seed)


class _Conductor:
    """Asks for the chunks that are missing and keeps them."""

    def __init__(self, task: Task, folder: Folder | None, makers: Makers, progress: Callable[[Progress], None] | None) -> None:
        self._task, self._folder, self._makers, self._progress = task, folder, makers, progress
        self._parts: dict[int, dict[str, Column]] = {}
        self._began = time.perf_counter()

    def run(self) -> Ensemble:
        task = self._task
        there = [chunk for chunk in range(task.chunks) if self._folder is not None and self._folder.has(chunk)]
        missing = [chunk for chunk in range(task.chunks) if chunk not in set(there)]
        tallies = {chunk: self._folder.tally(chunk) for chunk in there if self._folder is not None}
        resumed = done = sum(sum(tally.statuses.values()) for tally in tallies.values())
        complete = True
        try:
            for chunk, columns in self._makers.made(task, missing) if missing else ():
                tallies[chunk] = self._kept(chunk, columns)
                done += len(columns["run"])
                if self._progress is not None:
                    self._progress(Progress(done, task.posed.count, time.perf_counter() - self._began, resumed))
        except KeyboardInterrupt:
            complete = False
        tally = Tally({}, {})
        for chunk in sorted(tallies):
            tally = tally.merged(tallies[chunk])
        return self._result(tally, complete)

    def _kept(self, chunk: int, columns: dict[str, Column]) -> Tally:
        numbers = {name: column for name, column in columns.items() if column.dtype == np.float64}
        tally = Tally.of(numbers, columns["status"].tolist(), self._complaint(columns))
        kept = columns if self._task.rows else {name: column[:0] for name, column in columns.items()}
        if self._folder is not None:
            self._folder.write(chunk, kept, tally)
        else:
            self._parts[chunk] = kept
        return tally

    def _complaint(self, columns: dict[str, Column]) -> str:
        """About the first of some runs whose values make no sense."""
        wrong = np.flatnonzero(columns["status"] == BAD_VALUES)
        if not wrong.size:
            return ""
        posed = self._task.posed
        values = {name: float(columns[name][wrong[0]]) for name in posed.lanes.names}
        return f"run {columns['run'][wrong[0]]}: {posed.sense.complaint(values)}"

    def _result(self, tally: Tally, complete: bool) -> Ensemble:
        task = self._task
        if set(tally.statuses) == {BAD_VALUES}:
            name, count = task.posed.equations.name, tally.statuses[BAD_VALUES]
            raise ArgumentError(f"{name}: the values of none of the {count:,} runs make sense; {tally.complaint}")
        names = task.column_names()
        parts = [self._parts[chunk] for chunk in sorted(self._parts)]
        columns = joined(parts) if parts else {name: np.zeros(0) for name in names}
        return Ensemble(
            name=task.posed.equations.name,
            varied=task.posed.lanes.names,
            shape=task.posed.lanes.shape,
            units=units_of(task.posed.equations, (*task.posed.lanes.names, *task.outputs)),
            tally=tally,
            complete=complete,
            seconds=time.perf_counter() - self._began,
            folder=self._folder,
            _columns=columns if self._folder is None else {},
            names=names,
        )
