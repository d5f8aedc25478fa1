"""Translation units: sources of restricted functions, the functions reached from the entries, and the text of the module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

from draisine.codegen.restricted.types import INT, NOTHING, REAL, ArrayType, Options, Type, constraints, type_of


class Source(NamedTuple):
    """A module's functions, and the modules that it imports names from."""

    module: str
    file: str
    functions: dict[str, ast.FunctionDef]
    imported: dict[str, str]  # name → module

    def value(self, name: str) -> Any:
        """The object of a global name; KeyError if there is none."""
        return vars(sys.modules[self.module])[name]

    def origins(self, name: str) -> set[str]:
        """The modules that determine the object of a global name: this one, and those it is imported through."""
        found, at = {self.module}, self
        while at.imported.get(name, at.module) not in found and at.imported[name] in sys.modules:
            at = source_of(at.imported[name])
            found.add(at.module)
        return found


@cache
def source_of(module: str) -> Source:
    """The parsed source of a loaded module."""
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
            f"{function.__qualname__!r} is not defined at the top level of {source.module}, as restricted functions must be"
        ) from None


def is_restricted(value: Any) -> bool:
    """Whether a value is a function that can be translated."""
    return isinstance(value, FunctionType) and isinstance(sys.modules.get(value.__module__), ModuleType)


# ------------------------------------------------------------------------------------------- units


class Instance(NamedTuple):
    """A function for arguments of given types."""

    symbol: str
    source: Source
    tree: ast.FunctionDef
    parameters: tuple[tuple[str, Type], ...]
    result: Type

    @property
    def llvm_result(self) -> str:
        return result_type(self.result)


def result_type(kind: Type) -> str:
    """The LLVM return type of a function with such a result."""
    parts = kind.parts
    return "void" if not parts else parts[0] if len(parts) == 1 else "{ " + ", ".join(parts) + " }"


class Unit:
    """The functions requested so far; `modules` are those whose sources determine the text."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.modules: set[str] = set()
        self.waiting: list[Instance] = []
        self.texts: list[str] = []
        self._requested: dict[tuple[str, str, tuple[Type, ...]], Instance] = {}
        self._instances: dict[tuple[str, str, tuple[Type, ...]], Instance] = {}
        self._declared: dict[str, None] = {}
        self._structs: dict[type[Any], str] = {}
        self._tags: dict[str, int] = {}

    # ---------------------------------------------------------------- functions

    def instance(self, function: Callable[..., Any], given: tuple[Type, ...]) -> Instance:
        """The function for arguments of these types; TypeError if it does not accept them."""
        key = function.__module__, function.__name__, given
        if key not in self._requested:
            source, tree = definition(function)
            taken, result = self._signature(source, tree, given)
            resolved = source.module, tree.name, taken
            if resolved not in self._instances:
                symbol, same = f"{source.module}.{tree.name}", sum(key[:2] == resolved[:2] for key in self._instances)
                symbol = f'@"{symbol}/{same + 1}"' if same else f'@"{symbol}"'
                names = [parameter.arg for parameter in tree.args.args]
                instance = Instance(symbol, source, tree, tuple(zip(names, taken, strict=True)), result)
                self._instances[resolved] = instance
                self.modules.add(source.module)
                self.waiting.append(instance)
            self._requested[key] = self._instances[resolved]
        return self._requested[key]

    def _signature(self, source: Source, tree: ast.FunctionDef, given: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        """Types of the parameters and of the result for arguments of these types."""
        arguments, taken = tree.args, []
        bound: dict[TypeVar, Type] = {}
        if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg or arguments.defaults:
            raise TypeError(f"{tree.name!r}: restricted functions have positional parameters without defaults only")
        names = [parameter.arg for parameter in arguments.args]
        if len(names) != len(given):
            raise TypeError(f"{tree.name!r} takes {len(names)} arguments ({', '.join(names)}), not {len(given)}")
        for parameter, kind in zip(arguments.args, given, strict=True):
            expected = self._annotated(source, tree, parameter.arg, parameter.annotation)
            if isinstance(expected, TypeVar):
                if not any(_fits(kind, one) for one in constraints(expected)) or bound.setdefault(expected, kind) != kind:
                    raise TypeError(f"{tree.name!r} does not take {kind} as {parameter.arg!r}")
                taken.append(kind)
            elif kind == INT and expected == REAL:
                taken.append(expected)
            elif _fits(kind, expected):
                taken.append(kind)
            else:
                raise TypeError(f"{tree.name!r} takes {expected} as {parameter.arg!r}, not {kind}")
        result = self._annotated(source, tree, "return", tree.returns)
        return tuple(taken), bound[result] if isinstance(result, TypeVar) else result

    def _annotated(self, source: Source, tree: ast.FunctionDef, name: str, annotation: ast.expr | None) -> Type | TypeVar:
        if annotation is None:
            raise TypeError(f"{tree.name!r} has no annotation for {name!r}; restricted functions are fully annotated")
        if isinstance(annotation, ast.Constant) and annotation.value is None:
            return NOTHING
        if isinstance(annotation, ast.Name):  # nearly all
            self.modules |= source.origins(annotation.id)
            return type_of(annotation.id, source.module)
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name):
                self.modules |= source.origins(node.id)
        return type_of(ast.unparse(annotation), source.module)

    # ---------------------------------------------------------------- declarations and metadata

    def declare(self, line: str) -> None:
        self._declared[line] = None

    def struct(self, record: type[Any]) -> str:
        """The name of a record's LLVM type."""
        if record not in self._structs:
            self.modules.add(record.__module__)
            self._structs[record] = f'%"{record.__module__}.{record.__name__}"'
        return self._structs[record]

    def tag(self, kind: str) -> str:
        """Metadata for alias analysis (TBAA): fields of records and elements of arrays never overlap."""
        kind = "float" if kind == "complex" else kind
        self._tags.setdefault(kind, 2 * len(self._tags) + 1)
        return f", !tbaa !{self._tags[kind] + 1}"

    def text(self) -> str:
        """The module."""
        structs = [f"{name} = type {{ {', '.join(_parts(record))} }}" for record, name in self._structs.items()]
        tags = ['!0 = !{!"restricted"}']
        for kind, k in self._tags.items():
            tags += [f'!{k} = !{{!"{kind}", !0}}', f"!{k + 1} = !{{!{k}, !{k}, i64 0}}"]
        return "\n".join([*structs, *self._declared, *self.texts, *tags])


def _parts(record: type[Any]) -> Iterable[str]:
    return [part for one in record.__fields__.values() for part in one.type.parts] or ["i64"]


def _fits(given: Type, expected: Type) -> bool:
    """Whether an argument matches a parameter; a bare array also matches one with lengths."""
    if isinstance(given, ArrayType) and isinstance(expected, ArrayType):
        return (given.element, given.ndim) == (expected.element, expected.ndim)
    return given == expected
