"""One block of code: values of a straight list, computed in order inside one LLVM function.

A value lives as a double, as a truth value or as a whole number (the cell of a table); each form is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from draisine.codegen.jit.operations import COMPARISONS, INFIX, LOGIC, ZERO, arithmetic, number
from draisine.codegen.jit.ssa import CALL, CONSTANT, FETCH, INPUT, RESULT, SEARCH, SELECT, Straight
from draisine.codegen.jit.trigonometry import NAME as SINE_AND_COSINE
from draisine.codegen.jit.trigonometry import PAIR
from draisine.program import opcodes as op

_LARGEST_INDEX = 2.0**31


@dataclass
class Block:
    """The instructions so far, and the names of the values computed so far."""

    unit: Straight
    name: str  # of the unit, to which the tables' numbers belong
    used: frozenset[int]  # values that somebody reads
    callees: Mapping[Hashable, str]  # names of the functions of callees
    kept: Mapping[int, int]  # places in the work array, for values that cross pieces
    pairing: bool = True  # sine and cosine of an angle are found together
    rereads: bool = False  # inputs and values of earlier pieces are read at each use, not held in registers between uses
    lines: list[str] = field(default_factory=list)
    doubles: dict[int, str] = field(default_factory=dict)
    booleans: dict[int, str] = field(default_factory=dict)
    integers: dict[int, str] = field(default_factory=dict)
    pointers: dict[tuple[str, int], str] = field(default_factory=dict)
    turns: dict[int, str] = field(default_factory=dict)  # sine and cosine of an angle, as a pair
    _bounds: dict[int, int] = field(default_factory=dict)  # the largest whole number a value can be
    _buffers: tuple[int, int] = (0, 0)

    def emit(self, instruction: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {instruction}")
        return name

    # ---------------------------------------------------------------- the forms of a value

    def double(self, value: int) -> str:
        name = self.doubles.get(value)
        if name is None:
            name = self._make_double(value)
            if not (self.rereads and self._in_memory(value)):
                self.doubles[value] = name
        return name

    def _in_memory(self, value: int) -> bool:
        here = value in self.booleans or value in self.integers
        return not here and self.unit.values[value].kind != CONSTANT

    def _make_double(self, value: int) -> str:
        kind, _, detail = self.unit.values[value]
        if kind == CONSTANT:
            return number(float.fromhex(detail))
        if kind == INPUT:
            return self.emit(f"load double, ptr {self._entry('arg', *detail)}, align 8")
        if value in self.booleans:
            return self.emit(f"uitofp i1 {self.booleans[value]} to double")
        if value in self.integers:
            return self.emit(f"sitofp i64 {self.integers[value]} to double")
        place = self.emit(f"getelementptr inbounds double, ptr %work, i64 {self.kept[value]}")
        return self.emit(f"load double, ptr {place}, align 8")

    def boolean(self, value: int) -> str:
        name = self.booleans.get(value)
        if name is None:
            double = self.doubles[value] = self.double(value)  # any number other than zero is true, and stays what it is
            name = self.booleans[value] = self.emit(f"fcmp une double {double}, {ZERO}")
        return name

    def _whole(self, value: int) -> tuple[str, int] | None:
        """A value that is known to be a whole number from 0 to a bound."""
        kind, _, detail = self.unit.values[value]
        if kind == CONSTANT:
            constant = float.fromhex(detail)
            return (str(int(constant)), int(constant)) if constant.is_integer() and 0 <= constant < _LARGEST_INDEX else None
        return (self.integers[value], self._bounds[value]) if value in self._bounds else None

    def _entry(self, array: str, slot: int, entry: int) -> str:
        pointer = self.pointers.get((array, slot))
        if pointer is None:
            place = self.emit(f"getelementptr inbounds ptr, ptr %{array}, i64 {slot}")
            pointer = self.pointers[array, slot] = self.emit(f"load ptr, ptr {place}, align 8")
        return self.emit(f"getelementptr inbounds double, ptr {pointer}, i64 {entry}")

    # ---------------------------------------------------------------- computing

    def compute(self, values: Sequence[int]) -> None:
        for v in values:
            kind, operands, detail = self.unit.values[v]
            if kind in INFIX and not self._bounds:  # nearly all, with nothing to look up
                self.doubles[v] = self.emit(f"{INFIX[kind]} double {self.double(operands[0])}, {self.double(operands[1])}")
            elif kind in COMPARISONS:
                a, b = (self.double(o) for o in operands)
                self.booleans[v] = self.emit(f"fcmp {COMPARISONS[kind]} double {a}, {b}")
            elif kind in LOGIC:
                a, b = (self.boolean(o) for o in operands)
                self.booleans[v] = self.emit(f"{LOGIC[kind]} i1 {a}, {b}")
            elif kind == op.NOT:
                self.booleans[v] = self.emit(f"xor i1 {self.boolean(operands[0])}, true")
            elif kind == op.IF_ELSE_ZERO:
                condition, then = self.boolean(operands[0]), self.double(operands[1])
                self.doubles[v] = self.emit(f"select i1 {condition}, double {then}, double {ZERO}")
            elif kind == SELECT:
                condition, then, other = self.boolean(operands[0]), self.double(operands[1]), self.double(operands[2])
                self.doubles[v] = self.emit(f"select i1 {condition}, double {then}, double {other}")
            elif kind in (op.SIN, op.COS) and self.pairing:
                self.doubles[v] = self._sine_or_cosine(kind, operands[0])
            elif kind == SEARCH:
                self._search(v, operands[0], detail)
            elif kind == FETCH:
                self._fetch(v, operands[0], detail)
            elif kind == CALL:
                self._call(v, operands, detail)
            elif kind != RESULT and not self._whole_arithmetic(v, kind, operands):  # results were read right after their call
                self.doubles[v] = arithmetic(kind, [self.double(o) for o in operands], self.emit)

    def _sine_or_cosine(self, kind: int, angle: int) -> str:
        both = self.turns.get(angle)
        if both is None:
            both = self.turns[angle] = self.emit(f"call {PAIR} @{SINE_AND_COSINE}(double {self.double(angle)})")
        return self.emit(f"extractvalue {PAIR} {both}, {0 if kind == op.SIN else 1}")

    # ---------------------------------------------------------------- tables

    def _numbers(self, which: int) -> str:
        return f"@{self.name}_numbers_{which}"

    def _search(self, value: int, at: int, knots: int) -> None:
        """Bisection without branches: the number of halvings is known, so the steps are written out."""
        x, low, length = self.double(at), "0", self.unit.numbers[knots].size - 1
        while length > 1:
            half = length // 2
            middle = self.emit(f"add i64 {low}, {half}")
            place = self.emit(f"getelementptr inbounds double, ptr {self._numbers(knots)}, i64 {middle}")
            knot = self.emit(f"load double, ptr {place}, align 8")
            below = self.emit(f"fcmp ole double {knot}, {x}")
            low = self.emit(f"select i1 {below}, i64 {middle}, i64 {low}")
            length -= half
        self.integers[value], self._bounds[value] = low, self.unit.numbers[knots].size - 2

    def _whole_arithmetic(self, value: int, kind: int, operands: Sequence[int]) -> bool:
        """Sums and products of cell numbers stay whole numbers."""
        if not self._bounds or kind not in (op.ADD, op.MUL) or not any(o in self._bounds for o in operands):
            return False
        first, second = self._whole(operands[0]), self._whole(operands[1])
        if first is None or second is None:
            return False
        bound = first[1] + second[1] if kind == op.ADD else first[1] * second[1]
        if bound >= _LARGEST_INDEX:
            return False
        self.integers[value] = self.emit(f"{'add' if kind == op.ADD else 'mul'} i64 {first[0]}, {second[0]}")
        self._bounds[value] = bound
        return True

    def _fetch(self, value: int, index: int, which: int) -> None:
        size = self.unit.numbers[which].size
        whole = self._whole(index)
        if whole is None or whole[1] >= size:  # never read outside, whatever the index
            name = whole[0] if whole else self.emit(f"fptosi double {self.double(index)} to i64")
            inside = self.emit(f"icmp ult i64 {name}, {size}")
            whole = self.emit(f"select i1 {inside}, i64 {name}, i64 0"), size - 1
        place = self.emit(f"getelementptr inbounds double, ptr {self._numbers(which)}, i64 {whole[0]}")
        self.doubles[value] = self.emit(f"load double, ptr {place}, align 8")

    # ---------------------------------------------------------------- calls and results

    def _call(self, value: int, operands: Sequence[int], callee: Hashable) -> None:
        for k, operand in enumerate(operands):
            given = self.double(operand)
            place = self.emit(f"getelementptr inbounds double, ptr %given, i64 {k}")
            self.lines.append(f"store double {given}, ptr {place}, align 8")
        self.lines.append(f"call void @{self.callees[callee]}(ptr %given_slot, ptr %taken_slot)")
        following = value + 1
        while following < len(self.unit.values) and self.unit.values[following].operands == (value,):
            kind, _, entry = self.unit.values[following]
            if kind == RESULT and following in self.used:
                place = self.emit(f"getelementptr inbounds double, ptr %taken, i64 {entry}")
                self.doubles[following] = self.emit(f"load double, ptr {place}, align 8")
            following += 1
        results = following - value - 1
        self._buffers = max(self._buffers[0], len(operands)), max(self._buffers[1], results)

    def keep(self, values: Iterable[int]) -> None:
        """Store what later pieces need."""
        for v in values:
            name = self.double(v)
            place = self.emit(f"getelementptr inbounds double, ptr %work, i64 {self.kept[v]}")
            self.lines.append(f"store double {name}, ptr {place}, align 8")

    def give(self, results: Iterable[tuple[int, int, int]]) -> None:
        """Store results: (slot, entry, value)."""
        for slot, entry, value in results:
            name = self.double(value)
            self.lines.append(f"store double {name}, ptr {self._entry('res', slot, entry)}, align 8")

    def text(self) -> str:
        """The body of the function."""
        given, taken = self._buffers
        head = []
        if given or taken:
            for array, size in (("given", given), ("taken", taken)):
                head += [f"%{array} = alloca [{max(size, 1)} x double], align 8", f"%{array}_slot = alloca ptr, align 8"]
                head += [f"store ptr %{array}, ptr %{array}_slot, align 8"]
        return "\n".join([*head, *self.lines, "ret void"])
