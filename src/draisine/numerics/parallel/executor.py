"""Hand pieces of work to other processes and take their results in as they come."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from draisine.errors import ArgumentError, SimulationError
from draisine.numerics.parallel.job import Errand, do_piece


def spread(errand: Errand, pieces: Sequence[int], on: Any) -> Iterator[tuple[int, Any]]:
    """Pieces with their results, in the order in which they are done.

    `on` is a `distributed.Client`, or an executor of `concurrent.futures` whose workers are processes (`ProcessPoolExecutor`,
    `mpi4py.futures.MPIPoolExecutor`, loky's).
    """
    if type(on).__module__.partition(".")[0] == "distributed":
        from draisine.numerics.parallel.dask import spread_over_workers

        return spread_over_workers(on, errand, pieces)
    if isinstance(on, Executor):
        return _spread_over_pool(on, errand, pieces)
    raise ArgumentError(
        f"on: a distributed.Client or an executor of concurrent.futures whose workers are processes, got {type(on).__name__}; "
        "leave it out to run on this machine's cores"
    )


def _spread_over_pool(pool: Executor, errand: Errand, pieces: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Two pieces per worker are under way, so that none waits and few are lost."""
    waiting = iter(pieces)
    under_way: dict[Future[Any], int] = {}

    def give() -> None:
        number = next(waiting, None)
        if number is not None:
            under_way[pool.submit(do_piece, errand, number)] = number

    for _ in range(2 * int(getattr(pool, "_max_workers", None) or os.cpu_count() or 1)):
        give()
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
                give()
                yield number, result
    finally:
        for future in under_way:
            future.cancel()
