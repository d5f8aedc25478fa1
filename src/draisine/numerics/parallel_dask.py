"""Dask's workers: each gets the job once, those that join later or come back after a death too.

The job is a plugin of the workers. The scheduler hands plugins to every worker there is and to each new one, so that no piece
carries the equations, and no worker's death loses them. Pieces of a worker that died are given to another by the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, cast

from distributed import Client, KilledWorker, WorkerPlugin, as_completed, get_worker

from draisine.errors import SimulationError
from draisine.numerics.parallel import Job, prepared

RETRIES = 2  # of a piece whose worker reports an error of its own, such as a lost connection


class JobOfWorker(WorkerPlugin):
    """Keeps the job where pieces find it; prepared by the first of them, not while the worker announces itself."""

    def __init__(self, job: Job) -> None:
        self.name = plugin_name(job)
        self.job = job

    def setup(self, worker: Any) -> None:
        self._lock = Lock()  # made here: locks do not travel

    def piece(self, number: int) -> Any:
        with self._lock:
            do = prepared(self.job)
        return do(number)


def plugin_name(job: Job) -> str:
    return f"draisine-{job.key}"


def on_worker(name: str, number: int) -> Any:
    """A piece, in the process of a worker."""
    return cast(JobOfWorker, get_worker().plugins[name]).piece(number)


@contextmanager
def sent(client: Client, job: Job) -> Iterator[str]:
    """The job with all workers, for a while; gives the name by which they know it."""
    name = plugin_name(job)
    client.register_plugin(JobOfWorker(job))
    try:
        yield name
    finally:
        client.unregister_worker_plugin(name)


def run_on_workers(client: Client, job: Job, pieces: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Pieces with their results, as they come; two pieces per thread are under way."""
    waiting = iter(pieces)
    with sent(client, job) as name:
        numbers: dict[Any, int] = {}
        under_way = as_completed()

        def submit() -> None:
            number = next(waiting, None)
            if number is not None:
                future = client.submit(on_worker, name, number, pure=False, retries=RETRIES)
                numbers[future.key] = number
                under_way.add(future)

        for _ in range(2 * max(1, sum(client.nthreads().values()))):
            submit()
        try:
            for future in under_way:
                number = numbers.pop(future.key)
                try:
                    result = future.result()
                except KilledWorker as killed:
                    raise SimulationError(
                        f"piece {number} of {job.key[:12]} was begun by several workers, and each of them died; "
                        f"their memory may be too small for it, or the piece itself ends the process ({killed})"
                    ) from killed
                submit()
                yield number, result
        finally:
            client.cancel(list(under_way.futures))
