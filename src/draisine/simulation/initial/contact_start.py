"""Starts of mechanisms with unilateral contacts: which of them are closed, and stick, follows from what is given.

By default a wheel stands on the ground and rolls; where given values do not allow that, wheels slip or are open, as few as
possible, those first whose spin is given. Other contacts are closed where they touch, or would penetrate, at the start without
them. They stay closed where the targets allow that for all of them; otherwise, and at stops, bodies only do not approach each
other. All else that is not given rests, and a contact sticks if it does not slip then: nothing moves only to close it or to let
it stick. A computed state, such as the end of a run, is kept: the modes are those that it satisfies. Dry friction of joints does
not restrict a start: it counts as open here, and begins as a slip. So does resistance to rolling and drilling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain, combinations, islice, product
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.program.equations import Equations
from draisine.simulation.initial.problem import Given
from draisine.simulation.initial.result import Start

Reals = NDArray[np.float64]

OPEN, SLIP, STICK = range(3)
TOUCHES = 1e-9  # gap, relative to the typical length, of a contact that is closed
RESTS = 1e-9  # speed of a contact, relative to its terms, that is zero
MOST_TRIED = 256


class Solve(Protocol):
    """The start with given parameters and modes; `at` are its coordinates, if they are known."""

    def __call__(self, p: Reals, at: Reals | None = None) -> Start: ...


class Solving(NamedTuple):
    """How starts with given parameters and modes are found."""

    kept: Callable[[Reals], Start | None] | None  # the given state itself, None if it violates the constraints, or is not given
    positions: Callable[[Reals], Reals]
    solve: Solve


def contact_start(e: Equations, solving: Solving, p: Reals, given: Collection[str]) -> Start:
    """A consistent start with the modes of unilateral contacts at the end of its parameters; `given` are velocities."""
    every = [STICK if c.normal >= 0 else OPEN for c in e.unilateral]
    kept = None if solving.kept is None else _first_start(e, solving.kept, p, every)
    if kept is not None:
        return _checked(e, kept)
    first = _first_start(e, solving.solve, p, _preferred(e), given)
    assert first is not None  # or there is an error
    known = _modes(e, first.given[2])
    others = [mode == OPEN and c.normal >= 0 for mode, c in zip(known, e.unilateral, strict=True)]
    meets = (_gaps(e, first.q, first.given) <= TOUCHES * e.limits.length) & others
    if not meets.any():
        return _checked(e, first)
    q = _closed_positions(e, solving.positions, p, known, meets, first)
    meets = (_gaps(e, q, first.given) <= TOUCHES * e.limits.length) & others
    return _checked(e, _with_velocities(e, solving.solve, p, known, meets, q))


def _preferred(e: Equations) -> list[int]:
    """Wheels roll; other contacts are open."""
    return [STICK if c.stands else OPEN for c in e.unilateral]


def preferred_modes(e: Equations, p: Reals) -> Reals:
    """Parameters with the modes that are tried first."""
    return _with_modes(e, p, _preferred(e))


def _closed_positions(
    e: Equations, positions: Callable[[Reals], Reals], p: Reals, known: Sequence[int], meets: NDArray[np.bool_], first: Start
) -> Reals:
    """Coordinates at which contacts that touch or penetrate are closed: as many as possible, so that none penetrates."""
    limit = TOUCHES * e.limits.length
    if np.abs(_gaps(e, first.q, first.given)[meets]).max() <= limit:
        return first.q
    best: Reals | None = None
    those = np.flatnonzero(meets).tolist()
    opened = chain.from_iterable(combinations(those, count) for count in range(len(those) + 1))
    for some in islice(opened, MOST_TRIED):
        modes = [SLIP if one and i not in some else OPEN for i, one in enumerate(meets.tolist())]
        try:
            q = positions(_with_modes(e, p, [max(pair) for pair in zip(known, modes, strict=True)]))
        except StartError:
            continue
        gaps = _gaps(e, q, first.given)
        if any(gap > limit for gap, mode in zip(gaps, modes, strict=True) if mode != OPEN):  # beside a part of a profile
            continue
        if gaps.min() >= -limit:
            return q
        best = q if best is None else best
    return first.q if best is None else best


def _with_velocities(e: Equations, solve: Solve, p: Reals, known: Sequence[int], meets: NDArray[np.bool_], q: Reals) -> Start:
    """The start at coordinates at which contacts touch, besides those whose modes are known."""

    def solved(modes: Sequence[int]) -> Start | None:
        try:
            return solve(_with_modes(e, p, [max(pair) for pair in zip(known, modes, strict=True)]), q)
        except StartError:
            return None

    endless = _endless(e, p, q)
    pairs = list(zip(e.unilateral, meets.tolist(), endless, strict=True))
    found, base = None, [OPEN] * len(known)
    for stick in (STICK, SLIP) if any(one and no_slip for _, one, no_slip in pairs) else (SLIP,):
        base = [(stick if no_slip else SLIP) if one and c.count else OPEN for c, one, no_slip in pairs]
        found = solved(base)
        if found is not None:
            break
    if found is None:
        base = [OPEN] * len(known)
        found = solve(_with_modes(e, p, known), q)
    tried = ~meets  # without those that can not but approach, as the given velocities want: there the run begins with an impact
    for _ in known:
        approach = np.where(tried | (np.array(base) != OPEN), 0.0, _speeds(e, found)[0])
        if not approach.min() < 0.0:
            break
        fastest = approach <= (1.0 - RESTS) * approach.min()
        tried |= fastest
        modes = [SLIP if one else mode for one, mode in zip(fastest.tolist(), base, strict=True)]
        without_approach = solved(modes)
        if without_approach is not None:
            found, base = without_approach, modes
    normal, slip = _speeds(e, found)
    modes = [
        OPEN if not one or v != 0.0 else STICK if s == 0.0 else SLIP
        for one, v, s in zip(meets.tolist(), normal, slip, strict=True)
    ]
    final = solved(modes)
    return found if final is None else final


def _speeds(e: Equations, start: Start) -> tuple[list[float], list[float]]:
    """Normal speeds and slips of contacts, zero where they are rounding errors."""
    assert e.contact_terms is not None
    t, u, p = start.given
    slots = [slot.name for slot in e.contact_terms.outputs]
    at_rest = start.x.copy()
    at_rest[len(start.q) : len(start.q) + len(start.v)] = 0.0
    moving, still = (e.contact_terms([t], x, u, p) for x in (start.x, at_rest))
    speed, bias = (np.atleast_1d(one[slots.index("speed")]) for one in (moving, still))
    rows = np.reshape(moving[slots.index("rows")], (-1, len(speed))).T
    least = RESTS * (np.abs(rows) @ np.abs(start.v) + np.abs(bias))
    speed = np.where(np.abs(speed) <= least, 0.0, speed)
    normal = [float(speed[c.normal]) if c.normal >= 0 else 0.0 for c in e.unilateral]
    return normal, [float(np.linalg.norm(speed[c.tangential : c.tangential + c.count])) for c in e.unilateral]


def _first_start(
    e: Equations, solve: Callable[[Reals], Start | None], p: Reals, preferred: Sequence[int], given: Collection[str] = ()
) -> Start | None:
    """The start with the preferred modes, or with as few contacts that are open, then that slip, instead as possible."""
    problem: StartError | None = None

    def solved(modes: Sequence[int]) -> Start | None:
        nonlocal problem
        try:
            return solve(_with_modes(e, p, modes))
        except StartError as one:
            problem = problem or one
            return None

    found = solved(preferred)
    if found is not None:
        return found
    most = list(preferred)
    for i in _with_given_spin(e, p, given) if given else ():
        most[i] = min(most[i], SLIP)
    # a mode that is not possible with all other contacts open, is not possible at all
    for i in range(len(most)) if sum(mode != OPEN for mode in preferred) > 1 else ():
        while most[i] != OPEN and solved([most[i] if k == i else OPEN for k in range(len(most))]) is None:
            most[i] -= 1
    every = sorted(
        product(*[range(mode, -1, -1) for mode in most]), key=lambda modes: (sum(mode == OPEN for mode in modes), -sum(modes))
    )
    for modes in every[:MOST_TRIED]:
        found = solved(modes)
        if found is not None:
            return found
    if problem is not None:
        raise problem
    return None


def _with_given_spin(e: Equations, p: Reals, given: Collection[str]) -> list[int]:
    """Wheels whose spin is given: the velocities that change the slip of no other contact, and no gap, all are."""
    assert e.contact_terms is not None
    q = np.array([c.default for c in e.coordinates])
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    slots = [slot.name for slot in e.contact_terms.outputs]
    values = e.contact_terms([0.0], x, np.zeros(len(e.inputs)), p)
    rows = np.reshape(values[slots.index("rows")], (len(e.velocities), -1)).T
    small = RESTS * np.abs(rows).max(initial=0.0)
    found = list[int]()
    for i, c in enumerate(e.unilateral):
        tangential = np.abs(rows[c.tangential : c.tangential + c.count]).max(axis=0, initial=0.0)
        others = [row for k in e.unilateral for row in k.rows if (k is not c and k.host != i) or row == c.normal]
        own = (tangential > small) & (np.abs(rows[others]).max(axis=0, initial=0.0) <= small)
        names = [v.name for v, is_own in zip(e.velocities, own.tolist(), strict=True) if is_own]
        if c.stands and names and all(name in given for name in names):
            found.append(i)
    return found


def _endless(e: Equations, p: Reals, q: Reals) -> list[bool]:
    """Contacts with infinite friction, which never slip."""
    assert e.contact_terms is not None
    slots = [slot.name for slot in e.contact_terms.outputs]
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    values = e.contact_terms([0.0], x, np.zeros(len(e.inputs)), p)[slots.index("coefficients")]
    static = np.reshape(values, (len(e.unilateral), -1))[:, 0]
    return [bool(mu < 0.0) and c.count > 0 for mu, c in zip(static, e.unilateral, strict=True)]


def _checked(e: Equations, start: Start) -> Start:
    """Refuse a start in which bodies penetrate each other."""
    gaps = _gaps(e, start.q, start.given)
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


def _gaps(e: Equations, q: np.ndarray, given: Given) -> np.ndarray:
    """Gaps of contacts at coordinates (`landing_gaps`)."""
    assert e.contact_terms is not None
    t, u, p = given
    x = np.concatenate([q, np.zeros(len(e.states) - len(q))])
    slots = [slot.name for slot in e.contact_terms.outputs]
    values = e.contact_terms([t], x, u, p)
    return landing_gaps(e, *(np.reshape(values[slots.index(name)], -1) for name in ("gap", "landing")))


def landing_gaps(e: Equations, gaps: Reals, landing: Reals) -> Reals:
    """Gaps of contacts, or rows of them, by results of `contact_terms`; those that have passed the other surface, where they do
    not land, are far away, as are parts of a ground profile beside the body. At its ends a part counts: of two that meet there,
    neither would otherwise."""
    lands, edges = landing[..., 1::4], landing[..., 3::4] > 0.0
    limit = TOUCHES * e.limits.length
    parts = np.array([c.bounded for c in e.unilateral])
    beside = (lands < -limit) & (gaps <= limit) & ~(edges & (gaps < -limit))  # an edge in a body is in it, whatever the normal is
    passed = np.where(parts, beside, (gaps < -limit) & ~(lands > 0.0))
    return np.where(passed, np.inf, gaps)


def _with_modes(e: Equations, p: Reals, modes: Sequence[int]) -> Reals:
    found = p.copy()
    entries = found[len(e.parameters) :].reshape(len(e.unilateral), -1)
    entries[:] = 0.0
    entries[:, 0], entries[:, 1] = np.array(modes) != OPEN, np.array(modes) == STICK
    entries[[c.normal < 0 for c in e.unilateral], 0] = 1.0
    for entry, c in zip(entries, e.unilateral, strict=True):
        entry[0] = entries[c.host, 0] if c.host >= 0 else entry[0]
    return found
