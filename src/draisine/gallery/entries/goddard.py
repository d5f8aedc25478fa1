"""Goddard's rocket: maximum height with a given mass of fuel.

What it shows: a singular arc. Thrust enters linearly, which suggests bang-bang control; but in dense air a slower rocket loses
less to drag, and between full and zero thrust there is a singular arc. It is known in closed form: Φ = λᵥ/m − λₘ/c, the
switching function, vanishes along it, and with Φ̇ = 0 and H = 0 drag and weight are related by

    D (1 + v/c) = m g,     whose derivative along the motion gives the thrust (for D ∝ v² e^{−βh}, g ∝ 1/h²).

The numbers are the benchmark's (E. D. Dolan, J. J. Moré & T. S. Munson, Benchmarking Optimization Software with COPS 3.0,
2004, problem "rocket", after A. E. Bryson, Dynamic Optimization, 1999): lengths in radii of the Earth, g = 1 on the ground,
mass from 1 to 0.6, thrust up to 3.5, drag 310 v² e^{−500 (h − 1)}, exhaust speed 0.5. Published maximum heights on meshes of
the trapezoidal rule (MINLPLib, instances rocket100, 200 and 400): 1.0128319, 1.01283563, 1.01283634.

What you should see: full thrust, then a jump down to the singular arc with thrust rising, then coasting. One phase with the
thrust in a hundred steps finds this structure without prior knowledge: its motion satisfies D (1 + v/c) = m g. Three phases,
the middle one constrained to the arc, give a smooth thrust and the height 1.0128369.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

PUBLISHED = 1.01283634  # on 400 intervals
MOST, BURNT_OUT = 3.5, 0.6


def goddard_rocket() -> dr.Equations:
    """A rocket that rises vertically through air that thins out; units of the COPS benchmark."""
    h, v, m, thrust = sp.symbols("height speed mass thrust")
    exhaust = sp.Rational(1, 2)
    drag, gravity = 310 * v**2 * sp.exp(-500 * (h - 1)), 1 / h**2
    rates = {h: v, v: (thrust - drag) / m - gravity, m: -thrust / exhaust}
    balance = drag * (1 + v / exhaust) - m * gravity
    change = sum(sp.diff(balance, state) * rate for state, rate in rates.items())
    law = -change.subs(thrust, 0) / sp.diff(change, thrust)  # it is linear in the thrust
    outputs = {"drag": drag, "balance": balance, "singular_thrust": law}
    return dr.first_order("goddard_rocket", rates, inputs=[thrust], start={h: 1, v: 0, m: 1}, outputs=outputs)


@cache
def plain_ascent() -> dr.optimal.Solution:
    """One phase with bounded thrust and no knowledge of its structure."""
    stated = dr.maneuver(goddard_rocket()).start(height=1, speed=0, mass=1).finish(mass=BURNT_OUT)
    stated = stated.bounds(thrust=(0, MOST), speed=(0, None), mass=(BURNT_OUT, 1)).duration(0.05, 1).minimize(final="-height")
    return stated.solve(
        dr.optimal.Collocation(intervals=100, constant_controls=True),
        guess=dr.guess.LinearGuess(duration=0.2, inputs={"thrust": 1.75}),
    )


@cache
def ascent() -> dr.optimal.Solution:
    """Full thrust until the singular arc, along the arc until the fuel is used up, then coasting to the top."""
    rocket = dr.maneuver(goddard_rocket())
    full = rocket.start(height=1, speed=0, mass=1).inputs(thrust=MOST).finish("balance = 0").duration(0.005, 0.1)
    arc = rocket.controls("thrust").along(arc="thrust = singular_thrust").finish(mass=BURNT_OUT).duration(0.005, 0.2)
    coast = rocket.inputs(thrust=0).finish(speed=0).duration(0.02, 0.5).minimize(final="-height")
    return full.then(arc).then(coast).solve(dr.optimal.Collocation("gauss", 4, 8), guess=_simulated((0.022, 0.05, 0.12)))


def _simulated(durations: tuple[float, float, float]) -> list[dr.Trajectory]:
    """Initial guess by simulation, with durations from the one-phase solution."""
    place, runs = {"height": 1.0, "speed": 0.0, "mass": 1.0}, []
    laws: tuple[float | str, ...] = (MOST, "singular_thrust", 0.0)
    for duration, law in zip(durations, laws, strict=True):
        runs.append(dr.simulate(goddard_rocket(), duration, start=place, inputs={"thrust": law}))
        place = {name: float(runs[-1][name][-1]) for name in place}
    return runs


def switching(found: dr.optimal.Solution) -> NDArray[np.float64]:
    """Φ = λᵥ/m − λₘ/c at the nodes of one phase."""
    only = found.only
    mass = only.states_at(only.costate_times)[:, only.phase.kept.index("mass")]
    return np.asarray(only.costate("speed") / mass - 2 * only.costate("mass"))


@entry(level="Intermediate")
def rocket_climbs() -> Study:
    """Goddard's rocket reaches the published maximum height by full thrust, a singular arc and coasting."""
    plain, found = plain_ascent(), ascent()
    height, best = -plain.objective, -found.objective
    run = found.trajectory
    begin, end = found.phases[1].begin, found.phases[2].begin
    on_arc = (plain.time > begin + 0.004) & (plain.time < end - 0.004)
    off = float(np.abs(plain["balance"][on_arc]).max())
    assert plain.converged and plain.discrepancy < 1e-6 and found.converged and found.discrepancy < 1e-6
    assert 0 < best - PUBLISHED < 1e-6 and abs(height - PUBLISHED) < 1e-6
    assert 0 < best - height < 1e-6  # steps of the thrust cost a little
    assert off < 2e-3  # the one-phase solution satisfies the arc's condition, which it was not given
    findings = (
        f"height {best:.7f} by three phases, {height:.7f} by one with the thrust in 100 steps; published {PUBLISHED}",
        f"full thrust to t = {begin:.5f}, singular arc to t = {end:.5f}, top at t = {found.duration:.5f}",
        f"along the arc the plain solution has |D (1 + v/c) − m g| < {off:.0e}",
    )
    return Study("Goddard's rocket", {"goddard": run, "goddard_plainly": plain.trajectory}, {"ascent": _ascent()}, findings)


def _ascent() -> Any:
    plain, found = plain_ascent(), ascent()
    run = found.trajectory
    with style():
        drawing, (thrust, speed, height) = panels(3, PAGE, 0.8 * PAGE)
        for axes in (thrust, speed, height):
            axes.axvspan(found.phases[1].begin, found.phases[2].begin, color="0.93", lw=0)
        thrust.plot(plain.time, plain["thrust"], color=COLORS[1], lw=1.0, label="one phase, 100 steps")
        thrust.plot(*run.curve("thrust"), color=COLORS[0], label="three phases")
        thrust.plot([], [], color="0.93", lw=8, label="singular arc")
        thrust.set_ylabel("thrust [–]")
        speed.plot(*run.curve("speed"), color=COLORS[0], label="speed")
        speed.plot(*run.curve("drag"), color=COLORS[2], label="drag")
        speed.plot(*run.curve("mass"), color=FAINT, label="mass")
        speed.set_ylabel("value [–]")
        legend_above(speed, PAGE)
        height.plot(run.time, 1000 * (run["height"] - 1), color=COLORS[0])
        height.set_ylabel("height − 1 [10⁻³]")
        height.set_xlabel("time [–]")
        height.margins(x=0)
        legend_above(thrust, PAGE)
    return drawing
