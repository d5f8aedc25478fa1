"""Paths whose controls are known in closed form: computed torque, relative degrees 1 to 3, controls that enter nonlinearly."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, v, f, u, w = sp.symbols("x v f u w")
tight = dr.methods.DOP853(rtol=1e-12, atol=1e-12)


def pendulum() -> dr.Model:
    m = dr.Model("pendulum")
    m.gravity(9.81)
    rod = m.body("rod", mass=2.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.0))
    m.revolute("swing", "ground", rod, axis="y")
    m.generalized_force("swing", m.input("torque", "N*m"))
    return m


def test_computed_torque_of_a_pendulum():
    run = dr.control.follow(pendulum(), 2.0, {"path": "swing = 0.8*sin(2*t) + 0.1*t^2"}, ["torque"], method=tight)
    t = run.time
    angle, acceleration = 0.8 * np.sin(2 * t) + 0.1 * t**2, -3.2 * np.sin(2 * t) + 0.2
    expected = (0.1 + 2.0 * 0.25) * acceleration + 2.0 * 9.81 * 0.5 * np.sin(angle)
    assert run.status.complete
    assert np.abs(run["swing"] - angle).max() < 1e-10
    assert np.abs(run["torque"] - expected).max() < 1e-8
    assert run["swing_rate"][0] == pytest.approx(1.6, abs=1e-12)
    assert run.energy_drift is not None and run.energy_drift < 1e-9


def test_a_path_without_names_is_refused():
    mass = dr.first_order("mass", {x: v, v: u}, inputs=[u])
    with pytest.raises(dr.errors.ArgumentError, match=r"mass: a path is a mapping of names, .*; got \['x - t'\]"):
        dr.control.follow(mass, 1.0, ["x - t"], ["u"])


def test_degree_one():
    sled = dr.first_order("sled", {x: v, v: f / 3 - v**2}, inputs=[f])
    posed = dr.control.on_path(sled, {"pace": "v = 1 + 0.5*sin(t)"}, ["f"])
    run = dr.control.follow(sled, 3.0, {"pace": "v = 1 + 0.5*sin(t)"}, ["f"], start={"x": 2.0}, method=tight)
    t = run.time
    assert (posed.index, posed.degrees) == (2, {"pace": 1})
    assert np.abs(run["f"] - 3 * (0.5 * np.cos(t) + (1 + 0.5 * np.sin(t)) ** 2)).max() < 1e-9
    assert np.abs(run["x"] - (2 + t + 0.5 * (1 - np.cos(t)))).max() < 1e-9


def test_degree_three():
    lagging = dr.first_order("lagging", {x: v, v: f - x, f: 4 * (u - f)}, inputs=[u])
    posed = dr.control.on_path(lagging, {"swing": "x = sin(2*t)"}, ["u"])
    run = dr.control.follow(lagging, 3.0, {"swing": "x = sin(2*t)"}, ["u"], method=tight)
    t = run.time
    force, rate = -3 * np.sin(2 * t), -6 * np.cos(2 * t)
    assert (posed.index, posed.degrees) == (4, {"swing": 3})
    assert posed.x == pytest.approx([0.0, 2.0, 0.0], abs=1e-12)
    assert np.abs(run["u"] - (force + rate / 4)).max() < 1e-8


def test_index_is_that_of_the_posed_system():
    lagging = dr.first_order("lagging", {x: v, v: f - x, f: 4 * (u - f)}, inputs=[u])
    t = sp.Symbol("t")
    posed = dr.symbolic.semi_explicit(
        "posed", {x: v, v: f - x, f: 4 * (u - f)}, constraints={"swing": x - sp.sin(2 * t)}, unknowns=[u], start={v: 2.0}
    )
    assert dr.dae.index_of(posed).differential == dr.control.on_path(lagging, {"swing": "x = sin(2*t)"}, ["u"]).index


def test_control_that_enters_nonlinearly():
    steered = dr.first_order("steered", {x: sp.sin(u)}, inputs=[u])
    path = {"p": "x = 0.5*sin(t)"}
    run = dr.control.follow(steered, 3.0, path, ["u"], start={"u": dr.InitialGuess(0.4)}, method=tight)
    other = dr.control.follow(steered, 3.0, path, ["u"], start={"u": dr.InitialGuess(2.7)}, method=tight)
    expected = np.arcsin(0.5 * np.cos(run.time))
    assert np.abs(run["u"] - expected).max() < 1e-9
    assert np.abs(other["u"] - (math.pi - expected)).max() < 1e-9


def test_velocities_in_a_ratio_that_turns():
    """x and y of a skate depend on its speed alike; only together with its heading are they two."""
    y, psi, t = sp.symbols("y psi t")
    skate = dr.first_order(
        "skate", {x: v * sp.cos(psi), y: v * sp.sin(psi), psi: w, v: f / 2, w: u / 3}, inputs=[f, u], start={v: 1.0}
    )
    there, aside = t + sp.sin(t) / 4, sp.Rational(3, 10) * t**2
    path = {"there": "x = t + sin(t)/4", "aside": "y = 0.3*t^2"}
    posed = dr.control.on_path(skate, path, ["f", "u"])
    run = dr.control.follow(skate, 2.0, path, ["f", "u"], method=tight)
    speed, heading = sp.sqrt(there.diff(t) ** 2 + aside.diff(t) ** 2), sp.atan2(aside.diff(t), there.diff(t))
    assert sorted(posed.degrees.values()) == [2, 3]
    for name, known in (("f", 2 * speed.diff(t)), ("u", 3 * heading.diff(t, 2)), ("psi", heading)):
        assert np.abs(run[name] - sp.lambdify(t, known)(run.time)).max() < 1e-8, name


def test_a_path_that_begins_at_an_angle_is_found_from_rest():
    """At rest a heading has no effect: Newton's method would turn it round and round."""
    y, psi, t = sp.symbols("y psi t")
    skate = dr.first_order("skate", {x: v * sp.cos(psi), y: v * sp.sin(psi), psi: w, v: f / 2, w: u / 3}, inputs=[f, u])
    there, aside = 5 * t, sp.sin(t) / 2
    run = dr.control.follow(skate, 2.0, {"there": "x = 5*t", "aside": "y = 0.5*sin(t)"}, ["f", "u"], method=tight)
    speed, heading = sp.sqrt(there.diff(t) ** 2 + aside.diff(t) ** 2), sp.atan2(aside.diff(t), there.diff(t))
    for name, known in (("f", 2 * speed.diff(t)), ("u", 3 * heading.diff(t, 2)), ("v", speed)):
        assert np.abs(run[name] - sp.lambdify(t, known)(run.time)).max() < 1e-8, name


def test_other_inputs_and_parameters():
    k = sp.Symbol("k")
    pushed = dr.first_order("pushed", {x: v, v: f + w - k * x}, inputs=[f, w], parameters={k: 1.0})
    run = dr.control.follow(
        pushed, 1.0, {"p": "x = sin(t)"}, ["f"], inputs={"w": "cos(3*t)"}, parameters={"k": 5.0}, method=tight
    )
    assert np.abs(run["f"] - (4 * np.sin(run.time) - np.cos(3 * run.time))).max() < 1e-9
    assert np.abs(run["w"] - np.cos(3 * run.time)).max() < 1e-12


def test_a_target_the_path_leaves_open_is_honored():
    cart = dr.gallery.cart_pole()
    run = dr.control.follow(cart, 0.2, {"p": "cart = 0.1*sin(t)"}, ["push"], start={"pole": 0.3, "pole_rate": -0.2})
    assert (run["pole"][0], run["pole_rate"][0]) == pytest.approx((0.3, -0.2), abs=1e-12)
    assert run["cart_rate"][0] == pytest.approx(0.1, abs=1e-12)


def test_a_velocity_that_is_no_state_may_be_targeted_for():
    bike, path = dr.gallery.bicycle(), {"line": "rear_wheel_track_heading = 0"}
    posed = dr.control.on_path(bike, path, ["steer_torque"], start={"rear_wheel_spin": 15.0})
    spin = [slot.name for slot in posed.plant.report.outputs].index("v")
    reported = dict(
        zip(
            (v.name for v in posed.plant.velocities), posed.plant.report([0.0], posed.x, posed.inputs, posed.p)[spin], strict=True
        )
    )
    assert "rear_wheel_spin" not in posed.plant.independent
    assert reported["rear_wheel_spin"] == pytest.approx(15.0, abs=1e-9)


# -------------------------------------------------------------------------------------------------------- what cannot be


def test_loss_of_control_is_said():
    """A horizontal force at the end of a rod does nothing when the rod is level."""
    angle, rate = sp.symbols("angle rate")
    rod = dr.first_order("rod", {angle: rate, rate: f * sp.cos(angle) - 9.81 * sp.sin(angle)}, inputs=[f])
    run = dr.control.follow(rod, 3.0, {"turn": "angle = t"}, ["f"])
    assert not run.status.complete
    assert run.status.kind == "SINGULAR" and "'f' loses its effect" in run.status.message, run.status
    assert run.time[-1] == pytest.approx(math.pi / 2, abs=1e-2)
    with pytest.raises(dr.errors.ArgumentError, match="at the start the control 'f' loses its effect"):
        dr.control.follow(rod, 1.0, {"turn": "angle = pi/2 + t"}, ["f"])


def test_control_without_effect():
    two = dr.first_order("two", {x: v, v: f, w: u}, inputs=[f, u])
    with pytest.raises(dr.errors.ArgumentError, match="the control 'f' has no effect on the path"):
        dr.control.on_path(two, {"p": "w = t"}, ["f"])
    with pytest.raises(dr.errors.ArgumentError, match="the control 'u' has no effect on the path"):
        dr.control.on_path(two, {"p": "x = t", "q": "v = 1"}, ["f", "u"])


def test_a_path_that_says_one_thing_twice():
    pushed = dr.first_order("pushed", {x: v, v: f, w: u + f}, inputs=[f, u])
    with pytest.raises(dr.errors.ArgumentError, match="never appear in the derivatives of the path 'q'"):
        dr.control.on_path(pushed, {"p": "x + w = t", "q": "2*x + 2*w = 2*t"}, ["f", "u"])


@pytest.mark.parametrize(
    ("path", "controls", "said"),
    [
        ({"p": "x = t"}, ["f", "u"], "1 path constraints .* for 2 controls"),
        ({"p": "x = t"}, ["force"], "the control 'force' is not an input"),
        ({"p": "y = t"}, ["f"], "unknown name 'y'"),
        ({"p": "t - 1"}, ["f"], "contains no state and no output"),
        ({"p": "x + f"}, ["f"], "contains the control 'f'"),
        ({"p": "x = t = 1"}, ["f"], "write one equation"),
    ],
)
def test_bad_paths(path, controls, said):
    two = dr.first_order("two", {x: v, v: f, w: u}, inputs=[f, u])
    with pytest.raises(dr.errors.ArgumentError, match=said):
        dr.control.on_path(two, path, controls)


def test_a_control_with_a_law_is_refused():
    sled = dr.first_order("sled", {x: v, v: f}, inputs=[f])
    with pytest.raises(dr.errors.ArgumentError, match="'f' is both a control and has a law"):
        dr.control.on_path(sled, {"p": "x = t"}, ["f"], inputs={"f": "1"})
