"""Markdown to HTML: GitHub's tables and heading anchors, formulas as MathML, code in colours, public names as links."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

_TAG = re.compile(r"\\tag\{([^}]+)\}")
_COMMENT = re.compile(r"<!--.*?-->", flags=re.DOTALL)


class PageError(Exception):
    """A page says something that the site cannot show."""


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


@dataclass
class Rendered:
    """A page's HTML, its headings, and the text below each of them for the search."""

    body: str
    headings: list[Heading] = field(default_factory=list)
    sections: list[tuple[Heading, str]] = field(default_factory=list)


def slug(text: str) -> str:
    """The anchor GitHub gives a heading.

    >>> slug("Feedback, linearised: `dr.lqr`")
    'feedback-linearised-drlqr'
    """
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@cache
def mathml(latex: str, block: bool) -> str:
    """A formula as MathML; `\\tag{n}` numbers a displayed one."""
    from latex2mathml.converter import convert

    tag = _TAG.search(latex)
    made = convert(_TAG.sub("", latex).strip(), display="block" if block else "inline")
    if "\\" in made:
        raise PageError(f"the formula {latex!r} has something that cannot be written as MathML: {made}")
    if not block:
        return made
    if tag is None:
        return f'<div class="equation">{made}</div>\n'
    return f'<div class="equation" id="eq-{tag[1]}">{made}<a class="number" href="#eq-{tag[1]}">({tag[1]})</a></div>\n'


def highlighted(code: str, language: str) -> str:
    """Code in colours; what has no language stays plain."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    names = {"sh": "bash", "output": "text", "": "text"}
    try:
        lexer = get_lexer_by_name(names.get(language, language), stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    kind = "output" if language == "output" else "code"
    return f'<div class="{kind}">{highlight(code, lexer, HtmlFormatter(cssclass="highlight"))}</div>\n'


class Renderer:
    """Turns Markdown into HTML for one place in the site.

    `link` turns the target of a link or picture, as written, into one that holds in the site. `names` are public names with the
    address of their documentation, relative to the root; `up` leads there.
    """

    def __init__(self, link: Callable[[str], str], names: Mapping[str, str] = {}, up: str = "") -> None:
        self.link, self.names, self.up = link, names, up
        self.parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self.parser.use(dollarmath_plugin, allow_digits=False, double_inline=False, allow_space=False)

    def render(self, text: str) -> Rendered:
        tokens = self.parser.parse(_COMMENT.sub("", text))
        made = Rendered("")
        taken: dict[str, int] = {}
        for token, following in zip_longest(tokens, tokens[1:]):
            if token.type == "heading_open" and following is not None:
                words = _plain(following)
                anchor = slug(words)
                taken[anchor] = taken.get(anchor, -1) + 1
                anchor += f"-{taken[anchor]}" if taken[anchor] else ""
                token.attrSet("id", anchor)
                made.headings.append(Heading(int(token.tag[1]), words, anchor))
                made.sections.append((made.headings[-1], ""))
            elif token.type in ("inline", "fence", "math_block") and made.sections:
                heading, so_far = made.sections[-1]
                if not (token.type == "inline" and _plain(token) == heading.text):
                    made.sections[-1] = (heading, f"{so_far} {_plain(token)}")
            if token.children:
                self._links(token)
        made.body = self._html(tokens)
        return made

    def _links(self, token: Token) -> None:
        inside = False
        for child in token.children or ():
            if child.type == "link_open":
                inside = True
                child.attrSet("href", self.link(str(child.attrGet("href"))))
            elif child.type == "link_close":
                inside = False
            elif child.type == "image":
                child.attrSet("src", self.link(str(child.attrGet("src"))))
                child.attrSet("loading", "lazy")
            elif child.type == "code_inline" and not inside:
                child.meta["address"] = self._address(child.content)

    def _address(self, code: str) -> str | None:
        """Where a public name is told: `dr.lqr(…)`, `lqr`, `Model.wheel`."""
        found = re.match(r"(?:dr\.)?([A-Za-z]\w*(?:\.[a-z]\w*)?)(?=$|\()", code)
        if found is None or (not code.startswith("dr.") and found[1] in _ORDINARY):
            return None
        address = self.names.get(found[1])
        return None if address is None else self.up + address

    def _html(self, tokens: list[Token]) -> str:
        rules: dict[str, Any] = {
            "fence": lambda ts, i, *_: highlighted(ts[i].content, ts[i].info.split(" ")[0]),
            "code_block": lambda ts, i, *_: highlighted(ts[i].content, "text"),
            "math_inline": lambda ts, i, *_: mathml(ts[i].content, False),
            "math_block": lambda ts, i, *_: mathml(ts[i].content, True),
            "code_inline": lambda ts, i, *_: _inline_code(ts[i]),
            "table_open": lambda *_: '<div class="table"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "heading_close": lambda ts, i, *_: (
                f'<a class="anchor" href="#{ts[i - 2].attrGet("id")}" aria-label="link to this section">#</a></{ts[i].tag}>\n'
            ),
        }
        for name, rule in rules.items():
            self.parser.renderer.rules[name] = rule
        made = self.parser.renderer.render(tokens, self.parser.options, {})
        return _figures(made)


# words of the language of mechanics and of Python that are public names, too
_ORDINARY = {
    "filter",
    "compile",
    "load",
    "place",
    "steady",
    "modes",
    "follow",
    "implicit",
    "draw",
    "observed",
    "tracking",
    "gradient",
}


def _inline_code(token: Token) -> str:
    text = f"<code>{html.escape(token.content)}</code>"
    address = token.meta.get("address")
    return f'<a class="name" href="{address}">{text}</a>' if address else text


def _plain(token: Token) -> str:
    if token.children is None:
        return token.content
    return "".join(" " if c.type == "softbreak" else _plain(c) if c.children else c.content for c in token.children).strip()


def figure(source: str, caption: str) -> str:
    image = f'<img src="{source}" alt="{caption}" loading="lazy">'
    return f'<figure><a href="{source}">{image}</a><figcaption>{caption}</figcaption></figure>'


def _figures(made: str) -> str:
    """A paragraph of pictures alone becomes figures with captions, side by side when there are two."""

    def row(paragraph: re.Match[str]) -> str:
        images = re.sub(r'<img src="([^"]*)" alt="([^"]*)"[^>]*>', lambda image: figure(image[1], image[2]), paragraph[1])
        return f'<div class="figures">{images}</div>'

    return re.sub(r"<p>((?:\s*<img [^>]*>\s*)+)</p>", row, made)


def resolve(link: str, source: Path, target: str, pages: Mapping[Path, str], assets: dict[str, Path]) -> str:
    """A link as the Markdown file has it, as the site needs it. Files beside the pages are noted in `assets`."""
    if re.match(r"[a-z]+:", link):
        return link
    path, _, anchor = link.partition("#")
    if not path:
        return link
    file = (source.parent / path).resolve()
    here = Path(target).parent
    behind = f"#{anchor}" if anchor else ""
    if file in pages:
        return os.path.relpath(pages[file], here) + behind
    if not file.is_file():
        raise PageError(f"{source.name} points to {link}, which does not exist")
    for root, prefix in ((source.parent, ""), *((parent, "") for parent in source.parents)):
        if (root / "docsite").is_dir() and file.is_relative_to(root):
            place = str(file.relative_to(root))
            assets[place] = file
            return prefix + os.path.relpath(place, here)
    raise PageError(f"{source.name} points to {link}, which is no page and does not lie in docs/")
