"""Names and texts of a model, made safe for source code.

Labels and descriptions are written by people: they may be words that a language keeps for itself, differ only in case, hold signs
that end a comment, or characters that turn the direction of writing. Identifiers are built from plain letters; comments get
one line of printable text.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from draisine.program.program import Slot

LONGEST_LABEL = 60  # characters of a label in a comment beside code
_TEMPORARY = re.compile(r"w\d+", re.IGNORECASE)  # what the writer calls values that have no name of their own


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
    """Identifiers given out so far in one file. None is given twice, none is a word of the language."""

    reserved: Collection[str]
    case_matters: bool = True
    longest: int = 60
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._taken.update(self._folded(word) for word in self.reserved)

    def give(self, *targets: str) -> str:
        """The first wish that is free, else the last one with a number."""
        for target in targets:
            if self._take(target):
                return target
        stem = targets[-1][: self.longest - 8]
        stem = stem if stem[:1].isalpha() else f"n_{stem}"
        number = 2
        while not self._take(f"{stem}_{number}"):
            number += 1
        return f"{stem}_{number}"

    def entries(self, argument: str, slot: Slot) -> tuple[str, ...]:
        """Identifiers for the entries of a slot: their labels where possible, else with the argument's name before them."""
        labels = slot.labels or ("",) * slot.size
        return tuple(
            self.give(*[w for w in (letters(label), f"{argument}_{letters(label)}".strip("_")) if label], f"{argument}_{k}")
            for k, label in enumerate(labels)
        )

    def _take(self, target: str) -> bool:
        free = (
            target[:1].isalpha()
            and len(target) <= self.longest
            and not _TEMPORARY.fullmatch(target)
            and self._folded(target) not in self._taken
        )
        if free:
            self._taken.add(self._folded(target))
        return free

    def _folded(self, word: str) -> str:
        return word if self.case_matters else word.lower()


def words(texts: Iterable[str]) -> set[str]:
    """All words of some source text: names that must not be given to anything else."""
    return {word for text in texts for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text)}
