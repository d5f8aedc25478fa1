"""Named joints as chains of elementary displacements, and the change of the reference body.

Each function returns the chain and its coordinates; `Model` prepends the fixed position and orientation of the joint. The
coordinate of a joint with one coordinate has the joint's name; others add a suffix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number
from draisine.model.axes import AXES, Axis, about, about_and_along, along
from draisine.model.items import GROUND, Ball, Coordinate, Displacement, Float, Glide, Joint, Rotate, System, Translate
from draisine.model.quantities import named

RIGHT_ANGLE = math.pi / 2

Chain = tuple[tuple[Displacement, ...], tuple[Coordinate, ...]]


def _variable(coordinate: Coordinate) -> Expr:
    return named(coordinate.name, "a coordinate of a joint")


def angle(name: str, rate: str | None = None, default: float = 0.0, span: tuple[float, float] | None = None) -> Coordinate:
    """An angular coordinate; its default span is ±90°."""
    low, high = span or (-RIGHT_ANGLE, RIGHT_ANGLE)
    return Coordinate(name, rate or f"{name}_rate", "rad", default, low, high)


def length(name: str, rate: str | None = None, default: float = 0.0, span: tuple[float, float] | None = None) -> Coordinate:
    """A linear coordinate; its default span is ±1 m."""
    low, high = span or (-1.0, 1.0)
    return Coordinate(name, rate or f"{name}_rate", "m", default, low, high)


def revolute(coordinate: Coordinate, axis: Axis, where: str) -> Chain:
    return about(axis, _variable(coordinate), where), (coordinate,)


def prismatic(coordinate: Coordinate, axis: Axis, where: str) -> Chain:
    return (along(axis, _variable(coordinate), where),), (coordinate,)


def cylindrical(turn: Coordinate, slide: Coordinate, axis: Axis, where: str) -> Chain:
    return about_and_along(axis, _variable(turn), _variable(slide), where), (turn, slide)


def screw(turn: Coordinate, axis: Axis, lead: Expr, where: str) -> Chain:
    """Rotation with an advance of `lead` per revolution."""
    return about_and_along(axis, _variable(turn), lead * _variable(turn) / (2 * math.pi), where), (turn,)


def universal(first: Coordinate, second: Coordinate, axes: Sequence[Axis], where: str) -> Chain:
    return (*about(axes[0], _variable(first), where), *about(axes[1], _variable(second), where)), (first, second)


def glide(name: str, at: Sequence[float] = (0.0, 0.0), heading: float = 0.0) -> Chain:
    """Planar motion on the ground, with velocities in body axes."""
    position = tuple(Coordinate(f"{name}_{a}", "", "m", default) for a, default in zip("xy", at, strict=True))
    turn = angle(f"{name}_heading", default=heading)
    motion = Glide(tuple(c.name for c in position), turn.name, (f"{name}_vx", f"{name}_vy"))  # type: ignore[arg-type]
    return (motion,), (*position, turn)


def planar(x: Coordinate, y: Coordinate, turn: Coordinate) -> Chain:
    """Translation along x and y of a moving parent and rotation about z."""
    return (Translate((_variable(x), _variable(y), Number(0.0))), Rotate("z", _variable(turn))), (x, y, turn)


def euler(position: tuple[Coordinate, Coordinate, Coordinate], angles: tuple[Coordinate, ...], order: str) -> Chain:
    """Free motion by position and three elementary rotations, e.g. order "zxy" for heading, lean, pitch."""
    shift = Translate(tuple(_variable(c) for c in position))  # type: ignore[arg-type]
    turns = tuple(Rotate(axis, _variable(c)) for axis, c in zip(order, angles, strict=True))
    return (shift, *turns), (*position, *angles)


def _quaternion(name: str) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{name}_{s}", "", "", 1.0 if s == "qw" else 0.0) for s in ("qw", "qx", "qy", "qz"))


def spherical(name: str) -> Chain:
    turn = _quaternion(name)
    rates = tuple(f"{name}_w{a}" for a in AXES)
    return (Ball(tuple(c.name for c in turn), rates),), turn  # type: ignore[arg-type]


def free(name: str, at: Sequence[float] = (0.0, 0.0, 0.0)) -> Chain:
    position = tuple(Coordinate(f"{name}_{a}", "", "m", position) for a, position in zip(AXES, at, strict=True))
    turn = _quaternion(name)
    velocity = tuple(f"{name}_v{a}" for a in AXES)
    rates = tuple(f"{name}_w{a}" for a in AXES)
    motion = Float(tuple(c.name for c in position), tuple(c.name for c in turn), velocity, rates)  # type: ignore[arg-type]
    return (motion,), (*position, *turn)


# -------------------------------------------------------------------- another reference body


def referred_to(system: System, body: str) -> System:
    """The same mechanism with `body` as reference body: joints on the way are reversed, and `body` gets the free joint, or the
    planar joint if the present reference body moves in the plane."""
    by_child = {joint.child: joint for joint in system.joints}
    if body not in {b.name for b in system.bodies}:
        raise ModelError(f"{system.name!r} has no body {body!r}; it has {', '.join(b.name for b in system.bodies)}")
    path: list[Joint] = []
    current = body
    while current != GROUND:
        path.append(by_child[current])
        current = by_child[current].parent
    base = path[-1]
    if not any(isinstance(d, Float | Glide) for d in base.chain):
        raise ModelError(
            f"{system.name!r} cannot have {body!r} as reference body: the present one, {base.child!r}, has no free and no "
            "planar joint"
        )
    planar_base = any(isinstance(d, Glide) for d in base.chain)
    for joint in path[:-1] if planar_base else ():
        if not all(_is_planar(step) for step in joint.chain):
            raise ModelError(
                f"{system.name!r} cannot have {body!r} as reference body: joint {joint.name!r} leaves the plane in which "
                f"{base.child!r} moves; rotations about z and translations along x and y stay in it"
            )
    # a planar joint between bodies has the names that the new joint would have
    others = {joint.name for joint in system.joints if joint is not base}
    label = body if f"{body}_motion" not in others else f"{body}_base"
    chain, coordinates = glide(label) if planar_base else free(label)
    reversed_joints = {base.name: Joint(f"{label}_motion", GROUND, body, chain, coordinates)}
    for joint in path[:-1]:
        reversed_joints[joint.name] = replace(
            joint, parent=joint.child, child=joint.parent, chain=_inverse(joint.chain, joint.name)
        )
    return replace(system, joints=tuple(reversed_joints.get(j.name, j) for j in system.joints), independent=())


def _is_planar(step: Displacement) -> bool:
    if isinstance(step, Rotate):
        return step.axis == "z"
    return isinstance(step, Translate) and step.by[2] == Number(0.0)


def _inverse(chain: Iterable[Displacement], joint: str) -> tuple[Displacement, ...]:
    inverted: list[Displacement] = []
    for step in reversed(tuple(chain)):
        if isinstance(step, Rotate):
            inverted.append(Rotate(step.axis, -step.angle))
        elif isinstance(step, Translate):
            inverted.append(Translate(tuple(-c for c in step.by)))  # type: ignore[arg-type]
        else:
            raise ModelError(
                f"joint {joint!r} is a spherical joint and cannot be reversed; choose a reference body on its other side"
            )
    return tuple(inverted)
