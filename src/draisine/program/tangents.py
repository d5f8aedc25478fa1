"""Forward differentiation of graphs: the derivative of a value along given derivatives of the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from draisine.program import opcodes as op
from draisine.program.graph import Graph
from draisine.program.ssa import CALL, CONSTANT, INPUT, NUMBERS, RESULT

# derivatives that are zero wherever they exist
_CONSTANT = frozenset(
    {CONSTANT, INPUT, NUMBERS, op.LT, op.LE, op.EQ, op.NE, op.NOT, op.AND, op.OR, op.SIGN, op.FLOOR, op.CEIL, op.LOW}
    | {op.GETNONZEROS_PARAM}
)


class Tangents:
    """Derivatives of nodes, as nodes. None is zero. Calls have no derivative here, NaN, but for the nearest point of a curve."""

    def __init__(self, graph: Graph, seeds: Mapping[int, int]) -> None:
        self.graph = graph
        self._known: dict[int, int | None] = dict(seeds)

    def of(self, node: int) -> int | None:
        """The derivative of a node."""
        for k in sorted(self.graph.reached([node], lambda n: n in self._known)):
            if k not in self._known:
                self._known[k] = self._derivative(k)
        return self._known[node]

    def _derivative(self, k: int) -> int | None:
        g = self.graph
        operation, operands, _ = g.values[k]
        if operation in _CONSTANT:
            return None
        d = [self._known[i] for i in operands]
        if all(one is None for one in d):
            return None
        if operation == CALL:
            return self._moved(k) if g.callees[g.values[k].detail].is_nearest_point else g.constant(math.nan)
        if operation == RESULT:
            return self._carried(k)
        if len(operands) == 1:
            assert d[0] is not None
            return _UNARY[operation](g, operands[0], k, d[0])
        return _BINARY[operation](g, operands, k, d)

    def _moved(self, call: int) -> int:
        """The rate of the arc length of the nearest point of a curve, (ẋ x₁ + ẏ y₁)/(x₁² + y₁² − 2 (x − x₀) x₂ − 2 (y − y₀) y₂),
        with the coefficients of its Taylor series there, which are results of the call: r, x₀, …, x₅, y₀, …, y₅."""
        g = self.graph
        moves, steep = None, g.constant(0.0)
        for number, place in enumerate(g.values[call].operands):
            zeroth, first, second = (g.add(RESULT, (call,), 1 + 6 * number + k) for k in range(3))
            rate = self._known[place]
            moves = _sum(g, moves, _times(g, first, rate))
            bent = g.add(op.MUL, (g.add(op.SUB, (place, zeroth)), g.add(op.MUL, (g.constant(2.0), second))))
            steep = g.add(op.ADD, (steep, g.add(op.SUB, (g.add(op.MUL, (first, first)), bent))))
        assert moves is not None
        return g.add(op.DIV, (moves, steep))

    def _carried(self, result: int) -> int | None:
        """The rate of a result of a call: of the nearest point of a curve ṙ, and (k + 1) x₍ₖ₊₁₎ ṙ for Taylor's coefficients."""
        g = self.graph
        (call,), number = g.values[result].operands, g.values[result].detail
        rate = self._known[call]
        if number == 0 or rate is None or not g.callees[g.values[call].detail].is_nearest_point:
            return rate
        power = (number - 1) % 6
        if power == 5:
            return None
        return g.add(op.MUL, (g.add(op.MUL, (g.constant(power + 1.0), g.add(RESULT, (call,), number + 1))), rate))


def _times(g: Graph, a: int, b: int | None) -> int | None:
    return None if b is None else g.add(op.MUL, (a, b))


def _sum(g: Graph, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return g.add(op.ADD, (a, b))


def _difference(g: Graph, a: int | None, b: int | None) -> int | None:
    if b is None:
        return a
    return g.add(op.NEG, (b,)) if a is None else g.add(op.SUB, (a, b))


def _one_plus(g: Graph, a: int) -> int:
    return g.add(op.ADD, (g.constant(1.0), a))


def _one_minus(g: Graph, a: int) -> int:
    return g.add(op.SUB, (g.constant(1.0), a))


def _square(g: Graph, a: int) -> int:
    return g.add(op.SQ, (a,))


def _over(g: Graph, a: int, b: int) -> int:
    return g.add(op.DIV, (a, b))


def _root(g: Graph, a: int) -> int:
    return g.add(op.SQRT, (a,))


# (graph, argument, value, derivative of the argument) → derivative of the value
_UNARY: dict[int, Callable[[Graph, int, int, int], int]] = {
    op.NEG: lambda g, a, f, d: g.add(op.NEG, (d,)),
    op.TWICE: lambda g, a, f, d: g.add(op.TWICE, (d,)),
    op.SQ: lambda g, a, f, d: g.add(op.MUL, (g.add(op.TWICE, (a,)), d)),
    op.INV: lambda g, a, f, d: g.add(op.NEG, (g.add(op.MUL, (_square(g, f), d)),)),
    op.EXP: lambda g, a, f, d: g.add(op.MUL, (f, d)),
    op.EXPM1: lambda g, a, f, d: g.add(op.MUL, (_one_plus(g, f), d)),
    op.LOG: lambda g, a, f, d: _over(g, d, a),
    op.LOG1P: lambda g, a, f, d: _over(g, d, _one_plus(g, a)),
    op.SQRT: lambda g, a, f, d: _over(g, d, g.add(op.TWICE, (f,))),
    op.SIN: lambda g, a, f, d: g.add(op.MUL, (g.add(op.COS, (a,)), d)),
    op.COS: lambda g, a, f, d: g.add(op.NEG, (g.add(op.MUL, (g.add(op.SIN, (a,)), d)),)),
    op.TAN: lambda g, a, f, d: g.add(op.MUL, (_one_plus(g, _square(g, f)), d)),
    op.ASIN: lambda g, a, f, d: _over(g, d, _root(g, _one_minus(g, _square(g, a)))),
    op.ACOS: lambda g, a, f, d: g.add(op.NEG, (_over(g, d, _root(g, _one_minus(g, _square(g, a)))),)),
    op.ATAN: lambda g, a, f, d: _over(g, d, _one_plus(g, _square(g, a))),
    op.SINH: lambda g, a, f, d: g.add(op.MUL, (g.add(op.COSH, (a,)), d)),
    op.COSH: lambda g, a, f, d: g.add(op.MUL, (g.add(op.SINH, (a,)), d)),
    op.TANH: lambda g, a, f, d: g.add(op.MUL, (_one_minus(g, _square(g, f)), d)),
    op.ASINH: lambda g, a, f, d: _over(g, d, _root(g, _one_plus(g, _square(g, a)))),
    op.ACOSH: lambda g, a, f, d: _over(g, d, _root(g, g.add(op.SUB, (_square(g, a), g.constant(1.0))))),
    op.ATANH: lambda g, a, f, d: _over(g, d, _one_minus(g, _square(g, a))),
    op.ERF: lambda g, a, f, d: g.add(
        op.MUL, (g.constant(2.0 / math.sqrt(math.pi)), g.add(op.MUL, (g.add(op.EXP, (g.add(op.NEG, (_square(g, a),)),)), d)))
    ),
    op.ERFINV: lambda g, a, f, d: g.add(
        op.MUL, (g.constant(0.5 * math.sqrt(math.pi)), g.add(op.MUL, (g.add(op.EXP, (_square(g, f),)), d)))
    ),
    op.FABS: lambda g, a, f, d: g.add(op.MUL, (g.add(op.SIGN, (a,)), d)),
}

Operands = tuple[int, ...]
Derivatives = list[int | None]


def _quotient(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
    numerator = _difference(g, d[0], _times(g, f, d[1]))
    return None if numerator is None else _over(g, numerator, o[1])


def _power(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
    lower = g.add(op.POW, (o[0], g.add(op.SUB, (o[1], g.constant(1.0)))))
    by_base = _times(g, g.add(op.MUL, (o[1], lower)), d[0])
    return _sum(g, by_base, _times(g, g.add(op.MUL, (f, g.add(op.LOG, (o[0],)))), d[1]) if d[1] is not None else None)


def _angle(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
    turning = _difference(g, _times(g, o[1], d[0]), _times(g, o[0], d[1]))
    return None if turning is None else _over(g, turning, g.add(op.ADD, (_square(g, o[0]), _square(g, o[1]))))


def _hypotenuse(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
    total = _sum(g, _times(g, o[0], d[0]), _times(g, o[1], d[1]))
    return None if total is None else _over(g, total, f)


def _chosen(comparison: int) -> Callable[[Graph, Operands, int, Derivatives], int | None]:
    def rule(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
        first = g.add(comparison, o)
        zero = g.constant(0.0)
        parts = [
            g.add(op.IF_ELSE_ZERO, (c, zero if one is None else one))
            for c, one in zip((first, g.add(op.NOT, (first,))), d, strict=True)
        ]
        return g.add(op.ADD, (parts[0], parts[1]))

    return rule


def _remainder(g: Graph, o: Operands, f: int, d: Derivatives) -> int | None:
    turns = _over(g, g.add(op.SUB, (o[0], f)), o[1])
    return _difference(g, d[0], _times(g, turns, d[1]))


_BINARY: dict[int, Callable[[Graph, Operands, int, Derivatives], int | None]] = {
    op.ADD: lambda g, o, f, d: _sum(g, d[0], d[1]),
    op.SUB: lambda g, o, f, d: _difference(g, d[0], d[1]),
    op.MUL: lambda g, o, f, d: _sum(g, _times(g, o[1], d[0]), _times(g, o[0], d[1])),
    op.DIV: _quotient,
    op.POW: _power,
    op.CONSTPOW: _power,
    op.ATAN2: _angle,
    op.HYPOT: _hypotenuse,
    op.IF_ELSE_ZERO: lambda g, o, f, d: None if d[1] is None else g.add(op.IF_ELSE_ZERO, (o[0], d[1])),
    op.FMIN: _chosen(op.LE),
    op.FMAX: lambda g, o, f, d: _chosen(op.LE)(g, (o[1], o[0]), f, [d[0], d[1]]),
    op.FMOD: _remainder,
    op.REMAINDER: _remainder,
    op.COPYSIGN: lambda g, o, f, d: _times(
        g, g.add(op.MUL, (g.add(op.SIGN, (o[0],)), g.add(op.COPYSIGN, (g.constant(1.0), o[1])))), d[0]
    ),
}
