"""Multipliers that pass the unit circle between two motions of a branch, each told apart by its shape: also where one leaves the
circle and another enters it, so that as many are outside on both sides.

The logarithms of multipliers are treated as eigenvalues of a linear model are (`exchanges`): |μ| = 1 is the imaginary axis.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from draisine.stability.exchanges import Modes, ModesAt, crossing_modes, follower, grouped
from draisine.stability.mode_overlap import overlaps, projector, shares, vectors
from draisine.stability.periodic.cycle import Cycle

Complex = NDArray[np.complex128]
Follower = Callable[[Cycle], complex]  # the logarithm of a multiplier with a shape

PERIOD_DOUBLING, BRANCH_POINT, TORUS = "period doubling", "branch point", "torus"

EQUAL = 1e-9  # difference of logarithms that count as one
OSCILLATES = 1e-6  # imaginary part of a multiplier of a pair
OFF_CIRCLE = 1e-6  # logarithm of a modulus that is not zero
HALF = 0.2  # overlap of one of two multipliers with one of the pair they become, at most this far from one half


def crossing_multipliers(one: Cycle, other: Cycle) -> list[tuple[Follower, str, int]]:
    """The multipliers on different sides of the circle at both motions, of pairs the upper ones: each with its kind, and by how
    many the multipliers outside change; none where shapes do not distinguish them."""
    first, last = _modes_of(one), _modes_of(other)
    if first.right.shape != last.right.shape:
        return []
    found: list[tuple[Follower, str, int]] = []
    for group in crossing_modes(first, last) or []:
        ends = tuple(projector(m.right[:, some], m.left[:, some]) for m, some in ((first, group.first), (last, group.last)))
        multiplier = np.exp(_logarithms(other)[0][group.last[0]])
        kind = TORUS if abs(multiplier.imag) > OSCILLATES else BRANCH_POINT if multiplier.real > 0.0 else PERIOD_DOUBLING
        change = int(np.sign(group.change)) * (2 if kind == TORUS else 1)
        found += [(_mean(ends, group.number), kind, change)] * group.number
    return found + _from_circle(one, first, last, -1) + _from_circle(other, last, first, 1)


def _from_circle(cycle: Cycle, here: ModesAt, there: ModesAt, change: int) -> list[tuple[Follower, str, int]]:
    """Real multipliers outside the circle at one motion that are on it at the other, as those of conservative motions: with
    another, inside, they become a pair, which has the shapes of both."""
    outside, on = ([k for group, sign, _ in m.groups if sign == wanted for k in group] for m, wanted in ((here, 1), (there, 0)))
    if not outside or not on:
        return []
    share = overlaps((here.right[None], here.left[None]), (there.right[None], there.left[None]))[0]
    found: list[tuple[Follower, str, int]] = []
    for k in outside:
        pair = [j for j in on if abs(share[k, j] - 0.5) < HALF]
        if len(pair) == 2:
            multiplier = np.exp(_logarithms(cycle)[0][k])
            kind = BRANCH_POINT if multiplier.real > 0.0 else PERIOD_DOUBLING
            if abs(multiplier.imag) <= OSCILLATES:
                found.append((_largest(projector(there.right[:, pair], there.left[:, pair])), kind, change))
    return found


def _largest(space: Complex) -> Follower:
    """The logarithm of the larger one of two multipliers, less what rounding moves it off the circle."""

    def largest(cycle: Cycle) -> complex:
        values, right, left = _logarithms(cycle)
        alike = np.argsort(-shares(space, right, left), kind="stable")[:2]
        return complex(max(values[alike], key=lambda z: z.real) - OFF_CIRCLE)

    return largest


def _mean(ends: tuple[Complex, ...], count: int) -> Follower:
    return lambda cycle: follower(lambda _: _logarithms(cycle), (ends[0], ends[1]), count)(0.0)


def _modes_of(cycle: Cycle) -> ModesAt:
    values, right, left = _logarithms(cycle)
    return grouped(values, np.full(len(values), EQUAL), np.full(len(values), cycle.floquet.margin), right, left)


def _logarithms(cycle: Cycle) -> Modes:
    """Logarithms of the multipliers, and their vectors in relative deviations; without the trivial one, whose vector is the rate
    of the motion."""
    scales, begin = cycle.shot.flow.scales, cycle.shot.nodes[0]
    values, right, left = (part[0] for part in vectors((cycle.monodromy * scales / scales[:, None])[None]))
    if cycle.floquet.trivial is not None:
        along = left.T @ (begin.rates / scales) / np.einsum("si,si->i", left, right)
        kept = np.arange(len(values)) != np.argmax(np.abs(along))
        values, right, left = values[kept], right[:, kept], left[:, kept]
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.where(values.imag == 0.0, values.real + 0j, values))
    return logarithms, right, left
