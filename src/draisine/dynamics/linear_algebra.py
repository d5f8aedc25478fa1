"""Linear algebra of symbols: three-vectors, rotations, and small linear systems.

Every operation that is written becomes an operation of the program. Zeros and ones are the objects `ZERO` and `ONE`, recognized
before CasADi is called: a call costs some ten microseconds, and most entries of a mechanism's matrices are zero.

Linear systems are solved without pivots that could vanish where the caller has checked the block: rows or columns with one entry
are eliminated first; what is left is solved by cofactors up to three unknowns, and by orthogonalization of the columns beyond.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

Vec = tuple[ca.SX, ca.SX, ca.SX]
Mat = tuple[Vec, Vec, Vec]  # rows

ZERO = ca.SX(0)
ONE = ca.SX(1)
NULL: Vec = (ZERO, ZERO, ZERO)
UNIT: tuple[Vec, Vec, Vec] = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))
AXIS = {"x": 0, "y": 1, "z": 2}

# a * b looks for its types among all of CasADi's, which takes five times as long as the product
_binary, _TIMES, _PLUS, _MINUS = ca.SX.binary, ca.OP_MUL, ca.OP_ADD, ca.OP_SUB


def mul(a: ca.SX, b: ca.SX) -> ca.SX:
    if a is ZERO or b is ZERO:
        return ZERO
    if a is ONE:
        return b
    return a if b is ONE else _binary(_TIMES, a, b)


def plus(a: ca.SX, b: ca.SX) -> ca.SX:
    if a is ZERO:
        return b
    return a if b is ZERO else _binary(_PLUS, a, b)


def minus(a: ca.SX, b: ca.SX) -> ca.SX:
    if b is ZERO:
        return a
    return -b if a is ZERO else _binary(_MINUS, a, b)


def opposite(a: ca.SX) -> ca.SX:
    return a if a is ZERO else -a


def add(a: Vec, b: Vec) -> Vec:
    return (plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2]))


def sub(a: Vec, b: Vec) -> Vec:
    return (minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2]))


def neg(a: Vec) -> Vec:
    return (opposite(a[0]), opposite(a[1]), opposite(a[2]))


def scale(k: ca.SX, a: Vec) -> Vec:
    return (mul(k, a[0]), mul(k, a[1]), mul(k, a[2]))


def dot(a: Sequence[ca.SX], b: Sequence[ca.SX]) -> ca.SX:
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = plus(total, mul(x, y))
    return total


def cross(a: Vec, b: Vec) -> Vec:
    return (
        minus(mul(a[1], b[2]), mul(a[2], b[1])),
        minus(mul(a[2], b[0]), mul(a[0], b[2])),
        minus(mul(a[0], b[1]), mul(a[1], b[0])),
    )


def along(axis: int, amount: ca.SX) -> Vec:
    """A vector along one axis."""
    return tuple(amount if i == axis else ZERO for i in range(3))  # type: ignore[return-value]


def times(m: Mat, a: Vec) -> Vec:
    return (dot(m[0], a), dot(m[1], a), dot(m[2], a))


def transposed(m: Mat) -> Mat:
    return tuple(tuple(m[j][i] for j in range(3)) for i in range(3))  # type: ignore[return-value]


def product(a: Mat, b: Mat) -> Mat:
    columns = transposed(b)
    return tuple(tuple(dot(row, column) for column in columns) for row in a)  # type: ignore[return-value]


def rotation(axis: int, c: ca.SX, s: ca.SX) -> Mat:
    """Rotation matrix about an axis, from child to parent components."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    m = [[ZERO] * 3 for _ in range(3)]
    m[axis][axis] = ONE
    m[j][j] = m[k][k] = c
    m[j][k], m[k][j] = -s, s
    return tuple(tuple(row) for row in m)  # type: ignore[return-value]


def quaternion_rotation(q: Sequence[ca.SX]) -> Mat:
    """Body-to-parent rotation of a unit quaternion, scalar first."""
    w, x, y, z = q
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1 - (xx + yy)),
    )


def quaternion_rate(q: Sequence[ca.SX], rates: Vec) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """q̇ = ½ q ⊗ (0, Ω) for body-axes rates."""
    w, x, y, z = q
    a, b, c = scale(ca.SX(0.5), rates)
    return (
        -(x * a) - y * b - z * c,
        w * a + y * c - z * b,
        w * b + z * a - x * c,
        w * c + x * b - y * a,
    )


def fold_constant(x: ca.SX) -> ca.SX:
    """The symbol itself, or `ZERO` or `ONE` where it is that constant."""
    if x.is_constant():
        return ZERO if x.is_zero() else ONE if x.is_one() else x
    return x


def is_zero(x: ca.SX) -> bool:
    return x is ZERO or bool(x.is_zero())


def is_zero_vector(a: Vec) -> bool:
    return all(is_zero(c) for c in a)


Columns = list[list[ca.SX]]


def solve(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    """Solve B x = r for each right-hand side r (a list of columns); B is given by rows."""
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
    return _orthogonalize(matrix, sides)


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


def _orthogonalize(matrix: Sequence[Sequence[ca.SX]], sides: Columns) -> Columns:
    """Gram–Schmidt without square roots. Its pivots are the squared lengths of the orthogonal components: unlike pivots of an
    elimination in fixed order, none is zero unless the determinant is."""
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
    """Determinant of R Rᵀ: the product of the squared lengths of the orthogonal components. Zero where rows are
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


def inverse_diagonal(matrix: Sequence[Sequence[ca.SX]]) -> list[ca.SX]:
    """Diagonal of the inverse of a positive definite matrix, by L D Lᵀ: Σ_k (L⁻¹)²_ki / d_k."""
    n = len(matrix)
    low, scaled, pivots = [[ZERO] * n for _ in range(n)], [[ZERO] * n for _ in range(n)], []
    for j in range(n):
        for i in range(j, n):
            entry = minus(matrix[i][j], dot(scaled[i][:j], low[j][:j]))
            if i == j:
                pivots.append(entry)
            else:
                scaled[i][j], low[i][j] = entry, entry / pivots[j]
    found = []
    for i in range(n):
        column: list[ca.SX] = [ZERO] * i + [ONE]  # of L⁻¹
        for k in range(i + 1, n):
            column.append(minus(ZERO, dot(low[k][i:k], column[i:k])))
        total = ZERO
        for k in range(i, n):
            total = plus(total, mul(column[k], column[k]) / pivots[k])
        found.append(total)
    return found


def coupled_groups(pattern: ca.Sparsity) -> list[list[int]]:
    """Rows that share columns, directly or through others."""
    parent = list(range(pattern.size1()))

    def find(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[int, int] = {}
    for row, col in zip(*pattern.get_triplet(), strict=True):
        parent[find(row)] = find(first.setdefault(col, row))
    found: dict[int, list[int]] = {}
    for row in range(pattern.size1()):
        found.setdefault(find(row), []).append(row)
    return list(found.values())
