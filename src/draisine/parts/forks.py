"""Front assemblies: forks that turn about the steering axis, and what acts on the steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import ZERO, Pose, Vector, difference, local, times
from draisine.parts.drawings import fork_legs, girder, swinging
from draisine.parts.springs import HALF, Curve, bump_stops, spring_and_damper

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount, Position


def _steered(
    own: Assembly,
    on: Mount,
    mass: Amount,
    center_of_mass: Position,
    inertia: Mapping[str, Amount] | Sequence[Amount],
    steer: str,
    torque: str,
    shapes: Sequence[Any],
) -> Pose:
    """The body that turns about the steering axis, z of the frame `on`, with its torque; its pose."""
    m, pose = own.model, own.mount(on)
    body = own.offer("body", own.name)
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "mass of what is steered, without the wheel and what slides or swings"),
        center_of_mass=local(pose, own.position("center", center_of_mass, "center of mass")),
        inertia=own.inertia(inertia, pose.pitch),
        shapes=shapes,
    )
    if not steer:
        m.fixed(own.named("clamp"), pose.body, body, **pose.placed)
        return Pose(body, (ZERO, ZERO, ZERO), (), pose.position, pose.pitch)
    m.revolute(own.offer("steer", steer), pose.body, body, axis="z", span=(-0.6, 0.6), **pose.placed)
    if torque:
        m.generalized_force(
            steer, own.input("torque", torque, "N*m", "torque of the frame (or rider) on the fork, positive to the left")
        )
    return Pose(body, (ZERO, ZERO, ZERO), (), pose.position, pose.pitch)


@part
def rigid_fork(
    own: Assembly,
    on: Mount,
    *,
    axle: Position = (1.02, 0.35),
    mass: Amount = 4.0,
    center_of_mass: Position = (0.9, 0.7),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.06, 0.06, 0.01),
    steer: str = "steer",
    torque: str = "steer_torque",
    shapes: Sequence[Any] = (),
) -> None:
    """A rigid fork with handlebar, which turns about the z axis of the frame it is mounted on.

    Positions and inertia are in design coordinates and axes.

    - `on`: the frame whose z axis is the steering axis ("head"); `axle`: where the front axle is.
    - `mass`, `center_of_mass`, `inertia`: of what is steered, without the wheel.
    - `steer`: the name of the steer angle, positive to the left; `torque`: that of the input. Without a name there is no input,
      or no steering: the fork is clamped.
    - `shapes`: for drawings.

    Roles: body, axle, steer, torque.
    """
    pose = _steered(own, on, mass, center_of_mass, inertia, steer, torque, shapes)
    own.frame("axle", own.name, local(pose, own.position("axle", axle, "front axle")))


@part
def telescopic_fork(
    own: Assembly,
    on: Mount,
    *,
    axle: Position = (1.4, 0.3),
    mass: Amount = 12.0,
    center_of_mass: Position = (1.2, 0.75),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.6, 0.5, 0.3),
    lower_mass: Amount = 8.0,
    lower_center_of_mass: Position | None = None,
    lower_inertia: Mapping[str, Amount] | Sequence[Amount] = (0.15, 0.15, 0.08),
    stiffness: Amount = 0.0,
    spring: Curve | None = None,
    preload: Amount = 0.0,
    damping: Amount = 0.0,
    damper: Curve | None = None,
    travel: Sequence[Amount | None] | None = None,
    steer: str = "steer",
    torque: str = "steer_torque",
    shapes: Sequence[Any] = (),
    lower_shapes: Sequence[Any] = (),
) -> None:
    """A telescopic fork: its lower part, which carries the axle, slides along the steering axis.

    The coordinate NAME_travel is the compression, zero in the design position. Positions and inertia are in design coordinates
    and axes.

    - `on`: the frame whose z axis is the steering axis ("head"); `axle`: where the front axle is.
    - `mass`, `center_of_mass`, `inertia`: of what is steered, without the lower part and the wheel.
    - `lower_mass`, `lower_center_of_mass` (by default at the axle), `lower_inertia`: of the lower part, without the wheel.
    - `stiffness`, `preload`: of the spring, with its force in the design position; or a table `spring` of (compression, force).
    - `damping`: of the damper; or a table `damper` of (rate of compression, force).
    - `travel`: bump stops (low, high) of the compression: with them the model has contacts that open and close.
    - `steer`: the name of the steer angle, positive to the left; `torque`: that of the input. Without a name there is no input,
      or no steering: the fork is clamped.
    - `shapes`, `lower_shapes`: for drawings, of both parts.

    Roles: body (upper part), lower, axle, steer, torque, travel.
    """
    m = own.model
    at = local(own.mount(on), own.position("axle", axle, "front axle, in the design position"))
    legs = fork_legs(at)
    pose = _steered(own, on, mass, center_of_mass, inertia, steer, torque, shapes or legs[0])
    lower = own.offer("lower", own.named("lower"))
    middle: Vector = (ZERO, ZERO, ZERO)
    if lower_center_of_mass is not None:
        center = local(pose, own.position("lower_center", lower_center_of_mass, "center of mass of the lower part"))
        middle = difference(center, at)
    m.body(
        lower,
        mass=own.parameter("lower_mass", lower_mass, "kg", "mass of what slides, without the wheel"),
        center_of_mass=middle,
        inertia=own.inertia(lower_inertia, pose.pitch, "lower"),
        shapes=lower_shapes or legs[1],
    )
    slide = own.offer("travel", own.named("travel"))
    m.prismatic(slide, own.name, lower, axis="z", at=at, span=(-0.1, 0.1))
    own.frame("axle", lower, (0, 0, 0))
    spring_and_damper(own, slide, stiffness, spring, preload, damping, damper)
    bump_stops(own, slide, travel)


@part
def leading_link_fork(
    own: Assembly,
    on: Mount,
    *,
    axle: Position = (1.4, 0.3),
    pivot: Position = (1.25, 0.33),
    leading: bool = True,
    mass: Amount = 14.0,
    center_of_mass: Position = (1.2, 0.7),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.7, 0.6, 0.3),
    link_mass: Amount = 4.0,
    link_center_of_mass: Position | None = None,
    link_inertia: Mapping[str, Amount] | Sequence[Amount] = (0.03, 0.06, 0.06),
    stiffness: Amount = 0.0,
    spring: Curve | None = None,
    preload: Amount = 0.0,
    damping: Amount = 0.0,
    damper: Curve | None = None,
    travel: Sequence[Amount | None] | None = None,
    steer: str = "steer",
    torque: str = "steer_torque",
    shapes: Sequence[Any] = (),
    link_shapes: Sequence[Any] = (),
) -> None:
    """A fork with a leading link: the axle swings about the `pivot` behind it; not `leading`, about one ahead of it.

    The coordinate NAME_travel is the angle of the link, positive where the axle rises. Springs and dampers are rotational.
    Positions and inertia are in design coordinates and axes.

    - `on`: the frame whose z axis is the steering axis ("head"); `axle`: where the front axle is.
    - `mass`, `center_of_mass`, `inertia`: of what is steered, without the link and the wheel.
    - `link_mass`, `link_center_of_mass` (by default in its middle), `link_inertia`: of the link, without the wheel.
    - `stiffness`: in N·m/rad, with the torque `preload` in the design position; or a table `spring` of (angle, torque).
    - `damping`: in N·m·s/rad; or a table `damper` of (rate of the angle, torque).
    - `travel`: bump stops (low, high) of the angle: with them the model has contacts that open and close.
    - `steer`: the name of the steer angle, positive to the left; `torque`: that of the input. Without a name there is no input,
      or no steering: the fork is clamped.
    - `shapes`, `link_shapes`: for drawings, of the steered part and of the link.

    Roles: body (steered part), link, axle, steer, torque, travel.
    """
    m = own.model
    hinge = local(own.mount(on), own.position("pivot", pivot, "pivot of the link"))
    pose = _steered(own, on, mass, center_of_mass, inertia, steer, torque, shapes or girder(hinge))
    hub = local(pose, own.position("axle", axle, "front axle, in the design position"))
    reach = difference(hub, hinge)
    link = own.offer("link", own.named("link"))
    center = tuple(times(HALF, c) for c in reach)
    if link_center_of_mass is not None:
        given = local(pose, own.position("link_center", link_center_of_mass, "center of mass of the link"))
        center = difference(given, hinge)
    m.body(
        link,
        mass=own.parameter("link_mass", link_mass, "kg", "mass of the link, without the wheel"),
        center_of_mass=center,
        inertia=own.inertia(link_inertia, pose.pitch, "link"),
        shapes=link_shapes or swinging(reach),
    )
    swing = own.offer("travel", own.named("travel"))
    m.revolute(swing, own.name, link, axis="-y" if leading else "y", at=hinge, span=(-0.3, 0.3))
    own.frame("axle", link, reach)
    spring_and_damper(own, swing, stiffness, spring, preload, damping, damper, angular=True)
    bump_stops(own, swing, travel)


@part
def steering_damper(own: Assembly, steer: str = "steer", *, damping: Amount | None = None, damper: Curve | None = None) -> None:
    """A damper against the rate of the angle `steer`: `damping` (7 N·m·s/rad) times it, or a table `damper` of (rate, torque)."""
    damping = (7.0 if damper is None else 0.0) if damping is None else damping
    spring_and_damper(own, steer, 0.0, None, 0.0, damping, damper, angular=True)
