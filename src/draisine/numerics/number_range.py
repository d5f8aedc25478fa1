"""What is no number for a computation, refused by name at once: integers beyond floating point, counts beyond memory, masked
entries."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

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


def refuse_masked(where: str, given: Any) -> None:
    """Refuse masked entries of NumPy's masked arrays, also in lists, tuples and mappings: conversions would ignore the mask.

    >>> refuse_masked("over", {"speed": np.ma.masked_array([1.0, 99.0], mask=[False, True])})
    Traceback (most recent call last):
        ...
    draisine.errors.ArgumentError: over of 'speed': 1 of 2 entries are masked; leave them out, or fill them, array.filled(…)
    """
    if "numpy.ma" not in sys.modules:  # NumPy loads it when it is used: there is no masked array
        return
    if isinstance(given, np.ma.MaskedArray):
        count = int(np.ma.count_masked(given))
        if count:
            raise ArgumentError(
                f"{where}: {count} of {given.size} entries are masked; leave them out, or fill them, array.filled(…)"
            )
    elif isinstance(given, list | tuple):
        for item in given:
            if not isinstance(item, float):
                refuse_masked(where, item)
    elif isinstance(given, Mapping):
        for key, item in given.items():
            refuse_masked(f"{where} of {key!r}", item)


def refuse_large_count(where: str, given: Any, most: int) -> None:
    """Refuse a number of things that does not fit into memory."""
    if isinstance(given, int | float) and given > most:
        shown = f"{given:,}" if given < 1e18 else "far more"
        raise ArgumentError(f"{where}: at most {most:,}, got {shown}")


def counted_range(what: str, given: Any, least: int, most: int) -> Any:
    """The numbers of (first, last, count); anything else but a tuple of three numbers is returned as it is.

    A tuple of three is always a range: a list is not mistaken for one because its last number is whole.

    >>> counted_range("speed", (0, 4, 3), 1, 1000).tolist(), counted_range("speed", [0, 4, 3], 1, 1000)
    ([0.0, 2.0, 4.0], [0, 4, 3])
    >>> counted_range("v", (1, 4, 2.5), 1, 1000)
    Traceback (most recent call last):
        ...
    draisine.errors.ArgumentError: v: the count of (first, last, count) is a whole number from 1, got 2.5; a list is [1, 4, 2.5]
    """
    if not (isinstance(given, tuple) and len(given) == 3):
        return given
    if not all(isinstance(number, int | float | np.integer | np.floating) and np.isfinite(number) for number in given):
        return given
    first, last, count = given
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
        raise ArgumentError(
            f"{what}: the count of (first, last, count) is a whole number from {least}, got {count}; a list is {list(given)}"
        )
    refuse_large_count(f"the number of values of {what}", int(count), most)
    return np.linspace(float(first), float(last), int(count))


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
