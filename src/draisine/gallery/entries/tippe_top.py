"""A tippe top stands up on its stem: friction at one point lifts its center of mass.

What it shows: a sphere that slips on the ground while it spins, with its center of mass below the middle. Without friction it
would spin on; with it the top turns over and comes to stand on the other side, higher than before.

What you should see: spun fast, and released with a small tilt, the top turns upside down within 4.6 s and spins on there, more
slowly; then it rolls. Jellett's quantity, J = −L·r with the angular momentum L and the line r from the center of mass to the
contact, is the same throughout, wherever it slips and however much friction there is. With a spin of 60 rad/s the slip ends
soon, and it rolls on upright.

By hand: J = C ω (R − a) upright and C ω′ (R + a) upside down, hence ω′ = ω (R − a)/(R + a) about the vertical. (Jellett 1872;
Cohen 1977.)
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.results.trajectory import Trajectory
from draisine.view.plots.trajectories import channel_figure

RADIUS, OFFSET, SPIN, TILT = 0.02, 0.003, 200.0, 0.1


@live(start={"tilt": 0.1, "heading_rate": 200.0, "x_rate": 0.06}, pace=0.2)
def tippe_top() -> Model:
    """A sphere whose center of mass lies below its middle, with friction on the ground; heading, tilt and spin of its axis."""
    m = Model("tippe_top", "tippe top that turns over")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, r = m.parameter("mass", 0.02, "kg"), m.parameter("radius", RADIUS, "m")
    a = m.parameter("offset", OFFSET, "m", "of the center of mass below the middle")
    m.parameter("friction", 0.1, "", "coefficient between top and ground")
    across, axial = 0.4 * mass * r**2, 0.42 * mass * r**2
    shapes = [
        {"kind": "sphere", "radius": r},
        {"kind": "tube", "path": [(0, 0, 0), (0, 0, 1.5 * r)], "radius": 0.15 * r},
    ]
    top = m.body("top", mass=mass, center_of_mass=(0, 0, -a), inertia=(across, across, axial), shapes=shapes)
    names = [m.body(f"carrier_{i}", mass=0).name for i in range(5)]
    for axis, parent, child in zip("xyz", ["ground", *names], names, strict=False):
        m.prismatic(axis, parent, child, axis=axis, default=RADIUS if axis == "z" else 0.0)
    m.revolute("heading", names[2], names[3], axis="z")
    m.revolute("tilt", names[3], names[4], axis="x", default=TILT)
    m.revolute("spin", names[4], top, axis="z")
    m.contact("ground_contact", top, radius=r, friction="friction")
    return m


def jellett(run: Trajectory) -> np.ndarray:
    """Jellett's quantity over a run, from the momenta about the axes of the tilted carrier."""
    mass, tilt = 0.02, run["tilt"]
    across, axial = 0.4 * mass * RADIUS**2, 0.42 * mass * RADIUS**2
    # angular velocity along the node, across it and along the axis; the line from the center of mass to the contact
    momentum = across * run["heading_rate"] * np.sin(tilt), axial * (run["spin_rate"] + run["heading_rate"] * np.cos(tilt))
    line = -RADIUS * np.sin(tilt), OFFSET - RADIUS * np.cos(tilt)
    return np.asarray(-(momentum[0] * line[0] + momentum[1] * line[1]))


def spun(rate: float) -> dict[str, float]:
    """It turns about the vertical through its center of mass, which is at rest."""
    at_rest = dict.fromkeys(("x", "y", "tilt_rate", "spin_rate", "y_rate", "heading", "spin"), 0.0)
    return {**at_rest, "z": RADIUS, "tilt": TILT, "heading_rate": rate, "x_rate": rate * OFFSET * math.sin(TILT)}


@entry(level="Intermediate", film="fast", charts=("tilt", "heading_rate"))
def tippe_top_turns_over(until: float = 6.0) -> Study:
    """A tippe top turns upside down while it slips; Jellett's quantity stays constant."""
    model, method = tippe_top(), dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    fast = dr.simulate(model, until, start=spun(SPIN), method=method)
    slow = dr.simulate(model, 1.0, start=spun(60.0), method=method)
    for run in (fast, slow):
        assert run.status.kind == "FINISHED", run.status
        assert np.ptp(jellett(run)) < 1e-9 * abs(jellett(run)[0])
        assert run["ground_contact_gap"].min() > -1e-10
        assert run.energy_drift is not None and run.energy_drift < 1e-7
    assert fast["tilt"][-1] > 3.0 and slow["tilt"].max() < 0.2
    rolls = modes_of(fast)[-1]
    assert rolls.modes == {"ground_contact": "stick"}
    turns = fast["heading_rate"] + fast["spin_rate"] * np.cos(fast["tilt"])
    expected = SPIN * (RADIUS - OFFSET) / (RADIUS + OFFSET)
    assert abs(turns[-1] / expected - 1) < 5e-3  # it is not quite upside down
    drawn = channel_figure(fast, "tilt", "heading_rate", "total_energy")
    findings = (
        f"upside down and rolling from {rolls.time:.3f} s on; {np.degrees(fast['tilt'][-1]):.1f}° from upright",
        f"{SPIN:g} rad/s about the vertical become {turns[-1]:.2f}; (R − a)/(R + a) of it: {expected:.2f}",
        f"Jellett's quantity is constant to {np.ptp(jellett(fast)) / abs(jellett(fast)[0]):.0e}",
        f"with 60 rad/s it rolls from {modes_of(slow)[-1].time:.3f} s on, and stays within {np.degrees(slow['tilt'].max()):.1f}°",
    )
    return Study("A tippe top", {"fast": fast, "slow": slow}, {"fast": drawn}, findings)
