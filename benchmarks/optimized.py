"""What is measured is optimized code: where there is none yet, first runs have quick code, and another process optimizes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from draisine.codegen.background import has_finished
from draisine.codegen.cache import cache_directory

PATIENCE = 150.0  # s
MANY_CALLS = 6_000  # after 5,000 calls from Python are compiled


def warmed(work: Callable[[], object]) -> None:
    """Do some work until what it needs is there, optimized, and is used: the next call is one of many."""
    work()
    settled(cache_directory())
    work()


def settled(cache: Path) -> None:
    """Wait until no process works in the background for a cache: what it makes is missing, and it would disturb others. The work
    of those that this process has started counts as its own from then on."""
    end = time.monotonic() + PATIENCE
    while (any(cache.glob("*.claim")) or not has_finished()) and time.monotonic() < end:
        time.sleep(0.05)


def called(call: Callable[[], object]) -> None:
    """Call a compiled function so often that calls from Python have code of their own."""
    for _ in range(MANY_CALLS):
        call()
