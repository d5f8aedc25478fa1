"""Lists of values → text of LLVM's intermediate language, and the entry points of kernels.

A module holds three C functions:

    void kernel(const double* const* arg, double* const* res)
    void kernel_map(long n, const double* const* arg, const long* arg_stride, double* const* res, const long* res_stride)
    void kernel_flat(double* numbers)

The second runs the first over n samples; strides count doubles (64-bit integers), and stride 0 repeats an argument. The third
takes all arguments and then all results from one contiguous array, which is the cheapest call from Python.

A short program is one basic block. A long one is cut into pieces, which spill values to a work array: the time of the register
allocator grows faster than the length of a block, and its result gets worse. The pieces of a very long one, and those without
fused products, are compiled with `optnone`, which takes less than half the time and still allocates registers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from draisine.codegen.jit import arctangent
from draisine.codegen.jit.block import Block, Constants, PlainBlock, SsaFunction
from draisine.codegen.jit.emitter import DOUBLE, Emitter, ScalarType, declarations, number
from draisine.codegen.jit.fusion import fused_products
from draisine.codegen.jit.packing import packed_order, packs_of
from draisine.codegen.jit.scheduling import Piece, cut_into_pieces, list_schedule
from draisine.codegen.jit.trigonometry import definitions
from draisine.codegen.passes import ALL, PROLOGUE, Passes
from draisine.codegen.passes.pipeline import run_passes
from draisine.program import opcodes as op
from draisine.program.program import Slot
from draisine.program.ssa import SSA, callee_to_ssa, live_values

SYMBOL, MAP_SYMBOL, FLAT_SYMBOL = "kernel", "kernel_map", "kernel_flat"

_LONGEST_BLOCK = 4000  # values
_MOST_RESULTS = 400  # of one block: alias analysis compares every store with every load
_PIECE = 150  # values, about
_VERY_LONG = 8000  # values, beyond which pieces are compiled with `optnone`: such code runs an eighth slower
_PLAIN_PIECE = 300  # values, about, of a piece with `optnone`, which loads spilled values at each use
_SLOTS = "ptr noalias readonly %arg, ptr noalias readonly %res"


def llvm_functions(
    ssa: Mapping[str, SSA], passes: Passes = ALL, scalar: ScalarType = DOUBLE, uniform: frozenset[int] = frozenset()
) -> tuple[list[str], list[str]]:
    """Declarations and functions of lists of values, by name, on numbers of a type; callees are shared.

    Arguments of `uniform` slots have one number for all lanes.
    """
    units = dict(ssa)
    names: dict[Hashable, str] = {}  # function names of callees, by their key
    waiting = [item for unit in units.values() for item in unit.callees.items()]
    for identity, callee in waiting:
        if identity not in names:
            names[identity] = scalar.function(f"callee_{len(names)}")
            unit = units[names[identity]] = run_passes(callee_to_ssa(callee), passes)
            waiting += unit.callees.items()
    kinds = {value.kind for unit in units.values() for value in unit.values}
    functions: list[str] = []
    packed: dict[int, set[int]] = {}  # lanes → kinds of calls that are packed
    for name, unit in units.items():
        functions += _unit(name, unit, names, passes, scalar, uniform if name in ssa else frozenset(), packed)
    declared, defined = _called(kinds, passes, scalar)
    for lanes, own in sorted(packed.items()):
        more = _called(own, passes, ScalarType(lanes))
        declared, defined = declared + more[0], defined + more[1]
    return list(dict.fromkeys(declared)), [*dict.fromkeys(defined), *functions]


def _called(kinds: set[int], passes: Passes, scalar: ScalarType) -> tuple[list[str], list[str]]:
    """Declarations and definitions of the functions that operations of these kinds call."""
    trigonometry = definitions(scalar) if passes.sincos and kinds & {op.SIN, op.COS} else []
    return declarations(kinds, scalar, passes.sincos), [*trigonometry, *arctangent.definitions(kinds, scalar)]


def entry_points(inputs: Sequence[Slot], outputs: Sequence[Slot]) -> list[str]:
    """The functions around the kernel: over samples, and on one contiguous array."""
    return [map_loop(MAP_SYMBOL, SYMBOL, len(inputs), len(outputs)), flat(inputs, outputs)]


def _unit(
    name: str,
    ssa: SSA,
    callees: Mapping[Hashable, str],
    passes: Passes,
    scalar: ScalarType,
    uniform: frozenset[int],
    packed: dict[int, set[int]],
) -> Iterator[str]:
    """The functions of one list of values, and the numbers of its tables. Calls that it packs are added to `packed`."""
    for k, numbers in enumerate(ssa.numbers):
        entries = ", ".join(f"double {number(float(n))}" for n in numbers)
        yield f"@{name}_numbers_{k} = private unnamed_addr constant [{numbers.size} x double] [{entries}], align 8"
    linkage = "" if name in (SYMBOL, PROLOGUE) else "internal "
    values = live_values(ssa)
    function = SsaFunction(ssa, name, frozenset(values), callees, scalar, passes.sincos, uniform)
    if len(values) <= (_LONGEST_BLOCK if passes.fusion else _PLAIN_PIECE) and len(ssa.results) <= _MOST_RESULTS:
        order = list_schedule(ssa, values) if passes.scheduling else values
        packs = packs_of(ssa, values, passes.sincos) if passes.packing and scalar.lanes == 1 else []
        for pack in packs:
            packed.setdefault(pack.lanes, set()).add(pack.kind)
        order = packed_order(ssa, order, packs) if packs else order
        text = _filled(Block(function, {}, packs), Piece(tuple(order), (), tuple(ssa.results)), passes.fusion)
        yield f"define {linkage}void @{name}({_SLOTS}) nounwind {{\n{text}\n}}"
        return
    plain = len(values) > _VERY_LONG or not passes.fusion
    pieces, spill_slots, size = cut_into_pieces(ssa, values, _PLAIN_PIECE if plain else _PIECE)
    manner = "noinline optnone" if plain else "noinline"
    constants = Constants(size)
    for k, piece in enumerate(pieces):
        text = _filled(PlainBlock(function, spill_slots, constants) if plain else Block(function, spill_slots), piece, not plain)
        yield f"define internal void @{name}_{k}({_SLOTS}, ptr noalias %work) nounwind {manner} {{\n{text}\n}}"
    head = Emitter(scalar)
    for place, value in constants.found.values():
        head.store(head.number(value), head.element("%work", place))
    lines = [f"%work = alloca [{max(size + len(constants.found), 1)} x {scalar.real}], align 64", *head.lines]
    lines += [f"call void @{name}_{k}(ptr %arg, ptr %res, ptr %work)" for k in range(len(pieces))]
    yield "\n".join([f"define {linkage}void @{name}({_SLOTS}) nounwind {{", *lines, "ret void", "}"])


def _filled(block: Block, piece: Piece, fusion: bool) -> str:
    block.compute(piece.values, fused_products(block.function.ssa, piece) if fusion else {})
    block.spill(piece.spilled)
    block.store_results(piece.results)
    return block.text()


def map_loop(name: str, called: str, inputs: int, outputs: int) -> str:
    """A function that calls another over samples: every pointer advances by its stride."""
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
        f"define void @{name}(i64 %n, ptr %arg, ptr %arg_stride, ptr %res, ptr %res_stride) nounwind {{",
        "start:",
        f"%arg_now = alloca [{max(inputs, 1)} x ptr], align 8",
        f"%res_now = alloca [{max(outputs, 1)} x ptr], align 8",
        *head,
        "%any = icmp sgt i64 %n, 0",
        "br i1 %any, label %sample, label %done",
        "sample:",
        "%i = phi i64 [ 0, %start ], [ %next, %sample ]",
        f"call void @{called}(ptr %arg_now, ptr %res_now)",
        *advance,
        "%next = add nsw i64 %i, 1",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %sample, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)


def flat(inputs: Sequence[Slot], outputs: Sequence[Slot]) -> str:
    """The kernel called on one contiguous array."""
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
