"""What modes do within a bracket of a sweep, solved on the exact linear model.

The last coefficient of the characteristic polynomial that is not always zero for a real mode, Re λ = 0 for a pair, and
(λ₁ − λ₂)² = 0 for a double root, where eigenvalues have only half their digits, but their mean and the square of their difference
have all. Where several modes change together, as in symmetric machines, each block of modes (`blocks`) is solved as a machine of
its own, or the bracket is halved down to rounding. In zones where rounding hides the signs of modes (`zones`) the value is the
zero of a sum or product of the eigenvalues that meet, which have all digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.numerics.spectrum import Spectrum, clusters
from draisine.stability.blocks import SIMPLE, Block, Zero, blocks, order_of_zero, smallest, zero_of_symmetric
from draisine.stability.crossings import Change, Matrices
from draisine.stability.exchanges import exchanges
from draisine.stability.mode_names import ModeNames
from draisine.stability.routh import characteristic
from draisine.stability.shaped_crossings import BESIDE, Group, ShapedCrossing
from draisine.stability.zones import THIN, Zones, defective_near_zero

Array = NDArray[np.float64]

BEGINS, ENDS = "oscillation begins", "oscillation ends"
_NEAR = 1e-5  # distance of a refined value from a bracketed one, relative to the sampling
_COINCIDE = 1e-5  # distance of eigenvalues that coincide, relative to the largest
_DEPTH = 12  # changes inside a bracket that are distinguished
_BEYOND = 10.0  # distance at which the order of a zero is measured, relative to the zone that rounding hides
_EDGE = 2.0  # distance at which a mode is known to have crossed, relative to the uncertainty of the value
_NEARLY = 1e-2  # real part of a pair on the axis, relative to its size


@dataclass(frozen=True)
class Event:
    """A critical value, its kind and eigenvalue, the change in growing eigenvalues, and how well it is known."""

    kind: str
    value: float
    eigenvalue: complex
    change: int
    uncertainty: float = 0.0


def _within(event: Event, zone: tuple[float, float]) -> Event:
    """An event of which only a zone is known: at its middle."""
    return replace(event, value=0.5 * (zone[0] + zone[1]), uncertainty=0.5 * (zone[1] - zone[0]))


class Solver:
    """Solves for the critical values in brackets of one sweep: of all modes, or of a block of them."""

    def __init__(self, matrices: Matrices, zeros: int, names: ModeNames, zones: Zones, whole: Matrices) -> None:
        self.matrices, self.zeros, self.names, self.zones, self.whole = matrices, zeros, names, zones, whole

    def matrix(self, s: float) -> Array:
        return self.matrices(np.array([s]))[0]

    def ends(self, low: float, high: float) -> list[Array]:
        """The linear models at the ends of a bracket with all states, which name modes."""
        return list(self.whole(np.array([low, high])))

    def between(self, low: float, high: float, width: float) -> Change:
        """An interval with the numbers of modes at its ends."""
        before, after = self.zones.counts(np.array([low, high]))
        return Change(low, high, before, after, width)

    def events(self, change: Change, depth: int = 0) -> Iterator[Event]:
        """The critical values in a bracket: solved for if one mode changes, otherwise by halving."""
        if (change.before == change.after).all():  # a mode touches the axis, or two exchange their signs
            for event in self.alike(change):
                yield event if change.zone is None else _within(event, change.zone)
            return
        real, pairs, double = _modes_that_change(change)
        if change.zone is None and (apart := self._in_blocks(change)):
            yield from apart
            return
        if change.zone is None and (change.before[4:] == change.after[4:]).all() and not _oscillations_begun(change):
            hidden = change.before[4] > self.zeros  # det A has the signs of others, too, that rounding makes neutral here
            several = self._exchanged(change.low, change.high, least=1 if hidden else 2)
            if sum(event.change for event in several) == int((change.after - change.before)[:2].sum()) and several:
                yield from several
                return
        if change.zone is not None:
            for event in self._described(change, 0.5 * (change.zone[0] + change.zone[1]), None, real, pairs, double):
                yield _within(event, change.zone)
            return
        value = self._solved(change, real, pairs, double)
        if value is None:
            last, first = self.zones.edge(change.low, change.high, change.before)
            inside = self.zones.counts(np.array([first]))[0]
            parted = (inside != change.after).any() and depth < _DEPTH
            arrives = self.zones.arrives(first, change.high, change.after) if parted else first
            between = np.linspace(last, arrives, 5)[1:-1].tolist()  # the middle alone may be exact
            unknown = parted and any(self.zones.unknown(s, change.before, change.after) for s in between)
            if parted and not unknown and arrives - last > THIN * max(change.width, abs(last)):
                yield from self.events(Change(change.low, first, change.before, inside, change.width), depth + 1)
                yield from self.events(Change(first, change.high, inside, change.after, change.width), depth + 1)
                return
            zero = self._together(change, 0.5 * (last + arrives), arrives - last, real, pairs)
            for event in self._described(change, zero.value, None, real, pairs, double):
                yield replace(event, uncertainty=zero.uncertainty)
            return
        hidden = self._hidden_about(value[0], change) if real else 0.0
        for event in self._described(change, value[0], value[1], real, pairs, double):
            yield replace(event, uncertainty=hidden)

    def _in_blocks(self, change: Change) -> list[Event]:
        """What each of several blocks of modes does that change within a bracket, as if it were a machine of its own; nothing
        where fewer than two change, but for one in which real modes and pairs meet."""
        moving = self._moving_blocks(change)
        if not moving or (len(moving) == 1 and not all(_modes_that_change(moving[0])[:2])):
            return []
        low, high = change.low, change.high
        events: list[Event] = []
        for block in moving:
            real, pairs, _ = _modes_that_change(block)
            simple = abs(real) + abs(pairs) == 1 and not block.change[4:].any() and not _oscillations_begun(block)
            zero = block.zero(self.matrices, low, high) if block.change[:4].any() and not simple else None
            if len(moving) == 1 and (zero is None or zero.uncertainty > 0.0):  # not together, or halving may know more
                return []
            if zero is not None:
                several = list(self._of_block(block, zero, (low, high)))
            else:
                always = min(int(block.before[4]), int(block.after[4]))
                alone = Solver(block.own, always, self.names, Zones(block.own, (low, high)), self.whole)
                several = list(alone.events(Change(low, high, block.before, block.after, change.width)))
            if not several or sum(event.change for event in several) != int(block.change[:2].sum()):
                return []
            events += several
        return events

    def widened(self, change: Change, limits: tuple[float, float], equal: list[tuple[float, float]]) -> Change:
        """A bracket, wider where it ends so close to a zero of higher order that rounding mixes the shapes of modes there, and
        they become blocks of their own farther away; between limits within which nothing else changes, with the whole of equal
        intervals of which it has a part."""
        if change.zone is not None or self._in_blocks(change):
            return change
        moving = self._moving_blocks(change)
        if len(moving) == 1 and moving[0].number <= 2:  # that cannot be parted
            return change
        for beside in BESIDE:
            low, high = change.low - beside * change.width, change.high + beside * change.width
            touched = [one for one in equal if one[0] < high and low < one[1]]
            low, high = min([low, *(one[0] for one in touched)]), max([high, *(one[1] for one in touched)])
            if low < limits[0] or high > limits[1]:
                break
            wider = replace(change, low=low, high=high)
            if (self.zones.counts(np.array([low, high])) == [change.before, change.after]).all() and self._in_blocks(wider):
                return wider
        return change

    def nested(self, group: Group, limits: tuple[float, float]) -> list[Event]:
        """What blocks of modes do in a group of brackets within which a real mode is below its rounding error, as at a zero of
        higher order, while others change; nothing if numbers between the brackets say that they do not explain all."""
        if len(group.brackets) < 3:
            return []
        first, *others, last = group.brackets
        between = [c.before for c in (*others, last)]
        if not any(counts[4] > max(first.before[4], last.after[4]) for counts in between):
            return []
        found = self._in_blocks(
            self.widened(Change(first.low, last.high, first.before, last.after, group.width), limits, group.equal)
        )
        for c in (*others, last) if found else ():
            passed = sum(e.change for e in found if e.value + _EDGE * e.uncertainty < c.low)
            hidden = [e.change for e in found if abs(e.value - c.low) <= _EDGE * e.uncertainty]
            low, high = (passed + sum(sign * max(sign * change, 0) for change in hidden) for sign in (-1, 1))
            if not low <= int((c.before - first.before)[:2].sum()) <= high:
                return []
        return found

    def _of_block(self, block: Block, zero: Zero, ends: tuple[float, float]) -> Iterator[Event]:
        real, pairs, _ = _modes_that_change(block)
        grows = int(block.change[:2].sum()) != 0
        z, sizes = block.eigenvalues(self.matrices, zero.value)
        swinging = sorted((v.imag for v in z if v.imag > _COINCIDE * sizes.size), key=lambda rate: -rate)
        rates = [0.0] * abs(real) + (swinging + [0.0] * abs(pairs))[: abs(pairs)]
        steps = [int(np.sign(real))] * abs(real) + [2 * int(np.sign(pairs))] * abs(pairs)
        for rate, step in zip(rates, steps, strict=True):
            kind = self.names.crossing(self.ends(*ends), 1j * rate)
            yield Event(kind, zero.value, 1j * rate, step if grows else 0, zero.uncertainty)

    def _moving_blocks(self, change: Change) -> list[Block]:
        return [block for block in blocks(self.matrices, change.low, change.high) or [] if block.change.any()]

    def explained(self, interval: Change, joined: list[Change]) -> bool:
        """Whether an interval lies in a bracket that blocks of modes explain."""
        about = [change for change in joined if change.low <= interval.low and interval.high <= change.high]
        return any(change.zone is None and self._in_blocks(change) for change in about)

    def alike(self, change: Change) -> list[Event]:
        """Crossings between values with equal numbers of modes, by shapes of blocks or of modes."""
        return self._in_blocks(change) or self._exchanged(change.low, change.high)

    def _exchanged(self, low: float, high: float, least: int = 1) -> list[Event]:
        """Modes that cross the axis, each by its shape: also one that begins to grow where another ceases to."""
        ends = self.ends(low, high)
        return [
            Event(self.names.crossing(ends, eigenvalue), value, eigenvalue, step)
            for value, eigenvalue, step in exchanges(self.matrices, low, high, least)
        ]

    def named(self, crossings: list[ShapedCrossing], group: Group) -> list[Event]:
        """Crossings of modes told apart by their shapes."""
        ends = self.ends(group.low, group.high)
        return [
            Event(
                self.names.crossing(ends, one.eigenvalue),
                one.value,
                one.eigenvalue,
                one.change,
                uncertainty,
            )
            for one, uncertainty in crossings
        ]

    # ------------------------------------------------------------ one mode

    def _solved(self, change: Change, real: int, pairs: int, double: int) -> tuple[float, complex | None] | None:
        """The value where a single mode changes, and the eigenvalue of a double root; None if it cannot be solved for."""
        low, high = change.low, change.high
        value: float | None = None
        root: complex | None = None
        if (abs(real), pairs, double) == (1, 0, 0) and not _oscillations_begun(change):
            value = bracketed_root(self._product, low, high)
        elif (real, abs(pairs), double) == (0, 1, 0) and change.before[4:].sum() == change.after[4:].sum():
            value = self._pair_root(change)
        elif (real, pairs, abs(double)) == (0, 0, 1):
            value, root = self._double_root(change)
        slack = change.high - change.low
        return (value, root) if value is not None and low - slack <= value <= high + slack else None

    def _hidden_about(self, value: float, change: Change) -> float:
        """Half the width of the zone about a zero of higher order of the product of eigenvalues within which it is known; 0 for a
        simple one."""
        last = self.zones.edge(change.low, change.high, change.before)[0]
        half = 0.5 * (self.zones.arrives(last, change.high, change.after) - last)
        low, high = max(value - _BEYOND * half, self.zones.limits[0]), min(value + _BEYOND * half, self.zones.limits[1])
        thin = 2.0 * half <= THIN * max(change.width, abs(value))
        return 0.0 if thin or order_of_zero(self._product, value, low, high) <= SIMPLE else half

    def _product(self, s: float) -> float:
        """Zero where a real eigenvalue is zero, besides those that always are."""
        a = self.matrix(s)
        if not self.zeros:
            return float(np.linalg.det(a))
        return float(characteristic(a[None])[0][len(a) - self.zeros - 1])

    def _pair_root(self, change: Change) -> float | None:
        """Where the real part of the pair that changes its sign vanishes."""
        ends = [self.matrices.spectrum(np.array([s])) for s in (change.low, change.high)]
        crossing = _crossing_pair(*ends)
        if crossing is None:
            return None

        def real_part(s: float) -> float:
            share = (s - change.low) / (change.high - change.low)
            eigenvalues = np.linalg.eigvals(self.matrix(s))
            expected = (1 - share) * crossing[0] + share * crossing[1]
            return float(eigenvalues[np.argmin(np.abs(eigenvalues - expected))].real)

        return bracketed_root(real_part, change.low, change.high)

    def _double_root(self, change: Change) -> tuple[float | None, complex | None]:
        """Where the two eigenvalues that meet are equal: the square of their difference and their mean are smooth there, and
        have all digits."""
        last, first = self.zones.edge(change.low, change.high, change.before, 20)
        near = self._closest_pair(0.5 * (last + first))
        if near is None:
            return None, None

        def pair(s: float) -> tuple[float, float]:
            candidates = _means_and_gaps(np.linalg.eigvals(self.matrix(s)))
            return min(candidates, key=lambda one: abs(one[0] - near) + abs(one[1]) ** 0.5, default=(np.nan, np.nan))

        value = bracketed_root(lambda s: pair(s)[1], change.low, change.high)
        return value, complex(pair(value)[0]) if np.isfinite(value) else None

    def _closest_pair(self, value: float) -> float | None:
        """The mean of the two closest eigenvalues that are both real or conjugate."""
        candidates = _means_and_gaps(np.linalg.eigvals(self.matrix(value)))
        return min(candidates, key=lambda one: abs(one[1]))[0] if candidates else None

    # ------------------------------------------------------------ several modes

    def _together(self, change: Change, value: float, slack: float, real: int, pairs: int) -> Zero:
        """A value where several modes cross together, refined: sums of eigenvalues that coincide are smooth and have all
        digits."""
        middle = Zero(value, 0.5 * slack if slack > THIN * max(change.width, abs(value)) else 0.0)
        near = max(_NEAR * change.width, slack)
        found = self.matrices.spectrum(np.array([value]))
        count_at_zero = int((found.zero[0] | defective_near_zero(found)).sum())
        if real and (pairs or _oscillations_begun(change)):  # real modes and pairs meet
            count_at_zero = max(count_at_zero, int(np.abs(change.after - change.before).sum()) // 2)
        if count_at_zero > max(self.zeros, 1):
            refined = self._meet_at_zero(change, count_at_zero)
            if refined is not None and abs(refined.value - value) <= near:
                return refined
        if bool(real) == bool(pairs):
            return middle
        count = abs(real) or abs(pairs)
        neutral = abs(int(change.after[4:].sum() - change.before[4:].sum()))
        meet = neutral == 2 * count * (1 if real else 2)  # modes that grow and others that decay leave the axis together
        center = 0j if real else self._on_the_axis(value, change, 1)[0]

        def total(s: float) -> float:
            z = np.linalg.eigvals(self.matrix(s))
            z = z[np.argsort(np.abs(z - center))][self.zeros if real else 0 :][: 2 * count if meet else count]
            return float(((z - z.mean()) ** 2).sum().real if meet else z.sum().real)

        root = bracketed_root(total, change.low, change.high)
        if not abs(root - value) <= near:
            return middle
        return Zero(root, 0.0 if order_of_zero(total, root, change.low, change.high) <= SIMPLE else 0.5 * slack)

    def _meet_at_zero(self, change: Change, count: int) -> Zero | None:
        """Where as many eigenvalues are zero: those of the only block that changes, or those next to zero."""
        moving = self._moving_blocks(change)
        alone = len(moving) == 1 and moving[0].number > 1
        models, count = (moving[0].own, moving[0].number) if alone else (self.matrices, count)
        return zero_of_symmetric(partial(smallest, models, count), change.low, change.high)

    # ------------------------------------------------------------ what happens

    def _described(
        self, change: Change, value: float, root: complex | None, real: int, pairs: int, double: int
    ) -> Iterator[Event]:
        if double:
            for at in [root] if root is not None else self._double_roots(value, abs(double)):
                yield Event(BEGINS if double > 0 else ENDS, value, at, 0)
            return
        swinging = self._on_the_axis(value, change, abs(pairs))
        grows = int(change.after[:2].sum() - change.before[:2].sum()) != 0
        for eigenvalue, step in [(0j, int(np.sign(real)))] * abs(real) + [(z, 2 * int(np.sign(pairs))) for z in swinging]:
            kind = self.names.crossing(self.ends(change.low, change.high), eigenvalue)
            yield Event(kind, value, eigenvalue, step if grows else 0)
        begun = _oscillations_begun(change)
        for at in self._coinciding(value)[: abs(begun)]:  # at the same value, elsewhere
            yield Event(BEGINS if begun > 0 else ENDS, value, at, 0)

    def _double_roots(self, value: float, count: int) -> list[complex]:
        """Where as many oscillations begin or end together: the means of eigenvalues that coincide, which have all digits."""
        roots = self._coinciding(value, with_zero=True)
        return (roots + [complex(self._closest_pair(value) or 0.0)] * count)[:count]

    def _coinciding(self, value: float, with_zero: bool = False) -> list[complex]:
        """Real eigenvalues that coincide, two by two; with those at zero or without."""
        z = np.linalg.eigvals(self.matrix(value)).astype(complex)
        near = _COINCIDE * float(np.abs(z).max())
        means = [(complex(z[group].mean()), len(group) // 2) for group in clusters(z, np.full(len(z), near))]
        return [
            complex(mean.real)
            for mean, count in means
            if abs(mean.imag) <= near and (with_zero or abs(mean) > 10.0 * near)
            for _ in range(count)
        ]

    def _on_the_axis(self, value: float, change: Change, count: int) -> list[complex]:
        """The eigenvalues of as many pairs nearest to the axis, of modes that change; zero where a pair meets the axis there. Of
        one pair that grows at one end and decays at the other, its own: another may touch the axis beside it."""
        if not count:
            return []
        models = [block.own for block in self._moving_blocks(change)] or [self.matrices]
        there = [model.spectrum(np.array([value])) for model in models]
        z, errors = (np.concatenate(part) for part in zip(*((one.values[0], one.errors[0]) for one in there), strict=True))
        d = change.after - change.before
        ends = [self.matrices.spectrum(np.array([s])) for s in (change.low, change.high)]
        crossing = _crossing_pair(*ends) if abs(d[1]) == 2 and d[3] == -d[1] else None
        if crossing is not None and count == 1:
            one = complex(z[np.argmin(np.abs(z - 0.5 * (crossing[0] + crossing[1])))])
            if abs(one.real) <= _NEARLY * abs(one):
                return [complex(0.0, one.imag)]
        upper = z[z.imag > errors]
        on = [complex(0.0, z.imag) for z in upper[np.argsort(np.abs(upper.real))] if abs(z.real) <= _NEARLY * abs(z)]
        return (on + [0j] * count)[:count]


def _modes_that_change(change: Change | Block) -> tuple[int, int, int]:
    """How many real modes and pairs begin to grow (or stop decaying), and how many oscillations begin."""
    d = (change.after - change.before).tolist()
    if d[0] + d[1]:
        return d[0], d[1] // 2, 0
    if d[2] + d[3]:
        return -d[2], -d[3] // 2, 0
    return 0, 0, _oscillations_begun(change)


def _oscillations_begun(change: Change | Block) -> int:
    """How many more oscillations there are above than below, growing, decaying or neutral."""
    return int((change.after - change.before)[1::2].sum()) // 2


def _means_and_gaps(eigenvalues: NDArray[Any]) -> list[tuple[float, float]]:
    """Means and squared differences of all pairs of real eigenvalues and of conjugate ones."""
    real = np.sort(eigenvalues[eigenvalues.imag == 0].real)
    found = [((p + q) / 2, (p - q) ** 2) for p, q in zip(real[:-1].tolist(), real[1:].tolist(), strict=True)]
    return found + [(float(z.real), -4.0 * float(z.imag) ** 2) for z in eigenvalues if z.imag > 0]


def _crossing_pair(before: Spectrum, after: Spectrum) -> tuple[complex, complex] | None:
    """The pair that grows at one end and decays at the other, at both ends."""
    found = []
    for one, other in ((before.growing, after.decaying), (before.decaying, after.growing)):
        first = [z for z, ok in zip(before.values[0], one[0], strict=True) if ok and z.imag > 0]
        second = [z for z, ok in zip(after.values[0], other[0], strict=True) if ok and z.imag > 0]
        found += [(abs(p - q), complex(p), complex(q)) for p in first for q in second]
    return min(found, key=lambda one: one[0])[1:] if found else None
