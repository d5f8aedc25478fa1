"""Results of gallery studies, and declarations of studies and models: level, film, start in the studio."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar

from draisine.results.base import figure

if TYPE_CHECKING:
    from draisine.results.contact_modes import ContactHistory
    from draisine.results.trajectory import Trajectory

Level = Literal["First steps", "Intermediate", "Advanced"]
P = ParamSpec("P")
M = TypeVar("M", bound=Callable[..., Any])


@dataclass(frozen=True)
class Study:
    """Findings as text lines, trajectories, figures and films by name."""

    title: str
    runs: dict[str, Trajectory]
    figures: dict[str, Any] = field(default_factory=dict)  # name → matplotlib Figure
    findings: tuple[str, ...] = ()
    films: dict[str, Any] = field(default_factory=dict)  # name → Animation

    def summary(self) -> str:
        """Title, summaries of the runs, and findings."""
        lines = [self.title]
        for run in self.runs.values():
            lines.append(run.summary())
        return "\n".join([*lines, *self.findings])

    def _repr_html_(self) -> str:
        """For notebooks: title, findings and figures."""
        from base64 import b64encode
        from html import escape

        findings = "".join(f"<li>{escape(line)}</li>" for line in self.findings)
        pictures = "".join(
            f'<figure style="margin:1em 0"><img alt="{escape(name)}" style="max-width:100%;background:white" '
            f'src="data:image/png;base64,{b64encode(figure("plots.figure_files.as_png", drawing)).decode()}">'
            f"<figcaption>{escape(name.replace('_', ' '))}</figcaption></figure>"
            for name, drawing in self.figures.items()
        )
        return f"<h3>{escape(self.title)}</h3><ul>{findings}</ul>{pictures}"

    def save(self, folder: str | Path) -> list[Path]:
        """Write every figure (PNG), trajectory (NetCDF) and film (HTML) into the folder; return the paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, drawing in self.figures.items():
            written.append(folder / f"{name}.png")
            drawing.save(written[-1])
        for name, run in self.runs.items():
            written.append(folder / f"{name}.nc")
            run.save(written[-1])
        for name, film in self.films.items():
            written.append(folder / f"{name}.html")
            film.save(written[-1])
        return written


def modes_of(run: Trajectory) -> ContactHistory:
    """The modes of contacts over a run of a model that has contacts that open."""
    assert run.modes is not None
    return run.modes


class Entry(NamedTuple):
    """Level of a study, the run that is filmed (none for studies that are long, or have no bodies), and the charts beside it."""

    level: Level
    film: str | None = None
    charts: tuple[str, ...] = ()


ENTRIES: dict[str, Entry] = {}  # by name of the study, filled as the files of the gallery are imported


def entry(
    *, level: Level, film: str | None = None, charts: tuple[str, ...] = ()
) -> Callable[[Callable[P, Study]], Callable[P, Study]]:
    """Declare a study: `@entry(level="First steps", film="name of a run", charts=("lean",))`."""

    def declare(study: Callable[P, Study]) -> Callable[P, Study]:
        ENTRIES[study.__name__] = Entry(level, film, charts)
        return study

    return declare


class Live(NamedTuple):
    """Default start of a model in the studio: initial conditions, and simulated seconds per second."""

    start: Mapping[str, float] = MappingProxyType({})
    pace: float = 1.0


LIVE: dict[str, Live] = {}  # by name of the model, filled as the files of the gallery are imported


def live(*, start: Mapping[str, float] | None = None, pace: float = 1.0) -> Callable[[M], M]:
    """Declare the default start of a model in the studio: `@live(start={"speed": 4.6})`; others start at rest."""

    def declare(model: M) -> M:
        LIVE[model.__name__] = Live(start or {}, pace)
        return model

    return declare
