"""Jobs on the workers of a Dask cluster.

The job is a worker plugin. The scheduler hands plugins to all present workers and to each that joins or restarts later, so the
pieces need not carry the equations. The scheduler gives the pieces of a lost worker to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol, cast

from distributed import Client, KilledWorker, WorkerPlugin, as_completed, get_worker

from draisine.errors import SimulationError

RETRIES = 2  # of a piece whose worker reports an error of its own, such as a lost connection


class Keyed(Protocol):
    """A `draisine.numerics.parallel.Job`; that module imports this one."""

    @property
    def key(self) -> str: ...


Prepare = Callable[[Any], Callable[[int], Any]]  # of a job, once per process


class JobPlugin(WorkerPlugin):
    """Holds the job in a worker. The first piece prepares it, so that a worker registers without delay."""

    def __init__(self, job: Keyed, prepare: Prepare) -> None:
        self.name = plugin_name(job)
        self.job, self.prepare = job, prepare

    def setup(self, worker: Any) -> None:
        self._lock = Lock()  # created here: locks cannot be pickled

    def piece(self, number: int) -> Any:
        with self._lock:
            do = self.prepare(self.job)
        return do(number)


def plugin_name(job: Keyed) -> str:
    return f"draisine-{job.key}"


def run_in_worker(name: str, number: int) -> Any:
    """A piece, in the process of a worker."""
    return cast(JobPlugin, get_worker().plugins[name]).piece(number)


@contextmanager
def registered(client: Client, job: Keyed, prepare: Prepare) -> Iterator[str]:
    """The job as a plugin of all workers while the context lasts; gives the plugin's name."""
    name = plugin_name(job)
    client.register_plugin(JobPlugin(job, prepare))
    try:
        yield name
    finally:
        client.unregister_worker_plugin(name)


def run_on_workers(client: Client, job: Keyed, prepare: Prepare, pieces: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Pieces with their results, in the order of completion; two pieces per thread are in progress."""
    waiting = iter(pieces)
    with registered(client, job, prepare) as name:
        numbers: dict[Any, int] = {}
        in_progress = as_completed()

        def submit() -> None:
            number = next(waiting, None)
            if number is not None:
                future = client.submit(run_in_worker, name, number, pure=False, retries=RETRIES)
                numbers[future.key] = number
                in_progress.add(future)

        for _ in range(2 * max(1, sum(client.nthreads().values()))):
            submit()
        try:
            for future in in_progress:
                number = numbers.pop(future.key)
                try:
                    result = future.result()
                except KilledWorker as killed:
                    raise SimulationError(
                        f"several workers started piece {number} of {job.key[:12]}, and each of them died; "
                        f"their memory may be too small for it, or the piece itself ends the process ({killed})"
                    ) from killed
                submit()
                yield number, result
        finally:
            client.cancel(list(in_progress.futures))
