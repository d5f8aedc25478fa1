"""The falling rolling disk: a uniform disc on a sharp rim, rolling without slip (Sanjuan & Jarzębowska, section VII.A).

What it shows: a free body with one wheel. Coordinates are the source's: position of the center, then heading φ, lean θ and
spin angle ψ, turned about z, x and y (its equations 39 and 40). Rolling leaves three degrees of freedom.

What you should see: a disc that leans to the right rolls in a circle to the right, permanently, if its spin matches its turn
rate. Upright it rolls straight, but only above v = √(g r / 3) is that stable: the same disturbance that makes a fast disc
wobble by a few degrees brings a slow one down to 65°. It turns on its edge, rises again, falls to the other side, and its track
is a row of loops. Energy is conserved: without friction the disc never settles as a coin on a table does.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.expr.expression import Expr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, energy_figure


@live(start={"lean": 0.3, "heading_rate": 1.0, "spin_angle_rate": 6.0})
def rolling_disk() -> Model:
    """A uniform disc that rolls on its sharp rim; parameters mass, radius, gravity."""
    m = Model("rolling_disk", "falling rolling disk, Sanjuan & Jarzębowska section VII.A")
    mass = m.parameter("mass", 1.0, "kg")
    radius = m.parameter("radius", 0.3, "m")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))

    about_diameter = mass * radius**2 / 4
    put_disk(m, mass, radius, (about_diameter, mass * radius**2 / 2, about_diameter), ("heading", "lean", "spin_angle"))

    m.output("speed", "velocity_x(disk)*cos(heading) + velocity_y(disk)*sin(heading)", "m/s", "forward velocity of the center")
    m.output("spin", "spin_angle_rate + heading_rate*sin(lean)", "rad/s", "angular velocity about the axle")
    m.event("fell_over", "abs(lean) - 85*pi/180", description="lean passed 85°")
    return m


def put_disk(m: Model, mass: Expr, radius: Expr, inertia: tuple[Expr, Expr, Expr], angles: tuple[str, str, str]) -> None:
    """The disc by the source's (39) and (40): T = (x, y, z), B = Ω_z(φ) Ω_x(θ) Ω_y(−ψ), where its Ω_y turns by the left hand."""
    disk = m.body("disk", mass=mass, inertia=inertia)
    m.free_euler(disk, order="zxy", angles=angles)
    m.wheel("disk", disk, radius=radius)


def steady_spin(lean: float, turn_rate: float, radius: float = 0.3, gravity: float = 9.81) -> float:
    """Spin about the axle of the steady turn with this lean and turn rate (positive to the left), for a uniform disc.

    The force of the ground is m g upward and m Ω V to the left, V = r σ; its moment about the center turns the angular momentum
    (m r²/2) σ along the axle and (m r²/4) Ω cos θ along the diameter with the rate Ω about the vertical:
    r Ω² cos θ / 4 − (3/2) r σ Ω / tan θ = g.

    >>> round(steady_spin(math.radians(20), -2.0), 3)  # a lean to the right turns to the right
    3.853
    """
    return 2 * math.tan(lean) * (radius * turn_rate**2 * math.cos(lean) / 4 - gravity) / (3 * radius * turn_rate)


@entry(level="First steps", film="disk_slow", charts=("lean",))
def rolling_disk_paths(until: float = 20.0) -> Study:
    """A disc in a steady turn, one disturbed while rolling fast, and one too slow to stay upright."""
    disk, method = rolling_disk(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    critical = math.sqrt(9.81 * 0.3 / 3)
    lean, turn_rate, knock = math.radians(20), -2.0, 0.2
    circling = {"lean": lean, "heading_rate": turn_rate, "lean_rate": 0.0, "spin": steady_spin(lean, turn_rate)}
    starts = {
        "disk_steady_turn": circling,
        "disk_fast": {"speed": 1.5 * critical, "lean_rate": knock, "heading_rate": 0.0},
        "disk_slow": {"speed": 0.5 * critical, "lean_rate": knock, "heading_rate": 0.0},
    }
    runs = {name: dr.simulate(disk, until, start=start, method=method, samples=4001) for name, start in starts.items()}
    for run in runs.values():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9

    turn, fast, slow = runs.values()
    middle = -turn["speed"][0] / turn_rate  # m to the right of the start: the center of mass goes round there
    track = np.hypot(turn["disk_contact_x"], turn["disk_contact_y"] + middle)
    assert np.ptp(turn["lean"]) < 1e-9 and np.ptp(track) < 1e-8
    assert np.allclose(track, middle + 0.3 * math.sin(lean), atol=1e-8)
    assert np.allclose(turn["disk_lateral_force"], turn_rate * turn["speed"], atol=1e-8)  # m Ω V with m = 1 kg
    # Linear wobble of the fast disc: λ² = (g − 3 v²/r)/(5 r/4), amplitude = knock/|λ|.
    wobble = math.sqrt((3 * (1.5 * critical) ** 2 / 0.3 - 9.81) / (1.25 * 0.3))
    if until >= 2 * math.pi / wobble:
        assert abs(abs(fast["lean"]).max() - knock / wobble) < 0.01 * knock / wobble
    if until >= 2.0:
        assert abs(slow["lean"]).max() > math.radians(60)

    figures = {
        "disk_steady_turn": track_figure(turn, ["disk", "disk_contact"], snapshots=math.pi / 20),  # a twentieth of a turn
        "disk_slow_path": track_figure(slow, ["disk", "disk_contact"], snapshots=0.1),
        "disk_slow": channel_figure(slow, "lean", "heading_rate", "speed", "disk_normal_force"),
        "disk_fast": channel_figure(fast, "lean", "heading_rate", "speed"),
        "disk_slow_energy": energy_figure(slow),
    }
    findings = (
        f"straight rolling is stable above {critical:.4f} m/s",
        f"knocked at {1.5 * critical:.2f} m/s it wobbles by {math.degrees(abs(fast['lean']).max()):.2f}°, "
        f"at {0.5 * critical:.2f} m/s it falls to {math.degrees(abs(slow['lean']).max()):.1f}° and rises again",
        f"steady turn at {math.degrees(lean):.0f}° of lean: circles of {track[0]:.4f} m (track) and {middle:.4f} m (center)",
    )
    return Study("Paths of a rolling disk", runs, figures, findings)
