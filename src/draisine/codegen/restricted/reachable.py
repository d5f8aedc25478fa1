"""Restricted functions that an entry reaches, as trees for translations to other languages.

Fields of records with constant values (`Options.fixed`) decide conditions, as in the translation to LLVM: code that they exclude
is left out, with all that only it calls. Functions and constants of all modules are in one scope; of two with the same name the
later ones have the name of their module in front.
"""

from __future__ import annotations

import ast
import copy
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from draisine.codegen.restricted.unit import definition, is_restricted, source_of

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass
class Reached:
    """Functions by their names, callers first, with their modules, and the constants that they use."""

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    constants: dict[str, float] = field(default_factory=dict)


def reached(module: ModuleType, names: Sequence[str], fixed: Mapping[tuple[type[Any], str], int] | None = None) -> Reached:
    """Functions and constants of a module, and all that these functions reach."""
    return _Search({name: value for (_, name), value in (fixed or {}).items()}).run(module, names)


class _Search:
    def __init__(self, fixed: Mapping[str, int]) -> None:
        self.fixed = fixed
        self.found = Reached()
        self.known: dict[tuple[str, str], str] = {}  # (module, name) of functions and constants → their names in the scope
        self.waiting: list[Callable[..., Any]] = []

    def run(self, module: ModuleType, names: Sequence[str]) -> Reached:
        for name in names:
            value = getattr(module, name)
            if is_restricted(value):
                self.name_of_function(value)
            else:
                self.name_of_constant(module.__name__, name, value)
        while self.waiting:
            one = self.waiting.pop(0)
            source, tree = definition(one)
            name = self.known[source.module, tree.name]
            tree = copy.deepcopy(tree)
            tree.name = name
            tree.body = prune(tree.body, self.fixed) or [ast.Pass()]
            _Renamed(self, source.module, tree).visit_body(tree)
            self.found.functions[name], self.found.modules[name] = tree, source.module
        source_of.cache_clear()  # parsed sources take more memory than all the rest
        return self.found

    def name_of_function(self, function: Callable[..., Any]) -> str:
        key = function.__module__, function.__name__
        if key not in self.known:
            self.known[key] = self._free_name(*key)
            self.waiting.append(function)
        return self.known[key]

    def name_of_constant(self, module: str, name: str, value: float) -> str:
        home = module
        while (origin := source_of(home).imported.get(name)) is not None:
            home = origin
        if (home, name) not in self.known:
            self.known[home, name] = self._free_name(home, name)
            self.found.constants[self.known[home, name]] = value
        return self.known[home, name]

    def _free_name(self, module: str, name: str) -> str:
        return name if name not in self.known.values() else f"{module.rpartition('.')[2]}_{name}"


class _Renamed(ast.NodeTransformer):
    """Names of functions and constants in the common scope."""

    def __init__(self, search: _Search, module: str, tree: ast.FunctionDef) -> None:
        self.search, self.module = search, module
        self.space = vars(sys.modules[module])
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.local = stored | {a.arg for a in tree.args.args}

    def visit_body(self, tree: ast.FunctionDef) -> None:
        tree.body = [self.visit(statement) for statement in tree.body]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.local or node.id not in self.space:
            return node
        value = self.space[node.id]
        if isinstance(value, int | float):
            return ast.copy_location(ast.Name(self.search.name_of_constant(self.module, node.id, value), node.ctx), node)
        if is_restricted(value) and value.__module__.startswith("draisine.") and not _is_intrinsic(value):
            return ast.copy_location(ast.Name(self.search.name_of_function(value), node.ctx), node)
        return node


def _is_intrinsic(value: Any) -> bool:
    return value.__module__ == "draisine.codegen.restricted.types"


# ---------------------------------------------------------------------------------------------- code that is excluded


def prune(statements: Sequence[ast.stmt], fixed: Mapping[str, int]) -> list[ast.stmt]:
    """The statements without those that fixed fields, and returns before them, exclude."""
    folding, found = _Folding(fixed), list[ast.stmt]()
    for statement in statements:
        match folding.visit(statement):
            case ast.If(test=ast.Constant(value=known), body=body, orelse=otherwise):
                found += prune(body if known else otherwise, fixed)
            case ast.If() as choice:
                choice.body, choice.orelse = prune(choice.body, fixed) or [ast.Pass()], prune(choice.orelse, fixed)
                found.append(choice)
            case ast.For(iter=ast.Call(args=[ast.Constant(value=0)])) | ast.While(test=ast.Constant(value=False)):
                continue
            case (ast.For() | ast.While()) as loop:
                loop.body = prune(loop.body, fixed) or [ast.Pass()]
                found.append(loop)
            case other:
                found.append(other)
        if found and isinstance(found[-1], ast.Return | ast.Break | ast.Continue):
            return found
    return found


class _Folding(ast.NodeTransformer):
    """Conditions that fixed fields decide. Statements inside of others are left to `prune`."""

    def __init__(self, fixed: Mapping[str, int]) -> None:
        self.fixed = fixed

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.visit(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self.visit(node.test)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        node.iter = self.visit(node.iter)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr in self.fixed:
            if not isinstance(node.ctx, ast.Load):
                raise TypeError(f"line {node.lineno}: field {node.attr!r} is assigned, and cannot be fixed")
            return ast.copy_location(ast.Constant(self.fixed[node.attr]), node)
        node.value = self.visit(node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(left=ast.Constant(value=one), ops=[op], comparators=[ast.Constant(value=other)]):
                return ast.copy_location(ast.Constant(_COMPARED[type(op)](one, other)), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.copy_location(ast.Constant(not node.operand.value), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        values, decides = list[ast.expr](), isinstance(node.op, ast.Or)
        for value in node.values:
            folded = self.visit(value)
            if not isinstance(folded, ast.Constant):
                values.append(folded)
            elif bool(folded.value) is decides:
                values.append(folded)
                break
        if not values:
            return ast.copy_location(ast.Constant(not decides), node)
        node.values = values
        return values[0] if len(values) == 1 else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
