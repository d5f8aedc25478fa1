"""What is measured is optimized code: where there is none yet, first runs have quick code, and another process optimizes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from draisine.codegen.cache import cache_directory

PATIENCE = 150.0  # s


def warmed(work: Callable[[], object]) -> None:
    """Do some work until what it needs is there, optimized, and is used: the next call is one of many."""
    work()
    settled(cache_directory())
    work()


def settled(cache: Path) -> None:
    """Wait until no process works in the background for a cache: what it makes is missing, and it would disturb others."""
    end = time.monotonic() + PATIENCE
    while any(cache.glob("*.claim")) and time.monotonic() < end:
        time.sleep(0.05)
