"""Named joints as chains of elementary displacements.

Each function gives the chain and its coordinates; `Model` puts the fixed placement (`at`, `orientation`) before it. A joint
with one coordinate names it after itself; others add a suffix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from draisine.expr.expression import Expr, Number
from draisine.model.items import Ball, Coordinate, Displacement, Float, Glide, Rotate, Translate
from draisine.model.quantities import named

AXES = ("x", "y", "z")
RIGHT_ANGLE = math.pi / 2

Chain = tuple[tuple[Displacement, ...], tuple[Coordinate, ...]]


def _moved(coordinate: Coordinate) -> Expr:
    return named(coordinate.name, "a coordinate of a joint")


def angle(name: str, rate: str | None = None, default: float = 0.0, span: tuple[float, float] | None = None) -> Coordinate:
    """An angular coordinate; choices of speeds are judged over ±90° unless a span is given."""
    low, high = span or (-RIGHT_ANGLE, RIGHT_ANGLE)
    return Coordinate(name, rate or f"{name}_rate", "rad", default, low, high)


def length(name: str, rate: str | None = None, default: float = 0.0, span: tuple[float, float] | None = None) -> Coordinate:
    """A linear coordinate."""
    low, high = span or (-1.0, 1.0)
    return Coordinate(name, rate or f"{name}_rate", "m", default, low, high)


def along(axis: str, amount: Expr) -> Translate:
    """A shift by an amount along one axis."""
    zero = Number(0.0)
    return Translate(tuple(amount if a == axis else zero for a in AXES))  # type: ignore[arg-type]


def revolute(coordinate: Coordinate, axis: str) -> Chain:
    return (Rotate(axis, _moved(coordinate)),), (coordinate,)


def prismatic(coordinate: Coordinate, axis: str) -> Chain:
    return (along(axis, _moved(coordinate)),), (coordinate,)


def cylindrical(turn: Coordinate, slide: Coordinate, axis: str) -> Chain:
    return (Rotate(axis, _moved(turn)), along(axis, _moved(slide))), (turn, slide)


def screw(turn: Coordinate, axis: str, lead: Expr) -> Chain:
    """Advance by `lead` for each full turn."""
    return (Rotate(axis, _moved(turn)), along(axis, lead * _moved(turn) / (2 * math.pi))), (turn,)


def universal(first: Coordinate, second: Coordinate, axes: str) -> Chain:
    return (Rotate(axes[0], _moved(first)), Rotate(axes[1], _moved(second))), (first, second)


def glide(name: str) -> Chain:
    """Slide and turn in the ground's plane, with velocities along the body's own axes."""
    position = tuple(Coordinate(f"{name}_{a}", "", "m") for a in "xy")
    turn = angle(f"{name}_heading")
    motion = Glide(tuple(c.name for c in position), turn.name, (f"{name}_vx", f"{name}_vy"))  # type: ignore[arg-type]
    return (motion,), (*position, turn)


def planar(x: Coordinate, y: Coordinate, turn: Coordinate) -> Chain:
    """Slide along x and y of a moving parent, turn about z."""
    return (Translate((_moved(x), _moved(y), Number(0.0))), Rotate("z", _moved(turn))), (x, y, turn)


def euler(position: tuple[Coordinate, Coordinate, Coordinate], angles: tuple[Coordinate, ...], order: str) -> Chain:
    """Move freely by position and three elementary turns in the given order, e.g. "zxy" for heading, lean, pitch."""
    shift = Translate(tuple(_moved(c) for c in position))  # type: ignore[arg-type]
    turns = tuple(Rotate(axis, _moved(c)) for axis, c in zip(order, angles, strict=True))
    return (shift, *turns), (*position, *angles)


def _quaternion(name: str) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{name}_{s}", "", "", 1.0 if s == "qw" else 0.0) for s in ("qw", "qx", "qy", "qz"))


def spherical(name: str) -> Chain:
    turn = _quaternion(name)
    rates = tuple(f"{name}_w{a}" for a in AXES)
    return (Ball(tuple(c.name for c in turn), rates),), turn  # type: ignore[arg-type]


def free(name: str, at: Sequence[float] = (0.0, 0.0, 0.0)) -> Chain:
    position = tuple(Coordinate(f"{name}_{a}", "", "m", place) for a, place in zip(AXES, at, strict=True))
    turn = _quaternion(name)
    velocity = tuple(f"{name}_v{a}" for a in AXES)
    rates = tuple(f"{name}_w{a}" for a in AXES)
    motion = Float(tuple(c.name for c in position), tuple(c.name for c in turn), velocity, rates)  # type: ignore[arg-type]
    return (motion,), (*position, *turn)
