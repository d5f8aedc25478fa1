"""What is to be done, whoever does it: an ensemble's runs in chunks, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from draisine.simulation.compiled_equations import prepare
from draisine.simulation.ensemble.block import Finished, Shared, Worker
from draisine.simulation.ensemble.outputs import Reporter
from draisine.simulation.ensemble.problem import Posed, Texts
from draisine.simulation.ensemble.reductions import Keep, sample_times
from draisine.simulation.ensemble.samples import Reals
from draisine.simulation.ensemble.storage import Column
from draisine.simulation.methods.selection import Method, check_tolerance, choose

BLOCK = 1024  # runs that one thread makes at a time: enough that what Python does between them is little
ROOM = 2_000_000  # numbers that the samples of a block may take


@dataclass(frozen=True, eq=False)
class Task:
    """An ensemble, posed. Travels to other processes, where `begin` makes it ready."""

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
    ) -> Task:
        reporter = Reporter.of(posed.equations, outputs)
        return Task(posed, until, outputs, keep, method, rows, chunk, sample_times(keep, until), reporter)

    def __reduce__(self) -> tuple[Callable[..., Task], tuple[Any, ...]]:
        return Task.of, (self.posed, self.until, self.outputs, self.keep, self.method, self.rows, self.chunk)

    @property
    def chunks(self) -> int:
        return -(-self.posed.count // self.chunk)

    @property
    def block(self) -> int:
        """Runs of a block: few enough that their samples take little room."""
        width = len(self.posed.equations.states) + len(self.outputs)
        return max(1, min(BLOCK, self.chunk, ROOM // ((len(self.samples) + 1) * width)))

    def description(self) -> dict[str, Any]:
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
        return self.posed.fingerprint(sorted(self.description().items()))

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

    def columns(self, begin: int, values: Mapping[str, Reals], reasons: Texts, lanes: Finished) -> dict[str, Column]:
        """What is kept of runs from `begin` on: values in which they differ, why these make no sense, what came of them."""
        events = [event.name for event in self.posed.equations.event_list]
        found: dict[str, Column] = {"run": np.arange(begin, begin + len(lanes.ended)), **values}
        found["status"], found["event"], found["reason"] = lanes.status, lanes.event, reasons
        found["ended"], found["steps"] = lanes.ended, lanes.steps
        for one in self.keep:
            found |= one.columns(lanes, self.samples, self.until, self.outputs, events)
        return found

    def column_names(self) -> tuple[str, ...]:
        events = len(self.posed.equations.event_list)
        values, none = np.zeros((0, len(self.samples) + 1, len(self.outputs))), np.zeros(0, dtype=np.int64)
        nothing = none.astype(object)
        nobody = Finished(values, nothing, nothing, np.zeros((0, events)), none.reshape(0, events), np.zeros(0), none, none)
        return tuple(self.columns(0, dict.fromkeys(self.posed.lanes.names, np.zeros(0)), nothing, nobody))

    def begin(self) -> Callable[[int], dict[str, Column]]:
        """Chunks by number, for a process of its own: compiled once, any thread may ask."""
        shared, idle = self.shared(np.zeros(1, dtype=np.int64)), SimpleQueue[Worker]()

        def one(chunk: int) -> dict[str, Column]:
            worker = idle.get() if not idle.empty() else Worker(shared)
            try:
                parts = [self.made(worker, *block) for block in self.blocks(chunk)]
            finally:
                idle.put(worker)
            return joined([part for part in parts if part is not None])

        return one

    def made(self, worker: Worker, begin: int, end: int) -> dict[str, Column] | None:
        """Columns of a block, or None if it was told to stop."""
        values, asked = self.posed.asked(begin, end)
        reasons = self.posed.sense.reasons(values, end - begin)
        lanes = worker(asked, reasons == "")
        return None if lanes is None else self.columns(begin, values, reasons, lanes)


def joined(parts: Sequence[dict[str, Column]]) -> dict[str, Column]:
    """Blocks one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
