"""Runge–Kutta and collocation methods: tableaux, explicit steps, nodes of Gauss and Radau, Lagrange polynomials, quadrature.

The compiled integrators (`simulation/stepper/explicit_rk.py`) and their adjoint (`optimal/adjoint/sweep.py`) have their own steps
in restricted Python, which work in preallocated memory.

E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, section IV.5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fractions import Fraction

Array = NDArray[np.float64]


class ExplicitTableau(NamedTuple):
    """Butcher tableau: X_i = x + h Σ_j a_ij k_j, k_i = f(t + c_i h, X_i), x⁺ = x + h Σ b_i k_i.

    `error` has rows of weights of k for error estimates.
    """

    order: int
    a: Array  # (stages, stages), strictly lower triangular
    b: Array  # (stages)
    c: Array  # (stages)
    error: Array | None = None

    @property
    def stages(self) -> int:
        return len(self.c)

    def step(self, f: Callable[[Array, Array], Array], t: Array | float, x: Array, h: Array | float) -> tuple[Array, Array]:
        """x⁺ and the rates of the stages (stages, *x.shape). For batches t and h have one number per sample.

        >>> import numpy as np
        >>> RK4.step(lambda t, x: -x, 0.0, np.ones(1), 0.1)[0].round(7).tolist()
        [0.9048375]
        """
        length = np.asarray(h)[..., None] if np.ndim(h) else h
        rates = np.empty((self.stages, *x.shape))
        rows = rates.reshape(self.stages, x.size)
        for i in range(self.stages):
            point = x if i == 0 else x + length * np.dot(self.a[i : i + 1, :i], rows[:i]).reshape(x.shape)
            rates[i] = f(np.asarray(t + self.c[i] * h), point)
        return x + length * np.dot(self.b[None], rows).reshape(x.shape), rates


# W. Kutta, "Beitrag zur näherungsweisen Integration totaler Differentialgleichungen", Z. Math. Phys. 46 (1901) 435–453.
RK4 = ExplicitTableau(
    order=4,
    a=np.array([[0.0, 0.0, 0.0, 0.0], [1 / 2, 0.0, 0.0, 0.0], [0.0, 1 / 2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
    b=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    c=np.array([0.0, 1 / 2, 1 / 2, 1.0]),
)


# ---------------------------------------------------------------- collocation


@cache
def _gauss(stages: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss quadrature on [0, 1]."""
    from numpy.polynomial import legendre  # most runs do not need it

    nodes, weights = legendre.leggauss(stages)
    return 0.5 + 0.5 * nodes, 0.5 * weights


def gauss_nodes(stages: int) -> Array:
    """Zeros of the Legendre polynomial, shifted to [0, 1]."""
    return _gauss(stages)[0].copy()


def gauss_weights(stages: int) -> Array:
    """Weights of Gauss's rule at `gauss_nodes`, which integrates polynomials of degree 2 s − 1 over [0, 1] without error.

    >>> nodes, weights = gauss_nodes(3), gauss_weights(3)
    >>> [round(float(weights @ nodes**k) * (k + 1), 12) for k in range(6)]
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return _gauss(stages)[1].copy()


def radau_nodes(stages: int) -> Array:
    """1 and the zeros of (P_s − P_{s−1})/(x − 1), shifted to [0, 1]."""
    from numpy.polynomial import legendre

    difference = np.zeros(stages + 1)
    difference[stages], difference[stages - 1] = 1.0, -1.0
    inner = np.sort(legendre.legroots(difference).real)[:-1]
    slope = legendre.legder(difference)
    for _ in range(3):  # Newton: eigenvalues of the companion matrix have lost some digits
        inner = inner - legendre.legval(inner, difference) / legendre.legval(inner, slope)
    return np.append(0.5 + 0.5 * inner, 1.0)


def runge_kutta_matrix(nodes: Array) -> tuple[Array, Array]:
    """A and b of collocation: Σ_j a_ij c_j^(k−1) = c_i^k / k, Σ_j b_j c_j^(k−1) = 1/k; exact for the rounded nodes."""
    from fractions import Fraction  # explicit methods need none

    exact = [Fraction(float(c)) for c in nodes]
    powers = [[c**k for c in exact] for k in range(len(exact))]
    rows = [_solve(powers, [end ** (k + 1) / (k + 1) for k in range(len(exact))]) for end in (*exact, Fraction(1))]
    return np.array([[float(a) for a in row] for row in rows[:-1]]), np.array([float(a) for a in rows[-1]])


def _solve(matrix: list[list[Fraction]], side: list[Fraction]) -> list[Fraction]:
    """Gaussian elimination in rational numbers, with pivoting, since the first node may be zero."""
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
    """Values of the Lagrange polynomials of the nodes: (points, nodes)."""
    gaps = nodes[:, None] - nodes + np.eye(len(nodes))
    factors = (at[:, None, None] - nodes) / gaps  # (points, basis, other)
    factors[:, np.arange(len(nodes)), np.arange(len(nodes))] = 1.0
    return np.asarray(factors.prod(axis=2))


def lagrange_derivatives(nodes: Array, at: Array) -> Array:
    """Derivatives of the Lagrange polynomials: (points, nodes)."""
    n = len(nodes)
    total = np.zeros((len(at), n))
    for k in range(n):
        for m in range(n):
            if m != k:
                others = [j for j in range(n) if j not in (k, m)]
                total[:, k] += np.prod((at[:, None] - nodes[others]) / (nodes[k] - nodes[others]), axis=1) / (nodes[k] - nodes[m])
    return total


def lagrange_integrals(nodes: Array, at: Array) -> Array:
    """Integrals of the Lagrange polynomials from 0 to points: (points, nodes)."""
    inner, weights = _gauss(len(nodes) // 2 + 1)
    values = lagrange(nodes, np.outer(at, inner).ravel()).reshape(len(at), len(inner), len(nodes))
    return np.asarray(at[:, None] * np.einsum("q,pqn->pn", weights, values))


def quadrature(nodes: Array) -> Array:
    """Weights of the interpolatory quadrature on [0, 1]."""
    return lagrange_integrals(nodes, np.ones(1))[0]


def gauss_kronrod() -> tuple[Array, Array, Array]:
    """Seven nodes in (−1, 1), Kronrod weights, and weights of the three embedded Gauss nodes, zero at the others.

    The additional nodes are zeros of the Stieltjes polynomial x⁴ − 10/9 x² + 155/891, orthogonal to P₃ times all cubics.
    """
    root = np.sqrt(100 / 81 - 620 / 891)
    outer, inner, gauss = np.sqrt((10 / 9 + root) / 2), np.sqrt((10 / 9 - root) / 2), np.sqrt(0.6)
    nodes = np.array([-outer, -gauss, -inner, 0.0, inner, gauss, outer])
    powers = np.vander(nodes, increasing=True).T
    moments = np.array([2 / (k + 1) if k % 2 == 0 else 0.0 for k in range(7)])
    return nodes, np.linalg.solve(powers, moments), np.array([0.0, 5 / 9, 0.0, 8 / 9, 0.0, 5 / 9, 0.0])


def monomial_coefficients(nodes: Array) -> Array:
    """The matrix from values at the nodes (columns) to coefficients of 1, s, s², … (rows) of the interpolating polynomial."""
    return np.asarray(np.linalg.inv(np.vander(nodes, increasing=True)))
