"""Rank decisions on matrices of known rank, with noise at rounding and with units; choice of rows and columns."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.numerics.rank import (
    condition_share,
    decompose,
    equilibrate,
    independent_columns,
    independent_rows,
    null_space,
    rank_of,
    ranks_of,
    row_rank,
    unit_rows,
)

Array = NDArray[np.float64]


def matrix_of_rank(rank: int, rows: int, columns: int, noise: float = 0.0) -> Array:
    rng = np.random.default_rng(100 * rank + rows)
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)) + noise * rng.normal(size=(rows, columns))


@pytest.mark.parametrize(("rank", "rows", "columns"), [(0, 3, 4), (1, 5, 3), (3, 4, 6), (4, 4, 4), (7, 30, 20)])
def test_known_ranks_with_noise_at_rounding(rank: int, rows: int, columns: int) -> None:
    for noise in (0.0, 1e-14) if rank else (0.0,):
        matrix = matrix_of_rank(rank, rows, columns, noise)
        found = decompose(matrix)
        assert found.rank == rank == rank_of(matrix)
        assert found.null_space.shape == (columns, columns - rank)
        assert found.left_null_space.shape == (rows, rows - rank)
        np.testing.assert_allclose(matrix @ found.null_space, 0.0, atol=1e-11)
        np.testing.assert_allclose(found.left_null_space.T @ matrix, 0.0, atol=1e-11)
        np.testing.assert_allclose(found.null_space.T @ found.null_space, np.eye(columns - rank), atol=1e-13)
        assert rank_of(found.row_combinations @ matrix) == rank
        np.testing.assert_allclose(matrix @ found.row_space.T @ found.row_space, matrix, atol=1e-11)


def test_what_is_above_the_tolerance_counts() -> None:
    matrix = np.diag([1.0, 1e-6, 1e-12])
    assert rank_of(matrix) == 2
    assert rank_of(matrix, rtol=1e-3) == 1
    assert rank_of(matrix, rtol=0.0) == 3
    assert rank_of(matrix, rtol=0.0, atol=1e-7) == 2
    assert decompose(matrix).gap == pytest.approx((1e-6, 1e-12))
    assert condition_share(matrix) == pytest.approx(1e-12)


def test_nothing_has_no_rank() -> None:
    assert rank_of(np.zeros((0, 3))) == rank_of(np.zeros((3, 0))) == rank_of(np.zeros((2, 2))) == 0
    np.testing.assert_array_equal(null_space(np.zeros((0, 3))), np.eye(3))
    np.testing.assert_array_equal(decompose(np.zeros((2, 0))).left_null_space, np.eye(2))
    assert condition_share(np.zeros((0, 0))) == 1.0


def test_the_shortest_solution_is_that_of_the_pseudoinverse() -> None:
    matrix, side = matrix_of_rank(2, 4, 5), np.arange(4.0)
    np.testing.assert_allclose(decompose(matrix).solve(side), np.linalg.pinv(matrix) @ side, atol=1e-13)


def test_units_do_not_decide() -> None:
    """Rows in millimeters beside rows in kilometers: 1e10 between them, and still of full rank."""
    rows = matrix_of_rank(3, 3, 5) * np.array([[1e-5], [1.0], [1e5]])
    assert rank_of(rows) == 2 and row_rank(rows) == 3 == rank_of(unit_rows(rows))
    assert row_rank(np.vstack([rows, rows[0] + rows[1] * 1e-5])) == 3
    assert row_rank(np.full((2, 2), 1e-12)) == 0
    np.testing.assert_allclose(np.linalg.norm(unit_rows(rows), axis=1), 1.0)
    scaled, left, right = equilibrate(rows * np.array([1e-9, 1.0, 1e3, 1.0, 1.0]))
    assert rank_of(scaled) == 3
    np.testing.assert_allclose(scaled, rows * np.array([1e-9, 1.0, 1e3, 1.0, 1.0]) * left[:, None] * right)
    for axis in (0, 1):
        assert np.abs(scaled).max(axis=axis).min() > 0.5 and np.abs(scaled).max() < 2.0


def test_many_matrices_at_once() -> None:
    many = np.array([matrix_of_rank(rank, 4, 6) for rank in (1, 2, 4)])
    assert ranks_of(many, 1e-9).tolist() == [1, 2, 4]


def test_columns_that_span_the_others() -> None:
    matrix = matrix_of_rank(3, 6, 8)
    chosen = independent_columns(matrix)
    assert len(chosen) == 3 and rank_of(matrix[:, chosen]) == 3
    assert chosen[0] == int(np.argmax(np.linalg.norm(matrix, axis=0)))
    assert independent_columns(matrix, 2) == chosen[:2]


def test_rows_in_their_order() -> None:
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [3.0, -2.0, 0.0], [0.0, 0.0, 1.0]])
    kept, basis = independent_rows(rows, np.zeros((0, 3)))
    assert kept == [0, 3, 5]
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-15)
