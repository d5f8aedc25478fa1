"""The report: chapters one after the other, none of which can take the others down with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.results.files import replacing
from draisine.view.report import description as describing
from draisine.view.report import verification as judging
from draisine.view.report.analysis import Lasting, stability
from draisine.view.report.chapter import Absent, Chapter, Reported, written
from draisine.view.report.page import page
from draisine.view.report.reproduction import model_file, reproduction
from draisine.view.report.sample_run import Riding, film, ride
from draisine.view.report.subject import SECONDS, Subject, Wanted

RIDE = "Sample ride"

Progress = Callable[[str, float], None]  # the chapter being written, and the share of the work that is done


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A finished report; `save` writes it as a page (.html) or prints it (.pdf)."""

    model: str
    description: str
    made_by: str
    chapters: tuple[Chapter, ...]
    appendices: tuple[Chapter, ...]
    film: tuple[str, ...] = ()  # lines that play the ride; paper has none

    @property
    def failed(self) -> dict[str, str]:
        """Chapters that could not be written, and why."""
        return {c.title: c.failed for c in (*self.chapters, *self.appendices) if c.failed}

    @property
    def troubles(self) -> dict[str, str]:
        """Chapters that found something wrong with the model: a certificate that fails, a ride that ends early."""
        return {c.title: c.trouble for c in (*self.chapters, *self.appendices) if c.trouble}

    @property
    def facts(self) -> dict[str, str]:
        """What stands on the first page."""
        return {key: value for c in (*self.chapters, *self.appendices) for key, value in c.facts.items()}

    def html(self, *, on_paper: bool = False) -> str:
        """The page: one text, which needs nothing else. On paper there is no film."""
        chapters = self.chapters
        if self.film and not on_paper:
            chapters = tuple(_with(c, self.film) if c.title == RIDE else c for c in chapters)
        return page(self.model, self.description, self.made_by, chapters, self.appendices)

    def save(self, path: str | Path) -> None:
        """Write .html, or .pdf where Chromium is installed; complete or not at all."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix in (".html", ".htm"):
            content = self.html().encode()
        elif suffix == ".pdf":
            from draisine.view.report.page import as_pdf

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
        from draisine.view.report.chapter import say

        text = say(self.html(on_paper=True), quote=True)
        return f'<iframe sandbox style="width:100%;height:560px;border:0" title="report" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"<Report on {self.model}: {len(self.chapters)} chapters, {len(self.failed)} failed>"


def report(
    model: Model | System | Equations,
    *,
    parameters: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    until: float = SECONDS,
    over: Mapping[str, ArrayLike] | None = None,
    film: bool = True,
    called: str = "",
    progress: Progress | None = None,
) -> Report:
    """All that can be said about a model in one document: picture, tables, parameters, equations, certificate, diagnosis of its
    constraints, stability, a sample ride, and how to get the same again.

    - `parameters`: values by name; the others keep their defaults.
    - `start`, `until`: of the sample ride, as in `simulate`; without a start one is chosen at which something happens.
    - `over`: a quantity over which stability is told, with its values, as in `modes`; by default the speed, where there is one.
    - `film`: whether the page holds the ride as a film that plays (about 700 kB).
    - `called`: how the model is called on the command line, for the commands that repeat the report.

    A chapter that cannot be written says why, and the others are there; see `Report.failed` and `Report.troubles`.

        dr.report(dr.gallery.bicycle()).save("bicycle.html")
    """
    from draisine import __version__
    from draisine.stability.steady_family import sweep_values

    if not until > 0:
        raise ArgumentError(f"until is how long the sample ride lasts in seconds, got {until}")
    swept = {name: sweep_values(name, values) for name, values in (over or {}).items()}
    if len(swept) > 1:
        raise ArgumentError(f"over is one quantity with its values, e.g. {{'speed': np.linspace(0, 10, 101)}}; got {len(swept)}")
    subject = Subject.of(model, parameters, Wanted(dict(start or {}), float(until), swept, film, called))
    return _Writer(subject, f"draisine {__version__}", progress).report()


class _Writer:
    """Writes the chapters in order, and says which one it is at."""

    def __init__(self, subject: Subject, made_by: str, progress: Progress | None) -> None:
        self.subject, self.made_by, self.progress = subject, made_by, progress
        self.lasting = Lasting(subject)
        self.riding = Riding(subject, self.lasting)

    def report(self) -> Report:
        s = self.subject
        tasks: list[tuple[str, Callable[[], Reported | Absent]]] = [
            ("Model", partial(describing.model, s)),
            ("Parameters", partial(describing.parameters, s)),
            ("Equations", partial(describing.equations, s)),
            ("Certificate", partial(judging.certificate, s)),
            ("Constraints", partial(judging.diagnosis, s)),
            ("Stability", partial(stability, self.lasting)),
            (RIDE, partial(ride, self.riding)),
            ("How to reproduce it", partial(reproduction, s, self.lasting, self.riding)),
            ("Listing of formulas", partial(describing.listing, s)),
            ("Model file", partial(model_file, s)),
        ]
        found: dict[str, Chapter] = {}
        shown: tuple[str, ...] = ()
        for done, (title, write) in enumerate(tasks):
            self._say(title, done / len(tasks))
            found[title] = written(title, write)
            if title == RIDE:
                found[RIDE], shown = self._filmed(found[RIDE])
        self._say("", 1.0)
        *chapters, listing, file = found.values()
        description = s.system.description if s.system is not None else ""
        return Report(s.equations.name, description, self.made_by, tuple(chapters), (listing, file), shown)

    def _filmed(self, chapter: Chapter) -> tuple[Chapter, tuple[str, ...]]:
        """The film of the ride where there is one; the chapter says why there is none where there should be."""
        if self.subject.system is None or not self.subject.wanted.film or chapter.failed:
            return chapter, ()
        made = written("Film", lambda: Reported(tuple(film(self.riding))))
        return (_with(chapter, made.lines, f"film: {made.failed}"), ()) if made.failed else (chapter, made.lines)

    def _say(self, title: str, share: float) -> None:
        if self.progress is not None:
            self.progress(title, share)


def _with(chapter: Chapter, lines: tuple[str, ...], failed: str = "") -> Chapter:
    return replace(chapter, lines=(*chapter.lines, *lines), failed=chapter.failed or failed)
