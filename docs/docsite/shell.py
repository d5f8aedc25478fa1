"""The frame around every page: navigation, the page's own headings, and the index for the search."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from string import Template

from docsite.markdown import Heading

WEB = Path(__file__).parent / "web"
STATIC = ("site.css", "site.js", "theme.js", "icon.svg")


@dataclass(frozen=True)
class Sheet:
    """A finished page."""

    target: str
    title: str
    body: str
    section: str
    headings: Sequence[Heading] = ()
    passages: Sequence[tuple[Heading, str]] = ()  # for the search
    listed: bool = True  # in the navigation
    kind: str = "page"
    label: str = ""  # in the navigation, where it is not the title

    @property
    def name(self) -> str:
        return self.label or self.title

    @property
    def up(self) -> str:
        return "../" * self.target.count("/")


@dataclass
class Site:
    """All sheets, in the order of the navigation, and the files that lie beside them."""

    sheets: list[Sheet] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        template = Template((WEB / "page.html").read_text(encoding="utf-8"))
        listed = [sheet for sheet in self.sheets if sheet.listed]
        for sheet in self.sheets:
            file = folder / sheet.target
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._page(template, sheet, listed), encoding="utf-8")
        static = folder / "static"
        static.mkdir(exist_ok=True)
        for name in STATIC:
            text = (WEB / name).read_text(encoding="utf-8")
            (static / name).write_text(text + (colours() if name == "site.css" else ""), encoding="utf-8")
        (static / "search.js").write_text(f"window.draisineIndex = {self._index()};\n", encoding="utf-8")

    def _page(self, template: Template, sheet: Sheet, listed: list[Sheet]) -> str:
        title = sheet.title if sheet.target == "index.html" else f"{sheet.title} · draisine"
        return template.substitute(
            title=html.escape(title),
            about=html.escape(f"{sheet.title}: documentation of draisine, constrained mechanical systems in Python"),
            up=sheet.up,
            kind=sheet.kind,
            navigation=_navigation(sheet, listed),
            body=sheet.body,
            turn=_turn(sheet, listed),
            here=_here(sheet.headings),
            version=version("draisine"),
        )

    def _index(self) -> str:
        rows = []
        for sheet in self.sheets:
            for heading, text in sheet.passages:
                url = sheet.target if heading.level == 1 else f"{sheet.target}#{heading.anchor}"
                rows.append((sheet.title, heading.text, url, " ".join(text.split())[:1500]))
        # "<" could end a script that somebody inlines
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _navigation(sheet: Sheet, listed: list[Sheet]) -> str:
    made, section = [], None
    for each in listed:
        if each.section != section:
            if section is not None:
                made.append("</ul></section>")
            section = each.section
            made.append(f"<section><h2>{html.escape(section)}</h2><ul>")
        current = ' aria-current="page"' if each.target == sheet.target else ""
        made.append(f'<li><a href="{sheet.up}{each.target}"{current}>{html.escape(each.name)}</a></li>')
    return "\n".join([*made, "</ul></section>"])


def _turn(sheet: Sheet, listed: list[Sheet]) -> str:
    """To the page before and the one after."""
    if sheet not in listed:
        return ""
    at = listed.index(sheet)
    neighbours = {"before": listed[at - 1] if at > 0 else None, "next": listed[at + 1] if at + 1 < len(listed) else None}
    made = [
        f'<a href="{sheet.up}{other.target}"><small>{which}</small>{html.escape(other.name)}</a>'
        for which, other in neighbours.items()
        if other is not None
    ]
    return f'<nav class="turn" aria-label="neighbours">{"".join(made)}</nav>'


def _here(headings: Sequence[Heading]) -> str:
    shown = [heading for heading in headings if heading.level in (2, 3)]
    if len(shown) < 2:
        return ""
    rows = "".join(
        f'<li><a class="{"deep" if h.level == 3 else ""}" href="#{html.escape(h.anchor)}">{html.escape(h.text)}</a></li>'
        for h in shown
    )
    return f"<p>On this page</p><ul>{rows}</ul>"


def colours() -> str:
    """Colours of code, light and dark."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs('[data-theme="dark"] .highlight')
    return f"\n{light}\n{dark}\n{_OURS}"


# the styles' own backgrounds give way to the page's
_OURS = """.highlight, .highlight pre { background: transparent; }
.highlight, [data-theme="dark"] .highlight { background: var(--code); }
.output .highlight, [data-theme="dark"] .output .highlight { background: var(--paper); }
.highlight .err { border: 0; }
"""
