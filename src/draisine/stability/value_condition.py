"""How well a critical value is known, where its modes are sensitive to rounding.

Errors E of the entries of A move the value at which an eigenvalue λ with left and right vectors w and v is critical by
|w|ᵀ|E||v| / |wᵀA′v|, to first order: also where two modes meet at zero, and λ itself is known to half its digits only. It is
large where λ hardly changes though A does, as in nearly defective machines. Farther away than the real parts are larger than
their own errors it cannot be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.spectrum import INDEPENDENT, SAFETY, Spectrum, entry_errors
from draisine.stability.bracket_solver import BEGINS, ENDS, Event
from draisine.stability.critical_gradient import CriticalCondition
from draisine.stability.crossings import Matrices
from draisine.stability.zones import THIN

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_DISTANCES = 32
_STEP = 1e-3  # of the derivative of A, relative to the sampling


def known(matrices: Matrices, events: list[Event], zeros: int, width: float, limits: tuple[float, float]) -> list[Event]:
    """Events with the uncertainties of their values. One at which a mode only ceases or begins to be neutral is none where
    rounding moves its value by more than the distance of samples: its real part does not reach zero there, but what rounding
    can do has changed."""
    found = []
    for event in events:
        least = THIN * max(width, abs(event.value))  # below this a value is known
        if event.uncertainty > least or not np.isfinite(event.eigenvalue):
            found.append(event)
            continue
        alike = sum(abs(e.value - event.value) <= THIN * width and e.eigenvalue == event.eigenvalue for e in events)
        within = _movement(matrices, event, zeros, alike, width, limits)
        if event.change == 0 and event.kind not in (BEGINS, ENDS) and within > width:
            continue
        if within <= least:
            found.append(replace(event, uncertainty=0.0))
        else:
            found.append(replace(event, uncertainty=min(within, _hidden(matrices, event.value, width, limits))))
    return found


def _hidden(matrices: Matrices, value: float, width: float, limits: tuple[float, float]) -> float:
    """The distance from a value at which rounding hides no more signs of real parts than farther away: also where several modes
    meet in one shape, and first order says nothing."""
    found = 0.0
    for side in (-1.0, 1.0):
        distances = np.geomspace(THIN * max(width, abs(value)), width, _DISTANCES)
        distances = distances[(value + side * distances >= limits[0]) & (value + side * distances <= limits[1])]
        if not len(distances):
            continue
        neutral = matrices.spectrum(value + side * distances).signatures[:, 4:].sum(axis=1)
        more = np.flatnonzero(neutral > neutral.min())
        found = max(found, float(distances[min(more[-1] + 1, len(distances) - 1) if len(more) else 0]))
    return found


def _movement(matrices: Matrices, event: Event, zeros: int, alike: int, width: float, limits: tuple[float, float]) -> float:
    """How far rounding moves the value of an event, of so many with one eigenvalue."""
    low, high = max(event.value - _STEP * width, limits[0]), min(event.value + _STEP * width, limits[1])
    every = matrices(np.array([event.value, low, high]))
    if not np.isfinite(every).all() or not high > low:
        return 0.0
    a, slope = every[0], (every[2] - every[1]) / (high - low)
    errors = SAFETY * entry_errors(a[None], matrices.floor, (np.abs(a) + width * np.abs(slope))[None])[0][0]  # rows may vanish
    if zeros and alike == 1 and not event.eigenvalue:  # one that always is zero may have the same vectors
        sensitivity = CriticalCondition(a, 0j, zeros).matrix
        return float((np.abs(sensitivity) * errors.T).sum() / max(abs(np.trace(sensitivity @ slope)), 1e-300))
    spectrum = Spectrum.of(a[None], matrices.floor)
    distance = np.abs(spectrum.values[0] - event.eigenvalue)
    own = distance <= np.maximum(2.0 * spectrum.errors[0], distance.min())
    right, left = _parted(spectrum.right[0][:, own], spectrum.left[0][:, own], slope)
    moved = (np.abs(left) * (errors @ np.abs(right))).sum(axis=0)
    change = np.einsum("si,st,ti->i", left, slope, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        if event.eigenvalue.imag and np.count_nonzero(own) == 1:  # only the real part is to vanish
            product = (left * right).sum(axis=0)
            change = (change / product).real * np.abs(product)
        ratios = np.sort(moved / np.abs(change))
    return float(ratios[min(alike, len(ratios)) - 1])


def _parted(right: Complex, left: Complex, slope: Array) -> tuple[Complex, Complex]:
    """Vectors (states, modes) of modes with one eigenvalue, which are any of their space, made those that part from each other:
    eigenvectors of the slope in it. As they are where the eigenvalue is defective."""
    product = left.T @ right
    size = np.abs(left).max(axis=0) * np.abs(right).max(axis=0)
    if len(product) < 2 or not (np.abs(np.diag(product)) * INDEPENDENT > size).all():
        return right, left
    left = left @ np.linalg.inv(product).T
    _, turned = np.linalg.eig(left.T @ slope @ right)
    if np.linalg.cond(turned) > INDEPENDENT:
        return right, left
    return right @ turned, left @ np.linalg.inv(turned).T
