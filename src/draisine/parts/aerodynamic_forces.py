r"""Aerodynamic forces at a pressure center.

With v the velocity of the pressure center relative to the air in the axes of the frame, V = |v| and the density ρ:

    force along x    −½ ρ A_D V v_x      drag
    force along y    −½ ρ A_S V v_y      side force
    force along z     ½ ρ A_L V²         lift
    moment about y   −½ ρ B_P V²         pitching moment, positive nose up

The areas are products of a coefficient and a reference area (C_D A, …), B_P has a length in addition. V is regularized as
√(v² + ε²) with ε = 1e-6 m/s, so that derivatives exist at rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draisine.expr.expression import Call, Expr, Name, Number, hypot
from draisine.parts.assembly import Assembly, part
from draisine.parts.design_pose import ZERO, in_body

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount, Position

STILL = Number(1e-6)  # m/s
HALF = Number(0.5)


@part
def aerodynamics(
    own: Assembly,
    on: Mount,
    *,
    center: Position | None = None,
    drag: Amount = 0.6,
    lift: Amount = 0.0,
    side: Amount = 0.0,
    pitching: Amount = 0.0,
    density: Amount = 1.2,
    wind: bool = False,
) -> None:
    """Drag, lift, side force and pitching moment at a pressure center (formulas in the module).

    `center` in design coordinates; by default the origin of the frame `on`. `drag`, `lift` and `side` are areas in m², `pitching`
    is one times a length, in m³, positive nose up; `density` is that of the air, in kg/m³. With `wind` the inputs NAME_wind_x and
    NAME_wind_y are the velocity of the air in the axes of the world.

    Roles: center, and wind_x, wind_y with wind.
    """
    m = own.model
    pose = own.mount(on)
    at = pose.at if center is None else in_body(pose, own.position("center", center, "pressure center"))
    name = own.frame("center", pose.body, at)
    v: list[Expr] = [Call(f"body_velocity_{axis}", (Name(name),)) for axis in "xyz"]
    if wind:
        blown = [
            own.input(f"wind_{axis}", own.named(f"wind_{axis}"), "m/s", f"velocity of the air along the world's {axis}")
            for axis in "xy"
        ]
        for k, axis in enumerate("xyz"):
            share = [Call(f"cosine_{world}{axis}", (Name("ground"), Name(name))) for world in "xy"]
            v[k] = v[k] - blown[0] * share[0] - blown[1] * share[1]
    speed = hypot(*v, STILL)
    density_ = own.parameter("density", density, "kg/m^3", "of the air")
    areas = {
        "drag": (drag, "m^2", "drag coefficient times area"),
        "side": (side, "m^2", "side force coefficient times area"),
        "lift": (lift, "m^2", "lift coefficient times area"),
        "pitching": (pitching, "m^3", "pitching moment coefficient times area times length, positive nose up"),
    }
    made = {key: own.parameter(key, value, unit, text) for key, (value, unit, text) in areas.items()}

    def force(key: str, factor: Expr) -> Expr:
        return ZERO if made[key] == ZERO else HALF * density_ * made[key] * speed * factor

    m.wrench(
        name,
        force=(_less(force("drag", v[0])), _less(force("side", v[1])), force("lift", speed)),
        torque=(0, _less(force("pitching", speed)), 0),
        axes="body",
        name=own.named("force"),
    )


def _less(amount: Expr) -> Expr:
    return ZERO if amount == ZERO else -amount
