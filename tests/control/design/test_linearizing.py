"""Feedback linearization and computed torque: exact tracking, decay by the poles, zero dynamics by two derivations."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import ArgumentError

EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
REFERENCE = {"upper": "0.5*sin(2*t)", "elbow": "1 + 0.3*cos(3*t)"}


@pytest.fixture(scope="module")
def tracking(arm):
    return dr.control.computed_torque(arm, REFERENCE, poles=[-4, -5])


@pytest.fixture(scope="module")
def driven_arm(arm, tracking):
    return tracking.on(arm)


def wanted(t):
    return {"upper": 0.5 * np.sin(2 * t), "elbow": 1 + 0.3 * np.cos(3 * t)}


def test_from_a_consistent_start_the_arm_is_where_it_should_be(driven_arm):
    run = dr.simulate(driven_arm, 5.0, start={"upper": 0.0, "elbow": 1.3, "upper_rate": 1.0, "elbow_rate": 0.0}, method=EXACT)
    assert run.time[-1] == 5.0
    for name, value in wanted(run.time).items():
        assert np.abs(run[name] - value).max() < 1e-8
    assert run.energy_drift < 1e-9


def test_errors_decay_by_the_poles_and_apart_from_each_other(driven_arm):
    """e = e₀ (5 exp(−4 t) − 4 exp(−5 t)) from rest, for an error that is not small."""
    run = dr.simulate(driven_arm, 3.0, start={"upper": 0.9, "elbow": 1.3, "upper_rate": 1.0, "elbow_rate": 0.0}, method=EXACT)
    t = run.time
    decay = 0.9 * (5 * np.exp(-4 * t) - 4 * np.exp(-5 * t))
    assert np.abs(run["upper"] - wanted(t)["upper"] - decay).max() < 1e-8
    assert np.abs(run["elbow"] - wanted(t)["elbow"]).max() < 1e-8


def test_on_the_path_the_torques_are_those_of_inverse_dynamics(arm, driven_arm):
    run = dr.simulate(driven_arm, 2.0, start={"upper": 0.0, "elbow": 1.3, "upper_rate": 1.0, "elbow_rate": 0.0}, method=EXACT)
    inverse = dr.derive(arm).inverse_dynamics
    p = dr.derive(arm).default_parameters
    for k in (0, 70, 150):
        t = run.time[k]
        q = [0.5 * np.sin(2 * t), 1 + 0.3 * np.cos(3 * t)]
        v = [np.cos(2 * t), -0.9 * np.sin(3 * t)]
        acceleration = [-2 * np.sin(2 * t), -2.7 * np.cos(3 * t)]
        needed = inverse(q, v, acceleration, p)[0]
        np.testing.assert_allclose([run["shoulder_torque"][k], run["elbow_torque"][k]], needed, atol=1e-7)


def test_the_same_law_for_a_lagrangian_typed_by_hand():
    t = sp.Symbol("t")
    angle = sp.Function("angle")(t)
    torque = sp.Symbol("torque")
    pendulum = dr.lagrangian(
        "pendulum",
        [angle],
        kinetic=sp.diff(angle, t) ** 2 / 2,
        potential=-9.81 * sp.cos(angle),
        forces={angle: torque},
        inputs=[torque],
    )
    law = dr.control.computed_torque(pendulum, {"angle": "sin(t)"}, poles=-3.0)
    run = dr.simulate(law.on(pendulum), 3.0, start={"angle": 0.0, "angle_rate": 1.0}, method=EXACT)
    assert np.abs(run["angle"] - np.sin(run.time)).max() < 1e-8
    exact = -np.sin(run.time) + 9.81 * np.sin(np.sin(run.time))
    np.testing.assert_allclose(run["torque"], exact, atol=1e-7)


def test_the_zero_dynamics_of_cart_and_pole_is_the_pole_that_falls():
    cart = dr.gallery.cart_pole()
    law = dr.control.feedback_linearization(cart, {"cart": 0.0}, controls=["push"], poles=[-2, -3])
    assert law.degrees == {"cart": 2} and not law.stable
    loop = dr.linearize(law.on(cart)).eigenvalues
    np.testing.assert_allclose(np.sort(loop.real), np.sort([*law.zeros.real, -2, -3]), rtol=1e-7)
    assert "unstable" in str(law)


@pytest.mark.further
def test_lean_follows_what_is_asked_and_the_steering_settles(bike):
    law = dr.control.feedback_linearization(
        bike, {"lean": "0.1*sin(t)"}, controls=["steer_torque"], poles=[-3, -4], at={"speed": 5.0}
    )
    assert law.degrees == {"lean": 2} and law.stable
    run = dr.simulate(law.on(bike), 6.0, start={"speed": 5.0, "lean": 0.2}, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    late = run.time > 4.0
    assert run.time[-1] == 6.0
    error = np.abs(run["lean"] - 0.1 * np.sin(run.time))
    assert error[0] == pytest.approx(0.2) and error[late].max() < 1e-5


def test_relative_degree_counts_the_chain():
    a, b, c, u = sp.symbols("a b c u")
    chain = dr.first_order("chain", {a: b + a**2, b: sp.sin(c), c: u}, inputs=[u])
    law = dr.control.feedback_linearization(chain, {"a": "0.1*t"}, controls=["u"], poles=[-1, -2, -3])
    assert law.degrees == {"a": 3} and len(law.zeros) == 0
    run = dr.simulate(law.on(chain), 12.0, start={"a": 0.1, "b": 0.0, "c": 0.0})
    assert abs(run["a"][-1] - 1.2) < 1e-4
    assert json.loads(json.dumps(law.as_data()))["degrees"] == {"a": 3}


def test_bad_input_is_said(arm, bike):
    with pytest.raises(ArgumentError, match=r"has 3 degrees of freedom, 3 controls .* and 1 references \(lean\)"):
        dr.control.computed_torque(bike, {"lean": "0"}, poles=-1.0)
    with pytest.raises(ArgumentError, match="3 poles for 'upper', whose relative degree is 2"):
        dr.control.computed_torque(arm, REFERENCE, poles=[-1, -2, -3])
    with pytest.raises(ArgumentError, match="is not stable; give a finite one with a negative real part"):
        dr.control.computed_torque(arm, REFERENCE, poles=[1, -2])
    with pytest.raises(ArgumentError, match="has no conjugate"):
        dr.control.computed_torque(arm, REFERENCE, poles=[-1 + 1j, -2])
    with pytest.raises(ArgumentError, match="no poles are given for 'elbow'"):
        dr.control.computed_torque(arm, REFERENCE, poles={"upper": [-1, -2]})
    with pytest.raises(ArgumentError, match="unknown name 'uper'"):
        dr.control.feedback_linearization(arm, {"uper": "0"}, controls=["elbow_torque"], poles=-1.0)
    with pytest.raises(ArgumentError, match="'motor' is not an input"):
        dr.control.feedback_linearization(arm, {"upper": "0"}, controls=["motor"], poles=-1.0)
