"""CSV: metadata as leading lines `# key: json`, one row of names, one row per sample.

Numbers are written as the shortest text that restores the same bits. `pandas.read_csv(path, comment="#")` and spreadsheets read
such files.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError
from draisine.results.checksum import verify
from draisine.results.metadata import MAX_CHARACTERS, check_columns, check_format, decode, describe, encode, most_bytes

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

_LONGEST_NUMBER = 40  # characters; repr of a double needs 24
_LONGEST_LINE = MAX_CHARACTERS + 100  # of the head: a key and its value


def write(run: Trajectory, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for key, value in describe(run).items():
            file.write(f"# {key}: {encode(value, key)}\n")
        file.write(",".join(("time", *run.names())) + "\n")
        for instant, row in zip(run.time.tolist(), run.data, strict=True):
            file.write(",".join(map(repr, (instant, *row.tolist()))) + "\n")


def read(path: Path, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Metadata, times and table; at most `limit` numbers."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            metadata, header = _read_head(file)
            check_format(metadata)
            names = header.split(",")
            check_columns(metadata, names)
            table = _read_rows(file, names, limit, first_line=len(metadata) + 2)
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8 text ({error.reason} at byte {error.start})") from None
    verify(path, most_bytes(limit), text=True)  # after the parts, which name the line of a damage
    return metadata, np.ascontiguousarray(table[:, 0]), table[:, 1:]


def _read_head(file: TextIO) -> tuple[dict[str, Any], str]:
    metadata: dict[str, Any] = {}
    while True:
        line = file.readline(_LONGEST_LINE)
        if not line.endswith("\n"):
            raise DataError(
                "the file ends before the row of names" if len(line) < _LONGEST_LINE else "a line of the header is too long"
            )
        if not line.startswith("#"):
            return metadata, line.rstrip("\n")
        key, colon, text = line[1:].partition(":")
        if not colon:
            raise DataError(f"a line of the header is not '# key: value': {line[:40].rstrip()!r}")
        metadata[key.strip()] = decode(text.strip(), key.strip())


def _read_rows(file: TextIO, names: list[str], limit: int, first_line: int) -> NDArray[np.float64]:
    numbers = array("d")
    longest = _LONGEST_NUMBER * len(names)
    number = first_line
    while line := file.readline(longest):
        if not line.strip():
            break
        if not line.endswith("\n"):
            raise DataError(f"line {number} is {'cut off' if len(line) < longest else 'too long'}")
        fields = line.split(",")
        if len(fields) != len(names):
            raise DataError(f"line {number} has {len(fields)} numbers, expected {len(names)}")
        try:
            numbers.extend(map(float, fields))
        except ValueError:
            raise DataError(f"line {number} has no number in column {_first_invalid(fields, names)}") from None
        if len(numbers) > limit:
            raise DataError(f"the file has more than {limit} numbers; pass a larger limit to load it")
        number += 1
    if file.read(1):
        raise DataError(f"text follows the blank line {number}")
    return np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(names)) if numbers else np.empty((0, len(names)))


def _first_invalid(fields: list[str], names: list[str]) -> str:
    for name, text in zip(names, fields, strict=True):
        try:
            float(text)
        except ValueError:
            return f"{name!r}: {text.strip()[:40]!r}"
    return "some name"
