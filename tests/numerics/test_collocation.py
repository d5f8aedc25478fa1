"""Tables of collocation and Runge–Kutta methods against closed forms, published numbers and measured orders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from draisine.estimation.batched_rk import butcher_tableau
from draisine.numerics.runge_kutta import (
    RK4,
    ExplicitTableau,
    gauss_kronrod,
    gauss_nodes,
    lagrange,
    lagrange_derivatives,
    lagrange_integrals,
    monomial_coefficients,
    quadrature,
    radau_nodes,
    runge_kutta_matrix,
)
from draisine.simulation.methods import dop853, heun, rk4

Array = NDArray[np.float64]


@pytest.mark.parametrize("stages", range(1, 13))
def test_quadrature_is_exact_to_its_degree(stages: int) -> None:
    for nodes, best in ((radau_nodes(stages), 2 * stages - 2), (gauss_nodes(stages), 2 * stages - 1)):
        weights = quadrature(nodes)
        for power in range(best + 1):
            assert weights @ nodes**power == pytest.approx(1 / (power + 1), abs=1e-13)
        if stages < 8:
            assert abs(weights @ nodes ** (best + 1) - 1 / (best + 2)) > 1e-9  # and not beyond
    assert radau_nodes(stages)[-1] == 1.0


def test_radau_of_three_nodes_is_the_published_one() -> None:
    assert radau_nodes(3) == pytest.approx([(4 - math.sqrt(6)) / 10, (4 + math.sqrt(6)) / 10, 1], abs=1e-15)


def test_gauss_of_three_stages_is_kuntzmann_and_butchers() -> None:
    """Hairer & Wanner II, table IV.5.2."""
    root = math.sqrt(15)
    a, b = runge_kutta_matrix(gauss_nodes(3))
    published = np.array(
        [
            [5 / 36, 2 / 9 - root / 15, 5 / 36 - root / 30],
            [5 / 36 + root / 24, 2 / 9, 5 / 36 - root / 24],
            [5 / 36 + root / 30, 2 / 9 + root / 15, 5 / 36],
        ]
    )
    np.testing.assert_allclose(a, published, rtol=0, atol=2e-16)
    np.testing.assert_allclose(b, [5 / 18, 8 / 18, 5 / 18], rtol=0, atol=2e-16)


def test_lobatto_of_three_nodes_begins_at_zero() -> None:
    """Lobatto IIIA: Hairer & Wanner II, table IV.5.7."""
    a, b = runge_kutta_matrix(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(a, [[0, 0, 0], [5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]], rtol=0, atol=1e-16)
    np.testing.assert_allclose(b, [1 / 6, 2 / 3, 1 / 6], rtol=0, atol=1e-16)


def test_polynomials_through_nodes() -> None:
    c, s = np.array([0.0, 0.2, 0.7, 1.0]), np.linspace(-0.1, 1.1, 7)
    values = 2 - c + 3 * c**3
    assert lagrange(c, s) @ values == pytest.approx(2 - s + 3 * s**3)
    assert lagrange_derivatives(c, s) @ values == pytest.approx(-1 + 9 * s**2)
    assert lagrange_integrals(c, s) @ values == pytest.approx(2 * s - s**2 / 2 + 3 * s**4 / 4)
    assert monomial_coefficients(c) @ values == pytest.approx([2, -1, 0, 3], abs=1e-13)


@pytest.mark.parametrize("stages", [2, 4])
def test_integrals_at_the_nodes_are_the_runge_kutta_matrix(stages: int) -> None:
    for nodes in (gauss_nodes(stages), radau_nodes(stages)):
        a, b = runge_kutta_matrix(nodes)
        np.testing.assert_allclose(lagrange_integrals(nodes, nodes), a, atol=1e-15)
        np.testing.assert_allclose(quadrature(nodes), b, atol=1e-15)


def test_kronrods_nodes_are_exact_beyond_gausss() -> None:
    nodes, kronrod, gauss = gauss_kronrod()
    for power in range(14):
        exact = 2 / (power + 1) if power % 2 == 0 else 0.0
        assert (abs(kronrod @ nodes**power - exact) < 1e-15) == (power < 12 or power % 2 == 1)
        assert (abs(gauss @ nodes**power - exact) < 1e-15) == (power < 6 or power % 2 == 1)


# ---------------------------------------------------------------- explicit steps


def _error(tableau: ExplicitTableau, steps: int) -> float:
    """Of ẋ = x cos t, x(0) = 1 at t = 2, whose solution is exp(sin t)."""
    x, h = np.ones(1), 2.0 / steps
    for k in range(steps):
        x, _ = tableau.step(lambda t, x: x * np.cos(t), k * h, x, h)
    return abs(float(x[0]) - math.exp(math.sin(2.0)))


@pytest.mark.parametrize(
    ("tableau", "steps"),
    [(butcher_tableau(heun.SCHEME), 80), (RK4, 40), (butcher_tableau(rk4.SCHEME), 40), (butcher_tableau(dop853.SCHEME), 4)],
)
def test_order_by_halving(tableau: ExplicitTableau, steps: int) -> None:
    measured = math.log2(_error(tableau, steps) / _error(tableau, 2 * steps))
    assert measured == pytest.approx(tableau.order, abs=0.4)


@pytest.mark.parametrize("tableau", [butcher_tableau(heun.SCHEME), RK4, butcher_tableau(dop853.SCHEME)])
def test_conditions_of_a_table(tableau: ExplicitTableau) -> None:
    """Rows of A sum to c; Σ b c^(k−1) = 1/k up to the order (Hairer, Nørsett & Wanner I, section II.2)."""
    assert np.array_equal(tableau.a, np.tril(tableau.a, -1))
    np.testing.assert_allclose(tableau.a.sum(axis=1), tableau.c, atol=1e-14)
    for k in range(1, tableau.order + 1):
        assert tableau.b @ tableau.c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)


def test_motions_side_by_side_are_those_one_by_one() -> None:
    rng = np.random.default_rng(3)
    t, x, h = rng.uniform(size=5), rng.normal(size=(5, 2)), rng.uniform(0.01, 0.2, size=5)

    def rate(t: Array, x: Array) -> Array:
        return np.stack([x[..., 1], -np.sin(x[..., 0]) + np.cos(t)], axis=-1)

    together, rates = RK4.step(rate, t, x, h)
    assert rates.shape == (4, 5, 2)
    for k in range(5):
        np.testing.assert_allclose(RK4.step(rate, float(t[k]), x[k], float(h[k]))[0], together[k], rtol=1e-14)
