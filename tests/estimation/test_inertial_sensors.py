"""Gyroscopes and accelerometers at a point of a body in a turned triad."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import draisine as dr
from draisine.estimation import Sensor

LENGTH, GRAVITY = 0.8, 9.81
FINE = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def pendulum(arm: float = 0.5, tilt: float = 0.0) -> dr.Model:
    """A point mass on a rod, with an inertial sensor at a distance from the pivot, turned about the axis of the joint."""
    model = dr.Model("instrumented")
    distance, angle = model.parameter("arm", arm, "m"), model.parameter("tilt", tilt, "rad")
    rod = model.body("rod", 1.0, (0, 0, -LENGTH), (0, 0, 0))
    model.revolute("swing", "ground", rod, axis="y")
    model.gyroscope("gyro", rod, orientation=[("y", angle)])
    model.accelerometer("acc", rod, at=(0, 0, -distance), orientation=[("y", angle)])
    return model


def readings(t: np.ndarray, arm: float, tilt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angular velocity and specific force in the triad, in closed form along a motion by SciPy."""
    rates = lambda _, s: [s[1], -GRAVITY / LENGTH * np.sin(s[0])]  # noqa: E731
    angle, rate = solve_ivp(rates, (0.0, t[-1]), [0.7, 0.0], t_eval=t, rtol=1e-11, atol=1e-12).y
    x = arm * GRAVITY / LENGTH * np.sin(angle) - GRAVITY * np.sin(angle)
    z = arm * rate**2 + GRAVITY * np.cos(angle)
    return rate, np.cos(tilt) * x - np.sin(tilt) * z, np.sin(tilt) * x + np.cos(tilt) * z


def test_a_pendulum_in_closed_form():
    t = np.linspace(0.0, 2.0, 41)
    run = dr.simulate(pendulum(0.3, 0.4), 2.0, start={"swing": 0.7}, samples=t, method=FINE)
    rate, x, z = readings(t, 0.3, 0.4)
    for name, exact in (("gyro_y", rate), ("gyro_x", 0 * t), ("acc_x", x), ("acc_y", 0 * t), ("acc_z", z)):
        np.testing.assert_allclose(run[name], exact, atol=1e-7)


@pytest.mark.parametrize("method", [dr.estimation.SingleShooting(), dr.optimal.MultipleShooting(window=0.5)])
def test_where_the_sensor_sits_is_found(method):
    """Distance, tilt, biases and a delay, from a gyroscope that counts the other way and an accelerometer."""
    t = np.linspace(0.0, 2.0, 81)
    rate, x, z = readings(t, 0.3, 0.1)
    random = np.random.default_rng(3)
    log = {"time": t, "gy": -rate + 0.05, "ax": x - 0.2, "az": z}
    log |= {n: log[n] + 0.01 * random.normal(size=81) for n in ("gy", "ax", "az")}
    measured = {
        "gy": Sensor("-gyro_y", 0.01, bias="unknown"),
        "ax": Sensor("acc_x", 0.01, bias="unknown"),
        "az": ("acc_z", 0.01),
    }
    found = dr.estimate(pendulum(), log, ["arm", "tilt"], measured, start={"swing": 0.7, "swing_rate": 0.0}, method=method)
    for name, value in {"arm": 0.3, "tilt": 0.1, "gy.bias": 0.05, "ax.bias": -0.2}.items():
        assert abs(found[name] - value) < 4.0 * found.deviations[name] < 0.1, name
    assert found.probability > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_a_tumbling_triad(seed):
    """A body on a universal joint, a random point, triad and gravity: positions differenced twice, axes by SciPy's rotations."""
    random = np.random.default_rng(seed)
    at, gravity, angles = random.normal(size=3), 5.0 * random.normal(size=3), random.uniform(-1.5, 1.5, size=3)
    model = dr.Model("tumbling")
    model.gravity(tuple(gravity))
    body = model.body("body", 1.0, (0.1, 0.2, -0.4), (0.3, 0.4, 0.5))
    model.universal("joint", "ground", body)
    turns = list(zip("zxy", angles.tolist(), strict=True))
    model.gyroscope("gyro", body, turns)
    model.accelerometer("acc", body, tuple(at), turns)
    for axis in "xyz":
        model.output(f"place_{axis}", f"position_{axis}(acc)")
        for other in "xyz":
            model.output(f"axis_{axis}{other}", f"cosine_{axis}{other}(ground, body)")
    h = 1e-3
    start = {q.name: random.normal() for q in dr.derive(model).velocities}
    run = dr.simulate(model, 4 * h, start=start, samples=np.arange(5) * h, method=FINE)
    place = np.column_stack([run[f"place_{a}"] for a in "xyz"])
    axes = np.array([[run[f"axis_{a}{b}"] for b in "xyz"] for a in "xyz"]).transpose(2, 0, 1)
    triad = axes @ Rotation.from_euler("ZXY", angles).as_matrix()
    weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    force = triad[2].T @ (weights @ place / h**2 - gravity)
    np.testing.assert_allclose([run[f"acc_{a}"][2] for a in "xyz"], force, atol=2e-6 * (1 + np.abs(force).max()))
    spin = triad[2].T @ (np.array([1.0, -8.0, 0.0, 8.0, -1.0])[:, None, None] / 12.0 / h * triad).sum(axis=0)
    np.testing.assert_allclose([run[f"gyro_{a}"][2] for a in "xyz"], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-6)
