"""The snakeboard against two derivations by hand: augmented equations in planar coordinates, and the reduced ones of its file."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.snakeboard import Gait, snakeboard, snakeboard_drive

L, M_BOARD, M_ROTOR, M_WHEELS = 0.2, 4.0, 2.0, 0.5
I_BOARD, I_ROTOR, I_WHEELS = 0.05, 0.08, 0.002
MASS = M_BOARD + M_ROTOR + 2 * M_WHEELS
TURNING = I_BOARD + 2 * M_WHEELS * L**2  # of the board with wheels as points: I − K − 2k
EXACT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


# -------------------------------------------------------------------- the augmented equations


def _augmented(q: np.ndarray, v: np.ndarray, torques: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and forces across front and back axle; q = x, y, heading, rotor, front, back; torques: rotor, front, back.

    The centers of mass of board, rotor and (together) wheels lie at the board's center: the mass matrix has no mixed terms but
    those of relative turning, and does not depend on q.
    """
    mass = np.diag([MASS, MASS, TURNING + I_ROTOR + 2 * I_WHEELS, I_ROTOR, I_WHEELS, I_WHEELS])
    mass[2, 3:] = mass[3:, 2] = I_ROTOR, I_WHEELS, I_WHEELS
    rows, drift = [], []
    for sign, steer in ((1.0, 4), (-1.0, 5)):
        direction = q[2] + q[steer]
        s, c, turning = math.sin(direction), math.cos(direction), v[2] + v[steer]
        # velocity of the axle: ẋ − ±l ω sin θ, ẏ ± l ω cos θ; across it: (−sin, cos) of its direction
        row = np.zeros(6)
        row[:3] = -s, c, sign * L * math.cos(q[steer])
        rows.append(row)
        drift.append((-c * v[0] - s * v[1]) * turning - sign * L * math.sin(q[steer]) * v[steer] * v[2])
    a = np.array(rows)
    matrix = np.block([[mass, -a.T], [a, np.zeros((2, 2))]])
    solved = np.linalg.solve(matrix, np.concatenate([np.zeros(3), torques, -np.array(drift)]))
    return solved[:6], solved[6:]


def _allowed_velocities(q: np.ndarray, forward: float, relative: np.ndarray) -> np.ndarray:
    """Velocities in the world that slide across neither axle, from the speed along the board and the three relative rates."""
    sideways = forward * (math.tan(q[4]) + math.tan(q[5])) / 2
    turn = forward * (math.tan(q[4]) - math.tan(q[5])) / (2 * L)
    c, s = math.cos(q[2]), math.sin(q[2])
    return np.array([c * forward - s * sideways, s * forward + c * sideways, turn, *relative])


def _in_board_axes(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities with the first two along the board's axes."""
    c, s = math.cos(q[2]), math.sin(q[2])
    return np.array([c * v[0] + s * v[1], c * v[1] - s * v[0], *v[2:]])


@pytest.mark.parametrize("choice", ["board_vx", "board_vy", "board_heading_rate"])
def test_accelerations_and_forces_are_those_of_the_augmented_equations(choice: str) -> None:
    root = dr.derive(snakeboard())
    names = (choice, "rotor_rate", "front_steer_rate", "back_steer_rate")
    assert root.with_independent is not None
    equations = root if root.independent == names else root.with_independent(names)
    slots = [slot.name for slot in equations.report.outputs]
    order = [c.name for c in equations.velocities]
    rng = np.random.default_rng(1995)
    for _ in range(20):
        q = rng.uniform([-1.0, -1.0, -3.0, -3.0, 0.2, -0.2], [1.0, 1.0, 3.0, 3.0, 0.9, 0.1])
        v = _allowed_velocities(q, rng.normal(), rng.normal(size=3))
        torques = rng.normal(size=3)
        own = _in_board_axes(q, v)
        x = np.concatenate([q, [own[order.index(name)] for name in equations.independent]])
        reported = dict(zip(slots, equations.report([0.0], x, torques, equations.default_parameters), strict=True))
        acceleration, force = _augmented(q, v, torques)
        rates = _in_board_axes(q, acceleration)
        rates[:2] += v[2] * own[1], -v[2] * own[0]  # components along turning axes
        assert reported["v"] == pytest.approx(own, abs=1e-12)
        assert reported["vdot"] == pytest.approx(rates, abs=1e-9)
        assert reported["multipliers"] == pytest.approx(force, abs=1e-9)
        assert reported["residuals"] == pytest.approx(np.zeros(2), abs=1e-13)


# -------------------------------------------------------------------- the reduced equations


def _reduced_run(gait: Gait, until: float) -> np.ndarray:
    """x, y, heading, rotor, front, back, speed at the end, from d/dt(√G v) = −b T/√G and the three relative turns."""
    from scipy.integrate import solve_ivp

    def torque(t: float, angle: float, rate: float, mean: float, swing: float, stiffness: float, damping: float) -> float:
        wanted, wanted_rate = mean + swing * math.sin(gait.omega * t), swing * gait.omega * math.cos(gait.omega * t)
        return stiffness * (wanted - angle) + damping * (wanted_rate - rate)

    def shape(front: float, back: float) -> tuple[float, float, float]:
        a, b = (math.tan(front) + math.tan(back)) / 2, (math.tan(front) - math.tan(back)) / (2 * L)
        return a, b, MASS * (1 + a * a) + TURNING * b * b

    def slope(t: float, y: np.ndarray) -> list[float]:
        heading, rotor, front, back, scaled, rotor_rate, front_rate, back_rate = y[2:]
        a, b, g = shape(front, back)
        v = scaled / math.sqrt(g)
        tau_rotor = torque(t, rotor, rotor_rate, 0.0, gait.twist, 30.0, 2.0)
        tau_front = torque(t, front, front_rate, gait.bias, gait.steer, 2.0, 0.1)
        tau_back = torque(t, back, back_rate, -gait.bias, -gait.steer, 2.0, 0.1)
        scaled_rate = -b * (tau_rotor + tau_front + tau_back) / math.sqrt(g)
        up, down = front_rate / math.cos(front) ** 2, back_rate / math.cos(back) ** 2
        a_rate, b_rate = (up + down) / 2, (up - down) / (2 * L)
        g_rate = 2 * MASS * a * a_rate + 2 * TURNING * b * b_rate
        v_rate = scaled_rate / math.sqrt(g) - v * g_rate / (2 * g)
        turning = b * v_rate + b_rate * v
        c, s = math.cos(heading), math.sin(heading)
        return [
            v * (c - a * s),
            v * (s + a * c),
            b * v,
            rotor_rate,
            front_rate,
            back_rate,
            scaled_rate,
            tau_rotor / I_ROTOR - turning,
            tau_front / I_WHEELS - turning,
            tau_back / I_WHEELS - turning,
        ]

    start = gait.start
    rates = [start[f"{name}_rate"] for name in ("rotor", "front_steer", "back_steer")]
    begin = [0.0, 0.0, 0.0, 0.0, gait.bias, -gait.bias, 0.0, *rates]
    end = solve_ivp(slope, (0.0, until), begin, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.array([*end[:6], end[6] / math.sqrt(shape(end[4], end[5])[2])])


@pytest.mark.parametrize(("bias", "until"), [(0.0, 3.0), (0.15, 5.0)])
def test_motion_is_that_of_the_reduced_equations(bias: float, until: float) -> None:
    """Straight on, and round by more than a quarter turn."""
    gait = Gait(bias=bias)
    run = dr.simulate(snakeboard(), until, start=gait.start, inputs=gait.laws(), method=EXACT)
    names = ("board_x", "board_y", "board_heading", "rotor", "front_steer", "back_steer", "speed")
    assert [run[name][-1] for name in names] == pytest.approx(_reduced_run(gait, until), abs=1e-8)
    assert run.energy_drift is not None and run.energy_drift < 1e-9
    assert run.constraint_residual["nonholonomic"] < 1e-13
    assert run["speed"][-1] > 1.0 and (run["board_heading"][-1] > 1.7) == bool(bias)


def test_momentum_changes_only_as_the_wheels_turn() -> None:
    """ṗ = m ȧ w + ḃ L, integrated over the run."""
    from scipy.integrate import simpson

    gait = Gait(bias=0.1)
    run = dr.simulate(snakeboard(), 2.0, start=gait.start, inputs=gait.laws(), method=EXACT, samples=2001)
    up = run["front_steer_rate"] / np.cos(run["front_steer"]) ** 2
    down = run["back_steer_rate"] / np.cos(run["back_steer"]) ** 2
    growth = MASS * (up + down) / 2 * run["drift"] + (up - down) / (2 * L) * run["angular_momentum"]
    gained = simpson(growth, x=run.time)
    assert gained > 1.0
    assert run["momentum"][-1] - run["momentum"][0] == pytest.approx(gained, abs=1e-8)


def test_one_wheel_set_may_swing_across_the_board() -> None:
    """With the front wheels at 90° the board can only turn about the back ones: v passes zero there, and a run that counts on v
    goes over to the rate of turn. The augmented equations see nothing special."""
    from scipy.integrate import solve_ivp

    q = np.array([0.0, 0.0, 0.0, 0.0, 1.2, 0.1])
    v = _allowed_velocities(q, 0.3, np.array([0.0, 1.0, 0.2]))

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[6:], _augmented(y[:6], y[6:], np.zeros(3))[0]])

    end = solve_ivp(slope, (0.0, 0.8), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    start = {"speed": 0.3, "front_steer": 1.2, "back_steer": 0.1, "front_steer_rate": 1.0, "back_steer_rate": 0.2}
    run = dr.simulate(snakeboard(), 0.8, start=start, method=EXACT)
    names = ("board_x", "board_y", "board_heading", "rotor", "front_steer", "back_steer")
    assert [run[name][-1] for name in names] == pytest.approx(end[:6], abs=1e-8)
    assert run["front_steer"].max() > math.pi / 2 and run["speed"][0] > 0.1 and run["speed"][-1] < -0.1
    assert len(run.segments) > 1
    assert run.energy_drift is not None and run.energy_drift < 1e-9


# -------------------------------------------------------------------- symmetries and the study


def _end(gait: Gait, heading: float = 0.0) -> dict[str, float]:
    return dr.simulate(snakeboard(), 2.0, start={**gait.start, "board_heading": heading}, inputs=gait.laws(), method=EXACT).final


def test_out_of_phase_goes_backwards_and_a_mirrored_gait_mirrors_the_track() -> None:
    forward, backward, mirrored = _end(Gait()), _end(Gait(twist=-1.0)), _end(Gait(steer=-0.3, twist=-1.0))
    assert forward["speed"] > 0.5 and backward["speed"] < -0.5
    assert mirrored["board_x"] == pytest.approx(forward["board_x"], abs=1e-9)
    assert mirrored["board_y"] == pytest.approx(-forward["board_y"], abs=1e-9)
    assert abs(forward["board_y"]) > 1e-3


def test_the_heading_at_the_start_does_not_matter() -> None:
    straight, turned = _end(Gait()), _end(Gait(), heading=math.pi / 2)
    c, s = 0.0, 1.0
    x, y = straight["board_x"], straight["board_y"]
    assert [turned["board_x"], turned["board_y"]] == pytest.approx([c * x - s * y, s * x + c * y], abs=1e-9)
    assert turned["speed"] == pytest.approx(straight["speed"], abs=1e-9)


def test_study_holds() -> None:
    study = snakeboard_drive()
    assert set(study.runs) == {"snakeboard_drive", "snakeboard_circle"}
    assert study.runs["snakeboard_circle"]["board_heading"][-1] > 2 * math.pi
