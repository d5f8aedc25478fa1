"""Drawings of body segments: the solids themselves, limbs and head as solids of revolution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from draisine.parts.riders.human import Human, Segment
from draisine.parts.riders.postures import level_axes
from draisine.parts.riders.solids import Array, Solid, Stadium

SKIN, SHIRT, TROUSERS = "#D2A07A", "#4F7CAC", "#3B4656"
_COLORS = {"pelvis": TROUSERS, "thorax": SHIRT, "chest": SHIRT, "thigh": TROUSERS, "shank": TROUSERS, "upper_arm": SHIRT}
Shape = dict[str, Any]


def segment_shapes(segment: Segment, rotation: Array | None = None, position: Array | Sequence[float] = (0, 0, 0)) -> list[Shape]:
    """Shapes of a segment in its axes, or placed in those of another body."""
    kind = segment.name.removeprefix("left_").removeprefix("right_")
    color = _COLORS.get(kind, SKIN)
    turned = np.eye(3) if rotation is None else rotation
    sign, along = -1.0 if segment.downward else 1.0, 0.0
    trunk: list[tuple[float, float, float]] = []
    rounded: list[tuple[Solid, float]] = []
    for solid in segment.solids:
        if segment.downward or solid.at(0.5).half_length == 0.0:
            rounded.append((solid, along))
        else:
            ends = [solid.at(fraction) for fraction in (0.0, 1.0)]
            trunk += [(along + f * solid.height, end.radius, end.half_length) for f, end in enumerate(ends) if f or not trunk]
        along += solid.height
    if trunk:  # the end is a little smaller: end faces of neighbors would coincide
        z, radius, half = trunk[-1]
        trunk[-1] = (z, 0.995 * radius, half)
    found: list[Shape] = [{"kind": "stadium", "levels": trunk, "color": color}] if trunk else []
    if rounded:
        found.append(_revolved(rounded, sign, color if segment.downward else SKIN))
    orientation = [{axis: angle} for axis, angle in level_axes(turned)]
    for shape in found:
        at = np.asarray(position) + turned @ np.asarray(shape.get("at", (0.0, 0.0, 0.0)))
        shape["at"], shape["orientation"] = tuple(float(x) for x in at), orientation
    return found


def body_shapes(human: Human, posture: Mapping[str, float] | None = None) -> list[Shape]:
    """Shapes of the whole body in a posture, from the middle of the hip joints."""
    return [
        shape
        for placed in human.placed(posture).values()
        for shape in segment_shapes(placed.segment, placed.rotation, placed.position)
    ]


def _revolved(solids: Sequence[tuple[Solid, float]], sign: float, color: str) -> Shape:
    """Disks of the same area as the sections."""
    profile: list[tuple[float, float]] = []
    for solid, base in solids:
        last = 8 if solid is solids[-1][0] and sign > 0 else 1  # the top of the head is round
        for k in range(0 if not profile else 1, last + 1):
            profile.append((sign * (base + solid.height * k / last), max(_radius(solid.at(k / last)), 1e-3)))
    return {"kind": "revolved", "profile": profile if sign > 0 else profile[::-1], "axis": "z", "color": color}


def _radius(level: Stadium) -> float:
    return math.sqrt((math.pi * level.radius**2 + 4 * level.radius * level.half_length) / math.pi)
