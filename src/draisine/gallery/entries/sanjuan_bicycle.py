"""The bicycle of Sanjuan Szklarz & Jarzębowska, exactly by their (42)–(47): a graph whose arrows are displacements [T, B].

    ground → frame         T_g = (x, y, z)                              B_g = Ω_x(τ_x) Ω_y(τ_y) Ω_z(τ_z)
    frame  → front wheel   T_l = (−d − l₁ sin α₁, −l₁ cos α₁, 0)        B_l = Ω_z(α₁) Ω_y(β) Ω_z(−α₁) Ω_z(φ₁)
    frame  → rear wheel    T_r = (d + l₂ sin α₂, −l₂ cos α₂, 0)         B_r = Ω_z(φ₂)

What it shows: the description of the source is the whole input; constraints, energies and equations follow from it by two
derivations, reduced Newton–Euler and energies with Christoffel symbols. The coordinates are the source's nine.

What you should see: disturbed at 5.5 m/s, the bicycle steers into its fall, oscillates a few times and returns to upright. With
the sign of α₁ reversed the steering diverges and it falls, the sooner the faster it goes.

How the print is read. Ω_y(a) turns by −a about y, as printed. Wheels spin about z, so u_z stands for u_y in (2). Upright is
τ_x = 90°: then the frame's y axis points up, z is the axle and points to the left, and the bicycle rides towards −x, steered
wheel first; its heading is −τ_y, and ±90° of it is singular. Steering turns the wheel about the axis (−sin α₁, cos α₁, 0)
through its own hub; there is no fork body. For α₁ > 0 that axis leans *forward* as it rises, across the leg l₁ that (43) hangs
the hub on, and meets the ground behind the contact: a trail of −r tan α₁. α₁ < 0 gives the positive trail of real
bicycles, and that is taken here.

The source gives no numbers. Those here are a bicycle with a rigid rider: 70 kg with the center of mass and the principal axes
at the frame's origin, as (16) and (17) ask, 0.92 m above the ground and 0.43 of the wheelbase ahead of the rear hub; wheels
of 3 kg; trail 0.114 m, steer axis 18° from the vertical. Self-stable between about 4.1 and 7.5 m/s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.dynamics.lagrangian.energies import derive_by_energies
from draisine.expr.expression import Name, Number, cos, sin
from draisine.gallery.registry import Study, entry, live
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, normal_force_figure

STEER_AXIS, REAR_LEG, FRONT_LENGTH = math.radians(-18), math.radians(-30), 0.6
REAR_LENGTH = FRONT_LENGTH * math.cos(STEER_AXIS) / math.cos(REAR_LEG)  # both hubs are level at τ_z = 0
RADIUS = 0.35


@live(start={"speed": 5.0})
def sanjuan_bicycle() -> Model:
    """Bicycle of Sanjuan Szklarz & Jarzębowska by its graph (42)–(47): nine coordinates, no fork body.

    Inputs: `steer_torque` (frame on front wheel, positive to the left), `pedal_torque` (frame on rear wheel, positive forward).
    """
    m = Model("sanjuan_bicycle", "bicycle of Sanjuan Szklarz & Jarzębowska, equations (42)–(47)")
    alpha_1 = m.parameter("alpha_1", STEER_AXIS, "rad", "of the steer axis; positive leans it forward: negative trail")
    alpha_2 = m.parameter("alpha_2", REAR_LEG, "rad", "of the leg that holds the rear hub")
    d = m.parameter("d", 0.75, "m", "half the distance of the legs' upper ends")
    l_1 = m.parameter("l_1", FRONT_LENGTH, "m", "front leg")
    l_2 = m.parameter("l_2", REAR_LENGTH, "m", "rear leg")
    r = m.parameter("r", RADIUS, "m", "both wheels")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))

    frame = m.body(
        "frame",
        mass=m.parameter("m_frame", 70.0, "kg", "with a rigid rider"),
        inertia=tuple(
            m.parameter(f"i{axis}_frame", value, "kg*m^2", description)
            for axis, value, description in (("xx", 8.0, "roll"), ("yy", 2.5, "yaw"), ("zz", 9.0, "pitch"))
        ),
    )
    m_wheel = m.parameter("m_wheel", 3.0, "kg", "each")
    across, along = m.parameter("ixx_wheel", 0.14, "kg*m^2", "about a diameter"), m.parameter("izz_wheel", 0.28, "kg*m^2")
    front, rear = (m.body(name, mass=m_wheel, inertia=(across, across, along)) for name in ("front_wheel", "rear_wheel"))

    height = RADIUS + FRONT_LENGTH * math.cos(STEER_AXIS)
    m.joint(
        "global",  # (42) and (45)
        "ground",
        frame,
        (
            Translate((Name("x"), Name("y"), Name("z"))),
            Rotate("x", Name("tau_x")),
            *_about_y("tau_y"),
            Rotate("z", Name("tau_z")),
        ),
        (
            *(_coordinate(name, "m", at) for name, at in (("x", 0.0), ("y", 0.0), ("z", height))),
            *(_coordinate(name, "rad", at) for name, at in (("tau_x", math.pi / 2), ("tau_y", 0.0), ("tau_z", 0.0))),
        ),
    )
    m.joint(
        "left",  # (43) and (46)
        frame,
        front,
        (
            Translate((-d - l_1 * sin(alpha_1), -l_1 * cos(alpha_1), Number(0.0))),
            *(Rotate("z", alpha_1), *_about_y("beta"), Rotate("z", -alpha_1)),
            Rotate("z", Name("phi_1")),
        ),
        (_coordinate("beta", "rad"), _coordinate("phi_1", "rad", span=math.pi)),
    )
    m.joint(
        "right",  # (44) and (47)
        frame,
        rear,
        (Translate((d + l_2 * sin(alpha_2), -l_2 * cos(alpha_2), Number(0.0))), Rotate("z", Name("phi_2"))),
        (_coordinate("phi_2", "rad", span=math.pi),),
    )
    for wheel in (front, rear):
        m.wheel(wheel.name, wheel, radius=r, axis="z")  # (2) with u_z for u_y

    m.generalized_force(
        "-beta", m.input("steer_torque", "N*m", "of the frame on the front wheel about the steer axis, positive to the left")
    )
    m.generalized_force("phi_2", m.input("pedal_torque", "N*m", "of the frame on the rear wheel, positive forward"))
    m.frame("rider", frame, orientation=[("y", math.pi), ("x", -math.pi / 2)])  # x forward, y left, z up
    m.output("speed", "body_velocity_x(rider)", "m/s", "forward velocity of the frame's origin")
    m.output("lean", "lean(rider)", "rad", "of the frame, positive to the right")
    m.output("heading", "atan2(-sin(tau_y), cos(tau_y)*sin(tau_x))", "rad", "from −x, positive to the left")
    m.output("steer", "-beta", "rad", "positive to the left")
    m.output("steer_rate", "-beta_rate", "rad/s")
    m.output("roll_rate", "rate_x(rider)", "rad/s", "of the frame about its forward axis")
    m.event("fell_over", "abs(lean) - 80*pi/180", description="lean passed 80°")
    return m


def _about_y(angle: str) -> tuple[Rotate]:
    """Ω_y as printed: by the left hand."""
    return (Rotate("y", -Name(angle)),)


def _coordinate(name: str, unit: str, at: float = 0.0, span: float = 1.2) -> Coordinate:
    return Coordinate(name, f"{name}_rate", unit, at, at - span, at + span)


@entry(level="Intermediate", film="sanjuan_bicycle", charts=("lean", "steer"))
def sanjuan_bicycle_ride(until: float = 5.0) -> Study:
    """The bicycle of (42)–(47) disturbed at 5.5 m/s, by both derivations; and with the printed sign of its steer axis."""
    bike, method = sanjuan_bicycle(), dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    knocked = {"speed": 5.5, "roll_rate": 0.5}
    run = dr.simulate(bike, until, start=knocked, method=method)
    again = dr.simulate(derive_by_energies(bike), until, start=knocked, method=method)
    crossed = dr.simulate(bike, until, start=knocked, parameters={"alpha_1": -STEER_AXIS}, method=method)
    names = ("x", "y", "z", "tau_x", "tau_y", "tau_z", "beta", "phi_1", "phi_2", "lean", "speed")
    apart = max(float(np.max(np.abs(run[name] - again[name]))) for name in names)

    assert run.status.complete, run.status
    assert apart < 1e-7, apart  # the same motion by both derivations
    for ride in (run, again):
        assert ride.energy_drift is not None and ride.energy_drift < 1e-9
    assert abs(again["rear_wheel_height_multiplier"] - run["rear_wheel_normal_force"]).max() < 1e-5
    assert [event.name for event in crossed.events] == ["fell_over"] and crossed.time[-1] < 2.0
    if until >= 5.0:
        late = run.time > 4.0
        assert abs(run["lean"]).max() > math.radians(3) and abs(run["roll_rate"][late]).max() < 0.02  # comes upright
        assert run["speed"][-1] > run["speed"][0]  # the oscillation's energy goes into speed

    figures: dict[str, Any] = {
        "path": track_figure(run, ("rear_wheel", "front_wheel")),
        "lean_and_steer": channel_figure(run, "lean", "steer", "speed"),
        "normal_forces": normal_force_figure(run),
    }
    certificate = dr.certify(bike, count=6)
    assert certificate.passed, str(certificate)
    findings = (
        f"leans {math.degrees(abs(run['lean']).max()):.1f}° at most, {math.degrees(abs(run['lean'][-1])):.2f}° at the end; "
        f"heading {math.degrees(run['heading'][-1]):.1f}°",
        f"largest difference between the two derivations: {apart:.1e}",
        f"with alpha_1 = +18°, the axis leaning forward: {crossed.status}",
        str(certificate),
    )
    return Study("Bicycle of Sanjuan Szklarz & Jarzębowska", {"sanjuan_bicycle": run}, figures, findings)
