"""Adjoint gradients as a solver: exact optima, both solvers on one grid, interruption, refusals."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
import driven_pendulum
from draisine.errors import ArgumentError, DataError
from draisine.gallery.entries.minimum_time_turn import both_methods
from draisine.optimal.ipopt import Outcome

x, v, force, k = sp.symbols("x v force k")


@pytest.fixture(scope="module")
def mass():
    return dr.first_order("mass", {x: v, v: force}, inputs=[force], parameters={k: 1.0})


def test_shortest_time_of_the_double_integrator(mass):
    """1 m from rest to rest with |force| ≤ 1 takes 2 s, and the force changes its sign half way."""
    there = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).duration(0.5, 10).minimize("time")
    found = there.solve(dr.optimal.Adjoint(pieces=20), guess=dr.guess.ConstantGuess(duration=3.0))
    assert found.solved
    assert found.duration == pytest.approx(2.0, abs=1e-6)
    assert found.only.input("force") == pytest.approx([1.0] * 10 + [-1.0] * 10, abs=1e-6)
    assert found.discrepancy < 1e-9
    # Pontryagin: the costate of the place is constant, that of the speed is zero at the switch, as far as pieces of 0.1 s tell it
    assert found.only.costate("x") == pytest.approx(np.full(21, -1.0), abs=1e-4)
    assert found.only.costate("v") == pytest.approx(found.only.costate_times - 1.0, abs=0.1)
    reported = found.optimality
    assert reported.hamiltonian[0].mean == pytest.approx(-1.0, abs=0.01)
    assert reported["force"].agreement == 1.0


def test_least_effort_in_closed_form(mass):
    """∫ force² dt from rest to rest in 1 s is 12, with a force that falls linearly; in n pieces, 12 n²/(n² − 1)."""
    there = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).duration(1).minimize(integral="force**2")
    found = there.solve(dr.optimal.Adjoint(pieces=10))
    assert found.solved
    assert found.objective == pytest.approx(12 * 100 / 99, rel=1e-6)
    middles = (np.arange(10) + 0.5) / 10
    assert found.only.input("force") == pytest.approx((1 - 2 * middles) * 6 * 100 / 99, abs=1e-4)
    assert found.answer.row_multipliers[0] == pytest.approx(-24 * 100 / 99, rel=1e-4)  # price of the distance


def test_ranges_at_the_end_and_parameters(mass):
    """The speed may end anywhere below 0.5; the spring's own stiffness is chosen along with the force."""
    free = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=(None, 0.5)).duration(1).minimize(integral="force**2")
    found = free.solve(dr.optimal.Adjoint(pieces=10))
    exact = free.solve(dr.optimal.Collocation(intervals=10, constant_controls=True))
    assert found.solved
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    assert found.trajectory.final["v"] == pytest.approx(0.5, abs=1e-5)
    spring = dr.first_order("spring", {x: v, v: force - k * x}, inputs=[force], parameters={k: 1.0})
    chosen = dr.maneuver(spring).start(x=0, v=0).finish(x=1, v=0).duration(2).optimize(k=(0.5, 8.0)).minimize(integral="force**2")
    one, other = (
        chosen.solve(dr.optimal.Adjoint(pieces=12)),
        chosen.solve(dr.optimal.Collocation(degree=4, intervals=12, constant_controls=True)),
    )
    assert one.solved
    assert one.parameters["k"] == pytest.approx(other.parameters["k"], rel=1e-3)
    assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_multipliers_solved_for_on_the_way():
    """The pendulum in Cartesian coordinates: the same least effort as in its angle."""
    rod = driven_pendulum.in_cartesian_coordinates()
    one = driven_pendulum.in_its_angle()
    effort = "side**2"
    by_place = dr.maneuver(rod).start(x=0, y=-1).finish(x=0.6, x_rate=0).duration(1.2).minimize(integral=effort)
    by_angle = dr.maneuver(one).start(angle=0).finish(angle=math.asin(0.6), rates=0).duration(1.2).minimize(integral=effort)
    found, wanted = (m.solve(dr.optimal.Adjoint(pieces=12)) for m in (by_place, by_angle))
    assert found.solved and wanted.solved
    assert found.objective == pytest.approx(wanted.objective, rel=1e-5)
    assert found.trajectory.constraint_residual["holonomic"] < 1e-7


# ------------------------------------------------------------------------------------------------ the bicycle


@pytest.fixture(scope="module")
def turn():
    return (
        dr.maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30))
        .duration(0.3, 5)
        .minimize("time")
    )


def test_both_derivations_turn_the_bicycle_alike():
    """From one start, on one grid of 20 pieces: the same shortest time, and the same torques."""
    one, other = both_methods(20)
    assert one.solved and other.converged
    assert one.duration == pytest.approx(other.duration, rel=1e-3)
    steer, pedal = one.only.input("steer_torque"), one.only.input("pedal_torque")
    assert steer == pytest.approx(other.only.input("steer_torque"), abs=0.25)
    assert pedal == pytest.approx(other.only.input("pedal_torque"), abs=0.5)
    assert one.discrepancy < 1e-8 < other.discrepancy  # the adjoint's motion is no discretization of another order
    assert steer[0] == pytest.approx(-5, abs=1e-6)  # to the right, for a turn to the left
    assert one["lean"].min() < -0.3
    assert {-30.0, 30.0} == set(pedal.round(3))
    assert (np.abs(steer) > 4.99).mean() >= 0.75
    final = one.trajectory.final
    assert final["heading"] == pytest.approx(math.pi / 4, abs=1e-5)
    assert [final[n] for n in ("lean", "steer", "roll_rate", "steer_rate", "yaw_rate")] == pytest.approx([0] * 5, abs=1e-4)
    assert one.optimality["steer_torque"].agreement == 1.0


def test_interruption_keeps_the_best(turn):
    reported = []

    def progress(now):
        reported.append(now.values)
        if now.values["iteration"] == 5:
            raise KeyboardInterrupt

    found = turn.solve(dr.optimal.Adjoint(pieces=10), guess=dr.guess.ConstantGuess(duration=1.5), progress=progress)
    assert found.outcome is Outcome.INTERRUPTED
    assert found.status.kind == "INTERRUPTED"
    assert [row["iteration"] for row in reported] == [1, 2, 3, 4, 5]
    assert found.answer.violation == pytest.approx(reported[-1]["violation"], rel=0.5)
    assert len(found.time) > 10


def test_solutions_are_kept_in_files(mass, tmp_path):
    there = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).duration(0.5, 10).minimize("time")
    found = there.solve(dr.optimal.Adjoint(pieces=6), guess=dr.guess.ConstantGuess(duration=2.5))
    found.save(tmp_path / "there.nc")
    again = there.load(tmp_path / "there.nc")
    assert again.duration == found.duration
    assert again.only.scheme == found.only.scheme == dr.optimal.Adjoint(pieces=6, steps=1)  # one was enough at the guess
    assert again.only.input("force") == pytest.approx(found.only.input("force"), abs=1e-12)
    assert again.only.costates == pytest.approx(found.only.costates, abs=1e-9)
    with pytest.raises(DataError, match="state the maneuver that was solved"):
        there.finish(x=2).load(tmp_path / "there.nc")


def test_conditions_out_of_reach_are_named(mass):
    """In one second at |force| ≤ 1 the mass comes 0.5 m far at most, and not to rest."""
    hurry = dr.maneuver(mass).start(x=0, v=0).finish(x=10, v=0).bounds(force=(-1, 1)).duration(1).minimize("time")
    found = hurry.solve(dr.optimal.Adjoint(pieces=4))
    assert found.outcome is Outcome.INFEASIBLE
    assert any("finish: x (misses by 9" in text for text in found.conflicts)
    assert "no motion was found that satisfies all conditions" in found.status.message


def test_refusals(turn, mass):
    with pytest.raises(ArgumentError, match="lean must hold along the path"):
        turn.bounds(lean=(-1, 1)).solve(dr.optimal.Adjoint(10))
    with pytest.raises(ArgumentError, match="start is partly free"):
        dr.maneuver(mass).start(x=0, free=["v"]).finish(x=1).minimize("time").solve(dr.optimal.Adjoint(10))
    with pytest.raises(ArgumentError, match="takes no solver="):
        turn.solve(dr.optimal.Adjoint(10), solver=dr.optimal.Ipopt())
    with pytest.raises(ArgumentError, match="2 phases"):
        one = dr.maneuver(mass).start(x=0, v=0).finish(x=1).minimize("time")
        one.then(dr.maneuver(mass).finish(x=2).minimize("time")).solve(dr.optimal.Adjoint(10))
    with pytest.raises(ArgumentError, match="tolerance must lie"):
        dr.optimal.Descent(tolerance=2.0)
