"""Accelerations as outputs: closed forms, differences of dense runs, and agreement of all derivations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from trees import free_joints_of_every_kind, tree

import draisine as dr

G = 9.81


def _pendulum() -> dr.Model:
    m = dr.Model("pendulum")
    m.parameter("length", 0.7, "m")
    m.input("torque", "N*m")
    m.body("bob", 2.0, (0, 0, "-length"), (0.01, 0.01, 0.01))
    m.revolute("swing", "ground", "bob", axis="y")
    m.generalized_force("swing", "torque")
    m.point("tip", "bob", (0, 0, "-length"))
    m.output("ax", "acceleration_x(tip)", "m/s^2")
    m.output("az", "acceleration_z(tip)", "m/s^2")
    m.output("radial", "body_acceleration_z(tip)", "m/s^2")
    m.output("tangential", "body_acceleration_x(tip)", "m/s^2")
    m.output("alpha", "rate(rate(swing))", "rad/s^2")
    m.output("alpha2", "rate(swing_rate)", "rad/s^2")
    m.output("felt", "hypot(ax, az + 9.81)", "m/s^2")
    return m


def test_pendulum_by_its_closed_form() -> None:
    run = dr.simulate(_pendulum(), 2.0, start={"swing": 1.0}, inputs={"torque": "0.5*sin(3*t)"})
    q, w, length = run["swing"], run["swing_rate"], 0.7
    alpha = (-2.0 * G * length * np.sin(q) + 0.5 * np.sin(3 * run.time)) / (2.0 * length**2 + 0.01)
    np.testing.assert_allclose(run["alpha"], alpha, atol=1e-10)
    np.testing.assert_allclose(run["alpha2"], alpha, atol=1e-10)
    np.testing.assert_allclose(run["radial"], length * w**2, atol=1e-10)
    np.testing.assert_allclose(run["tangential"], -length * alpha, atol=1e-10)
    np.testing.assert_allclose(np.hypot(run["ax"], run["az"]), length * np.hypot(alpha, w**2), atol=1e-10)
    np.testing.assert_allclose(run["felt"], np.hypot(run["ax"], run["az"] + G), atol=1e-10)


FORMULATIONS = [None, dr.formulations.Augmented(), dr.formulations.Recursive()]


@pytest.mark.parametrize("formulation", FORMULATIONS[:2])
def test_bicycle_by_differences_of_a_dense_run(formulation) -> None:
    m = dr.Model.of(dr.gallery.bicycle().freeze())
    m.output("saddle_ay", "acceleration_y(saddle)", "m/s^2")
    m.output("saddle_ax", "body_acceleration_x(saddle)", "m/s^2")
    m.output("vy", "velocity_y(saddle)", "m/s")
    m.output("yaw_acceleration", "rate(yaw_rate)", "rad/s^2")
    m.output("lean_acceleration", "rate(rate(lean))", "rad/s^2")
    m.output("lean_rate", "rate(lean)", "rad/s")
    times = np.linspace(0, 1.0, 2001)
    options = {} if formulation is None else {"formulation": formulation}
    run = dr.simulate(
        m, 1.0, start={"speed": 5.0, "steer": 0.1}, samples=times, method=dr.methods.DOP853(1e-11, 1e-12), **options
    )
    assert run.status.complete
    pairs = {"vy": "saddle_ay", "yaw_rate": "yaw_acceleration", "lean_rate": "lean_acceleration"}
    for velocity, acceleration in pairs.items():
        differences = (run[velocity][2:] - run[velocity][:-2]) / (times[2:] - times[:-2])
        np.testing.assert_allclose(run[acceleration][1:-1], differences, atol=2e-5 * max(1, np.abs(run[acceleration]).max()))


def test_all_derivations_agree_on_random_trees() -> None:
    for seed in range(6):
        model = tree(seed, most=5)
        body = f"b{len(model.freeze().bodies)}"
        for axis in "xyz":
            model.output(f"a{axis}", f"acceleration_{axis}({body})", "m/s^2")
            model.output(f"b{axis}", f"body_acceleration_{axis}({body})", "m/s^2")
            model.output(f"w{axis}", f"rate(rate_{axis}({body}))", "rad/s^2")
        equations = [dr.derive(model) if f is None else dr.derive(model, formulation=f) for f in FORMULATIONS[:2]]
        rng = np.random.default_rng(seed)
        values = {s.name: float(rng.uniform(-0.5, 0.5)) for s in equations[0].states}
        found = []
        for e in equations:
            report = e.report([0.0], [values.get(s.name, 0.0) for s in e.states], [], e.default_parameters)
            outputs = report[[s.name for s in e.report.outputs].index("outputs")]
            found.append(dict(zip((q.name for q in e.outputs), outputs, strict=True)))
        for name in found[0]:
            assert found[1][name] == pytest.approx(found[0][name], rel=1e-8, abs=1e-8), (seed, name)


def test_certificate_with_accelerations() -> None:
    assert dr.certify(_pendulum()).passed


def test_angular_acceleration_in_a_free_fall() -> None:
    m = dr.Model("stone")
    m.free(m.body("stone", 1.0, inertia=(1.0, 2.0, 2.5)))
    m.point("edge", "stone", (0.3, 0, 0))
    m.output("center_az", "acceleration_z(stone)", "m/s^2")
    m.output("wx_rate", "rate(rate_x(stone))", "rad/s^2")
    run = dr.simulate(m, 1.0, start={"stone_wx": 0.3, "stone_wy": 2.0, "stone_wz": 0.5})
    np.testing.assert_allclose(run["center_az"], -G, atol=1e-12)
    euler = (2.0 - 2.5) * run["stone_wy"] * run["stone_wz"] / 1.0
    np.testing.assert_allclose(run["wx_rate"], euler, atol=1e-12)


def test_accelerations_are_plotted_and_measured() -> None:
    run = dr.simulate(_pendulum(), 0.5, start={"swing": 0.5})
    assert run.plot("ax", "alpha") is not None
    data = {"time": run.time, "ax": run["ax"]}
    found = dr.estimate(_pendulum(), data, ["length"], {"ax": ("ax", 0.1)}, guess={"length": 0.8}, start={"swing": 0.5})
    assert found["length"] == pytest.approx(0.7, abs=1e-6)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda m: m.generalized_force("swing", "-ax"), "can be an output only"),
        (lambda m: m.generalized_force("swing", "-rate(rate(swing))"), "can be an output only"),
        (lambda m: m.output("jerk", "rate(alpha)"), "at most twice"),
        (lambda m: m.output("jerk", "rate(swing_rate*torque)"), "input 'torque'"),
    ],
)
def test_where_accelerations_are_not_known_they_are_refused(add, message) -> None:
    m = _pendulum()
    add(m)
    with pytest.raises(dr.errors.ModelError, match=message):
        dr.derive(m)


@pytest.mark.parametrize("level", [-6.0, 0.0, 4.0])
def test_events_may_watch_accelerations(level: float) -> None:
    m = _pendulum()
    m.event("reached", f"alpha - ({level})", "record")
    run = dr.simulate(m, 4.0, start={"swing": 1.0}, method=dr.methods.DOP853(1e-10, 1e-11))
    crossed = np.flatnonzero(np.diff(np.sign(run["alpha"] - level)))
    assert len(run.events) == len(crossed) > 1
    np.testing.assert_allclose([run.at(e.time)["alpha"] for e in run.events], level, atol=1e-6)


def test_units_of_accelerations_are_checked() -> None:
    m = _pendulum()
    with pytest.raises(dr.errors.ModelError, match=r"output 'bad'.* expected an acceleration"):
        m.output("bad", "length*acceleration_x(tip)", "m/s^2")


def test_loaded_trees_by_differences() -> None:
    model, bodies = free_joints_of_every_kind(3)
    model.output("a", f"acceleration_y({bodies[-1]})", "m/s^2")
    model.output("v", f"velocity_y({bodies[-1]})", "m/s")
    times = np.linspace(0, 0.2, 801)
    run = dr.simulate(model, 0.2, samples=times, method=dr.methods.DOP853(1e-11, 1e-12))
    differences = (run["v"][2:] - run["v"][:-2]) / (times[2:] - times[:-2])
    np.testing.assert_allclose(run["a"][1:-1], differences, atol=1e-4 * max(1.0, np.abs(run["a"]).max()))
    assert math.isfinite(run["a"][-1])
