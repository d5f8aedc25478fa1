"""Critical values: where a mode gains or loses stability, and where two real modes meet and begin to oscillate.

A sweep brackets them; then each is solved for on the exact linear model: det A = 0 for a real mode, Re λ = 0 for a pair, and
p(λ) = p′(λ) = 0 for a double root of the characteristic polynomial, since eigenvalues there carry only half the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.stability.family import Family

Array = NDArray[np.float64]

Matrix = Callable[[float], Array]  # A at a value of the swept quantity

EXACTLY = 4e-16
_NEAR_ZERO = 1e-9
_BEGINS = "oscillation begins"


@dataclass(frozen=True)
class Critical:
    """A critical value of `over`: what happens there, the eigenvalue (for a pair the one above the axis), and the shape."""

    kind: str
    over: str
    value: float
    eigenvalue: complex
    family: Family = field(repr=False, compare=False)

    def gradient(self) -> dict[str, float]:
        """∂value/∂parameter for every parameter of the model, by differences of the value itself to about nine digits."""
        return {name: _slope(self, name) for name in self.family._parameters}

    def as_data(self) -> dict[str, Any]:
        return {"kind": self.kind, self.over: self.value, "re": self.eigenvalue.real, "im": self.eigenvalue.imag}


def critical_values(family: Family, over: str, values: Array, matrices: Array) -> list[Critical]:
    """All critical values between the points of a sweep."""
    found: list[Critical] = []
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    for i, j in pairwise(good.tolist()):
        if j != i + 1:
            continue
        low, high = float(values[i]), float(values[j])
        for kind, test, solve in (
            (_real_kind, _determinant, _real_root),
            (_pair_kind, _pair_growth, _pair_root),
            (_meeting_kind, _meeting, _double_root),
        ):
            ends = test(matrices[i]), test(matrices[j])
            if np.isfinite(ends).all() and ends[0] * ends[1] < 0:
                place = solve(lambda s: family.matrices(np.array([[s]])).A[0], low, high)
                if place is not None:
                    found.append(Critical(kind(family, place[1]), over, *place, family))
    return sorted(found, key=lambda c: c.value)


# ---------------------------------------------------------------- what is looked for


def _determinant(a: Array) -> float:
    """Zero where a real eigenvalue passes through zero."""
    return float(np.linalg.det(a))


def _pair_growth(a: Array) -> float:
    """The product of sums of all pairs of eigenvalues, zero where a pair passes the imaginary axis (or where two real ones are
    opposite, which is told apart later)."""
    eigenvalues = np.linalg.eigvals(a)
    k = len(eigenvalues)
    product = 1.0 + 0j
    for i in range(k):
        for j in range(i):
            product *= eigenvalues[i] + eigenvalues[j]
    return float(product.real)


def _meeting(a: Array) -> float:
    """The discriminant's sign: it changes where two real eigenvalues become a pair."""
    eigenvalues = np.linalg.eigvals(a)
    product = 1.0 + 0j
    for i in range(len(eigenvalues)):
        for j in range(i):
            product *= (eigenvalues[i] - eigenvalues[j]) ** 2
    return float(product.real)


def _real_kind(family: Family, eigenvalue: complex) -> str:
    return "capsize" if {"lean", "steer"} <= set(family.states) else "a mode passes zero"


def _pair_kind(family: Family, eigenvalue: complex) -> str:
    return "weave" if {"lean", "steer"} <= set(family.states) else "an oscillation passes the axis"


def _meeting_kind(family: Family, eigenvalue: complex) -> str:
    return _BEGINS


# ---------------------------------------------------------------- solving


def _real_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    value = _bisect(lambda s: _determinant(matrix(s)), low, high)
    eigenvalues = np.linalg.eigvals(matrix(value))
    return value, complex(eigenvalues[np.argmin(np.abs(eigenvalues))])


def _pair_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """The pair nearest to the axis; None if two real eigenvalues are merely opposite there."""
    value = _bisect(lambda s: _pair_growth(matrix(s)), low, high)

    def pair(s: float) -> complex:
        eigenvalues = np.linalg.eigvals(matrix(s))
        swinging = eigenvalues[eigenvalues.imag > _NEAR_ZERO * np.abs(eigenvalues).max()]
        return complex(swinging[np.argmin(np.abs(swinging.real))]) if len(swinging) else complex(np.nan)

    here = pair(value)
    if not np.isfinite(here.real) or abs(here.real) > 1e-6 * max(abs(here), 1.0):
        return None
    # the product of all sums loses digits; the real part itself does not
    width = max(1e-6 * max(abs(value), 1.0), 1e-3 * (high - low))
    a, b = max(low, value - width), min(high, value + width)
    if pair(a).real * pair(b).real < 0:
        value = _bisect(lambda s: pair(s).real, a, b)
    return value, complex(0.0, pair(value).imag)


def _double_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """p = p′ = 0 in (λ, value), by Newton's method from where the discriminant vanishes."""
    value = _bisect(lambda s: _meeting(matrix(s)), low, high)
    eigenvalues = np.linalg.eigvals(matrix(value))
    gaps = [(abs(p - q), (p + q) / 2) for i, p in enumerate(eigenvalues) for q in eigenvalues[:i]]
    root = complex(min(gaps, key=lambda g: g[0])[1])
    if abs(root.imag) > 1e-6 * max(abs(root), 1.0):
        return None
    point = np.array([root.real, value])

    def conditions(at: Array) -> Array:
        p = np.poly1d(_polynomial(matrix(float(at[1]))))
        return np.array([p(at[0]), p.deriv()(at[0])])

    for _ in range(20):
        steps = 1e-6 * np.maximum(np.abs(point), 1e-3)
        jacobian = np.array(
            [(conditions(point + d) - conditions(point - d)) / (2 * s) for s, d in zip(steps, np.diag(steps), strict=True)]
        ).T
        change = np.linalg.solve(jacobian, conditions(point))
        point = point - change
        if np.abs(change).max() <= 1e-14 * max(np.abs(point).max(), 1.0):
            break
    return float(point[1]), complex(point[0])


def _polynomial(a: Array) -> Array:
    """Coefficients of det(λ − A), highest first, by Faddeev and LeVerrier: no eigenvalues, no half digits."""
    k = len(a)
    coefficients = [1.0]
    m = np.zeros_like(a)
    for j in range(1, k + 1):
        m = a @ m + coefficients[-1] * np.eye(k)
        coefficients.append(-float(np.trace(a @ m)) / j)
    return np.array(coefficients)


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    if function(low) == 0.0:
        return low
    return float(brentq(function, low, high, xtol=1e-300, rtol=8 * EXACTLY, maxiter=200))


def _slope(critical: Critical, name: str) -> float:
    """Central difference with one extrapolation; the value is solved for anew at each shifted parameter."""
    family = critical.family
    if name == critical.over:
        return 0.0
    default = float(family.base.p[family._parameters.index(name)])
    step = 1e-3 * max(abs(default), 1e-2)
    both = family.along(critical.over, critical.value, name)
    solve = _double_root if critical.kind == _BEGINS else _pair_root if critical.eigenvalue.imag else _real_root
    width = 0.02 * max(abs(critical.value), 0.1)

    def moved(amount: float) -> float:
        found = solve(
            lambda s: both.matrices(np.array([[s, default + amount]])).A[0], critical.value - width, critical.value + width
        )
        return found[0] if found else float("nan")

    coarse = (moved(step) - moved(-step)) / (2 * step)
    fine = (moved(step / 2) - moved(-step / 2)) / step
    return float((4 * fine - coarse) / 3)
