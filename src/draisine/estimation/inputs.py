"""What a recorded input does between its samples: straight lines, or cubics without corners; held before and after them.

Values at any instant are linear in the samples. Within an interval they are a polynomial, told by its values at as many places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.runge_kutta import monomial_coefficients

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """A recorded input that goes straight from sample to sample; (column, noise) means the same."""

    column: str
    noise: float | str | None = None

    degree = 1
    reach = 0  # samples beside an instant on which what happens there depends

    def values(self, t: Reals, times: Reals, samples: Reals) -> Reals:
        """At instants t, from samples at `times`."""
        return np.interp(t, times, samples)


@dataclass(frozen=True)
class CubicInput:
    """A recorded input without corners, as a rider's torque is: cubics between samples, with slopes of parabolas through three.

    Straight lines take (ωh)²/12 of a sine away, cubics (ωh)⁴/80; they would follow jumps less well.

    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> round(float(CubicInput("torque").values(np.array([0.45]), t, t**2)[0]), 12)
    0.2025
    """

    column: str
    noise: float | str | None = None

    degree = 3
    reach = 1

    def values(self, t: Reals, times: Reals, samples: Reals) -> Reals:
        """At instants t, from samples at `times`."""
        h, rise = np.diff(times), np.diff(samples)
        secant = rise / h
        slope = np.concatenate([secant[:1], (secant[:-1] * h[1:] + secant[1:] * h[:-1]) / (h[1:] + h[:-1]), secant[-1:]])
        if len(times) > 2:  # at the ends the parabola's own slope
            slope[0], slope[-1] = 2.0 * secant[0] - slope[1], 2.0 * secant[-1] - slope[-2]
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(h) - 1)
        s = np.clip((t - times[k]) / h[k], 0.0, 1.0)
        first, last = slope[k] * h[k] - rise[k], -slope[k + 1] * h[k] + rise[k]
        return np.asarray(samples[k] + s * rise[k] + s * (1.0 - s) * (first * (1.0 - s) + last * s))


Between = Linear | CubicInput


def places(degree: int) -> Reals:
    """Where in an interval a polynomial is looked at: away from corners."""
    return (np.arange(degree + 1) + 0.5) / (degree + 1)


def coefficients(values: Reals) -> Reals:
    """Of s⁰, s¹, …, from values at `places`, the last axis."""
    return np.asarray(values @ monomial_coefficients(places(values.shape[-1] - 1)).T)
