"""Kernels of several lanes at once: the same straight line of code on vectors of doubles.

    void kernel(const double* const* arg, double* const* res)

as in `llvm`, but every number is `LANES` numbers side by side: entry i of lane k lies at place LANES · i + k. Each instruction of
the scalar text has its counterpart on vectors, so that the text is taken over with other types; lanes never meet, and each gets
what the scalar kernel would give it, bit by bit. Functions of the C library are called lane by lane. Programs that look up
tables, which lanes do each for itself, are left to the scalar kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.jit.llvm import SYMBOL, functions_of
from draisine.codegen.jit.operations import COMPARISONS, INFIX, INTRINSICS, LIBRARY, LOGIC, TWO_OPERANDS
from draisine.codegen.jit.parameter_hoisting import parts_of
from draisine.codegen.jit.ssa import CALL, CONSTANT, INPUT, RESULT, SELECT, Straight, straighten_callee
from draisine.codegen.jit.trigonometry import NAME as PAIR_NAME
from draisine.codegen.passes import ALL, Passes
from draisine.program import opcodes as op
from draisine.program.program import Program

LANES = 4  # doubles in a register of AVX2; wider registers take two instructions' work at once, narrower ones split it

_CODE_VERSION = 5
VECTOR = f"<{LANES} x double>"
_WITHOUT_TABLES = frozenset(
    {INPUT, CONSTANT, SELECT, CALL, RESULT, *COMPARISONS, *LOGIC, *INTRINSICS, *INFIX, *LIBRARY}
    | {op.NOT, op.IF_ELSE_ZERO, op.NEG, op.SQ, op.TWICE, op.INV, op.SIGN, op.SIN, op.COS}
)


@dataclass(frozen=True, eq=False)
class WideKernel:
    """Machine code for `LANES` lanes; it stays loaded as long as this object lives."""

    address: int
    code: LoadedObject


def can_be_wide(unit: Straight) -> bool:
    """Whether every operation of a list, and of what it calls, has its counterpart on vectors."""
    return {value.kind for value in unit.values} <= _WITHOUT_TABLES and all(
        can_be_wide(straighten_callee(callee)) for callee in unit.callees.values()
    )


def compile_wide(program: Program, passes: Passes = ALL) -> WideKernel:
    """Machine code of a program of (t, x, u, p) over lanes, from the cache on disk if it was compiled before.

    It takes extended parameters, as the program's `HoistedKernel` does.
    """
    key = f"wide kernel of {LANES}, code {_CODE_VERSION}; {passes.key}; {program.digest}; {host_key()}"
    loaded = load_object(cached_object(key, lambda: compile_ir(wide_text(program, passes), optimisation=1)), SYMBOL)
    return WideKernel(loaded.address, loaded)


def wide_text(program: Program, passes: Passes = ALL) -> str:
    """The module as text."""
    return "\n".join(wide_functions(*functions_of({SYMBOL: parts_of(program, passes).evaluation}, passes)))


def wide_functions(declared: list[str], functions: list[str]) -> list[str]:
    """What `functions_of` gives, on vectors; the C library's functions are called lane by lane."""
    trigonometry = [text for text in functions if f"@{PAIR_NAME}(double %x)" in text.splitlines()[0]]
    parts = [_widened(text) for text in functions if text not in trigonometry]
    called = set().union(*(re.findall(r"call <\d+ x double> @(\w+)\(", text) for text in parts))
    parts = [re.sub(r"(call <\d+ x double> @)(\w+)\(", r"\1wide_\2(", text) for text in parts] if called else parts
    parts += [_lane_by_lane(name) for name in sorted(called)]
    if trigonometry:
        parts += [trigonometry[0], _wide_trigonometry(trigonometry[0])]
    return [*dict.fromkeys([*declared, *_declarations("\n".join(parts))]), *parts]


def _widened(text: str) -> str:
    """Doubles, truth values and numbers of a straight line as vectors of them."""
    wide = text.replace("double", VECTOR)
    wide = re.sub(r"i1\b", f"<{LANES} x i1>", wide)
    wide = re.sub(r"true\b", f"<{', '.join(['i1 true'] * LANES)}>", wide)
    wide = re.sub(r"0x[0-9A-F]{16}\b", lambda found: _repeated("double", found[0]), wide)
    wide = re.sub(r"@(llvm\.\w+)\.f64\(", rf"@\1.v{LANES}f64(", wide)
    return wide.replace(f"@{PAIR_NAME}(", f"@wide_{PAIR_NAME}(")


def _lane_by_lane(name: str) -> str:
    """A function of the C library on vectors."""
    operands = ("a", "b") if name in TWO_OPERANDS else ("a",)
    lines, results = [], "undef"
    for k in range(LANES):
        lines += [f"%{o}_{k} = extractelement {VECTOR} %{o}, i32 {k}" for o in operands]
        lines += [
            f"%one_{k} = call double @{name}({', '.join(f'double %{o}_{k}' for o in operands)})",
            f"%results_{k} = insertelement {VECTOR} {results}, double %one_{k}, i32 {k}",
        ]
        results = f"%results_{k}"
    head = f"define internal {VECTOR} @wide_{name}({', '.join(f'{VECTOR} %{o}' for o in operands)}) nounwind noinline {{"
    return "\n".join([head, *lines, f"ret {VECTOR} {results}", "}"])


def _repeated(kind: str, value: str) -> str:
    return f"<{', '.join([f'{kind} {value}'] * LANES)}>"


def _wide_trigonometry(scalar: str) -> str:
    """Sine and cosine of all lanes by the same polynomials; where any is very large, lane by lane by the scalar function."""
    near = scalar[scalar.index("here:\n") + len("here:\n") : scalar.rindex("\n}")]
    near = re.sub(r"(i64 %\w+, )(-?\d+)", lambda found: found[1] + _repeated("i64", found[2]), near)
    near = _widened(re.sub(r"\bi64\b(?! -?\d)", f"<{LANES} x i64>", near))
    far = re.search(r"%far = fcmp ogt double %size, (0x[0-9A-F]+)", scalar)
    assert far is not None, "the scalar function says from where on the library is asked"
    pair, scalar_pair = f"{{ {VECTOR}, {VECTOR} }}", "{ double, double }"
    lines = [
        f"define internal {pair} @wide_{PAIR_NAME}({VECTOR} %x) nounwind noinline {{",
        f"%size = call {VECTOR} @llvm.fabs.v{LANES}f64({VECTOR} %x)",
        f"%far = fcmp ogt {VECTOR} %size, {_repeated('double', far[1])}",
        f"%bits = bitcast <{LANES} x i1> %far to i{LANES}",
        f"%any = icmp ne i{LANES} %bits, 0",
        "br i1 %any, label %library, label %here",
        "library:",
    ]
    sine = cosine = "undef"
    for k in range(LANES):
        lines += [
            f"%x_{k} = extractelement {VECTOR} %x, i32 {k}",
            f"%pair_{k} = call {scalar_pair} @{PAIR_NAME}(double %x_{k})",
            f"%s_{k} = extractvalue {scalar_pair} %pair_{k}, 0",
            f"%c_{k} = extractvalue {scalar_pair} %pair_{k}, 1",
            f"%sines_{k} = insertelement {VECTOR} {sine}, double %s_{k}, i32 {k}",
            f"%cosines_{k} = insertelement {VECTOR} {cosine}, double %c_{k}, i32 {k}",
        ]
        sine, cosine = f"%sines_{k}", f"%cosines_{k}"
    lines += [f"%one = insertvalue {pair} undef, {VECTOR} {sine}, 0", f"%both = insertvalue {pair} %one, {VECTOR} {cosine}, 1"]
    return "\n".join([*lines, f"ret {pair} %both", "here:", near, "}"])


def _declarations(text: str) -> list[str]:
    """Intrinsics that the text calls, on vectors and on single numbers."""
    called = set(re.findall(r"call (<\d+ x double>|double) @(llvm\.[\w.]+)\(", text))
    two = ("copysign", "minnum", "maxnum")
    return [
        f"declare {kind} @{name}({', '.join([kind] * (2 if any(word in name for word in two) else 1))}) nounwind"
        for kind, name in sorted(called)
    ]
