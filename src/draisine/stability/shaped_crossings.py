"""Crossings of the axis that lie close together in a sweep, resolved mode by mode.

About such a group, where all signs are known, modes are distinguished by their shapes (`mode_overlap`) and each is followed
from one side to the other: a mode that only touches the axis is no crossing, whatever others do beside it, and one whose real
part is below its error in a zone, as at a zero of higher order, crosses at the middle of this zone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root, multisect
from draisine.numerics.spectrum import Spectrum
from draisine.stability.crossings import Change, Changes, Matrices
from draisine.stability.exchanges import Exchange, ModesAt, crossing_at, follower, look, matched, modes_at
from draisine.stability.mode_overlap import projector, shares, vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_NEAR = 0.02  # distance of brackets of one group, relative to the sampling
BESIDE = (1e-3, 1e-2, 0.1, 0.5)  # distances from the group at which signs may be known, relative to the sampling
_SAMPLES = 33  # about a group, besides the ends of its brackets
_ROUNDS = 60
_SIMPLE = 1.6  # order of a zero, measured, up to which it is simple
_THIN = 1e-7  # width of a zone that is none, relative to the sampling


class Group(NamedTuple):
    """Brackets, and intervals with equal numbers of modes at their ends, that are close to each other."""

    brackets: list[Change]
    equal: list[tuple[float, float]]
    low: float
    high: float
    width: float


class ShapedCrossing(NamedTuple):
    exchange: Exchange
    uncertainty: float


def grouped_brackets(found: Changes, sampling: float) -> list[Group]:
    """Brackets and intervals in groups of neighbors."""
    parts = [(c.low, c.high, c.width, c) for c in found.brackets] + [(*e, sampling, None) for e in found.equal]
    groups: list[Group] = []
    for low, high, width, change in sorted(parts, key=lambda part: part[:2]):
        if not groups or low - groups[-1].high > _NEAR * width:
            groups.append(Group([], [], low, high, width))
        last = groups[-1]
        if change is None:
            last.equal.append((low, high))
        else:
            last.brackets.append(change)
        groups[-1] = last._replace(high=max(last.high, high), width=max(last.width, width))
    return groups


def crossings_of(matrices: Matrices, group: Group, limits: tuple[float, float]) -> list[ShapedCrossing] | None:
    """All crossings of a group between limits, its neighbors or the ends of the sweep; None where shapes do not tell the modes
    apart, or signs are not known on both sides."""
    if len(group.brackets) + 2 * len(group.equal) < 2 or any(_oscillations(c) for c in group.brackets):
        return None
    for beside in BESIDE:
        low, high = group.low - beside * group.width, group.high + beside * group.width
        if low < limits[0] or high > limits[1]:
            return None
        inner = [s for c in group.brackets for s in (c.low, c.high)]
        at = np.unique(np.concatenate([np.linspace(low, high, _SAMPLES), inner]))
        found = _resolved(matrices, at, group.width, len(group.brackets) == 1)
        if found is not None:
            return found
    return None


def _oscillations(change: Change) -> bool:
    """Whether the number of oscillations changes: modes meet and lose their shapes."""
    return int(change.before[1::2].sum()) != int(change.after[1::2].sum())


def _resolved(matrices: Matrices, at: Array, width: float, alone: bool) -> list[ShapedCrossing] | None:
    every = matrices(at)
    if not np.isfinite(every).all():
        return None
    spectrum = Spectrum.of(every, matrices.floor)
    first, last = modes_at(spectrum, 0), modes_at(spectrum, -1)
    pairs = matched(first, last)
    if pairs is None:
        return None
    modes = vectors(every)
    found: list[ShapedCrossing] = []
    for members, others, sign, turning in pairs:
        ends = (_space(first, members), _space(last, others))
        signs = _signs(spectrum, modes, ends, len(members))
        if signs is None:
            return None
        signs[[0, -1]] = sign, _sign_of(last, others)
        known = np.flatnonzero(signs)
        for i, j in pairwise(known.tolist()):
            if signs[i] == signs[j]:
                continue
            one = _crossing(matrices, (float(at[i]), float(at[j])), ends, len(members), int(signs[j]), width, alone)
            if one is None:
                return None
            eigenvalue = one.exchange.eigenvalue if turning else 0j
            exchange = one.exchange._replace(change=int(signs[j]) * (2 if turning else 1), eigenvalue=eigenvalue)
            found += [one._replace(exchange=exchange)] * len(members)
    return sorted(found, key=lambda one: one.exchange.value)


def _space(modes: ModesAt, members: list[int]) -> Complex:
    return projector(modes.right[:, members], modes.left[:, members])


def _sign_of(modes: ModesAt, members: list[int]) -> int:
    return next(sign for group, sign, _ in modes.groups if members[0] in group)


def _signs(
    spectrum: Spectrum, modes: tuple[Complex, Complex, Complex], ends: tuple[Complex, Complex], count: int
) -> NDArray[np.int64] | None:
    """Signs of the real part of modes with a shape at all samples, 0 where it is below its error; None where several have
    different ones."""
    values, right, left = modes
    found = np.zeros(len(values), dtype=np.int64)
    for n in range(len(values)):
        alike = shares(ends[0], right[n], left[n]) * shares(ends[1], right[n], left[n])
        chosen = values[n][np.argsort(-alike, kind="stable")[:count]]
        errors = spectrum.errors[n][np.abs(spectrum.values[n][None] - chosen[:, None]).argmin(axis=1)]
        own = np.where(np.abs(chosen.real) > errors, np.sign(chosen.real), 0.0)
        if own.min() < 0.0 < own.max():
            return None
        found[n] = int(own[0]) if (own == own[0]).all() else 0
    return found


def _crossing(
    matrices: Matrices,
    between: tuple[float, float],
    ends: tuple[Complex, Complex],
    count: int,
    sign: int,
    width: float,
    alone: bool,
) -> ShapedCrossing | None:
    """Where a mode crosses: solved for, or the middle of the zone in which its real part is below its error. One that is `alone`
    is none of these if det A = 0 has its value."""
    low, high = between

    def sign_at(at: Array) -> NDArray[np.int64]:
        every = matrices(at)
        if not np.isfinite(every).all():  # a pole
            return np.zeros(len(at), dtype=np.int64)
        found = _signs(Spectrum.of(every, matrices.floor), vectors(every), ends, count)
        return np.zeros(len(at), dtype=np.int64) if found is None else found

    before = multisect(lambda at: sign_at(at) == -sign, low, high, _ROUNDS)[0]
    after = multisect(lambda at: sign_at(at) != sign, before, high, _ROUNDS)[1]
    if not np.isfinite(matrices(np.array([before, 0.5 * (before + after), after]))).all():
        return None
    mean = follower(lambda s: look(matrices, s), ends, count)
    if after - before <= _THIN * max(width, abs(before)):
        one = crossing_at(matrices, bracketed_root(lambda s: mean(s).real, low, high), mean, between)
        return None if one is None else ShapedCrossing(Exchange(*one, sign), 0.0)
    middle, half = 0.5 * (before + after), 0.5 * (after - before)
    near, far = (abs(mean(middle + k * half).real - mean(middle - k * half).real) for k in (2.0, 4.0))
    if far < 2.0**_SIMPLE * near:  # of first order, hidden by another mode there: solved for
        root = bracketed_root(lambda s: mean(s).real, low, high)
        middle = root if before <= root <= after else middle
        if alone:
            return None
    there = mean(middle)
    error = float(matrices.spectrum(np.array([middle])).errors.max())
    eigenvalue = complex(0.0, abs(there.imag) if abs(there.imag) > error else 0.0)
    return ShapedCrossing(Exchange(middle, eigenvalue, sign), half)
