"""Polynomials on [0, 1] by their values at Chebyshev–Lobatto nodes and by their Bernstein coefficients, which bound them.

A polynomial lies between its smallest and its largest Bernstein coefficient, it has no more zeros than its coefficients have sign
changes, and it is monotone where they are: R. T. Farouki, "The Bernstein polynomial basis: a centennial retrospective", Computer
Aided Geometric Design 29 (2012) 379–419.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BernsteinBasis:
    """Matrices for the values v of a polynomial at `nodes`.

    >>> basis = bernstein_basis(3)
    >>> (basis.coefficients @ basis.nodes**3).round(12).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    nodes: Array  # (c) in [0, 1], both ends included
    coefficients: Array  # (c, c): coefficients = this · v
    tail: Array  # (3, c): the last three Chebyshev coefficients = this · v
    noise: float  # rounding error of the coefficients for |v| ≤ 1


@lru_cache(maxsize=16)
def bernstein_basis(degree: int) -> BernsteinBasis:
    """The matrices of polynomials up to a degree; beyond 16 rounding errors are large."""
    angles = np.pi * np.arange(degree + 1) / degree
    nodes = np.sin(0.5 * angles) ** 2
    rows = [[comb(degree, j) * t**j * (1.0 - t) ** (degree - j) for j in range(degree + 1)] for t in nodes]
    coefficients = np.linalg.inv(np.array(rows))
    ends = np.ones(degree + 1)
    ends[0] = ends[-1] = 0.5
    orders = np.arange(max(1, degree - 2), degree + 1)
    tail = 2.0 / degree * np.cos(np.outer(orders, angles)) * ends
    tail[-1] *= 0.5
    noise = 8.0 * np.finfo(float).eps * float(np.abs(coefficients).sum(axis=1).max())
    return BernsteinBasis(nodes, np.ascontiguousarray(coefficients), np.ascontiguousarray(tail), noise)
