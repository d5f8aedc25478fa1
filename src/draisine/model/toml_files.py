"""Reading TOML (and JSON) files that people write: the text, its content, and the line that a complaint is about.

The standard library's `tomllib` tells lines of wrong syntax alone. A complaint about what a file says names the item; `line_of`
looks up where that stands.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from draisine.errors import DraisineError

MAX_BYTES = 10_000_000
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_PATH = re.compile(rf"{_KEY}(?:\s*\.\s*{_KEY})*")


def read_text(path: str | Path, error: type[DraisineError]) -> str:
    """The text of a file, or an `error` that says why there is none."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror}); check the name and the permissions") from None
    except ValueError:  # a NUL in the name
        raise error(f"{str(path)!r}: no name of a file; check it") from None
    if len(data) > MAX_BYTES:
        raise error(f"{path}: larger than {MAX_BYTES // 1_000_000} MB, which no such file needs; is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise error(f"{path}, line {line}: not a text in UTF-8; save it in that encoding") from None


def parse_toml(text: str, source: str, error: type[DraisineError]) -> dict[str, Any]:
    """What a TOML text holds; complaints begin with `source`."""
    if len(text) > MAX_BYTES:
        raise error(f"{source}: larger than {MAX_BYTES // 1_000_000} MB, which no such text needs")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise error(_syntax(str(problem), text, source)) from None
    except (RecursionError, ValueError) as problem:  # thousands of nested brackets; an integer of thousands of digits
        reason = "brackets are nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise error(f"{source}: not valid TOML: {reason}") from None


def parse_json(text: str, source: str, error: type[DraisineError]) -> Any:
    """What a JSON text holds."""
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
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    number = int(place[1]) if place and place[1] else len(lines)
    where = f"{source}, line {max(number, 1)}" + (f", column {place[2]}" if place and place[2] else "")
    quoted = lines[number - 1].strip()[:60] if 0 < number <= len(lines) else ""
    shown, said = f" near '{quoted}'" if quoted else "", message[: place.start()] if place else message
    twice = re.search(r"Cannot declare \((.*)\) twice", said)
    if twice:
        name = ".".join(re.findall(r"'([^']*)'", twice[1]))
        return f"{where}: [{name}] is described twice; names must differ: rename or remove one"
    if "overwrite" in said or "Duplicate" in said or "mutate" in said:
        return f"{where}: a name is given twice: {said}{shown}; names must differ: rename or remove one"
    return f"{where}: not valid TOML: {said}{shown}; check quotes, brackets and equals signs there"


# ---------------------------------------------------------------- lines


def placed(source: str, text: str, message: str, words: Mapping[str, str] | None = None) -> str:
    """A complaint with the file and, where it names something that stands there, the line."""
    line = line_of(text, message, words or {})
    return f"{source}: {message}" if line is None else f"{source}, line {line}: {message}"


def line_of(text: str, message: str, words: Mapping[str, str]) -> int | None:
    """The line of what a message names; `words` are what messages call an item of a table, `{"bodies": "body"}`.

    >>> line_of('[bodies.frame]\\nmass = 1\\n[joints.frame]', "mass of body 'frame' is too small", {"bodies": "body"})
    2
    """
    best: tuple[tuple[int, int, int], int] | None = None
    for path, line in _paths(text):
        found = [_mention(path, depth, message, words) for depth in range(len(path))]
        if found[-1] is None:
            continue
        rank = (sum(place is not None for place in found), len(path), -found[-1])
        if best is None or rank > best[0]:
            best = rank, line
    return None if best is None else best[1]


def _mention(path: tuple[str, ...], depth: int, message: str, words: Mapping[str, str]) -> int | None:
    """Where a message names a part of a path. Names of items stand in quotes; keys may stand bare: mass of body 'frame'."""
    part = path[depth]
    if depth == 0 and part in words and len(path) > 1:
        bare = words[part]
    elif depth == 1 and path[0] in words:
        place = message.find(repr(part))
        return place if place >= 0 else None
    else:
        bare = part
    found = re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", message)
    return found.start() if found else None


def _paths(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Headers and keys with their lines, of a text that is valid TOML."""
    header: tuple[str, ...] = ()
    place, number = 0, 1
    while place < len(text):
        begin = place
        if text[place] == "[":
            end = text.index("]", place)
            found = _PATH.search(text, place, end if "]" not in text[place:end] else len(text))
            header = _parts(found[0]) if found else ()
            yield from ((header[:depth], number) for depth in range(1, len(header) + 1))
            place = _line_end(text, place)
        elif found := _PATH.match(text, place):
            yield (*header, *_parts(found[0])), number
            place = _value_end(text, found.end())
        elif text[place] in " \t\r\n":
            place += 1
        else:
            place = _line_end(text, place)
        number += text.count("\n", begin, place)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in re.findall(_KEY, dotted))


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _value_end(text: str, place: int) -> int:
    """Behind the value of a key: strings are skipped, brackets may go over lines."""
    depth = 0
    while place < len(text):
        letter = text[place]
        if letter in "\"'":
            quote = letter * 3 if text.startswith(letter * 3, place) else letter
            place = _string_end(text, place + len(quote), quote)
            continue
        if letter == "#":
            place = _line_end(text, place)
            continue
        depth += (letter in "[{") - (letter in "]}")
        if letter == "\n" and depth <= 0:
            return place
        place += 1
    return place


def _string_end(text: str, place: int, quote: str) -> int:
    while place < len(text) and not text.startswith(quote, place):
        place += 2 if text[place] == "\\" and quote[0] == '"' else 1
    return min(place + len(quote), len(text))
