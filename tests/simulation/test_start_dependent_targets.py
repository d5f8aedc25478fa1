"""Targets that depend on each other: refused where they differ, accepted where they agree, never solved by absurd velocities."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import draisine as dr
from draisine.errors import StartError
from draisine.simulation.initial.batch import BatchTargets, consistent_starts, refusal
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem

VEHICLES = [
    *(
        (name, {})
        for name in ("bicycle", "car", "snakeboard", "rolling_torus", "chaplygin_sleigh", "sliding_bicycle", "unicycle")
    ),
    ("bicycle", {"lean": 0.2, "steer": -0.3}),
    ("sliding_bicycle", {"lean": -0.1, "steer": 0.2}),
    ("car", {"left_steer": 0.2}),
]
ZERO = 1e-9  # part of a gradient that is rounding error


@cache
def problem_of(name: str) -> StartProblem:
    return StartProblem(dr.derive(dr.gallery.model(name)), compiled=False)


def gradients(problem: StartProblem, at: dict[str, float]) -> dict[str, np.ndarray]:
    """Gradients of velocities and of outputs that are linear in them, at a start, along the admissible motions."""
    e = problem.equations
    start = consistent_start(problem, at)
    t, u, p = start.given

    def values(v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ravel(part) for part in e.motion([t], start.q, v, u, p)])

    size = len(e.velocities)
    rest = values(np.zeros(size))
    by_v = np.column_stack([values(unit) - rest for unit in np.eye(size)])
    doubled = np.column_stack([values(2 * unit) - rest for unit in np.eye(size)])
    rows = by_v[: len(e.constraints)]
    _, sizes, basis = np.linalg.svd(rows) if len(rows) else (0, np.zeros(0), np.eye(size))
    free = basis[int(np.count_nonzero(sizes > 1e-10)) :]
    found = {v.name: unit for v, unit in zip(e.velocities, np.eye(size), strict=True)}
    for i, name in enumerate(e.motion.output("outputs").labels):
        k = len(e.constraints) + i
        linear = np.abs(doubled[k] - 2 * by_v[k]).max() <= 1e-12 * np.abs(by_v[k]).max() and abs(rest[k]) == 0.0
        if linear and np.abs(by_v[k]).max() > 1e-6:
            found[name] = by_v[k]
    return {name: free @ row for name, row in found.items()}


def dependent_pairs(problem: StartProblem, at: dict[str, float]) -> list[tuple[str, str, float]]:
    """Pairs (a, b, k) of quantities with b = k a for all admissible motions; k = 0 where b is zero."""
    along = gradients(problem, at)
    found = []
    for a, first in along.items():
        if np.linalg.norm(first) < 1e-6:
            continue
        for b, second in along.items():
            k = float(second @ first / (first @ first))
            if a != b and np.linalg.norm(second - k * first) <= ZERO * max(np.linalg.norm(second), 1.0):
                found.append((a, b, 0.0 if abs(k) < ZERO else k))
    return found


def agrees(problem: StartProblem, at: dict[str, float], targets: dict[str, float]) -> None:
    start = consistent_start(problem, at | targets)
    sizes = np.abs(start.v).max()
    assert sizes <= 1e5 * max(abs(x) for x in targets.values()), targets


@pytest.mark.parametrize(("name", "at"), VEHICLES)
def test_dependent_targets_are_refused_when_they_differ(name: str, at: dict[str, float]) -> None:
    problem, random = problem_of(name), np.random.default_rng(17)
    pairs = dependent_pairs(problem, at)
    assert pairs
    for k in random.permutation(len(pairs))[:12]:
        a, b, ratio = pairs[k]
        value = float(random.choice([-1, 1]) * random.uniform(0.1, 0.9))
        agrees(problem, at, {a: value, b: ratio * value})
        agrees(problem, at, {b: ratio * value, a: value})
        other = ratio * value * (1 + float(random.choice([-0.4, 1e-3, 0.5]))) if ratio else 0.3
        for targets in ({a: value, b: other}, {b: other, a: value}):
            with pytest.raises(StartError) as error:
                consistent_start(problem, at | targets)
            assert {b} <= set(error.value.targets) <= {a, b}, str(error.value)
            assert error.value.nearest, str(error.value)
            if a in error.value.targets:
                assert error.value.nearest[b] == pytest.approx(ratio * value, rel=1e-7, abs=1e-9)


def test_the_yaw_rate_of_an_upright_bicycle_is_its_turning() -> None:
    """The pitch is 1e-17, so that a roll rate of 1e15 rad/s would reconcile the two."""
    with pytest.raises(StartError, match=r"frame_wz = -0\.267 determines yaw_rate: it is -0\.267, not -0\.445"):
        dr.consistent_start(dr.gallery.bicycle(), {"yaw_rate": -0.445, "frame_wz": -0.267})
    agreed = dr.consistent_start(dr.gallery.bicycle(), {"yaw_rate": -0.267, "frame_wz": -0.267})
    assert agreed.velocities["frame_wx"] == 0.0


def test_batches_refuse_the_same() -> None:
    problem = StartProblem(dr.derive(dr.gallery.bicycle()))
    yaw, turning = np.array([-0.445, -0.267, 0.3, 0.0]), np.array([-0.267, -0.267, 0.3, 1e-3])
    e = problem.equations
    requested = BatchTargets(
        {"yaw_rate": yaw, "frame_wz": turning}, {}, np.zeros((4, len(e.inputs))), np.tile(e.default_parameters, (4, 1))
    )
    found = consistent_starts(problem, requested)
    np.testing.assert_array_equal(found.refused, [True, False, False, True])
    assert np.abs(found.v[~found.refused]).max() < 10.0
    assert "determines yaw_rate" in str(refusal(problem, requested, 0))


def test_targets_that_nearly_contradict_each_other_are_reported() -> None:
    """With a pitch of 1e-7, a roll rate of 1e7 times the difference reconciles them; that is true, and reported."""
    m = dr.Model("stone")
    stone = m.body("stone", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.free(stone)
    m.output("pitch", "pitch(stone)", "rad")
    m.output("yaw_rate", "rate(heading(stone))", "rad/s")
    given = {"yaw_rate": -0.445, "stone_wz": -0.267}
    run = dr.simulate(m, 1e-9, start={**given, "pitch": 1e-7})
    start = dr.consistent_start(m, {**given, "pitch": 1e-7})
    assert abs(start.velocities["stone_wx"]) == pytest.approx((0.445 - 0.267) / 1e-7, rel=1e-6)
    assert "times what is given: the targets nearly contradict" in start.report.excess
    assert start.report.excess in str(start.report)
    assert start.report.excess in str(run.status)
    assert not dr.consistent_start(m, {**given, "pitch": 0.5}).report.excess
    for plain in ({"speed": 5.0}, {"speed": 5.0, "steer": 0.3, "lean": 0.2}, {"speed": 1e-9}, {"speed": 1e9}, {}):
        assert not dr.consistent_start(dr.gallery.bicycle(), plain).report.excess
