"""A ball rolls off a fixed sphere: it leaves where no push of the sphere is left, and slips before if friction is finite.

What it shows: contact of two spheres with all three modes. Three motions start near the top: a particle that slides, a ball
that rolls with infinite friction, and a ball with friction 0.3 that rolls, slips, and leaves.

What you should see: the smooth particle leaves at cos θ = 2/3 cos θ₀, the rolling ball at cos θ = 10/17 cos θ₀. With a finite
friction the ball always slips before: the normal force goes to zero, and with it what friction can hold.

By hand, for a homogeneous ball of radius a on a sphere of radius R, with u = θ̇² (R + a)/g:

    it rolls:  u = 10/7 (cos θ₀ − cos θ),   slips from  2 sin θ = μ (17 cos θ − 10 cos θ₀);
    it slips:  du/dθ = 2 (sin θ − μ (cos θ − u));   leaves where  u = cos θ.
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

SPHERE, BALL, FIRST = 1.0, 0.25, 0.1


@live(start={"angle": 0.1, "x": 0.1247926046})
def ball_on_sphere(friction: float = 0.3) -> Model:
    """A ball on the outside of a fixed sphere, in the vertical plane."""
    m = Model("ball_on_sphere", "a ball that rolls, slips and leaves a fixed sphere")
    m.gravity(m.parameter("gravity", 9.81, "m/s^2"))
    mass = m.parameter("mass", 1.0, "kg")
    big, small = m.parameter("sphere_radius", SPHERE, "m", "of the fixed sphere"), m.parameter("radius", BALL, "m", "of the ball")
    m.ground(shapes=[{"kind": "sphere", "radius": big}])
    moment = 0.4 * mass * small**2
    body = m.body("ball", mass=mass, inertia=(moment, moment, moment), shapes=[{"kind": "sphere", "radius": small}])
    in_vertical_plane(m, body, turn="turn", height=SPHERE + BALL)
    law = m.parameter("friction", friction, "") if math.isfinite(friction) else friction
    m.contact("sphere", body, radius=small, on="ground", on_radius=big, friction=law)
    m.output("angle", "atan2(x, z)", "rad", "of the ball's center from the top")
    return m


def at_angle(theta: float) -> dict[str, float]:
    """At rest in contact."""
    return {"x": (SPHERE + BALL) * math.sin(theta), "z": (SPHERE + BALL) * math.cos(theta), "x_rate": 0.0, "z_rate": 0.0}


def leaves_at(mu: float, theta0: float) -> tuple[float, float]:
    """Angles at which a ball begins to slip and at which it leaves, in closed form; μ = 0 slides, infinite μ rolls.

    >>> [round(angle, 6) for angle in leaves_at(0.3, 0.1)]
    [0.620805, 0.913254]
    """
    from scipy.optimize import brentq

    if mu == 0.0:
        return 0.0, math.acos(2 / 3 * math.cos(theta0))
    if not math.isfinite(mu):
        return math.nan, math.acos(10 / 17 * math.cos(theta0))
    slip = brentq(lambda a: 2 * math.sin(a) - mu * (17 * math.cos(a) - 10 * math.cos(theta0)), theta0, 1.2, xtol=1e-15)

    def particular(a: float) -> float:
        return ((4 * mu**2 - 2) * math.cos(a) - 6 * mu * math.sin(a)) / (1 + 4 * mu**2)

    share = (10 / 7 * (math.cos(theta0) - math.cos(slip)) - particular(slip)) * math.exp(-2 * mu * slip)
    leave = brentq(lambda a: particular(a) + share * math.exp(2 * mu * a) - math.cos(a), slip, 1.3, xtol=1e-15)
    return slip, leave


@entry(level="First steps", film="friction", charts=("sphere_normal_force",))
def ball_leaves_sphere(until: float = 1.4) -> Study:
    """A ball rolls, slips and leaves a sphere; without friction at cos θ = 2/3 cos θ₀, rolling at cos θ = 10/17 cos θ₀."""
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    runs, findings = {}, []
    for name, mu in (("smooth", 0.0), ("friction", 0.3), ("rolling", math.inf)):
        run = dr.simulate(ball_on_sphere(mu), until, start=at_angle(FIRST), method=method)
        assert run.status.kind == "FINISHED", run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
        left = next(change.time for change in modes_of(run) if change.modes["sphere"] == "open")
        slip, leave = leaves_at(mu, FIRST)
        angle = run.at(left)["angle"]
        assert abs(angle - leave) < 1e-9, (name, angle, leave)
        assert run["sphere_gap"].min() > -1e-10
        if name == "friction":
            begins = next(change.time for change in modes_of(run) if change.modes["sphere"] == "slip")
            assert abs(run.at(begins)["angle"] - slip) < 1e-9
            findings.append(f"friction 0.3: slips from {slip:.9f} rad at {begins:.6f} s")
        findings.append(f"{name}: leaves at {angle:.9f} rad, {left:.6f} s; closed form {leave:.9f} rad")
        runs[name] = run
    return Study("A ball leaves a sphere", runs, {"forces": _forces(runs)}, tuple(findings))


def _forces(runs: dict[str, dr.Trajectory]) -> Any:
    with single_panel("angle from the top [rad]", "normal force / weight [–]", width=0.8 * PAGE, height=0.45 * PAGE) as (
        drawing,
        axes,
    ):
        for name, run in runs.items():
            left = next(change.time for change in modes_of(run) if change.modes["sphere"] == "open")
            at = run.at(np.linspace(0.0, left - 1e-9, 200))
            axes.plot(at["angle"], at["sphere_normal_force"] / 9.81, label=name)
        axes.legend()
    return drawing
