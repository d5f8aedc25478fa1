r"""Anti-squat of a rear suspension, as outputs of the model.

Driven at the rear wheel, a machine transfers load to the rear, N = S h/p, with the thrust S, the height h of the mass center and
the wheelbase p; thrust and chain pull raise the rear end meanwhile. The tight run of the chain and the line of the swing arm
intersect in a point A. With σ the angle of the line from the rear contact to A (squat line) and τ that of the load transfer line,

    tan σ = slope of the squat line,    tan τ = h/p,    squat ratio = tan τ / tan σ,    anti-squat = tan σ / tan τ

(Cossalter, Motorcycle Dynamics, 2006). The moment about the pivot that the spring has to carry is N · x (1 − tan σ/tan τ), with x
the horizontal distance of contact and pivot, where arm and wheel have no mass. With a shaft drive A is the pivot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError
from draisine.expr.expression import Call, Expr, Name, Number, asin, atan, atan2, cos, hypot, sin
from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import ZERO, plus, times

if TYPE_CHECKING:
    from draisine.parts.assembly import Mount

Plane = tuple[Expr, Expr]  # x and z in the axes of the frame


@part
def anti_squat(own: Assembly, arm: Mount, *, rear: str = "rear", front: str = "front", chain: str = "") -> None:
    """Squat angle, load transfer angle and their ratio (formulas in the module), in the position of the moment.

    `arm` is the swing arm, `rear` and `front` are the wheels, `chain` the chain; without one the drive is a shaft. Add
    it last: the mass center is that of all bodies that the model has by then.

    Roles: squat_angle, transfer_angle, ratio, anti_squat (outputs).
    """
    m = own.model
    joints = m._items["joints"].values()
    hinge = next((j for j in joints if j.child == str(arm)), None)
    if hinge is None or hinge.parent == "ground":
        raise ModelError(f"part {own.name!r}: the model has no swing arm {str(arm)!r} that a frame carries")
    body = hinge.parent
    place = next((step.by for step in hinge.chain if hasattr(step, "by")), (ZERO, ZERO, ZERO))
    m.point(own.named("pivot"), body, place)
    pivot = _seen(body, own.named("pivot"))
    hub = _seen(body, _hub(own, rear, joints))
    pitch = Call("pitch", (Name(body),))
    contact = _foot(hub, _radius(m, rear), pitch)
    ahead = _foot(_seen(body, _hub(own, front, joints)), _radius(m, front), pitch)
    crossing = pivot if not chain else _intersection(own, chain, body, pivot, hub)
    rise, run = _along(crossing, contact, pitch)
    _, base = _along(ahead, contact, pitch)
    height = _mass_height(own, body, contact, pitch)
    squat, transfer = rise / run, height / base
    m.output(own.offer("squat_angle", own.named("squat_angle")), atan(squat), "rad", "slope of the squat line")
    m.output(own.offer("transfer_angle", own.named("transfer_angle")), atan(transfer), "rad", "slope of the load transfer line")
    m.output(own.offer("ratio", own.named("ratio")), transfer / squat, "", "squat ratio: load transfer over squat line")
    m.output(own.offer("anti_squat", own.named("anti_squat")), squat / transfer, "", "1 where the rear end keeps its height")


def _seen(body: str, point: str) -> Plane:
    x, z = (Call(f"offset_{axis}", (Name(body), Name(point))) for axis in "xz")
    return x, z


def _hub(own: Assembly, wheel: str, joints: Any) -> str:
    joint = next((j for j in joints if j.child == wheel), None)
    if joint is None or wheel not in own.model._items["wheels"]:
        raise ModelError(f"part {own.name!r}: the model has no wheel {wheel!r}; give rear= and front=")
    name = own.named(f"{wheel}_hub")
    own.model.point(name, joint.child)
    return name


def _radius(model: Any, wheel: str) -> Expr:
    found = model._items["wheels"][wheel]
    return plus(found.radius, found.tube)


def _foot(hub: Plane, radius: Expr, pitch: Expr) -> Plane:
    """The contact point below a hub; up is (−sin, cos) of the pitch, which is positive nose down."""
    return hub[0] + radius * sin(pitch), hub[1] - radius * cos(pitch)


def _along(a: Plane, b: Plane, pitch: Expr) -> tuple[Expr, Expr]:
    """Height and distance ahead of a point over another one, on level ground."""
    x, z = a[0] - b[0], a[1] - b[1]
    return cos(pitch) * z - sin(pitch) * x, cos(pitch) * x + sin(pitch) * z


def _intersection(own: Assembly, chain: str, body: str, pivot: Plane, hub: Plane) -> Plane:
    """Where the upper run of the chain meets the line from pivot to hub."""
    m = own.model
    center = f"{chain}_pinion_center"
    if center not in m._items["points"] or m._items["points"][center].body != body:
        raise ModelError(f"part {own.name!r}: the model has no chain {chain!r} with its pinion on {body!r}")
    pinion = _seen(body, center)
    small, large = (Name(f"{chain}_{key}") for key in ("pinion", "sprocket"))
    x, z = hub[0] - pinion[0], hub[1] - pinion[1]
    slope = atan2(z, -x) + asin((large - small) / hypot(x, z))  # pitch of the run, nose down
    top = pinion[0] + small * sin(slope), pinion[1] + small * cos(slope)  # a point of the run
    # pivot + s (hub − pivot) on the line through top along (cos, −sin)
    arm = hub[0] - pivot[0], hub[1] - pivot[1]
    away = top[0] - pivot[0], top[1] - pivot[1]
    share = (away[0] * sin(slope) + away[1] * cos(slope)) / (arm[0] * sin(slope) + arm[1] * cos(slope))
    return pivot[0] + share * arm[0], pivot[1] + share * arm[1]


def _mass_height(own: Assembly, body: str, contact: Plane, pitch: Expr) -> Expr:
    """Height of the mass center of all bodies over a contact point."""
    m = own.model
    total: Expr = Number(0.0)
    moment: Expr = Number(0.0)
    for item in sorted(m._items["bodies"].values(), key=lambda body: body.name):  # whatever their order in a file
        if item.mass == ZERO:
            continue
        name = own.named(f"{item.name}_center")
        m.point(name, item.name, item.center_of_mass)
        height, _ = _along(_seen(body, name), contact, pitch)
        total, moment = plus(total, item.mass), plus(moment, times(item.mass, height))
    return moment / total
