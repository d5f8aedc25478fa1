"""Jacobians by forward accumulation: several columns at a time, in the lanes of vector registers.

The derivative of a program along a direction is linear in the direction. Its coefficients, values and partial derivatives, do not
depend on the direction and are computed once; what is left, about two operations for each of the program, is computed for as many
unit directions at a time as a register has lanes (`simd`):

    partials(arguments)                  once, on doubles
    along(partials, unit directions)     for every `lanes` columns, on vectors

The code is about four times as long as the program, whatever the number of columns; that of an expression for every entry
(`Program.jacobian`) grows with their number and is quicker where the Jacobian is small or sparse. For a chain of 32 rods, with 64
dense columns, it is forty times as long.

Entries do not depend on the number of lanes, bit for bit. Where a partial derivative is not finite, its products with the zeros
of unit directions are not either: all entries of the results that depend on it are NaN.
"""

from __future__ import annotations

from draisine.codegen.cache import cached_object
from draisine.codegen.host import lane_count
from draisine.codegen.jit.emitter import DOUBLE, ScalarType
from draisine.codegen.jit.engine import compile_kernel, kernel_key, load_kernel
from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.llvm import FLAT_SYMBOL, MAP_SYMBOL, SYMBOL, entry_points, llvm_functions
from draisine.codegen.passes import ALL, Passes
from draisine.codegen.passes.pipeline import EACH_EVALUATION, ONCE_PER_RUN, Stage, run_passes, split_into_stages
from draisine.errors import ArgumentError
from draisine.program.program import Program, Slot
from draisine.program.ssa import SSA, to_ssa

_CODE_VERSION = 2
_ON_STACK = 4096  # numbers; more are allocated in every call
_PARTIALS, _ALONG = "partials", "along"


def compile_jacobian(program: Program, of: str, wrt: str, passes: Passes = ALL) -> Kernel:
    """Machine code of ∂of/∂wrt, exact, with the arguments of the program, from the cache on disk if it was compiled before.

    - `program`: without linear systems that are solved at run time.
    - `of`: one of its results, a column; `wrt`: one of its arguments.
    - `passes` reduce the number of operations.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x", 2), ca.SX.sym("p")
    >>> program = Program.build("f", {"x": x, "p": p}, {"y": ca.vertcat(p * x[0] * x[1], x[1] ** 2)})
    >>> compile_jacobian(program, "y", "x")([3.0, 5.0], 2.0)[0]
    array([[10.,  6.],
           [ 0., 10.]])
    """
    if not isinstance(program, Program):
        raise ArgumentError(
            f"compile_jacobian: {program.name!r} solves linear systems at run time and is not one list of operations; "
            f"compile its jacobian({of!r}, {wrt!r}), which differentiates the solution"
        )
    rows, columns = program.output(of), program.input(wrt)
    if rows.shape[1] != 1:
        raise ArgumentError(
            f"compile_jacobian: result {of!r} of {program.name!r} is a matrix {rows.shape}, but a column is needed"
        )
    result = Slot(f"d{of}_d{wrt}", (rows.size, columns.size))
    lanes = lane_count()
    key = f"Jacobian d{of}_d{wrt}, {lanes} columns, code {_CODE_VERSION}; {passes.key}; {program.digest}; {kernel_key()}"
    code = cached_object(key, lambda: compile_kernel(jacobian_text(program, of, wrt, passes, lanes)))
    loaded = load_kernel(code, SYMBOL, MAP_SYMBOL, FLAT_SYMBOL)
    return Kernel(f"{program.name}_{result.name}", program.inputs, (result,), loaded.address, loaded)


def jacobian_text(program: Program, of: str, wrt: str, passes: Passes = ALL, lanes: int | None = None) -> str:
    """The module as text."""
    result = Slot(f"d{of}_d{wrt}", (program.output(of).size, program.input(wrt).size))
    if not result.size:
        lines = [f"define void @{SYMBOL}(ptr %arg, ptr %res) nounwind {{", "ret void", "}"]
        return "\n".join([*lines, *entry_points(program.inputs, (result,))])
    vector, count = ScalarType(lanes or lane_count()), len(program.inputs)
    partials, along, passed = _stages(_directional(program, of, wrt), count, passes)
    declared, defined = llvm_functions({_PARTIALS: partials}, passes, DOUBLE)
    others, further = llvm_functions({_ALONG: along}, passes, vector, frozenset({*range(count), count + 1}))
    functions = dict.fromkeys([*declared, *others, *defined, *further])  # both may need the same ones
    kernel = _kernel(count, passed, result.shape, vector)
    return "\n".join([*functions, *kernel, *entry_points(program.inputs, (result,))])


def _directional(program: Program, of: str, wrt: str) -> SSA:
    """The derivative along a direction, which is the argument after those of the program."""
    import casadi as ca

    arguments = program.symbols()
    names = [slot.name for slot in program.inputs]
    value = program.function.call(arguments)[[slot.name for slot in program.outputs].index(of)]
    symbol = arguments[names.index(wrt)]
    direction = ca.SX.sym("direction", *symbol.shape)
    slots = {**dict(zip(names, arguments, strict=True)), "direction": direction}
    return to_ssa(Program.build(f"{program.name}_along", slots, {"along": ca.jtimes(value, symbol, direction)}).tape)


def _stages(ssa: SSA, direction: int, passes: Passes) -> tuple[SSA, SSA, int]:
    """What does not depend on the direction, what does, and how many values the first passes on, in the slot after it."""

    def known(slot: int, entry: int) -> int:
        return int(slot == direction)

    rates = ONCE_PER_RUN, EACH_EVALUATION
    ssa = run_passes(ssa, passes, known, rates)
    stages = Stage(rates[0], 0, (direction + 1, 0)), Stage(rates[1], -1, (-1, 0), ssa.results)
    partials, along = split_into_stages(ssa, stages, known)
    return partials.ssa, along.ssa, partials.count


def _kernel(inputs: int, passed: int, shape: tuple[int, int], vector: ScalarType) -> list[str]:
    """The kernel: call `partials`, then `along` for every `lanes` unit directions, and copy its results to columns."""
    (rows, columns), lanes = shape, vector.lanes
    parts = {"units": columns * lanes, "taken": rows * lanes, "passed": max(passed, 1)}
    total = sum(parts.values())
    lines = [f"define void @{SYMBOL}(ptr noalias readonly %arg, ptr noalias readonly %res) nounwind {{", "start:"]
    lines += [
        f"%given = alloca [{inputs + 2} x ptr], align 8",
        "%passed_slot = alloca ptr, align 8",
        "%taken_slot = alloca ptr, align 8",
    ]
    lines += ["%target = load ptr, ptr %res, align 8"]
    lines += [f"%memory = alloca [{total} x double], align 64"] if total <= _ON_STACK else _allocated(total, rows * columns)
    begin = 0
    for name, size in parts.items():
        lines.append(f"%{name} = getelementptr inbounds double, ptr %memory, i64 {begin}")
        begin += size
    lines += ["store ptr %passed, ptr %passed_slot, align 8", "store ptr %taken, ptr %taken_slot, align 8"]
    for k in range(inputs + 2):
        if k < inputs:
            lines += [
                f"%from_{k} = getelementptr inbounds ptr, ptr %arg, i64 {k}",
                f"%slot_{k} = load ptr, ptr %from_{k}, align 8",
            ]
        pointer = f"%slot_{k}" if k < inputs else ("%units", "%passed")[k - inputs]
        lines += [
            f"%given_{k} = getelementptr inbounds ptr, ptr %given, i64 {k}",
            f"store ptr {pointer}, ptr %given_{k}, align 8",
        ]
    lines += [
        f"call void @{_PARTIALS}(ptr %given, ptr %passed_slot)",
        f"call void @llvm.memset.p0.i64(ptr %units, i8 0, i64 {8 * columns * lanes}, i1 false)",
        "br label %group",
        "group:",
        "%first = phi i64 [ 0, %start_END ], [ %following, %copied ]".replace(
            "start_END", "start" if total <= _ON_STACK else "go_on"
        ),
        f"%past = add nsw i64 %first, {lanes}",
        f"%inside = icmp slt i64 %past, {columns}",
        f"%last = select i1 %inside, i64 %past, i64 {columns}",
        "br label %set",
        "set:",  # the unit directions
        "%i = phi i64 [ %first, %group ], [ %i_next, %set ]",
        *_unit_entry("i", lanes),
        "store double 1.0, ptr %i_unit, align 8",
        "%i_next = add nsw i64 %i, 1",
        "%i_more = icmp slt i64 %i_next, %last",
        "br i1 %i_more, label %set, label %compute",
        "compute:",
        f"call void @{_ALONG}(ptr %given, ptr %taken_slot)",
        "br label %column",
        "column:",
        "%j = phi i64 [ %first, %compute ], [ %j_next, %filled ]",
        *_unit_entry("j", lanes),
        "store double 0.0, ptr %j_unit, align 8",
        "%lane = sub nsw i64 %j, %first",
        f"%begin = mul nsw i64 %j, {rows}",
        "br label %entry",
        "entry:",
        "%k = phi i64 [ 0, %column ], [ %k_next, %entry ]",
        f"%k_far = mul nsw i64 %k, {lanes}",
        "%k_at = add nsw i64 %k_far, %lane",
        "%from = getelementptr inbounds double, ptr %taken, i64 %k_at",
        "%value = load double, ptr %from, align 8",
        "%place = add nsw i64 %begin, %k",
        "%to = getelementptr inbounds double, ptr %target, i64 %place",
        "store double %value, ptr %to, align 8",
        "%k_next = add nsw i64 %k, 1",
        f"%k_more = icmp slt i64 %k_next, {rows}",
        "br i1 %k_more, label %entry, label %filled",
        "filled:",
        "%j_next = add nsw i64 %j, 1",
        "%j_more = icmp slt i64 %j_next, %last",
        "br i1 %j_more, label %column, label %copied",
        "copied:",
        f"%following = add nsw i64 %first, {lanes}",
        f"%more = icmp slt i64 %following, {columns}",
        "br i1 %more, label %group, label %done",
        "done:",
        *(["call void @free(ptr %memory)"] if total > _ON_STACK else []),
        "ret void",
        "}",
    ]
    declared = ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
    if total > _ON_STACK:
        declared += ["declare noalias ptr @malloc(i64)", "declare void @free(ptr)"]
    return [*declared, "\n".join(lines)]


def _unit_entry(index: str, lanes: int) -> list[str]:
    """The address of entry i of the unit direction e_i, which has lane i − first."""
    return [
        f"%{index}_lane = sub nsw i64 %{index}, %first",
        f"%{index}_far = mul nsw i64 %{index}, {lanes}",
        f"%{index}_place = add nsw i64 %{index}_far, %{index}_lane",
        f"%{index}_unit = getelementptr inbounds double, ptr %units, i64 %{index}_place",
    ]


def _allocated(total: int, results: int) -> list[str]:
    """Memory of this call; if it cannot be allocated all results are NaN."""
    return [
        f"%memory = call ptr @malloc(i64 {8 * total})",
        "%none = icmp eq ptr %memory, null",
        "br i1 %none, label %no_memory, label %go_on",
        "no_memory:",
        f"call void @llvm.memset.p0.i64(ptr %target, i8 -1, i64 {8 * results}, i1 false)",  # all bits set are a NaN
        "ret void",
        "go_on:",
    ]
