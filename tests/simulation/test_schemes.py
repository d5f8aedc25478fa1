"""The numbers of implicit methods against what they must fulfil: order conditions, published digits, stability."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.numerics.runge_kutta import gauss_nodes, radau_nodes, runge_kutta_matrix
from draisine.simulation.methods import dop853, esdirk23, gauss, radau
from draisine.simulation.methods.tableau import ImplicitScheme, Scheme, nested_basis

ROOT6 = np.sqrt(6.0)
SCHEMES = {f"radau {s}": radau.scheme(s) for s in (1, 3, 5)} | {f"gauss {s}": gauss.scheme(s) for s in (1, 2, 3)}


def test_radau_of_order_5_has_the_published_digits() -> None:
    """Hairer & Wanner II, table IV.5.6 (nodes and matrix) and section IV.8 (error weights)."""
    a, b = runge_kutta_matrix(radau_nodes(3))
    published = np.array(
        [
            [(88 - 7 * ROOT6) / 360, (296 - 169 * ROOT6) / 1800, (-2 + 3 * ROOT6) / 225],
            [(296 + 169 * ROOT6) / 1800, (88 + 7 * ROOT6) / 360, (-2 - 3 * ROOT6) / 225],
            [(16 - ROOT6) / 36, (16 + ROOT6) / 36, 1 / 9],
        ]
    )
    assert radau_nodes(3) == pytest.approx([(4 - ROOT6) / 10, (4 + ROOT6) / 10, 1.0], abs=1e-16)
    assert a == pytest.approx(published, abs=2e-16)
    assert b == pytest.approx(published[2], abs=2e-16)
    # γ₀ (e₁, e₂, e₃) of eq. (IV.8.20), here with the sign of the rate they stand for
    assert -radau.scheme(3).estimate == pytest.approx([(-13 - 7 * ROOT6) / 3, (-13 + 7 * ROOT6) / 3, -1 / 3], rel=1e-13)
    cube = 81.0 ** (1 / 3), 9.0 ** (1 / 3)
    assert 1.0 / radau.scheme(3).filter == pytest.approx((6 + cube[0] - cube[1]) / 30, rel=1e-13)


def test_gauss_is_symplectic_to_rounding() -> None:
    """b_i a_ij + b_j a_ji = b_i b_j: Geometric Numerical Integration, eq. (VI.4.2)."""
    for stages in (1, 2, 3):
        a, b = runge_kutta_matrix(gauss_nodes(stages))
        assert b[:, None] * a + (b[:, None] * a).T == pytest.approx(np.outer(b, b), abs=1e-16)
    assert gauss_nodes(2) == pytest.approx([0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6], abs=1e-16)


@pytest.mark.parametrize("name", SCHEMES)
def test_quadrature_and_stage_orders(name: str) -> None:
    """Σ b c^(k−1) = 1/k up to the order, A c^(k−1) = c^k / k up to the number of stages."""
    scheme = SCHEMES[name]
    c = scheme.nodes
    a, b = runge_kutta_matrix(c)
    for k in range(1, scheme.order + 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)
    assert abs(b @ c**scheme.order - 1 / (scheme.order + 1)) > 1e-7  # and no further
    for k in range(1, len(c) + 1):
        assert a @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-15)


@pytest.mark.parametrize("name", SCHEMES)
def test_eigenvectors_take_the_inverse_apart(name: str) -> None:
    scheme = SCHEMES[name]
    s = scheme.solved
    whole = np.zeros((s, s))
    for row in scheme.real:
        whole += row[0] * np.outer(row[1 + s :], row[1 : 1 + s])
    for row in scheme.pairs:
        whole += 2.0 * (row[0] * np.outer(row[1 + s :], row[1 : 1 + s])).real
    assert whole == pytest.approx(scheme.weights, abs=1e-12)
    assert len(scheme.real) + 2 * len(scheme.pairs) == s


def growth(scheme: ImplicitScheme, z: complex) -> complex:
    """R(z) of ẋ = λ x by solving the stages: A⁻¹Z = z (1 + Z)."""
    s = scheme.solved
    increments = np.linalg.solve(scheme.weights - z * np.eye(s), z * np.ones(s, dtype=complex))
    return 1.0 + scheme.update @ increments


@pytest.mark.parametrize("name", SCHEMES)
def test_stability(name: str) -> None:
    scheme = SCHEMES[name]
    on_the_axis = [abs(growth(scheme, 1j * y)) for y in (0.1, 1.0, 3.0, 10.0, 100.0)]
    if name.startswith("gauss"):
        assert on_the_axis == pytest.approx([1.0] * 5, abs=1e-13)
    else:
        assert max(on_the_axis) <= 1.0 + 1e-14
        assert abs(growth(scheme, -1e8)) < 1e-6
    z = 0.1
    assert abs(growth(scheme, z) - np.exp(z)) < 2.0 * z ** (scheme.order + 1)


def test_esdirk23_fulfils_its_order_conditions() -> None:
    a, b, embedded, c = esdirk23.WEIGHTS, esdirk23.WEIGHTS[2], esdirk23.EMBEDDED, esdirk23.NODES
    assert a.sum(axis=1) == pytest.approx(c, abs=1e-16)

    def conditions(weights: np.ndarray) -> list[float]:
        """Up to order 3: Hairer, Nørsett & Wanner I, eq. (II.1.11)."""
        return [weights.sum() - 1.0, weights @ c - 1 / 2, weights @ c**2 - 1 / 3, weights @ (a @ c) - 1 / 6]

    assert conditions(embedded) == pytest.approx([0.0] * 4, abs=4e-16)
    assert conditions(b)[:2] == pytest.approx([0.0] * 2, abs=4e-16)
    assert min(abs(r) for r in conditions(b)[2:]) > 0.04  # of order 2 and no more

    # L-stable: R(z) = 1 + z bᵀ(1 − zA)⁻¹ 1 vanishes far out, and stays within the unit circle on the axis
    def size(z: complex) -> float:
        return float(abs(1.0 + z * b @ np.linalg.solve(np.eye(3) - z * a, np.ones(3, dtype=complex))))

    assert size(-1e4) / size(-1e6) == pytest.approx(100.0, rel=1e-2)
    assert max(size(1j * y) for y in np.linspace(0.0, 50.0, 200)) <= 1.0 + 1e-14
    assert abs(esdirk23.GAMMA - (2 - np.sqrt(2)) / 2) < 2e-16


# degrees up to which interpolants are exact: that of the collocation polynomial, and with the rates at the ends
EXACT = {"radau 1": (1, 1), "radau 3": (3, 4), "radau 5": (5, 6), "gauss 1": (1, 2), "gauss 2": (2, 4), "gauss 3": (3, 5)}


@pytest.mark.parametrize("name", [*SCHEMES, "esdirk23"])
def test_interpolants_reproduce_polynomials(name: str) -> None:
    """For ẋ = k t^(k−1) a step of length 1 from 0 has the increments A k c^(k−1); they give t^k back."""
    scheme = SCHEMES.get(name, esdirk23.SCHEME)
    theta = np.linspace(0.0, 1.0, 11)
    basis = np.array([np.polyval(p, theta) for p in nested_basis(len(scheme.dense))])
    for coefficients, highest in zip((scheme.rough, scheme.dense), EXACT.get(name, (2, 2)), strict=True):
        for k in range(1, highest + 1):
            if scheme.coupled:
                increments = np.linalg.solve(scheme.weights, k * scheme.nodes ** (k - 1))
            else:
                increments = scheme.weights @ (k * esdirk23.NODES ** (k - 1))
            data = np.array([*increments, float(k == 1), float(k)])
            assert (coefficients @ data) @ basis == pytest.approx(theta**k, abs=1e-12)


@pytest.mark.parametrize("scheme", [*SCHEMES.values(), dop853.DOP853().scheme])
def test_the_numbers_of_a_method_are_not_written_to(scheme: ImplicitScheme | Scheme) -> None:
    with pytest.raises(ValueError, match="read-only"):
        scheme.weights[0, 0] = 1.0
