"""What is compiled once per machine is shared out among the workers of a run, so that no two of them compile the same.

On a machine that has nothing stored yet each of the loops takes long, and workers that start together would all begin with them.
Thousands of collected tests are nothing for the garbage collector to walk through again and again either.
"""

from __future__ import annotations

import gc
import os
import time
import warnings
from pathlib import Path

import pytest

from draisine.cli.warm import LOOPS

PATIENCE = 300.0  # seconds for another worker's share; then one goes on, and makes what is missing when it is needed


# Together the others take about as long as the loop of the implicit methods.
SHARES = {"gw0": ("implicit methods",), "gw1": ("explicit methods", "ensembles")}


def _make(share: tuple[str, ...]) -> None:
    try:
        for name in share:
            LOOPS[name]()
    except Exception as wrong:  # no reason to run no test at all
        warnings.warn(f"not compiled ahead: {wrong!r}; the tests that need it will say more", stacklevel=1)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) < len(SHARES):
        return
    place: Path = session.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    done = {name: place / f"{name} has made its share" for name in SHARES}
    if worker in SHARES:
        _make(SHARES[worker])
        done[worker].touch()
    begun = time.monotonic()
    while not all(path.exists() for path in done.values()) and time.monotonic() - begun < PATIENCE:
        time.sleep(0.1)
    for share in SHARES.values():
        _make(share)  # from the disk by now, and kept: tests with a store of their own do not ask it for them


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
