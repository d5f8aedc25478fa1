"""The draining tank of Thomsen's lecture notes (2005, chapter 7): estimation of the outlet area from the outflow.

What it shows: estimation of the parameter of a small model, with a valid confidence interval. The notes' Newton method leaves
out how the level depends on the parameter, (7.2.10), and finds θ = 0.230 to 0.241 for 1/√(2g) = 0.2258, whatever the noise.
Here the derivatives are exact, the error is that of the noise, and the interval reflects it.

What you should see: without noise θ to ten digits; with the notes' noises of 1e-4, 5e-4 and 1e-3 (tables 7.1 to 7.3), five data
sets each, errors of about the standard deviation found, and nearly all of the 95 % intervals holding the truth.

Not given in the notes, and chosen here: the flow into the tank rises and falls between 0.2 and 0.8 m³/s in straight lines, and
the level begins at 1 m. The tank never runs empty: √h has no derivative there.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

import draisine as dr
from draisine.gallery.registry import Study, entry

THETA = 1.0 / math.sqrt(2.0 * 9.81)
NOISES = {"7.1": 1e-4, "7.2": 5e-4, "7.3": 1e-3}
NOTES = {"7.1": (0.2406, 0.2303), "7.2": (0.2406, 0.2302), "7.3": (0.2401, 0.2303)}  # first rows of the notes' tables
TIMES = np.linspace(0.0, 10.0, 101)


def draining_tank() -> dr.Equations:
    """A tank of unit cross section with a free outlet of area θ (Thomsen 2005, chapter 7)."""
    h, theta, gravity, u = sp.symbols("h theta gravity u")
    outflow = theta * sp.sqrt(2 * gravity * h)
    return dr.first_order(
        "draining_tank",
        {h: u - outflow},
        parameters={theta: 0.2, gravity: 9.81},
        inputs=[u],
        outputs={"q": outflow},
        start={h: 1.0},
        units={h: "m", theta: "m^2", gravity: "m/s^2", u: "m^3/s", "q": "m^3/s"},
    )


def inflow(t: Any) -> Any:
    """Triangle wave between 0.2 and 0.8 m³/s with corners every two seconds."""
    return np.interp(t, np.arange(0.0, 12.0, 2.0), [0.5, 0.8, 0.2, 0.8, 0.2, 0.5])


@lru_cache(maxsize=1)
def _exact() -> Any:
    """The outflow of the true tank, integrated between the corners of the inflow."""
    tank, corners = draining_tank(), np.arange(0.0, 12.0, 2.0)
    level, flow = 1.0, []
    for begin, end in pairwise(corners.tolist()):
        a, b = float(inflow(begin)), float(inflow(end))
        near = (begin - 1e-9 <= TIMES) & (end + 1e-9 >= TIMES)
        times = TIMES[near] - begin
        run = dr.simulate(
            tank,
            2.0,
            start={"h": level},
            parameters={"theta": THETA},
            inputs={"u": f"{a!r} + {(b - a) / 2!r}*t"},
            samples=np.clip(times, 0.0, 2.0),
            method=dr.methods.DOP853(rtol=1e-13, atol=1e-15),
        )
        flow.append(run["q"][0 if begin == 0.0 else 1 :])
        level = float(run["h"][-1])
    return np.concatenate(flow)


def experiment(noise: float, seed: int = 0) -> dict[str, Any]:
    """Measurements of a flow meter with this noise."""
    random = np.random.default_rng(seed)
    return {"time": TIMES, "outflow": _exact() + noise * random.normal(size=len(TIMES)), "inflow": inflow(TIMES)}


def identify(data: Any, noise: float | None = None) -> dr.estimation.Fit:
    """θ from the flow out of the tank."""
    measured = {"outflow": "q" if noise is None else ("q", noise)}
    return dr.estimate(draining_tank_once(), data, {"theta": (0.05, 1.0)}, measured, start={"h": 1.0}, inputs={"u": "inflow"})


@lru_cache(maxsize=1)
def draining_tank_once() -> dr.Equations:
    """The tank, derived once for many fits."""
    return draining_tank()


@entry(level="First steps")
def tank_outlet_found(sets: int = 5) -> Study:
    """The outlet of a draining tank from noisy outflow, where the estimates in the notes are 2 to 6 % off."""
    exact = identify(experiment(0.0))
    assert abs(exact["theta"] / THETA - 1.0) < 1e-8
    findings = [f"without noise: θ = {exact['theta']:.10f}, {exact['theta'] / THETA - 1.0:+.1e} from 1/√(2g) = {THETA:.10f}"]
    covered, total = 0, 0
    last = exact
    for k, (table, noise) in enumerate(NOISES.items()):
        fits = [identify(experiment(noise, seed=100 * k + seed), noise) for seed in range(1, sets + 1)]
        errors = [fit["theta"] - THETA for fit in fits]
        inside = sum(low <= THETA <= high for low, high in (fit.interval("theta") for fit in fits))
        covered, total, last = covered + inside, total + sets, fits[-1]
        assert max(abs(e) for e in errors) < 4.5 * fits[0].deviations["theta"]
        findings.append(
            f"table {table}, noise {noise:g}: θ off by {max(map(abs, errors)):.1e} at most, standard deviation "
            f"{fits[0].deviations['theta']:.1e}, {inside} of {sets} intervals hold the truth; the notes found "
            f"{' and '.join(f'{v:.4f}' for v in NOTES[table])}"
        )
    assert covered >= 0.8 * total
    found = dr.simulate(draining_tank_once(), 10.0, parameters=last.parameters, start={"h": 1.0}, inputs={"u": 0.5})
    figures = {"fit": last.plot(), "intervals": last.plot_intervals({"theta": THETA})}
    return Study("The outlet of a draining tank", {"draining_tank": found}, figures, tuple(findings))
