"""The gallery of the site: an overview by level, and one page per study with its pictures, film, findings and source."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docsite.contents import DOCS
from docsite.levels import FILMS, by_level, level
from docsite.markdown import Heading, Rendered, figure
from docsite.shell import Sheet
from draisine import gallery

FINDINGS = DOCS / "findings.json"  # written by docs/pictures.py
_HEADING = re.compile(r"^(#{2,3}) (.+?) \(`(\w+)`\)\s*$", flags=re.MULTILINE)
_ENTRIES = Path(gallery.__file__).parent / "entries"


@dataclass(frozen=True)
class Made:
    """What running a study gave: findings, pictures by name, the film and its poster, as paths in the site."""

    findings: tuple[str, ...]
    figures: tuple[str, ...] = ()
    film: str | None = None
    poster: str | None = None


@cache
def studies() -> dict[str, str]:
    """Studies, with one line about each; the files are read once."""
    return gallery.studies()


def told() -> dict[str, tuple[str, str]]:
    """Study → heading and text of its section in `docs/gallery.md`."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    found = {}
    for heading in _HEADING.finditer(text):
        end = re.compile(r"^#{1,3} ", flags=re.MULTILINE).search(text, heading.end())
        found[heading[3]] = (heading[2], text[heading.end() : end.start() if end else None].strip())
    return found


def stored() -> dict[str, Made]:
    """Findings as they were when the pictures were drawn."""
    kept = json.loads(FINDINGS.read_text(encoding="utf-8")) if FINDINGS.exists() else {}
    return {study: Made(tuple(findings)) for study, findings in kept.items()}


def make(study: str, site: str, run: str, charts: tuple[str, ...]) -> Made:
    """Run a study for the site: its figures, one film, and the film's poster. For another process."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from draisine.view.plots.figures import save_figure

    folder = Path(site)
    for name in ("films", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    outcome = gallery.study(study)()
    figures = []
    for name, drawing in outcome.figures.items():
        figures.append(f"figures/{study}-{name}.png")
        drawing.set_dpi(110)
        save_figure(drawing, folder / figures[-1])
    ride = outcome.runs[run]
    model = gallery.model(ride.model) if ride.source is None else None
    film = ride.animate(charts=list(charts), show=False, model=model, title=outcome.title)
    film.save(folder / "films" / f"{study}.html")
    poster = film.picture(0.4 * float(ride.time[-1]))
    poster.savefig(folder / "figures" / f"{study}--poster.webp", dpi=110)
    pyplot.close("all")
    return Made(outcome.findings, tuple(figures), f"films/{study}.html", f"figures/{study}--poster.webp")


def sheets(render: Callable[[str, Path, str], Rendered], made: Mapping[str, Made]) -> list[Sheet]:
    """The overview, and a page for each study. `render(text, source, target)` turns Markdown into HTML."""
    sections = told()
    pages = [_page(study, sections, made.get(study, Made(())), render) for study in studies()]
    return [_overview(sections, made), *pages]


# ---------------------------------------------------------------- overview


def _overview(sections: Mapping[str, tuple[str, str]], made: Mapping[str, Made]) -> Sheet:
    head = Heading(1, "Gallery", "gallery")
    headings, passages = [head], [(head, "studies and models by level")]
    body = [
        '<h1 id="gallery">Gallery</h1>',
        f"<p>{len(studies())} studies, each one file that begins with what it shows and what you should see, and ends with "
        "assertions that hold it to known numbers. <code>draisine list</code> names them all, <code>draisine run STUDY</code> "
        "draws the figures, <code>draisine certify MODEL</code> derives a model by independent roads and compares.</p>",
    ]
    for name, (about, there) in by_level().items():
        headings.append(Heading(2, name, name.lower().replace(" ", "-")))
        body.append(f'<h2 id="{headings[-1].anchor}">{name}</h2><p>{about}</p><div class="cards">')
        body += [_card(study, sections, made.get(study)) for study in there]
        body.append("</div>")
    headings.append(Heading(2, "Models", "models"))
    rows = "".join(
        f"<tr><td><code>{name}</code></td><td>{html.escape(about)}</td></tr>" for name, about in gallery.models().items()
    )
    body.append(
        '<h2 id="models">Models</h2><p><code>dr.gallery.NAME()</code>, <code>draisine show NAME</code>, '
        "<code>draisine simulate NAME</code>.</p>"
        '<div class="table"><table><thead><tr><th>model</th><th>what it is</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return Sheet("gallery.html", "Gallery", "\n".join(body), "Begin", headings, passages)


def _card(study: str, sections: Mapping[str, tuple[str, str]], made: Made | None) -> str:
    picture = made.poster if made is not None and made.poster else thumbnail(study)
    shown = (
        f'<div class="picture"><img src="{picture}" alt="" loading="lazy">'
        if picture
        else '<div class="picture none">' + study[0].upper()
    )
    moves = '<span class="moves">film</span>' if made is not None and made.film else ""
    title = sections.get(study, (_titled(study), ""))[0]
    return (
        f'<a class="card" href="gallery/{study}.html">{shown}{moves}</div><b>{html.escape(title)}</b>'
        f"<p>{html.escape(studies()[study])}</p></a>"
    )


def thumbnail(study: str) -> str | None:
    found = sorted((DOCS / "images").glob(f"{study}-*.png"))
    shown = re.search(rf"images/({study}-\S+\.png)", (DOCS / "gallery.md").read_text(encoding="utf-8"))
    return f"images/{shown[1]}" if shown else f"images/{found[0].name}" if found else None


def _titled(study: str) -> str:
    return study.replace("_", " ").capitalize()


# ---------------------------------------------------------------- one study


def _page(study: str, sections: Mapping[str, tuple[str, str]], made: Made, render: Callable[[str, Path, str], Rendered]) -> Sheet:
    title, words = sections.get(study, (_titled(study), studies()[study]))
    if "images/" not in words and (picture := thumbnail(study)):
        words += f"\n\n![{studies()[study]}]({picture})"
    findings = "\n".join(made.findings)
    shown, hint = _head(study)
    example = (
        f'```python\nimport draisine as dr\n\nstudy = dr.gallery.study("{study}")()\nprint(*study.findings, sep="\\n")\n```\n'
    )
    text = f"# {title}\n\n{{film}}\n\n{words}\n\n{hint}\n\n## Run it\n\n{example}\n"
    if findings:
        text += f"\n```output\n{findings}\n```\n"
    text += f"\nOr `draisine run {study} --out {study}`, which also keeps figures and data.\n"
    drawn = render(text, DOCS / "gallery.md", f"gallery/{study}.html")
    body = drawn.body.replace("<p>{film}</p>", _badge(study) + _film(title, made))
    body += _further([file for file in made.figures if Path(file).name not in body], f"gallery/{study}.html", render)
    body += _source(shown)
    return Sheet(f"gallery/{study}.html", title, body, "Gallery", drawn.headings, drawn.sections, listed=False, kind="study")


def _further(files: list[str], target: str, render: Callable[[str, Path, str], Rendered]) -> str:
    """Figures that the text does not show. Those that other pages show lie with these pages' pictures."""
    if not files:
        return ""
    shown = [file for file in files if (DOCS / "images" / Path(file).name).exists()]
    text = "\n".join(f"![{_caption(file)}](images/{Path(file).name})" for file in shown)
    rows = "".join(figure(f"../{file}", _caption(file)) for file in files if file not in shown)
    rows = f'<div class="figures">{rows}</div>' if rows else ""
    return f'<h2 id="all-figures">Further figures</h2>{render(text, DOCS / "gallery.md", target).body}{rows}'


def _badge(study: str) -> str:
    badges = "".join(f'<span class="badge">{text}</span> ' for text in (level(study), study))
    return f'<p><a href="../gallery.html">Gallery</a> · {badges}</p>'


def _film(title: str, made: Made) -> str:
    if made.film is None:
        return ""
    label = html.escape(f"Film: {title}")
    return (
        f'<a class="film" href="../{made.film}" aria-label="{label}"><img src="../{made.poster}" alt="{label}">'
        "<span>play: orbit with the mouse, keys 1 2 3 for cameras</span></a>"
    )


def _caption(figure: str) -> str:
    return Path(figure).stem.partition("-")[2].replace("_", " ")


def _file(study: str) -> Path:
    """The file that defines a study."""
    return next(file for file, text in _entries().items() if re.search(rf"^def {study}\(", text, flags=re.MULTILINE))


@cache
def _entries() -> dict[Path, str]:
    return {file: file.read_text(encoding="utf-8") for file in sorted(_ENTRIES.glob("*.py"))}


def _head(study: str) -> tuple[Path, str]:
    """The file of a study, and what its head says one sees, as Markdown."""
    file = _file(study)
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraphs = [p for p in text.split("\n\n") if p.startswith(("What it shows", "What you should see"))]
    said = [f"**{p.partition(':')[0]}:** {p.partition(':')[2].strip()}" for p in paragraphs]
    return file, "\n>\n".join("> " + p.replace("\n", "\n> ") for p in said)


def _source(file: Path) -> str:
    from docsite.markdown import highlighted

    code = highlighted(file.read_text(encoding="utf-8"), "python")
    return f"<details><summary>Source: <code>src/draisine/gallery/entries/{file.name}</code></summary>{code}</details>"


def filmed(quick: bool) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The studies that are run for a build."""
    from docsite.levels import QUICK

    there = studies()
    return {study: how for study, how in FILMS.items() if study in there and (not quick or study in QUICK)}
