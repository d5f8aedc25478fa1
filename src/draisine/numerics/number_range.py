"""Numbers that no computer holds, refused by name at once: integers beyond floating point, counts beyond memory."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from draisine.errors import ArgumentError

C = TypeVar("C", bound=type)

_LARGEST = int(sys.float_info.max)


def refuse_huge_integers(where: str, given: Any) -> None:
    """Refuse integers beyond the range of floating-point numbers, also in lists, tuples and mappings.

    >>> refuse_huge_integers("simulate: start", {"speed": 10**400})
    Traceback (most recent call last):
        ...
    draisine.errors.ArgumentError: simulate: start of 'speed': an integer of 1329 bits is too large; numbers are at most 1.8e308
    """
    if isinstance(given, int):
        if not -_LARGEST <= given <= _LARGEST:
            raise ArgumentError(f"{where}: an integer of {given.bit_length()} bits is too large; numbers are at most 1.8e308")
    elif isinstance(given, list | tuple):
        for item in given:
            if not isinstance(item, float):
                refuse_huge_integers(where, item)
    elif isinstance(given, Mapping):
        for key, item in given.items():
            refuse_huge_integers(f"{where} of {key!r}", item)


def refuse_large_count(where: str, given: Any, most: int) -> None:
    """Refuse a number of things that does not fit into memory."""
    if isinstance(given, int | float) and given > most:
        shown = f"{given:,}" if given < 1e18 else "far more"
        raise ArgumentError(f"{where}: at most {most:,}, got {shown}")


def with_number_range(settings: C) -> C:
    """A class whose numbers are checked by `refuse_huge_integers` before an object is made; stands above `@dataclass`."""
    make = settings.__init__  # type: ignore[misc]
    names = make.__code__.co_varnames[1 : make.__code__.co_argcount + make.__code__.co_kwonlyargcount] or ("values",)

    @functools.wraps(make)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = [(names[min(k, len(names) - 1)], value) for k, value in enumerate(args)]
        for name, value in (*given, *kwargs.items()):
            refuse_huge_integers(f"{settings.__name__}: {name}", value)
        make(self, *args, **kwargs)

    settings.__init__ = init  # type: ignore[misc]
    return settings
