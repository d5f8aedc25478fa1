"""Films of the gallery's studies for the site: the page that plays, a poster, and a thumbnail that moves.

Drawing the thumbnails takes longer than the studies, so they are kept in `build/thumbnails` for runs that are the same.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draisine import gallery
from draisine.view.plots.canvas import pixels
from extensions import DOCS, ROOT

CACHE = ROOT / "build" / "thumbnails"
QUICK = ("bicycle_free_run",)  # all that a reduced build films
FRAMES, RATE, DPI = 20, 7, 70  # of thumbnails: pictures, pictures per second, pixels per inch
NEAR, FAR, CLOSER = 0.72, 1.4, 0.06  # of the usual distance of the camera: a thumbnail is small, but cuts nothing off
MARGIN = 0.96  # of the picture, in which the mechanism stays


@dataclass(frozen=True)
class Made:
    """What running a study gave: findings, names of its figures (in `docs/gallery/figures`), and whether there is a film."""

    findings: tuple[str, ...]
    figures: tuple[str, ...] = ()
    film: bool = False


def filmed(quick: bool) -> list[str]:
    """The studies that are run for a build."""
    return [name for name in gallery.studies() if gallery.entry(name).film is not None and (not quick or name in QUICK)]


def make(study: str, site: str) -> Made:
    """Run a study: its figures, `films/STUDY.html` in the site, and beside it poster and thumbnail. For another process."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from draisine.view.plots.figure_files import save_figure

    folder, figures = Path(site) / "films", DOCS / "gallery" / "figures"
    for place in (folder, figures):
        place.mkdir(parents=True, exist_ok=True)
    declared, outcome = gallery.entry(study), gallery.study(study)()
    for name, drawing in outcome.figures.items():
        drawing.set_dpi(110)
        save_figure(drawing, figures / f"{study}-{name}.png")
    assert declared.film is not None
    run = outcome.runs[declared.film]
    model = gallery.model(run.model) if run.source is None else None
    film = run.animate(charts=list(declared.charts), show=False, model=model, title=outcome.title)
    film.save(folder / f"{study}.html")
    film.picture(0.4 * float(run.time[-1])).savefig(folder / f"{study}.webp", dpi=110)
    _thumbnails(run, run.animate(show=False, model=model), folder / study)
    pyplot.close("all")
    return Made(outcome.findings, tuple(f"{study}-{name}.png" for name in outcome.figures), film=True)


def _thumbnails(run: Any, film: Any, target: Path) -> None:
    """`…-moving.webp`, some seconds of the film that repeat, and `…-still.webp`, for readers who prefer that nothing moves."""
    near = _distance(film)
    state = hashlib.sha256(repr((run.model, FRAMES, RATE, DPI, near)).encode())
    for table in (run.time, run.coordinates):
        state.update(table.round(6).tobytes())
    kept = CACHE / state.hexdigest()[:20]
    if not (kept / "moving.webp").exists():
        kept.mkdir(parents=True, exist_ok=True)
        first, end = float(run.time[0]), min(float(run.time[-1]), 2.0 * FRAMES / RATE)
        frames = [_frame(film, first + k / FRAMES * (end - first), near) for k in range(FRAMES)]
        frames[2 * FRAMES // 5].save(kept / "still.webp", quality=80)
        moving = {"save_all": True, "append_images": frames[1:], "duration": 1000 // RATE, "loop": 0}
        frames[0].save(kept / "draft.webp", quality=60, method=2, **moving)
        (kept / "draft.webp").replace(kept / "moving.webp")  # complete or not at all
    for name in ("still", "moving"):
        shutil.copyfile(kept / f"{name}.webp", target.with_name(f"{target.name}-{name}.webp"))


def _distance(film: Any) -> float:
    """The least distance of the camera, of the usual one, at which every picture shows the whole mechanism."""
    import numpy as np

    from draisine.view.film.painter import Camera
    from draisine.view.film.reel import HIGH

    take = film.takes[0]

    def fits(k: int, near: float) -> bool:
        poses = take.poses(k)
        points = np.vstack([poses[mesh.body].of(mesh.vertices) for mesh in take.meshes])
        seen = np.abs(Camera.beside(take, k, near).flat(points)[0])
        return bool((seen < MARGIN * np.array([1.0 / HIGH, 1.0])).all())

    some = np.unique(np.linspace(0, len(take.times) - 1, FRAMES).astype(int)).tolist()
    tried = np.arange(NEAR, FAR, CLOSER).tolist()
    return next((near for near in tried if all(fits(k, near) for k in some)), tried[-1])


def _frame(film: Any, time: float, near: float) -> Any:
    from PIL import Image

    return Image.fromarray(pixels(film.picture(time, near=near), DPI))
