"""Shapes of parts for drawings: tubes along what carries, in the lengths of the part. They have no mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draisine.expr.expression import Expr, Number
from draisine.parts.design_pose import ZERO, plus, times

METAL, DARK, RUBBER = "#A9B0B7", "#33373C", "#4A4F55"
Place = Sequence[Expr]
Shapes = list[dict[str, Any]]


def shifted(at: Place, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> tuple[Expr, Expr, Expr]:
    """A point beside another one."""
    a, b, c = (plus(p, Number(q)) for p, q in zip(at, (x, y, z), strict=True))
    return a, b, c


def tube(*path: Place, radius: float = 0.02, color: str = "") -> dict[str, Any]:
    """A round tube along points."""
    shape = {"kind": "tube", "path": tuple(tuple(point) for point in path), "radius": radius}
    return shape | ({"color": color} if color else {})


def pair(first: Place, second: Place, half: float, radius: float = 0.018, color: str = "") -> Shapes:
    """Two tubes between points, on both sides of the plane of symmetry."""
    return [tube(shifted(first, y=side), shifted(second, y=side), radius=radius, color=color) for side in (half, -half)]


def middle(a: Place, b: Place, share: float = 0.5) -> tuple[Expr, Expr, Expr]:
    """A point between two others."""
    x, y, z = (plus(times(Number(1 - share), p), times(Number(share), q)) for p, q in zip(a, b, strict=True))
    return x, y, z


def motorcycle_frame(head: Place, pivot: Place) -> Shapes:
    """Backbone, downtube, engine, tank and seat between the steering head and the pivot of the swing arm."""
    engine = middle(pivot, shifted(head, x=-0.25, z=-0.35), 0.45)
    seat = shifted(pivot, x=-0.35, z=0.42)
    tank = middle(head, seat, 0.42)
    return [
        tube(head, shifted(tank, z=-0.06), shifted(pivot, z=0.12), pivot, radius=0.03),
        tube(shifted(head, z=-0.1), shifted(engine, x=0.2, z=-0.02), shifted(engine, x=0.1, z=-0.2), pivot, radius=0.018),
        tube(shifted(tank, x=-0.1, z=-0.05), seat, shifted(pivot, z=0.1), radius=0.016),
        {"kind": "box", "size": (0.34, 0.32, 0.32), "at": engine, "color": METAL},
        {"kind": "box", "size": (0.42, 0.24, 0.18), "at": shifted(tank, z=0.05)},
        {"kind": "box", "size": (0.5, 0.22, 0.07), "at": shifted(seat, x=0.2, z=0.04), "color": DARK},
    ]


def steered_head(top: Place, half: float = 0.36) -> Shapes:
    """A handlebar above the steering head, in the axes of the fork."""
    bar = shifted(top, x=0.0, z=0.1)
    grips = [shifted(bar, x=-0.12, y=side) for side in (half, -half)]
    return [
        tube(top, bar, radius=0.02, color=METAL),
        tube(grips[0], shifted(bar, y=0.12), shifted(bar, y=-0.12), grips[1], radius=0.014, color=DARK),
    ]


def fork_legs(axle: Place, half: float = 0.095) -> tuple[Shapes, Shapes]:
    """Upper and lower legs of a telescopic fork with a handlebar; both in the axes of the fork, the lower from the axle."""
    x = axle[0]
    top = (x, ZERO, Number(0.12))
    down = (x, ZERO, plus(times(Number(0.7), axle[2]), Number(0.0)))
    bridge = [tube((x, Number(half), z), (x, Number(-half), z), radius=0.022, color=DARK) for z in (Number(0.06), Number(-0.1))]
    stem = [tube((ZERO, ZERO, Number(-0.12)), (ZERO, ZERO, Number(0.1)), radius=0.025, color=DARK)]
    upper = [*pair(down, top, half, 0.018, METAL), *bridge, *stem, *steered_head((ZERO, ZERO, Number(0.1)))]
    up = (ZERO, ZERO, times(Number(-0.55), axle[2]))
    origin = (ZERO, ZERO, ZERO)
    lower = [*pair(origin, up, half, 0.027), tube(shifted(origin, y=half), shifted(origin, y=-half), radius=0.015, color=METAL)]
    return upper, lower


def swinging(axle: Place, half: float = 0.11) -> Shapes:
    """The two sides of a swing arm from its pivot to its axle, and the cross tubes at both."""
    origin = (ZERO, ZERO, ZERO)
    return [
        *pair(origin, axle, half, 0.024),
        tube(shifted(origin, y=half + 0.03), shifted(origin, y=-half - 0.03), radius=0.03, color=DARK),
        tube(shifted(axle, y=half), shifted(axle, y=-half), radius=0.014, color=METAL),
    ]


def post(length: float = 0.3) -> Shapes:
    """A strut that rises from the axle."""
    return [tube((ZERO, ZERO, ZERO), (ZERO, ZERO, Number(length)), radius=0.03, color=METAL)]


def girder(pivot: Place, half: float = 0.12) -> Shapes:
    """The legs of a fork from the head to the pivot of a link, with a handlebar."""
    crown = (ZERO, ZERO, Number(-0.05))
    stem = tube((ZERO, ZERO, Number(-0.12)), (ZERO, ZERO, Number(0.1)), radius=0.025, color=DARK)
    bridge = tube(shifted(crown, y=half), shifted(crown, y=-half), radius=0.024, color=DARK)
    return [*pair(crown, pivot, half, 0.022), bridge, stem, *steered_head((ZERO, ZERO, Number(0.1)))]
