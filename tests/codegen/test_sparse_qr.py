"""Sparse QR of a fixed pattern: against NumPy, in Python and as machine code, real and complex."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.compiling import compiled
from draisine.codegen.jit import solvers as elimination
from draisine.codegen.jit import sparse_qr
from draisine.codegen.jit.solvers import solvers
from draisine.codegen.jit.sparse_qr import analyze
from draisine.codegen.restricted.types import ArrayType


def random_matrix(rng: np.random.Generator, n: int, per_column: float, kind: type = float) -> np.ndarray:
    """With an entry in every row and column, none of them on the diagonal by preference."""
    filled = rng.random((n, n)) < min(1.0, per_column / n)
    filled[rng.permutation(n), np.arange(n)] = True
    values = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if kind is complex else 0)
    return np.where(filled, values, 0)


def places(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns, rows = np.nonzero(matrix.T)
    return rows, columns, matrix[rows, columns]


def chain(n: int) -> ca.Sparsity:
    """Pattern of the augmented matrix of a chain of n masses in the plane."""
    a = ca.DM(n, 2 * n)
    for k in range(n):
        a[k, 2 * max(k - 1, 0) : 2 * k + 2] = 1
    return ca.vertcat(ca.horzcat(ca.DM.eye(2 * n), a.T), ca.horzcat(a, ca.DM(n, n))).sparsity()


@settings(max_examples=60)
@given(n=st.integers(1, 25), per_column=st.floats(0.0, 8.0), seed=st.integers(0, 10**6), kind=st.sampled_from([float, complex]))
def test_solution_has_the_residual_of_a_stable_method(n, per_column, seed, kind):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(rng, n, per_column, kind)
    side = rng.normal(size=n) + (1j * rng.normal(size=n) if kind is complex else 0)
    rows, columns, values = places(matrix)
    x = analyze(rows, columns, n).solve(values, side)
    scale = np.linalg.norm(matrix, 2) * np.linalg.norm(x) + np.linalg.norm(side)
    assert np.linalg.norm(matrix @ x - side) < 1e-14 * n * scale


def test_factors_are_those_of_the_matrix():
    """R of the permuted matrix: |det A| is the product of its diagonal, and AᴴA = P RᴴR Pᵀ."""
    rng = np.random.default_rng(4)
    matrix = random_matrix(rng, 12, 3.0, complex)
    rows, columns, values = places(matrix)
    plan = analyze(rows, columns, 12)
    factors, work = np.zeros(plan.factors, complex), np.zeros(plan.work, complex)
    sparse_qr.factorize(plan.index, values, factors, work)
    at = plan.index
    upper = np.diag(factors[at[sparse_qr.DIAGONAL] :][:12])
    for c in range(12):
        for k in range(at[at[sparse_qr.R_START] + c], at[at[sparse_qr.R_START] + c + 1]):
            upper[at[at[sparse_qr.R_ROW] + k], c] = factors[at[sparse_qr.R_VALUES] + k]
    order = at[at[sparse_qr.COLUMN_PLACE] :][:12]
    assert upper.conj().T @ upper == pytest.approx((matrix.conj().T @ matrix)[np.ix_(order, order)], abs=1e-13)
    assert not work.any()  # left clean


def test_zeros_on_the_diagonal_and_wild_scales():
    """The augmented matrix of a mechanism has both; rows are never exchanged."""
    rng = np.random.default_rng(0)
    mass, rows = np.diag(10.0 ** rng.uniform(-4, 4, size=8)), random_matrix(rng, 8, 2.0)[:4]
    matrix = np.block([[mass, -rows.T], [rows, np.zeros((4, 4))]])
    r, c, values = places(matrix)
    exact = rng.normal(size=12)
    found = analyze(r, c, 12).solve(values, matrix @ exact)
    assert found == pytest.approx(exact, rel=1e-15 * np.linalg.cond(matrix))


def test_a_chain_fills_in_proportion_to_its_length():
    small, large = (analyze(*chain(n).get_triplet(), 3 * n) for n in (50, 500))
    assert large.operations < 10.5 * small.operations
    assert large.factors < 10.5 * small.factors


def test_a_singular_matrix_gives_no_small_number():
    plan = analyze([0, 1, 0, 1], [0, 0, 1, 1], 2)
    found = plan.solve([1.0, 2.0, 2.0, 4.0], [1.0, 5.0])
    assert not np.abs(found).max() < 1e14
    assert not np.isfinite(plan.solve([0.0, 0.0, 1.0, 1.0], [1.0, 1.0])).all()
    assert np.isnan(plan.solve([np.nan, 1.0, 1.0, 2.0], [1.0, 1.0])).any()


def test_patterns_that_cannot_be_solved_are_refused():
    with pytest.raises(ValueError, match="3 equations determine at most 2 unknowns"):
        analyze([0, 0, 2], [0, 1, 2], 3)
    with pytest.raises(ValueError, match="column-major order"):
        analyze([1, 0], [1, 0], 2)


@pytest.mark.parametrize("n", [1, 2, 17, 60])
def test_machine_code_follows_the_same_plan(n):
    """The functions as LLVM compiles them from their source, against the same functions in Python."""
    rng = np.random.default_rng(n)
    matrix, side = random_matrix(rng, n, 3.0), rng.normal(size=n)
    rows, columns, values = places(matrix)
    plan = analyze(rows, columns, n)
    index = plan.index.astype(np.int32)
    factors, work, x = np.zeros(plan.factors), np.zeros(plan.work), side.copy()
    _call("factorize", index, values, factors, work)
    _call("solve", index, factors, x, work)
    expected = plan.solve(values, side)
    assert x == pytest.approx(expected, rel=1e-13 * np.linalg.cond(matrix))


def _call(name: str, *arguments: np.ndarray | int | float) -> None:
    kinds = {int: ctypes.c_int64, float: ctypes.c_double}
    prototype = ctypes.CFUNCTYPE(None, *[kinds.get(type(a), ctypes.c_void_p) for a in arguments])
    prototype(solvers()[f"draisine_{name}"])(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments])


@pytest.mark.parametrize("n", [1, 3, 20, 43])
def test_dense_elimination_in_python_and_as_machine_code(n):
    rng = np.random.default_rng(n)
    matrix, side = random_matrix(rng, n, 6.0), rng.normal(size=n)
    expected = np.linalg.solve(matrix, side)
    tolerance = 1e-14 * np.linalg.cond(matrix)
    for machine in (False, True):
        a, pivots, x = matrix.ravel(order="F").copy(), np.zeros(n, dtype=np.int32), side.copy()
        if machine:
            _call("decompose", n, a, pivots)
            _call("substitute", n, a, pivots, x)
        else:
            elimination.decompose(n, a, pivots)
            elimination.substitute(n, a, pivots, x)
        assert x == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("kind", [float, complex])
def test_the_stepping_loop_compiles_it(kind):
    """Implicit methods use these functions with lengths and 64-bit integers, for real and complex matrices."""
    rng = np.random.default_rng(7)
    matrix = random_matrix(rng, 40, 3.0, kind)
    side = rng.normal(size=40).astype(kind)
    rows, columns, values = places(matrix)
    plan = analyze(rows, columns, 40)
    factors, work, x = np.zeros(plan.factors, kind), np.zeros(plan.work, kind), side.copy()
    types = {"AnyIntegers": ArrayType.of("int"), "Numbers": ArrayType.of(kind.__name__)}
    compiled(sparse_qr.factorize, types)(plan.index, values, factors, work)
    compiled(sparse_qr.solve, types)(plan.index, factors, x, work)
    assert x == pytest.approx(plan.solve(values, side), rel=1e-13 * np.linalg.cond(matrix))
