"""How many operations a program takes, and what each pass saves of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from draisine.codegen.jit.kernel import PROLOGUE, parameter_slot, parts_of
from draisine.codegen.jit.ssa import Straight, live_values
from draisine.codegen.passes import NONE, Passes, names
from draisine.codegen.passes.pipeline import parts_of_solved
from draisine.program import opcodes as op
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

_TURNS = frozenset({op.SIN, op.COS})


class Count(NamedTuple):
    """Operations found once per run, once per evaluation, and in each round where something is solved in rounds; how many of
    the last two are divisions, and how often sine or cosine are called for. `last` is the pass switched on last."""

    last: str
    per_run: int
    per_evaluation: int
    per_iteration: int
    divisions: int
    turns: int


@dataclass(frozen=True)
class OperationCounts:
    """The operations of a program without passes, and with one pass after the other switched on. The solution of linear systems
    itself is not counted.

    >>> import casadi as ca
    >>> x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    >>> print(count_operations(Program.build("pull", {"x": x, "p": p}, {"y": x * ca.sin(p[0]) / p[1] + ca.cos(x) * x})))
    operations of pull          per run  per evaluation  per round  divisions  sines and cosines
    without passes                    0               6          0          1                  2
    with sharing                      0               6          0          1                  2
    with regrouping                   0               6          0          1                  2
    with reciprocals                  0               6          0          1                  2
    with hoisting                     2               5          0          0                  1
    with pairing                      2               5          0          0                  1
    """

    program: str
    rows: tuple[Count, ...]

    @property
    def final(self) -> Count:
        """With all passes."""
        return self.rows[-1]

    def __str__(self) -> str:
        width = max(26, len(self.program) + 15)
        heads = ("per run", "per evaluation", "per round", "divisions", "sines and cosines")
        lines = [f"operations of {self.program}".ljust(width) + "".join(f"  {head}" for head in heads)]
        for row in self.rows:
            label = f"with {row.last}" if row.last else "without passes"
            lines.append(label.ljust(width) + "".join(f"  {n:>{len(h)}}" for n, h in zip(row[1:], heads, strict=True)))
        return "\n".join(lines)


def count_operations(program: Program | LinearSolveProgram) -> OperationCounts:
    """Operations without passes, and with one after the other."""
    passes = NONE
    rows = [_count(program, passes, "")]
    for name in names():
        if name != "ordering":  # changes their order alone
            passes = replace(passes, **{name: True})
            rows.append(_count(program, passes, name))
    return OperationCounts(program.name, tuple(rows))


def _count(program: Program | LinearSolveProgram, passes: Passes, last: str) -> Count:
    if isinstance(program, LinearSolveProgram):
        units = parts_of_solved(program, passes, parameter_slot(program)).units
    else:
        parts = parts_of(program, passes)
        units = {PROLOGUE: parts.prologue, "evaluation": parts.evaluation}
    rounds = {"system"} if isinstance(program, LinearSolveProgram) and program.iterates else set[str]()
    late = [unit for name, unit in units.items() if name != PROLOGUE]
    kinds = [unit.values[v].kind for unit in late for v in _counted(unit)]
    return Count(
        last,
        len(_counted(units[PROLOGUE])),
        sum(len(_counted(unit)) for name, unit in units.items() if name not in {PROLOGUE, *rounds}),
        sum(len(_counted(units[name])) for name in rounds),
        kinds.count(op.DIV) + kinds.count(op.INV),
        sum(_turns(unit, passes.pairing) for unit in late),
    )


def _counted(unit: Straight) -> list[int]:
    """The values that take an operation; those of constants alone are found by the compiler."""
    constant: set[int] = set()
    for v, (_, operands, _) in enumerate(unit.values):
        if unit.number(v) is not None or (operands and constant.issuperset(operands)):
            constant.add(v)
    return [v for v in live_values(unit) if v not in constant]


def _turns(unit: Straight, pairing: bool) -> int:
    angles: Iterable[int] = [unit.values[v].operands[0] for v in live_values(unit) if unit.values[v].kind in _TURNS]
    return len(set(angles)) if pairing else len(list(angles))
