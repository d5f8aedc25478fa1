"""Consistent starts: a four-bar-like linkage, a quaternion, a rolling wheel, speeds as lengths, and wishes that cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
import pytest

from draisine.program.equations import Constraint, Equations, Kind, Quantity
from draisine.program.program import Program
from draisine.simulation import InconsistentStart, StartProblem, consistent_start
from simulation.systems import turning


def mechanism(
    name: str,
    coordinates: Mapping[str, float],
    velocities: Sequence[str],
    motion: Mapping[str, tuple[Kind, ca.SX]],
    outputs: Mapping[str, ca.SX],
    q: ca.SX,
    v: ca.SX,
    *,
    p: ca.SX | None = None,
    parameters: Mapping[str, float] | None = None,
    force_outputs: Sequence[str] = (),
    full: ca.SX | None = None,
    independent: Sequence[str] | None = None,
) -> Equations:
    """Equations of which only what a start needs is real."""
    p = p if p is not None else ca.SX.sym("p", 0)
    t, u = ca.SX.sym("t"), ca.SX.sym("u", 0)
    independent = tuple(velocities) if independent is None else tuple(independent)
    x = ca.SX.sym("x", q.numel() + len(independent) + 1)
    arguments = {"t": t, "x": x, "u": u, "p": p}
    all_v = full if full is not None else x[q.numel() : q.numel() + len(independent)]
    if full is not None:
        places = [list(velocities).index(n) for n in independent]
        chosen = ca.vertcat(*[v[i] for i in places])
        all_v = ca.substitute(full, ca.vertcat(q, chosen), x[: q.numel() + len(independent)])
    depends = {n: ca.which_depends(r, v, 1, True)[0] if v.numel() else False for n, (_, r) in motion.items()}
    return Equations(
        name=name,
        coordinates=tuple(Quantity(n, default=d) for n, d in coordinates.items()),
        velocities=tuple(Quantity(n) for n in velocities),
        independent=independent,
        inputs=(),
        parameters=tuple(Quantity(n, default=d) for n, d in (parameters or {}).items()),
        multipliers=(),
        outputs=tuple(Quantity(n) for n in (*outputs, *force_outputs)),
        force_outputs=frozenset(force_outputs),
        constraints=tuple(Constraint(n, k, "velocity" if depends[n] else "position") for n, (k, _) in motion.items()),
        dynamics=Program.build(f"{name}_dynamics", arguments, {"xdot": ca.SX(x.numel(), 1)}),
        report=Program.build(f"{name}_report", arguments, {"v": (all_v, tuple(velocities))}),
        motion=Program.build(
            f"{name}_motion",
            {"t": t, "q": (q, tuple(coordinates)), "v": (v, tuple(velocities)), "u": u, "p": p},
            {
                "residuals": ca.vertcat(*[r for _, r in motion.values()]),
                "outputs": (ca.vertcat(*outputs.values()) if outputs else ca.SX(0, 1), tuple(outputs)),
            },
        ),
        extra_states=(Quantity("work", default=0.25),),
    )


def linkage() -> Equations:
    """Two bars of length 1 and `reach` from the origin; the tip stays on the line y = 0."""
    q, v, p = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("p", 1)
    tip = ca.vertcat(ca.cos(q[0]) + p[0] * ca.cos(q[1]), ca.sin(q[0]) + p[0] * ca.sin(q[1]))
    rate = ca.jtimes(tip, q, v)
    return mechanism(
        "linkage",
        {"crank": 0.4, "rod": -0.5},
        ("crank_rate", "rod_rate"),
        {"rail": (Kind.HOLONOMIC, tip[1]), "along the rail": (Kind.HOLONOMIC, rate[1])},
        {"tip": tip[0], "tip_speed": rate[0], "tip_way": ca.sqrt(rate[0] ** 2)},
        q,
        v,
        p=p,
        parameters={"reach": 2.0},
        force_outputs=("push",),
    )


def test_wished_coordinates_are_held_and_the_others_solved() -> None:
    start = consistent_start(linkage(), {"crank": 0.7})
    rod = -np.arcsin(np.sin(0.7) / 2.0)
    assert start.q == pytest.approx([0.7, rod], abs=1e-13)
    assert start.q[0] == 0.7
    assert start.v.tolist() == [0.0, 0.0]
    assert start.x == pytest.approx([0.7, rod, 0.0, 0.0, 0.25], abs=1e-13)
    assert start.report.largest_residual < 1e-13
    assert "wished  crank = 0.7 (coordinate)" in str(start.report)
    assert [name for name, _, _ in start.report.moved] == ["rod"]


def test_without_wishes_the_closest_configuration_is_taken() -> None:
    """Against a brute-force search along the curve of solutions."""
    start = consistent_start(linkage())
    crank = np.linspace(0.2, 0.8, 200_001)
    rod = -np.arcsin(np.sin(crank) / 2.0)
    best = np.argmin((crank - 0.4) ** 2 + (rod + 0.5) ** 2)
    assert start.q == pytest.approx([crank[best], rod[best]], abs=5e-6)


def test_outputs_wished_for_at_both_levels() -> None:
    start = consistent_start(linkage(), {"tip": 2.5, "tip_speed": -0.3, "work": 1.5}, {"reach": 1.8})
    a, b = start.q
    assert np.cos(a) + 1.8 * np.cos(b) == pytest.approx(2.5, abs=1e-12)
    assert np.sin(a) + 1.8 * np.sin(b) == pytest.approx(0.0, abs=1e-12)
    w1, w2 = start.v
    assert -w1 * np.sin(a) - 1.8 * w2 * np.sin(b) == pytest.approx(-0.3, abs=1e-12)
    assert w1 * np.cos(a) + 1.8 * w2 * np.cos(b) == pytest.approx(0.0, abs=1e-12)
    assert start.x[-1] == 1.5
    assert {w.name: w.got for w in start.report.wishes} == pytest.approx({"tip": 2.5, "tip_speed": -0.3, "work": 1.5})


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
    """Of the independent velocities as few move as possible, and those that must move least."""
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 3)
    sums = {"sum": v[0] + 2 * v[1] + 3 * v[2], "other": v[0] - v[1]}
    free = mechanism("free", {"a": 0.0}, ("v1", "v2", "v3"), {}, sums, q, v)
    assert consistent_start(free, {"sum": 3.0}).v == pytest.approx([0.0, 0.0, 1.0], abs=1e-13)
    assert consistent_start(free, {"sum": 3.0, "v3": 0.0}).v == pytest.approx([0.0, 1.5, 0.0], abs=1e-13)
    assert consistent_start(free, {"sum": 3.0, "other": 1.0}).v == pytest.approx([1.0, 0.0, 2 / 3], abs=1e-13)


def test_a_velocity_needed_to_keep_the_others_within_reason_moves() -> None:
    """v₁ + 10⁻⁴ v₂ = 1 by v₂ alone would take 10⁴."""
    q, v = ca.SX.sym("q", 1), ca.SX.sym("v", 2)
    weak = mechanism("weak", {"a": 0.0}, ("v1", "v2"), {}, {"sum": v[0] + 1e-4 * v[1]}, q, v)
    assert consistent_start(weak, {"sum": 1.0}).v == pytest.approx([1.0, 0.0], abs=1e-13)


def test_quaternion_norm_is_restored() -> None:
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 0)
    lean = ca.atan2(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] ** 2 + q[2] ** 2))
    body = mechanism(
        "body", {"q0": 1.0, "q1": 0.0, "q2": 0.0, "q3": 0.0}, (), {"unit": (Kind.NORM, ca.sumsqr(q) - 1)}, {"lean": lean}, q, v
    )
    start = consistent_start(body, {"lean": 0.9})
    assert start.q == pytest.approx([np.cos(0.45), np.sin(0.45), 0, 0], abs=1e-12)


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


# --------------------------------------------------------------------------------------------------- what cannot be


def test_unknown_wish_names_what_comes_close() -> None:
    with pytest.raises(
        KeyError, match=r"no coordinate, velocity or output of linkage is called 'tipspeed'; did you mean 'tip_speed'"
    ):
        consistent_start(linkage(), {"tipspeed": 1.0})


def test_forces_cannot_be_wished_for() -> None:
    with pytest.raises(ValueError, match="'push' depends on accelerations or forces"):
        consistent_start(linkage(), {"push": 1.0})


def test_impossible_wish_names_what_conflicts_and_by_how_much() -> None:
    with pytest.raises(InconsistentStart) as caught:
        consistent_start(linkage(), {"tip": 3.5})
    assert "wish tip = 3.5 is off by -0.5" in str(caught.value)
    assert caught.value.leftover["tip"] == pytest.approx(-0.5, abs=1e-3)


def test_impossible_held_coordinate_is_named() -> None:
    """The crank points up and the rod is too short to reach the rail."""
    with pytest.raises(InconsistentStart, match=r"constraint 'rail' is off by 0\.5.*held fixed with them: crank = 1\.57"):
        consistent_start(linkage(), {"crank": np.pi / 2}, {"reach": 0.5})


def test_contradictory_velocities_are_named() -> None:
    with pytest.raises(InconsistentStart, match=r"velocity constraints and wishes: constraint 'along the rail' is off by"):
        consistent_start(linkage(), {"crank_rate": 1.0, "rod_rate": 1.0})


def test_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="the start wishes tip = nan; give a finite number"):
        consistent_start(linkage(), {"tip": float("nan")})


def test_a_kept_problem_gives_the_same_start() -> None:
    problem = StartProblem(linkage())
    for tip in (2.4, 2.6):
        assert np.array_equal(consistent_start(problem, {"tip": tip}).x, consistent_start(linkage(), {"tip": tip}).x)
