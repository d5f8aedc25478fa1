"""Zones of a sweep in which rounding hides what modes do: brackets at both ends of such a zone are one change.

Where modes meet at zero and the eigenvalue is defective there, rounding moves eigenvalues by the root of its size. Where a real
part has a zero of higher order, it is below its rounding error about it: modes that have the same sign on both sides only touch
the axis, which is no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import multisect
from draisine.numerics.spectrum import Spectrum
from draisine.stability.crossings import Change, Counts, Matrices

Array = NDArray[np.float64]

THIN = 1e-7  # width within which modes leave one side and arrive on the other, relative to the sampling
_ROUNDS = 60  # halvings of a bracket
_AMPLIFIED = 1e-9  # error of a defective eigenvalue, at least, relative to the size of A
_HIDDEN = 30.0  # size of an eigenvalue, relative to its error, below which its sign and that of its neighbors are unknown
_TOUCH = 1e-3  # width within which a mode that touches the axis is neutral, relative to the sampling
_ORDER = 1.63  # measured order of a real part about a zone that rounding makes neutral, at least; where modes are neutral in an
# interval, real parts leave zero at its end as a root or, at most, linearly: measured from its middle, 1.4 or less
_LEAVES = 30.0  # size of a real part, relative to its error, to which it falls with this order at the end of such a zone, at most
_ROOM = 0.2  # distance beside a zone, relative to its width, at which real parts can be measured, at least
_SMALL = 0.05  # eigenvalue near zero, relative to the size of A


class Zones:
    """Zones in the range of one sweep."""

    def __init__(self, matrices: Matrices, limits: tuple[float, float]) -> None:
        self.matrices, self.limits = matrices, limits

    def joined(self, brackets: list[Change]) -> Iterator[Change]:
        """The brackets, with those made one between which signs are unknown, or that meet at a sample on the axis: of a mode
        that passes it, or of several that part there."""
        k = 0
        while k < len(brackets):
            last = next((j for j in range(len(brackets) - 1, k, -1) if self._is_one(brackets[k : j + 1])), k)
            first, final = brackets[k], brackets[last]
            k, start = last + 1, k
            group = brackets[start : last + 1]
            by_rounding = len(group) > 1 and not self._is_hidden(group) and self._neutral_by_rounding(group)
            if by_rounding and len(group) > 2 and _nest(group):
                yield from self._nested(group)
                continue
            width = max(c.width for c in group)
            zone = self._zone(group) if by_rounding and len(group) == 2 else None
            if len(group) == 1:
                zone = self._zone_at_limit(first, brackets[:start], brackets[last + 1 :])
            yield Change(first.low, final.high, first.before, final.after, width, zone)

    def _zone_at_limit(self, change: Change, earlier: list[Change], later: list[Change]) -> tuple[float, float] | None:
        """The zone about an end of the sweep at which modes touch the axis or cross it with higher order, as far beyond this end
        as before it; None where a bracket is no edge of such a zone. Between it and the end only further modes become neutral."""
        more = _more_neutral(change)
        if more == 0 or any(_more_neutral(c) * more < 0 for c in (later if more > 0 else earlier)):
            return None
        limit, side = (self.limits[1], -1.0) if more > 0 else (self.limits[0], 1.0)
        if more > 0:
            edge, inside = self.edge(change.low, change.high, change.before)
        else:
            edge = self.arrives(change.low, change.high, change.after)
            inside = float(np.nextafter(edge, -np.inf))
        half = abs(limit - edge)
        room = 0.5 * abs(self.limits[0 if more > 0 else 1] - edge)
        count = int(self.counts(np.array([inside]))[0][4:].sum())
        by_rounding = self._falls_to_rounding(edge, side, half, min(2.0 * half, room), count)
        return (limit - half, limit + half) if by_rounding else None

    def _is_one(self, group: list[Change]) -> bool:
        """Whether brackets in sequence belong to one change."""
        if self._is_hidden(group):
            return True
        before, after = group[0].before, group[-1].after
        inside, width = [c.before for c in group[1:]], max(c.width for c in group)
        touches = (before == after).all() and all(c[4:].sum() > after[4:].sum() and (c[:4] <= after[:4]).all() for c in inside)
        if touches and group[-1].high - group[0].low <= _TOUCH * width:
            return True
        if inside and self._neutral_by_rounding(group):
            return True
        if any(one.high != next_one.low for one, next_one in pairwise(group)):
            return False
        first, last = self._zone(group)
        thin = THIN * max(group[-1].width, abs(first))
        return last - first <= thin or (len(group) == 2 and self._on_a_sample(group, thin))

    def _on_a_sample(self, group: list[Change], thin: float) -> bool:
        """Whether modes are neutral only because the sample between two brackets is their critical value: others that change next
        to it do so in one of the brackets."""
        one, next_one = group
        more = (one.after[4:].sum() > one.before[4:].sum()) and (one.after[4:].sum() > next_one.after[4:].sum())
        return (
            bool(more)
            and self.edge(next_one.low, next_one.high, one.after)[0] - self.edge(one.low, one.high, one.before)[0] <= thin
        )

    def _is_hidden(self, group: list[Change]) -> bool:
        """Whether defective modes near zero hide all signs between the brackets."""
        before, after = group[0].before, group[-1].after
        return all(self.unknown(s, before, after) for one, next_one in pairwise(group) for s in {one.high, next_one.low})

    def _neutral_by_rounding(self, group: list[Change]) -> bool:
        """Whether modes are neutral between brackets only because their real parts are below rounding error: such a real part
        is a power of the distance from the middle, measured on either side, that falls to its error where the zone ends. Where
        modes are neutral in an interval, as in conservative systems, real parts are large as soon as they leave zero."""
        before, after = group[0].before, group[-1].after
        if any(c.before[4:].sum() <= max(before[4:].sum(), after[4:].sum()) for c in group[1:]):
            return False
        first, last = self._zone(group)
        half = 0.5 * (last - first)
        inside = (int(group[1].before[4:].sum()), int(group[-1].before[4:].sum()))  # numbers next to either end
        for edge, side, limit, count in ((first, -1.0, self.limits[0], inside[0]), (last, 1.0, self.limits[1], inside[1])):
            if not self._falls_to_rounding(edge, side, half, min(2.0 * half, 0.5 * abs(limit - edge)), count):
                return False
        return True

    def _falls_to_rounding(self, edge: float, side: float, half: float, step: float, count: int) -> bool:
        """Whether the real parts of the slowest modes, at one and two steps beside a zone of this half width, are powers of the
        distance from its middle that fall to their errors at its edge."""
        if not step > _ROOM * half:
            return False
        found = self.matrices.spectrum(edge + side * step * np.array([1.0, 2.0]))
        sizes = np.abs(found.values.real)
        if np.count_nonzero(sizes <= found.errors, axis=1).max() >= count:  # modes that are neutral beside the zone, too
            return False
        near, far = np.sort(sizes, axis=1)[:, count - 1]
        order = np.log(far / max(near, 1e-300)) / np.log((half + 2.0 * step) / (half + step))
        at_edge = sizes[0] / (1.0 + step / half) ** order
        return bool(order >= _ORDER and np.count_nonzero(at_edge <= _LEAVES * found.errors[0]) >= count)

    def _nested(self, group: list[Change]) -> Iterator[Change]:
        """Changes in between, and that of the modes that rounding makes neutral all the while, unless they touch the axis."""
        yield from self.joined(group[1:-1])
        first, final = group[0], group[-1]
        after = final.after - final.before + first.after
        if (after != first.before).any():
            last, arrives = self._zone(group)
            yield Change(first.low, final.high, first.before, after, final.width, (last, arrives))

    def _zone(self, group: list[Change]) -> tuple[float, float]:
        """The last point with the numbers of modes before the brackets, and the first one with those behind them."""
        last = self.edge(group[0].low, group[0].high, group[0].before)[0]
        return last, self.arrives(group[-1].low, group[-1].high, group[-1].after)

    def unknown(self, s: float, before: Counts, after: Counts) -> bool:
        """Whether rounding hides signs: defective modes are near zero, or more are zero than on both sides."""
        found = self.matrices.spectrum(np.array([s]))
        near = defective_near_zero(found)
        neutral = found.signatures[0][4:]
        more = neutral.sum() > max(before[4:].sum(), after[4:].sum()) or neutral[0] > max(before[4], after[4])
        hidden = near & (np.abs(found.values[0]) < _HIDDEN * found.errors[0])
        return bool((more and (near & ~(found.growing | found.decaying)[0]).any()) or hidden.sum() > 1)

    def counts(self, at: Array) -> Counts:
        """Numbers of modes at points."""
        return self.matrices.spectrum(at).signatures

    def edge(self, low: float, high: float, counts: Counts, rounds: int = _ROUNDS) -> tuple[float, float]:
        """The last point with such numbers of modes, and the next one."""
        return multisect(lambda s: (self.counts(s) == counts).all(axis=1), low, high, rounds)

    def arrives(self, low: float, high: float, counts: Counts) -> float:
        """The first point with such numbers of modes."""
        return multisect(lambda s: (self.counts(s) != counts).any(axis=1), low, high, _ROUNDS)[1]


def _more_neutral(change: Change) -> int:
    """How many more modes are neutral behind a bracket than before it."""
    return int(change.after[4:].sum() - change.before[4:].sum())


def _nest(group: list[Change]) -> bool:
    """Whether the modes that become neutral in the first bracket are those that cease to be in the last one."""
    first, final = group[0], group[-1]
    return bool((first.after[4:] - first.before[4:] == final.before[4:] - final.after[4:]).all())


def defective_near_zero(found: Spectrum) -> NDArray[np.bool_]:
    """Eigenvalues of one matrix that rounding moves by much more than its size, near zero."""
    size = float(np.linalg.norm(found.matrices[0], 2))  # all eigenvalues may be near zero
    return np.asarray((found.errors[0] > _AMPLIFIED * size) & (np.abs(found.values[0]) < _SMALL * size))
