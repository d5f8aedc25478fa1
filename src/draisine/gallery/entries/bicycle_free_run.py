"""Self-stability of a riderless bicycle: the free run of Mauny, Porez & Boyer (2017, figures 4–8).

What it shows: the benchmark bicycle, rolling at 4.6 m/s, starts with a roll rate of 0.5 rad/s. No torque acts; it steers into
the fall and returns to upright.

What you should see: roll and steer rates oscillate a few times and decay; the wheels leave two wavy tracks that end in a
straight line in a new direction; energy of the oscillation goes into forward speed, which settles near 4.62 m/s, above its
initial value; contact points move along the tires and return to π (rear) and π + π/10 (front).
"""

from __future__ import annotations

import math

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.symbolic.rendering.model_text import derived_in_brief
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure, contact_angle_figure, energy_figure, normal_force_figure


@entry(level="First steps", film="bicycle_free_run", charts=("lean", "steer"))
def bicycle_free_run(until: float = 5.0) -> Study:
    """A riderless bicycle at 4.6 m/s recovers from an initial roll rate (source: Mauny et al. 2017)."""
    bike = dr.gallery.bicycle()
    run = dr.simulate(bike, until, start={"speed": 4.6, "roll_rate": 0.5}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))

    assert run.status.complete, run.status
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    if until >= 5.0:
        late = run.time > 4.0  # self-stable: weave at 4.6 m/s decays as exp(−0.3 t) (Meijaard et al. 2007, table 2)
        assert abs(run["roll_rate"][late]).max() < 0.3 * abs(run["roll_rate"]).max()
        assert abs(run["steer_rate"][late]).max() < 0.3 * abs(run["steer_rate"]).max()
        assert 4.60 < run["speed"][-1] < 4.65
        assert abs(run["front_wheel_contact_angle"][-1] - (math.pi + math.pi / 10)) < 0.01

    figures = {
        "path": track_figure(run),
        "rates_and_speed": channel_figure(run, "roll_rate", "steer_rate", "speed"),
        "contact_angles": contact_angle_figure(run),
        "normal_forces": normal_force_figure(run),
        "energy": energy_figure(run),
    }
    findings = (
        derived_in_brief(dr.derive(bike)),
        f"speed: {run['speed'][0]:.4f} → {run['speed'][-1]:.4f} m/s",
        f"heading at the end: {math.degrees(run['heading'][-1]):.1f}°",
        f"largest lean {math.degrees(abs(run['lean']).max()):.1f}°, largest steer {math.degrees(abs(run['steer']).max()):.1f}°",
    )
    films = {"ride": run.animate(charts=("lean", "steer", "speed"), show=False)}
    return Study("Free run of the benchmark bicycle", {"bicycle_free_run": run}, figures, findings, films)
