"""Models for other libraries: nonlinear systems of python-control, and f(t, x) for integrators of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import control
import draisine as dr

START, PRECISE = {"speed": 4.6, "roll_rate": 0.5}, dr.methods.DOP853(rtol=1e-12, atol=1e-13)


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle(), work=False)


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_scipy_integrates_the_bicycle_under_a_law(method):
    law = {"steer_torque": "-2*roll_rate", "push": 3.0}
    ode = dr.codegen.as_ode(dr.gallery.bicycle(), inputs=law, parameters={"trail": "9 cm"})
    x = dr.consistent_start(ode.equations, START, parameters={"trail": 0.09}).x
    more = {"jac": ode.jacobian} if method == "Radau" else {}
    found = solve_ivp(ode, (0.0, 1.0), x, method=method, rtol=1e-9, atol=1e-10, vectorized=True, **more)
    run = dr.simulate(dr.gallery.bicycle(), 1.0, start=START, inputs=law, parameters={"trail": 0.09}, method=PRECISE)
    assert_allclose(found.y[:, -1], [run[name][-1] for name in ode.states], rtol=0, atol=1e-7)


def test_the_jacobian_is_exact_and_columns_are_single_calls():
    """Also where a linear system is solved at every evaluation."""
    for model in (dr.gallery.bicycle(), dr.gallery.cartesian_double_pendulum()):
        ode, random = dr.codegen.as_ode(model), np.random.default_rng(2)
        x = dr.consistent_start(ode.equations).x + 1e-3 * random.normal(size=len(ode.states))
        columns = ode(0.0, x[:, None] + 1e-3 * random.normal(size=(len(x), 3)))
        assert columns.shape == (len(x), 3)
        assert_allclose(ode(0.0, np.stack([x, x], axis=1)), np.stack([ode(0.0, x)] * 2, axis=1), rtol=1e-13, atol=1e-13)
        change, h = random.normal(size=len(x)), 1e-6
        expected = (ode(0.0, x + h * change) - ode(0.0, x - h * change)) / (2 * h)
        assert_allclose(ode.jacobian(0.0, x) @ change, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_python_control_simulates_and_linearizes(bicycle):
    outputs = ["lean", "steer", "front_wheel_normal_force"]
    system = dr.control.to_control(bicycle, controls=["steer_torque"], inputs={"push": 5.0}, outputs=outputs)
    assert (system.input_labels, system.output_labels) == (["steer_torque"], outputs)
    x, times = dr.consistent_start(bicycle, START).x, np.linspace(0.0, 1.0, 51)
    kwargs = {"rtol": 1e-10, "atol": 1e-11, "method": "DOP853"}
    found = control.input_output_response(system, times, np.full((1, 51), 0.3), x, solve_ivp_kwargs=kwargs)
    given = {"steer_torque": 0.3, "push": 5.0}
    run = dr.simulate(bicycle, 1.0, start=START, inputs=given, method=PRECISE, samples=times)
    for k, name in enumerate(outputs):
        assert_allclose(found.outputs[k], run[name], rtol=1e-9, atol=1e-8)
    # the modes of the linear system include those of the published equations at 4.6 m/s, between weave and capsize speed
    upright = dr.consistent_start(bicycle, {"speed": 4.6}).x
    values = np.linalg.eigvals(dr.control.to_control(bicycle).linearize(upright, np.zeros(3)).A)
    for mode in dr.linearize(bicycle, {"speed": 4.6}, states=("lean", "steer")).eigenvalues:
        assert np.abs(values - mode).min() < 1e-5


def test_parameters_of_the_system(bicycle):
    x, u = dr.consistent_start(bicycle, START).x, np.zeros(3)
    system = dr.control.to_control(bicycle, parameters={"trail": 0.1})
    p = bicycle.default_parameters.copy()
    p[[q.name for q in bicycle.parameters].index("trail")] = 0.1
    near = {"rtol": 1e-12, "atol": 1e-13}
    assert_allclose(system.dynamics(0.0, x, u), bicycle.dynamics(0.0, x, u, p)[0], **near)
    usual = bicycle.dynamics(0.0, x, u, bicycle.default_parameters)[0]
    assert_allclose(system.dynamics(0.0, x, u, params={"trail": 0.08}), usual, **near)
    with pytest.raises(KeyError, match="'trial'; did you mean 'trail'"):
        system.dynamics(0.0, x, u, params={"trial": 0.08})
    with pytest.raises(KeyError, match="no input of bicycle is called 'steer'"):
        dr.control.to_control(bicycle, controls=["steer"])
    assert_allclose(system.dynamics(0.0, x, u, params={"trail": "8 cm"}), usual, **near)


def test_impossible_parameters_are_refused_whichever_way_they_are_given(bicycle):
    """Equations that are derived before keep their description, by which values are checked."""
    x, u = dr.consistent_start(bicycle, START).x, np.zeros(3)
    system = dr.control.to_control(bicycle)
    times = np.linspace(0.0, 0.1, 3)
    negative = {"m_frame": -85.0}
    asked = [
        lambda: system.dynamics(0.0, x, u, params=negative),
        lambda: control.input_output_response(system, times, np.zeros((3, 3)), x, params=negative),
        lambda: control.linearize(system, x, u, params=negative),
        lambda: dr.control.to_control(bicycle, parameters=negative),
        lambda: dr.codegen.as_ode(bicycle, parameters=negative),
        lambda: dr.simulate(bicycle, 0.1, parameters=negative),
        lambda: dr.linearize(bicycle, {"speed": 4.6}, parameters=negative),
        lambda: dr.ensemble(bicycle, 0.1, parameters=negative, over={"trail": [0.08, 0.09]}, start=START),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match="mass of body 'frame' is -85"):
            ask()
    runs = dr.ensemble(bicycle, 0.1, over={"m_frame": [-85.0, 85.0]}, start=START)
    assert list(runs["status"]) == ["BAD_VALUES", "FINISHED"]


def test_contacts_that_open_are_refused():
    with pytest.raises(ValueError, match=r"as_ode: model 'bouncing_ball'"):
        dr.codegen.as_ode(dr.gallery.bouncing_ball())
    with pytest.raises(ValueError, match=r"to_control: model 'bouncing_ball'"):
        dr.control.to_control(dr.gallery.bouncing_ball())
