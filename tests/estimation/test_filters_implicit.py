"""Filters on equations as they stand, 0 = F(t, x, ẋ): those on explicit ones of the same states, to the run's tolerance."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, z, vx, vz, tension, push = sp.symbols("x z vx vz tension push")
dx, dz, dvx, dvz = sp.symbols("dx dz dvx dvz")
v, i, u, dv = sp.symbols("v i u dv")
SIZE, ANGLE = 0.05, 0.6


@pytest.fixture(scope="module")
def rod() -> dr.Equations:
    """A damped pendulum on a rod, pushed sideways, of index 3: the tension follows from positions, velocities and the push."""
    rows = {
        "to_x": dx - vx,
        "to_z": dz - vz,
        "along_x": dvx - (push - 0.3 * vx - tension * x),
        "along_z": dvz - (-9.81 - 0.3 * vz - tension * z),
        "rod": (x**2 + z**2 - 1) / 2,
    }
    rates = {x: dx, z: dz, vx: dvx, vz: dvz}
    start = {x: np.sin(ANGLE), z: -np.cos(ANGLE), tension: 8.0}
    return dr.symbolic.implicit("rod", rows, [x, z, vx, vz, tension], rates=rates, inputs=[push], start=start)


@pytest.fixture(scope="module")
def log(rod):
    random, t = np.random.default_rng(4), np.cumsum([0.0, *([0.1, 0.07, 0.15] * 3)])
    truth = dr.simulate(rod, t[-1], start={"x": 0.6, "vx": 0.2}, inputs={"push": "sin(3*t)"}, samples=t)
    noisy = {n: truth[n] + s * random.normal(size=len(t)) for n, s in (("x", SIZE), ("tension", 10 * SIZE))}
    return {"time": t, **noisy, "fan": np.sin(3 * t)}


@pytest.mark.parametrize(
    ("method", "process"),
    [
        (dr.estimation.ExtendedKalmanFilter(), {"push": 0.3}),
        (dr.estimation.ExtendedKalmanFilter(), {"vx": 0.3}),
        (dr.estimation.UnscentedKalmanFilter(), {"push": 0.3}),
    ],
    ids=["push", "velocity", "unscented"],
)
def test_a_rod_as_posed_and_reduced_is_estimated_alike(rod, log, method, process):
    given = {
        "measured": {"x": SIZE, "tension": 10 * SIZE},
        "start": {"x": np.sin(ANGLE), "z": dr.InitialGuess(-np.cos(ANGLE)), "vx": 0.0},
        "spread": {"x": SIZE, "vx": 2 * SIZE},
        "inputs": {"push": "fan"},
        "process": process,
        "smooth": True,
    }
    problem = dr.filter(rod, log, method=method, **given)
    reduced = dr.filter(dr.dae.reduce_index(rod), log, method=method, **given)
    for one, other in ((problem.filtered, reduced.filtered), (problem.smoothed, reduced.smoothed)):
        for name in ("x", "z", "vx", "tension"):
            np.testing.assert_allclose(one[name], other[name], atol=2e-5)
            np.testing.assert_allclose(one.deviation(name), other.deviation(name), rtol=1e-4)
        assert np.abs(one.run.residuals).max() < 1e-11  # the rod, its rate, and what the tension follows from
    np.testing.assert_allclose(problem.nis, reduced.nis, atol=2e-4)


@pytest.fixture(scope="module")
def circuit() -> dr.Equations:
    """A capacitor behind a resistor: the current follows the voltage applied at once."""
    return dr.symbolic.implicit("circuit", {"charge": dv / 4 - i, "loop": v + 2 * i - u}, [v, i], rates={v: dv}, inputs=[u])


@pytest.mark.parametrize("process", [{"u": 0.4}, {"v": 0.4}], ids=str)
def test_a_current_that_follows_at_once(circuit, process):
    """v̇ = 2 (u − v): noise on u enters with the factor 2, whatever the current does meanwhile."""
    explicit = dr.first_order("explicit", {v: 2 * (u - v)}, inputs=[u], outputs={"i": (u - v) / 2})
    t = np.linspace(0.0, 1.0, 6)
    data = {"time": t, "v": np.sin(t) + 0.1 * np.random.default_rng(0).normal(size=6), "u": np.cos(2 * t)}
    given = {"measured": {"v": 0.1}, "process": process, "spread": {"v": 0.5}, "inputs": {"u": "u"}, "smooth": True}
    one, other = dr.filter(circuit, data, **given), dr.filter(explicit, data, **given)
    for name in ("v", "i"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-9)
        np.testing.assert_allclose(one.deviation(name), other.deviation(name), rtol=1e-8)
    # at the second sample by hand: P = e^(−4h) P₀ + q (1 − e^(−4h))/4, q = (2 · 0.4)² or 0.4², then corrected
    first = 1 / (1 / 0.5**2 + 1 / 0.1**2)
    ahead = np.exp(-0.8) * first + (2 * 0.4 if "u" in process else 0.4) ** 2 * (1 - np.exp(-0.8)) / 4
    np.testing.assert_allclose(one.filtered.deviation("v")[1] ** -2, 1 / ahead + 1 / 0.1**2, rtol=1e-8)


def test_what_has_no_answer_is_refused(circuit):
    t = np.linspace(0.0, 1.0, 3)
    with pytest.raises(
        dr.errors.ArgumentError, match="'i' follows from the other states at every instant; put noise on inputs, or on v"
    ):
        dr.filter(circuit, {"time": t, "v": t}, measured={"v": 0.1}, process={"i": 0.1})
    dragged = {"to": dx - z, "held": x - u, "lag": dv + v - x}
    drag = dr.symbolic.implicit("drag", dragged, [x, v, z], rates={x: dx, v: dv}, inputs=[u])
    with pytest.raises(dr.errors.ModelError, match=r"states follow the input 'u' at once.*make it a state"):
        dr.filter(drag, {"time": t, "v": t}, measured={"v": 0.1}, process={"u": 0.1})
    stuck = dr.symbolic.implicit("stuck", {"to": dx - z, "held": x - u}, [x, z], rates={x: dx}, inputs=[u])
    with pytest.raises(dr.errors.ModelError, match="leave no degree of freedom"):
        dr.filter(stuck, {"time": t, "x": t}, measured={"x": 0.1}, process={"x": 0.1})
