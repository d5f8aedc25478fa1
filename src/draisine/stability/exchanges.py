"""Modes that cross the axis within a short interval, each told apart by its shape: also where one begins to grow and another
ceases to, so that as many grow on both sides, and where several cross at one value or at values next to each other.

Through a short interval each mode keeps its shape (`mode_overlap`). Where modes meet in one shape, as two that meet at zero and
part again, they cannot be distinguished: nothing is found. Two that come close and turn away exchange their shapes, too, but are
never on the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.numerics.spectrum import Spectrum, clusters, nearest_first
from draisine.stability.crossings import Matrices
from draisine.stability.mode_overlap import overlaps, projector, shares, vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Modes = tuple[Complex, Complex, Complex]  # eigenvalues, right and left vectors (states, modes)

_WHOLE = 0.1  # distance of an overlap from a whole number of modes, at most
_ON_AXIS = 8.0  # real part of a mode on the axis, relative to its error, at most
_SHARP = 1e-8  # and relative to its real parts at the ends: the resolution of the value


class Exchange(NamedTuple):
    """The value at which one of the modes crosses the axis, its eigenvalue there (of a pair the upper one), and how many more
    eigenvalues of it grow above than below."""

    value: float
    eigenvalue: complex
    change: int


class ModesAt(NamedTuple):
    """Modes at an end of the interval: vectors (states, modes), and groups of modes that coincide, each with its sign (1 grows,
    −1 decays) and that of its frequency."""

    right: Complex
    left: Complex
    groups: list[tuple[list[int], int, int]]


class CrossingModes(NamedTuple):
    """Modes of one group at either end, how many of them change their sign, and the change of one in growing eigenvalues."""

    first: list[int]
    last: list[int]
    number: int
    change: int


def exchanges(matrices: Matrices, low: float, high: float, least: int = 1) -> list[Exchange]:
    """The modes that change their signs between two values, if there are at least so many."""
    both = matrices(np.array([low, high]))
    if not np.isfinite(both).all():
        return []
    spectrum = Spectrum.of(both, matrices.floor)
    first, last = (modes_at(spectrum, i) for i in range(2))
    found = crossing_modes(first, last) or []
    if sum(one.number for one in found) < least:
        return []
    result: list[Exchange] = []
    for members, others, count, change in found:
        ends = (
            projector(first.right[:, members], first.left[:, members]),
            projector(last.right[:, others], last.left[:, others]),
        )
        mean = follower(lambda s: look(matrices, s), ends, count)
        crossing = crossing_at(matrices, _zero_of(mean, low, high), mean, (low, high))
        if crossing is None:
            return []
        result += [Exchange(*crossing, change)] * count
    return sorted(result, key=lambda one: one.value)


def crossing_modes(first: ModesAt, last: ModesAt) -> list[CrossingModes] | None:
    """Which modes change their signs, of pairs the upper ones; None where shapes do not distinguish them."""
    share = overlaps((first.right[None], first.left[None]), (last.right[None], last.left[None]))[0]
    found = []
    for members, sign, turn in first.groups:
        for others, other_sign, other_turn in last.groups:
            if sign * other_sign >= 0:
                continue
            common = float(share[np.ix_(members, others)].sum())
            count = round(common) if np.isfinite(common) else -1
            if abs(common - count) > _WHOLE or count < 0 or (count and turn != other_turn):
                return None
            if count and turn >= 0:
                found.append(CrossingModes(members, others, count, other_sign * (2 if turn else 1)))
    return found


def grouped(values: Complex, errors: Array, least: Array, right: Complex, left: Complex) -> ModesAt:
    """Modes with their signs, those real parts and frequencies that are above `least`; equal ones, up to errors, as groups."""
    signs = np.where(np.abs(values.real) > least, np.sign(values.real), 0).astype(int)
    turns = np.where(np.abs(values.imag) > least, np.sign(values.imag), 0).astype(int)
    groups: list[tuple[list[int], int, int]] = []
    for sign in (-1, 0, 1):
        for turn in (-1, 0, 1):
            some = np.flatnonzero((signs == sign) & (turns == turn))
            groups += [(some[group].tolist(), sign, turn) for group in clusters(values[some], errors[some])]
    return ModesAt(right, left, groups)


def matched(first: ModesAt, last: ModesAt) -> list[tuple[list[int], list[int], int, int]] | None:
    """The modes that are not neutral at both ends, of pairs the upper ones: members of a group at either end that have the same
    shape, their sign at the first, and whether they oscillate; None where shapes do not tell them apart."""
    share = overlaps((first.right[None], first.left[None]), (last.right[None], last.left[None]))[0]
    found: list[tuple[list[int], list[int], int, int]] = []
    missing = {tuple(group): len(group) for group, sign, _ in last.groups if sign}
    for members, sign, turn in first.groups:
        left = len(members) if sign else 0
        for others, other_sign, other_turn in last.groups if sign else []:
            common = float(share[np.ix_(members, others)].sum())
            count = round(common) if np.isfinite(common) else -1
            if count == 0 and abs(common) <= _WHOLE:
                continue
            if abs(common - count) > _WHOLE or not other_sign or turn != other_turn or not count == len(members) == len(others):
                return None
            left -= count
            missing[tuple(others)] -= count
            if turn >= 0:
                found.append((members, others, sign, turn))
        if left:
            return None
    return None if any(missing.values()) else found


def modes_at(spectrum: Spectrum, i: int) -> ModesAt:
    values, right, left = (part[0] for part in vectors(spectrum.matrices[i][None]))
    order = nearest_first(np.abs(values[:, None] - spectrum.values[i])[None])[0]
    errors = spectrum.errors[i][order]
    return grouped(spectrum.values[i][order], errors, errors, right, left)


def look(matrices: Matrices, s: float) -> Modes:
    """The modes at a value."""
    values, right, left = (part[0] for part in vectors(matrices(np.array([s]))))
    return values, right, left


def follower(look: Callable[[float], Modes], ends: tuple[Complex, Complex], count: int) -> Callable[[float], complex]:
    """The mean of the eigenvalues whose shapes are those of the modes at both ends, as a function of the swept quantity."""

    def mean(s: float) -> complex:
        values, right, left = look(s)
        alike = shares(ends[0], right, left) * shares(ends[1], right, left)
        return complex(values[np.argsort(-alike, kind="stable")[:count]].mean())

    return mean


def _zero_of(mean: Callable[[float], complex], low: float, high: float) -> float:
    return bracketed_root(lambda s: mean(s).real, low, high)


def crossing_at(
    matrices: Matrices, value: float, mean: Callable[[float], complex], ends: tuple[float, float]
) -> tuple[float, complex] | None:
    """A value at which a mode is on the axis, and its eigenvalue there; None where its real part only jumps past zero."""
    if not np.isfinite(value):
        return None
    there, found = mean(value), matrices.spectrum(np.array([value]))
    error = float(found.errors[0][np.argmin(np.abs(found.values[0] - there))])
    if abs(there.real) > _ON_AXIS * error + _SHARP * min(abs(mean(s).real) for s in ends):
        return None
    return value, complex(0.0, abs(there.imag) if abs(there.imag) > error else 0.0)
