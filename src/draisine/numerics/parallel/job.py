"""What travels: a description of work, begun once in every process that gets a piece of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol
from uuid import uuid4

REMEMBERED = 4  # works that a process keeps begun: compiled kernels and their buffers


class Work(Protocol):
    """Work in numbered pieces that do not depend on each other. It travels between processes: it consists of data."""

    def begin(self) -> Callable[[int], Any]:
        """Make ready, once per process (compile, allocate); the result does one piece, from any thread."""


@dataclass(frozen=True)
class Errand:
    """A work and the key by which processes know that they have begun it before."""

    key: str
    work: Work = field(compare=False)

    @staticmethod
    def of(work: Work) -> Errand:
        """For work that is done once: no other errand has its key."""
        return Errand(uuid4().hex, work)


@lru_cache(maxsize=REMEMBERED)
def begun(errand: Errand) -> Callable[[int], Any]:
    """The errand's work, made ready in this process."""
    return errand.work.begin()


def do_piece(errand: Errand, piece: int) -> Any:
    """One piece, in whatever process this is called."""
    return begun(errand)(piece)
