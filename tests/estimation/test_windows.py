"""Multiple shooting: elimination against dense least squares, windows against one run, and what one run cannot do."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.estimation.window_chain import WindowRows, eliminate
from draisine.gallery.entries.draining_tank import draining_tank, experiment


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("local", [0, 2])
def test_elimination_is_least_squares(known, local):
    """Starts, what belongs to a window alone, and parameters, against all of them in one dense matrix."""
    random = np.random.default_rng(2)
    windows, d, k, height = 4, 3, 2, 11
    starts = [0 if known and i == 0 else d for i in range(windows)]
    begin = np.cumsum([0, *(n + local for n in starts)])
    count = int(begin[-1])
    chain, matrix, side = [], np.zeros((windows * height, count + k)), random.normal(size=windows * height)
    for i, start in enumerate(starts):
        here, after = slice(i * height, (i + 1) * height), 0 if i == windows - 1 else d
        parts = (random.normal(size=(height, n)) for n in (start + local, after, k))
        rows = WindowRows(*parts, side[here], start)
        chain.append(rows)
        matrix[here, begin[i] : begin[i + 1]] = rows.own
        matrix[here, begin[i + 1] : begin[i + 1] + after] = rows.after
        matrix[here, count:] = rows.common
    whole = np.linalg.lstsq(matrix, -side, rcond=None)[0]
    found = eliminate(chain)
    change = np.linalg.lstsq(found.common, -found.side, rcond=None)[0]
    np.testing.assert_allclose(change, whole[count:], atol=1e-12)
    np.testing.assert_allclose(np.concatenate(found.starts(change)), whole[:count], atol=1e-12)
    marginal = np.linalg.inv(matrix.T @ matrix)[count:, count:]
    np.testing.assert_allclose(np.linalg.inv(found.common.T @ found.common), marginal, atol=1e-12)
    left = found.common @ change + found.side
    np.testing.assert_allclose(found.squares - left @ left, side @ side - np.sum((matrix @ whole + side) ** 2), atol=1e-11)


@pytest.mark.parametrize("window", [1.0, 5.0, 20.0])
def test_windows_and_one_run_agree(window):
    """The same minimum, covariance and degrees of freedom, however the time is cut."""
    tank, data = draining_tank(), experiment(1e-3, seed=4)
    given = {"measured": {"outflow": ("q", 1e-3)}, "start": {"h": 1.1}, "inputs": {"u": "inflow"}}
    one = dr.estimate(tank, data, ["theta", "start.h"], **given)
    many = dr.estimate(tank, data, ["theta", "start.h"], **given, method=dr.optimal.MultipleShooting(window=window))
    assert abs(many["theta"] - one["theta"]) < 1e-3 * one.deviations["theta"]
    np.testing.assert_allclose(many.covariance, one.covariance, rtol=2e-3)
    assert abs(many["start.h"] - one["start.h"]) < 1e-3 * one.deviations["start.h"] and many.estimated_start == ()
    np.testing.assert_allclose(many.chi_square, one.chi_square, rtol=1e-5)
    assert many.freedom == one.freedom


@pytest.fixture(scope="module")
def inverted() -> dr.Equations:
    """A stick balanced by a torque: it falls as e^(4 t)."""
    angle, rate, stiffness, gain, u = sp.symbols("angle rate stiffness gain u")
    return dr.first_order(
        "inverted",
        {angle: rate, rate: stiffness * angle + gain * u},
        parameters={stiffness: 16.0, gain: 1.0},
        inputs=[u],
        units={angle: "rad", rate: "rad/s"},
    )


def _balanced(model: dr.Equations, noise: float, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    law = "-40*angle - 8*rate + 4*sin(3*t) + 3*cos(7*t)"
    run = dr.simulate(model, 8.0, inputs={"u": law}, start={"angle": 0.1}, parameters={"gain": 1.2}, samples=401)
    return {
        "time": run.time,
        "angle": run["angle"] + 0.002 * random.normal(size=401),
        "torque": run["u"] + noise * random.normal(size=401),
    }


def test_windows_beyond_number_are_refused_at_once(inverted):
    """Their edges alone would take all memory."""
    log = {"time": np.linspace(0.0, 2.0, 21), "y": np.zeros(21)}
    quantity = inverted.states[0].name
    with pytest.raises(
        dr.errors.ArgumentError, match=r"windows of 1e-09 s would be 2e\+09 in the 2 s of experiment; at most 1,000,000"
    ):
        dr.estimate(
            inverted, log, [inverted.parameters[0].name], {"y": quantity}, method=dr.optimal.MultipleShooting(window=1e-9)
        )


def test_unstable_motion_is_refused_or_windowed(inverted):
    """With the recorded torque alone the pendulum leaves the data: one run is refused, windows find the gain."""
    data = _balanced(inverted, 0.05, 1)
    given = {"measured": {"angle": ("angle", 0.002)}, "inputs": {"u": ("torque", 0.05)}, "start": {"angle": 0.1}}
    with pytest.raises(dr.errors.SolverError, match=r"start.angle grow .* use method=MultipleShooting"):
        dr.estimate(inverted, data, ["gain", "start.angle"], **{**given, "inputs": {"u": "torque"}})
    found = dr.estimate(inverted, data, ["gain", "stiffness"], **given, method=dr.optimal.MultipleShooting(window=0.4))
    for name, value in (("gain", 1.2), ("stiffness", 16.0)):
        assert abs(found[name] - value) < 3.5 * found.deviations[name], name
        assert found.deviations[name] < 0.02 * value
    assert 1e-3 < found.probability < 0.999
    again = dr.estimate(inverted, data, ["gain", "stiffness"], **given, method=dr.optimal.MultipleShooting(window=0.2))
    assert abs(again["gain"] - found["gain"]) < 0.1 * found.deviations["gain"]
    np.testing.assert_allclose(again.deviations["gain"], found.deviations["gain"], rtol=0.03)


def test_noise_of_inputs_belongs_to_the_interval(inverted):
    """Where the torque's noise is left out, the model does not fit, and says so."""
    data = _balanced(inverted, 0.5, 2)
    given = {"measured": {"angle": ("angle", 0.002)}, "start": {"angle": 0.1}, "method": dr.optimal.MultipleShooting(window=0.4)}
    honest = dr.estimate(inverted, data, ["gain"], inputs={"u": ("torque", 0.5)}, **given)
    proud = dr.estimate(inverted, data, ["gain"], inputs={"u": "torque"}, **given)
    assert honest.probability > 1e-3 and not any("does not fit" in w for w in honest.warnings)
    assert any("does not fit" in w for w in proud.warnings)
    assert honest.deviations["gain"] > 2.0 * proud.deviations["gain"]


def test_noise_of_inputs_and_measurements_must_both_be_given(inverted):
    data = _balanced(inverted, 0.05, 1)
    with pytest.raises(dr.errors.DataError, match="give both"):
        dr.estimate(
            inverted,
            data,
            ["gain"],
            {"angle": "angle"},
            inputs={"u": ("torque", 0.05)},
            method=dr.optimal.MultipleShooting(window=0.4),
        )
