"""What moves in a mode, and when: phasors of its states; and a film of a mechanism from poses of its bodies."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.view.plots.style import COLORS, COLUMN, style
from draisine.view.scene.scene import Poses, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

Complex = NDArray[np.complex128]


def phasors(shapes: Mapping[str, tuple[complex, Complex]], states: Sequence[str], units: Mapping[str, str]) -> Figure:
    """One diagram for each mode: an arrow a state, its length the amplitude, its angle how far it is ahead.

    `shapes`: by name of the mode, its eigenvalue and shape. States of different units have scales of their own: the longest arrow
    of each unit has length one, and the longest of all points to the right. A real mode has arrows to the right and left only.
    """
    with style():
        from draisine.view.plots.canvas import Drawing

        drawing = Drawing(figsize=(max(COLUMN * 0.8 * len(shapes), COLUMN), COLUMN * 1.05), layout="constrained")
        grid = drawing.subplots(1, len(shapes), subplot_kw={"projection": "polar"}, squeeze=False)[0]
        for axes, (name, (eigenvalue, shape)) in zip(grid, shapes.items(), strict=True):
            _diagram(axes, np.asarray(shape), states, units)
            axes.set_title(f"{name}\nλ = {_number(eigenvalue)} 1/s", fontsize=9)
        handles, labels = grid[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=min(len(states), 4), fontsize=8, frameon=False)
    return drawing


def _diagram(axes: PolarAxes, shape: Complex, states: Sequence[str], units: Mapping[str, str]) -> None:
    groups = list(dict.fromkeys(units.get(state, "") for state in states))
    leading = shape[int(np.argmax(np.abs(shape)))]
    turned = shape * np.conj(leading) / abs(leading)
    for k, state in enumerate(states):
        same = [j for j, other in enumerate(states) if units.get(other, "") == units.get(state, "")]
        length = abs(turned[k]) / max(float(np.abs(turned[same]).max()), 1e-300)
        color, group = COLORS[k % len(COLORS)], groups.index(units.get(state, ""))
        line = "-" if group == 0 else "--"
        unit = units.get(state, "")
        axes.plot([0, np.angle(turned[k])], [0, length], line, color=color, lw=2.0, label=f"{state} [{unit}]" if unit else state)
        axes.plot([np.angle(turned[k])], [length], "o", color=color, ms=4)
    axes.set_rlim(0, 1.08)
    axes.set_rticks([0.5, 1.0])
    axes.set_yticklabels([])
    axes.tick_params(labelsize=7)


def _number(z: complex) -> str:
    return f"{z.real:.3g}" + (f" ± {abs(z.imag):.3g}i" if z.imag else "")


def film(
    scene: Scene,
    frames: Sequence[Poses],
    path: str | Path,
    seconds: float,
    *,
    view: str = "three-quarter",
    captions: Sequence[str] | None = None,
    width: float = COLUMN,
    dpi: int = 110,
) -> None:
    """Write the frames as a moving picture that repeats (.gif), shown over so many seconds; complete or not at all."""
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise ArgumentError(f"unknown kind of film {target.name!r}: the suffix must be .gif")
    if not frames:
        raise ArgumentError("a film needs at least one frame")
    from draisine.view.film.reel import write_gif
    from draisine.view.scene.sketch import sketch

    every = np.concatenate([scene.points(poses) for poses in frames])
    pictures = []
    for k, poses in enumerate(frames):
        said = captions[k] if captions else ""
        drawing = sketch(scene, poses, views=[view], labels=False, width=width, remark=said, holding=every)
        buffer = io.BytesIO()
        drawing.savefig(buffer, format="png", dpi=dpi)
        pictures.append(buffer.getvalue())
    write_gif(pictures, target, seconds / len(frames), colors=64)
