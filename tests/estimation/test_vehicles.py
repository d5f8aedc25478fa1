"""Vehicles identified: the unstable bicycle by windows, the wheelset through its creep forces."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries import bicycle_identified as bicycle
from draisine.gallery.entries import wheelset_identified as wheelset
from draisine.stability.linearization import equations_of


@pytest.fixture(scope="module")
def model():
    return equations_of(bicycle.bicycle())


@pytest.fixture(scope="module")
def ridden():
    return bicycle.ride(10.0)


@pytest.fixture(scope="module")
def fit(model, ridden):
    return bicycle.identify(bicycle.recorded(ridden), model=model)


def test_one_run_from_the_start_is_refused(model, ridden):
    data, given = (
        bicycle.recorded(ridden),
        {"unknown": {"trail": (0.0, 0.3)}, "method": dr.estimation.SingleShooting(), "model": model},
    )
    with pytest.raises(dr.errors.SolverError, match=r"fell_over.*use method=MultipleShooting"):
        bicycle.identify(data, **given, torque=bicycle.AS_IT_IS)
    with pytest.raises(dr.errors.ArgumentError, match=r"'torque' of the input 'steer_torque' has noise"):
        bicycle.identify(data, **given)


def test_windows_identify_the_bicycle(fit):
    for name, value in bicycle.TRUTH.items():
        assert abs(fit[name] - value) < 3.0 * fit.deviations[name], name
        assert fit.deviations[name] < 0.02 * value
    assert 1e-3 < fit.probability < 0.999
    # lean, steer, their rates and the speed matter; where the bicycle is and heads to does not
    names = fit.outcome.shot.chains[0].windows.tangent.names
    assert set(names) == {"steer", "frame_lean", "frame_wx", "steer_rate", "speed"}
    assert set(fit.estimated_start) == set(names) - {"speed"}  # which was given


def test_without_noise_nothing_is_left_of_the_error(model, ridden):
    """What is taken for noise is not there: estimates must be the truth to a small part of their deviations."""
    channels = {"roll_gyro": "roll_rate", "steer_gyro": "steer_rate", "speedometer": "speed", "torque": "steer_torque"}
    data = {"time": ridden.time, **{column: ridden[name] for column, name in channels.items()}}
    found = bicycle.identify(
        data, method=dr.optimal.MultipleShooting(window=0.25, integration=dr.methods.RK4(step=0.01)), model=model
    )
    for name, value in bicycle.TRUTH.items():
        assert abs(found[name] - value) < 2e-3 * found.deviations[name], name
    assert found.chi_square < 1e-4


def test_derivatives_of_a_window_are_those_of_differences(model, fit):
    """∂(measured, end)/∂(start, parameters) of one window, against central differences of runs on the constraints."""
    chain = fit.outcome.shot.chains[0]
    windows, tangent = chain.windows, chain.windows.tangent
    p, _ = fit.problem.parameters(fit.outcome.unknowns)
    i, x = 7, chain.states[7]
    t, u = windows.begins[i : i + 1], windows.inputs[i : i + 1]
    here, zeta = windows.window_run(i, x, p), tangent.values(t, x[None], u, p)
    for j, name in enumerate((*tangent.names, *bicycle.TRUTH)):
        found = []
        place = [q.name for q in model.parameters].index(name) if name in bicycle.TRUTH else None
        size = 1e-5 * (p[place] if place is not None else 1.0)
        for sign in (1.0, -1.0):
            moved, wanted = p.copy(), zeta.copy()
            if place is None:
                wanted[0, j] += sign * size
            else:
                moved[place] += sign * size
            begun = tangent.settled(t, x[None], u, moved, wanted)
            window_run = windows.window_run(i, begun[0], moved)
            found.append(np.concatenate([window_run.values.ravel(), window_run.end]))
        slope = (found[0] - found[1]) / (2 * size)
        exact = np.concatenate([here.by[..., j].ravel(), here.end_by[:, j]])
        np.testing.assert_allclose(exact, slope, atol=2e-4 * max(1.0, float(np.abs(exact).max())), err_msg=name)


@pytest.mark.further
def test_wheelset_from_lateral_displacement():
    assert "conicity" in wheelset.wheelset_identified().findings[0]


@pytest.mark.further
@pytest.mark.parametrize("guess", [(0.02, 0.5, 5.0), (0.25, 0.1, 20.0)])
def test_a_noisy_controlled_ride_from_distant_guesses(model, guess):
    """Four times the noise, trail wrong by factors: the same minimum as from the truth, by inputs first known loosely."""
    run, random = bicycle.ride(5.0), np.random.default_rng(4)
    channels = {"roll_gyro": "roll_rate", "steer_gyro": "steer_rate", "speedometer": "speed", "torque": "steer_torque"}
    noise = {c: 4.0 * s for c, s in bicycle.NOISE.items()}
    data = {"time": run.time, **{c: run[n] + noise[c] * random.normal(size=len(run)) for c, n in channels.items()}}
    measured = {c: (n, noise[c]) for c, n in channels.items() if c != "torque"}
    given = {"start": {"speed": 2.0}, "inputs": {"steer_torque": dr.estimation.CubicInput("torque", noise["torque"])}}
    given["method"] = dr.optimal.MultipleShooting(window=0.2)
    near = dr.estimate(model, data, bicycle.SIDES, measured, guess=bicycle.TRUTH, **given)
    far = dr.estimate(model, data, bicycle.SIDES, measured, guess=dict(zip(bicycle.TRUTH, guess, strict=True)), **given)
    assert near.converged and far.converged
    for name, value in bicycle.TRUTH.items():
        assert abs(far[name] - near[name]) < 1e-2 * near.deviations[name], name
        assert abs(near[name] - value) < 3.5 * near.deviations[name], name
