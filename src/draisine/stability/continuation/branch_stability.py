"""Stability along a branch: eigenvalues of the exact linear model at every point.

Ignorable coordinates are left out. Where steady motions form a family at constant inputs and parameters (a conservative bicycle
has a turn for every speed), a neighboring motion is a neutral deviation: as many eigenvalues are zero along the whole branch.
They are counted, and ignored where stability is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.spectrum import Spectrum
from draisine.program.equations import Equations
from draisine.stability.deviations import Derivatives, Naming, deviations_of

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
State = tuple[Array, Array, Array]

ZERO = 1e-7  # eigenvalues below this, relative to the largest, count as zero
GROWS = 1e-8  # real parts above this, relative to the largest eigenvalue, count as positive
FAR = 1e8  # condition number above which other names are chosen


def matrices(equations: Equations, ignorable: Sequence[str], states: Sequence[State]) -> list[Array]:
    """A of the deviations without ignorable coordinates, at each state (x, u, p)."""
    deviations = deviations_of(equations)
    x, u, p = (np.array([state[k] for state in states]) for k in range(3))
    derivatives = deviations.derivatives(0.0, x, u, p)
    naming: Naming | None = None
    found = []
    for i in range(len(states)):
        at_point = Derivatives(**{f.name: getattr(derivatives, f.name)[i : i + 1] for f in fields(Derivatives)})
        if naming is None or not _well_conditioned(naming, at_point):
            naming = deviations.choose(at_point)
        kept = [k for k, name in enumerate(naming.names) if name not in ignorable]
        found.append(naming.matrices(at_point)[0][0][np.ix_(kept, kept)])
    return found


def _well_conditioned(naming: Naming, at_point: Derivatives) -> bool:
    square = np.concatenate([at_point.constraints[0][list(naming.rows)], at_point.names[0][list(naming.chosen)]])
    return bool(np.linalg.cond(square) < FAR)


def eigenvalues(matrix: Array) -> Complex:
    """Sorted by real part, then by imaginary part."""
    values = np.linalg.eigvals(matrix).astype(complex)
    return np.asarray(values[np.lexsort((values.imag, values.real))])


def neutral_count(spectra: Sequence[Complex]) -> int:
    """Number of eigenvalues that are zero along the whole branch."""
    return min((int(np.count_nonzero(np.abs(s) <= ZERO * max(np.abs(s).max(), 1e-300))) for s in spectra if len(s)), default=0)


def without_neutral(spectrum: Complex, neutral: int) -> Complex:
    """The spectrum without the eigenvalues that are zero everywhere."""
    return np.asarray(spectrum[np.sort(np.argsort(np.abs(spectrum))[neutral:])])


def spectrum_without_neutral(spectrum: Spectrum, neutral: int) -> Spectrum:
    """The same of a spectrum with its errors. Eigenvalues that are zero everywhere have the signs of rounding errors, for which
    windows would be searched about every point."""
    return spectrum.taken(np.sort(np.argsort(np.abs(spectrum.values), axis=1)[:, neutral:], axis=1))


def unstable_count(spectrum: Complex, neutral: int) -> int:
    """Number of unstable modes."""
    values = without_neutral(spectrum, neutral)
    return int(np.count_nonzero(values.real > GROWS * np.abs(values).max(initial=1e-300)))


def product(spectrum: Complex, neutral: int) -> float:
    """The coefficient of λ^neutral of the characteristic polynomial, up to its sign: the product of the other eigenvalues, in a
    form that is smooth where one of them becomes zero."""
    size = max(float(np.abs(spectrum).max(initial=0.0)), 1e-300)
    coefficients = np.poly(spectrum / size)
    return float(np.real(coefficients[len(spectrum) - neutral]))
