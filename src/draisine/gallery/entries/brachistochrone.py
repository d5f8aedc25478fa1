"""The brachistochrone: the wire of least time of descent (Johann Bernoulli, 1696).

What it shows: the slope of the wire as a control. A bead slides from rest without friction to a point 2 m away and 1.5 m below;
the slope that minimizes the time is sought.

What you should see: the wire begins straight down, and is the cycloid x = r (θ − sin θ), drop = r (1 − cos θ), on which the
bead is at θ = t √(g/r); its time, θ₁ √(r/g), is reached to 1e-7. The straight wire takes 15 % longer. Dots are a twentieth of
the least time apart. The Hamiltonian, one plus costates times rates, is zero throughout, as it must be for a free final time
and an autonomous system.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.numerics.root_finding import bracketed_root
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, FAINT, PAGE

ACROSS, DOWN, GRAVITY = 2.0, 1.5, 9.81  # m, m, m/s²


def bead_on_wire() -> dr.Equations:
    """A bead that slides without friction on a wire whose slope is the control."""
    x, drop, speed, slope, g = sp.symbols("x drop speed slope gravity")
    return dr.first_order(
        "bead_on_wire",
        {x: speed * sp.cos(slope), drop: speed * sp.sin(slope), speed: g * sp.sin(slope)},
        inputs=[slope],
        parameters={g: GRAVITY},
        units={x: "m", drop: "m", speed: "m/s", slope: "rad", g: "m/s^2"},
    )


def cycloid(across: float = ACROSS, down: float = DOWN) -> tuple[float, float]:
    """Radius of the generating circle of the cycloid through (across, down), and its angle there."""
    angle = bracketed_root(lambda a: (a - math.sin(a)) / (1 - math.cos(a)) - across / down, 1e-3, 2 * math.pi - 1e-3)
    return down / (1 - math.cos(angle)), float(angle)


@cache
def quickest() -> dr.optimal.Solution:
    """Radau collocation of order 7 on twenty intervals, from a wire at 40° and one second as initial guess."""
    stated = dr.maneuver(bead_on_wire()).start(x=0, drop=0, speed=0).finish(x=ACROSS, drop=DOWN)
    stated = stated.bounds(slope=(-1.5, 1.6)).duration(0.1, 5).minimize("time")
    return stated.solve(dr.optimal.Collocation("radau", 4, 20), guess=dr.guess.LinearGuess(duration=1.0, inputs={"slope": 0.7}))


def hamiltonian(found: dr.optimal.Solution) -> NDArray[np.float64]:
    """The Hamiltonian at the nodes."""
    only = found.only
    x, drop, speed = (only.costate(name) for name in ("x", "drop", "speed"))
    v, slope = only.states_at(only.costate_times)[:, only.phase.kept.index("speed")], only.input("slope")
    total = 1 + v * (x * np.cos(slope) + drop * np.sin(slope)) + speed * GRAVITY * np.sin(slope)
    return np.asarray(total)


@entry(level="First steps")
def brachistochrone() -> Study:
    """The wire of least time is the cycloid, to 1e-7 of its time."""
    found = quickest()
    radius, angle = cycloid()
    exact, straight = angle * math.sqrt(radius / GRAVITY), math.sqrt(2 * (ACROSS**2 + DOWN**2) / (GRAVITY * DOWN))
    run, turned = found.trajectory, found.time * math.sqrt(GRAVITY / radius)
    off = max(
        float(np.abs(run["x"] - radius * (turned - np.sin(turned))).max()),
        float(np.abs(run["drop"] - radius * (1 - np.cos(turned))).max()),
    )
    assert found.converged and found.discrepancy < 1e-6
    assert abs(found.duration / exact - 1) < 1e-6, (found.duration, exact)
    assert off < 1e-5, off
    assert np.abs(hamiltonian(found)).max() < 1e-5
    findings = (
        f"least time {found.duration:.8f} s, of the cycloid {exact:.8f} s, of the straight wire {straight:.4f} s",
        f"the simulated bead is within {off:.0e} m of the cycloid of radius {radius:.6f} m, and departs from the nodes by "
        f"{found.discrepancy:.0e}",
        f"the Hamiltonian is zero to {np.abs(hamiltonian(found)).max():.0e}",
    )
    figures = {"wire": _wires(found, radius, angle, straight)}
    return Study("Brachistochrone", {"brachistochrone": run}, figures, findings)


def _wires(found: dr.optimal.Solution, radius: float, angle: float, straight: float) -> Any:
    with single_panel("x [m]", "height [m]", width=0.8 * PAGE, height=0.62 * PAGE, equal=True) as (drawing, axes):
        a = np.linspace(0, angle, 200)
        axes.plot(radius * (a - np.sin(a)), -radius * (1 - np.cos(a)), color=FAINT, lw=4, alpha=0.5, label="cycloid")
        run = found.trajectory
        axes.plot(run["x"], -run["drop"], color=COLORS[0], label=f"wire of least time, {found.duration:.4f} s")
        axes.plot([0, ACROSS], [0, -DOWN], color=COLORS[1], label=f"straight wire, {straight:.4f} s")
        for t in np.linspace(0, 1, 21) * found.duration:
            axes.plot(np.interp(t, run.time, run["x"]), -np.interp(t, run.time, run["drop"]), "o", color=COLORS[0], ms=4)
            part = (t / straight) ** 2
            axes.plot(part * ACROSS, -part * DOWN, "o", color=COLORS[1], ms=4)
    return drawing
