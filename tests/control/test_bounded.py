"""Paths that leave an unstable motion: the bounded one, against its noncausal integral and across descriptions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.control.zero_dynamics import ZeroDynamics

LENGTH = 0.7
RATE = math.sqrt(9.81 / LENGTH)


def inverted() -> dr.Equations:
    """A linear inverted pendulum on a cart of 2 kg: l θ̈ = g θ − ẍ, and the pole does not pull on the cart."""
    x, v, angle, turn, f = sp.symbols("x v angle turn f")
    return dr.first_order("inverted", {x: v, v: f / 2, angle: turn, turn: (9.81 * angle - f / 2) / LENGTH}, inputs=[f])


def bounded_angle(t: float) -> float:
    """θ(t) = ∫ exp(−λ|t − s|) ẍ(s) ds / (2 λ l), the only solution that stays bounded for all times (Devasia et al. 1996)."""
    from scipy.integrate import quad

    def part(s: float) -> float:
        return math.exp(-RATE * abs(t - s)) * (4 * (s - 5) ** 2 - 2) * math.exp(-((s - 5) ** 2))

    whole = quad(part, -5, t, epsabs=1e-13, limit=200)[0] + quad(part, t, 15, epsabs=1e-13, limit=200)[0]
    return whole / (2 * RATE * LENGTH)


def test_noncausal_integral():
    run = dr.control.follow(inverted(), 10.0, {"there": "x = exp(-(t - 5)^2)"}, ["f"], samples=41)
    t = run.time
    known = np.array([bounded_angle(s) for s in t])
    assert "bounded" in run.status.message and not run.status.warnings
    inside = (t > 0.5) & (t < 9.5)
    assert np.abs(known).max() > 0.05
    assert np.abs(run["angle"] - known)[inside].max() < 1e-8
    assert np.abs(run["f"] - 2 * (4 * (t - 5) ** 2 - 2) * np.exp(-((t - 5) ** 2))).max() < 1e-8


def test_forward_it_runs_away():
    path = {"there": "x = exp(-(t - 5)^2)"}
    run = dr.control.follow(
        inverted(), 10.0, path, ["f"], start={"angle": 0.0, "turn": 0.0}, solution=dr.control.Forward(), samples=11
    )
    assert abs(run["angle"][-1]) > 1e3


def test_what_the_end_does_decays_backwards():
    path = {"there": "x = 0.1*sin(2*t)"}  # nothing is at rest at the end
    short, longer = (
        dr.control.follow(inverted(), 5.0, path, ["f"], solution=dr.control.Bounded(beyond=b), samples=51) for b in (0.0, 4.0)
    )
    apart = np.abs(short["angle"] - longer["angle"])
    known = -0.1 * 4 * np.sin(2 * short.time) / (4 + RATE**2) / LENGTH  # θ̈ − λ²θ = −ẍ/l
    assert apart[-1] > 1e-3
    decay = math.log(apart[-1] / apart[-11]) / (short.time[-1] - short.time[-11])
    assert decay == pytest.approx(RATE, rel=0.02)
    late = (longer.time > 3.5) & (longer.time <= 5.0)
    assert np.abs(longer["angle"] - known)[late].max() < 1e-4


def test_two_descriptions_of_a_cart_and_pole():
    path = {"there": "cart = 0.4*tanh(2*(t - 3))"}
    first, second = (
        dr.control.follow(model, 6.0, path, ["push"], samples=61)
        for model in (dr.gallery.cart_pole(), dr.gallery.cart_pole_graph())
    )
    assert np.abs(first["pole"]).max() > 0.05
    for name in ("pole", "push", "pole_rate"):
        assert np.abs(first[name] - second[name]).max() < 1e-7, name
    assert first.energy_drift is not None and first.energy_drift < 1e-8


def test_nothing_grows_nothing_to_bound():
    hanging = {"pole": math.pi}
    path = {"there": "cart = 0.1*sin(t)"}
    run = dr.control.follow(dr.gallery.cart_pole(), 5.0, path, ["push"], start=hanging)
    assert "bounded" not in run.status.message
    with pytest.raises(dr.errors.ArgumentError, match="no deviation grows on this path"):
        dr.control.follow(dr.gallery.cart_pole(), 5.0, path, ["push"], start=hanging, solution=dr.control.Bounded())


def test_what_a_straight_line_leaves_of_the_bicycle():
    """With the rear contact on a line lean obeys M_φφ φ̈ + g K_φφ φ = 0 (Meijaard et al. 2007), and v δ + c δ̇ = 0."""
    path = {"pace": "rear_wheel_contact_x = 5*t", "line": "rear_wheel_contact_y = 0"}
    problem = dr.control.on_path(dr.gallery.bicycle(), path, ["steer_torque", "pedal_torque"])
    found = ZeroDynamics(problem.equations, problem.inputs, problem.p).split(0.0, problem.x, 0.0).eigenvalues
    lean = math.sqrt(9.81 * 80.95 / 80.81722)
    assert (problem.index, problem.degrees) == (4, {"pace": 2, "line": 3})
    assert np.sort(found.real) == pytest.approx([-5.0 / 0.08, -lean, lean], rel=1e-6)
    assert np.abs(found.imag).max() == 0


@pytest.mark.further
def test_a_circle_is_a_steady_turn():
    """Along a circle the bounded motion is the steady turn, which is found without any path; only its ends differ."""
    radius, rate = 15.0, 5.0 / 15.0
    path = {  # along and across the circle: neither loses its meaning on the way round
        "along": f"rear_wheel_contact_x*cos({rate}*t) + rear_wheel_contact_y*sin({rate}*t) = {radius}*sin({rate}*t)",
        "across": f"rear_wheel_contact_y*cos({rate}*t) - rear_wheel_contact_x*sin({rate}*t) = {radius}*cos({rate}*t) - {radius}",
    }
    bike, torques = dr.gallery.bicycle(), ("steer_torque", "pedal_torque")
    # what is left of both ends dies away as exp(−3.1 t): 1e-6 rad/s in the middle of 6 s, 1e-10 in that of 12 s
    run = dr.control.follow(bike, 12.0, path, torques, start={"lean": -0.1668, "steer": 0.0704}, samples=13)
    middle = 6
    turn = dr.steady(bike, {"speed": float(run["speed"][middle]), "lean": float(run["lean"][middle])}, free=torques)
    assert run["lean"][middle] < -0.16  # into the turn, by about v²/(g R)
    assert run["steer"][middle] == pytest.approx(turn["steer"], abs=1e-9)
    assert run["steer_torque"][middle] == pytest.approx(turn["steer_torque"], abs=1e-8)
    assert run["yaw_rate"][middle] == pytest.approx(turn["yaw_rate"], abs=1e-9)
