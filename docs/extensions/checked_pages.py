"""Sphinx extension: before pages are read, their Python is run, tables are computed and studies are filmed, on all cores.

Pages then show what was printed just now. With `-t quick` nothing is run but one film, and pages show what stands in them.
Whatever fails is a warning, which `-W` makes an error.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sphinx.application import Sphinx
from sphinx.util import logging

from extensions import DOCS, ROOT, films, pages, scoreboard, study_gallery, validation
from extensions.snippets import SnippetError, parses, run_page, understood, with_outputs

T = TypeVar("T")
logger = logging.getLogger(__name__)
REPOSITORY = ("contributing", "changelog")  # pages that are files of the repository's root, in capitals


@dataclass
class Ran:
    """What a build has computed; `scratch` holds the files that pages wrote."""

    printed: dict[str, list[str]] = field(default_factory=dict)  # by name of the page
    validation: str | None = None
    films: dict[str, films.Made] = field(default_factory=dict)
    scratch: Path = Path()


RAN = Ran()


def run(app: Sphinx) -> None:
    """Run everything, then write the pages of the gallery."""
    quick = app.tags.has("quick")
    for page in pages():
        try:
            parses(page)
            understood(page)
        except SnippetError as wrong:
            logger.warning("%s", wrong)
    RAN.scratch = Path(tempfile.mkdtemp(prefix="draisine-docs-"))
    os.environ.setdefault("DRAISINE_KERNEL_LEVEL", "0")  # most kernels are called a few times; numbers are the same
    with _workers() as workers:  # long tasks first, and last the many short ones, which fill the cores to the end
        tables = {} if quick else {"tables": workers.submit(validation.refreshed, validation.PAGE.read_text(encoding="utf-8"))}
        started = {} if quick else _started(RAN.scratch, workers)
        filmed = {study: workers.submit(films.make, study, str(app.outdir)) for study in films.filmed(quick)}
        RAN.printed = _finished(started)
        RAN.validation = _finished(tables).get("tables")
        RAN.films = _finished(filmed)
    study_gallery.write(RAN.films)


@contextmanager
def _workers() -> Iterator[Executor]:
    # a process per core: pages and studies are independent; spawned, since threads of compiled loops do not survive a fork
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as workers:
        yield workers


def _started(scratch: Path, workers: Executor) -> dict[str, Future[list[str]]]:
    found = {}
    for page in (*pages(), ROOT / "README.md", *(ROOT / f"{name.upper()}.md" for name in REPOSITORY)):
        name = str(page.relative_to(DOCS).with_suffix("")) if page.is_relative_to(DOCS) else page.stem
        (scratch / name).mkdir(parents=True, exist_ok=True)
        found[name] = workers.submit(run_page, str(page), str(scratch / name))
    return found


def _finished(futures: Mapping[str, Future[T]]) -> dict[str, T]:
    found = {}
    for name, future in futures.items():
        try:
            found[name] = future.result()
            logger.info("ran %s", name)
        except Exception as wrong:
            logger.warning("%s: %s", name, wrong)
    return found


def shown(app: Sphinx, name: str, source: list[str]) -> None:
    """What a page says: as it stands in `docs/`, but for outputs and tables that have just been made."""
    text = source[0]
    if name in REPOSITORY:
        text = (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8").replace("](docs/", "](")
    elif name == "validation" and RAN.validation is not None:
        text = RAN.validation
    elif name == "scoreboard":
        text = scoreboard.shown(text)
    elif name == "gallery":
        text = study_gallery.overview(text, RAN.films)
    elif name in RAN.printed:
        text = with_outputs(text, RAN.printed[name])
    if name == "index":
        text = study_gallery.with_film(text, RAN.films)
    source[0] = re.sub(r"\]\((?:\.\./)*(CONTRIBUTING|CHANGELOG)\.md", lambda m: f"](/{m[1].lower()}.md", text)


def redraw(app: Sphinx, failed: Exception | None) -> None:
    """Pictures that a study or a page has just drawn replace those kept in `docs/images`."""
    if failed is None:
        kept = {file.name: file for file in (app.outdir / "_images").glob("*")}
        for drawn in (*(DOCS / "gallery" / "figures").glob("*"), *RAN.scratch.rglob("*")):
            if drawn.name in kept and drawn.is_file():
                shutil.copyfile(drawn, kept[drawn.name])
    shutil.rmtree(RAN.scratch, ignore_errors=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", run)
    app.connect("source-read", shown)
    app.connect("build-finished", redraw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
