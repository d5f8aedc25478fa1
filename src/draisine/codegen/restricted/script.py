"""Restricted Python as JavaScript: the same functions over objects whose fields are typed arrays.

Records become objects of the same fields, matrices arrays of their rows. Numbers are doubles throughout, so that integers are
exact up to 2⁵³; kernels are functions of their arguments and results.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from draisine.codegen.restricted.entry import source_file

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
_COMPARED = {ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_NAMES = {
    "math.inf": "Infinity",
    "math.sqrt": "Math.sqrt",
    "math.cos": "Math.cos",
    "math.sin": "Math.sin",
    "math.floor": "Math.floor",
    "math.isfinite": "Number.isFinite",
    "abs": "Math.abs",
    "float": "Number",
    "new": "new_",  # reserved in JavaScript
}
_HEAD = "const call_kernel = (kernel, given, results) => kernel(...given, ...results);"


def script(modules: Iterable[str], exported: Sequence[str], home: str) -> str:
    """Modules, callees first, as a classic script that assigns an object of the exported names to `home`."""
    parts = [_HEAD]
    for module in modules:
        for node in ast.parse(source_file(module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                parts += _function(node)
            elif isinstance(node, ast.Assign):
                parts.append(f"const {_expression(node.targets[0])} = {_expression(node.value)};")
    text = "\n".join(parts)
    return f'(function () {{\n"use strict";\n{text}\n{home} = {{ {", ".join(exported)} }};\n}})();\n'


def _function(node: ast.FunctionDef) -> list[str]:
    given = [_NAMES.get(argument.arg, argument.arg) for argument in node.args.args]
    assigned = [_NAMES.get(n.id, n.id) for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    local = [name for name in dict.fromkeys(assigned) if name not in given]
    head = [f"function {node.name}({', '.join(given)}) {{", *([f"let {', '.join(local)};"] if local else [])]
    return [*head, *_block(node.body), "}"]


def _block(statements: Sequence[ast.stmt]) -> list[str]:
    return [line for statement in statements for line in _statement(statement)]


def _statement(node: ast.stmt) -> list[str]:
    match node:
        case ast.Assign(targets=[target]):
            return [f"{_expression(target)} = {_expression(node.value)};"]
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
        case ast.Expr(value=ast.Constant()):
            return []
        case ast.Expr(value=value):
            return [f"{_expression(value)};"]
    raise TypeError(f"line {node.lineno}: {ast.unparse(node)!r} has no counterpart in JavaScript")


def _loop(name: str, bounds: Sequence[str]) -> str:
    first, last, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1") if len(bounds) == 2 else bounds
    backwards = step.startswith("-") or step.startswith("(-")
    return f"for ({name} = {first}; {name} {'>' if backwards else '<'} {last}; {name} += {step})"


def _expression(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=bool() as value):
            return "true" if value else "false"
        case ast.Constant(value=int() | float() as value):
            return repr(value)
        case ast.Name(id=name):
            return _NAMES.get(name, name)
        case ast.Attribute(value=value, attr=name):
            return _NAMES.get(ast.unparse(node), f"{_expression(value)}.{name}")
        case ast.Subscript(value=value, slice=ast.Tuple(elts=indices)):
            return _expression(value) + "".join(f"[{_expression(index)}]" for index in indices)
        case ast.Subscript(value=value, slice=index):
            return f"{_expression(value)}[{_expression(index)}]"
        case ast.Tuple(elts=items):
            return f"[{', '.join(_expression(item) for item in items)}]"
        case ast.Call(func=ast.Name(id="len"), args=[given]):
            return f"{_expression(given)}.length"
        case ast.Call(func=function, args=given):
            return f"{_expression(function)}({', '.join(_expression(one) for one in given)})"
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
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return f"{_expression(left)} {_COMPARED[type(op)]} {_expression(right)}"
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return f"{_expression(test)} ? {_expression(body)} : {_expression(otherwise)}"
    raise TypeError(f"line {node.lineno}: {ast.unparse(node)!r} has no counterpart in JavaScript")
