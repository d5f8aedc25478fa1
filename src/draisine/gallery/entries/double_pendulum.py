"""The double pendulum in two descriptions: by its Lagrangian in two angles, and as a graph of two hinged bodies.

What it shows: two independent derivations give the same motion until the chaotic growth of their rounding differences dominates.

What you should see: the tip's track in the plane; the tips of both descriptions on top of each other for some twenty seconds,
their distance growing from 1e-15 to the length of the rods along a straight line on the logarithmic axis; beside it two starts
of one description that differ by 1e-6 rad, which separate after some ten. Small oscillations are the normal modes ω² = (2 ∓ √2)
g/l of equal rods and bobs, with the lower angle ±√2 times the upper.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import FAINT, INK, PAGE
from draisine.view.plots.trajectories import channel_figure

DEFAULTS = {"m_upper": 1.0, "m_lower": 1.0, "l_upper": 1.0, "l_lower": 1.0, "gravity": 9.81}
UNITS = {"m_upper": "kg", "m_lower": "kg", "l_upper": "m", "l_lower": "m", "gravity": "m/s^2"}


@live(start={"upper": 2.2, "lower": 2.6})
def double_pendulum() -> dr.Equations:
    """Two bobs on massless rods, by their Lagrangian in two angles from the vertical."""
    t = dynamicsymbols._t
    upper, lower = dynamicsymbols("upper lower")
    m1, m2, l1, l2, g = symbols = [sp.Symbol(name) for name in DEFAULTS]
    x1, z1 = -l1 * sp.sin(upper), -l1 * sp.cos(upper)
    x2, z2 = x1 - l2 * sp.sin(lower), z1 - l2 * sp.cos(lower)
    squares = [sp.diff(x, t) ** 2 + sp.diff(z, t) ** 2 for x, z in ((x1, z1), (x2, z2))]
    return dr.lagrangian(
        "double_pendulum",
        [upper, lower],
        kinetic=(m1 * squares[0] + m2 * squares[1]) / 2,
        potential=g * (m1 * z1 + m2 * z2),
        parameters=dict(zip(symbols, DEFAULTS.values(), strict=True)),
        outputs={"tip_x": x2, "tip_z": z2},
        units={**UNITS, upper: "rad", lower: "rad", "tip_x": "m", "tip_z": "m"},
    )


@live(start={"upper": 2.2, "elbow": 0.4})
def double_pendulum_graph() -> Model:
    """Two bobs on massless rods, as a graph of two hinges; the lower angle is an output."""
    m = Model("double_pendulum_graph", "two bobs on massless rods, hinged about y")
    p = {name: m.parameter(name, value, UNITS[name]) for name, value in DEFAULTS.items()}
    m.gravity(p["gravity"])
    first = m.body("first", mass=p["m_upper"], center_of_mass=(0, 0, -p["l_upper"]))
    second = m.body("second", mass=p["m_lower"], center_of_mass=(0, 0, -p["l_lower"]))
    m.revolute("upper", "ground", first, axis="y")
    m.revolute("elbow", first, second, axis="y", at=(0, 0, -p["l_upper"]))
    m.point("tip", second, at=(0, 0, -p["l_lower"]))
    m.output("lower", "upper + elbow", "rad", "of the lower rod from the vertical")
    m.output("lower_rate", "upper_rate + elbow_rate", "rad/s")
    m.output("tip_x", "position_x(tip)", "m")
    m.output("tip_z", "position_z(tip)", "m")
    return m


START = {"upper": 2.2, "lower": 2.6}
EXACT = dr.methods.DOP853(rtol=1e-13, atol=1e-15)


@entry(level="First steps", film="double_pendulum_graph")
def double_pendulum_twice(until: float = 30.0) -> Study:
    """A double pendulum by two derivations: one motion, until chaos has amplified their rounding."""
    equations, graph = double_pendulum(), double_pendulum_graph()
    run = dr.simulate(equations, until, start=START, method=EXACT)
    other = dr.simulate(graph, until, start=START, method=EXACT)
    moved = dr.simulate(equations, until, start={**START, "upper": START["upper"] + 1e-6}, method=EXACT)
    derivations, starts = _tips_apart(run, other), _tips_apart(run, moved)
    early = run.time <= 5.0
    modes = [_mode_error(equations, sign) for sign in (-1, 1)]

    assert run.status.complete and other.status.complete
    for motion in (run, other):
        assert motion.energy_drift is not None and motion.energy_drift < 1e-10
    assert derivations[early].max() < 1e-10, derivations[early].max()
    assert max(modes) < 1e-7, modes  # small oscillations are the normal modes
    if until >= 30.0:
        assert starts[-1] > 0.01  # chaos

    figures = {
        "tip": _track(run),
        "apart": _distances(run.time, derivations, starts),
        "angles": channel_figure(run, "upper", "lower"),
    }
    findings = (
        f"tips of both descriptions: {derivations[early].max():.1e} m apart at most in the first 5 s, "
        f"{derivations.max():.1e} m in all",
        f"two starts 1e-6 rad apart: 1 cm apart after {_first(run.time, starts, 0.01)}",
        f"normal modes: largest difference from a cosine {max(modes):.1e} of the amplitude",
    )
    return Study(
        "Double pendulum by two derivations", {"double_pendulum": run, "double_pendulum_graph": other}, figures, findings
    )


def _tips_apart(a: dr.Trajectory, b: dr.Trajectory) -> NDArray[np.float64]:
    return np.hypot(a["tip_x"] - b["tip_x"], a["tip_z"] - b["tip_z"])


def _first(time: NDArray[np.float64], values: NDArray[np.float64], limit: float) -> str:
    above = np.flatnonzero(values > limit)
    return f"{time[above[0]]:.1f} s" if above.size else "the end"


def _mode_error(equations: dr.Equations, sign: int) -> float:
    """Largest difference from the closed form of a small swing in one mode, relative to its amplitude."""
    size = 1e-5
    frequency = math.sqrt((2 + sign * math.sqrt(2)) * DEFAULTS["gravity"] / DEFAULTS["l_upper"])
    start = {"upper": size, "lower": -sign * math.sqrt(2) * size}
    run = dr.simulate(equations, 5.0, start=start, method=EXACT)
    exact = np.cos(frequency * run.time)
    return max(float(np.max(np.abs(run[name] / start[name] - exact))) for name in start)


def _track(run: dr.Trajectory) -> Any:
    with single_panel("x [m]", "z [m]", width=0.6 * PAGE, height=0.6 * PAGE, equal=True) as (drawing, axes):
        axes.plot(run["tip_x"], run["tip_z"], linewidth=0.6)
        for k, color in ((0, FAINT), (-1, INK)):
            l1 = run.parameters["l_upper"]
            knee = -l1 * math.sin(run["upper"][k]), -l1 * math.cos(run["upper"][k])
            axes.plot([0, knee[0], run["tip_x"][k]], [0, knee[1], run["tip_z"][k]], "o-", color=color, markersize=4)
    return drawing


def _distances(time: NDArray[np.float64], derivations: NDArray[np.float64], starts: NDArray[np.float64]) -> Any:
    with single_panel("time [s]", "distance of the tips [m]", height=0.45 * PAGE) as (drawing, axes):
        for values, label in ((derivations, "Lagrangian and graph"), (starts, "two starts 1e-6 rad apart")):
            axes.semilogy(time, np.maximum(values, 1e-17), label=label)
    return drawing
