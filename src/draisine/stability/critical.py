"""Critical values: where a mode gains or loses stability, and where two real modes become an oscillation or the reverse.

`crossings` brackets them; then each is solved on the exact linear model: the last coefficient of the characteristic polynomial
that is not always zero for a real mode, Re λ = 0 for a pair, and (λ₁ − λ₂)² = 0 for a double root, where eigenvalues have only
half their digits, but their mean and the square of their difference have all. Where several modes change together, as in
symmetric machines, the bracket is halved down to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.numerics.root_finding import bisect, bracketed_root
from draisine.numerics.scaling import balancing
from draisine.stability.crossings import Change, changes
from draisine.stability.mode_names import ModeNames
from draisine.stability.routh import characteristic
from draisine.stability.spectrum import Spectrum, clusters
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

Matrix = Callable[[float], Array]  # A at a value of the swept quantity

BEGINS, ENDS = "oscillation begins", "oscillation ends"
_THIN = 1e-7  # width within which modes leave one side and arrive on the other, relative to the sampling
_NEAR = 1e-5  # distance of a refined value from a bracketed one, relative to the sampling
_ZERO = 1e-15  # value that is zero, relative to the sampling
_COINCIDE = 1e-5  # distance of eigenvalues that coincide, relative to the largest
_NOISE = 1e-13  # share of a parameter in the change of a value that is rounding error
_ROUNDS = 60  # halvings of a bracket
_DEPTH = 12  # changes inside a bracket that are distinguished
_SINGULAR = 1e-8  # singular value of A − λ, relative to the largest, that counts as zero


@dataclass(frozen=True)
class Critical:
    """A critical value of `over`: its kind, and the eigenvalue (of a pair the one with positive imaginary part).

    `change`: how many more eigenvalues grow above the value than below it: 1 or −1 for a real mode, 2 or −2 for a pair, 0 where
    an oscillation begins or ends, or a mode stops decaying. `zeros`: number of modes that are zero at every value.
    """

    kind: str
    over: str
    value: float
    eigenvalue: complex
    family: Family = field(repr=False, compare=False)
    change: int = 0
    zeros: int = 0
    unit: str = ""

    def gradient(self) -> dict[str, float]:
        """Exact ∂value/∂parameter for every parameter of the model, with all other fixed quantities constant.

        The steady motion follows the parameter; the derivative by the swept quantity itself is zero. Where several modes are
        critical together there is no derivative (`draisine.errors.SolverError`). `gradient_units` has the units.
        """
        a, over, gradients = self.family.derivatives(np.array([self.value]))
        condition = None if _several(a, self.eigenvalue, self.zeros) else _Condition(a, self.eigenvalue, self.zeros)
        against = 0.0 if condition is None else condition.change(over[0])
        if condition is None or against == 0.0:
            why = "several modes are critical together" if condition is None else "the mode only touches the axis"
            raise SolverError(
                f"{self.family.equations.name}: at {self.over} = {self.value:.6g} {why}; the value has no derivative by a "
                f"parameter that "
                "changes one of them alone"
            )
        found = {name: -condition.change(slope) / against if name != self.over else 0.0 for name, slope in gradients.items()}
        sizes = {p.name: abs(p.default) or 1.0 for p in self.family.equations.parameters}
        most = max((abs(value) * sizes[name] for name, value in found.items()), default=0.0)
        return {name: value if abs(value) * sizes[name] > _NOISE * most else 0.0 for name, value in found.items()}

    @property
    def gradient_units(self) -> dict[str, str]:
        """Units of the gradient: that of the swept quantity over that of each parameter."""
        return {p.name: _ratio(self.unit, p.unit) for p in self.family.equations.parameters}

    def as_data(self) -> dict[str, Any]:
        z = self.eigenvalue
        return {"kind": self.kind, self.over: self.value, "re": z.real, "im": z.imag, "change": self.change, "unit": self.unit}


def _ratio(above: str, below: str) -> str:
    if above == below:
        return ""
    if not below:
        return above
    return f"{above or '1'}/({below})" if any(sign in below for sign in "*/ ") else f"{above or '1'}/{below}"


def critical_values(family: Family, over: str, values: Array, names: ModeNames, unit: str = "") -> list[Critical]:
    """All critical values in the range of a sweep, one for each mode, in order."""

    def matrices(at: Array) -> Array:
        return family.matrices(at[:, None]).A

    found = changes(matrices, values)
    solver = _Solver(lambda s: matrices(np.array([s]))[0], found.zeros, names)
    events = [event for change in solver.joined(found.brackets) for event in solver.events(change)]
    return [
        Critical(e.kind, over, e.value, e.eigenvalue, family, e.change, found.zeros, unit)
        for e in sorted(events, key=lambda e: e.value)
    ]


@dataclass(frozen=True)
class _Event:
    kind: str
    value: float
    eigenvalue: complex
    change: int


class _Solver:
    """Solves for the critical values in brackets of one sweep."""

    def __init__(self, matrix: Matrix, zeros: int, names: ModeNames) -> None:
        self.matrix, self.zeros, self.names = matrix, zeros, names

    def joined(self, brackets: list[Change]) -> Iterator[Change]:
        """The brackets, with those made one that meet at a sample on the axis: of a mode that passes it, or of several that
        part there."""
        waiting: Change | None = None
        for change in brackets:
            if waiting is not None and waiting.high == change.low:
                first = self._edge(waiting.low, waiting.high, waiting.before)[0]
                last = self._arrives(change.low, change.high, change.after)
                if last - first <= _THIN * max(change.width, abs(first)):
                    waiting = Change(waiting.low, change.high, waiting.before, change.after, max(waiting.width, change.width))
                    continue
            if waiting is not None:
                yield waiting
            waiting = change
        if waiting is not None:
            yield waiting

    def events(self, change: Change, depth: int = 0) -> Iterator[_Event]:
        """The critical values in a bracket: solved for if one mode changes, otherwise by halving."""
        if (change.before == change.after).all():
            return  # a mode touches the axis
        real, pairs, double = _modes_that_change(change)
        value = self._solved(change, real, pairs, double)
        if value is None:
            last, first = self._edge(change.low, change.high, change.before)
            inside = self._counts(first)
            parted = (inside != change.after).any() and depth < _DEPTH
            arrives = self._arrives(first, change.high, change.after) if parted else first
            if parted and arrives - last > _THIN * max(change.width, abs(last)):
                yield from self.events(Change(change.low, first, change.before, inside, change.width), depth + 1)
                yield from self.events(Change(first, change.high, inside, change.after, change.width), depth + 1)
                return
            value = self._together(change, 0.5 * (last + arrives), real, pairs), None
        if abs(value[0]) <= _ZERO * change.width:
            value = 0.0, value[1]
        yield from self._described(change, *value, real, pairs, double)

    def _counts(self, s: float) -> NDArray[np.int64]:
        return np.asarray(Spectrum.of(self.matrix(s)[None]).signatures[0])

    def _edge(self, low: float, high: float, counts: NDArray[np.int64]) -> tuple[float, float]:
        """The last point with such numbers of modes, and the next one."""
        return bisect(lambda s: bool((self._counts(s) == counts).all()), low, high, _ROUNDS)

    def _arrives(self, low: float, high: float, counts: NDArray[np.int64]) -> float:
        return bisect(lambda s: bool((self._counts(s) != counts).any()), low, high, _ROUNDS)[1]

    # ------------------------------------------------------------ one mode

    def _solved(self, change: Change, real: int, pairs: int, double: int) -> tuple[float, complex | None] | None:
        """The value where a single mode changes, and the eigenvalue of a double root; None if it cannot be solved for."""
        low, high = change.low, change.high
        value: float | None = None
        root: complex | None = None
        if (abs(real), pairs, double) == (1, 0, 0):
            value = bracketed_root(lambda s: self._last_coefficient(self.matrix(s)), low, high)
        elif (real, abs(pairs), double) == (0, 1, 0) and change.before[4:].sum() == change.after[4:].sum():
            value = self._pair_root(change)
        elif (real, pairs, abs(double)) == (0, 0, 1):
            value, root = self._double_root(change)
        slack = change.high - change.low
        return (value, root) if value is not None and low - slack <= value <= high + slack else None

    def _last_coefficient(self, a: Array) -> float:
        """Zero where a real eigenvalue is zero, besides those that always are."""
        if not self.zeros:
            return float(np.linalg.det(a))
        return float(characteristic(a[None])[0][len(a) - self.zeros - 1])

    def _pair_root(self, change: Change) -> float | None:
        """Where the real part of the pair that changes its sign vanishes."""
        ends = [Spectrum.of(self.matrix(s)[None]) for s in (change.low, change.high)]
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
        last, first = bisect(lambda s: bool((self._counts(s) == change.before).all()), change.low, change.high, 20)
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

    def _together(self, change: Change, value: float, real: int, pairs: int) -> float:
        """A value where several modes cross together, refined: sums of eigenvalues that coincide are smooth and have all
        digits."""
        if bool(real) == bool(pairs):
            return value
        count = abs(real) or abs(pairs)
        neutral = abs(int(change.after[4:].sum() - change.before[4:].sum()))
        meet = neutral == 2 * count * (1 if real else 2)  # modes that grow and others that decay leave the axis together
        center = 0j if real else self._on_the_axis(value, 1)[0]

        def total(s: float) -> float:
            z = np.linalg.eigvals(self.matrix(s))
            z = z[np.argsort(np.abs(z - center))][self.zeros if real else 0 :][: 2 * count if meet else count]
            return float(((z - z.mean()) ** 2).sum().real if meet else z.sum().real)

        refined = bracketed_root(total, change.low, change.high)
        return refined if abs(refined - value) <= _NEAR * change.width else value

    # ------------------------------------------------------------ what happens

    def _described(
        self, change: Change, value: float, root: complex | None, real: int, pairs: int, double: int
    ) -> Iterator[_Event]:
        if double:
            for at in [root] if root is not None else self._double_roots(value, abs(double)):
                yield _Event(BEGINS if double > 0 else ENDS, value, at, 0)
            return
        swinging = self._on_the_axis(value, abs(pairs))
        grows = int(change.after[:2].sum() - change.before[:2].sum()) != 0
        for eigenvalue, step in [(0j, real)] * abs(real) + [(z, 2 * pairs) for z in swinging]:
            kind = self.names.crossing([self.matrix(s) for s in (change.low, change.high)], eigenvalue)
            size = 2 if eigenvalue else 1
            yield _Event(kind, value, eigenvalue, int(np.sign(step)) * size if grows else 0)

    def _double_roots(self, value: float, count: int) -> list[complex]:
        """Where as many oscillations begin or end together: the means of eigenvalues that coincide, which have all digits."""
        z = np.linalg.eigvals(self.matrix(value)).astype(complex)
        groups = [z[group] for group in clusters(z, np.full(len(z), _COINCIDE * float(np.abs(z).max())))]
        roots = [
            complex(g.mean().real)
            for g in groups
            if abs(g.mean().imag) <= _COINCIDE * np.abs(z).max()
            for _ in range(len(g) // 2)
        ]
        return (roots + [complex(self._closest_pair(value) or 0.0)] * count)[:count]

    def _on_the_axis(self, value: float, count: int) -> list[complex]:
        """The eigenvalues of as many pairs nearest to the axis."""
        if not count:
            return []
        found = Spectrum.of(self.matrix(value)[None])
        upper = found.values[0][found.values[0].imag > found.errors[0]]
        return [complex(0.0, z.imag) for z in upper[np.argsort(np.abs(upper.real))][:count]]


def _modes_that_change(change: Change) -> tuple[int, int, int]:
    """How many real modes and pairs begin to grow (or stop decaying), and how many oscillations begin."""
    d = (change.after - change.before).tolist()
    if d[0] + d[1]:
        return d[0], d[1] // 2, 0
    if d[2] + d[3]:
        return -d[2], -d[3] // 2, 0
    return 0, 0, (d[1] + d[3] + d[5]) // 2


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


# ---------------------------------------------------------------- gradients


class _Condition:
    """The condition of a critical value, differentiated along a change of A.

    A simple eigenvalue of a pair: dλ = wᴴ dA v / wᴴ v. A real eigenvalue at zero: the last coefficient of the polynomial that
    is not always zero. A double root: the polynomial itself, since p′ = 0 leaves λ free to first order. Changes of coefficients
    are −tr(M dA) with the matrices M of Faddeev and LeVerrier, and have no vanishing denominators.
    """

    def __init__(self, a: Array, eigenvalue: complex, zeros: int) -> None:
        if eigenvalue.imag:
            from scipy.linalg import eig

            values, left, right = eig(a, left=True)
            j = int(np.argmin(np.abs(values - eigenvalue)))
            w, v = left[:, j].conj(), right[:, j]
            self.matrix = np.outer(v, w) / (w @ v)  # dλ = tr(v wᴴ dA)
        elif eigenvalue:
            self.matrix = -_adjugate(a, eigenvalue.real)
        else:
            self.matrix = -_faddeev(a)[len(a) - zeros - 1]

    def change(self, along: Array) -> float:
        return float(np.real(np.trace(self.matrix @ along)))


def _several(a: Array, eigenvalue: complex, zeros: int) -> bool:
    """Whether several modes have the critical eigenvalue, besides those that are always zero; or an oscillation is double."""
    scale = balancing(np.abs(a)[None])[0]
    singular = np.linalg.svd((a - eigenvalue * np.eye(len(a))) * scale / scale[:, None], compute_uv=False)
    if int((singular <= _SINGULAR * singular[0]).sum()) > 1 + (0 if eigenvalue else zeros):
        return True
    if not eigenvalue.imag:
        return False
    values = np.linalg.eigvals(a)
    return int((np.abs(values - eigenvalue) <= 1e-5 * abs(eigenvalue)).sum()) > 1


def _adjugate(a: Array, root: float) -> Array:
    """adj(λ − A) = Σ λᵏ⁻ʲ Mⱼ."""
    total = np.zeros_like(a)
    for m in _faddeev(a):
        total = total * root + m
    return total


def _faddeev(a: Array) -> list[Array]:
    """The matrices Mⱼ of Faddeev and LeVerrier, with which coefficients of det(λ − A) change by −tr(Mⱼ dA)."""
    coefficients = [1.0, *characteristic(a[None])[0]]
    found, m = [], np.zeros_like(a)
    for coefficient in coefficients[:-1]:
        m = a @ m + coefficient * np.eye(len(a))
        found.append(m)
    return found
