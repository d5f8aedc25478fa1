"""Every word of a statement, on problems whose answer is known otherwise."""

import math
import os
import signal
import sys

import numpy as np
import pytest
import sympy as sp

import draisine as dr
import driven_pendulum
from draisine.errors import ArgumentError, ModelError
from draisine.optimal import better_minima
from draisine.optimal.ipopt import Outcome
from draisine.optimal.mesh_search import Task

x, v, force, k = sp.symbols("x v force k")


@pytest.fixture(scope="module")
def mass():
    return dr.first_order("mass", {x: v, v: force}, inputs=[force], outputs={"speed": v})


@pytest.fixture(scope="module")
def ball():
    return dr.first_order("ball", {x: v, v: -9.81})


# ------------------------------------------------------------------------------------------------ kinds of dynamics


@pytest.fixture(scope="module")
def rod():
    """A pendulum in Cartesian coordinates, with a multiplier; a horizontal force pushes its end."""
    return driven_pendulum.in_cartesian_coordinates()


@pytest.fixture(scope="module")
def least_effort():
    """The same in its angle: effort of a swing from the bottom to the horizontal, there at rest, in 1.5 s."""
    one = driven_pendulum.in_its_angle()
    stated = dr.maneuver(one).start(angle=0).finish(angle=math.pi / 2, rates=0).duration(1.5).minimize(integral="side**2")
    return stated.solve(dr.optimal.Collocation(degree=4, intervals=30)).objective


def test_multipliers_as_unknowns(rod, least_effort):
    stated = dr.maneuver(rod).start(x=0, y=-1).finish(y=0, rates=0).duration(1.5).minimize(integral="side**2")
    found = stated.solve(dr.optimal.Collocation(intervals=30))
    assert found.converged
    assert found.objective == pytest.approx(least_effort, rel=1e-6)
    assert found.discrepancy < 1e-5
    on_the_circle = found.only.state("x") ** 2 + found.only.state("y") ** 2
    assert on_the_circle == pytest.approx(np.ones(len(on_the_circle)), abs=5e-5)  # of the discretization's error …
    assert on_the_circle[::3] == pytest.approx(np.ones(31), abs=2e-6)  # … which is smaller between the intervals
    assert found.trajectory.constraint_residual["holonomic"] < 1e-9
    shot = stated.solve(dr.optimal.MultipleShooting(60, steps=3), guess=found)
    assert shot.objective == pytest.approx(least_effort, rel=2e-3)  # its force is constant in each interval
    assert shot.objective > least_effort


@pytest.mark.parametrize("index", [1, 2])
def test_implicit_equations(rod, least_effort, index):
    stated = dr.maneuver(dr.dae.as_dae(rod, index=index)).start(x=0, y=-1).finish(y=0, y_rate=0).duration(1.5)
    found = stated.minimize(integral="side**2").solve(dr.optimal.Collocation(intervals=30))
    assert found.converged
    assert found.objective == pytest.approx(least_effort, rel=1e-5)
    assert found.discrepancy < 1e-4


def test_index_three_is_refused(rod):
    with pytest.raises(ModelError, match="index 3"):
        dr.maneuver(dr.dae.as_dae(rod, index=3)).start(y=-1).finish(y=0).duration(1.5).minimize("time").solve()


def test_closed_loop_reduced_and_with_multipliers_agree():
    model = dr.gallery.slider_crank()
    costs = []
    for formulation in (dr.formulations.Reduced(), dr.formulations.Augmented()):
        equations = dr.derive(model, None, (), True, formulation)
        stated = dr.maneuver(equations).start(crank_angle=0.3).finish(crank_angle=2.0, rates=0).duration(1)
        found = stated.minimize(integral="crank_torque**2").solve(dr.optimal.Collocation(intervals=20))
        assert found.converged
        assert found.discrepancy < 1e-5
        costs.append(found.objective)
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)


def test_turning_point_of_a_constraint_is_reported(rod):
    stated = dr.maneuver(rod).start(x=0, y=-1).finish(x=1).duration(1.5).minimize(integral="side**2")
    found = stated.solve(dr.optimal.Collocation(intervals=5), solver=dr.optimal.Ipopt(iterations=3))
    assert any("x = 1 is the most or least" in note for note in found.notes)


# ------------------------------------------------------------------------------------------------ cart and pole


@pytest.fixture(scope="module")
def swing_up():
    cart = dr.gallery.cart_pole()
    stated = dr.maneuver(cart).start(pole=math.pi).finish(pole=0, cart=0, rates=0).bounds(push=(-20, 20), cart=(-2, 2))
    return stated.duration(2).minimize(integral="push**2")


@pytest.fixture(scope="module")
def swung_up(swing_up):
    return swing_up.solve(dr.optimal.Collocation(intervals=40))


def test_swing_up_is_confirmed_by_simulation(swung_up):
    assert swung_up.converged
    assert swung_up.kkt_error < 1e-8
    assert swung_up.discrepancy < 5e-4
    final = swung_up.trajectory.final
    assert [final[n] for n in ("cart", "pole", "cart_rate", "pole_rate")] == pytest.approx([0, 0, 0, 0], abs=2e-3)
    assert swung_up.trajectory.energy_drift < 1e-8
    effort = np.trapezoid(swung_up["push"] ** 2, swung_up.time)
    assert effort == pytest.approx(swung_up.objective, rel=1e-3)


def test_finer_meshes_bring_the_error_down(swing_up, swung_up):
    found = swing_up.solve(dr.optimal.Collocation(intervals=20), refine=dr.optimal.Refinement(1e-7))
    assert found.error <= 1e-7
    assert found.rounds > 1
    assert found.discrepancy < 1e-5
    assert found.objective == pytest.approx(swung_up.objective, rel=1e-4)
    lengths = np.diff(found.only.grid.breaks)
    assert lengths.max() > 1.9 * lengths.min()  # finer where it is needed alone


def test_states_and_controls_at_one_time(swung_up):
    """One time gives one row, the same as in a list."""
    phase = swung_up.only
    for values in (phase.states_at, phase.inputs_at):
        assert values(0.5).tolist() == values([0.5])[0].tolist()


def test_refine_by_word(swing_up, swung_up):
    """`refine=False` keeps the first mesh, chosen or given; `refine=True` is `Refinement()`."""
    first = swing_up.solve(refine=False)
    assert first.rounds == 1 and first.objective == swing_up.solve(dr.optimal.Collocation()).objective
    assert swing_up.solve(dr.optimal.Collocation(), refine=True).objective == swing_up.solve().objective


def test_no_search_of_a_refinement_exceeds_its_limit(swing_up, monkeypatch):
    """Searches from better controls, too: all get the seconds that are left when they begin."""
    limits = []

    def once(self, schemes, guess, solver, *rest, own=Task.once):
        limits.append(solver.options.get("max_wall_time"))
        return own(self, schemes, guess, solver, *rest)

    monkeypatch.setattr(Task, "once", once)
    monkeypatch.setattr(better_minima, "better_controls", lambda *_: (_[-1], 0.0))  # as if there always were any
    found = swing_up.solve(dr.optimal.Collocation(intervals=20), refine=dr.optimal.Refinement(1e-7, seconds=100))
    assert found.converged and len(limits) > 3
    assert limits[0] is None and all(0 < left <= 100 for left in limits[1:])


def test_every_scheme_finds_the_same(swing_up, swung_up):
    for scheme in (dr.optimal.Collocation("gauss", 3, 40), dr.optimal.Collocation("hermite-simpson", intervals=100)):
        assert swing_up.solve(scheme, guess=swung_up).objective == pytest.approx(swung_up.objective, rel=1e-4)
    shot = swing_up.solve(dr.optimal.MultipleShooting(100, 3), guess=swung_up)
    assert shot.objective == pytest.approx(swung_up.objective, rel=2e-3)
    assert shot.discrepancy < 1e-5


def test_earlier_answers_are_good_guesses(swing_up, swung_up):
    again = swing_up.solve(dr.optimal.Collocation(intervals=60), guess=swung_up)
    simulated = swing_up.solve(dr.optimal.Collocation(intervals=60), guess=swung_up.trajectory)
    assert again.answer.iterations <= 8
    assert simulated.answer.iterations <= 8
    assert again.objective == pytest.approx(simulated.objective, rel=1e-9)


def test_multipliers_of_an_earlier_answer_help(swing_up, swung_up):
    other = swing_up.parameters(m_pole=0.302)
    cold = other.solve(dr.optimal.Collocation(intervals=40), guess=swung_up)
    warm = other.solve(dr.optimal.Collocation(intervals=40), guess=swung_up, solver=dr.optimal.Ipopt(warm=True))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    assert warm.answer.iterations <= cold.answer.iterations


def test_a_followed_path_is_a_guess():
    cart = dr.gallery.cart_pole()
    run = dr.control.follow(cart, 1.0, {"pole": "pole = 0.1*sin(3*t)**2"}, ["push"])
    stated = dr.maneuver(cart).start(pole=0).finish(pole=float(run["pole"][-1])).duration(1).minimize(integral="push**2")
    assert stated.solve(dr.optimal.Collocation(intervals=10), guess=run).converged


# ------------------------------------------------------------------------------------------------ words


def test_phases_with_the_arcs_known(mass):
    """Full force ahead, then back: both last √d."""
    ahead = dr.maneuver(mass).start(x=0, v=0).inputs(force=1).minimize("time")
    back = dr.maneuver(mass).inputs(force=-1).finish(x=3, v=0).minimize("time")
    found = ahead.then(back).solve(dr.optimal.Collocation(intervals=2))
    assert [p.duration for p in found.phases] == pytest.approx([math.sqrt(3)] * 2, rel=1e-9)
    assert found.trajectory.final["x"] == pytest.approx(3, abs=1e-9)
    assert found.phases[1].begin == pytest.approx(math.sqrt(3), rel=1e-9)


def test_a_later_phase_has_no_start_of_its_own(mass):
    first, second = dr.maneuver(mass).start(x=0), dr.maneuver(mass).start(x=1).minimize("time")
    with pytest.raises(ArgumentError, match="begins where the one before"):
        first.then(second).solve(dr.optimal.Collocation(intervals=2))


def test_a_jump_between_phases(ball):
    """Dropped from 1 m with restitution 0.8, a ball comes up to 0.64 m."""
    down = dr.maneuver(ball).start(x=1, v=0).finish(x=0)
    up = dr.maneuver(ball).finish(v=0).minimize(final="-x")
    found = down.then(up, jump={"v": "-0.8*v"}).solve(dr.optimal.Collocation(intervals=2))
    assert found.objective == pytest.approx(-0.64, rel=1e-9)
    assert found.discrepancy < 1e-9


def test_periodic_motion():
    """The motion that follows cos 2t exactly is periodic; u = ẍ + 0.1 ẋ + x."""
    swing = dr.first_order("swing", {x: v, v: force - x - v / 10}, inputs=[force])
    stated = dr.maneuver(swing).periodic().duration(math.pi).minimize(integral="(x - cos(2*t))**2")
    found = stated.solve(dr.optimal.Collocation(degree=5, intervals=20))
    assert found["x"] == pytest.approx(np.cos(2 * found.time), abs=1e-6)
    t = found.only.input_times
    assert found.only.input("force") == pytest.approx(-3 * np.cos(2 * t) - 0.2 * np.sin(2 * t), abs=1e-3)


def test_periodic_with_displacement(mass):
    """1 m in 1 s with the same speed at both ends, least ∫v² and effort: uniform motion."""
    stated = dr.maneuver(mass).start(x=0).periodic(displaced=["x"]).finish(x=1).duration(1)
    found = stated.minimize(integral="v**2 + force**2").solve(dr.optimal.Collocation(intervals=4))
    assert found.objective == pytest.approx(1.0, rel=1e-9)
    assert found["v"] == pytest.approx(np.ones(len(found.time)), abs=1e-8)


def test_periodic_bicycle_is_the_steady_turn():
    """Least steer torque with everything but place and heading as at the start, 1 rad in 2 s: riding in a circle."""
    bike = dr.gallery.bicycle()
    gone = ["frame_x", "frame_y", "frame_heading", "rear_wheel_angle", "front_wheel_angle"]
    stated = dr.maneuver(bike).start(speed=6).periodic(displaced=gone).finish(heading=1.0).bounds(lean=(-0.8, 0.8)).duration(2)
    found = stated.minimize(integral="steer_torque**2").solve(dr.optimal.Collocation(intervals=10))
    assert found.converged
    assert {name for name, _ in found.only.phase.returns} == {"speed", "steer", "frame_wx", "steer_rate", "frame_lean"}
    assert found["speed"][0] == pytest.approx(6, rel=1e-9)
    assert np.ptp(found["lean"]) < 2e-3
    lean = float(found["lean"].mean())
    steady = dr.steady(bike, {"speed": 6, "lean": lean}, free=["steer_torque", "pedal_torque"])
    assert found["steer"] == pytest.approx(np.full(len(found.time), steady["steer"]), abs=1e-3)
    assert steady["yaw_rate"] == pytest.approx(0.5, abs=1e-3)
    assert steady["body_yaw_rate"] == pytest.approx(0.5 * math.cos(lean), abs=1e-3)  # about the frame's axis
    assert found.objective == pytest.approx(2 * steady["steer_torque"] ** 2, rel=2e-2)


def test_parameters_are_chosen_too():
    """A spring that brings the mass to rest on the other side in one second has k = π²."""
    spring = dr.first_order("spring", {x: v, v: -k * x}, parameters={k: 8.0})
    stated = dr.maneuver(spring).start(x=1, v=0).optimize(k=(1, 30)).finish(v=0).duration(1).minimize(final="x")
    found = stated.solve(dr.optimal.Collocation(intervals=10), guess=dr.simulate(spring, 1.0, start={"x": 1}))
    assert found.parameters["k"] == pytest.approx(math.pi**2, rel=1e-7)
    assert found.trajectory.parameters["k"] == found.parameters["k"]
    assert found.trajectory.final["x"] == pytest.approx(-1, abs=1e-7)


def test_free_start(ball):
    found = (
        dr.maneuver(ball)
        .start(x=0, free=["v"])
        .finish(x=1)
        .duration(0.5)
        .minimize(final="v**2")
        .solve(dr.optimal.Collocation(intervals=2))
    )
    assert found.only.state("v")[0] == pytest.approx((1 + 9.81 / 8) / 0.5, rel=1e-9)


def test_bounds_on_outputs_and_conditions_on_the_way(mass):
    """Speed at most 0.5 over 1 m from rest to rest with |u| ≤ 1: two ramps of 0.5 s, and 1.5 s between them."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time").duration(0.5, 5)
    mesh = dr.optimal.Collocation(intervals=25)
    for reported in (stated.bounds(speed=(None, 0.5)), stated.bounds(v=(None, 0.5)), stated.along(slow="2*speed <= 1")):
        found = reported.solve(mesh)
        assert found.duration == pytest.approx(2.5, abs=2e-6)
        assert found.only.state("v").max() == pytest.approx(0.5, abs=1e-6)


def test_ranges_and_conditions_at_the_end(mass):
    stated = dr.maneuver(mass).start(x=0, v=0).bounds(force=(-1, 1)).minimize("time").duration(0.1, 5)
    assert stated.finish(x=(2, None)).solve(dr.optimal.Collocation(intervals=4)).duration == pytest.approx(2, rel=1e-6)
    assert stated.finish("x*2 >= 4").solve(dr.optimal.Collocation(intervals=4)).duration == pytest.approx(2, rel=1e-6)


def test_held_inputs_and_chosen_controls():
    one, two = sp.symbols("one two")
    both = dr.first_order("both", {x: v, v: one + two}, inputs=[one, two])
    stated = dr.maneuver(both).start(x=0, v=0).finish(x=1, v=0).duration(1)
    assert stated.minimize(integral="one**2").inputs(two=1).solve(dr.optimal.Collocation(intervals=4)).only.phase.controls == (
        "one",
    )
    shared = stated.minimize(integral="one**2 + two**2").solve(dr.optimal.Collocation(intervals=4))
    assert shared.objective == pytest.approx(6, rel=1e-9)  # each does half: 2 · 12 · (1/2)²
    assert shared.only.phase.controls == ("one", "two")


# ------------------------------------------------------------------------------------------------ when it does not go well


def test_conditions_that_fight_are_named(mass):
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=10, v=0).bounds(force=(-1, 1)).duration(1).minimize("time")
    found = stated.solve(dr.optimal.Collocation(intervals=10))
    assert found.outcome is Outcome.INFEASIBLE
    assert not found.solved
    assert found.conflicts[0].startswith("finish: x (misses by")
    assert "bounds of force" in found.conflicts
    assert "no motion was found that satisfies all conditions" in str(found.status)
    assert "misses by 9.75" in str(found.status)  # in metres: 0.25 m are possible in 1 s


@pytest.mark.parametrize("by_signal", [False, True])
def test_interruption_keeps_the_best_so_far(mass, by_signal):
    def impatient(progress):
        if progress.values["iteration"] == 4:
            if not by_signal:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)

    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")
    found = stated.solve(dr.optimal.Collocation(intervals=10), progress=impatient)
    assert found.outcome is Outcome.INTERRUPTED
    assert found.answer.iterations <= 5
    assert 1.5 < found.duration < 4
    assert len(found["x"]) > 10


@pytest.mark.parametrize("share", [0.03, 0.2, 0.4, 0.6, 0.8, 0.97])
def test_interruption_at_any_moment_keeps_the_best_so_far(mass, share):
    """Ctrl-C at a given share of the calls of functions, in searches and between them."""
    stated = (
        dr.maneuver(mass).start(x=0, v=0).finish(x=1.3, v=0).bounds(force=(-1, 1.4)).duration(4).minimize(integral="abs(force)")
    )
    calls, searches, stop_at = 0, list[int](), math.inf

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
        if calls >= stop_at:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

    def watch(progress):
        if progress.values["iteration"] == 0:
            searches.append(calls)

    def solved():
        sys.setprofile(count)
        try:
            return stated.solve(progress=watch)
        finally:
            sys.setprofile(None)

    stated.solve()
    whole = solved()
    second = searches[1]
    stop_at, calls = share * calls, 0
    found = solved()
    assert whole.outcome is Outcome.SOLVED
    assert found.outcome is Outcome.INTERRUPTED
    if stop_at > second:
        assert found.answer.violation < 1e-6
        assert found.objective == pytest.approx(whole.objective, rel=1e-2)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (lambda m: m.finish(xx=1).minimize("time"), "did you mean 'x'"),
        (lambda m: m.bounds(forc=(-1, 1)).minimize("time"), "did you mean 'force'"),
        (lambda m: m.minimize(integral="forse**2"), "did you mean 'force'"),
        (lambda m: m.along("v + 1").minimize("time"), "not a condition"),
        (lambda m: m.along("v = 1 = 2").minimize("time"), "one relation"),
        (lambda m: m.minimize("effort"), "use minimize"),
        (lambda m: m.duration(-1).minimize("time"), "positive"),
        (lambda m: m.bounds(force=3).minimize("time"), "pair"),
        (lambda m: m.bounds(force=(1, -1)).minimize("time"), "lower bound above"),
        (lambda m: m.optimize(mas=(1, 2)).minimize("time"), "no parameter 'mas'"),
        (lambda m: m.controls("push").minimize("time"), "no input 'push'"),
        (lambda m: m.controls("force").inputs(force=1).minimize("time"), "'force' is a control, .* and constant at 1"),
        (lambda m: m.finish(x=1), "the cost is missing"),
        (lambda m: m.start(x=2).bounds(x=(-1, 1)).minimize("time"), "outside its bounds"),
    ],
)
def test_mistakes_are_reported(mass, stated, words):
    with pytest.raises(ArgumentError, match=words):
        stated(dr.maneuver(mass)).solve(dr.optimal.Collocation(intervals=2))
