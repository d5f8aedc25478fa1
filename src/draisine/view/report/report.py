"""Report on a model: chapters written in order; a failing chapter does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import number_in
from draisine.program.equations import Equations
from draisine.results.channel import HasState, named_start
from draisine.results.files import replacing
from draisine.results.status import Progress, ProgressCallback
from draisine.stability.steady_family import sweep_values
from draisine.view.report import description
from draisine.view.report.analysis import StabilityAnalysis, certificate, diagnosis, stability
from draisine.view.report.chapter import Chapter, Content, NotApplicable, escape, write_chapter
from draisine.view.report.page import as_pdf, page
from draisine.view.report.reproduction import model_file, reproduction
from draisine.view.report.sample_run import SampleRun, film, sample_run
from draisine.view.report.subject import SECONDS, ReportOptions, Subject

SAMPLE_RUN = "Sample run"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A finished report; `save` writes it as a page (.html) or prints it (.pdf)."""

    model: str
    description: str
    made_by: str
    chapters: tuple[Chapter, ...]
    appendices: tuple[Chapter, ...]
    film: tuple[str, ...] = ()  # markup of the film; not on paper

    @property
    def failed(self) -> dict[str, str]:
        """Chapters that could not be written, and why."""
        return {c.title: c.failed for c in (*self.chapters, *self.appendices) if c.failed}

    @property
    def troubles(self) -> dict[str, str]:
        """Chapters that found a problem of the model: a failed certificate, a run that ends early."""
        return {c.title: c.trouble for c in (*self.chapters, *self.appendices) if c.trouble}

    @property
    def facts(self) -> dict[str, str]:
        """Facts of the first page."""
        return {key: value for c in (*self.chapters, *self.appendices) for key, value in c.facts.items()}

    def html(self, *, on_paper: bool = False) -> str:
        """The page as one self-contained text; without film on paper."""
        chapters = self.chapters
        if self.film and not on_paper:
            chapters = tuple(_with(c, self.film) if c.title == SAMPLE_RUN else c for c in chapters)
        return page(self.model, self.description, self.made_by, chapters, self.appendices)

    def save(self, path: str | Path) -> None:
        """Write .html, or .pdf where Chromium is installed; complete or not at all."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            content = self.html().encode()
        elif suffix == ".pdf":
            content = as_pdf(self.html(on_paper=True))
        else:
            raise ArgumentError(f"unknown kind of report {target.name!r}: the suffix {suffix!r} is neither .html nor .pdf")
        with replacing(target) as draft:
            draft.write_bytes(content)

    def as_data(self) -> dict[str, Any]:
        """Plain texts and numbers, for JSON."""
        chapters = [
            {"title": c.title, "seconds": round(c.seconds, 3), "failed": c.failed, "trouble": c.trouble}
            for c in (*self.chapters, *self.appendices)
        ]
        return {"model": self.model, "facts": self.facts, "chapters": chapters}

    def _repr_html_(self) -> str:
        text = escape(self.html(on_paper=True), quote=True)
        return f'<iframe sandbox style="width:100%;height:560px;border:0" title="report" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"<Report on {self.model}: {len(self.chapters)} chapters, {len(self.failed)} failed>"


def report(
    model: Model | System | Equations,
    until: float = SECONDS,
    over: Mapping[str, ArrayLike] | None = None,
    *,
    start: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    film: bool = True,
    title: str = "",
    progress: ProgressCallback | None = None,
) -> Report:
    """A report on a model in one document: picture, tables, parameters, equations, certificate, diagnosis of constraints,
    stability, a sample run, and how to reproduce it.

    - `parameters`: values by name; the others keep their defaults.
    - `start`, `until`: of the sample run, as in `simulate`; without a start one is chosen for which the model moves.
    - `over`: a quantity with values for the stability analysis, as in `modes`; by default the speed, if there is one.
    - `film`: whether the page contains an animation of the sample run (about 700 kB).
    - `title`: name of the model on the command line, for the commands that reproduce the report.
    - `progress`: called with a `Progress`: the chapter being written, and the share that is done.

    A chapter that fails contains the reason; the others are complete; see `Report.failed` and `Report.troubles`.

        dr.report(dr.gallery.bicycle()).save("bicycle.html")
    """
    span = number_in(until, "s", "until")
    if span is None or not span > 0:
        raise ArgumentError(
            f"until is the duration of the sample run in seconds and must be positive, got {until!r}; a file is written by "
            "report(…).save(path)"
        )
    swept = {name: sweep_values(name, values) for name, values in (over or {}).items()}
    if len(swept) > 1:
        raise ArgumentError(f"over is one quantity with its values, e.g. {{'speed': np.linspace(0, 10, 101)}}; got {len(swept)}")
    subject = Subject.of(model, parameters, ReportOptions(named_start(start), span, swept, film, title))
    return _Writer(subject, f"draisine {version('draisine')}", progress).report()


class _Writer:
    """Writes the chapters in order and reports progress."""

    def __init__(self, subject: Subject, made_by: str, progress: ProgressCallback | None) -> None:
        self.subject, self.made_by, self.progress = subject, made_by, progress
        self.analysis = StabilityAnalysis(subject)
        self.sample = SampleRun(subject, self.analysis)

    def report(self) -> Report:
        s = self.subject
        tasks: list[tuple[str, Callable[[], Content | NotApplicable]]] = [
            ("Model", partial(description.model, s)),
            ("Parameters", partial(description.parameters, s)),
            ("Equations", partial(description.equations, s)),
            ("Certificate", partial(certificate, s)),
            ("Constraints", partial(diagnosis, s)),
            ("Stability", partial(stability, self.analysis)),
            (SAMPLE_RUN, partial(sample_run, self.sample)),
            ("How to reproduce it", partial(reproduction, s, self.analysis, self.sample)),
            ("Listing of formulas", partial(description.listing, s)),
            ("Model file", partial(model_file, s)),
        ]
        found: dict[str, Chapter] = {}
        shown: tuple[str, ...] = ()
        for done, (title, write) in enumerate(tasks):
            self._report_progress(title, done / len(tasks))
            found[title] = write_chapter(title, write)
            if title == SAMPLE_RUN:
                found[SAMPLE_RUN], shown = self._with_film(found[SAMPLE_RUN])
        self._report_progress("", 1.0)
        *chapters, listing, file = found.values()
        text = s.system.description if s.system is not None else ""
        return Report(s.equations.name, text, self.made_by, tuple(chapters), (listing, file), shown)

    def _with_film(self, chapter: Chapter) -> tuple[Chapter, tuple[str, ...]]:
        """The film of the sample run; if it fails, the chapter contains the reason."""
        if self.subject.system is None or not self.subject.options.film or chapter.failed:
            return chapter, ()
        film_chapter = write_chapter("Film", lambda: Content(tuple(film(self.sample))))
        return (
            (_with(chapter, film_chapter.lines, f"film: {film_chapter.failed}"), ())
            if film_chapter.failed
            else (chapter, film_chapter.lines)
        )

    def _report_progress(self, title: str, share: float) -> None:
        if self.progress is not None:
            self.progress(Progress(title or "finished", share))


def _with(chapter: Chapter, lines: tuple[str, ...], failed: str = "") -> Chapter:
    return replace(chapter, lines=(*chapter.lines, *lines), failed=chapter.failed or failed)
