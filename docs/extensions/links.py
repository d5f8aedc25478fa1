"""What a built site points to: every page, anchor and picture must be there, and nothing may be fetched from elsewhere."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_NEIGHBORS = ("index", "search", "next", "prev", "author", "canonical")  # links that a browser does not load by itself


class _Page(HTMLParser):
    """Anchors, links and whatever a browser would load by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.twice: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if found := given.get("id"):
            if found in self.anchors:
                self.twice.add(found)
            self.anchors.add(found)
        if tag == "a" and (href := given.get("href")) is not None:
            self.links.append(href)
        elif tag == "link" and (href := given.get("href")) is not None:
            (self.links if given.get("rel") in _NEIGHBORS else self.loaded).append(href)
        if (source := given.get("src")) is not None:
            self.loaded.append(source)


def broken(folder: Path, *, apart: tuple[str, ...] = ("films", "_static")) -> list[str]:
    """Complaints about a site; `apart` names folders whose pages are not ours: films, complete in themselves, and templates."""
    read: dict[Path, _Page] = {}
    for file in sorted(folder.rglob("*.html")):
        if file.relative_to(folder).parts[0] not in apart:
            read[file] = _Page()
            read[file].feed(file.read_text(encoding="utf-8"))
    complaints = []
    for file, page in read.items():
        name = file.relative_to(folder)
        complaints += [f"{name} has the anchor {anchor!r} twice" for anchor in sorted(page.twice)]
        for source in page.loaded:
            if "://" in source or source.startswith("//"):
                complaints.append(f"{name} loads {source} from the network")
            elif not source.startswith("data:") and not (file.parent / unquote(source.partition("?")[0])).is_file():
                complaints.append(f"{name} shows {source}, which does not exist")
        for link in page.links:
            complaints += [f"{name} {said}" for said in _complaint(file, link, read)]
    return complaints


def _complaint(file: Path, link: str, read: dict[Path, _Page]) -> list[str]:
    if link.startswith(("https://", "http://", "mailto:", "data:")):
        return []
    path, _, anchor = unquote(link).partition("#")
    target = Path(os.path.normpath(file.parent / path)) if path else file
    if not target.is_file():
        return [f"points to {link}, which does not exist"]
    if anchor and target in read and anchor not in read[target].anchors:
        return [f"points to {link}, but there is no such anchor"]
    return []


def check(app: Sphinx, failed: Exception | None) -> None:
    """A finished site must be complete in itself; Sphinx does not look into raw HTML, nor at what themes and scripts load."""
    if failed is None and app.builder.format == "html" and (complaints := broken(Path(app.outdir))):
        raise ExtensionError("\n".join(["the site is not complete:", *complaints]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
