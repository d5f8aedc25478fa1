"""`dataclass` of the standard library, whose methods are written when they are first called.

The standard decorator writes and compiles the source of up to six methods when a class is defined, 0.4 ms for each class. A
first trajectory defines two hundred classes, makes objects of two thirds of them, and compares or prints few. Here a class has
its fields at once, read by the standard decorator, and every method is written when it is first looked up. Classes behave
the same: `fields`, `replace`, `asdict`, signatures, pickles, and subclasses by either decorator.

    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
    (Point(x=1.0, y=0.0), True)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from dataclasses import dataclass as standard
from inspect import get_annotations
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # type checkers know what it does
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False):
        """A class of fields, as by `dataclasses.dataclass` with the same arguments."""
        if cls is None:
            return lambda cls: _with_fields(cls, frozen, eq, repr, kw_only)
        return _with_fields(cls, frozen, eq, repr, kw_only)


class _Method:
    """A method that is written, and takes its own place in the class, when it is first looked up."""

    __slots__ = ("cls", "write")

    def __init__(self, cls: type, write: Callable[[type], Callable[..., Any]]) -> None:
        self.cls = cls
        self.write = write

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        method = self.write(self.cls)
        setattr(self.cls, method.__name__, method)
        return method.__get__(instance, owner)


def _with_fields(cls: Any, frozen: bool, eq: bool, repr: bool, kw_only: bool) -> type:
    own, annotations = vars(cls), get_annotations(cls)
    given = {name: getattr(cls, name) for name in annotations if hasattr(cls, name)}
    # The standard decorator reads the fields from a class that has nothing else, and writes no methods for it.
    alone: Any = type(
        cls.__name__, (), {"__module__": cls.__module__, "__doc__": "fields", "__annotations__": annotations, **given}
    )
    standard(init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)(alone)
    parameters = alone.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, repr, eq, frozen
    all_fields: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        all_fields |= getattr(base, "__dataclass_fields__", {})
        if hasattr(base, "__dataclass_params__") and base.__dataclass_params__.frozen != frozen:
            raise TypeError(f"{cls.__qualname__}: a data class and its bases are frozen all together, or none is")
    for name, value in given.items():
        if isinstance(value, Field) and value.default is MISSING:
            delattr(cls, name)
        elif isinstance(value, Field):
            setattr(cls, name, value.default)
    cls.__dataclass_fields__ = all_fields | alone.__dataclass_fields__
    cls.__dataclass_params__ = parameters
    hashed_by_itself = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    if eq and not hashed_by_itself:
        cls.__hash__ = _Method(cls, _hash) if frozen else None
    methods = {"__init__": _init} | ({"__repr__": _repr} if repr else {}) | ({"__eq__": _eq} if eq else {})
    for name, write in methods.items():
        if name not in own:
            setattr(cls, name, _Method(cls, write))
    if frozen:
        if "__setattr__" in own or "__delattr__" in own:
            raise TypeError(f"{cls.__qualname__}: a frozen data class has no __setattr__ and no __delattr__ of its own")
        cls.__setattr__, cls.__delattr__ = _refuse_to_assign, _refuse_to_delete
    if "__match_args__" not in own:
        names = tuple(field.name for field in fields(cls) if field.init and not field.kw_only)
        setattr(cls, "__match_args__", names)  # noqa: B010  # mypy refuses the assignment
    if "__replace__" in vars(alone):  # of Python 3.13
        cls.__replace__ = alone.__replace__
    return cls


# ---------------------------------------------------------------- methods that all classes share


def _is_fixed(instance: object, name: str) -> bool:
    """Whether a frozen object refuses to change an attribute: all, but of subclasses without decorator only the fields."""
    cls = type(instance)
    return "__dataclass_fields__" in vars(cls) or any(field.name == name for field in fields(cls))  # type: ignore[arg-type]


def _refuse_to_assign(self: object, name: str, value: object) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: object, name: str) -> None:
    if _is_fixed(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


# ---------------------------------------------------------------- methods that are written


def _written(cls: Any, name: str, arguments: Iterable[str], lines: Iterable[str], known: dict[str, Any]) -> Any:
    """A method from the lines of its body, with names that are known there."""
    body = "".join(f"  {line}\n" for line in lines)
    text = f"def write({', '.join(known)}):\n def {name}({', '.join(arguments)}):\n{body} return {name}"
    found: dict[str, Any] = {}
    exec(text, getattr(sys.modules.get(cls.__module__), "__dict__", {}), found)
    method = found["write"](**known)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


class _Factory:
    """Stands for a default that is made anew for every object."""

    def __repr__(self) -> str:
        return "<factory>"


def _init(cls: Any) -> Any:
    known: dict[str, Any] = {"_set": object.__setattr__, "_made": _Factory()}
    positional, by_name, lines = ["self"], list[str](), list[str]()
    for field in fields(cls):
        name = field.name
        value, argument = name, name
        if field.default_factory is not MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _made else {name}" if field.init else f"_make_{name}()"
            argument = f"{name}=_made"
        elif field.default is not MISSING:
            known[f"_default_{name}"] = field.default
            argument = f"{name}=_default_{name}"
        if field.init:
            (by_name if field.kw_only else positional).append(argument)
        if field.init or field.default_factory is not MISSING:
            lines.append(f"_set(self, {name!r}, {value})" if cls.__dataclass_params__.frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = [*positional, *(["*", *by_name] if by_name else [])]
    method = _written(cls, "__init__", arguments, lines or ["pass"], known)
    method.__annotations__ = {field.name: field.type for field in fields(cls) if field.init} | {"return": None}
    return method


def _values(instance: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{instance}.{name}, " for name in names) + ")"


def _repr(cls: Any) -> Any:
    shown = ", ".join(f"{field.name}={{self.{field.name}!r}}" for field in fields(cls) if field.repr)
    method = _written(cls, "__repr__", ["self"], [f'return f"{{self.__class__.__qualname__}}({shown})"'], {})
    return recursive_repr()(method)


def _eq(cls: Any) -> Any:
    names = [field.name for field in fields(cls) if field.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_values('self', names)} == {_values('other', names)}",
        "return NotImplemented",
    ]
    return _written(cls, "__eq__", ["self", "other"], lines, {})


def _hash(cls: Any) -> Any:
    names = [field.name for field in fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _written(cls, "__hash__", ["self"], [f"return hash({_values('self', names)})"], {})
