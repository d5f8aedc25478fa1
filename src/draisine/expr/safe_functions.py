"""Primitives whose derivatives are finite everywhere people go.

√, atan2, powers and switches have points where a derivative is infinite or not defined, and there automatic differentiation
answers NaN: the length of a velocity at rest, the angle of a vector of length zero. Here one rule holds at such a point:

    the function stands still there: its value is the natural one (length 0, unit vector 0, angle 0, root 0) and its
    derivatives of every order are zero.

"There" is a neighbourhood smaller than anything physical (`TINY`), outside of which values and derivatives are the exact ones.
All are plain SX operations. Where the caller knows that the point cannot be reached, `regular=True` gives the bare formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from draisine.errors import ArgumentError

TINY = 1e-100  # lengths below this count as zero; second derivatives, of order 1/length², then stay in range

Scalar = Any  # SX, float or int
Vector = Any  # a column SX, or a sequence of scalars


def length(vector: Vector, regular: bool = False) -> ca.SX:
    """√(v·v). At zero, value and derivatives are zero.

    >>> v = ca.SX.sym("v", 2)
    >>> slope = ca.Function("slope", [v], [ca.gradient(length(v), v)])
    >>> slope([0.0, 0.0]), slope([3.0, 4.0])
    (DM([0, 0]), DM([0.6, 0.8]))
    """
    square = _square(vector)
    if regular:
        return ca.sqrt(square)
    nonzero = square > TINY**2
    return nonzero * ca.sqrt(square + ca.logic_not(nonzero))


def unit(vector: Vector, regular: bool = False) -> ca.SX:
    """The column v/|v|. At zero it is the zero vector, with derivatives zero."""
    column = _column(vector)
    square = _square(column)
    if regular:
        return column * (1 / ca.sqrt(square))
    nonzero = square > TINY**2
    return ca.SX(column * (nonzero / ca.sqrt(square + ca.logic_not(nonzero))))


def angle(y: Scalar, x: Scalar, regular: bool = False) -> ca.SX:
    """The angle of the point (x, y), in (−π, π]. At the origin, value and derivatives are zero."""
    y, x = ca.SX(y), ca.SX(x)
    if regular:
        return ca.SX(ca.atan2(y, x))
    away = x * x + y * y > TINY**2  # the derivative has the same sum
    return ca.SX(away * ca.atan2(y, x + ca.logic_not(away)))


def root(x: Scalar, n: int = 2) -> ca.SX:
    """The real n-th root. At zero, value and derivatives are zero.

    Odd roots take the sign of x. Even roots of negative numbers are zero: rounding makes such numbers out of zeros.

    >>> x = ca.SX.sym("x")
    >>> float(ca.evalf(ca.substitute(root(x, 3), x, -8.0)))
    -2.0
    """
    if n < 2:
        raise ArgumentError(f"root of order {n}: the order must be a whole number of at least 2")
    x = ca.SX(x)
    size = ca.fabs(x) if n % 2 else x
    nonzero = size > TINY
    base = ca.if_else(nonzero, size, 1.0)
    if n == 2:
        return ca.SX(nonzero * ca.sqrt(base))
    power = base ** (1.0 / n)
    return ca.SX((ca.sign(x) * nonzero if n % 2 else nonzero) * power)


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> ca.SX:
    """x kept between two bounds. At a bound the slope is one half, the mean of both sides."""
    return ca.fmin(ca.fmax(ca.SX(x), lower), upper)


def absolute(x: Scalar, width: Scalar | None = None) -> ca.SX:
    """|x|, with slope zero at zero. With a width, the smooth √(x² + width²), which differs from |x| by less than the width."""
    if width is None:
        return ca.fabs(ca.SX(x))
    return ca.sqrt(ca.SX(x) ** 2 + ca.SX(width) ** 2)


def sign(x: Scalar, width: Scalar | None = None) -> ca.SX:
    """−1, 0 or 1, with slope zero everywhere. With a width, the smooth tanh(x/width)."""
    return ca.sign(ca.SX(x)) if width is None else ca.tanh(ca.SX(x) / width)


def where(condition: Scalar, then: Scalar, otherwise: Scalar) -> ca.SX:
    """A sharp switch. Value and derivatives are those of the branch taken.

    Both branches are differentiated. How well a branch that is not taken is kept out, when its derivatives are not finite,
    depends on the version of CasADi: shield its argument with `guard`, or write it with the primitives of this file.
    """
    return ca.SX(ca.if_else(condition, then, otherwise))


def guard(condition: Scalar, x: Scalar, stand_in: Scalar) -> ca.SX:
    """x where the condition holds, else a harmless stand-in: the argument for a branch that is finite only there.

    >>> x = ca.SX.sym("x")
    >>> f = where(x > 0, ca.log(guard(x > 0, x, 1.0)), 0.0)
    >>> float(ca.evalf(ca.substitute(ca.jacobian(f, x), x, -1.0)))
    0.0
    """
    return ca.SX(ca.if_else(condition, x, stand_in))


def smooth_where(x: Scalar, then: Scalar, otherwise: Scalar, width: Scalar) -> ca.SX:
    """A smooth switch: `then` for x well above zero, `otherwise` well below, and a tanh of the given width between.

    Three widths away from zero the weight of the other branch is 0.25 %, ten widths away it is 2e-9.
    """
    weight = 0.5 + 0.5 * ca.tanh(ca.SX(x) / width)
    return otherwise + weight * (ca.SX(then) - otherwise)


def _column(vector: Vector) -> ca.SX:
    column = ca.vertcat(*vector) if isinstance(vector, Sequence) else ca.SX(vector)
    if column.shape[1] != 1:
        raise ArgumentError(f"a vector must be one column, got {column.shape[0]} × {column.shape[1]}")
    return ca.SX(column)


def _square(vector: Vector) -> ca.SX:
    column = _column(vector)
    total = column[0] ** 2
    for k in range(1, column.shape[0]):
        total += column[k] ** 2
    return total
