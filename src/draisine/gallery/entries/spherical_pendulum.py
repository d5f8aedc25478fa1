"""The spherical pendulum in Cartesian coordinates with one constraint, and in two angles.

What it shows: redundant coordinates have no coordinate singularities. Close to its lowest point the pendulum's azimuth changes
rapidly by half a turn: in angles the integrator needs more steps the closer the bob passes; in x, y, z the motion is regular,
and the multiplier is the force of the rod.

What you should see: from above, an ellipse whose long axis turns in the sense of the motion, for small semi-axes a and b by 3/8
ω a b/l² per second (G. B. Airy, 1851); and the number of evaluations against the distance at which the bob passes, constant in
Cartesian coordinates and rising in angles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.view.plots.canvas import single_panel
from draisine.view.plots.style import PAGE
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

DEFAULTS = {"m_bob": 1.0, "l_rod": 1.0, "gravity": 9.81}
UNITS = {"m_bob": "kg", "l_rod": "m", "gravity": "m/s^2"}


@live(start={"x": 0.6, "y_rate": 1.0})
def spherical_pendulum() -> dr.Equations:
    """A bob on a rod that swings in space, in Cartesian coordinates with one constraint."""
    x, y, z = place = dynamicsymbols("x y z")
    m, l, g = symbols = [sp.Symbol(name) for name in DEFAULTS]
    return dr.lagrangian(
        "spherical_pendulum",
        place,
        kinetic=m * sum(c.diff() ** 2 for c in place) / 2,
        potential=m * g * z,
        holonomic={"rod": (x**2 + y**2 + z**2 - l**2) / (2 * l)},
        parameters=dict(zip(symbols, DEFAULTS.values(), strict=True)),
        outputs={"spin": m * (x * y.diff() - y * x.diff()), "radius": sp.sqrt(x**2 + y**2)},
        start={z: -DEFAULTS["l_rod"]},
        units={**UNITS, **dict.fromkeys(place, "m"), "spin": "kg*m^2/s", "radius": "m"},
    )


@live(start={"polar": 0.7, "azimuth_rate": 1.5})
def spherical_pendulum_by_angles() -> dr.Equations:
    """A bob on a rod that swings in space, in polar angle (from below) and azimuth; singular at both poles."""
    polar, azimuth = dynamicsymbols("polar azimuth")
    m, l, g = symbols = [sp.Symbol(name) for name in DEFAULTS]
    x, y = l * sp.sin(polar) * sp.cos(azimuth), l * sp.sin(polar) * sp.sin(azimuth)
    return dr.lagrangian(
        "spherical_pendulum_by_angles",
        [polar, azimuth],
        kinetic=m * l**2 * (polar.diff() ** 2 + sp.sin(polar) ** 2 * azimuth.diff() ** 2) / 2,
        potential=-m * g * l * sp.cos(polar),
        parameters=dict(zip(symbols, DEFAULTS.values(), strict=True)),
        outputs={"x": x, "y": y, "z": -l * sp.cos(polar), "spin": m * l**2 * sp.sin(polar) ** 2 * azimuth.diff()},
        start={polar: 0.5},
        units={**UNITS, polar: "rad", azimuth: "rad", **dict.fromkeys("xyz", "m"), "spin": "kg*m^2/s"},
    )


EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)
PASSES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # m, distances at which the bob passes its lowest point


@entry(level="First steps")
def spherical_pendulum_passes(until: float = 60.0) -> Study:
    """A spherical pendulum passes its pole: regular in Cartesian coordinates, costly in angles; and it precesses."""
    whole = {distance: _thrown(distance) for distance in PASSES}
    apart = max(max(float(np.max(np.abs(a[axis] - b[axis]))) for axis in "xyz") for a, b in whole.values())
    works = {d: tuple(run.statistics.evaluations for run in pair) for d, pair in whole.items()}
    ellipse, turning, airy = _ellipse(until)
    rosette = dr.simulate(spherical_pendulum(), 16.0, start={"x": 0.8, "y": 0.0, "y_rate": 0.7}, samples=2001)

    for pair in whole.values():
        for run in (*pair, ellipse):
            assert run.status.complete, run.status
            assert run.energy_drift is not None and run.energy_drift < 1e-9
            assert np.ptp(run["spin"]) < 1e-9 * max(abs(run["spin"][0]), 1e-2)  # no torque about the vertical
    assert apart < 1e-6, apart
    cartesian, angles = zip(*works.values(), strict=True)
    assert max(cartesian) < 1.3 * min(cartesian)  # constant cost …
    assert list(angles) == sorted(angles) and angles[-1] > 6 * cartesian[-1]  # … or rising cost
    assert abs(turning / airy - 1) < 0.01, (turning, airy)

    figures = {
        "rosette": track_figure(rosette),
        "closest_pass": channel_figure(whole[PASSES[-1]][0], "x", "y", "z"),
        "work": _work(works),
    }
    findings = (
        f"largest difference between the descriptions: {apart:.1e} m",
        f"evaluations for a pass at {PASSES[-1] * 1e3:g} mm: {cartesian[-1]} Cartesian, {angles[-1]} in angles",
        f"long axis turns by {turning:.5f} rad/s; 3/8 ω a b/l² = {airy:.5f} rad/s",
    )
    return Study(
        "Spherical pendulum past its pole", {"pass_cartesian": whole[PASSES[-1]][0], "ellipse": ellipse}, figures, findings
    )


def _thrown(distance: float) -> tuple[dr.Trajectory, dr.Trajectory]:
    """Released at 1.2 rad with the angular momentum that makes the bob pass its lowest point at this distance; both
    descriptions."""
    l, g, polar = DEFAULTS["l_rod"], DEFAULTS["gravity"], 1.2
    fastest = math.sqrt(2 * g * l * (1 - math.cos(polar)))
    sideways = distance * fastest / (l * math.sin(polar))  # m/s: the same angular momentum
    place = {"x": l * math.sin(polar), "y": 0.0, "z": -l * math.cos(polar)}
    first = dr.simulate(spherical_pendulum(), 10.0, start={**place, "y_rate": sideways}, method=EXACT)
    start = {"polar": polar, "azimuth": 0.0, "azimuth_rate": sideways / (l * math.sin(polar))}
    return first, dr.simulate(spherical_pendulum_by_angles(), 10.0, start=start, method=EXACT)


def _ellipse(until: float) -> tuple[dr.Trajectory, float, float]:
    """A small ellipse: the measured and the theoretical precession rate of its long axis, in rad/s."""
    l, g = DEFAULTS["l_rod"], DEFAULTS["gravity"]
    long, short, frequency = 0.1 * l, 0.05 * l, math.sqrt(g / l)
    start = {"x": long, "y": 0.0, "y_rate": short * frequency}
    turned_back = dr.Event("apsis", "x*x_rate + y*y_rate", "record", -1)
    equations = spherical_pendulum()
    run = dr.simulate(equations, until, start=start, method=EXACT, events=[turned_back])
    apsides = [event.time for event in run.events if event.time > 0.1]
    there = dr.simulate(equations, until, start=start, method=EXACT, samples=[0.0, *apsides])
    directions = np.unwrap(2 * np.arctan2(there["y"], there["x"])) / 2  # an axis has no sense
    return run, float(directions[-1] / there.time[-1]), 3 / 8 * frequency * long * short / l**2


def _work(works: dict[float, tuple[int, ...]]) -> Any:
    with single_panel(
        "distance from the pole in passing [m]", "evaluations in 10 s [–]", width=0.7 * PAGE, height=0.45 * PAGE
    ) as (
        drawing,
        axes,
    ):
        for values, label in zip(zip(*works.values(), strict=True), ("Cartesian, one constraint", "two angles"), strict=True):
            axes.semilogx(list(works), values, "o-", label=label)
        axes.invert_xaxis()
        axes.set_ylim(bottom=0)
    return drawing
