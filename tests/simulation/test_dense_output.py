"""`run.at(t)`: values between samples as if they had been samples, for every method and kind of run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.formulations import Augmented
from draisine.dynamics.stabilization import Projection
from draisine.errors import ArgumentError
from draisine.results.load import load
from draisine.simulation.methods.sundials import CVODE
from draisine.simulation.sampled_control import EveryStage, Sampled

TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


@pytest.fixture(scope="module")
def oscillator() -> dr.Equations:
    """ẍ = −x + f with the output x²."""
    x, v = dynamicsymbols("x v")
    f = sp.Symbol("f")
    return dr.first_order("oscillator", {x: v, v: -x + f}, inputs=[f], start={x: 1.0}, outputs={"square": x**2})


def test_accuracy_of_the_method_between_few_samples(oscillator: dr.Equations) -> None:
    run = dr.simulate(oscillator, 20.0, method=TIGHT, samples=3)
    t = np.random.default_rng(1).uniform(0.0, 20.0, (7, 5))
    found = run.at(t)
    assert found["x"].shape == (7, 5)
    np.testing.assert_allclose(found["x"], np.cos(t), atol=1e-10)
    np.testing.assert_allclose(found["square"], np.cos(t) ** 2, atol=1e-10)
    assert run.at(10.0)["x"] == run["x"][1]
    assert run.at(0.3)["v"] == pytest.approx(-np.sin(0.3), abs=1e-11)
    assert np.max(np.abs(run.interpolated(t)["x"] - np.cos(t))) > 0.5


METHODS = [
    dr.methods.DOP853(),
    dr.methods.RK4(0.1),
    dr.methods.PredictorCorrector(0.05),
    dr.methods.Radau(),
    dr.methods.Gauss(stages=3),
    dr.methods.ESDIRK23(),
    CVODE(),
    None,
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("until", [6.0, -6.0])
def test_bit_for_bit_as_a_run_sampled_there(oscillator: dr.Equations, method: Any, until: float) -> None:
    if isinstance(method, CVODE):
        pytest.importorskip("sksundae")
    t = np.sort(np.random.default_rng(2).uniform(0.0, 6.0, 20)) * np.sign(until)
    run = dr.simulate(oscillator, until, method=method, samples=4)
    sampled = dr.simulate(oscillator, until, method=method, samples=t)
    found = run.at(t[::-1])
    for name in run.names():
        np.testing.assert_array_equal(found[name][::-1], sampled[name])


CASES: dict[str, Mapping[str, Any]] = {
    "plain": {},
    "law": {"inputs": {"steer_torque": "0.3*sin(3*t)"}},
    "augmented": {"formulation": Augmented()},
    "projected": {"drift": Projection()},
    "sensitive": {"sensitivity": ["trail"]},
    "stopped": {"start": {"speed": 1.0, "roll_rate": 1.0}},
}


@pytest.mark.parametrize("case", CASES)
def test_runs_of_the_bicycle(case: str) -> None:
    given = {"start": {"speed": 4.5, "roll_rate": 0.3}, **CASES[case]}
    run = dr.simulate(dr.gallery.bicycle(), 2.0, samples=5, **given)
    t = np.sort(np.random.default_rng(3).uniform(0.0, run.time[-1], 12))
    sampled = dr.simulate(dr.gallery.bicycle(), 2.0, samples=t, **given)
    found = run.at(t)
    assert {"lean", "front_wheel_normal_force", "total_energy"} <= set(found)
    for name in run.names():
        np.testing.assert_array_equal(found[name], sampled[name][: len(t)], err_msg=name)


def test_a_sampled_control_with_a_memory_is_not_called_again(oscillator: dr.Equations) -> None:
    class Integrating:
        def __init__(self) -> None:
            self.total, self.calls = 0.0, 0

        def __call__(self, t: float, x: Mapping[str, float]) -> float:
            self.total, self.calls = self.total + 0.01 * x["x"], self.calls + 1
            return -self.total

    for until in (4.0, -4.0):
        controls = Integrating(), Integrating()
        t = np.linspace(0.1, 3.9, 33) * np.sign(until)
        run = dr.simulate(oscillator, until, control=Sampled(controls[0], 20.0), samples=3)
        sampled = dr.simulate(oscillator, until, control=Sampled(controls[1], 20.0), samples=t)
        calls = controls[0].calls
        found = run.at(t)
        assert controls[0].calls == calls
        np.testing.assert_array_equal(found["x"], sampled["x"])
        np.testing.assert_array_equal(found["f"], sampled["f"])


def test_what_has_no_dense_output_says_so(oscillator: dr.Equations, tmp_path: Path) -> None:
    run = dr.simulate(oscillator, 2.0, samples=5)
    run.save(tmp_path / "run.nc")
    for other in (load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(run))):
        assert other.at(0.5) == run.at(0.5)  # a sample
        assert other.interpolated(0.6)["x"] == run.interpolated(0.6)["x"]
        with pytest.raises(ArgumentError, match=r"no values between its samples, such as t = 0.6 s.*run.interpolated"):
            other.at([0.5, 0.6])
    driven = dr.simulate(oscillator, 2.0, control=EveryStage(lambda t, x: -x["v"]), samples=5)
    with pytest.raises(ArgumentError, match="called at every stage"):
        driven.at(0.6)
    with pytest.raises(ArgumentError, match=r"covers 0 s to 2 s; t = 2.5 s is outside: simulate for longer"):
        run.at([0.3, 2.5])


def test_only_the_part_before_the_last_time_is_repeated(oscillator: dr.Equations) -> None:
    """A long run with a sampled control: the instants after the time asked for are not reached again."""
    run = dr.simulate(oscillator, 400.0, control=Sampled(lambda t, x: 0.0, 100.0), method=dr.methods.RK4(0.001), samples=2)
    assert run.dense is not None
    found = run.dense.repeat(np.array([0.5]))  # type: ignore[attr-defined]
    assert found.accepted < 1000 < run.statistics.accepted
