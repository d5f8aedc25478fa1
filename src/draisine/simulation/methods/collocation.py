"""Coefficients of collocation methods from their nodes.

E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, sections IV.5 (construction), IV.8
(transformation of the linear systems, error estimate).
"""

from __future__ import annotations

import numpy as np

from draisine.numerics.runge_kutta import runge_kutta_matrix
from draisine.simulation.methods.tableau import Array, Complex, ImplicitScheme, largest_difference, polynomial


def collocation_scheme(nodes: Array, order: int) -> ImplicitScheme:
    """The scheme of a collocation method; its last node is 1, or neither end is a node."""
    s = len(nodes)
    a, b = runge_kutta_matrix(nodes)
    inverse = np.asarray(np.linalg.inv(a), dtype=np.float64)
    stiffly_accurate = bool(nodes[-1] == 1.0)
    update = np.eye(s)[-1] if stiffly_accurate else b @ inverse
    real, pairs = _eigensystem(inverse)
    filter_value = float(real[0, 0]) if len(real) else float(np.abs(pairs[0, 0]))
    end_rate = inverse[-1] if stiffly_accurate else _derivative_at_one(nodes)
    dense, rough = _interpolants(nodes, inverse, update, stiffly_accurate)
    return ImplicitScheme(
        order=order,
        power=s + 1,
        coupled=True,
        nodes=nodes,
        weights=inverse,
        update=update,
        end_rate=end_rate,
        filter=filter_value,
        estimate=-filter_value * (_embedded(nodes, 1.0 / filter_value) @ inverse),
        dense=dense,
        rough=rough,
        mismatch=largest_difference(dense, rough),
        evaluates_end=not stiffly_accurate,
        real=real,
        pairs=pairs,
    )


def _eigensystem(inverse: Array) -> tuple[Array, Complex]:
    """(λ, left, right) for the real eigenvalue, if there is one, and for one of each complex pair."""
    values, right = np.linalg.eig(inverse.astype(complex))
    left = np.linalg.inv(right)
    # A step of Newton's method in extended precision: the matrices are far from normal, and five stages lose three digits.
    right, left = right.astype(np.clongdouble), left.astype(np.clongdouble)
    left = (2.0 * np.eye(len(values)) - left @ right) @ left
    rest = left @ inverse.astype(np.clongdouble) @ right
    apart = values[None, :] - values[:, None] + np.eye(len(values))
    right = (right + right @ (np.where(np.eye(len(values)) > 0, 0.0, rest) / apart)).astype(complex)
    values = np.diag(rest).astype(complex)
    left = np.linalg.inv(right)
    tilt = np.abs(values.imag) / np.abs(values)
    real = [np.concatenate([[values[k]], *_real_pair(left[k], right[:, k])]).real for k in np.flatnonzero(tilt < 1e-10)]
    pairs = [np.concatenate([[values[k]], left[k], right[:, k]]) for k in np.flatnonzero((tilt >= 1e-10) & (values.imag > 0.0))]
    width = 1 + 2 * len(inverse)
    return np.array(real).reshape(len(real), width), np.array(pairs, dtype=complex).reshape(len(pairs), width)


def _real_pair(left: Complex, right: Complex) -> tuple[Complex, Complex]:
    """Eigenvectors of a real eigenvalue, normalized to be real."""
    phase = right[int(np.argmax(np.abs(right)))]
    return left * phase, right / phase


def _embedded(nodes: Array, start_weight: float) -> Array:
    """b̂ − b of the quadrature formula of order s in which the rate at the start has the weight 1/μ: IV.8, eq. (8.19)."""
    s = len(nodes)
    side = np.zeros(s)
    side[0] = -start_weight
    return np.asarray(np.linalg.solve(np.vander(nodes, s, increasing=True).T, side), dtype=np.float64)


def _derivative_at_one(nodes: Array) -> Array:
    """The derivative at 1 of the polynomial through (0, 0) and (c_i, Z_i)."""
    points = np.concatenate([[0.0], nodes])
    jacobian = []
    for j in range(1, len(points)):
        others = np.delete(points, j)
        jacobian.append(np.polyval(np.polyder(np.poly(others)), 1.0) / np.prod(points[j] - others))
    return np.array(jacobian)


def _interpolants(nodes: Array, inverse: Array, update: Array, stiffly_accurate: bool) -> tuple[Array, Array]:
    """The collocation polynomial, and one of higher degree that also matches the rate at the start (and at the end).

    The rates at the nodes come from stages that are exact to O(h^(s+1)), so their integral gains an order.
    """
    s = len(nodes)
    z, start, end = np.eye(s, s + 2), np.eye(s + 2)[s], np.eye(s + 2)[s + 1]
    inner = [(float(c), True, row) for c, row in zip(nodes, inverse @ z, strict=True)]
    coarse = [(float(c), False, row) for c, row in zip(nodes, z, strict=True)]
    if stiffly_accurate and s == 1:
        fine = [*coarse, (0.0, True, start)]
    elif stiffly_accurate:
        fine = [(0.0, True, start), *inner]
    elif s == 1:  # the rate at the midpoint is the mean rate and adds nothing
        fine = [(1.0, False, update @ z), (0.0, True, start), (1.0, True, end)]
    else:
        fine = [(0.0, True, start), *inner, (1.0, True, end)]
    return polynomial(fine, len(fine)), polynomial(coarse, len(fine))
