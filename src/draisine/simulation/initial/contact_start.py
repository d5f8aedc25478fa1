"""Starts of mechanisms with unilateral contacts: which of them are closed, and stick, follows from what is given.

By default a wheel stands on the ground and rolls, and other contacts are closed if there is no gap then. Where given values do
not allow that, contacts slip or open, as few as possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from draisine.errors import StartError
from draisine.model.items import mode_entries
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.initial.result import Start

OPEN, SLIP, STICK = range(3)
TOUCHES = 1e-9  # gap, relative to the typical length, of a contact that is closed
MOST_TRIED = 256


def contact_start(
    starts: StartProblem,
    targets: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float],
    inputs: Mapping[str, float],
) -> Start:
    """A consistent start with the modes of unilateral contacts among its parameters."""
    e = starts.equations
    first = _first_start(starts, targets, parameters, inputs, [STICK if c.stands else OPEN for c in e.unilateral], False)
    limit = TOUCHES * e.limits.length
    closed = _gaps(e, first.q, first.given[2]) <= limit
    known = _modes(e, first)
    preferred = [STICK if touches and mode == OPEN else mode for touches, mode in zip(closed, known, strict=True)]
    return _first_start(starts, targets, parameters, inputs, preferred, True) if preferred != known else _checked(e, first)


def _first_start(
    starts: StartProblem,
    targets: Mapping[str, float | InitialGuess],
    parameters: Mapping[str, float],
    inputs: Mapping[str, float],
    preferred: Sequence[int],
    check: bool,
) -> Start:
    """The start with the preferred modes, or with as few contacts that slip or are open instead as possible."""
    e, problem = starts.equations, None

    def solved(modes: Sequence[int]) -> Start | None:
        nonlocal problem
        try:
            found = consistent_start(starts, targets, parameters={**parameters, **_as_parameters(e, modes)}, inputs=inputs)
            return _checked(e, found) if check else found
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
    assert problem is not None  # there is at least one attempt
    raise problem


def _checked(e: Equations, start: Start) -> Start:
    """Refuse a start in which bodies penetrate each other."""
    gaps = _gaps(e, start.q, start.given[2])
    worst = int(np.argmin(gaps))
    if gaps[worst] < -TOUCHES * e.limits.length:
        raise StartError(
            f"{e.name}: at the start contact {e.unilateral[worst].name!r} penetrates by {-gaps[worst]:.4g} m; give coordinates "
            "with a gap, or leave out those that determine it"
        )
    return start


def _modes(e: Equations, start: Start) -> list[int]:
    names = [q.name for q in e.parameters]
    found = []
    for contact in e.unilateral:
        closed, sticks, *_ = (start.given[2][names.index(entry.name)] for entry in mode_entries(contact.name))
        found.append(OPEN if closed == 0.0 else STICK if sticks != 0.0 else SLIP)
    return found


def _gaps(e: Equations, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    assert e.contact_terms is not None
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    slots = [slot.name for slot in e.contact_terms.outputs]
    return np.atleast_1d(e.contact_terms([0.0], x, np.zeros(len(e.inputs)), p)[slots.index("gap")])


def _as_parameters(e: Equations, modes: Sequence[int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for contact, mode in zip(e.unilateral, modes, strict=True):
        closed, sticks, *rest = (entry.name for entry in mode_entries(contact.name))
        found |= {closed: float(mode != OPEN), sticks: float(mode == STICK), **dict.fromkeys(rest, 0.0)}
    return found
