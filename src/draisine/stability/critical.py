"""Critical values: where a mode gains or loses stability, and where two real modes become an oscillation.

A sweep brackets them; then each is solved on the exact linear model: det A = 0 for a real mode, Re λ = 0 for a pair, and
p(λ) = p′(λ) = 0 for a double root of the characteristic polynomial, where eigenvalues have only half their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton import Newton, square_step
from draisine.numerics.root_finding import bracketed_root
from draisine.stability.routh import characteristic
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]

Matrix = Callable[[float], Array]  # A at a value of the swept quantity

_NEAR_ZERO = 1e-9
_OSCILLATION_BEGINS = "oscillation begins"


@dataclass(frozen=True)
class Critical:
    """A critical value of `over`: its kind, and the eigenvalue (of a pair the one with positive imaginary part)."""

    kind: str
    over: str
    value: float
    eigenvalue: complex
    family: Family = field(repr=False, compare=False)

    def gradient(self) -> dict[str, float]:
        """Exact ∂value/∂parameter for every parameter of the model, with all other fixed quantities constant.

        The steady motion follows the parameter; the derivative by the swept quantity itself is zero.
        """
        a, over, gradients = self.family.derivatives(np.array([self.value]))

        def change(along: Array) -> float:
            return _change(a, self.eigenvalue, along, self.kind)

        against = change(over[0])
        return {name: -change(slope) / against if name != self.over else 0.0 for name, slope in gradients.items()}

    def as_data(self) -> dict[str, Any]:
        return {"kind": self.kind, self.over: self.value, "re": self.eigenvalue.real, "im": self.eigenvalue.imag}


def critical_values(family: Family, over: str, values: Array, matrices: Array) -> list[Critical]:
    """All critical values between the points of a sweep."""
    found: list[Critical] = []
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    for i, j in pairwise(good.tolist()):
        if j != i + 1:
            continue
        low, high = sorted((float(values[i]), float(values[j])))
        for kind, test, solve in (
            (_real_kind, _determinant, _real_root),
            (_pair_kind, _pair_growth, _pair_root),
            (_double_root_kind, _discriminant, _double_root),
        ):
            ends = test(matrices[i]), test(matrices[j])
            # zero counts as positive, so that a critical value on a point of the sweep is found once
            if np.isfinite(ends).all() and (ends[0] < 0) != (ends[1] < 0):
                root = solve(lambda s: family.matrices(np.array([[s]])).A[0], low, high)
                if root is not None:
                    found.append(Critical(kind(family, root[1]), over, *root, family))
    return sorted(found, key=lambda c: c.value)


# ---------------------------------------------------------------- test functions


def _determinant(a: Array) -> float:
    """Zero where a real eigenvalue is zero."""
    return float(np.linalg.det(a))


def _pair_growth(a: Array) -> float:
    """The product of the sums of all pairs of eigenvalues: zero where a pair crosses the imaginary axis, or where two real
    eigenvalues are opposite (`_pair_root` distinguishes these)."""
    eigenvalues = np.linalg.eigvals(a)
    k = len(eigenvalues)
    product = 1.0 + 0j
    for i in range(k):
        for j in range(i):
            product *= eigenvalues[i] + eigenvalues[j]
    return float(product.real)


def _discriminant(a: Array) -> float:
    """The discriminant: it changes sign where two real eigenvalues become a pair."""
    eigenvalues = np.linalg.eigvals(a)
    product = 1.0 + 0j
    for i in range(len(eigenvalues)):
        for j in range(i):
            product *= (eigenvalues[i] - eigenvalues[j]) ** 2
    return float(product.real)


def _real_kind(family: Family, eigenvalue: complex) -> str:
    return "capsize" if {"lean", "steer"} <= set(family.states) else "a mode crosses zero"


def _pair_kind(family: Family, eigenvalue: complex) -> str:
    return "weave" if {"lean", "steer"} <= set(family.states) else "an oscillation crosses the axis"


def _double_root_kind(family: Family, eigenvalue: complex) -> str:
    return _OSCILLATION_BEGINS


# ---------------------------------------------------------------- solving


def _real_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    value = bracketed_root(lambda s: _determinant(matrix(s)), low, high)
    eigenvalues = np.linalg.eigvals(matrix(value))
    return value, complex(eigenvalues[np.argmin(np.abs(eigenvalues))])


def _pair_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """The pair nearest to the axis; None if two real eigenvalues are opposite."""
    value = bracketed_root(lambda s: _pair_growth(matrix(s)), low, high)

    def pair(s: float) -> complex:
        eigenvalues = np.linalg.eigvals(matrix(s))
        oscillating = eigenvalues[eigenvalues.imag > _NEAR_ZERO * np.abs(eigenvalues).max()]
        return complex(oscillating[np.argmin(np.abs(oscillating.real))]) if len(oscillating) else complex(np.nan)

    found = pair(value)
    if not np.isfinite(found.real) or abs(found.real) > 1e-6 * max(abs(found), 1.0):
        return None
    # the product of sums loses digits; the real part does not
    width = max(1e-6 * max(abs(value), 1.0), 1e-3 * (high - low))
    a, b = max(low, value - width), min(high, value + width)
    if pair(a).real * pair(b).real < 0:
        value = bracketed_root(lambda s: pair(s).real, a, b)
    return value, complex(0.0, pair(value).imag)


def _double_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """p = p′ = 0 in (λ, value), by Newton's method from the root of the discriminant."""
    value = bracketed_root(lambda s: _discriminant(matrix(s)), low, high)
    eigenvalues = np.linalg.eigvals(matrix(value))
    gaps = [(abs(p - q), (p + q) / 2) for i, p in enumerate(eigenvalues) for q in eigenvalues[:i]]
    root = complex(min(gaps, key=lambda g: g[0])[1])
    if abs(root.imag) > 1e-6 * max(abs(root), 1.0):
        return None
    point = np.array([root.real, value])

    def conditions(at: Array) -> Array:
        p = np.poly1d([1.0, *characteristic(matrix(float(at[1]))[None])[0]])
        return np.array([p(at[0]), p.deriv()(at[0])])

    def evaluate(at: Array) -> tuple[Array, Array]:
        steps = 1e-6 * np.maximum(np.abs(at), 1e-3)
        columns = [(conditions(at + d) - conditions(at - d)) / (2 * s) for s, d in zip(steps, np.diag(steps), strict=True)]
        return conditions(at), np.array(columns).T

    point = Newton(step_tolerance=1e-14, max_iterations=20).solve(evaluate, point, square_step).point.x
    return float(point[1]), complex(point[0])


# ---------------------------------------------------------------- gradients


def _change(a: Array, eigenvalue: complex, along: Array, kind: str) -> float:
    """The condition of a critical value, differentiated along a change of A.

    A simple eigenvalue: dλ = wᴴ dA v / wᴴ v. A double root: the polynomial itself, since p′ = 0 leaves λ free to first order; its
    change at constant λ is −tr(adj(λ − A) dA), which has no vanishing denominator.
    """
    if kind == _OSCILLATION_BEGINS:
        return -float(np.trace(_adjugate(a, eigenvalue.real) @ along))
    from scipy.linalg import eig

    values, left, right = eig(a, left=True)
    j = int(np.argmin(np.abs(values - eigenvalue)))
    w, v = left[:, j].conj(), right[:, j]
    return float(np.real((w @ along @ v) / (w @ v)))


def _adjugate(a: Array, root: float) -> Array:
    """adj(λ − A) = Σ λᵏ⁻ʲ Mⱼ with the matrices of Faddeev and LeVerrier."""
    k = len(a)
    coefficients = [1.0, *characteristic(a[None])[0]]
    m, total = np.zeros_like(a), np.zeros_like(a)
    for j in range(k):
        m = a @ m + coefficients[j] * np.eye(k)
        total = total * root + m
    return total
