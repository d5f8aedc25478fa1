"""Laws and observers for samples: python-control and SciPy on matrices found otherwise, and the runs they are put into."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import sympy as sp

import draisine as dr
from draisine.control.design.discretization import sampled_cost, sampled_noise, zero_order_hold
from draisine.errors import ArgumentError, SolverError

from .conftest import linear

control = pytest.importorskip("control")

PERIOD, WEIGHTS, EFFORT = 0.05, {"lean": 10.0, "steer": 1.0}, {"steer_torque": 0.1}


def gauss(function, h):
    """∫ from 0 to h by 12 points of Gauss."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return sum(0.5 * h * w * function(0.5 * h * (1 + x)) for x, w in zip(nodes, weights, strict=True))


def between(a, b, s):
    """State and input at time s of a period, by those at its beginning: a quadrature, no exponential of blocks."""
    pushed = gauss(lambda r: scipy.linalg.expm(a * r) @ b, s)
    return np.block([[scipy.linalg.expm(a * s), pushed], [np.zeros((b.shape[1], len(a))), np.eye(b.shape[1])]])


def summed(a, b, w, h):
    """The cost of a period, by quadrature."""

    def rate(s):
        both = between(a, b, s)
        return both.T @ w @ both

    return gauss(rate, h)


@pytest.fixture(scope="module")
def asked(bike):
    return dr.lqr(bike, {"speed": 2.0}, weights=WEIGHTS, input_weights=EFFORT, period=PERIOD)


def test_what_happens_in_a_period():
    random = np.random.default_rng(0)
    a, b, spread = random.normal(size=(3, 3)), random.normal(size=(3, 2)), np.diag([1.0, 0.0, 2.0])
    w = random.normal(size=(5, 5))
    w = w @ w.T
    h = 1.3  # the exponential of the blocks is doubled three times
    onward, pushed = zero_order_hold(a, b, h)
    np.testing.assert_allclose(np.hstack([onward, pushed]), between(a, b, h)[:3], rtol=1e-10, atol=1e-12)
    q, n, r = sampled_cost(a, b, w[:3, :3], w[:3, 3:], w[3:, 3:], h)
    np.testing.assert_allclose(np.block([[q, n], [n.T, r]]), summed(a, b, w, h), rtol=1e-9)
    noise = gauss(lambda s: scipy.linalg.expm(a * s) @ spread @ scipy.linalg.expm(a * s).T, h)
    np.testing.assert_allclose(sampled_noise(a, spread, h), noise, rtol=1e-9, atol=1e-12)
    fast = sampled_noise(np.array([[-1e6]]), np.array([[4.0]]), 1.0)  # V/(2 λ): the blocks' exponential would overflow
    assert fast[0, 0] == pytest.approx(2e-6, rel=1e-9)


def test_the_gains_are_those_of_python_control(asked):
    part = asked.linear
    a, b = part.A, part.B[:, [part.inputs.index("steer_torque")]]
    both = between(a, b, PERIOD)
    onward, pushed = both[:4, :4], both[:4, 4:]
    w = summed(a, b, np.diag([10.0, 1.0, 0.0, 0.0, 0.1]), PERIOD)
    gain, _, _ = control.dlqr(onward, pushed, w[:4, :4], w[4:, 4:], w[:4, 4:])
    np.testing.assert_allclose(asked.K, gain, rtol=1e-9)
    p = scipy.linalg.solve_discrete_are(onward, pushed, w[:4, :4], w[4:, 4:], s=w[:4, 4:])
    np.testing.assert_allclose(asked.K, np.linalg.solve(w[4:, 4:] + pushed.T @ p @ pushed, pushed.T @ p @ onward + w[4:, :4]))
    np.testing.assert_allclose(asked.transition, onward - pushed @ gain, atol=1e-11)
    assert asked.eigenvalues.real.max() < 0
    np.testing.assert_allclose(
        np.sort_complex(np.exp(asked.eigenvalues * PERIOD)), np.sort_complex(np.linalg.eigvals(asked.transition))
    )


def test_often_asked_it_is_the_law_of_every_instant(hold, straight):
    gaps = [np.abs(dr.lqr(hold.linear, weights=WEIGHTS, input_weights=EFFORT, period=h).K - hold.K).max() for h in (2e-3, 1e-3)]
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.05) and gaps[1] < 0.02 * np.abs(hold.K).max()


def test_what_no_input_reaches_is_allowed_for():
    """A mass pushed by a force that nobody changes: as if the force died away very slowly."""

    def gain(dying, **more):
        a = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -dying]]
        return dr.lqr(
            linear(a, [[0.0], [1.0], [0.0]], states=("x", "v", "force")), weights={"x": 1.0}, input_weights={"u0": 1.0}, **more
        ).K

    kept = gain(0.0, period=0.3)
    assert kept[0, 2] != 0.0
    # dlqr on all three states, with a force that does die away
    dying = 1e-4
    a, b = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -dying]]), np.array([[0.0], [1.0], [0.0]])
    w = summed(a, b, np.diag([1.0, 0.0, 0.0, 1.0]), 0.3)
    both = between(a, b, 0.3)
    whole, _, _ = control.dlqr(both[:3, :3], both[:3, 3:], w[:3, :3], w[3:, 3:], w[:3, 3:])
    np.testing.assert_allclose(gain(dying, period=0.3), whole, rtol=1e-6)
    np.testing.assert_allclose(kept, whole, atol=3 * dying)


def test_the_nonlinear_run_moves_by_the_transition(bike, asked):
    """Small deviations of the bicycle, asked and held: from sample to sample by Φ − Γ K."""
    start = {"speed": 2.0, "lean": 1e-5, "steer_rate": 2e-5}
    method = dr.methods.DOP853(rtol=1e-11, atol=1e-14)
    run = dr.simulate(bike, 6 * PERIOD, start=start, control=asked.sampled(), samples=7, method=method)
    z = np.column_stack([run[name] for name in asked.states])
    for k in range(6):
        np.testing.assert_allclose(z[k + 1], asked.transition @ z[k], atol=2e-9)
    assert np.ptp(run["steer_torque"]) > 1e-5


MEASURED, NOISE = {"steer": 1e-4, "roll_rate": 4e-4}, {"push": 100.0, "steer_torque": 0.1}


@pytest.fixture(scope="module")
def loop(asked):
    return dr.control.with_observer(asked, dr.control.kalman(asked.linear, measured=MEASURED, noise=NOISE, period=PERIOD))


def test_the_sampled_filter_is_that_of_python_control(loop):
    part, observer = loop.observer.linear, loop.observer
    g, c = part.B[:, [part.inputs.index(n) for n in NOISE]], np.array([part.row(n) for n in MEASURED])
    spread, sensors = g @ np.diag(list(NOISE.values())) @ g.T, np.diag(list(MEASURED.values()))
    onward = scipy.linalg.expm(part.A * PERIOD)
    added = gauss(lambda s: scipy.linalg.expm(part.A * s) @ spread @ scipy.linalg.expm(part.A * s).T, PERIOD)
    ahead, _, _ = control.dlqe(onward, np.eye(4), c, added, sensors)
    np.testing.assert_allclose(onward @ observer.L, ahead, rtol=1e-7)  # theirs is of the prediction, Φ L
    p = scipy.linalg.solve_discrete_are(onward.T, c.T, added, sensors)
    np.testing.assert_allclose(observer.L, p @ c.T @ np.linalg.inv(c @ p @ c.T + sensors), rtol=1e-7)
    assert np.abs(np.linalg.eigvals(observer.transition)).max() < 1.0


def test_law_and_filter_in_a_computer(bike, loop):
    """The nonlinear run with a computer in the loop moves by the matrix of both; the bicycle stays up, estimates come true."""
    part, gain = loop.observer.linear, loop.law.K
    onward, pushed = zero_order_hold(part.A, part.B[:, [part.inputs.index("steer_torque")]], PERIOD)
    correct = loop.observer.L @ loop.observer.rows
    computer = loop.sampled()
    run = dr.simulate(
        bike,
        3.0,
        start={"speed": 2.0, "lean": 1e-4},
        control=computer,
        samples=61,
        method=dr.methods.DOP853(rtol=1e-11, atol=1e-14),
    )
    z = np.column_stack([run[name] for name in part.states])
    np.testing.assert_allclose(computer.function.times, run.time[:-1], atol=1e-12)
    truth, ahead = z[0], np.zeros(4)
    for k, thought in enumerate(computer.function.estimates):
        estimate = ahead + correct @ (truth - ahead)
        np.testing.assert_allclose(thought, estimate, atol=3e-8)
        np.testing.assert_allclose(z[k], truth, atol=3e-8)
        ahead = onward @ estimate - pushed @ (gain @ estimate)
        truth = onward @ truth - pushed @ (gain @ estimate)
    assert np.abs(z[-1]).max() < 0.5 * np.abs(z).max() and np.abs(z[-1] - thought).max() < 0.5 * np.abs(z[-1]).max()
    again = dr.simulate(bike, 0.5, start={"speed": 2.0, "lean": 1e-4}, control=computer, samples=11)  # it begins anew
    np.testing.assert_allclose(again["lean"], run["lean"][:11], atol=1e-8)


def test_noise_that_a_sensor_feels_itself():
    """An accelerometer on a pushed mass: y = (w − k x − c v) + n, by the Riccati equation with correlated noises."""
    a, b = np.array([[0.0, 1.0], [-4.0, -0.5]]), np.array([[0.0], [1.0]])
    mass = replace(linear(a, b, [[-4.0, -0.5]], states=("x", "v")), D=np.array([[1.0]]))
    found = dr.control.kalman(mass, measured={"y0": 0.3}, noise={"u0": 2.0})
    cross, total = b * 2.0, np.array([[2.3]])
    p = scipy.linalg.solve_continuous_are(a.T, mass.C.T, 2.0 * b @ b.T, total, s=cross)
    np.testing.assert_allclose(found.L, (p @ mass.C.T + cross) / 2.3, rtol=1e-9)
    with pytest.raises(ArgumentError, match="white noise on 'u0' enters 'y0' directly"):
        dr.control.kalman(mass, measured={"y0": 0.3}, noise={"u0": 2.0}, period=0.1)


def test_what_does_not_fit_is_refused(bike, hold, asked, loop):
    for wrong, said in (
        (lambda: dr.simulate(bike, 1.0, start={"speed": 2.0}, inputs=asked), r"sampled every 0.05 s.*law.sampled\(\)"),
        (lambda: asked.closed, "has a `transition`"),
        (lambda: hold.transition, "the law is continuous"),
        (lambda: hold.sampled(), "give the sampling rate"),
        (lambda: asked.sampled(10.0), "not for 10 samples per second"),
        (lambda: loop.on(bike), r"control=loop.sampled\(\)"),
        (lambda: dr.control.with_observer(hold, loop.observer), "the law is continuous, the observer sampled every 0.05 s"),
        (lambda: dr.lqr(hold.linear, weights=WEIGHTS, input_weights=EFFORT, period=0.0), "a positive number, got 0.0"),
    ):
        with pytest.raises(ArgumentError, match=said):
            wrong()
    x, v, u = sp.symbols("x v u")
    swing = dr.first_order("swing", {x: v, v: u - 4 * x}, inputs=[u])
    with pytest.raises(SolverError, match=r"sampled every 1.5708 s, some mode is nearly uncontrollable.*another period"):
        dr.lqr(swing, weights={"x": 1.0}, input_weights={"u": 1.0}, period=np.pi / 2)  # each time after half a turn
