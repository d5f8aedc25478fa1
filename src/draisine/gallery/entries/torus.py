"""A solid torus rolling on its tube, without slip.

What it shows: a wheel with a tube. As the torus leans, its contact moves around the tube towards the lower side, so gravity
acts with the lever arm R sin θ of the tube's center line, not with that of the outer radius. Inertia is given as expressions of
the mass and the two radii; with a tube of zero the torus is a thin ring.

What you should see: in the steady turn, lean and both circles (of the center, of the contact) are constant. With less spin the
torus nutates between two leans: its center moves along petals inside the track of the contact. Disturbed at 0.7 m/s, below the
critical speed, it meanders from side to side. Energy is conserved throughout.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure


@live(start={"lean": 0.3, "turn_rate": 1.0, "spin": 6.0})
def rolling_torus() -> Model:
    """A solid torus that rolls on its tube: parameters mass, ring radius (of the tube's center line), tube radius, gravity."""
    m = Model("rolling_torus", "solid torus rolling on its tube")
    mass = m.parameter("mass", 1.0, "kg")
    ring = m.parameter("ring_radius", 0.24, "m", "of the center line of the tube")
    tube = m.parameter("tube_radius", 0.06, "m")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))

    about_axis = mass * (ring**2 + 3 * tube**2 / 4)
    about_diameter = mass * (ring**2 / 2 + 5 * tube**2 / 8)
    torus = m.body("torus", mass=mass, inertia=(about_diameter, about_axis, about_diameter))
    m.free(torus)
    m.wheel("torus", torus, radius=ring, tube=tube)

    m.output("heading", "heading(torus)", "rad", "direction of rolling, positive to the left")
    m.output("lean", "lean(torus)", "rad", "positive to the right")
    m.output("turn_rate", "rate(heading)", "rad/s", "about the vertical, positive to the left")
    m.output("lean_rate", "rate(lean)", "rad/s")
    m.output("spin", "rate_y(torus)", "rad/s", "angular velocity about the axis of the torus")
    m.output("speed", "velocity_x(torus)*cos(heading) + velocity_y(torus)*sin(heading)", "m/s", "forward velocity of the center")
    m.event("fell_over", "abs(lean) - 85*pi/180", description="lean passed 85°")
    return m


def steady_spin(lean: float, turn_rate: float, ring: float = 0.24, tube: float = 0.06, gravity: float = 9.81) -> float:
    """Spin about the axis of the steady turn with this lean and turn rate (positive to the left), for a solid torus.

    The contact lies R sin θ beside the center and R cos θ + a below it; the ground pushes with m g upward and m Ω V to the
    left, where V = R σ + a cos θ (σ − Ω sin θ). With moments A about the axis and D about a diameter, turning the angular
    momentum takes D Ω² sin θ cos θ − A σ Ω cos θ = m g R sin θ + m Ω V (R cos θ + a), which is solved for σ (per unit of
    mass).

    >>> round(steady_spin(math.radians(20), -2.0), 3)  # a lean to the right turns to the right
    2.63
    """
    s, c = math.sin(lean), math.cos(lean)
    axial, diametral = ring**2 + 3 * tube**2 / 4, ring**2 / 2 + 5 * tube**2 / 8
    below = ring * c + tube
    moment = turn_rate**2 * s * c * (diametral + tube * below) - gravity * ring * s
    return moment / (turn_rate * (axial * c + (ring + tube * c) * below))


def critical_speed(ring: float = 0.24, tube: float = 0.06, gravity: float = 9.81) -> float:
    """Speed above which straight rolling of a solid torus is stable: A (A + m r²) (v/r)² = D m g R, with r = R + a.

    >>> round(critical_speed(ring=0.3, tube=0.0), 4)  # a thin ring: √(g r) / 2
    0.8578
    """
    axial, diametral, outer = ring**2 + 3 * tube**2 / 4, ring**2 / 2 + 5 * tube**2 / 8, ring + tube
    return outer * math.sqrt(gravity * ring * diametral / (axial * (axial + outer**2)))


@entry(level="First steps", film="torus_flower", charts=("lean",))
def rolling_torus_paths(until: float = 20.0) -> Study:
    """A torus in a steady turn, one that nutates, and one that meanders below the critical speed."""
    torus, method = rolling_torus(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    lean, turn_rate = math.radians(20), -2.0
    spin = steady_spin(lean, turn_rate)
    turning = {"lean": lean, "lean_rate": 0.0, "turn_rate": turn_rate}
    starts = {
        "torus_steady_turn": {**turning, "spin": spin},
        "torus_flower": {**turning, "spin": 0.4 * spin},
        "torus_meander": {"lean": 0.0, "lean_rate": 0.2, "turn_rate": 0.0, "speed": 0.7},
    }
    runs = {name: dr.simulate(torus, until, start=start, method=method) for name, start in starts.items()}
    for run in runs.values():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9

    turn, flower, meander = runs.values()
    middle = -turn["speed"][0] / turn_rate  # m to the right of the start
    track = np.hypot(turn["torus_contact_x"], turn["torus_contact_y"] + middle)
    assert np.ptp(turn["lean"]) < 1e-8
    assert np.allclose(track, middle + 0.24 * math.sin(lean), atol=1e-7)
    assert np.allclose(turn["torus_lateral_force"], turn_rate * turn["speed"], atol=1e-7)  # m Ω V with m = 1 kg
    assert flower["lean"].min() > lean - 1e-9 and meander["speed"][0] < critical_speed()
    if until >= 5.0:
        assert flower["lean"].max() > math.radians(50)
        assert meander["lean"].max() > math.radians(30) and meander["lean"].min() < -math.radians(30)

    points = ["torus", "torus_contact"]
    figures = {
        "torus_steady_turn": track_figure(turn, points, snapshots=math.pi / 20),  # a twentieth of a turn
        "torus_flower_path": track_figure(flower, points, snapshots=None),
        "torus_flower": channel_figure(flower, "lean", "turn_rate", "spin", "speed", "torus_normal_force"),
        "torus_meander_path": track_figure(meander, points, snapshots=0.1),
        "torus_flower_energy": energy_figure(flower),
    }
    findings = (
        f"straight rolling is stable above {critical_speed():.4f} m/s, a ring as high above {critical_speed(0.3, 0.0):.4f} m/s",
        f"steady turn at {math.degrees(lean):.0f}° of lean: circles of {track[0]:.4f} m (track) and {middle:.4f} m (center)",
        f"with 40 % of that spin it dips to {math.degrees(flower['lean'].max()):.1f}° and rises again",
    )
    return Study("Paths of a rolling torus", runs, figures, findings)
