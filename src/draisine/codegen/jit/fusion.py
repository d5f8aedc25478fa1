"""Which products are fused with the sum that reads them: a b + c, rounded once.

A product with one reader, a sum or difference in the same block, becomes part of it; of two such products the first does. LLVM
would choose the same where instructions have the flag `contract`, but its blocks depend on the level of optimization.
"""

from __future__ import annotations

from collections import Counter

from draisine.codegen.jit.scheduling import Piece
from draisine.program import opcodes as op
from draisine.program.ssa import CONSTANT, SSA

_PRODUCTS, _SUMS = frozenset({op.MUL, op.SQ}), frozenset({op.ADD, op.SUB})
_FOLDED = _PRODUCTS | _SUMS | {op.DIV, op.INV, op.NEG, op.TWICE}


def fused_products(ssa: SSA, piece: Piece) -> dict[int, int]:
    """The products of a piece that are fused, by the value they are fused with.

    >>> ssa = SSA()
    >>> a, b, c = (ssa.add(op.FABS, (ssa.constant(k),)) for k in (1.0, 2.0, 3.0))
    >>> product, square = ssa.add(op.MUL, (a, b)), ssa.add(op.SQ, (c,))
    >>> total = ssa.add(op.SUB, (product, square))
    >>> fused_products(ssa, Piece((a, b, c, product, square, total), (), ((0, 0, total),))) == {total: product}
    True
    """
    values = ssa.values
    uses = Counter([operand for v in piece.values for operand in values[v].operands])
    uses.update(piece.spilled)
    uses.update(value for _, _, value in piece.results)
    constants: set[int] = set()
    products: set[int] = set()
    fused: dict[int, int] = {}
    for v in piece.values:
        kind, operands, _ = values[v]
        if kind in _FOLDED and all([o in constants or values[o].kind == CONSTANT for o in operands]):
            constants.add(v)  # a number already when LLVM compiles it
        elif kind in _PRODUCTS:
            if uses[v] == 1:
                products.add(v)
        elif kind in _SUMS:
            for operand in operands:
                if operand in products:
                    fused[v] = operand
                    break
    return fused
