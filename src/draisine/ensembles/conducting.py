"""The verb: many runs of one model, on all cores, in chunks that can be kept on disk and taken up again."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.ensembles.block import Finished, Shared, Worker
from draisine.ensembles.folder import Column, Folder
from draisine.ensembles.keep import Final, Happenings, Keep, sample_times
from draisine.ensembles.lane_values import Drawn, Grid, LaneValues, Reals
from draisine.ensembles.moments import Tally
from draisine.ensembles.outputs import Reporter, units_of
from draisine.ensembles.posing import Posed, pose
from draisine.ensembles.progress import Progress
from draisine.ensembles.result import Ensemble
from draisine.model import Model, System
from draisine.model.amounts import Amount
from draisine.program.equations import Equations, Event
from draisine.simulation.choices import prepare
from draisine.simulation.choosing import check_tolerance, choose
from draisine.simulation.methods import DOP853, Method
from draisine.simulation.start import Near

CHUNK = 4096  # runs that are written together
BLOCK = 256  # runs that one thread makes at a time
ROOM = 2_000_000  # numbers that the samples of a block may take


def ensemble(
    model: Model | System | Equations,
    over: Mapping[str, ArrayLike | tuple[float, float, int]] | None = None,
    *,
    until: float,
    samples: Any = None,
    runs: int | None = None,
    outputs: Sequence[str] = (),
    keep: Sequence[Keep] = (Final(), Happenings()),
    start: Mapping[str, float | Near] | None = None,
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
    - `out`: a folder in which chunks of `chunk` runs are kept; called again after an interruption, what is there is not
      computed anew. `rows=False` keeps the statistics alone.

    A run that fails is a row with its status. Results do not depend on the number of threads.

    >>> import draisine as dr
    >>> from sympy.abc import k, v, x
    >>> oscillator = dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> found = ensemble(oscillator, {"k": [1.0, 4.0]}, until=1.0, outputs=["x"])
    >>> found["x.end"].round(6).tolist()
    [0.540302, -0.416147]
    """
    if not (np.isfinite(until) and until > 0):
        raise ValueError(f"until: how long each run lasts, in seconds; it must be positive and finite, got {until!r}")
    if method is not None and tolerance is not None:
        raise ValueError("tolerance stands for DOP853 with this tolerance; give it, or a method, not both")
    if chunk < 1:
        raise ValueError(f"chunk: at least one run, got {chunk}")
    if tolerance is not None:
        method = DOP853(rtol=tolerance, atol=tolerance)
    lanes = _lanes(over, samples, runs, seed)
    posed = pose(model, lanes, start or {}, parameters or {}, inputs or {}, tuple(events))
    work = _Work.of(posed, float(until), tuple(outputs), tuple(keep), method, rows, chunk)
    folder = None
    if out is not None:
        folder = Folder.opened(out, work.fingerprint(), work.about())
    return _Conductor(work, folder, threads or os.cpu_count() or 1, progress).run()


def _lanes(over: Mapping[str, Any] | None, samples: Any, runs: int | None, seed: int) -> LaneValues:
    if (over is None) == (samples is None):
        raise ValueError("give what the runs differ in: over={name: values} for all combinations, or samples={name: column}")
    if over is not None:
        if runs is not None:
            raise ValueError("runs says how many are drawn of samples=…; with over=… the combinations decide")
        return Grid.of(over)
    return Drawn.of(samples, runs, seed)


@dataclass(frozen=True, eq=False)
class _Work:
    """What is to be done, whoever does it."""

    posed: Posed
    until: float
    outputs: tuple[str, ...]
    keep: tuple[Keep, ...]
    method: Method | None
    rows: bool
    chunk: int
    samples: Reals
    reporter: Reporter

    @staticmethod
    def of(
        posed: Posed,
        until: float,
        outputs: tuple[str, ...],
        keep: tuple[Keep, ...],
        method: Method | None,
        rows: bool,
        chunk: int,
    ) -> _Work:
        reporter = Reporter.of(posed.equations, outputs)
        return _Work(posed, until, outputs, keep, method, rows, chunk, sample_times(keep, until), reporter)

    @property
    def chunks(self) -> int:
        return -(-self.posed.count // self.chunk)

    @property
    def block(self) -> int:
        """Runs of a block: few enough that their samples take little room."""
        width = len(self.posed.equations.states) + len(self.outputs)
        return max(1, min(BLOCK, self.chunk, ROOM // ((len(self.samples) + 1) * width)))

    def about(self) -> dict[str, Any]:
        """The problem in words, for the folder."""
        return {
            "model": self.posed.equations.name,
            "runs": self.posed.count,
            "varied": list(self.posed.lanes.names),
            "until": self.until,
            "outputs": list(self.outputs),
            "keep": [repr(one) for one in self.keep],
            "method": repr(self.method),
            "rows": self.rows,
            "chunk": self.chunk,
        }

    def fingerprint(self) -> str:
        return self.posed.fingerprint(sorted(self.about().items()))

    def shared(self, stop: np.ndarray) -> Shared:
        equations = self.posed.equations
        chosen = choose(self.method, equations)
        check_tolerance(chosen.method, equations)
        made = Shared(prepare(equations), self.posed.starts, self.method, chosen, self.until, self.samples, self.reporter, stop)
        made.ready(self.posed.asked(0, 1)[1])
        return made

    def blocks(self, chunk: int) -> list[tuple[int, int]]:
        end = min((chunk + 1) * self.chunk, self.posed.count)
        return [(begin, min(begin + self.block, end)) for begin in range(chunk * self.chunk, end, self.block)]

    def columns(self, begin: int, end: int, lanes: Finished) -> dict[str, Column]:
        """What is kept of some runs."""
        values, _ = self.posed.asked(begin, end)
        events = [event.name for event in self.posed.equations.event_list]
        found: dict[str, Column] = {"run": np.arange(begin, end), **values}
        found["status"], found["event"] = np.array(lanes.status, dtype=object), np.array(lanes.event, dtype=object)
        found["ended"], found["steps"] = lanes.ended, lanes.steps
        for one in self.keep:
            found |= one.columns(lanes, self.samples, self.until, self.outputs, events)
        return found

    def column_names(self) -> tuple[str, ...]:
        events = len(self.posed.equations.event_list)
        values, none = np.zeros((0, len(self.samples) + 1, len(self.outputs))), np.zeros(0, dtype=np.int64)
        nobody = Finished(values, [], [], np.zeros((0, events)), none.reshape(0, events), np.zeros(0), none, none)
        return tuple(self.columns(0, 0, nobody))


class _Conductor:
    """Hands blocks to threads, gathers chunks in order, keeps them."""

    def __init__(self, work: _Work, folder: Folder | None, threads: int, progress: Callable[[Progress], None] | None) -> None:
        self._work, self._folder, self._threads, self._progress = work, folder, threads, progress
        self._stop = np.zeros(1, dtype=np.int64)
        self._tally = Tally({}, {})
        self._parts: list[dict[str, Column]] = []
        self._began = time.perf_counter()

    def run(self) -> Ensemble:
        work = self._work
        there = [chunk for chunk in range(work.chunks) if self._folder is not None and self._folder.has(chunk)]
        missing = [chunk for chunk in range(work.chunks) if chunk not in set(there)]
        tallies = {chunk: self._folder.tally(chunk) for chunk in there if self._folder is not None}
        resumed = done = sum(sum(tally.statuses.values()) for tally in tallies.values())
        complete = True
        try:
            for chunk, columns in self._computed(missing):
                tallies[chunk] = self._kept(chunk, columns)
                done += len(columns["run"])
                if self._progress is not None:
                    self._progress(Progress(done, work.posed.count, time.perf_counter() - self._began, resumed))
        except KeyboardInterrupt:
            complete = False
        for chunk in sorted(tallies):
            self._tally = self._tally.merged(tallies[chunk])
        return self._result(complete)

    def _computed(self, missing: Sequence[int]) -> Iterator[tuple[int, dict[str, Column]]]:
        """Chunks in order; the blocks of the next one are begun before the last of this one is done."""
        if not missing:
            return
        work, workers = self._work, SimpleQueue[Worker]()
        shared = work.shared(self._stop)
        for _ in range(self._threads):
            workers.put(Worker(shared))

        def one(begin: int, end: int) -> dict[str, Column] | None:
            worker = workers.get()
            try:
                lanes = worker(work.posed.asked(begin, end)[1])
            finally:
                workers.put(worker)
            return None if lanes is None else work.columns(begin, end, lanes)

        waiting: deque[tuple[int, list[Future[dict[str, Column] | None]]]] = deque()
        pool = ThreadPoolExecutor(self._threads)
        try:
            for chunk in missing:
                waiting.append((chunk, [pool.submit(one, *block) for block in work.blocks(chunk)]))
                if len(waiting) > 1:
                    yield self._joined(*waiting.popleft())
            while waiting:
                yield self._joined(*waiting.popleft())
        finally:
            self._stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def _joined(chunk: int, futures: Sequence[Future[dict[str, Column] | None]]) -> tuple[int, dict[str, Column]]:
        parts = [part for part in (future.result() for future in futures) if part is not None]
        return chunk, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _kept(self, chunk: int, columns: dict[str, Column]) -> Tally:
        numbers = {name: column for name, column in columns.items() if column.dtype == np.float64}
        tally = Tally.of(numbers, columns["status"].tolist())
        kept = columns if self._work.rows else {name: column[:0] for name, column in columns.items()}
        if self._folder is not None:
            self._folder.write(chunk, kept, tally)
        else:
            self._parts.append(kept)
        return tally

    def _result(self, complete: bool) -> Ensemble:
        work = self._work
        names = work.column_names()
        columns = {name: np.concatenate([part[name] for part in self._parts]) for name in names} if self._parts else {}
        if self._folder is None and not columns:
            columns = {name: np.zeros(0) for name in names}
        return Ensemble(
            name=work.posed.equations.name,
            varied=work.posed.lanes.names,
            shape=work.posed.lanes.shape,
            units=units_of(work.posed.equations, work.outputs),
            tally=self._tally,
            complete=complete,
            seconds=time.perf_counter() - self._began,
            folder=self._folder,
            _columns=columns,
            names=names,
        )
