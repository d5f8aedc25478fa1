"""The snakeboard at its best: one meter from rest to rest in the least time, and a gait of one meter per cycle with least effort.

What it shows: two problems for a rider who never touches the ground. In the first all three torques are bounded (rotor ±2
N·m, wheel sets ±0.05 N·m) and time is to be short; wheels, rotor and board end as they began, one meter on. In the second the
cycle lasts 2 s and the rider's effort is to be small: the integral of the squared torques, each relative to the inertia that
it turns, so that a wheel set's torque counts (K/k)² = 1600 times. Nothing brakes a snakeboard, and a cycle of pure coasting
would cost nothing; so the board has to come to a stop in every cycle. Rotor and wheel sets may be in full swing then: all
their angles and rates are periodic.

What you should see: fast, the board wags by 40°, the rotor turns by most of a circle and back, the torques jump from bound to
bound. With least effort all of it is smooth: while the wheel sets are turned against each other as far as they may, the
rotor's twist drives; in the middle of the cycle they have changed sides. Both motions are their own mirror images in time,
the front wheels from the one end doing what the back wheels do from the other, to the same side or the other: nothing is
lost, and the board has no front.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.snakeboard import Gait, snakeboard
from draisine.gallery.registry import Study, entry

WAY, CYCLE = 1.0, 2.0  # m, s
ROTOR, WHEELS = 2.0, 0.05  # N·m
EFFORT = "rotor_torque^2 + 1600*(front_torque^2 + back_torque^2)"
STEERS = {"front_steer": (-1.0, 1.0), "back_steer": (-1.0, 1.0)}  # rad


@cache
def dash() -> dr.Solution:
    """Rest to rest in the least time, begun from a simulated gait that goes about as far but does not stop."""
    home = {"board_y": 0, "board_heading": 0, "rotor": 0, "front_steer": 0, "back_steer": 0}
    wheels = (-WHEELS, WHEELS)
    stated = dr.maneuver(snakeboard()).start(speed=0).finish(board_x=WAY, **home, rates=0).minimize("time").duration(0.5, 20)
    stated = stated.bounds(rotor_torque=(-ROTOR, ROTOR), front_torque=wheels, back_torque=wheels, **STEERS)
    rough = dr.simulate(snakeboard(), 2.5, inputs=Gait(steer=0.5, frequency=0.8).laws())
    return stated.solve(dr.Collocation("gauss", 3, 40, constant_controls=True), guess=rough)


@cache
def gait() -> dr.Solution:
    """The cycle of least effort; where the rotor and the board are at the start does not matter and is fixed."""
    place: dict[str, Any] = {"speed": 0, "rotor": 0, "board_y": 0}
    stated = dr.maneuver(snakeboard()).start(board_x=0, **place).periodic(displaced=["board_x"]).finish(board_x=WAY)
    stated = stated.bounds(**STEERS).duration(CYCLE).minimize(integral=EFFORT)
    sines = Gait(steer=0.5, frequency=1 / CYCLE)
    rough = dr.simulate(snakeboard(), CYCLE, start=sines.start, inputs=sines.laws())
    return stated.solve(dr.Collocation("gauss", 3, 30), guess=rough)


def from_both_ends(found: dr.Solution) -> float:
    """How much front and back wheels differ, one counted backwards in time (left and right may be exchanged); and the ways."""
    run, times = found.trajectory, np.linspace(0, found.duration, 201)
    front, back, way = (np.interp(times, run.time, run[name]) for name in ("front_steer", "back_steer", "board_x"))
    wheels = min(np.abs(front - side * back[::-1]).max() for side in (1, -1))
    return float(max(wheels, np.abs(way + way[::-1] - WAY).max()))


@entry(level="Advanced")
def snakeboard_at_its_best() -> Study:
    """A snakeboard goes one meter in the least time, and in cycles of one meter with least effort."""
    from draisine import view

    fast, easy = dash(), gait()
    for found in (fast, easy):
        run = found.trajectory
        assert found.solved and found.discrepancy < 1e-3
        assert run.energy_drift is not None and run.energy_drift < 1e-8 and run.constraint_residual["nonholonomic"] < 1e-9
        assert abs(run.final["board_x"] - WAY) < 1e-4 and abs(run.final["speed"]) < 1e-3
        assert from_both_ends(found) < 0.01, from_both_ends(found)
    cyclic = [easy[name] for name in ("rotor", "rotor_rate", "front_steer", "back_steer_rate", "board_heading", "board_y")]
    back = max(abs(float(values[-1] - values[0])) for values in cyclic)
    assert back < 1e-3, back
    at_bound = np.abs(np.abs(fast.only.input("rotor_torque")) - ROTOR) < 1e-3
    assert at_bound.mean() > 0.9

    findings = (
        f"one meter from rest to rest in {fast.duration:.4f} s, "
        f"the rotor's torque at a bound for {at_bound.mean():.0%} of the time",
        f"least effort of a cycle of {CYCLE:g} s: {easy.objective:.5f} (N·m)²·s; angles and rates return to {back:.0e}",
        f"simulated motions depart from the nodes by {fast.discrepancy:.0e} and {easy.discrepancy:.0e}",
        f"from both ends alike to {from_both_ends(fast):.0e} and {from_both_ends(easy):.0e}",
    )
    figures = {
        "dash": view.path(fast.trajectory, ("back_wheels", "front_wheels"), snapshots=0.2),
        "both": _both(fast, easy),
    }
    return Study(
        "Snakeboard at its best", {"snakeboard_dash": fast.trajectory, "snakeboard_gait": easy.trajectory}, figures, findings
    )


def _both(fast: dr.Solution, easy: dr.Solution) -> Any:
    from draisine.view.plots.canvas import Drawing
    from draisine.view.plots.style import COLORS, PAGE, style

    with style():
        drawing = Drawing(figsize=(PAGE, 0.8 * PAGE), layout="constrained")
        grid = drawing.subplots(3, 2, sharex="col", height_ratios=[1.3, 1.0, 1.0])
        for column, found, title in ((0, fast, "least time"), (1, easy, "a cycle of least effort")):
            run, (angles, torque, way) = found.trajectory, grid[:, column]
            for k, name in enumerate(("front_steer", "back_steer", "board_heading")):
                angles.plot(run.time, np.degrees(run[name]), color=COLORS[k], label=name.replace("_", " "))
            angles.plot(run.time, np.degrees(run["rotor"]) / 4, color=COLORS[3], label="rotor / 4")
            angles.set_title(title)
            torque.plot(run.time, run["rotor_torque"], color=COLORS[3], label="rotor")
            torque.plot(run.time, 40 * run["front_torque"], color=COLORS[0], label="front wheels × 40", lw=1.0)
            way.plot(run.time, run["board_x"], color=COLORS[4], label="way [m]")
            way.plot(run.time, run["speed"], color=COLORS[5], label="speed [m/s]")
            way.set_xlabel("time [s]")
            way.margins(x=0)
        for axes in grid[:, 1]:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        grid[0, 0].set_ylabel("angle [°]")
        grid[1, 0].set_ylabel("torque [N·m]")
    return drawing
