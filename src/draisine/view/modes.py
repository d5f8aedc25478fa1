"""Modes as pictures: phasors, root locus, and the mechanism moving along a mode. Here linear models and drawings meet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.model.items import System
from draisine.model.model import Model
from draisine.stability.modes import Modes
from draisine.view.drawing import posing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMES = 24  # of a film, over one period


def mode_shapes(found: Modes, at: float, names: Sequence[str] = ()) -> Figure:
    """Phasors of every mode (or the named ones) at a value of the swept quantity: what moves how far, and in which order.

    >>> import numpy as np, draisine as dr
    >>> found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
    >>> figure = dr.mode_shapes(found, at=5.0)
    >>> [axes.get_title().partition(chr(10))[0] for axes in figure.axes]
    ['castering', 'weave', 'capsize']
    """
    from draisine.view.modes import phasors

    i = _point(found, at)
    chosen = [_column(found, i, name) for name in names or dict.fromkeys(n.rstrip("*") for n in found.names)]
    shapes = {found.names[j].rstrip("*"): (complex(found.eigenvalues[i, j]), found.shapes[i, :, j]) for j in chosen}
    e = found.family.equations
    units = {q.name: q.unit for q in (*e.states, *e.outputs)}
    return phasors(shapes, found.states, units)


def root_locus(found: Modes, window: tuple[float, float] | None = None) -> Figure:
    """Eigenvalues in the complex plane, colored by the swept quantity, with the critical ones marked.

    >>> import numpy as np, draisine as dr
    >>> found = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
    >>> figure = dr.root_locus(found)
    """
    from draisine.view.plots.eigenvalues import locus
    from draisine.view.plots.labels import with_unit, words

    e = found.family.equations
    units = {q.name: q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs)}
    unit = units.get(found.over, "")
    marks = {f"{c.kind}, {c.value:.3g}": c.eigenvalue for c in found.critical()}
    return locus(found.values, found.eigenvalues, with_unit(words(found.over), unit), marks, window=window)


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
    """Write a film (.gif) of the model moving along a mode, one period, its largest coordinate going `amplitude` to and fro.

    Growth and decay are left out, so that the film can repeat; a mode that does not oscillate swings in two seconds. The
    constraints hold in every frame: coordinates that the mode does not tell follow (wheels stay on the ground).

        found = dr.modes(bike, speed=np.linspace(0, 10, 101), states=("lean", "steer"))
        dr.animate_mode(bike, found, "weave", at=5.0, path="weave.gif")
    """
    from draisine.view.modes import film

    if not (math.isfinite(amplitude) and amplitude > 0 and frames >= 2):
        raise ArgumentError(f"amplitude={amplitude} and frames={frames}: give a positive amplitude and at least two frames")
    i = _point(found, at)
    j = _column(found, i, name)
    targets = _displacements(found, i, j, amplitude, frames)
    _, scene, poses = posing(model, parameters)
    eigenvalue = found.eigenvalues[i, j]
    seconds = 2 * np.pi / abs(eigenvalue.imag) if eigenvalue.imag else 2.0
    caption = f"{name} at {found.over} = {found.values[i]:.3g}"
    film(scene, [poses(target) for target in targets], path, float(seconds), view=view, captions=[caption] * frames)


def _displacements(found: Modes, i: int, j: int, amplitude: float, frames: int) -> list[dict[str, float]]:
    """The mode's coordinates (its velocities are no places) at each frame."""
    e = found.family.equations
    reported = [k for k, state in enumerate(found.states) if state not in e.independent]
    shape = found.shapes[i, reported, j]
    size = float(np.abs(shape).max(initial=0.0))
    if size == 0.0:
        raise ArgumentError(f"{e.name}: in this mode velocities alone deviate; there is no displacement to show")
    angles = np.arange(frames) * 2 * np.pi / frames
    # the largest coordinate begins at its extreme
    leading = shape[int(np.argmax(np.abs(shape)))]
    moved = amplitude * (shape * np.conj(leading) / abs(leading) / size * np.exp(1j * angles)[:, None]).real
    # steady values of named deviations, so that the film shows a leaning mode of a leaning motion
    base = {state: found.family.base.values.get(state, 0.0) for state in found.states}
    return [{found.states[k]: base[found.states[k]] + float(d) for k, d in zip(reported, row, strict=True)} for row in moved]


def _point(found: Modes, at: float) -> int:
    """The nearest swept point that has a steady motion."""
    low, high = float(found.values.min()), float(found.values.max())
    if not low - 1e-9 <= at <= high + 1e-9:
        raise ArgumentError(f"{found.over} = {at:g} is outside of the sweep, which goes from {low:g} to {high:g}")
    good = np.flatnonzero(np.isfinite(found.eigenvalues[:, 0]))
    return int(good[np.argmin(np.abs(found.values[good] - at))])


def _column(found: Modes, i: int, name: str) -> int:
    """The mode of that name; of a pair the one whose imaginary part is positive."""
    same = [j for j, other in enumerate(found.names) if other.rstrip("*") == name.rstrip("*")]
    if not same:
        plain = list(dict.fromkeys(n.rstrip("*") for n in found.names))
        raise ArgumentError(f"there is no mode {name!r}{did_you_mean(name, plain)}; there are {', '.join(plain)}")
    return max(same, key=lambda j: float(found.eigenvalues[i, j].imag))
