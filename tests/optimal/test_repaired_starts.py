"""Guesses that lead nowhere: feasibility phase and homotopy in bounds, on problems with known answers."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.optimal import Collocation, Ipopt
from draisine.optimal.feasibility import find_conflicts, least_violation, narrowing_bounds
from draisine.optimal.mesh_search import Task
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.repaired_searches import RESCUED
from draisine.optimal.solve import solve
from draisine.optimal.transcription import control_unknowns

QUICK = Ipopt(iterations=150)


def parking():
    """A car beside its place: the linear guess moves sideways, which no steering does to first order."""
    x, y, heading, steer, speed, rate = sp.symbols("x y heading steer speed rate")
    rates = {x: speed * sp.cos(heading), y: speed * sp.sin(heading), heading: speed * sp.tan(steer) / 2.5, steer: rate}
    car = dr.first_order("car", rates, inputs=[speed, rate])
    stated = dr.maneuver(car).start(x=0, y=0, heading=0, steer=0).finish(x=0, y=2, heading=0, steer=0)
    stated = stated.bounds(speed=(-1, 1), rate=(-1, 1), steer=(-0.6, 0.6), x=(-3, 3), y=(-0.1, 2.1))
    return stated.duration(1, 60).minimize("time")


def slalom():
    """Two disks on the way over 10 m with accelerations of at most 2 along each axis: at least 2 √(10/2) s, along x alone."""
    x, y, vx, vy, ax, ay = sp.symbols("x y vx vy ax ay")
    body = dr.first_order("body", {x: vx, y: vy, vx: ax, vy: ay}, inputs=[ax, ay])
    stated = dr.maneuver(body).start(x=0, y=0, vx=0, vy=0).finish(x=10, y=0, vx=0, vy=0).bounds(ax=(-2, 2), ay=(-2, 2))
    disks = "(x - 3)^2 + (y - 0.2)^2 >= 1.5^2", "(x - 6.5)^2 + (y + 0.3)^2 >= 1.5^2"
    return stated.along(*disks).duration(1, 30).minimize("time")


def swing():
    """A pendulum that is swung up by a quarter of the torque that would lift it."""
    q, w, u = sp.symbols("q w u")
    pendulum = dr.first_order("pendulum", {q: w, w: u - sp.sin(q)}, inputs=[u])
    stated = dr.maneuver(pendulum).start(q=0, w=0).finish(q=math.pi, w=0).bounds(u=(-0.25, 0.25))
    return stated.duration(1, 40).minimize("time")


def guess(duration, seed, amplitude):
    factor = 1.5 ** np.random.default_rng(seed).uniform(-1, 1)
    return dr.guess.PerturbedGuess(dr.guess.LinearGuess(duration=duration * factor), seed, amplitude)


def transcribed(stated, method, given):
    task = Task(stated, *build_phases(stated, [method]))
    made = task.transcribed([method], given)
    made.nlp.begin_compiling()()
    return made


def violation(nlp, w):
    rows = nlp.values(w)[1]
    over = np.maximum(np.maximum(nlp.row_low - rows, rows - nlp.row_high), 0.0) / nlp.row_scale
    beyond = np.maximum(np.maximum(nlp.low - w, w - nlp.high), 0.0) / nlp.scale
    return max(over.max(), beyond.max())


def test_a_symmetric_start_is_repaired_and_reported():
    found = dr.optimal.multistart(parking(), [dr.guess.LinearGuess()], method=Collocation(intervals=15))
    (attempt,) = found.attempts
    assert attempt.converged and attempt.repaired
    assert attempt.repair.startswith(RESCUED)
    assert str(found).startswith("1 starts, 1 local minimum, 1 repaired")
    assert "  start 1: the guess led nowhere and was repaired by " in str(found)
    plain = parking().solve(Collocation(intervals=15), guess=dr.guess.LinearGuess())
    assert not plain.converged  # without repair


@pytest.mark.parametrize(
    ("stated", "duration", "intervals", "amplitude", "seeds"),
    [pytest.param(slalom, 6, 20, 1.0, 20), pytest.param(swing, 8, 20, 0.7, 6, marks=pytest.mark.further)],
)
def test_random_starts_that_fail_alone_are_repaired(stated, duration, intervals, amplitude, seeds):
    """Whatever is called repaired meets its conditions on the mesh and is no better than what is possible."""
    problem, method = stated(), Collocation(intervals=intervals)
    alone = repaired = 0
    for seed in range(seeds):
        found = solve(problem, method, guess=guess(duration, seed, amplitude), solver=QUICK, rescue=True)
        if any(note.startswith(RESCUED) for note in found.notes):
            repaired += 1
            assert found.converged
            assert found.answer.violation < 1e-6
            assert violation(transcribed(problem, method, found).nlp, found.answer.w) < 1e-6
        alone += found.converged
        if found.converged and stated is slalom:
            assert found.objective > 2 * math.sqrt(5) * (1 - 1e-6)
    assert repaired >= 1 and alone >= seeds // 2


@pytest.mark.parametrize("seed", range(3))
def test_feasible_points_are_feasible(seed):
    rng = np.random.default_rng(seed)
    method = Collocation(intervals=int(rng.integers(8, 20)))
    made = transcribed(slalom(), method, guess(6, seed, 1.0))
    found = least_violation(made.nlp, made.guess, QUICK)
    assert found is not None and found[1] and violation(made.nlp, found[0]) < 1e-4
    narrowed = narrowing_bounds(made.nlp, made.guess, *control_unknowns(made, [method]), QUICK)
    assert narrowed is None or violation(made.nlp, narrowed[0]) < 1e-6


def test_the_homotopy_follows_the_least_controls_of_a_double_integrator():
    """From rest to rest over 1 in a fixed second, u = 6 − 12 t: bounds of ±7 do not matter, those of ±5.9 do, ±3 are
    too narrow."""
    x, v, u = sp.symbols("x v u")
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).duration(1).minimize(integral="x**2")
    method = Collocation(intervals=8)
    for limit in (7.0, 5.9, 3.0):
        made = transcribed(stated.bounds(u=(-limit, limit)), method, None)
        indices = made.indices[0]
        narrowed = narrowing_bounds(made.nlp, made.guess, *control_unknowns(made, [method]), QUICK)
        if limit == 3.0:
            assert narrowed is None
            assert any("finish" in name for name in find_conflicts(made.nlp, made.guess, QUICK))
            continue
        assert narrowed is not None and violation(made.nlp, narrowed[0]) < 1e-6
        found = narrowed[0][indices.controls][:, 0]
        assert np.abs(found).max() < limit * (1 + 1e-6)
        if limit == 7.0:
            assert found == pytest.approx(6 - 12 * method.grid.control_times, rel=1e-6, abs=1e-6)


def test_what_cannot_be_repaired_is_reported():
    """Rest to rest over 1 in 1 s needs |u| = 4."""
    x, v, u = sp.symbols("x v u")
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(u=(-3, 3)).duration(1).minimize(integral="u**2")
    found = dr.optimal.multistart(stated, 2, method=Collocation(intervals=8))
    assert not any(a.converged or a.repaired for a in found.attempts)
    assert "2 failed" in str(found) and "finish" in found.attempts[0].failure


@pytest.mark.parametrize(("most", "half_swings"), [(0.2, 10), (0.4, 5), (0.5, 4)])
def test_motions_much_longer_than_the_guess_are_found(most, half_swings):
    """An oscillator at 4 with little force: bang-bang arcs about ±most take 2·most of the amplitude in each half swing."""
    x, v, force = sp.symbols("x v force")
    oscillator = dr.first_order("oscillator", {x: v, v: force - x}, inputs=[force])
    stated = dr.maneuver(oscillator).start(x=4, v=0).finish(x=0, v=0).bounds(force=(-most, most)).minimize("time")
    found = stated.solve()
    assert found.converged, found.status
    assert found.duration == pytest.approx(half_swings * math.pi, rel=1e-5)
