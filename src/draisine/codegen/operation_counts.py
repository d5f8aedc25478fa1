"""Operation counts of programs, and what each pass saves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from draisine.codegen.passes import NONE, PROLOGUE, Passes, names, parameter_slot
from draisine.codegen.passes.pipeline import hoisted_parts, linear_solve_parts
from draisine.dynamics.derive import derive
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program import opcodes as op
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.ssa import SSA, live_values
from draisine.results.base import Result

_TRIGONOMETRIC = frozenset({op.SIN, op.COS})


class Count(NamedTuple):
    """Operations computed once per run, once per evaluation, and in each iteration of Newton's method; divisions among the last
    two; calls of sine and cosine. `last_pass` is the pass switched on last."""

    last_pass: str
    per_run: int
    per_evaluation: int
    per_iteration: int
    divisions: int
    sines_and_cosines: int


@dataclass(frozen=True)
class OperationCounts(Result):
    """Operations of a program without passes, and with one pass after the other switched on. The solution of linear systems is
    not counted.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    >>> print(count_operations(Program.build("pull", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / p[1] + ca.cos(x) * x})))
    operations of pull
                        per run  per evaluation  per iteration  divisions  sin, cos
    without passes            0               6              0          1         2
    with cse                  0               6              0          1         2
    with reassociation        0               6              0          1         2
    with reciprocals          0               6              0          1         2
    with hoisting             2               5              0          0         1
    with sincos               2               5              0          0         1
    """

    program: str
    rows: tuple[Count, ...]

    @property
    def final(self) -> Count:
        """With all passes."""
        return self.rows[-1]

    def _table(self) -> Mapping[str, Any]:
        return {name: [row[k] for row in self.rows] for k, name in enumerate(Count._fields)}

    def __str__(self) -> str:
        width = len("with reassociation")
        heads = ("per run", "per evaluation", "per iteration", "divisions", "sin, cos")
        lines = [f"operations of {self.program}", " " * width + "".join(f"  {head}" for head in heads)]
        for row in self.rows:
            label = f"with {row.last_pass}" if row.last_pass else "without passes"
            lines.append(label.ljust(width) + "".join(f"  {n:>{len(h)}}" for n, h in zip(row[1:], heads, strict=True)))
        return "\n".join(lines)


def count_operations(program: Program | LinearSolveProgram) -> OperationCounts:
    """Operations without passes, and with one after the other switched on."""
    passes = NONE
    rows = [_count(program, passes, "")]
    for name in names():
        if name not in ("packing", "scheduling", "fusion"):  # which change their order, and how they are rounded
            passes = passes._replace(**{name: True})
            rows.append(_count(program, passes, name))
    return OperationCounts(program.name, tuple(rows))


def _count(program: Program | LinearSolveProgram, passes: Passes, last_pass: str) -> Count:
    if isinstance(program, LinearSolveProgram):
        program = program.evaluated  # as kernels do
        units = linear_solve_parts(program, passes, parameter_slot(program)).units
    else:
        parts = hoisted_parts(program, passes)
        units = {PROLOGUE: parts.prologue, "evaluation": parts.evaluation}
    iterated = {"system"} if isinstance(program, LinearSolveProgram) and program.iterates else set[str]()
    evaluated = [ssa for name, ssa in units.items() if name != PROLOGUE]
    kinds = [ssa.values[v].kind for ssa in evaluated for v in _counted(ssa)]
    return Count(
        last_pass,
        len(_counted(units[PROLOGUE])),
        sum(len(_counted(ssa)) for name, ssa in units.items() if name not in {PROLOGUE, *iterated}),
        sum(len(_counted(units[name])) for name in iterated),
        kinds.count(op.DIV) + kinds.count(op.INV),
        sum(_sines_and_cosines(ssa, passes.sincos) for ssa in evaluated),
    )


def _counted(ssa: SSA) -> list[int]:
    """The values that take an operation; values of constants alone are computed by the compiler."""
    constant: set[int] = set()
    for v, (_, operands, _) in enumerate(ssa.values):
        if ssa.number(v) is not None or (operands and constant.issuperset(operands)):
            constant.add(v)
    return [v for v in live_values(ssa) if v not in constant]


def _sines_and_cosines(ssa: SSA, sincos: bool) -> int:
    angles: Iterable[int] = [ssa.values[v].operands[0] for v in live_values(ssa) if ssa.values[v].kind in _TRIGONOMETRIC]
    return len(set(angles)) if sincos else len(list(angles))


def operation_counts(model: Model | System | Equations | Program | LinearSolveProgram) -> OperationCounts:
    """Operation counts of one evaluation of a model's dynamics, or of a program, and the savings of each pass.

    >>> from draisine import gallery
    >>> counts = operation_counts(gallery.chaplygin_sleigh())
    >>> counts.final.per_evaluation < counts.rows[0].per_evaluation
    True
    """
    if isinstance(model, Model | System):
        model = derive(model)
    return count_operations(model.explicit if isinstance(model, Equations) else model)
