"""Emitter of LLVM instructions on numbers of one type, doubles or vectors of doubles, and the operations of tapes.

Kernel code is written once, for any `ScalarType`. A vector holds one number per lane; lanes are independent, and each gets the
same bits as the instruction on doubles. What has no vector instruction (functions of the C library, table lookup) is done lane by
lane.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from draisine.codegen.host import has_fma
from draisine.program import opcodes as op

# LLVM has no freedom of rounding: what is fused is written so (`Emitter.fused`), so that code has the same bits at all levels of
# optimization, on doubles and on vectors.
INFIX = {op.ADD: "fadd", op.SUB: "fsub", op.MUL: "fmul", op.DIV: "fdiv", op.FMOD: "frem"}

COMPARISONS = {op.LT: "olt", op.LE: "ole", op.EQ: "oeq", op.NE: "une"}
LOGIC = {op.AND: "and", op.OR: "or"}

INTRINSICS = {
    **{op.SQRT: "llvm.sqrt", op.FABS: "llvm.fabs", op.FLOOR: "llvm.floor", op.CEIL: "llvm.ceil"},
    **{op.COPYSIGN: "llvm.copysign", op.FMIN: "llvm.minnum", op.FMAX: "llvm.maxnum"},
}
LIBRARY = {
    op.NUMBERS[name.upper()]: name
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "pow"),
        *("atan2", "hypot", "erf", "expm1", "log1p", "remainder"),
    )
}
LIBRARY |= {op.CONSTPOW: "pow", op.ERFINV: "inverse_erf"}
ARCTANGENT, ARCTANGENT_2 = "arctangent", "arctangent_of_two"  # of the module `arctangent`
OWN = {op.ATAN: ARCTANGENT, op.ATAN2: ARCTANGENT_2}
LIBRARY |= OWN
TWO_OPERANDS = frozenset({"llvm.copysign", "llvm.minnum", "llvm.maxnum", "pow", "atan2", "hypot", "remainder"})


def number(value: float) -> str:
    """A double in LLVM's exact notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class ScalarType:
    """The LLVM type of one number of a program: a double, or a vector of `lanes` doubles.

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
        """The name of a function of doubles when it takes numbers of this type."""
        if name.startswith("llvm."):
            return f"{name}.f64" if self.lanes == 1 else f"{name}.v{self.lanes}f64"
        return name if self.lanes == 1 else f"wide_{name}_{self.lanes}"


DOUBLE = ScalarType(1)


class Emitter:
    """The instructions so far; each result has a name."""

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
        return self.emit(f"fadd {self.real} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.emit(f"fsub {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.emit(f"fmul {self.real} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self.emit(f"fdiv {self.real} {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor does so."""
        return self.call("llvm.fma", a, b, c) if has_fma() else self.add(self.mul(a, b), c)

    def negate(self, x: str) -> str:
        return self.emit(f"fneg {self.real} {x}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.emit(f"fcmp {predicate} {self.real} {a}, {b}")

    def select(self, condition: str, then: str, other: str) -> str:
        return self.emit(f"select {self.scalar.truth} {condition}, {self.real} {then}, {self.real} {other}")

    def call(self, function: str, *operands: str) -> str:
        """Call a function of doubles: an LLVM intrinsic (without its suffix) or one of the C library."""
        return self.emit(f"call {self.real} @{self.scalar.function(function)}({', '.join(f'{self.real} {o}' for o in operands)})")

    # ---------------------------------------------------------------- memory

    def element(self, pointer: str, index: int) -> str:
        """The address of an entry in an array of numbers."""
        return self.emit(f"getelementptr inbounds {self.real}, ptr {pointer}, i64 {index}")

    def load(self, address: str) -> str:
        return self.emit(f"load {self.real}, ptr {address}, align 8")

    def load_uniform(self, pointer: str, index: int) -> str:
        """An entry of an array of doubles, the same in all lanes."""
        address = self.emit(f"getelementptr inbounds double, ptr {pointer}, i64 {index}")
        value = self.emit(f"load double, ptr {address}, align 8")
        if self.scalar.lanes == 1:
            return value
        first = self.emit(f"insertelement {self.real} undef, double {value}, i32 0")
        return self.emit(f"shufflevector {self.real} {first}, {self.real} undef, <{self.scalar.lanes} x i32> zeroinitializer")

    def store(self, value: str, address: str) -> None:
        self.lines.append(f"store {self.real} {value}, ptr {address}, align 8")

    # ---------------------------------------------------------------- lanes

    def lanes(self, value: str, kind: str | None = None) -> list[str]:
        """The numbers of all lanes, of the given type (default: real)."""
        if self.scalar.lanes == 1:
            return [value]
        return [self.emit(f"extractelement {kind or self.real} {value}, i32 {k}") for k in range(self.scalar.lanes)]

    def join_lanes(self, values: Sequence[str]) -> str:
        """Doubles, one per lane, as one number."""
        if self.scalar.lanes == 1:
            return values[0]
        vector = "undef"
        for k, value in enumerate(values):
            vector = self.emit(f"insertelement {self.real} {vector}, double {value}, i32 {k}")
        return vector

    def lane_by_lane(self, function: Callable[..., str], *operands: str) -> str:
        """A function of doubles for each lane."""
        return self.join_lanes([function(*row) for row in zip(*(self.lanes(o) for o in operands), strict=True)])


# ------------------------------------------------------------------------------------------- operations of tapes


def arithmetic(kind: int, operands: list[str], code: Emitter) -> str:
    """Emit the instructions of a real-valued operation; returns the name of the result."""
    if kind in INFIX:
        return code.emit(f"{INFIX[kind]} {code.real} {operands[0]}, {operands[1]}")
    called = INTRINSICS.get(kind) or LIBRARY.get(kind)
    if called:
        return code.call(called, *operands)
    return _SPECIAL[kind](operands[0], code)


def _sign(x: str, code: Emitter) -> str:
    """−1, 1, or the number itself if it is neither negative nor positive (zero, NaN)."""
    negative, positive = code.compare("olt", x, code.number(0.0)), code.compare("ogt", x, code.number(0.0))
    return code.select(negative, code.number(-1.0), code.select(positive, code.number(1.0), x))


_SPECIAL: dict[int, Callable[[str, Emitter], str]] = {
    op.NEG: lambda x, code: code.negate(x),
    op.SQ: lambda x, code: code.mul(x, x),
    op.TWICE: lambda x, code: code.add(x, x),
    op.INV: lambda x, code: code.div(code.number(1.0), x),
    op.SIGN: _sign,
}


def declarations(kinds: set[int], scalar: ScalarType = DOUBLE, sincos: bool = True) -> list[str]:
    """Declarations of the functions that operations call; definitions where neither LLVM nor the C library has one.

    On vectors, functions of the C library are called lane by lane, except sine and cosine with `sincos`, and those in `OWN`.
    """
    called = {"llvm.fma", *(INTRINSICS.get(kind) or LIBRARY.get(kind, "") for kind in kinds - OWN.keys())} - {""}
    if kinds & OWN.keys():
        called |= {"llvm.fabs", "llvm.copysign"}
    if kinds & {op.SIN, op.COS}:
        called |= {"llvm.sin", "llvm.cos", "llvm.fabs"}
    single = called | ({"atan2"} if op.ATAN2 in kinds else set())
    if "inverse_erf" in called:
        single |= {"erf", "llvm.exp", "llvm.log", "llvm.sqrt", "llvm.fabs", "llvm.copysign"}
    lines = [declaration(name, DOUBLE) for name in sorted(single - {"inverse_erf"})]
    lines += [_inverse_erf()] if "inverse_erf" in called else []
    if scalar.lanes > 1:
        intrinsics = {name for name in called if name.startswith("llvm.")}
        lines += [declaration(name, scalar) for name in sorted(intrinsics)]
        lines += [_lane_by_lane(name, scalar) for name in sorted(called - intrinsics - ({"sin", "cos"} if sincos else set()))]
    return lines


def declaration(name: str, scalar: ScalarType = DOUBLE) -> str:
    """The declaration of a function."""
    arguments = [scalar.real] * (3 if name == "llvm.fma" else 2 if name in TWO_OPERANDS else 1)
    return f"declare {scalar.real} @{scalar.function(name)}({', '.join(arguments)}) nounwind"


def _lane_by_lane(name: str, scalar: ScalarType) -> str:
    """A function of the C library on vectors."""
    code, operands = Emitter(scalar), ("%a", "%b") if name in TWO_OPERANDS else ("%a",)

    def one(*numbers: str) -> str:
        return code.emit(f"call double @{name}({', '.join(f'double {n}' for n in numbers)})")

    result, real = code.lane_by_lane(one, *operands), scalar.real
    head = f"define internal {real} @{scalar.function(name)}({', '.join(f'{real} {o}' for o in operands)}) nounwind noinline {{"
    return "\n".join([head, *code.lines, f"ret {real} {result}", "}"])


def _inverse_erf() -> str:
    """erf⁻¹ on |x|: a rational approximation to a few digits (two ranges), then two Newton steps."""
    code = Emitter(DOUBLE)
    number = code.number

    def horner(coefficients: tuple[float, ...], z: str) -> str:
        value = number(coefficients[0])
        for c in coefficients[1:]:
            value = code.add(code.mul(value, z), number(c))
        return value

    x = code.call("llvm.fabs", "%x")
    square = code.mul(x, x)
    near = horner((-0.140543331, 0.914624893, -1.645349621, 0.886226899), square)
    near = code.div(near, horner((0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0), square))
    near = code.mul(x, near)
    tail = code.mul(code.sub(number(1.0), x), number(0.5))
    z = code.call("llvm.sqrt", code.negate(code.call("llvm.log", tail)))
    far = horner((1.641345311, 3.429567803, -1.624906493, -1.970840454), z)
    far = code.div(far, horner((1.637067800, 3.543889200, 1.0), z))
    y = code.select(code.compare("olt", x, number(0.7)), near, far)
    for _ in range(2):
        error = code.sub(code.call("erf", y), x)
        growth = code.call("llvm.exp", code.mul(y, y))
        step = code.mul(code.mul(error, growth), number(0.886226925452758))
        y = code.sub(y, step)
    y = code.select(code.compare("oeq", x, number(1.0)), number(float("inf")), y)
    y = code.select(code.compare("ole", x, number(1.0)), y, number(float("nan")))
    y = code.call("llvm.copysign", y, "%x")
    body = "\n".join(code.lines)
    return f"define internal double @inverse_erf(double %x) nounwind {{\n{body}\nret double {y}\n}}"
