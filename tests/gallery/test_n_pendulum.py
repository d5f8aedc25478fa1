"""The chain of masses: accelerations and tensions by hand, conserved quantities, and the same chain in angles."""

from __future__ import annotations

import math

import numpy as np
import pytest

import draisine as dr
from draisine.codegen.jit.kernel import compile
from draisine.gallery.entries.n_pendulum import kept, n_pendulum, n_pendulum_by_angles, n_pendulum_falls
from draisine.program.linear_solve import Solver
from draisine.simulation.compiled_equations import prepare
from draisine.simulation.run import integrate

MASS, LENGTH, GRAVITY = GIVEN = (0.7, 1.3, 9.5)


def by_hand(angles: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places, velocities, accelerations of the masses and tensions of the rods, from the closed form in angles.

    Σ_j (n − max(i, j)) l [cos(θ_i − θ_j) θ̈_j + sin(θ_i − θ_j) θ̇_j²] = −(n − i) g sin θ_i with i, j from 0; tensions add up the
    forces on the masses from the tip on, along each rod.
    """
    n = len(angles)
    i, j = np.indices((n, n))
    weight, turn = n - np.maximum(i, j), angles[i] - angles[j]
    side = -(n - np.arange(n)) * GRAVITY * np.sin(angles) - LENGTH * (weight * np.sin(turn)) @ rates**2
    second = np.linalg.solve(LENGTH * weight * np.cos(turn), side)
    along, across = np.column_stack([np.sin(angles), -np.cos(angles)]), np.column_stack([np.cos(angles), np.sin(angles)])
    place, velocity = LENGTH * np.cumsum(along, 0), LENGTH * np.cumsum(rates[:, None] * across, 0)
    acceleration = LENGTH * np.cumsum(second[:, None] * across - rates[:, None] ** 2 * along, 0)
    carried = MASS * np.cumsum((acceleration + [0.0, GRAVITY])[::-1], 0)[::-1]  # what the rod above has to give
    return place, velocity, acceleration, -(carried * along).sum(1)


@pytest.mark.parametrize("masses", [1, 2, 3, 8, 15])
def test_accelerations_and_tensions_are_those_of_the_closed_form(masses):
    rng = np.random.default_rng(masses)
    angles, rates = rng.uniform(-math.pi, math.pi, masses), rng.normal(size=masses)
    place, velocity, acceleration, tension = by_hand(angles, rates)
    equations = n_pendulum(masses)
    state = np.concatenate([place.ravel(), velocity.ravel()])
    reported = dict(
        zip((s.name for s in equations.report.outputs), compile(equations.report)([0.0], state, [], GIVEN), strict=True)
    )
    scale = np.abs(acceleration).max()
    assert reported["vdot"] == pytest.approx(acceleration.ravel(), rel=1e-10, abs=1e-11 * scale)
    assert reported["multipliers"] == pytest.approx(tension, rel=1e-10, abs=1e-11 * scale)
    assert reported["energy"][:2] == pytest.approx(
        [MASS * (velocity**2).sum() / 2, MASS * GRAVITY * place[:, 1].sum()], rel=1e-12, abs=1e-12
    )
    assert np.abs(reported["residuals"]).max() < 1e-12
    by_angles = n_pendulum_by_angles(masses)
    slope = compile(by_angles.dynamics)([0.0], np.concatenate([angles, rates]), [], GIVEN)[0][masses:]
    along, across = np.column_stack([np.sin(angles), -np.cos(angles)]), np.column_stack([np.cos(angles), np.sin(angles)])
    again = LENGTH * np.cumsum(slope[:, None] * across - rates[:, None] ** 2 * along, 0)
    assert again == pytest.approx(acceleration, rel=1e-9, abs=1e-10 * scale)


def test_dense_and_sparse_agree_on_a_long_chain():
    equations = {solver: n_pendulum(25, solver) for solver in (Solver.DENSE, Solver.SPARSE)}
    rng = np.random.default_rng(0)
    place, velocity, _, _ = by_hand(rng.uniform(-1, 1, 25), rng.normal(size=25))
    state = np.concatenate([place.ravel(), velocity.ravel()])
    for role in ("dynamics", "project"):
        dense, sparse = (compile(getattr(e, role))([0.0], state, [], GIVEN)[0] for e in equations.values())
        assert sparse == pytest.approx(dense, rel=1e-10, abs=1e-10 * np.abs(dense).max())


def test_tension_at_rest_is_the_weight_below():
    equations = n_pendulum(12)
    hanging = {f"{axis}{k}": -float(k) if axis == "z" else 0.0 for k in range(1, 13) for axis in "xz"}
    run = dr.simulate(equations, 0.5, start=hanging)
    for k in range(1, 13):
        assert run[f"rod{k}_multiplier"] == pytest.approx(np.full_like(run.time, (13 - k) * 9.81), rel=1e-10)
    assert run.channel("rod1_multiplier").unit == "N"
    assert [c.unit for c in equations.constraints[:1] + equations.constraints[-1:]] == ["m", "m/s"]


@pytest.mark.parametrize("masses", [1, 2, 10])
def test_what_a_chain_must_keep(masses):
    """60 s for one mass and two, fewer for a longer chain; the gallery and the benchmark have them in full."""
    found = kept(masses, until=60.0 if masses < 3 else 15.0)
    assert found.energy < 1e-7
    assert found.length < 1e-12
    assert found.crossings > 10 * masses


@pytest.mark.parametrize("masses", [1, 2, 12])
def test_the_same_motion_in_angles(masses):
    method, times = dr.methods.DOP853(rtol=1e-9, atol=1e-9), np.linspace(0.0, 5.0, 101)
    runs = []
    for equations in (n_pendulum(masses), n_pendulum_by_angles(masses)):
        start = [s.default for s in equations.states]
        runs.append(integrate(prepare(equations), start, 5.0, method=method, samples=times).states)
    angles = runs[1][:, :masses]
    place = np.stack([np.cumsum(np.sin(angles), 1), -np.cumsum(np.cos(angles), 1)], axis=2)
    assert np.abs(runs[0][:, : 2 * masses].reshape(place.shape) - place).max() < 1e-6


def test_one_mass_takes_the_time_of_the_elliptic_integral():
    """From the horizontal to the other side and back: T = 4 √(l/g) K(sin 45°), K = 1.8540746773013719."""
    period = 4 * math.sqrt(1 / 9.81) * 1.8540746773013719
    run = dr.simulate(
        dr.gallery.simple_pendulum(), period, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12), samples=[0.0, period / 4, period]
    )
    assert run["x1"] == pytest.approx([1.0, 0.0, 1.0], abs=1e-8)
    assert run["z1"] == pytest.approx([0.0, -1.0, 0.0], abs=1e-8)


def test_study_holds():
    study = n_pendulum_falls(until=6.0, chains=(1, 5))
    assert set(study.figures) == {"chain", "apart"}
    assert len(study.findings) == 4


def test_a_long_chain_is_sparse_and_quick_to_derive():
    equations = n_pendulum(300)
    assert equations.dynamics.sparse and equations.project.sparse
    assert equations.dynamics.entry_pattern.nnz() == 10 * 300 - 4
    small = n_pendulum(30)
    assert equations.dynamics.operations < 10.5 * small.dynamics.operations


def test_a_chain_needs_a_mass():
    with pytest.raises(dr.errors.ArgumentError, match="at least one mass, got 0"):
        n_pendulum(0)
