"""Where the numbers of growing, decaying, neutral and oscillating modes change along a sweep.

A sweep is sampled until neighbors explain each other. Where their numbers of modes differ, the interval is halved. Where they
are equal, a parabola through three neighbors shows whether a real part might reach zero and return in between, or two
eigenvalues meet and part, and the nearest eigenvalues whether two modes exchange their signs; then the interval is halved, too.
What is left are brackets with the numbers of modes on both sides: of each number, the changes in all brackets add up to the
difference between the ends of the sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.spectrum import EPS, Spectrum, nearest_first

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

LEAST = 64  # intervals of the first sampling
FINE = 1e-4  # width of a bracket, relative to its interval of the first sampling
HIDDEN = 1e-3  # width down to which equal neighbors are halved
NEARER = 0.3  # a parabola whose extreme value is below this share of the three values is not resolved
LEVELS = 16  # halvings
MOST = 20_000  # samples
CANCELED = 4.0 * EPS  # of an entry that is the rest of terms that cancel, relative to its median size over the sweep


@dataclass(frozen=True, eq=False)
class Matrices:
    """Linear models of a sweep: values of the swept quantity → matrices, NaN where there is no steady motion; and errors of the
    entries that do not vanish with them."""

    at: Callable[[Array], Array]
    floor: Array | None = None

    def __call__(self, values: Array) -> Array:
        return self.at(values)

    def spectrum(self, values: Array) -> Spectrum:
        return Spectrum.of(self(values), self.floor)


@dataclass(frozen=True, eq=False)
class Change:
    """A bracket, the numbers of modes at its ends (see `Spectrum.signatures`), the width of the first sampling there, and the
    zone within which rounding hides the change, where there is one."""

    low: float
    high: float
    before: Counts
    after: Counts
    width: float
    zone: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Changes:
    """The linear models with errors of their entries, all brackets in order, the number of modes that are zero at every sample,
    and intervals with equal numbers at their ends in which a mode touches the axis, or one begins to grow and another ceases to
    (`exchanges`)."""

    matrices: Matrices
    brackets: list[Change]
    zeros: int
    equal: list[tuple[float, float]]


def changes(models: Callable[[Array], Array], values: Array) -> Changes:
    """Brackets between the values of a sweep in which the modes change."""
    at, widths = _first_sampling(np.unique(values))
    first = models(at)
    finite = first[np.isfinite(first).all(axis=(1, 2))]
    matrices = Matrices(models, CANCELED * np.median(np.abs(finite), axis=0) if len(finite) else None)
    spectrum = Spectrum.of(first, matrices.floor)
    for _ in range(LEVELS):
        split = _unresolved(at, widths, spectrum)
        if not len(split) or len(at) + len(split) > MOST:
            break
        middle = 0.5 * (at[split] + at[split + 1])
        fresh = matrices.spectrum(middle)
        order = np.argsort(np.concatenate([at, middle]), kind="stable")
        at, widths = np.concatenate([at, middle])[order], np.insert(widths, split + 1, widths[split])
        spectrum = spectrum.merged(fresh, order)
    valid = spectrum.signatures[:, 0] >= 0
    zeros = int(spectrum.zero[valid].sum(axis=1).min()) if valid.any() else 0
    return Changes(matrices, _brackets(at, widths, spectrum.signatures), zeros, _still_suspicious(at, spectrum))


def _first_sampling(values: Array) -> tuple[Array, Array]:
    """The values with points in between, and the widths of their intervals."""
    if len(values) < 2:
        return values, np.zeros(0)
    pieces = max(2, -(-LEAST // (len(values) - 1)))
    shares = np.arange(pieces) / pieces
    inner = values[:-1, None] + shares * np.diff(values)[:, None]
    at = np.append(inner.ravel(), values[-1])
    return at, np.diff(at)


def _unresolved(at: Array, widths: Array, spectrum: Spectrum) -> Counts:
    """Intervals to halve, by their first sample."""
    differ, suspicious = _compared(at, spectrum)
    split = differ & (np.diff(at) > FINE * widths)
    for near in (suspicious - 1, suspicious):
        split[near] |= np.diff(at)[near] > HIDDEN * widths[near]
    return np.flatnonzero(split)


def _compared(at: Array, spectrum: Spectrum) -> tuple[NDArray[np.bool_], Counts]:
    """Which intervals have other numbers of modes at both ends, and samples around which equal ones hide something."""
    counts = spectrum.signatures
    known = (counts[1:, 0] >= 0) & (counts[:-1, 0] >= 0)
    differ = known & (counts[1:] != counts[:-1]).any(axis=1)
    three = np.flatnonzero(known[1:] & known[:-1] & ~differ[1:] & ~differ[:-1]) + 1
    return differ, three[hidden(at, spectrum, three)]


def _still_suspicious(at: Array, spectrum: Spectrum) -> list[tuple[float, float]]:
    """Intervals around samples that halving did not resolve, those that overlap made one."""
    _, samples = _compared(at, spectrum)
    groups = np.split(samples, np.flatnonzero(np.diff(samples) > 1) + 1) if len(samples) else []
    return [(float(at[group[0] - 1]), float(at[group[-1] + 1])) for group in groups]


def hidden(at: Array, s: Spectrum, middle: Counts) -> NDArray[np.bool_]:
    """Whether modes might cross the axis and return, or meet and part, around samples whose neighbors have as many of each
    kind."""
    if not len(middle):
        return np.zeros(0, dtype=bool)
    here = s.values[middle]
    every = np.arange(len(middle))[:, None]
    rows = []
    for near in (middle - 1, middle, middle + 1):
        order = nearest_first(np.abs(here[:, :, None] - s.values[near][:, None, :]))
        sign = s.growing[near].astype(np.int8) - s.decaying[near].astype(np.int8)
        rows.append([part[every, order] for part in (s.values[near], sign, s.oscillating[near], s.errors[near])])
    values, signs, swings, errors = (np.stack(part) for part in zip(*rows, strict=True))  # (3, points, modes)
    places = np.stack([at[middle - 1], at[middle], at[middle + 1]])[:, :, None]
    same = (signs[0] == signs[1]) & (signs[1] == signs[2]) & (signs[1] != 0)
    found = (signs != signs[1]).any(axis=(0, 2))  # two modes exchange their signs
    found |= (same & _returns(places, values.real)).any(axis=1)
    swinging = swings.all(axis=0)
    found |= (swinging & _returns(places, values.imag**2)).any(axis=1)
    for i in range(values.shape[2]):
        still = ~swings[:, :, i].any(axis=0)
        for j in range(i):
            gap = (values[:, :, i].real - values[:, :, j].real)[:, :, None]
            apart = (np.abs(gap[..., 0]) > errors[:, :, i] + errors[:, :, j]).all(axis=0)
            found |= still & ~swings[:, :, j].any(axis=0) & apart & _returns(places, gap**2)[:, 0]
    return found


def _returns(x: Array, f: Array) -> NDArray[np.bool_]:
    """Whether the parabola through three points of one sign comes much nearer to zero between them than at them, or the line
    through two of them passes zero before the third."""
    size = np.abs(f)
    x0, x1, x2 = x
    first, second = (size[1] - size[0]) / (x1 - x0), (size[2] - size[1]) / (x2 - x1)
    bend = (second - first) / (x2 - x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = 0.5 * (x0 + x1) - 0.5 * first / bend
        least = size[0] + (at - x0) * (first + bend * (at - x1))
    inside = (bend > 0.0) & (at > x0) & (at < x2)
    passes = (size[1] + first * (x2 - x1) < 0.0) | (size[1] - second * (x1 - x0) < 0.0)
    return np.asarray(passes | inside & (least < NEARER * size.min(axis=0)))


def _brackets(at: Array, widths: Array, counts: Counts) -> list[Change]:
    """Intervals whose ends differ."""
    known = (counts[1:, 0] >= 0) & (counts[:-1, 0] >= 0)
    differ = np.flatnonzero(known & (counts[1:] != counts[:-1]).any(axis=1)).tolist()
    return [Change(float(at[i]), float(at[i + 1]), counts[i], counts[i + 1], float(widths[i])) for i in differ]
