r"""Drives: engines, chains and belts with the pull of their runs, shafts.

**Chain.** Pinion (radius r₁) on the frame, sprocket (r₂) on the rear wheel; the tight run is an outer common tangent of both.
With d the distance of the centers and γ the pitch (positive nose down) of the line from the sprocket's center to the pinion's in
the axes of the frame, the upper run is pitched by τ = γ + asin((r₂ − r₁)/d) and has the length ℓ = √(d² − (r₂ − r₁)²). A chain
that does not stretch keeps the length of its tight side,

    ℓ + r₁ (φ₁ − τ) − r₂ (φ₂ − τ) = constant,

with the angles of pinion and sprocket relative to the frame. The torque Q of the engine on the pinion does the work Q dφ₁, and so
the generalized force Q belongs to the measure

    φ₁ = τ + (r₂ (φ₂ − τ) − ℓ)/r₁,    φ₂ = β + α

with β the angle of the swing arm and α that of the wheel in it. The pull of the chain, its reaction on the frame and the moment
about the pivot (anti-squat) follow from this alone. The tension of the run is Q/r₁. A negative torque (engine braking) tightens
the lower run, for which asin and ℓ have the opposite signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, asin, atan2, max, min, sqrt
from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import Pose, times

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount


def _spin_of(own: Assembly, wheel: str) -> str:
    angle = f"{wheel}_angle"
    if angle not in {c.name for j in own.model._items["joints"].values() for c in j.coordinates}:
        raise ModelError(
            f"part {own.name!r}: the model has no wheel {wheel!r} with an angle {angle!r} to drive; make it as a part"
        )
    return angle


@part
def chain(
    own: Assembly,
    on: Mount,
    wheel: Mount,
    *,
    pinion: Amount = 0.04,
    sprocket: Amount = 0.1,
    torque: str = "drive_torque",
    ratio: Amount = 1.0,
    both_runs: bool = True,
) -> None:
    """A chain from a pinion at the frame `on` to a sprocket on the `wheel`, with the pull of its tight run (see the module).

    - `pinion`, `sprocket`: pitch radii. The pinion's center is the origin of the frame `on`, its axis y.
    - `torque`: the input, torque of the engine; `ratio` multiplies it (primary drive and gear).
    - `both_runs`: a negative torque pulls the lower run; without it the upper run is taken for both, which pushes then.

    Roles: torque (the input), tension (the output, of the tight run).
    """
    _belt(own, on, str(wheel), pinion, sprocket, torque, ratio, both_runs)


@part
def belt(
    own: Assembly,
    on: Mount,
    wheel: Mount,
    *,
    pinion: Amount = 0.05,
    sprocket: Amount = 0.12,
    torque: str = "drive_torque",
    ratio: Amount = 1.0,
) -> None:
    """A toothed belt from a pulley at the frame `on` to one on the `wheel`: a chain whose tight run is always the one that pulls.

    `pinion` and `sprocket` are the pitch radii of the pulleys on the frame and on the wheel. `torque` is the name of the input,
    the torque of the engine; `ratio` multiplies it.

    Roles: torque (the input), tension (the output, of the tight run).
    """
    _belt(own, on, str(wheel), pinion, sprocket, torque, ratio, True)


def _belt(
    own: Assembly, on: Mount, wheel: str, pinion: Amount, sprocket: Amount, torque: str, ratio: Amount, both_runs: bool
) -> None:
    m = own.model
    pose = own.mount(on)
    small = own.parameter("pinion", pinion, "m", "pitch radius of the pinion, on the frame")
    large = own.parameter("sprocket", sprocket, "m", "pitch radius of the sprocket, on the wheel")
    pull = own.input("torque", torque, "N*m", "torque of the engine on the pinion of the chain, positive forward")
    gear = own.parameter("ratio", ratio, "", "of the torque on the pinion to the input")
    pull = times(gear, pull)
    angle = Name(_spin_of(own, wheel))
    arm = _joint_of(own, wheel)
    total, hub = _wheel_in(own, pose, arm, angle)
    runs = [(1, max(pull, 0)), (-1, min(pull, 0))] if both_runs else [(1, pull)]
    for side, amount in runs:
        turn = pinion_angle(hub, small, large, total, side)
        m.generalized_force(turn, amount, name=own.named("upper" if side > 0 else "lower"))
    m.output(own.offer("tension", own.named("tension")), pull / small, "N", "of the tight run; negative for the lower one")


def pinion_angle(hub: tuple[Expr, Expr], small: Expr, large: Expr, angle: Expr, side: int = 1) -> Expr:
    """φ₁ as a function of the position (x, z) of the sprocket's center seen from the pinion's, in the axes of the frame, and of
    the angle of the sprocket; `side` is 1 for the upper and −1 for the lower run."""
    x, z = hub
    distance = sqrt(x**2 + z**2)
    step = large - small
    line = atan2(z, -x)  # pitch, nose down, of the line from the sprocket to the pinion
    slope = line + asin(step / distance) if side > 0 else line - asin(step / distance)
    length = sqrt(x**2 + z**2 - step**2)
    sign = -length if side > 0 else length
    return slope + (large * (angle - slope) + sign) / small


def _joint_of(own: Assembly, wheel: str) -> Any:
    return next(j for j in own.model._items["joints"].values() if j.child == wheel)


def _wheel_in(own: Assembly, pose: Pose, joint: Any, angle: Name) -> tuple[Expr, tuple[Expr, Expr]]:
    """The angle of a wheel relative to the frame of the pinion, and the position of its hub seen from the pinion."""
    total: Expr = angle
    bodies = own.model._items["joints"].values()
    carrier = joint.parent
    while carrier != pose.body:
        link = next((j for j in bodies if j.child == carrier), None)
        if link is None or link.parent == "ground" or len(link.coordinates) > 1:
            raise ModelError(
                f"part {own.name!r}: wheel {joint.child!r} is not carried by {pose.body!r} through swing arms; mount the "
                "pinion on a frame of the body that carries them"
            )
        for step in link.chain:
            if hasattr(step, "angle") and link.coordinates and link.coordinates[0].name in str(step.angle):
                if step.axis != "y":
                    raise ModelError(
                        f"part {own.name!r}: joint {link.name!r} turns about {step.axis}; a chain runs in the plane x, z"
                    )
                total = total + step.angle
        carrier = link.parent
    hub = own.named("hub")
    own.model.point(hub, joint.parent, joint.chain[0].by if hasattr(joint.chain[0], "by") else (0, 0, 0))
    pinion = own.named("pinion_center")
    own.model.point(pinion, pose.body, pose.at)
    x, z = (Call(f"offset_{axis}", (Name(pinion), Name(hub))) for axis in "xz")
    return total, (x, z)


@part
def shaft(own: Assembly, wheel: Mount, *, ratio: Amount = 1.0, torque: str = "drive_torque") -> None:
    """A shaft drive with a bevel gear in the swing arm: the torque on the wheel reacts on the arm that carries it.

    The torque on the wheel is `ratio` times the input `torque`. The shaft turns about the length of the arm, to which the arm's
    own motion has no component: the input works on the angle of the wheel in the arm.

    Roles: torque (the input).
    """
    pull = own.input("torque", torque, "N*m", "torque of the engine on the shaft, positive forward")
    gear = own.parameter("ratio", ratio, "", "of the torque on the wheel to the input")
    own.model.generalized_force(_spin_of(own, str(wheel)), times(gear, pull), name=own.named("pull"))


@part
def differential(own: Assembly, left: Mount, right: Mount, *, ratio: Amount = 1.0, torque: str = "drive_torque") -> None:
    """An open differential between two wheels: equal torques on both, whatever their speeds, and the mean of their angles.

    The wheels `left` and `right` are parts with an angle. The shaft that drives them turns by `ratio` times their mean angle; the
    input `torque`, on this shaft, is `ratio`/2 times it on each wheel, and reacts on what carries the wheels. A wheel that spins
    up takes the torque from the other. A differential between two axles is one for each axle with the same input.

    Roles: torque (the input), spin (the output, of the shaft).
    """
    m = own.model
    if str(left) == str(right):
        raise ModelError(f"part {own.name!r}: a differential is between two wheels, got {str(left)!r} twice")
    pull = own.input("torque", torque, "N*m", "torque on the shaft of the differential, positive forward")
    gear = own.parameter("ratio", ratio, "", "of the speed of the shaft to the mean of the wheels")
    both = Name(_spin_of(own, str(left))) + Name(_spin_of(own, str(right)))
    m.generalized_force(both, gear * pull / 2, name=own.named("pull"))
    spins = Name(f"{left}_spin") + Name(f"{right}_spin")
    m.output(own.offer("spin", own.named("spin")), gear * spins / 2, "rad/s", "of the shaft of the differential")


@part
def engine(
    own: Assembly,
    *,
    knots: Sequence[Any] = (),
    map: Sequence[Any] = (),
    wheel: Mount = "rear",
    ratio: Amount = 1.0,
    throttle: str = "throttle",
) -> None:
    """An engine by its map: torque as a table over speed and throttle, on the wheel through a fixed `ratio`.

    `knots` are two lists, speeds of the engine in rad/s and throttle openings; `map` the torques in N·m, one row for each speed.
    The engine turns at `ratio` times the spin of the `wheel`. The torque on the wheel is `ratio` times that of the map and
    reacts on what carries it, as with a shaft. Beyond the knots the map goes on with its slopes, as all tables of parts do: keep
    the throttle between its first and its last. `throttle` is the name of the input.

    Roles: throttle (the input), torque (the output, of the engine).
    """
    m = own.model
    if len(knots) != 2 or not len(map):
        raise ModelError(f"part {own.name!r}: give knots=(speeds, throttles) and the map of torques, one row for each speed")
    name = own.named("map")
    m.table(name, [list(axis) for axis in knots], [list(row) for row in map], "linear")
    opened = own.input("throttle", throttle, "", "opening of the throttle, from 0 to 1")
    gear = own.parameter("ratio", ratio, "", "of engine speed to wheel spin")
    angle = _spin_of(own, str(wheel))
    turning = gear * Name(f"{wheel}_spin")
    torque = Call(name, (turning, opened))
    m.generalized_force(angle, gear * torque, name=own.named("pull"))
    m.output(own.offer("torque", own.named("torque")), torque, "N*m", "of the engine, by its map")
