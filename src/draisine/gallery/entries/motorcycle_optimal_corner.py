"""The quickest corner of a motorcycle on tires: a quarter of a turn in the least time, at the limits of friction.

What it shows: optimal control of a machine of parts. A rigid motorcycle with rider enters at 20 m/s, upright and straight, and
leaves the corner upright and straight, a quarter of a turn further to the left, without slip angles. Torques at the bar, at
the rear wheel and of the front brake are free within wide bounds, and build up within tenths of a second: bounded, too, are
their rates. What limits them is the road: each wheel stays within its friction cone, F_long² + F_lat² ≤ (μ N)² with μ = 1, and
keeps a load of 100 N. Tires are linear in slip and slip angle, with camber thrust and without relaxation, so that the cone is
the only place where friction enters. The same corner on ideally rolling wheels stands beside it, and is the first guess.

What you should see: the rider steers to the right first, and brakes at the friction limit of both wheels down to a third of the
speed, while the machine leans up to 46°. The front wheel then raises it, sideways at its limit, while the rear wheel drives below
its own, and the machine swings a little to the other side. Tires cost hardly any time: on ideally rolling wheels the corner takes
0.1 % more, and from meshes of 50 intervals instead of 40 it takes 0.05 % less (2.6725 s; on tires 2.6738 s). Minima are local.

One number is known without any model. Loads carry the weight on average, ∫ N dt = m g T, since the mass center does not rise or
fall at both ends. So friction has at most the impulse μ m g T, which must stop the part V sin ψ of the speed of entry that is
across the exit, ψ the angle of the turn: T ≥ V sin ψ/(μ g), 2.039 s for the quarter. No machine is quicker; this one takes the
time of rolling into the turn and out of it in addition.

Torques build up since a torque that jumps makes a wheel on a tire slip anew within 2 to 5 ms, the time constant I V/(C r²) of its
spin, I its inertia, C the stiffness of the tire, r the radius. Behind each jump forces would need a mesh as fine.
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
WEIGHT, WHEELS, QUARTER = MASS * GRAVITY, ("front", "rear"), math.pi / 2
INTERVALS, COARSE = 40, 30
UNIT = 100.0  # N*m of a torque per rad/s of its flywheel
# which coordinate a torque acts along, its direction; its range in N*m, and how fast it changes at most, in N*m/s
TORQUES = {
    "steering": ("steer", 1.0, (-80.0, 80.0), 1000.0),
    "driving": ("rear_angle", 1.0, (-200.0, 400.0), 4000.0),
    "braking": ("front_angle", -1.0, (0.0, 600.0), 6000.0),
}


@live(start={"speed": SPEED})
def cornering_motorcycle(tires: bool = True) -> Model:
    """A rigid sport motorcycle with rider, on linear tires or ideal wheels: inputs for steering, rear wheel and front brake."""
    parts, tire = dr.parts, dr.contact.LinearTire
    laws = (tire(14e3, longitudinal=20e3, camber=1300), tire(17e3, longitudinal=25e3, camber=1500)) if tires else (None, None)
    m = Model("cornering_motorcycle", f"rigid motorcycle with rider on {'tires' if tires else 'ideally rolling wheels'}")
    frame = parts.frame(
        m, "frame", mass=240, center_of_mass=(0.66, 0.6), inertia={"xx": 18, "yy": 36, "zz": 27, "zx": -2.5}, wheelbase=1.4,
        trail=0.1, steer_axis_tilt="24 deg", head_height=0.85, points={"axle": (0, 0.31)},
    )  # fmt: skip
    axle: Any = ("frame_wheelbase", "front_radius + front_tube")
    fork = parts.rigid_fork(
        m, "fork", frame["head"], axle=axle, mass=18, center_of_mass=(1.22, 0.6), inertia=(1.2, 1.1, 0.4),
    )  # fmt: skip
    parts.wheel(m, "front", fork["axle"], radius=0.24, tube=0.06, mass=12, inertia=(0.28, 0.48), tire=laws[0])
    parts.wheel(
        m, "rear", frame["axle"], radius=0.22, tube=0.09, mass=15, inertia=(0.4, 0.65), tire=laws[1], torque="drive_torque",
    )  # fmt: skip
    parts.brake(m, "front_brake", "front")
    parts.steering_damper(m, "damper", damping=5)
    return m


def with_gradual_torques(m: Model) -> Model:
    """Torques that build up: each is the speed of a flywheel beside the road, of 1 kg m², whose own torque is the input."""
    for name, (angle, direction, _, _) in TORQUES.items():
        flywheel = m.body(f"{name}_flywheel", mass=400, inertia=(1, 1, 1))  # small in drawings
        m.revolute(f"{name}_angle", "ground", flywheel, axis="z", at=(0, 2, 0), rate=f"{name}_speed")
        m.generalized_force(f"{name}_angle", m.input(f"{name}_rate", "N*m", f"change of the {name} torque, in {UNIT:g} N*m/s"))
        m.output(f"{name}_torque", f"{UNIT}*{name}_speed", "N*m")
        m.generalized_force(angle, f"{direction * UNIT}*{name}_speed")
    return m


def corner(tires: bool, turn: float = QUARTER) -> dr.optimal.OptimalControlProblem:
    """The statement: both ends upright and straight ahead, friction within its cones."""
    flywheels = {f"{name}_speed": 0.0 for name in TORQUES}
    stated = dr.maneuver(with_gradual_torques(cornering_motorcycle(tires))).start(flywheels, speed=SPEED)
    stated = stated.finish(heading=turn, lean=0, steer=0, rates=0)
    if tires:
        stated = stated.finish(frame_vy=0)  # with the rates: no slip angles
    for name, (_, _, (low, high), rate) in TORQUES.items():
        ranges = {f"{name}_speed": (low / UNIT, high / UNIT), f"{name}_rate": (-rate / UNIT, rate / UNIT)}
        stated = stated.bounds(**ranges)
    stated = stated.bounds(lean=(-1.1, 1.1), speed=(4, 40), steer=(-0.5, 0.5))
    for wheel in WHEELS:
        force = f"({wheel}_longitudinal_force**2 + {wheel}_lateral_force**2)/{WEIGHT}**2"
        stated = stated.along(**{f"{wheel}_grip": f"{force} <= ({GRIP}*{wheel}_normal_force/{WEIGHT})**2"})
        stated = stated.bounds(**{f"{wheel}_normal_force": (LOAD, None)})
    return stated.duration(0.3, 8).minimize("time")


@cache
def quickest(
    tires: bool = True, intervals: int = INTERVALS, turn: float = QUARTER, tolerance: float | None = 1e-4
) -> dr.optimal.Solution:
    """The turn in the least time, with a mesh refined to the tolerance; on tires, begun from that on ideally rolling wheels."""
    pieces = dr.optimal.Collocation("radau", 3, intervals, constant_controls=True)
    guess: Any = dr.guess.LinearGuess(duration=3.5)
    if tires:
        guess = quickest(False, min(intervals, COARSE), turn, None).trajectory
    refine = dr.optimal.Refinement(tolerance=tolerance, seconds=600.0) if tolerance else None
    return corner(tires, turn).solve(pieces, guess=guess, refine=refine)


def least_time(found: dr.optimal.Solution, turn: float, accuracy: float) -> float:
    """The least time that any machine needs, V sin ψ/(μ g); and that forces of the road have the impulses they must have."""
    run, bound = found.trajectory, SPEED * math.sin(turn) / (GRIP * GRAVITY)
    load, ahead = (sum(run[f"{wheel}_{kind}"] for wheel in WHEELS) for kind in ("normal_force", "force_x"))
    carried = float(np.trapezoid(load, run.time)) / (MASS * GRAVITY * found.duration)
    change = run["speed"][-1] * math.cos(turn) - SPEED
    stopped = float(np.trapezoid(ahead, run.time)) / (MASS * change)
    assert abs(carried - 1) < accuracy and abs(stopped - 1) < accuracy, (carried, stopped)
    assert found.duration > bound, found.duration
    return bound


def within_cones(found: dr.optimal.Solution, tolerance: float) -> None:
    """In the simulated motion, friction is within its cone and wheels keep their load; forces in the scale of the weight."""
    run = found.trajectory
    for wheel in WHEELS:
        along, across, load = (run[f"{wheel}_{kind}_force"] / WEIGHT for kind in ("longitudinal", "lateral", "normal"))
        excess = along**2 + across**2 - (GRIP * load) ** 2
        assert excess.max() < tolerance, (wheel, excess.max())
        assert load.min() > LOAD / WEIGHT - tolerance, (wheel, load.min())


@entry(level="Advanced", film="corner", charts=("lean", "speed"))
def optimal_corner(intervals: int = INTERVALS) -> Study:
    """A quarter of a turn of a motorcycle on tires in the least time, at the limits of friction."""
    found, ideal = quickest(True, intervals), quickest(False, intervals)
    run = found.trajectory
    for each in (found, ideal):
        bound = least_time(each, QUARTER, 1e-4)
        assert each.outcome == "SOLVED" and each.discrepancy < 1e-5, each.status
        within_cones(each, 1e-4)
    assert abs(found.duration / ideal.duration - 1) < 0.02, (found.duration, ideal.duration)
    shares = {active.name: active.share for active in found.optimality.active}
    assert shares["front_grip"] > 0.3 and shares["rear_grip"] > 0.3
    assert run["steer"][run.time < 0.1 * found.duration].min() < -0.003  # to the right first
    slip = {wheel: math.degrees(np.abs(run[f"{wheel}_slip_angle"]).max()) for wheel in WHEELS}
    findings = (
        f"{found.duration:.4f} s on tires, {ideal.duration:.4f} s on ideally rolling wheels; no machine is quicker than "
        f"V/(μ g) = {bound:.4f} s",
        f"lean up to {-math.degrees(run['lean'].min()):.1f}°, speed down to {run['speed'].min():.2f} m/s and "
        f"{run['speed'][-1]:.2f} m/s at the exit; slip angles up to {slip['front']:.1f}° in front, {slip['rear']:.1f}° behind",
        *(_at_the_limit(run, wheel) for wheel in WHEELS),
        f"the simulated motion departs by {found.discrepancy:.0e}; the error of the mesh is {found.error:.0e}",
    )
    figures = {
        "path": track_figure(run, ["rear_contact", "front_contact"], snapshots=0.4),
        "limits": _drawn(run, ideal.trajectory),
    }
    return Study("The quickest corner", {"corner": run, "ideal": ideal.trajectory}, figures, findings)


def _at_the_limit(run: dr.Trajectory, wheel: str) -> str:
    """Where a wheel uses its friction to within a hundredth, and what for: along the track more than a twentieth of its load."""
    at, step = run[f"{wheel}_friction_needed"] > 0.99 * GRIP, np.gradient(run.time)
    along = run[f"{wheel}_longitudinal_force"] / run[f"{wheel}_normal_force"]
    whole, brakes, drives = (float(step[each].sum() / step.sum()) for each in (at, at & (along < -0.05), at & (along > 0.05)))
    most = run[f"{wheel}_friction_needed"].max()
    return (
        f"{wheel} wheel: friction of at most {most:.4f}; at the limit for {whole:.0%} of the time: braking {brakes:.0%}, "
        f"driving {drives:.0%}, sideways alone {whole - brakes - drives:.0%}"
    )


def _drawn(run: dr.Trajectory, ideal: dr.Trajectory) -> Any:
    with style():
        drawing, (lean, speed, slip, used) = panels(4, 0.9 * PAGE, 1.1 * PAGE)
        for each, label, line in ((run, "tires", "-"), (ideal, "ideally rolling", ":")):
            lean.plot(each.time, -np.degrees(each["lean"]), label=label, ls=line)
            speed.plot(*each.curve("speed"), label=label, ls=line)
        lean.set_ylabel("lean to the left [°]")
        legend_above(lean, 0.9 * PAGE)
        speed.set_ylabel("speed [m/s]")
        for wheel in WHEELS:
            slip.plot(run.time, np.degrees(run[f"{wheel}_slip_angle"]), label=wheel)
            used.plot(*run.curve(f"{wheel}_friction_needed"), label=wheel)
        slip.set_ylabel("slip angle [°]")
        used.axhline(GRIP, color=FAINT, lw=0.8, ls="--")
        used.set_ylabel("friction used [–]")
        used.set_xlabel("time [s]")
        legend_above(slip, 0.9 * PAGE)
    return drawing
