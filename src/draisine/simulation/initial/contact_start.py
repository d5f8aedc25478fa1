"""Starts of mechanisms with unilateral contacts: which of them are closed, and stick, follows from what is given.

By default a wheel stands on the ground and rolls, and other contacts are closed if there is no gap then. Where given values do
not allow that, contacts slip or open, as few as possible. A computed state, such as the end of a run, is kept: the modes are
those that it satisfies. Dry friction of joints does not restrict a start: it counts as open here, and begins as a slip.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.program.equations import Equations
from draisine.simulation.initial.result import Start

Reals = NDArray[np.float64]

OPEN, SLIP, STICK = range(3)
TOUCHES = 1e-9  # gap, relative to the typical length, of a contact that is closed
MOST_TRIED = 256


class Solve(Protocol):
    """The start with given parameters and modes: any, or only the given state itself, None if that violates the constraints."""

    def __call__(self, p: Reals, only_kept: bool = False) -> Start | None: ...


def contact_start(e: Equations, solve: Solve, p: Reals) -> Start:
    """A consistent start with the modes of unilateral contacts at the end of its parameters."""
    kept = _first_start(e, solve, p, [STICK if c.normal >= 0 else OPEN for c in e.unilateral], only_kept=True)
    if kept is not None:
        return _checked(e, kept)
    first = _first_start(e, solve, p, [STICK if c.stands else OPEN for c in e.unilateral])
    assert first is not None  # or there is an error
    limit = TOUCHES * e.limits.length
    closed = _gaps(e, first.q, first.given[2]) <= limit
    known = _modes(e, first.given[2])
    preferred = [STICK if touches and mode == OPEN else mode for touches, mode in zip(closed, known, strict=True)]
    found = first if preferred == known else _first_start(e, solve, p, preferred)
    assert found is not None
    return _checked(e, found)


def _first_start(e: Equations, solve: Solve, p: Reals, preferred: Sequence[int], only_kept: bool = False) -> Start | None:
    """The start with the preferred modes, or with as few contacts that slip or are open instead as possible."""
    problem: StartError | None = None

    def solved(modes: Sequence[int]) -> Start | None:
        nonlocal problem
        try:
            return solve(_with_modes(e, p, modes), only_kept)
        except StartError as one:
            problem = problem or one
            return None

    found = solved(preferred)
    if found is not None:
        return found
    most = list(preferred)  # a mode that is not possible with all other contacts open, is not possible at all
    for i in range(len(most)) if sum(mode != OPEN for mode in preferred) > 1 else ():
        while most[i] != OPEN and solved([most[i] if k == i else OPEN for k in range(len(most))]) is None:
            most[i] -= 1
    every = sorted(product(*[range(mode, -1, -1) for mode in most]), key=lambda modes: -sum(modes))
    for modes in every[:MOST_TRIED]:
        found = solved(modes)
        if found is not None:
            return found
    if problem is not None:
        raise problem
    return None


def _checked(e: Equations, start: Start) -> Start:
    """Refuse a start in which bodies penetrate each other."""
    gaps = _gaps(e, start.q, start.given[2])
    worst = int(np.argmin(gaps))
    if gaps[worst] < -TOUCHES * e.limits.length:
        contact = e.unilateral[worst]
        what = "penetrates" if contact.count else "is passed"  # a stop
        raise StartError(
            f"{e.name}: at the start contact {contact.name!r} {what} by {-gaps[worst]:.4g} {contact.unit}; give coordinates "
            "with a gap, or leave out those that determine it"
        )
    return start


def _modes(e: Equations, p: Reals) -> list[int]:
    entries = zip(e.unilateral, p[len(e.parameters) :].reshape(len(e.unilateral), -1).tolist(), strict=True)
    return [OPEN if closed == 0.0 or c.normal < 0 else STICK if sticks != 0.0 else SLIP for c, (closed, sticks, *_) in entries]


def inactive_rows(e: Equations, p: Reals, level: str) -> int:
    """How many rows of contacts vanish at a level, "position" or "velocity", since the contacts are open or slip."""
    modes = _modes(e, p) if e.unilateral else []
    pairs = [(mode, c) for mode, c in zip(modes, e.unilateral, strict=True) if mode != STICK]
    normal = sum(mode == OPEN and c.normal >= 0 for mode, c in pairs)
    return normal if level == "position" else normal + sum(c.count for _, c in pairs)


def _gaps(e: Equations, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    assert e.contact_terms is not None
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    slots = [slot.name for slot in e.contact_terms.outputs]
    return np.atleast_1d(e.contact_terms([0.0], x, np.zeros(len(e.inputs)), p)[slots.index("gap")])


def _with_modes(e: Equations, p: Reals, modes: Sequence[int]) -> Reals:
    found = p.copy()
    entries = found[len(e.parameters) :].reshape(len(e.unilateral), -1)
    entries[:] = 0.0
    entries[:, 0], entries[:, 1] = np.array(modes) != OPEN, np.array(modes) == STICK
    entries[[c.normal < 0 for c in e.unilateral], 0] = 1.0
    return found
