"""Periodic motions after whose period parts of a mechanism have changed places: a step of a walking machine.

With the permutation Π that exchanges equal parts, the motion is periodic if Π x(T) = x(0), and the multipliers are those of
Π ∂x(T)/∂x(0). The equations must not change under the exchange, Π f(x) = f(Π x), which is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program.equations import Equations
from draisine.stability.periodic.flow import Flow

Array = NDArray[np.float64]

SYMMETRIC = 1e-9  # relative difference of rates, gaps and slips of exchanged states
LOOKS = 4  # states at which they are compared


def exchanged_places(
    e: Equations, flow: Flow, parts: Mapping[str, str], states: Array, modes: Sequence[Array], shift: float
) -> tuple[int, ...]:
    """The indices of the deviations in whose places others come; empty without an exchange. A forced motion is exchanged after
    the time `shift`."""
    if not parts:
        return ()
    names = [q.name for q in e.states]
    order, contacts = _order(names, parts, e.name), _order([c.name for c in e.unilateral], parts, e.name)
    if order == list(range(len(names))):
        raise ArgumentError(
            f"exchange: no two coordinates of {e.name} are exchanged by {dict(parts)!r}; coordinates are "
            f"{', '.join(q.name for q in e.coordinates)}"
        )
    for i in np.linspace(0, len(states) - 1, LOOKS).round().astype(int):
        _check_symmetry(e, flow.u, states[i], modes[i], (order, contacts), shift)
    return tuple(_order(flow.names, parts, e.name))


def exchanged_name(name: str, parts: Mapping[str, str]) -> str:
    """The name of the other part.

    >>> exchanged_name("left_knee_rate", {"left": "right"}), exchanged_name("right_hip", {"left": "right"})
    ('right_knee_rate', 'left_hip')
    """
    for one, other in parts.items():
        words = name.split("_")
        if one in words or other in words:
            return "_".join(other if word == one else one if word == other else word for word in words)
    return name


def _order(names: Sequence[str], parts: Mapping[str, str], model: str) -> list[int]:
    found = []
    for name in names:
        other = exchanged_name(name, parts)
        if other not in names:
            raise ArgumentError(
                f"exchange: {model} has {name!r} but no {other!r}; parts that change places have equal names but for "
                f"{dict(parts)!r}"
            )
        found.append(list(names).index(other))
    return found


def _check_symmetry(e: Equations, u: Array, x: Array, p: Array, orders: tuple[list[int], list[int]], shift: float) -> None:
    """Refuse equations that the exchange changes."""
    order, contacts = orders
    count = len(e.parameters)
    swapped = p.copy()
    if e.unilateral:
        swapped[count:] = p[count:].reshape(len(e.unilateral), -1)[contacts].reshape(-1)
    rates, others = np.asarray(e.explicit([0.0], x, u, p)[0]), np.asarray(e.explicit([shift], x[order], u, swapped)[0])
    apart, size = np.abs(rates[order] - others), np.abs(rates).max(initial=0.0)
    if e.contact_terms is not None:
        slot = [s.name for s in e.contact_terms.outputs].index("gap")
        gaps, other_gaps = (
            np.ravel(e.contact_terms([t], y, u, q)[slot]) for t, y, q in ((0.0, x, p), (shift, x[order], swapped))
        )
        apart, size = np.append(apart, np.abs(gaps[contacts] - other_gaps)), max(size, np.abs(gaps).max(initial=0.0))
    if apart.max(initial=0.0) > SYMMETRIC * size:
        raise ArgumentError(
            f"exchange: {e.name} is not the same with its parts exchanged: rates or gaps differ by {apart.max() / size:.2g} of "
            "their size; parts that change places need equal masses, lengths and contacts"
        )
