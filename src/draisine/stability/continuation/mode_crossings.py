"""Modes that cross the axis within a step of a branch: pairs one by one, told apart by their shapes, and real modes.

Where each mode keeps its shape over the step (`mode_overlap`), a pair is followed by it; otherwise the nearest eigenvalues
belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.continuation import CurvePoint, ImplicitCurve
from draisine.numerics.spectrum import Spectrum, nearest_first
from draisine.stability.continuation.branch_stability import GROWS, eigenvalues, product, without_neutral
from draisine.stability.exchanges import ModesAt, crossing_modes, grouped
from draisine.stability.mode_overlap import overlaps, projector, shares, vectors

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
MatrixAt = Callable[[CurvePoint], Array]

OSCILLATES = 1e-6  # imaginary part of an oscillation, relative to the largest eigenvalue
COINCIDE = 1e-10  # distance of eigenvalues that are equal, relative to the largest
KEPT = 0.9  # overlap of a mode with itself at the other end of a step, at least


@dataclass(frozen=True, eq=False)
class Place:
    """A point of the curve and its linear model."""

    point: CurvePoint
    matrix: Array

    @cached_property
    def spectrum(self) -> Complex:
        return eigenvalues(self.matrix)

    @cached_property
    def bounded(self) -> Spectrum:
        """The eigenvalues with what rounding can do to them, which several windows about the point ask for."""
        return Spectrum.of(self.matrix[None])

    @cached_property
    def vectors(self) -> tuple[Complex, Complex]:
        """Right and left vectors, in the order of the spectrum."""
        values, right, left = (part[0] for part in vectors(self.matrix[None]))
        order = nearest_first(np.abs(self.spectrum[:, None] - values[None, :])[None])[0]
        return right[:, order], left[:, order]

    def signs(self, neutral: int) -> tuple[int, int]:
        """How many modes grow and how many decay."""
        values = without_neutral(self.spectrum, neutral)
        least = GROWS * np.abs(values).max(initial=1e-300)
        return int((values.real > least).sum()), int((values.real < -least).sum())

    @cached_property
    def modes(self) -> ModesAt:
        size = np.full(len(self.spectrum), float(np.abs(self.spectrum).max(initial=1e-300)))
        return grouped(self.spectrum, COINCIDE * size, GROWS * size, *self.vectors)


def explained(current: Place, upcoming: Place, neutral: int, pairs: int, real: int) -> bool:
    """Whether as many pairs and real modes that cross the axis make the difference of the numbers of growing modes, and are not
    fewer than those whose shapes say that they cross. It is not asked where modes become neutral or cease to be, as in
    conservative systems."""
    if len(current.spectrum) != len(upcoming.spectrum):
        return True
    (grow, decay), (then_grow, then_decay) = current.signs(neutral), upcoming.signs(neutral)
    more = then_grow - grow
    if more != decay - then_decay:
        return True
    if abs(more) > 2 * pairs + real or (more - real) % 2:
        return False
    if not (max(grow, then_grow) and max(decay, then_decay)):
        return True
    crossing = crossing_modes(current.modes, upcoming.modes) or []
    numbers = {size: sum(one.number for one in crossing if abs(one.change) == size) for size in (1, 2)}
    return numbers[1] <= real and numbers[2] <= pairs


def pairs_that_cross(curve: ImplicitCurve, current: Place, upcoming: Place, matrix: MatrixAt) -> list[tuple[CurvePoint, float]]:
    """Where pairs of eigenvalues cross the imaginary axis, and their frequencies."""
    spectra = (current.spectrum, upcoming.spectrum)
    size = max(float(np.abs(s).max(initial=0.0)) for s in spectra)
    swinging = [np.flatnonzero(s.imag > OSCILLATES * size) for s in spectra]
    if not all(len(some) for some in swinging):
        return []
    share = _overlap(current, upcoming)
    found = []
    for i, j, by_shape in _partners(spectra, swinging, share):
        value, partner = spectra[0][i], spectra[1][j]
        if not (value.real * partner.real < 0 and min(abs(value.real), abs(partner.real)) > GROWS * size):
            continue
        ends = [projector(*(part[:, [k]] for part in place.vectors)) for place, k in ((current, i), (upcoming, j))]
        one = _imaginary(curve, current, upcoming, complex(value + partner) / 2, ends if by_shape else None, matrix)
        if one is not None and one[1] > OSCILLATES * size:
            found.append(one)
    return found


def _overlap(current: Place, upcoming: Place) -> Array | None:
    """Overlaps of the modes at both ends; None where they have other numbers."""
    if len(current.spectrum) != len(upcoming.spectrum):
        return None
    first, second = ((right[None], left[None]) for right, left in (current.vectors, upcoming.vectors))
    return overlaps(first, second)[0]


def _partners(
    spectra: tuple[Complex, Complex], swinging: list[NDArray[np.intp]], share: Array | None
) -> list[tuple[int, int, bool]]:
    """Which upper eigenvalue at the second end continues which of the first, and whether shapes say so."""
    left, right = swinging[0].tolist(), swinging[1].tolist()
    found: list[tuple[int, int, bool]] = []
    if share is not None:
        alike = {(i, j) for i in left for j in right if abs(share[i, j] - 1.0) <= 1.0 - KEPT}
        rows, columns = [i for i, _ in alike], [j for _, j in alike]
        found = [(i, j, True) for i, j in sorted(alike) if rows.count(i) == columns.count(j) == 1]
    taken = {j for _, j, _ in found}
    known = {i: j for i, j, _ in found}
    rest = [j for j in right if j not in taken]
    for i in left:
        if i not in known and rest:
            j = min(rest, key=lambda k: float(abs(spectra[1][k] - spectra[0][i])))
            rest.remove(j)
            found.append((i, j, False))
    return sorted(found)


def _imaginary(
    curve: ImplicitCurve,
    current: Place,
    upcoming: Place,
    middle: complex,
    ends: list[Complex] | None,
    matrix: MatrixAt,
) -> tuple[CurvePoint, float] | None:
    """Where an eigenvalue is imaginary: that with the shape of the modes at both ends, or else the nearest to a given one."""

    def eigenvalue(point: CurvePoint) -> complex:
        place = Place(point, matrix(point))
        values = place.spectrum
        if ends is None:
            return complex(values[np.argmin(np.abs(values - middle))])
        return complex(values[np.argmax(shares(ends[0], *place.vectors) * shares(ends[1], *place.vectors))])

    point = curve.between(current.point, upcoming.point, lambda p: eigenvalue(p).real)
    return None if point is None else (point, abs(eigenvalue(point).imag))


def zero_crossing(curve: ImplicitCurve, current: Place, upcoming: Place, neutral: int, matrix: MatrixAt) -> CurvePoint | None:
    """Where a real eigenvalue crosses zero."""
    spectra = (current.spectrum, upcoming.spectrum)
    if len(spectra[0]) != len(spectra[1]) or not len(spectra[0]):
        return None
    ends = [product(s, neutral) for s in spectra]
    if not (ends[0] * ends[1] < 0 and min(abs(e) for e in ends) > 1e-12):
        return None
    return curve.between(current.point, upcoming.point, lambda p: product(eigenvalues(matrix(p)), neutral))
