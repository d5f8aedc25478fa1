"""The double integrator: a trolley driven by a bounded force comes to rest at a given position in minimum time.

What it shows: the smallest problem of optimal control, with its solution in closed form: bang-bang control with one switch. The
switch is the boundary between two phases of free duration, so that it is found exactly; on a single mesh it falls on a mesh
point or is smeared over one interval.

What you should see: from five starts the motions in the phase plane follow parabolas to the curve x = −v |v| / 2 and along it
to rest. Each takes the exact minimum time to 1e-6. The costate of the speed is the switching function: a straight line whose
zero is the switch.

From (x, v), with σ the sign of x + v |v| / 2, the least time is T = σ v + 2 √(v²/2 + σ x): first the force −σ, then σ.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import COLORS, FAINT, PAGE

STARTS = ((-1.0, 0.0), (1.7, 0.0), (0.5, 1.2), (-0.3, 1.0), (-1.2, -0.8))  # m, m/s


def double_integrator() -> dr.Equations:
    """A trolley of one kilogram on a level rail, pushed by a force."""
    x, v, force = sp.symbols("x v force")
    return dr.first_order("double_integrator", {x: v, v: force}, inputs=[force], units={x: "m", v: "m/s", force: "N"})


def least_time(x: float, v: float) -> float:
    """To rest at zero with a force between −1 and 1 N, in closed form."""
    side = math.copysign(1.0, x + v * abs(v) / 2)
    return side * v + 2 * math.sqrt(v * v / 2 + side * x)


@cache
def parked(x: float, v: float) -> dr.optimal.Solution:
    """Two phases, each with a constant force between the bounds; forces and durations are found.

    The initial guess is simulated: nine tenths of the force for two seconds one way, then the other way.
    """
    model = double_integrator()
    push = -math.copysign(0.9, x + v * abs(v) / 2)
    first = dr.simulate(model, 2.0, start={"x": x, "v": v}, inputs={"force": push})
    second = dr.simulate(model, 2.0, start={"x": first["x"][-1], "v": first["v"][-1]}, inputs={"force": -push})
    trolley = dr.maneuver(model).bounds(force=(-1, 1)).duration(0.3, 5).minimize("time")
    stated = trolley.start(x=x, v=v).then(trolley.finish(x=0, v=0))
    return stated.solve(dr.optimal.Collocation(intervals=1, constant_controls=True), guess=[first, second])


@cache
def parked_plainly() -> dr.optimal.Solution:
    """One phase from −1 m: the switch is in the middle, on a mesh point."""
    trolley = dr.maneuver(double_integrator()).bounds(force=(-1, 1)).minimize("time")
    stated = trolley.start(x=-1, v=0).finish(x=0, v=0)
    return stated.solve(dr.optimal.Collocation(intervals=10), solver=dr.optimal.Ipopt(tolerance=1e-10))


@entry(level="First steps")
def trolley_parks() -> Study:
    """A trolley comes to rest in the least time from five starts: full force, one switch, to 1e-6 of the closed form."""
    found = {start: parked(*start) for start in STARTS}
    for (x, v), solution in found.items():
        assert solution.solved and solution.discrepancy < 1e-6
        assert abs(solution.duration / least_time(x, v) - 1) < 1e-6, (x, v, solution.duration)
    plain = parked_plainly()
    assert plain.discrepancy < 1e-6 and abs(plain.duration / 2 - 1) < 1e-6
    slope = np.polyfit(plain.only.costate_times, plain.only.costate("v"), 1)
    zero = -slope[1] / slope[0]
    assert (
        abs(zero - 1) < 0.03 and slope[0] > 0.9
    )  # the switching function changes sign with the force, to a third of an interval

    findings = (
        *(
            f"from x = {x:+.1f} m, v = {v:+.1f} m/s: {s.duration:.7f} s, by hand {least_time(x, v):.7f} s, switch after "
            f"{s.phases[0].duration:.6f} s"
            for (x, v), s in found.items()
        ),
        f"one phase of 10 intervals from −1 m: {plain.duration:.7f} s; the costate of the speed vanishes at {zero:.4f} s",
    )
    runs = {f"parks_{i}": s.trajectory for i, s in enumerate(found.values(), 1)}
    return Study("A trolley parks in the least time", runs, {"phase_plane": _plane(found)}, findings)


def _plane(found: dict[tuple[float, float], dr.optimal.Solution]) -> Any:
    with single_panel("x [m]", "v [m/s]", width=0.8 * PAGE, height=0.6 * PAGE) as (drawing, axes):
        v = np.linspace(-1.8, 1.8, 301)
        axes.plot(-v * np.abs(v) / 2, v, color=FAINT, ls="--", lw=1.0, label="x = −v |v| / 2, where the force switches")
        for side, text in ((1, "push back"), (-1, "push ahead")):
            axes.text(1.3 * side, 1.45 * side, text, color=FAINT, ha="center")
        for k, ((x, speed), solution) in enumerate(found.items()):
            run = solution.trajectory
            axes.plot(run["x"], run["v"], color=COLORS[k])
            middle = len(run.time) // 5
            step = (run["x"][middle + 1] - run["x"][middle], run["v"][middle + 1] - run["v"][middle])
            axes.quiver(
                run["x"][middle], run["v"][middle], *step, color=COLORS[k], angles="xy", width=0.006, headwidth=5, pivot="mid"
            )
            axes.plot(x, speed, "o", color=COLORS[k], ms=5)
        axes.plot(0, 0, "o", color="black", ms=6)
        axes.set_xlim(-1.9, 2.0)
    return drawing
