"""Shapes that several models of the gallery share: axles with two wheels, and gears. For drawing only."""

from __future__ import annotations

import math
from typing import Any

from draisine.expr.expression import Expr

Length = float | str | Expr

TIRE, STEEL = "#2E3236", "#8B9096"


def axle(track: float, radius: float, at: Length = 0.0) -> list[dict[str, Any]]:
    """Two wheels on an axle across x, which stand on the plane z = 0."""
    half = track / 2
    wheels: list[dict[str, Any]] = [
        {"kind": "cylinder", "radius": radius, "length": 0.5 * radius, "at": (at, side, radius), "color": TIRE}
        for side in (half, -half)
    ]
    return [*wheels, {"kind": "cylinder", "radius": 0.2 * radius, "length": track, "at": (at, 0, radius), "color": STEEL}]


def gear(
    teeth: int, radius: float, width: float, at: tuple[float, float, float] = (0, 0, 0), color: str = ""
) -> list[dict[str, Any]]:
    """A gear about y, with its teeth as bars on the pitch circle."""
    depth = math.pi * radius / teeth  # half a pitch
    body = {"kind": "cylinder", "radius": radius - 0.5 * depth, "length": width, "at": at, "color": color}
    angles = [2 * math.pi * k / teeth for k in range(teeth)]
    return [
        body,
        *(
            {
                "kind": "box",
                "size": (1.6 * depth, width, 0.9 * depth),
                "at": (at[0] + radius * math.cos(angle), at[1], at[2] - radius * math.sin(angle)),
                "orientation": [{"y": angle}],
                "color": color,
            }
            for angle in angles
        ),
    ]
