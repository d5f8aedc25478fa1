"""The verb `simulate`: starts, laws, controls, events, methods, switching, long runs."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.registry import Study
from draisine.results.status import Ending

FREE = {"speed": 4.6, "roll_rate": 0.5}


@pytest.fixture(scope="module")
def bike():
    return dr.gallery.bicycle()


@pytest.fixture(scope="module")
def fine(bike):
    return dr.simulate(bike, 5.0, start=FREE, method=dr.methods.DOP853(rtol=1e-12, atol=1e-14))


def test_free_run_of_a_minute_keeps_energy_and_contact(bike):
    run = dr.simulate(bike, 60.0, start=FREE, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.status.kind == Ending.FINISHED
    assert run.energy_drift < 1e-9
    assert run.constraint_residual["holonomic"] < 1e-9
    for wheel in ("rear_wheel", "front_wheel"):
        assert np.abs(run[f"{wheel}_contact_z"]).max() < 1e-9
    assert abs(run["lean"][-1]) < 1e-5  # upright again
    assert run["speed"][-1] == pytest.approx(4.6224, abs=2e-4)


def test_an_hour_does_not_sink_into_the_ground(bike):
    run = dr.simulate(bike, 3600.0, start=FREE, samples=400)
    assert run.constraint_residual["holonomic"] < 1e-8
    assert run.constraint_residual["norm"] < 1e-8
    assert run.energy_drift < 1e-7


@pytest.mark.parametrize(
    ("method", "order"),
    [(lambda h: dr.methods.RK4(step=h), 4), (lambda h: dr.methods.PredictorCorrector(step=h), 5)],
    ids=["rk4", "predictor-corrector"],
)
def test_fixed_step_methods_reach_the_same_state_at_their_order(bike, fine, method, order):
    def error(step):
        run = dr.simulate(bike, 5.0, start=FREE, method=method(step))
        return np.linalg.norm([run[n][-1] - fine[n][-1] for n in ("lean", "steer", "heading", "speed", "frame_x", "frame_y")])

    coarse, half = error(0.005), error(0.0025)
    assert half < 1e-9
    assert np.log2(coarse / half) > order - 0.3


def test_falling_over_stops_the_run(bike):
    run = dr.simulate(bike, 10.0, start={"speed": 1.0, "roll_rate": 0.5})
    assert run.status.kind == Ending.EVENT
    assert "lean passed 80°" in run.status.message
    assert abs(run["lean"][-1]) == pytest.approx(np.radians(80), abs=2e-3)
    assert any("normal force" in w for w in run.warnings) and any("friction" in w for w in run.warnings)


def test_user_events_are_found(bike):
    crossing = dr.Event("upright", "lean", action="record")
    stop = dr.Event("turned", "heading + 0.25", action="stop", direction=1, description="heading passed -0.25 rad")
    run = dr.simulate(bike, 5.0, start=FREE, events=[crossing, stop], method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert run.status.kind == Ending.EVENT and "heading passed" in run.status.message
    last = run.events[-1]
    assert last.name == "turned"
    assert run.time[-1] == pytest.approx(last.time, abs=1e-12)
    assert run["heading"][-1] == pytest.approx(-0.25, abs=1e-9)
    assert [e.name for e in run.events].count("upright") >= 1
    for event in run.events[:-1]:
        near = dr.simulate(
            bike, 5.0, start=FREE, samples=[0.0, event.time, 5.0], method=dr.methods.DOP853(rtol=1e-10, atol=1e-12)
        )
        assert abs(near["lean"][1]) < 1e-9
    plain = dr.simulate(bike, 5.0, start=FREE, samples=[0.0, last.time, 5.0], method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    assert plain["heading"][1] == pytest.approx(-0.25, abs=1e-9)


def test_three_ways_to_write_one_law(bike):
    start = {"speed": 6.0}
    compiled = dr.simulate(bike, 2.0, start=start, inputs={"steer_torque": "0.5 - steer_rate + 0.1*lean"})
    stage = dr.simulate(
        bike,
        2.0,
        start=start,
        control=dr.control.EveryStage(lambda t, x: {"steer_torque": 0.5 - x["steer_rate"] + 0.1 * x["lean"]}),
    )
    sampled = dr.simulate(
        bike,
        2.0,
        start=start,
        control=dr.control.Sampled(lambda t, x: {"steer_torque": 0.5 - x["steer_rate"] + 0.1 * x["lean"]}, rate=2000),
    )
    assert stage["lean"][-1] == pytest.approx(compiled["lean"][-1], abs=1e-8)
    assert sampled["lean"][-1] == pytest.approx(compiled["lean"][-1], abs=2e-3)
    assert abs(sampled["lean"][-1] - compiled["lean"][-1]) > 1e-9  # holding a value is not the same law
    assert any("every stage" in w for w in stage.warnings)
    for run in (compiled, stage, sampled):
        assert run.energy_drift < 1e-8  # the work of the torque is counted
    assert np.abs(compiled["steer_torque"]).max() > 0.4
    assert compiled["steer_torque_power"] == pytest.approx(compiled["steer_torque"] * compiled["steer_rate"], abs=1e-12)


def test_work_of_a_constant_push_is_counted(bike):
    run = dr.simulate(bike, 1.0, start={"speed": 5.0}, inputs={"pedal_torque": 20.0})
    assert run.energy_drift < 1e-9
    gained = run["total_energy"][-1] - run["total_energy"][0]
    angle = run["rear_wheel_angle"][-1] - run["rear_wheel_angle"][0]
    assert gained == pytest.approx(20.0 * angle, rel=1e-8)


def test_poor_choice_is_switched_and_the_motion_is_the_same():
    """A law turns the bar through 90°; with the rear wheel's spin as speed the run must switch."""
    law = {"steer_torque": "60*(1.8*min(t, 1) - steer) - 5*steer_rate"}
    good, poor = dr.gallery.bicycle(), dr.gallery.bicycle()
    poor.independent("frame_wx", "steer_rate", "rear_wheel_spin")
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    expected = dr.simulate(good, 1.2, start={"speed": 0.5}, inputs=law, method=method)
    run = dr.simulate(poor, 1.2, start={"speed": 0.5}, inputs=law, method=method)
    assert len(run.segments) > 1
    assert any("amplify" in w for w in run.warnings)
    assert expected["steer"].max() > np.radians(90)
    assert run["steer"][-1] == pytest.approx(expected["steer"][-1], abs=1e-6)
    assert run["front_wheel_spin"][-1] == pytest.approx(expected["front_wheel_spin"][-1], abs=1e-5)
    assert run.energy_drift < 1e-8


def test_changing_a_parameter_does_not_derive_or_compile_again(bike, monkeypatch):
    dr.simulate(bike, 0.1, start=FREE)

    def refuse(*_):
        raise AssertionError("something was derived or compiled again")

    monkeypatch.setattr(sys.modules["draisine.dynamics.derive"], "ReducedFormulation", refuse)
    monkeypatch.setattr("draisine.simulation.compiled_equations.compile", refuse)
    run = dr.simulate(bike, 0.1, start=FREE, parameters={"m_frame": 60.0, "trail": 0.05})
    assert run.parameters["m_frame"] == 60.0


@pytest.mark.parametrize(
    "method", [dr.methods.DOP853(), dr.methods.DOP853(rtol=1e-5, atol=1e-7), dr.methods.DOP853(rtol=1e-11, atol=1e-13)]
)
def test_a_coin_that_falls_flat_ends_singular_and_names_the_wheel(method):
    """At rest it falls straight over; lying flat its lowest point is anywhere, and nothing after that means anything."""
    m = dr.Model("coin")
    coin = m.body("coin", mass=1.0, inertia=(0.25, 0.5, 0.25))
    m.free(coin)
    m.wheel("rim", coin, radius=1.0)
    m.output("lean", "lean(coin)", "rad")
    run = dr.simulate(m, 20.0, start={"lean": 0.3}, method=method)
    assert run.status.kind == Ending.SINGULAR
    assert "wheel 'rim' lies flat" in run.status.message
    assert not run.status.complete
    assert abs(run["lean"][-1]) == pytest.approx(np.pi / 2, abs=1e-3)
    # energy fixes when it arrives: (I + m r²) lean′²/2 = m g r (cos 0.3 − cos lean), I + m r² = 1.25
    from scipy.integrate import quad

    def duration(s):  # with lean = 0.3 + s², so that the start from rest is regular
        return 2 * s / np.sqrt(2 * 9.81 * (np.cos(0.3) - np.cos(0.3 + s * s)) / 1.25)

    arrival = quad(duration, 0.0, np.sqrt(np.pi / 2 - 0.3))[0]
    assert run.time[-1] == pytest.approx(arrival, abs=2e-3)


def test_the_start_is_solved_and_reported(bike):
    run = dr.simulate(bike, 0.1, start={"speed": 5.0, "lean": 0.2, "steer": -0.3})
    assert run["lean"][0] == pytest.approx(0.2, abs=1e-10)
    assert run["steer"][0] == -0.3
    assert run.constraint_residual["holonomic"] < 1e-9
    assert "lean" in run.scene["start"] and "speed" in run.scene["start"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": {"sped": 1.0}}, "speed"),
        ({"parameters": {"m_fram": 1.0}}, "m_frame"),
        ({"inputs": {"steer_torqe": 1.0}}, "steer_torque"),
        ({"inputs": {"steer_torque": "lena"}}, "lean"),
        ({"inputs": {"steer_torque": "pedal_torque"}}, "pedal_torque"),
        ({"inputs": {"steer_torque": lambda t: 1.0}}, "Sampled"),
        ({"samples": 1}, "at least 2"),
        ({"until": 0.0}, "until"),
        ({"until": float("nan")}, "until"),
        ({"parameters": {"m_frame": -5.0}}, "mass of body 'frame'"),
        ({"parameters": {"iyy_rear_wheel": 5.0}}, "rear_wheel.*triangle inequality"),
        ({"parameters": {"m_frame": float("nan")}}, "must be a finite number, got nan"),
        ({"start": {"speed": float("nan")}}, "finite"),
        ({"parameters": {"trail": "long"}}, "parameter 'trail' must be a number in m, got 'long'"),
        ({"start": {"lean": "steep"}}, "lean = 'steep'; give a finite number in rad"),
        ({"start": {"front_wheel_normal_force": 10.0}}, "front_wheel_normal_force"),
        ({"start": {"speed": 4.0, "frame_vx": 5.0}}, "speed"),
    ],
)
def test_bad_targets_are_named(bike, options, said):
    with pytest.raises((ValueError, KeyError), match=said):
        dr.simulate(bike, **{"until": 1.0, **options})


def test_a_name_is_no_model():
    with pytest.raises(TypeError, match=r"expected a model, got 'bicycle'; take one from the gallery"):
        dr.simulate("bicycle", 1.0)
    study = Study("A study", {})
    for verb in (dr.derive, dr.certify, lambda given: dr.simulate(given, 1.0), lambda given: dr.ensemble(given, 1.0, cases=2)):
        with pytest.raises(TypeError, match=r"expected a model, got Study"):
            verb(study)
    with pytest.raises(AttributeError, match=r"the gallery has no 'bicycel'; did you mean 'bicycle'\?"):
        dr.gallery.bicycel()


def test_compile_sympy_matrix():
    import sympy as sp

    x, y = sp.symbols("x y")
    f = dr.codegen.compile(sp.Matrix([[sp.sin(x) * y, x**2], [1, sp.sqrt(y)]]), [x, y])
    assert f(0.3, 4.0)[0] == pytest.approx(np.array([[np.sin(0.3) * 4.0, 0.09], [1.0, 2.0]]), rel=1e-15)


def test_targets_and_parameters_take_units_and_refuse_those_that_do_not_fit() -> None:
    bike = dr.gallery.bicycle()
    plain = dr.simulate(bike, 0.1, start={"speed": 5.0, "lean": math.radians(5)}, parameters={"trail": 0.06}, samples=2)
    reported = dr.simulate(bike, 0.1, start={"speed": "18 km/h", "lean": "5 deg"}, parameters={"trail": "6 cm"}, samples=2)
    assert reported.final == plain.final
    with pytest.raises(ValueError, match=r"the start's speed: got '5 kg' \(mass\), expected a velocity"):
        dr.simulate(bike, 0.1, start={"speed": "5 kg"})
    with pytest.raises(ValueError, match=r"parameter 'trail': got '8 kg' \(mass\), expected a length"):
        dr.simulate(bike, 0.1, parameters={"trail": "8 kg"})
    with pytest.raises(KeyError, match="no coordinate, velocity or output of bicycle is called 'sped'; did you mean 'speed'"):
        dr.simulate(bike, 0.1, start={"sped": "5 m/s"})
    assert dr.simulate(bike, "100 ms", start={"speed": 5.0}, samples=2).time[-1] == 0.1  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"until: got '5 kg' \(mass\), expected a time"):
        dr.simulate(bike, "5 kg")  # type: ignore[arg-type]
