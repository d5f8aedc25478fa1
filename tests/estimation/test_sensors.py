"""Sensors with sign, scale, bias, offset and delay: found by every method where unknown, used where known."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.estimation import Sensor

FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)
METHODS = [
    dr.estimation.SingleShooting(FINE),
    dr.optimal.MultipleShooting(window=0.9, integration=FINE),
    dr.optimal.Collocation("gauss", 5, 24),
]
x, v, k, c = sp.symbols("x v k c")


@pytest.fixture(scope="module")
def spring() -> dr.Equations:
    return dr.first_order("spring", {x: v, v: -k * x - c * v}, parameters={k: 4.0, c: 0.3}, units={x: "m", v: "m/s"})


def position(t: np.ndarray) -> np.ndarray:
    """x from x(0) = 1, v(0) = 0 with k = 4, c = 0.3."""
    w = np.sqrt(4.0 - 0.15**2)
    return np.exp(-0.15 * t) * (np.cos(w * t) + 0.15 / w * np.sin(w * t))


def velocity(t: np.ndarray) -> np.ndarray:
    w = np.sqrt(4.0 - 0.15**2)
    return -np.exp(-0.15 * t) * 4.0 / w * np.sin(w * t)


GIVEN = {"start": {"x": 1.0, "v": 0.0}, "guess": {"k": 3.7}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", METHODS, ids=["single", "windows", "collocation"])
def test_random_properties_are_found(spring, method, seed):
    """A gyroscope and a scale with random properties, of which a random choice is unknown."""
    random = np.random.default_rng(seed)
    t = np.sort(random.uniform(0.3, 5.0, 60))
    true = {
        "pot.scale": random.uniform(0.5, 2.0),
        "pot.bias": random.normal(),
        "pot.delay": random.uniform(0.02, 0.15),
        "tacho.scale": random.uniform(0.5, 2.0),
        "tacho.bias": random.normal(),
        "tacho.offset": random.uniform(-0.15, 0.15),
    }
    log = {
        "time": t,
        "pot": -true["pot.scale"] * position(t - true["pot.delay"]) + true["pot.bias"] + 1e-3 * random.normal(size=60),
        "tacho": true["tacho.scale"] * velocity(t + true["tacho.offset"]) + true["tacho.bias"] + 1e-3 * random.normal(size=60),
    }
    unknown = [n for n in true if random.random() < 0.6]
    free = {"delay": (0.0, 0.2), "offset": (-0.2, 0.2)}

    def properties(column: str) -> dict:
        return {
            n.partition(".")[2]: free.get(n.partition(".")[2], "unknown") if n in unknown else value
            for n, value in true.items()
            if n.startswith(column)
        }

    measured = {"pot": Sensor("-x", 1e-3, **properties("pot")), "tacho": Sensor("v", "1 mm/s", **properties("tacho"))}
    found = dr.estimate(spring, log, ["k", "c"], measured, **GIVEN, method=method)
    assert set(found.names) == {"k", "c", *unknown}
    for name, value in {"k": 4.0, "c": 0.3, **{n: true[n] for n in unknown}}.items():
        assert abs(found[name] - value) < 4.5 * found.deviations[name], name
        assert found.deviations[name] < 0.01
    assert found.probability > 1e-4


def test_derivatives_are_those_of_differences(spring):
    from draisine.estimation.problem import build_problem
    from draisine.estimation.single_shooting import predict

    t = np.linspace(0.3, 3.0, 12)
    sensors = {
        "pot": Sensor("-x", 0.1, scale="unknown", bias="unknown", delay=(0.0, 0.2)),
        "tacho": Sensor("v", 0.1, offset=(-0.2, 0.2)),
    }
    log = {"time": t, "pot": position(t), "tacho": velocity(t)}
    problem = build_problem(spring, log, ["k"], sensors, **GIVEN)
    assert problem.names == ("k", "pot.scale", "pot.bias", "pot.delay", "tacho.offset")
    at = np.array([3.7, 1.3, 0.2, 0.05, 0.1])
    (here,) = predict(problem, at, METHODS[0])
    present = np.isfinite(problem.recordings[0].values)
    for i in range(5):
        step = np.zeros(5)
        step[i] = 1e-5
        (up,), (down,) = (predict(problem, at + s * step, METHODS[0]) for s in (1.0, -1.0))
        np.testing.assert_allclose(here.by[..., i][present], ((up.values - down.values) / 2e-5)[present], atol=2e-8)


def test_known_properties_by_units_and_unknowns_by_name(spring):
    t = np.linspace(0.0, 4.0, 81)
    log = {"time": t, "pot [mm]": 1e3 * (-2.0 * position(t - 0.05) + 0.03)}
    for extra in ({}, {"method": METHODS[1]}):
        sensor = Sensor("-x", "1 mm", scale=2.0, bias="30 mm", delay="50 ms")
        found = dr.estimate(spring, log, ["k", "c"], {"pot": sensor}, **GIVEN, **extra)
        assert abs(found["k"] - 4.0) < 1e-5 and abs(found["c"] - 0.3) < 1e-5
        assert any("move before the start are not used: 1 of pot" in w for w in found.warnings)
    named = dr.estimate(
        spring, log, ["k", "pot.scale", "pot.bias"], {"pot": Sensor("-x", 1e-3, delay=0.05)}, **GIVEN, parameters={"c": 0.3}
    )
    assert abs(named["pot.scale"] - 2.0) < 1e-6 and abs(named["pot.bias"] - 0.03) < 1e-6
    plain = dr.estimate(spring, {"time": t, "pot": -position(t)}, ["k"], {"pot": ("-x", 1e-3)}, **GIVEN)
    assert abs(plain["k"] - 4.0) < 1e-6


@pytest.mark.parametrize(
    ("sensor", "said"),
    [
        (Sensor("x", 0.1, delay="unknown"), "the unknown delay of column 'pot' needs bounds"),
        (Sensor("x", 0.1, delay=(0.0, 0.1), offset=(0.0, 0.1)), "have the same effect; only one"),
        (Sensor("x", 0.1, scale=0.0), "scale of column 'pot' is 0"),
        (Sensor("x", 0.1, bias="3 kg"), "bias of column 'pot'"),
        (Sensor("xx", 0.1), "no quantity 'xx'"),
        (Sensor("x", 0.1, scale=(2.0, 1.0)), r"bounds of pot.scale must be \(low, high\)"),
    ],
)
def test_wrong_sensors_are_named(spring, sensor, said):
    with pytest.raises((dr.errors.ArgumentError, dr.errors.DataError), match=said):
        dr.estimate(spring, {"time": [0.0, 1.0, 2.0], "pot": [1.0, 0.5, 0.2]}, ["k"], {"pot": sensor}, **GIVEN)


def test_filters_use_known_sensors(spring):
    """The same estimates from a turned, scaled, biased and delayed column as from the quantity itself at its true times."""
    random = np.random.default_rng(2)
    t = np.linspace(0.5, 4.0, 40)
    noise = 0.01 * random.normal(size=40)
    given = {"start": {"x": 1.0}, "spread": {"x": 0.1, "v": 0.3}, "process": {"v": 0.05}}
    plain = dr.filter(spring, {"time": t, "x": position(t) + noise}, measured={"x": 0.01}, **given)
    log = {"time": t + 0.1, "pot": -2.0 * (position(t) + noise) + 0.7}
    sensor = Sensor("-x", 0.02, scale=2.0, bias=0.7, delay=0.1)
    turned = dr.filter(spring, log, measured={"pot": sensor}, **given)
    np.testing.assert_allclose(turned.time, plain.time, atol=1e-12)
    np.testing.assert_allclose(turned["v"], plain["v"], atol=1e-9)
    np.testing.assert_allclose(turned.deviation("v"), plain.deviation("v"), rtol=1e-9)
    with pytest.raises(dr.errors.DataError, match="a filter cannot estimate the bias of column 'pot'"):
        dr.filter(spring, log, measured={"pot": Sensor("x", 0.1, bias="unknown")}, **given)
