"""Costs with magnitudes: |e|, max and min under an integral, in epigraph form.

The derivative of |e| jumps where e = 0, and optimal controls rest exactly there: the thrust of least fuel is −1, 0 or 1. A search
by Newton steps fails at such points. In epigraph form every magnitude becomes an unknown s at each node,

    minimize L(…, s)   with   s − e ≥ 0,   s + e ≥ 0,

which is smooth, and equal to the problem with s = |e| where L rises with s. That is proven by interval arithmetic for all values
of the unknowns between their bounds; magnitudes for which it is not proven, such as that of −|u|, stay as they are. Further,
max(a, b) = (a + b + |a − b|)/2 and min(a, b) = (a + b − |a − b|)/2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from draisine.control.plant import stacked
from draisine.program import opcodes as op
from draisine.program.casadi_functions import CasadiCode, function_of_tape
from draisine.program.enclosures import Enclosure, enclose
from draisine.program.graph import Graph
from draisine.program.program import Program
from draisine.program.tape import Instruction

KINKED = (op.FABS, op.FMIN, op.FMAX)
# operations whose results follow a magnitude smoothly: what a comparison makes of it, a derivative does not show
SMOOTH = frozenset(
    {op.ADD, op.SUB, op.MUL, op.DIV, op.NEG, op.SQ, op.TWICE, op.INV, op.SQRT, op.EXP, op.LOG, op.POW, op.CONSTPOW}
)
SMOOTH |= frozenset({op.OUTPUT, *KINKED})


KINKS = {op.FABS: "abs", op.FMIN: "min", op.FMAX: "max", op.SIGN: "sign"}
COMPARED = frozenset({op.LT, op.LE, op.EQ, op.NE})


class Epigraph(NamedTuple):
    """The cost in terms of unknowns s in place of magnitudes, these unknowns, and the expressions e whose magnitudes they are."""

    cost: ca.SX
    slacks: ca.SX
    arguments: ca.SX

    @property
    def rows(self) -> ca.SX:
        """s − e and s + e, which are not negative."""
        return ca.vertcat(self.slacks - self.arguments, self.slacks + self.arguments)


def epigraph(cost: ca.SX, limits: Mapping[int, tuple[float, float]]) -> Epigraph | None:
    """The epigraph form of a cost; None if it has no magnitudes that can be replaced.

    `limits` are bounds of its variables, by their `element_hash`.
    """
    variables = ca.symvar(cost)
    tape = CasadiCode(ca.Function("cost", [stacked(variables)], [ca.densify(cost)])).tape
    candidates = _candidates(tape)
    while candidates:
        found = _replaced(variables, tape, candidates)
        rising = _rising(found, variables, limits)
        if all(rising):
            return found
        candidates = [line for line, holds in zip(candidates, rising, strict=True) if holds]
    return None


def kinks(cost: ca.SX, limits: Mapping[int, tuple[float, float]]) -> tuple[str, ...]:
    """Functions in a cost whose derivatives jump. A root is written with a comparison |e| < 1e-100, which is of no account where
    e is proven to be positive."""
    variables = ca.symvar(cost)
    if not variables:
        return ()
    tape = CasadiCode(ca.Function("cost", [stacked(variables)], [ca.densify(cost)])).tape
    reads, guards = _reads(tape), set[int]()
    for k, line in enumerate(tape):
        if line.operation == op.FABS and all(tape[i].operation in COMPARED for i, own in enumerate(reads) if k in own):
            guards.add(k)
    found = [KINKS[line.operation] for k, line in enumerate(tape) if line.operation in KINKS and k not in guards]
    if guards:
        arguments = _replaced(variables, tape, sorted(guards)).arguments
        found += [] if all(low > 0.0 for low in _least(arguments, {"w": variables}, limits)) else ["sqrt"]
    return tuple(dict.fromkeys(found))


def _reads(tape: tuple[Instruction, ...]) -> list[list[int]]:
    """For each line of a tape, the lines whose results it reads."""
    writer: dict[int, int] = {}
    reads: list[list[int]] = []
    for k, line in enumerate(tape):
        reads.append([] if line.operation in (op.INPUT, op.CONST) else [writer[i] for i in line.inputs])
        if line.operation != op.OUTPUT:
            writer |= dict.fromkeys(line.outputs, k)
    return reads


def _candidates(tape: tuple[Instruction, ...]) -> list[int]:
    """Lines of magnitudes whose arguments have none themselves, and which the cost follows smoothly."""
    smooth = [True] * len(tape)  # whether only smooth operations depend on the result of a line
    inner = [False] * len(tape)  # whether a line depends on a magnitude
    reads = _reads(tape)
    for k in range(len(tape)):
        inner[k] = any(inner[i] or tape[i].operation in KINKED for i in reads[k])
    for k in range(len(tape) - 1, -1, -1):
        for i in reads[k]:
            smooth[i] &= smooth[k] and tape[k].operation in SMOOTH
    return [k for k, line in enumerate(tape) if line.operation in KINKED and smooth[k] and not inner[k]]


def _replaced(variables: list[ca.SX], tape: tuple[Instruction, ...], lines: Collection[int]) -> Epigraph:
    """The cost with unknowns in place of the magnitudes in some lines of its tape: further arguments of a function."""
    new: list[Instruction] = []
    count, free = len(variables), 1 + max((i for line in tape for i in line.outputs), default=0)
    for k, line in enumerate(tape):
        if k not in lines:
            new.append(line)
            continue
        number = sum(1 for other in lines if other < k)
        difference = line.inputs[0]
        if line.operation != op.FABS:
            difference = free
            new.append(Instruction(op.SUB, line.inputs, (difference,)))
        new.append(Instruction(op.OUTPUT, (difference,), (1, number)))
        if line.operation == op.FABS:
            new.append(Instruction(op.INPUT, (1, number), line.outputs))
            continue
        total, slack, half = free + 1, free + 2, free + 3
        joined = op.ADD if line.operation == op.FMAX else op.SUB
        new += [
            Instruction(op.ADD, line.inputs, (total,)),
            Instruction(op.INPUT, (1, number), (slack,)),
            Instruction(joined, (total, slack), (total,)),
            Instruction(op.CONST, (), (half,), 0.5),
            Instruction(op.MUL, (half, total), line.outputs),
        ]
    shapes = [(count, 1), (len(lines), 1)]
    function = function_of_tape("epigraph", tuple(new), shapes, [(1, 1), (len(lines), 1)])
    slacks = ca.SX.sym("magnitude", len(lines))
    value, arguments = function.call([stacked(variables), slacks])
    return Epigraph(value, slacks, arguments)


def _rising(found: Epigraph, variables: list[ca.SX], limits: Mapping[int, tuple[float, float]]) -> list[bool]:
    """Whether the cost is proven not to fall with each unknown s ≥ 0, for all values of the variables between their limits."""
    derivatives = ca.densify(ca.jacobian(found.cost, found.slacks)).T
    slacks = ca.vertsplit(found.slacks)
    positive = {s.element_hash(): (0.0, np.inf) for s in slacks}
    return [low >= 0.0 for low in _least(derivatives, {"w": variables, "s": slacks}, {**limits, **positive})]


def _least(values: ca.SX, groups: Mapping[str, list[ca.SX]], limits: Mapping[int, tuple[float, float]]) -> list[float]:
    """Lower bounds of expressions, proven by interval arithmetic for all values of their variables between their limits."""
    program = Program.build("enclosed", {name: stacked(group) for name, group in groups.items()}, {"values": ca.densify(values)})
    graph = Graph()
    nodes = graph.read(program)["values"]
    given: dict[int, Enclosure] = {}
    for name, group in groups.items():
        for k, variable in enumerate(group):
            low, high = limits.get(variable.element_hash(), (-np.inf, np.inf))
            given[graph.input(name, k)] = (np.array(low), np.array(high)), None
    known = enclose(graph, nodes, given)
    return [float(known[node][0][0]) for node in nodes]
