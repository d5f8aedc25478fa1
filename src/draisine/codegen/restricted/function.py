"""Statements of restricted Python, and the text of a whole function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from draisine.codegen.restricted.expressions import Expressions
from draisine.codegen.restricted.types import INT, NOTHING, ArrayType, RecordType, TupleType, Type
from draisine.codegen.restricted.unit import Instance, Unit
from draisine.codegen.restricted.writer import Value, integer, items_of

# Lines from which on a function is called where it is used, not repeated there: LLVM's passes take more than twice as long for
# twice the length, and a call is nothing beside so much work.
LONG = 200


@dataclass
class _Loop:
    """Where `continue` and `break` lead, and whether there is a `break`."""

    again: str
    done: str
    left: bool = False


class Function(Expressions):
    """The translation of one function."""

    def __init__(self, unit: Unit, instance: Instance) -> None:
        super().__init__(unit, instance.source, instance.tree)
        self._instance = instance
        self._loops: list[_Loop] = []  # around the present statement

    def text(self) -> str:
        """The definition, known to its own module alone."""
        instance, given = self._instance, []
        for name, kind in instance.parameters:
            parts = [f"%{name}.{k}" for k in range(len(kind.parts))]
            given += [self._parameter(part, at) for part, at in zip(kind.parts, parts, strict=True)]
            self._assign_name(instance.tree, name, Value(kind, tuple(parts)))
        self._run(instance.tree.body)
        if not self.ended:
            if instance.result != NOTHING:
                self.refuse(instance.tree, f"it can end without a result, which is a {instance.result}")
            self.leave("ret void")
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
                return  # nothing leads here
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
                    self.go(self._loops[-1].again)
                case ast.Break():
                    self._loops[-1].left = True
                    self.go(self._loops[-1].done)
                case ast.Return(value):
                    self._return(statement, value)
                case _:
                    self.refuse(statement, "there is no such statement")

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
                    self.refuse(target, f"{value.type} does not fall apart into {len(targets)} values")
                for one, item in zip(targets, items_of(value), strict=True):
                    self._assign(one, item)
            case _:
                self.refuse(target, "names, fields and elements are assigned")

    def _assign_name(self, node: ast.AST, name: str, value: Value) -> None:
        if value.type == NOTHING:
            self.refuse(node, "this has no value")
        if name not in self.places:
            self.places[name] = value.type, [self.reserve(part) for part in value.type.parts]
        kind, places = self.places[name]
        if kind != value.type:
            self.refuse(node, f"{name!r} is {kind} and cannot become {value.type}")
        for part, one, place in zip(kind.parts, value.parts, places, strict=True):
            self.do(f"store {part} {one}, ptr {place}, align 8")

    def _assign_field(self, node: ast.AST, record: Value, name: str, value: Value) -> None:
        if not isinstance(record.type, RecordType):
            self.refuse(node, f"{record.type} has no fields")
        if (record.type.record, name) in self.unit.options.fixed:
            self.refuse(node, f"field {name!r} is fixed in this unit")
        field, places = self.field(node, record, name)
        if not isinstance(field.type, ArrayType) and len(field.type.parts) != 1:
            self.refuse(node, "lists of records are not assigned")
        parts, tag = self.convert(value, field.type, node).parts, self.unit.tag(str(record.type))
        for part, one, place in zip(field.type.parts, parts, places, strict=True):
            self.store(part, one, place, tag)

    def _augment(self, target: ast.expr, operation: ast.operator, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):  # its place is computed once
            array, place, axes = self.indexed(target, self.value(target.value), target.slice)
            if axes != getattr(array.type, "ndim", 0):
                self.refuse(target, "elements are assigned, not rows")
            made = self.combine(operation, self.load_element(array, place), self.value(value), target)
            self.store_element(array, place, made, target)
            return
        read = ast.copy_location(ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target, target)
        self._assign(target, self.combine(operation, self.value(read), self.value(value), target))

    # ---------------------------------------------------------------- control

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        condition = self.condition(test)
        if condition.known is not None:  # what cannot happen is not translated
            self._run(body if condition.known else otherwise)
            return
        mark = self.mark()
        done, other = f"{mark}_done", f"{mark}_else" if otherwise else f"{mark}_done"
        self.branch(condition.one, f"{mark}_then", other)
        self.begin(f"{mark}_then")
        self._run(body)
        reached = not self.ended or not otherwise
        self.go(done)
        if otherwise:
            self.begin(other)
            self._run(otherwise)
            reached = reached or not self.ended
            self.go(done)
        if reached:
            self.begin(done)

    def _for(self, node: ast.For, counter: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """The bounds are computed once; what the body assigns to the counter's name does not count."""
        given = [self.convert(self.value(bound), INT, node) for bound in bounds]
        first, last = (integer(0), given[0]) if len(given) == 1 else (given[0], given[1])
        step = given[2].known if len(given) > 2 else 1
        if not step:
            self.refuse(node, "the step of a range is a constant")
        mark, own = self.mark(), self.reserve("i64")
        self.do(f"store i64 {first.one}, ptr {own}, align 8")
        self.go(f"{mark}_head")
        self.begin(f"{mark}_head")
        now = self.let(f"load i64, ptr {own}, align 8")
        more = self.let(f"icmp {'slt' if step > 0 else 'sgt'} i64 {now}, {last.one}")
        self.branch(more, f"{mark}_body", f"{mark}_done")
        self.begin(f"{mark}_body")
        self._assign_name(node, counter, Value(INT, (now,)))
        self._loop(f"{mark}_next", f"{mark}_done", body)
        self.begin(f"{mark}_next")
        self.do(f"store i64 {self.let(f'add nsw i64 {now}, {step}')}, ptr {own}, align 8")
        self.go(f"{mark}_head")
        self.begin(f"{mark}_done")

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        mark = self.mark()
        self.go(f"{mark}_head")
        self.begin(f"{mark}_head")
        condition = self.condition(test)
        endless = condition.known is not None and bool(condition.known)
        if endless:
            self.go(f"{mark}_body")
        else:
            self.branch(condition.one, f"{mark}_body", f"{mark}_done")
        self.begin(f"{mark}_body")
        left = self._loop(f"{mark}_head", f"{mark}_done", body)
        if left or not endless:
            self.begin(f"{mark}_done")

    def _loop(self, again: str, done: str, body: Sequence[ast.stmt]) -> bool:
        """The body of a loop; whether `break` leaves it."""
        self._loops.append(_Loop(again, done))
        self._run(body)
        self.go(again)
        return self._loops.pop().left

    def _return(self, node: ast.Return, value: ast.expr | None) -> None:
        kind: Type = self._instance.result
        if value is None or kind == NOTHING:
            if kind != NOTHING or value is not None:
                self.refuse(node, f"the function returns {kind}")
            self.leave("ret void")
            return
        parts, result = self.convert(self.value(value), kind, node).parts, self._instance.llvm_result
        if len(parts) == 1:
            self.leave(f"ret {result} {parts[0]}")
            return
        made = "poison"
        for k, (part, name) in enumerate(zip(kind.parts, parts, strict=True)):
            made = self.let(f"insertvalue {result} {made}, {part} {name}, {k}")
        self.leave(f"ret {result} {made}")
