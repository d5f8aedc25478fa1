"""Atwood's machine: two weights on a cable over a pulley, without and with one of them swinging.

What it shows: a cable as one residual, Σ distances = length, and its tension as the multiplier. In the plain machine (G.
Atwood, 1784) the heavier weight falls by g (M − m)/(M + m). In the swinging one the lighter weight is a pendulum whose length
changes as the heavier one moves (N. Tufillaro, T. Abbott & D. Griffiths, Am. J. Phys. 52, 1984): the cable tension of the
swinging weight exceeds its weight and can carry one three times as heavy.

What you should see: chaos for most mass ratios. For M = 3 m the system is integrable: there is a second conserved quantity
besides the energy (N. Tufillaro, 1986), and a weight thrown from the pulley returns to it on a teardrop-shaped loop.

By hand, r and θ the distance of the swinging weight from the pulley and its angle from straight below:

    ½ M ṙ² + ½ m (ṙ² + r² θ̇²) + g r (M − m cos θ) = E
    (M + m) r̈ = m r θ̇² + g (m cos θ − M),   r θ̈ + 2 ṙ θ̇ + g sin θ = 0,   tension T = M (g + r̈)
    for M = 3 m also    r² θ̇ (ṙ cos ½θ − ½ r θ̇ sin ½θ) + g r² sin ½θ cos² ½θ = I
"""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr
from draisine.expr.expression import Name, Number
from draisine.gallery.registry import Study, entry
from draisine.model.items import Translate
from draisine.model.joints import length
from draisine.model.model import Model
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import COLORS, PAGE, style
from draisine.view.plots.trajectories import channel_figure


def atwood() -> Model:
    """Two weights on a cable over a massless pulley."""
    m = Model("atwood", "two weights on a cable over a pulley")
    masses = {"heavy": m.parameter("m_heavy", 3.0, "kg"), "light": m.parameter("m_light", 2.0, "kg")}
    m.parameter("l_cable", 2.2, "m", "with 20 cm on the pulley")
    for (weight, mass), side in zip(masses.items(), (-0.1, 0.1), strict=True):
        body = m.body(weight, mass=mass)
        m.prismatic(f"{weight}_height", "ground", body, "z", at=(side, 0, 0), default=-1.0, span=(-2.0, -0.1))
        m.point(f"{weight}_side", "ground", (side, 0, 0))
    m.cable("cable", ["heavy", "heavy_side", "light_side", "light"], "l_cable")
    return m


def swinging_atwood() -> Model:
    """A hanging weight and a swinging one of a third of its mass, on one cable over a pulley of zero radius."""
    m = Model("swinging_atwood", "a weight that hangs and one that swings, on one cable over a pulley")
    heavy, light = m.parameter("m_heavy", 3.0, "kg"), m.parameter("m_light", 1.0, "kg")
    m.parameter("l_cable", 5.0, "m", "both sides together")
    m.prismatic("weight_height", "ground", m.body("weight", mass=heavy), "z", default=-4.0, span=(-4.9, -1.0))
    place = Translate((Name("bob_x"), Number(0.0), Name("bob_z")))
    where = [length("bob_x", span=(-2, 2)), length("bob_z", default=-1.0, span=(-2, 2))]
    m.joint("bob_motion", "ground", m.body("bob", mass=light), [place], where)
    m.cable("cable", ["weight", "ground", "bob"], "l_cable")
    m.output("r", "distance(ground, bob)", "m", "of the swinging weight from the pulley")
    m.output("angle", "atan2(bob_x, -bob_z)", "rad", "of the swinging weight from straight below")
    m.output("r_rate", "rate(r)", "m/s")
    m.output("angle_rate", "(bob_z*bob_x_rate - bob_x*bob_z_rate)/(-(bob_x^2 + bob_z^2))", "rad/s")
    m.output(
        "second_integral",
        "abs(r^2*angle_rate*(r_rate*cos(angle/2) - r*angle_rate*sin(angle/2)/2) + 9.81*r^2*sin(angle/2)*cos(angle/2)^2)",
        "m^3/s^2",
        "constant for masses as 3 to 1; without its sign, which depends on the turn in which the angle is counted",
    )
    return m


def at_rest(r: float, angle: float, cable: float = 5.0) -> dict[str, float]:
    """Initial conditions with the swinging weight at rest at this distance and angle."""
    return {"bob_x": r * np.sin(angle), "bob_z": -r * np.cos(angle), "weight_height": r - cable}


@entry(level="First steps", film="ordered")
def swinging_atwood_loops(until: float = 20.0) -> Study:
    """A swinging weight carries one three times as heavy: a second integral, integrable and chaotic motion, a teardrop orbit."""
    model, method = swinging_atwood(), dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    ordered = dr.simulate(model, until, start=at_rest(1.0, np.pi / 2), method=method, samples=3001)
    other = {"m_heavy": 2.6}
    wild = dr.simulate(model, until, start=at_rest(1.0, np.pi / 2), parameters=other, method=method, samples=3001)
    # From its lowest point, straight below, both ways back to the pulley: the second half is the mirror image of the first.
    thrown = {**at_rest(1.0, 0.0), "bob_x_rate": 1.5, "bob_z_rate": 0.0}
    arrives = dr.Event("at the pulley", "r - 0.02", "stop", -1)
    teardrop = dr.simulate(model, 5.0, start=thrown, method=method, events=[arrives], samples=1001)

    for run in (ordered, wild):
        assert run.status.complete, run.status
        assert run.energy_drift is not None and run.energy_drift < 1e-9
    assert teardrop.events and teardrop.events[-1].name == "at the pulley"
    kept = float(np.ptp(ordered["second_integral"]))
    lost = float(np.ptp(wild["second_integral"]))
    assert kept < 1e-7 and lost > 1.0, (kept, lost)
    assert np.max(np.abs(teardrop["second_integral"])) < 1e-8
    assert np.max(ordered["cable_multiplier"]) < 0  # always taut

    figures = {
        "orbits": _orbits(ordered, wild, teardrop),
        "ordered": channel_figure(ordered, "r", "angle", "second_integral"),
    }
    findings = (
        f"M = 3 m: second integral {ordered['second_integral'][0]:.4f} kept within {kept:.0e} over {until:g} s",
        f"M = 2.6 m: it wanders over {lost:.1f} m³/s²",
        f"teardrop: back at the pulley after {2 * teardrop.time[-1]:.4f} s, under {np.degrees(teardrop['angle'][-1]):.2f}°",
        f"tension between {-ordered['cable_multiplier'].max():.2f} and {-ordered['cable_multiplier'].min():.2f} N",
    )
    runs = {"ordered": ordered, "wild": wild, "teardrop": teardrop}
    return Study("Swinging Atwood machine", runs, figures, findings)


def _orbits(ordered: dr.Trajectory, wild: dr.Trajectory, teardrop: dr.Trajectory) -> Any:
    """Orbits of the swinging weight in its plane, side by side."""
    with style():
        drawing = new_figure(PAGE, 0.45 * PAGE)
        axes = drawing.subplots(1, 3)
        mirrored = np.concatenate([-teardrop["bob_x"][::-1], teardrop["bob_x"]])
        drop = (mirrored, np.concatenate([teardrop["bob_z"][::-1], teardrop["bob_z"]]))
        ways = (("M = 3 m", ordered["bob_x"], ordered["bob_z"]), ("M = 2.6 m", wild["bob_x"], wild["bob_z"]), ("teardrop", *drop))
        for panel, (title, x, z) in zip(axes, ways, strict=True):
            panel.plot(x, z, color=COLORS[0], linewidth=0.8)
            panel.plot([0], [0], "o", color=COLORS[1], markersize=3)
            panel.set_title(title)
            panel.set_aspect("equal")
            panel.set_xlabel("x [m]")
        axes[0].set_ylabel("z [m]")
    return drawing
