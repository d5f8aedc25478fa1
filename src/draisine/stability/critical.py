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

from draisine.numerics.newton import Newton, square_step
from draisine.numerics.root_finding import bracketed_root
from draisine.stability.routh import characteristic
from draisine.stability.steady_family import Family

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
        """∂value/∂parameter for every parameter of the model, exact, whatever else is fixed held.

        The steady motion follows the parameter; a parameter that is the swept quantity itself has slope zero.
        """
        a, over, jacobians = self.family.derivatives(np.array([self.value]))

        def change(along: Array) -> float:
            return _change(a, self.eigenvalue, along, self.kind)

        against = change(over[0])
        return {name: -change(slope) / against if name != self.over else 0.0 for name, slope in jacobians.items()}

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
            (_meeting_kind, _meeting, _double_root),
        ):
            ends = test(matrices[i]), test(matrices[j])
            # zero counts as positive, so that a critical value on a point of the sweep is met once
            if np.isfinite(ends).all() and (ends[0] < 0) != (ends[1] < 0):
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
    value = bracketed_root(lambda s: _determinant(matrix(s)), low, high)
    eigenvalues = np.linalg.eigvals(matrix(value))
    return value, complex(eigenvalues[np.argmin(np.abs(eigenvalues))])


def _pair_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """The pair nearest to the axis; None if two real eigenvalues are merely opposite there."""
    value = bracketed_root(lambda s: _pair_growth(matrix(s)), low, high)

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
        value = bracketed_root(lambda s: pair(s).real, a, b)
    return value, complex(0.0, pair(value).imag)


def _double_root(matrix: Matrix, low: float, high: float) -> tuple[float, complex] | None:
    """p = p′ = 0 in (λ, value), by Newton's method from where the discriminant vanishes."""
    value = bracketed_root(lambda s: _meeting(matrix(s)), low, high)
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
    """What must stay zero at a critical value, differentiated along a change of A.

    A simple eigenvalue: dλ = wᴴ dA v / wᴴ v. A double root: the polynomial itself, since p′ = 0 leaves λ free to first order; its
    change at constant λ is −tr(adj(λ − A) dA), in which nothing is divided by what vanishes.
    """
    if kind == _BEGINS:
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
