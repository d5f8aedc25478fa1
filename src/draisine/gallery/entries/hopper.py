"""A hop with the least effort: a leg pushes off, flies, lands and comes to rest, through stated modes of its contacts.

What it shows: optimal control with a phase for every mode. The foot sticks while the leg pushes; the leg hits its stop and takes
the foot with it; the foot lands, and the leg leaves the stop. When each happens and what the impacts do is part of the solution.
The control, simulated by itself, takes the same modes.

What you should see: a push that falls linearly in time, two jumps of velocity, a parabola between them, and a softer landing.

By hand, with the masses M of the body and m of the foot: the stop takes M v = (M + m) v⁺ with v⁺² = 2 g h, and the flight lasts
2 v⁺/g. While the foot stands, M ẍ = F − M g. From the velocity v₀ to v₁ over the distance d in the time T,

    min ∫ F² dt = M² (12 δ²/T³ − 12 δ ν/T² + 4 ν²/T + 2 g ν + g² T),   δ = d − v₀ T,   ν = v₁ − v₀,

with a force that is linear in time.
"""

from __future__ import annotations

import math

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

BODY, FOOT, GRAVITY, LONGEST = 3.0, 1.0, 10.0, 1.0
HEIGHT, PUSH_OFF, LANDING, REST, LEAST = 0.2, 0.3, 0.4, 0.6, 1.0


@live(start={"height": 0.0, "leg": 0.5})
def hopper() -> Model:
    """A body on a leg with a foot; an input pushes along the leg, which ends at a stop."""
    m = Model("hopper", "a body on a leg that hops")
    m.gravity(GRAVITY)
    m.parameter("body_mass", BODY, "kg")
    m.parameter("foot_mass", FOOT, "kg")
    shoe = {"kind": "box", "size": (0.3, 0.2, 0.05), "at": (0, 0, 0.025)}
    foot = m.body("foot", mass="foot_mass", shapes=[shoe, {"kind": "box", "size": (0.05, 0.05, 0.5), "at": (0, 0, 0.25)}])
    m.prismatic("height", "ground", foot, axis="z")
    body = m.body("body", mass="body_mass", shapes=[{"kind": "sphere", "radius": 0.15}])
    m.prismatic("leg", foot, body, axis="z", default=0.5, limits=(None, LONGEST))
    m.generalized_force("leg", m.input("push", "N", "along the leg"))
    m.contact("sole", foot)
    return m


def least_cost(time: float, way: float, first: float, last: float) -> float:
    """min ∫ F² dt between two velocities over a distance, while the foot stands.

    >>> round(least_cost(0.3, 0.5, 0.0, 8 / 3), 4)
    1003.3333
    """
    d, v = way - first * time, last - first
    return BODY**2 * (12 * d**2 / time**3 - 12 * d * v / time**2 + 4 * v**2 / time + 2 * GRAVITY * v + GRAVITY**2 * time)


@entry(level="Intermediate", film="hop", charts=("height", "leg", "push"))
def hopper_jumps() -> Study:
    """A hop with the least effort through four stated phases; cost, times and losses as by hand."""
    model = hopper()

    def phase(sole: str, stop: str) -> dr.optimal.OptimalControlProblem:
        stated = dr.maneuver(model).modes(sole=sole, leg_high=stop)
        return stated.bounds(push=(LEAST, 500)).minimize(integral="push^2")

    start = {"height": 0.0, "height_rate": 0.0, "leg": 0.5, "leg_rate": 0.0}
    stated = phase("stick", "open").start(start).duration(PUSH_OFF)
    stated = stated.then(phase("open", "stick").finish(height=HEIGHT, height_rate=0.0).duration(0.05, 1.0))
    stated = stated.then(phase("open", "stick").duration(0.05, 1.0))
    stated = stated.then(phase("stick", "open").finish(leg=REST, leg_rate=0.0).duration(LANDING))
    found = stated.solve(dr.optimal.Collocation(intervals=6))
    assert found.solved, found.status

    speed = math.sqrt(2 * GRAVITY * HEIGHT)
    first = speed * (BODY + FOOT) / BODY
    exact = least_cost(PUSH_OFF, LONGEST - 0.5, 0.0, first) + least_cost(LANDING, REST - LONGEST, -speed, 0.0)
    exact += LEAST**2 * 2 * speed / GRAVITY  # in flight the leg is pressed against its stop
    modes = found.trajectory.modes
    times = [change.time for change in modes]
    lost = BODY * FOOT / (BODY + FOOT) * first**2 / 2, FOOT * speed**2 / 2
    assert abs(found.objective / exact - 1) < 1e-7
    assert [change.modes["sole"] for change in modes] == ["stick", "open", "stick"]
    assert np.max(np.abs(np.array(times[1:]) - [PUSH_OFF, PUSH_OFF + 2 * speed / GRAVITY])) < 1e-8
    assert np.allclose([change.lost for change in modes.impacts], lost, rtol=1e-7)

    hop = dr.simulate(model, found.duration, start=start, inputs=found.feedforward)
    assert abs(hop["leg"][-1] - REST) < 1e-6
    figures = {"hop": channel_figure(hop, "height", "leg", "push")}
    findings = (
        f"least effort {found.objective:.4f} N²s; by hand {exact:.4f} N²s",
        f"leaves the ground at {times[1]:.6f} s and lands at {times[2]:.6f} s; a flight of 2v/g = {2 * speed / GRAVITY:.6f} s",
        f"the stop takes {lost[0]:.4f} J, the ground {lost[1]:.4f} J",
    )
    return Study("A hop with the least effort", {"hop": hop}, figures, findings)
