"""How shapes follow parameters: slopes of vertices, by which a page bends a frame while its sliders move.

Each length and each angle is moved alone, the model is put on its wheels and dressed anew; how far the vertices moved is told.
Shapes that get other vertices, and parameters with which the model cannot stand, are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import StartError
from draisine.model.items import System
from draisine.view.film.footage import Footage
from draisine.view.film.page import cast, floats

Array = NDArray[np.float64]

_UNITS = ("m", "rad")
_SHARE = 0.25  # of a parameter's way to its farther limit: secants serve sliders better than tangents
_SEEN = 1e-3  # of the size: what moves less over the whole slider is not told


def morphs(
    system: System, base: Footage, limits: Mapping[str, tuple[float, float]], dressed: Callable[[System], Footage]
) -> list[dict[str, Any]]:
    """Slopes by parameter; `dressed` makes the footage of a system whose parameters have other defaults."""
    found = []
    for place, parameter in enumerate(system.parameters):
        if parameter.unit not in _UNITS or parameter.name not in limits:
            continue
        low, high = limits[parameter.name]
        far = high if high - parameter.default >= parameter.default - low else low
        step = _SHARE * (far - parameter.default)
        changed = replace(parameter, default=parameter.default + step)
        other = replace(system, parameters=(*system.parameters[:place], changed, *system.parameters[place + 1 :]))
        try:
            reported = _slopes(base, dressed(other), step, _SEEN * base.extent / (high - low)) if step else None
        except StartError:
            continue
        if reported is not None:
            found.append({"parameter": parameter.name, **reported})
    return found


def _slopes(base: Footage, other: Footage, step: float, least: float) -> dict[str, Any] | None:
    """Of vertices of meshes, by their place in the cast, and of the marks of centers of mass."""
    if len(base.meshes) != len(other.meshes):
        return None
    meshes = []
    for place, (here, there) in enumerate(zip(base.meshes, other.meshes, strict=True)):
        if here.vertices.shape != there.vertices.shape:
            continue
        slope = (np.asarray(there.vertices) - np.asarray(here.vertices)) / step
        if np.abs(slope).max() > least:
            meshes.append({"mesh": place, "slope": floats(slope)})
    centers = _centers(other) - _centers(base)
    moving = bool(centers.size) and float(np.abs(centers / step).max()) > least
    if not meshes and not moving:
        return None
    return {"meshes": meshes, "centers": (centers / step).tolist() if moving else None}


def _centers(take: Footage) -> Array:
    return np.array([mark["at"] for mark in cast(take)["centers"]])
