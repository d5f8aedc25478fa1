"""Safe identifiers and comments from the names and texts of a model.

Labels and descriptions may be reserved words, differ only in case, end a comment, or contain characters that change the direction
of writing. Identifiers are built from ASCII letters; comments are one line of printable text.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from draisine.program.program import Slot

LONGEST_LABEL = 60  # characters of a label in a comment beside code
_TEMPORARY = re.compile(r"w\d+", re.IGNORECASE)  # names of intermediate values


def plain(text: str) -> str:
    """One line of printable text: line ends, control characters and marks of writing direction become spaces.

    >>> plain("lean\\n */ of the\\u202e frame")
    'lean */ of the frame'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def short(text: str) -> str:
    """`plain`, and not longer than fits beside code."""
    line = plain(text)
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of printable text, no longer than `width`; further lines are indented. Words too long are broken."""
    return textwrap.wrap(plain(text), width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def letters(text: str) -> str:
    """The letters, digits and single underscores of a text, with no underscore at its ends: `dsteer/dt` → `dsteer_dt`."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")


@dataclass
class Names:
    """Identifiers of one file: unique, and none of them reserved."""

    reserved: Collection[str]
    case_matters: bool = True
    longest: int = 60
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._taken.update(self._folded(word) for word in self.reserved)

    def give(self, *candidates: str) -> str:
        """The first candidate that is free, else the last one with a number."""
        for candidate in candidates:
            if self._take(candidate):
                return candidate
        stem = candidates[-1][: self.longest - 8]
        stem = stem if stem[:1].isalpha() else f"n_{stem}"
        number = 2
        while not self._take(f"{stem}_{number}"):
            number += 1
        return f"{stem}_{number}"

    def entries(self, argument: str, slot: Slot) -> tuple[str, ...]:
        """Identifiers for the entries of a slot: their labels if possible, else prefixed with the argument's name."""
        labels = slot.labels or ("",) * slot.size
        return tuple(
            self.give(*[w for w in (letters(label), f"{argument}_{letters(label)}".strip("_")) if label], f"{argument}_{k}")
            for k, label in enumerate(labels)
        )

    def _take(self, name: str) -> bool:
        free = (
            name[:1].isalpha()
            and len(name) <= self.longest
            and not _TEMPORARY.fullmatch(name)
            and self._folded(name) not in self._taken
        )
        if free:
            self._taken.add(self._folded(name))
        return free

    def _folded(self, word: str) -> str:
        return word if self.case_matters else word.lower()


def words(texts: Iterable[str]) -> set[str]:
    """All identifiers in source text, which are reserved."""
    return {word for text in texts for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text)}
