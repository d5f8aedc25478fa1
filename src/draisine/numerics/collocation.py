"""Tables of collocation methods: nodes of Gauss and Radau, Runge–Kutta matrices, Lagrange polynomials and quadrature on [0, 1].

E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, section IV.5.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@cache
def _gauss(stages: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's quadrature on [0, 1]."""
    from numpy.polynomial import legendre  # imported when a scheme is worked out: most runs need none

    nodes, weights = legendre.leggauss(stages)
    return 0.5 + 0.5 * nodes, 0.5 * weights


def gauss_nodes(stages: int) -> Array:
    """Zeros of the Legendre polynomial, moved to [0, 1]."""
    return _gauss(stages)[0].copy()


def radau_nodes(stages: int) -> Array:
    """1 and the zeros of (P_s − P_{s−1})/(x − 1), moved to [0, 1]."""
    from numpy.polynomial import legendre

    difference = np.zeros(stages + 1)
    difference[stages], difference[stages - 1] = 1.0, -1.0
    inner = np.sort(legendre.legroots(difference).real)[:-1]
    slope = legendre.legder(difference)
    for _ in range(3):  # the roots of a companion matrix have lost some digits
        inner = inner - legendre.legval(inner, difference) / legendre.legval(inner, slope)
    return np.append(0.5 + 0.5 * inner, 1.0)


def runge_kutta_matrix(nodes: Array) -> tuple[Array, Array]:
    """A and b of collocation: Σ_j a_ij c_j^(k−1) = c_i^k / k, Σ_j b_j c_j^(k−1) = 1/k; exact but for the nodes' own rounding."""
    exact = [Fraction(float(c)) for c in nodes]
    powers = [[c**k for c in exact] for k in range(len(exact))]
    rows = [_solve(powers, [end ** (k + 1) / (k + 1) for k in range(len(exact))]) for end in (*exact, Fraction(1))]
    return np.array([[float(a) for a in row] for row in rows[:-1]]), np.array([float(a) for a in rows[-1]])


def _solve(matrix: list[list[Fraction]], side: list[Fraction]) -> list[Fraction]:
    """Gauss's elimination in rational numbers, with pivoting: the first node may be zero."""
    rows = [[*row, value] for row, value in zip(matrix, side, strict=True)]
    for k in range(len(rows)):
        best = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[best] = rows[best], rows[k]
        pivot = rows[k]
        for i, row in enumerate(rows):
            if i != k and row[k]:
                factor = row[k] / pivot[k]
                rows[i] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


# ---------------------------------------------------------------- polynomials


def lagrange(nodes: Array, at: Array) -> Array:
    """Values at points of the polynomials that are one at one of the nodes and zero at the others: (points, nodes)."""
    gaps = nodes[:, None] - nodes + np.eye(len(nodes))
    factors = (at[:, None, None] - nodes) / gaps  # (points, basis, other)
    factors[:, np.arange(len(nodes)), np.arange(len(nodes))] = 1.0
    return np.asarray(factors.prod(axis=2))


def lagrange_derivatives(nodes: Array, at: Array) -> Array:
    """Their derivatives: (points, nodes)."""
    n = len(nodes)
    total = np.zeros((len(at), n))
    for k in range(n):
        for m in range(n):
            if m != k:
                others = [j for j in range(n) if j not in (k, m)]
                total[:, k] += np.prod((at[:, None] - nodes[others]) / (nodes[k] - nodes[others]), axis=1) / (nodes[k] - nodes[m])
    return total


def lagrange_integrals(nodes: Array, at: Array) -> Array:
    """Their integrals from 0 to points: (points, nodes)."""
    inner, weights = _gauss(len(nodes) // 2 + 1)
    values = lagrange(nodes, np.outer(at, inner).ravel()).reshape(len(at), len(inner), len(nodes))
    return np.asarray(at[:, None] * np.einsum("q,pqn->pn", weights, values))


def quadrature(nodes: Array) -> Array:
    """Weights at the nodes of the rule on [0, 1] that is exact for polynomials through them."""
    return lagrange_integrals(nodes, np.ones(1))[0]


def gauss_kronrod() -> tuple[Array, Array, Array]:
    """Seven nodes in (−1, 1), Kronrod's weights, and those of Gauss's three nodes, which are zero at Kronrod's own.

    The own nodes are zeros of Stieltjes's polynomial x⁴ − 10/9 x² + 155/891, orthogonal to P₃ times all cubics.
    """
    root = np.sqrt(100 / 81 - 620 / 891)
    outer, inner, gauss = np.sqrt((10 / 9 + root) / 2), np.sqrt((10 / 9 - root) / 2), np.sqrt(0.6)
    nodes = np.array([-outer, -gauss, -inner, 0.0, inner, gauss, outer])
    powers = np.vander(nodes, increasing=True).T
    moments = np.array([2 / (k + 1) if k % 2 == 0 else 0.0 for k in range(7)])
    return nodes, np.linalg.solve(powers, moments), np.array([0.0, 5 / 9, 0.0, 8 / 9, 0.0, 5 / 9, 0.0])


def monomial_coefficients(nodes: Array) -> Array:
    """Coefficients of 1, s, s², … in rows, of the polynomial through values at the nodes in columns."""
    return np.asarray(np.linalg.inv(np.vander(nodes, increasing=True)))
