"""Recorded inputs with noise: what they do between samples, their derivatives, and least squares on all unknowns at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from scipy.optimize import least_squares

import draisine as dr
from draisine.estimation.inputs import CubicInput, LinearInput, coefficients, sample_positions
from draisine.estimation.multiple_shooting import first_shot, window_settings
from draisine.estimation.problem import build_problem

ANGLE, TORQUE = 0.002, 0.3


@pytest.fixture(scope="module")
def stick() -> dr.Equations:
    """A stick balanced by a torque: it falls as e^(4 t)."""
    angle, rate, stiffness, gain, u = sp.symbols("angle rate stiffness gain u")
    rates = {angle: rate, rate: stiffness * angle + gain * u}
    felt = {"felt": stiffness * angle + gain * u}  # an accelerometer feels the torque itself
    return dr.first_order("stick", rates, parameters={stiffness: 16.0, gain: 1.0}, inputs=[u], outputs=felt)


def _log(stick: dr.Equations, until: float, seed: int, samples: int = 101) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    law = "-40*angle - 8*rate + 4*sin(3*t) + 3*cos(7*t)"
    run = dr.simulate(stick, until, inputs={"u": law}, start={"angle": 0.1}, parameters={"gain": 1.2}, samples=samples)
    angle, torque = (run[n] + s * random.normal(size=samples) for n, s in (("angle", ANGLE), ("u", TORQUE)))
    felt = run["felt"] + 0.5 * random.normal(size=samples)
    return {"time": run.time, "angle": angle, "torque": torque, "felt": felt}


@pytest.mark.parametrize(("kind", "loss"), [(LinearInput("a"), lambda w: w**2 / 12), (CubicInput("a"), lambda w: w**4 / 80)])
def test_how_much_of_a_sine_is_left_between_samples(kind, loss):
    step = 0.3
    t, fine = np.arange(400.0), np.linspace(50.0, 50.0 + 20 * np.pi / step, 40001)[:-1]
    kept = 2.0 * np.mean(kind.values(fine, t, np.sin(step * t)) * np.sin(step * fine))
    assert abs((1.0 - kept) / loss(step) - 1.0) < 0.02


def test_polynomials_between_samples():
    t = np.array([0.0, 0.3, 0.5, 1.1, 1.2])
    inside = np.linspace(0.0, 1.2, 31)
    np.testing.assert_allclose(CubicInput("a").values(inside, t, 1 - t + 3 * t**2), 1 - inside + 3 * inside**2, atol=1e-13)
    np.testing.assert_allclose(CubicInput("a").values(np.array([-1.0, 9.0]), t, t), [0.0, 1.2])  # held outside
    np.testing.assert_allclose(coefficients(2 + sample_positions(3) - 4 * sample_positions(3) ** 3), [2, 1, 0, -4], atol=1e-12)


@pytest.mark.parametrize("drive", [("torque", TORQUE), dr.estimation.CubicInput("torque", TORQUE)])
@pytest.mark.parametrize("method", [dr.optimal.MultipleShooting(window=0.5), dr.optimal.Collocation("radau", 3, 10)])
def test_derivatives_by_samples_of_inputs(stick, drive, method):
    """Against differences, with instants that are not regular and gaps in both columns."""
    log = _log(stick, 2.0, 0, 41)
    keep = np.setdiff1d(np.arange(41), [3, 17, 18])
    log = {n: c[keep] for n, c in log.items()}
    log["torque"][[7, 23]] = np.nan
    log["felt"][[7, 9]] = np.nan
    measured = {"angle": ("angle", ANGLE), "felt": ("felt", 0.5)}
    problem = build_problem(stick, log, ["gain"], measured, inputs={"u": drive}, start={"angle": 0.1})
    (chain,) = first_shot(problem, window_settings(method, problem.equations), problem.guess, np.array([ANGLE, 0.5])).chains
    p, _ = problem.parameters(problem.guess)
    layout, step = chain.windows.layout, 1e-2  # the system is linear in the torque
    assert chain.windows.count > 2
    for i, window_run in enumerate(chain.window_runs(p)):
        for column, sample in list(enumerate(layout.acting(i)[0]))[i % 3 :: 3]:
            reported = []
            for sign in (1.0, -1.0):
                samples = chain.samples.copy()
                samples[sample] += sign * step
                moved = chain.windows.with_samples(samples).window_runs([i], chain.states[i : i + 1], p)[0]
                reported.append(np.concatenate([moved.values.ravel(), moved.end]))
            np.testing.assert_allclose(window_run.by_samples[:, column], (reported[0] - reported[1]) / (2 * step), atol=2e-8)


def test_noise_of_an_input_is_least_squares_on_all_that_is_unknown(stick):
    """Gain, stiffness, start and every torque, by SciPy on exact transitions, against windows of several lengths."""
    log = _log(stick, 2.0, 3, 41)
    h = log["time"][1]

    def onto(gain: float, stiffness: float) -> np.ndarray:
        """Residuals without their constants, as a matrix on the start and all torques: they are linear in these."""
        ramp = np.zeros((4, 4))
        ramp[0, 1], ramp[1, 0], ramp[1, 2], ramp[2, 3] = 1.0, stiffness, gain, 1.0 / h
        onward = expm(ramp * h)
        x, u = np.eye(2, 43), np.eye(43)[2:]
        angles = [x[0]]
        for a, b in pairwise(u):
            x = (onward @ np.vstack([x, a, b - a]))[:2]
            angles.append(x[0])
        return np.vstack([np.array(angles) / ANGLE, u / TORQUE])

    reported = np.concatenate([log["angle"] / ANGLE, log["torque"] / TORQUE])

    def best(two: np.ndarray) -> np.ndarray:
        """The start and the torques that suit a gain and a stiffness best."""
        return np.linalg.lstsq(onto(*two), reported, rcond=None)[0]

    exact = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
    two = least_squares(lambda two: onto(*two) @ best(two) - reported, [1.2, 16.0], "3-point", x_scale="jac", **exact)
    others, step = best(two.x), 1e-5 * np.diag(two.x)
    jacobians = [(onto(*(two.x + d)) - onto(*(two.x - d))) @ others / (2 * d.sum()) for d in step]
    jacobian = np.column_stack([*jacobians, onto(*two.x)])
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    for window in (0.3, 1.0):
        found = dr.estimate(
            stick,
            log,
            ["gain", "stiffness"],
            {"angle": ("angle", ANGLE)},
            inputs={"u": ("torque", TORQUE)},
            method=dr.optimal.MultipleShooting(window=window),
        )
        np.testing.assert_allclose([found["gain"], found["stiffness"]], two.x, rtol=1e-6)
        np.testing.assert_allclose(found.covariance, covariance[:2, :2], rtol=1e-4)
        np.testing.assert_allclose(found.chi_square, 2 * two.cost, rtol=1e-6)
        assert found.freedom == 41 - 4
    # noise of both is drawn anew: without that of the torque the deviation would come out as 0.35 of what it is
    drawn = found.bootstrap(12, seed=1)
    for i, name in enumerate(found.names):
        assert 0.7 < drawn.deviation(name) / np.sqrt(covariance[i, i]) < 1.4
        assert abs(np.mean(drawn.estimates[:, i]) - found[name]) < 1.2 * np.sqrt(covariance[i, i])
    with pytest.raises(ValueError, match="none in blocks of 3"):
        found.bootstrap(4, block=3)
    with pytest.raises(KeyError, match="'gian' is not among the unknowns; did you mean 'gain'"):
        drawn.interval("gian")


def test_one_run_does_not_take_a_noisy_input_as_it_is(stick):
    log, given = _log(stick, 1.0, 3, 21), {"measured": {"angle": ("angle", ANGLE)}, "inputs": {"u": ("torque", TORQUE)}}
    for verb in (dr.estimate, dr.estimation.identifiability):
        with pytest.raises(dr.errors.ArgumentError, match=r"'torque' of the input 'u' has noise.*MultipleShooting"):
            verb(stick, log, ["gain"], **given)


def test_corners_cost_more_than_cubics(stick):
    """Without noise, straight lines between samples of a smooth torque leave an error that cubics do not."""
    run = dr.simulate(stick, 2.0, inputs={"u": "-40*angle - 8*rate + 9*sin(9*t)"}, start={"angle": 0.1}, samples=81)
    log = {"time": run.time, "angle": run["angle"], "torque": run["u"]}
    errors = {}
    for drive in (LinearInput("torque", TORQUE), CubicInput("torque", TORQUE)):
        found = dr.estimate(
            stick, log, ["gain"], {"angle": ("angle", ANGLE)}, inputs={"u": drive}, method=dr.optimal.MultipleShooting(window=0.5)
        )
        errors[type(drive)] = abs(found["gain"] - 1.0)
    assert errors[CubicInput] < 0.05 * errors[LinearInput] and errors[LinearInput] > 1e-3


def test_windows_must_be_long_enough_for_smooth_inputs(stick):
    log = _log(stick, 2.0, 3, 41)
    given = {"inputs": {"u": dr.estimation.CubicInput("torque", TORQUE)}, "method": dr.optimal.MultipleShooting(window=0.1)}
    with pytest.raises(dr.errors.DataError, match="only 2 intervals of 'torque'"):
        dr.estimate(stick, log, ["gain"], {"angle": ("angle", ANGLE)}, **given)


def test_laws_in_words(stick):
    """An input that follows a law: the closed loop is stable, and one run from the start serves."""
    law = "-40*angle - 8*rate + 4*sin(3*t) + 3*cos(7*t)"
    log, given = _log(stick, 4.0, 1), {"measured": {"angle": ("angle", ANGLE)}, "start": {"angle": 0.1}}
    found = dr.estimate(stick, log, ["gain", "stiffness"], **given, inputs={"u": law})
    for name, value in (("gain", 1.2), ("stiffness", 16.0)):
        assert abs(found[name] - value) < 3.5 * found.deviations[name] < 0.2 * value
    for wrong, said in (
        ({"u": "torqe"}, r"neither a column of the data nor a quantity of stick; did you mean 'torque'"),
        ({"u": "2*torque"}, r"the law of 'u' uses the column 'torque'"),
        ({"u": "-40*angl"}, r"unknown name 'angl'; did you mean 'angle'"),
        ({"u": "3*("}, r"law of input 'u'.*unexpected end"),
        ({"w": "1"}, r"stick has no input 'w'"),
    ):
        with pytest.raises(ValueError, match=said):
            dr.estimate(stick, log, ["gain"], **given, inputs=wrong)
