"""Poses in the design position: where frames of a model are when all coordinates of joints are zero.

Machines are drawn in one position and measured there. Frames of bodies differ by translations and by rotations about y, the axis
across the plane of symmetry, so that a pose is a position and a pitch, as expressions of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, Number, cos, did_you_mean, sin, substitute

if TYPE_CHECKING:
    from draisine.model.model import Model

ZERO = Number(0.0)
Vector = tuple[Expr, Expr, Expr]


@dataclass(frozen=True)
class Pose:
    """A frame of a body in the design position."""

    body: str
    at: Vector  # in the axes of the body
    orientation: tuple[tuple[str, Expr], ...]  # relative to the body
    position: Vector  # in design coordinates
    pitch: Expr  # rotation about y from the design axes
    base: Vector = (ZERO, ZERO, ZERO)  # origin of the body, in design coordinates
    base_pitch: Expr = ZERO  # of the axes of the body

    @property
    def upright(self) -> list[tuple[str, Expr]]:
        """The orientation, relative to the body, of axes that are those of the design position."""
        return [] if self.base_pitch == ZERO else [("y", minus(self.base_pitch))]

    @property
    def placed(self) -> dict[str, Any]:
        """Where a joint at this frame is, as arguments of the builders of joints."""
        return {"at": self.at, "orientation": list(self.orientation)}


def pose_of_point(model: Model, name: str, where: str) -> Pose:
    """The pose of a point, a frame or a body of the model."""
    points, bodies = model._items["points"], model._items["bodies"]
    if name == "ground":
        return Pose("ground", (ZERO, ZERO, ZERO), (), (ZERO, ZERO, ZERO), ZERO)
    if name in points:
        point = points[name]
        base, pitch = _body_pose(model, point.body, where)
        turns = tuple((turn.axis, turn.angle) for turn in point.orientation)
        position = _sum(base, _rotated(point.at, pitch))
        return Pose(point.body, point.at, turns, position, _pitched(pitch, turns, where), base, pitch)
    if name in bodies:
        base, pitch = _body_pose(model, name, where)
        return Pose(name, (ZERO, ZERO, ZERO), (), base, pitch, base, pitch)
    hint = did_you_mean(name, [*points, *bodies])
    raise ModelError(f"{where}: the model has no frame, point or body {name!r} to mount on{hint}")


def local(pose: Pose, position: Sequence[Expr]) -> Vector:
    """A position in design coordinates, in the axes of a frame."""
    return _rotated(difference(position, pose.position), minus(pose.pitch))


def in_body(pose: Pose, position: Sequence[Expr]) -> Vector:
    """A position in design coordinates, in the axes of the body to which a frame belongs."""
    return _rotated(difference(position, pose.base), minus(pose.base_pitch))


def difference(a: Sequence[Expr], b: Sequence[Expr]) -> Vector:
    """a − b of two positions."""
    return _sum(a, tuple(minus(c) for c in b))


def turned(inertia: Mapping[str, Expr], pitch: Expr) -> dict[str, Expr]:
    """A tensor given in design axes, in axes that are pitched to them."""
    if pitch == ZERO:
        return dict(inertia)
    if any(inertia.get(key, ZERO) != ZERO for key in ("xy", "yz")):
        raise ModelError("products of inertia xy and yz of a part that is tilted are not supported; give it as a body")
    c, s = cos(pitch), sin(pitch)
    xx, zz, zx = (inertia.get(key, ZERO) for key in ("xx", "zz", "zx"))
    return {
        "xx": plus(times(c * c, xx), times(-2 * s * c, zx), times(s * s, zz)),
        "yy": inertia.get("yy", ZERO),
        "zz": plus(times(s * s, xx), times(2 * s * c, zx), times(c * c, zz)),
        "zx": plus(times(s * c, xx), times(c * c - s * s, zx), times(-s * c, zz)),
    }


def _body_pose(model: Model, body: str, where: str) -> tuple[Vector, Expr]:
    joint = next((j for j in model._items["joints"].values() if j.child == body), None)
    if joint is None:
        if body == "ground" or body in model._items["bodies"]:
            return (ZERO, ZERO, ZERO), ZERO  # the body on which the machine is built
        raise ModelError(f"{where}: the model has no body {body!r}{did_you_mean(body, list(model._items['bodies']))}")
    position, pitch = _body_pose(model, joint.parent, where)
    rest = {c.name: ZERO for c in joint.coordinates}
    for step in joint.chain:
        if hasattr(step, "by"):
            by = tuple(_at_rest(component, rest) for component in step.by)
            position = _sum(position, _rotated(by, pitch))
        elif hasattr(step, "angle"):
            pitch = _pitched(pitch, ((step.axis, _at_rest(step.angle, rest)),), where)
    return position, pitch


def _at_rest(expr: Expr, rest: Mapping[str, Expr]) -> Expr:
    """A displacement with the joint's coordinates zero: each is constant or affine in one of them."""
    if isinstance(expr, Name) and expr.identifier in rest:
        return ZERO
    found = substitute(expr, rest)
    return expr if found == expr else ZERO if not _constant_part(expr, rest) else found


def _constant_part(expr: Expr, rest: Mapping[str, Expr]) -> bool:
    """Whether something is left where the coordinates vanish: not of a multiple of a coordinate."""
    function = getattr(expr, "function", "")
    arguments: tuple[Expr, ...] = getattr(expr, "arguments", ())
    if isinstance(expr, Name):
        return expr.identifier not in rest
    if function == "neg":
        return _constant_part(arguments[0], rest)
    if function == "mul":
        return all(_constant_part(a, rest) for a in arguments)
    if function == "div":
        return _constant_part(arguments[0], rest)
    return True


def _pitched(pitch: Expr, turns: Sequence[tuple[str, Expr]], where: str) -> Expr:
    for axis, angle in turns:
        if angle == ZERO:
            continue
        if axis != "y":
            raise ModelError(f"{where}: it is mounted on a frame that is turned about {axis}; parts are drawn in the plane x, z")
        pitch = plus(pitch, angle)
    return pitch


def _rotated(v: Sequence[Expr], pitch: Expr) -> Vector:
    x, y, z = v
    if pitch == ZERO:
        return x, y, z
    c, s = _cos(pitch), _sin(pitch)
    return plus(times(c, x), times(s, z)), y, plus(times(minus(s), x), times(c, z))


def _cos(angle: Expr) -> Expr:
    return cos(_unsigned(angle)[0])


def _sin(angle: Expr) -> Expr:
    size, sign = _unsigned(angle)
    return sin(size) if sign > 0 else -sin(size)


def _unsigned(angle: Expr) -> tuple[Expr, int]:
    if getattr(angle, "function", "") == "neg":
        return angle.arguments[0], -1  # type: ignore[attr-defined]
    return angle, 1


def _sum(a: Sequence[Expr], b: Sequence[Expr]) -> Vector:
    x, y, z = (plus(p, q) for p, q in zip(a, b, strict=True))
    return x, y, z


def minus(a: Expr) -> Expr:
    """−a, without −(−a) and −0."""
    if isinstance(a, Number):
        return Number(-a.value + 0.0)
    return a.arguments[0] if getattr(a, "function", "") == "neg" else -a  # type: ignore[attr-defined]


def plus(*terms: Expr) -> Expr:
    """A sum without zeros; numbers are added, and terms that cancel are left out."""
    left: list[Expr] = []
    constant = 0.0
    for term in terms:
        if isinstance(term, Number):
            constant += term.value
        elif minus(term) in left:
            left.remove(minus(term))
        else:
            left.append(term)
    if constant or not left:
        left.append(Number(constant))
    total = left[0]
    for term in left[1:]:
        total = total - minus(term) if getattr(term, "function", "") == "neg" else total + term
    return total


def times(a: Expr, b: Expr) -> Expr:
    """A product without factors 0 and 1."""
    if ZERO in (a, b):
        return ZERO
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value * b.value)
    if a == Number(1.0) or b == Number(1.0):
        return b if a == Number(1.0) else a
    return a * b
