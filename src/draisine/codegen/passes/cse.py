"""Common subexpression elimination up to sign and order of operands.

Every value is represented as ± another one: b − a is −(a − b), (−a) b is −(a b), and a + (−b) is a − b. Operands of sums and
products are sorted; squares are products and doubles are sums. None of this changes a number, except the sign of a zero. Sums,
differences and products of constants are folded.
"""

from __future__ import annotations

from collections.abc import Callable

from draisine.program import opcodes as op
from draisine.program.ssa import CONSTANT, RESULT, SSA

_ODD = frozenset({op.SIN, op.TAN, op.ASIN, op.ATAN, op.SINH, op.TANH, op.ASINH, op.ATANH, op.ERF, op.INV})
_EVEN = frozenset({op.COS, op.COSH, op.FABS})


def eliminate_common_subexpressions(ssa: SSA) -> SSA:
    """The same results, with values shared up to sign and commutation."""
    return _CommonSubexpressions(ssa).result()


class _CommonSubexpressions:
    """A signed value is a number: 2 v for the value v of the new list, 2 v + 1 for its opposite. Every value of a program passes
    here twice when it is compiled, and records of two entries would take longer than all else."""

    def __init__(self, ssa: SSA) -> None:
        self.ssa = ssa
        self.new = SSA(numbers=ssa.numbers, callees=ssa.callees)
        self.constants: dict[int, float] = {}  # value of the new list → its number

    def result(self) -> SSA:
        rules: dict[int, Callable[..., int]] = {
            op.ADD: self._sum,
            op.SUB: lambda a, b: self._sum(a, b ^ 1),
            op.MUL: self._product,
            op.DIV: self._quotient,
            op.NEG: lambda a: a ^ 1,
            op.TWICE: lambda a: self._sum(a, a),
            op.SQ: lambda a: self._product(a, a),
        }
        new, known = self.new, list[int]()
        for kind, operands, detail in self.ssa.values:
            rule = rules.get(kind)
            if rule is not None:
                known.append(rule(*[known[o] for o in operands]))
            elif kind in _ODD:
                known.append(2 * new.add(kind, (known[operands[0]] >> 1,)) + (known[operands[0]] & 1))
            elif kind in _EVEN:
                known.append(2 * new.add(kind, (known[operands[0]] >> 1,)))
            elif kind == CONSTANT:
                known.append(self._constant(float.fromhex(detail)))
            elif kind == RESULT:
                known.append(2 * new.add(kind, (known[operands[0]] >> 1,), detail))
            else:
                # operands are added first, so that a call and its results stay adjacent
                known.append(2 * new.add(kind, tuple([self._plain(known[o]) for o in operands]), detail))
        new.results = [(slot, entry, self._plain(known[value])) for slot, entry, value in self.ssa.results]
        return new

    # ---------------------------------------------------------------- rules

    def _sum(self, a: int, b: int) -> int:
        one, other = self._number(a), self._number(b)
        if one is not None and other is not None:
            return self._constant(one + other)
        negative = a & 1
        if negative == b & 1:
            return 2 * self.new.add(op.ADD, _sorted(a >> 1, b >> 1)) + negative
        minuend, subtrahend = (b >> 1, a >> 1) if negative else (a >> 1, b >> 1)
        turned = self.new.find(op.SUB, (subtrahend, minuend))
        return 2 * self.new.add(op.SUB, (minuend, subtrahend)) if turned is None else 2 * turned + 1

    def _product(self, a: int, b: int) -> int:
        negative = (a ^ b) & 1
        one, other = self.constants.get(a >> 1), self.constants.get(b >> 1)
        if one is not None and other is not None:
            return self._constant(-(one * other) if negative else one * other)
        if one == 1.0 or other == 1.0:
            return ((b if one == 1.0 else a) & ~1) + negative
        return 2 * self.new.add(op.MUL, _sorted(a >> 1, b >> 1)) + negative

    def _quotient(self, a: int, b: int) -> int:
        negative = (a ^ b) & 1
        if self.constants.get(a >> 1) == 1.0:
            return 2 * self.new.add(op.INV, (b >> 1,)) + negative
        return 2 * self.new.add(op.DIV, (a >> 1, b >> 1)) + negative

    # ---------------------------------------------------------------- signs and constants

    def _plain(self, a: int) -> int:
        """The value with its sign applied."""
        value = a >> 1
        if not a & 1:
            return value
        number = self.constants.get(value)
        if number is not None:
            return self._added(-number)
        kind, operands, _ = self.new.values[value]
        if kind == op.SUB:
            return self.new.add(op.SUB, (operands[1], operands[0]))
        if kind == op.MUL:
            for constant, other in (operands, operands[::-1]):
                number = self.constants.get(constant)
                if number is not None:
                    return self.new.add(op.MUL, _sorted(self._added(-number), other))
        return self.new.add(op.NEG, (value,))

    def _constant(self, number: float) -> int:
        """A constant as ± its absolute value."""
        return 2 * self._added(-number) + 1 if number < 0.0 else 2 * self._added(number)

    def _added(self, number: float) -> int:
        """The value of a constant."""
        value = self.new.constant(number)
        self.constants[value] = number
        return value

    def _number(self, a: int) -> float | None:
        number = self.constants.get(a >> 1)
        return -number if number is not None and a & 1 else number


def _sorted(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a <= b else (b, a)
