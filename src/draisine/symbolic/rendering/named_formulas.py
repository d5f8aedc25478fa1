"""Named formulas of a program's tape, and the parts of listings: assignments, and linear equations to be solved.

An annotated quantity has its name; others that are used more than once are numbered a1, a2, … as they appear. Every formula is in
the language of `draisine.expr.expression`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import FLOAT_FUNCTIONS, Call, Expr, Name, Number, evaluate, names
from draisine.program import opcodes as op
from draisine.program.program import Program

LONGEST = 40  # nodes of a formula; longer ones are split by numbered quantities

Functions = Mapping[str, Callable[..., float]]


@dataclass(frozen=True)
class Assignment:
    """One line of a listing: name = formula."""

    name: str
    meaning: str
    expression: Expr


@dataclass(frozen=True)
class Balance:
    """One of several equations that are solved together: left = right, and left is linear in the unknowns."""

    meaning: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Section:
    """Lines under one heading. Its `balances`, if there are any, are solved for the `unknowns` after the lines."""

    title: str
    assignments: tuple[Assignment, ...]
    balances: tuple[Balance, ...] = ()
    unknowns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listing:
    """Named formulas from the arguments to the results, in an order in which they can be evaluated."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]  # names, in the order of the state
    sections: tuple[Section, ...]
    functions: Functions = field(default_factory=dict)  # tables, by name
    reported: str = "derivative of the state, in its order"  # what the results are

    @property
    def assignments(self) -> list[Assignment]:
        return [line for section in self.sections for line in section.assignments]

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """All named quantities, for numbers of the arguments."""
        return run_sections(self.sections, values, self.functions)


def run_sections(
    sections: Sequence[Section], values: Mapping[str, float], functions: Functions | None = None
) -> dict[str, float]:
    """Evaluate formulas one after the other, each with the results of those before it."""
    known = {name: float(value) for name, value in values.items()}
    every = {**FLOAT_FUNCTIONS, **(functions or {})}
    for section in sections:
        for line in section.assignments:
            known[line.name] = float(evaluate(line.expression, known.__getitem__, every))
        if section.balances:
            known |= _solve(section, known, every)
    return known


def unknowns_of(balances: Sequence[Balance], known: set[str]) -> tuple[str, ...]:
    """The names on the left that nothing has defined before."""
    found = dict.fromkeys(name for line in balances for name in sorted(names(line.left)) if name not in known)
    return tuple(found)


def _solve(section: Section, known: Mapping[str, float], functions: Functions) -> dict[str, float]:
    unknowns = section.unknowns
    nothing = {**known, **dict.fromkeys(unknowns, 0.0)}
    matrix = np.zeros((len(unknowns), len(unknowns)))
    if len(section.balances) != len(unknowns):
        raise ArgumentError(
            f"{section.title!r}: {len(section.balances)} equations cannot be solved for {len(unknowns)} unknowns "
            f"({', '.join(unknowns)})"
        )
    for i, line in enumerate(section.balances):
        here = names(line.left)
        for j, unknown in enumerate(unknowns):
            if unknown in here:
                matrix[i, j] = evaluate(line.left, {**nothing, unknown: 1.0}.__getitem__, functions)
    side = [float(evaluate(line.right, known.__getitem__, functions)) for line in section.balances]
    return dict(zip(unknowns, np.linalg.solve(matrix, side).tolist(), strict=True))


# ---------------------------------------------------------------- formulas of a program


@dataclass(frozen=True)
class Annotation:
    """A named quantity of the derivation."""

    name: str
    description: str
    value: ca.SX


@dataclass(frozen=True)
class _Node:
    """A line of the tape in single assignment: operands are nodes."""

    operation: int
    operands: tuple[int, ...]
    atom: Expr | None = None
    callee: Any = None
    part: int = 0  # which result of a call


class Formulas:
    """Formulas of `wanted` expressions; intermediate quantities among `annotations` get their names.

    `build` makes a program of results by name, with labels for all its arguments. `wanted` and `annotations` are found by index.
    """

    def __init__(
        self, owner: str, build: Callable[[dict[str, Any]], Program], wanted: ca.SX, annotations: Sequence[Annotation]
    ) -> None:
        self.owner = owner
        self.annotations = annotations
        values = ca.vertcat(*[m.value for m in annotations]) if annotations else ca.SX(0, 1)
        self.program = build({"wanted": wanted, "named": values, "opposite": -values})
        self.arguments = tuple(label for slot in self.program.inputs for label in slot.labels)
        self.functions: dict[str, Callable[..., float]] = {}
        self._nodes: list[_Node] = []
        self._ends: dict[tuple[int, int], int] = {}  # (slot, entry) of the program's results → node
        self._read_tape()
        self._used = self._uses(range(wanted.numel()))
        self._shown: dict[int, Expr] = {}
        self._taken = set(self.arguments)
        self._numbered = 0
        self._named: dict[int, tuple[str, str]] = {}
        self._name_nodes()

    def unique(self, name: str) -> str:
        """The name, with underscores appended until it is unused; it is then used."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def write(self, entry: int, lines: list[Assignment]) -> Expr:
        """The formula of a wanted expression; lines that it needs and that are not written yet are added."""
        return self._write(self._ends[0, entry], lines)

    def write_annotated(self, entries: Iterable[int], lines: list[Assignment]) -> None:
        """Write the annotated quantities, or their negatives, that are used."""
        for entry in entries:
            for slot in (1, 2):
                if self._ends[slot, entry] in self._used:
                    self._write(self._ends[slot, entry], lines)

    # ---------------------------------------------------------------- the tape

    def _read_tape(self) -> None:
        place: dict[int, int] = {}
        for line in self.program.tape:
            if line.operation == op.OUTPUT:
                self._ends[line.outputs[0], line.outputs[1]] = place[line.inputs[0]]
                continue
            if line.operation == op.INPUT:
                slot, entry = line.inputs
                new = [_Node(line.operation, (), Name(self.program.inputs[slot].labels[entry]))]
            elif line.operation == op.CONST:
                new = [_Node(line.operation, (), Number(line.constant or 0.0))]
            else:
                operands = tuple(place[i] for i in line.inputs)
                new = [_Node(line.operation, operands, None, line.callee, k) for k in range(len(line.outputs))]
            for target, node in zip(line.outputs, new, strict=True):
                if target >= 0:
                    place[target] = len(self._nodes)
                self._nodes.append(node)

    def _uses(self, wanted: Iterable[int]) -> dict[int, int]:
        """How often each node that the wanted expressions need is read."""
        counts: dict[int, int] = {}
        waiting = [self._ends[0, k] for k in wanted]
        for node in waiting:
            counts[node] = counts.get(node, 0) + 1
        seen = set(waiting)
        waiting = list(seen)
        while waiting:
            for operand in self._nodes[waiting.pop()].operands:
                counts[operand] = counts.get(operand, 0) + 1
                if operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return counts

    def _name_nodes(self) -> None:
        for slot, before, description in ((1, "", ""), (2, "minus_", "the negative of: ")):
            for entry, meaning in enumerate(self.annotations):
                node = self._ends[slot, entry]
                # the negative of a quantity that is itself used needs no name
                if slot == 2 and self._ends[1, entry] in self._used:
                    continue
                if node in self._used and self._nodes[node].atom is None and node not in self._named:
                    self._named[node] = (self.unique(f"{before}{meaning.name}"), f"{description}{meaning.description}")

    # ---------------------------------------------------------------- writing

    def _write(self, target: int, lines: list[Assignment]) -> Expr:
        """Write a node and, before it, all it needs that is not written yet."""
        stack = [target]
        while stack:
            node = stack[-1]
            if node in self._shown:
                stack.pop()
                continue
            missing = [o for o in self._nodes[node].operands if o not in self._shown]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            self._shown[node] = self._line(node, lines)
        return self._shown[target]

    def _line(self, number: int, lines: list[Assignment]) -> Expr:
        node = self._nodes[number]
        if node.atom is not None:
            return node.atom
        formula = self._formula(node)
        if number in self._named:
            name, meaning = self._named[number]
        elif isinstance(formula, Call) and ((self._used[number] > 1 and formula.size > 2) or formula.size > LONGEST):
            self._numbered += 1
            name, meaning = self.unique(f"a{self._numbered}"), ""
        else:
            return formula
        lines.append(Assignment(name, meaning, formula))
        return Name(name)

    def _formula(self, node: _Node) -> Expr:
        operands = [self._shown[o] for o in node.operands]
        if node.operation != op.CALL:
            if node.operation not in _formulas():
                raise ModelError(
                    f"model {self.owner!r}: an operation of its equations (CasADi's number {node.operation}) has no formula in "
                    "the listing's language; export the program instead (draisine export)"
                )
            return _formulas()[node.operation](*operands)
        results = node.callee.output_offsets[-1]
        name = node.callee.name if results == 1 else f"{node.callee.name}_{node.part}"
        self.functions[name] = _called(node.callee, node.part)
        return Call(name, tuple(operands))


def _called(callee: Any, part: int) -> Callable[..., float]:

    def call(*arguments: float) -> float:
        results = callee.code.function.call([ca.DM(list(arguments[a:b])) for a, b in pairwise(callee.input_offsets)])
        return float(ca.vertcat(*[ca.vec(r) for r in results])[part])

    return call


@cache
def _formulas() -> Mapping[int, Callable[..., Expr]]:
    """CasADi's operations in the language of expressions. Boolean values are the numbers 1 and 0 in both."""

    def call(function: str) -> Callable[..., Expr]:
        return lambda *a: Call(function, a)

    one, zero, two = Number(1.0), Number(0.0), Number(2.0)
    same = ("add", "sub", "mul", "div", "neg", "pow", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2")
    table: dict[str, Callable[..., Expr]] = {
        name.upper(): call(name) for name in (*same, "sinh", "cosh", "tanh", "floor", "ceil")
    }
    table |= {"SIGN": call("sign"), "FABS": call("abs"), "FMIN": call("min"), "FMAX": call("max"), "HYPOT": call("hypot")}
    table |= {"LT": call("lt"), "LE": call("le"), "CONSTPOW": call("pow")}
    table |= {"SQ": lambda a: a**2, "TWICE": lambda a: two * a, "INV": lambda a: one / a, "ASSIGN": lambda a: a}
    table |= {"NOT": lambda a: Call("where", (a, zero, one)), "IF_ELSE_ZERO": lambda a, b: Call("where", (a, b, zero))}
    table |= {"EQ": lambda a, b: Call("le", (a, b)) * Call("le", (b, a))}
    table |= {"NE": lambda a, b: one - Call("le", (a, b)) * Call("le", (b, a))}
    table |= {"AND": lambda a, b: Call("where", (a, Call("where", (b, one, zero)), zero))}
    table |= {"OR": lambda a, b: Call("where", (a, one, Call("where", (b, one, zero))))}
    table |= {"COPYSIGN": lambda a, b: Call("where", (Call("lt", (b, zero)), -Call("abs", (a,)), Call("abs", (a,))))}
    return {op.NUMBERS[name]: function for name, function in table.items()}
