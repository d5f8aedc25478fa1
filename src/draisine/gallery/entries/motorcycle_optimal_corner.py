"""The quickest corner of a motorcycle: a quarter of a turn in the least time, at the limits of friction.

What it shows: optimal control of a machine of parts. A rigid motorcycle with rider on ideally rolling wheels enters at 20 m/s,
upright and straight, and leaves the corner upright and straight, a quarter of a turn further to the left. Torques at the bar, at
the rear wheel and of the front brake are free within wide bounds. What limits them is the road: each wheel stays within its
friction cone, F_long² + F_lat² ≤ (μ N)² with μ = 1, and keeps a load of 100 N.

What you should see: the rider steers to the right first, brakes at the friction limit down to a third of the speed, while the
machine leans up to 46°, and raises it with a swing beyond upright. Two numbers are known without any model. Loads carry the
weight on average, ∫ N dt = m g T, since the mass center does not rise or fall at both ends. So friction has at most the impulse
μ m g T, which must stop the whole speed of entry: T ≥ V/(μ g) = 2.039 s. No machine is quicker; this one takes the time of
rolling into the turn and out of it in addition.

Wheels roll ideally because friction is the limit here, not slip. With the linear tires of `motorcycle` the same statement has
2.545 s, on a mesh with an error of 1e-4; that takes about two minutes, since slips build up within 10 to 30 ms.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import FAINT, PAGE, style
from draisine.view.plots.tracks import track_figure

SPEED, GRIP, LOAD = 20.0, 1.0, 100.0  # m/s at the entry; friction coefficient; the least load of a wheel, N
MASS, GRAVITY = 285.0, 9.81
INTERVALS = 40


@live(start={"speed": SPEED})
def cornering_motorcycle() -> Model:
    """A rigid sport motorcycle with rider on ideally rolling wheels: inputs for steering, rear wheel and front brake."""
    parts = dr.parts
    m = Model("cornering_motorcycle", "rigid motorcycle with rider on ideally rolling wheels")
    frame = parts.frame(
        m, "frame", mass=240, center_of_mass=(0.66, 0.6), inertia={"xx": 18, "yy": 36, "zz": 27, "zx": -2.5}, wheelbase=1.4,
        trail=0.1, steer_axis_tilt="24 deg", head_height=0.85, points={"axle": (0, 0.31)},
    )  # fmt: skip
    axle: Any = ("frame_wheelbase", "front_radius + front_tube")
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=axle, mass=18, center_of_mass=(1.22, 0.6), inertia=(1.2, 1.1, 0.4),
    )  # fmt: skip
    parts.wheel(m, "front", fork["axle"], radius=0.24, tube=0.06, mass=12, inertia=(0.28, 0.48))
    parts.wheel(m, "rear", frame["axle"], radius=0.22, tube=0.09, mass=15, inertia=(0.4, 0.65), torque="drive_torque")
    parts.brake(m, "front_brake", "front")
    parts.steering_damper(m, "damper", damping=5)
    return m


@cache
def quickest(intervals: int = INTERVALS, seconds: float = 300.0) -> dr.optimal.Solution:
    """The quarter of a turn in the least time; with `seconds` for refinement of the mesh."""
    stated = dr.maneuver(cornering_motorcycle()).start(speed=SPEED).finish(heading=math.pi / 2, lean=0, steer=0, rates=0)
    stated = stated.bounds(steer_torque=(-80, 80), drive_torque=(-200, 400), front_brake_torque=(0, 600))
    stated = stated.bounds(lean=(-1.1, 1.1), speed=(5, 40), steer=(-0.5, 0.5))
    weight = MASS * GRAVITY
    for wheel in ("front", "rear"):
        force = f"({wheel}_longitudinal_force**2 + {wheel}_lateral_force**2)/{weight}**2"
        stated = stated.along(**{f"{wheel}_grip": f"{force} <= ({GRIP}*{wheel}_normal_force/{weight})**2"})
        stated = stated.bounds(**{f"{wheel}_normal_force": (LOAD, None)})
    stated = stated.duration(1.5, 8).minimize("time")
    pieces = dr.optimal.Collocation("radau", 3, intervals, constant_controls=True)
    refine = dr.optimal.Refinement(tolerance=1e-4, seconds=seconds) if seconds else None
    return stated.solve(pieces, guess=dr.guess.LinearGuess(duration=3.5), refine=refine)


def least_time(found: dr.optimal.Solution, accuracy: float) -> float:
    """The least time that any machine needs, V/(μ g); and that loads carry the weight on average, as impulses require."""
    run, bound = found.trajectory, SPEED / (GRIP * GRAVITY)
    impulse = float(np.trapezoid(run["front_normal_force"] + run["rear_normal_force"], run.time))
    assert abs(impulse / (MASS * GRAVITY * found.duration) - 1) < accuracy, impulse
    assert bound < found.duration < 1.4 * bound, found.duration
    return bound


@entry(level="Advanced", film="corner", charts=("lean", "speed"))
def optimal_corner(intervals: int = INTERVALS) -> Study:
    """A quarter of a turn of a motorcycle in the least time, at the limits of friction."""
    found = quickest(intervals)
    run, bound = found.trajectory, least_time(found, 1e-3)
    assert found.converged and found.discrepancy < 1e-4, found.status
    for wheel in ("front", "rear"):  # in the simulated motion, in the scale of the weight
        force, load = (run[f"{wheel}_{kind}"] / (MASS * GRAVITY) for kind in ("lateral_force", "normal_force"))
        excess = (run[f"{wheel}_longitudinal_force"] / (MASS * GRAVITY)) ** 2 + force**2 - (GRIP * load) ** 2
        assert excess.max() < 3e-4 and run[f"{wheel}_normal_force"].min() > LOAD - 1.0, (excess.max(), wheel)
    shares = {active.name: active.share for active in found.optimality.active}
    assert shares["front_grip"] > 0.3 and shares["rear_grip"] > 0.3
    assert run["steer"][run.time < 0.1 * found.duration].min() < -0.003  # to the right first
    findings = (
        f"{found.duration:.4f} s; no machine is quicker than V/(μ g) = {bound:.4f} s",
        f"lean up to {-math.degrees(run['lean'].min()):.1f}°, speed down to {run['speed'].min():.2f} m/s and "
        f"{run['speed'][-1]:.2f} m/s at the exit",
        f"at the friction limit {shares['front_grip']:.0%} of the way in front, {shares['rear_grip']:.0%} behind; the simulated "
        f"motion departs by {found.discrepancy:.0e}",
    )
    figures = {"path": track_figure(run, ["rear_contact", "front_contact"], snapshots=0.4), "limits": _drawn(run)}
    return Study("The quickest corner", {"corner": run}, figures, findings)


def _drawn(run: dr.Trajectory) -> Any:
    with style():
        drawing, (lean, speed, used) = panels(3, 0.9 * PAGE, 0.9 * PAGE)
        lean.plot(run.time, -np.degrees(run["lean"]))
        lean.set_ylabel("lean to the left [°]")
        speed.plot(*run.curve("speed"))
        speed.set_ylabel("speed [m/s]")
        for wheel in ("front", "rear"):
            used.plot(*run.curve(f"{wheel}_friction_needed"), label=wheel)
        used.axhline(GRIP, color=FAINT, lw=0.8, ls="--")
        used.set_ylabel("friction used [–]")
        used.set_xlabel("time [s]")
        legend_above(used, 0.9 * PAGE)
    return drawing
