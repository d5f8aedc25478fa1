"""Gains of regulators and filters do not depend on the units of states, inputs, time and costs."""

import numpy as np
import pytest
import scipy.linalg

import draisine as dr
from draisine.numerics.riccati import continuous_riccati, discrete_riccati
from draisine.numerics.scaling import unit_scales
from draisine.results.linear import LinearModel


def model(a, b, c=None):
    n, m = b.shape
    c = np.zeros((0, n)) if c is None else c
    names = tuple(f"z{i}" for i in range(n)), tuple(f"u{i}" for i in range(m)), tuple(f"y{i}" for i in range(len(c)))
    return LinearModel("random", *names, a, b, c, np.zeros((len(c), m)))


def random_problem(rng, n=3, m=2):
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, m))
    return a, b, rng.uniform(0.1, 2.0, n), rng.uniform(0.1, 2.0, m)


def scales(rng, count, decades=8.0):
    return 10.0 ** rng.uniform(-decades, decades, count)


def test_known_gains_at_small_scales():
    """A double integrator with its input in units of 1e10, and an oscillator with densities of 1e-16: closed forms."""
    a = np.array([[0.0, 1.0], [0.0, 0.0]])
    for size in (1.0, 1e-10, 1e-20, 1e10):
        law = dr.lqr(model(a, np.array([[0.0], [size]])), weights={"z0": 1.0}, input_weights={"u0": size**2})
        np.testing.assert_allclose(law.K * size, [[1.0, np.sqrt(2.0)]], rtol=1e-12)
    swing = model(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[0.0], [1.0]]))
    second = np.sqrt(1.0 + 400.0) - 1.0  # P₁₁² + 2 P₁₂ − …: L₂ = √(1 + W/V) − 1, L₁ = √(2 L₂)
    for size in (1.0, 1e-16, 1e-30, 1e16):
        found = dr.control.kalman(swing, measured={"z0": size}, noise={"u0": 400.0 * size}).L
        np.testing.assert_allclose(found[:, 0], [np.sqrt(2.0 * second), second], rtol=1e-12)


@pytest.mark.parametrize("period", [None, 0.1])
@pytest.mark.parametrize("seed", range(12))
def test_regulators_follow_their_units(seed, period):
    """States in units d, inputs in units e, time in units 1/s, cost times c: K becomes K d / e."""
    rng = np.random.default_rng(seed)
    a, b, w, r = random_problem(rng)
    d, e, c, s = scales(rng, 3), scales(rng, 2), float(scales(rng, 1, 18.0)[0]), float(scales(rng, 1, 5.0)[0])

    def law(a, b, w, r, period):
        weights, inputs = ({f"{x}{i}": float(v) for i, v in enumerate(values)} for x, values in (("z", w), ("u", r)))
        return dr.lqr(model(a, b), weights=weights, input_weights=inputs, period=period).K

    plain = law(a, b, w, r, period)
    if period is None:
        p = scipy.linalg.solve_continuous_are(a, b, np.diag(w), np.diag(r))
        np.testing.assert_allclose(plain, np.linalg.solve(np.diag(r), b.T @ p), rtol=1e-9, atol=1e-10)
    scaled = law(s * a * d / d[:, None], s * b * e / d[:, None], c * w * d**2, c * r * e**2, period and period / s)
    np.testing.assert_allclose(scaled * e[:, None] / d, plain, rtol=1e-7, atol=1e-8 * np.abs(plain).max())


@pytest.mark.parametrize("period", [None, 0.1])
@pytest.mark.parametrize("seed", range(12))
def test_filters_follow_their_units(seed, period):
    """States in units d, measurements in units f, time in units 1/s, densities times c: L becomes s L f / d."""
    rng = np.random.default_rng(100 + seed)
    a, b, v, w = random_problem(rng)
    rows = rng.normal(size=(2, 3))
    d, f, c, s = scales(rng, 3), scales(rng, 2), float(scales(rng, 1, 18.0)[0]), float(scales(rng, 1, 5.0)[0])

    def gains(a, b, rows, sensors, noise, period):
        measured, moved = ({f"{x}{i}": float(n) for i, n in enumerate(values)} for x, values in (("y", sensors), ("u", noise)))
        return dr.control.kalman(model(a, b, rows), measured=measured, noise=moved, period=period).L

    plain = gains(a, b, rows, v[:2], w, period)
    unit = 1.0 if period else s  # a variance of samples, not a density
    scaled = gains(
        s * a * d / d[:, None],
        s * b / d[:, None],
        rows * d / f[:, None],
        c * v[:2] / f**2 / unit,
        c * w / s,
        period and period / s,
    )
    np.testing.assert_allclose(scaled * d[:, None] / f / unit, plain, rtol=1e-6, atol=1e-7 * np.abs(plain).max())


@pytest.mark.parametrize("seed", range(10))
def test_placed_poles_follow_their_units(seed):
    """The gain of a single input is unique: other units of states, input and time change only its units."""
    rng = np.random.default_rng(300 + seed)
    a, b, poles = rng.normal(size=(3, 3)), rng.normal(size=(3, 1)), np.array([-1.0, -2.0, -3.0])
    d, e, s = scales(rng, 3), scales(rng, 1), float(scales(rng, 1, 5.0)[0])
    plain = dr.control.pole_placement(model(a, b), poles=poles.tolist(), controls=["u0"]).K
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(a - b @ plain).real), np.sort(poles), rtol=1e-6)
    other = model(s * a * d / d[:, None], s * b * e / d[:, None])
    scaled = dr.control.pole_placement(other, poles=(s * poles).tolist(), controls=["u0"]).K
    np.testing.assert_allclose(scaled * e[:, None] / d, plain, rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_controllability_follows_its_units(seed):
    """A chain of integrators is controllable from its end, in any units; with a link cut it is not."""
    rng = np.random.default_rng(200 + seed)
    n = int(rng.integers(2, 6))
    d, s = scales(rng, n), float(scales(rng, 1)[0])
    a, b = s * np.diag(rng.uniform(0.3, 3.0, n - 1), 1) * d / d[:, None], np.zeros((n, 1))
    b[-1] = 1.0 / d[-1]
    assert model(a, b).controllability().complete
    assert model(a.T, b, np.eye(n)[-1:]).observability().complete
    cut = int(rng.integers(0, n - 1))
    a[cut, cut + 1] = 0.0
    found = model(a, b).controllability()
    assert found.rank == n - 1 - cut
    assert all(set(mode.combination) <= {f"z{i}" for i in range(cut + 1)} for mode in found.hidden)


def test_unit_scales_shift_with_the_units():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    d, e = scales(rng, 4), scales(rng, 2)
    one, other = unit_scales(a, b), unit_scales(a * d / d[:, None], b * e / d[:, None])
    first, second = np.concatenate(one), np.concatenate(other) * np.concatenate([d, e])
    np.testing.assert_allclose(second / second[0], first / first[0], rtol=1e-9)


def test_no_stabilizing_solution_is_an_error():
    """An undamped oscillator without cost, and a discrete integrator without one."""
    a, b = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[0.0], [1.0]])
    for solve, matrix in ((continuous_riccati, a), (discrete_riccati, np.array([[1.0, 0.1], [0.0, 1.0]]))):
        with pytest.raises(np.linalg.LinAlgError):
            solve(matrix, b, np.zeros((2, 2)), np.eye(1), np.zeros((2, 1)))


@pytest.mark.parametrize("seed", range(6))
def test_gains_of_several_inputs_follow_their_units(seed):
    """Poles are placed by two inputs in one of many ways: the same one in all units."""
    rng = np.random.default_rng(200 + seed)
    a, b, *_ = random_problem(rng, 4)
    d, e, s = scales(rng, 4, 6.0), scales(rng, 2, 6.0), float(scales(rng, 1, 5.0)[0])
    poles = np.array([-1.0, -2.0, -3.0 + 1.0j, -3.0 - 1.0j])

    def law(a, b, poles):
        return dr.control.pole_placement(model(a, b), poles=list(poles), controls=["u0", "u1"]).K

    plain = law(a, b, poles)
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(a - b @ plain)), np.sort_complex(poles), rtol=1e-8)
    scaled = law(s * a * d / d[:, None], s * b * e / d[:, None], s * poles)
    np.testing.assert_allclose(scaled * e[:, None] / d, plain, rtol=1e-6, atol=1e-7 * np.abs(plain).max())
