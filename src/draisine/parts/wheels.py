"""Wheels with tires, and brakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Name, hypot
from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import times
from draisine.parts.springs import Curve, curve

if TYPE_CHECKING:
    from draisine.model.contact.laws import TangentialLaw
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount


@part
def wheel(
    own: Assembly,
    on: Mount,
    *,
    radius: Amount = 0.3,
    tube: Amount = 0.0,
    mass: Amount = 2.0,
    inertia: Sequence[Amount] = (0.06, 0.12),
    tire: TangentialLaw | None = None,
    friction: Amount | Sequence[Amount] | None = None,
    torque: str = "",
    shapes: Sequence[Any] = (),
) -> None:
    """A wheel that turns about the y axis of the frame it is mounted on and touches the ground.

    - `radius`: of the disk or, with `tube`, of the center line of the tire: the hub is `radius + tube` above the ground.
    - `mass`, `inertia`: of the wheel; two moments, about a diameter and about the axle.
    - `tire`: a contact law, such as `dr.contact.LinearTire(…)`; without it the wheel rolls without slip. `friction` is that of a
      wheel that rolls, slips and leaves the ground.
    - `torque`: the name of an input, a torque of the carrier on the wheel, positive forward. Wheels may share it: each has all of
      it then (half of it each: `differential`).
    - `shapes`: for drawings.

    Roles: body, contact, angle, spin (the rate of the angle), and torque if there is one.
    """
    pose = own.mount(on)
    m = own.model
    body = own.offer("body", own.name)
    if isinstance(inertia, str) or not hasattr(inertia, "__len__") or len(inertia) != 2:
        raise ModelError(f"inertia of part {own.name!r}: give two moments, about a diameter and about the axle; got {inertia!r}")
    across = own.parameter("ixx", inertia[0], "kg*m^2", "about a diameter")
    axial = own.parameter("iyy", inertia[1], "kg*m^2", "about the axle")
    m.body(body, mass=own.parameter("mass", mass, "kg", "of the wheel"), inertia=(across, axial, across), shapes=shapes)
    angle, spin = own.offer("angle", own.named("angle")), own.offer("spin", own.named("spin"))
    m.revolute(angle, pose.body, body, axis="y", at=pose.at, rate=spin)
    rolling: dict[str, Any] = {} if tire is None else {"contact": tire}
    m.wheel(
        own.offer("contact", own.name),
        body,
        own.parameter("radius", radius, "m", "of the disk, or of the center line of the tire"),
        own.parameter("tube", tube, "m", "radius of the cross section of the tire"),
        friction=friction,
        **rolling,
    )
    if torque:
        m.generalized_force(angle, own.input("torque", torque, "N*m", f"on the wheel {own.name}, positive forward"))


@part
def brake(
    own: Assembly,
    wheel: Mount,
    *,
    gain: Amount = 1.0,
    map: Curve | None = None,
    lock_spin: Amount = 0.5,
    law: str = "smooth",
    input: str = "",
) -> None:
    """A brake of a wheel: a torque against its spin, up to what the brake is applied with.

    The input NAME_torque (or `input`, which brakes may share) times `gain` is the torque while the wheel turns; with a `map`, a
    table of (input, torque), the input is the pressure or the lever. A wheel that stands still is held:

    - `law="smooth"`: torque · spin/√(spin² + lock_spin²), so that a locked wheel creeps below `lock_spin`; for all analyses.
    - `law="dry"`: Coulomb's law; the wheel locks exactly and is released when the torque needed exceeds that of the brake. The
      model then has modes, as one with stops.

    Roles: torque (the input), and with the smooth law applied (the output, torque of the brake on the wheel).
    """
    m = own.model
    wheel = str(wheel)
    spin, angle = f"{wheel}_spin", f"{wheel}_angle"
    if angle not in {c.name for j in m._items["joints"].values() for c in j.coordinates}:
        raise ModelError(
            f"part {own.name!r}: the model has no wheel {wheel!r} with an angle {angle!r} to brake; make it as a part"
        )
    name = input or own.named("torque")
    given = ("N*m", "brake torque") if map is None else ("", "pressure or lever of the brake")
    applied: Expr = own.input("torque", name, *given)
    if map is not None:
        applied = curve(own, "map", map)(applied)
    factor = own.parameter("gain", gain, "", "of the brake torque, per input")
    applied = times(factor, applied)
    if law == "dry":
        m.friction(own.named("disc"), angle, applied)
        return
    if law != "smooth":
        raise ModelError(f"part {own.name!r}: law must be 'smooth' or 'dry', got {law!r}")
    small = own.parameter("lock_spin", lock_spin, "rad/s", "spin below which the wheel counts as locked")
    torque = -applied * Name(spin) / hypot(Name(spin), small)
    m.generalized_force(angle, torque, name=own.named("disc"))
    m.output(own.offer("applied", own.named("applied")), torque, "N*m", "torque of the brake on the wheel")
