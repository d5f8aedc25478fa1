"""A rod that falls from the vertical: its foot slips backward or forward, depending on friction.

What it shows: the end of sticking by the friction cone, on either side. The rod falls about its foot as long as the foot
sticks; the friction that this takes first grows, vanishes at 48.2° and acts the other way then.

What you should see: with little friction the foot slips against the fall, with more it slips along with it; in between, at μ =
15√10/128 = 0.3706, the behavior jumps (a rod never falls without slipping: at 70.5° no normal force is left).

By hand, for a uniform rod from rest at the vertical, sticking at θ:

    N = m g (3 cos θ − 1)²/4,   F = ¾ m g sin θ (3 cos θ − 2),   |F|/N has its first peak at cos θ = 9/11, of 15√10/128.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.vertical_plane import in_vertical_plane
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.trajectories import channel_figure

CRITICAL = 15 * math.sqrt(10) / 128


@live(start={"theta": 0.05})
def falling_rod() -> Model:
    """A uniform rod that stands on its lower end in the vertical plane; both ends may touch the floor."""
    m = Model("falling_rod", "a rod that falls, slips, lifts off and lands")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass, length = m.parameter("mass", 1.0, "kg"), m.parameter("length", 1.0, "m")
    m.parameter("friction", 0.3, "", "coefficient between rod and floor")
    m.parameter("restitution", 0.0, "", "energetic: the share of the energy of compression that is returned is its square")
    moment = mass * length**2 / 12
    shape = {"kind": "tube", "path": [(0, 0, 0), (0, 0, length)], "radius": 0.01}
    body = m.body("rod", mass=mass, center_of_mass=(0, 0, length / 2), inertia=(moment, moment, 1e-4 * moment), shapes=[shape])
    in_vertical_plane(m, body, turn="theta")
    for name, at in (("foot", 0.0), ("tip", 1.0)):
        m.contact(name, m.point(f"{name}_end", body, (0, 0, at * length)), friction="friction", restitution="restitution")
    return m


def on_its_way(theta: float, g: float = 9.81, length: float = 1.0) -> dict[str, float]:
    """A rod at an angle on its way from rest at the vertical, about a foot that has not slipped."""
    return {"theta": theta, "theta_rate": math.sqrt(3 * g / length * (1 - math.cos(theta))), "x": 0.0, "z": 0.0, "x_rate": 0.0}


def slips_at(mu: float) -> tuple[float, bool]:
    """Angle at which the foot slips, and whether forward; in closed form, by a root of 9 (1 − c²)(3c − 2)² = μ² (3c − 1)⁴.

    >>> [(round(theta, 6), forward) for theta, forward in map(slips_at, (0.3, 0.5))]
    [(0.421771, False), (0.907185, True)]
    """
    c = np.poly1d([1.0, 0.0])
    roots = (9 * (1 - c**2) * (3 * c - 2) ** 2 - mu**2 * (3 * c - 1) ** 4).roots
    found = sorted(math.acos(r.real) for r in roots if abs(r.imag) < 1e-9 and 1 / 3 < r.real < 1)
    return found[0], found[0] > math.acos(2 / 3)


@entry(level="Intermediate", film="backward", charts=("foot_slip_along",))
def rod_falls() -> Study:
    """The foot of a falling rod slips backward below μ = 15√10/128, forward above it."""
    model, method = falling_rod(), dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    runs, table = {}, []
    for mu in (0.1, 0.2, 0.3, 0.37, 0.371, 0.5, 0.7, 1.0):
        theta, forward = slips_at(mu)
        start = on_its_way(0.5 * theta)
        run = dr.simulate(model, 1.5, start=start, parameters={"friction": mu}, method=method)
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
        begin = next(change.time for change in modes_of(run) if change.modes["foot"] == "slip")
        found, later = run.at(begin)["theta"], run.at(begin + 1e-3)["foot_slip_along"]
        assert abs(found - theta) < 1e-9 and (later > 0) == forward, (mu, found, theta)
        assert (mu > CRITICAL) == forward
        assert abs(run["theta"][-1] - math.pi / 2) < 1e-9  # it lies on the floor
        table.append((mu, found, "forward" if forward else "backward"))
        if mu in (0.3, 0.5):
            runs["forward" if forward else "backward"] = run
    ideal = dr.simulate(model, 0.35, start=on_its_way(0.1), parameters={"friction": 100.0}, method=method)
    figures = {
        "ratio": _ratio(table),
        "backward": channel_figure(runs["backward"], "theta", "foot_slip_along", "foot_normal_force", "tip_normal_force"),
        "forward": channel_figure(runs["forward"], "theta", "foot_slip_along", "foot_normal_force", "tip_normal_force"),
    }
    angle = ideal["theta"]
    expected = 0.75 * np.abs(np.sin(angle) * (3 * np.cos(angle) - 2)) / ((3 * np.cos(angle) - 1) ** 2 / 4)
    assert np.max(np.abs(ideal["foot_friction_needed"] - expected)) < 1e-8
    findings = tuple(f"μ = {mu:g}: the foot slips {way} from {theta:.9f} rad" for mu, theta, way in table)
    return Study("A falling rod", runs, figures, (*findings, f"the direction changes at 15√10/128 = {CRITICAL:.9f}"))


def _ratio(table: list[tuple[float, float, str]]) -> Any:
    with single_panel("angle from the vertical [rad]", "friction needed [–]", width=0.8 * PAGE, height=0.45 * PAGE) as (
        drawing,
        axes,
    ):
        angle = np.linspace(0.0, 1.05, 400)
        ratio = 3 * np.abs(np.sin(angle) * (3 * np.cos(angle) - 2)) / (3 * np.cos(angle) - 1) ** 2
        axes.plot(angle, ratio, color="black", label="closed form")
        for way, marker in (("backward", "<"), ("forward", ">")):
            points = [(theta, mu) for mu, theta, found in table if found == way]
            axes.plot(*zip(*points, strict=True), marker, label=f"slips {way}")
        axes.axhline(CRITICAL, linestyle=":", color="black")
        axes.set_ylim(0.0, 1.1)
        axes.legend()
    return drawing
