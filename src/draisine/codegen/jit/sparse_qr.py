"""Sparse QR: linear systems of a fixed pattern, analyzed once, factorized as A = Q R without pivoting.

Householder reflections are backward stable for all numbers, so that rows are never exchanged at run time: all decisions depend on
the pattern alone (Davis 2006, Direct Methods for Sparse Linear Systems, chapter 5). The analysis orders the columns for little
fill and writes, in one array of integers, the plan that the numeric part follows.

    plan = analyze(rows, columns, size)                     # indices of the entries, in column-major order
    factors, work = np.zeros(plan.factors), np.zeros(plan.work)
    factorize(plan.index, values, factors, work)            # values: one number per entry
    solve(plan.index, factors, side, work)                  # side is overwritten by the solution

`factorize` and `solve` are restricted Python (`restricted`): they allocate nothing, raise nothing, and run interpreted or as
machine code, on arrays of real or complex numbers (all of one kind). A singular matrix gives a solution that is large or not
finite; numbers beyond 1e±150 overflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import conjugate
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.restricted.types import AnyIntegers, Integers, Numbers
from draisine.errors import ArgumentError

if TYPE_CHECKING:
    import casadi as ca

# Head of the plan: the size, then where the parts begin. The parts of the last line are in the factors.
SIZE, SOURCE_START, SOURCE, SOURCE_ROW, V_START, V_ROW, R_START, R_ROW, ROW_PLACE, COLUMN_PLACE = range(10)
R_VALUES, DIAGONAL, SCALE = range(10, 13)
HEAD = 13


@dataclass(frozen=True, eq=False)
class Plan:
    """The symbolic factorization of a pattern: `index` for the numeric part, and the sizes of its arrays.

    >>> plan = analyze([0, 1, 1, 2, 0, 2], [0, 0, 1, 1, 2, 2], 3)
    >>> plan.solve([2.0, 1.0, 4.0, 1.0, 1.0, 3.0], [3.0, 5.0, 4.0])
    array([1., 1., 1.])
    """

    index: Integers
    size: int
    entries: int
    factors: int
    work: int
    operations: int  # of one factorization and one solution, about

    def solve(self, values: ArrayLike, side: ArrayLike) -> NDArray[Any]:
        """Factorize and solve once, in Python; for tests and small systems."""
        given = np.asarray(values)
        kind = np.result_type(given, np.asarray(side), np.float64)
        factors, work, solution = (np.zeros(n, dtype=kind) for n in (self.factors, self.work, self.size))
        solution[:] = side
        with np.errstate(all="ignore"):
            factorize(self.index, given.astype(kind), factors, work)
            solve(self.index, factors, solution, work)
        return solution


def analyze(rows: ArrayLike, columns: ArrayLike, size: int) -> Plan:
    """The plan for a square matrix with entries at these indices, in column-major order.

    A structurally singular pattern raises ArgumentError.
    """
    import casadi as ca

    row, column = (np.asarray(a, dtype=np.int64) for a in (rows, columns))
    pattern = ca.Sparsity.triplet(size, size, row.tolist(), column.tolist())
    if pattern.nnz() != row.size or not np.array_equal(pattern.row(), row):
        raise ArgumentError("the entries must be in column-major order, each of them once")
    rank = ca.sprank(pattern)
    if rank < size:
        raise ArgumentError(f"{size} equations determine at most {rank} unknowns: the matrix is structurally singular")
    v, r, row_place, column_place = pattern.qr_sparse(True)
    return _laid_out(pattern, v, r, np.array(row_place), np.array(column_place))


def _laid_out(pattern: ca.Sparsity, v: ca.Sparsity, r: ca.Sparsity, row_place: Integers, column_place: Integers) -> Plan:
    n = pattern.size1()
    begins, row = np.array(pattern.colind()), np.array(pattern.row(), dtype=np.int64)
    source = [np.arange(begins[c], begins[c + 1]) for c in column_place]
    v_start, v_row = np.array(v.colind()), np.array(v.row(), dtype=np.int64)
    r_column = np.repeat(np.arange(n), np.diff(r.colind()))
    above = np.array(r.row(), dtype=np.int64) < r_column
    r_row = np.array(r.row(), dtype=np.int64)[above]
    assert np.array_equal(v_row[v_start[:-1]], np.arange(n)), "a Householder vector begins at its own row"
    everything = np.concatenate([*source, np.zeros(0, dtype=np.int64)])
    parts = {
        SOURCE_START: np.cumsum([0, *(len(s) for s in source)]),
        SOURCE: everything,
        SOURCE_ROW: row_place[row[everything]],
        V_START: v_start,
        V_ROW: v_row,
        R_START: np.searchsorted(r_column[above], np.arange(n + 1)),
        R_ROW: r_row,
        ROW_PLACE: row_place,
        COLUMN_PLACE: column_place,
    }
    head = np.zeros(HEAD, dtype=np.int64)
    head[SIZE] = n
    head[list(parts)] = HEAD + np.cumsum([0, *(len(p) for p in parts.values())])[:-1]
    head[R_VALUES] = v_row.size
    head[DIAGONAL] = head[R_VALUES] + r_row.size
    head[SCALE] = head[DIAGONAL] + n
    lengths = np.diff(v_start)
    operations = 4 * int(lengths[r_row].sum() + 2 * lengths.sum()) + 2 * r_row.size
    index = np.ascontiguousarray(np.concatenate([head, *parts.values()]), dtype=np.int64)
    return Plan(index, n, row.size, int(head[SCALE]) + n, n, operations)


def factorize(index: AnyIntegers, values: Numbers, factors: Numbers, work: Numbers) -> None:
    """A P = Q R by columns: R above the diagonal, its diagonal, and Q as Householder vectors v and scales β of I − β v vᴴ."""
    n, source_start, source, source_row = index[SIZE], index[SOURCE_START], index[SOURCE], index[SOURCE_ROW]
    r_start, r_row, r_values = index[R_START], index[R_ROW], index[R_VALUES]
    for i in range(n):
        work[i] = 0.0
    for c in range(n):
        for k in range(index[source_start + c], index[source_start + c + 1]):
            work[index[source_row + k]] = values[index[source + k]]
        for k in range(index[r_start + c], index[r_start + c + 1]):
            r = index[r_row + k]
            reflect(index, factors, work, r)
            factors[r_values + k] = work[r]
            work[r] = 0.0
        make_reflection(index, factors, work, c)


def make_reflection(index: AnyIntegers, factors: Numbers, work: Numbers, c: int) -> None:
    """The reflection that maps a column to a multiple of a unit vector; the column is removed from `work`."""
    first, last = index[index[V_START] + c], index[index[V_START] + c + 1]
    v_row, diagonal, scale = index[V_ROW], index[DIAGONAL] + c, index[SCALE] + c
    top = work[c]
    work[c] = 0.0
    size = abs(top)
    square = size * size
    for j in range(first + 1, last):
        i = index[v_row + j]
        value = work[i]
        work[i] = 0.0
        factors[j] = value
        square += (conjugate(value) * value).real
    norm = math.sqrt(square)
    if size > 1e-200 * norm:
        stretch = norm / size
        factors[diagonal] = -stretch * top
        factors[first] = (1.0 + stretch) * top
    else:
        factors[diagonal] = -norm
        factors[first] = norm
    if norm > 0.0:
        factors[scale] = 1.0 / (norm * (norm + size))
    else:
        factors[scale] = 0.0


def reflect(index: AnyIntegers, factors: Numbers, work: Numbers, r: int) -> None:
    """work ← (I − β v vᴴ) work."""
    first, last = index[index[V_START] + r], index[index[V_START] + r + 1]
    v_row = index[V_ROW]
    share = conjugate(factors[first]) * work[r]
    for j in range(first + 1, last):
        share += conjugate(factors[j]) * work[index[v_row + j]]
    share *= factors[index[SCALE] + r]
    for j in range(first, last):
        work[index[v_row + j]] -= share * factors[j]


def solve(index: AnyIntegers, factors: Numbers, side: Numbers, work: Numbers) -> None:
    """side ← A⁻¹ side, by R⁻¹ Qᴴ."""
    n, row_place, column_place = index[SIZE], index[ROW_PLACE], index[COLUMN_PLACE]
    r_start, r_row, r_values, diagonal = index[R_START], index[R_ROW], index[R_VALUES], index[DIAGONAL]
    for i in range(n):
        work[index[row_place + i]] = side[i]
    for c in range(n):
        reflect(index, factors, work, c)
    for c in range(n - 1, -1, -1):
        pivot = factors[diagonal + c]
        # restricted Python has no division of complex numbers
        value = work[c] * (conjugate(pivot) * (1.0 / (conjugate(pivot) * pivot).real))
        side[index[column_place + c]] = value
        for k in range(index[r_start + c], index[r_start + c + 1]):
            work[index[r_row + k]] -= factors[r_values + k] * value
