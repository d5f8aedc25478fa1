"""Interval arithmetic on graphs: bounds of values, and of their derivatives in one direction.

Every value is a pair (lowest, highest) of arrays, over many intervals of the argument at once. Bounds are those of real
arithmetic evaluated in floating point, without outward rounding; a decision that depends on the last digits is left to the
caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.arithmetic import real_operations
from draisine.program.graph import Graph
from draisine.program.ssa import CALL, CONSTANT, INPUT, NUMBERS, RESULT

Reals = NDArray[np.float64]
Bounds = tuple[Reals, Reals]
Enclosure = tuple[Bounds, Bounds | None]  # of the value and of the derivative; None is a derivative of zero

ALL: Bounds = np.array(-np.inf), np.array(np.inf)
_ZERO: Bounds = np.array(0.0), np.array(0.0)
_ONE: Bounds = np.array(1.0), np.array(1.0)


def enclose(graph: Graph, wanted: Iterable[int], given: Mapping[int, Enclosure]) -> dict[int, Enclosure]:
    """Enclosures of nodes and of all they depend on. Inputs that are not `given` can have any value, and derivative zero."""
    known: dict[int, Enclosure] = dict(given)
    _extend(graph, wanted, known)
    return known


class BoundsOfNodes:
    """Bounds of the nodes of a growing graph for all values of the inputs. Each is computed once, and only if it is asked for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, Enclosure] = {}

    def of(self, node: int) -> tuple[float, float]:
        """The lowest and the highest value of a node."""
        if node not in self._known:
            _extend(self._graph, [node], self._known)
        low, high = self._known[node][0]
        return float(low), float(high)


def _extend(graph: Graph, wanted: Iterable[int], known: dict[int, Enclosure]) -> None:
    """Add the nodes that are wanted, and all they depend on, to those that are known."""
    with np.errstate(all="ignore"):
        for k in sorted(graph.reached(wanted, known.__contains__)):
            if k not in known:
                known[k] = _node(graph, k, known)


def _node(graph: Graph, k: int, known: Mapping[int, Enclosure]) -> Enclosure:
    operation, operands, detail = graph.values[k]
    if operation == CONSTANT:
        number = np.array(float.fromhex(detail))
        return (number, number), None
    if operation in (INPUT, NUMBERS):
        return ALL, None
    if operation in (CALL, RESULT):
        return ALL, ALL
    if operation == op.GETNONZEROS_PARAM:
        return _fetched(graph.numbers[graph.values[operands[0]].detail], known[operands[1]][0]), None
    if operation == op.LOW:
        search = real_operations()[op.LOW]
        low, high = known[operands[1]][0]
        knots = graph.numbers[graph.values[operands[0]].detail]
        return (search(knots, low), search(knots, high)), None
    values = [known[i][0] for i in operands]
    derivatives = [known[i][1] for i in operands]
    value = _clean(_VALUES[operation](*values)) if operation in _VALUES else ALL
    if all(slope is None for slope in derivatives):
        return value, None
    if len(operands) == 2 and operands[0] == operands[1] and operation == op.MUL:
        value = _square(values[0])
    return value, _clean(_derivative(operation, values, derivatives, value))


def _clean(found: Bounds) -> Bounds:
    """Undefined results can be anything."""
    low, high = found
    wrong = np.isnan(low) | np.isnan(high)
    if wrong.ndim == 0 and not wrong:
        return found
    return np.where(wrong, -np.inf, low), np.where(wrong, np.inf, high)


# ------------------------------------------------------------------------------------------------------- operations


def _add(a: Bounds, b: Bounds) -> Bounds:
    return a[0] + b[0], a[1] + b[1]


def _neg(a: Bounds) -> Bounds:
    return -a[1], -a[0]


def _sub(a: Bounds, b: Bounds) -> Bounds:
    return a[0] - b[1], a[1] - b[0]


def _mul(a: Bounds, b: Bounds) -> Bounds:
    if all(side.ndim == 0 for side in (*a, *b)):  # most are, and arrays of one number take ten times as long
        products = [0.0 if x == 0.0 or y == 0.0 else x * y for x in map(float, a) for y in map(float, b)]
        if not any(map(math.isnan, products)):
            return np.array(min(products)), np.array(max(products))
    pairs = [(x, y) for x in (a if a[0] is not a[1] else a[:1]) for y in (b if b[0] is not b[1] else b[:1])]
    corners = [_product(x, y) for x, y in pairs]
    return reduce(np.minimum, corners), reduce(np.maximum, corners)


def _product(x: Reals, y: Reals) -> Reals:
    """0·∞ is 0: the factor is exactly zero."""
    product = x * y
    undefined = np.isnan(product)
    return np.where(undefined & ((x == 0.0) | (y == 0.0)), 0.0, product) if undefined.any() else product


def _inverse(a: Bounds) -> Bounds:
    low, high = a
    through = (low < 0.0) & (high > 0.0)
    down = np.where(through, -np.inf, np.where(high == 0.0, -np.inf, 1.0 / high))
    up = np.where(through, np.inf, np.where(low == 0.0, np.inf, 1.0 / low))
    return down, up


def _square(a: Bounds) -> Bounds:
    low, high = a
    inside = (low <= 0.0) & (high >= 0.0)
    return np.where(inside, 0.0, np.minimum(low * low, high * high)), np.maximum(low * low, high * high)


def _rising(function: Callable[[Any], Any]) -> Callable[[Bounds], Bounds]:
    return lambda a: (np.asarray(function(a[0])), np.asarray(function(a[1])))


def _limited(function: Callable[[Any], Any], low: float, high: float) -> Callable[[Bounds], Bounds]:
    """A rising function with a domain. Outside of it there is no value, which bounds nothing."""
    return lambda a: (np.asarray(function(np.clip(a[0], low, high))), np.asarray(function(np.clip(a[1], low, high))))


def _sine(a: Bounds, shift: float = 0.0) -> Bounds:
    low, high = a[0] + shift, a[1] + shift
    down, up = np.minimum(np.sin(low), np.sin(high)), np.maximum(np.sin(low), np.sin(high))
    turn = 2.0 * math.pi
    top = np.floor((high - 0.5 * math.pi) / turn) >= np.ceil((low - 0.5 * math.pi) / turn)
    bottom = np.floor((high + 0.5 * math.pi) / turn) >= np.ceil((low + 0.5 * math.pi) / turn)
    wide = ~(np.isfinite(low) & np.isfinite(high)) | (high - low >= turn)
    return np.where(bottom | wide, -1.0, down), np.where(top | wide, 1.0, up)


def _cosine(a: Bounds) -> Bounds:
    return _sine(a, 0.5 * math.pi)


def _tangent(a: Bounds) -> Bounds:
    low, high = a
    pole = np.floor((high + 0.5 * math.pi) / math.pi) > np.floor((low + 0.5 * math.pi) / math.pi)
    wide = pole | ~(np.isfinite(low) & np.isfinite(high))
    return np.where(wide, -np.inf, np.tan(low)), np.where(wide, np.inf, np.tan(high))


def _hyperbolic_cosine(a: Bounds) -> Bounds:
    square = _square(a)
    return np.cosh(np.sqrt(square[0])), np.cosh(np.sqrt(square[1]))


def _absolute(a: Bounds) -> Bounds:
    low, high = a
    inside = (low <= 0.0) & (high >= 0.0)
    return np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _power(a: Bounds, b: Bounds) -> Bounds:
    exponent = b[0]
    if b[0].size != 1 or b[0] != b[1] or not np.isfinite(exponent):
        up = _mul(b, (np.log(np.maximum(a[0], 0.0)), np.log(np.maximum(a[1], 0.0))))
        positive = a[0] > 0.0
        return np.where(positive, np.exp(up[0]), -np.inf), np.where(positive, np.exp(up[1]), np.inf)
    n = float(exponent)
    if n < 0.0:
        return _inverse(_power(a, (-b[1], -b[0])))
    if n.is_integer():
        if n % 2 == 0:
            size = _absolute(a)
            return size[0] ** n, size[1] ** n
        return np.asarray(np.float_power(a[0], n)), np.asarray(np.float_power(a[1], n))
    return np.maximum(a[0], 0.0) ** n, np.maximum(a[1], 0.0) ** n


def _hypotenuse(a: Bounds, b: Bounds) -> Bounds:
    one, other = _absolute(a), _absolute(b)
    return np.hypot(one[0], other[0]), np.hypot(one[1], other[1])


def _angle(y: Bounds, x: Bounds) -> Bounds:
    right = x[0] > 0.0
    quotient = _mul(y, _inverse(x))
    return np.where(right, np.arctan(quotient[0]), -math.pi), np.where(right, np.arctan(quotient[1]), math.pi)


def _below(a: Bounds, b: Bounds) -> Bounds:
    return np.where(a[1] < b[0], 1.0, 0.0), np.where(a[0] > b[1], 0.0, 1.0)


def _truth(a: Bounds) -> Bounds:
    """0 or 1."""
    nonzero = (a[0] > 0.0) | (a[1] < 0.0)
    return np.where(nonzero, 1.0, 0.0), np.where((a[0] == 0.0) & (a[1] == 0.0), 0.0, 1.0)


def _not(a: Bounds) -> Bounds:
    return _sub(_ONE, _truth(a))


def _if_else_zero(c: Bounds, a: Bounds) -> Bounds:
    truth = _truth(c)
    low = np.where(truth[0] == 1.0, a[0], np.where(truth[1] == 0.0, 0.0, np.minimum(a[0], 0.0)))
    high = np.where(truth[0] == 1.0, a[1], np.where(truth[1] == 0.0, 0.0, np.maximum(a[1], 0.0)))
    return low, high


def _modulo(a: Bounds, b: Bounds) -> Bounds:
    size = np.minimum(_absolute(b)[1], np.inf)
    return np.where(a[0] >= 0.0, 0.0, -size), np.where(a[1] <= 0.0, 0.0, size)


def _symmetric(a: Bounds, b: Bounds) -> Bounds:
    half = 0.5 * _absolute(b)[1]
    return -half, half


def _copysign(a: Bounds, b: Bounds) -> Bounds:
    size = _absolute(a)
    return np.where(b[0] > 0.0, size[0], -size[1]), np.where(b[1] < 0.0, -size[0], size[1])


def _fetched(numbers: Reals, index: Bounds) -> Bounds:
    low, high = (np.clip(np.nan_to_num(side), 0, numbers.size - 1).astype(int) for side in index)
    same = low == high
    return np.where(same, numbers[low], numbers.min()), np.where(same, numbers[high], numbers.max())


_VALUES: dict[int, Callable[..., Bounds]] = {
    op.ADD: _add,
    op.SUB: _sub,
    op.MUL: _mul,
    op.DIV: lambda a, b: _mul(a, _inverse(b)),
    op.NEG: _neg,
    op.INV: _inverse,
    op.SQ: _square,
    op.TWICE: lambda a: (2.0 * a[0], 2.0 * a[1]),
    op.EXP: _rising(np.exp),
    op.EXPM1: _rising(np.expm1),
    op.LOG: _limited(np.log, 0.0, np.inf),
    op.LOG1P: _limited(np.log1p, -1.0, np.inf),
    op.SQRT: _limited(np.sqrt, 0.0, np.inf),
    op.POW: _power,
    op.CONSTPOW: _power,
    op.SIN: _sine,
    op.COS: _cosine,
    op.TAN: _tangent,
    op.ASIN: _limited(np.arcsin, -1.0, 1.0),
    op.ACOS: lambda a: (np.arccos(np.clip(a[1], -1.0, 1.0)), np.arccos(np.clip(a[0], -1.0, 1.0))),
    op.ATAN: _rising(np.arctan),
    op.SINH: _rising(np.sinh),
    op.COSH: _hyperbolic_cosine,
    op.TANH: _rising(np.tanh),
    op.ASINH: _rising(np.arcsinh),
    op.ACOSH: _limited(np.arccosh, 1.0, np.inf),
    op.ATANH: _limited(np.arctanh, -1.0, 1.0),
    op.ERF: _rising(np.vectorize(math.erf, otypes=[float])),
    op.HYPOT: _hypotenuse,
    op.ATAN2: _angle,
    op.LT: _below,
    op.LE: _below,
    op.EQ: lambda a, b: (_ZERO[0], _ONE[0]),
    op.NE: lambda a, b: (_ZERO[0], _ONE[0]),
    op.NOT: _not,
    op.AND: lambda a, b: _mul(_truth(a), _truth(b)),
    op.OR: lambda a, b: (np.maximum(_truth(a)[0], _truth(b)[0]), np.maximum(_truth(a)[1], _truth(b)[1])),
    op.IF_ELSE_ZERO: _if_else_zero,
    op.FABS: _absolute,
    op.SIGN: _rising(np.sign),
    op.FLOOR: _rising(np.floor),
    op.CEIL: _rising(np.ceil),
    op.FMIN: lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    op.FMAX: lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    op.FMOD: _modulo,
    op.REMAINDER: _symmetric,
    op.COPYSIGN: _copysign,
}

# f′(a), from the bounds of a and of f(a)
_DERIVATIVES: dict[int, Callable[[Bounds, Bounds], Bounds]] = {
    op.NEG: lambda a, f: (-_ONE[0], -_ONE[0]),
    op.TWICE: lambda a, f: (2.0 * _ONE[0], 2.0 * _ONE[0]),
    op.SQ: lambda a, f: (2.0 * a[0], 2.0 * a[1]),
    op.INV: lambda a, f: _neg(_square(f)),
    op.EXP: lambda a, f: f,
    op.EXPM1: lambda a, f: _add(f, _ONE),
    op.LOG: lambda a, f: _inverse((np.maximum(a[0], 0.0), a[1])),
    op.LOG1P: lambda a, f: _inverse((np.maximum(1.0 + a[0], 0.0), 1.0 + a[1])),
    op.SQRT: lambda a, f: _inverse((2.0 * f[0], 2.0 * f[1])),
    op.SIN: lambda a, f: _cosine(a),
    op.COS: lambda a, f: _neg(_sine(a)),
    op.TAN: lambda a, f: _add(_ONE, _square(f)),
    op.ASIN: lambda a, f: _inverse(_VALUES[op.SQRT](_sub(_ONE, _square(a)))),
    op.ACOS: lambda a, f: _neg(_inverse(_VALUES[op.SQRT](_sub(_ONE, _square(a))))),
    op.ATAN: lambda a, f: _inverse(_add(_ONE, _square(a))),
    op.SINH: lambda a, f: _hyperbolic_cosine(a),
    op.COSH: lambda a, f: _rising(np.sinh)(a),
    op.TANH: lambda a, f: _sub(_ONE, _square(f)),
    op.ASINH: lambda a, f: _inverse(_VALUES[op.SQRT](_add(_ONE, _square(a)))),
    op.ACOSH: lambda a, f: _inverse(_VALUES[op.SQRT](_sub(_square(a), _ONE))),
    op.ATANH: lambda a, f: _inverse(_sub(_ONE, _square(a))),
    op.ERF: lambda a, f: _mul((2.0 / math.sqrt(math.pi) * _ONE[0],) * 2, _rising(np.exp)(_neg(_square(a)))),
    op.FABS: lambda a, f: _rising(np.sign)(a),
}
_CONSTANT = frozenset(
    {op.LT, op.LE, op.EQ, op.NE, op.NOT, op.AND, op.OR, op.SIGN, op.FLOOR, op.CEIL}
)  # piecewise: derivative zero


def _derivative(operation: int, a: list[Bounds], derivatives: list[Bounds | None], value: Bounds) -> Bounds:
    d = [_ZERO if slope is None else slope for slope in derivatives]
    if operation in _CONSTANT:
        return _ZERO
    if operation in _DERIVATIVES:
        return _mul(_DERIVATIVES[operation](a[0], value), d[0])
    if operation == op.ADD:
        return _add(d[0], d[1])
    if operation == op.SUB:
        return _sub(d[0], d[1])
    if operation == op.MUL:
        return _add(_mul(a[0], d[1]), _mul(a[1], d[0]))
    if operation == op.DIV:
        return _mul(_sub(d[0], _mul(value, d[1])), _inverse(a[1]))
    if operation in (op.POW, op.CONSTPOW) and derivatives[1] is None:
        return _mul(_mul(a[1], _clean(_power(a[0], _sub(a[1], _ONE)))), d[0])
    if operation == op.IF_ELSE_ZERO:
        return _if_else_zero(a[0], d[1])
    if operation in (op.FMIN, op.FMAX):
        return np.minimum(d[0][0], d[1][0]), np.maximum(d[0][1], d[1][1])
    if operation == op.HYPOT:
        return _mul(_add(_mul(a[0], d[0]), _mul(a[1], d[1])), _inverse(value))
    if operation == op.ATAN2:
        return _mul(_sub(_mul(a[1], d[0]), _mul(a[0], d[1])), _inverse(_add(_square(a[0]), _square(a[1]))))
    return ALL
