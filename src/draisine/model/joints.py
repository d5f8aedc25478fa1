"""Named joints as chains of elementary displacements, rotations about axes of any direction, and the change of the reference
body.

Functions of joints return the chain and its coordinates; `Model` prepends the fixed position and orientation of the joint. The
coordinate of a joint with one coordinate has the joint's name; others add a suffix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Number
from draisine.model.items import GROUND, Ball, Coordinate, Displacement, Float, Glide, Joint, Rotate, Translate, Vector
from draisine.model.quantities import Amount, amount_in, named
from draisine.model.system import System

AXES = ("x", "y", "z")
Axis = str | Sequence[Amount]

_ZERO = Number(0.0)
_UNIT_ROUNDING = 1e-15  # a vector of this accuracy is kept as it is, so that files read back equal


def about(axis: Axis, angle: Expr, where: str) -> tuple[Rotate, ...]:
    """A rotation by `angle` about an axis, as elementary rotations."""
    tilt, letter, sign = _tilt(_direction(axis, where), where)
    return (*tilt, Rotate(letter, angle if sign > 0 else -angle), *_reversed(tilt))


def about_and_along(axis: Axis, angle: Expr, amount: Expr, where: str) -> tuple[Rotate | Translate, ...]:
    """A rotation about an axis and a translation along it."""
    tilt, letter, sign = _tilt(_direction(axis, where), where)
    if sign < 0:
        angle, amount = -angle, -amount
    return (*tilt, Rotate(letter, angle), along(letter, amount, where), *_reversed(tilt))


def _reversed(turns: tuple[Rotate, ...]) -> tuple[Rotate, ...]:
    return tuple(Rotate(turn.axis, -turn.angle) for turn in reversed(turns))


def along(axis: Axis, amount: Expr, where: str) -> Translate:
    """A translation by `amount` along an axis."""
    return Translate(tuple(_product(component, amount) for component in _direction(axis, where)))  # type: ignore[arg-type]


def turned_onto(axis: Axis, where: str) -> tuple[tuple[Rotate, ...], str]:
    """Constant rotations, and the coordinate axis that they turn into this one."""
    turns, letter, sign = _tilt(_direction(axis, where), where)
    if sign < 0:  # half a turn about another axis
        turns = (*turns, Rotate(AXES[(AXES.index(letter) + 1) % 3], Number(math.pi)))
    return turns, letter


def across(axis: Axis, where: str) -> tuple[Vector, Vector, Vector]:
    """Two directions at right angles to an axis and to each other, and that of the axis: a right-handed system."""
    n = _direction(axis, where)
    sizes = [abs(c.value) if isinstance(c, Number) else math.inf for c in n]
    k = max(range(3), key=lambda m: (sizes[m], m))
    i, j = (k + 1) % 3, (k + 2) % 3
    size = _size(n[j], n[k])
    first: list[Expr] = [_ZERO] * 3
    second: list[Expr] = [_ZERO] * 3
    first[i], first[j], first[k] = size, _scaled(-n[i], n[j], size), _scaled(-n[i], n[k], size)
    second[j], second[k] = _scaled(Number(1.0), n[k], size), _scaled(Number(-1.0), n[j], size)
    return tuple(first), tuple(second), n  # type: ignore[return-value]


def _scaled(factor: Expr, component: Expr, size: Expr) -> Expr:
    """factor · component / size."""
    if _ZERO in (factor, component):
        return _ZERO
    if isinstance(factor, Number) and isinstance(component, Number) and isinstance(size, Number):
        return Number(factor.value * component.value / size.value + 0.0)
    return factor * component / size


def projection(direction: Vector, components: Sequence[Expr]) -> Expr:
    """Σ direction · components."""
    total: Expr = _ZERO
    for factor, component in zip(direction, components, strict=True):
        if factor != _ZERO:
            total = _product(factor, component) if total == _ZERO else total + _product(factor, component)
    return total


def _product(component: Expr, amount: Expr) -> Expr:
    if component == _ZERO:
        return _ZERO
    if component == Number(1.0):
        return amount
    return -amount if component == Number(-1.0) else component * amount


def _direction(axis: Axis, where: str) -> Vector:
    """The unit vector of an axis."""
    if isinstance(axis, str) and axis.removeprefix("-") in AXES:
        one = Number(-1.0 if axis[0] == "-" else 1.0)
        return tuple(one if letter == axis[-1] else _ZERO for letter in AXES)  # type: ignore[return-value]
    if isinstance(axis, str) or not hasattr(axis, "__len__") or len(axis) != 3:
        raise ModelError(f"{where}: axis {axis!r} is unknown; known are x, y, z and vectors such as (0, 1, 1)")
    given = [amount_in(component, "", f"axis of {where}") for component in axis]
    numbers = [component.value for component in given if isinstance(component, Number)]
    if len(numbers) < 3:
        if sum(component != _ZERO for component in given) == 1:
            raise ModelError(f"{where}: the axis ({', '.join(map(str, given))}) has one component; give 'x', 'y' or 'z'")
        size = Call("hypot", tuple(component for component in given if component != _ZERO))
        return tuple(component if component == _ZERO else component / size for component in given)  # type: ignore[return-value]
    length = math.hypot(*numbers)
    if length == 0.0:
        raise ModelError(f"{where}: the axis (0, 0, 0) has no direction; give a vector such as (0, 0, 1)")
    if abs(length - 1.0) > _UNIT_ROUNDING:
        largest = max(map(abs, numbers))  # first, since the squares of tiny numbers vanish
        numbers = [number / largest for number in numbers]
        length = math.hypot(*numbers)
        numbers = [number / length for number in numbers]
    return tuple(Number(number + 0.0) for number in numbers)  # type: ignore[return-value]  # −0 becomes 0


def _tilt(direction: Vector, where: str) -> tuple[tuple[Rotate, ...], str, int]:
    """Constant rotations B, a coordinate axis and a sign with B · (sign · axis) = direction."""
    sizes = [abs(c.value) if isinstance(c, Number) else math.inf for c in direction]
    k = max(range(3), key=lambda n: (sizes[n], n))
    if isinstance(direction[k], Number) and direction[k].value < 0:  # type: ignore[attr-defined]
        tilt, letter, _ = _tilt(tuple(-c for c in direction), where)  # type: ignore[arg-type]
        return tilt, letter, -1
    # with (i, j, k) cyclic: R_i(α) R_j(β) e_k = sin β e_i + cos β (cos α e_k − sin α e_j)
    i, j = (k + 1) % 3, (k + 2) % 3
    across = _size(direction[j], direction[k])
    turns = ((i, _angle(-direction[j], direction[k])), (j, _angle(direction[i], across)))
    return tuple(Rotate(AXES[n], angle) for n, angle in turns if angle != _ZERO), AXES[k], 1


def _size(a: Expr, b: Expr) -> Expr:
    if a == _ZERO:
        return b
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(math.hypot(a.value, b.value))
    return Call("hypot", (a, b))


def _angle(sine: Expr, cosine: Expr) -> Expr:
    if sine == _ZERO:
        return _ZERO
    if isinstance(sine, Number) and isinstance(cosine, Number):
        return Number(math.atan2(sine.value, cosine.value))
    return Call("atan2", (sine, cosine))


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
        reversed_joints[joint.name] = joint._replace(
            parent=joint.child, child=joint.parent, chain=_inverse(joint.chain, joint.name)
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
