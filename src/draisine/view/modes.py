"""Pictures of modes: phasors, root locus, and the mechanism moving along a mode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.stability.modes import Modes
from draisine.view.drawing import scene_and_poses
from draisine.view.film.reel import write_gif
from draisine.view.plots.canvas import new_figure, pixels
from draisine.view.plots.eigenvalues import root_locus_figure
from draisine.view.plots.labels import display_name, pretty_unit, with_unit
from draisine.view.plots.style import COLORS, COLUMN, style
from draisine.view.scene.scene import Poses, Scene
from draisine.view.scene.sketch import sketch

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

FRAMES = 24  # of a film, over one period


def mode_shapes(found: Modes, at: float, names: Sequence[str] = ()) -> Figure:
    """Phasors of every mode (or those in `names`) at a value of the swept quantity: amplitudes and phases of the states.

    >>> import numpy as np, draisine as dr
    >>> found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
    >>> figure = dr.view.mode_shapes(found, at=5.0)
    >>> [axes.get_title().partition(chr(10))[0] for axes in figure.axes]
    ['castering', 'weave', 'capsize']
    """
    i = _point(found, at)
    chosen = [_column(found, i, name) for name in names or dict.fromkeys(n.rstrip("*") for n in found.names)]
    shapes = {found.names[j].rstrip("*"): (complex(found.eigenvalues[i, j]), found.shapes[i, :, j]) for j in chosen}
    e = found.family.equations
    units = {q.name: q.unit for q in (*e.states, *e.outputs)}
    return phasors(shapes, found.states, units)


def root_locus(found: Modes, window: tuple[float, float] | None = None) -> Figure:
    """Eigenvalues in the complex plane, colored by the swept quantity, with the critical ones marked.

    - `window`: range of the real axis; by default that of the eigenvalues.

    >>> import numpy as np, draisine as dr
    >>> found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
    >>> figure = dr.view.root_locus(found)
    """
    e = found.family.equations
    units = {q.name: q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs)}
    unit = units.get(found.over, "")
    marks = {f"{c.kind}, {c.value:.3g} {pretty_unit(unit)}".rstrip(): c.eigenvalue for c in found.critical()}
    return root_locus_figure(found.values, found.eigenvalues, with_unit(display_name(found.over), unit), marks, window=window)


def animate_mode(
    model: Model | System,
    found: Modes,
    name: str,
    at: float,
    path: str | Path,
    *,
    amplitude: float = 0.15,
    frames: int = FRAMES,
    view: str = "three-quarter",
    parameters: Mapping[str, float] | None = None,
) -> None:
    """Write an animation (.gif) of the model along a mode over one period.

    - `found`: the modes, `name`: one of them, `at`: value of the swept quantity; `path`: the file.
    - `amplitude`: of its largest coordinate; `frames`: their number; `view`: side, front, top or three-quarter.
    - `parameters`: values by name; the others have their defaults.

    Growth and decay are left out, so that the animation repeats; a mode that does not oscillate gets a period of two seconds.
    The constraints hold in every frame: coordinates outside the mode are solved for (wheels stay on the ground).

        found = dr.modes(bike, speed=np.linspace(0, 10, 101), states=("lean", "steer"))
        dr.view.animate_mode(bike, found, "weave", at=5.0, path="weave.gif")
    """
    if not (math.isfinite(amplitude) and amplitude > 0 and frames >= 2):
        raise ArgumentError(f"amplitude={amplitude} and frames={frames}: give a positive amplitude and at least two frames")
    i = _point(found, at)
    j = _column(found, i, name)
    targets = _displacements(found, i, j, amplitude, frames)
    _, scene, poses = scene_and_poses(model, parameters)
    eigenvalue = found.eigenvalues[i, j]
    seconds = 2 * np.pi / abs(eigenvalue.imag) if eigenvalue.imag else 2.0
    caption = f"{name} at {found.over} = {found.values[i]:.3g}"
    write_mode_gif(scene, [poses(target) for target in targets], path, float(seconds), view=view, captions=[caption] * frames)


def _displacements(found: Modes, i: int, j: int, amplitude: float, frames: int) -> list[dict[str, float]]:
    """Coordinates of the mode at each frame; its velocities are not shown."""
    e = found.family.equations
    reported = [k for k, state in enumerate(found.states) if state not in e.independent]
    shape = found.shapes[i, reported, j]
    size = float(np.abs(shape).max(initial=0.0))
    if size == 0.0:
        raise ArgumentError(f"{e.name}: this mode has components in velocities only; there is no displacement to show")
    angles = np.arange(frames) * 2 * np.pi / frames
    # the largest coordinate begins at its extreme
    leading = shape[int(np.argmax(np.abs(shape)))]
    moved = amplitude * (shape * np.conj(leading) / abs(leading) / size * np.exp(1j * angles)[:, None]).real
    # steady values of named deviations, so that the film shows a leaning mode of a leaning motion
    base = {state: found.family.base.values.get(state, 0.0) for state in found.states}
    return [{found.states[k]: base[found.states[k]] + float(d) for k, d in zip(reported, row, strict=True)} for row in moved]


def _point(found: Modes, at: float) -> int:
    """Index of the nearest swept point that has a steady motion."""
    low, high = float(found.values.min()), float(found.values.max())
    if not low - 1e-9 <= at <= high + 1e-9:
        raise ArgumentError(f"{found.over} = {at:g} is outside the sweep, from {low:g} to {high:g}")
    good = np.flatnonzero(np.isfinite(found.eigenvalues[:, 0]))
    return int(good[np.argmin(np.abs(found.values[good] - at))])


def _column(found: Modes, i: int, name: str) -> int:
    """Index of the mode of that name; of a pair the one with positive imaginary part."""
    same = [j for j, other in enumerate(found.names) if other.rstrip("*") == name.rstrip("*")]
    if not same:
        plain = list(dict.fromkeys(n.rstrip("*") for n in found.names))
        raise ArgumentError(f"there is no mode {name!r}{did_you_mean(name, plain)}; there are {', '.join(plain)}")
    return max(same, key=lambda j: float(found.eigenvalues[i, j].imag))


# ---------------------------------------------------------------- phasors and frames


Complex = NDArray[np.complex128]


def phasors(shapes: Mapping[str, tuple[complex, Complex]], states: Sequence[str], units: Mapping[str, str]) -> Figure:
    """One diagram per mode with an arrow per state: its length is the amplitude, its angle the phase.

    `shapes`: eigenvalue and shape by name of the mode. Each unit has its own scale: its longest arrow has length one, and the
    longest of all points to the right. A real mode has arrows to the right and left only.
    """
    with style():
        drawing = new_figure(max(COLUMN * 0.8 * len(shapes), COLUMN), COLUMN * 1.05)
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
    rotated = shape * np.conj(leading) / abs(leading)
    for k, state in enumerate(states):
        same = [j for j, other in enumerate(states) if units.get(other, "") == units.get(state, "")]
        length = abs(rotated[k]) / max(float(np.abs(rotated[same]).max()), 1e-300)
        color, group = COLORS[k % len(COLORS)], groups.index(units.get(state, ""))
        line = "-" if group == 0 else "--"
        unit = units.get(state, "")
        axes.plot([0, np.angle(rotated[k])], [0, length], line, color=color, lw=2.0, label=f"{state} [{unit}]" if unit else state)
        axes.plot([np.angle(rotated[k])], [length], "o", color=color, ms=4)
    axes.set_rlim(0, 1.08)
    axes.set_rticks([0.5, 1.0])
    axes.set_yticklabels([])
    axes.tick_params(labelsize=7)


def _number(z: complex) -> str:
    return f"{z.real:.3g}" + (f" ± {abs(z.imag):.3g}i" if z.imag else "")


def write_mode_gif(
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
    """Write the frames as a repeating .gif of the given duration; complete or not at all."""
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise ArgumentError(f"unknown film format {target.name!r}: the suffix must be .gif")
    if not frames:
        raise ArgumentError("a film needs at least one frame")
    all_points = np.concatenate([scene.points(poses) for poses in frames])
    pictures = []
    for k, poses in enumerate(frames):
        caption = captions[k] if captions else ""
        drawing = sketch(scene, poses, views=[view], labels=False, width=width, remark=caption, containing=all_points)
        pictures.append(pixels(drawing, dpi))
    write_gif(pictures, target, seconds / len(frames), colors=64)
