"""A Gough–Stewart platform on six legs of prescribed length, with a redundant post in the middle.

What it shows: a free body supported by distance constraints alone. Each leg is a distance prescribed in time, and its
multiplier is the force in the leg: no joints and no leg bodies. Six legs determine the platform's pose; the post under its
middle is compatible with them and redundant. The forces of seven legs are statically indeterminate; the minimum-norm solution
is reported.

What you should see: the platform heaves without any other motion. The six legs carry equal forces, the post a larger one, since
it is vertical; together they carry the weight and the inertia force.

By hand. Feet on a circle of radius R, heads on one of radius r, 30° further round; c² = R² + r² − 2 R r cos 30° is the square of
the distance of a head from its foot as seen from above. At height z(t) = h + s sin Ωt

    lengths             √(c² + z²),   and z of the post
    vertical balance    6 f z/√(c² + z²) + f₀ = m (g + z̈)
    smallest forces     f = f₀ cos γ,   cos γ = z/√(c² + z²),   so   f₀ = m (g + z̈)/(1 + 6 cos² γ)

E. Gough 1956; D. Stewart, A platform with six degrees of freedom, Proc. Inst. Mech. Eng. 180 (1965).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, PAGE
from draisine.view.plots.trajectories import channel_figure

FEET = tuple(f"{pair}{side}" for pair in "abc" for side in "lr")  # three pairs of legs, left and right


def stewart_platform(post: bool = True) -> Model:
    """A free platform on six legs of prescribed length and a redundant post."""
    m = Model("stewart_platform", "platform on six legs that change their length, and a post in the middle")
    wide, narrow = m.parameter("foot_radius", 1.2, "m"), m.parameter("head_radius", 0.7, "m")
    m.parameter("height", 0.8, "m", "in the middle of the stroke")
    m.parameter("stroke", 0.2, "m", "half of it")
    m.parameter("heave_rate", 4.0, "rad/s")
    mass, inertia = m.parameter("m_platform", 120.0, "kg"), m.parameter("i_platform", 10.0, "kg*m^2")
    top = m.body("platform", mass=mass, inertia=(inertia, inertia, 2 * inertia))
    m.free(top, at=(0, 0, 0.8))
    rise = "height + stroke*sin(heave_rate*t)"
    across = "foot_radius^2 + head_radius^2 - 2*foot_radius*head_radius*cos(pi/6)"
    for index, leg in enumerate(FEET):
        pair, sense = divmod(index, 2)
        below, above = (math.radians(120 * pair + (1 - 2 * sense) * turn) for turn in (15, 45))
        m.point(f"foot_{leg}", "ground", (wide * math.cos(below), wide * math.sin(below), 0))
        m.point(f"head_{leg}", top, (narrow * math.cos(above), narrow * math.sin(above), 0))
        m.prescribe(f"leg_{leg}", f"distance(foot_{leg}, head_{leg})", f"sqrt({across} + ({rise})^2)")
    if post:
        m.prescribe("post", "distance(ground, platform)", rise)
    return m


@entry(level="Intermediate", film="heave")
def stewart_platform_heaves(until: float = 3.0) -> Study:
    """A platform on six legs and a redundant post heaves; its forces are the minimum-norm solution."""
    run = dr.simulate(stewart_platform(), until, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12))
    p, t = run.parameters, run.time
    wave, rate = p["stroke"] * np.sin(p["heave_rate"] * t), p["heave_rate"]
    z, lift = p["height"] + wave, p["m_platform"] * (9.81 - rate**2 * wave)
    across = p["foot_radius"] ** 2 + p["head_radius"] ** 2 - 2 * p["foot_radius"] * p["head_radius"] * math.cos(math.pi / 6)
    upright = z / np.sqrt(across + z**2)
    thrust = lift / (1 + 6 * upright**2)
    still = [name for name in ("platform_x", "platform_y", "platform_qx", "platform_qy", "platform_qz")]

    assert run.status.complete, run.status
    assert np.max(np.abs(run["platform_z"] - z)) < 1e-9
    assert max(float(np.max(np.abs(run[name]))) for name in still) < 1e-9
    error = float(np.max(np.abs(run["post_multiplier"] - thrust)))
    error = max(error, *(float(np.max(np.abs(run[f"leg_{leg}_multiplier"] - thrust * upright))) for leg in FEET))
    assert error < 1e-6 * np.max(lift), error

    figures = {"heave": channel_figure(run, "platform_z", "post_multiplier", "leg_al_multiplier"), "plan": _plan(p)}
    findings = (
        f"height between {z.min():.3f} and {z.max():.3f} m, load between {lift.min():.0f} and {lift.max():.0f} N",
        f"post carries {thrust.min():.0f} to {thrust.max():.0f} N, each leg at most {np.max(thrust * upright):.0f} N",
        f"within {error:.0e} N of the smallest forces by hand",
    )
    return Study("Platform on six legs and a post", {"heave": run}, figures, findings)


def _plan(p: Mapping[str, float]) -> Any:
    """The legs from above."""
    with single_panel("x [m]", "y [m]", width=0.5 * PAGE, height=0.5 * PAGE, equal=True) as (drawing, axes):
        for index in range(6):
            pair, sense = divmod(index, 2)
            below, above = (math.radians(120 * pair + (1 - 2 * sense) * turn) for turn in (15, 45))
            feet, heads = p["foot_radius"], p["head_radius"]
            x = [feet * math.cos(below), heads * math.cos(above)]
            y = [feet * math.sin(below), heads * math.sin(above)]
            axes.plot(x, y, color=COLORS[0], marker="o", markersize=3)
        axes.plot([0], [0], "o", color=COLORS[1])
    return drawing
