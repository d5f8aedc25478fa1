"""What a gallery study gives back: what was found, the motions, and pictures of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draisine.results.trajectory import Trajectory


@dataclass(frozen=True)
class Study:
    """Findings as text lines, trajectories, figures and films by name."""

    title: str
    runs: dict[str, Trajectory]
    figures: dict[str, Any] = field(default_factory=dict)  # name → matplotlib Figure
    findings: tuple[str, ...] = ()
    films: dict[str, Any] = field(default_factory=dict)  # name → Animation

    def summary(self) -> str:
        """Title, how each run went, and what was found."""
        lines = [self.title]
        for run in self.runs.values():
            lines.append(run.summary())
        return "\n".join([*lines, *self.findings])

    def save(self, folder: str | Path) -> list[Path]:
        """Write every figure (PNG), trajectory (NetCDF) and film (HTML) into the folder; give the paths."""
        from draisine.view.plots.figures import save_figure

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, figure in self.figures.items():
            written.append(folder / f"{name}.png")
            save_figure(figure, written[-1])
        for name, run in self.runs.items():
            written.append(folder / f"{name}.nc")
            run.save(written[-1])
        for name, film in self.films.items():
            written.append(folder / f"{name}.html")
            film.save(written[-1])
        return written
