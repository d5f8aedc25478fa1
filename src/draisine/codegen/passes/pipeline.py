"""Pass pipeline: from programs to the lists of values that are compiled, in stages by how often they run.

Long programs are left unchanged, since the passes would take longer than they gain.

Code motion splits a list into stages, each of which runs as seldom as its inputs allow. An input is known from some stage on:
parameters before a run, the state before an evaluation, an estimate of the solution before an iteration of Newton's method. A
value is computed in a stage where all its inputs are known; later stages that need it read it among their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from draisine.codegen.passes import ALL, PROLOGUE, Passes, parameter_slot
from draisine.codegen.passes.cse import eliminate_common_subexpressions
from draisine.codegen.passes.reassociation import reassociate, use_reciprocals
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program
from draisine.program.ssa import CALL, INPUT, RESULT, SSA, live_values, rewrite, to_ssa

Known = Callable[[int, int], int]  # slot and entry of an input → the stage from which on it is known
Result = tuple[int, int, int]  # slot, entry, value

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
    arguments = len(solved.inputs)
    joined = _join(programs, arguments) if passes.hoisting else SSA()
    if not passes.hoisting or len(joined.values) > LONGEST:
        units = {name: run_passes(to_ssa(program.tape), passes) for name, program in programs.items()}
        return LinearSolveParts({PROLOGUE: SSA(), **units}, dict.fromkeys(units, (0, 0)))
    names = [*([] if parameters is None else [PROLOGUE]), *programs]
    rates = [
        ONCE_PER_RUN if n == PROLOGUE else EACH_ITERATION if n == "system" and solved.iterates else EACH_EVALUATION for n in names
    ]

    def known(slot: int, entry: int) -> int:
        if slot < arguments:
            return 0 if slot == parameters else names.index(next(iter(programs)))
        if slot == arguments:
            return names.index("system")
        return names.index("further" if "further" in programs and entry < solved.size else "after")

    ssa = run_passes(joined, passes, known, rates)
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
        own = len(program.inputs) - arguments  # a program that takes both has the estimate first
        first_read = arguments if name == "system" or own == 2 else arguments + 1

        def read(slot: int, entry: int, first_read: int = first_read) -> int:
            return new.add(INPUT, (), (slot if slot < arguments else slot - arguments + first_read, entry))

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


# ------------------------------------------------------------------------------------- code motion


@dataclass(frozen=True)
class Stage:
    """`rate`: how often the stage runs, compared with the others. Values for later stages are its results in `output_slot`; later
    stages read them among their inputs from `input_start` (slot, entry) on, after those of earlier stages in the same slot.
    `results` are its other results."""

    rate: int
    output_slot: int
    input_start: tuple[int, int]
    results: Sequence[Result] = ()


@dataclass(frozen=True, eq=False)
class StageCode:
    """The list of one stage, and how many values it passes on, from which entry on."""

    ssa: SSA
    first: int
    count: int


def earliest_stages(ssa: SSA, known: Known) -> list[int]:
    """The first stage in which each value can be computed."""
    found: list[int] = []
    for kind, operands, detail in ssa.values:
        found.append(known(*detail) if kind == INPUT else max([found[o] for o in operands], default=0))
    return found


def split_into_stages(ssa: SSA, stages: Sequence[Stage], known: Known) -> list[StageCode]:
    """A list in stages. The results are those of the stages, not those of the list."""
    whole = SSA(ssa.values, [r for stage in stages for r in stage.results], ssa.numbers, ssa.callees)
    home, needed = _homes(whole, stages, earliest_stages(ssa, known))
    inputs: dict[int, tuple[int, int]] = {}
    free: dict[int, int] = {}  # the first entry of a slot that nothing was put into
    new = []
    for k, stage in enumerate(stages):
        before = dict(inputs)
        kept = [v for v in sorted(needed) if home[v] == k and needed[v] > k]
        slot = stage.input_start[0]
        first = free.get(slot, stage.input_start[1])
        free[slot] = first + len(kept)
        inputs |= {v: (slot, first + j) for j, v in enumerate(kept)}
        results = [*stage.results, *((stage.output_slot, j, v) for j, v in enumerate(kept))]
        new.append(StageCode(reading(whole, results, before), first, len(kept)))
    return new


def _homes(ssa: SSA, stages: Sequence[Stage], level: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The stage in which each value is computed, and the last one that reads it."""
    first: dict[int, int] = {}  # the earliest stage that reads a value
    last: dict[int, int] = {}
    for k, stage in enumerate(stages):
        for _, _, v in stage.results:
            first[v], last[v] = min(first.get(v, k), k), max(last.get(v, k), k)
    home: dict[int, int] = {}
    for v in reversed(live_values(ssa)):
        kind, operands, _ = ssa.values[v]
        # the stage that runs least, the latest of several, so that few values are passed on; a call stays with its results
        home[v] = first[v] if kind == RESULT else min(range(level[v], first[v] + 1), key=lambda k: (stages[k].rate, -k))
        for o in operands:
            first[o], last[o] = min(first.get(o, home[v]), home[v]), max(last.get(o, home[v]), home[v])
    for v in home:
        kind, operands, _ = ssa.values[v]
        if kind == RESULT:
            home[v] = home[operands[0]]
    return home, {v: last[v] for v in home if ssa.values[v].kind != CALL}


def reading(ssa: SSA, results: list[Result], inputs: dict[int, tuple[int, int]]) -> SSA:
    """The list with other results, in which some values are read from inputs."""

    def read(new: SSA, value: int, operands: tuple[int, ...]) -> int | None:
        return new.add(INPUT, (), inputs[value]) if value in inputs else None

    stage = SSA(ssa.values, results, ssa.numbers, ssa.callees)
    return rewrite(stage, dict.fromkeys({ssa.values[v].kind for v in inputs}, read)) if inputs else stage
