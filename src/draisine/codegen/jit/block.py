"""Instructions of one LLVM function: values in single-assignment form, computed in order.

A value is a real number, a Boolean or an integer (the cell of a table). Conversions are emitted when they are first needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from draisine.codegen.jit.emitter import COMPARISONS, INFIX, LOGIC, OWN, Emitter, ScalarType, arithmetic, number
from draisine.codegen.jit.packing import Pack
from draisine.codegen.jit.trigonometry import NAME as SINE_AND_COSINE
from draisine.program import opcodes as op
from draisine.program.ssa import CALL, CONSTANT, FETCH, INPUT, RESULT, SEARCH, SELECT, SSA

_LARGEST_INDEX = 2.0**31
_MOST_CONSTANTS = 64  # stored in the work array, in each call


class SsaFunction(NamedTuple):
    """A list of values that becomes an LLVM function; all blocks of it share this."""

    ssa: SSA
    name: str  # of the function; the tables' numbers are named after it
    used: frozenset[int]  # values that are read
    callees: Mapping[Hashable, str]  # function names of callees
    scalar: ScalarType
    sincos: bool = True  # sine and cosine of an angle are computed together
    uniform: frozenset[int] = frozenset()  # slots of arguments with one number for all lanes


class Block(Emitter):
    """The instructions so far, and the names of the values computed so far."""

    def __init__(self, function: SsaFunction, spilled: Mapping[int, int], packs: Sequence[Pack] = ()) -> None:
        super().__init__(function.scalar)
        self.function, self.values = function, function.ssa.values
        self.spilled = spilled  # indices in the work array of values that later pieces read
        self.doubles: dict[int, str] = {}
        self.booleans: dict[int, str] = {}
        self.integers: dict[int, str] = {}
        self.pointers: dict[tuple[str, int], str] = {}
        self.sincos_pairs: dict[int, str] = {}  # sine and cosine of an angle, as a pair
        self.packs = {pack.values[0]: pack for pack in packs}  # calls made together
        self._bounds: dict[int, int] = {}  # upper bounds of integer values
        self._count = 0  # of names
        self._buffers = 0, 0  # numbers of arguments and results of the largest call

    def emit(self, instruction: str) -> str:
        """Results are numbered in order, as LLVM requires (the block itself is %0): names would take a third of the time of its
        code generation."""
        self._count += 1
        name = f"%{self._count}"
        self.lines.append(f"{name} = {instruction}")
        return name

    # ---------------------------------------------------------------- representations of a value

    def double(self, value: int) -> str:
        name = self.doubles.get(value)
        if name is None:
            name = self._make_double(value)
            if self._is_reusable(value):
                self.doubles[value] = name
        return name

    def _is_reusable(self, value: int) -> bool:
        """Whether a value, once converted to a real number, is reused by later instructions."""
        return True

    def _make_double(self, value: int) -> str:
        kind, _, detail = self.values[value]
        if kind == CONSTANT:
            return self.number(float.fromhex(detail))
        if kind == INPUT:
            slot, entry = detail
            pointer = self._slot("arg", slot)
            return self.load_uniform(pointer, entry) if slot in self.function.uniform else self.load(self.element(pointer, entry))
        if value in self.booleans:
            return self.emit(f"uitofp {self.scalar.truth} {self.booleans[value]} to {self.real}")
        if value in self.integers:
            return self.emit(f"sitofp {self.scalar.whole} {self.integers[value]} to {self.real}")
        return self.load(self.element("%work", self.spilled[value]))

    def boolean(self, value: int) -> str:
        name = self.booleans.get(value)
        if name is None:
            double = self.doubles[value] = self.double(value)  # any number other than zero is true
            name = self.booleans[value] = self.compare("une", double, self.number(0.0))
        return name

    def _whole(self, value: int) -> tuple[str, int] | None:
        """A value that is known to be an integer from 0 to a bound."""
        kind, _, detail = self.values[value]
        if kind == CONSTANT:
            constant = float.fromhex(detail)
            small = constant.is_integer() and 0 <= constant < _LARGEST_INDEX
            return (self.scalar.integer(int(constant)), int(constant)) if small else None
        return (self.integers[value], self._bounds[value]) if value in self._bounds else None

    def _slot(self, array: str, slot: int) -> str:
        pointer = self.pointers.get((array, slot))
        if pointer is None:
            address = self.emit(f"getelementptr inbounds ptr, ptr %{array}, i64 {slot}")
            pointer = self.pointers[array, slot] = self.emit(f"load ptr, ptr {address}, align 8")
        return pointer

    # ---------------------------------------------------------------- computing

    def compute(self, values: Sequence[int], fused: Mapping[int, int]) -> None:
        """Compute values in order; `fused` are sums and the products that are part of them (`fusion.fused_products`)."""
        real, truth, products = self.real, self.scalar.truth, frozenset(fused.values())
        for v in values:
            kind, operands, detail = self.values[v]
            if v in self.doubles:
                continue  # computed with others
            if v in self.packs:
                self._packed(self.packs[v])
                continue
            if v in products and not self._whole_arithmetic(v, kind, operands):
                continue  # computed with its sum
            if v in fused and fused[v] not in self.integers:
                self.doubles[v] = self._fused_sum(v, fused[v])
            elif kind in INFIX and not self._bounds:  # the common case, without lookups
                self.doubles[v] = self.emit(f"{INFIX[kind]} {real} {self.double(operands[0])}, {self.double(operands[1])}")
            elif kind in COMPARISONS:
                self.booleans[v] = self.compare(COMPARISONS[kind], self.double(operands[0]), self.double(operands[1]))
            elif kind in LOGIC:
                self.booleans[v] = self.emit(f"{LOGIC[kind]} {truth} {self.boolean(operands[0])}, {self.boolean(operands[1])}")
            elif kind == op.NOT:
                self.booleans[v] = self.emit(f"xor {truth} {self.boolean(operands[0])}, {self.scalar.true}")
            elif kind == op.IF_ELSE_ZERO:
                self.doubles[v] = self.select(self.boolean(operands[0]), self.double(operands[1]), self.number(0.0))
            elif kind == SELECT:
                self.doubles[v] = self.select(self.boolean(operands[0]), self.double(operands[1]), self.double(operands[2]))
            elif kind in (op.SIN, op.COS) and self.function.sincos:
                self.doubles[v] = self._sine_or_cosine(kind, operands[0])
            elif kind == SEARCH:
                self._search(v, operands[0], detail)
            elif kind == FETCH:
                self._fetch(v, operands[0], detail)
            elif kind == CALL:
                self._call(v, operands, detail)
            elif kind != RESULT and not self._whole_arithmetic(v, kind, operands):  # results are loaded right after their call
                self.doubles[v] = arithmetic(kind, [self.double(o) for o in operands], self)

    def _fused_sum(self, value: int, product: int) -> str:
        """A sum or difference with a product, rounded once."""
        kind, (first, second), _ = self.values[value]
        a, b = self.values[product].operands[0], self.values[product].operands[-1]
        if kind == op.ADD:
            return self.fused(self.double(a), self.double(b), self.double(second if first == product else first))
        if first == product:
            return self.fused(self.double(a), self.double(b), self.negate(self.double(second)))
        return self.fused(self.negate(self.double(a)), self.double(b), self.double(first))

    def _sine_or_cosine(self, kind: int, angle: int) -> str:
        both, pair = self.sincos_pairs.get(angle), self.scalar.pair
        if both is None:
            function, x = self.scalar.function(SINE_AND_COSINE), self.double(angle)
            both = self.sincos_pairs[angle] = self.emit(f"call {pair} @{function}({self.real} {x})")
        return self.emit(f"extractvalue {pair} {both}, {0 if kind == op.SIN else 1}")

    def _packed(self, pack: Pack) -> None:
        """Calls of one function by one call on vectors; the last of fewer operands than lanes is repeated."""
        wide, rows = Emitter(ScalarType(pack.lanes)), [*pack.operands, *[pack.operands[-1]] * pack.lanes][: pack.lanes]
        wide.lines, wide.emit = self.lines, self.emit  # type: ignore[method-assign]
        vectors = [wide.join_lanes([self.double(o) for o in column]) for column in zip(*rows, strict=True)]
        if pack.kind in OWN:
            parts = {pack.kind: wide.lanes(wide.call(OWN[pack.kind], *vectors))}
        else:
            pair, function = wide.scalar.pair, wide.scalar.function(SINE_AND_COSINE)
            both = self.emit(f"call {pair} @{function}({wide.real} {vectors[0]})")
            kinds = {self.values[v].kind for v in pack.values}
            parts = {k: wide.lanes(self.emit(f"extractvalue {pair} {both}, {int(k == op.COS)}")) for k in kinds}
        for v in pack.values:
            kind, operands, _ = self.values[v]
            self.doubles[v] = parts[kind][pack.operands.index(tuple(operands))]

    # ---------------------------------------------------------------- tables

    def _table_entries(self, which: int, index: str) -> str:
        """Entries of a table; each lane has its own index."""
        entries = []
        for i in self.lanes(index, self.scalar.whole):
            address = self.emit(f"getelementptr inbounds double, ptr @{self.function.name}_numbers_{which}, i64 {i}")
            entries.append(self.emit(f"load double, ptr {address}, align 8"))
        return self.join_lanes(entries)

    def _search(self, value: int, at: int, knots: int) -> None:
        """Bisection without branches: the number of halvings is known, so the loop is unrolled."""
        size, whole = self.function.ssa.numbers[knots].size, self.scalar.whole
        x, low, length = self.double(at), self.scalar.integer(0), size - 1
        while length > 1:
            half = length // 2
            middle = self.emit(f"add {whole} {low}, {self.scalar.integer(half)}")
            below = self.compare("ole", self._table_entries(knots, middle), x)
            low = self.emit(f"select {self.scalar.truth} {below}, {whole} {middle}, {whole} {low}")
            length -= half
        self.integers[value], self._bounds[value] = low, size - 2

    def _whole_arithmetic(self, value: int, kind: int, operands: Sequence[int]) -> bool:
        """Sums and products of cell indices stay integers."""
        if not self._bounds or kind not in (op.ADD, op.MUL) or not any(o in self._bounds for o in operands):
            return False
        first, second = self._whole(operands[0]), self._whole(operands[1])
        if first is None or second is None:
            return False
        bound = first[1] + second[1] if kind == op.ADD else first[1] * second[1]
        if bound >= _LARGEST_INDEX:
            return False
        self.integers[value] = self.emit(f"{'add' if kind == op.ADD else 'mul'} {self.scalar.whole} {first[0]}, {second[0]}")
        self._bounds[value] = bound
        return True

    def _fetch(self, value: int, index: int, which: int) -> None:
        size, kind, integer = self.function.ssa.numbers[which].size, self.scalar.whole, self.scalar.integer
        whole = self._whole(index)
        if whole is None or whole[1] >= size:  # bounds check
            name = whole[0] if whole else self.emit(f"fptosi {self.real} {self.double(index)} to {kind}")
            inside = self.emit(f"icmp ult {kind} {name}, {integer(size)}")
            whole = self.emit(f"select {self.scalar.truth} {inside}, {kind} {name}, {kind} {integer(0)}"), size - 1
        self.doubles[value] = self._table_entries(which, whole[0])

    # ---------------------------------------------------------------- calls and results

    def _call(self, value: int, operands: Sequence[int], callee: Hashable) -> None:
        for k, operand in enumerate(operands):
            self.store(self.double(operand), self.element("%given", k))
        self.lines.append(f"call void @{self.function.callees[callee]}(ptr %given_slot, ptr %taken_slot)")
        following = value + 1
        while following < len(self.values) and self.values[following].operands == (value,):
            kind, _, entry = self.values[following]
            if kind == RESULT and following in self.function.used:
                self.doubles[following] = self.load(self.element("%taken", entry))
            following += 1
        results = following - value - 1
        self._buffers = max(self._buffers[0], len(operands)), max(self._buffers[1], results)

    def spill(self, values: Iterable[int]) -> None:
        """Store values that later pieces need."""
        for v in values:
            self.store(self.double(v), self.element("%work", self.spilled[v]))

    def store_results(self, results: Iterable[tuple[int, int, int]]) -> None:
        """Store results: (slot, entry, value)."""
        for slot, entry, value in results:
            self.store(self.double(value), self.element(self._slot("res", slot), entry))

    def text(self) -> str:
        """The body of the function."""
        given, taken = self._buffers
        head = []
        if given or taken:
            for array, size in (("given", given), ("taken", taken)):
                head += [f"%{array} = alloca [{max(size, 1)} x {self.real}], align 8", f"%{array}_slot = alloca ptr, align 8"]
                head += [f"store ptr %{array}, ptr %{array}_slot, align 8"]
        return "\n".join([*head, *self.lines, "ret void"])


@dataclass(frozen=True)
class Constants:
    """Constants in the work array, after its first `first` numbers, for blocks that are compiled without optimization."""

    first: int
    found: dict[str, tuple[int, float]] = field(default_factory=dict)  # by their bits (−0, NaN): index, number

    def index(self, value: float) -> int | None:
        """The index of a constant in the work array, if there is room for it."""
        digits = number(value)
        if digits not in self.found and len(self.found) < _MOST_CONSTANTS:
            self.found[digits] = self.first + len(self.found), value
        return self.found[digits][0] if digits in self.found else None


class PlainBlock(Block):
    """A block compiled without optimization (`optnone`): values in memory, constants included, are loaded at each use.

    On vectors, a constant, a negation or a fused product makes LLVM leave its fast instruction selector, which takes much longer.
    """

    def __init__(self, function: SsaFunction, spilled: Mapping[int, int], constants: Constants) -> None:
        super().__init__(function, spilled)
        self._constants = constants
        self._addresses: dict[tuple[str, int], str] = {}

    def number(self, value: float) -> str:
        index = self._constants.index(value)
        return super().number(value) if index is None else self.load(self.element("%work", index))

    def element(self, pointer: str, index: int) -> str:
        address = self._addresses.get(
            (pointer, index)
        )  # part of every instruction that uses it: the code is the same, and shorter
        if address is None:
            address = self._addresses[pointer, index] = super().element(pointer, index)
        return address

    def negate(self, x: str) -> str:
        return self.sub(self.number(-0.0), x)

    def _is_reusable(self, value: int) -> bool:
        return value in self.booleans or value in self.integers
