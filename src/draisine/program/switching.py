"""Switching functions of equations: where the state derivative jumps in its value or first derivative.

Comparisons, `abs`, `sign`, `min`, `max`, `floor` and tables with kinks are operations of a program. Each that can switch
becomes a `Switch`: a real argument z(t, x, u, p), an integer branch σ, and a range of z in which the branch holds. In the
*equations with fixed branches* every branch is an additional parameter, appended to p, so that within a branch they are smooth
and can be integrated, differentiated and compiled like any others. A branch is left where one of the `margins` becomes
negative.

An operation does not count if only outputs or events depend on it, if its argument depends on parameters and constant inputs
alone, if bounds show that it never switches, or if it guards a singular point (`expr/safe_functions.py`). All of this works on
tapes and imports no CasADi.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from draisine.errors import ArgumentError
from draisine.program import opcodes as op
from draisine.program.branch_graph import BranchGraph
from draisine.program.casadi_functions import TapeCode
from draisine.program.equations import Equations
from draisine.program.graph import Graph
from draisine.program.linear_solve import Condensed, LinearSolveProgram
from draisine.program.one_sided_limits import jumps_of_results
from draisine.program.program import DaeResidual, Program, Slot
from draisine.program.switch import Switch
from draisine.program.tangents import Tangents

Dynamics = Program | LinearSolveProgram | DaeResidual
Functions = Program | LinearSolveProgram


@dataclass(frozen=True)
class Margin:
    """A row of the margins: the number of its switch, and the change of the branch where the row becomes negative.

    A `step` of 0 stands for the other one of two branches: σ becomes 1 − σ.
    """

    switch: int
    step: int

    def crossed(self, branch: float) -> float:
        """The branch behind the limit."""
        return 1.0 - branch if self.step == 0 else branch + self.step


@dataclass(frozen=True, eq=False)
class Switching:
    """The switches of equations, and the programs in which their branches are parameters.

    All programs take (t, x, u, p), those of a `DaeResidual` (t, x, xdot, u, p), where p ends with one branch per switch:

    - `dynamics`: as in the equations, with fixed branches. Equal to the original inside a branch.
    - `arguments`: → `values`, the argument z of every switch.
    - `rates`: → `rates`, dz/dt of every switch along the motion with fixed branches; NaN where it is not known (arguments that
    depend on
      solutions of linear systems, on derivatives of 0 = F, or on called functions).
    - `functions` (or None): → `margins`, one for each of `margins`; positive inside the branch. Switches of time alone have no
      margins: `switch_times` gives their times.

    Those of variational equations (`varied_switching`) take (x, S) for x, with k directions; their `rates` are followed by their
    derivatives in every direction, and

    - `saltation` (t, (x, S, ẋ), u, p): → `values`, their derivatives in every direction, and their rates.
    """

    switches: tuple[Switch, ...]
    margins: tuple[Margin, ...]
    dynamics: Dynamics
    arguments: Functions
    rates: Functions
    functions: Functions | None
    graph: BranchGraph
    saltation: Functions | None = None
    directions: int = 0  # k

    @property
    def time_only(self) -> tuple[int, ...]:
        """Numbers of the switches that depend on time, parameters and constant inputs alone."""
        return tuple(i for i, switch in enumerate(self.switches) if switch.time_only)

    def __repr__(self) -> str:
        return f"<Switching: {', '.join(switch.name for switch in self.switches)}>"


@dataclass(frozen=True, eq=False)
class SwitchingEquations(Equations):
    """Equations whose switching functions are known beforehand, such as variational equations."""

    switching: Switching | None = None
    base: Equations | None = None  # the original equations

    @property
    def can_switch(self) -> bool:
        return self.switching is not None or (self.base is not None and self.base.can_switch)

    @property
    def can_be_sharp(self) -> bool:
        return self.base is not None and self.base.can_be_sharp


def branch_name(number: int) -> str:
    """The name of a branch as a parameter."""
    return f"branch_{number + 1}"


def find_switching(equations: Equations, free_kinks: bool = False) -> Switching | None:
    """The switching functions of equations; None if there are none.

    With `free_kinks`, those of time alone at which only the first derivative jumps, such as the rows of a logged table, are
    neither fixed nor among the switches; `graph.kinks` are their numbers.
    """
    if isinstance(equations, SwitchingEquations):
        return equations.switching
    return _found(equations.dynamics, free_kinks)


def jumps_of(equations: Equations) -> tuple[str, ...]:
    """The names of the switching functions at which the state derivative jumps.

    Those of forces that depend on reactions solved for iteratively, such as a load that passes zero, are left out: only kinks are
    usual there, and jumps cannot be distinguished from them.
    """
    found = find_switching(equations)
    if found is None:
        return ()
    iterated = isinstance(found.dynamics, LinearSolveProgram) and found.dynamics.start is not None
    arguments = [found.graph.argument(i) for i in range(len(found.switches))]
    left = [iterated and found.graph.depends_on_slot([node], "z") for node in arguments]
    return tuple(switch.name for switch, out in zip(found.switches, left, strict=True) if switch.jump and not out)


def switching_functions(equations: Equations, free_kinks: bool = True) -> Functions | None:
    """The program → `switching` of functions that are zero where the state derivative or residual switches; None if it does not.

    It takes the arguments of the equations, without branches: for event location by other tools. `floor(z)` and `ceil(z)` have
    sin(π z), and a table has one function for each knot. With `free_kinks`, kinks of functions of time alone are not among them.
    """
    found, dynamics = find_switching(equations, free_kinks), equations.dynamics
    if found is None or not found.switches:
        return None
    rows = found.graph.zeros()
    nodes = [node for _, node in rows]
    slot = Slot("switching", (len(rows), 1), tuple(name for name, _ in rows))
    solved = isinstance(dynamics, LinearSolveProgram) and found.graph.depends_on_slot(nodes, "z")
    program = _straight(dynamics)[-1 if solved else 0]
    name = f"{equations.name}_switching"
    made = found.graph.graph.emit(name, [s for s in program.inputs if s.name != "z" or solved], [(slot, nodes)])
    return replace(dynamics, name=name, after=made) if solved and isinstance(dynamics, LinearSolveProgram) else made


def switches_of(program: Program) -> tuple[Switch, ...]:
    """The switching functions of a program of (t, x, p): where one of its results jumps, or its first derivative. Jumps are
    confirmed by the limits on both sides, wherever a surface can be crossed. Those within arguments of others are left out."""
    if not program.can_switch:
        return ()
    graph = Graph()
    results = graph.read(program)
    roots = [node for nodes in results.values() for node in nodes]
    fixed = BranchGraph(graph, roots, program.input("p").size)
    surfaces = [[*(node for _, node in rows), *fixed.conditions_of(k)] for k, rows in enumerate(fixed.zeros_by_switch())]
    assumed = [k for k, switch in enumerate(fixed.switches) if switch.jump]
    jumps = dict(zip(assumed, jumps_of_results(graph, roots, [surfaces[k] for k in assumed]), strict=True))
    return tuple(
        replace(switch, jump=jumps.get(k) is not False and switch.jump)
        for k, switch in enumerate(fixed.switches)
        if k not in fixed.inner_alone
    )


def graph_of_time(equations: Equations) -> BranchGraph | None:
    """The graph of equations without switching functions in which curved tables of time (`BranchGraph.knots`), conditions of
    time at which nothing jumps (`seams`) or `sharp_functions` of time occur, else None.

    Those of variational equations are in the original ones.
    """
    original = equations.base if isinstance(equations, SwitchingEquations) else equations
    if original is None or not (original.can_switch or original.can_be_sharp):
        return None
    fixed, _ = _analyzed(original.dynamics, True)
    marked = fixed.knots or fixed.seams or fixed.sharp_functions
    return fixed if marked and not fixed.chosen and not fixed.kinks else None


@lru_cache(maxsize=32)
def _found(dynamics: Dynamics, free_kinks: bool) -> Switching | None:
    if not dynamics.can_switch:
        _straight(dynamics)
        return None
    fixed, results = _analyzed(dynamics, free_kinks)
    return _written(dynamics, fixed, results) if fixed.chosen or fixed.kinks else None


@lru_cache(maxsize=8)
def _analyzed(dynamics: Dynamics, free_kinks: bool) -> tuple[BranchGraph, list[dict[str, list[int]]]]:
    """The graph with fixed branches, and the nodes of the results of the original programs."""
    programs = _straight(dynamics)
    graph = Graph()
    results = [graph.read(program) for program in programs]
    everything = [node for table in results for nodes in table.values() for node in nodes]
    fixed = BranchGraph(graph, _roots(dynamics, graph, results), programs[0].input("p").size, everything, free_kinks)
    return fixed, results


def _straight(dynamics: Dynamics) -> list[Program]:
    """The straight-line programs on which the state derivative depends; the start of Newton's method is only a first guess."""
    if isinstance(dynamics, Program):
        return [dynamics]
    if isinstance(dynamics, DaeResidual):
        return [dynamics.residual]
    if dynamics.further is not None:
        raise ArgumentError(f"{dynamics.name!r} is a derivative already; find the switching functions of the original program")
    return [dynamics.system, dynamics.after]


def _roots(dynamics: Dynamics, graph: Graph, results: Sequence[dict[str, list[int]]]) -> list[int]:
    """The values whose jumps count: the state derivative, the residual, or K, r and the state derivative of linear systems.

    Newton's method has K − ∂r/∂z for a matrix, whose jumps are none of its solution: there it is the residual K z − r.
    """
    if isinstance(dynamics, Program):
        return results[0]["xdot"]
    if isinstance(dynamics, DaeResidual):
        return results[0]["residual"]
    entries, side = (results[0][slot.name] for slot in dynamics.system.outputs)
    if dynamics.start is None:
        return [*entries, *side, *results[1]["xdot"]]
    rows = [graph.add(op.NEG, (node,)) for node in side]
    for row, column, entry in zip(dynamics.entry_pattern.rows, dynamics.entry_pattern.columns, entries, strict=True):
        rows[row] = graph.add(op.ADD, (rows[row], graph.add(op.MUL, (entry, graph.input("z", column)))))
    return [*rows, *results[1]["xdot"]]


# ------------------------------------------------------------------------------------------------------- construction


def _written(dynamics: Dynamics, fixed: BranchGraph, results: Sequence[dict[str, list[int]]]) -> Switching:
    graph, switches = fixed.graph, fixed.switches
    count = len(switches)
    programs = _straight(dynamics)

    def inputs(program: Program | LinearSolveProgram) -> list[Slot]:
        return [longer(slot, count) if slot.name == "p" else slot for slot in program.inputs]

    written = [
        graph.emit(f"{program.name}_fixed", inputs(program), [(slot, fixed.of(table[slot.name])) for slot in program.outputs])
        for program, table in zip(programs, results, strict=True)
    ]
    new: Dynamics
    if isinstance(dynamics, Program):
        new = written[0]
    elif isinstance(dynamics, DaeResidual):
        new = replace(dynamics, name=f"{dynamics.name}_fixed", residual=written[0])
        vars(new)["differential"] = dynamics.differential
    else:
        start = None if dynamics.start is None else widened(dynamics.start, count)
        short = _condensed(dynamics, fixed, written[0].digest, inputs)
        new = replace(dynamics, name=f"{dynamics.name}_fixed", system=written[0], after=written[1], start=start, condensed=short)
        vars(new)["sparse"] = dynamics.sparse  # finding it needs CasADi

    def function(name: str, label: str, nodes: list[int], labels: Sequence[str]) -> Functions:
        slot = Slot(label, (len(nodes), 1), tuple(labels))
        solved = isinstance(new, LinearSolveProgram) and fixed.depends_on_slot(nodes, "z")
        slots = inputs(programs[-1] if solved else programs[0])
        slots = [s for s in slots if s.name != "z" or solved]
        made = graph.emit(f"{dynamics.name}_{name}", slots, [(slot, nodes)])
        if solved and isinstance(new, LinearSolveProgram):
            whole = replace(new, name=made.name, after=made)
            vars(whole)["sparse"] = new.sparse
            return whole
        return made

    margins = [Margin(i, step) for i, s in enumerate(switches) if not s.time_only for step in s.steps]
    rows = [fixed.margin(margin.switch, margin.step) for margin in margins]
    names = [switch.name for switch in switches]
    derivatives = Tangents(graph, fixed.seeds(dynamics, results[-1]))
    rates = [fixed.rate(i, derivatives) for i in range(count)]
    return Switching(
        switches,
        tuple(margins),
        new,
        function("switch_arguments", "values", [fixed.argument(i) for i in range(count)], names),
        function("switch_rates", "rates", rates, names),
        function("margins", "margins", rows, [names[m.switch] for m in margins]) if rows else None,
        fixed,
    )


def _condensed(
    dynamics: LinearSolveProgram, fixed: BranchGraph, of: str, inputs: Callable[[Program], list[Slot]]
) -> Condensed | None:
    """The condensed iteration with fixed branches; none where switches depend on unknowns, which have other numbers there."""
    arguments = [fixed.argument(i) for i in range(len(fixed.switches))]
    if dynamics.condensed is None or not dynamics.condenses or fixed.depends_on_slot(arguments, "z"):
        return None
    graph, made = fixed.graph, list[Program]()
    for program in (dynamics.condensed.system, dynamics.condensed.expansion):
        table = graph.read(program)
        fixed.fix_further([node for nodes in table.values() for node in nodes])
        results = [(slot, fixed.of(table[slot.name])) for slot in program.outputs]
        made.append(graph.emit(f"{program.name}_fixed", inputs(program), results))
    return Condensed(of, made[0], widened(dynamics.condensed.start, len(fixed.switches)), made[1])


Straight = TypeVar("Straight", Program, LinearSolveProgram, Program | LinearSolveProgram)


def widened(what: Straight, count: int) -> Straight:
    """The same program with `count` unused entries appended to p."""
    if isinstance(what, LinearSolveProgram):
        made = replace(
            what,
            system=widened(what.system, count),
            after=widened(what.after, count),
            further=_optional(what.further, count),
            start=_optional(what.start, count),
        )
        vars(made)["sparse"] = what.sparse
        return made
    inputs = tuple(longer(slot, count) if slot.name == "p" else slot for slot in what.inputs)
    shapes = tuple(slot.shape for slot in inputs), tuple(slot.shape for slot in what.outputs)
    return Program(what.name, inputs, what.outputs, TapeCode(what.name, what.tape, *shapes))


def _optional(what: Straight | None, count: int) -> Straight | None:
    return None if what is None else widened(what, count)


def longer(slot: Slot, count: int) -> Slot:
    """The slot p with `count` branches appended."""
    labels = (*slot.labels, *(branch_name(i) for i in range(count))) if slot.labels or not slot.size else ()
    units = (*slot.units, *("" for _ in range(count))) if labels else ()
    return Slot(slot.name, (slot.size + count, 1), labels, units)
