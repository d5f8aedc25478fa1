"""Length and friction of a pendulum that is posed as differential-algebraic equations of index 3, by three methods.

What it shows: a pendulum in Cartesian coordinates with its rod's tension as an unknown, 0 = F(t, x, ẋ), goes into `estimate` as
it stands: one run from the start, windows, and collocation. Starts of windows keep the rod's length, its rate and its second
derivative, which gives the tension; so two numbers tell a start of five unknowns.

What you should see: from 6 s of a marker seen every 50 ms to within 2 mm, intervals of ±0.02 % for the length and ±0.24 % for the
friction. All three methods find the same minimum and the same intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.outcome import Study

TRUTH = {"length": 1.3, "friction": 0.35}
GUESS = {"length": 1.5, "friction": 0.1}
NOISE = 2e-3  # m
MEASURED = {"marker_x": ("x", NOISE), "marker_z": ("z", NOISE)}


def friction_pendulum() -> dr.Equations:
    """A point on a rod with friction in the air; the tension over mass and length is an unknown."""
    x, z, v, w, tension = sp.symbols("x z v w tension")
    length, friction, gravity = sp.symbols("length friction gravity")
    return dr.semi_explicit(
        "friction_pendulum",
        {x: v, z: w, v: -tension * x - friction * v, w: -tension * z - gravity - friction * w},
        constraints={"rod": (x**2 + z**2 - length**2) / 2},
        unknowns=[tension],
        parameters={length: 1.3, friction: 0.35, gravity: 9.81},
        start={x: 1.0, z: -0.8},
    )


def filmed(until: float = 6.0, seed: int = 2) -> tuple[dr.Trajectory, dict[str, Any]]:
    """The swing, and where a camera saw the marker."""
    samples = round(20 * until) + 1
    run = dr.simulate(friction_pendulum(), until, start={"x": 1.0, "v": 0.0}, samples=samples)
    random = np.random.default_rng(seed)
    seen = {column: run[name] + NOISE * random.normal(size=samples) for column, (name, _) in MEASURED.items()}
    return run, {"time": run.time, **seen}


def identify(data: Any, method: Any = None) -> dr.Fit:
    """Length and friction; the start is found along."""
    unknown = list(TRUTH) if method is not None else [*TRUTH, "start.x", "start.v"]
    start = {"x": float(data["marker_x"][0]), "v": 0.0}
    return dr.estimate(friction_pendulum(), data, unknown, MEASURED, guess=GUESS, start=start, method=method)


def pendulum_friction_found(until: float = 6.0) -> Study:
    """Length and friction of a pendulum with its tension, by one run, by windows and by collocation."""
    run, data = filmed(until)
    one = identify(data)
    others = {"windows": identify(data, dr.MultipleShooting(1.0)), "collocation": identify(data, dr.Collocation("radau", 5, 60))}
    findings = [str(one)]
    for kind, fit in others.items():
        for name, value in TRUTH.items():
            assert abs(fit[name] - one[name]) < 0.01 * one.deviations[name], (kind, name)
            assert abs(fit.deviations[name] / one.deviations[name] - 1.0) < 1e-3
            assert abs(fit[name] - value) < 3.5 * fit.deviations[name]
        findings.append(f"{kind}: " + ", ".join(f"{n} {fit[n]:.7g} ± {fit.deviations[n]:.2g}" for n in TRUTH))
    figures = {"fit": one.plot(), "intervals": one.plot_intervals(TRUTH)}
    return Study("Friction of a pendulum with its tension", {"friction_pendulum": run}, figures, tuple(findings))
