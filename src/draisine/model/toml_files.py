"""Reading and writing TOML (and reading JSON) files, with line numbers in error messages.

The standard library's `tomllib` reports lines for syntax errors only, and has no writer. Errors about the content name the item;
`line_of` finds its line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from draisine.errors import ArgumentError, DraisineError
from draisine.results.control_characters import MAX_MESSAGE, fitted
from draisine.results.files import MAX_BYTES

MAX_DEPTH = 50  # parts of a dotted key
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\\\n]*+"|'[^'\n]*+')"""  # possessive: no way back
_PATH = re.compile(rf"{_KEY}(?:\s*\.\s*{_KEY})*")


def parse_toml(text: str, source: str, error: type[DraisineError], depth: int = MAX_DEPTH) -> dict[str, Any]:
    """The content of a TOML text; errors begin with `source`. Keys have at most `depth` parts, whose square `tomllib` takes."""
    deep = re.search(rf"(?<![A-Za-z0-9_-])(?:{_PART}[ \t]*+\.[ \t]*+){{{depth}}}", text)
    if deep:
        line = text.count("\n", 0, deep.start()) + 1
        raise error(f"{source}, line {line}: a key of more than {depth} parts; write tables, or raise the limit `depth`")
    if len(text) > MAX_BYTES:
        raise error(f"{source}: larger than {MAX_BYTES // 1_000_000} MB")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise error(_syntax(str(problem), text, source)) from None
    except (RecursionError, ValueError) as problem:  # thousands of nested brackets; an integer of thousands of digits
        reason = "brackets are nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise error(f"{source}: not valid TOML: {reason}") from None


def parse_json(text: str, source: str, error: type[DraisineError]) -> Any:
    """The content of a JSON text; errors begin with `source`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise error(
            f"{source}, line {problem.lineno}: not valid JSON: {problem.msg}; check quotes, brackets and commas"
        ) from None
    except (RecursionError, ValueError) as problem:
        reason = "brackets are nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise error(f"{source}: not valid JSON: {reason}") from None


def _syntax(message: str, text: str, source: str) -> str:
    lines = text.splitlines()
    at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    number = int(at[1]) if at and at[1] else len(lines)
    where = f"{source}, line {max(number, 1)}" + (f", column {at[2]}" if at and at[2] else "")
    quoted = lines[number - 1].strip()[:60] if 0 < number <= len(lines) else ""
    shown, reason = f" near '{quoted}'" if quoted else "", message[: at.start()] if at else message
    twice = re.search(r"Cannot declare \((.*)\) twice", reason)
    if twice:
        name = ".".join(re.findall(r"'([^']*)'", twice[1]))[:MAX_MESSAGE]
        return f"{where}: [{name}] is defined twice; rename or remove one"
    if "overwrite" in reason or "Duplicate" in reason or "mutate" in reason:
        return f"{where}: a key is given twice: {reason[:MAX_MESSAGE]}{shown}; rename or remove one"
    reason = reason if len(reason) < MAX_MESSAGE else f"{reason[:MAX_MESSAGE]} …"
    return f"{where}: not valid TOML: {reason}{shown}; check quotes, brackets and equals signs there"


# ---------------------------------------------------------------- lines


def with_line(source: str, text: str, message: str, words: Mapping[str, str] | None = None) -> str:
    """A message with the file and, where it names an item of the file, the line. One that quotes too much is shortened."""
    message = fitted(message)
    line = line_of(text, message, words or {})
    return f"{source}: {message}" if line is None else f"{source}, line {line}: {message}"


def line_of(text: str, message: str, words: Mapping[str, str]) -> int | None:
    """The line of the item that a message names; `words` are the names of items in messages, `{"bodies": "body"}`.

    >>> line_of('[bodies.frame]\\nmass = 1\\n[joints.frame]', "mass of body 'frame' is too small", {"bodies": "body"})
    2
    """
    best: tuple[tuple[int, int, int], int] | None = None
    for path, line in _paths(text):
        found = [_mention(path, depth, message, words) for depth in range(len(path))]
        if found[-1] is None:
            continue
        rank = (sum(at is not None for at in found), len(path), -found[-1])
        if best is None or rank > best[0]:
            best = rank, line
    return None if best is None else best[1]


def _mention(path: tuple[str, ...], depth: int, message: str, words: Mapping[str, str]) -> int | None:
    """Where a message names a part of a path. Names of items are in quotes; keys may be bare: mass of body 'frame'."""
    part = path[depth]
    if depth == 0 and part in words and len(path) > 1:
        bare = words[part]
    elif depth == 1 and path[0] in words:
        at = message.find(repr(part))
        return at if at >= 0 else None
    else:
        bare = part
    found = re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", message) if bare in message else None
    return found.start() if found else None


def _paths(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Headers and keys with their lines, for valid TOML."""
    header: tuple[str, ...] = ()
    at, number = 0, 1
    while at < len(text):
        begin = at
        if text[at] == "[":
            end = text.index("]", at)
            found = _PATH.search(text, at, end if "]" not in text[at:end] else len(text))
            header = _parts(found[0]) if found else ()
            yield from ((header[:depth], number) for depth in range(1, len(header) + 1))
            at = _line_end(text, at)
        elif found := _PATH.match(text, at):
            yield (*header, *_parts(found[0])), number
            at = _value_end(text, found.end())
        elif text[at] in " \t\r\n":
            at += 1
        else:
            at = _line_end(text, at)
        number += text.count("\n", begin, at)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in re.findall(_KEY, dotted))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value_end(text: str, at: int) -> int:
    """The position after the value of a key; strings are skipped, brackets may span lines."""
    depth = 0
    while at < len(text):
        letter = text[at]
        if letter in "\"'":
            quote = letter * 3 if text.startswith(letter * 3, at) else letter
            at = _string_end(text, at + len(quote), quote)
            continue
        if letter == "#":
            at = _line_end(text, at)
            continue
        depth += (letter in "[{") - (letter in "]}")
        if letter == "\n" and depth <= 0:
            return at
        at += 1
    return at


def _string_end(text: str, at: int, quote: str) -> int:
    while at < len(text) and not text.startswith(quote, at):
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    return min(at + len(quote), len(text))


# ---------------------------------------------------------------- writing

WIDTH = 110  # a list longer than this is wrapped

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def string(text: str) -> str:
    """A TOML basic string with escapes.

    >>> print(string('a "quoted" word'))
    "a \\"quoted\\" word"
    """
    return '"' + "".join(_ESCAPES.get(c, c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """The shortest text of a number that reads back as the same float; integers without a decimal point."""
    text = repr(float(value))
    return text.removesuffix(".0") if text != "-0.0" else text


def inline(value: Any) -> str:
    """A value on one line: text, number, boolean, list or table."""
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
    raise ArgumentError(f"{value!r} cannot be written to a model file")


def lines(key: str, value: Any) -> list[str]:
    """The lines of `key = value`; a long table is split by dotted keys, a long list by its items."""
    text = f"{key} = {inline(value)}"
    if len(text) <= WIDTH or isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return [text]
    if isinstance(value, Mapping):
        return flattened(lines(f"{key}.{name}", item) for name, item in value.items())
    filled: list[str] = []
    packing = False  # whether the last line holds numbers, which are packed
    for item in value:
        plain = isinstance(item, int | float)
        if plain and packing and len(filled[-1]) + len(inline(item)) + 2 < WIDTH:
            filled[-1] += f" {inline(item)},"
        else:
            filled.append(f"    {inline(item)},")
        packing = plain
    return [f"{key} = [", *filled, "]"]


def section(header: str, entries: Mapping[str, Any]) -> list[str]:
    """A table with its header, after an empty line."""
    return ["", f"[{header}]", *flattened(lines(key, value) for key, value in entries.items())]


def flattened(groups: Iterable[list[str]]) -> list[str]:
    return [line for group in groups for line in group]
