"""Optimal control of the snakeboard: one meter from rest to rest in minimum time, and a cyclic gait of least effort.

What it shows: two problems. In the first all three torques are bounded (rotor ±2 N·m, wheel sets ±0.05 N·m) and the time is
minimized; wheels, rotor and board end as they began, one meter ahead. In the second the cycle lasts 2 s and the effort is
minimized: the integral of the squared torques, each relative to the inertia that it accelerates, so that a wheel set's torque
has the weight (K/k)² = 1600. A snakeboard has no losses, and coasting would cost nothing; therefore the board has to stop once
in every cycle. Rotor and wheel sets may be moving then: all their angles and rates are periodic.

What you should see: in minimum time the board yaws by 40°, the rotor turns by most of a circle and back, and the torques are
bang-bang. With least effort the motion is smooth: while the wheel sets are turned against each other at their limits, the rotor
drives; in mid-cycle they change sides. Both motions are symmetric under time reversal with front and back exchanged, since
there are no losses and the board has no front.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.snakeboard import Gait, snakeboard
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import COLORS, PAGE, style
from draisine.view.plots.tracks import track_figure

WAY, CYCLE = 1.0, 2.0  # m, s
ROTOR, WHEELS = 2.0, 0.05  # N·m
CONTROL_COST = "rotor_torque^2 + 1600*(front_torque^2 + back_torque^2)"
STEERS = {"front_steer": (-1.0, 1.0), "back_steer": (-1.0, 1.0)}  # rad


@cache
def dash() -> dr.optimal.Solution:
    """Rest to rest in minimum time, from a simulated gait of about the same distance as initial guess."""
    home = {"board_y": 0, "board_heading": 0, "rotor": 0, "front_steer": 0, "back_steer": 0}
    wheels = (-WHEELS, WHEELS)
    stated = dr.maneuver(snakeboard()).start(speed=0).finish(board_x=WAY, **home, rates=0).minimize("time").duration(0.5, 20)
    stated = stated.bounds(rotor_torque=(-ROTOR, ROTOR), front_torque=wheels, back_torque=wheels, **STEERS)
    rough = dr.simulate(snakeboard(), 2.5, inputs=Gait(steer=0.5, frequency=0.8).laws())
    return stated.solve(dr.optimal.Collocation("gauss", 3, 40, constant_controls=True), guess=rough)


@cache
def gait() -> dr.optimal.Solution:
    """The cycle of least effort; the initial positions of rotor and board do not matter and are fixed."""
    place: dict[str, Any] = {"speed": 0, "rotor": 0, "board_y": 0}
    stated = dr.maneuver(snakeboard()).start(board_x=0, **place).periodic(displaced=["board_x"]).finish(board_x=WAY)
    stated = stated.bounds(**STEERS).duration(CYCLE).minimize(integral=CONTROL_COST)
    sines = Gait(steer=0.5, frequency=1 / CYCLE)
    rough = dr.simulate(snakeboard(), CYCLE, start=sines.start, inputs=sines.laws())
    return stated.solve(dr.optimal.Collocation("gauss", 3, 30), guess=rough)


def time_reversal_asymmetry(found: dr.optimal.Solution) -> float:
    """Asymmetry under time reversal: difference of front and back wheels (left and right may be exchanged), and of the paths."""
    run, times = found.trajectory, np.linspace(0, found.duration, 201)
    front, back, way = (np.interp(times, run.time, run[name]) for name in ("front_steer", "back_steer", "board_x"))
    wheels = min(np.abs(front - side * back[::-1]).max() for side in (1, -1))
    return float(max(wheels, np.abs(way + way[::-1] - WAY).max()))


@entry(level="Advanced")
def snakeboard_at_its_best() -> Study:
    """A snakeboard goes one meter in minimum time, and in cycles of one meter with least effort."""
    fast, easy = dash(), gait()
    for found in (fast, easy):
        run = found.trajectory
        assert found.converged and found.discrepancy < 1e-3
        assert run.energy_drift is not None and run.energy_drift < 1e-8 and run.constraint_residual["nonholonomic"] < 1e-9
        assert abs(run.final["board_x"] - WAY) < 1e-4 and abs(run.final["speed"]) < 1e-3
        assert time_reversal_asymmetry(found) < 0.01, time_reversal_asymmetry(found)
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
        f"from both ends alike to {time_reversal_asymmetry(fast):.0e} and {time_reversal_asymmetry(easy):.0e}",
    )
    figures = {
        "dash": track_figure(fast.trajectory, ("back_wheels", "front_wheels"), snapshots=0.2),
        "both": _both(fast, easy),
    }
    return Study(
        "Snakeboard at its best", {"snakeboard_dash": fast.trajectory, "snakeboard_gait": easy.trajectory}, figures, findings
    )


def _both(fast: dr.optimal.Solution, easy: dr.optimal.Solution) -> Any:
    with style():
        drawing = new_figure(PAGE, 0.8 * PAGE)
        grid = drawing.subplots(3, 2, sharex="col", height_ratios=[1.3, 1.0, 1.0])
        for column, found, title in ((0, fast, "least time"), (1, easy, "a cycle of least effort")):
            run, (angles, torque, way) = found.trajectory, grid[:, column]
            for k, name in enumerate(("front_steer", "back_steer", "board_heading")):
                angles.plot(run.time, np.degrees(run[name]), color=COLORS[k], label=name.replace("_", " "))
            angles.plot(run.time, np.degrees(run["rotor"]) / 4, color=COLORS[3], label="rotor / 4")
            angles.set_title(title)
            torque.plot(*run.curve("rotor_torque"), color=COLORS[3], label="rotor")
            torque.plot(run.time, 40 * run["front_torque"], color=COLORS[0], label="front wheels × 40", lw=1.0)
            way.plot(*run.curve("board_x"), color=COLORS[4], label="way [m]")
            way.plot(*run.curve("speed"), color=COLORS[5], label="speed [m/s]")
            way.set_xlabel("time [s]")
            way.margins(x=0)
        for axes in grid[:, 1]:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        grid[0, 0].set_ylabel("angle [°]")
        grid[1, 0].set_ylabel("torque [N·m]")
    return drawing
