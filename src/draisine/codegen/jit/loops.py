"""Small functions of loops on arrays, written once in Python: here their source becomes machine code.

Such a function runs in Python as it stands and is compiled by Numba in the stepping loop; kernels hold it as machine code
without Numba. It may use what it needs and no more: parameters that are `Integers` (array of 32-bit integers), `Numbers` (array
of doubles), `int` or `float`; assignment, `for … in range(…)`, `if`, arithmetic, comparison, `abs`, `math.sqrt`, `conjugate`
and `.real` (both mean nothing for doubles), integer constants of its module, and calls of other such functions.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence

from draisine.codegen.jit.emitter import number
from draisine.codegen.jit.engine import compile_ir, optimised

_KINDS = {"Integers": "i32*", "Numbers": "double*", "int": "i64", "float": "double"}
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
_COMPARISON = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def loops_code(*functions: Callable[..., None], prefix: str) -> bytes:
    """Object code of functions, callees before their callers; their names there begin with the prefix."""
    parameters: dict[str, list[str]] = {}
    texts = [_Writer(function, prefix, parameters).text() for function in functions]
    declared = [f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "fabs")]
    return compile_ir(optimised("\n".join([*declared, *texts])))


class _Writer:
    """The text of one function. Every local name has a place on the stack, which the optimiser turns into registers."""

    def __init__(self, function: Callable[..., None], prefix: str, parameters: dict[str, list[str]]) -> None:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef)
        self._tree, self._prefix, self._constants, self._parameters = tree, prefix, function.__globals__, parameters
        self._kinds = {a.arg: _KINDS[ast.unparse(a.annotation)] for a in tree.args.args if a.annotation}
        parameters[tree.name] = list(self._kinds.values())
        self._places: dict[str, tuple[str, str]] = {}  # of local names: (kind, place)
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        given = [f"ptr noalias %{n}" if kind.endswith("*") else f"{kind} %{n}" for n, kind in self._kinds.items()]
        self._body(self._tree.body)
        head = f"define void @{self._prefix}{self._tree.name}({', '.join(given)}) nounwind {{"
        return "\n".join([head, "entry:", *self._entry, *self._lines, "ret void", "}"])

    # ---------------------------------------------------------------- statements

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Expr(ast.Constant()):
                    continue  # documentation
                case ast.Expr(ast.Call(ast.Name(name), arguments)):
                    given = zip(self._parameters[name], arguments, strict=True)
                    self._do(f"call void @{self._prefix}{name}({', '.join(self._argument(kind, a) for kind, a in given)})")
                case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                    made = [self._value(v) for v in values]
                    for target, value in zip(targets, made, strict=True):
                        self._store(target, value)
                case ast.Assign([target], value):
                    self._store(target, self._value(value))
                case ast.AugAssign(target, operation, value):
                    self._store(target, self._combine(operation, self._value(target), self._value(value)))
                case ast.For(ast.Name(counter), ast.Call(ast.Name("range"), bounds), body):
                    self._loop(counter, bounds, body)
                case ast.If(condition, body, otherwise):
                    self._choice(condition, body, otherwise)
                case _:
                    raise self._strange(statement)

    def _argument(self, kind: str, argument: ast.expr) -> str:
        if kind.endswith("*"):
            return f"ptr %{ast.unparse(argument)}"
        return f"{kind} {self._value(argument)[1]}"

    def _store(self, target: ast.expr, value: tuple[str, str]) -> None:
        kind, name = value
        if isinstance(target, ast.Name):
            if target.id not in self._places:
                self._places[target.id] = kind, f"%at_{target.id}"
                self._entry.append(f"%at_{target.id} = alloca {kind}, align 8")
            self._do(f"store {kind} {name}, ptr {self._places[target.id][1]}, align 8")
            return
        kept, place = self._element(target)
        if kept == "i32":
            name = self._let(f"trunc i64 {name} to i32")
        self._do(f"store {kept} {name}, ptr {place}, align {4 if kept == 'i32' else 8}")

    def _loop(self, counter: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        if len(bounds) == 1:
            bounds = [ast.Constant(0), *bounds]
        step = int(ast.literal_eval(bounds[2])) if len(bounds) > 2 else 1
        mark, last = self._mark(), self._value(bounds[1])[1]
        own = f"{counter}_{mark}"  # what the body assigns to the counter's name does not count
        self._store(ast.Name(own), self._value(bounds[0]))
        self._label(f"{mark}_head")
        now = self._value(ast.Name(own))
        more = self._let(f"icmp {'slt' if step > 0 else 'sgt'} i64 {now[1]}, {last}")
        self._do(f"br i1 {more}, label %{mark}_body, label %{mark}_done")
        self._lines.append(f"{mark}_body:")
        self._store(ast.Name(counter), now)
        self._body(body)
        self._store(ast.Name(own), ("i64", self._let(f"add nsw i64 {now[1]}, {step}")))
        self._do(f"br label %{mark}_head")
        self._lines.append(f"{mark}_done:")

    def _choice(self, condition: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        mark, truth = self._mark(), self._value(condition)[1]
        self._do(f"br i1 {truth}, label %{mark}_then, label %{mark}_else")
        self._lines.append(f"{mark}_then:")
        self._body(body)
        self._do(f"br label %{mark}_done")
        self._lines.append(f"{mark}_else:")
        self._body(otherwise)
        self._label(f"{mark}_done")

    # ---------------------------------------------------------------- expressions: (kind, name)

    def _value(self, e: ast.expr) -> tuple[str, str]:
        match e:
            case ast.Constant(bool() | str()):
                raise self._strange(e)
            case ast.Constant(int(n)):
                return "i64", str(n)
            case ast.Constant(float(x)):
                return "double", number(x)
            case ast.Name(name) if name in self._places:
                kind, place = self._places[name]
                return kind, self._let(f"load {kind}, ptr {place}, align 8")
            case ast.Name(name) if name in self._kinds:
                return self._kinds[name], f"%{name}"
            case ast.Name(name) if isinstance(self._constants.get(name), int):
                return "i64", str(self._constants[name])
            case ast.Subscript():
                kind, place = self._element(e)
                if kind == "i32":
                    return "i64", self._let(f"sext i32 {self._let(f'load i32, ptr {place}, align 4')} to i64")
                return kind, self._let(f"load {kind}, ptr {place}, align 8")
            case ast.UnaryOp(ast.USub(), inner):
                kind, name = self._value(inner)
                return kind, self._let(f"fneg double {name}" if kind == "double" else f"sub i64 0, {name}")
            case ast.BinOp(left, operation, right):
                return self._combine(operation, self._value(left), self._value(right))
            case ast.Compare(left, [comparison], [right]):
                (kind, one), (_, other) = self._value(left), self._value(right)
                word = _COMPARISON[type(comparison)]
                ordered = {"ne": "une"}.get(word, f"o{word}")
                whole = word if word in ("eq", "ne") else f"s{word}"
                return "i1", self._let(
                    f"fcmp {ordered} double {one}, {other}" if kind == "double" else f"icmp {whole} i64 {one}, {other}"
                )
            case ast.Attribute(inner, "real") | ast.Call(ast.Name("conjugate"), [inner]):
                return self._value(inner)
            case ast.Call(ast.Name("abs") | ast.Attribute(ast.Name("math"), "sqrt"), [inner]):
                which = "fabs" if isinstance(e.func, ast.Name) else "sqrt"
                return "double", self._let(f"call double @llvm.{which}.f64(double {self._value(inner)[1]})")
        raise self._strange(e)

    def _combine(self, operation: ast.operator, one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
        kind, word = one[0], _ARITHMETIC[type(operation)]
        # a product and the sum it goes into may become one instruction
        text = f"f{word} contract double" if kind == "double" else f"{word} nsw i64"
        return kind, self._let(f"{text} {one[1]}, {other[1]}")

    def _element(self, e: ast.expr) -> tuple[str, str]:
        match e:
            case ast.Subscript(ast.Name(array), index):
                kind = self._kinds[array].removesuffix("*")
                return kind, self._let(f"getelementptr inbounds {kind}, ptr %{array}, i64 {self._value(index)[1]}")
        raise self._strange(e)

    # ---------------------------------------------------------------- lines

    def _strange(self, node: ast.AST) -> SyntaxError:
        return SyntaxError(f"function {self._tree.name!r}: {ast.unparse(node)!r} is beyond what compiled loops may use")

    def _mark(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def _let(self, operation: str) -> str:
        self._count += 1
        self._do(f"%v{self._count} = {operation}")
        return f"%v{self._count}"

    def _label(self, label: str) -> None:
        self._do(f"br label %{label}")
        self._lines.append(f"{label}:")

    def _do(self, line: str) -> None:
        self._lines.append(line)
