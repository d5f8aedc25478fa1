"""Frames of machines, what is flexible in them, and trailers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Name, tan
from draisine.parts.assembly import Assembly, pairs, part
from draisine.parts.design_pose import ZERO, difference, in_body, local, minus, plus
from draisine.parts.drawings import motorcycle_frame

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount, Position

MOTIONS = ("free", "planar", "in_plane", "none")


@part
def frame(
    own: Assembly,
    *,
    mass: Amount = 12.0,
    center_of_mass: Position = (0.45, 0.5),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.5, 1.2, 1.0),
    points: Mapping[str, Position] | Sequence[Any] = (),
    wheelbase: Amount = 0.0,
    trail: Amount = 0.0,
    steer_axis_tilt: Amount = 0.0,
    head_height: Amount = 0.7,
    head: Position | None = None,
    motion: str = "free",
    outputs: bool = True,
    shapes: Sequence[Any] = (),
) -> None:
    """The main frame of a machine: the body on which it is built. Its origin is that of all design coordinates; usually it is the
    rear contact point.

    - `mass`, `center_of_mass` (x, z), `inertia` (xx, yy, zz) or {xx, yy, zz, zx}, in design axes about the center of mass.
    - The frame "head", whose z axis is the steering axis: by `wheelbase`, `trail` and `steer_axis_tilt` (from the vertical), at
      `head_height`; or by `head`, a point (x, z) of the axis.
    - `points`: further frames on which parts are mounted, {"axle": (0, 0.3), "pivot": (0.55, 0.4), "saddle": (0.4, 0.9)}.
    - `motion`: "free" in space, "planar" on the ground seen from above, "in_plane" (x, z and pitch), or "none": other joints
      carry it.
    - `outputs`: speed, lean, heading, pitch, yaw_rate, roll_rate and curvature of the path, as far as the motion has them;
      at rest the curvature is not defined, NaN.
    - `shapes`: for drawings.

    Roles: body, head, and those of `points`.
    """
    m = own.model
    body = own.offer("body", own.name)
    tilt = own.parameter("tilt", steer_axis_tilt, "rad", "steering axis from the vertical, 90° minus the head angle")
    turned = [("y", -tilt)] if tilt != ZERO else []
    at: dict[str, Any] = {}
    base = ZERO if head is not None else own.parameter("wheelbase", wheelbase, "m", "distance of the contacts, as designed")
    if head is not None:
        at["head"] = own.position("head", head, "a point of the steering axis")
    elif base != ZERO:
        behind = own.parameter("trail", trail, "m", "front contact behind the intersection of steering axis and ground")
        high = own.parameter("head_height", head_height, "m", "height of the frame 'head' on the steering axis")
        ahead = plus(base, behind)
        at["head"] = (ahead if tilt == ZERO else ahead - high * tan(tilt), ZERO, high)
    for role, given in pairs(points, f"points of part {own.name!r}"):
        if role in (*at, "body"):
            made = "the body" if role == "body" else "the frame of the steering axis"
            raise ModelError(f"points of part {own.name!r}: {role!r} is the name of {made}; give the point another one")
        at[role] = own.position(role, given)
    if not shapes and {"head", "pivot"} <= at.keys():
        shapes = motorcycle_frame(at["head"], at["pivot"])
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "mass of the frame with what is fixed to it"),
        center_of_mass=own.position("center", center_of_mass, "center of mass"),
        inertia=own.inertia(inertia),
        shapes=shapes,
    )
    for role, place in at.items():
        own.frame(role, body, place, turned if role == "head" else ())
    _move(own, body, motion)
    if outputs:
        _outputs(own, body, motion)


def _move(own: Assembly, body: str, motion: str) -> None:
    """The joint of the frame to the ground."""
    if motion not in MOTIONS:
        raise ModelError(f"part {own.name!r}: motion must be one of {', '.join(map(repr, MOTIONS))}, got {motion!r}")
    if motion == "free":
        own.model.free(body)
    elif motion == "planar":
        own.model.planar(body)
    elif motion == "in_plane":
        # three joints of one freedom, with massless bodies between them
        for axis, parent, child in (("x", "ground", own.named("along")), ("z", own.named("along"), own.named("up"))):
            own.model.body(child, mass=0.0)
            own.model.prismatic(own.named(axis), parent, child, axis=axis, rate=own.named(f"v{axis}"))
        own.model.revolute(own.named("pitch"), own.named("up"), body, axis="y", rate=own.named("wy"))


def _outputs(own: Assembly, body: str, motion: str) -> None:
    """Quantities by which motions of a machine are described."""
    m = own.model
    if motion == "none":
        return
    m.output("speed", f"body_velocity_x({body})", "m/s", "forward velocity of the origin of the frame")
    if motion in ("free", "planar"):
        m.output("yaw_rate", f"rate(heading({body}))", "rad/s", "rate of the heading, positive to the left")
        m.output("heading", f"heading({body})", "rad", "positive to the left")
        m.output(
            "curvature",
            f"rate(heading({body}))/body_velocity_x({body})",
            "1/m",
            "of the path, positive to the left; not defined at rest",
        )
        m.output("drift", f"body_velocity_y({body})", "m/s", "velocity of the origin of the frame to the left")
    if motion == "free":
        m.output("lean", f"lean({body})", "rad", "positive to the right")
        m.output("pitch", f"pitch({body})", "rad", "positive nose down")
        m.output("roll_rate", f"rate_x({body})", "rad/s", "about the forward axis of the frame")
        m.event("fell_over", f"abs(lean({body})) - 80*pi/180", description="lean passed 80°")


@part
def flexure(
    own: Assembly,
    on: Mount,
    *,
    axis: str = "x",
    stiffness: Amount = 35e3,
    damping: Amount = 20.0,
    at: Position | None = None,
    mass: Amount = 0.0,
    inertia: Mapping[str, Amount] | Sequence[Amount] = (0.0, 0.0, 0.0),
) -> None:
    """Flexibility of a frame or a fork: a hinge with a rotational spring and damper, between what it is mounted on and what is
    mounted on it.

    `axis` is an axis of the frame it is mounted on: "x" twists a frame about a line across the steering axis and bends a fork
    sideways, "z" twists a fork about the steering axis. `at`: where the hinge is, in design coordinates; by default at the frame
    it is mounted on. `stiffness` is in N·m/rad, `damping` in N·m·s/rad; `mass` and `inertia` are those of a body between both
    sides, zero by default. The frame on the other side has the pose of that frame, so that the part can be inserted in a machine.

    Roles: body, end (the frame on the other side), angle (the coordinate).
    """
    pose = own.mount(on)
    m = own.model
    body = own.offer("body", own.name)
    hinge = pose.position if at is None else own.position("at", at, "hinge of the flexibility")
    m.body(body, mass=own.parameter("mass", mass, "kg", "of what is between"), inertia=own.inertia(inertia, pose.pitch))
    angle = own.offer("angle", own.named("angle"))
    place: dict[str, Any] = {"at": pose.at if at is None else in_body(pose, hinge), "orientation": list(pose.orientation)}
    m.revolute(angle, pose.body, body, axis=axis, span=(-0.1, 0.1), **place)
    own.frame("end", body, tuple(minus(c) for c in local(pose, hinge)))
    elastic = own.parameter("stiffness", stiffness, "N*m/rad", "of the flexibility")
    m.spring(angle, elastic, 0.0, own.parameter("damping", damping, "N*m*s/rad", "of the flexibility"), own.named("spring"))


@part
def trailer(
    own: Assembly,
    on: Mount,
    *,
    mass: Amount = 600.0,
    center_of_mass: Position = (-4.0, 0.6),
    inertia: Mapping[str, Amount] | Sequence[Amount] = (300.0, 900.0, 1000.0),
    points: Mapping[str, Position] | Sequence[Any] = (),
    joint: str = "spherical",
    damping: Amount = 0.0,
    shapes: Sequence[Any] = (),
) -> None:
    """A trailer, hitched to a frame of the machine that pulls it.

    Positions are design coordinates of the machine that pulls it, negative behind its origin.

    - `on`: the frame with the hitch.
    - `mass`, `center_of_mass`, `inertia`: of the trailer, without wheels.
    - `points`: the frames of wheels, {"left_axle": (-4.1, 0.8, 0.3)}.
    - `joint`: "spherical", "universal" (angles NAME_yaw and NAME_pitch, no roll), or "yaw" (NAME_yaw alone); `damping` is that of
      the yaw angle.
    - `shapes`: for drawings.

    Roles: body, yaw, and those of `points`.
    """
    pose = own.mount(on)
    m = own.model
    body = own.offer("body", own.name)
    m.body(
        body,
        mass=own.parameter("mass", mass, "kg", "mass of the trailer without wheels"),
        center_of_mass=difference(own.position("center", center_of_mass, "center of mass"), pose.position),
        inertia=own.inertia(inertia),
        shapes=shapes,
    )
    place: dict[str, Any] = {"at": pose.at, "orientation": pose.upright}
    if joint == "spherical":
        if damping != 0:
            raise ModelError(f"part {own.name!r}: a spherical hitch has no yaw angle to damp; take joint='universal' or 'yaw'")
        m.spherical(own.named("hitch"), pose.body, body, **place)
    elif joint in ("universal", "yaw"):
        yaw = own.offer("yaw", own.named("yaw"))
        carrier = body if joint == "yaw" else m.body(own.named("drawbar"), mass=0.0).name
        m.revolute(yaw, pose.body, carrier, axis="z", span=(-0.6, 0.6), **place)
        if joint == "universal":
            m.revolute(own.named("pitch"), carrier, body, axis="y", span=(-0.3, 0.3))
        rubbed = own.parameter("damping", damping, "N*m*s/rad", "against the yaw angle of the hitch")
        if rubbed != ZERO:
            m.generalized_force(yaw, -rubbed * Name(f"{yaw}_rate"), name=own.named("damper"))
    else:
        raise ModelError(f"part {own.name!r}: joint must be 'spherical', 'universal' or 'yaw', got {joint!r}")
    for role, given in pairs(points, f"points of part {own.name!r}"):
        own.frame(role, body, difference(own.position(role, given), pose.position))
