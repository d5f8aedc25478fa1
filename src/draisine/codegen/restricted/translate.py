"""Restricted functions → the text of an LLVM module, with all that they call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draisine.codegen.restricted.function import Function
from draisine.codegen.restricted.types import BOOL, Type, type_of
from draisine.codegen.restricted.unit import Instance, Options, Unit, definition


@dataclass(frozen=True, eq=False)
class Translation:
    """A module, and the modules of Python whose sources decide it."""

    text: str
    modules: frozenset[str]


def translate(entries: Mapping[str, tuple[Callable[..., Any], Sequence[Type]]], options: Options | None = None) -> Translation:
    """The module in which functions for arguments of these types are to be found by symbols."""
    unit = Unit(options or Options())
    for symbol, (function, types) in entries.items():
        unit.texts.append(_exported(symbol, unit.instance(function, tuple(types)), unit.options))
    while unit.waiting:
        instance = unit.waiting.pop()
        unit.texts.append(Function(unit, instance).text())
    return Translation(unit.text(), frozenset(unit.modules))


def parameter_types(function: Callable[..., Any], instead: Mapping[str, Type] | None = None) -> list[Type]:
    """The types of a function's parameters by their annotations, other ones for those that `instead` names."""
    source, tree = definition(function)
    found = []
    for parameter in tree.args.args:
        annotation = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        kind = (instead or {}).get(annotation) or type_of(annotation or "None", source.module)
        if not isinstance(kind, Type):
            raise TypeError(f"{tree.name!r} leaves the type of {parameter.arg!r} open; say for which it is to be compiled")
        found.append(kind)
    return found


def _exported(symbol: str, instance: Instance, options: Options) -> str:
    """A function to be called from outside: a truth value is 0 or 1."""
    if len(instance.result.parts) > 1:
        raise TypeError(
            f"{instance.tree.name!r} returns {instance.result}; to the outside a function returns one number or nothing"
        )
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
