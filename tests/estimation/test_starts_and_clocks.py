"""The question does not depend on the method: given starts are kept, and data keep their clock."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.estimation.data import Experiment

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
SINGLE = dr.estimation.SingleShooting(FINE)
WINDOWS = dr.optimal.MultipleShooting(window=0.7, integration=FINE)
METHODS = [SINGLE, WINDOWS, dr.optimal.Collocation("gauss", 5, 24)]

x, v, k, c, u, t = sp.symbols("x v k c u t")


@pytest.fixture(scope="module")
def spring() -> dr.Equations:
    return dr.first_order("spring", {x: v, v: -k * x - c * v + u}, parameters={k: 4.0, c: 0.3}, inputs=[u])


@pytest.mark.parametrize("seed", range(4))
def test_methods_answer_the_same_question(spring, seed):
    """Random splits of the start into known and unknown, a start before the data, any clock: three methods, one estimate."""
    random = np.random.default_rng(seed)
    begin = float(random.choice([0.0, -3.0, 7.5, 40.0]))
    times = begin + np.sort(random.uniform(0.2, 4.0, 50))
    truth = {"x": random.normal(), "v": random.normal()}
    run = dr.simulate(spring, 4.0, start=truth, inputs={"u": f"sin(2*(t + {begin}))"}, samples=np.append(0.0, times - begin))
    log = {"time": times, "y": run["x"][1:] + 0.01 * random.normal(size=50)}
    unknown = ["k", "c"] + [f"start.{n}" for n in ("x", "v") if random.random() < 0.5]
    begin_at = {n: value + (0.1 if f"start.{n}" in unknown else 0.0) for n, value in truth.items()}
    given = {"start": begin_at, "start_time": begin, "inputs": {"u": "sin(2*t)"}}
    fits = [dr.estimate(spring, log, unknown, {"y": ("x", 0.01)}, **given, method=m) for m in METHODS]
    for name in unknown:
        true = truth.get(name.removeprefix("start."), {"k": 4.0, "c": 0.3}.get(name))
        assert abs(fits[0][name] - true) < 4.5 * fits[0].deviations[name], name
        for other in fits[1:]:
            assert abs(other[name] - fits[0][name]) < 1e-3 * fits[0].deviations[name], name
            assert abs(other.deviations[name] / fits[0].deviations[name] - 1.0) < 1e-4
    assert all(f.freedom == 50 - len(unknown) and f.estimated_start == () for f in fits)


def test_what_is_not_given_is_estimated_and_said(spring):
    run = dr.simulate(spring, 3.0, start={"x": 1.0, "v": -0.5}, samples=40)
    log = {"time": run.time, "y": run["x"] + 0.01 * np.random.default_rng(1).normal(size=40)}
    found = dr.estimate(spring, log, ["k"], {"y": ("x", 0.01)}, start={"x": 1.0}, method=WINDOWS)
    assert found.estimated_start == ("v",) and "start (not given) estimated too: v" in str(found)
    (chain,) = found.outcome.shot.chains
    assert chain.states[0, 0] == 1.0
    at_default = dr.estimate(spring, log, ["k"], {"y": ("x", 0.01)}, start={"x": 1.0})
    assert at_default.default_start == ("v",) and "start (not given) as in the model: v" in str(at_default)
    named = dr.estimate(spring, log, ["k", "start.v"], {"y": ("x", 0.01)}, start={"x": 1.0, "v": 0.0}, method=WINDOWS)
    assert abs(named["k"] - found["k"]) < 1e-3 * found.deviations["k"] and abs(named["start.v"] + 0.5) < 0.05
    guessed = dr.optimal.MultipleShooting(window=0.7, integration=FINE, known_start=False)
    loose = dr.estimate(spring, log, ["k"], {"y": ("x", 0.01)}, start={"x": 1.3}, method=guessed)
    assert loose.estimated_start == ("x", "v") and abs(chain.windows.begins[0]) == 0.0


def test_a_given_output_is_kept_while_parameters_change():
    """Speed is given, the wheel's radius unknown: spin must follow, as in a single run."""
    spin, radius, drag = sp.symbols("spin radius drag")
    roller = dr.first_order(
        "roller", {spin: -drag * spin * radius}, parameters={radius: 0.5, drag: 1.0}, outputs={"speed": spin * radius}
    )
    times = np.linspace(0.0, 2.0, 21)
    log = {"time": times, "gyro": 2.0 / 0.35 * np.exp(-0.35 * times)}
    for method in METHODS:
        found = dr.estimate(roller, log, ["radius"], {"gyro": ("spin", 0.01)}, start={"speed": 2.0}, method=method)
        assert abs(found["radius"] - 0.35) < 1e-6 and found.estimated_start == ()


def test_recorded_inputs_follow_the_clock(spring):
    """A pulse at 5 s of the logger's clock acts at 5 s, whatever the first sample is."""
    times = np.linspace(4.0, 8.0, 81)
    pulse = np.interp(times, [4.0, 5.0, 5.2, 5.4], [0.0, 0.0, 3.0, 0.0])
    control = [(np.interp(s, times, pulse)) for s in times]
    response = _response(times, control)
    log = {"time": times, "y": response, "force": pulse}
    for method in METHODS:
        given = {"start": {"x": 0.2, "v": 0.0}, "start_time": 4.0, "inputs": {"u": "force"}}
        found = dr.estimate(spring, log, ["k", "c"], {"y": ("x", 1e-3)}, **given, method=method)
        assert abs(found["k"] - 3.0) < 1e-5 and abs(found["c"] - 0.5) < 1e-5


def _response(times: np.ndarray, control: list[float]) -> np.ndarray:
    from scipy.integrate import solve_ivp

    rates = lambda s, z: [z[1], -3.0 * z[0] - 0.5 * z[1] + np.interp(s, times, control)]  # noqa: E731
    return solve_ivp(rates, (4.0, 8.0), [0.2, 0.0], t_eval=times, rtol=1e-10, atol=1e-12, max_step=0.05).y[0]


def test_starts_that_do_not_precede_the_data_are_refused(spring):
    log = {"time": [-1.0, 0.0, 1.0], "y": [0.0, 1.0, 2.0]}
    with pytest.raises(
        dr.errors.DataError, match=r"first measurement is at t = -1 s, the start at t = 0 s; say when .*start_time=-1"
    ):
        dr.estimate(spring, log, ["k"], {"y": ("x", 0.1)})
    late = {"time": 1.7e9 + np.arange(3.0), "y": [0.0, 1.0, 2.0]}
    with pytest.raises(dr.errors.DataError, match=r"begin 1.7e\+09 s after the start at t = 0 s; say when"):
        dr.estimate(spring, late, ["k"], {"y": ("x", 0.1)})
    part = Experiment.of({"time": np.arange(5.0), "y": np.arange(5.0)}).part(2.0, 4.0)
    assert part.time.tolist() == [2.0, 3.0, 4.0] and part.start_time == 2.0


@pytest.mark.parametrize("given", [None, "2 s", [0.0, 1.0]])
def test_start_times_that_are_no_numbers_are_named(spring, given):
    log = {"time": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]}
    with pytest.raises(dr.errors.ArgumentError, match="start_time: expected a number of seconds by the clock of the data"):
        dr.estimate(spring, log, ["k"], {"y": ("x", 0.1)}, start_time=given)


def test_samples_that_a_known_delay_moves_before_the_start_are_told(spring):
    """Both by fits and by filters; the others are used."""
    t = np.linspace(0.0, 2.0, 21)
    log = {"time": t, "y": np.cos(t)}
    late = dr.estimation.Sensor("x", 0.1, delay=0.25)
    filtered = dr.filter(spring, log, measured={"y": late}, spread={"x": 1.0}, process={"v": 0.1})
    fit = dr.estimate(spring, log, ["k"], {"y": late}, start={"x": 1.0, "v": 0.0})
    for found in (filtered, fit):
        assert any("move before the start are not used: 3 of y" in w for w in found.warnings)
    assert len(filtered.time) == 18


def test_a_start_with_a_unit_may_be_unknown():
    """As in `simulate`, texts are in any unit of the right dimension; here the start is estimated from them."""
    angle, rate, length = sp.symbols("angle rate length")
    units = {angle: "rad", rate: "rad/s", length: "m"}
    swing = dr.first_order("swing", {angle: rate, rate: -9.81 / length * sp.sin(angle)}, parameters={length: 1.0}, units=units)
    run = dr.simulate(swing, 3.0, start={"angle": 0.6, "rate": 0.0}, parameters={"length": 1.2}, samples=61)
    log = {"time": run.time, "y": run["angle"]}
    unknown = {"length": (0.5, 2.0), "start.angle": (-1.0, 1.0)}
    found = dr.estimate(swing, log, unknown, {"y": ("angle", 1e-3)}, start={"angle": "30 deg", "rate": "0 deg/s"})
    assert found["length"] == pytest.approx(1.2, rel=1e-6) and found["start.angle"] == pytest.approx(0.6, rel=1e-6)
    with pytest.raises(dr.errors.UnitError, match=r"start 'angle'.*length"):
        dr.estimate(swing, log, unknown, {"y": ("angle", 1e-3)}, start={"angle": "30 cm", "rate": 0.0})
