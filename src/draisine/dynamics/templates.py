"""Steps of equal structure, written down once: of a hundred equal links the first is worked out, the others are put in.

A piece of a derivation is a function of nested tuples, lists, dictionaries and dataclasses with expressions in them. Where the
shape of what it gets is the same as before (types, numbers, which entries of matrices are empty), so is what it does; it is then
a CasADi function of the expressions, whose body is copied in. Copying takes a few microseconds, working it out some hundred times
as long. Names differ from link to link and are no part of the shape: only which of them are equal counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import casadi as ca

from draisine.dynamics.linear_algebra import ONE, ZERO

T = TypeVar("T")

MANY = 12  # links from which on repeating is worth while
VERY_MANY = 100  # from which on a search for what is common in all of them takes longer than what it saves


@dataclass(frozen=True, eq=False)
class _Written:
    function: ca.Function
    result: Any  # its shape, expressions replaced by their numbers and names by theirs


@dataclass(frozen=True)
class _Place:
    """Where an expression stood."""

    number: int


@dataclass(frozen=True)
class _Called:
    """Where a name stood."""

    number: int


class Repeated:
    """Remembers what was worked out, for one derivation."""

    def __init__(self, links: int) -> None:
        self._active = links >= MANY
        self.enough = links >= VERY_MANY  # whether to leave it at what is common within a link, which is found here
        self._known: dict[Any, _Written] = {}

    def __call__(self, piece: Callable[..., T], *given: Any) -> T:
        """What the piece gives."""
        if not self._active:
            return piece(*given)
        leaves: list[ca.SX] = []
        names: dict[str, int] = {}
        key: list[Any] = [piece]
        _shape(given, key, leaves, names)
        patterns = tuple(leaf.sparsity() for leaf in leaves)
        known = (*key, *(pattern.hash() for pattern in patterns))
        written = self._known.get(known)
        if written is None:
            written = self._known[known] = _written(piece, given, names, patterns)
        results: Any = written.function.call(leaves, True, False) if leaves else [ca.SX(r) for r in written.function.call([])]
        found: T = _filled(written.result, results, list(names))
        return found


ONCE = Repeated(0)  # for those who repeat nothing


def _written(piece: Callable[..., Any], given: Any, names: dict[str, int], patterns: tuple[ca.Sparsity, ...]) -> _Written:
    """The piece as a function of symbols for the expressions, with numbers for names."""
    symbols = [ca.SX.sym(f"given{i}", pattern) for i, pattern in enumerate(patterns)]
    waiting = iter(symbols)

    def stand_in(x: Any) -> Any:
        if isinstance(x, str):
            return f"name{names[x]}"
        return x if x is ZERO or x is ONE else next(waiting)

    leaves: list[ca.SX] = []

    def emptied(x: Any) -> Any:
        if isinstance(x, str):
            return _Called(int(x.removeprefix("name")))
        if x is ZERO or x is ONE:
            return x
        leaves.append(x)
        return _Place(len(leaves) - 1)

    shape = _rebuilt(piece(*_rebuilt(given, stand_in)), emptied)
    shared = ca.cse(leaves) if leaves else leaves  # here, where it is once, not in every copy
    return _Written(ca.Function("piece", symbols, shared), shape)


def _filled(shape: Any, results: list[ca.SX], names: list[str]) -> Any:
    def put_back(x: Any) -> Any:
        if isinstance(x, _Place):
            return results[x.number]
        return names[x.number] if isinstance(x, _Called) else x

    return _rebuilt(shape, put_back)


def _shape(x: Any, key: list[Any], leaves: list[ca.SX], names: dict[str, int]) -> None:
    """Adds to the key what the shape is, and collects expressions and names, in the order in which they are met."""
    if isinstance(x, ca.SX):
        if x is ZERO or x is ONE:
            key.append("zero" if x is ZERO else "one")
        else:
            leaves.append(x)
            key.append("leaf")
    elif isinstance(x, str):
        key += ("name", names.setdefault(x, len(names)))
    elif isinstance(x, list | tuple):
        key.append((type(x), len(x)))
        for part in x:
            _shape(part, key, leaves, names)
    elif isinstance(x, dict):
        key.append((dict, len(x)))
        for name, part in x.items():
            _shape(name, key, leaves, names)
            _shape(part, key, leaves, names)
    elif is_dataclass(x):
        kind: Any = type(x)
        key.append(kind)
        for field in _fields(kind):
            _shape(getattr(x, field), key, leaves, names)
    else:
        key.append((type(x), x))


def _rebuilt(x: Any, swap: Callable[[Any], Any]) -> Any:
    """The same nesting, with what `swap` gives for expressions and names."""
    if isinstance(x, ca.SX | str | _Place | _Called):
        return swap(x)
    kind: Any = type(x)
    if isinstance(x, list | tuple):
        return kind(_rebuilt(part, swap) for part in x)
    if isinstance(x, dict):
        return {_rebuilt(name, swap): _rebuilt(part, swap) for name, part in x.items()}
    if is_dataclass(x):
        return kind(**{field: _rebuilt(getattr(x, field), swap) for field in _fields(kind)})
    return x


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))
