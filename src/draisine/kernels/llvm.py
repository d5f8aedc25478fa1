"""Program → text of LLVM's intermediate language → object code.

The object holds three functions of C:

    void kernel(const double* const* arg, double* const* res)
    void kernel_map(long n, const double* const* arg, const long* arg_stride, double* const* res, const long* res_stride)
    void kernel_flat(double* numbers)

The second runs the first over n samples; strides count doubles (64-bit integers), and 0 repeats an argument. The third finds all
arguments and then all results end to end, which is the cheapest call from Python.

A short program is one block of code. A long one is cut into pieces, which hand their values on through a work array: the register
allocator's time grows faster than the length of a block, and its result gets worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import casadi as ca

from draisine.kernels.block import Block
from draisine.kernels.engine import compile_ir
from draisine.kernels.operations import declarations, number
from draisine.kernels.order import in_good_order
from draisine.kernels.pieces import Piece, cut, live_values
from draisine.kernels.straight import Straight, straighten, straighten_callee
from draisine.kernels.trigonometry import definition
from draisine.program.program import Program, Slot

SYMBOL, MAP_SYMBOL, FLAT_SYMBOL = "kernel", "kernel_map", "kernel_flat"

_LONGEST_BLOCK = 4000  # values
_MOST_RESULTS = 400  # of one block: every store is weighed against every load
_PIECE = 150  # values, about
_SLOTS = "ptr noalias readonly %arg, ptr noalias readonly %res"


def object_code(program: Program) -> bytes:
    """Object code of a program for this CPU."""
    # Level 2 adds a scheduling after register allocation, which takes a third of the time in long code and gains nothing.
    return compile_ir(module_text(program), optimisation=1)


def module_text(program: Program) -> str:
    """The module as text."""
    declared, functions = functions_of({SYMBOL: program})
    return "\n".join([*declared, *functions, *entry_points(program.inputs, program.outputs)])


def functions_of(programs: Mapping[str, Program]) -> tuple[list[str], list[str]]:
    """Declarations and functions of some programs, each under its name; callees are shared."""
    units = {name: straighten(program.tape) for name, program in programs.items()}
    names: dict[int, str] = {}  # of the functions of callees, by CasADi's identity
    waiting = [item for unit in units.values() for item in unit.callees.items()]
    for identity, callee in waiting:
        if identity not in names:
            names[identity] = f"callee_{len(names)}"
            unit = units[names[identity]] = straighten_callee(callee)
            waiting += unit.callees.items()
    kinds = {value.kind for unit in units.values() for value in unit.values}
    functions = [text for name, unit in units.items() for text in _unit(name, unit, names)]
    trigonometry = [definition()] if kinds & {ca.OP_SIN, ca.OP_COS} else []
    return list(declarations(kinds)), [*trigonometry, *functions]


def entry_points(inputs: Sequence[Slot], outputs: Sequence[Slot]) -> list[str]:
    """The functions around the kernel: over samples, and from numbers end to end."""
    return [_map_loop(len(inputs), len(outputs)), _flat(inputs, outputs)]


def _unit(name: str, unit: Straight, callees: Mapping[int, str]) -> Iterator[str]:
    """The functions of one straight list, and the numbers of its tables."""
    for k, numbers in enumerate(unit.numbers):
        entries = ", ".join(f"double {number(float(n))}" for n in numbers)
        yield f"@{name}_numbers_{k} = private unnamed_addr constant [{numbers.size} x double] [{entries}], align 8"
    linkage = "" if name == SYMBOL else "internal "
    values = live_values(unit)
    used = frozenset(values)
    if len(values) <= _LONGEST_BLOCK and len(unit.results) <= _MOST_RESULTS:
        whole = Piece(tuple(in_good_order(unit, values)), (), tuple(unit.results))
        block = _filled(Block(unit, name, used, callees, {}), whole)
        yield f"define {linkage}void @{name}({_SLOTS}) nounwind {{\n{block.text()}\n}}"
        return
    pieces, places, size = cut(unit, values, _PIECE)
    for k, piece in enumerate(pieces):
        block = _filled(Block(unit, name, used, callees, places), piece)
        yield f"define internal void @{name}_{k}({_SLOTS}, ptr noalias %work) nounwind noinline {{\n{block.text()}\n}}"
    calls = "\n".join(f"call void @{name}_{k}(ptr %arg, ptr %res, ptr %work)" for k in range(len(pieces)))
    yield (
        f"define {linkage}void @{name}({_SLOTS}) nounwind {{\n"
        f"%work = alloca [{max(size, 1)} x double], align 64\n{calls}\nret void\n}}"
    )


def _filled(block: Block, piece: Piece) -> Block:
    block.compute(piece.values)
    block.keep(piece.kept)
    block.give(piece.results)
    return block


def _map_loop(inputs: int, outputs: int) -> str:
    """The loop over samples: every pointer moves on by its stride."""
    slots = [("arg", k) for k in range(inputs)] + [("res", k) for k in range(outputs)]
    head, advance = [], []
    for array, k in slots:
        head += [
            f"%{array}_from_{k} = getelementptr inbounds ptr, ptr %{array}, i64 {k}",
            f"%{array}_first_{k} = load ptr, ptr %{array}_from_{k}, align 8",
            f"%{array}_at_{k} = getelementptr inbounds ptr, ptr %{array}_now, i64 {k}",
            f"store ptr %{array}_first_{k}, ptr %{array}_at_{k}, align 8",
            f"%{array}_steps_{k} = getelementptr inbounds i64, ptr %{array}_stride, i64 {k}",
            f"%{array}_step_{k} = load i64, ptr %{array}_steps_{k}, align 8",
        ]
        advance += [
            f"%{array}_old_{k} = load ptr, ptr %{array}_at_{k}, align 8",
            f"%{array}_new_{k} = getelementptr double, ptr %{array}_old_{k}, i64 %{array}_step_{k}",
            f"store ptr %{array}_new_{k}, ptr %{array}_at_{k}, align 8",
        ]
    lines = [
        f"define void @{MAP_SYMBOL}(i64 %n, ptr %arg, ptr %arg_stride, ptr %res, ptr %res_stride) nounwind {{",
        "start:",
        f"%arg_now = alloca [{max(inputs, 1)} x ptr], align 8",
        f"%res_now = alloca [{max(outputs, 1)} x ptr], align 8",
        *head,
        "%any = icmp sgt i64 %n, 0",
        "br i1 %any, label %sample, label %done",
        "sample:",
        "%i = phi i64 [ 0, %start ], [ %next, %sample ]",
        f"call void @{SYMBOL}(ptr %arg_now, ptr %res_now)",
        *advance,
        "%next = add nsw i64 %i, 1",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %sample, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def _flat(inputs: Sequence[Slot], outputs: Sequence[Slot]) -> str:
    lines = [f"define void @{FLAT_SYMBOL}(ptr %numbers) nounwind {{"]
    begin = 0
    for array, slots in (("arg", inputs), ("res", outputs)):
        lines.append(f"%{array} = alloca [{max(len(slots), 1)} x ptr], align 8")
        for k, slot in enumerate(slots):
            lines += [
                f"%{array}_from_{k} = getelementptr inbounds double, ptr %numbers, i64 {begin}",
                f"%{array}_at_{k} = getelementptr inbounds ptr, ptr %{array}, i64 {k}",
                f"store ptr %{array}_from_{k}, ptr %{array}_at_{k}, align 8",
            ]
            begin += slot.size
    return "\n".join([*lines, f"call void @{SYMBOL}(ptr %arg, ptr %res)", "ret void", "}"])
