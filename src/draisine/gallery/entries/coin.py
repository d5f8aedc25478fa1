"""A coin that is spun on a table and settles (Euler's disk): rolling on its rim with resistance, then flat on its face.

What it shows: a wheel that opens, with dry resistance to rolling along its rim and to drilling, and a body that ends at rest on
its face. A disc that lies flat has no lowest point. So the coin has a bevel: below a lean of half a degree it stands on the six
corners of its face, which are contacts of their own.

What you should see: the center stays where it is while the coin rolls around, ever flatter and ever faster. Without resistance
it goes on forever, with the precession of a thin disc at the lean α; resistance with the lever arm δ takes the power δ m g σ,
with the rate σ of the contact along the rim, and the coin comes down in a finite time, as (t_f − t)^(2/3). At the end it slips,
lands on its face, rocks from corner to corner and lies still.

By hand: while the center rests, the angular velocity ω points along the diameter through the contact, ω = Ω sin α, and the
moment m g r cos α of the ground turns the angular momentum (m r²/4) ω with the precession Ω: Ω² = 4 g/(r sin α). The energy is
E = (3/2) m g r sin α, and with σ = Ω cos α it falls as slowly as

    d(sin α)/dt = −(2 δ/3 r) Ω cos α,   so   ∫ √(sin α) dα = (4 δ/3 r) √(g/r) (t_f − t).

H. K. Moffatt, Euler's disk and its finite-time singularity, Nature 404 (2000) 833–834; R. I. Leine, Experimental and theoretical
investigation of the energy dissipation of a rolling disk during its final stage of motion, Arch. Appl. Mech. 79 (2009)
1063–1082, whose "dry contour friction" has the exponent 2/3.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live, modes_of
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

RADIUS, GRAVITY, BEVEL, SLOPE, CORNERS = 0.0375, 9.81, 0.005, math.radians(0.5), 6


@live(start={"coin_z": RADIUS * math.sin(0.3), "coin_qw": math.cos(0.15), "coin_qx": math.sin(0.15), "coin_wy": 5.0})
def coin(corners: int = CORNERS) -> Model:
    """A thin disc on a table: its rim, and the corners of its face, touch and leave it."""
    m = Model("coin", "coin on a table, rolling on its rim and settling on its face")
    m.gravity(m.parameter("gravity", GRAVITY, "m/s^2"))
    mass, r = m.parameter("mass", 0.4, "kg"), m.parameter("radius", RADIUS, "m")
    m.parameter("friction", 0.6)
    m.parameter("rolling", 2e-5, "m", "lever arm of the resistance along the rim")
    m.parameter("drilling", 1e-5, "m", "lever arm of the resistance about the vertical")
    bevel, deep = m.parameter("bevel", BEVEL, "m", "width"), m.parameter("deep", BEVEL * math.tan(SLOPE), "m", "of the bevel")
    disc = m.body("coin", mass=mass, inertia=(mass * r**2 / 4, mass * r**2 / 4, mass * r**2 / 2))
    m.free(disc)
    m.wheel("rim", disc, r, axis="z", friction="friction", rolling_resistance="rolling", drilling_resistance="drilling")
    for k in range(corners):
        angle = 2 * math.pi * k / corners
        corner = m.point(f"corner_{k}", disc, ((r - bevel) * math.cos(angle), (r - bevel) * math.sin(angle), -deep))
        m.contact(f"face_{k}", corner, friction="friction")
    m.output("sine", f"(position_z(coin))/{RADIUS}", "", "sine of the lean while the coin rolls on its rim")
    return m


def precession(lean: float, radius: float = RADIUS, gravity: float = GRAVITY) -> float:
    """Ω of a thin disc whose center rests.

    >>> round(precession(math.radians(10)), 4)
    77.6272
    """
    return math.sqrt(4 * gravity / (radius * math.sin(lean)))


def rolling_in_place(lean: float) -> dict[str, float]:
    """The start of the motion in which the center rests: the coin leans about x, and turns about its own y."""
    start = dict.fromkeys(("coin_vx", "coin_vy", "coin_vz", "coin_wx", "coin_wz", "coin_qy", "coin_qz", "coin_x", "coin_y"), 0.0)
    start |= {"coin_z": RADIUS * math.sin(lean), "coin_qw": math.cos(lean / 2), "coin_qx": math.sin(lean / 2)}
    return start | {"coin_wy": precession(lean) * math.sin(lean)}


def comes_down(first: float, last: float, lever: float) -> float:
    """The time between two leans by the slow loss of energy, ∫ √(sin α) dα · (3 r/4 δ) √(r/g)."""
    leans = np.linspace(last, first, 2001)
    area = float(np.trapezoid(np.sqrt(np.sin(leans)), leans))
    return area * 3 * RADIUS / (4 * lever) * math.sqrt(RADIUS / GRAVITY)


@entry(level="First steps", film="settles", charts=("coin_z", "rim_rolling_resistance_rate_along"))
def coin_settles() -> Study:
    """A coin rolls in place with Ω² = 4g/(r sin α), comes down as (t_f − t)^(2/3), lands on its face and lies still."""
    model, lean, lever = coin(), math.radians(15), 2e-5
    tight = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
    ideal = {"rolling": 0.0, "drilling": 0.0}
    steady = dr.simulate(model, 1.0, start=rolling_in_place(lean), parameters=ideal, method=tight)
    assert steady.status.kind == "FINISHED", steady.status
    assert np.max(np.abs(steady["sine"] - math.sin(lean))) < 1e-9  # the lean stays, and the center rests
    place = np.hypot(steady["rim_contact_x"], steady["rim_contact_y"])
    turned = np.unwrap(np.arctan2(steady["rim_contact_y"], steady["rim_contact_x"]))
    rate = float((turned[-1] - turned[0]) / (steady.time[-1] - steady.time[0]))
    assert np.max(np.abs(place - RADIUS * math.cos(lean))) < 1e-9 and abs(abs(rate) / precession(lean) - 1) < 1e-8

    slow = {"rolling": lever, "drilling": 0.0}
    settles = dr.simulate(model, 9.0, start=rolling_in_place(lean), parameters=slow)
    assert settles.status.kind == "FINISHED", settles.status
    assert settles.energy_drift is not None and settles.energy_drift < 1e-7
    leans = np.radians([15.0, 6.0, 2.0])
    times = np.interp(-np.sin(leans), -settles["sine"], settles.time)
    expected = [comes_down(first, last, lever) for first, last in pairwise(leans.tolist())]
    off = np.diff(times) / expected - 1
    assert np.max(np.abs(off)) < 0.03  # the estimate keeps the center at rest, and the motion steady
    lies = modes_of(settles)[-1]
    assert abs(settles["coin_z"][-1] - BEVEL * math.tan(SLOPE)) < 1e-9 and settles["kinetic_energy"][-1] < 1e-20
    assert sum(mode == "stick" for name, mode in lies.modes.items() if name.startswith("face")) >= 3
    figures = {"settles": channel_figure(settles, "sine", "rim_rolling_resistance_rate_along", "total_energy")}
    findings = (
        f"at a lean of 15° the contact runs around with {abs(rate):.8f} rad/s; √(4g/(r sin α)) = {precession(lean):.8f}",
        f"from 15° to 6° in {times[1] - times[0]:.3f} s and to 2° in {times[2] - times[1]:.3f} s more; slow loss of energy: "
        f"{expected[0]:.3f} and {expected[1]:.3f} s",
        f"it lies still after {lies.time:.3f} s and {len(modes_of(settles))} changes of modes",
    )
    return Study("A coin that settles", {"settles": settles, "in_place": steady}, figures, findings)
