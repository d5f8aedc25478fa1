"""Sources of restricted functions: their syntax trees, and which modules the meaning of a name comes from."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


@dataclass(frozen=True, eq=False)
class Source:
    """A module's functions, and the modules that it imports names from."""

    module: str
    file: str
    functions: dict[str, ast.FunctionDef]
    imported: dict[str, str]  # name → module

    def value(self, name: str) -> Any:
        """What a global name stands for; KeyError if for nothing."""
        return vars(sys.modules[self.module])[name]

    def origins(self, name: str) -> set[str]:
        """The modules that decide what a global name stands for: this one, and those it is handed on by."""
        found, at = {self.module}, self
        while at.imported.get(name, at.module) not in found and at.imported[name] in sys.modules:
            at = source_of(at.imported[name])
            found.add(at.module)
        return found


@cache
def source_of(module: str) -> Source:
    """The parsed source of a module that is loaded."""
    file = str(sys.modules[module].__file__)
    tree = ast.parse(Path(file).read_text(encoding="utf-8"), file)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    imported: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imported |= {alias.asname or alias.name: node.module for alias in node.names}
    return Source(module, file, functions, imported)


def definition(function: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """Where a function is defined."""
    source = source_of(function.__module__)
    try:
        return source, source.functions[function.__name__]
    except KeyError:
        raise SyntaxError(
            f"{function.__qualname__!r} is not defined at the top of {source.module}; restricted functions are"
        ) from None


def is_restricted(value: Any) -> bool:
    """Whether a value is a function that can be translated."""
    return isinstance(value, FunctionType) and isinstance(sys.modules.get(value.__module__), ModuleType)
