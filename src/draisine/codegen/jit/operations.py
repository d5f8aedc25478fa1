"""The scalar operations of tapes as text of LLVM's intermediate language, one function per way of writing."""

from __future__ import annotations

import struct
from collections.abc import Callable

from draisine.program import opcodes as op

Emit = Callable[[str], str]  # takes an instruction, gives the name of its result

# `contract` lets a product and a sum become one fused instruction; nothing else about rounding is given up.
INFIX = {
    op.ADD: "fadd contract",
    op.SUB: "fsub contract",
    op.MUL: "fmul contract",
    op.DIV: "fdiv",
    op.FMOD: "frem",
}
COMPARISONS = {op.LT: "olt", op.LE: "ole", op.EQ: "oeq", op.NE: "une"}
LOGIC = {op.AND: "and", op.OR: "or"}

INTRINSICS = {
    **{op.SQRT: "llvm.sqrt.f64", op.FABS: "llvm.fabs.f64", op.FLOOR: "llvm.floor.f64", op.CEIL: "llvm.ceil.f64"},
    **{op.COPYSIGN: "llvm.copysign.f64", op.FMIN: "llvm.minnum.f64", op.FMAX: "llvm.maxnum.f64"},
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
TWO_OPERANDS = frozenset({"llvm.copysign.f64", "llvm.minnum.f64", "llvm.maxnum.f64", "pow", "atan2", "hypot", "remainder"})


def number(value: float) -> str:
    """A double in LLVM's exact notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


ONE, ZERO = number(1.0), number(0.0)


def arithmetic(kind: int, operands: list[str], emit: Emit) -> str:
    """The instruction or instructions of a real-valued operation on doubles; the name of the result."""
    if kind in INFIX:
        return emit(f"{INFIX[kind]} double {operands[0]}, {operands[1]}")
    called = INTRINSICS.get(kind) or LIBRARY.get(kind)
    if called:
        return emit(f"call double @{called}({', '.join('double ' + o for o in operands)})")
    return _SPECIAL[kind](operands[0], emit)


def _sign(x: str, emit: Emit) -> str:
    """−1, 1, or the number itself where it is neither negative nor positive: zero, NaN."""
    negative, positive = emit(f"fcmp olt double {x}, {ZERO}"), emit(f"fcmp ogt double {x}, {ZERO}")
    above = emit(f"select i1 {positive}, double {ONE}, double {x}")
    return emit(f"select i1 {negative}, double {number(-1.0)}, double {above}")


_SPECIAL: dict[int, Callable[[str, Emit], str]] = {
    op.NEG: lambda x, emit: emit(f"fneg double {x}"),
    op.SQ: lambda x, emit: emit(f"fmul contract double {x}, {x}"),
    op.TWICE: lambda x, emit: emit(f"fadd contract double {x}, {x}"),
    op.INV: lambda x, emit: emit(f"fdiv double {ONE}, {x}"),
    op.SIGN: _sign,
}


def declarations(kinds: set[int]) -> list[str]:
    """Declarations of what the given operations call."""
    names = {INTRINSICS.get(kind) or LIBRARY.get(kind, "") for kind in kinds} - {""}
    if kinds & {op.SIN, op.COS}:
        names |= {"llvm.sin.f64", "llvm.cos.f64", "llvm.fabs.f64"}
    if "inverse_erf" in names:
        names |= {"erf", "llvm.exp.f64", "llvm.log.f64", "llvm.sqrt.f64", "llvm.fabs.f64", "llvm.copysign.f64"}
    lines = []
    for name in sorted(names - {"inverse_erf"}):
        arguments = "double, double" if name in TWO_OPERANDS else "double"
        lines.append(f"declare double @{name}({arguments}) nounwind")
    return [*lines, *([_inverse_erf()] if "inverse_erf" in names else [])]


def _inverse_erf() -> str:
    """erf⁻¹ on |x|: a rational start, good to a few digits (two ranges), then two Newton steps."""
    lines: list[str] = []

    def emit(instruction: str) -> str:
        lines.append(f"%v{len(lines)} = {instruction}")
        return f"%v{len(lines) - 1}"

    def horner(coefficients: tuple[float, ...], z: str) -> str:
        value = number(coefficients[0])
        for c in coefficients[1:]:
            value = emit(f"fadd double {emit(f'fmul double {value}, {z}')}, {number(c)}")
        return value

    x = emit("call double @llvm.fabs.f64(double %x)")
    square = emit(f"fmul double {x}, {x}")
    near = horner((-0.140543331, 0.914624893, -1.645349621, 0.886226899), square)
    near = emit(f"fdiv double {near}, {horner((0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0), square)}")
    near = emit(f"fmul double {x}, {near}")
    tail = emit(f"fmul double {emit(f'fsub double {ONE}, {x}')}, {number(0.5)}")
    z = emit(f"fneg double {emit(f'call double @llvm.log.f64(double {tail})')}")
    z = emit(f"call double @llvm.sqrt.f64(double {z})")
    far = horner((1.641345311, 3.429567803, -1.624906493, -1.970840454), z)
    far = emit(f"fdiv double {far}, {horner((1.637067800, 3.543889200, 1.0), z)}")
    y = emit(f"select i1 {emit(f'fcmp olt double {x}, {number(0.7)}')}, double {near}, double {far}")
    for _ in range(2):
        error = emit(f"fsub double {emit(f'call double @erf(double {y})')}, {x}")
        growth = emit(f"call double @llvm.exp.f64(double {emit(f'fmul double {y}, {y}')})")
        step = emit(f"fmul double {emit(f'fmul double {error}, {growth}')}, {number(0.886226925452758)}")
        y = emit(f"fsub double {y}, {step}")
    edge = emit(f"fcmp oeq double {x}, {ONE}")
    y = emit(f"select i1 {edge}, double {number(float('inf'))}, double {y}")
    inside = emit(f"fcmp ole double {x}, {ONE}")
    y = emit(f"select i1 {inside}, double {y}, double {number(float('nan'))}")
    y = emit(f"call double @llvm.copysign.f64(double {y}, double %x)")
    body = "\n".join(lines)
    return f"define internal double @inverse_erf(double %x) nounwind {{\n{body}\nret double {y}\n}}"
