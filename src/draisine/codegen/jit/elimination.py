"""Dense linear systems by elimination with partial pivoting, in restricted Python; kernels hold it as machine code."""

from __future__ import annotations

from draisine.codegen.restricted.types import AnyIntegers, Vector


def decompose(n: int, a: Vector, pivots: AnyIntegers) -> None:
    """L U of a matrix by columns, in its place, with the row that was taken in each step."""
    for k in range(n):
        row = k
        best = abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[k * n + i]) > best:
                best = abs(a[k * n + i])
                row = i
        pivots[k] = row
        if row != k:
            for j in range(k, n):
                a[j * n + k], a[j * n + row] = a[j * n + row], a[j * n + k]
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, n):
            a[k * n + i] *= inverse
        for j in range(k + 1, n):
            top = a[j * n + k]
            if top != 0.0:  # most are zero in the augmented matrices of mechanisms
                for i in range(k + 1, n):
                    a[j * n + i] -= a[k * n + i] * top


def substitute(n: int, a: Vector, pivots: AnyIntegers, b: Vector) -> None:
    """b ← a⁻¹ b, with a matrix that `decompose` has been at."""
    for k in range(n):
        row = pivots[k]
        value = b[row]
        b[row] = b[k]
        b[k] = value
        for i in range(k + 1, n):
            b[i] -= a[k * n + i] * value
    for k in range(n - 1, -1, -1):
        value = b[k] / a[k * n + k]
        b[k] = value
        for i in range(k):
            b[i] -= a[k * n + i] * value


def spread(count: int, place: AnyIntegers, values: Vector, total: int, a: Vector) -> None:
    """The entries of a sparse matrix, put at their places among `total` numbers; the others are zero."""
    for i in range(total):
        a[i] = 0.0
    for k in range(count):
        a[place[k]] = values[k]


def fill(count: int, value: float, a: Vector) -> None:
    for i in range(count):
        a[i] = value


def settle(n: int, small: float, new: Vector, z: Vector, reported: Vector) -> None:
    """z ← new; told[0] ← 1 if that changed it relatively by less than √small, or if it has no value; else 0."""
    change = 0.0
    size = 0.0
    for i in range(n):
        change += (new[i] - z[i]) * (new[i] - z[i])
        size += new[i] * new[i]
        z[i] = new[i]
    reported[0] = 1.0
    if change > small * size:
        reported[0] = 0.0
