"""Ctrl-C during a search: the best so far is kept, whatever was running at that moment.

A KeyboardInterrupt raised between two lines would lose what was found, and CasADi turns one raised in its conversions into errors
of its own. During a solve Ctrl-C is therefore noted: a search that runs stops after its iteration, one that begins later
stops at once, and what is not a search, as a simulation, is finished. A second Ctrl-C is not waited for.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from draisine.optimal.solution import Solution

P = ParamSpec("P")


class _Noted:
    """Whether Ctrl-C was pressed and no search has heard of it yet."""

    def __init__(self) -> None:
        self.pending = False


_NOTED: ContextVar[_Noted | None] = ContextVar("noted", default=None)


def keeping_the_best(search: Callable[P, Solution]) -> Callable[P, Solution]:
    """A search that ends with its best solution when Ctrl-C is pressed, INTERRUPTED."""

    @wraps(search)
    def kept(*arguments: P.args, **options: P.kwargs) -> Solution:
        noted = _Noted()
        token = _NOTED.set(noted)
        try:
            with _handled(lambda: setattr(noted, "pending", True), twice=lambda: noted.pending):
                found = search(*arguments, **options)
        finally:
            _NOTED.reset(token)
        if not noted.pending:
            return found
        return replace(found, answer=replace(found.answer, outcome=type(found.answer.outcome).INTERRUPTED))

    return kept


@contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `stop` instead of raising KeyboardInterrupt; so it does if it was pressed before and no search was running."""
    noted = _NOTED.get()
    with _handled(stop):
        if noted is not None and noted.pending:
            noted.pending = False
            stop()
        yield


@contextmanager
def _handled(act: Callable[[], object], twice: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Ctrl-C calls `act`, and once `twice` holds what it did before."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if twice() and callable(before):
            before(number, frame)
        else:
            act()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
