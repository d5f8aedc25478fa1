"""Minimum-time maneuvers of a bicycle at the friction limit: a turn by 90° and a lane change.

What it shows: path constraints on forces. Each wheel stays within its friction cone, F_long² + F_lat² ≤ (µ N)² with µ = 0.8,
and keeps a normal force of at least 20 N, since a larger drive torque would lift the front wheel. Torques are bounded too, but
loosely (steer ±10 N·m, rear wheel −100 to 150 N·m), so that friction is the active limit. Controls are constant in each of 50
intervals. Forces jump with them: path constraints hold at both edges of an interval too, and refinement adds nodes until the
simulated motion exceeds them nowhere by more than 1e-6 of their scales.

What you should see: the turn, entered at 8 m/s, begins with countersteering, at the friction limit of the rear wheel while it
brakes and at that of the front wheel while it straightens up. The lane change, 3 m aside within 18 m of road from 6 m/s, is
ridden in full acceleration: the front wheel is at its least normal force for part of the way, with little friction left to
steer. Where a path constraint is active, ∂H/∂u including its multiplier is zero and the torques lie between their bounds;
elsewhere they are at a bound.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import panels
from draisine.view.plots.labels import legend_above
from draisine.view.plots.style import COLORS, FAINT, PAGE, style
from draisine.view.plots.tracks import track_figure

GRIP, LOAD = 0.8, 20.0  # friction coefficient; the least load of a wheel, N
ASIDE, ALONG = 3.0, 18.0  # m, of the change of lane
WEIGHT = 923.0  # N, of rider and bicycle: scales the friction cones
INTERVALS = 50


def within_limits() -> dr.optimal.OptimalControlProblem:
    """Bounds and path constraints common to both maneuvers."""
    stated = dr.maneuver(bicycle()).bounds(steer_torque=(-10, 10), pedal_torque=(-100, 150), lean=(-1, 1))
    stated = stated.bounds(frame_x=(-1, 30), frame_y=(-1, 30), speed=(3, 15))  # a wide road; always moving
    for wheel in ("front_wheel", "rear_wheel"):
        force = f"({wheel}_longitudinal_force**2 + {wheel}_lateral_force**2)/{WEIGHT}**2"
        stated = stated.along(**{f"{wheel}_grip": f"{force} <= ({GRIP}*{wheel}_normal_force/{WEIGHT})**2"})
        stated = stated.bounds(**{f"{wheel}_normal_force": (LOAD, None)})
    return stated.duration(0.3, 5).minimize("time")


@cache
def quarter_turn(intervals: int = INTERVALS, refine: bool = True) -> dr.optimal.Solution:
    """From 8 m/s straight ahead to upright and straight ahead again, a quarter of a turn to the left."""
    stated = within_limits().start(speed=8).finish(heading=math.pi / 2, lean=0, steer=0, rates=0)
    return _solved(stated, intervals, refine, dr.guess.LinearGuess(duration=2.0))


@cache
def next_lane(intervals: int = INTERVALS, refine: bool = True) -> dr.optimal.Solution:
    """From 6 m/s to the lane on the left, upright and straight ahead there."""
    stated = within_limits().start(speed=6).finish(frame_x=ALONG, frame_y=ASIDE)
    stated = stated.finish("steer_rate = 0", "frame_wx = 0", heading=0, lean=0, steer=0)
    return _solved(stated, intervals, refine, dr.guess.LinearGuess(duration=2.5))


def _solved(
    stated: dr.optimal.OptimalControlProblem, intervals: int, refine: bool, guess: dr.guess.LinearGuess
) -> dr.optimal.Solution:
    pieces = dr.optimal.Collocation("radau", 3, intervals, constant_controls=True)
    return stated.solve(pieces, guess=guess, refine=refine and dr.optimal.Refinement(seconds=300))


def active_shares(found: dr.optimal.Solution) -> dict[str, float]:
    """Share of the time in which each path constraint is active."""
    return {a.name: a.share for a in found.optimality.active}


@entry(level="Advanced")
def lane_change() -> Study:
    """A turn by 90° and a lane change at the limits of friction and front-wheel load."""
    rides = {"turn": quarter_turn(), "lane": next_lane()}
    findings = []
    for name, found in rides.items():
        run, final, shares = found.trajectory, found.trajectory.final, active_shares(found)
        assert found.solved and found.discrepancy < 1e-6
        for wheel in ("front_wheel", "rear_wheel"):  # in the simulated motion
            assert run[f"{wheel}_friction_needed"].max() < GRIP * (1 + 1e-4)
            assert run[f"{wheel}_normal_force"].min() > LOAD - 1e-3
        assert shares["front_wheel_grip"] > 0.05 and shares["rear_wheel_grip"] > 0.005
        assert max(abs(final[n]) for n in ("lean", "steer")) < 1e-2
        assert run["steer"][run.time < 0.1 * found.duration].min() < -0.003  # to the right first
        reported = ", ".join(f"{condition.replace('_', ' ')} {share:.0%}" for condition, share in shares.items())
        findings.append(
            f"{name}: {found.duration:.4f} s, speed {run['speed'].min():.2f} to {run['speed'].max():.2f} m/s, lean up to "
            f"{math.degrees(np.abs(run['lean']).max()):.1f}°, heading {math.degrees(final['heading']):.3f}° in the end; held "
            f"back by {reported} of the way; the simulated motion departs by {found.discrepancy:.0e}"
        )
    assert active_shares(rides["lane"])["front_wheel_normal_force"] > 0.05  # the front wheel is about to lift
    figures: dict[str, Any] = {"limits": _limits(rides)}
    for name, found in rides.items():
        figures[f"{name}_switching"] = dr.optimal.Solution.plot(found)
        figures[f"{name}_path"] = track_figure(found.trajectory, ["rear_wheel_contact", "front_wheel_contact"], snapshots=0.4)
    return Study("At the rider's limit", {name: f.trajectory for name, f in rides.items()}, figures, tuple(findings))


def _limits(rides: dict[str, dr.optimal.Solution]) -> Any:
    """Friction used by both wheels and the front wheel's load, with their limits."""
    with style():
        drawing, axes = panels(2 * len(rides), PAGE, 1.1 * PAGE)
        for (name, found), used, load in zip(rides.items(), axes[::2], axes[1::2], strict=True):
            run = found.trajectory
            for k, wheel in enumerate(("front_wheel", "rear_wheel")):
                word = wheel.replace("_", " ")
                used.plot(*run.curve(f"{wheel}_friction_needed"), color=COLORS[k], label=f"{name}: {word}")
                load.plot(*run.curve(f"{wheel}_normal_force"), color=COLORS[k])
            used.axhline(GRIP, color=FAINT, lw=0.8, ls="--")
            load.axhline(LOAD, color=FAINT, lw=0.8, ls="--")
            used.set_ylim(0, 1.25)
            used.set_ylabel("friction used [–]")
            load.set_ylabel("load [N]")
            legend_above(used, PAGE)
        axes[-1].set_xlabel("time [s]")
    return drawing
