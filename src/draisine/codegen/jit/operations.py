"""The scalar operations of tapes as instructions, and the functions that they call."""

from __future__ import annotations

from collections.abc import Callable

from draisine.codegen.jit.emitter import DOUBLE, Emitter, ScalarType
from draisine.program import opcodes as op

COMPARISONS = {op.LT: "olt", op.LE: "ole", op.EQ: "oeq", op.NE: "une"}
LOGIC = {op.AND: "and", op.OR: "or"}

INTRINSICS = {
    **{op.SQRT: "llvm.sqrt", op.FABS: "llvm.fabs", op.FLOOR: "llvm.floor", op.CEIL: "llvm.ceil"},
    **{op.COPYSIGN: "llvm.copysign", op.FMIN: "llvm.minnum", op.FMAX: "llvm.maxnum"},
}
LIBRARY = {
    op.NUMBERS[name.upper()]: name
    for name in (
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "log",
        "pow",
    )
    + ("atan2", "hypot", "erf", "expm1", "log1p", "remainder")
}
LIBRARY |= {op.CONSTPOW: "pow", op.ERFINV: "inverse_erf"}
TWO_OPERANDS = frozenset({"llvm.copysign", "llvm.minnum", "llvm.maxnum", "pow", "atan2", "hypot", "remainder"})


def arithmetic(kind: int, operands: list[str], code: Emitter) -> str:
    """The instruction or instructions of a real-valued operation; the name of the result."""
    if kind in code.infix:
        return code.emit(f"{code.infix[kind]} {code.real} {operands[0]}, {operands[1]}")
    called = INTRINSICS.get(kind) or LIBRARY.get(kind)
    if called:
        return code.call(called, *operands)
    return _SPECIAL[kind](operands[0], code)


def _sign(x: str, code: Emitter) -> str:
    """−1, 1, or the number itself where it is neither negative nor positive: zero, NaN."""
    negative, positive = code.compare("olt", x, code.number(0.0)), code.compare("ogt", x, code.number(0.0))
    return code.select(negative, code.number(-1.0), code.select(positive, code.number(1.0), x))


_SPECIAL: dict[int, Callable[[str, Emitter], str]] = {
    op.NEG: lambda x, code: code.negative(x),
    op.SQ: lambda x, code: code.mul(x, x),
    op.TWICE: lambda x, code: code.add(x, x),
    op.INV: lambda x, code: code.exactly("fdiv", code.number(1.0), x),
    op.SIGN: _sign,
}


def declarations(kinds: set[int], scalar: ScalarType = DOUBLE, pairing: bool = True) -> list[str]:
    """Declarations of what the given operations call, and functions where neither LLVM nor the C library has one.

    On vectors, functions of the C library are called lane by lane; not sine and cosine, where they are found in pairs.
    """
    called = {INTRINSICS.get(kind) or LIBRARY.get(kind, "") for kind in kinds} - {""}
    if kinds & {op.SIN, op.COS}:
        called |= {"llvm.sin", "llvm.cos", "llvm.fabs"}
    single = set(called)
    if "inverse_erf" in called:
        single |= {"erf", "llvm.exp", "llvm.log", "llvm.sqrt", "llvm.fabs", "llvm.copysign"}
    lines = [_declaration(name, DOUBLE) for name in sorted(single - {"inverse_erf"})]
    lines += [_inverse_erf()] if "inverse_erf" in called else []
    if scalar.lanes > 1:
        intrinsics = {name for name in called if name.startswith("llvm.")}
        lines += [_declaration(name, scalar) for name in sorted(intrinsics)]
        lines += [_lane_by_lane(name, scalar) for name in sorted(called - intrinsics - ({"sin", "cos"} if pairing else set()))]
    return lines


def _declaration(name: str, scalar: ScalarType) -> str:
    arguments = [scalar.real] * (2 if name in TWO_OPERANDS else 1)
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
    """erf⁻¹ on |x|: a rational start, good to a few digits (two ranges), then two Newton steps."""
    code = Emitter(DOUBLE)
    number, exactly = code.number, code.exactly

    def horner(coefficients: tuple[float, ...], z: str) -> str:
        value = number(coefficients[0])
        for c in coefficients[1:]:
            value = exactly("fadd", exactly("fmul", value, z), number(c))
        return value

    x = code.call("llvm.fabs", "%x")
    square = exactly("fmul", x, x)
    near = horner((-0.140543331, 0.914624893, -1.645349621, 0.886226899), square)
    near = exactly("fdiv", near, horner((0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0), square))
    near = exactly("fmul", x, near)
    tail = exactly("fmul", exactly("fsub", number(1.0), x), number(0.5))
    z = code.call("llvm.sqrt", code.negative(code.call("llvm.log", tail)))
    far = horner((1.641345311, 3.429567803, -1.624906493, -1.970840454), z)
    far = exactly("fdiv", far, horner((1.637067800, 3.543889200, 1.0), z))
    y = code.select(code.compare("olt", x, number(0.7)), near, far)
    for _ in range(2):
        error = exactly("fsub", code.call("erf", y), x)
        growth = code.call("llvm.exp", exactly("fmul", y, y))
        step = exactly("fmul", exactly("fmul", error, growth), number(0.886226925452758))
        y = exactly("fsub", y, step)
    y = code.select(code.compare("oeq", x, number(1.0)), number(float("inf")), y)
    y = code.select(code.compare("ole", x, number(1.0)), y, number(float("nan")))
    y = code.call("llvm.copysign", y, "%x")
    body = "\n".join(code.lines)
    return f"define internal double @inverse_erf(double %x) nounwind {{\n{body}\nret double {y}\n}}"
