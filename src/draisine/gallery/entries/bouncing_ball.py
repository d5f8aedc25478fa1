"""A ball that bounces infinitely often in a finite time, and then lies still or rolls.

What it shows: a contact that opens and closes. Impacts are located to rounding; the last bounces, shorter than any step, are
left out, and the ball is in contact from the time at which their sum ends. With friction an impact may slip or grip.

What you should see: dropped from rest, bounces that last e times as long each; after t₁ (1 + e)/(1 − e) the ball rests. Thrown
with friction 0.1, it slips at the first bounce and grips at the second; from then on it bounces as it rolls, and at last it
rolls.

By hand, for a drop from the height h above the contact:

    t₁ = √(2h/g),   bounce n at tₙ = t₁ (1 + 2e + … + 2eⁿ⁻¹),   rest at t₁ (1 + e)/(1 − e),   rises to e²ⁿ h.

A homogeneous ball that is thrown without spin with v₀ loses (1 + e) μ |vₙ| of its speed at a bounce that slips, and its slip
7/2 times as much; once it grips it keeps 5/7 v₀.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure


@live(start={"z": 1.1, "x_rate": 1.0})
def bouncing_ball() -> Model:
    """A homogeneous ball in the vertical plane that bounces, slips and rolls on the floor."""
    m = Model("bouncing_ball", "a ball that bounces, slips and rolls")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, r = m.parameter("mass", 0.5, "kg"), m.parameter("radius", 0.1, "m")
    m.parameter("friction", 0.1, "", "coefficient between ball and floor")
    m.parameter("restitution", 0.8, "", "velocity after an impact per velocity before it")
    moment = 0.4 * mass * r**2
    body = m.body("ball", mass=mass, inertia=(moment, moment, moment), shapes=[{"kind": "sphere", "radius": r}])
    in_vertical_plane(m, body, turn="turn", height=0.1)
    m.contact("floor", body, radius=r, friction="friction", restitution="restitution")
    m.output("height", "z - radius", "m", "of the lowest point above the floor")
    return m


def bounces(height: float, e: float, count: int, g: float = 9.81) -> tuple[np.ndarray, float]:
    """Times of the first impacts of a ball that is dropped, and of its rest.

    >>> times, rest = bounces(1.0, 0.5, 2)
    >>> [round(float(t), 4) for t in times], round(rest, 4)
    ([0.4515, 0.903], 1.3546)
    """
    first = np.sqrt(2 * height / g)
    lasting = np.concatenate([[1.0], 2 * e ** np.arange(1, count)])
    return first * np.cumsum(lasting), float(first * (1 + e) / (1 - e))


@entry(level="First steps", film="thrown", charts=("height",))
def ball_comes_to_rest(until: float = 5.0) -> Study:
    """A ball bounces infinitely often within 4.06 s, then rests; thrown, it slips, grips, and at last rolls."""
    model = bouncing_ball()
    dropped = dr.simulate(model, until, start={"z": 1.1, "x_rate": 0.0})
    thrown = dr.simulate(model, until, start={"z": 1.1, "x_rate": 3.0})
    times, rest = bounces(1.0, 0.8, 12)
    errors = []
    for run in (dropped, thrown):
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-10
        found = [change.time for change in modes_of(run).impacts]
        assert np.max(np.abs(np.array(found[:12]) - times)) < 1e-10
        assert abs(modes_of(run)[-1].time - rest) < 1e-10 and modes_of(run)[-1].modes == {"floor": "stick"}
        assert run["height"].min() > -1e-10
        errors.append(abs(modes_of(run)[-1].time - rest))
    used = [abs(change.impulse["floor"][1]) / change.impulse["floor"][0] for change in modes_of(thrown).impacts[:3]]
    assert abs(used[0] - 0.1) < 1e-12 and 0.0 < used[1] < 0.1 and used[2] < 1e-9  # slips, grips, rolls already
    assert abs(thrown["x_rate"][-1] - 15 / 7) < 1e-9

    figures = {
        "height": _heights(dropped, rest),
        "thrown": channel_figure(thrown, "height", "x_rate", "floor_slip_along"),
    }
    findings = (
        f"{len(modes_of(dropped).impacts)} impacts are computed one by one; rest at {modes_of(dropped)[-1].time:.9f} s",
        f"closed form t₁ (1 + e)/(1 − e) = {rest:.9f} s; difference at most {max(errors):.0e} s",
        f"thrown with 3 m/s: slips at the first bounce, grips at the second, rolls at {thrown['x_rate'][-1]:.6f} m/s (15/7)",
    )
    return Study("A ball comes to rest", {"dropped": dropped, "thrown": thrown}, figures, findings)


def _heights(run: dr.Trajectory, rest: float) -> Any:
    with single_panel("time [s]", "height [m]", width=0.8 * PAGE, height=0.4 * PAGE) as (drawing, axes):
        fine = run.at(np.linspace(0.0, run.time[-1], 2001))
        axes.plot(np.linspace(0.0, run.time[-1], 2001), fine["height"])
        axes.axvline(rest, linestyle=":", color="black", label="t₁ (1 + e)/(1 − e)")
        axes.legend()
    return drawing
