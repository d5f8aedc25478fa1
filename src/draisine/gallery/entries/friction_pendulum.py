"""Estimation of length and friction of a pendulum given as a differential-algebraic system of index 3, by three methods.

What it shows: a pendulum in Cartesian coordinates with its rod's tension as an unknown, 0 = F(t, x, ẋ), is passed to `estimate`
unchanged: single shooting, multiple shooting and collocation. Starts of windows satisfy the rod's constraint and its first two
derivatives, of which the second gives the tension; so two numbers determine a start of five unknowns.

What you should see: from 6 s of a marker seen every 50 ms to within 2 mm, intervals of ±0.02 % for the length and ±0.24 % for
the friction. All three methods find the same minimum and the same intervals. With these estimates, a smoother on the same
equations gives the tension, which is not measured, to within a thousandth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style

TRUTH = {"length": 1.3, "friction": 0.35}
GUESS = {"length": 1.5, "friction": 0.1}
NOISE = 2e-3  # m
MEASURED = {"marker_x": ("x", NOISE), "marker_z": ("z", NOISE)}


def friction_pendulum() -> dr.Equations:
    """A point on a rod with friction in the air; the tension over mass and length is an unknown."""
    x, z, v, w, tension = sp.symbols("x z v w tension")
    length, friction, gravity = sp.symbols("length friction gravity")
    return dr.symbolic.semi_explicit(
        "friction_pendulum",
        {x: v, z: w, v: -tension * x - friction * v, w: -tension * z - gravity - friction * w},
        constraints={"rod": (x**2 + z**2 - length**2) / 2},
        unknowns=[tension],
        parameters={length: 1.3, friction: 0.35, gravity: 9.81},
        start={x: 1.0, z: -0.8},
    )


def filmed(until: float = 6.0, seed: int = 2) -> tuple[dr.Trajectory, dict[str, Any]]:
    """The run, and the marker positions measured by a camera."""
    samples = round(20 * until) + 1
    fine = dr.methods.Radau(rtol=1e-10, atol=1e-12)
    run = dr.simulate(friction_pendulum(), until, start={"x": 1.0, "v": 0.0}, samples=samples, method=fine)
    random = np.random.default_rng(seed)
    seen = {column: run[name] + NOISE * random.normal(size=samples) for column, (name, _) in MEASURED.items()}
    return run, {"time": run.time, **seen}


def identify(data: Any, method: Any = None) -> dr.estimation.Fit:
    """Length and friction; the initial state is estimated too."""
    unknown = [*TRUTH, "start.x", "start.v"]
    start = {"x": float(data["marker_x"][0]), "v": 0.0}
    return dr.estimate(friction_pendulum(), data, unknown, MEASURED, guess=GUESS, start=start, method=method)


@entry(level="Intermediate")
def pendulum_friction_found(until: float = 6.0) -> Study:
    """Length and friction of a pendulum by single shooting, multiple shooting and collocation."""
    run, data = filmed(until)
    one = identify(data)
    others = {
        "windows": identify(data, dr.optimal.MultipleShooting(window=1.0)),
        "collocation": identify(data, dr.optimal.Collocation("radau", 5, 60)),
    }
    findings = [str(one)]
    for kind, fit in others.items():
        for name, value in TRUTH.items():
            assert abs(fit[name] - one[name]) < 0.01 * one.deviations[name], (kind, name)
            assert abs(fit.deviations[name] / one.deviations[name] - 1.0) < 1e-3
            assert abs(fit[name] - value) < 3.5 * fit.deviations[name]
        findings.append(f"{kind}: " + ", ".join(f"{n} {fit[n]:.7g} ± {fit.deviations[n]:.2g}" for n in TRUTH))
    reported = dr.filter(
        friction_pendulum(),
        data,
        measured=MEASURED,
        parameters={name: one[name] for name in TRUTH},
        start={"x": one["start.x"], "v": one["start.v"]},
        spread={"x": 5 * one.deviations["start.x"], "v": 5 * one.deviations["start.v"]},
        smooth=True,
    )
    error = reported["tension"] - run["tension"]
    assert np.abs(error).max() < 0.02 * run["tension"].max() and np.abs(reported.best.run.residuals).max() < 1e-9
    assert str(reported.consistency.verdict) == "consistent"
    findings.append(
        f"tension smoothed: off by {np.sqrt(np.mean(error**2)):.2g} 1/s² of {run['tension'].mean():.3g}, innovations "
        f"{reported.consistency.together.mean:.3f} of what they should be"
    )
    figures = {
        "fit": one.plot(),
        "intervals": one.plot_intervals(TRUTH),
        "found": _picture(run, data, reported, {"one run": one, **others}),
    }
    return Study("Friction of a pendulum with its tension", {"friction_pendulum": run}, figures, tuple(findings))


def _picture(run: dr.Trajectory, data: Any, reported: dr.estimation.FilterResult, fits: dict[str, dr.estimation.Fit]) -> Any:
    """The marker, the tension, and the estimates of each method."""
    with style():
        drawing = new_figure(PAGE, 1.05 * PAGE)
        grid = drawing.add_gridspec(4, 2, height_ratios=[1.2, 0.8, 0.8, 0.8])
        marker = drawing.add_subplot(grid[0, :])
        tension, error = (drawing.add_subplot(grid[row, :], sharex=marker) for row in (1, 2))
        for k, (column, (name, _)) in enumerate(MEASURED.items()):
            marker.plot(data["time"], data[column], ".", color=COLORS[k], ms=4)
            marker.plot(reported.time, reported[name], color=COLORS[k], lw=1.0, label=f"{name}, seen and found")
        marker.set_ylabel("marker [m]")
        legend_above(marker, PAGE)
        tension.plot(reported.time, reported["tension"], color=COLORS[0], lw=1.0)
        tension.set_ylabel("tension/(m l) [1/s²]")
        half = 1.96 * reported.deviation("tension")
        error.fill_between(reported.time, -1e3 * half, 1e3 * half, color=COLORS[0], alpha=0.25, lw=0, label="95 %")
        error.plot(
            reported.time, 1e3 * (reported["tension"] - run["tension"]), color=COLORS[0], lw=1.0, label="smoothed less truth"
        )
        error.set_ylabel("its error [10⁻³/s²]")
        error.set_xlabel("time [s]")
        legend_above(error, PAGE)
        for k, (name, truth) in enumerate(TRUTH.items()):
            axes = drawing.add_subplot(grid[3, k])
            for row, fit in enumerate(fits.values()):
                low, high = fit.interval(name)
                axes.plot([low, high], [row, row], color=COLORS[0], lw=2.0, solid_capstyle="butt")
                axes.plot(fit[name], row, "o", color=COLORS[0], ms=4)
            axes.axvline(truth, color=FAINT, lw=1.0)
            axes.locator_params(axis="x", nbins=4)
            axes.set_yticks(range(len(fits)), list(fits) if k == 0 else [""] * len(fits))
            axes.set_ylim(len(fits) - 0.5, -0.5)
            axes.set_xlabel(f"{name} [{'m' if name == 'length' else '1/s'}]")
    return drawing
