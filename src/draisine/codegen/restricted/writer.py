"""Writer of one LLVM function: instructions, basic blocks, stack slots of local names, conversions and arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from draisine.codegen.jit.emitter import number
from draisine.codegen.restricted.types import BOOL, COMPLEX, INT, REAL, ArrayType, TupleType, Type
from draisine.codegen.restricted.unit import Source, Unit

ZERO = number(0.0)
_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}


class Value(NamedTuple):
    """A value: its type, the names of its parts, and its constant if it is known at compile time."""

    type: Type
    parts: tuple[str, ...]
    known: int | float | None = None

    @property
    def one(self) -> str:
        """Its only part."""
        (part,) = self.parts
        return part


def integer(value: int) -> Value:
    return Value(INT, (str(int(value)),), int(value))


def real(value: float) -> Value:
    return Value(REAL, (number(value),), value)


def truth(value: bool) -> Value:
    return Value(BOOL, ("true" if value else "false",), value)


class Writer:
    """Lines of one function. Every local name has stack slots, which LLVM promotes to registers."""

    def __init__(self, unit: Unit, source: Source, tree: ast.FunctionDef) -> None:
        self.unit, self.source, self.tree = unit, source, tree
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.block = "entry"
        self.ended = False  # the block has its terminator

    def refuse(self, node: ast.AST, reason: str) -> NoReturn:
        """Raise SyntaxError with file, line and reason."""
        where = f"{self.source.file}, line {getattr(node, 'lineno', '?')}, function {self.tree.name!r}"
        text = ast.unparse(node).splitlines()[0]
        raise SyntaxError(f"{where}: {text!r} is not restricted Python: {reason}")

    # ---------------------------------------------------------------- lines and blocks

    def write(self, line: str) -> None:
        self._lines.append(line)

    def emit(self, operation: str) -> str:
        """Append an instruction; returns the name of its result."""
        self._count += 1
        self._lines.append(f"%v{self._count} = {operation}")
        return f"%v{self._count}"

    def new_label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")
        self.block, self.ended = label, False

    def jump(self, label: str) -> None:
        """End the block with a jump, unless it has ended."""
        if not self.ended:
            self.write(f"br label %{label}")
        self.ended = True

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.write(f"br i1 {condition}, label %{then}, label %{otherwise}")
        self.ended = True

    def terminate(self, instruction: str) -> None:
        """End the block with a return."""
        self.write(instruction)
        self.ended = True

    def alloca(self, kind: str) -> str:
        """A stack slot."""
        self._count += 1
        self._entry.append(f"%v{self._count} = alloca {kind}, align 8")
        return f"%v{self._count}"

    def body(self) -> list[str]:
        return ["entry:", *self._entry, *self._lines]

    def phi(self, kind: str, *incoming: tuple[str, str]) -> str:
        """One of several names, by the predecessor block."""
        return self.emit(f"phi {kind} " + ", ".join(f"[ {name}, %{block} ]" for name, block in incoming))

    # ---------------------------------------------------------------- memory

    def load(self, kind: str, place: str, tag: str) -> str:
        return self.emit(f"load {kind}, ptr {place}, align {4 if kind == 'i32' else 8}{tag}")

    def store(self, kind: str, name: str, place: str, tag: str) -> None:
        self.write(f"store {kind} {name}, ptr {place}, align {4 if kind == 'i32' else 8}{tag}")

    def offset(self, array: Value, index: str) -> str:
        """The address of an element, by its flat index."""
        kind = array.type
        assert isinstance(kind, ArrayType)
        if kind.element == "complex":
            index = self.emit(f"shl nsw i64 {index}, 1")
        unit = {"int": "i64", "int32": "i32"}.get(kind.element, "double")
        return self.emit(f"getelementptr inbounds {unit}, ptr {array.parts[0]}, i64 {index}")

    def load_element(self, array: Value, index: str) -> Value:
        kind, place = array.type, self.offset(array, index)
        assert isinstance(kind, ArrayType)
        tag = self.unit.tag(kind.element)
        if kind.element == "int32":
            return Value(INT, (self.emit(f"sext i32 {self.load('i32', place, tag)} to i64"),))
        if kind.element == "complex":
            second = self.emit(f"getelementptr inbounds double, ptr {place}, i64 1")
            return Value(COMPLEX, (self.load("double", place, tag), self.load("double", second, tag)))
        return Value(kind.scalar, (self.load(kind.scalar.parts[0], place, tag),))

    def store_element(self, array: Value, index: str, value: Value, node: ast.AST) -> None:
        kind, place = array.type, self.offset(array, index)
        assert isinstance(kind, ArrayType)
        parts, tag = self.convert(value, kind.scalar, node).parts, self.unit.tag(kind.element)
        if kind.element == "int32":
            self.store("i32", self.emit(f"trunc i64 {parts[0]} to i32"), place, tag)
            return
        self.store(kind.scalar.parts[0], parts[0], place, tag)
        if kind.element == "complex":
            self.store("double", parts[1], self.emit(f"getelementptr inbounds double, ptr {place}, i64 1"), tag)

    # ---------------------------------------------------------------- numbers

    def convert(self, value: Value, expected: Type, node: ast.AST) -> Value:
        """Convert a value: integers to real numbers, these to complex ones, tuples item by item."""
        if value.type == expected:
            return value
        if value.type == INT and expected == REAL:
            if value.known is not None:
                return real(float(value.known))
            return Value(REAL, (self.emit(f"sitofp i64 {value.one} to double"),))
        if value.type in (INT, REAL) and expected == COMPLEX:
            return Value(COMPLEX, (self.convert(value, REAL, node).one, ZERO))
        if isinstance(value.type, TupleType) and isinstance(expected, TupleType) and len(value.type.items) == len(expected.items):
            return pack([self.convert(v, w, node) for v, w in zip(unpack(value), expected.items, strict=True)])
        self.refuse(node, f"expected {expected}, not {value.type}")

    def promote(self, one: Value, other: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two numbers converted to the wider of their types."""
        order = (INT, REAL, COMPLEX)
        if one.type not in order or other.type not in order:
            self.refuse(node, f"not numbers: {one.type}, {other.type}")
        widest = max(one.type, other.type, key=order.index)
        return self.convert(one, widest, node), self.convert(other, widest, node)

    def flag(self) -> str:
        return " contract" if self.unit.options.contract else ""

    def real_operation(self, word: str, one: str, other: str) -> str:
        return self.emit(f"f{word}{self.flag()} double {one}, {other}")

    def combine(self, operation: ast.operator, one: Value, other: Value, node: ast.AST) -> Value:
        """Arithmetic as in Python, with infinities and NaN in place of exceptions."""
        one, other = self.promote(one, other, node)
        if isinstance(operation, ast.Pow):
            return self._power(one, other, node)
        if one.type == INT and isinstance(operation, ast.FloorDiv | ast.Mod):
            return self._whole_division(one, other, isinstance(operation, ast.Mod))
        if type(operation) not in _OPERATIONS:
            self.refuse(node, "the operators are + − * / **, for integers also // and %")
        word = _OPERATIONS[type(operation)]
        if word == "div" and one.type == INT:
            one, other = self.convert(one, REAL, node), self.convert(other, REAL, node)
        if one.type == INT:
            if one.known is not None and other.known is not None:
                a, b = int(one.known), int(other.known)
                return integer({"add": a + b, "sub": a - b, "mul": a * b}[word])
            return Value(INT, (self.emit(f"{word} nsw i64 {one.one}, {other.one}"),))
        if one.type == REAL:
            return Value(REAL, (self.real_operation(word, one.one, other.one),))
        return self._complex(word, one, other, node)

    def _complex(self, word: str, one: Value, other: Value, node: ast.AST) -> Value:
        (a, b), (c, d), f = one.parts, other.parts, self.real_operation
        if word in ("add", "sub"):
            return Value(COMPLEX, (f(word, a, c), f(word, b, d)))
        if word == "div":
            self.refuse(node, "complex division is not supported; multiply by conjugate(z) / |z|²")
        return Value(COMPLEX, (f("sub", f("mul", a, c), f("mul", b, d)), f("add", f("mul", a, d), f("mul", b, c))))

    def _power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        if base.type == COMPLEX:
            self.refuse(node, "powers of complex numbers are not supported")
        if exponent.known == 2:
            return self.combine(ast.Mult(), base, base, node)
        if base.type == INT:
            self.refuse(node, "the only power of integers is the square")
        self.unit.declare("declare double @llvm.pow.f64(double, double)")
        return Value(REAL, (self.emit(f"call double @llvm.pow.f64(double {base.one}, double {exponent.one})"),))

    def _whole_division(self, one: Value, other: Value, remainder: bool) -> Value:
        """Quotient rounded down, remainder with the sign of the divisor; both are zero for the divisor zero."""
        divisor = other.one
        if other.known is None or other.known in (0, -1):  # −1: the quotient may overflow, and processors trap
            zero, minus = self.emit(f"icmp eq i64 {divisor}, 0"), self.emit(f"icmp eq i64 {divisor}, -1")
            odd = self.emit(f"or i1 {zero}, {minus}")
            safe = self.emit(f"select i1 {odd}, i64 1, i64 {divisor}")
        else:
            odd, safe = "", divisor
        quotient, rest = self.emit(f"sdiv i64 {one.one}, {safe}"), self.emit(f"srem i64 {one.one}, {safe}")
        there, signs = self.emit(f"icmp ne i64 {rest}, 0"), self.emit(f"xor i64 {rest}, {safe}")
        differ = self.emit(f"icmp slt i64 {signs}, 0")
        down = self.emit(f"and i1 {there}, {differ}")
        if remainder:
            result = self.emit(f"select i1 {down}, i64 {self.emit(f'add i64 {rest}, {safe}')}, i64 {rest}")
        else:
            result = self.emit(f"select i1 {down}, i64 {self.emit(f'sub i64 {quotient}, 1')}, i64 {quotient}")
            if odd:
                negative = self.emit(f"sub i64 0, {one.one}")
                special = self.emit(f"select i1 {minus}, i64 {negative}, i64 0")
                result = self.emit(f"select i1 {odd}, i64 {special}, i64 {result}")
        return Value(INT, (result,))


def pack(values: Sequence[Value]) -> Value:
    """Values as one tuple."""
    kind = TupleType.of(tuple(value.type for value in values))
    return Value(kind, tuple(part for value in values for part in value.parts))


def unpack(value: Value) -> list[Value]:
    """The items of a tuple."""
    assert isinstance(value.type, TupleType)
    items, begin = [], 0
    for item in value.type.items:
        items.append(Value(item, value.parts[begin : begin + len(item.parts)]))
        begin += len(item.parts)
    return items
