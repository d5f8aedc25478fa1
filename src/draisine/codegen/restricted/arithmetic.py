"""Restricted Python in another arithmetic: the same functions, interpreted, on numbers that are not floats.

Functions of restricted Python run in the interpreter as they stand. With dual numbers in the place of floats they compute the
derivatives of what the compiled code computes, whatever that is: there is no second text to keep equal to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any


def in_arithmetic(
    modules: Sequence[ModuleType], math: Any, refined: Mapping[str, Callable[[Any, dict[str, Any]], Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """The functions of some modules, by module and name, that call each other and functions of `math`.

    Arguments are records of any type with the same fields. `refined` functions take the place of those with their names: each is
    made from the original and the names of its module.
    """
    spaces = {module.__name__: dict(vars(module)) for module in modules}
    made: dict[Any, Any] = {}
    for name, space in spaces.items():
        for key, value in space.items():
            if isinstance(value, FunctionType) and value.__module__ == name:
                made[value] = FunctionType(value.__code__, space, key, value.__defaults__, value.__closure__)
    for space in spaces.values():
        for key, value in space.items():
            if isinstance(value, FunctionType) and value in made:
                space[key] = made[value]
        if "math" in space:
            space["math"] = math
    for name, make in (refined or {}).items():
        home = next(space for space in spaces.values() if getattr(space.get(name), "__globals__", None) is space)
        better = make(home[name], home)
        for space in spaces.values():
            if name in space:
                space[name] = better
    return spaces
