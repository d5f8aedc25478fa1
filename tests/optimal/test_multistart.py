"""Several starts on a cost with several minima that are known."""

import math

import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError


@pytest.fixture(scope="module")
def down():
    """Where to stand after a second, |place| ≤ 4: cos 3x + x/10 is lowest where sin 3x = 1/30, at three places within reach."""
    place, push = sp.symbols("place push")
    hills = dr.first_order("hills", {place: push}, inputs=[push])
    return dr.maneuver(hills).start(place=0).bounds(push=(-4, 4)).duration(1).minimize(final="cos(3*place) + 0.1*place")


def valley(turn):
    x = (math.pi * (1 + 2 * turn) - math.asin(1 / 30)) / 3
    return math.cos(3 * x) + 0.1 * x


def test_minima_are_listed_and_the_best_kept(down):
    reported = []
    guesses = [dr.guess.ConstantGuess(inputs={"push": p}) for p in (1.0, -1.0, 3.1, -3.1, 0.9)]
    found = dr.optimal.multistart(down, guesses, method=dr.optimal.Adjoint(pieces=1), progress=reported.append)
    assert [a.objective for a in found.minima] == pytest.approx([valley(-2), valley(-1), valley(0), valley(1)], abs=1e-6)
    assert [found.leading_to(m) for m in found.minima] == [(3,), (1,), (0, 4), (2,)]
    assert found.best.objective == found.minima[0].objective
    assert [(p.values["done"], p.values["total"], p.share) for p in reported] == [(k, 5, k / 5) for k in range(1, 6)]
    assert "5 starts, 4 local minima" in str(found)
    assert "from start 1, 5" in str(found)


def test_random_starts_are_the_same_for_the_same_seed(down):
    one, again, other = (dr.optimal.multistart(down, 4, seed=seed, method=dr.optimal.Adjoint(pieces=2)) for seed in (1, 1, 2))
    assert [a.objective for a in one.attempts] == [a.objective for a in again.attempts]
    assert [a.guess for a in one.attempts] == [a.guess for a in again.attempts]
    assert {a.guess.seed for a in one.attempts if a.number} != {a.guess.seed for a in other.attempts if a.number}


def test_interruption_keeps_what_there_is(down):
    def stop(progress):
        if progress.values["done"] == 2:
            raise KeyboardInterrupt

    found = dr.optimal.multistart(down, 5, method=dr.optimal.Adjoint(pieces=2), progress=stop)
    assert len(found.attempts) == 2


def test_refusals(down):
    with pytest.raises(ArgumentError, match="at least one start"):
        dr.optimal.multistart(down, 0)
    with pytest.raises(ArgumentError, match="at least one guess"):
        dr.optimal.multistart(down, [])
    with pytest.raises(ArgumentError, match="2 phases"):
        dr.optimal.multistart(down.then(down))


@pytest.mark.further
def test_crossings_of_a_shear_current_lead_to_one_minimum():
    """Zermelo's problem with a heading that wraps: 5.457865 s in closed form (see `test_verdicts`)."""
    x, y, heading = sp.symbols("x y heading")
    boat = dr.first_order("boat", {x: sp.cos(heading) - y, y: sp.sin(heading)}, inputs=[heading])
    crossing = dr.maneuver(boat).start(x=3.66, y=-1.86).finish(x=0, y=0).bounds(heading=(-math.pi, math.pi))
    found = dr.optimal.multistart(crossing.duration(1, 20).minimize("time"), 6)
    assert found.best.solved, found
    assert found.best.duration == pytest.approx(5.45786526, rel=1e-6)


@pytest.mark.further
def test_the_turn_finds_the_better_of_its_minima():
    """Random guesses lead nowhere and are replaced, with the reason; the best has 1.5086 s."""
    turn = (
        dr.maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-40, 40))
        .duration(0.3, 5)
        .minimize("time")
    )
    starts = dr.optimal.RandomGuesses(12, first=dr.guess.LinearGuess(duration=1.5))
    found = dr.optimal.multistart(turn, starts, method=dr.optimal.Collocation(intervals=60, constant_controls=True))
    assert found.best.converged
    assert found.best.duration <= 1.5087
    assert any("led nowhere" in a.repair and "violation" in a.repair for a in found.attempts)
    assert "its guess led nowhere" in str(found)
