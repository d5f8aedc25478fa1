"""Pieces of a page: paragraphs, tables, figures. What comes from descriptions is text, whatever it holds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from draisine.view.plots.labels import pretty_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

say = html.escape

_NUMBER = re.compile(r"[-+−]?[\d.]+(e[-+−]?\d+)?( ?[^\s\d]\S*)?")


def paragraph(text: str, kind: str = "") -> str:
    return f"<p{_class(kind)}>{say(text)}</p>"


def listed(sentences: Iterable[str], kind: str = "") -> list[str]:
    return [f"<ul{_class(kind)}>", *(f"<li>{say(sentence)}</li>" for sentence in sentences), "</ul>"]


def code(text: str) -> str:
    return f"<pre><code>{say(text)}</code></pre>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> list[str]:
    """A table; columns in which nothing stands are left out, and those of numbers stand right."""
    filled = [k for k in range(len(head)) if any(row[k] for row in rows)]
    right = {k for k in filled if all(not row[k] or _NUMBER.fullmatch(row[k]) for row in rows)}

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{_class('number' if k in right else '')}>{say(row[k])}</{tag}>" for k in filled)

    lines = ['<div class="scroll"><table>']
    lines += [f"<caption>{say(caption)}</caption>"] if caption else []
    lines += [f"<thead><tr>{cells('th', head)}</tr></thead>", "<tbody>"]
    return [*lines, *(f"<tr>{cells('td', row)}</tr>" for row in rows), "</tbody></table></div>"]


def figure(drawing: Figure, caption: str) -> list[str]:
    """A figure as vectors inside the page."""
    from draisine.view.plots.figure_files import as_svg

    return [f'<figure role="img" aria-label="{say(caption)}">{as_svg(drawing)}<figcaption>{say(caption)}</figcaption></figure>']


def with_own_names(page: str) -> str:
    """The page with names inside each SVG made its own: figures drawn alike call their parts alike.

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


def counted(count: int, thing: str, things: str = "") -> str:
    """
    >>> counted(1, "body", "bodies"), counted(3, "joint")
    ('1 body', '3 joints')
    """
    return f"{count} {thing if count == 1 else things or thing + 's'}"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
