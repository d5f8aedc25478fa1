"""Parallel execution in threads, process pools and Dask clusters.

Threads of this process share memory: `map_in_threads` keeps the order of its items, `split_rows` splits arrays by rows. Processes
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

PREPARED_JOBS = 4  # that a process keeps: compiled kernels and their buffers


# ---------------------------------------------------------------- threads


def map_in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    ahead: int,
    cancel: Callable[[], None] = lambda: None,
) -> Generator[Result, None, None]:
    """Results in the order of the items; at most `ahead` items are started before their results are needed.

    When the caller stops early or an item fails, `cancel` is called, items not yet started are dropped, running ones awaited.

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


def in_background(name: str, function: Callable[[], Result]) -> Future[Result]:
    """Call a function in a thread of its own, which ends with it."""
    thread = ThreadPoolExecutor(1, name)
    made = thread.submit(function)
    thread.shutdown(wait=False)
    return made


def one_after_the_other(name: str, functions: Iterable[Callable[[], Result]]) -> list[Future[Result]]:
    """Call functions in a thread of their own, each while the next are made; this returns when all are made."""
    thread = ThreadPoolExecutor(1, name)
    try:
        return [thread.submit(function) for function in functions]
    finally:
        thread.shutdown(wait=False)  # it ends with its work


@cache
def _row_threads() -> ThreadPoolExecutor:
    """Threads beside the caller's, shared by all calls of `split_rows`."""
    return ThreadPoolExecutor(max((os.cpu_count() or 1) - 1, 1), "rows")


def split_rows(function: Callable[[list[Array]], Result], arrays: Sequence[Array], each: int) -> list[Result]:
    """Call a function of arrays with `each` of their rows at a time; the caller's thread takes the first part.

    The function must not call `split_rows` itself, which would deadlock.
    """
    count = len(arrays[0])
    others = [_row_threads().submit(function, [a[k : k + each] for a in arrays]) for k in range(each, count, each)]
    first = function([a[:each] for a in arrays])
    return [first, *(part.result() for part in others)]


# ---------------------------------------------------------------- jobs


class Work(Protocol):
    """Independent, numbered pieces of work. It is sent between processes, so it consists of data."""

    def begin(self) -> Callable[[int], Any]:
        """Prepare once per process (compile, allocate); the function returned does one piece, from any thread."""


@dataclass(frozen=True)
class Job:
    """Work and the key by which a process recognizes work that it has prepared before."""

    key: str
    work: Work = field(compare=False)

    @staticmethod
    def of(work: Work) -> Job:
        """A job with a unique key, for work that is done once."""
        return Job(uuid4().hex, work)

    def run(self, pieces: Sequence[int], on: Any) -> Iterator[tuple[int, Any]]:
        """Pieces with their results, in the order of completion.

        `on` is a `distributed.Client`, or an executor of `concurrent.futures` whose workers are processes (`ProcessPoolExecutor`,
        `mpi4py.futures.MPIPoolExecutor`, loky's).
        """
        if type(on).__module__.partition(".")[0] == "distributed":
            from draisine.numerics.parallel_dask import run_on_workers  # imports distributed, which takes a second

            return run_on_workers(on, self, prepared, pieces)
        if isinstance(on, Executor):
            return _run_on_pool(on, self, pieces)
        raise ArgumentError(
            "on: expected a distributed.Client or an executor of concurrent.futures whose workers are processes, got "
            f"{type(on).__name__}; leave it out to run on this machine's cores"
        )


@lru_cache(maxsize=PREPARED_JOBS)
def prepared(job: Job) -> Callable[[int], Any]:
    """The job's work, prepared in this process."""
    return job.work.begin()


def run_piece(job: Job, piece: int) -> Any:
    """One piece, in the calling process."""
    return prepared(job)(piece)


def _run_on_pool(pool: Executor, job: Job, pieces: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Two pieces per worker are in progress, so that none waits and few are lost."""
    waiting = iter(pieces)
    in_progress: dict[Future[Any], int] = {}

    def submit() -> None:
        number = next(waiting, None)
        if number is not None:
            in_progress[pool.submit(run_piece, job, number)] = number

    for _ in range(2 * int(getattr(pool, "_max_workers", None) or os.cpu_count() or 1)):
        submit()
    try:
        while in_progress:
            done, _ = wait(in_progress, return_when=FIRST_COMPLETED)
            for future in done:
                number = in_progress.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool as broken:
                    raise SimulationError(
                        f"a process of the pool died during piece {number}, and such a pool does not recover; "
                        "create a new one and call again, or use a Dask cluster, which replaces workers"
                    ) from broken
                submit()
                yield number, result
    finally:
        for future in in_progress:
            future.cancel()
