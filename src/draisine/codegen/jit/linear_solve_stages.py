"""The straight lines of a `LinearSolveProgram` as stages of one list.

They have much in common: what the equations are made of and what is found with their solution depend on the same positions. Each
value is found once and handed on; in Newton's method, what does not depend on the estimate is found before the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from draisine.codegen.jit.kernel import PROLOGUE
from draisine.codegen.jit.ssa import INPUT, Straight, to_ssa
from draisine.codegen.passes import ALL, Passes
from draisine.codegen.passes.pipeline import EACH_ROUND, EACH_TIME, LONGEST, ONCE_PER_RUN, Result, Stage, improved, staged
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program


@dataclass(frozen=True, eq=False)
class Parts:
    """The lists by the names of their functions.

    After their arguments and z the functions find z once more, the last one, with the other solutions behind it, and then what
    was `handed` on: each gives so many numbers, from a place on, as its last result. The prologue, of the parameters alone, gives
    `hoisted` numbers.
    """

    units: dict[str, Straight]
    handed: dict[str, tuple[int, int]]  # function → the first place, and how many
    hoisted: int = 0


def parts_of_solved(solved: LinearSolveProgram, passes: Passes = ALL, parameters: int | None = None) -> Parts:
    """The lists in the order in which they run; `parameters` is the slot of what is known before a run, if there is one."""
    programs = _programs(solved)
    if not passes.hoisting or sum(len(program.tape) for program in programs.values()) > LONGEST:
        units = {name: improved(to_ssa(program.tape), passes) for name, program in programs.items()}
        return Parts({PROLOGUE: Straight(), **units}, dict.fromkeys(units, (0, 0)))
    names = [*([] if parameters is None else [PROLOGUE]), *programs]
    often = [ONCE_PER_RUN if n == PROLOGUE else EACH_ROUND if n == "system" and solved.iterates else EACH_TIME for n in names]
    arguments = len(solved.inputs)

    def known(slot: int, entry: int) -> int:
        if slot < arguments:
            return 0 if slot == parameters else names.index(next(iter(programs)))
        if slot == arguments:
            return names.index("system")
        return names.index("further" if "further" in programs and entry < solved.size else "after")

    unit = improved(_together(programs, arguments), passes, known, often)
    stages = []
    for name, rate in zip(names, often, strict=True):
        if name == PROLOGUE:
            assert parameters is not None
            stages.append(Stage(rate, 0, (parameters, solved.inputs[parameters].size)))
        else:
            stages.append(Stage(rate, len(programs[name].outputs), (arguments + 2, 0), _results(unit, programs, name)))
    made = dict(zip(names, staged(unit, stages, known), strict=True))
    return Parts(
        {PROLOGUE: Straight(), **{name: part.unit for name, part in made.items()}},
        {name: (made[name].first, made[name].count) for name in programs},
        made[PROLOGUE].count if parameters is not None else 0,
    )


def _programs(solved: LinearSolveProgram) -> dict[str, Program]:
    parts = {"start": solved.start, "system": solved.system, "further": solved.further, "after": solved.after}
    return {name: program for name, program in parts.items() if program is not None}


def _together(programs: Mapping[str, Program], arguments: int) -> Straight:
    """All in one list. The estimate that `system` reads and the solution that the others read are different slots."""
    made = Straight()
    results: list[Result] = []
    for name, program in programs.items():
        solution = arguments if name == "system" else arguments + 1

        def read(slot: int, entry: int, solution: int = solution) -> int:
            return made.add(INPUT, (), (slot if slot < arguments else solution, entry))

        first = _first_slot(programs, name)
        results += [(first + slot, entry, value) for slot, entry, value in made.run(program.tape, read)]
    made.results = results
    return made


def _first_slot(programs: Mapping[str, Program], name: str) -> int:
    """Where a program's results begin, when those of all are numbered through."""
    earlier = list(programs)[: list(programs).index(name)]
    return sum(len(programs[other].outputs) for other in earlier)


def _results(unit: Straight, programs: Mapping[str, Program], name: str) -> list[Result]:
    """A program's own results, numbered as its own."""
    first = _first_slot(programs, name)
    last = first + len(programs[name].outputs)
    return [(slot - first, entry, value) for slot, entry, value in unit.results if first <= slot < last]
