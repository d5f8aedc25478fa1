"""Where machines begin on a road that leads around the origin, or past it: at the beginning of the road, and along it.

The defaults of coordinates are the first guess of every search, and the start where nothing else is given. On a road along a path
or a circle they would be at the origin of the model, which may be the center of a circle, where no height is defined. Bodies that
move freely over the ground are then placed relative to the beginning of the road instead, as they are relative to the origin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from draisine.errors import ExpressionError
from draisine.expr.expression import Call, Expr, Name, Number, evaluate_number, walk
from draisine.model.items import GROUND, Coordinate, Float, Glide, Joint, Rotate, Translate

if TYPE_CHECKING:
    from draisine.model.system import System

_OFF = 0.5  # of the radius of a circle: farther beside it the origin is not on the road


class RoadStart(NamedTuple):
    """The beginning of a road: position in m, heading in rad."""

    x: float
    y: float
    heading: float

    def placed(self, x: float, y: float) -> tuple[float, float]:
        """The position that is (x, y) in axes at the beginning."""
        cosine, sine = math.cos(self.heading), math.sin(self.heading)
        return self.x + cosine * x - sine * y, self.y + sine * x + cosine * y


class Placement(NamedTuple):
    """The names of the coordinates that place a free body over the ground: position; heading, or w and z of a quaternion."""

    x: str
    y: str
    turns: tuple[str, ...]


def onto_road(system: System, coordinates: tuple[Coordinate, ...]) -> tuple[Coordinate, ...]:
    """The coordinates with defaults on the road that the ground describes, if none of the free bodies is on it by default."""
    found = {c.name: c for c in coordinates}
    bodies = [placement for _, placement in placements(system)]
    start = road_start(system, [(found[p.x].default, found[p.y].default) for p in bodies])
    if start is None:
        return coordinates
    for body in bodies:
        place = start.placed(found[body.x].default, found[body.y].default)
        for name, value in zip((body.x, body.y), place, strict=True):
            found[name] = _moved(found[name], value)
        if len(body.turns) == 1:
            turn = found[body.turns[0]]
            found[turn.name] = _moved(turn, turn.default + start.heading)
        elif body.turns:
            w, z = (found[name] for name in body.turns)
            half = 0.5 * start.heading + math.atan2(z.default, w.default)
            size = math.hypot(w.default, z.default)
            found[w.name] = w._replace(default=size * math.cos(half))
            found[z.name] = z._replace(default=size * math.sin(half))
    return tuple(found[c.name] for c in coordinates)


def placements(system: System) -> list[tuple[str, Placement]]:
    """The bodies that move freely over the ground, with the coordinates that place them."""
    joints = [joint for joint in system.joints if joint.parent == GROUND]
    return [(joint.child, placement) for joint in joints if (placement := _placement(joint)) is not None]


def _moved(c: Coordinate, default: float) -> Coordinate:
    return c._replace(default=default, low=c.low + default - c.default, high=c.high + default - c.default)


def _placement(joint: Joint) -> Placement | None:
    """None for a joint that does not move a body freely over the ground, such as one at a place given by parameters."""
    own = {c.name for c in joint.coordinates}
    match joint.chain:
        case (Float() as free, *_):
            w, x, y, z = (next(c for c in joint.coordinates if c.name == name) for name in free.quaternion)
            upright = x.default == 0.0 and y.default == 0.0
            return Placement(free.position[0], free.position[1], (w.name, z.name) if upright else ())
        case (Glide() as free, *_):
            return Placement(*free.position, (free.heading,))
        case (Translate((Name(x), Name(y), _)), Rotate("z", Name(turn)), *_) if own >= {x, y, turn}:
            return Placement(x, y, (turn,))
        case (Translate((Name(x), Name(y), _)), *_) if own >= {x, y}:
            return Placement(x, y, ())
    return None


def road_start(system: System, places: list[tuple[float, float]]) -> RoadStart | None:
    """The beginning of the first path, or else circle, of the ground that none of the places is on; None without one."""
    ground = (system.ground.height, system.ground.friction)
    called = {node.function for expression in ground for node in walk(expression) if isinstance(node, Call)}
    used = [path for path in system.paths if called & {f"{path.name}_along", f"{path.name}_across"}]
    if not places or not called:
        return None
    for path in used[:1]:
        line = path.coordinates.curve.at(path.coordinates.curve.samples)
        if any(np.hypot(line[0] - x, line[1] - y).min() <= path.coordinates.width for x, y in places):
            return None
        (x, y), heading = path.position(0.0), path.heading_at(0.0)
        return RoadStart(float(x), float(y), float(heading))
    values = {p.name: p.default for p in system.parameters}
    for node in (node for expression in ground for node in walk(expression)):
        if (around := _circle(node, values)) is not None:
            radius, a, b = around
            away = [abs(math.hypot(x - a, y - b) - radius) for x, y in places]
            return None if min(away) <= _OFF * radius else RoadStart(a, b - radius, 0.0)
    return None


def _circle(node: Expr, values: Mapping[str, float]) -> tuple[float, float, float] | None:
    """Radius and center of a circle, if this is a distance beside it or along it as `circle` and what lies on it write them."""
    match node:
        case Call("sub", (radius, Call("sqrt", (Call("add", (Call("pow"), Call("pow"))),)))):
            pass
        case Call("mul", (Call("mul", (Number(2), radius)), Call("asin"))):
            pass
        case _:
            return None
    center = {}
    for inner in walk(node):
        match inner:
            case Call("sub", (Name("x" | "y" as axis), place)):
                center[axis] = place
    if center.keys() != {"x", "y"}:
        return None
    try:
        return evaluate_number(radius, values), evaluate_number(center["x"], values), evaluate_number(center["y"], values)
    except ExpressionError:  # of time, for example
        return None
