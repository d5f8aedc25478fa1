"""Algebraic Riccati equations, in scaled states, inputs and time.

The stabilizing solution of AᵀP + P A − (P B + N) R⁻¹ (P B + N)ᵀ + Q = 0, or of its discrete form, by the ordered generalized
Schur form (SciPy). Its tests and its accuracy depend on the sizes of the matrices. So states z = D z′ and inputs u = E u′ are
scaled first: E so that R is the unit matrix, D so that rows and columns of the Hamiltonian matrix have equal size (P. Benner,
Symplectic balancing of Hamiltonian matrices, SIAM J. Sci. Comput. 22 (2001) 1885–1904), and time by the size of that matrix.
Other units and a factor on the cost then change nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.scaling import balancing, unit_scales

Array = NDArray[np.float64]

SWEEPS = 30


def continuous_riccati(a: Array, b: Array, q: Array, r: Array, n: Array) -> tuple[Array, Array]:
    """K and P of ∫ zᵀQ z + 2 zᵀN u + uᵀR u dt along ż = A z + B u; LinAlgError if there is no stabilizing solution.

    >>> import numpy as np
    >>> a, b = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1e-10]])
    >>> gain, _ = continuous_riccati(a, b, np.diag([1.0, 0.0]), np.array([[1e-20]]), np.zeros((2, 1)))
    >>> [float(round(k, 9)) for k in gain[0] / 1e10]  # 1, √2
    [1.0, 1.414213562]
    """
    from scipy.linalg import solve_continuous_are

    a, b, q, n, states, inputs = _scaled(a, b, q, r, n)
    speed = float(np.abs(_hamiltonian(a, b, q, n)).sum(axis=1).max(initial=0.0)) or 1.0
    one, root = np.eye(b.shape[1]), np.sqrt(speed)
    p = _solved(solve_continuous_are, a / speed, b / root, q / speed, one, n / root)
    gain = b.T @ p + n.T
    if not np.linalg.eigvals(a - b @ gain).real.max(initial=-1.0) < 0.0:
        raise np.linalg.LinAlgError("the loop would not be stable")
    return np.asarray(inputs @ gain / states), np.asarray(p / states[:, None] / states)


def discrete_riccati(a: Array, b: Array, q: Array, r: Array, n: Array) -> tuple[Array, Array]:
    """K and P of Σ zᵀQ z + 2 zᵀN u + uᵀR u along z⁺ = A z + B u; LinAlgError if there is no stabilizing solution."""
    from scipy.linalg import solve_discrete_are

    a, b, q, n, states, inputs = _scaled(a, b, q, r, n)
    one = np.eye(b.shape[1])
    p = _solved(solve_discrete_are, a, b, q, one, n)
    gain = np.linalg.solve(one + b.T @ p @ b, b.T @ p @ a + n.T)
    if not np.abs(np.linalg.eigvals(a - b @ gain)).max(initial=0.0) < 1.0:
        raise np.linalg.LinAlgError("the loop would not be stable")
    return np.asarray(inputs @ gain / states), np.asarray(p / states[:, None] / states)


def _scaled(a: Array, b: Array, q: Array, r: Array, n: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """A, B, Q, N in scaled states and inputs, the scales of the states, and the matrix E of the inputs with Eᵀ R E = 1."""
    sizes = np.sqrt(np.diag(r))
    inputs = np.linalg.inv(np.linalg.cholesky(r / sizes[:, None] / sizes)).T / sizes[:, None]
    b, n = b @ inputs, n @ inputs
    whole = np.abs(_hamiltonian(a, b, q, n))
    first, _ = unit_scales(whole)
    scale = first * balancing((whole * first / first[:, None])[None], SWEEPS)[0]
    half = len(a)
    states = np.sqrt(scale[:half] / scale[half:])
    q = q * states[:, None] * states
    return (
        np.asarray(a * states / states[:, None]),
        np.asarray(b / states[:, None]),
        np.asarray((q + q.T) / 2),
        np.asarray(n * states[:, None]),
        states,
        inputs,
    )


def _hamiltonian(a: Array, b: Array, q: Array, n: Array) -> Array:
    """The Hamiltonian matrix for R = 1."""
    inner = a - b @ n.T
    return np.block([[inner, -b @ b.T], [n @ n.T - q, -inner.T]])


def _solved(solver: object, *arguments: Array) -> Array:
    try:
        p = solver(*arguments[:4], s=arguments[4])  # type: ignore[operator]
    except ValueError as problem:  # SciPy's word for a pencil that cannot be reordered
        raise np.linalg.LinAlgError(str(problem)) from problem
    return np.asarray((p + p.T) / 2)
