"""Writing TOML for people: numbers without loss, short values on one line, long lists wrapped.

Reading is the standard library's `tomllib`, which has no writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from draisine.errors import ArgumentError

WIDTH = 110  # a list longer than this is wrapped

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def string(text: str) -> str:
    """A basic string, with everything escaped that would end it.

    >>> print(string('a "quoted" word'))
    "a \\"quoted\\" word"
    """
    return '"' + "".join(_ESCAPES.get(c, c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number that reads back as the same float; whole ones without a decimal point."""
    text = repr(float(value))
    return text.removesuffix(".0") if text != "-0.0" else text


def inline(value: Any) -> str:
    """A value on one line: text, number, flag, list, or table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }" if value else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    raise ArgumentError(f"a model file cannot hold {value!r}")


def lines(key: str, value: Any) -> list[str]:
    """The lines of `key = value`; what is too long for one is spread: a table by dotted keys, a list by its items."""
    text = f"{key} = {inline(value)}"
    if len(text) <= WIDTH or isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return [text]
    if isinstance(value, Mapping):
        return flattened(lines(f"{key}.{name}", item) for name, item in value.items())
    filled: list[str] = []
    packing = False  # whether the last line holds numbers, which share lines
    for item in value:
        plain = isinstance(item, int | float)
        if plain and packing and len(filled[-1]) + len(inline(item)) + 2 < WIDTH:
            filled[-1] += f" {inline(item)},"
        else:
            filled.append(f"    {inline(item)},")
        packing = plain
    return [f"{key} = [", *filled, "]"]


def section(header: str, entries: Mapping[str, Any]) -> list[str]:
    """A table with its header, and an empty line before it."""
    return ["", f"[{header}]", *flattened(lines(key, value) for key, value in entries.items())]


def flattened(groups: Iterable[list[str]]) -> list[str]:
    return [line for group in groups for line in group]
