"""Statements of restricted Python, functions, and their translation to an LLVM module with all that they call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from draisine.codegen.restricted.expressions import Expressions
from draisine.codegen.restricted.types import BOOL, INT, NOTHING, ArrayType, Options, RecordType, TupleType, Type, type_of
from draisine.codegen.restricted.unit import Instance, Unit, definition, source_of
from draisine.codegen.restricted.writer import Value, integer, unpack

# Lines beyond which a function is not inlined: the time of LLVM's passes grows faster than the length, and the cost of a call is
# negligible beside so much work.
LONG = 200


@dataclass
class _Loop:
    """The labels of `continue` and `break`, and whether there is a `break`."""

    again: str
    done: str
    has_break: bool = False


class Function(Expressions):
    """The translation of one function."""

    def __init__(self, unit: Unit, instance: Instance) -> None:
        super().__init__(unit, instance.source, instance.tree)
        self._instance = instance
        self._loops: list[_Loop] = []  # around the current statement

    def text(self) -> str:
        """The definition, with internal linkage."""
        instance, given = self._instance, []
        for name, kind in instance.parameters:
            parts = [f"%{name}.{k}" for k in range(len(kind.parts))]
            given += [self._parameter(part, at) for part, at in zip(kind.parts, parts, strict=True)]
            if name in self.assigned:
                self._assign_name(instance.tree, name, Value(kind, tuple(parts)))
            else:
                self.constant[name] = Value(kind, tuple(parts))
        self._run(instance.tree.body)
        if not self.ended:
            if instance.result != NOTHING:
                self.refuse(instance.tree, f"it can end without returning its {instance.result}")
            self.terminate("ret void")
        body = self.body()
        long = " noinline" if len(body) > LONG else ""
        head = f"define internal {instance.llvm_result} {instance.symbol}({', '.join(given)}) nounwind{long} {{"
        return "\n".join([head, *body, "}"])

    def _parameter(self, part: str, name: str) -> str:
        return f"ptr noalias {name}" if part == "ptr" and self.unit.options.distinct else f"{part} {name}"

    # ---------------------------------------------------------------- statements

    def _run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.ended:
                return  # unreachable
            match statement:
                case ast.Expr(ast.Constant(str())) | ast.Pass():
                    continue
                case ast.Expr(ast.Call() as call):
                    self.value(call)
                case ast.Assign([target], value):
                    self._assign(target, self.value(value))
                case ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                    self._assign(target, self.value(value))
                case ast.AugAssign(target, operation, value):
                    self._augment(target, operation, value)
                case ast.If(test, body, otherwise):
                    self._if(test, body, otherwise)
                case ast.For(ast.Name(counter), ast.Call(ast.Name("range"), bounds), body, []):
                    self._for(statement, counter, bounds, body)
                case ast.While(test, body, []):
                    self._while(test, body)
                case ast.Continue():
                    self.jump(self._loops[-1].again)
                case ast.Break():
                    self._loops[-1].has_break = True
                    self.jump(self._loops[-1].done)
                case ast.Return(value):
                    self._return(statement, value)
                case _:
                    self.refuse(statement, "this statement is not supported")

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(name):
                self._assign_name(target, name, value)
            case ast.Subscript(inner, index):
                array, place, axes = self.indexed(target, self.value(inner), index)
                if axes != getattr(array.type, "ndim", 0):
                    self.refuse(target, "elements are assigned, not rows")
                self.store_element(array, place, value, target)
            case ast.Attribute(inner, name):
                self._assign_field(target, self.value(inner), name, value)
            case ast.Tuple(targets):
                if not isinstance(value.type, TupleType) or len(value.type.items) != len(targets):
                    self.refuse(target, f"{value.type} cannot be unpacked into {len(targets)} values")
                for one, item in zip(targets, unpack(value), strict=True):
                    self._assign(one, item)
            case _:
                self.refuse(target, "only names, fields and elements are assigned")

    def _assign_name(self, node: ast.AST, name: str, value: Value) -> None:
        if value.type == NOTHING:
            self.refuse(node, "this function returns no value")
        if name not in self.stack_slots:
            self.stack_slots[name] = value.type, [self.alloca(part) for part in value.type.parts]
        kind, addresses = self.stack_slots[name]
        if kind != value.type:
            self.refuse(node, f"{name!r} is {kind} and cannot become {value.type}")
        for part, one, place in zip(kind.parts, value.parts, addresses, strict=True):
            self.write(f"store {part} {one}, ptr {place}, align 8")

    def _assign_field(self, node: ast.AST, record: Value, name: str, value: Value) -> None:
        if not isinstance(record.type, RecordType):
            self.refuse(node, f"{record.type} has no fields")
        if (record.type.record, name) in self.unit.options.fixed:
            self.refuse(node, f"field {name!r} is fixed in this unit")
        field, addresses = self.field(node, record, name)
        if not isinstance(field.type, ArrayType) and len(field.type.parts) != 1:
            self.refuse(node, "lists of records are not assigned")
        parts, tag = self.convert(value, field.type, node).parts, self.unit.tag(str(record.type))
        for part, one, place in zip(field.type.parts, parts, addresses, strict=True):
            self.store(part, one, place, tag)

    def _augment(self, target: ast.expr, operation: ast.operator, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):  # the address is computed once
            array, place, axes = self.indexed(target, self.value(target.value), target.slice)
            if axes != getattr(array.type, "ndim", 0):
                self.refuse(target, "elements are assigned, not rows")
            value_after = self.combine(operation, self.load_element(array, place), self.value(value), target)
            self.store_element(array, place, value_after, target)
            return
        read = ast.copy_location(ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target, target)
        self._assign(target, self.combine(operation, self.value(read), self.value(value), target))

    # ---------------------------------------------------------------- control

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        condition = self.condition(test)
        if condition.known is not None:  # dead branches are not translated
            self._run(body if condition.known else otherwise)
            return
        label = self.new_label()
        done, other = f"{label}_done", f"{label}_else" if otherwise else f"{label}_done"
        self.branch(condition.one, f"{label}_then", other)
        self.begin(f"{label}_then")
        self._run(body)
        reached = not self.ended or not otherwise
        self.jump(done)
        if otherwise:
            self.begin(other)
            self._run(otherwise)
            reached = reached or not self.ended
            self.jump(done)
        if reached:
            self.begin(done)

    def _for(self, node: ast.For, counter: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """The bounds are computed once; assignments to the counter in the body do not affect the loop."""
        given = [self.convert(self.value(bound), INT, node) for bound in bounds]
        first, last = (integer(0), given[0]) if len(given) == 1 else (given[0], given[1])
        step = given[2].known if len(given) > 2 else 1
        if not step:
            self.refuse(node, "the step of a range must be a constant")
        label, own = self.new_label(), self.alloca("i64")
        self.write(f"store i64 {first.one}, ptr {own}, align 8")
        self.jump(f"{label}_head")
        self.begin(f"{label}_head")
        now = self.emit(f"load i64, ptr {own}, align 8")
        more = self.emit(f"icmp {'slt' if step > 0 else 'sgt'} i64 {now}, {last.one}")
        self.branch(more, f"{label}_body", f"{label}_done")
        self.begin(f"{label}_body")
        self._assign_name(node, counter, Value(INT, (now,)))
        self._loop(f"{label}_next", f"{label}_done", body)
        self.begin(f"{label}_next")
        self.write(f"store i64 {self.emit(f'add nsw i64 {now}, {step}')}, ptr {own}, align 8")
        self.jump(f"{label}_head")
        self.begin(f"{label}_done")

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        label = self.new_label()
        self.jump(f"{label}_head")
        self.begin(f"{label}_head")
        condition = self.condition(test)
        endless = condition.known is not None and bool(condition.known)
        if endless:
            self.jump(f"{label}_body")
        else:
            self.branch(condition.one, f"{label}_body", f"{label}_done")
        self.begin(f"{label}_body")
        left = self._loop(f"{label}_head", f"{label}_done", body)
        if left or not endless:
            self.begin(f"{label}_done")

    def _loop(self, again: str, done: str, body: Sequence[ast.stmt]) -> bool:
        """Translate the body of a loop; returns whether it has a `break`."""
        self._loops.append(_Loop(again, done))
        self._run(body)
        self.jump(again)
        return self._loops.pop().has_break

    def _return(self, node: ast.Return, value: ast.expr | None) -> None:
        kind: Type = self._instance.result
        if value is None or kind == NOTHING:
            if kind != NOTHING or value is not None:
                self.refuse(node, f"the function returns {kind}")
            self.terminate("ret void")
            return
        parts, result = self.convert(self.value(value), kind, node).parts, self._instance.llvm_result
        if len(parts) == 1:
            self.terminate(f"ret {result} {parts[0]}")
            return
        struct = "poison"
        for k, (part, name) in enumerate(zip(kind.parts, parts, strict=True)):
            struct = self.emit(f"insertvalue {result} {struct}, {part} {name}, {k}")
        self.terminate(f"ret {result} {struct}")


# ------------------------------------------------------------------------------------------- modules


class Translation(NamedTuple):
    """An LLVM module, and the Python modules whose sources determine it."""

    text: str
    modules: frozenset[str]


def translate(entries: Mapping[str, tuple[Callable[..., Any], Sequence[Type]]], options: Options | None = None) -> Translation:
    """The module of functions for arguments of these types, by symbols."""
    unit = Unit(options or Options())
    for symbol, (function, types) in entries.items():
        unit.texts.append(_exported(symbol, unit.instance(function, tuple(types)), unit.options))
    while unit.waiting:
        instance = unit.waiting.pop()
        unit.texts.append(Function(unit, instance).text())
    source_of.cache_clear()  # parsed sources take more memory than all the rest
    return Translation(unit.text(), frozenset(unit.modules))


def parameter_types(function: Callable[..., Any], instead: Mapping[str, Type] | None = None) -> list[Type]:
    """The types of a function's parameters by their annotations; `instead` replaces annotations."""
    source, tree = definition(function)
    found = []
    for parameter in tree.args.args:
        annotation = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        kind = (instead or {}).get(annotation) or type_of(annotation or "None", source.module)
        if not isinstance(kind, Type):
            raise TypeError(f"{tree.name!r} is generic in {parameter.arg!r}; name the type to compile for")
        found.append(kind)
    return found


def _exported(symbol: str, instance: Instance, options: Options) -> str:
    """An exported function; a Boolean result is 0 or 1."""
    if len(instance.result.parts) > 1:
        raise TypeError(f"{instance.tree.name!r} returns {instance.result}; an exported function returns one number or nothing")
    given, parts = [], [(part, f"%{name}.{k}") for name, kind in instance.parameters for k, part in enumerate(kind.parts)]
    for part, name in parts:
        given.append(f"ptr noalias {name}" if part == "ptr" and options.distinct else f"{part} {name}")
    call = f"call {instance.llvm_result} {instance.symbol}({', '.join(f'{part} {name}' for part, name in parts)})"
    if not instance.result.parts:
        lines = [call, "ret void"]
    elif instance.result == BOOL:
        lines = [f"%truth = {call}", "%number = zext i1 %truth to i64", "ret i64 %number"]
    else:
        lines = [f"%result = {call}", f"ret {instance.llvm_result} %result"]
    result = "i64" if instance.result == BOOL else instance.llvm_result
    return "\n".join([f"define {result} @{symbol}({', '.join(given)}) nounwind {{", *lines, "}"])
