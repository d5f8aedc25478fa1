"""Small symbolic linear systems, solved without pivots that could vanish where the caller has checked the block.

Rows or columns with one entry are peeled off first; what is left, up to three unknowns, goes by cofactors; larger blocks by
orthogonalising their columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from draisine.dynamics.linear_algebra import ONE, ZERO, cross, dot, is_zero, minus, mul

Columns = list[list[ca.SX]]


def solve(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    """Solve B x = r for each right side r (a list of columns); B is given by rows."""
    n = len(matrix)
    if n == 0:
        return [[] for _ in sides]
    for i, row in enumerate(matrix):
        filled = [j for j in range(n) if not is_zero(row[j])]
        if len(filled) == 1:
            return _peel_row(matrix, sides, i, filled[0])
    for j in range(n):
        filled = [i for i in range(n) if not is_zero(matrix[i][j])]
        if len(filled) == 1:
            return _peel_column(matrix, sides, filled[0], j)
    if n == 2:
        return _two(matrix, sides)
    if n == 3:
        return _three(matrix, sides)
    return _orthogonalise(matrix, sides)


def _minor(matrix: Sequence[Sequence[ca.SX]], row: int, column: int) -> list[list[ca.SX]]:
    return [[x for j, x in enumerate(r) if j != column] for i, r in enumerate(matrix) if i != row]


def _divide(x: ca.SX, y: ca.SX) -> ca.SX:
    return x if y is ONE or x is ZERO else (-x if y.is_minus_one() else x / y)


def _peel_row(matrix: Sequence[Sequence[ca.SX]], sides: Columns, row: int, column: int) -> Columns:
    pivot = matrix[row][column]
    if len(sides) > 1 and not (pivot is ONE or pivot.is_minus_one()):
        inverse = 1 / pivot
        known = [mul(inverse, side[row]) for side in sides]
    else:
        known = [_divide(side[row], pivot) for side in sides]
    rest = [
        [minus(side[i], mul(matrix[i][column], x)) for i in range(len(side)) if i != row]
        for side, x in zip(sides, known, strict=True)
    ]
    solved = solve(_minor(matrix, row, column), rest)
    return [[*part[:column], x, *part[column:]] for part, x in zip(solved, known, strict=True)]


def _peel_column(matrix: Sequence[Sequence[ca.SX]], sides: Columns, row: int, column: int) -> Columns:
    rest = [[x for i, x in enumerate(side) if i != row] for side in sides]
    solved = solve(_minor(matrix, row, column), rest)
    others = [x for j, x in enumerate(matrix[row]) if j != column]
    pivot = matrix[row][column]
    plain = len(sides) == 1 or pivot is ONE or pivot.is_minus_one()
    inverse = None if plain else 1 / pivot
    result = []
    for side, part in zip(sides, solved, strict=True):
        left = minus(side[row], dot(others, part))
        x = _divide(left, pivot) if inverse is None else mul(inverse, left)
        result.append([*part[:column], x, *part[column:]])
    return result


def _two(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    (a, b), (c, d) = matrix
    inverse = 1 / minus(mul(a, d), mul(b, c))
    a, b, c, d = (mul(inverse, entry) for entry in (a, b, c, d))
    return [[minus(mul(d, r[0]), mul(b, r[1])), minus(mul(a, r[1]), mul(c, r[0]))] for r in sides]


def _three(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    """Rows of the inverse are the cross products of the columns, over the determinant."""
    x, y, z = (tuple(row[j] for row in matrix) for j in range(3))
    yz = cross(y, z)  # type: ignore[arg-type]
    inverse = 1 / dot(x, yz)
    rows = [[mul(inverse, c) for c in r] for r in (yz, cross(z, x), cross(x, y))]  # type: ignore[arg-type]
    return [[dot(row, side) for row in rows] for side in sides]


def _orthogonalise(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    """Gram–Schmidt without square roots. Its pivots are the squared lengths of what each column adds to those before it: unlike
    pivots of an elimination in a fixed order, none vanishes before the determinant does."""
    n = len(matrix)
    columns = [[row[j] for row in matrix] for j in range(n)]
    left = [list(side) for side in sides]
    upper = [[ZERO] * n for _ in range(n)]
    shares: Columns = [[] for _ in sides]
    for i, direction in enumerate(columns):
        inverse = 1 / dot(direction, direction)
        scaled = [mul(inverse, x) for x in direction]
        for j in range(i + 1, n):
            share = upper[i][j] = dot(scaled, columns[j])
            columns[j] = [minus(x, mul(share, d)) for x, d in zip(columns[j], direction, strict=True)]
        for k, side in enumerate(left):
            share = dot(scaled, side)
            shares[k].append(share)
            left[k] = [minus(x, mul(share, d)) for x, d in zip(side, direction, strict=True)]
    for x in shares:
        for k in reversed(range(n)):
            x[k] = minus(x[k], dot(upper[k][k + 1 :], x[k + 1 :]))
    return shares


def squared_volume(rows: Sequence[Sequence[ca.SX]]) -> ca.SX:
    """Determinant of R Rᵀ: the product of the squared lengths of what each row adds to those before it. Zero where rows are
    dependent."""
    left = [list(row) for row in rows]
    volume = ONE
    for i, direction in enumerate(left):
        square = dot(direction, direction)
        volume = mul(volume, square)
        for j in range(i + 1, len(left)):
            share = dot(direction, left[j]) / square
            left[j] = [minus(x, mul(share, d)) for x, d in zip(left[j], direction, strict=True)]
    return volume


def solve_symmetric(matrix: Sequence[Sequence[ca.SX]], side: Sequence[ca.SX]) -> list[ca.SX]:
    """Solve a positive definite system by L D Lᵀ, which needs no pivots. Only the lower triangle is read."""
    n = len(side)
    low = [[ZERO] * n for _ in range(n)]
    inverse: list[ca.SX] = []
    scaled = [[ZERO] * n for _ in range(n)]  # L D, so that each product is formed once
    for j in range(n):
        for i in range(j, n):
            entry = minus(matrix[i][j], dot(scaled[i][:j], low[j][:j]))
            if i == j:
                inverse.append(1 / entry)
            else:
                scaled[i][j] = entry
                low[i][j] = mul(entry, inverse[j])
    y: list[ca.SX] = []
    for i in range(n):
        y.append(minus(side[i], dot(low[i][:i], y)))
    x = [mul(yi, d) for yi, d in zip(y, inverse, strict=True)]
    for i in reversed(range(n)):
        x[i] = minus(x[i], dot([low[k][i] for k in range(i + 1, n)], x[i + 1 :]))
    return x
