"""Divisions by the same number are products with its reciprocal.

A division takes as long as five products and more, and the processor begins few of them at a time. a/d and b/d become a r and b r
with r = 1/d, which differ from the quotients by one rounding more. So does a/d where r is found less often than the quotient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from draisine.codegen.jit.ssa import Straight, copied
from draisine.program import opcodes as op

_TOO_SMALL, _TOO_LARGE = 1e-150, 1e150  # constants beyond are divided by, as they stand


def with_reciprocals(unit: Straight, often: Sequence[int] = ()) -> Straight:
    """The same results with fewer divisions; `often` says of every value how often it is found, compared with the others."""
    divisors = Counter(operands[-1] for kind, operands, _ in unit.values if kind in (op.DIV, op.INV))

    def rule(made: Straight, value: int, operands: tuple[int, ...]) -> int | None:
        kind, (*_, divisor), _ = unit.values[value]
        constant = unit.number(divisor)
        if constant is not None and not _TOO_SMALL < abs(constant) < _TOO_LARGE:
            return None
        if divisors[divisor] < 2 and constant is None and not (often and often[divisor] < often[value]):
            return None
        inverse = made.add(op.INV, (operands[-1],))  # that of a constant is found by the compiler
        return inverse if kind == op.INV else made.add(op.MUL, (operands[0], inverse))

    return copied(unit, {op.DIV: rule, op.INV: rule})
