"""A film that can be shown or kept: in a notebook, in a browser, as a page, as pictures."""

from __future__ import annotations

import html
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.results.files import check_target, replacing
from draisine.view.film.footage import Footage
from draisine.view.film.page import page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = (".html", ".htm")


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """A run as a moving picture; the first take is the run, others are ghosts for comparison."""

    takes: tuple[Footage, ...]
    title: str
    layers: tuple[str, ...] = ()

    def html(self) -> str:
        """The page: one text, which needs nothing else."""
        return page(self.takes, self.title, self.layers)

    def save(self, path: str | Path) -> None:
        """Write .html (plays in any browser), .gif, .mp4, or .png: a sequence of numbered pictures. Complete or not at all."""
        target = Path(path)
        check_target(target, film=True)
        if target.suffix.lower() in PAGES:
            with replacing(target) as draft:
                draft.write_text(self.html(), encoding="utf-8")
        else:
            from draisine.view.film.reel import write

            write(self, target)

    def picture(self, time: float) -> Figure:
        """One instant as a figure for papers, which `draisine.view.plots.figure_files.save_figure` writes, also as vectors."""
        from draisine.view.film.reel import picture

        return picture(self, time)

    def show(self) -> Path:
        """Open it in a browser, and say which file that reads."""
        folder = Path(tempfile.mkdtemp(prefix="draisine-"))
        path = folder / "film.html"
        self.save(path)
        if not webbrowser.open(path.as_uri()):
            print(f"no browser could be opened; the film is {path}")
        return path

    def _repr_html_(self) -> str:
        """For notebooks: a frame with the page in it, which can reach nothing of the notebook."""
        text = html.escape(self.html(), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:560px;border:0" title="{html.escape(self.title)}" '
            f'srcdoc="{text}"></iframe>'
        )

    def __repr__(self) -> str:
        first = self.takes[0]
        ghosts = f", {len(self.takes) - 1} ghosts" if len(self.takes) > 1 else ""
        return f"<Animation of {self.title}: {first.times[0]:g} s to {first.times[-1]:g} s{ghosts}>"
