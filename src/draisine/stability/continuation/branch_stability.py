"""How deviations from the motions of a branch grow: eigenvalues of the exact linear model at every point.

Coordinates on which nothing depends are left out. Where steady motions form a family at constant inputs and parameters (a
conservative bicycle has a turn for every speed), a neighboring motion is a deviation that neither grows nor decays: as many
eigenvalues are zero all along the branch, and say nothing of stability. They are counted, and left out where stability is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.stability.deviations import Naming, deviations_of

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
State = tuple[Array, Array, Array]

ZERO = 1e-7  # of the largest eigenvalue: below it one is zero all along the branch
GROWS = 1e-8  # real parts above this, of the largest eigenvalue, grow; below are round-off
FAR = 1e8  # condition above which other deviations must tell the motion


def matrices(equations: Equations, ignorable: Sequence[str], states: Sequence[State]) -> list[Array]:
    """A of the deviations that matter, at each state (x, u, p)."""
    deviations = deviations_of(equations)
    x, u, p = (np.array([state[k] for state in states]) for k in range(3))
    jacobians = deviations.derivatives(0.0, x, u, p)
    naming: Naming | None = None
    found = []
    for i in range(len(states)):
        here = Jacobians(**{f.name: getattr(jacobians, f.name)[i : i + 1] for f in fields(Jacobians)})
        if naming is None or not _serves(naming, here):
            naming = deviations.choose(here)
        kept = [k for k, name in enumerate(naming.names) if name not in ignorable]
        found.append(naming.matrices(here)[0][0][np.ix_(kept, kept)])
    return found


def _serves(naming: Naming, here: Jacobians) -> bool:
    square = np.concatenate([here.constraints[0][list(naming.rows)], here.names[0][list(naming.chosen)]])
    return bool(np.linalg.cond(square) < FAR)


def eigenvalues(matrix: Array) -> Complex:
    """Sorted by real part, then by imaginary part."""
    values = np.linalg.eigvals(matrix).astype(complex)
    return np.asarray(values[np.lexsort((values.imag, values.real))])


def neutral_count(spectra: Sequence[Complex]) -> int:
    """How many eigenvalues are zero all along a branch."""
    return min((int(np.count_nonzero(np.abs(s) <= ZERO * max(np.abs(s).max(), 1e-300))) for s in spectra if len(s)), default=0)


def identifiability(spectrum: Complex, neutral: int) -> Complex:
    """The eigenvalues that tell stability: without those that are zero everywhere."""
    return np.asarray(spectrum[np.sort(np.argsort(np.abs(spectrum))[neutral:])])


def unstable_count(spectrum: Complex, neutral: int) -> int:
    """How many modes grow."""
    reported = identifiability(spectrum, neutral)
    return int(np.count_nonzero(reported.real > GROWS * np.abs(reported).max(initial=1e-300)))


def product(spectrum: Complex, neutral: int) -> float:
    """The coefficient of λ^neutral of the characteristic polynomial, up to its sign: the product of the eigenvalues that tell
    stability, in a form that stays smooth where one of them meets those that are zero everywhere."""
    size = max(float(np.abs(spectrum).max(initial=0.0)), 1e-300)
    coefficients = np.poly(spectrum / size)
    return float(np.real(coefficients[len(spectrum) - neutral]))
