"""Static single-assignment form: a tape and its callees as one list of values, from which code is generated.

Small callees and tables are inlined; equal values are shared, so that a table and its derivative search for their cell once. A
large SX callee remains a function. `graph` has the same form for analyses of several programs together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op
from draisine.program.tape import Callee, Instruction

# Kinds of values in addition to the scalar operations, whose numbers are ≥ 0.
INPUT, CONSTANT, NUMBERS, SEARCH, FETCH, SELECT, CALL, RESULT = range(-1, -9, -1)

FREE = frozenset({INPUT, CONSTANT, NUMBERS})  # values that need no computation

_COORDINATES = re.compile(r"(?!fwd|adj|jac).*_foot_order[0-9]$")  # of paths (`expr/path_functions.py`), at many places
_LARGE = 100  # instructions; a callee of this length or more is not inlined


class Value(NamedTuple):
    """One value: its kind, its operands, and further data (a number, a slot and entry, a callee)."""

    kind: int
    operands: tuple[int, ...] = ()
    detail: Any = None


@dataclass
class SSA:
    """Values in order of computation, and the results among them: (slot, entry, value)."""

    values: list[Value] = field(default_factory=list)
    results: list[tuple[int, int, int]] = field(default_factory=list)
    numbers: list[NDArray[np.float64]] = field(default_factory=list)  # of tables
    callees: dict[Hashable, Callee] = field(default_factory=dict)  # by their key
    _known: dict[Any, int] = field(default_factory=dict)

    def add(self, kind: int, operands: tuple[int, ...] = (), detail: Any = None) -> int:
        """The index of a value, which is appended unless an equal one exists."""
        value = tuple.__new__(Value, (kind, operands, detail))  # Value(…) takes twice as long, and this is called most
        number = self._known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def find(self, kind: int, operands: tuple[int, ...], detail: Any = None) -> int | None:
        """The index of a value if it exists."""
        return self._known.get((kind, operands, detail))  # equal to the value

    def number(self, value: int) -> float | None:
        """The number of a constant; None for other values."""
        kind, _, detail = self.values[value]
        return float.fromhex(detail) if kind == CONSTANT else None

    def constant(self, number: float) -> int:
        return self.add(CONSTANT, (), float(number).hex())  # −0 and 0 differ, NaN equals itself

    def operation(self, operation: int, operands: tuple[int, ...], detail: Any = None) -> int:
        """The value of a scalar operation; `detail` is what `details` says of it."""
        if operation in op.COPIES:
            return operands[0]
        if operation == op.ADD:
            choice = self._choice(*operands)
            if choice is not None:
                return self.add(SELECT, choice)
        if operation == op.LOW:
            knots, at = operands
            return self.add(SEARCH, (at,), self.values[knots].detail)
        if operation == op.GETNONZEROS_PARAM:
            numbers, index = operands
            return self.add(FETCH, (index,), self.values[numbers].detail)
        return self.add(operation, operands)

    def _choice(self, first: int, second: int) -> tuple[int, int, int] | None:
        """CasADi writes if_else(c, a, b) as (c ? a : 0) + (!c ? b : 0); this recovers (c, a, b)."""
        one, other = self.values[first], self.values[second]
        if one.kind != op.IF_ELSE_ZERO or other.kind != op.IF_ELSE_ZERO:
            return None
        negation = self.values[other.operands[0]]
        if negation.kind == op.NOT and negation.operands[0] == one.operands[0]:
            return one.operands[0], one.operands[1], other.operands[1]
        negation = self.values[one.operands[0]]
        if negation.kind == op.NOT and negation.operands[0] == other.operands[0]:
            return other.operands[0], other.operands[1], one.operands[1]
        return None

    def vector(self, numbers: NDArray[np.float64]) -> int:
        key = ("numbers", numbers.tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.add(NUMBERS, (), len(self.numbers))
            self.numbers.append(numbers)
        return known

    def run(
        self, tape: Sequence[Instruction], read: Callable[[int, int], int], details: Mapping[int, Any] = MappingProxyType({})
    ) -> list[tuple[int, int, int]]:
        """Append the values of a tape; `read` maps (slot, entry) of an input to a value. Returns the results."""
        work: dict[int, int] = {}
        outputs = []
        special = (op.INPUT, op.OUTPUT, op.CONST, op.CALL)
        for place, line in enumerate(tape):
            operation = line.operation
            if operation not in special:  # nearly all of a long tape
                operands = tuple([work[i] for i in line.inputs])
                work[line.outputs[0]] = self.operation(operation, operands, details.get(place) if details else None)
            elif operation == op.INPUT:
                work[line.outputs[0]] = read(*line.inputs)
            elif operation == op.OUTPUT:
                outputs.append((line.outputs[0], line.outputs[1], work[line.inputs[0]]))
            elif operation == op.CONST:
                value = self.vector(line.numbers) if line.numbers is not None else self.constant(float(line.constant or 0.0))
                work[line.outputs[0]] = value
            else:
                assert line.callee is not None
                results = self.call(line.callee, tuple(work[i] for i in line.inputs))
                work |= {target: value for target, value in zip(line.outputs, results, strict=True) if target >= 0}
        return outputs

    def call(self, callee: Callee, arguments: tuple[int, ...]) -> list[int]:
        """The values of all results of a call, concatenated."""
        begins, ends = callee.input_offsets, callee.output_offsets
        if not self.inlines(callee):
            self.callees[callee.key] = callee
            call = self.add(CALL, arguments, callee.key)
            return [self.add(RESULT, (call,), k) for k in range(ends[-1])]
        results = [self.constant(0.0)] * ends[-1]
        found = self.run(callee.tape, lambda slot, entry: arguments[begins[slot] + entry], self.details(callee))
        for slot, entry, value in found:
            results[ends[slot] + entry] = value
        return results

    def inlines(self, callee: Callee) -> bool:
        """Whether the values of a callee are appended in place of a call."""
        if callee.is_nearest_point or _COORDINATES.match(callee.name):
            return False
        return callee.scalar or len(callee.tape) - callee.input_offsets[-1] - callee.output_offsets[-1] < _LARGE

    def details(self, callee: Callee) -> Mapping[int, Any]:
        """Further data of operations of a callee that is inlined, by line of its tape."""
        return MappingProxyType({})


def to_ssa(tape: Sequence[Instruction]) -> SSA:
    """A tape whose inputs are read from their slots."""
    ssa = SSA()
    ssa.results = ssa.run(tape, lambda slot, entry: ssa.add(INPUT, (), (slot, entry)))
    return ssa


def callee_to_ssa(callee: Callee) -> SSA:
    """A callee as a function of one slot with all its arguments, returning one slot with all its results."""
    ssa = SSA()
    results = ssa.run(callee.tape, lambda slot, entry: ssa.add(INPUT, (), (0, callee.input_offsets[slot] + entry)))
    ssa.results = [(0, callee.output_offsets[slot] + entry, value) for slot, entry, value in results]
    return ssa


def live_values(ssa: SSA) -> list[int]:
    """The values that results depend on, without inputs and constants."""
    needed = {value for _, _, value in ssa.results}
    for v in range(len(ssa.values) - 1, -1, -1):
        if v in needed:
            needed.update(ssa.values[v].operands)
    return [v for v in sorted(needed) if ssa.values[v].kind not in FREE]


# (the new list, the old value, its operands in the new list) → the new value, or None to copy the old one
Rule = Callable[[SSA, int, tuple[int, ...]], int | None]


def rewrite(ssa: SSA, rules: Mapping[int, Rule]) -> SSA:
    """A copy in which rules replace values of their kinds."""
    copy = SSA(numbers=ssa.numbers, callees=ssa.callees)
    known: list[int] = []
    for value, (kind, operands, detail) in enumerate(ssa.values):
        new_operands = tuple([known[o] for o in operands])
        rule = rules.get(kind)
        new = None if rule is None else rule(copy, value, new_operands)
        known.append(copy.add(kind, new_operands, detail) if new is None else new)
    copy.results = [(slot, entry, known[value]) for slot, entry, value in ssa.results]
    return copy
