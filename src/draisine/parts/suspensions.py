"""Suspensions: swing arms, struts of cars, and springs between two points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from draisine.expr.expression import Call, Name
from draisine.parts.assembly import Assembly, pairs, part
from draisine.parts.design_pose import in_body, local, times
from draisine.parts.drawings import post, swinging
from draisine.parts.springs import HALF, Curve, bump_stops, spring_and_damper

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount, Position


@part
def shock(
    own: Assembly,
    on: Mount,
    to: Mount,
    *,
    stiffness: Amount = 0.0,
    spring: Curve | None = None,
    preload: Amount = 0.0,
    length: Amount = 0.3,
    damping: Amount = 0.0,
    damper: Curve | None = None,
    travel: Sequence[Amount | None] | None = None,
) -> None:
    """A spring and damper between two frames, `on` and `to`: along the line between their origins.

    The output NAME_compression is `length`, that of the design position, less the distance.

    - `stiffness`, `preload`: of the spring, with its force in the design position; or a table `spring` of (compression, force).
    - `damping`: of the damper; or a table `damper` of (rate of compression, force).
    - `travel`: bump stops (low, high) of the compression: with them the model has contacts that open and close.

    Roles: compression.
    """
    for end in (on, to):
        own.mount(end)
    rest = own.parameter("length", length, "m", "distance of its ends in the design position")
    compression = rest - Call("distance", (Name(str(on)), Name(str(to))))
    spring_and_damper(own, compression, stiffness, spring, preload, damping, damper)
    own.model.output(own.offer("compression", own.named("compression")), compression, "m", "shorter than in the design position")
    bump_stops(own, compression, travel, "m")


@part
def swing_arm(
    own: Assembly,
    on: Mount,
    *,
    axle: Position = (0.0, 0.3),
    mass: Amount = 8.0,
    center_of_mass: Position | None = None,
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.1, 0.25, 0.3),
    stiffness: Amount = 0.0,
    spring: Curve | None = None,
    preload: Amount = 0.0,
    damping: Amount = 0.0,
    damper: Curve | None = None,
    travel: Sequence[Amount | None] | None = None,
    points: Mapping[str, Position] | Sequence[Any] = (),
    shapes: Sequence[Any] = (),
) -> None:
    """A swing arm, which turns about the y axis of the frame it is mounted on ("pivot") and carries the rear axle.

    The coordinate NAME_angle is positive where an axle behind the pivot rises, and zero in the design position. Springs and
    dampers are rotational, in N·m and rad; for a strut between two points give `points` and a `shock`. Positions and inertia are
    in design coordinates and axes.

    - `on`: the frame of the pivot; `axle`: where the rear axle is.
    - `mass`, `center_of_mass` (by default between pivot and axle), `inertia`: of the arm, without the wheel.
    - `stiffness`, `preload`: of the spring, with its torque in the design position; or a table `spring` of (angle, torque).
    - `damping`: of the damper; or a table `damper` of (rate of the angle, torque).
    - `travel`: bump stops (low, high) of the angle: with them the model has contacts that open and close.
    - `points`: further frames on the arm, {"lower": (0.3, 0.35)}.
    - `shapes`: for drawings.

    Roles: body, axle, angle, and those of `points`.
    """
    pose = own.mount(on)
    m = own.model
    body = own.offer("body", own.name)
    hub = local(pose, own.position("axle", axle, "rear axle, in the design position"))
    center = tuple(times(HALF, c) for c in hub)
    if center_of_mass is not None:
        center = local(pose, own.position("center", center_of_mass, "center of mass"))
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "mass of the swing arm, without the wheel"),
        center_of_mass=center,
        inertia=own.inertia(inertia, pose.pitch),
        shapes=shapes or swinging(hub),
    )
    angle = own.offer("angle", own.named("angle"))
    m.revolute(angle, pose.body, body, axis="y", span=(-0.3, 0.3), **pose.placed)
    own.frame("axle", body, hub)
    for role, given in pairs(points, f"points of part {own.name!r}"):
        own.frame(role, body, local(pose, own.position(role, given)))
    spring_and_damper(own, angle, stiffness, spring, preload, damping, damper, angular=True)
    bump_stops(own, angle, travel)


@part
def strut(
    own: Assembly,
    on: Mount,
    *,
    axle: Position = (0.0, 0.0, 0.3),
    mass: Amount = 20.0,
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.3, 0.3, 0.3),
    stiffness: Amount | None = None,
    spring: Curve | None = None,
    preload: Amount = 0.0,
    damping: Amount | None = None,
    damper: Curve | None = None,
    travel: Sequence[Amount | None] | None = None,
    shapes: Sequence[Any] = (),
) -> None:
    """A wheel carrier that slides up and down: the suspension of a corner of a car, or of a side wheel.

    The coordinate NAME_travel is the compression, zero in the design position.

    - `on`: the frame of the body that is carried; `axle`: where the axle is, in design coordinates.
    - `mass`, `inertia`: of the carrier at the axle, without the wheel.
    - `stiffness`, `preload`: of the spring, 25 kN/m by default, with its force in the design position; or a table `spring`
      of (compression, force).
    - `damping`: of the damper, 1500 N·s/m by default; or a table `damper` of (rate of compression, force).
    - `travel`: bump stops (low, high) of the compression: with them the model has contacts that open and close.
    - `shapes`: for drawings.

    Roles: body, axle, travel.
    """
    pose = own.mount(on)
    m = own.model
    body = own.offer("body", own.name)
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "mass of what moves with the wheel, without it"),
        inertia=own.inertia(inertia),
        shapes=shapes or post(),
    )
    at = in_body(pose, own.position("axle", axle, "axle, in the design position"))
    slide = own.offer("travel", own.named("travel"))
    m.prismatic(slide, pose.body, body, axis="z", at=at, orientation=pose.upright, span=(-0.1, 0.1))
    own.frame("axle", body, (0, 0, 0))
    stiffness = (25e3 if spring is None else 0.0) if stiffness is None else stiffness
    damping = (1500.0 if damper is None else 0.0) if damping is None else damping
    spring_and_damper(own, slide, stiffness, spring, preload, damping, damper)
    bump_stops(own, slide, travel)
