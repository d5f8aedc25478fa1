"""Newton's method on systems with known roots: convergence, damping, least norm, sparse matrices, many samples at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.numerics.newton import LeastNorm, Linearized, Newton, Status, sparse_step, square_step
from draisine.numerics.newton_batch import BatchNewton, LeastNormSteps, solve_each, square_steps
from draisine.numerics.trust_region import LevenbergMarquardt, Trial

Array = NDArray[np.float64]


def circle_and_line(x: Array) -> tuple[Array, Array]:
    """x² + y² = 25, x − y = 1: roots (4, 3) and (−3, −4)."""
    return np.array([x @ x - 25.0, x[0] - x[1] - 1.0]), np.array([2 * x, [1.0, -1.0]])


def test_convergence_is_quadratic() -> None:
    errors: list[float] = []

    def step(point: Linearized) -> Array:
        errors.append(float(np.linalg.norm(point.x - [4.0, 3.0])))
        return square_step(point)

    found = Newton(tolerance=1e-13).solve(circle_and_line, np.array([5.0, 1.0]), step)
    assert found.converged and found.residual <= 1e-13
    np.testing.assert_allclose(found.point.x, [4.0, 3.0], rtol=1e-15)
    ratios = [b / a**2 for a, b in pairwise(errors) if b > 1e-7]
    assert len(ratios) >= 3 and max(ratios) < 0.2


def test_full_steps_for_arctan_diverge_and_damped_ones_do_not() -> None:
    def arctan(x: Array) -> tuple[Array, Array]:
        return np.arctan(x), np.diag(1 / (1 + x**2))

    full = Newton(tolerance=1e-12, max_iterations=8).solve(arctan, np.array([2.0]), square_step)
    assert full.status in (Status.MAX_ITERATIONS, Status.NOT_FINITE) and not full.converged
    assert full.point.x[0] == 2.0  # the best of them is the first
    damped = Newton(tolerance=1e-12, least_share=1e-3).solve(arctan, np.array([2.0]), square_step)
    assert damped.converged and abs(float(damped.point.x[0])) < 1e-12


def test_least_norm_is_the_pseudoinverse() -> None:
    """One linear equation of three unknowns: the nearest point of a plane; a repeated equation changes nothing."""
    normal, start = np.array([1.0, 2.0, 2.0]), np.array([1.0, 0.0, -1.0])
    for repeated in (1, 3):
        rows = np.tile(normal, (repeated, 1))
        found = Newton(tolerance=1e-13).solve(lambda x, rows=rows: (rows @ x - 9.0, rows), start, LeastNorm())
        assert found.converged and found.iterations == 1
        np.testing.assert_allclose(found.point.x, start + normal * (9.0 - normal @ start) / 9.0, atol=1e-14)


def test_unknowns_of_no_size_stay() -> None:
    found = Newton(tolerance=1e-13).solve(
        lambda x: (np.array([x @ x - 4.0]), 2 * x[None]), np.array([1.0, 1.0]), LeastNorm(sizes=np.array([0.0, 1.0]))
    )
    np.testing.assert_allclose(found.point.x, [1.0, np.sqrt(3.0)], atol=1e-14)


def test_sparse_steps_solve_a_boundary_value_problem() -> None:
    """x″ = 2 x³ on [0, 1] has the solution 1/(t + 1); by central differences its error is O(h²)."""
    from scipy.sparse import diags_array

    def error(n: int) -> float:
        h, t = 1 / n, np.arange(1, n) / n

        def evaluate(x: Array) -> tuple[Array, Any]:
            whole = np.concatenate([[1.0], x, [0.5]])
            f = (whole[2:] - 2 * x + whole[:-2]) / h**2 - 2 * x**3
            ones = np.ones(n - 2) / h**2
            return f, diags_array([ones, -2 / h**2 - 6 * x**2, ones], offsets=[-1, 0, 1])

        found = Newton(tolerance=1e-9, acceptable=1e-7).solve(evaluate, np.ones(n - 1), sparse_step)
        assert found.converged
        return float(np.abs(found.point.x - 1 / (1 + t)).max())

    assert error(40) / error(80) == pytest.approx(4.0, rel=0.05)


def test_why_it_ended() -> None:
    def no_root(x: Array) -> tuple[Array, Array]:
        return x**2 + 1.0, np.diag(2 * x)

    assert Newton(least_share=1e-6).solve(no_root, np.array([3.0]), square_step).status is Status.STALLED
    assert Newton(max_step=0.5).solve(circle_and_line, np.array([9.0, 1.0]), square_step).status is Status.DIVERGED
    assert Newton().solve(lambda x: None, np.ones(2), square_step).status is Status.NOT_FINITE
    singular = Newton().solve(lambda x: (np.ones(2), np.ones((2, 2))), np.ones(2), square_step)
    assert singular.status is Status.NOT_FINITE
    slow = Newton(tolerance=1e-12, max_iterations=4).solve(lambda x: (x**2, np.diag(2 * x)), np.array([1.0]), square_step)
    assert slow.status is Status.MAX_ITERATIONS and slow.iterations == 4 and slow.residual == 2.0**-8


def test_rounding_ends_it_where_the_residual_is_acceptable() -> None:
    """A residual with noise of 1e-10 never comes to 1e-14; it is accepted where it does not decrease any more."""
    noise = np.random.default_rng(1)

    def noisy(x: Array) -> tuple[Array, Array]:
        return x**2 - 2.0 + 1e-10 * noise.uniform(-1, 1, 1), np.diag(2 * x)

    found = Newton(tolerance=1e-14, acceptable=1e-9, max_iterations=50).solve(noisy, np.array([1.0]), square_step)
    assert found.converged and found.iterations < 12
    assert found.point.x[0] == pytest.approx(np.sqrt(2), abs=1e-9)
    assert not Newton(tolerance=1e-14, max_iterations=50, patience=5).solve(noisy, np.array([1.0]), square_step).converged


def test_a_damped_iteration_settles_by_its_step_where_rounding_hides_the_residual() -> None:
    """1e8 (x² − 2) vanishes nowhere in floating point: no step decreases it at the end, and yet the root is found."""
    found = Newton(step_tolerance=1e-15, least_share=1e-4).solve(
        lambda x: (1e8 * (x**2 - 2.0), np.diag(2e8 * x)), np.array([3.0]), square_step
    )
    assert found.converged and found.residual > 0.0 and found.point.x[0] == pytest.approx(np.sqrt(2.0), rel=3e-16)


def test_iterates_of_any_kind() -> None:
    """A rotation as an iterate: angle of a unit vector, moved along the circle."""
    target = np.array([np.cos(2.0), np.sin(2.0)])

    def miss(c: complex) -> float:
        return float(np.angle(complex(*target) / c))

    found = Newton(tolerance=1e-15).iterate(
        1j,
        size=lambda c: abs(miss(c)),
        step=lambda c: np.array([miss(c)]),
        move=lambda c, change: c * np.exp(1j * float(change[0])),
    )
    assert found.converged and abs(found.point - complex(*target)) < 1e-15


# ---------------------------------------------------------------- samples


def roots_of(numbers: Array) -> Any:
    def evaluate(x: Array, places: NDArray[np.int64]) -> tuple[Array, Array]:
        return x[places] ** 2 - numbers[places], 2 * x[places, :, None]

    return evaluate


def test_samples_are_solved_as_single_points_are() -> None:
    numbers = np.random.default_rng(7).uniform(0.1, 50.0, (40, 1))
    batch = BatchNewton(tolerance=1e-12).solve(roots_of(numbers), np.ones((40, 1)), square_steps)
    assert batch.converged.all() and (batch.residual <= 1e-12).all()
    for number, x in zip(numbers, batch.x, strict=True):
        single = Newton(tolerance=1e-12).solve(lambda x, n=number: (x**2 - n, np.diag(2 * x)), np.ones(1), square_step)
        assert single.point.x[0] == x[0]
    alone = BatchNewton(tolerance=1e-12).solve(roots_of(numbers[5:6]), np.ones((1, 1)), square_steps)
    assert alone.x[0, 0] == batch.x[5, 0]  # whatever the others do


def test_samples_without_a_root_do_not_spoil_others() -> None:
    numbers = np.array([[4.0], [np.nan], [-1.0], [9.0]])
    found = BatchNewton(tolerance=1e-12, max_iterations=20).solve(roots_of(numbers), np.ones((4, 1)), square_steps)
    assert found.converged.tolist() == [True, False, False, True]
    np.testing.assert_allclose(found.x[[0, 3], 0], [2.0, 3.0])
    assert found.residual[1] == np.inf


def test_damped_samples_come_where_full_steps_diverge() -> None:
    start = np.array([[2.0], [-3.0], [0.5]])

    def evaluate(x: Array, places: NDArray[np.int64]) -> tuple[Array, Array]:
        return np.arctan(x[places]), (1 / (1 + x[places] ** 2))[..., None]

    assert BatchNewton(tolerance=1e-12).solve(evaluate, start, LeastNormSteps()).converged.tolist() == [False, False, True]
    damped = BatchNewton(tolerance=1e-12, damped=True, max_iterations=40).solve(evaluate, start, LeastNormSteps())
    assert damped.converged.all()


@pytest.mark.parametrize("rows", [2, 60])
def test_batched_least_norm_against_the_pseudoinverse(rows: int) -> None:
    """Also where a row repeats another; many rows go through normal equations."""
    rng = np.random.default_rng(rows)
    j = rng.normal(size=(5, rows, 80))
    f = rng.normal(size=(5, rows))
    if rows == 2:
        j[0, 1], f[0, 1] = 2 * j[0, 0], 2 * f[0, 0]
    steps = LeastNormSteps()(f, j, np.zeros(5))
    expected = -(np.linalg.pinv(j, rcond=1e-10) @ f[..., None])[..., 0]
    np.testing.assert_allclose(steps, expected, atol=1e-10)


def test_singular_matrices_of_a_batch_give_nan() -> None:
    square = np.array([np.eye(2), np.ones((2, 2)), np.full((2, 2), np.inf), 2 * np.eye(2)])
    found, good = solve_each(square, np.ones((4, 2, 1)))
    assert good.tolist() == [True, False, False, True]
    np.testing.assert_array_equal(found[[0, 3], :, 0], [[1.0, 1.0], [0.5, 0.5]])
    assert np.isnan(found[1:3]).all()


# ---------------------------------------------------------------- trust region


def test_levenberg_and_marquardt_find_rosenbrocks_minimum() -> None:
    """r = (10 (y − x²), 1 − x): least at (1, 1), from the usual start (−1.2, 1)."""

    def residual(z: Array) -> tuple[Array, Array]:
        x, y = z
        return np.array([10 * (y - x * x), 1 - x]), np.array([[-20 * x, 10.0], [-1.0, 0.0]])

    def cost(z: Array) -> float:
        return 0.5 * float(residual(z)[0] @ residual(z)[0])

    def step(z: Array, damping: float) -> Trial[Array]:
        r, j = residual(z)
        change = np.linalg.solve(j.T @ j + damping * np.eye(2), -j.T @ r)
        left = r + j @ change
        return Trial(lambda: z + change, 0.5 * float(r @ r - left @ left), float(np.abs(change).max()))

    seen: list[float] = []
    method = LevenbergMarquardt(gain_tolerance=1e-14, step_tolerance=1e-12, max_iterations=100)
    found = method.minimize(np.array([-1.2, 1.0]), cost, step, lambda k, z: seen.append(cost(z)))
    assert found.converged
    np.testing.assert_allclose(found.point, [1.0, 1.0], atol=1e-9)
    assert seen == sorted(seen, reverse=True)  # the cost never grows
    few = LevenbergMarquardt(1e-14, 1e-12, 3).minimize(np.array([-1.2, 1.0]), cost, step)
    assert not few.converged and few.iterations <= 3
