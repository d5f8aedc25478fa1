"""The unicycle against mechanics written by hand: in its plane a wheeled inverted pendulum, near upright the lateral motion.

In the plane (x of the hub, pitch θ forward), with the rider's mass m, height h above the hub, moment I about the center of
mass, and M = m + m_w + I_w/r² rolling along: the pedals' torque τ works on the wheel's turn relative to the frame, x/r − θ,
so

    M ẍ + m h (cos θ θ̈ − sin θ θ̇²) = τ / r,      m h cos θ ẍ + (I + m h²) θ̈ = m g h sin θ − τ.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import draisine as dr
from draisine.expr.expression import parse
from draisine.gallery.entries.unicycle import PEDALLING, TWISTING, unicycle, unicycle_ride

G, R, M_WHEEL, IXX_WHEEL, IYY_WHEEL = 9.81, 0.3, 3.0, 0.1, 0.2
FRAME, TORSO = (35.0, 0.5, 3.0), (40.0, 1.0, 2.5)  # mass, height above the hub, moment about a horizontal axis
M_RIDER = FRAME[0] + TORSO[0]
FIRST = FRAME[0] * FRAME[1] + TORSO[0] * TORSO[1]  # m h
SECOND = sum(m * z**2 + i for m, z, i in (FRAME, TORSO))  # I + m h²
EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def planar_accelerations(pitch, pitch_rate, torque):
    c, s = math.cos(pitch), math.sin(pitch)
    matrix = [[M_RIDER + M_WHEEL + IYY_WHEEL / R**2, FIRST * c], [FIRST * c, SECOND]]
    return np.linalg.solve(matrix, [torque / R + FIRST * s * pitch_rate**2, FIRST * G * s - torque])


def pedalling(pitch, pitch_rate, speed):
    return 430 * pitch + 90 * pitch_rate + 30 * (speed - 3)


def planar_run(until, start, law, times=None, events=None):
    """(speed, pitch, pitch rate) by SciPy."""

    def slope(t, y):
        forward, tip = planar_accelerations(y[1], y[2], law(y[1], y[2], y[0]))
        return [forward, y[2], tip]

    return solve_ivp(slope, (0.0, until), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=times, events=events)


@pytest.fixture(scope="module")
def equations():
    found = dr.derive(unicycle())
    assert found.independent == ("frame_wx", "frame_wy", "frame_wz", "wheel_spin", "twist_rate")
    return found


def test_accelerations_in_the_plane(equations):
    names = [s.name for s in equations.states]
    rng = np.random.default_rng(3)
    for _ in range(30):
        pitch, pitch_rate, speed, torque = rng.uniform([-1.0, -3, -5, -90], [1.0, 3, 5, 90])
        x = dict.fromkeys(names, 0.0)
        x |= {"frame_z": R, "frame_qw": math.cos(pitch / 2), "frame_qy": math.sin(pitch / 2)}
        x |= {"frame_wy": pitch_rate, "wheel_spin": speed / R - pitch_rate}
        (xdot,) = equations.dynamics(0.0, list(x.values()), [torque, 0.0, 0.0], equations.default_parameters)
        found = dict(zip(names, xdot, strict=True))
        forward, tip = planar_accelerations(pitch, pitch_rate, torque)
        assert found["frame_wy"] == pytest.approx(tip, abs=1e-12 * (1 + abs(tip)))
        assert R * (found["wheel_spin"] + found["frame_wy"]) == pytest.approx(forward, abs=1e-12 * (1 + abs(forward)))
        assert found["frame_wx"] == found["frame_wz"] == found["twist_rate"] == 0.0


def test_riding_off_is_the_wheeled_inverted_pendulum():
    run = dr.simulate(unicycle(), 8.0, inputs={"pedal_torque": PEDALLING}, method=EXACT)
    other = planar_run(8.0, [0.0, 0.0, 0.0], pedalling, times=run.time)
    np.testing.assert_allclose(run["speed"], other.y[0], atol=1e-8)
    np.testing.assert_allclose(run["pitch"], other.y[1], atol=1e-8)
    assert run["speed"][-1] == pytest.approx(other.y[0, -1], abs=1e-9) == pytest.approx(3.0, abs=2e-3)
    assert run["speed"].min() < -0.5 and run["pitch"].max() > 0.2  # back first, then forward with the rider ahead
    # pedals, rider and ground agree: the force of the ground along the track moves all masses
    total, lift = (run[f"wheel_{direction}_force"] for direction in ("longitudinal", "normal"))
    states = np.column_stack([run["pitch"], run["pitch_rate"], run["pedal_torque"]])
    forward, tip = np.array([planar_accelerations(*state) for state in states]).T
    c, s = np.cos(run["pitch"]), np.sin(run["pitch"])
    np.testing.assert_allclose(total, (M_RIDER + M_WHEEL) * forward + FIRST * (c * tip - s * run["pitch_rate"] ** 2), atol=1e-6)
    np.testing.assert_allclose(lift, (M_RIDER + M_WHEEL) * G - FIRST * (s * tip + c * run["pitch_rate"] ** 2), atol=1e-6)


@pytest.mark.parametrize("pitch", [0.01, -0.02])
def test_it_falls_when_nobody_pedals(pitch):
    def on_the_ground(t, y):
        return abs(y[1]) - math.pi / 3

    on_the_ground.terminal = True
    run = dr.simulate(unicycle(), 3.0, start={"pitch": pitch}, method=EXACT)
    other = planar_run(3.0, [0.0, pitch, 0.0], lambda *_: 0.0, events=on_the_ground)
    assert [event.name for event in run.events] == ["fell_forward"] and "60°" in run.status.message
    assert run.events[0].time == pytest.approx(other.t_events[0][0], abs=1e-8)
    assert run["pitch"][-1] == pytest.approx(math.copysign(math.pi / 3, pitch), abs=1e-8)
    assert run["speed"][-1] == pytest.approx(other.y[0, -1], abs=1e-8) and run["speed"][-1] * pitch < 0


def lateral_matrix(speed):
    """Rates of (lean θ, twist, lean rate, turn rate Ω, twist rate) near upright, and the column of the twisting torque.

    About the contact line: A θ̈ = g S θ + (S v + H) Ω with S = Σ m z, A = Σ (I + m z²) above the ground, and H = I_w v / r of
    the wheel; about the vertical nothing holds: J Ω̇ = −H θ̇ − τ for all but the torso, I_t (Ω̇ + twisẗ) = τ.
    """
    parts = [(M_WHEEL, R, IXX_WHEEL), *((m, z + R, i) for m, z, i in (FRAME, TORSO))]
    arm, moment, own, torso = sum(m * z for m, z, _ in parts), sum(m * z**2 + i for m, z, i in parts), 0.8 + IXX_WHEEL, 1.6
    momentum = IYY_WHEEL * speed / R
    lean = [G * arm / moment, 0, 0, (arm * speed + momentum) / moment, 0]
    turn = [0, 0, -momentum / own, 0, 0]
    matrix = np.array([[0, 0, 1, 0, 0], [0, 0, 0, 0, 1], lean, turn, [0, 0, momentum / own, 0, 0]])
    return matrix, np.array([0, 0, 0, -1 / own, 1 / own + 1 / torso])


@pytest.mark.parametrize("speed", [0.0, 3.0, -1.0])
def test_lateral_motion_near_upright(equations, speed):
    names = [s.name for s in equations.states]
    x = dict.fromkeys(names, 0.0) | {"frame_z": R, "frame_qw": 1.0, "wheel_spin": speed / R}
    arguments = (0.0, list(x.values()), [0.0, 0.0, 0.0], equations.default_parameters)
    by_state, by_input = (equations.dynamics.jacobian("xdot", of)(*arguments)[0] for of in ("x", "u"))
    picked = [names.index(n) for n in ("frame_qx", "twist", "frame_wx", "frame_wz", "twist_rate")]
    scale = np.array([2.0, 1, 1, 1, 1])  # lean = 2 q_x
    matrix, column = lateral_matrix(speed)
    np.testing.assert_allclose(by_state[np.ix_(picked, picked)] * scale[:, None] / scale, matrix, atol=1e-12)
    np.testing.assert_allclose(by_input[picked, 1] * scale, column, atol=1e-12)


def test_the_laws_stabilize_it_at_three_meters_per_second():
    """Closed loop by the derived equations: four lateral and three in-plane modes decay as by hand; the rest is at rest."""
    equations = dr.derive(unicycle(), {"pedal_torque": parse(PEDALLING), "twist_torque": parse(TWISTING)})
    x = {s.name: 0.0 for s in equations.states} | {"frame_z": R, "frame_qw": 1.0, "wheel_spin": 3 / R}
    (matrix,) = equations.dynamics.jacobian("xdot", "x")(0.0, list(x.values()), [0.0, 0.0, 0.0], equations.default_parameters)
    found = np.linalg.eigvals(matrix)
    moving = sorted(found[abs(found) > 1e-2], key=lambda z: (z.real, z.imag))

    lateral, column = lateral_matrix(3.0)
    by_hand = list(np.linalg.eigvals(lateral + np.outer(column, [60, 6, 23, 0, -7])))
    h = 1e-6
    steps = [(h, 0.0, 0.0), (0.0, h, 0.0), (0.0, 0.0, h)]
    columns = [planar_accelerations(p, w, pedalling(p, w, 3 + v)) / h for p, w, v in steps]
    planar = np.array([[0, 1, 0], [c[1] for c in columns], [c[0] for c in columns]])
    by_hand += list(np.linalg.eigvals(planar))
    wanted = sorted((z for z in by_hand if abs(z) > 1e-2), key=lambda z: (z.real, z.imag))
    assert len(wanted) == 7 and max(z.real for z in wanted) < -0.5
    np.testing.assert_allclose(moving, wanted, rtol=1e-6)


def test_twisting_turns_the_frame_the_other_way():
    """At rest nothing holds the yaw momentum: J_frame heading + I_torso (heading + twist) = 0."""
    run = dr.simulate(unicycle(), 0.5, inputs={"twist_torque": 2.0}, method=EXACT)
    assert run["twist"][-1] > 0.1 and run["heading"][-1] < 0
    np.testing.assert_allclose(run["heading"] * (0.8 + IXX_WHEEL + 1.6), -1.6 * run["twist"], atol=1e-10)


def test_the_study_runs():
    study = unicycle_ride(until=3.0)
    assert set(study.runs) == {"unicycle_ride_off", "unicycle_pushed", "unicycle_falls"} and len(study.figures) == 5
    assert "fell_sideways" in study.findings[2]
