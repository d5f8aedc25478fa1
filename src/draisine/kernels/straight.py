"""A tape and its callees as one straight list of values, each computed once: the form from which code is generated.

Small callees and tables are opened in place; equal values met on the way are shared, so that a table and its derivative search
for their cell once. A large SX callee stays a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.program.callee import Numbers, callee_tape, offsets
from draisine.program.program import Instruction

# Kinds of values beyond CasADi's scalar operations, which keep CasADi's numbers (≥ 0).
INPUT, CONSTANT, NUMBERS, SEARCH, FETCH, SELECT, CALL, RESULT = range(-1, -9, -1)

_COPIES = frozenset({ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_PRINTME})
_LARGE = 100  # instructions; a callee of this length or more is worth a function of its own


class Value(NamedTuple):
    """One value: its kind, the values it is made of, and what else it needs (a number, a slot and entry, a callee)."""

    kind: int
    operands: tuple[int, ...] = ()
    detail: Any = None


@dataclass
class Straight:
    """Values in order of computation, and which of them go out: (slot, entry, value)."""

    values: list[Value] = field(default_factory=list)
    results: list[tuple[int, int, int]] = field(default_factory=list)
    numbers: list[NDArray[np.float64]] = field(default_factory=list)  # the vectors that tables look into
    callees: dict[int, ca.Function] = field(default_factory=dict)  # by CasADi's identity
    _known: dict[Any, int] = field(default_factory=dict)

    def add(self, kind: int, operands: tuple[int, ...] = (), detail: Any = None) -> int:
        """The number of this value, made now or met before."""
        value = Value(kind, operands, detail)
        number = self._known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def constant(self, number: float) -> int:
        return self.add(CONSTANT, (), number.hex())  # −0 and 0 differ, NaN equals itself

    def operation(self, operation: int, operands: tuple[int, ...]) -> int:
        if operation in _COPIES:
            return operands[0]
        if operation == ca.OP_ADD:
            choice = self._choice(*operands)
            if choice is not None:
                return self.add(SELECT, choice)
        if operation == ca.OP_LOW:
            knots, at = operands
            return self.add(SEARCH, (at,), self.values[knots].detail)
        if operation == ca.OP_GETNONZEROS_PARAM:
            numbers, index = operands
            return self.add(FETCH, (index,), self.values[numbers].detail)
        return self.add(operation, operands)

    def _choice(self, first: int, second: int) -> tuple[int, int, int] | None:
        """CasADi writes if_else(c, a, b) as (c ? a : 0) + (!c ? b : 0); this finds (c, a, b)."""
        one, other = self.values[first], self.values[second]
        if one.kind != ca.OP_IF_ELSE_ZERO or other.kind != ca.OP_IF_ELSE_ZERO:
            return None
        negation = self.values[other.operands[0]]
        if negation.kind == ca.OP_NOT and negation.operands[0] == one.operands[0]:
            return one.operands[0], one.operands[1], other.operands[1]
        negation = self.values[one.operands[0]]
        if negation.kind == ca.OP_NOT and negation.operands[0] == other.operands[0]:
            return other.operands[0], other.operands[1], one.operands[1]
        return None

    def vector(self, numbers: NDArray[np.float64]) -> int:
        key = numbers.tobytes()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.add(NUMBERS, (), len(self.numbers))
            self.numbers.append(numbers)
        return known

    def run(self, tape: Sequence[Instruction], read: Callable[[int, int], int]) -> list[tuple[int, int, int]]:
        """Append the values of a tape; `read` gives the value of an input's entry. Returns the outputs: (slot, entry, value)."""
        work: dict[int, int] = {}
        outputs = []
        for line in tape:
            operation = line.operation
            if operation == ca.OP_INPUT:
                work[line.outputs[0]] = read(*line.inputs)
            elif operation == ca.OP_OUTPUT:
                outputs.append((line.outputs[0], line.outputs[1], work[line.inputs[0]]))
            elif operation == ca.OP_CONST:
                value = self.vector(line.numbers) if isinstance(line, Numbers) else self.constant(float(line.constant or 0.0))
                work[line.outputs[0]] = value
            elif operation == ca.OP_CALL:
                made = self.call(line.callee, tuple(work[i] for i in line.inputs))
                work |= {target: value for target, value in zip(line.outputs, made, strict=True) if target >= 0}
            else:
                work[line.outputs[0]] = self.operation(operation, tuple(work[i] for i in line.inputs))
        return outputs

    def call(self, callee: Any, arguments: tuple[int, ...]) -> list[int]:
        """The values of all results of a call, end to end."""
        begins, ends = offsets(callee, inputs=True), offsets(callee, inputs=False)
        if callee.class_name() == "SXFunction" and callee.n_instructions() - begins[-1] - ends[-1] >= _LARGE:
            self.callees[callee.__hash__()] = callee
            call = self.add(CALL, arguments, callee.__hash__())
            return [self.add(RESULT, (call,), k) for k in range(ends[-1])]
        results = [self.constant(0.0)] * ends[-1]
        for slot, entry, value in self.run(callee_tape(callee), lambda slot, entry: arguments[begins[slot] + entry]):
            results[ends[slot] + entry] = value
        return results


def straighten(tape: Sequence[Instruction]) -> Straight:
    """A whole tape, its inputs read from their slots."""
    made = Straight()
    made.results = made.run(tape, lambda slot, entry: made.add(INPUT, (), (slot, entry)))
    return made


def straighten_callee(callee: ca.Function) -> Straight:
    """A callee as a function of one slot with all its numbers end to end, giving one such slot."""
    made = Straight()
    begins, ends = offsets(callee, inputs=True), offsets(callee, inputs=False)
    results = made.run(callee_tape(callee), lambda slot, entry: made.add(INPUT, (), (0, begins[slot] + entry)))
    made.results = [(0, ends[slot] + entry, value) for slot, entry, value in results]
    return made
