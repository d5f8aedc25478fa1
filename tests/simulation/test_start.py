"""Consistent starts: what is held, what moves and by how much, at positions, velocities, accelerations and multipliers."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from scipy.optimize import minimize
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.program.equations import Kind, Structure
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.evaluation import Evaluation, Variables
from draisine.simulation.initial.problem import Given, InitialGuess, StartProblem
from draisine.symbolic.first_order import first_order
from simulation.start_systems import circuit, held_twice, linkage, mechanism, pendulum
from simulation.systems import turning

# ------------------------------------------------------------------------------------------------ positions


def test_targeted_coordinates_are_held_and_the_others_solved() -> None:
    start = consistent_start(linkage(), {"crank": 0.7})
    rod = -np.arcsin(np.sin(0.7) / 2.0)
    assert start.q == pytest.approx([0.7, rod], abs=1e-13)
    assert start.q[0] == 0.7
    assert start.v.tolist() == [0.0, 0.0]
    assert start.x == pytest.approx([0.7, rod, 0.0, 0.0, 0.25], abs=1e-13)
    assert start.report.largest_residual < 1e-13
    assert "target  crank = 0.7 (coordinate)" in str(start.report)
    assert [moved.name for moved in start.report.moved] == ["rod"]


def test_without_targets_the_closest_configuration_is_taken() -> None:
    """Against a brute-force search along the curve of solutions."""
    start = consistent_start(linkage())
    crank = np.linspace(0.2, 0.8, 200_001)
    rod = -np.arcsin(np.sin(crank) / 2.0)
    best = np.argmin((crank - 0.4) ** 2 + (rod + 0.5) ** 2)
    assert start.q == pytest.approx([crank[best], rod[best]], abs=5e-6)


def test_least_change_is_least_by_an_independent_optimizer() -> None:
    """Two rods and one target leave one freedom: SciPy's sequential quadratic programming finds the same place."""
    e = pendulum(2)
    start = consistent_start(e, {"tip_x": 0.7})
    reference = np.array([0.0, 0.0, -1.0, -2.0])
    rods = {
        "type": "eq",
        "fun": lambda q: [q[0] ** 2 + q[2] ** 2 - 1, (q[1] - q[0]) ** 2 + (q[3] - q[2]) ** 2 - 1, q[1] - 0.7],
    }
    other = minimize(
        lambda q: np.sum((q - reference) ** 2), start.q + 0.05, constraints=[rods], method="SLSQP", options={"ftol": 1e-15}
    )
    assert other.success
    assert start.q == pytest.approx(other.x, abs=2e-7)


def test_lengths_and_angles_are_weighed_by_the_size_of_the_system() -> None:
    """x − φ R = 0 from (0, 1): with a scale L for meters, the change is shared as L² : R², whatever meters are."""
    for size in (1e-6, 1.0, 1e4):
        q, v, p = ca.SX.sym("q", 2), ca.SX.sym("v", 0), ca.SX.sym("p", 1)
        e = mechanism(
            "rack",
            {"x": 0.0, "turn": 1.0},
            (),
            {"rolls": (Kind.HOLONOMIC, q[0] - q[1] * p[0])},
            {},
            q,
            v,
            p=p,
            parameters={"radius": size},
            units={"x": "m", "turn": "rad", "radius": "m"},
        )
        assert consistent_start(e).q == pytest.approx([0.5 * size, 0.5], rel=1e-12)


def test_outputs_targeted_for_at_both_levels() -> None:
    start = consistent_start(linkage(), {"tip": 2.5, "tip_speed": -0.3, "work": 1.5}, parameters={"reach": 1.8})
    a, b = start.q
    assert np.cos(a) + 1.8 * np.cos(b) == pytest.approx(2.5, abs=1e-12)
    assert np.sin(a) + 1.8 * np.sin(b) == pytest.approx(0.0, abs=1e-12)
    w1, w2 = start.v
    assert -w1 * np.sin(a) - 1.8 * w2 * np.sin(b) == pytest.approx(-0.3, abs=1e-12)
    assert w1 * np.cos(a) + 1.8 * w2 * np.cos(b) == pytest.approx(0.0, abs=1e-12)
    assert start.x[-1] == 1.5
    assert {w.name: w.got for w in start.report.targets} == pytest.approx({"tip": 2.5, "tip_speed": -0.3, "work": 1.5})


def test_quaternion_norm_is_restored() -> None:
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 0)
    lean = ca.atan2(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] ** 2 + q[2] ** 2))
    body = mechanism(
        "body", {"q0": 1.0, "q1": 0.0, "q2": 0.0, "q3": 0.0}, (), {"unit": (Kind.NORM, ca.sumsqr(q) - 1)}, {"lean": lean}, q, v
    )
    start = consistent_start(body, {"lean": 0.9})
    assert start.q == pytest.approx([np.cos(0.45), np.sin(0.45), 0, 0], abs=1e-12)


# ------------------------------------------------------------------------------------------------ velocities


def test_a_length_of_velocity_is_reached_from_rest() -> None:
    """|v| has no gradient at rest; the start gets there all the same, and always to the same side."""
    starts = [consistent_start(linkage(), {"tip_way": 0.8}) for _ in range(2)]
    rate = -starts[0].v[0] * np.sin(starts[0].q[0]) - 2.0 * starts[0].v[1] * np.sin(starts[0].q[1])
    assert abs(rate) == pytest.approx(0.8, abs=1e-11)
    assert np.array_equal(starts[0].v, starts[1].v)


def test_speed_of_the_turning_point() -> None:
    start = consistent_start(turning(), {"speed": 4.6, "a": 0.5})
    assert abs(start.v[2]) == pytest.approx(4.6, abs=1e-11)
    assert start.v[:2] == pytest.approx([-start.v[2] * np.sin(0.5), start.v[2] * np.cos(0.5)], abs=1e-11)
    assert start.x == pytest.approx([0.5, start.v[0]], abs=1e-11)


def test_velocities_are_the_smallest_that_will_do() -> None:
    """Within a group by least squares, whichever velocities the derivation chose; nothing is known here of joints and bodies."""
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 3)
    sums = {"sum": v[0] + 2 * v[1] + 3 * v[2], "other": v[0] - v[1]}
    free = mechanism("free", {"a": 0.0}, ("v1", "v2", "v3"), {}, sums, q, v)
    assert consistent_start(free, {"sum": 3.0}).v == pytest.approx(np.array([3.0, 6.0, 9.0]) / 14, abs=1e-13)
    assert consistent_start(free, {"sum": 3.0, "v3": 0.0}).v == pytest.approx([0.6, 1.2, 0.0], abs=1e-13)
    least = np.linalg.lstsq(np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]]), np.array([3.0, 1.0]), rcond=None)[0]
    assert consistent_start(free, {"sum": 3.0, "other": 1.0}).v == pytest.approx(least, abs=1e-13)


def test_a_group_at_rest_keeps_the_others_within_reason() -> None:
    """v₁ + 10⁻⁴ v₂ = 1 by v₂ alone would take 10⁴, although v₁ shall rest first."""
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 2)
    for part, expected in ((1e-4, [1.0, 0.0]), (0.5, [0.0, 2.0])):
        weak = mechanism("weak", {"a": 0.0}, ("v1", "v2"), {}, {"sum": v[0] + part * v[1]}, q, v)
        weak = replace(weak, structure=Structure(driven=("v1",)))
        assert consistent_start(weak, {"sum": 1.0}).v == pytest.approx(expected, abs=1e-13 if part > 0.1 else 2e-4)


def test_hidden_velocity_constraint_is_found_in_the_report() -> None:
    """A position constraint whose rate has no row of its own: the report ties y's velocity to x's."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    slope = mechanism(
        "slope",
        {"x": 1.0, "y": 0.0},
        ("vx", "vy"),
        {"on the parabola": (Kind.HOLONOMIC, q[1] - q[0] ** 2)},
        {"rise": v[1]},
        q,
        v,
        full=ca.vertcat(v[0], 2 * q[0] * v[0]),
        independent=("vx",),
    )
    start = consistent_start(slope, {"x": 1.5, "rise": 6.0})
    assert start.q == pytest.approx([1.5, 2.25], abs=1e-12)
    assert start.v == pytest.approx([2.0, 6.0], abs=1e-11)
    assert start.x == pytest.approx([1.5, 2.25, 2.0, 0.25], abs=1e-11)


def test_a_slow_turn_beside_a_great_speed_is_kept() -> None:
    start = consistent_start(derive(dr.gallery.bicycle()), {"speed": 1e9, "roll_rate": 0.5})
    got = {w.name: w.got for w in start.report.targets}
    assert got["speed"] == pytest.approx(1e9, rel=1e-14)
    assert got["roll_rate"] == pytest.approx(0.5, rel=1e-13)
    assert start.report.largest_relative_residual < 1e-14


# ------------------------------------------------------------------------------------------------ redundant rows


def test_redundant_constraints_do_no_harm() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    doubled = mechanism(
        "doubled",
        {"x": 1.0, "y": 1.0},
        ("vx", "vy"),
        {"one": (Kind.HOLONOMIC, q[0] + q[1]), "two": (Kind.HOLONOMIC, 2 * (q[0] + q[1])), "rate": (Kind.HOLONOMIC, v[0] + v[1])},
        {},
        q,
        v,
    )
    start = consistent_start(doubled, {"vx": 0.5})
    assert start.q == pytest.approx([0.0, 0.0], abs=1e-13)
    assert start.v == pytest.approx([0.5, -0.5], abs=1e-13)
    assert dict(start.report.redundant) == {"position": 1, "velocity": 0}
    assert dict(start.report.freedom) == {"position": 1, "velocity": 0}


class Counted(StartProblem):
    """A problem that counts the evaluations of its starts."""

    calls = 0

    def evaluation(self, given: Given) -> Evaluation:
        evaluation = super().evaluation(given)

        def run(of: Variables) -> object:
            Counted.calls += 1
            return evaluation.run(of)

        return replace(evaluation, run=run)


def test_convergence_stays_quadratic_with_redundant_rows() -> None:
    """A circle given twice costs as many evaluations as given once; given three ways, hardly more."""

    def evaluations(rows: int) -> int:
        q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 0)
        circle = ca.sumsqr(q) - 4.0
        reported = {"one": circle, "two": -7.0 * circle, "three": ca.sinh(circle)}
        kept = {name: (Kind.HOLONOMIC, row) for name, row in list(reported.items())[:rows]}
        Counted.calls = 0
        start = consistent_start(Counted(mechanism("circle", {"x": 1.5, "y": 0.9}, (), kept, {}, q, v), compiled=False))
        assert np.hypot(*start.q) == pytest.approx(2.0, abs=1e-14)
        return Counted.calls

    assert evaluations(1) < 15
    assert evaluations(2) == evaluations(1)
    assert evaluations(3) <= evaluations(1) + 6


# ------------------------------------------------------------------------------------------------ other kinds of systems


def test_differential_unknowns_stay_and_algebraic_ones_move() -> None:
    e = circuit()
    start = consistent_start(e, {"x": 9.0})
    assert start.q[:2].tolist() == [9.0, 0.5]
    assert start.q[2] == pytest.approx(2.0, abs=1e-14)  # z³ + z = 10
    assert start.rates == pytest.approx({"x": -2.0, "y": 9.0, "z": 0.0}, abs=1e-13)
    backwards = consistent_start(e, {"z": 2.0})
    assert backwards.q == pytest.approx([9.0, 0.5, 2.0], abs=1e-13)
    assert backwards.q[2] == 2.0
    summed = consistent_start(e, {"sum": 11.0})  # z alone cannot do it: x has to move too
    assert summed.q == pytest.approx([9.0, 0.5, 2.0], abs=1e-12)


def test_a_first_order_system_with_a_targeted_output() -> None:
    x, y = dynamicsymbols("x y")
    e = first_order("orbit", {x: y, y: -x}, start={x: 1.0, y: 2.0}, outputs={"square": x**2 + y**2})
    start = consistent_start(e, {"square": 20.0, "y": 2.0})
    assert start.q.tolist() == [pytest.approx(4.0, abs=1e-13), 2.0]
    assert start.rates == pytest.approx({"x": 2.0, "y": -4.0}, abs=1e-13)
    did_you_mean = consistent_start(e, {"square": 20.0})
    assert did_you_mean.q == pytest.approx([2.0, 4.0], abs=1e-12)  # along the ray from the origin


def test_time_and_parameters_enter() -> None:
    x, y = dynamicsymbols("x y")
    w, t = sp.symbols("w"), dynamicsymbols._t
    e = dr.lagrangian(
        "bead",
        [x, y],
        kinetic=(x.diff() ** 2 + y.diff() ** 2) / 2,
        holonomic={"wire": y - x * sp.sin(w * t)},
        parameters={w: 2.0},
    )
    start = consistent_start(e, {"x": 3.0, "x_rate": 0.5}, parameters={"w": 0.7}, time=0.4)
    assert start.q == pytest.approx([3.0, 3.0 * np.sin(0.28)], abs=1e-14)
    assert start.v == pytest.approx([0.5, 0.5 * np.sin(0.28) + 3.0 * 0.7 * np.cos(0.28)], abs=1e-14)


# ------------------------------------------------------------------------------------------------ the bicycle


def test_bicycle_leans_with_both_wheels_on_the_ground() -> None:
    e = derive(dr.gallery.bicycle())
    targets = {"lean": 0.3, "steer": 0.2, "heading": -0.7, "speed": 5.0, "frame_x": 12.25}
    start = consistent_start(e, targets)
    at = start.coordinates
    assert (at["steer"], at["frame_x"]) == (0.2, 12.25)
    assert at["frame_z"] == pytest.approx(0.3 * np.cos(0.3), abs=1e-13)  # hub of a wheel of radius 0.3 that leans by 0.3
    residuals, values = e.motion([0.0], start.q, start.v, np.zeros(3), e.default_parameters)
    assert np.abs(residuals).max() < 1e-13
    outputs = dict(zip(e.motion.output("outputs").labels, values, strict=True))
    assert {n: outputs[n] for n in ("lean", "heading", "speed")} == pytest.approx(
        {"lean": 0.3, "heading": -0.7, "speed": 5.0}, abs=1e-13
    )
    assert outputs["rear_wheel_contact_z"] == pytest.approx(0.0, abs=1e-13)
    assert outputs["front_wheel_contact_z"] == pytest.approx(0.0, abs=1e-13)
    assert start.velocities["steer_rate"] == 0.0  # a target for the speed is none for the steer rate
    assert start.velocities["frame_wx"] == 0.0


def test_bicycle_with_other_wheels() -> None:
    start = consistent_start(
        derive(dr.gallery.bicycle()), {"lean": 0.2, "speed": 3.0}, parameters={"r_rear_wheel": 0.31, "trail": 0.06}
    )
    assert start.coordinates["frame_z"] == pytest.approx(0.31 * np.cos(0.2), abs=1e-13)


# ------------------------------------------------------------------------------------------------ accelerations, multipliers


def test_accelerations_and_multipliers_by_name() -> None:
    """A pendulum at 30° with 1.5 rad/s: θ̈ = −g/l sin θ; the rod pulls with m (g cos θ + l ω²), its multiplier is that over 2l."""
    start = consistent_start(pendulum(), {"angle": np.pi / 6, "x1_rate": 1.5 * np.cos(np.pi / 6)})
    bend = -9.81 * np.sin(np.pi / 6)
    s, c = np.sin(np.pi / 6), np.cos(np.pi / 6)
    assert start.accelerations == pytest.approx({"x1_rate": bend * c - 2.25 * s, "y1_rate": bend * s + 2.25 * c}, abs=1e-12)
    assert start.multipliers["rod1_multiplier"] == pytest.approx(-2.0 * (9.81 * c + 2.25) / 2.0, rel=1e-12)


def test_multipliers_of_redundant_constraints_have_the_right_sum() -> None:
    targets = {"angle": 0.4, "x1_rate": 0.9}
    once, twice = consistent_start(pendulum(), targets), consistent_start(held_twice(), targets)
    assert twice.accelerations == pytest.approx(once.accelerations, rel=1e-11)
    total = twice.multipliers["rod1_multiplier"] + 3.0 * twice.multipliers["rod1_again_multiplier"]
    assert total == pytest.approx(once.multipliers["rod1_multiplier"], rel=1e-11)


# ------------------------------------------------------------------------------------------------ what is reported


def test_the_report_tells_what_moved_and_by_how_much() -> None:
    start = consistent_start(pendulum(), {"x1": 0.6})
    (moved,) = start.report.moved
    assert (moved.name, moved.default) == ("y1", -1.0)
    assert moved.value == pytest.approx(-0.8, abs=1e-14)
    assert moved.change == pytest.approx(0.2, abs=1e-14)
    assert dict(start.report.freedom) == {"position": 0, "velocity": 1}
    names = [(left.name, left.level) for left in start.report.residuals]
    assert names == [("rod1", "position"), ("rod1", "velocity")]
    assert "y1 = -0.8 (default -1, moved by +0.2)" in str(start.report)


def test_near_replaces_the_default_without_holding() -> None:
    start = consistent_start(pendulum(), {"y1": 0.5, "x1": InitialGuess(-0.1)})
    assert start.q == pytest.approx([-np.sqrt(0.75), 0.5], abs=1e-14)
    assert start.report.moved[0].default == -0.1


# ------------------------------------------------------------------------------------------------ compiled


def test_a_kept_problem_gives_the_same_start() -> None:
    """Machine code and interpreter differ by rounding alone."""
    problem = StartProblem(linkage())
    for tip in (2.4, 2.6):
        targets = {"tip": tip, "tip_speed": 0.3}
        assert consistent_start(problem, targets).x == pytest.approx(consistent_start(linkage(), targets).x, abs=1e-13)


def test_one_problem_serves_many_threads() -> None:
    problem = StartProblem(pendulum(3))
    targets = [{"tip_x": 0.01 * k, "x1_rate": 0.1 * k} for k in range(60)]
    single = [consistent_start(problem, w).x for w in targets]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda w: consistent_start(problem, w).x, targets))
    assert all(np.array_equal(a, b) for a, b in zip(single, together, strict=True))


WARM = """
import sys
import draisine as dr
from draisine.dynamics.derive import derive
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
start = consistent_start(StartProblem(derive(dr.gallery.bicycle())), {"speed": 4.6, "roll_rate": 0.5, "lean": 0.2})
start.report, start.accelerations
print([m for m in ("numba", "scipy", "sympy", "xarray", "matplotlib") if m in sys.modules])
"""


def test_a_start_needs_no_heavy_library() -> None:
    done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
