"""Pass pipeline: from programs to the lists of values that are compiled, in stages by how often they run.

Long programs are left unchanged, since the passes would take longer than they gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from draisine.codegen.jit.ssa import INPUT, SSA, to_ssa
from draisine.codegen.passes import ALL, PROLOGUE, Passes, parameter_slot
from draisine.codegen.passes.cse import eliminate_common_subexpressions
from draisine.codegen.passes.pipeline import Known, Result, Stage, earliest_stages, split_into_stages
from draisine.codegen.passes.reassociation import reassociate, use_reciprocals
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

LONGEST = 8000  # values
LONGEST_REASSOCIATED = 4000

ONCE_PER_RUN, EACH_EVALUATION, EACH_ITERATION = range(3)  # rates of stages


def run_passes(ssa: SSA, passes: Passes = ALL, known: Known | None = None, rates: Sequence[int] = ()) -> SSA:
    """The list after all passes except hoisting. If it is then split into stages with these `rates`, `known` maps an input to the
    first stage in which it is known."""
    if len(ssa.values) > LONGEST:
        return ssa

    def rates_of(ssa: SSA) -> list[int]:
        return [] if known is None else [rates[level] for level in earliest_stages(ssa, known)]

    ssa = eliminate_common_subexpressions(ssa) if passes.cse else ssa
    if passes.reassociation and len(ssa.values) <= LONGEST_REASSOCIATED:
        ssa = reassociate(ssa, rates_of(ssa))
        ssa = eliminate_common_subexpressions(ssa) if passes.cse else ssa
    return use_reciprocals(ssa, rates_of(ssa)) if passes.reciprocals else ssa


@dataclass(frozen=True, eq=False)
class HoistedParts:
    """`prologue` reads one slot alone and returns `count` values in slot 0; `evaluation` reads them after those of the slot."""

    prologue: SSA
    evaluation: SSA
    count: int


def split_prologue(ssa: SSA, slot: int | None, size: int, passes: Passes = ALL) -> HoistedParts:
    """Split off what depends on a slot of `size` numbers alone; without hoisting, or a slot, the prologue is empty."""
    if slot is None or len(ssa.values) > LONGEST or not passes.hoisting:
        return HoistedParts(SSA(), run_passes(ssa, passes), 0)

    def known(of: int, entry: int) -> int:
        return int(of != slot)

    ssa = run_passes(ssa, passes, known, (ONCE_PER_RUN, EACH_EVALUATION))
    stages = Stage(ONCE_PER_RUN, 0, (slot, size)), Stage(EACH_EVALUATION, -1, (-1, 0), ssa.results)
    prologue, evaluation = split_into_stages(ssa, stages, known)
    return HoistedParts(prologue.ssa, evaluation.ssa, prologue.count)


def hoisted_parts(program: Program, passes: Passes = ALL) -> HoistedParts:
    """A program as prologue and evaluation."""
    slot = parameter_slot(program)
    return split_prologue(to_ssa(program.tape), slot, 0 if slot is None else program.inputs[slot].size, passes)


# ------------------------------------------------------------------------------------- programs with linear systems


@dataclass(frozen=True, eq=False)
class LinearSolveParts:
    """The programs of a `LinearSolveProgram` as stages of one list, by the names of their functions.

    The stages have much in common: equations and results depend on the same positions. Each value is computed once and passed on;
    in Newton's method, what does not depend on the estimate is computed before the iterations.

    After its arguments and the estimate z, a function reads the solution z with the further solutions after it, and then the
    values that earlier stages passed on. The values that it `passes_on` are its last result. The prologue, of the parameters
    alone, returns `hoisted` values.
    """

    units: dict[str, SSA]
    passes_on: dict[str, tuple[int, int]]  # function → index of the first value, number of values
    hoisted: int = 0


def linear_solve_parts(solved: LinearSolveProgram, passes: Passes = ALL, parameters: int | None = None) -> LinearSolveParts:
    """The stages in the order in which they run; `parameters` is the slot that is known before a run, if there is one."""
    programs = _programs(solved)
    if not passes.hoisting or sum(len(program.tape) for program in programs.values()) > LONGEST:
        units = {name: run_passes(to_ssa(program.tape), passes) for name, program in programs.items()}
        return LinearSolveParts({PROLOGUE: SSA(), **units}, dict.fromkeys(units, (0, 0)))
    names = [*([] if parameters is None else [PROLOGUE]), *programs]
    rates = [
        ONCE_PER_RUN if n == PROLOGUE else EACH_ITERATION if n == "system" and solved.iterates else EACH_EVALUATION for n in names
    ]
    arguments = len(solved.inputs)

    def known(slot: int, entry: int) -> int:
        if slot < arguments:
            return 0 if slot == parameters else names.index(next(iter(programs)))
        if slot == arguments:
            return names.index("system")
        return names.index("further" if "further" in programs and entry < solved.size else "after")

    ssa = run_passes(_join(programs, arguments), passes, known, rates)
    stages = []
    for name, rate in zip(names, rates, strict=True):
        if name == PROLOGUE:
            assert parameters is not None
            stages.append(Stage(rate, 0, (parameters, solved.inputs[parameters].size)))
        else:
            stages.append(Stage(rate, len(programs[name].outputs), (arguments + 2, 0), _results(ssa, programs, name)))
    new = dict(zip(names, split_into_stages(ssa, stages, known), strict=True))
    return LinearSolveParts(
        {PROLOGUE: SSA(), **{name: part.ssa for name, part in new.items()}},
        {name: (new[name].first, new[name].count) for name in programs},
        new[PROLOGUE].count if parameters is not None else 0,
    )


def _programs(solved: LinearSolveProgram) -> dict[str, Program]:
    parts = {"start": solved.start, "system": solved.system, "further": solved.further, "after": solved.after}
    return {name: program for name, program in parts.items() if program is not None}


def _join(programs: Mapping[str, Program], arguments: int) -> SSA:
    """All programs in one list. The estimate that `system` reads and the solution that the others read are different slots."""
    new = SSA()
    results: list[Result] = []
    for name, program in programs.items():
        solution = arguments if name == "system" else arguments + 1

        def read(slot: int, entry: int, solution: int = solution) -> int:
            return new.add(INPUT, (), (slot if slot < arguments else solution, entry))

        first = _first_slot(programs, name)
        results += [(first + slot, entry, value) for slot, entry, value in new.run(program.tape, read)]
    new.results = results
    return new


def _first_slot(programs: Mapping[str, Program], name: str) -> int:
    """The first slot of a program's results when those of all are numbered consecutively."""
    earlier = list(programs)[: list(programs).index(name)]
    return sum(len(programs[other].outputs) for other in earlier)


def _results(ssa: SSA, programs: Mapping[str, Program], name: str) -> list[Result]:
    """The results of one program, with its own slot numbers."""
    first = _first_slot(programs, name)
    last = first + len(programs[name].outputs)
    return [(slot - first, entry, value) for slot, entry, value in ssa.results if first <= slot < last]
