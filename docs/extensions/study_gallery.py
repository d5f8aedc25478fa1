"""The gallery's pages, written from its entries before Sphinx reads them: an overview by level, and one page per study.

`docs/gallery.md` holds the words: an introduction, a paragraph on each level, a section on each study. The overview shows cards
in place of the sections, which move to the studies' own pages with film, findings, figures and source.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from draisine import gallery
from extensions import DOCS, ROOT
from extensions.films import Made

FOLDER = DOCS / "gallery"
FINDINGS = DOCS / "findings.json"  # written by docs/pictures.py
_SECTION = re.compile(r"^### (.+?) \(`(\w+)`\)\s*\n(.*?)(?=^##|\Z)", flags=re.MULTILINE | re.DOTALL)
_LEVEL = re.compile(r"^## (.+)\n((?:(?!##).*\n?)*)", flags=re.MULTILINE)


@cache
def studies() -> dict[str, str]:
    """Studies, with one line about each; the files are read once."""
    return gallery.studies()


def sections(text: str) -> dict[str, tuple[str, str]]:
    """Study → heading and text of its section in `docs/gallery.md`."""
    return {found[2]: (found[1], found[3].strip()) for found in _SECTION.finditer(text)}


def title(study: str, written: Mapping[str, tuple[str, str]]) -> str:
    return written[study][0] if study in written else study.replace("_", " ").capitalize()


# ---------------------------------------------------------------- overview


def overview(text: str, made: Mapping[str, Made]) -> str:
    """`docs/gallery.md` with cards in place of its sections, and a table of models."""
    written = sections(text)
    levels = {found[1]: found[2] for found in _LEVEL.finditer(text)}
    parts = [text.partition("\n## ")[0]]
    for level, words in levels.items():
        there = [study for study in studies() if gallery.entry(study).level == level]
        cards = "\n".join(_card(study, title(study, written), made) for study in there)
        entries = "\n".join(f"gallery/{study}" for study in there)
        parts.append(f"## {level}\n\n{words.strip()}\n\n::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}\n::::\n")
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {level}\n\n{entries}\n```\n")
    rows = "\n".join(f"| `{name}` | {about} |" for name, about in gallery.models().items())
    parts.append("## Models\n\n`dr.gallery.NAME()`, `draisine show NAME`, `draisine simulate NAME`.\n")
    parts.append(f"| model | what it is |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)


def _card(study: str, heading: str, made: Mapping[str, Made]) -> str:
    if study in made and made[study].film:
        still, moving = (f"films/{study}-{kind}.webp" for kind in ("still", "moving"))
        source = f'<source srcset="{still}" media="(prefers-reduced-motion: reduce)">'
        image = f'<picture>{source}<img src="{moving}" alt="" loading="lazy"></picture><span class="moves">film</span>'
        picture = f"```{{raw}} html\n{image}\n```"
    else:
        picture = f"![]({shown})" if (shown := thumbnail(study)) else f"`{study}`"
    link = f":link: gallery/{study}\n:link-type: doc\n:class-card: study"
    return f":::{{grid-item-card}}\n{link}\n\n{picture}\n\n**{heading}**\n\n{studies()[study]}\n:::\n"


def thumbnail(study: str) -> str | None:
    """A picture of a study that was drawn before: made for a card, or the first that the gallery's words show, or any."""
    if (DOCS / "images" / "thumbnails" / f"{study}.png").exists():
        return f"images/thumbnails/{study}.png"
    return _picture(study)


def _picture(study: str) -> str | None:
    """A picture of a study at its full size."""
    found = sorted((DOCS / "images").glob(f"{study}-*.png"))
    shown = re.search(rf"images/({study}-\S+\.png)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    return f"images/{shown[1]}" if shown else f"images/{found[0].name}" if found else None


# ---------------------------------------------------------------- one study


def write(made: Mapping[str, Made]) -> None:
    """A page for each study into `docs/gallery`; figures that `films.make` drew are there."""
    FOLDER.mkdir(exist_ok=True)
    for page in FOLDER.glob("*.md"):
        page.unlink()
    kept = json.loads(FINDINGS.read_text(encoding="utf-8")) if FINDINGS.exists() else {}
    written = sections((DOCS / "gallery.md").read_text(encoding="utf-8"))
    for study in studies():
        outcome = made.get(study, Made(tuple(kept.get(study, ()))))
        (FOLDER / f"{study}.md").write_text(_page(study, written, outcome), encoding="utf-8")
    current = {figure for outcome in made.values() for figure in outcome.figures}
    for figure in (FOLDER / "figures").glob("*.png"):
        if figure.name not in current:
            figure.unlink()


def _page(study: str, written: Mapping[str, tuple[str, str]], made: Made) -> str:
    words = written[study][1] if study in written else studies()[study]
    if "images/" not in words and (picture := _picture(study)):
        words += f"\n\n![{studies()[study]}]({picture})"
    words = re.sub(r"\]\((?!https?:|#)", "](../", words)  # the section moves one folder down
    heading, file = title(study, written), _file(study)
    further = [figure for figure in made.figures if figure not in words]
    figures = "\n".join(f"![{figure.partition('-')[2][:-4].replace('_', ' ')}](figures/{figure})" for figure in further)
    run = f'import draisine as dr\n\nstudy = dr.gallery.study("{study}")()\nprint(*study.findings, sep="\\n")'
    findings = "\n".join(made.findings)
    parts = [
        f"# {heading}",
        f"[Gallery](../gallery.md) · {{bdg-secondary-line}}`{gallery.entry(study).level}` `{study}`",
        film(study, heading, "../") if made.film else "",
        words,
        _hint(file),
        f"## Run it\n\n```python\n{run}\n```",
        f"```output\n{findings}\n```" if findings else "",
        f"Or `draisine run {study} --out {study}`, which also keeps figures and data.",
        f"## Further figures\n\n{figures}" if figures else "",
        f":::{{dropdown}} Source: `{file.relative_to(ROOT)}`\n```{{literalinclude}} ../../{file.relative_to(ROOT)}\n"
        ":language: python\n```\n:::",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def film(study: str, label: str, up: str = "", hint: str = "orbit with the mouse, keys 1 2 3 for cameras") -> str:
    """A poster that becomes the film when it is clicked (`static/site.js`)."""
    said = html.escape(f"Film: {label}")
    image = f'<img src="{up}films/{study}.webp" alt="{said}"><span>play: {html.escape(hint)}</span>'
    return f'```{{raw}} html\n<a class="film" href="{up}films/{study}.html" aria-label="{said}">{image}</a>\n```'


def with_film(text: str, made: Mapping[str, Made]) -> str:
    """The first picture of the front page becomes the film that it is taken from."""
    study = "bicycle_free_run"
    if study not in made:
        return text
    return re.sub(r"^!\[(.+?)\]\(.+?\)$", lambda shown: film(study, shown[1], hint=shown[1]), text, count=1, flags=re.MULTILINE)


def _file(study: str) -> Path:
    """The file that defines a study."""
    return Path(str(import_module(gallery.study(study).__module__).__file__)).resolve()


def _hint(file: Path) -> str:
    """What the head of a study's file says that it shows and one should see, as a quotation."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraphs = [p for p in text.split("\n\n") if p.startswith(("What it shows", "What you should see"))]
    said = [f"**{p.partition(':')[0]}:** {p.partition(':')[2].strip()}" for p in paragraphs]
    return "\n>\n".join("> " + p.replace("\n", "\n> ") for p in said)
