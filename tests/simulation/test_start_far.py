"""Starts far from the defaults, in redundant coordinates: folded pendulums, both ways to assemble a four-bar, any size."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draisine.errors import StartError
from draisine.program.equations import Equations, Kind
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.initial.result import Start
from simulation.start_systems import assembled, four_bar, mechanism, pendulum

PENDULUMS = {n: StartProblem(pendulum(n), compiled=False) for n in (1, 2, 3)}
FOUR_BAR = StartProblem(four_bar(), compiled=False)


def rods(start: Start, masses: int) -> np.ndarray:
    """Lengths of the rods at a start."""
    points = np.vstack([np.zeros(2), start.q.reshape(2, masses).T])
    return np.linalg.norm(np.diff(points, axis=0), axis=1)


def test_a_hanging_pendulum_is_asked_to_stand() -> None:
    """From straight below, where the height has no gradient, to any height."""
    for height in (-0.9, 0.0, 0.5, 0.99, 1.0):
        start = consistent_start(PENDULUMS[1], {"y1": height})
        assert start.q[1] == height
        assert abs(start.q[0]) == pytest.approx(np.sqrt(1.0 - height**2), abs=1e-7 if height == 1.0 else 1e-13)


def test_a_pendulum_is_turned_by_an_output_that_jumps_at_the_top() -> None:
    for angle in (3.0, -3.0, np.pi):
        start = consistent_start(PENDULUMS[1], {"angle": angle})
        assert start.q == pytest.approx([np.sin(angle), -np.cos(angle)], abs=1e-13)


def test_a_double_pendulum_folds() -> None:
    """The tip at the pivot: the second rod lies on the first."""
    start = consistent_start(PENDULUMS[2], {"tip_x": 0.0, "tip_y": 0.0})
    assert start.q[[1, 3]] == pytest.approx([0.0, 0.0], abs=1e-13)
    assert rods(start, 2) == pytest.approx([1.0, 1.0], abs=1e-13)


def test_a_double_pendulum_stands_on_its_head() -> None:
    """At its full reach the answer is a double root: the residual vanishes, the place is known to its root."""
    start = consistent_start(PENDULUMS[2], {"tip_y": 2.0})
    assert start.q == pytest.approx([0.0, 0.0, 1.0, 2.0], abs=1e-6)
    assert start.report.largest_relative_residual < 1e-12


@pytest.mark.parametrize("branch", [1, -1])
@pytest.mark.parametrize("crank", [-2.8, -1.0, 0.4, 2.2])
def test_both_ways_to_assemble_a_four_bar(crank: float, branch: int) -> None:
    """Which one is meant is said by the rocker's angle nearby; the target for the crank is kept to the bit."""
    coupler, rocker = assembled(crank, branch)
    start = consistent_start(
        FOUR_BAR, {"crank": crank, "coupler": InitialGuess(coupler + 0.3), "rocker": InitialGuess(rocker - 0.2)}
    )
    assert start.q[0] == crank
    assert np.exp(1j * start.q[1:]) == pytest.approx(np.exp(1j * np.array([coupler, rocker])), abs=1e-12)


@pytest.mark.parametrize("branch", [1, -1])
def test_a_target_for_the_coupler_chooses_the_branch(branch: int) -> None:
    coupler, rocker = assembled(0.8, branch)
    start = consistent_start(FOUR_BAR, {"coupler": coupler, "rocker": rocker})
    assert start.q[1:].tolist() == [coupler, rocker]
    assert np.exp(1j * start.q[0]) == pytest.approx(np.exp(0.8j), abs=1e-12)


def test_a_straight_chain_is_pushed_together() -> None:
    """Stretched along the axis that is given as target, nothing can fold in the first approximation."""
    for height in (-2.9, -2.0, 0.5):
        start = consistent_start(PENDULUMS[3], {"tip_x": 0.0, "tip_y": height})
        assert start.q[[2, 5]] == pytest.approx([0.0, height], abs=1e-13)
        assert rods(start, 3) == pytest.approx(np.ones(3), abs=1e-13)


# ------------------------------------------------------------------------------------------------ sizes


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1.0, 1e6])
def test_the_size_of_the_world_does_not_matter(size: float) -> None:
    """The same pendulum from nanometers to a thousand kilometers: the same start, and the same refusal."""
    e = pendulum(2, size)
    start = consistent_start(e, {"tip_x": 0.7 * size, "x1_rate": 0.3 * size})
    plain = consistent_start(pendulum(2), {"tip_x": 0.7, "x1_rate": 0.3})
    assert start.q / size == pytest.approx(plain.q, abs=1e-8)
    assert rods(start, 2) / size == pytest.approx([1.0, 1.0], abs=1e-13)
    assert start.v / size == pytest.approx(plain.v, abs=1e-7)
    with pytest.raises(StartError) as caught:
        consistent_start(e, {"tip_x": 2.2 * size})
    assert caught.value.nearest["tip_x"] == pytest.approx(2.0 * size, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_how_a_constraint_is_multiplied_does_not_matter(factor: float) -> None:
    def made(by: float) -> Equations:
        q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
        rows = {"circle": (Kind.HOLONOMIC, by * (ca.sumsqr(q) - 1)), "rate": (Kind.HOLONOMIC, by * 2 * ca.dot(q, v))}
        return mechanism("point", {"x": 0.3, "y": 0.9}, ("vx", "vy"), rows, {"sum": q[0] + q[1], "fast": v[0] - 2 * v[1]}, q, v)

    targets = {"sum": 0.2, "fast": 3.0}
    assert consistent_start(made(factor), targets).x == pytest.approx(consistent_start(made(1.0), targets).x, abs=1e-11)


# ------------------------------------------------------------------------------------------------ properties


angles = st.floats(-np.pi, np.pi)


@settings(max_examples=40, derandomize=True)
@given(st.lists(angles, min_size=1, max_size=3), st.data())
def test_what_exists_is_found_and_kept(turns: list[float], data: st.DataObject) -> None:
    """Any of the coordinates and outputs of a configuration that exists, given as target: what comes back fulfils all of them."""
    n = len(turns)
    x, y = np.cumsum(np.sin(turns)), -np.cumsum(np.cos(turns))
    held = {f"x{i + 1}": float(x[i]) for i in range(n)} | {f"y{i + 1}": float(y[i]) for i in range(n)}
    requested = {"tip_x": float(x[-1]), "tip_y": float(y[-1])}
    names = data.draw(st.sets(st.sampled_from(sorted(held)), max_size=n))
    targets = {name: held[name] for name in names}
    if n - len({name[1:] for name in names}) >= 2:
        targets |= requested
    start = consistent_start(PENDULUMS[n], targets)
    assert all(start.coordinates[name] == held[name] for name in names)
    assert start.report.largest_relative_residual <= 1e-12
    assert rods(start, n) == pytest.approx(np.ones(n), abs=1e-11)
    assert {w.name: w.got for w in start.report.targets} == pytest.approx(targets, abs=1e-11)


@settings(max_examples=40, derandomize=True)
@given(st.floats(-2.3, 2.3), st.floats(-2.3, 2.3), st.floats(-1e3, 1e3))
def test_never_a_start_that_is_none(tip_x: float, tip_y: float, rate: float) -> None:
    """Either all is fulfilled, or the refusal is right: the tip of three rods of length 1 reaches every distance up to 3."""
    distance = float(np.hypot(tip_x, tip_y))
    targets = {"tip_x": tip_x, "tip_y": tip_y, "x1_rate": rate}
    try:
        start = consistent_start(PENDULUMS[3], targets)
    except StartError as refusal:
        assert refusal.level == "velocity" or distance > 3.0 - 1e-9
        return
    assert distance <= 3.0 + 1e-9
    assert start.velocities["x1_rate"] == rate
    assert start.report.largest_relative_residual <= 1e-12
    assert start.q[[2, 5]] == pytest.approx([tip_x, tip_y], abs=1e-11)
    assert rods(start, 3) == pytest.approx(np.ones(3), abs=1e-11)
