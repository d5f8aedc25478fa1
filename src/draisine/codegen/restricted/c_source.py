"""Restricted Python as C99: static functions over records, whose arrays are pointers with their lengths.

All numbers are real. Types of local names follow from their first assignments, as in the translation to LLVM. Records are passed
by address; kernels are functions of tables of arguments and results.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from draisine.codegen.restricted.reachable import Reached
from draisine.codegen.restricted.types import INT, REAL, ArrayType, RecordType, Type

INTEGER, NUMBER, TRUTH, KERNEL, NOTHING = "long", "double", "int", "Kernel", "void"
_ARRAYS = {("float", 1): "Vector", ("float", 2): "Matrix", ("int", 1): "Integers", ("int", 2): "IntegerMatrix"}
_ROWS = {"Matrix": "Vector", "IntegerMatrix": "Integers"}
_ELEMENTS = {"Vector": NUMBER, "Matrix": NUMBER, "Integers": INTEGER, "IntegerMatrix": INTEGER}
_ANNOTATIONS = {
    "int": INTEGER,
    "float": NUMBER,
    "bool": TRUTH,
    "None": NOTHING,
    **{name: name for name in _ELEMENTS},
    **{"Number": NUMBER, "Numbers": "Vector", "NumberMatrix": "Matrix", "AnyIntegers": "Integers"},
}
_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_MATH = {"sqrt": "sqrt", "cos": "cos", "sin": "sin", "copysign": "copysign", "pow": "pow", "log": "log"}
_RESERVED = frozenset(
    (
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float"),
        *("for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static"),
        *("struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
    )
)
PREAMBLE = """#include <math.h>
#include <string.h>

typedef struct { double *at; long length; } Vector;
typedef struct { long *at; long length; } Integers;
typedef struct { double *at; long rows, columns; } Matrix;
typedef struct { long *at; long rows, columns; } IntegerMatrix;
typedef struct { double first, second; } Pair;
typedef void (*Kernel)(const double *const *given, double *const *taken);

static Vector part_of(Vector v, long first, long last) { Vector p; p.at = v.at + first; p.length = last - first; return p; }
static Vector row_of(Matrix m, long i) { Vector r; r.at = m.at + i * m.columns; r.length = m.columns; return r; }
static Integers integer_row_of(IntegerMatrix m, long i) {
  Integers r; r.at = m.at + i * m.columns; r.length = m.columns; return r;
}
static double square_of(double x) { return x * x; }
/* a quotient is rounded down, and NaN is neither less nor greater than a number */
static long quotient_of(long a, long b) { long q = a / b; return q - (a % b != 0 && ((a < 0) != (b < 0))); }
static long modulo_of(long a, long b) { return a - b * quotient_of(a, b); }
static double least_of(double a, double b) { return b < a ? b : a; }
static double greatest_of(double a, double b) { return b > a ? b : a; }
static long least_of_integers(long a, long b) { return b < a ? b : a; }
static long greatest_of_integers(long a, long b) { return b > a ? b : a; }
"""


class Value(NamedTuple):
    """An expression and its type."""

    text: str
    kind: str


def c_kind(kind: Type, is_kernel: bool = False) -> str:
    """The C type of a field."""
    if is_kernel:
        return KERNEL
    if isinstance(kind, ArrayType):
        return _ARRAYS[kind.element, kind.ndim]
    if isinstance(kind, RecordType):
        return f"{kind.record.__name__} *"
    return {INT: INTEGER, REAL: NUMBER}[kind]


def c_number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return repr(value) if math.isfinite(value) else "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


def c_text(found: Reached, fields: Mapping[str, Mapping[str, str]]) -> str:
    """Functions and constants; `fields` are the C types of the used fields of each record."""
    signatures = {name: _signature(tree) for name, tree in found.functions.items()}
    constants = dict(found.constants)
    whole = ", ".join(f"{name} = {value}" for name, value in constants.items() if isinstance(value, int))
    lines = [f"enum {{ {whole} }};"] if whole else []
    lines += [f"static const double {n} = {c_number(v)};" for n, v in constants.items() if not isinstance(v, int)]
    heads = {name: _head(name, tree, signatures[name]) for name, tree in found.functions.items()}
    lines += ["", *(f"{head};" for head in heads.values()), ""]
    for name, tree in found.functions.items():
        lines += [f"{heads[name]} {{", *_Body(tree, signatures, fields, constants).lines(), "}", ""]
    return "\n".join(lines)


class _Signature(NamedTuple):
    taken: tuple[str, ...]
    result: str


def _signature(tree: ast.FunctionDef) -> _Signature:
    return _Signature(tuple(_annotated(argument.annotation) for argument in tree.args.args), _annotated(tree.returns))


def _annotated(annotation: ast.expr | None) -> str:
    assert annotation is not None
    text = ast.unparse(annotation)
    if text == "tuple[float, float]":
        return "Pair"
    return _ANNOTATIONS.get(text, f"{text} *")


def _safe(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


def _head(name: str, tree: ast.FunctionDef, signature: _Signature) -> str:
    given = [f"{kind} {_safe(a.arg)}".replace("* ", "*") for kind, a in zip(signature.taken, tree.args.args, strict=True)]
    return f"static {signature.result} {_safe(name)}({', '.join(given)})"


class _Body:
    """The statements of one function."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        signatures: Mapping[str, _Signature],
        fields: Mapping[str, Mapping[str, str]],
        constants: Mapping[str, float],
    ) -> None:
        self.tree, self.signatures, self.fields, self.constants = tree, signatures, fields, constants
        own = signatures[tree.name]
        self.given = {a.arg for a in tree.args.args}
        self.kinds = {a.arg: kind for a, kind in zip(tree.args.args, own.taken, strict=True)}
        self.result = own.result

    def lines(self) -> list[str]:
        body = self.block(self.tree.body)
        local = {name: kind for name, kind in self.kinds.items() if name not in self.given}
        zero = {"Vector": "{0, 0}", "Integers": "{0, 0}", "Matrix": "{0, 0, 0}", "IntegerMatrix": "{0, 0, 0}"}
        declared = [f"{kind} {_safe(name)} = {zero.get(kind, '0')};".replace("* ", "*") for name, kind in local.items()]
        read = {node.id for statement in self.tree.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
        unused = [f"(void){_safe(name)};" for name in (*local, *sorted(self.given - read))]  # some loops only count
        return [*declared, *unused, *body]

    def block(self, statements: Iterable[ast.stmt]) -> list[str]:
        return [line for statement in statements for line in self.statement(statement)]

    # ---------------------------------------------------------------- statements

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                found = [self.value(value) for value in values]
                kept = [f"{kind} v{k} = {text};" for k, (text, kind) in enumerate(found)]
                stored = [
                    self.store(target, Value(f"v{k}", one.kind))
                    for k, (target, one) in enumerate(zip(targets, found, strict=True))
                ]
                return [f"{{ {' '.join([*kept, *stored])} }}"]
            case ast.Assign(targets=[ast.Tuple(elts=[first, second])]):
                text, kind = self.value(node.value)
                stored = [self.store(first, Value("pair.first", NUMBER)), self.store(second, Value("pair.second", NUMBER))]
                return [f"{{ {kind} pair = {text}; {' '.join(stored)} }}"]
            case ast.Assign(targets=[target]):
                return [self.store(target, self.value(node.value))]
            case ast.AugAssign(target=target, op=op):
                read = ast.parse(ast.unparse(target), mode="eval").body
                return [self.store(target, self.combined(self.value(read), op, self.value(node.value)))]
            case ast.Return(value=None):
                return ["return;"]
            case ast.Return(value=ast.Tuple(elts=[first, second])):
                parts = f"pair.first = {self.value(first).text}; pair.second = {self.value(second).text};"
                return [f"{{ Pair pair; {parts} return pair; }}"]
            case ast.Return(value=ast.expr() as value):
                return [f"return {self.value(value).text};"]
            case ast.If():
                otherwise = ["} else {", *self.block(node.orelse)] if node.orelse else []
                return [f"if ({self.value(node.test).text}) {{", *self.block(node.body), *otherwise, "}"]
            case ast.While():
                return [f"while ({self.value(node.test).text}) {{", *self.block(node.body), "}"]
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds)):
                return self.loop(name, [self.value(bound).text for bound in bounds], node.body)
            case ast.Break():
                return ["break;"]
            case ast.Continue():
                return ["continue;"]
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="call_kernel"), args=[kernel, ast.Tuple() as one, ast.Tuple() as other])
            ):
                tables = [", ".join(f"{self.value(one).text}.at" for one in table.elts) for table in (one, other)]
                call = f"{self.value(kernel).text}(given, taken);"
                return [f"{{ const double *given[] = {{{tables[0]}}}; double *taken[] = {{{tables[1]}}}; {call} }}"]
            case ast.Expr(value=value):
                return [f"{self.value(value).text};"]
        raise self.refused(node)

    def store(self, target: ast.expr, value: Value) -> str:
        if isinstance(target, ast.Name):
            self.kinds.setdefault(target.id, value.kind)
            return f"{_safe(target.id)} = {value.text};"
        return f"{self.value(target).text} = {value.text};"

    def loop(self, name: str, bounds: Sequence[str], body: Sequence[ast.stmt]) -> list[str]:
        first, last, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1") if len(bounds) == 2 else bounds
        self.kinds.setdefault(name, INTEGER)
        sign = ">" if step.lstrip("(").startswith("-") else "<"
        head = f"for (long k_ = {first}, last_ = {last}; k_ {sign} last_; k_ += {step}) {{ {_safe(name)} = k_;"
        return [head, *self.block(body), "}"]

    # ---------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() as known):
                return Value(str(int(known)), TRUTH)
            case ast.Constant(value=int() | float() as known):
                return Value(c_number(known), INTEGER if isinstance(known, int) else NUMBER)
            case ast.Name(id=name) if name in self.kinds:
                return Value(_safe(name), self.kinds[name])
            case ast.Name(id=name) if name in self.constants:
                return Value(name, INTEGER if isinstance(self.constants[name], int) else NUMBER)
            case ast.Attribute(value=ast.Name(id="math"), attr="inf" | "nan" as name):
                return Value({"inf": "INFINITY", "nan": "NAN"}[name], NUMBER)
            case ast.Attribute(value=value, attr="real") | ast.Call(func=ast.Attribute(value=value, attr="conjugate")):
                return self.value(value)
            case ast.Attribute(attr="imag"):
                return Value("0.0", NUMBER)
            case ast.Attribute(value=value, attr=name):
                record = self.value(value)
                return Value(f"{record.text}->{name}", self.fields[record.kind.removesuffix(" *")][name])
            case ast.Subscript():
                return self.element(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                text, kind = self.value(operand)
                return Value(f"(-{text})", kind)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value(f"(!{self.value(operand).text})", TRUTH)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combined(self.value(left), op, self.value(right))
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                return Value(f"({sign.join(self.value(one).text for one in values)})", TRUTH)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                sides = [self.value(side).text for side in (left, *rights)]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return Value(f"({' && '.join(f'{one} {_COMPARED[type(op)]} {other}' for one, op, other in pairs)})", TRUTH)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                one, other = self.value(body), self.value(otherwise)
                return Value(f"({self.value(test).text} ? {one.text} : {other.text})", _common(one, other))
            case ast.Call(func=function, args=given):
                return self.call(node, function, [self.value(one) for one in given])
        raise self.refused(node)

    def element(self, node: ast.Subscript) -> Value:
        array = self.value(node.value)
        match node.slice:
            case ast.Tuple(elts=[first, second]):
                place = f"{self.value(first).text} * {array.text}.columns + {self.value(second).text}"
                return Value(f"{array.text}.at[{place}]", _ELEMENTS[array.kind])
            case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper):
                return Value(f"part_of({array.text}, {self.value(lower).text}, {self.value(upper).text})", array.kind)
            case index if array.kind in _ROWS:
                name = "row_of" if array.kind == "Matrix" else "integer_row_of"
                return Value(f"{name}({array.text}, {self.value(index).text})", _ROWS[array.kind])
            case index:
                return Value(f"{array.text}.at[{self.value(index).text}]", _ELEMENTS[array.kind])

    def combined(self, one: Value, op: ast.operator, other: Value) -> Value:
        match op:
            case ast.Pow():
                return Value(f"square_of({one.text})" if other.text == "2" else f"pow({one.text}, {other.text})", NUMBER)
            case ast.FloorDiv():
                return Value(f"quotient_of({one.text}, {other.text})", INTEGER)
            case ast.Mod():
                return Value(f"modulo_of({one.text}, {other.text})", INTEGER)
            case ast.Div():
                return Value(f"((double){one.text} / {other.text})", NUMBER)
        return Value(f"({one.text} {_BINARY[type(op)]} {other.text})", _common(one, other))

    def call(self, node: ast.Call, function: ast.expr, given: Sequence[Value]) -> Value:
        texts = ", ".join(one.text for one in given)
        match function:
            case ast.Name(id="len"):
                return Value(f"{texts}.length", INTEGER)
            case ast.Name(id="int"):
                return Value(f"((long){texts})", INTEGER)
            case ast.Name(id="float"):
                return Value(f"((double){texts})", NUMBER)
            case ast.Name(id="abs"):
                whole = given[0].kind == INTEGER
                return Value(f"greatest_of_integers({texts}, -({texts}))" if whole else f"fabs({texts})", given[0].kind)
            case ast.Name(id="min" | "max" as name):
                kind = INTEGER if all(one.kind == INTEGER for one in given) else NUMBER
                word = {"min": "least_of", "max": "greatest_of"}[name] + ("_integers" if kind == INTEGER else "")
                text = given[0].text
                for one in given[1:]:
                    text = f"{word}({text}, {one.text})"
                return Value(text, kind)
            case ast.Name(id=name) if name in self.signatures:
                return Value(f"{_safe(name)}({texts})", self.signatures[name].result)
            case ast.Attribute(value=ast.Name(id="math"), attr="isfinite" | "isnan" as name):
                return Value(f"({name}({texts}) != 0)", TRUTH)
            case ast.Attribute(value=ast.Name(id="math"), attr="floor"):
                return Value(f"((long)floor({texts}))", INTEGER)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in _MATH:
                return Value(f"{_MATH[name]}({texts})", NUMBER)
        raise self.refused(node)

    def refused(self, node: Any) -> TypeError:
        return TypeError(f"{self.tree.name}, line {node.lineno}: {ast.unparse(node)!r} has no counterpart in C")


def _common(one: Value, other: Value) -> str:
    if one.kind == other.kind:
        return one.kind
    kinds = {one.kind, other.kind}
    return NUMBER if NUMBER in kinds else INTEGER if INTEGER in kinds else one.kind
