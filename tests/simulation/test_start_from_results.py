"""Results as starts: runs, rows, steady motions, special points, periodic motions and solutions keep their states exactly."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.program.equations import Equations
from draisine.results.channel import StateValue

RK4 = dr.methods.RK4(0.01)


def pendulum() -> Equations:
    x, v, k = sp.symbols("x v k")
    return dr.first_order("pendulum", {x: v, v: -k * sp.sin(x)}, parameters={k: 2.0}, start={x: 1.0})


MODELS = {
    "bicycle": (dr.gallery.bicycle, {"speed": 4.6, "roll_rate": 0.5, "heading": 2.0, "rear_wheel_angle": 40.0}, {}),
    "pedalled bicycle": (dr.gallery.bicycle, {"speed": 4.6, "roll_rate": 0.3}, {"pedal_torque": 3.0}),
    "four_bar": (dr.gallery.four_bar, {}, {}),
    "rolling_disk": (dr.gallery.rolling_disk, {"speed": 2.0, "lean": 0.2}, {}),
    "pendulum": (pendulum, {"v": 0.4}, {}),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_run_continues_bit_for_bit_from_the_end_of_another(case: str) -> None:
    """Fixed steps: 60 steps at once, or 30 and 30 from the result, from its final values, or from its last row."""
    build, start, inputs = MODELS[case]
    model = build()
    times = np.linspace(0.0, 0.6, 61)
    whole = dr.simulate(model, 0.6, start=start, inputs=inputs, method=RK4, samples=times)
    first = dr.simulate(model, 0.3, start=start, inputs=inputs, method=RK4, samples=times[:31])
    assert whole.status.kind == "FINISHED"
    names = [*whole.names("coordinates"), *whole.names("velocities")]
    work = "work" in whole and bool(inputs)
    for given in (first, first.final, first.at(0.3), first.to_pandas().iloc[-1], dict(first.as_start())):
        rest = dr.simulate(model, 0.3, start=given, inputs=inputs, method=RK4, samples=times[:31])
        for name in names:
            np.testing.assert_array_equal(rest[name], whole[name][30:], err_msg=name)
        assert not rest.warnings or rest.warnings == whole.warnings
    if work:  # the work done goes on, too
        rest = dr.simulate(model, 0.3, start=first, inputs=inputs, method=RK4, samples=times[:31])
        np.testing.assert_array_equal(rest["work"], whole["work"][30:])


def test_random_states_of_a_run_are_kept_to_the_last_bit() -> None:
    rng = np.random.default_rng(17)
    bike = dr.gallery.bicycle()
    for _ in range(6):
        start = {
            "speed": rng.uniform(2.0, 8.0),
            "heading": rng.uniform(-3.0, 3.0),
            "lean": rng.uniform(-0.3, 0.3),
            "steer": rng.uniform(-0.3, 0.3),
            "rear_wheel_angle": rng.uniform(-300.0, 300.0),
        }
        run = dr.simulate(bike, 0.4, start=start)
        again = dr.consistent_start(bike, run)
        np.testing.assert_array_equal(again.q, run.coordinates[-1])
        np.testing.assert_array_equal(again.v, run.velocities[-1])
        np.testing.assert_array_equal(dr.consistent_start(bike, again).x, again.x)
        row = run.at(float(run.time[17]))
        np.testing.assert_array_equal(dr.consistent_start(bike, row).q, run.coordinates[17])


def test_values_beside_a_state_are_targets_and_the_others_stay_near() -> None:
    bike = dr.gallery.bicycle()
    run = dr.simulate(bike, 1.0, start={"speed": 4.6, "roll_rate": 0.5, "heading": 1.0})
    for target, value in (("lean", 0.1), ("steer", 0.05), ("speed", 5.0), ("frame_x", 7.0)):
        found = dr.consistent_start(bike, {**run.final, target: value})
        assert found.outputs.get(target, found.coordinates.get(target)) == pytest.approx(value, abs=1e-12)
        assert found.outputs["heading"] == pytest.approx(run.final["heading"], abs=0.05)
        assert found.coordinates["rear_wheel_angle"] == pytest.approx(run.final["rear_wheel_angle"], abs=0.1)
        assert found.report.largest_relative_residual < 1e-12
    moved = {**run.final, "frame_x": run.final["frame_x"] + 3.0}  # arithmetic gives a plain number: a target
    found = dr.consistent_start(bike, moved)
    assert found.coordinates["frame_x"] == run.final["frame_x"] + 3.0
    for name in ("steer", "frame_y", "frame_z", "frame_qw", "rear_wheel_angle"):
        assert found.coordinates[name] == pytest.approx(run.final[name], abs=1e-12)
    for name, value in found.velocities.items():
        assert value == pytest.approx(run.final[name], abs=1e-12)
    # one computed value alone is a plain target
    assert dr.consistent_start(bike, {"lean": run.final["lean"]}).outputs["lean"] == pytest.approx(run.final["lean"], abs=1e-14)
    assert isinstance(run.final["lean"], StateValue) and type(run.final["lean"] * 1) is float


def test_steady_motions_special_points_and_cycles_are_starts() -> None:
    bike = dr.gallery.bicycle()
    turn = dr.steady(bike, {"speed": 5.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    inputs = {name: turn[name] for name in ("steer_torque", "pedal_torque")}
    run = dr.simulate(bike, 1.0, start=turn, inputs=inputs)
    np.testing.assert_array_equal(run.coordinates[0], turn.x[: len(turn.equations.coordinates)])
    np.testing.assert_allclose(run["lean"], 0.1, atol=1e-7)
    assert not run.warnings
    left = dr.simulate(bike, 0.1, start=turn)
    assert "steer_torque = 0.0863" in left.warnings[0] and "same inputs" in left.warnings[0]
    np.testing.assert_array_equal(dr.linearize(bike, turn, inputs=inputs).A, dr.linearize(turn).A)

    x, v, mu = sp.symbols("x v mu")
    oscillator = dr.first_order("van_der_pol", {x: v, v: mu * (1 - x**2) * v - x}, parameters={mu: 0.5}, start={x: 2.0})
    cycle = dr.stability.limit_cycle(oscillator, settle=40.0)
    run = dr.simulate(oscillator, cycle.period, start=cycle, method=dr.methods.DOP853(rtol=1e-12, atol=1e-12))
    assert (run["x"][0], run["v"][0]) == tuple(cycle.start.x)
    np.testing.assert_allclose(run.data[-1, :2], run.data[0, :2], atol=1e-8)
    assert "mu = 0.5 (now 0.7)" in dr.simulate(oscillator, 1.0, start=cycle, parameters={"mu": 0.7}).warnings[0]
    again = dr.stability.limit_cycle(oscillator, start=run, period=cycle.period)
    assert again.period == pytest.approx(cycle.period, abs=1e-8)

    y = sp.Symbol("y")
    fold = dr.first_order("fold", {y: mu - 0.5 - y**2}, parameters={mu: 1.5}, start={y: 1.0})
    (point,) = dr.stability.continuation(fold, "mu", between=(-1.0, 2.0)).special
    run = dr.simulate(fold, 1.0, start=point, parameters={"mu": point.value})
    assert run["y"][0] == point["y"] and not run.warnings
    branch = dr.stability.continuation(fold, "mu", start=point, between=(-1.0, 2.0))
    assert branch["y"].min() < -1.0 and branch["y"].max() > 1.0


def test_a_solution_and_a_maneuver_start_from_results() -> None:
    x, v, force = sp.symbols("x v force")
    mass = dr.first_order("mass", {x: v, v: force}, inputs=[force])
    run = dr.simulate(mass, 1.0, start={"x": 0.25, "v": -0.5}, inputs={"force": 1.0})
    there = dr.optimal.maneuver(mass).start(run).finish(x=1.0, v=0.0).bounds(force=(-1, 1)).minimize("time")
    solution = there.solve()
    assert solution.trajectory["x"][0] == pytest.approx(run["x"][-1], abs=1e-12)
    after = dr.simulate(mass, 1.0, start=solution)
    np.testing.assert_array_equal(after.coordinates[0], solution.trajectory.coordinates[-1])


def test_ensembles_keep_states_bit_for_bit_and_vary_others() -> None:
    bike = dr.gallery.bicycle()
    run = dr.simulate(bike, 0.5, start={"speed": 4.6, "roll_rate": 0.5})
    method = dr.methods.DOP853()
    found = dr.ensemble(bike, 0.3, {"steer_torque": [0.0, 0.1]}, outputs=["lean"], start=run, method=method)
    for torque, lean in zip((0.0, 0.1), found["lean.end"], strict=True):
        single = dr.simulate(bike, 0.3, start=run, inputs={"steer_torque": torque}, method=method)
        assert lean == single["lean"][-1]
    found = dr.ensemble(bike, 0.3, {"lean": [0.1, 0.2]}, outputs=["lean"], start=run, method=method)
    for value, lean in zip((0.1, 0.2), found["lean.end"], strict=True):
        assert lean == dr.simulate(bike, 0.3, start={**run.final, "lean": value}, method=method)["lean"][-1]


def test_a_path_begins_at_a_result() -> None:
    cart = dr.gallery.cart_pole()
    run = dr.simulate(cart, 0.5, start={"pole": 2.9})
    path = {"pole": f"pole = {run.final['pole']!r} + {run.final['pole_rate']!r}*t"}
    found = dr.control.follow(cart, 0.2, path, ["push"], start=run)
    np.testing.assert_allclose(found.coordinates[0], run.coordinates[-1], atol=1e-12)
    np.testing.assert_allclose(found.velocities[0], run.velocities[-1], atol=1e-12)


def test_what_differs_from_the_result_is_in_the_status() -> None:
    x = sp.Symbol("x")
    t = sp.Symbol("t")
    driven = dr.first_order("driven", {x: sp.cos(t)})
    run = dr.simulate(driven, 2.0)
    assert "starts at t = 0, not at 2 s" in dr.simulate(driven, 1.0, start=run).warnings[0]
    bike = dr.gallery.bicycle()
    off = dr.simulate(bike, 0.5, start={"speed": 4.6, "roll_rate": 0.5})
    row = {name: StateValue(value + (1e-3 if name == "frame_z" else 0.0)) for name, value in off.as_start().items()}
    moved = dr.simulate(bike, 0.1, start=row)
    assert "violates the constraints" in moved.warnings[0] and "frame_z" in moved.warnings[0]
    with pytest.raises(dr.errors.ArgumentError, match="start must be values by name"):
        dr.simulate(bike, 0.1, start=[1.0])  # type: ignore[arg-type]
