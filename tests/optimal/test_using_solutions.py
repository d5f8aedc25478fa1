"""What is done with a solution: kept in files, fed into other runs, and followed by a controller."""

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr


@pytest.fixture(scope="module")
def mass():
    x, v, force = sp.symbols("x v force")
    return dr.first_order("mass", {x: v, v: force}, inputs=[force])


@pytest.fixture(scope="module")
def sprint(mass):
    return dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")


@pytest.fixture(scope="module")
def found(sprint):
    return sprint.solve(dr.optimal.Collocation(intervals=20, constant_controls=True))


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="module")
def turn(bike):
    stated = (
        dr.maneuver(bike)
        .start(speed=8)
        .finish(heading=math.pi / 4, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30), lean=(-1, 1))
        .duration(0.3, 5)
        .minimize("time")
    )
    return stated.solve(dr.optimal.Collocation(intervals=40))


# ---------------------------------------------------------------------------------------------------- files


def test_saved_and_loaded_to_the_last_bit(sprint, found, tmp_path):
    found.save(tmp_path / "sprint.nc")
    again = sprint.load(tmp_path / "sprint.nc")
    assert np.array_equal(again.answer.w, found.answer.w)
    assert np.array_equal(again.costate("v"), found.costate("v"))
    assert np.array_equal(again["x"], found["x"])
    assert again.status.message == found.status.message
    assert again.optimality.as_data() == found.optimality.as_data()
    run = dr.load(tmp_path / "sprint.nc")  # the motion alone needs no maneuver
    assert run.identical(found.trajectory)
    warm = sprint.solve(
        dr.optimal.Collocation(intervals=20, constant_controls=True), guess=again, solver=dr.optimal.Ipopt(warm=True)
    )
    assert warm.answer.iterations < found.answer.iterations


def test_other_tools_find_the_nodes(found, tmp_path):
    import xarray

    found.save(tmp_path / "sprint.nc")
    with xarray.open_dataset(tmp_path / "sprint.nc", group="phase_1") as nodes:
        assert nodes["costates"].sel(state="x").values == pytest.approx(found.costate("x"))
        assert nodes["switching"].dims == ("input_time", "input")


def test_another_maneuver_is_refused(mass, sprint, found, tmp_path):
    found.save(tmp_path / "sprint.nc")
    further = dr.maneuver(mass).start(x=0, v=0).finish("x*x = 1", v=0).bounds(force=(-1, 1)).minimize("time")
    with pytest.raises(dr.errors.DataError, match="state the maneuver that was solved"):
        further.load(tmp_path / "sprint.nc")
    with pytest.raises(dr.errors.DataError, match="state the maneuver that was solved"):
        sprint.along("v <= 2").load(tmp_path / "sprint.nc")
    found.trajectory.save(tmp_path / "run.nc")
    with pytest.raises(ValueError, match="holds no solution"):
        sprint.load(tmp_path / "run.nc")
    with pytest.raises(ValueError, match=r"NetCDF files \(\.nc\)"):
        found.save(tmp_path / "sprint.csv")


# ---------------------------------------------------------------------------------------------------- tables


def test_table_goes_into_another_run(mass, found):
    table = found.feedforward
    assert table.inputs == ("force",)
    assert str(table["force"]).count("where") == 1  # pieces with one value are one piece
    run = dr.simulate(mass, found.duration, inputs=table)
    assert run.final["x"] == pytest.approx(1, abs=1e-5)
    assert run.final["v"] == pytest.approx(0, abs=1e-5)


def test_table_of_polynomials_is_exact(mass):
    """min ∫u² has the straight line u = 6 (1 − 2 t), which a table of pieces holds exactly."""
    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).duration(1).minimize(integral="force**2")
    table = stated.solve(dr.optimal.Collocation(intervals=5)).feedforward
    t = np.linspace(0, 1, 33)
    assert table.at(t)[:, 0] == pytest.approx(6 * (1 - 2 * t), abs=1e-6)
    assert table.at([-1.0, 2.0])[:, 0] == pytest.approx([6, -6], abs=1e-6)  # the ends are held


def test_table_in_a_file(found, tmp_path):
    found.feedforward.write(tmp_path / "force.csv", rate=50)
    lines = (tmp_path / "force.csv").read_text().splitlines()
    assert lines[0].startswith("time [s],force [")
    times = np.array([float(line.split(",")[0]) for line in lines[1:]])
    assert np.diff(times)[:-1] == pytest.approx(np.full(len(times) - 2, 0.02))
    assert times[-1] == pytest.approx(found.duration, abs=1e-12)
    again = dr.optimal.Feedforward.read(tmp_path / "force.csv")
    assert again.at([0.5, 1.5])[:, 0] == pytest.approx([1, -1], abs=1e-6)
    assert again.breaks[-1] == pytest.approx(found.duration)
    (tmp_path / "force.csv").write_text("time [s],force [N]\n0,1\n0.1,nan\n")
    with pytest.raises(dr.errors.DataError, match="line 3: a row must have 2 finite numbers"):
        dr.optimal.Feedforward.read(tmp_path / "force.csv")
    with pytest.raises(KeyError, match="no input 'push'"):
        found.feedforward["push"]


# ---------------------------------------------------------------------------------------------------- tracking


def test_gains_against_the_closed_form():
    """ẋ = u, w = r = 1, nothing after the end: −Ṗ = 1 − P², P(T) = 0, so K = tanh(T − t)."""
    x, u = sp.symbols("x u")
    found = dr.maneuver(dr.first_order("line", {x: u}, inputs=[u])).start(x=0).finish(x=1).duration(2)
    found = found.minimize(integral="u**2").solve(dr.optimal.Collocation(intervals=10))
    law = dr.optimal.tracking(found, weights={"x": 1}, input_weights={"u": 1}, beyond=0)
    assert law.gains[:, 0, 0] == pytest.approx(np.tanh(2 - law.times), abs=1e-9)
    assert law.reference[:, 0] == pytest.approx(law.times / 2, abs=1e-8)


def test_long_after_the_end_the_gains_are_those_of_lqr(mass, found):
    law = dr.optimal.tracking(found, weights={"x": 1}, input_weights={"force": 1}, beyond=20)
    assert law.states == ("x", "v")
    assert law.gains[0, 0] == pytest.approx([1, math.sqrt(2)], abs=1e-6)


def test_linear_deviations_answer_as_the_exact_flow(mass):
    """Along any motion of a linear plant the deviation obeys ė = (A − B K) e, whatever the motion."""
    from scipy.integrate import solve_ivp

    stated = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).duration(2).minimize(integral="force**2")
    found = stated.solve(dr.optimal.Collocation(intervals=10))
    law = dr.optimal.tracking(found, weights={"x": 4}, input_weights={"force": 0.5}, beyond=0)
    run = dr.simulate(law.on(), 2.0, start={"x": 0.3, "v": 0.0}, samples=np.linspace(0, 2, 41))

    def rate(t, e):
        k = np.array([np.interp(t, law.times, law.gains[:, 0, j]) for j in range(2)])
        return [e[1], -k @ e]

    exact = solve_ivp(rate, (0, 2), [0.3, 0.0], t_eval=run.time, rtol=1e-9, atol=1e-11).y
    apart = np.vstack(
        [run["x"] - np.interp(run.time, found.time, found["x"]), run["v"] - np.interp(run.time, found.time, found["v"])]
    )
    assert apart == pytest.approx(exact, abs=2e-4)


def test_a_disturbed_bicycle_is_brought_back(bike, turn):
    """A lean of 0.03 rad at the start: the open loop misses the heading by degrees, the tracking law by a tenth of one."""
    law = dr.optimal.tracking(
        turn, weights={"heading": 100, "lean": 100, "steer": 10}, input_weights={"steer_torque": 0.1, "pedal_torque": 0.1}
    )
    assert {"heading", "lean", "steer", "steer_rate"} <= set(law.states)
    start = {"speed": 8, "lean": 0.03}
    alone = dr.simulate(bike, turn.duration, start=start, inputs=turn.feedforward)
    held = dr.simulate(law.on(), turn.duration, start=start)
    missed_alone, missed_held = (abs(r.final["heading"] - math.pi / 4) for r in (alone, held))
    assert missed_alone > 0.02
    assert missed_held < 0.1 * missed_alone
    apart_alone, apart_held = (
        np.abs(r["lean"] - np.interp(r.time, turn.time, turn["lean"]))[r.time > 0.5 * turn.duration].max() for r in (alone, held)
    )
    assert apart_alone > 0.02
    assert apart_held < 0.2 * apart_alone
    sampled = dr.simulate(bike, turn.duration, start=start, control=law.sampled(200))
    assert np.abs(sampled.final["heading"] - math.pi / 4) < 0.2 * missed_alone


def test_limits_are_kept(turn):
    law = dr.optimal.tracking(
        turn,
        weights={"heading": 100, "lean": 100},
        input_weights={"steer_torque": 0.1, "pedal_torque": 0.1},
        limits={"steer_torque": 6.0, "pedal_torque": (-31.0, 40.0)},
    )
    run = dr.simulate(law.on(), turn.duration, start={"speed": 8, "lean": 0.1})
    assert np.abs(run["steer_torque"]).max() == pytest.approx(6.0, abs=1e-9)
    assert run["pedal_torque"].min() >= -31.0


def test_what_cannot_be_is_said(found):
    with pytest.raises(dr.errors.ArgumentError, match="'push' is not among the controls"):
        dr.optimal.tracking(found, weights={"x": 1}, input_weights={"push": 1})
    with pytest.raises(dr.errors.ArgumentError, match="limits of 'froce', which the law does not set; it sets force"):
        dr.optimal.tracking(found, weights={"x": 1}, input_weights={"force": 1}, limits={"froce": 1.0})
    with pytest.raises(dr.errors.ArgumentError, match="the input weight of 'force' is missing"):
        dr.optimal.tracking(found, weights={"x": 1}, input_weights={})
    with pytest.raises(dr.errors.ArgumentError, match="no state or output of motion 'y'"):
        dr.optimal.tracking(found, weights={"y": 1}, input_weights={"force": 1})
    with pytest.raises(dr.errors.ArgumentError, match="must be a positive number"):
        dr.optimal.tracking(found, weights={"x": -1}, input_weights={"force": 1})


def test_a_solution_is_a_film(turn):
    assert turn.animate(show=False, charts=["lean", "steer_torque"]) is not None
