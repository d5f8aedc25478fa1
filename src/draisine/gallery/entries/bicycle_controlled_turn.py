"""Countersteering: the controlled left turn of Mauny, Porez & Boyer (2017, section 7.3, figures 9–13).

What it shows: the benchmark bicycle at 6 m/s with two simple laws compiled in. One torque on the bar, equations (18)–(22), asks
for a left turn for about two seconds; one at the rear hub, equation (23), keeps the speed. The steering law is printed with a
minus sign, τ₁ = −K (r₁d f(t) − r₁), and that is correct: it first turns the bar *away* from the turn, the bicycle falls to the
left, and its own dynamics steer it into the fall. With the other sign it falls to the right and does not recover.

What you should see: the bar goes right by 2° for most of a second, then left by 12°; the bicycle leans 28° into the turn,
changes its direction by a quarter turn and comes upright again, since at 6 m/s it is self-stable. Mean curvature of the track
near 0.067 m⁻¹ over the first 3.5 s; the front contact point wanders 0.12 rad forward along the tire (read off the paper: 0.13).

The paper's axes are x up, y forward, z lateral; y × z = x makes z point to the left, so ours (x forward, y left, z up) are
its axes (y, z, x): a cyclic exchange, and no sign changes. By its equation (17) the wheel's forward direction is cos r₁
(forward) + sin r₁ (left), so its steer angle r₁ > 0 is a steer to the left, as ours; its wheels spin about z, left, so ṙ₃ > 0
rolls forward, as ours. Hence

    r₁ = steer,  τ₁ = steer_torque,  ṙ₃ = rear_wheel_spin,  τ₃ = pedal_torque,
    V₀y = speed,  Ω₀y = roll_rate,  ψ₂ = front_wheel_contact_angle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, contact_angle_figure


@dataclass(frozen=True)
class TurnLaw:
    """Table 2 of the paper and its laws (18)–(23) as expressions, with the paper's names."""

    k_ps: float = 10.0  # N·m, steering gain
    r_1d: float = math.pi / 12  # rad, desired steer
    k_pd: float = 40.0  # N·m·s, drive gain
    dr_3d: float = 20.0  # rad/s, desired spin of the rear wheel
    t_1: float = 0.0
    t_2: float = 1.0
    t_3: float = 1.0
    t_4: float = 2.0

    def steer_torque(self) -> str:
        """(18) up to t₃, (19) after."""
        into = f"-{self.k_ps!r}*({self.r_1d!r}*{_slope(self.t_1, self.t_2)} - steer)"
        out_of = f"-{self.k_ps!r}*({self.r_1d!r}*(1 - {_slope(self.t_3, self.t_4)}) - steer)"
        return f"where(t <= {self.t_3!r}, {into}, {out_of})"

    def pedal_torque(self) -> str:
        """(23)."""
        return f"{self.k_pd!r}*({self.dr_3d!r} - rear_wheel_spin)"


def _slope(begin: float, end: float) -> str:
    """f_s of (20)–(22): rises from 0 to 1 with two continuous derivatives."""
    share = f"((t - {begin!r})/{end - begin!r})"
    return f"where(t <= {begin!r}, 0, where(t <= {end!r}, {share} - sin(2*pi*{share})/(2*pi), 1))"


@entry(level="Intermediate", film="bicycle_controlled_turn", charts=("lean", "steer", "steer_torque"))
def bicycle_controlled_turn(until: float = 6.0) -> Study:
    """A bicycle at 6 m/s is steered through a left turn by pushing the bar to the right first (source: Mauny et al. 2017)."""
    bike, law = bicycle(), TurnLaw()
    run = dr.simulate(
        bike,
        until,
        start={"speed": 6.0},
        inputs={"steer_torque": law.steer_torque(), "pedal_torque": law.pedal_torque()},
        method=dr.methods.DOP853(rtol=1e-10, atol=1e-12),
    )
    early = run.time < 0.8
    upright = math.pi + run.parameters["steer_axis_tilt"]
    wandering = float(np.max(np.abs(run["front_wheel_contact_angle"] - upright)))

    assert run.status.complete and run.time[-1] == until, run.status  # it did not fall
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    assert run["steer_torque"][early].max() <= 0 and run["steer"][early].min() < math.radians(-1.5)  # countersteer …
    if until >= 6.0:
        assert math.radians(80) < run["heading"][-1] < math.radians(100)  # … into a left turn
        assert abs(mean_curvature(run, 3.5) / 0.067 - 1) < 0.15
        assert abs(wandering / 0.13 - 1) < 0.15
        assert abs(run["lean"][-1]) < math.radians(2) and abs(run["speed"][-1] - 6.0) < 0.01  # it has come upright again

    figures = {
        "path": track_figure(run),
        "rates_and_speed": channel_figure(run, "roll_rate", "steer_rate", "speed"),
        "lean_and_steer": channel_figure(run, "lean", "steer", "heading"),
        "steer_torque": channel_figure(run, "steer_torque"),
        "pedal_torque": channel_figure(run, "pedal_torque"),
        "contact_angles": contact_angle_figure(run),
    }
    findings = (
        f"steers {math.degrees(-run['steer'][early].min()):.1f}° to the right first, "
        f"then {math.degrees(run['steer'].max()):.1f}° to the left",
        f"leans {math.degrees(-run['lean'].min()):.1f}° to the left, heading at the end {math.degrees(run['heading'][-1]):.1f}°",
        *([f"mean curvature over 3.5 s: {mean_curvature(run, 3.5):.4f} 1/m (paper: about 0.067)"] if until >= 3.5 else []),
        f"front contact point wanders {wandering:.3f} rad along the tire (paper: about 0.13)",
        f"speed between {run['speed'].min():.3f} and {run['speed'].max():.3f} m/s, pedal torque between "
        f"{run['pedal_torque'].min():.1f} and {run['pedal_torque'].max():.1f} N·m",
    )
    return Study("Controlled turn of the benchmark bicycle", {"bicycle_controlled_turn": run}, figures, findings)


def mean_curvature(run: dr.Trajectory, until: float) -> float:
    """Change of direction of the rear wheel's track per length of it, positive to the left, 1/m."""
    part = run.time <= until
    x, y = run["rear_wheel_contact_x"][part], run["rear_wheel_contact_y"][part]
    direction = np.unwrap(run["rear_wheel_track_heading"][part])
    return float((direction[-1] - direction[0]) / np.hypot(np.diff(x), np.diff(y)).sum())
