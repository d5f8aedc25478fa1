"""Sphinx extension: the index for the search of `static/site.js`, one row for each section and each documented name."""

from __future__ import annotations

import json
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

Row = tuple[str, str, str, str]  # title of the page, heading or name, address, text
LONGEST = 1500  # characters of a section's text


def rows(doctree: nodes.document, page: str, address: str) -> Iterator[Row]:
    """Sections and names of a page; a name is shown as the reference writes it, `Model.wheel`."""
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        if heading is not None:
            top = section.parent is doctree
            yield page, heading.astext(), address if top else f"{address}#{section['ids'][0]}", _text(section)
    for entry in doctree.findall(addnodes.desc):
        for signature in entry.findall(addnodes.desc_signature):
            if signature.parent is entry and signature.get("ids"):
                yield page, signature["fullname"], f"{address}#{signature['ids'][0]}", _text(entry)


def _text(owner: nodes.Element) -> str:
    """Words of a section or entry, without those of its own sections and entries, and without included files."""
    inner = (nodes.section, addnodes.desc, addnodes.desc_signature, nodes.title, nodes.raw, addnodes.toctree, nodes.comment)
    words: list[str] = []

    def collect(node: nodes.Node) -> None:
        for child in node.children:
            if isinstance(child, nodes.Text):
                words.append(child.astext())
            elif not isinstance(child, inner) and not (isinstance(child, nodes.literal_block) and "source" in child):
                collect(child)
                if isinstance(child, (nodes.TextElement, nodes.entry)):
                    words.append(" ") if not isinstance(child, nodes.Inline) else None

    collect(owner)
    return " ".join("".join(words).split())[:LONGEST]


def write(app: Sphinx, failed: Exception | None) -> None:
    if failed is not None or app.builder.format != "html":
        return
    found = []
    for name in sorted(app.env.found_docs):
        address = app.builder.get_target_uri(name)
        found += rows(app.env.get_doctree(name), app.env.titles[name].astext(), address)
    # "<" could end a script that somebody inlines
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    (app.outdir / "_static" / "search_index.js").write_text(f"window.draisineIndex = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
