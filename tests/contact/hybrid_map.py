"""Walkers without contact machinery: smooth flow, guard, reset; return maps, fixed points and multipliers by complex steps.

A second program beside `judge_event`, in minimal coordinates (the stance foot is a pin): flow and reset are written by hand,
DOP853 integrates complex columns, so the derivative of the return map has the accuracy of the map.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853
from scipy.optimize import brentq

Array = NDArray[Any]
STEP = 1e-40


@dataclass(frozen=True)
class Hybrid:
    """ẏ = rates(y) until guard(y) goes from positive to negative where `counts(y)`; then y⁺ = reset(y).

    `embed` takes the coordinates of the section (just after a reset) to a state, `extract` back. All accept columns.
    """

    rates: Callable[[Array], Array]
    guard: Callable[[Array], Array]
    reset: Callable[[Array], Array]
    embed: Callable[[Array], Array]
    extract: Callable[[Array], Array]
    counts: Callable[[Array], bool]

    def stride(self, z: Array, limit: float = 20.0) -> tuple[Array, float, Array]:
        """Section coordinates after one stride, its time, and the state before the reset, for columns of z."""
        columns = self.embed(z.astype(complex))
        size, many = columns.shape

        def flat(t: float, y: Array) -> Array:
            return self.rates(y.reshape(size, many)).ravel()

        stepper = DOP853(flat, 0.0, columns.ravel(), limit, rtol=1e-13, atol=1e-15, max_step=0.1 * limit)
        positive = False
        while stepper.status == "running":
            start, begin = stepper.t, stepper.y.copy()
            stepper.step()
            dense = stepper.dense_output()

            def value(t: float, dense: Any = dense) -> float:
                return float(self.guard(dense(t).reshape(size, many)[:, 0]).real)

            grid = np.linspace(start, stepper.t, 9)
            for a, b in itertools.pairwise(grid):
                positive = positive or value(a) > 1e-9
                if positive and value(b) <= 0:
                    positive = False
                    if self.counts(dense(b).reshape(size, many)[:, 0].real):
                        time = float(brentq(value, a, b, xtol=1e-15, rtol=1e-14))
                        return self._ended(flat, start, begin, time, (size, many))
        raise RuntimeError("no stride: the guard is not reached")

    def _ended(self, flat: Any, start: float, begin: Array, time: float, shape: tuple[int, int]) -> tuple[Array, float, Array]:
        """Integration to the event, then Newton steps on time, each column with its own (complex) time."""
        stepper = DOP853(flat, start, begin, time, rtol=1e-13, atol=1e-15)
        while stepper.status == "running":
            stepper.step()
        y = stepper.y.reshape(shape)
        shift = np.zeros(shape[1], dtype=complex)
        for _ in range(3):
            rates = self.rates(y)
            ahead = self.guard(y + 1e-7 * rates), self.guard(y - 1e-7 * rates)
            delta = -self.guard(y) / ((ahead[0] - ahead[1]) / 2e-7)
            y, shift = y + rates * delta, shift + delta
        return self.extract(self.reset(y)), time + float(shift[0].real), y[:, 0].real

    def jacobian(self, z: Array) -> tuple[Array, Array, float, Array]:
        """Map, its Jacobian, the time of the stride and the state before the reset."""
        mapped, time, before = self.stride(z[:, None] + 1j * STEP * np.eye(len(z)))
        return mapped[:, 0].real, mapped.imag / STEP, time, before

    def fixed_point(self, guess: Any) -> tuple[Array, Array, float, Array]:
        """Fixed point, multipliers (largest first), period and the state before the reset, by Newton's method."""
        z = np.array(guess, dtype=float)
        for _ in range(12):
            mapped, J, time, before = self.jacobian(z)
            change = np.linalg.solve(J - np.eye(len(z)), z - mapped)
            z = z + change
            if np.abs(change).max() < 1e-13:
                values = np.linalg.eigvals(J)
                return z, values[np.argsort(-np.abs(values))], time, before
        raise RuntimeError("Newton's method for the fixed point has not converged")


def simplest_walker(slope: float) -> Hybrid:
    """Garcia et al. 1998: y = (θ, θ̇, φ, φ̇), section (θ, θ̇)."""

    def rates(y: Array) -> Array:
        th, om, phi, w = y
        s, c = np.sin(th - slope), np.cos(th - slope)
        return np.array([om, s, w, s + np.sin(phi) * (om * om - c)])

    def reset(y: Array) -> Array:
        c = np.cos(2 * y[0])
        return np.array([-y[0], c * y[1], -2 * y[0], c * (1 - c) * y[1]])

    def embed(z: Array) -> Array:
        return np.array([z[0], z[1], 2 * z[0], (1 - np.cos(2 * z[0])) * z[1]])

    return Hybrid(rates, lambda y: 2 * y[0] - y[2], reset, embed, lambda y: y[:2], lambda y: y[2] < 0)


def compass(hip: float, leg: float, center: float, slope: float, g: float, length: float = 1.0) -> Hybrid:
    """Two legs with a point mass `center` below the hip: y = (stance, swing, rates), angles from the normal of the slope."""
    coupling = leg * center * length
    M11, M22 = leg * (length - center) ** 2 + (hip + leg) * length**2, leg * center**2

    def rates(y: Array) -> Array:
        a, b, va, vb = y
        M12, turn = -coupling * np.cos(a - b), coupling * np.sin(a - b)
        ra = turn * vb * vb + g * (leg * (length - center) + (hip + leg) * length) * np.sin(a - slope)
        rb = -turn * va * va - g * leg * center * np.sin(b - slope)
        det = M11 * M22 - M12 * M12
        return np.array([va, vb, (M22 * ra - M12 * rb) / det, (M11 * rb - M12 * ra) / det])

    def reset(y: Array) -> Array:
        columns = [_landing(hip, leg, center, length, column)[0] for column in np.atleast_2d(y.T)]
        return np.array(columns).T if y.ndim == 2 else columns[0]

    return Hybrid(
        rates,
        lambda y: y[0] + y[1],
        reset,
        lambda z: np.array([z[0], -z[0], z[1], z[2]]),
        lambda y: np.array([y[0], y[2], y[3]]),
        lambda y: y[0] < 0,
    )


def _landing(hip: float, leg: float, center: float, length: float, y: Array) -> tuple[Array, Array, float]:
    """Plastic landing of the swing foot without slip, the other foot free: new y, impulse, normal velocity of the other."""
    a, b, va, vb = y
    M = np.zeros((4, 4), dtype=complex)
    M[0, 0] = M[1, 1] = hip + 2 * leg
    for i, angle in ((2, a), (3, b)):
        M[0, i] = M[i, 0] = leg * center * np.cos(angle)
        M[1, i] = M[i, 1] = leg * center * np.sin(angle)
        M[i, i] = leg * center**2
    v = np.array([-length * np.cos(a) * va, -length * np.sin(a) * va, va, vb])
    W = np.array([[1, 0, 0, length * np.cos(b)], [0, 1, 0, length * np.sin(b)]])
    inverse = np.linalg.inv(M)
    impulse = -np.linalg.solve(W @ inverse @ W.T, W @ v)
    v = v + inverse @ W.T @ impulse
    return np.array([b, a, v[3], v[2]]), impulse.real, float((v[1] + length * np.sin(a) * v[2]).real)


def landing(hip: float, leg: float, center: float, y: Array, length: float = 1.0) -> tuple[Array, float]:
    """Impulse on the landing foot (along, normal) and normal velocity of the trailing foot after it."""
    return _landing(hip, leg, center, length, y)[1:]


def rimless(spokes: int, slope: float, inertia: float, g: float, length: float = 1.0) -> Hybrid:
    """Rimless wheel with hub mass 1: y = (angle of the stance spoke, rate); section: rate."""
    a = np.pi / spokes
    whole = inertia + length**2
    ratio = (inertia + length**2 * np.cos(2 * a)) / whole
    return Hybrid(
        lambda y: np.array([y[1], g * length / whole * np.sin(y[0] - slope)]),
        lambda y: y[0] + a,
        lambda y: np.array([y[0] + 2 * a, ratio * y[1]]),
        lambda z: np.array([a + 0 * z[0], z[0]]),
        lambda y: y[1:2],
        lambda y: True,
    )


def housner(p: float, alpha: float) -> Hybrid:
    """Housner's linear block: y = (θ ≥ 0, rate), flown from one impact to the next; the side changes, so θ stays positive."""
    ratio = 1 - 1.5 * np.sin(alpha) ** 2
    return Hybrid(
        lambda y: np.array([y[1], p * p * (y[0] - alpha)]),
        lambda y: y[0],
        lambda y: np.array([0 * y[0], -ratio * y[1]]),
        lambda z: np.array([z[0], z[1]]),
        lambda y: y,
        lambda y: True,
    )
