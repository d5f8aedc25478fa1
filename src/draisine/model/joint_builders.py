"""Joint builders of `Model`. A joint connects a parent's frame to a child's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from draisine.errors import ModelError
from draisine.expr.expression import Number
from draisine.model import joints
from draisine.model.axes import AXES, Axis, about
from draisine.model.items import GROUND, Body, Coordinate, Displacement, Joint, Rotate, Translate
from draisine.model.quantities import Amount, amount_in
from draisine.model.registry import ItemRegistry, name_of, number_of, span_of, vector_of, with_checked_texts

Turns = Sequence[tuple[Axis, Amount]]  # constant rotations before a joint, e.g. [("y", tilt)]


@with_checked_texts
class JointBuilders(ItemRegistry):
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
    ) -> Joint:
        """A revolute joint about an axis, "x", "y", "z" or a vector; its coordinate has the joint's name."""
        where = f"joint {name!r}"
        coordinate = joints.angle(name, rate, number_of(default, "rad", f"default of {where}"), _span(span, "rad", where))
        motion = joints.revolute(coordinate, axis, where)
        return self._placed(name, parent, child, at, orientation, motion)

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
    ) -> Joint:
        """A prismatic joint along an axis, "x", "y", "z" or a vector; its coordinate has the joint's name."""
        where = f"joint {name!r}"
        coordinate = joints.length(name, rate, number_of(default, "m", f"default of {where}"), _span(span, "m", where))
        motion = joints.prismatic(coordinate, axis, where)
        return self._placed(name, parent, child, at, orientation, motion)

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
