"""Gravity in any direction: a mechanism in a tilted gravity moves as the tilted mechanism under vertical gravity."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import sin
from draisine.model.files import from_toml, to_toml

DERIVATIONS = [None, dr.formulations.Augmented(), dr.formulations.Recursive()]


def _pendulum(gravity=None, tilt=0.0) -> dr.Model:
    """A double pendulum; `tilt` turns its support about y."""
    m = dr.Model("pendulum")
    if gravity is not None:
        m.gravity(gravity)
    inertia = {"xx": 0.1, "yy": 0.2, "zz": 0.15}
    m.body("upper", 1.0, (0, 0.1, -0.5), inertia)
    m.body("lower", 2.0, (0.1, 0, -0.4), inertia)
    m.universal("hip", "ground", "upper", orientation=[("y", tilt)] if tilt else ())
    m.revolute("knee", "upper", "lower", axis="y", at=(0, 0, -1))
    return m


def _accelerations(model, x, formulation=None):
    equations = dr.derive(model) if formulation is None else dr.derive(model, formulation=formulation)
    return equations.dynamics(0.0, x, [], equations.default_parameters)[0]


@pytest.mark.parametrize("formulation", DERIVATIONS)
def test_tilted_gravity_is_a_tilted_support(formulation) -> None:
    tilt = 0.6
    # in the axes of the tilted support, gravity points along R_y(−tilt) (0, 0, −g)
    tilted = (math.sin(tilt) * 9.81, 0, -math.cos(tilt) * 9.81)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.normal(size=6)
        expected = _accelerations(_pendulum(tilt=tilt), x)
        np.testing.assert_allclose(_accelerations(_pendulum(tilted), x, formulation), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("formulation", DERIVATIONS)
def test_vector_along_z_is_the_magnitude(formulation) -> None:
    x = np.random.default_rng(2).normal(size=6)
    one, two = (_accelerations(_pendulum(g), x, formulation) for g in (3.7, (0, 0, "-3.7 m/s^2")))
    np.testing.assert_allclose(one, two, rtol=1e-13)


def test_certificate_and_energy() -> None:
    m = _pendulum((1.0, -2.0, 3.0))
    assert dr.certify(m).passed
    run = dr.simulate(m, 3.0, start={"knee": 0.5})
    assert run.energy_drift < 1e-8


def test_gravity_by_parameters_falls_as_a_parabola() -> None:
    m = dr.Model("stone")
    g, tilt = m.parameter("g", 9.81, "m/s^2"), m.parameter("tilt", "20 deg")
    m.gravity((g * sin(tilt), 0, "-g*cos(tilt)"))
    m.free(m.body("stone", 2.0, inertia=(0.1, 0.2, 0.3)))
    run = dr.simulate(m, 1.5, parameters={"tilt": 0.5})
    assert run["stone_x"][-1] == pytest.approx(9.81 * math.sin(0.5) * 1.5**2 / 2, rel=1e-9)
    assert run["stone_z"][-1] == pytest.approx(-9.81 * math.cos(0.5) * 1.5**2 / 2, rel=1e-9)


def test_wheel_on_level_ground_in_tilted_gravity_rolls_as_on_a_slope() -> None:
    """A disc on a slope and one on level ground with gravity turned by the slope: equal speeds and normal forces."""
    angle = 0.2

    def rolling(gravity, slope, pitch=0.0):
        m = dr.Model("wheel")
        m.gravity(gravity)
        m.ground(slope=slope)
        m.body("disc", 3.0, inertia=(0.1, 0.2, 0.1))
        m.free_euler("disc", "zxy", ["heading", "lean", "spin"])
        m.wheel("tire", "disc", radius=0.4, axis="y")
        m.output("speed", "hypot(velocity_x(disc), velocity_z(disc))", "m/s")
        return dr.simulate(m, 1.5, start={"spin_rate": -1.0})

    level = rolling((-9.81 * math.sin(angle), 0, -9.81 * math.cos(angle)), 0.0)
    slope = rolling(9.81, angle)
    np.testing.assert_allclose(level["spin_rate"][-1], slope["spin_rate"][-1], rtol=1e-7)
    np.testing.assert_allclose(level["tire_normal_force"][-1], slope["tire_normal_force"][-1], rtol=1e-7)
    assert level["tire_normal_force"][-1] == pytest.approx(3 * 9.81 * math.cos(angle), rel=1e-9)
    # closed form: rolling down a slope, α = g sin / (r (1 + I/(m r²)))
    rate = -1.0 - 1.5 * 9.81 * math.sin(angle) / (0.4 * (1 + 0.2 / (3 * 0.4**2)))
    assert level["spin_rate"][-1] == pytest.approx(rate, rel=1e-7)


@pytest.mark.parametrize("gravity", [9.81, 0, (1, 0, -9), ("g", 0, "-2*g"), "g", "2*g", (0, 0, 5)])
def test_files_keep_gravity(gravity) -> None:
    m = _pendulum()
    m.parameter("g", 9.81, "m/s^2")
    m.gravity(gravity)
    assert from_toml(to_toml(m)).freeze() == m.freeze()


@pytest.mark.parametrize("gravity", [-9.81, (0, 0), "5 kg", (0, 0, "5 m"), None, {}, "9 m", (1, 2, 3, 4)])
def test_what_is_no_gravity_is_refused(gravity) -> None:
    with pytest.raises(dr.errors.ModelError, match="gravity"):
        dr.Model("m").gravity(gravity)


def test_negative_parameter_of_gravity_is_refused() -> None:
    m = _pendulum()
    m.gravity(m.parameter("g", 9.81, "m/s^2"))
    with pytest.raises(dr.errors.ModelError, match="gravity"):
        dr.simulate(m, 1.0, parameters={"g": -9.81})


@pytest.mark.parametrize(("slope", "bank"), [(10, 0), (0, "95 deg"), ("steep", 0)])
def test_slopes_in_degrees_by_mistake_are_refused(slope, bank) -> None:
    m = _pendulum()
    m.parameter("steep", 30.0)
    m.ground(slope=slope, bank=bank)
    with pytest.raises(dr.errors.ModelError, match=r"of the ground must be between -90° and 90°.* deg"):
        m.freeze()


def test_random_gravities_agree_in_all_derivations() -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        model, x = _pendulum(tuple(rng.normal(size=3) * 5)), rng.normal(size=6)
        first, *others = (_accelerations(model, x, formulation) for formulation in DERIVATIONS)
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-10, atol=1e-10)
