"""The text of one LLVM function as it grows: instructions, blocks, places of local names, and conversions between types."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from draisine.codegen.jit.emitter import number
from draisine.codegen.restricted.types import BOOL, COMPLEX, INT, REAL, ArrayType, TupleType, Type
from draisine.codegen.restricted.unit import Source, Unit

ZERO = number(0.0)
_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}


@dataclass(frozen=True)
class Value:
    """A value: its type, the names of its parts, and what it is if that is known already."""

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
    """Lines of one function. Every local name has places on the stack, which LLVM turns into registers."""

    def __init__(self, unit: Unit, source: Source, tree: ast.FunctionDef) -> None:
        self.unit, self.source, self.tree = unit, source, tree
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.block = "entry"
        self.ended = False  # the block has its last instruction

    def refuse(self, node: ast.AST, reason: str) -> NoReturn:
        """Say what is beyond restricted Python, and where."""
        where = f"{self.source.file}, line {getattr(node, 'lineno', '?')}, function {self.tree.name!r}"
        text = ast.unparse(node).splitlines()[0]
        raise SyntaxError(f"{where}: {text!r} is beyond restricted Python: {reason}")

    # ---------------------------------------------------------------- lines and blocks

    def do(self, line: str) -> None:
        self._lines.append(line)

    def let(self, operation: str) -> str:
        """The name of the result of an instruction."""
        self._count += 1
        self._lines.append(f"%v{self._count} = {operation}")
        return f"%v{self._count}"

    def mark(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")
        self.block, self.ended = label, False

    def go(self, label: str) -> None:
        """End the block by a jump, unless it has ended."""
        if not self.ended:
            self.do(f"br label %{label}")
        self.ended = True

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}")
        self.ended = True

    def leave(self, instruction: str) -> None:
        """End the block by a return."""
        self.do(instruction)
        self.ended = True

    def reserve(self, kind: str) -> str:
        """A place on the stack."""
        self._count += 1
        self._entry.append(f"%v{self._count} = alloca {kind}, align 8")
        return f"%v{self._count}"

    def body(self) -> list[str]:
        return ["entry:", *self._entry, *self._lines]

    def phi(self, kind: str, *ways: tuple[str, str]) -> str:
        """One of several names, by the block that control comes from."""
        return self.let(f"phi {kind} " + ", ".join(f"[ {name}, %{block} ]" for name, block in ways))

    # ---------------------------------------------------------------- memory

    def load(self, kind: str, place: str, tag: str) -> str:
        return self.let(f"load {kind}, ptr {place}, align {4 if kind == 'i32' else 8}{tag}")

    def store(self, kind: str, name: str, place: str, tag: str) -> None:
        self.do(f"store {kind} {name}, ptr {place}, align {4 if kind == 'i32' else 8}{tag}")

    def offset(self, array: Value, index: str) -> str:
        """The place of an element, by its index counted through all axes."""
        kind = array.type
        assert isinstance(kind, ArrayType)
        if kind.element == "complex":
            index = self.let(f"shl nsw i64 {index}, 1")
        unit = {"int": "i64", "int32": "i32"}.get(kind.element, "double")
        return self.let(f"getelementptr inbounds {unit}, ptr {array.parts[0]}, i64 {index}")

    def load_element(self, array: Value, index: str) -> Value:
        kind, place = array.type, self.offset(array, index)
        assert isinstance(kind, ArrayType)
        tag = self.unit.tag(kind.element)
        if kind.element == "int32":
            return Value(INT, (self.let(f"sext i32 {self.load('i32', place, tag)} to i64"),))
        if kind.element == "complex":
            second = self.let(f"getelementptr inbounds double, ptr {place}, i64 1")
            return Value(COMPLEX, (self.load("double", place, tag), self.load("double", second, tag)))
        return Value(kind.scalar, (self.load(kind.scalar.parts[0], place, tag),))

    def store_element(self, array: Value, index: str, value: Value, node: ast.AST) -> None:
        kind, place = array.type, self.offset(array, index)
        assert isinstance(kind, ArrayType)
        parts, tag = self.convert(value, kind.scalar, node).parts, self.unit.tag(kind.element)
        if kind.element == "int32":
            self.store("i32", self.let(f"trunc i64 {parts[0]} to i32"), place, tag)
            return
        self.store(kind.scalar.parts[0], parts[0], place, tag)
        if kind.element == "complex":
            self.store("double", parts[1], self.let(f"getelementptr inbounds double, ptr {place}, i64 1"), tag)

    # ---------------------------------------------------------------- numbers

    def convert(self, value: Value, wanted: Type, node: ast.AST) -> Value:
        """A value as one of another type: integers as real numbers, these as complex ones, a tuple by its items."""
        if value.type == wanted:
            return value
        if value.type == INT and wanted == REAL:
            if value.known is not None:
                return real(float(value.known))
            return Value(REAL, (self.let(f"sitofp i64 {value.one} to double"),))
        if value.type in (INT, REAL) and wanted == COMPLEX:
            return Value(COMPLEX, (self.convert(value, REAL, node).one, ZERO))
        if isinstance(value.type, TupleType) and isinstance(wanted, TupleType) and len(value.type.items) == len(wanted.items):
            made = [self.convert(v, w, node) for v, w in zip(items_of(value), wanted.items, strict=True)]
            return together(made)
        self.refuse(node, f"a value of type {wanted} is needed here, not {value.type}")

    def alike(self, one: Value, other: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two numbers as ones of the same type, the wider of theirs."""
        order = (INT, REAL, COMPLEX)
        if one.type not in order or other.type not in order:
            self.refuse(node, f"these are no numbers: {one.type}, {other.type}")
        widest = max(one.type, other.type, key=order.index)
        return self.convert(one, widest, node), self.convert(other, widest, node)

    def flag(self) -> str:
        return " contract" if self.unit.options.contract else ""

    def real_operation(self, word: str, one: str, other: str) -> str:
        return self.let(f"f{word}{self.flag()} double {one}, {other}")

    def combine(self, operation: ast.operator, one: Value, other: Value, node: ast.AST) -> Value:
        """Arithmetic as Python's, with infinite numbers and NaN in place of exceptions."""
        one, other = self.alike(one, other, node)
        if isinstance(operation, ast.Pow):
            return self._power(one, other, node)
        if one.type == INT and isinstance(operation, ast.FloorDiv | ast.Mod):
            return self._whole_division(one, other, isinstance(operation, ast.Mod))
        if type(operation) not in _OPERATIONS:
            self.refuse(node, "numbers have + − * / **, integers // and % besides")
        word = _OPERATIONS[type(operation)]
        if word == "div" and one.type == INT:
            one, other = self.convert(one, REAL, node), self.convert(other, REAL, node)
        if one.type == INT:
            if one.known is not None and other.known is not None:
                a, b = int(one.known), int(other.known)
                return integer({"add": a + b, "sub": a - b, "mul": a * b}[word])
            return Value(INT, (self.let(f"{word} nsw i64 {one.one}, {other.one}"),))
        if one.type == REAL:
            return Value(REAL, (self.real_operation(word, one.one, other.one),))
        return self._complex(word, one, other, node)

    def _complex(self, word: str, one: Value, other: Value, node: ast.AST) -> Value:
        (a, b), (c, d), f = one.parts, other.parts, self.real_operation
        if word in ("add", "sub"):
            return Value(COMPLEX, (f(word, a, c), f(word, b, d)))
        if word == "div":
            self.refuse(node, "complex numbers are not divided; multiply by the conjugate over its squared size")
        return Value(COMPLEX, (f("sub", f("mul", a, c), f("mul", b, d)), f("add", f("mul", a, d), f("mul", b, c))))

    def _power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        if base.type == COMPLEX:
            self.refuse(node, "complex numbers have no powers here")
        if exponent.known == 2:
            return self.combine(ast.Mult(), base, base, node)
        if base.type == INT:
            self.refuse(node, "powers of integers: only the square")
        self.unit.declare("declare double @llvm.pow.f64(double, double)")
        return Value(REAL, (self.let(f"call double @llvm.pow.f64(double {base.one}, double {exponent.one})"),))

    def _whole_division(self, one: Value, other: Value, remainder: bool) -> Value:
        """Quotient rounded down, remainder with the sign of the divisor; both zero if that is zero."""
        divisor = other.one
        if other.known is None or other.known in (0, -1):  # −1: the quotient may not fit, and processors trap
            zero, minus = self.let(f"icmp eq i64 {divisor}, 0"), self.let(f"icmp eq i64 {divisor}, -1")
            odd = self.let(f"or i1 {zero}, {minus}")
            safe = self.let(f"select i1 {odd}, i64 1, i64 {divisor}")
        else:
            odd, safe = "", divisor
        quotient, rest = self.let(f"sdiv i64 {one.one}, {safe}"), self.let(f"srem i64 {one.one}, {safe}")
        there, signs = self.let(f"icmp ne i64 {rest}, 0"), self.let(f"xor i64 {rest}, {safe}")
        differ = self.let(f"icmp slt i64 {signs}, 0")
        down = self.let(f"and i1 {there}, {differ}")
        if remainder:
            result = self.let(f"select i1 {down}, i64 {self.let(f'add i64 {rest}, {safe}')}, i64 {rest}")
        else:
            result = self.let(f"select i1 {down}, i64 {self.let(f'sub i64 {quotient}, 1')}, i64 {quotient}")
            if odd:
                negative = self.let(f"sub i64 0, {one.one}")
                special = self.let(f"select i1 {minus}, i64 {negative}, i64 0")
                result = self.let(f"select i1 {odd}, i64 {special}, i64 {result}")
        return Value(INT, (result,))


def together(values: Sequence[Value]) -> Value:
    """Values as one tuple."""
    kind = TupleType.of(tuple(value.type for value in values))
    return Value(kind, tuple(part for value in values for part in value.parts))


def items_of(value: Value) -> list[Value]:
    """The items of a tuple."""
    assert isinstance(value.type, TupleType)
    made, begin = [], 0
    for item in value.type.items:
        made.append(Value(item, value.parts[begin : begin + len(item.parts)]))
        begin += len(item.parts)
    return made
