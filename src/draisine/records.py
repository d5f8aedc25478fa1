"""Data classes that are quickly defined.

The standard `dataclass` writes the source of up to six methods for every class and compiles it when the class is defined; over a
hundred classes lie on the way to a trajectory, and that took a good part of the time. Here the methods are closures
over the names of the fields. What they do is the same, and so is what `fields`, `replace`, `copy`, `pickle` and `match` make of
such a class. Calls with wrong arguments are answered by the standard library.

Classes that are made by the hundred thousand had better be standard ones: their `__init__` is quicker.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def dataclass(cls: type[T], /) -> type[T]: ...


@overload
def dataclass(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    cls: type[T] | None = None, /, *, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass`.

    >>> @dataclass(frozen=True)
    ... class Wheel:
    ...     radius: float
    ...     name: str = "front"
    >>> Wheel(0.35), Wheel(0.35) == Wheel(radius=0.35), dataclasses.replace(Wheel(0.35), name="rear")
    (Wheel(radius=0.35, name='front'), True, Wheel(radius=0.35, name='rear'))
    """

    def define(cls: type[T]) -> type[T]:
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # the standard library would look for a signature
        given = set(vars(cls)) - ({"__hash__"} if cls.__hash__ is None else set())  # Python's own None beside an __eq__
        # whether all who inherit from each other are frozen is seen to by the standard library
        inherits = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
        dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen and inherits, kw_only=kw_only)(cls)
        methods = _methods(cls, frozen, eq, repr)
        if frozen and not inherits:
            methods |= _guards(cls)
            vars(cls)["__dataclass_params__"].frozen = True
        for name, method in methods.items():
            if name not in given:
                setattr(cls, name, method)
        return cls

    return define if cls is None else define(cls)


def _methods(cls: type[Any], frozen: bool, eq: bool, repr: bool) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__init__": _init(cls, fields, frozen), "__signature__": _Signature()}
    if repr:
        methods["__repr__"] = _repr([f.name for f in fields if f.repr])
    if eq:
        methods["__eq__"] = _eq([f.name for f in fields if f.compare])
        methods["__hash__"] = _hash([f.name for f in fields if (f.compare if f.hash is None else f.hash)]) if frozen else None
    return methods


def _init(cls: type[Any], fields: tuple[dataclasses.Field[Any], ...], frozen: bool) -> Callable[..., None]:
    positional = [f.name for f in fields if f.init and not f.kw_only]
    plan = [(f.name, f.init, f.default, f.default_factory) for f in fields]
    put, missing = object.__setattr__ if frozen else setattr, dataclasses.MISSING
    finish = hasattr(cls, "__post_init__")

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        asked = dict(zip(positional, values, strict=False))
        if len(asked) < len(values) or not asked.keys().isdisjoint(named):
            _refuse(cls, values, named)
        asked.update(named)
        for name, wanted, default, factory in plan:
            if wanted and name in asked:
                put(self, name, asked.pop(name))
            elif default is not missing:
                put(self, name, default)
            elif factory is not missing:
                put(self, name, factory())
            elif wanted:
                _refuse(cls, values, named)
        if asked:
            _refuse(cls, values, named)
        if finish:
            self.__post_init__()

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    return __init__


def _standard(cls: type[Any]) -> type[Any]:
    """A class of the standard library with the same fields: it knows how to be called, and what to say to other calls."""
    fields = []
    for f in dataclasses.fields(cls):
        how: dict[str, Any] = {"init": f.init, "kw_only": f.kw_only}
        if f.default is not dataclasses.MISSING:
            how["default"] = f.default
        if f.default_factory is not dataclasses.MISSING:
            how["default_factory"] = f.default_factory
        fields.append((f.name, f.type, dataclasses.field(**how)))
    return dataclasses.make_dataclass(cls.__name__, fields, eq=False, repr=False)


def _refuse(cls: type[Any], values: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    _standard(cls)(*values, **named)
    raise AssertionError(f"{cls.__name__}: a call was refused that the standard library takes")


class _Signature:
    """What `help` and `inspect` show as the call of a class."""

    def __get__(self, instance: Any, cls: type[Any]) -> Any:
        from inspect import signature

        if vars(cls).get("__signature__") is not self:  # one that inherits, and may be called otherwise
            raise AttributeError("__signature__")
        return signature(_standard(cls))


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _values(names: list[str]) -> Callable[[Any], Any]:
    """The values of the fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _eq(names: list[str]) -> Callable[[Any, Any], Any]:
    values = _values(names)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return __eq__


def _hash(names: list[str]) -> Callable[[Any], int]:
    values = _values(names)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _guards(cls: type[Any]) -> dict[str, Callable[..., None]]:
    """Fields of frozen classes are neither set nor deleted."""
    names = frozenset(f.name for f in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}
