"""Vectors of three symbols, written out so that every operation on the tape is one that mechanics asks for.

Zeros and ones are the objects `ZERO` and `ONE` and are recognized as such before CasADi is called: a call costs some ten
microseconds, and most entries of a mechanism's matrices are zero.
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


def mul(a: ca.SX, b: ca.SX) -> ca.SX:
    if a is ZERO or b is ZERO:
        return ZERO
    if a is ONE:
        return b
    return a if b is ONE else a * b


def plus(a: ca.SX, b: ca.SX) -> ca.SX:
    if a is ZERO:
        return b
    return a if b is ZERO else a + b


def minus(a: ca.SX, b: ca.SX) -> ca.SX:
    if b is ZERO:
        return a
    return -b if a is ZERO else a - b


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
    """Matrix of the turn about an axis that takes child components to the parent's axes."""
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


def exact(x: ca.SX) -> ca.SX:
    """The symbol itself, or `ZERO` or `ONE` where it is that constant."""
    if x.is_constant():
        return ZERO if x.is_zero() else ONE if x.is_one() else x
    return x


def is_zero(x: ca.SX) -> bool:
    return x is ZERO or bool(x.is_zero())


def vanishes(a: Vec) -> bool:
    return all(is_zero(c) for c in a)
