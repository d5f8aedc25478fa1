"""Restricted Python as JavaScript: the same functions over objects whose fields are typed arrays.

Records become objects of the same fields, matrices arrays of their rows. Numbers are doubles throughout, so that integers are
exact up to 2⁵³; kernels are functions of their arguments and results.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from draisine.codegen.restricted.entry import Entry
from draisine.codegen.restricted.reachable import reached

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_CALLED = {ast.Mod: "$modulo", ast.FloorDiv: "$quotient"}
_COMPARED = {ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_NAMES = {
    "math.inf": "Infinity",
    "math.nan": "NaN",
    "math.sqrt": "Math.sqrt",
    "math.log": "Math.log",
    "math.cos": "Math.cos",
    "math.sin": "Math.sin",
    "math.floor": "Math.floor",
    "math.isfinite": "Number.isFinite",
    "math.isnan": "Number.isNaN",
    "abs": "Math.abs",
    "int": "Math.trunc",
    "float": "Number",
    "min": "$least",
    "max": "$greatest",
    "math.copysign": "$copysign",
    "new": "new_",  # reserved in JavaScript
    "static": "static_",
}
# Semantics of Python: a quotient is rounded down, and NaN is neither less nor greater than a number.
_HEAD = """const $quotient = (a, b) => Math.floor(a / b);
const $modulo = (a, b) => a - b * Math.floor(a / b);
const $copysign = (a, b) => (b < 0 || Object.is(b, -0) ? -Math.abs(a) : Math.abs(a));
const $square = (a) => a * a;
const $least = (a, b, c = a) => { const one = b < a ? b : a; return c < one ? c : one; };
const $greatest = (a, b, c = a) => { const one = b > a ? b : a; return c > one ? c : one; };"""


def script(entry: Entry, names: Sequence[str], home: str) -> str:
    """The function of an entry, with all that it reaches, as a classic script that assigns an object with it and with other
    functions and constants of its module to `home`."""
    found = reached(entry.home, (entry.function, *names), entry.fixed)
    parts = [_HEAD, *(f"const {name} = {_number(value)};" for name, value in found.constants.items())]
    for tree in found.functions.values():
        parts += _function(tree)
    text = "\n".join(parts)
    return f'(function () {{\n"use strict";\n{text}\n{home} = {{ {", ".join([entry.function, *names])} }};\n}})();\n'


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _function(node: ast.FunctionDef) -> list[str]:
    given = [_NAMES.get(argument.arg, argument.arg) for argument in node.args.args]
    assigned = [_NAMES.get(n.id, n.id) for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    local = [name for name in dict.fromkeys(assigned) if name not in given]
    head = [
        f"function {_NAMES.get(node.name, node.name)}({', '.join(given)}) {{",
        *([f"let {', '.join(local)};"] if local else []),
    ]
    return [*head, *_block(node.body), "}"]


def _block(statements: Sequence[ast.stmt]) -> list[str]:
    return [line for statement in statements for line in _statement(statement)]


def _statement(node: ast.stmt) -> list[str]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            return _assign_several(targets, values)
        case ast.Assign(targets=[target]):
            return [f"{_expression(target)} = {_expression(node.value)};"]
        case ast.AugAssign(op=op) if type(op) in _CALLED:
            place = _expression(node.target)
            return [f"{place} = {_CALLED[type(op)]}({place}, {_expression(node.value)});"]
        case ast.AugAssign():
            return [f"{_expression(node.target)} {_BINARY[type(node.op)]}= {_expression(node.value)};"]
        case ast.Return(value=None):
            return ["return;"]
        case ast.Return(value=value):
            assert value is not None
            return [f"return {_expression(value)};"]
        case ast.If():
            otherwise = ["} else {", *_block(node.orelse)] if node.orelse else []
            return [f"if ({_expression(node.test)}) {{", *_block(node.body), *otherwise, "}"]
        case ast.While():
            return [f"while ({_expression(node.test)}) {{", *_block(node.body), "}"]
        case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"), args=bounds)):
            return [f"{_loop(_expression(target), [_expression(bound) for bound in bounds])} {{", *_block(node.body), "}"]
        case ast.Break():
            return ["break;"]
        case ast.Continue():
            return ["continue;"]
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return []
        case ast.Expr(value=value):
            return [f"{_expression(value)};"]
    raise TypeError(f"line {node.lineno}: {ast.unparse(node)!r} has no counterpart in JavaScript")


def _assign_several(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[str]:
    """All values are computed before any is assigned; one by one where none depends on another target."""
    places, texts = [_expression(target) for target in targets], [_expression(value) for value in values]
    if all(isinstance(value, ast.Constant) for value in values):
        return [f"{place} = {text};" for place, text in zip(places, texts, strict=True)]
    kept = ", ".join(f"v{k} = {text}" for k, text in enumerate(texts))
    return [f"{{ const {kept}; {' '.join(f'{place} = v{k};' for k, place in enumerate(places))} }}"]


def _loop(name: str, bounds: Sequence[str]) -> str:
    """A loop whose bounds are computed once."""
    first, last, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1") if len(bounds) == 2 else bounds
    backwards = step.startswith("-") or step.startswith("(-")
    sign = ">" if backwards else "<"
    return f"for (let k_ = {first}, last_ = {last}; k_ {sign} last_ && (({name} = k_), true); k_ += {step})"


def _expression(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=bool() as value):
            return "true" if value else "false"
        case ast.Constant(value=int() | float() as value):
            return repr(value)
        case ast.Name(id=name):
            return _NAMES.get(name, name)
        case ast.Attribute(value=ast.Name(id="math")) if ast.unparse(node) not in _NAMES:
            raise TypeError(f"line {node.lineno}: {ast.unparse(node)} has no counterpart in JavaScript")
        case ast.Attribute(value=value, attr="real") | ast.Call(func=ast.Attribute(value=value, attr="conjugate")):
            return _expression(value)  # all numbers are real
        case ast.Attribute(attr="imag"):
            return "0.0"
        case ast.Attribute(value=value, attr=name):
            return _NAMES.get(ast.unparse(node), f"{_expression(value)}.{name}")
        case ast.Subscript(value=value, slice=ast.Tuple(elts=indices)):
            return _expression(value) + "".join(f"[{_expression(index)}]" for index in indices)
        case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper)):
            return f"{_expression(value)}.subarray({_expression(lower)}, {_expression(upper)})"
        case ast.Subscript(value=value, slice=index):
            return f"{_expression(value)}[{_expression(index)}]"
        case ast.Tuple(elts=items):
            return f"[{', '.join(_expression(item) for item in items)}]"
        case ast.Call(func=ast.Name(id="len"), args=[given]):
            return f"{_expression(given)}.length"
        case ast.Call(func=ast.Name(id="call_kernel"), args=[kernel, ast.Tuple(elts=given), ast.Tuple(elts=results)]):
            return f"{_expression(kernel)}({', '.join(_expression(one) for one in (*given, *results))})"
        case ast.Call(func=function, args=given):
            return f"{_expression(function)}({', '.join(_expression(one) for one in given)})"
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=2)):
            return f"$square({_expression(left)})"
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"Math.pow({_expression(left)}, {_expression(right)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALLED:
            return f"{_CALLED[type(op)]}({_expression(left)}, {_expression(right)})"
    return f"({_operation(node)})"


def _operation(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return f"{_expression(left)} {_BINARY[type(op)]} {_expression(right)}"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_expression(operand)}"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"!{_expression(operand)}"
        case ast.BoolOp(op=op, values=values):
            return (" && " if isinstance(op, ast.And) else " || ").join(_expression(value) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _COMPARED for op in ops):
            sides = [_expression(side) for side in (left, *rights)]
            pairs = zip(sides, ops, sides[1:], strict=False)
            return " && ".join(f"{one} {_COMPARED[type(op)]} {other}" for one, op, other in pairs)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return f"{_expression(test)} ? {_expression(body)} : {_expression(otherwise)}"
    raise TypeError(f"line {node.lineno}: {ast.unparse(node)!r} has no counterpart in JavaScript")
