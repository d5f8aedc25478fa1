"""Values of a sweep at which one mode begins to grow and another ceases to: the numbers of modes are equal on both sides.

Their shapes distinguish them from modes that touch the axis and return: through a short interval each mode keeps its own.
Where two modes have nearly one shape, as two that meet at zero and part again, they cannot be distinguished: nothing is found.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.root_finding import bracketed_root
from draisine.numerics.scaling import balancing
from draisine.stability.crossings import Matrices
from draisine.stability.spectrum import Spectrum, nearest_first

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_KEPT = 0.999  # similarity of the shapes of one mode at both ends of an interval, at least
_OTHER = 0.98  # similarity with the shape of another mode, at most


class Exchange(NamedTuple):
    """The value at which one of the modes crosses the axis, its eigenvalue there (of a pair the upper one), and how many more
    eigenvalues of it grow above than below."""

    value: float
    eigenvalue: complex
    change: int


def exchanges(matrices: Matrices, low: float, high: float) -> list[Exchange]:
    """The modes that change their signs between two values, where as many grow at both of them."""
    spectrum = Spectrum.of(matrices(np.array([low, high])))
    if not np.isfinite(spectrum.matrices).all():
        return []
    scale = balancing(np.abs(spectrum.matrices)).mean(axis=0)
    (before, first), (after, last) = (_modes(a, scale) for a in spectrum.matrices)
    similarity = np.abs(np.conj(first.T) @ last)
    partner = nearest_first(1.0 - similarity[None])[0]
    sign = [_signs(spectrum, i, values) for i, values in enumerate((before, after))]
    found = []
    for i in np.flatnonzero(sign[0] * sign[1][partner] < 0):
        others = np.delete(similarity[i], partner[i])
        if similarity[i, partner[i]] < _KEPT or others.max(initial=0.0) > _OTHER:
            return []  # not distinguished
        if before[i].imag >= 0.0:
            found.append((i, int(sign[1][partner[i]]) * (2 if before[i].imag else 1)))
    if sum(change for _, change in found):
        return []

    def mode(shape: Complex, s: float) -> complex:
        values, vectors = _modes(matrices(np.array([s]))[0], scale)
        return complex(values[np.argmax(np.abs(np.conj(shape) @ vectors))])

    def real_part(shape: Complex, s: float) -> float:
        return mode(shape, s).real

    result = []
    for i, change in found:
        value = bracketed_root(partial(real_part, first[:, i]), low, high)
        if np.isfinite(value):
            result.append(Exchange(value, complex(0.0, abs(mode(first[:, i], value).imag)), change))
    return result


def _modes(a: Array, scale: Array) -> tuple[Complex, Complex]:
    """Eigenvalues, and shapes of length 1 in balanced units."""
    values, vectors = np.linalg.eig(a)
    vectors = vectors / scale[:, None]
    return values.astype(complex), (vectors / np.linalg.norm(vectors, axis=0)).astype(complex)


def _signs(spectrum: Spectrum, i: int, values: Complex) -> NDArray[np.int64]:
    """1 for modes that grow, −1 for those that decay, in the order of the values."""
    order = nearest_first(np.abs(values[:, None] - spectrum.values[i])[None])[0]
    return (spectrum.growing[i].astype(np.int64) - spectrum.decaying[i].astype(np.int64))[order]
