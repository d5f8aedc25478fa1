"""Expressions of restricted Python: names, fields, elements, arithmetic, comparisons, conditionals and calls."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from draisine.codegen.restricted.intrinsics import INTRINSICS
from draisine.codegen.restricted.types import BOOL, COMPLEX, INT, NOTHING, REAL, ArrayType, Field, RecordsType, RecordType, Type
from draisine.codegen.restricted.unit import Instance, Source, Unit, is_restricted, source_of
from draisine.codegen.restricted.writer import Value, Writer, integer, pack, real, truth

_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_KNOWN: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def _stored_names(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements assign; restricted expressions assign none."""
    for statement in statements:
        for target in getattr(statement, "targets", None) or [getattr(statement, "target", None)]:
            if isinstance(target, ast.Name):
                yield target.id
            elif isinstance(target, ast.Tuple | ast.List):
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        for name in ("body", "orelse"):
            yield from _stored_names(getattr(statement, name, ()))


class Expressions(Writer):
    """A writer that translates expressions."""

    def __init__(self, unit: Unit, source: Source, tree: ast.FunctionDef) -> None:
        super().__init__(unit, source, tree)
        self.stack_slots: dict[str, tuple[Type, list[str]]] = {}  # of local names that are assigned
        self.constant: dict[str, Value] = {}  # parameters that are not
        self.assigned = frozenset(_stored_names(tree.body))
        self.local = self.assigned | {a.arg for a in tree.args.args}

    def value(self, e: ast.expr) -> Value:
        match e:
            case ast.Constant(bool(known)):
                return truth(known)
            case ast.Constant(int(known)):
                return integer(known)
            case ast.Constant(float(known)):
                return real(known)
            case ast.Constant(complex() as known):
                return Value(COMPLEX, (*real(known.real).parts, *real(known.imag).parts))
            case ast.Name(name) if name in self.local:
                return self._local(e, name)
            case ast.Name() | ast.Attribute() if (found := self._global(e)) is not None:
                return self._constant(e, found[0])
            case ast.Attribute(inner, name):
                return self._attribute(e, self.value(inner), name)
            case ast.Subscript(inner, index):
                return self._element(e, self.value(inner), index)
            case ast.UnaryOp(operation, inner):
                return self._unary(e, operation, self.value(inner))
            case ast.BinOp(left, operation, right):
                return self.combine(operation, self.value(left), self.value(right), e)
            case ast.BoolOp(operation, values):
                return self._short_circuit(isinstance(operation, ast.And), [partial(self.condition, v) for v in values])
            case ast.Compare():
                return self._comparison(e)
            case ast.IfExp(test, body, otherwise):
                return self._choice(e, self.condition(test), body, otherwise)
            case ast.Call():
                return self._call(e)
            case ast.Tuple(items):
                return pack([self.value(item) for item in items])
        self.refuse(e, "this expression is not supported")

    def condition(self, e: ast.expr) -> Value:
        """A Boolean value."""
        value = self.value(e)
        if value.type != BOOL:
            self.refuse(e, f"a condition must be bool; compare this {value.type} with something")
        return value

    # ---------------------------------------------------------------- names

    def _local(self, e: ast.expr, name: str) -> Value:
        if name in self.constant:
            return self.constant[name]
        if name not in self.stack_slots:
            self.refuse(e, f"{name!r} is not assigned yet")
        kind, addresses = self.stack_slots[name]
        return Value(kind, tuple(self.emit(f"load {p}, ptr {at}, align 8") for p, at in zip(kind.parts, addresses, strict=True)))

    def _global(self, e: ast.expr) -> tuple[Any] | None:
        """The object that a name, or an attribute of a module, refers to."""
        match e:
            case ast.Name(name) if name not in self.local:
                try:
                    return (self.source.value(name),)
                except KeyError:
                    if hasattr(builtins, name):
                        return (getattr(builtins, name),)
                    self.refuse(e, f"{name!r} is not defined")
            case ast.Attribute(inner, name):
                found = self._global(inner)
                if found is not None and isinstance(found[0], ModuleType):
                    return (getattr(found[0], name),)
        return None

    def _constant(self, e: ast.expr, value: Any) -> Value:
        if isinstance(e, ast.Name):
            self.unit.modules |= self.source.origins(e.id)
        elif isinstance(e, ast.Attribute) and (found := self._global(e.value)) and found[0].__name__ != "math":
            self.unit.modules |= source_of(found[0].__name__).origins(e.attr)
        if isinstance(value, bool):
            return truth(value)
        if isinstance(value, int):
            return integer(value)
        if isinstance(value, float):
            return real(value)
        self.refuse(e, "constants of modules must be numbers")

    # ---------------------------------------------------------------- fields and elements

    def field(self, e: ast.AST, record: Value, name: str) -> tuple[Field, list[str]]:
        """A field of a record and the addresses of its parts."""
        assert isinstance(record.type, RecordType)
        fields = record.type.record.__fields__
        if name not in fields:
            self.refuse(e, f"record {record.type} has no field {name!r}")
        field, struct = fields[name], self.unit.struct(record.type.record)
        at = range(field.begin, field.begin + len(field.type.parts))
        return field, [self.emit(f"getelementptr inbounds {struct}, ptr {record.one}, i32 0, i32 {k}") for k in at]

    def _attribute(self, e: ast.expr, of: Value, name: str) -> Value:
        if isinstance(of.type, RecordType):
            fixed = self.unit.options.fixed.get((of.type.record, name))
            if fixed is not None:
                return integer(fixed)
            field, addresses = self.field(e, of, name)
            tag, parts = self.unit.tag(str(of.type)), field.type.parts
            return Value(field.type, tuple(self.load(part, at, tag) for part, at in zip(parts, addresses, strict=True)))
        if of.type in (REAL, COMPLEX) and name in ("real", "imag"):
            if of.type == REAL:
                return of if name == "real" else real(0.0)
            return Value(REAL, (of.parts[0 if name == "real" else 1],))
        self.refuse(e, f"{of.type} has no {name!r}")

    def indexed(self, e: ast.AST, array: Value, index: ast.expr) -> tuple[Value, str, int]:
        """An array, the flat index of an element or row, and the number of indices given."""
        kind = array.type
        if not isinstance(kind, ArrayType):
            self.refuse(e, f"{kind} has no elements")
        given = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(given) > kind.ndim:
            self.refuse(e, f"too many indices for an {kind}")
        place = ""
        for axis in range(kind.ndim):
            if place:
                place = self.emit(f"mul nsw i64 {place}, {array.parts[1 + axis]}")
            if axis < len(given):
                one = self.value(given[axis])
                if one.type != INT or (one.known is not None and one.known < 0):
                    self.refuse(e, "an index must be an integer that is not negative")
                place = one.one if not place else self.emit(f"add nsw i64 {place}, {one.one}")
        return array, place, len(given)

    def _element(self, e: ast.expr, of: Value, index: ast.expr) -> Value:
        if isinstance(of.type, RecordsType):
            place = self.emit(f"getelementptr inbounds ptr, ptr {of.parts[0]}, i64 {self.value(index).one}")
            return Value(RecordType.of(of.type.record), (self.load("ptr", place, self.unit.tag("list")),))
        if isinstance(index, ast.Slice):
            return self._part(e, of, index)
        array, place, axes = self.indexed(e, of, index)
        kind = array.type
        assert isinstance(kind, ArrayType)
        if axes == kind.ndim:
            return self.load_element(array, place)
        for _ in range(axes):
            kind = kind.row
        return Value(kind, (self.offset(array, place), *array.parts[1 + axes :]))

    def _part(self, e: ast.expr, of: Value, index: ast.Slice) -> Value:
        """A slice of rows."""
        if not isinstance(of.type, ArrayType) or of.type.bare or index.step is not None:
            self.refuse(e, "slices are consecutive rows of an array")
        first = "0" if index.lower is None else self.convert(self.value(index.lower), INT, e).one
        last = of.parts[1] if index.upper is None else self.convert(self.value(index.upper), INT, e).one
        place = first
        for length in of.parts[2:]:
            place = self.emit(f"mul nsw i64 {place}, {length}")
        return Value(of.type, (self.offset(of, place), self.emit(f"sub nsw i64 {last}, {first}"), *of.parts[2:]))

    # ---------------------------------------------------------------- operations

    def _unary(self, e: ast.expr, operation: ast.unaryop, value: Value) -> Value:
        match operation:
            case ast.Not() if value.type == BOOL:
                return (
                    truth(not value.known) if value.known is not None else Value(BOOL, (self.emit(f"xor i1 {value.one}, true"),))
                )
            case ast.USub() if value.type == INT:
                return integer(-int(value.known)) if value.known is not None else self.combine(ast.Sub(), integer(0), value, e)
            case ast.USub() if value.type == REAL and value.known is not None:
                return real(-value.known)
            case ast.USub() if value.type in (REAL, COMPLEX):
                return Value(value.type, tuple(self.emit(f"fneg double {part}") for part in value.parts))
            case ast.UAdd() if value.type in (INT, REAL, COMPLEX):
                return value
        self.refuse(e, f"this operation is not defined for {value.type}")

    def _comparison(self, e: ast.Compare) -> Value:
        """A comparison, or a chain of them: values are computed once, and none after a comparison that fails."""
        known = [self.value(e.left)]

        def compared(operation: ast.cmpop, right: ast.expr) -> Value:
            known.append(self.value(right))
            return self._compared(e, known[-2], operation, known[-1])

        pairs = zip(e.ops, e.comparators, strict=True)
        return self._short_circuit(True, [partial(compared, operation, right) for operation, right in pairs])

    def _compared(self, e: ast.expr, one: Value, operation: ast.cmpop, other: Value) -> Value:
        if type(operation) not in _COMPARISONS:
            self.refuse(e, "comparisons are < <= > >= == !=")
        word = _COMPARISONS[type(operation)]
        one, other = self.promote(one, other, e)
        if one.type == COMPLEX:
            self.refuse(e, "complex numbers are not compared")
        if one.known is not None and other.known is not None:
            return truth(_KNOWN[word](one.known, other.known))
        if one.type == REAL:
            return Value(BOOL, (self.emit(f"fcmp {'une' if word == 'ne' else f'o{word}'} double {one.one}, {other.one}"),))
        whole = word if word in ("eq", "ne") else f"s{word}"
        return Value(BOOL, (self.emit(f"icmp {whole} i64 {one.one}, {other.one}"),))

    def _short_circuit(self, all_of_them: bool, values: Sequence[Callable[[], Value]]) -> Value:
        """`and` or `or`, with short-circuit evaluation."""
        first = values[0]()
        if first.known is not None:
            decided = bool(first.known) is not all_of_them
            return first if decided or len(values) == 1 else self._short_circuit(all_of_them, values[1:])
        if len(values) == 1:
            return first
        label, before = self.new_label(), self.block
        self.branch(first.one, *((f"{label}_more", f"{label}_done") if all_of_them else (f"{label}_done", f"{label}_more")))
        self.begin(f"{label}_more")
        rest = self._short_circuit(all_of_them, values[1:])
        after = self.block
        self.jump(f"{label}_done")
        self.begin(f"{label}_done")
        return Value(BOOL, (self.phi("i1", ("false" if all_of_them else "true", before), (rest.one, after)),))

    def _choice(self, e: ast.expr, test: Value, body: ast.expr, otherwise: ast.expr) -> Value:
        if test.known is not None:
            return self.value(body if test.known else otherwise)
        label = self.new_label()
        self.branch(test.one, f"{label}_then", f"{label}_else")
        self.begin(f"{label}_then")
        one = self.value(body)
        first = self.block
        self.jump(f"{label}_done")
        self.begin(f"{label}_else")
        other = self.value(otherwise)
        second = self.block
        self.jump(f"{label}_done")
        self.begin(f"{label}_done")
        if one.type != other.type:
            self.refuse(e, f"both values must have the same type, not {one.type} and {other.type}")
        ways = zip(one.type.parts, one.parts, other.parts, strict=True)
        return Value(one.type, tuple(self.phi(part, (a, first), (b, second)) for part, a, b in ways))

    # ---------------------------------------------------------------- calls

    def _call(self, e: ast.Call) -> Value:
        if e.keywords or any(isinstance(a, ast.Starred) for a in e.args):
            self.refuse(e, "arguments must be positional")
        found = self._global(e.func)
        if found is None:
            if isinstance(e.func, ast.Attribute) and e.func.attr == "conjugate" and not e.args:
                return self.intrinsic(e, complex.conjugate, [self.value(e.func.value)])
            self.refuse(e, "this is not a function")
        arguments = [self.value(a) for a in e.args]
        try:
            known = found[0] in INTRINSICS
        except TypeError:  # not hashable
            known = False
        if known:
            return self.intrinsic(e, found[0], arguments)
        if not is_restricted(found[0]):
            self.refuse(e, "this function is not supported")
        try:
            instance = self.unit.instance(found[0], tuple(a.type for a in arguments))
        except TypeError as error:
            self.refuse(e, str(error))
        return self.call(e, instance, arguments)

    def intrinsic(self, e: ast.Call, function: Any, arguments: list[Value]) -> Value:
        """A call of a built-in function."""
        emit, counts = INTRINSICS[function]
        if counts is not None and len(arguments) not in counts:
            self.refuse(e, f"it takes {' or '.join(map(str, counts))} arguments")
        return emit(self, e, arguments)

    def call(self, e: ast.AST, instance: Instance, arguments: list[Value]) -> Value:
        """A call of another restricted function."""
        given = [self.convert(a, kind, e) for a, (_, kind) in zip(arguments, instance.parameters, strict=True)]
        texts = [f"{part} {name}" for v in given for part, name in zip(v.type.parts, v.parts, strict=True)]
        text = f"call {instance.llvm_result} {instance.symbol}({', '.join(texts)})"
        kind = instance.result
        if kind == NOTHING:
            self.write(text)
            return Value(kind, ())
        result = self.emit(text)
        if len(kind.parts) == 1:
            return Value(kind, (result,))
        parts = range(len(kind.parts))
        return Value(kind, tuple(self.emit(f"extractvalue {instance.llvm_result} {result}, {k}") for k in parts))
