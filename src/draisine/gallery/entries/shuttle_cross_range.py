"""Maximum cross-range of a shuttle, the vehicle of chapter 8.

What it shows: optimal control of a flight over the rotating Earth with bounds on load and angles. It is the shuttle of
`shuttle.py` (Brenan, Campbell & Petzold 1996; Thomsen 2005, chapter 8), with its aerodynamics, its atmosphere and its start:
100 000 ft, 12 000 ft/s, 1° down; but on the equator, flying east. Angle of attack and bank maximize the distance to the north,
at final conditions where a landing begins: 80 000 ft, 2500 ft/s, between level and 10° down.

    angle of attack  0 … 20°        bank  −89 … 89°         load (lift and drag)  at most 2.5 g
    flight path      −30 … 30°      altitude  0 … 60 km     duration  100 … 3000 s

What you should see: it first pulls up at the load limit to thin air; then it banks by 76° to the left, decreasing as the turn
completes, at the largest allowed angle of attack, since lift over drag still rises there. Altitude and bank oscillate with the
phugoid period. Near the end it dives and climbs again to the final altitude. It reaches 17.6° north, 1960 km from its first
plane.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.shuttle import CONSTANTS, DEGREE, FOOT, STATES, UNITS, H, V, alpha, controls, latitude, rates
from draisine.gallery.registry import Study, entry, live
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

MOST_LOAD, MOST_ATTACK = 2.5, 20 * DEGREE  # g, rad
START: dict[str, Any] = {
    "altitude": 100_000 * FOOT,
    "longitude": 0.0,
    "latitude": 0.0,
    "speed": 12_000 * FOOT,
    "path_angle": -1 * DEGREE,
    "azimuth": 90 * DEGREE,  # east
}


@live(pace=20.0)
def gliding_shuttle() -> dr.Equations:
    """A shuttle with angle of attack and bank as inputs, and load and cross-range as outputs."""
    radius, _, _, density, height, slope, mass, area = (sp.Symbol(name) for name in CONSTANTS)
    lift, pressure = slope * alpha, density * sp.exp(-H / height) * V**2 / 2
    drag = sp.Rational(4, 100) + lift**2 / 10
    outputs = {
        "pressure": pressure,
        "load": pressure * area * sp.sqrt(lift**2 + drag**2) / (mass * 9.80665),
        "cross_range": radius * latitude,
    }
    return dr.first_order(
        "gliding_shuttle",
        rates(),
        inputs=controls,
        parameters={sp.Symbol(symbol): value for symbol, value in CONSTANTS.items()},
        start={symbol: value for symbol, (_, value) in STATES.items()},
        outputs=outputs,
        units={**UNITS, **{name: unit for name, (unit, _) in STATES.items()}, "attack": "rad", "bank": "rad", "cross_range": "m"},
    )


@cache
def farthest() -> dr.optimal.Solution:
    """The solution from a guess of 800 s at 5° angle of attack and 45° bank to the left."""
    stated = dr.maneuver(gliding_shuttle()).start(**START)
    stated = stated.finish(altitude=80_000 * FOOT, speed=2500 * FOOT, path_angle=(-10 * DEGREE, 0.0))
    stated = stated.bounds(attack=(0, MOST_ATTACK), bank=(-89 * DEGREE, 89 * DEGREE), load=(None, MOST_LOAD))
    stated = stated.bounds(path_angle=(-30 * DEGREE, 30 * DEGREE), altitude=(0, 60_000)).duration(100, 3000)
    guess = dr.guess.LinearGuess(duration=800, inputs={"attack": 5 * DEGREE, "bank": -45 * DEGREE})
    return stated.minimize(final="-cross_range/1e6").solve(dr.optimal.Collocation("hermite-simpson", intervals=250), guess=guess)


def hamiltonian(found: dr.optimal.Solution) -> NDArray[np.float64]:
    """Costates times rates at the nodes, relative to the largest term: zero, since the final time is free and the system
    autonomous."""
    only = found.only
    nodes = only.rates / only.duration
    terms = only.costates * nodes
    return np.asarray(terms.sum(axis=1) / np.abs(terms).max())


@entry(level="Advanced")
def shuttle_lands_aside() -> Study:
    """Maximum cross-range of a shuttle within bounds of load, angle of attack and flight path."""
    found = farthest()
    run = found.trajectory
    assert found.converged and found.discrepancy < 1e-3
    assert run["load"].max() < 1.01 * MOST_LOAD and run["load"][0] > 0.99 * MOST_LOAD  # it pulls up as hard as it may
    assert np.abs(run["attack"]).max() < MOST_ATTACK + 0.01 * DEGREE
    assert run["bank"][: len(run.time) // 2].max() < 0  # to the left, north
    end = run.final
    assert abs(end["altitude"] - 80_000 * FOOT) < 20 and abs(end["speed"] - 2500 * FOOT) < 2
    assert abs(end["cross_range"] / 1e6 + found.objective) < 1e-3
    assert np.abs(hamiltonian(found)).max() < 1e-2 and np.median(np.abs(hamiltonian(found))) < 1e-3
    findings = (
        f"cross-range {end['cross_range'] / 1000:.1f} km ({math.degrees(end['latitude']):.2f}° north, "
        f"{math.degrees(end['longitude']):.2f}° east) after {found.duration:.1f} s",
        f"ends at {end['altitude'] / 1000:.3f} km with {end['speed']:.1f} m/s, "
        f"{math.degrees(end['path_angle']):.2f}° of flight path",
        f"largest load {run['load'].max():.3f} g, pressure {run['pressure'].max() / 1000:.0f} kPa; bank up to "
        f"{math.degrees(np.abs(run['bank']).max()):.0f}°",
        f"the simulated flight departs from the nodes by {found.discrepancy:.0e}; the Hamiltonian is zero to "
        f"{np.median(np.abs(hamiltonian(found))):.0e} of its terms (median)",
    )
    return Study("A shuttle lands far to the side", {"shuttle_aside": run}, {"flight": _flight(run)}, findings)


def _flight(run: dr.Trajectory) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.75 * PAGE)
        grid = drawing.add_gridspec(3, 2)
        ground = drawing.add_subplot(grid[:, 0])
        ground.axhline(0, color=FAINT, lw=1.0, ls="--")
        ground.text(9.5, 0.25, "equator", color=FAINT)
        ground.plot(np.degrees(run["longitude"]), np.degrees(run["latitude"]), color=COLORS[0])
        for t in np.arange(120, run.time[-1], 120):
            east, north = (math.degrees(float(np.interp(t, run.time, run[name]))) for name in ("longitude", "latitude"))
            ground.plot(east, north, "o", color=COLORS[0], ms=4)
            ground.annotate(f"{t / 60:g} min", (east, north), xytext=(6, -3), textcoords="offset points", fontsize=8, color=FAINT)
        ground.set_aspect("equal")
        ground.set_xlim(-1, 14)
        ground.set_xlabel("longitude [°]")
        ground.set_ylabel("latitude [°]")
        rows = (
            ("altitude [km]", "altitude", 1e-3, None),
            ("angle [°]", "attack", 1 / DEGREE, "angle of attack"),
            ("load [g]", "load", 1.0, None),
        )
        for k, (label, name, unit, legend) in enumerate(rows):
            axes = drawing.add_subplot(grid[k, 1])
            axes.plot(run.time, run[name] * unit, color=COLORS[k], label=legend)
            if legend:
                axes.plot(run.time, -run["bank"] / DEGREE, color=COLORS[3], label="bank to the left")
                legend_above(axes, 3.4)
            axes.set_ylabel(label)
            axes.margins(x=0)
        axes.set_xlabel("time [s]")
    return drawing
