"""A bicycle drops off a kerb: its wheels roll over the edge, or leave the ground there.

What it shows: a ground profile with an edge. A wheel touches the upper plane, the edge or the lower plane; where one of these
ends the next takes over, and the wheel lifts off where the edge would have to hold it. The benchmark bicycle (Meijaard et al.
2007) has friction at its wheels, in three dimensions.

What you should see: at walking pace the front wheel rolls around the edge until it touches the lower plane. Faster than
2.037 m/s it leaves the ground where the kerb begins. The rear wheel is loaded more and does the same later. Each landing takes
energy, since the bicycle has no springs; it rolls on upright, with the height of the kerb and little speed lost.

By hand, at the edge: to follow it the front hub must accelerate downward by v²/r_F, that is, the bicycle pitch by
α = v²/(r_F w). It is free of the edge from where gravity alone does that, with the forward acceleration ẍ of the rear hub:

    Σ m (ẍ + (z − r_R) α) = −I_R ẍ/r_R²,    Σ m ((ẍ + (z − r_R) α) z + x² α) + (I_B + I_H) α + I_R ẍ/r_R = g Σ m x.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.entries.braking_bicycle import braking_bicycle
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.results.trajectory import Trajectory
from draisine.view.plots.contact_modes import mode_figure
from draisine.view.plots.trajectories import channel_figure

REAR, FRONT, WHEELBASE = 0.3, 0.35, 1.02
RIDES = (("slow", 1.0, 2.2), ("fast", 3.0, 1.0))  # speed and duration


@live(start={"frame_x": -3.3, "frame_z": REAR, "speed": 3.0, "rear_wheel_spin": 3.0 / REAR, "front_wheel_spin": 3.0 / FRONT})
def kerb_bicycle() -> Model:
    """The benchmark bicycle with friction at its wheels, on a ground that ends in a kerb at x = 0."""
    m = Model.of(braking_bicycle().freeze())
    m.name, m.description = "kerb_bicycle", "Whipple–Carvallo bicycle that rolls off a kerb"
    height = m.parameter("kerb", 0.1, "m", "height of the kerb")
    m.ground(profile=[(-1, 0), (0, 0), (0, -height), (1, -height)])
    return m


def rolling(speed: float, ahead: float = 0.3) -> dict[str, float]:
    """Upright and straight, the front wheel a distance before the kerb."""
    at_rest = dict.fromkeys(("lean", "steer", "pitch", "roll_rate", "steer_rate", "yaw_rate", "frame_y"), 0.0)
    spins = {"rear_wheel_spin": speed / REAR, "front_wheel_spin": speed / FRONT}
    return {**at_rest, **spins, "frame_x": -WHEELBASE - ahead, "frame_z": REAR, "speed": speed}


def leaves_from() -> float:
    """The speed from which on the front wheel leaves the ground at the edge, in closed form.

    >>> round(leaves_from(), 6)
    2.037482
    """
    m, x, z = np.array([2.0, 85.0, 4.0, 3.0]), np.array([0.0, 0.3, 0.9, 1.02]), np.array([0.3, 0.9, 0.7, 0.35])
    rear, turned = 0.12, 11.0 + 0.06  # moments about y of the rear wheel; of frame and fork
    lever = m @ (z - REAR)
    equations = [[m.sum() + rear / REAR**2, lever], [m @ z + rear / REAR, m @ ((z - REAR) * z + x**2) + turned]]
    _, pitching = np.linalg.solve(equations, [0.0, 9.81 * (m @ x)])
    return float(math.sqrt(pitching * FRONT * WHEELBASE))


def parts(run: Trajectory, wheel: str) -> list[str]:
    """The parts of the profile that a wheel touches, one after the other; "" while it is in the air."""
    found: list[str] = []
    for change in modes_of(run):
        touched = [name for name, mode in change.modes.items() if name.startswith(wheel) and mode != "open"]
        part = touched[0].removeprefix(f"{wheel}_") if touched else ""
        if not found or found[-1] != part:
            found.append(part)
    return found


@entry(level="Intermediate", film="fast", charts=("pitch", "speed"))
def bicycle_drops_off_a_kerb() -> Study:
    """A bicycle drops off a kerb: its front wheel rolls around the edge, or leaves it from 2.037 m/s on."""
    model, method = kerb_bicycle(), dr.methods.DOP853(rtol=1e-9, atol=1e-11)
    critical = leaves_from()
    runs = {name: dr.simulate(model, until, start=rolling(speed), method=method) for name, speed, until in RIDES}
    for run in runs.values():
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-7
        assert np.max(np.abs(run["lean"])) < 1e-9 and abs(run["pitch"][-1]) < 1e-8
        assert parts(run, "front_wheel")[-1] == parts(run, "rear_wheel")[-1] == "plane_3"
    assert parts(runs["slow"], "front_wheel") == ["plane_1", "edge_1", "plane_3"]
    assert parts(runs["fast"], "front_wheel") == ["plane_1", "", "plane_3"]
    for share, rolls in ((1 - 1e-6, True), (1 + 1e-6, False)):
        near = dr.simulate(model, 0.3 / critical + 1e-3, start=rolling(share * critical), method=method)
        assert (parts(near, "front_wheel")[1] == "edge_1") == rolls
    figures = {
        "slow": channel_figure(runs["slow"], "pitch", "speed", "frame_z"),
        "modes": mode_figure(modes_of(runs["slow"])),
    }
    lost = {name: modes_of(run).lost for name, run in runs.items()}
    findings = (
        f"the front wheel leaves the edge at once from {critical:.6f} m/s on",
        f"off a kerb of 0.1 m at 1 m/s: {lost['slow']:.2f} J lost in landings, {runs['slow']['speed'][-1]:.4f} m/s after it",
        f"at 3 m/s: {lost['fast']:.2f} J lost of {94.0 * 9.81 * 0.1:.2f} J, {runs['fast']['speed'][-1]:.4f} m/s after it",
    )
    return Study("A bicycle drops off a kerb", runs, figures, findings)
