"""One executor for threads, processes and clusters.

Threads of this process share memory: `map_in_threads` keeps the order of what it is given, `split_rows` cuts arrays. Processes
(a pool of `concurrent.futures`, a Dask cluster) get a `Job`: work in numbered pieces, prepared once in every process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SimulationError

Array = NDArray[np.float64]
Item = TypeVar("Item")
Result = TypeVar("Result")

REMEMBERED = 4  # jobs that a process keeps prepared: compiled kernels and their buffers


# ---------------------------------------------------------------- threads


def map_in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    ahead: int,
    cancel: Callable[[], None] = lambda: None,
) -> Generator[Result, None, None]:
    """Results in the order of the items; at most `ahead` items are begun before their turn.

    When the caller stops early, or an item fails, `cancel` is called, what has not begun is dropped, and the rest is waited for.

    >>> list(map_in_threads(lambda k: k * k, range(5), threads=2, ahead=3))
    [0, 1, 4, 9, 16]
    """
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[Result]]()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        cancel()
        pool.shutdown(wait=True, cancel_futures=True)


@cache
def _beside() -> ThreadPoolExecutor:
    """Threads beside the caller's, kept for all calls of `split_rows`."""
    return ThreadPoolExecutor(max((os.cpu_count() or 1) - 1, 1), "rows")


def split_rows(function: Callable[[list[Array]], Result], arrays: Sequence[Array], each: int) -> list[Result]:
    """A function of arrays, called with `each` of their rows at a time; the caller's thread takes the first part.

    The function must not call `split_rows` itself: it would wait for the threads that wait for it.
    """
    count = len(arrays[0])
    ahead = [_beside().submit(function, [a[k : k + each] for a in arrays]) for k in range(each, count, each)]
    here = function([a[:each] for a in arrays])
    return [here, *(part.result() for part in ahead)]


# ---------------------------------------------------------------- jobs


class Work(Protocol):
    """Work in numbered pieces that do not depend on each other. It travels between processes: it consists of data."""

    def begin(self) -> Callable[[int], Any]:
        """Prepare, once per process (compile, allocate); the result does one piece, from any thread."""


@dataclass(frozen=True)
class Job:
    """A work and the key by which processes know that they have prepared it before."""

    key: str
    work: Work = field(compare=False)

    @staticmethod
    def of(work: Work) -> Job:
        """For work that is done once: no other job has its key."""
        return Job(uuid4().hex, work)

    def run(self, pieces: Sequence[int], on: Any) -> Iterator[tuple[int, Any]]:
        """Pieces with their results, in the order in which they are done.

        `on` is a `distributed.Client`, or an executor of `concurrent.futures` whose workers are processes (`ProcessPoolExecutor`,
        `mpi4py.futures.MPIPoolExecutor`, loky's).
        """
        if type(on).__module__.partition(".")[0] == "distributed":
            from draisine.numerics.parallel_dask import run_on_workers

            return run_on_workers(on, self, pieces)
        if isinstance(on, Executor):
            return _run_on_pool(on, self, pieces)
        raise ArgumentError(
            "on: a distributed.Client or an executor of concurrent.futures whose workers are processes, got "
            f"{type(on).__name__}; leave it out to run on this machine's cores"
        )


@lru_cache(maxsize=REMEMBERED)
def prepared(job: Job) -> Callable[[int], Any]:
    """The job's work, prepared in this process."""
    return job.work.begin()


def run_piece(job: Job, piece: int) -> Any:
    """One piece, in whatever process this is called."""
    return prepared(job)(piece)


def _run_on_pool(pool: Executor, job: Job, pieces: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Two pieces per worker are under way, so that none waits and few are lost."""
    waiting = iter(pieces)
    under_way: dict[Future[Any], int] = {}

    def submit() -> None:
        number = next(waiting, None)
        if number is not None:
            under_way[pool.submit(run_piece, job, number)] = number

    for _ in range(2 * int(getattr(pool, "_max_workers", None) or os.cpu_count() or 1)):
        submit()
    try:
        while under_way:
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                number = under_way.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool as broken:
                    raise SimulationError(
                        f"a process of the pool died while piece {number} was under way, and such a pool does not recover; "
                        "make a new one and call again, or use a Dask cluster, which replaces workers"
                    ) from broken
                submit()
                yield number, result
    finally:
        for future in under_way:
            future.cancel()
