"""Machine code of a `LinearSolveProgram`: the straight lines, and between them calls of the solvers.

A dense system is eliminated with partial pivoting, a sparse one factorized along a plan that is part of the code. Small systems
work on the stack, large ones take their memory anew in every call, so that kernels can run in several threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from draisine.codegen.jit.emitter import number
from draisine.codegen.jit.llvm import SYMBOL, entry_points, functions_of
from draisine.codegen.jit.solvers import PREFIX
from draisine.codegen.jit.sparse_qr import analyze
from draisine.codegen.passes import ALL, Passes
from draisine.codegen.passes.pipeline import Parts, parts_of_solved
from draisine.program.linear_solve import MAX_ITERATIONS, STEP_TOLERANCE, LinearSolveProgram

_ON_STACK = 4096  # numbers; threads may have half a megabyte of stack


def module_text_of_solved(solved: LinearSolveProgram, passes: Passes = ALL) -> str:
    """The module as text, with the same functions as that of a plain program, and calls of `solvers`."""
    functions = functions_of_solved(solved, parts_of_solved(solved, passes), passes)
    return "\n".join([*functions, *entry_points(solved.inputs, solved.outputs)])


def functions_of_solved(solved: LinearSolveProgram, parts: Parts, passes: Passes = ALL) -> list[str]:
    """Declarations, the straight lines, and the kernel that calls them."""
    declarations, functions = functions_of(parts.units, passes)
    solution = _sparse(solved) if solved.sparse else _dense(solved)
    return [*declarations, *solution.declarations, _OWN, *functions, _between(solved, solution, parts.handed)]


_OWN = f"""declare void @{PREFIX}fill(i64, double, ptr)
declare void @{PREFIX}settle(i64, double, ptr, ptr, ptr)
declare noalias ptr @malloc(i64)
declare void @free(ptr)"""


@dataclass(frozen=True)
class _Solution:
    """How the system is solved: text that finds the matrix's entries at %entries, each side at a place to be named."""

    declarations: tuple[str, ...]
    parts: dict[str, int]  # arrays that it needs, by name: so many numbers
    prepare: tuple[str, ...]
    solve: str  # with SIDE for the place


def _dense(solved: LinearSolveProgram) -> _Solution:
    n, count = solved.size, solved.entry_pattern.nnz()
    rows, columns = (np.array(a, dtype=np.int64) for a in (solved.entry_pattern.rows, solved.entry_pattern.columns))
    declarations = [f"declare void @{PREFIX}decompose(i64, ptr, ptr)", f"declare void @{PREFIX}substitute(i64, ptr, ptr, ptr)"]
    if count == n * n:  # the entries are the matrix
        parts, matrix, prepare = {"pivots": n}, "%entries", []
    else:
        declarations += [f"declare void @{PREFIX}spread(i64, ptr, ptr, i64, ptr)", _integers("places", columns * n + rows)]
        parts, matrix = {"matrix": n * n, "pivots": n}, "%matrix"
        prepare = [f"call void @{PREFIX}spread(i64 {count}, ptr @places, ptr %entries, i64 {n * n}, ptr %matrix)"]
    prepare.append(f"call void @{PREFIX}decompose(i64 {n}, ptr {matrix}, ptr %pivots)")
    solve = f"call void @{PREFIX}substitute(i64 {n}, ptr {matrix}, ptr %pivots, ptr SIDE)"
    return _Solution(tuple(declarations), parts, tuple(prepare), solve)


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


def _between(solved: LinearSolveProgram, solution: _Solution, handed: Mapping[str, tuple[int, int]]) -> str:
    """The kernel: call `system`, solve, call `after` with the solution; all find what was handed on as last argument."""
    n, count = solved.size, len(solved.inputs)
    parts = {"entries": solved.entry_pattern.nnz(), "z": n * solved.sides, **solution.parts}
    if solved.iterates:
        parts |= {"new": n, "told": 1}
    parts["handed"] = sum(numbers for _, numbers in handed.values())
    total = sum(parts.values())
    tables = {"given": 3, "more": count + 3, "sides": 2, "begin": 2}
    lines = [f"define void @{SYMBOL}(ptr noalias readonly %arg, ptr noalias readonly %res) nounwind {{"]
    lines += [f"%{name} = alloca [{size} x ptr], align 8" for name, size in tables.items()]
    lines += [f"%memory = alloca [{total} x double], align 64"] if total <= _ON_STACK else _take_memory(solved, total)
    for name, begin in zip(parts, np.cumsum([0, *parts.values()]), strict=False):
        lines.append(f"%{name} = getelementptr inbounds double, ptr %memory, i64 {begin}")
    for name, (first, _) in handed.items():
        lines.append(f"%handed_by_{name} = getelementptr inbounds double, ptr %handed, i64 {first}")
    for k in range(count):
        lines += [f"%from_{k} = getelementptr inbounds ptr, ptr %arg, i64 {k}", f"%value_{k} = load ptr, ptr %from_{k}, align 8"]
    lines += _put("more", [*(f"%value_{k}" for k in range(count)), "%z", "%z", "%handed"])
    if solved.iterates:
        lines += _rounds(n, solution)
    else:
        lines += [*_put("given", ["%entries", "%z", "%handed_by_system"]), "call void @system(ptr %more, ptr %given)"]
        lines += [*solution.prepare, solution.solve.replace("SIDE", "%z")]
    if solved.sides > 1:
        lines += [f"%side_{k} = getelementptr inbounds double, ptr %z, i64 {k * n}" for k in range(1, solved.sides)]
        lines += [*_put("sides", ["%side_1", "%handed_by_further"]), "call void @further(ptr %more, ptr %sides)"]
        lines += [solution.solve.replace("SIDE", f"%side_{k}") for k in range(1, solved.sides)]
    lines.append("call void @after(ptr %more, ptr %res)")
    lines += ["call void @free(ptr %memory)"] if total > _ON_STACK else []
    return "\n".join([*lines, "ret void", "}"])


def _rounds(n: int, solution: _Solution) -> list[str]:
    """Newton's method: from the start until z settles; where it does not, z is NaN."""
    return [
        "%rounds = alloca i64, align 8",
        "store i64 0, ptr %rounds, align 8",
        *_put("begin", ["%z", "%handed_by_start"]),
        "call void @start(ptr %more, ptr %begin)",
        *_put("given", ["%entries", "%new", "%handed_by_system"]),
        "br label %round",
        "round:",
        "call void @system(ptr %more, ptr %given)",
        *solution.prepare,
        solution.solve.replace("SIDE", "%new"),
        f"call void @{PREFIX}settle(i64 {n}, double {number(STEP_TOLERANCE**2)}, ptr %new, ptr %z, ptr %told)",
        "%verdict = load double, ptr %told, align 8",
        "%settled = fcmp une double %verdict, 0.0",
        "br i1 %settled, label %finished, label %onwards",
        "onwards:",
        "%done = load i64, ptr %rounds, align 8",
        "%one_more = add nsw i64 %done, 1",
        "store i64 %one_more, ptr %rounds, align 8",
        f"%left = icmp slt i64 %one_more, {MAX_ITERATIONS}",
        "br i1 %left, label %round, label %failed",
        "failed:",
        f"call void @{PREFIX}fill(i64 {n}, double {number(np.nan)}, ptr %z)",
        "br label %finished",
        "finished:",
    ]


def _put(table: str, pointers: Sequence[str]) -> list[str]:
    """Store pointers side by side."""
    lines = []
    for k, pointer in enumerate(pointers):
        lines += [f"%{table}_{k} = getelementptr inbounds ptr, ptr %{table}, i64 {k}"]
        lines += [f"store ptr {pointer}, ptr %{table}_{k}, align 8"]
    return lines


def _take_memory(solved: LinearSolveProgram, total: int) -> list[str]:
    """Memory of this call; where there is none all results are NaN."""
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
