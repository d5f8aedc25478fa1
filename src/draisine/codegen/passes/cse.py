"""Common subexpression elimination up to sign and order of operands.

Every value is represented as ± another one: b − a is −(a − b), (−a) b is −(a b), and a + (−b) is a − b. Operands of sums and
products are sorted; squares are products and doubles are sums. None of this changes a number, except the sign of a zero. Sums,
differences and products of constants are folded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from draisine.program import opcodes as op
from draisine.program.ssa import CONSTANT, RESULT, SSA

_ODD = frozenset({op.SIN, op.TAN, op.ASIN, op.ATAN, op.SINH, op.TANH, op.ASINH, op.ATANH, op.ERF, op.INV})
_EVEN = frozenset({op.COS, op.COSH, op.FABS})


class Signed(NamedTuple):
    """A value of the new list, or its opposite."""

    value: int
    negative: bool = False

    @property
    def opposite(self) -> Signed:
        return Signed(self.value, not self.negative)


def eliminate_common_subexpressions(ssa: SSA) -> SSA:
    """The same results, with values shared up to sign and commutation."""
    return _CommonSubexpressions(ssa).result()


class _CommonSubexpressions:
    def __init__(self, ssa: SSA) -> None:
        self.ssa = ssa
        self.new = SSA(numbers=ssa.numbers, callees=ssa.callees)

    def result(self) -> SSA:
        rules: dict[int, Callable[..., Signed]] = {
            op.ADD: self._sum,
            op.SUB: lambda a, b: self._sum(a, b.opposite),
            op.MUL: self._product,
            op.DIV: self._quotient,
            op.NEG: lambda a: a.opposite,
            op.TWICE: lambda a: self._sum(a, a),
            op.SQ: lambda a: self._product(a, a),
        }
        new, known = self.new, list[Signed]()
        for kind, operands, detail in self.ssa.values:
            rule = rules.get(kind)
            if rule is not None:
                known.append(rule(*[known[o] for o in operands]))
            elif kind in _ODD:
                known.append(Signed(new.add(kind, (known[operands[0]].value,)), known[operands[0]].negative))
            elif kind in _EVEN:
                known.append(Signed(new.add(kind, (known[operands[0]].value,))))
            elif kind == CONSTANT:
                known.append(self._constant(float.fromhex(detail)))
            elif kind == RESULT:
                known.append(Signed(new.add(kind, (known[operands[0]].value,), detail)))
            else:
                # operands are added first, so that a call and its results stay adjacent
                known.append(Signed(new.add(kind, tuple([self._plain(known[o]) for o in operands]), detail)))
        new.results = [(slot, entry, self._plain(known[value])) for slot, entry, value in self.ssa.results]
        return new

    # ---------------------------------------------------------------- rules

    def _sum(self, a: Signed, b: Signed) -> Signed:
        one, other = self._number(a), self._number(b)
        if one is not None and other is not None:
            return self._constant(one + other)
        if a.negative == b.negative:
            return Signed(self.new.add(op.ADD, _sorted(a, b)), a.negative)
        if a.negative:
            a, b = b, a
        if self.new.find(op.SUB, (b.value, a.value)) is not None:
            return Signed(self.new.add(op.SUB, (b.value, a.value)), True)
        return Signed(self.new.add(op.SUB, (a.value, b.value)))

    def _product(self, a: Signed, b: Signed) -> Signed:
        negative = a.negative != b.negative
        one, other = self._number(Signed(a.value)), self._number(Signed(b.value))
        if one is not None and other is not None:
            return self._constant(-(one * other) if negative else one * other)
        if one == 1.0 or other == 1.0:
            return Signed(b.value if one == 1.0 else a.value, negative)
        return Signed(self.new.add(op.MUL, _sorted(a, b)), negative)

    def _quotient(self, a: Signed, b: Signed) -> Signed:
        negative = a.negative != b.negative
        if self._number(Signed(a.value)) == 1.0:
            return Signed(self.new.add(op.INV, (b.value,)), negative)
        return Signed(self.new.add(op.DIV, (a.value, b.value)), negative)

    # ---------------------------------------------------------------- signs and constants

    def _plain(self, a: Signed) -> int:
        """The value with its sign applied."""
        if not a.negative:
            return a.value
        kind, operands, detail = self.new.values[a.value]
        if kind == CONSTANT:
            return self.new.constant(-float.fromhex(detail))
        if kind == op.SUB:
            return self.new.add(op.SUB, (operands[1], operands[0]))
        if kind == op.MUL:
            for constant, other in (operands, operands[::-1]):
                number = self._number(Signed(constant))
                if number is not None:
                    return self.new.add(op.MUL, _sorted(Signed(self.new.constant(-number)), Signed(other)))
        return self.new.add(op.NEG, (a.value,))

    def _constant(self, number: float) -> Signed:
        """A constant as ± its absolute value."""
        negative = number < 0.0
        return Signed(self.new.constant(-number if negative else number), negative)

    def _number(self, a: Signed) -> float | None:
        kind, _, detail = self.new.values[a.value]
        if kind != CONSTANT:
            return None
        number = float.fromhex(detail)
        return -number if a.negative else number


def _sorted(a: Signed, b: Signed) -> tuple[int, int]:
    return (a.value, b.value) if a.value <= b.value else (b.value, a.value)
