"""A chapter of a report: what it says, or why it says nothing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from draisine.view.report.chapter import listed, paragraph


@dataclass(frozen=True)
class Reported:
    """What a chapter says: lines of the page, facts for the first page, and what is wrong with the model, if anything is."""

    lines: tuple[str, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True)
class Absent:
    """Why a chapter does not apply to the model: a sentence, not a failure."""

    reason: str


@dataclass(frozen=True)
class Chapter:
    """A finished chapter. `failed` says that it could not be written, `trouble` that what it found is not as it should be."""

    title: str
    lines: tuple[str, ...]
    facts: Mapping[str, str]
    seconds: float
    failed: str = ""
    trouble: str = ""

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())


def written(title: str, write: Callable[[], Reported | Absent]) -> Chapter:
    """A chapter, whatever happens: one that cannot be written says why, and the others are not lost."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Reported | Absent = write()
            chapter = _chapter(title, found)
        except Exception as problem:  # whatever it is, it belongs to this chapter alone and is named there
            reason = f"{type(problem).__name__}: {problem}"
            reported = paragraph(f"This chapter could not be written: {reason}", "failed")
            chapter = Chapter(title, (reported,), {}, 0.0, failed=reason)
    remarks = tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)))
    lines = (*chapter.lines, *listed((f"warning: {text}" for text in remarks), "remarks")) if remarks else chapter.lines
    return replace(chapter, lines=lines, seconds=time.perf_counter() - began)


def _chapter(title: str, found: Reported | Absent) -> Chapter:
    if isinstance(found, Absent):
        return Chapter(title, (paragraph(found.reason, "absent"),), {}, 0.0)
    trouble = (paragraph(found.trouble, "failed"),) if found.trouble else ()
    return Chapter(title, (*trouble, *found.lines), found.facts, 0.0, trouble=found.trouble)
