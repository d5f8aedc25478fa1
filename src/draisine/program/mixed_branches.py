"""Programs with mixed branches: values of a law between those of its sides.

While a motion slides on the surface of a switch, the law has neither the value of one side nor that of the other, but the one
between them that keeps the motion on the surface: the friction of a body at rest, the equivalent control of a relay. A *mixed
program* takes the branches of two-sided switches as numbers between 0 and 1: where(c, a, b) is c a + (1 − c) b, sign(z) is
2σ − 1, conditions joined by "and" multiply. For branches of 0 and 1 it equals the program with fixed branches (`switching`).

V. I. Utkin, Sliding Modes in Control and Optimization, Springer 1992, chapter 2 (equivalent control).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from draisine.program import opcodes as op
from draisine.program.graph import Graph
from draisine.program.program import Program
from draisine.program.ssa import INPUT
from draisine.program.switch import SwitchKind
from draisine.program.switching import Functions, Switching, longer, widened


def depends_on_jumps(switching: Switching, program: Functions) -> bool:
    """Whether results of a program of (t, x, u, p) may jump at a switch of the state, at which the motion may slide."""
    fixed = fix_program(switching, program)
    first = program.inputs[-1].size
    sliding = {first + i for i, switch in enumerate(switching.switches) if switch.jump and not switch.time_only}
    parts = [fixed] if isinstance(fixed, Program) else [fixed.system, fixed.after]
    for part in parts:
        graph = Graph()
        results = graph.read(part)
        reached = graph.reached([node for nodes in results.values() for node in nodes])
        if any(graph.find(INPUT, (), ("p", entry)) in reached for entry in sliding):
            return True
    return False


def fix_program(switching: Switching, program: Functions) -> Functions:
    """A program of the same equations, such as the report, with the branches of the switches appended to p."""
    fixed, count = switching.graph, len(switching.switches)

    def emit(part: Program) -> Program:
        results = fixed.graph.read(part)
        fixed.fix_further([node for nodes in results.values() for node in nodes])
        slots = [longer(slot, count) if slot.name == "p" else slot for slot in part.inputs]
        outputs = [(slot, fixed.of(results[slot.name])) for slot in part.outputs]
        return fixed.graph.emit(f"{part.name}_fixed", slots, outputs)

    return _each(program, emit, lambda start: widened(start, count))


def mix_program(switching: Switching, program: Functions) -> Functions:
    """A program with fixed branches, whose branches may lie between 0 and 1."""
    first = program.inputs[-1].size - len(switching.switches)
    sides = [first + i for i, switch in enumerate(switching.switches) if switch.kind == SwitchKind.SIDES]

    def emit(part: Program) -> Program:
        graph = Graph()
        results = graph.read(part)
        mixed = _Mixture(graph, {graph.input("p", entry) for entry in sides})
        outputs = [(slot, mixed.of(results[slot.name])) for slot in part.outputs]
        return graph.emit(f"{part.name}_mixed", list(part.inputs), outputs)

    return _each(program, emit, lambda start: start)


def _each(program: Functions, emit: Callable[[Program], Program], first_guess: Callable[[Program], Program]) -> Functions:
    """The parts of a program, each written anew."""
    if isinstance(program, Program):
        return emit(program)
    made = replace(
        program,
        name=f"{program.name}_mixed",
        system=emit(program.system),
        after=emit(program.after),
        further=None if program.further is None else emit(program.further),
        start=None if program.start is None else first_guess(program.start),
    )
    vars(made)["sparse"] = program.sparse  # finding it needs CasADi
    return made


class _Mixture:
    """The nodes of a graph in which conditions are weights. `_weights` are nodes between 0 and 1 in place of conditions."""

    def __init__(self, graph: Graph, branches: set[int]) -> None:
        self._graph, self._weights = graph, set(branches)
        self._new: dict[int, int] = {}

    def of(self, nodes: list[int]) -> list[int]:
        """The mixed nodes."""
        for node in sorted(self._graph.reached(nodes, lambda known: known in self._new)):
            if node not in self._new:
                self._new[node] = self._mixed(node)
        return [self._new[node] for node in nodes]

    def _mixed(self, node: int) -> int:
        g = self._graph
        operation, operands, detail = g.values[node]
        if not operands:
            return node
        new = tuple(self._new[o] for o in operands)
        weighed = [o in self._weights for o in new]
        if operation == op.IF_ELSE_ZERO and weighed[0]:  # the condition keeps values without weight out, which may be infinite
            return g.add(op.IF_ELSE_ZERO, (new[0], g.add(op.MUL, new)))
        if operation == op.NOT and weighed[0]:
            return self._weight(op.SUB, (g.constant(1.0), new[0]))
        if operation in (op.AND, op.OR) and any(weighed):
            a, b = (o if known else g.add(op.NE, (o, g.constant(0.0))) for o, known in zip(new, weighed, strict=True))
            both = self._weight(op.MUL, (a, b))
            return both if operation == op.AND else self._weight(op.SUB, (g.add(op.ADD, (a, b)), both))
        if operation == op.SUB and g.number(new[0]) == 1.0 and weighed[1]:
            return self._weight(op.SUB, new)
        return g.add(operation, new, detail)

    def _weight(self, operation: int, operands: tuple[int, ...]) -> int:
        made = self._graph.add(operation, operands)
        self._weights.add(made)
        return made
