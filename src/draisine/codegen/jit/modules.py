"""LLVM modules of programs as text: kernels, kernels with hoisted parameters, and kernels around linear systems.

The kernel of a `LinearSolveProgram` calls solvers between its lists of operations. A dense system is eliminated with partial
pivoting, a sparse one is factorized along a plan that is part of the code. Small systems work on the stack; large ones allocate
their memory in every call, so that kernels can run in several threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draisine.codegen.jit.emitter import DOUBLE, Emitter, declaration, number
from draisine.codegen.jit.llvm import SYMBOL, entry_points, llvm_functions, map_loop
from draisine.codegen.jit.solvers import PREFIX
from draisine.codegen.jit.sparse_qr import analyze
from draisine.codegen.passes import ALL, COUNT, PROLOGUE, PROLOGUE_MAP, Guards, Passes, extended_inputs, parameter_slot
from draisine.codegen.passes.guarded import Group, guarded_parts
from draisine.codegen.passes.pipeline import LinearSolveParts, hoisted_parts, linear_solve_parts, run_passes
from draisine.codegen.simd import batch_text
from draisine.program.linear_solve import CONTRADICTION, MAX_ITERATIONS, LinearSolveProgram, Solver
from draisine.program.program import Program
from draisine.program.ssa import to_ssa

_ON_STACK = 4096  # numbers; threads may have half a megabyte of stack


def text_of(
    program: Program | LinearSolveProgram,
    kind: Literal["plain", "batch", "hoisted"],
    passes: Passes = ALL,
    guards: Guards | None = None,
) -> str:
    """The module of a kernel of a kind. A `LinearSolveProgram` has no batch kernel: samples run one after the other."""
    if guards is not None and isinstance(program, Program):
        return guarded_text(program, guards, passes)
    if kind == "hoisted":
        return hoisted_text(program, passes)
    return (
        module_text(program, passes)
        if isinstance(program, LinearSolveProgram) or kind == "plain"
        else batch_text(program, passes)
    )


def module_text(program: Program | LinearSolveProgram, passes: Passes = ALL) -> str:
    """The module of a kernel."""
    if isinstance(program, LinearSolveProgram):
        functions = linear_solve_functions(program, linear_solve_parts(program, passes), passes)
    else:
        declared, defined = llvm_functions({SYMBOL: run_passes(to_ssa(program.tape), passes)}, passes)
        functions = [*declared, *defined]
    return "\n".join([*functions, *entry_points(program.inputs, program.outputs)])


def hoisted_text(program: Program | LinearSolveProgram, passes: Passes = ALL) -> str:
    """The module of a kernel that reads hoisted values after its parameters; it also holds the prologue that computes them."""
    slot = parameter_slot(program)
    if isinstance(program, LinearSolveProgram):
        stages = linear_solve_parts(program, passes, slot)
        count, functions = stages.hoisted, linear_solve_functions(program, stages, passes)
    else:
        parts = hoisted_parts(program, passes)
        declared, defined = llvm_functions({SYMBOL: parts.evaluation, PROLOGUE: parts.prologue}, passes)
        count, functions = parts.count, [*declared, *defined]
    around = entry_points(extended_inputs(program, count), program.outputs)
    entry = map_loop(PROLOGUE_MAP, PROLOGUE, (slot or 0) + 1, 1)
    return "\n".join([*functions, *around, entry, f"define i64 @{COUNT}() nounwind {{\nret i64 {count}\n}}"])


def guarded_text(program: Program, guards: Guards, passes: Passes = ALL) -> str:
    """The module of a kernel some of whose results are computed under conditions; others keep what is in their places."""
    parts = guarded_parts(program, guards, passes)
    units = {f"group_{k}": group.ssa for k, group in enumerate(parts.groups)}
    declared, defined = llvm_functions(units, passes)
    lines = [f"define void @{SYMBOL}(ptr noalias readonly %arg, ptr noalias readonly %res) nounwind {{"]
    lines.append(f"%passed = alloca [{max(parts.passed, 1)} x double], align 64")
    for table, own, slots in (("more", "arg", program.inputs), ("all", "res", program.outputs)):
        lines.append(f"%{table} = alloca [{len(slots) + 1} x ptr], align 8")
        for k in range(len(slots)):
            lines.append(f"%{own}_at_{k} = getelementptr inbounds ptr, ptr %{own}, i64 {k}")
            lines.append(f"%{own}_{k} = load ptr, ptr %{own}_at_{k}, align 8")
        lines += _put(table, [*(f"%{own}_{k}" for k in range(len(slots))), "%passed"])
    for k, group in enumerate(parts.groups):
        lines += _guard(k, group)
    return "\n".join([*declared, *defined, *lines, "ret void", "}", *entry_points(program.inputs, program.outputs)])


def _guard(k: int, group: Group) -> list[str]:
    """Call a group where one of its conditions holds."""
    call = f"call void @group_{k}(ptr %more, ptr %all)"
    if not group.conditions:
        return [call]
    lines: list[str] = []
    wanted = ""
    for j, (slot, entry) in enumerate(group.conditions):
        name = f"{k}_{j}"
        lines.append(f"%at_{name} = getelementptr inbounds double, ptr %arg_{slot}, i64 {entry}")
        lines += [f"%value_{name} = load double, ptr %at_{name}, align 8", f"%holds_{name} = fcmp une double %value_{name}, 0.0"]
        lines += [f"%any_{name} = or i1 {wanted}, %holds_{name}"] if wanted else []
        wanted = f"%any_{name}" if wanted else f"%holds_{name}"
    lines += [f"br i1 {wanted}, label %run_{k}, label %behind_{k}", f"run_{k}:", call, f"br label %behind_{k}", f"behind_{k}:"]
    return lines


# ------------------------------------------------------------------------------------------- linear systems


def linear_solve_functions(solved: LinearSolveProgram, parts: LinearSolveParts, passes: Passes = ALL) -> list[str]:
    """Declarations, the functions of all stages, and the kernel that calls them."""
    declarations, functions = llvm_functions(parts.units, passes)
    solution = _active(solved) if solved.solver == Solver.ACTIVE else _sparse(solved) if solved.sparse else _dense(solved)
    declared = dict.fromkeys([*declarations, *solution.declarations])
    return [*declared, _OWN, *functions, _kernel(solved, solution, parts.passes_on)]


_OWN = f"""declare void @{PREFIX}fill(i64, double, ptr)
declare void @{PREFIX}copy(i64, ptr, ptr)
declare void @{PREFIX}newton_update(i64, double, ptr, ptr, ptr)
declare void @{PREFIX}linear_update(i64, double, double, ptr, ptr, ptr, ptr)
declare noalias ptr @malloc(i64)
declare void @free(ptr)"""


class _Solution(NamedTuple):
    """Text that solves the system: the matrix's entries are at %entries, each right-hand side at an address to be named."""

    declarations: tuple[str, ...]
    parts: dict[str, int]  # sizes of the arrays that it needs, by name
    prepare: tuple[str, ...]
    solve: str  # with SIDE for the address


def _small(solved: LinearSolveProgram) -> _Solution:
    """One or two unknowns: elimination with pivoting as one function without branches."""
    code = Emitter(DOUBLE)
    if solved.size == 1:
        code.store(code.div(code.load("%side"), code.load("%entries")), "%side")
    else:
        a, c, b, d = (code.load(code.element("%entries", k)) for k in range(4))  # by columns
        y, z = (code.load(code.element("%side", k)) for k in range(2))
        swap = code.compare("ogt", code.call("llvm.fabs", c), code.call("llvm.fabs", a))
        (a, c), (b, d), (y, z) = (
            (code.select(swap, second, first), code.select(swap, first, second)) for first, second in ((a, c), (b, d), (y, z))
        )
        factor = code.negate(code.div(c, a))
        last = code.div(code.fused(factor, y, z), code.fused(factor, b, d))
        code.store(code.div(code.fused(code.negate(b), last, y), a), code.element("%side", 0))
        code.store(last, code.element("%side", 1))
    body = "\n".join(code.lines)
    function = f"define internal void @small(ptr %entries, ptr %side) nounwind {{\n{body}\nret void\n}}"
    return _Solution(
        (declaration("llvm.fabs"), declaration("llvm.fma"), function), {}, (), "call void @small(ptr %entries, ptr SIDE)"
    )


def _dense(solved: LinearSolveProgram) -> _Solution:
    n, count = solved.size, solved.entry_pattern.nnz()
    if n <= 2 and count == n * n:
        return _small(solved)
    rows, columns = (np.array(a, dtype=np.int64) for a in (solved.entry_pattern.rows, solved.entry_pattern.columns))
    declarations = [f"declare void @{PREFIX}decompose(i64, ptr, ptr)", f"declare void @{PREFIX}substitute(i64, ptr, ptr, ptr)"]
    if count == n * n:  # a full matrix
        parts, matrix, prepare = {"pivots": n}, "%entries", []
    else:
        declarations += [f"declare void @{PREFIX}scatter(i64, ptr, ptr, i64, ptr)", _integers("indices", columns * n + rows)]
        parts, matrix = {"matrix": n * n, "pivots": n}, "%matrix"
        prepare = [f"call void @{PREFIX}scatter(i64 {count}, ptr @indices, ptr %entries, i64 {n * n}, ptr %matrix)"]
    prepare.append(f"call void @{PREFIX}decompose(i64 {n}, ptr {matrix}, ptr %pivots)")
    solve = f"call void @{PREFIX}substitute(i64 {n}, ptr {matrix}, ptr %pivots, ptr SIDE)"
    return _Solution(tuple(declarations), parts, tuple(prepare), solve)


def _active(solved: LinearSolveProgram) -> _Solution:
    n, pattern = solved.size, solved.entry_pattern
    rows, columns = (np.array(a, dtype=np.int64) for a in (pattern.rows, pattern.columns))
    places = np.lexsort((columns, rows))  # by rows
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    lists = "ptr @starts, ptr @columns, ptr @places, ptr %entries"
    return _Solution(
        (
            f"declare void @{PREFIX}decompose_active(i64{', ptr' * 7})",
            f"declare void @{PREFIX}substitute_active(i64{', ptr' * 8})",
            _integers("starts", starts),
            _integers("columns", columns[places]),
            _integers("places", places),
        ),
        {"factors": n * ((n + 3) // 4 * 4) + n, "column": (n + 3) // 4 * 4, "pivots": 2 * n},  # 4 n integers
        (f"call void @{PREFIX}decompose_active(i64 {n}, {lists}, ptr %factors, ptr %column, ptr %pivots)",),
        f"call void @{PREFIX}substitute_active(i64 {n}, {lists}, ptr %factors, ptr %column, ptr %pivots, ptr SIDE)",
    )


def _sparse(solved: LinearSolveProgram) -> _Solution:
    plan = analyze(solved.entry_pattern.rows, solved.entry_pattern.columns, solved.size)
    return _Solution(
        (
            f"declare void @{PREFIX}factorize(ptr, ptr, ptr, ptr)",
            f"declare void @{PREFIX}solve(ptr, ptr, ptr, ptr)",
            _integers("plan", plan.index),
        ),
        {"factors": plan.factors, "work": plan.work},
        (f"call void @{PREFIX}factorize(ptr @plan, ptr %entries, ptr %factors, ptr %work)",),
        f"call void @{PREFIX}solve(ptr @plan, ptr %factors, ptr SIDE, ptr %work)",
    )


def _integers(name: str, values: ArrayLike) -> str:
    listed = np.asarray(values, dtype=np.int64).tolist()
    return f"@{name} = private unnamed_addr constant [{len(listed)} x i32] [{', '.join(f'i32 {v}' for v in listed)}], align 8"


def _kernel(solved: LinearSolveProgram, solution: _Solution, passed: Mapping[str, tuple[int, int]]) -> str:
    """The kernel: call `system`, solve, call `after` with the solution; values of earlier stages are the last argument of all."""
    n, count = solved.size, len(solved.inputs)
    parts = {"entries": solved.entry_pattern.nnz(), "z": n * solved.sides, **solution.parts}
    if solved.iterates:
        parts |= {"new": n, "converged": 1} | ({"step": n + 1} if solved.factorized_once else {})
    parts["passed"] = sum(numbers for _, numbers in passed.values())
    total = sum(parts.values())
    tables = {"given": 3, "more": count + 3, "sides": 2, "begin": 2}
    lines = [f"define void @{SYMBOL}(ptr noalias readonly %arg, ptr noalias readonly %res) nounwind {{"]
    lines += [f"%{name} = alloca [{size} x ptr], align 8" for name, size in tables.items()]
    lines += [f"%memory = alloca [{total} x double], align 64"] if total <= _ON_STACK else _allocate(solved, total)
    for name, begin in zip(parts, np.cumsum([0, *parts.values()]), strict=False):
        lines.append(f"%{name} = getelementptr inbounds double, ptr %memory, i64 {begin}")
    for name, (first, _) in passed.items():
        lines.append(f"%passed_by_{name} = getelementptr inbounds double, ptr %passed, i64 {first}")
    for k in range(count):
        lines += [f"%from_{k} = getelementptr inbounds ptr, ptr %arg, i64 {k}", f"%value_{k} = load ptr, ptr %from_{k}, align 8"]
    solved_at = "%new" if solved.takes_estimate else "%z"
    lines += _put("more", [*(f"%value_{k}" for k in range(count)), "%z", solved_at, "%passed"])
    if solved.iterates:
        lines += _newton(n, solution, solved.tolerance, solved.factorized_once)
        lines += [] if solved.takes_estimate else [f"call void @{PREFIX}copy(i64 {n}, ptr %new, ptr %z)"]
    else:
        lines += [*_put("given", ["%entries", "%z", "%passed_by_system"]), "call void @system(ptr %more, ptr %given)"]
        lines += [*solution.prepare, solution.solve.replace("SIDE", "%z")]
    if solved.sides > 1:
        lines += [f"%side_{k} = getelementptr inbounds double, ptr %z, i64 {k * n}" for k in range(1, solved.sides)]
        lines += [*_put("sides", ["%side_1", "%passed_by_further"]), "call void @further(ptr %more, ptr %sides)"]
        lines += [solution.solve.replace("SIDE", f"%side_{k}") for k in range(1, solved.sides)]
    lines.append("call void @after(ptr %more, ptr %res)")
    lines += ["call void @free(ptr %memory)"] if total > _ON_STACK else []
    return "\n".join([*lines, "ret void", "}"])


def _newton(n: int, solution: _Solution, tolerance: float, once: bool) -> list[str]:
    """Newton's method from the start at %z until it converges: the solution is then at %new, the last estimate at %z; where it
    does not converge, the solution is NaN. `once`: all iterations have one matrix."""
    prepare, begun = list(solution.prepare), list[str]()
    update = f"call void @{PREFIX}newton_update(i64 {n}, double {number(tolerance**2)}, ptr %new, ptr %z, ptr %converged)"
    if once:
        begun = [f"%steps = getelementptr inbounds double, ptr %step, i64 {n}", "store double 0.0, ptr %steps, align 8"]
        limits = f"double {number(tolerance**2)}, double {number(CONTRADICTION**2)}"
        update = f"call void @{PREFIX}linear_update(i64 {n}, {limits}, ptr %new, ptr %z, ptr %step, ptr %converged)"
        begin = ["%so_far = load i64, ptr %count, align 8", "%is_first = icmp eq i64 %so_far, 0"]
        begin += ["br i1 %is_first, label %prepare, label %prepared", "prepare:"]
        prepare = [*begin, *prepare, "br label %prepared", "prepared:"]
    return [
        "%count = alloca i64, align 8",
        "store i64 0, ptr %count, align 8",
        *begun,
        *_put("begin", ["%z", "%passed_by_start"]),
        "call void @start(ptr %more, ptr %begin)",
        *_put("given", ["%entries", "%new", "%passed_by_system"]),
        "br label %iterate",
        "iterate:",
        "call void @system(ptr %more, ptr %given)",
        *prepare,
        solution.solve.replace("SIDE", "%new"),
        update,
        "%flag = load double, ptr %converged, align 8",
        "%stop = fcmp une double %flag, 0.0",
        "br i1 %stop, label %finished, label %again",
        "again:",
        "%done = load i64, ptr %count, align 8",
        "%one_more = add nsw i64 %done, 1",
        "store i64 %one_more, ptr %count, align 8",
        f"%left = icmp slt i64 %one_more, {MAX_ITERATIONS}",
        "br i1 %left, label %iterate, label %failed",
        "failed:",
        f"call void @{PREFIX}fill(i64 {n}, double {number(np.nan)}, ptr %new)",
        "br label %finished",
        "finished:",
    ]


def _put(table: str, pointers: Sequence[str]) -> list[str]:
    """Store pointers in a table."""
    lines = []
    for k, pointer in enumerate(pointers):
        lines += [f"%{table}_{k} = getelementptr inbounds ptr, ptr %{table}, i64 {k}"]
        lines += [f"store ptr {pointer}, ptr %{table}_{k}, align 8"]
    return lines


def _allocate(solved: LinearSolveProgram, total: int) -> list[str]:
    """Memory of this call; if it cannot be allocated all results are NaN."""
    lines = [
        f"%memory = call ptr @malloc(i64 {8 * total})",
        "%none = icmp eq ptr %memory, null",
        "br i1 %none, label %no_memory, label %go_on",
        "no_memory:",
    ]
    for k, slot in enumerate(solved.outputs):
        lines += [f"%lost_{k} = getelementptr inbounds ptr, ptr %res, i64 {k}", f"%no_{k} = load ptr, ptr %lost_{k}, align 8"]
        lines += [f"call void @{PREFIX}fill(i64 {slot.size}, double {number(np.nan)}, ptr %no_{k})"]
    return [*lines, "ret void", "go_on:"]
