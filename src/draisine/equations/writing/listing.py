"""A large system's equations as a listing of short named formulas, executable as it stands.

The listing is the program of the state derivative read back: a quantity whose meaning the derivation knows has its name, others
that are used more than once are numbered a1, a2, … under the heading where they first appear. Every formula is in the language of
`draisine.program.expression`, so the printed listing can be read and evaluated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca

from draisine.equations.formulation import Formulation
from draisine.equations.mechanism import Mechanism
from draisine.equations.writing.meanings import Chapter, meanings
from draisine.model.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.callee import offsets
from draisine.program.expression import FLOAT_FUNCTIONS, Call, Expr, Name, Number, evaluate
from draisine.program.program import Program

LONGEST = 40  # parts of a formula; what is longer is broken up by numbered quantities


@dataclass(frozen=True)
class Assignment:
    """One line of a listing."""

    name: str
    meaning: str
    expression: Expr


@dataclass(frozen=True)
class Section:
    """Lines under one heading."""

    title: str
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True)
class Listing:
    """Named formulas from (t, x, u, p) to the derivative of the state, in an order in which they can be evaluated."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]  # names of the state's derivatives, in the order of the state
    sections: tuple[Section, ...]
    functions: Mapping[str, Callable[..., float]] = field(default_factory=dict)  # tables, by name

    @property
    def assignments(self) -> list[Assignment]:
        return [line for section in self.sections for line in section.assignments]

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """All named quantities, for numbers of the arguments."""
        return run_lines([(line.name, line.expression) for line in self.assignments], values, self.functions)


def run_lines(
    lines: Sequence[tuple[str, Expr]], values: Mapping[str, float], functions: Mapping[str, Callable[..., float]] | None = None
) -> dict[str, float]:
    """Evaluate formulas one after the other, each with the results of those before it."""
    known = {name: float(value) for name, value in values.items()}
    every = {**FLOAT_FUNCTIONS, **(functions or {})}
    for name, expression in lines:
        known[name] = float(evaluate(expression, known.__getitem__, every))
    return known


def listing(model: Model | System) -> Listing:
    """The listing of a model's state derivative."""
    system = model.freeze() if isinstance(model, Model) else model
    mechanism = Mechanism(system)
    plan, _, _ = mechanism.choose(system.independent)
    formulation = Formulation(mechanism, plan, {}, (), False)
    return _Lister(formulation).listing()


@dataclass(frozen=True)
class _Node:
    """A line of the tape in single assignment: operands are nodes."""

    operation: int
    operands: tuple[int, ...]
    atom: Expr | None = None
    callee: Any = None
    part: int = 0  # which result of a call


class _Lister:
    def __init__(self, formulation: Formulation) -> None:
        self.formulation = formulation
        self.chapters = [c for c in meanings(formulation) if c.meanings]
        self.states = formulation.x_labels
        self.program = self._program()
        self.nodes: list[_Node] = []
        self.ends: dict[tuple[int, int], int] = {}  # (slot, entry) of the program's results → node
        self._read_tape()
        self.used = self._uses()
        self.shown: dict[int, Expr] = {}
        self.taken = {label for slot in self.program.inputs for label in slot.labels}
        self.functions: dict[str, Callable[..., float]] = {}
        self.numbered = 0
        self.named: dict[int, tuple[str, str]] = {}
        self._name_nodes()

    def _program(self) -> Program:
        f = self.formulation
        (slope,) = f.put_in([f.mechanism.measures.q_rate])
        slope = ca.vertcat(slope, *f.dynamics.accelerations.values())
        values = ca.vertcat(*[m.value for c in self.chapters for m in c.meanings])
        return f.program("listing", {"named": values, "xdot": slope, "opposite": -values})

    def _read_tape(self) -> None:
        place: dict[int, int] = {}
        for line in self.program.tape:
            if line.operation == ca.OP_OUTPUT:
                self.ends[line.outputs[0], line.outputs[1]] = place[line.inputs[0]]
                continue
            if line.operation == ca.OP_INPUT:
                slot, entry = line.inputs
                new = [_Node(line.operation, (), Name(self.program.inputs[slot].labels[entry]))]
            elif line.operation == ca.OP_CONST:
                new = [_Node(line.operation, (), Number(line.constant or 0.0))]
            else:
                operands = tuple(place[i] for i in line.inputs)
                new = [_Node(line.operation, operands, None, line.callee, k) for k in range(len(line.outputs))]
            for target, node in zip(line.outputs, new, strict=True):
                if target >= 0:
                    place[target] = len(self.nodes)
                self.nodes.append(node)

    def _uses(self) -> dict[int, int]:
        """How often each node is read on the way to the derivative of the state; others are left out."""
        counts: dict[int, int] = {}
        waiting = [self.ends[1, k] for k in range(len(self.states))]
        for node in waiting:
            counts[node] = counts.get(node, 0) + 1
        seen = set(waiting)
        while waiting:
            for operand in self.nodes[waiting.pop()].operands:
                counts[operand] = counts.get(operand, 0) + 1
                if operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return counts

    def _name_nodes(self) -> None:
        every = [meaning for chapter in self.chapters for meaning in chapter.meanings]
        for slot, before, about in ((0, "", ""), (2, "minus_", "the opposite of: ")):
            for entry, meaning in enumerate(every):
                node = self.ends[slot, entry]
                # where a quantity itself is used, its opposite needs no name of its own
                if slot and self.ends[0, entry] in self.used:
                    continue
                if node in self.used and self.nodes[node].atom is None and node not in self.named:
                    self.named[node] = (self._unique(f"{before}{meaning.name}"), f"{about}{meaning.about}")

    def _unique(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # ---------------------------------------------------------------- writing

    def listing(self) -> Listing:
        sections, entry = [], 0
        for chapter in self.chapters:
            targets = [self.ends[slot, entry + k] for k in range(len(chapter.meanings)) for slot in (0, 2)]
            entry += len(chapter.meanings)
            sections.append(self._section(chapter, [t for t in targets if t in self.used]))
        last, results = self._derivatives()
        f = self.formulation
        arguments = tuple(label for slot in self.program.inputs for label in slot.labels)
        kept = tuple(section for section in (*sections, last) if section.assignments)
        return Listing(f.mechanism.system.name, arguments, results, kept, self.functions)

    def _section(self, chapter: Chapter, targets: list[int]) -> Section:
        lines: list[Assignment] = []
        for target in targets:
            self._write(target, lines)
        return Section(chapter.title, tuple(lines))

    def _derivatives(self) -> tuple[Section, tuple[str, ...]]:
        """One line for each state, even where it repeats a name: these are the results."""
        lines: list[Assignment] = []
        results = []
        for k, state in enumerate(self.states):
            node = self.ends[1, k]
            self._write(node, lines)
            shown = self.shown[node]
            if not (isinstance(shown, Name) and shown.identifier == f"{state}_dot"):
                shown_as = self._unique(f"{state}_dot")
                lines.append(Assignment(shown_as, f"derivative of {state}", shown))
                results.append(shown_as)
            else:
                results.append(shown.identifier)
        return Section("Derivative of the state", tuple(lines)), tuple(results)

    def _write(self, target: int, lines: list[Assignment]) -> None:
        """Write a node and, before it, all it needs that is not written yet."""
        stack = [target]
        while stack:
            node = stack[-1]
            if node in self.shown:
                stack.pop()
                continue
            missing = [o for o in self.nodes[node].operands if o not in self.shown]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            self.shown[node] = self._line(node, lines)

    def _line(self, number: int, lines: list[Assignment]) -> Expr:
        node = self.nodes[number]
        if node.atom is not None:
            return node.atom
        formula = self._formula(node)
        if number in self.named:
            name, meaning = self.named[number]
        elif isinstance(formula, Call) and ((self.used[number] > 1 and formula.size > 2) or formula.size > LONGEST):
            self.numbered += 1
            name, meaning = self._unique(f"a{self.numbered}"), ""
        else:
            return formula
        lines.append(Assignment(name, meaning, formula))
        return Name(name)

    def _formula(self, node: _Node) -> Expr:
        operands = [self.shown[o] for o in node.operands]
        if node.operation != ca.OP_CALL:
            if node.operation not in _formulas():
                raise ModelError(
                    f"model {self.formulation.mechanism.system.name!r}: an operation of its equations (CasADi's number "
                    f"{node.operation}) has no formula in the listing's language; export the program instead (draisine export)"
                )
            return _formulas()[node.operation](*operands)
        results = offsets(node.callee, inputs=False)[-1]
        name = node.callee.name() if results == 1 else f"{node.callee.name()}_{node.part}"
        self.functions[name] = _called(node.callee, node.part)
        return Call(name, tuple(operands))


def _called(callee: Any, part: int) -> Callable[..., float]:
    begins = offsets(callee, inputs=True)

    def call(*arguments: float) -> float:
        results = callee.call([ca.DM(list(arguments[a:b])) for a, b in pairwise(begins)])
        return float(ca.vertcat(*[ca.vec(r) for r in results])[part])

    return call


@cache
def _formulas() -> Mapping[int, Callable[..., Expr]]:
    """CasADi's operations in the language of expressions. Truth values are the numbers 1 and 0 on both sides."""

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
    return {getattr(ca, f"OP_{name}"): function for name, function in table.items()}
