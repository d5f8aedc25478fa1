"""Builds the site: pages run and rendered, gallery filmed, names documented, links checked."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from docsite import gallery, reference, scoreboard, validation
from docsite.contents import DOCS, ROOT, Page, pages
from docsite.links import broken
from docsite.markdown import Heading, PageError, Rendered, Renderer, resolve
from docsite.shell import Sheet, Site
from docsite.snippets import SnippetError, parses, run_page, understood, with_outputs

T = TypeVar("T")
MARK = ".site"  # a folder with this file may be emptied, finished or not


class BuildError(Exception):
    """The site would show something wrong."""


def build(folder: Path, *, quick: bool = False, tell: Callable[[str], None] = print) -> None:
    """Write the site into a folder, which is emptied before. A quick build runs no page, and films one study.

    Everything wrong with snippets, links and pictures is gathered and raised at the end.
    """
    if folder.exists():
        if any(folder.iterdir()) and not (folder / MARK).exists():
            raise BuildError(f"{folder} holds something that is no site: name another folder, or empty it")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARK).write_text("made by docs/build.py; emptied by the next build\n", encoding="utf-8")
    written = pages()
    complaints: list[str] = []
    for page in written:
        try:
            parses(page.source)
            understood(page.source)
        except SnippetError as wrong:
            complaints.append(str(wrong))
    with tempfile.TemporaryDirectory() as scratch, _workers() as workers:
        films = {
            study: workers.submit(gallery.make, study, str(folder), run, charts)
            for study, (run, charts) in gallery.filmed(quick).items()
        }
        runs = {} if quick else _started(written, Path(scratch), workers)
        tables = {} if quick else {"tables": workers.submit(validation.refreshed, validation.PAGE.read_text(encoding="utf-8"))}
        printed = _finished(runs, complaints, tell)
        computed = _finished(tables, complaints, tell).get("tables")
        made = {**gallery.stored(), **_finished(films, complaints, tell)}
        site = _drawn(_texts(written, printed, computed), made, folder, Path(scratch))
    site.write(folder)
    complaints += broken(folder)
    if complaints:
        raise BuildError("\n".join(complaints))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    tell(f"{len(site.sheets)} pages, {len(films)} films, {size:.1f} MB in {folder}: open {folder / 'index.html'}")


@contextmanager
def _workers() -> Iterator[Executor]:
    # a process per core: pages and studies are independent; spawned, since threads of compiled loops do not survive a fork
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as workers:
        yield workers


def _started(written: tuple[Page, ...], scratch: Path, workers: Executor) -> dict[str, Future[list[str]]]:
    found = {}
    for page in (*written, Page(ROOT / "README.md", "readme", "")):
        place = scratch / page.target
        place.mkdir(parents=True)
        found[page.target] = workers.submit(run_page, str(page.source), str(place))
    return found


def _finished(futures: Mapping[str, Future[T]], complaints: list[str], tell: Callable[[str], None]) -> dict[str, T]:
    found = {}
    for name, future in futures.items():
        try:
            found[name] = future.result()
            tell(f"  ran {name}")
        except Exception as wrong:
            complaints.append(f"{name}: {wrong}")
            tell(f"  FAILED {name}")
    return found


# ---------------------------------------------------------------- rendering


def _texts(written: tuple[Page, ...], printed: Mapping[str, list[str]], computed: str | None) -> dict[Page, str]:
    """What pages say: as they stand in `docs/`, but for outputs and tables that have just been made."""
    texts = {}
    for page in written:
        if page.source == validation.PAGE and computed is not None:
            texts[page] = computed
        elif page.source == scoreboard.PAGE:
            texts[page] = scoreboard.shown(page.text)
        else:
            texts[page] = with_outputs(page.text, printed[page.target]) if page.target in printed else page.text
    return texts


def _drawn(written: Mapping[Page, str], made: dict[str, gallery.Made], folder: Path, scratch: Path) -> Site:
    places = {page.source: page.target for page in written}
    names = reference.addresses()
    assets: dict[str, Path] = {}

    def render(text: str, source: Path, target: str) -> Rendered:
        up = "../" * target.count("/")
        return Renderer(lambda link: resolve(link, source, target, places, assets), names, up).render(text)

    site = Site()
    for page, text in written.items():
        if page.target == "gallery.html":
            overview, *studies = gallery.sheets(render, made)
            site.sheets.append(overview)
        else:
            site.sheets.append(_sheet(page, text, render, made))
    site.sheets += [*_reference(render), *studies]
    for study in made:
        if picture := gallery.thumbnail(study):
            assets[picture] = DOCS / picture
    for place, file in assets.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        drawn = folder / "figures" / file.name
        if drawn.exists():
            drawn.replace(folder / place)  # a study has just drawn it
        else:
            # so may a page have
            shutil.copyfile(next(iter(sorted(scratch.rglob(file.name))), file), folder / place)
    return site


def _sheet(page: Page, text: str, render: Callable[[str, Path, str], Rendered], made: dict[str, gallery.Made]) -> Sheet:
    try:
        drawn = render(text, page.source, page.target)
    except PageError as wrong:
        raise BuildError(str(wrong)) from wrong
    body, kind = drawn.body, "page"
    if page.target == "index.html":
        kind = "front"
        body = _filmed(body, made.get("bicycle_free_run"))
    return Sheet(page.target, page.title, body, page.section, drawn.headings, drawn.sections, kind=kind, label=page.label)


def _filmed(body: str, made: gallery.Made | None) -> str:
    """The picture of the front page becomes the film it is taken from."""
    if made is None or made.film is None:
        return body
    label = "the riderless bicycle, knocked to the side at 4.6 m/s, steadies itself"
    film = (
        f'<a class="film" href="{made.film}" aria-label="Film: {label}"><img src="images/bicycle-ride.png" alt="{label}">'
        f"<span>play: {label}</span></a>"
    )
    return re.sub(
        r'<div class="figures"><figure><a href="images/bicycle-ride.png">.*?</div>', film, body, count=1, flags=re.DOTALL
    )


def _reference(render: Callable[[str, Path, str], Rendered]) -> list[Sheet]:
    """The reference: an overview, and a page per subject."""
    found, places = [], reference.addresses()
    rows = ['<h1 id="reference">Reference</h1><p>Every public name of <code>import draisine as dr</code>, from its docstring. '
            "Classes show their methods and properties; fields stand in the signature.</p>"]  # fmt: skip
    for title, (file, about, names) in reference.groups().items():
        target = f"api/{file}.html"
        entries = [reference.entry(name) for name in names]
        parts = [f'<h1 id="{file}-names">{title}</h1><p>{about}</p>']
        headings, passages = [Heading(1, title, f"{file}-names")], [(Heading(1, title, f"{file}-names"), about)]
        for entry in entries:
            parts.append(reference.shown(entry, lambda text, target=target: render(text, DOCS / "api.md", target).body, places))
            headings.append(Heading(2, entry.name, entry.anchor))
            passages.append((headings[-1], entry.text))
            passages += [(Heading(3, member.name, member.anchor), member.text) for member in entry.members]
        found.append(Sheet(target, title, "\n".join(parts), "Reference", headings, passages))
        links = "".join(f'<li><a class="name" href="{file}.html#{name}"><code>{name}</code></a></li>' for name in names)
        rows.append(f'<h2 id="{file}"><a href="{file}.html">{title}</a></h2><p>{about}</p><ul class="names">{links}</ul>')
    head = Heading(1, "Reference", "reference")
    return [Sheet("api/index.html", "All names", "\n".join(rows), "Reference", [head], [(head, "all public names")]), *found]
