"""Instructions of LLVM's intermediate language on numbers of one type: doubles, or vectors of doubles.

Code of kernels is written once, for whatever `ScalarType` the emitter has. On vectors every number is several numbers side by
side, one per lane; lanes never meet, and each gets what the instruction on doubles would give it, bit by bit. What has no
instruction on vectors (functions of the C library, reading of tables) is done lane by lane.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from draisine.program import opcodes as op

# `contract` lets a product and a sum become one fused instruction; nothing else about rounding is given up.
INFIX = {
    op.ADD: "fadd contract",
    op.SUB: "fsub contract",
    op.MUL: "fmul contract",
    op.DIV: "fdiv",
    op.FMOD: "frem",
}
UNFUSED = {kind: instruction.removesuffix(" contract") for kind, instruction in INFIX.items()}


def number(value: float) -> str:
    """A double in LLVM's exact notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class ScalarType:
    """What one number of a program is in the code: a double, or a vector of as many doubles as there are lanes.

    >>> ScalarType(2).real, ScalarType(2).number(1.0), ScalarType(2).function("llvm.sqrt"), ScalarType(1).function("llvm.sqrt")
    ('<2 x double>', '<double 0x3FF0000000000000, double 0x3FF0000000000000>', 'llvm.sqrt.v2f64', 'llvm.sqrt.f64')
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.real, self.truth, self.whole = (self._of(kind) for kind in ("double", "i1", "i64"))
        self.pair = f"{{ {self.real}, {self.real} }}"
        self.true = self._splat("i1", "true")

    def _of(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    def _splat(self, kind: str, literal: str) -> str:
        return literal if self.lanes == 1 else f"<{', '.join([f'{kind} {literal}'] * self.lanes)}>"

    def number(self, value: float) -> str:
        """A constant, the same in all lanes."""
        return self._splat("double", number(value))

    def integer(self, value: int) -> str:
        return self._splat("i64", str(value))

    def function(self, name: str) -> str:
        """What a function of doubles is called where it takes numbers of this type."""
        if name.startswith("llvm."):
            return f"{name}.f64" if self.lanes == 1 else f"{name}.v{self.lanes}f64"
        return name if self.lanes == 1 else f"wide_{name}"


DOUBLE = ScalarType(1)


class Emitter:
    """Instructions so far, each giving a name."""

    infix: Mapping[int, str] = INFIX

    def __init__(self, scalar: ScalarType, prefix: str = "v") -> None:
        self.scalar, self.real = scalar, scalar.real
        self.lines: list[str] = []
        self._prefix = prefix

    def emit(self, instruction: str) -> str:
        name = f"%{self._prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {instruction}")
        return name

    def number(self, value: float) -> str:
        """A constant as an operand."""
        return self.scalar.number(value)

    # ---------------------------------------------------------------- instructions

    def add(self, a: str, b: str) -> str:
        return self.emit(f"{self.infix[op.ADD]} {self.real} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.emit(f"{self.infix[op.SUB]} {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.emit(f"{self.infix[op.MUL]} {self.real} {a}, {b}")

    def exactly(self, instruction: str, a: str, b: str) -> str:
        """A sum, difference or product that is rounded by itself, never fused with another."""
        return self.emit(f"{instruction} {self.real} {a}, {b}")

    def negative(self, x: str) -> str:
        return self.emit(f"fneg {self.real} {x}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.emit(f"fcmp {predicate} {self.real} {a}, {b}")

    def select(self, condition: str, then: str, other: str) -> str:
        return self.emit(f"select {self.scalar.truth} {condition}, {self.real} {then}, {self.real} {other}")

    def call(self, function: str, *operands: str) -> str:
        """A function of doubles, an intrinsic of LLVM (without its suffix) or one of the C library."""
        return self.emit(f"call {self.real} @{self.scalar.function(function)}({', '.join(f'{self.real} {o}' for o in operands)})")

    # ---------------------------------------------------------------- memory

    def place(self, pointer: str, index: int) -> str:
        """Where an entry lies in an array of numbers."""
        return self.emit(f"getelementptr inbounds {self.real}, ptr {pointer}, i64 {index}")

    def load(self, place: str) -> str:
        return self.emit(f"load {self.real}, ptr {place}, align 8")

    def store(self, value: str, place: str) -> None:
        self.lines.append(f"store {self.real} {value}, ptr {place}, align 8")

    # ---------------------------------------------------------------- lanes

    def lanes(self, value: str, kind: str | None = None) -> list[str]:
        """The numbers of all lanes, of the given type or real."""
        if self.scalar.lanes == 1:
            return [value]
        return [self.emit(f"extractelement {kind or self.real} {value}, i32 {k}") for k in range(self.scalar.lanes)]

    def joined(self, values: Sequence[str]) -> str:
        """Doubles, one per lane, as one number."""
        if self.scalar.lanes == 1:
            return values[0]
        made = "undef"
        for k, value in enumerate(values):
            made = self.emit(f"insertelement {self.real} {made}, double {value}, i32 {k}")
        return made

    def lane_by_lane(self, function: Callable[..., str], *operands: str) -> str:
        """A function of doubles for each lane."""
        return self.joined([function(*row) for row in zip(*(self.lanes(o) for o in operands), strict=True)])
