"""Templates of derivation steps: for links of equal structure a step is derived once and instantiated for the others.

A step is a function of nested tuples, lists, dictionaries and dataclasses that contain expressions. For arguments of equal
structure (types, numbers, sparsity of matrices) it performs the same operations; it is then stored as a CasADi function of the
expressions, whose body is inlined. Inlining takes a few microseconds, the derivation about a hundred times as long. Names differ
from link to link and are not part of the structure: only which of them are equal matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import casadi as ca

from draisine.dynamics.linear_algebra import ONE, ZERO
from draisine.program.shared_expressions import shared

T = TypeVar("T")

MANY = 12  # number of links from which templates pay off
VERY_MANY = 100  # number of links from which global common-subexpression elimination costs more than it saves


class _Template(NamedTuple):
    function: ca.Function
    result: Any  # its nesting, with expressions and names replaced by numbers


class _Expression(NamedTuple):
    """Placeholder of an expression."""

    number: int


class _Name(NamedTuple):
    """Placeholder of a name."""

    number: int


class TemplateCache:
    """Cache of the templates of one derivation."""

    def __init__(self, links: int) -> None:
        self._active = links >= MANY
        self.skip_global_cse = links >= VERY_MANY  # common subexpressions within a link are found here
        self._known: dict[Any, _Template] = {}

    def __call__(self, piece: Callable[..., T], *given: Any) -> T:
        """The result of `piece(*given)`."""
        if not self._active:
            return piece(*given)
        leaves: list[ca.SX] = []
        names: dict[str, int] = {}
        key: list[Any] = [piece]
        _shape(given, key, leaves, names)
        patterns = tuple(leaf.sparsity() for leaf in leaves)
        known = (*key, *(pattern.hash() for pattern in patterns))
        template = self._known.get(known)
        if template is None:
            template = self._known[known] = _template(piece, given, names, patterns)
        results: Any = template.function.call(leaves, True, False) if leaves else [ca.SX(r) for r in template.function.call([])]
        found: T = _instantiated(template.result, results, list(names))
        return found


NO_TEMPLATES = TemplateCache(0)  # without templates


def _template(piece: Callable[..., Any], given: Any, names: dict[str, int], patterns: tuple[ca.Sparsity, ...]) -> _Template:
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
            return _Name(int(x.removeprefix("name")))
        if x is ZERO or x is ONE:
            return x
        leaves.append(x)
        return _Expression(len(leaves) - 1)

    shape = _rebuilt(piece(*_rebuilt(given, stand_in)), emptied)
    return _Template(ca.Function("piece", symbols, shared(leaves)), shape)  # shared once here, not in every copy


def _instantiated(shape: Any, results: list[ca.SX], names: list[str]) -> Any:
    def put_back(x: Any) -> Any:
        if isinstance(x, _Expression):
            return results[x.number]
        return names[x.number] if isinstance(x, _Name) else x

    return _rebuilt(shape, put_back)


def _shape(x: Any, key: list[Any], leaves: list[ca.SX], names: dict[str, int]) -> None:
    """Append the structure to the key, and collect expressions and names in order of occurrence."""
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
    """The same nesting, with expressions and names mapped by `swap`."""
    if isinstance(x, ca.SX | str | _Expression | _Name):
        return swap(x)
    kind: Any = type(x)
    if isinstance(x, list | tuple):
        parts = (_rebuilt(part, swap) for part in x)
        return kind(*parts) if hasattr(x, "_fields") else kind(parts)  # named tuples take their entries one by one
    if isinstance(x, dict):
        return {_rebuilt(name, swap): _rebuilt(part, swap) for name, part in x.items()}
    if is_dataclass(x):
        return kind(**{field: _rebuilt(getattr(x, field), swap) for field in _fields(kind)})
    return x


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))
