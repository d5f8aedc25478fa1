"""Who makes the chunks: threads of this process, or processes elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from draisine.numerics.parallel import Job, map_in_threads
from draisine.simulation.ensemble.block import Worker
from draisine.simulation.ensemble.job import Task, joined
from draisine.simulation.ensemble.storage import Column

Columns = dict[str, Column]


class Makers(Protocol):
    def made(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        """Chunks with their numbers, as they are done."""


@dataclass(frozen=True)
class Threads:
    """Blocks of a chunk are shared among threads; chunks come in order."""

    count: int

    def made(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        """The blocks of the next chunk are begun before the last of this one is done."""
        stop, workers = np.zeros(1, dtype=np.int64), SimpleQueue[Worker]()
        shared = task.shared(stop)
        for _ in range(self.count):
            workers.put(Worker(shared))

        def one(block: tuple[int, int]) -> Columns | None:
            worker = workers.get()
            try:
                return task.made(worker, *block)
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
class Elsewhere:
    """Each chunk is made by one worker of a cluster or pool; chunks come as they are done."""

    cluster: Any

    def made(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        return Job(task.fingerprint(), task).run(missing, self.cluster)
