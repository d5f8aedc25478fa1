"""Draw the pictures of README and docs anew, and note what the studies find: `python docs/pictures.py [STUDY …]`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot

from draisine import draw, gallery, simulate, stability
from draisine.view.plots.figure_files import save_figure
from extensions import ROOT, pages

IMAGES = Path(__file__).parent / "images"
THUMBNAILS = IMAGES / "thumbnails"
MOST = 4  # panels of a figure whose first panel is the thumbnail
WIDEST = 44  # characters of the legend of a thumbnail; a longer one is left out
LONGEST = 26  # characters of a label along the side of a thumbnail in letters of the usual size
WIDE, HIGH = 3.3, 2.2  # inches of a thumbnail: a card of the gallery at the usual size of its letters
FINDINGS = Path(__file__).parent / "findings.json"  # study → what it found, for the pages of the site


def shown() -> dict[str, set[str]]:
    """Study → its figures that a page shows, by the names the study gives them."""
    found: dict[str, set[str]] = {}
    for page in (*pages(), ROOT / "README.md"):
        for study, figure in re.findall(r"images/(\w+)-(\w+)\.png", page.read_text(encoding="utf-8")):
            found.setdefault(study, set()).add(figure)
    return found


def first_shown(study: str) -> str:
    """The figure of a study that the gallery shows first."""
    found = re.search(rf"images/{study}-(\w+)\.png", (Path(__file__).parent / "gallery.md").read_text(encoding="utf-8"))
    return found[1] if found else ""


def save_thumbnail(figure: Any, path: Path) -> None:
    """The first panel of a figure as small as a card of the gallery, laid out anew, so that its letters can be read there."""
    figure.set_size_inches(WIDE, HIGH)
    _keep_first_panel(figure)
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is None:
            continue
        names = [text.get_text() for text in legend.get_texts()]
        fitting = (names[:count] for count in (3, 2) if sum(len(name) + 4 for name in names[:count]) < WIDEST)
        few = next(fitting, [])
        handles = dict(zip(names, legend.legend_handles, strict=True))
        legend.remove()
        axes.set_title("")  # where the legend is now
        if axes is figure.axes[0] and few and len(names) > 1:
            loc = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.1}
            axes.legend([handles[name] for name in few], few, ncols=len(few), fontsize=7, frameon=False, handlelength=1.2, **loc)
    for label in (figure.axes[0].xaxis.label, figure.axes[0].yaxis.label):
        if len(label.get_text()) > LONGEST:
            label.set_fontsize(7)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=200)


def _keep_first_panel(figure: Any) -> None:
    """Remove all panels but the first and its color bar; the first takes the label below that others share with it."""
    first, *others = figure.axes
    below = [axes.get_xlabel() for axes in first.get_shared_x_axes().get_siblings(first) if axes.get_xlabel()]
    panels = [axes for axes in others if axes is not _color_bar_of(first)]
    if not panels:
        return
    first.set_xlabel(first.get_xlabel() or (below[0] if below else ""))
    first.xaxis.set_tick_params(labelbottom=True)
    for axes in panels:
        axes.remove()
    for legend in list(figure.legends):
        legend.remove()
    first.yaxis.set_label_coords(-0.17, 0.5)  # no longer aligned with those of other panels
    first.set_subplotspec(figure.add_gridspec(1, 1)[0])


def _color_bar_of(panel: Any) -> Any:
    """The axes of the color bar of a panel."""
    drawn = [*panel.collections, *panel.images]
    return next((each.colorbar.ax for each in drawn if getattr(each, "colorbar", None) is not None), None)


def film_still() -> None:
    """The benchmark bicycle on its way, as `run.save("ride.html")` shows it."""
    run = simulate(gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5})
    figure = run.animate(charts=["lean", "steer"], layers=["forces"], show=False).picture(1.9)
    figure.set_dpi(110)
    save_figure(figure, IMAGES / "bicycle-ride.png")


def fixed() -> None:
    """Pictures that belong to no study."""
    save_figure(draw(gallery.bicycle()), IMAGES / "bicycle-drawing.svg")
    film_still()
    over = {"speed": (0, 10, 500), "trail": (-0.05, 0.25, 400)}
    save_figure(stability.stability_map(gallery.bicycle(), over, states=("lean", "steer")).plot(), IMAGES / "stability-map.png")


def main(wanted: list[str]) -> None:
    """Pictures and findings of the studies named, or of all, and the fixed ones with them."""
    IMAGES.mkdir(exist_ok=True)
    if not wanted:
        fixed()
    figures = shown()
    found = json.loads(FINDINGS.read_text(encoding="utf-8")) if FINDINGS.exists() else {}
    for study in wanted or gallery.studies():
        outcome = gallery.study(study)()
        found[study] = list(outcome.findings)
        shown_first = [name for name in figures.get(study, ()) if name == first_shown(study)]
        for name in [*sorted(set(figures.get(study, ())) - set(shown_first)), *shown_first]:
            figure = outcome.figures[name]
            figure.set_dpi(110)
            save_figure(figure, IMAGES / f"{study}-{name}.png")
            if name in shown_first and gallery.entry(study).film is None and len(figure.axes) <= MOST:
                save_thumbnail(figure, THUMBNAILS / f"{study}.png")
        pyplot.close("all")
    there = {study: found[study] for study in gallery.studies() if study in found}
    FINDINGS.write_text(json.dumps(there, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
