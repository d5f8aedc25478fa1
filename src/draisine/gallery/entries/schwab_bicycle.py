"""The bicycle of Thomsen's lecture notes (2005), chapter 6: the earlier benchmark of Schwab, Meijaard & Papadopoulos (2005).

What it shows: the chapter's figures, 6.5 to 6.7: eigenvalues against speed, the root locus, and the responses to a lean or a
steer of π/10 at 5.6 m/s, a speed at which every small deviation decays. The chapter integrates linear equations; here the
nonlinear equations are integrated as well.

What you should see: weave becomes stable at 4.30 m/s and capsize unstable at 6.06 m/s. The linear model returns to upright from
both starts, with a few oscillations in the first two seconds and then slowly (the lean decays by a tenth each second), as in
the chapter. The nonlinear one does not: from π/10 it enters a tightening circle and falls. From up to 13° it recovers, and the
difference from the linear response is of third order in the initial value, by left-right symmetry.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.numerics.root_finding import bisect
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, PAGE, style

# what differs from the later benchmark; our axes (z up), so the product of inertia has the other sign
CHANGED = {
    "steer_axis_tilt": math.pi / 2 - math.atan(3.0),
    "ixx_rear_wheel": 0.06,
    "ixx_fork": 0.0546,
    "izz_fork": 0.0114,
    "ixz_fork": 0.0162,
    "ixx_front_wheel": 0.14,
}
SPEED, LEAN = 5.6, math.pi / 10


@live(start={"speed": 4.6, "roll_rate": 0.5})
def schwab_bicycle() -> Model:
    """The bicycle of Schwab, Meijaard & Papadopoulos 2005, of chapter 6 of Thomsen's lecture notes."""
    system = bicycle().freeze()
    parameters = tuple(p._replace(default=CHANGED.get(p.name, p.default)) for p in system.parameters)
    description = "Whipple–Carvallo bicycle, benchmark of Schwab, Meijaard & Papadopoulos 2005"
    return Model.of(replace(system, name="schwab_bicycle", description=description, parameters=parameters))


def linear_response(model: Model, start: dict[str, float], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """(lean, steer, rates) of the linear bicycle at 5.6 m/s."""
    from scipy.linalg import expm

    step = expm(dr.bicycle.whipple_matrices(model).matrix(SPEED) * (times[1] - times[0]))
    state = np.array([start.get("lean", 0.0), start.get("steer", 0.0), 0.0, 0.0])
    found = [state]
    for _ in times[1:]:
        found.append(step @ found[-1])
    return np.array(found)


def response(model: Model, start: dict[str, float], until: float) -> dr.Trajectory:
    """The nonlinear bicycle from given initial values, until it leans 50°: tires lose grip before that."""
    still = {"speed": SPEED, "lean": 0.0, "steer": 0.0, "roll_rate": 0.0, "steer_rate": 0.0}
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    lost = dr.Event("lost", "abs(lean) - 50*pi/180", "stop", description="lean passed 50°")
    return dr.simulate(model, until, start={**still, **start}, method=method, events=[lost], samples=int(until / 0.05) + 1)


@entry(level="Intermediate")
def schwab_bicycle_responds(until: float = 40.0) -> Study:
    """Chapter 6 of Thomsen's notes: root locus, and responses at 5.6 m/s; the linear model recovers, the nonlinear one falls."""
    model = schwab_bicycle()
    found = dr.modes(model, speed=np.linspace(0, 10, 401), states=("lean", "steer"))
    _, weave, capsize = found.critical()
    assert abs(weave.value - 4.301611037733) < 1e-11 and abs(capsize.value - 6.057011283544) < 1e-11

    times = np.linspace(0.0, until, int(until / 0.05) + 1)
    runs, figures = {}, {"eigenvalues": found.plot(), "root_locus": dr.view.root_locus(found, window=(-16.0, 7.0))}
    for name in ("lean", "steer"):
        linear = linear_response(model, {name: LEAN}, times)
        runs[f"{name}_large"] = response(model, {name: LEAN}, until)
        runs[f"{name}_small"] = response(model, {name: LEAN / 8}, until)
        runs[f"{name}_smaller"] = response(model, {name: LEAN / 16}, until)
        apart = [
            float(np.abs(runs[f"{name}_{size}"]["lean"] - linear[:, 0] * share).max())
            for size, share in (("small", 1 / 8), ("smaller", 1 / 16))
        ]
        assert 6.0 < apart[0] / apart[1] < 12.0, apart  # with the cube
        assert abs(linear[-1, 0]) < 0.05 * LEAN and runs[f"{name}_small"].status.complete
        assert runs[f"{name}_large"].status.kind == "EVENT"  # it is lost
        figures[f"response_to_{name}"] = _responses(times, linear, runs[f"{name}_large"], runs[f"{name}_small"])
    edge = _largest_lean(model)
    findings = (
        f"stable from {weave.value:.6f} to {capsize.value:.6f} m/s",
        f"from π/10 of lean the linear bicycle comes back; the whole one leans 50° after {runs['lean_large'].time[-1]:.1f} s",
        f"from π/10 of steer it does so after {runs['steer_large'].time[-1]:.1f} s",
        f"the whole bicycle comes back from a lean of {math.degrees(edge[0]):.1f}°, not from {math.degrees(edge[1]):.1f}°",
    )
    return Study("The bicycle of chapter 6", runs, figures, findings)


def _largest_lean(model: Model) -> tuple[float, float]:
    """A lean from which the nonlinear bicycle recovers at 5.6 m/s, and a slightly larger one from which it does not."""

    def comes_back(lean: float) -> bool:
        run = response(model, {"lean": lean}, 40.0)
        return run.status.complete and abs(float(run["lean"][-1])) < 0.5 * lean

    return bisect(comes_back, LEAN / 8, LEAN, 5)


def _responses(times: NDArray[np.float64], linear: NDArray[np.float64], large: dr.Trajectory, small: dr.Trajectory) -> Any:
    with style():
        drawing, both = panels(2, PAGE, 0.7 * PAGE)
        for axes, name, column in zip(both, ("lean", "steer"), (0, 1), strict=True):
            axes.plot(times, np.degrees(linear[:, column]), color=COLORS[0], label="linear, π/10")
            axes.plot(large.time, np.degrees(large[name]), color=COLORS[1], label="whole, π/10")
            axes.plot(times, np.degrees(linear[:, column]) / 8, "--", color=COLORS[2], label="linear, π/80")
            axes.plot(small.time, np.degrees(small[name]), color=COLORS[3], label="whole, π/80")
            axes.set_ylabel(f"{name} [°]")
        both[1].set_xlabel("time [s]")
        legend_above(both[0], PAGE)
    return drawing
