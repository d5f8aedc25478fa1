"""Vector (SIMD) kernels: several samples of a batch at a time in vector registers, as many as this machine's hold.

A `VectorKernel` has the signature of a kernel (`jit.llvm`), but every number is a vector: entry i of lane k has the index
lanes · i + k. `batch_text` puts such code behind the entry points of ordinary kernels:

    void kernel_map(long n, const double* const* arg, const long* arg_stride, double* const* res, const long* res_stride)

packs the arguments of the next samples into vectors, runs the vector code, and unpacks the results. Lanes beyond the last sample
repeat it. The results of a sample do not depend on its neighbors and have the bits of the scalar kernel, whatever the number of
lanes. A single sample takes about as long as with the scalar kernel.

`lane_count` of `host` is 8 where the registers have 512 bits (AVX-512), 4 with 256 bits (AVX), 2 otherwise (SSE, NEON);
`$DRAISINE_LANES` forces one of these numbers. LLVM splits vectors that are wider than the registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from draisine.codegen.cache import cached_object
from draisine.codegen.host import lane_count
from draisine.codegen.jit.emitter import Emitter, ScalarType
from draisine.codegen.jit.engine import LoadedObject, compile_kernel, kernel_key, load_kernel
from draisine.codegen.jit.llvm import MAP_SYMBOL, SYMBOL, flat, llvm_functions
from draisine.codegen.passes import ALL, Passes
from draisine.codegen.passes.pipeline import hoisted_parts, run_passes
from draisine.program.program import Program, Slot
from draisine.program.ssa import to_ssa

_CODE_VERSION = 9
_WIDE, _BRING, _TAKE = "wide", "bring", "take"


class VectorKernel(NamedTuple):
    """Machine code on vectors of doubles; it stays loaded as long as this object lives."""

    address: int
    code: LoadedObject
    lanes: int


def compile_vector(program: Program, passes: Passes = ALL, hoisted: bool = True) -> VectorKernel:
    """Machine code on vectors of a program of (t, x, u, p), from the cache on disk if it was compiled before.

    `hoisted`: it takes extended parameters, as the program's `HoistedKernel` does.
    """
    how, lanes = "" if hoisted else "plain ", lane_count()
    key = f"{how}wide kernel of {lanes}, code {_CODE_VERSION}; {passes.key}; {program.digest}; {kernel_key()}"
    loaded = load_kernel(cached_object(key, lambda: compile_kernel(vector_text(program, passes, hoisted, lanes))), SYMBOL)
    return VectorKernel(loaded.address, loaded, lanes)


def vector_text(program: Program, passes: Passes = ALL, hoisted: bool = True, lanes: int | None = None) -> str:
    """The module as text."""
    code = hoisted_parts(program, passes).evaluation if hoisted else run_passes(to_ssa(program.tape), passes)
    declared, functions = llvm_functions({SYMBOL: code}, passes, ScalarType(lanes or lane_count()))
    return "\n".join([*declared, *functions])


def batch_text(program: Program, passes: Passes = ALL) -> str:
    """The module as text."""
    vector = ScalarType(lane_count())
    declared, functions = llvm_functions({_WIDE: run_passes(to_ssa(program.tape), passes)}, passes, vector)
    inputs, outputs = program.inputs, program.outputs
    around = [*_copies(vector), _map(inputs, outputs, vector), _single(len(inputs), len(outputs)), flat(inputs, outputs)]
    return "\n".join([*declared, *functions, *around])


def _copy(name: str, each: Sequence[str], vector: ScalarType) -> str:
    """A loop over the numbers of a slot: `each` moves one of every lane between %one_0, %one_1 … and %all."""
    ones = [f"%one_{k}" for k in range(vector.lanes)]
    lines = [
        f"define internal void @{name}({', '.join(f'ptr {one}' for one in ones)}, ptr noalias %all, i64 %count) nounwind {{",
        "start:",
        "%any = icmp sgt i64 %count, 0",
        "br i1 %any, label %entry, label %done",
        "entry:",
        "%i = phi i64 [ 0, %start ], [ %next, %entry ]",
        f"%side_by_side = getelementptr inbounds {vector.real}, ptr %all, i64 %i",
        *[f"%at_{k} = getelementptr inbounds double, ptr {one}, i64 %i" for k, one in enumerate(ones)],
        *each,
        "%next = add nsw i64 %i, 1",
        "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %entry, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def _copies(vector: ScalarType) -> list[str]:
    bring, take = Emitter(vector), Emitter(vector)
    ones = [bring.emit(f"load double, ptr %at_{k}, align 8") for k in range(vector.lanes)]
    bring.store(bring.join_lanes(ones), "%side_by_side")
    for k, one in enumerate(take.lanes(take.load("%side_by_side"))):
        take.lines.append(f"store double {one}, ptr %at_{k}, align 8")
    return [_copy(_BRING, bring.lines, vector), _copy(_TAKE, take.lines, vector)]


def _map(inputs: Sequence[Slot], outputs: Sequence[Slot], vector: ScalarType) -> str:
    """The loop over samples, one per lane in each round."""
    chosen = []
    for lane in range(vector.lanes):
        chosen += [
            f"%ahead_{lane} = add nsw i64 %i, {lane}",
            f"%inside_{lane} = icmp slt i64 %ahead_{lane}, %n",
            f"%sample_{lane} = select i1 %inside_{lane}, i64 %ahead_{lane}, i64 %last",
        ]
    lines = [
        f"define void @{MAP_SYMBOL}(i64 %n, ptr %arg, ptr %arg_stride, ptr %res, ptr %res_stride) nounwind {{",
        "start:",
        *_rooms("arg", inputs, vector),
        *_rooms("res", outputs, vector),
        "%last = sub nsw i64 %n, 1",
        "%any = icmp sgt i64 %n, 0",
        "br i1 %any, label %samples, label %done",
        "samples:",
        "%i = phi i64 [ 0, %start ], [ %next, %samples ]",
        *chosen,
        *_moves("arg", inputs, _BRING, vector.lanes),
        f"call void @{_WIDE}(ptr %arg_lanes, ptr %res_lanes)",
        *_moves("res", outputs, _TAKE, vector.lanes),
        f"%next = add nsw i64 %i, {vector.lanes}",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %samples, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def _rooms(array: str, slots: Sequence[Slot], vector: ScalarType) -> list[str]:
    """Room for the numbers of all lanes, and where those of the samples begin."""
    lines = [f"%{array}_lanes = alloca [{max(len(slots), 1)} x ptr], align 8"]
    for k, slot in enumerate(slots):
        lines += [
            f"%{array}_{k} = alloca [{max(slot.size, 1)} x {vector.real}], align 64",
            f"%{array}_place_{k} = getelementptr inbounds ptr, ptr %{array}_lanes, i64 {k}",
            f"store ptr %{array}_{k}, ptr %{array}_place_{k}, align 8",
            f"%{array}_from_{k} = getelementptr inbounds ptr, ptr %{array}, i64 {k}",
            f"%{array}_first_{k} = load ptr, ptr %{array}_from_{k}, align 8",
            f"%{array}_steps_{k} = getelementptr inbounds i64, ptr %{array}_stride, i64 {k}",
            f"%{array}_step_{k} = load i64, ptr %{array}_steps_{k}, align 8",
        ]
    return lines


def _moves(array: str, slots: Sequence[Slot], copy: str, lanes: int) -> list[str]:
    """The numbers of the chosen samples, slot by slot, to the lanes or back."""
    lines = []
    for k, slot in enumerate(slots):
        for lane in range(lanes):
            lines += [
                f"%{array}_far_{k}_{lane} = mul nsw i64 %sample_{lane}, %{array}_step_{k}",
                f"%{array}_{k}_{lane} = getelementptr double, ptr %{array}_first_{k}, i64 %{array}_far_{k}_{lane}",
            ]
        ones = ", ".join(f"ptr %{array}_{k}_{lane}" for lane in range(lanes))
        lines.append(f"call void @{copy}({ones}, ptr %{array}_{k}, i64 {slot.size})")
    return lines


def _single(inputs: int, outputs: int) -> str:
    """The kernel itself: one sample, so that strides are of no account."""
    strides = f"[{max(inputs, outputs, 1)} x i64]"
    lines = [
        f"define void @{SYMBOL}(ptr %arg, ptr %res) nounwind {{",
        f"%strides = alloca {strides}, align 8",
        f"store {strides} zeroinitializer, ptr %strides, align 8",
        f"call void @{MAP_SYMBOL}(i64 1, ptr %arg, ptr %strides, ptr %res, ptr %strides)",
        "ret void",
        "}",
    ]
    return "\n".join(lines)
