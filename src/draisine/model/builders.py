"""Builders of `Model` for joints and constraints. A joint connects a parent's frame to a child's.

Constraints: loop closures, rods, cables, gears, prescribed motions, user-defined residuals.

    >>> from draisine.model.model import Model
    >>> m = Model("four_bar")
    >>> for name, length in (("crank", 1.0), ("coupler", 4.0), ("rocker", 3.0)):
    ...     _ = m.body(name, mass=length, center_of_mass=(length / 2, 0, 0))
    >>> _ = m.revolute("drive", "ground", "crank")
    >>> _ = m.revolute("knee", "crank", "coupler", at=(1, 0, 0))
    >>> _ = m.revolute("swing", "ground", "rocker", at=(4, 0, 0))
    >>> _ = m.point("coupler_end", "coupler", (4, 0, 0)), m.point("rocker_end", "rocker", (3, 0, 0))
    >>> for name, residual in m.close_point("loop", "coupler_end", "rocker_end", axes="xy").residuals:
    ...     print(f"{name}: {residual} = 0")
    loop_x: offset_x(coupler_end, rocker_end) = 0
    loop_y: offset_y(coupler_end, rocker_end) = 0

Wherever a point is expected, a body means its origin, and "ground" the origin of the world frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number, names
from draisine.model import constraints as constraints
from draisine.model import joints
from draisine.model.items import GROUND, Body, Coordinate, Displacement, Joint, Point, ResidualConstraint, Rotate, Translate
from draisine.model.joints import AXES, Axis, about
from draisine.model.quantities import Amount, amount_in
from draisine.model.registry import ItemRegistry, Measured, name_of, number_of, span_of, vector_of, with_checked_texts
from draisine.model.stops import Friction, Limits, StopBuilders

Turns = Sequence[tuple[Axis, Amount]]  # constant rotations before a joint, e.g. [("y", tilt)]


@with_checked_texts
class JointBuilders(StopBuilders):
    """Joints by name; every body is the child of exactly one joint."""

    def joint(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        chain: Sequence[Displacement],
        coordinates: Sequence[Coordinate] = (),
    ) -> Joint:
        """A general joint: a chain of displacements from the parent's frame to the child's."""
        return self._add("joints", Joint(name, name_of(parent), name_of(child), tuple(chain), tuple(coordinates)))

    def free(self, body: Body | str, name: str | None = None, at: Sequence[float | str] = (0.0, 0.0, 0.0)) -> Joint:
        """A free joint: position and unit quaternion as coordinates, the twist in body axes as velocities. `at` is the default
        initial position."""
        label = name_of(body)
        position = vector_of(at, "m", f"position of free body {label!r}")
        numbers = [c.value for c in position if isinstance(c, Number)]
        if len(numbers) < 3:
            raise ModelError(f"position of free body {label!r}: it must be three numbers, got {tuple(at)}")
        return self.joint(name or f"{label}_motion", GROUND, label, *joints.free(label, numbers))

    def free_euler(
        self, body: Body | str, order: str = "zxy", angles: Sequence[str] | None = None, name: str | None = None
    ) -> Joint:
        """A free joint by position and three elementary rotations; singular when the middle angle reaches ±90°."""
        label = name_of(body)
        if angles is not None and (isinstance(angles, str | Mapping) or not isinstance(angles, Sequence)):
            raise ModelError(f"free_euler of {label!r}: needs three names of angles, got {angles!r}")
        if sorted(set(order) | set("xyz")) != ["x", "y", "z"] or len(order) != 3 or order[0] == order[1] or order[1] == order[2]:
            raise ModelError(
                f"free_euler of {label!r}: order {order!r} must be three of x, y, z with no axis twice in a row, such as 'zxy'"
            )
        names = tuple(angles or (f"{label}_turn{i + 1}" for i in range(3)))
        if len(names) != 3:
            raise ModelError(f"free_euler of {label!r}: needs three names of angles, got {len(names)}")
        position = tuple(joints.length(f"{label}_{a}") for a in AXES)
        turns = tuple(joints.angle(n, span=(-1.2, 1.2)) for n in names)
        return self.joint(name or f"{label}_motion", GROUND, label, *joints.euler(position, turns, order))  # type: ignore[arg-type]

    def planar(
        self,
        body: Body | str,
        name: str | None = None,
        parent: Body | str = GROUND,
        at: Sequence[float | str] = (0.0, 0.0),
        heading: float | str = 0.0,
    ) -> Joint:
        """A planar joint in the x–y plane: coordinates <body>_x, <body>_y, <body>_heading; `at` and `heading` are their defaults.

        With the ground as parent the velocities are <body>_vx, <body>_vy in body axes and <body>_heading_rate; with another
        parent they are the rates of the coordinates.
        """
        label = name_of(body)
        where = f"position of planar body {label!r}"
        if isinstance(at, str | Mapping) or not hasattr(at, "__len__") or len(at) != 2:
            raise ModelError(f"{where}: it must be two numbers, x and y, got {at!r}")
        x, y = (number_of(part, "m", where) for part in at)
        turn = number_of(heading, "rad", f"heading of planar body {label!r}")
        if name_of(parent) == GROUND:
            return self.joint(name or f"{label}_motion", GROUND, label, *joints.glide(label, (x, y), turn))
        along, across = (joints.length(f"{label}_{a}", default=d, span=(d - 1.0, d + 1.0)) for a, d in (("x", x), ("y", y)))
        chain = joints.planar(along, across, joints.angle(f"{label}_heading", default=turn))
        return self.joint(name or f"{label}_motion", parent, label, *chain)

    def revolute(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: Axis = "z",
        at: Sequence[Amount] = (0, 0, 0),
        orientation: Turns = (),
        rate: str | None = None,
        default: float | str = 0.0,
        span: tuple[float | str, float | str] | None = None,
        limits: Limits | None = None,
        restitution: Amount = 0.0,
        friction: Friction | None = None,
    ) -> Joint:
        """A revolute joint about an axis, "x", "y", "z" or a vector; its coordinate has the joint's name.

        `limits` are stops (low, high), of which one may be None, with the coefficient `restitution`; `friction` is the torque
        of dry friction, or a pair (static, kinetic). See `stop` and `friction`; their names are <name>_low, <name>_high and
        <name>_friction.
        """
        where = f"joint {name!r}"
        coordinate = joints.angle(name, rate, number_of(default, "rad", f"default of {where}"), _span(span, "rad", where))
        motion = joints.revolute(coordinate, axis, where)
        joint = self._placed(name, parent, child, at, orientation, motion)
        self._limit(joint, limits, restitution, friction)
        return joint

    def prismatic(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: Axis = "x",
        at: Sequence[Amount] = (0, 0, 0),
        orientation: Turns = (),
        rate: str | None = None,
        default: float | str = 0.0,
        span: tuple[float | str, float | str] | None = None,
        limits: Limits | None = None,
        restitution: Amount = 0.0,
        friction: Friction | None = None,
    ) -> Joint:
        """A prismatic joint along an axis, "x", "y", "z" or a vector; its coordinate has the joint's name.

        `limits` are stops (low, high), of which one may be None, with the coefficient `restitution`; `friction` is the force
        of dry friction, or a pair (static, kinetic). See `stop` and `friction`; their names are <name>_low, <name>_high and
        <name>_friction.
        """
        where = f"joint {name!r}"
        coordinate = joints.length(name, rate, number_of(default, "m", f"default of {where}"), _span(span, "m", where))
        motion = joints.prismatic(coordinate, axis, where)
        joint = self._placed(name, parent, child, at, orientation, motion)
        self._limit(joint, limits, restitution, friction)
        return joint

    def cylindrical(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: Axis = "z",
        at: Sequence[Amount] = (0, 0, 0),
        orientation: Turns = (),
    ) -> Joint:
        """Rotation about and translation along one axis: coordinates <name>_turn, <name>_slide."""
        chain = joints.cylindrical(joints.angle(f"{name}_turn"), joints.length(f"{name}_slide"), axis, f"joint {name!r}")
        return self._placed(name, parent, child, at, orientation, chain)

    def screw(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        lead: Amount,
        axis: Axis = "z",
        at: Sequence[Amount] = (0, 0, 0),
        orientation: Turns = (),
    ) -> Joint:
        """A screw joint: rotation about an axis, with an advance of `lead` per revolution."""
        pitch = amount_in(lead, "m", f"lead of screw {name!r}")
        return self._placed(
            name, parent, child, at, orientation, joints.screw(joints.angle(name), axis, pitch, f"joint {name!r}")
        )

    def universal(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axes: str | Sequence[Axis] = "xy",
        at: Sequence[Amount] = (0, 0, 0),
        orientation: Turns = (),
    ) -> Joint:
        """A universal joint: two intersecting axes, coordinates <name>_1, <name>_2.

        `axes` are two letters or two axes, the second in the axes after the first rotation: "xy", ("x", (0, 1, 1)).
        """
        where = f"universal joint {name!r}"
        if isinstance(axes, Mapping | set) or not hasattr(axes, "__len__") or len(axes) != 2 or repr(axes[0]) == repr(axes[1]):
            raise ModelError(f"{where}: axes must be two distinct letters of x, y, z, such as 'xy', or two axes; got {axes!r}")
        chain = joints.universal(joints.angle(f"{name}_1"), joints.angle(f"{name}_2", span=(-1.2, 1.2)), axes, where)
        return self._placed(name, parent, child, at, orientation, chain)

    def spherical(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount] = (0, 0, 0), orientation: Turns = ()
    ) -> Joint:
        """A spherical joint by unit quaternion; velocities <name>_wx, _wy, _wz: angular velocity in the child's axes."""
        return self._placed(name, parent, child, at, orientation, joints.spherical(name))

    def fixed(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount] = (0, 0, 0), orientation: Turns = ()
    ) -> Joint:
        """A rigid connection."""
        return self._placed(name, parent, child, at, orientation, ((), ()))

    def _placed(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount], orientation: Turns, motion: joints.Chain
    ) -> Joint:
        chain: list[Displacement] = []
        position = vector_of(at, "m", f"position of joint {name!r}")
        if any(c != Number(0.0) for c in position):
            chain.append(Translate(position))
        chain += turns_of(orientation, f"orientation of joint {name!r}")
        return self.joint(name, parent, child, (*chain, *motion[0]), motion[1])


def _span(span: Any, unit: str, where: str) -> tuple[float, float] | None:
    return None if span is None else span_of(span, unit, f"span of {where}")


def turns_of(orientation: Turns, where: str) -> tuple[Rotate, ...]:
    """Successive constant rotations from pairs of an axis and an angle."""
    if isinstance(orientation, str | Mapping) or not isinstance(orientation, Iterable):
        raise ModelError(f"{where}: give a list of pairs such as [('y', 0.3)], each an axis and an angle; got {orientation!r}")
    for turn in orientation:
        if isinstance(turn, str) or not hasattr(turn, "__len__") or len(turn) != 2:
            raise ModelError(
                f"{where}: give a list of pairs such as [('y', 0.3)], each an axis and an angle; got {orientation!r}"
            )
    return tuple(step for axis, angle in orientation for step in about(axis, amount_in(angle, "rad", where), where))


PointLike = Point | Body | str


@with_checked_texts
class ConstraintBuilders(ItemRegistry):
    """Constraints by name. Each keeps its residuals at zero; its multipliers are available as outputs."""

    def close_point(self, name: str, a: PointLike, b: PointLike, axes: str = "xyz") -> ResidualConstraint:
        """Close a loop: two points coincide along the given `axes` of `a`; "xy" for a planar mechanism."""
        return self._add_constraint(constraints.closed_point(name, *_both(name, a, b), axes))

    def close_hinge(self, name: str, a: PointLike, b: PointLike, axis: Axis = "z") -> ResidualConstraint:
        """Close a loop by a revolute joint: two frames share their origin and one axis, "x", "y", "z" or a vector that has the
        same components in both frames."""
        return self._add_constraint(constraints.closed_hinge(name, *_both(name, a, b), axis))

    def close_slider(self, name: str, a: PointLike, b: PointLike, axis: Axis = "x") -> ResidualConstraint:
        """Close a loop by a prismatic joint: frame `b` slides along an axis of frame `a`, "x", "y", "z" or a vector, with
        parallel axes."""
        return self._add_constraint(constraints.closed_slider(name, *_both(name, a, b), axis))

    def rod(self, name: str, a: PointLike, b: PointLike, length: Amount) -> ResidualConstraint:
        """A massless rod with a ball joint at each end keeps two points at a constant distance. Its multiplier is its thrust."""
        return self._add_constraint(constraints.stretched(name, _both(name, a, b), self._length("rod", name, length)))

    def cable(self, name: str, points: Sequence[PointLike], length: Amount) -> ResidualConstraint:
        """A taut massless cable of given length runs along the points, over small frictionless pulleys.

        Its multiplier is minus the tension. The constraint holds in both directions: a run whose cable would have to push,
        because it would be slack, warns of it.
        """
        if isinstance(points, str | Mapping) or not isinstance(points, Iterable):
            raise ModelError(f"cable {name!r}: needs a list of two points or more, got {points!r}")
        along = tuple(name_of(point) for point in points)
        if len(along) < 2:
            raise ModelError(f"cable {name!r}: needs two points or more, got {len(along)}")
        repeated = next((a for a, b in pairwise(along) if a == b), None)
        if repeated is not None:
            raise ModelError(f"cable {name!r}: point {repeated!r} is listed twice in a row; remove one")
        return self._add_constraint(constraints.stretched(name, along, self._length("cable", name, length), only_pulls=True))

    def gear(
        self, name: str, first: Measured, second: Measured, ratio: Amount, phase: Amount = 0.0, unit: str | None = None
    ) -> ResidualConstraint:
        """second = ratio · first + phase. Two external gears of radii r₁, r₂ have the ratio −r₁/r₂.

        `first` and `second` are joints, coordinates or position-level quantities; `unit` is that of `second`, if its joint does
        not define it.
        """
        one, two = (self._measured(f"gear {name!r}", side) for side in (first, second))
        unit = self._unit(f"gear {name!r}", two, unit)
        factor = amount_in(ratio, "", f"ratio of gear {name!r}")
        if factor == Number(0.0):
            raise ModelError(f"gear {name!r}: its ratio is 0; to keep {two} constant use prescribe")
        return self._add_constraint(
            constraints.geared(name, one, two, factor, amount_in(phase, unit, f"phase of gear {name!r}"), unit)
        )

    def rack(self, name: str, turn: Measured, slide: Measured, radius: Amount, offset: Amount = 0.0) -> ResidualConstraint:
        """slide = radius · turn + offset: a pinion on a rack, or a drum that winds up a cable."""
        where = f"rack {name!r}"
        angle, displacement = (self._measured(where, side) for side in (turn, slide))
        size = amount_in(radius, "m", f"radius of {where}")
        if size == Number(0.0):
            raise ModelError(f"{where}: its radius is 0; give the radius of the pinion, negative for reversed motion")
        return self._add_constraint(
            constraints.racked(name, angle, displacement, size, amount_in(offset, "m", f"offset of {where}"))
        )

    def prescribe(
        self, name: str, measure: Measured, law: Amount, level: str = "position", unit: str | None = None
    ) -> ResidualConstraint:
        """Prescribe a quantity as a function of time, "0.1*sin(2*t)"; the multiplier is the generalized force required.

        With level="velocity" the measure is a velocity, or linear in velocities.
        """
        where = f"prescribed motion {name!r}"
        what = self._measured(where, measure)
        unit = self._unit(where, what, unit)
        return self._add_constraint(constraints.prescribed(name, what, amount_in(law, unit, f"law of {where}"), level, unit))

    def constrain(
        self, name: str, residual: Amount | Mapping[str, Amount], level: str = "position", unit: str = ""
    ) -> ResidualConstraint:
        """Constrain an expression, or several by name, to zero: f(q, t), or linear in velocities with level="velocity".

        `unit` is the SI unit of the residual; the multiplier has the unit of work (or power) divided by it.
        """
        given = residual if isinstance(residual, Mapping) else {name: residual}
        found = {label: amount_in(each, None, f"residual {label!r} of constraint {name!r}") for label, each in given.items()}
        return self._add_constraint(constraints.constrained(name, found, level, unit))

    # ------------------------------------------------------------ pieces

    def _add_constraint(self, constraint: ResidualConstraint) -> ResidualConstraint:
        self._add("constraints", constraint)
        return constraint

    def _length(self, kind: str, name: str, length: Amount) -> Expr:
        found = amount_in(length, "m", f"length of {kind} {name!r}")
        if "t" in names(found):
            raise ModelError(
                f"length of {kind} {name!r}: '{found}' depends on time; prescribe the distance instead, "
                f"prescribe({name!r}, 'distance(…, …)', '{found}')"
            )
        return found


def _both(name: str, a: PointLike, b: PointLike) -> tuple[str, str]:
    first, second = name_of(a), name_of(b)
    if first == second:
        raise ModelError(f"constraint {name!r}: it connects {first!r} to itself; name two different points or bodies")
    return first, second
