"""Starts of mechanisms with unilateral contacts: which of them are closed, and stick, follows from what is given.

By default a wheel stands on the ground and rolls; a point touches what it touches at the default coordinates. Where given values do not
allow that, contacts slip or open, as few as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from draisine.errors import StartError
from draisine.model.items import mode_entries
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.initial.result import Start

OPEN, SLIP, STICK = range(3)
TOUCHES = 1e-9  # gap, relative to the typical length, of a contact that is closed
MOST_TRIED = 256


def contact_start(
    starts: StartProblem, targets: Mapping[str, object], parameters: Mapping[str, float], inputs: Mapping[str, float]
) -> Start:
    """A consistent start with the modes of unilateral contacts among its parameters."""
    e, first = starts.equations, None
    for modes in _attempts(e, targets, parameters):
        values = {**parameters, **_as_parameters(e, modes)}
        try:
            found = consistent_start(starts, targets, parameters=values, inputs=inputs)
        except StartError as problem:
            first = first or problem
            continue
        if _penetration(e, found) >= -TOUCHES * e.limits.length:
            return found
    assert first is not None  # the last attempt has all contacts open
    raise first


def _attempts(e: Equations, targets: Mapping[str, object], parameters: Mapping[str, float]) -> Iterator[tuple[int, ...]]:
    """Modes to try, the preferred ones first."""
    preferred = _preferred(e, targets, parameters)
    every = product(*[range(mode, -1, -1) for mode in preferred])
    cost = [(sum(a - b for a, b in zip(preferred, modes, strict=True)), modes) for modes in every]
    for _, modes in sorted(cost, key=lambda pair: pair[0])[:MOST_TRIED]:
        yield modes


def _preferred(e: Equations, targets: Mapping[str, object], parameters: Mapping[str, float]) -> tuple[int, ...]:
    given = {name: float(value) for name, value in targets.items() if isinstance(value, int | float)}
    q = np.array([given.get(c.name, c.default) for c in e.coordinates])
    p = np.array([parameters.get(q.name, q.default) for q in e.parameters])
    gaps = _gaps(e, q, p)
    apart = gaps > TOUCHES * e.limits.length
    return tuple(OPEN if away and not c.stands else STICK for away, c in zip(apart, e.unilateral, strict=True))


def _gaps(e: Equations, q: np.ndarray, p: np.ndarray) -> np.ndarray:
    assert e.contact_terms is not None
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    slots = [slot.name for slot in e.contact_terms.outputs]
    return np.atleast_1d(e.contact_terms([0.0], x, np.zeros(len(e.inputs)), p)[slots.index("gap")])


def _penetration(e: Equations, start: Start) -> float:
    """The least gap."""
    return float(_gaps(e, start.q, start.given[2]).min())


def _as_parameters(e: Equations, modes: tuple[int, ...]) -> dict[str, float]:
    found = {}
    for contact, mode in zip(e.unilateral, modes, strict=True):
        closed, sticks, along, across = (entry.name for entry in mode_entries(contact.name))
        found |= {closed: float(mode != OPEN), sticks: float(mode == STICK), along: 0.0, across: 0.0}
    return found
