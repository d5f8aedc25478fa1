"""Sphinx extension: what pages mean beyond MyST. Formulas become MathML, pictures figures, public names links."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from extensions.reference import address

_TAG = re.compile(r"\\tag\{([^}]+)\}")


@cache
def mathml(latex: str, block: bool) -> str:
    """A formula as MathML, which browsers draw without a script or a network; `\\tag{n}` numbers a displayed one."""
    from latex2mathml.converter import convert

    tag = _TAG.search(latex)
    made = convert(_TAG.sub("", latex).strip(), display="block" if block else "inline")
    if "\\" in made:
        raise ExtensionError(f"the formula {latex!r} has something that cannot be written as MathML: {made}")
    if not block:
        return made
    if tag is None:
        return f'<div class="equation">{made}</div>\n'
    return f'<div class="equation" id="eq-{tag[1]}">{made}<a class="number" href="#eq-{tag[1]}">({tag[1]})</a></div>\n'


def visit_math(writer: Any, node: nodes.Element) -> None:
    writer.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_displaymath(writer: Any, node: nodes.Element) -> None:
    writer.body.append(mathml(node.astext(), block=True))
    raise nodes.SkipNode


def figures(app: Sphinx, doctree: nodes.document) -> None:
    """A paragraph of pictures alone becomes figures with captions, side by side when there are two."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        images = [child for child in paragraph.children if isinstance(child, nodes.image) and child.get("alt")]
        others = [child for child in paragraph.children if child not in images]
        if images and all(isinstance(child, nodes.Text) and not child.strip() for child in others):
            row = nodes.container(classes=["figures"])
            for image in images:
                shown = nodes.figure("", image, nodes.caption("", image["alt"]))
                doctree.set_id(shown)
                row += shown
            paragraph.replace_self(row)


def name_links(app: Sphinx, doctree: nodes.document) -> None:
    """Code in a page that is a public name leads to its entry in the reference."""
    for literal in list(doctree.findall(nodes.literal)):
        above = literal.parent
        if isinstance(above, (nodes.reference, pending_xref, nodes.title)) or literal.get("classes"):
            continue
        if (target := address(literal.astext())) is not None:
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refdoc=app.env.docname, refexplicit=True)
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.add_lexer("output", TextLexer)
    app.connect("doctree-read", figures)
    app.connect("doctree-read", name_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
