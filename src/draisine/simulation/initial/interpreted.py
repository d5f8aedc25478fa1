"""First starts on a machine: the functions of the start solver in Python's interpreter, while they are not compiled.

Translating and compiling the solver takes a quarter of a second, a start of a few unknowns by the interpreter ten milliseconds,
with the same bits. Another process compiles the solver meanwhile; this one does so itself when it has interpreted for
`MOST_SECONDS`, and for what may take long: many unknowns, and searches far from the references.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from draisine.codegen.restricted.entry import Entry
from draisine.codegen.restricted.types import Record
from draisine.simulation.initial.memory import ALIGN, EVALUATE, FIND, REST, RESTORE, Task

MOST_SECONDS = 0.1  # in this process; a task begun before may end later
MOST_OPERATIONS = 20_000  # of one orthonormalization of the rows, which every step of Newton's method makes
NEAR = (FIND, REST, RESTORE, EVALUATE, ALIGN)  # tasks of limited length, which change `Task.system` alone

_spent = 0.0  # seconds in the interpreter, by all threads


def interpreted(entry: Entry, task: Task) -> int | None:
    """The result of a task by the interpreter; None if it is left to machine code, with the memory as it was."""
    global _spent
    s = task.system
    if task.what not in NEAR or _spent > MOST_SECONDS or s.rows * s.rows * s.free + s.rest * s.free > MOST_OPERATIONS:
        return None
    if entry.is_at_hand():
        return None
    entry.begin()
    function: Callable[[Task], int] = getattr(entry.home, entry.function)
    records: Sequence[Record] = (s, s.current, s.trial, s.factors)
    saved = [record.content() for record in records]
    began = time.perf_counter()
    try:
        with np.errstate(all="ignore"):  # machine code does not warn either
            return function(task)
    except (ArithmeticError, ValueError):
        # Python refuses 1/0 and the root of a negative number, where machine code goes on with an infinity or NaN
        for record, content in zip(records, saved, strict=True):
            record.set_content(content)
        return None
    finally:
        _spent += time.perf_counter() - began
