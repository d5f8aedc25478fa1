"""Who makes the chunks: threads of this process, or processes elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from draisine.numerics.parallel.executor import spread
from draisine.numerics.parallel.job import Errand
from draisine.simulation.ensemble.block import Worker
from draisine.simulation.ensemble.chunks import Column
from draisine.simulation.ensemble.job import Task, joined

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

        def one(begin: int, end: int) -> Columns | None:
            worker = workers.get()
            try:
                return task.made(worker, begin, end)
            finally:
                workers.put(worker)

        waiting: deque[tuple[int, list[Future[Columns | None]]]] = deque()
        pool = ThreadPoolExecutor(self.count)
        try:
            for chunk in missing:
                waiting.append((chunk, [pool.submit(one, *block) for block in task.blocks(chunk)]))
                if len(waiting) > 1:
                    yield self._gathered(*waiting.popleft())
            while waiting:
                yield self._gathered(*waiting.popleft())
        finally:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def _gathered(chunk: int, futures: Sequence[Future[Columns | None]]) -> tuple[int, Columns]:
        return chunk, joined([part for part in (future.result() for future in futures) if part is not None])


@dataclass(frozen=True)
class Elsewhere:
    """Each chunk is made by one worker of a cluster or pool; chunks come as they are done."""

    cluster: Any

    def made(self, task: Task, missing: Sequence[int]) -> Iterator[tuple[int, Columns]]:
        return spread(Errand(task.fingerprint(), task), missing, self.cluster)
