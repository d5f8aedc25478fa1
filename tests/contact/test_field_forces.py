"""Forces of an evaluation in the present modes: random rows, effects and masses against NumPy's solution."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.simulation.stepper import contact_field as field
from draisine.simulation.stepper.dense_matrices import lu_solve

Reals = NDArray[np.float64]
ROWS, COMPLIANCE = 9, 1e-3


def record(rng: np.random.Generator, n: int, size: int, compliant: bool) -> Any:
    """The parts of `ContactModes` that the solution reads: some rows that slip, whose forces have effects along other rows."""
    columns, effect = rng.normal(size=(ROWS, n)), np.zeros((ROWS + field.BLOCK_COLUMNS, n))
    rows = rng.permutation(ROWS)[:size]
    effect[:size] = columns[rows] - 0.4 * rng.integers(0, 2, (size, 1)) * rng.normal(size=(size, n))
    one = {name: np.zeros(ROWS) for name in ("field_side", "field_force", "field_new", "field_step")}
    return SimpleNamespace(
        contacts=0,
        velocities=n,
        columns=columns.ravel(),
        effect=effect,
        weighted=np.zeros((ROWS + 1, n)),
        inverse=rng.uniform(0.1, 10.0, n),
        pull=rng.normal(size=n),
        row_side=rng.normal(size=ROWS),
        compliance=np.full(ROWS, COMPLIANCE if compliant else 0.0),
        field_row=np.append(rows, np.zeros(ROWS - size, dtype=np.int64)),
        field_matrix=np.zeros((ROWS + 1, ROWS + field.BLOCK_COLUMNS)),
        field_pivot=np.zeros(ROWS, dtype=np.int64),
        **one,
    )


def solved(c: Any, size: int) -> Reals:
    """As `solve_contact_forces` does."""
    shortcut = {1: field.solve_for_one, 2: field.solve_for_two}.get(size)
    if shortcut is None or not shortcut(c):
        field.solve_for_many(c, size)
    return np.array(c.field_force[:size])


def system(c: Any, size: int) -> tuple[Reals, Reals]:
    """The matrix of the forces and its right side."""
    own = c.columns.reshape(ROWS, -1)[c.field_row[:size]] * c.inverse
    return own @ c.effect[:size].T, c.row_side[c.field_row[:size]] - own @ c.pull


@pytest.mark.parametrize("compliant", [False, True])
@pytest.mark.parametrize("size", range(1, 7))
def test_forces_are_those_of_numpy(size: int, compliant: bool) -> None:
    rng = np.random.default_rng(10 * size + compliant)
    for _ in range(30):
        c = record(rng, int(rng.integers(6, 12)), size, compliant)
        matrix, side = system(c, size)
        rounding = 1e-14 * np.linalg.cond(matrix)
        if rounding > 1e-10:  # compliance decides
            continue
        known = np.linalg.solve(matrix, side)
        assert np.abs(solved(c, size) - known).max() <= 10 * rounding * np.abs(known).max()
        other = rng.normal(size=size)  # the factors remain, for `slow_slips`
        known, found = np.linalg.solve(matrix, other), other.copy()
        lu_solve(c.field_matrix, c.field_pivot, size, found)
        assert np.abs(found - known).max() <= 10 * rounding * np.abs(known).max()


@pytest.mark.parametrize("size", range(2, 5))
def test_rows_that_depend_on_each_other_share_their_forces_equally(size: int) -> None:
    """Equal compliances: of all forces that satisfy the rows those with the least sum of squares."""
    rng = np.random.default_rng(size)
    for _ in range(20):
        c = record(rng, 8, size, True)
        first, last = (c.field_row[k] for k in (0, size - 1))
        columns = c.columns.reshape(ROWS, -1)
        factor = float(rng.uniform(0.5, 2.0))
        columns[last], c.row_side[last] = factor * columns[first], factor * c.row_side[first]
        c.effect[:size] = columns[c.field_row[:size]]
        matrix, side = system(c, size)
        known = np.linalg.lstsq(matrix, side, rcond=1e-10)[0]
        assert np.abs(solved(c, size) - known).max() <= 1e-7 * np.abs(known).max()


@pytest.mark.parametrize("size", range(1, 4))
def test_forces_without_an_effect_are_not_numbers(size: int) -> None:
    c = record(np.random.default_rng(size), 8, size, False)
    c.effect[size - 1] = 0.0
    assert np.isnan(solved(c, size)).all()
