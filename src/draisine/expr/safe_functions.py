"""CasADi functions with finite derivatives, and the functions of expressions on SX.

√, atan2, powers and switches have points where a derivative is infinite or undefined, and automatic differentiation returns NaN:
the norm of a velocity at rest, the angle of a zero vector. Here one rule holds at such a point: the value is the natural one
(length 0, unit vector 0, angle 0, root 0), and derivatives of every order are zero. The rule applies in a neighborhood far below
physical scales (`TINY`); outside of it values and derivatives are exact. All functions consist of SX operations. Where the
singular point cannot be reached, `regular=True` gives the plain formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import casadi as ca

from draisine.errors import ArgumentError

TINY = 1e-100  # shorter lengths count as zero; second derivatives, of order 1/length², then do not overflow

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

    Odd roots have the sign of x. Even roots of negative numbers are zero, since rounding turns zeros into such numbers.

    >>> x = ca.SX.sym("x")
    >>> float(ca.evalf(ca.substitute(root(x, 3), x, -8.0)))
    -2.0
    """
    if n < 2:
        raise ArgumentError(f"root of order {n}: the order must be an integer of at least 2")
    x = ca.SX(x)
    size = ca.fabs(x) if n % 2 else x
    nonzero = size > TINY
    base = ca.if_else(nonzero, size, 1.0)
    if n == 2:
        return ca.SX(nonzero * ca.sqrt(base))
    power = base ** (1.0 / n)
    return ca.SX((ca.sign(x) * nonzero if n % 2 else nonzero) * power)


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> ca.SX:
    """x limited to an interval. At a bound the derivative is one half, the mean of both sides."""
    return ca.fmin(ca.fmax(ca.SX(x), lower), upper)


def absolute(x: Scalar, width: Scalar | None = None) -> ca.SX:
    """|x|, with derivative zero at zero. With a width, the smooth √(x² + width²), which differs from |x| by at most the width."""
    if width is None:
        return ca.fabs(ca.SX(x))
    return ca.sqrt(ca.SX(x) ** 2 + ca.SX(width) ** 2)


def sign(x: Scalar, width: Scalar | None = None) -> ca.SX:
    """−1, 0 or 1, with derivative zero everywhere. With a width, the smooth tanh(x/width)."""
    return ca.sign(ca.SX(x)) if width is None else ca.tanh(ca.SX(x) / width)


def where(condition: Scalar, then: Scalar, otherwise: Scalar) -> ca.SX:
    """A switch. Value and derivatives are those of the active branch.

    Both branches are differentiated. Whether nonfinite derivatives of the inactive branch are suppressed depends on the
    version of CasADi: protect its argument by `guard`, or use the functions of this module in it.
    """
    return ca.SX(ca.if_else(condition, then, otherwise))


def guard(condition: Scalar, x: Scalar, stand_in: Scalar) -> ca.SX:
    """x where the condition holds, else `stand_in`: the argument of a branch that is finite only there.

    >>> x = ca.SX.sym("x")
    >>> f = where(x > 0, ca.log(guard(x > 0, x, 1.0)), 0.0)
    >>> float(ca.evalf(ca.substitute(ca.jacobian(f, x), x, -1.0)))
    0.0
    """
    return ca.SX(ca.if_else(condition, x, stand_in))


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


# -------------------------------------------------------------------- the functions of expressions


def _checked_sqrt(x: ca.SX) -> ca.SX:
    # Unlike `root`, it keeps the square root of a negative number NaN: an error in a formula must show.
    zero = ca.fabs(x) < TINY
    return ca.logic_not(zero) * ca.sqrt(x + zero)


def _on_sx(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: function(*[a if isinstance(a, ca.SX) else ca.SX(a) for a in arguments])


def _sx_functions() -> dict[str, Callable[..., Any]]:
    elementary = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "floor", "ceil")
    table: dict[str, Callable[..., Any]] = {name: getattr(ca, name) for name in (*elementary, "lt", "le", "gt", "ge")}
    return table | {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": ca.power,
        "neg": lambda a: -a,
        "sqrt": _checked_sqrt,
        "atan2": angle,
        "abs": absolute,
        "sign": sign,
        "min": lambda *a: reduce(ca.fmin, a),
        "max": lambda *a: reduce(ca.fmax, a),
        "hypot": lambda *a: length(list(a)),
        "clip": clip,
        "where": where,
    }


# functions and operators of expressions on CasADi's SX, for `draisine.expr.expression.evaluate`
SX_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType({name: _on_sx(f) for name, f in _sx_functions().items()})
