"""Low-side: a motorcycle loses its grip in a turn and falls to the inside.

What it shows: friction that varies along the road, tires at their limit, and a fall. The machine on tires by the Magic Formula
turns steadily at 20 m/s with a lean of 34°. On a sheet of ice its tires have a ten-thousandth of their friction. On the dry road
the front brake is pulled until the wheel locks: a tire that slides has no side force left.

What you should see: both times the machine falls to the inside of the turn. A weaker brake would have raised it. On ice there is
no horizontal force but a ten-thousandth of friction: the mass center of all bodies goes straight on with constant velocity, and
the spin of the machine about the vertical is all that is left of the turn. While the front wheel slides, its force is at the
limit of the Magic Formula for its load.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.motorcycle import FREE_INPUTS, SETTLED, motorcycle_on_magic_formula
from draisine.gallery.registry import Study, entry, live
from draisine.model.contact import roads
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import PAGE, style

SPEED, LEAN = 20.0, -0.6
ICE = 1e-4  # of the friction of the dry road
AT = 10.0  # m, where the ice begins
PEAK = 1.3  # the largest friction coefficient of the tires
BRAKE = 700.0  # N·m at the front wheel, which locks it
STILL_AIR = {"air_drag": 0.0, "air_lift": 0.0, "air_pitching": 0.0}


@live(start={"speed": SPEED, **SETTLED})
def motorcycle_on_ice() -> Model:
    """The motorcycle on tires by the Magic Formula, on a road with a sheet of ice; its momentum is an output."""
    m = motorcycle_on_magic_formula()
    m.name, m.description = "motorcycle_on_ice", "sport motorcycle on a road with a sheet of ice"
    share = m.parameter("ice_friction", ICE, "", "friction on the ice, relative to that of the dry road")
    m.ground(friction=roads.patch(AT, 200.0, share, edge=0.5))
    heavy = [body for body in m.freeze().bodies if str(body.mass) != "0"]
    for body in heavy:
        m.point(f"{body.name}_mass_center", body.name, body.center_of_mass)
    m.output("mass", " + ".join(f"({body.mass})" for body in heavy), "kg", "of all bodies")
    for axis in "xy":
        momentum = " + ".join(f"({body.mass})*velocity_{axis}({body.name}_mass_center)" for body in heavy)
        m.output(f"momentum_{axis}", momentum, "N*s", "of all bodies")
    return m


def falls(model: dr.Equations, *, ice: float, brake: float = 0.0, until: float = 3.0) -> dr.Trajectory:
    """From a steady turn in still air onto the ice, or with the front brake pulled within a fifth of a second."""
    dry = {**STILL_AIR, "ice_friction": 1.0}
    turn = dr.steady(_level(), {"speed": SPEED, "lean": LEAN}, free=FREE_INPUTS, parameters=STILL_AIR)
    start = {q.name: float(turn[q.name]) for q in (*model.coordinates, *model.velocities, *model.extra_states)}
    laws: dict[str, Any] = {name: turn[name] for name in FREE_INPUTS}
    if brake:
        laws["front_brake_torque"] = f"min({5 * brake!r}*t, {brake!r})"
    return dr.simulate(model, until, start=start, inputs=laws, parameters={**dry, "ice_friction": ice}, samples=601)


def _level() -> dr.Equations:
    return dr.derive(motorcycle_on_magic_formula(), work=False)


@entry(level="Advanced", film="ice", charts=("lean", "front_friction_used"))
def low_side() -> Study:
    """A motorcycle falls to the inside of a turn, on ice and by the front brake."""
    model = dr.derive(motorcycle_on_ice(), work=False)
    runs = {"ice": falls(model, ice=ICE), "brake": falls(model, ice=1.0, brake=BRAKE)}
    for run in runs.values():
        assert run.status.kind.name == "EVENT" and "fell_over" in str(run.status), run.status
        assert run["lean"][-1] < -1.3  # to the inside of a turn to the left
    drift, turned = straight_on(runs["ice"])
    largest = runs["brake"]["front_friction_used"]
    locked = runs["brake"]["front_spin"] < 1.0
    assert locked.any() and largest.max() < PEAK * (1 + 1e-6)
    findings = (
        f"on ice the machine lies after {runs['ice'].time[-1]:.2f} s; its mass center keeps its velocity to {drift:.1e} m/s, "
        f"while the frame turns by {turned:.0f}°",
        f"by the front brake it lies after {runs['brake'].time[-1]:.2f} s; the wheel locks after "
        f"{runs['brake'].time[np.argmax(locked)]:.2f} s, and uses a friction of at most {largest.max():.3f}",
    )
    return Study("Low-side", runs, {"falls": _drawn(runs)}, findings)


def straight_on(run: dr.Trajectory) -> tuple[float, float]:
    """How much the velocity of the mass center changes on the ice, in m/s, and how far the frame turns meanwhile, in degrees.

    The impulse of friction bounds it: PEAK·ICE·∫N dt.
    """
    on_ice = run["rear_contact_x"] > AT + 0.5
    velocity = np.stack([run[f"momentum_{axis}"][on_ice] for axis in "xy"]) / run["mass"][0]
    drift = float(np.hypot(*(velocity - velocity[:, :1])).max())
    loads = (run["front_normal_force"] + run["rear_normal_force"])[on_ice]
    impulse = float(np.trapezoid(loads, run.time[on_ice]))
    assert on_ice.sum() > 50 and drift <= PEAK * ICE * impulse / run["mass"][0] * (1 + 1e-3) + 1e-6, (drift, impulse)
    return drift, float(np.degrees(np.ptp(run["heading"][on_ice])))


def _drawn(runs: dict[str, dr.Trajectory]) -> Any:
    with style():
        drawing, (lean, used) = panels(2, 0.9 * PAGE, 0.7 * PAGE)
        for name, run in runs.items():
            lean.plot(run.time, -np.degrees(run["lean"]), label={"ice": "on ice", "brake": "by the front brake"}[name])
            used.plot(*run.curve("front_friction_used"))
        lean.set_ylabel("lean to the left [°]")
        used.set_ylabel("friction used in front [–]")
        used.set_xlabel("time [s]")
        legend_above(lean, 0.9 * PAGE)
    return drawing
