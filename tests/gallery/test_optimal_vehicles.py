"""Maneuvers of unicycle, snakeboard, cart-pole, acrobot and shuttle, and a bicycle's design: found, simulated, checked again."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.gallery.entries import bicycle_design as design
from draisine.gallery.entries import shuttle_cross_range as shuttle
from draisine.gallery.entries import simple_countersteer as simple
from draisine.gallery.entries import snakeboard_optimal as snake
from draisine.gallery.entries import swing_ups as swings
from draisine.gallery.entries import unicycle_countersteer as unicycle

# ------------------------------------------------------------------------------------------------ unicycle


def test_unicycle_turns_right_to_go_left():
    study = dr.gallery.study("unicycle_countersteers")()
    found, run = unicycle.quickest_turn(), study.runs["unicycle_countersteers"]
    assert found.duration == pytest.approx(1.70876, abs=1e-3)
    assert found.discrepancy < 1e-3
    assert run.energy_drift < 1e-7
    final = run.final
    assert final["heading"] == pytest.approx(math.pi / 4, abs=1e-3)
    assert [final[n] for n in ("lean", "pitch", "twist", "lean_rate", "turn_rate")] == pytest.approx([0] * 5, abs=5e-3)
    assert final["speed"] == pytest.approx(3, abs=5e-3)
    assert math.degrees(run["heading"].min()) == pytest.approx(-32, abs=1)
    first = int(np.argmax(np.abs(run["wheel_contact_y"]) > 0.05))
    assert run["wheel_contact_y"][first] < 0 < run["chest_y"][first] - run["wheel_contact_y"][first]  # the wheel goes out, not he
    assert run["wheel_contact_y"][-1] > 1.5
    assert np.abs(run["twist_torque"]).max() <= unicycle.TWIST * (1 + 1e-6)
    assert np.abs(run["pedal_torque"]).max() <= unicycle.PEDALS * (1 + 1e-6)
    assert unicycle.asymmetry(found, "lean", 1) < 1e-3
    assert unicycle.asymmetry(found, "lean", -1) > 0.5


def test_the_turn_flown_backwards_is_a_turn_too():
    """What makes the mirror image: from the end, all velocities turned round, with the same torques from the back."""
    found = unicycle.quickest_turn()
    only = found.only
    held = only.controls[::-1]
    edges = found.duration * np.linspace(0, 1, len(held) + 1)
    laws = {}
    for j, name in enumerate(only.phase.controls):
        law = repr(float(held[-1, j]))
        for k in reversed(range(len(held) - 1)):
            law = f"where(t < {float(edges[k + 1])!r}, {float(held[k, j])!r}, {law})"
        laws[name] = law
    half = 0.45 * found.duration  # a unicycle is too unstable to be run through twice
    run = dr.simulate(unicycle.unicycle(), half, start={"speed": -3.0, "heading": math.pi / 4}, inputs=laws)
    for name, sign in (("lean", 1), ("twist", 1), ("speed", -1), ("heading", 1)):
        forth = np.interp(found.duration - run.time, found.time, found[name])
        assert run[name] == pytest.approx(sign * forth, abs=2e-2), name


# ------------------------------------------------------------------------------------------------ simplest bicycle


def test_simplest_bicycle_countersteers():
    dr.gallery.study("simple_bicycle_countersteers")()
    found, printed = simple.quickest(), simple.quickest(True)
    assert found.duration == pytest.approx(1.11538, abs=5e-4)
    assert printed.duration == pytest.approx(1.30926, abs=5e-4)
    assert max(found.discrepancy, printed.discrepancy) < 1e-6
    final = found.trajectory.final
    assert [final[n] for n in ("heading", "lean", "steer", "roll_rate")] == pytest.approx([math.pi / 2, 0, 0, 0], abs=1e-6)
    assert math.degrees(found["steer"].min()) == pytest.approx(-24.5, abs=1)
    assert found["y"].min() < -0.3  # out to the right first


def test_equation_of_the_simplest_bicycle_by_virtual_work():
    """A point mass, no moments of inertia: (P̈ + g ẑ)·∂P/∂φ = 0 along a path with the heading ψ(t)."""
    t = sp.Symbol("t")
    heading = sp.Rational(3, 10) * t + sp.Rational(2, 5) * t**2
    roll = sp.Function("roll")(t)
    a, h, v, g = 0.5, 1.0, 5.0, 9.81
    forward, right = sp.Matrix([sp.cos(heading), sp.sin(heading), 0]), sp.Matrix([sp.sin(heading), -sp.cos(heading), 0])
    up = sp.Matrix([0, 0, 1])
    carried = a * forward + h * (sp.sin(roll) * right + sp.cos(roll) * up)
    acceleration = sp.diff(v * forward, t) + sp.diff(carried, t, 2)
    balance = (acceleration + g * up).dot(sp.diff(carried, roll))
    now, angle, rate = 0.4, -0.3, 0.7

    def unbalanced(second):
        return float(balance.subs(roll.diff(t, 2), second).subs(roll.diff(t), rate).subs(roll, angle).subs(t, now))

    expected = -unbalanced(0) / (unbalanced(1) - unbalanced(0))  # it is linear in the second derivative
    turn, faster = float(heading.diff(t).subs(t, now)), float(heading.diff(t, 2))
    steer = math.atan(turn / v)
    steer_rate = faster * math.cos(steer) ** 2 / v
    bicycle = simple.simple_bicycle()
    x = {"lean": angle, "roll_rate": rate, "x": 0.0, "y": 0.0, "heading": 0.0, "steer": steer}
    p = [0.0 if q.name.startswith("I_") else q.default for q in bicycle.parameters]
    rates = bicycle.explicit([0.0], [x[q.name] for q in bicycle.states], [steer_rate], p)[0]
    assert rates[[q.name for q in bicycle.states].index("roll_rate")] == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------------------ snakeboard


def test_snakeboard_at_its_best():
    study = dr.gallery.study("snakeboard_at_its_best")()
    fast, easy = study.runs["snakeboard_dash"], study.runs["snakeboard_gait"]
    assert snake.dash().duration == pytest.approx(2.33397, abs=1e-3)
    assert snake.gait().objective == pytest.approx(5.26404, rel=1e-3)
    for run in (fast, easy):
        assert run.final["board_x"] == pytest.approx(1, abs=1e-4)
        assert run.final["board_y"] == pytest.approx(0, abs=1e-4)
    assert max(snake.dash().discrepancy, snake.gait().discrepancy) < 1e-3
    rates = [fast.final[n] for n in ("speed", "rotor_rate", "front_steer_rate", "back_steer_rate")]
    assert rates == pytest.approx([0] * 4, abs=2e-3)
    assert np.abs(fast["rotor_torque"]).max() == pytest.approx(snake.ROTOR, rel=1e-6)
    effort = easy["rotor_torque"] ** 2 + 1600 * (easy["front_torque"] ** 2 + easy["back_torque"] ** 2)
    assert np.trapezoid(effort, easy.time) == pytest.approx(snake.gait().objective, rel=1e-3)


def test_ground_drives_the_board_through_its_momentum_alone():
    """ṗ = m ȧ w + ḃ L of the nonholonomic momentum (see `snakeboard.py`), along the motion of least effort."""
    run = snake.gait().trajectory
    a, b = (np.gradient(run[name], run.time) for name in ("sideways_ratio", "curvature"))
    slope = 7.0 * a * run["drift"] + b * run["angular_momentum"]
    total = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(run.time))])
    assert run["momentum"][0] + total == pytest.approx(run["momentum"], abs=0.02 * np.ptp(run["momentum"]))


def test_effort_of_a_gait_falls_with_the_third_power_of_its_duration():
    """All motions can be run slower by s: torques fall by s², their squares by s⁴, and the integral takes s times as long."""
    cycle = snake.gait()
    slow = cycle.maneuver.duration(2 * snake.CYCLE).solve(dr.optimal.Collocation("gauss", 3, 30), guess=cycle)
    assert slow.objective == pytest.approx(cycle.objective / 8, rel=1e-4)


# ------------------------------------------------------------------------------------------------ swing-ups


def test_swing_ups():
    dr.gallery.study("swing_ups")()
    cart, robot = swings.cart_pole_up(), swings.acrobot_up()
    assert cart.objective == pytest.approx(58.8077, abs=2e-3)
    assert robot.objective == pytest.approx(22.4403, rel=1e-3)
    assert cart.discrepancy < 1e-4
    assert robot.discrepancy < 1e-3
    assert cart["cart"].max() == pytest.approx(1.18, abs=0.005)  # past its place first
    final = robot.trajectory.final
    assert [final["shoulder"], final["elbow"]] == pytest.approx([math.pi, 0], abs=0.01)
    assert "shoulder_torque" not in robot.only.phase.controls
    assert np.abs(robot["shoulder_torque"]).max() == 0


def test_costates_of_the_cart_give_its_force():
    """H = F² + p·f is least where 2 F + ∂(p·f)/∂F = 0; ẍ and θ̈ have the slopes 1/(M + m sin²θ) and −cos θ/(l (M + m sin²θ))."""
    found = swings.cart_pole_up()
    only = found.only
    pole = only.states_at(only.costate_times)[:, only.phase.kept.index("pole")]
    heavy = 1.0 + 0.3 * np.sin(pole) ** 2
    slope = only.costate("cart_rate") / heavy - only.costate("pole_rate") * np.cos(pole) / (0.5 * heavy)
    assert only.input("push") == pytest.approx(-slope / 2, abs=1e-3)


def test_acrobot_is_the_double_pendulum_of_rods():
    modes = dr.linearize(dr.gallery.acrobot(), {"shoulder": 0.0, "elbow": 0.0})
    # hanging rods: det(K − ω² M) = 0 with M = [[4/3, 1/2], [1/2, 1/3]], K = g diag(3/2, 1/2) in absolute angles
    matrix = np.linalg.solve(np.array([[4 / 3, 1 / 2], [1 / 2, 1 / 3]]), 9.81 * np.diag([1.5, 0.5]))
    expected = np.sort(np.sqrt(np.linalg.eigvals(matrix).real))
    assert np.sort(modes.eigenvalues.imag)[-2:] == pytest.approx(expected, rel=1e-9)


# ------------------------------------------------------------------------------------------------ design


def test_bicycle_designed_for_self_stability():
    study = dr.gallery.study("bicycle_designed")()
    assert len(study.figures["design"].axes) == 2
    before, after = design.stable_range(*design.BENCHMARK), design.stable_range(*design.best_design())
    assert (before.weave, before.capsize) == pytest.approx((4.29238253634, 6.02426201539), abs=1e-9)
    trail, tilt = design.best_design()
    assert trail == pytest.approx(0.12)
    assert math.degrees(tilt) == pytest.approx(16.44, abs=0.05)
    assert (after.weave, after.capsize) == pytest.approx((4.6024, 7.0290), abs=1e-3)
    for angle in (-0.02, 0.02):
        assert design.stable_range(trail, tilt + angle).width < after.width
    assert design.stable_range(trail - 0.005, tilt).width < after.width


def test_gradient_of_the_range_by_differences():
    trail, tilt = design.BENCHMARK
    found, step = design.stable_range(trail, tilt), 1e-5
    by_trail = (design.stable_range(trail + step, tilt).width - design.stable_range(trail - step, tilt).width) / (2 * step)
    by_tilt = (design.stable_range(trail, tilt + step).width - design.stable_range(trail, tilt - step).width) / (2 * step)
    assert found.gradient == pytest.approx((by_trail, by_tilt), rel=1e-5)


def test_the_designed_bicycle_rights_itself_where_the_benchmark_falls():
    """At 6.6 m/s, above the benchmark's capsize speed, knocked to the side."""
    trail, tilt = design.best_design()
    leans = {}
    for name, parameters in (("benchmark", {}), ("designed", {"trail": trail, "steer_axis_tilt": tilt})):
        run = dr.simulate(design.bicycle(), 25.0, start={"speed": 6.6, "roll_rate": 0.05}, parameters=parameters)
        leans[name] = np.abs(run["lean"])
    assert leans["designed"][-1] < 0.3 * leans["designed"].max()
    assert leans["benchmark"][-1] > 0.9 * leans["benchmark"].max()


# ------------------------------------------------------------------------------------------------ shuttle


def test_shuttle_lands_far_to_the_side():
    study = dr.gallery.study("shuttle_lands_aside")()
    found, run = shuttle.farthest(), study.runs["shuttle_aside"]
    assert -found.objective == pytest.approx(1.9600, abs=1e-3)
    assert found.discrepancy < 1e-3
    assert run.final["cross_range"] == pytest.approx(run.parameters["earth_radius"] * run.final["latitude"])
    assert run.final["altitude"] == pytest.approx(24384, abs=10)
    assert run.final["speed"] == pytest.approx(762, abs=1)
    assert run["load"].max() < 2.52
    assert "longitude" not in found.only.phase.kept  # nothing depends on it


def test_no_steady_bank_flies_as_far():
    """Flown at the attack that the load allows with a constant bank until it is as slow as asked: less, though lower as well."""
    model = shuttle.gliding_shuttle()
    hard = "(exp(altitude/7254.24)*2*2.4*9.80665*mass/(sea_density*speed^2*area))"  # 2.4 g of lift alone
    law = f"min({shuttle.MOST_ATTACK!r}, {hard}/lift_slope)"
    slow = dr.Event("slow", "speed - 762", "stop")
    reached = []
    for bank in (-10, -25, -40):
        run = dr.simulate(
            model, 3000.0, start=shuttle.START, inputs={"attack": law, "bank": bank * shuttle.DEGREE}, events=[slow]
        )
        reached.append(float(run["cross_range"][-1]))
    assert max(reached) < 0.999 * 1.96e6
    assert max(reached) > 1.0e6
