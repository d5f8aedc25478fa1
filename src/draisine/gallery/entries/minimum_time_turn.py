"""Minimum-time turn of a bicycle by 45°, ending upright and straight (Delebecque & Nikoukhah 1992, section 4).

The benchmark bicycle of Meijaard et al. (2007), with all of its nonlinear equations, at 8 m/s. Torques at the bar and at the
pedals are bounded on both sides and constant in each of 60 intervals of free, equal length.

What it shows: optimal control by two independent methods. Collocation makes states and torques unknowns of one large problem,
with exact second derivatives. The adjoint method of the source integrates the equations forward and their adjoint backward, and
descends along the gradient; final conditions have multipliers. From the same start and on the same grid they reach the same
time. There are several close local minima, and random guesses mostly lead to the worse ones. Torques that are not bound to pieces
are compared with all others by Pontryagin's principle (`solve` without a method), which leaves poor minima; from that motion and
perturbations of it `multistart` finds the best turn in pieces, lists the other minima and keeps the best.

What you should see: countersteering: the bar is first pushed to the right for a turn to the left. The front wheel goes right,
the bicycle falls to the left and turns with its lean. Both torques are at their bounds nearly throughout, and switch where
their switching functions vanish. The bicycle brakes for more than half of the time, so that it turns sooner, and then
accelerates: maximum pedal torque throughout, as in the source, is not optimal where braking is allowed.
"""

from __future__ import annotations

import math
from functools import cache

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.tracks import track_figure
from draisine.view.plots.trajectories import channel_figure

SPEED, ANGLE = 8.0, math.pi / 4
STEER, PEDAL = 5.0, 30.0  # N·m
PIECES, STARTS = 60, 6
GUESS = dr.guess.LinearGuess(duration=1.5)


@cache
def turn() -> dr.optimal.OptimalControlProblem:
    """The optimal control problem."""
    return (
        dr.maneuver(bicycle())
        .start(speed=SPEED)
        .finish(heading=ANGLE, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-STEER, STEER), pedal_torque=(-PEDAL, PEDAL))
        .duration(0.3, 5)
        .minimize("time")
    )


@cache
def in_free_pieces() -> dr.optimal.Solution:
    """The turn with torques that switch at any time: a lower bound of the time in pieces."""
    return turn().solve()


@cache
def searched(pieces: int = PIECES, starts: int = STARTS) -> dr.optimal.MultistartResult:
    """Local minima by collocation, from the turn in free pieces and perturbations of it."""
    from_here = dr.optimal.RandomGuesses(starts, first=in_free_pieces().trajectory, amplitude=0.1)
    return dr.optimal.multistart(
        turn(),
        from_here,
        method=dr.optimal.Collocation(intervals=pieces, constant_controls=True),
        solver=dr.optimal.Ipopt(iterations=300),
    )


@cache
def both_methods(pieces: int = PIECES) -> tuple[dr.optimal.Solution, dr.optimal.Solution]:
    """By the adjoint method and by collocation, on the same grid and from the same start, with intervals twice as long."""
    start = turn().solve(dr.optimal.Collocation(intervals=pieces // 2, constant_controls=True), guess=GUESS)
    return turn().solve(dr.optimal.Adjoint(pieces=pieces), guess=start), turn().solve(
        dr.optimal.Collocation(intervals=pieces, constant_controls=True), guess=start
    )


def fastest() -> dr.optimal.Solution:
    """The best local minimum found."""
    return searched().best


@entry(level="Advanced")
def minimum_time_turn(pieces: int = PIECES, starts: int = STARTS) -> Study:
    """A bicycle turns by 45° in minimum time: countersteering, bang-bang torques; two methods agree, local minima are listed."""
    found, (adjoint, collocation) = searched(pieces, starts), both_methods(pieces)
    best = found.best
    run, steer, pedal = best.trajectory, best.only.input("steer_torque"), best.only.input("pedal_torque")
    reported = best.optimality
    apart = adjoint.duration / collocation.duration - 1.0
    right = run["steer"][run.time < 0.1 * best.duration]
    braking = float((pedal < 0).mean())

    assert best.converged and adjoint.converged and collocation.converged
    assert abs(apart) < 5e-3, (adjoint.duration, collocation.duration)
    assert best.duration <= min(adjoint.duration, collocation.duration) * (1 + 1e-3)
    assert best.duration > in_free_pieces().duration * (1 - 1e-3)
    assert steer[0] < -0.99 * STEER and right.min() < -0.001 and right.max() < 1e-6, "it must countersteer"
    assert run["lean"].min() < -0.25, "it must lean into the turn"
    assert reported["steer_torque"].agreement > 0.95 and reported["pedal_torque"].agreement > 0.95
    assert 0.5 < braking < 1.0, "it brakes first and accelerates then"
    assert abs(run.final["heading"] - ANGLE) < 2e-2 and abs(run.final["lean"]) < 2e-2

    figures = {
        "path": track_figure(run, snapshots=0.2),
        "lean_and_steer": channel_figure(run, "lean", "steer", "heading", "speed"),
        "torques": best.plot(),
    }
    findings = (
        f"least time {best.duration:.4f} s; {found}",
        f"from one start: adjoint {adjoint.duration:.6f} s, collocation {collocation.duration:.6f} s, {apart:+.1e} apart",
        f"adjoint: {adjoint.status}",
        str(reported),
        f"brakes for {braking:.0%} of the way; leans by {math.degrees(-run['lean'].min()):.1f}°",
    )
    return Study("Turn by 45° in the least time", {"turn": run, "turn_by_adjoint": adjoint.trajectory}, figures, findings)
