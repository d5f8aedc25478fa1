"""The work of an ensemble in chunks, and the executors that compute them: threads of this process, or processes elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from draisine.numerics.parallel import Job, map_in_threads
from draisine.program.equations import Equations
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.contact_margins import (
    LEAST_FORCE,
    LEAST_TENSION,
    MOST_FRICTION,
    SLACK,
    contact_margins,
    monitored_margins,
)
from draisine.simulation.ensemble.block import Finished, Shared, Worker, add_text, contact_names
from draisine.simulation.ensemble.distributions import Reals
from draisine.simulation.ensemble.outputs import Reporter
from draisine.simulation.ensemble.problem import EnsembleProblem, Texts
from draisine.simulation.ensemble.reductions import Keep, sample_times
from draisine.simulation.ensemble.storage import Column
from draisine.simulation.methods.selection import Method, check_atol, check_step, select_method

BLOCK = 1024  # runs per call of compiled code: enough that Python's overhead is small
SINGLE_BLOCK = 16  # the same of runs one after the other: threads begin with the first runs, and end together …
BLOCKS = 64  # … which larger blocks do, too, if there are so many
ROOM = 2_000_000  # largest number of stored values of a block


@lru_cache(maxsize=32)
def _prepared(equations: Equations) -> VelocityChoices:
    """The kernels of all ensembles of these equations in this process; those of implicit methods take a while to derive."""
    return prepare(equations, monitored_margins)


@dataclass(frozen=True, eq=False)
class Task:
    """The work of an ensemble. It can be pickled; in another process `begin` prepares it."""

    problem: EnsembleProblem
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
        problem: EnsembleProblem,
        until: float,
        outputs: tuple[str, ...],
        keep: tuple[Keep, ...],
        method: Method | None,
        rows: bool,
        chunk: int,
    ) -> Task:
        reporter = Reporter.of(problem.equations, outputs)
        return Task(problem, until, outputs, keep, method, rows, chunk, sample_times(keep, until), reporter)

    def __reduce__(self) -> tuple[Callable[..., Task], tuple[Any, ...]]:
        return Task.of, (self.problem, self.until, self.outputs, self.keep, self.method, self.rows, self.chunk)

    @property
    def chunks(self) -> int:
        return -(-self.problem.count // self.chunk)

    @property
    def block(self) -> int:
        """Runs per block, limited by memory."""
        width = len(self.problem.equations.states) + len(self.outputs)
        most = min(BLOCK, max(SINGLE_BLOCK, self.problem.count // BLOCKS)) if self.problem.equations.unilateral else BLOCK
        return max(1, min(most, self.chunk, ROOM // ((len(self.samples) + 1) * width)))

    def description(self) -> dict[str, Any]:
        """A description of the problem for the folder."""
        return {
            "model": self.problem.equations.name,
            "runs": self.problem.count,
            "varied": list(self.problem.varied.names),
            "until": self.until,
            "outputs": list(self.outputs),
            "keep": [repr(one) for one in self.keep],
            "method": repr(self.method),
            "rows": self.rows,
            "chunk": self.chunk,
        }

    def fingerprint(self) -> str:
        return self.problem.fingerprint(sorted(self.description().items()))

    def shared(self, stop: np.ndarray) -> Shared:
        equations = self.problem.equations
        chosen = select_method(self.method, equations)
        check_atol(chosen.method, equations)
        check_step(chosen.method, 0.0, self.until)
        made = Shared(
            _prepared(equations),
            self.problem.starts,
            self.method,
            chosen,
            self.until,
            self.samples,
            self.reporter,
            stop,
        )
        made.ready(self.problem.requested(0, 1)[1])
        return made

    def blocks(self, chunk: int) -> list[tuple[int, int]]:
        end = min((chunk + 1) * self.chunk, self.problem.count)
        return [(begin, min(begin + self.block, end)) for begin in range(chunk * self.chunk, end, self.block)]

    def columns(self, begin: int, values: Mapping[str, Reals], reasons: Texts, finished: Finished) -> dict[str, Column]:
        """The columns of runs from `begin` on: varied values, reasons of invalid ones, and results."""
        events = [event.name for event in self.problem.equations.event_list]
        found: dict[str, Column] = {"run": np.arange(begin, begin + len(finished.ended)), **values}
        found["status"], found["event"], found["reason"] = finished.status, finished.event, reasons
        found["ended"], found["steps"], found["warnings"] = finished.ended, finished.steps, finished.warnings
        margins = contact_margins(self.problem.equations)
        if margins is not None:
            if margins.normal or margins.friction:
                found[LEAST_FORCE], found[MOST_FRICTION] = (
                    margins.least_force(finished.contact_least),
                    margins.most_friction(finished.contact_least),
                )
            if margins.cables:
                found[LEAST_TENSION] = tension = margins.least_tension(finished.contact_least)
                found["warnings"] = warnings = finished.warnings.copy()
                add_text(warnings, tension < 0.0, SLACK)
        for one in self.keep:
            found |= one.columns(finished, self.samples, self.until, self.outputs, events)
        return found

    def column_names(self) -> tuple[str, ...]:
        events = len(self.problem.equations.event_list)
        values, none = np.zeros((0, len(self.samples) + 1, len(self.outputs))), np.zeros(0, dtype=np.int64)
        no_text = none.astype(object)
        margins = contact_margins(self.problem.equations)
        contacts = np.zeros((0, 0 if margins is None else margins.size))
        opening = contact_names(self.problem.equations)
        empty = Finished(
            *(
                values,
                no_text,
                no_text,
                np.zeros((0, events)),
                none.reshape(0, events),
                np.zeros(0),
                none,
                none,
                contacts,
                no_text,
            ),
            opening,
            np.zeros((0, 1 + 2 * len(opening))),
        )
        return tuple(self.columns(0, dict.fromkeys(self.problem.varied.names, np.zeros(0)), no_text, empty))

    def begin(self) -> Callable[[int], dict[str, Column]]:
        """A function that computes chunks by number in another process; thread-safe."""
        shared, idle = self.shared(np.zeros(1, dtype=np.int64)), SimpleQueue[Worker]()

        def one(chunk: int) -> dict[str, Column]:
            worker = idle.get() if not idle.empty() else Worker(shared)
            try:
                parts = [self.compute_block(worker, *block) for block in self.blocks(chunk)]
            finally:
                idle.put(worker)
            return joined([part for part in parts if part is not None])

        return one

    def compute_block(self, worker: Worker, begin: int, end: int) -> dict[str, Column] | None:
        """Columns of a block, or None if it was stopped."""
        values, requested = self.problem.requested(begin, end)
        reasons = self.problem.validity.reasons(values, end - begin)
        finished = worker(requested, reasons == "")
        return None if finished is None else self.columns(begin, values, reasons, finished)


def joined(parts: Sequence[dict[str, Column]]) -> dict[str, Column]:
    """Blocks joined in order."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


Columns = dict[str, Column]


class Executor(Protocol):
    def chunks(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        """Chunks with their numbers, as they are completed."""


@dataclass(frozen=True)
class ThreadExecutor:
    """Blocks of a chunk are distributed over threads; chunks are returned in order."""

    count: int

    def chunks(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        """The blocks of the next chunk start before the last of this one is completed."""
        stop, workers = np.zeros(1, dtype=np.int64), SimpleQueue[Worker]()
        shared = task.shared(stop)
        for _ in range(self.count):
            workers.put(Worker(shared))

        def one(block: tuple[int, int]) -> Columns | None:
            worker = workers.get()
            try:
                return task.compute_block(worker, *block)
            finally:
                workers.put(worker)

        def cancel() -> None:
            stop[0] = 1

        blocks = [task.blocks(chunk) for chunk in missing]
        ahead = 2 * max(map(len, blocks), default=1)
        with closing(map_in_threads(one, chain(*blocks), self.count, ahead, cancel)) as made:
            for chunk, own in zip(missing, blocks, strict=True):
                parts = islice(made, len(own))
                yield chunk, joined([part for part in parts if part is not None])


@dataclass(frozen=True)
class ClusterExecutor:
    """Each chunk is computed by one worker of a cluster or pool; chunks are returned as they are completed."""

    cluster: Any

    def chunks(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        return Job(task.fingerprint(), task).run(missing, self.cluster)
