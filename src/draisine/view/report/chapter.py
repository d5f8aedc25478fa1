"""Chapters of a report and their markup: paragraphs, tables, figures. Text of descriptions is escaped."""

from __future__ import annotations

import html
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from draisine.view.plots.figure_files import as_svg
from draisine.view.plots.labels import pretty_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

escape = html.escape

_NUMBER = re.compile(r"[-+−]?[\d.]+(e[-+−]?\d+)?( ?[^\s\d]\S*)?")


def paragraph(text: str, kind: str = "") -> str:
    return f"<p{_class(kind)}>{escape(text)}</p>"


def bullet_list(sentences: Iterable[str], kind: str = "") -> list[str]:
    return [f"<ul{_class(kind)}>", *(f"<li>{escape(sentence)}</li>" for sentence in sentences), "</ul>"]


def code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> list[str]:
    """A table without empty columns; numeric columns are right-aligned."""
    filled = [k for k in range(len(head)) if any(row[k] for row in rows)]
    right = {k for k in filled if all(not row[k] or _NUMBER.fullmatch(row[k]) for row in rows)}

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{_class('number' if k in right else '')}>{escape(row[k])}</{tag}>" for k in filled)

    lines = ['<div class="scroll"><table>']
    lines += [f"<caption>{escape(caption)}</caption>"] if caption else []
    lines += [f"<thead><tr>{cells('th', head)}</tr></thead>", "<tbody>"]
    return [*lines, *(f"<tr>{cells('td', row)}</tr>" for row in rows), "</tbody></table></div>"]


def figure(drawing: Figure, caption: str) -> list[str]:
    """A figure as inline vector graphics."""
    return [
        f'<figure role="img" aria-label="{escape(caption)}">{as_svg(drawing)}<figcaption>{escape(caption)}</figcaption></figure>'
    ]


def with_own_names(page: str) -> str:
    """The page with unique identifiers in each SVG; Matplotlib repeats them between figures.

    >>> with_own_names('<svg><g id="a" href="#a"/></svg><svg><g id="a"/></svg>')
    '<svg><g id="g1-a" href="#g1-a"/></svg><svg><g id="g2-a"/></svg>'
    """
    count = 0

    def own(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>g{count}-", match[0])

    return re.sub(r"<svg\b.*?</svg>", own, page, flags=re.DOTALL)


def number(value: float, unit: str = "") -> str:
    """
    >>> number(0.25, "kg*m^2"), number(3.0)
    ('0.25 kg·m²', '3')
    """
    return f"{value:.6g} {pretty_unit(unit)}".rstrip()


def count_noun(count: int, thing: str, things: str = "") -> str:
    """
    >>> count_noun(1, "body", "bodies"), count_noun(3, "joint")
    ('1 body', '3 joints')
    """
    return f"{count} {thing if count == 1 else things or thing + 's'}"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


# ---------------------------------------------------------------- chapters


@dataclass(frozen=True)
class Content:
    """Content of a chapter: lines of the page, facts for the first page, and problems of the model, if any."""

    lines: tuple[str, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True)
class NotApplicable:
    """The reason why a chapter does not apply to the model; not a failure."""

    reason: str


@dataclass(frozen=True)
class Chapter:
    """A finished chapter. `failed` is the reason if it could not be written, `trouble` a problem of the model."""

    title: str
    lines: tuple[str, ...]
    facts: Mapping[str, str]
    seconds: float
    failed: str = ""
    trouble: str = ""

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())


def write_chapter(title: str, write: Callable[[], Content | NotApplicable]) -> Chapter:
    """Write a chapter; an exception becomes its content, so that the other chapters are not lost."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Content | NotApplicable = write()
            chapter = _chapter(title, found)
        except Exception as problem:  # an error of one chapter is reported there
            reason = f"{type(problem).__name__}: {problem}"
            reported = paragraph(f"This chapter could not be written: {reason}", "failed")
            chapter = Chapter(title, (reported,), {}, 0.0, failed=reason)
    remarks = tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)))
    lines = (*chapter.lines, *bullet_list((f"warning: {text}" for text in remarks), "remarks")) if remarks else chapter.lines
    return replace(chapter, lines=lines, seconds=time.perf_counter() - began)


def _chapter(title: str, found: Content | NotApplicable) -> Chapter:
    if isinstance(found, NotApplicable):
        return Chapter(title, (paragraph(found.reason, "absent"),), {}, 0.0)
    trouble = (paragraph(found.trouble, "failed"),) if found.trouble else ()
    return Chapter(title, (*trouble, *found.lines), found.facts, 0.0, trouble=found.trouble)
