"""Stability does not depend on the units of states and time: no coupling is too small to count."""

import numpy as np
import pytest
import sympy as sp

import draisine as dr

x, v, y, a, k, t = sp.symbols("x v y a k t")


def scaled(name, matrix, scales, speed, parameters=None, offset=None):
    """ż = s D⁻¹ A D z about an equilibrium, as equations of first order."""
    states = sp.symbols(f"z0:{len(scales)}")
    offset = np.zeros(len(scales)) if offset is None else offset
    rates = {
        zi: sum(
            speed * matrix[i][j] * float(scales[j] / scales[i]) * (zj - float(offset[j]))
            for j, zj in enumerate(states)
            if matrix[i][j] != 0
        )
        + sp.Integer(0)
        for i, zi in enumerate(states)
    }
    return dr.first_order(name, rates, parameters=parameters or {})


def sorted_values(values):
    values = np.asarray(values, dtype=complex)
    return values[np.lexsort((values.imag.round(6), values.real.round(6)))]


def test_unstable_systems_in_small_units_are_unstable():
    """Coefficients of 1e-9 beside 1e9, and slow motions in seconds: eigenvalues by the quadratic formula."""
    units = dr.first_order("units", {x: 1e9 * v, v: a * 1e-9 * x - 0.2 * v}, parameters={a: 1.0})
    found = dr.modes(units, over={"a": np.array([1.0, 2.0])})
    for values, coupling in zip(found.eigenvalues, (1.0, 2.0), strict=True):
        np.testing.assert_allclose(np.sort(values.real), -0.1 + np.array([-1, 1]) * np.sqrt(0.01 + coupling), rtol=1e-12)
    assert not found.stable.any()
    slow = dr.first_order("slow", {x: v, v: k * x - 2e-6 * v}, parameters={k: 1e-10})
    swept = dr.modes(slow, over={"k": np.linspace(-1e-10, 1e-10, 11)})
    np.testing.assert_allclose(swept.eigenvalues[-1].real, -1e-6 + np.array([-1, 1]) * np.sqrt(1e-12 + 1e-10), rtol=1e-12)
    crossing = [c.value for c in swept.critical() if c.change]
    np.testing.assert_allclose(crossing, [0.0], atol=1e-24)
    swept_map = dr.stability.stability_map(
        dr.first_order("slow", {x: v, v: k * x - a * v}, parameters={k: 1e-10, a: 2e-6}),
        {"k": np.linspace(-0.95e-10, 1e-10, 20), "a": np.linspace(1e-6, 3e-6, 5)},
    )
    np.testing.assert_array_equal(swept_map.stable, np.repeat((np.linspace(-0.95e-10, 1e-10, 20) < 0)[:, None], 5, axis=1))


def test_equilibria_of_slow_and_heavy_systems():
    """k (x − 5) = 0 with k = 1e-10, and a mass of 2e12 kg on a spring of 200 N/m pulled by 1000 N: x = 5 m."""
    slow = dr.first_order("slow", {x: v, v: -1e-10 * (x - 5) - 1e-5 * v})
    found = dr.steady(slow, {})
    assert found.ignorable == ()
    np.testing.assert_allclose([found["x"], found["v"]], [5.0, 0.0], rtol=1e-9, atol=1e-15)
    heavy = dr.first_order("heavy", {x: v, v: (1000 - 200 * x - 1e6 * v) / sp.Float(2e12)})
    found = dr.steady(heavy, {})
    np.testing.assert_allclose([found["x"], found["v"]], [5.0, 0.0], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_eigenvalues_and_equilibria_follow_their_units(seed):
    """Random systems, sparse and with chains, in random units of states and time."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    matrix = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.6)
    np.fill_diagonal(matrix, rng.uniform(-1.0, 1.0, n))
    matrix += np.diag(rng.uniform(0.5, 1.5, n - 1), 1)
    scales, speed = 10.0 ** rng.uniform(-5, 5, n), float(10.0 ** rng.uniform(-6, 6))
    model = scaled("random", matrix, scales, speed)
    linear = dr.linearize(model, at={})
    assert linear.essential().states == linear.states
    expected = sorted_values(np.linalg.eigvals(matrix))
    np.testing.assert_allclose(sorted_values(linear.essential().eigenvalues / speed), expected, rtol=1e-6, atol=1e-8)
    level = rng.uniform(0.5, 2.0, n) / scales
    moved = dr.steady(scaled("moved", matrix, scales, speed, offset=level), {})
    np.testing.assert_allclose([moved[f"z{i}"] for i in range(n)] / level, 1.0, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_states_on_which_nothing_depends_are_left_out_in_any_units(seed):
    rng = np.random.default_rng(50 + seed)
    matrix = np.array([[0.0, 1.0, 0.0], [-1.0, -0.3, 0.0], [0.7, 0.0, 0.0]])  # z2 integrates z0
    scales, speed = 10.0 ** rng.uniform(-8, 8, 3), float(10.0 ** rng.uniform(-6, 6))
    essential = dr.linearize(scaled("integrator", matrix, scales, speed), at={}).essential()
    assert essential.states == ("z0", "z1") and set(essential.left_out) == {"z2"}


@pytest.mark.parametrize("speed", [1e-5, 1.0, 1e4])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
def test_limit_cycles_in_other_units(speed, size):
    """Van der Pol's oscillator with μ = 1: the period 6.66328685932 and the multiplier 8.597e-4 of the literature."""
    law = {x: v, v: speed * (1 - (x / size) ** 2) * v - speed**2 * x}
    found = dr.stability.limit_cycle(dr.first_order("slow", law), start={"x": 2.0 * size}, period=6.6 / speed)
    assert found.stable and found.ignorable == ()
    np.testing.assert_allclose(found.period * speed, 6.66328685932, rtol=1e-10)
    np.testing.assert_allclose(found.multipliers.real, [8.5969e-4], rtol=1e-4)
    np.testing.assert_allclose(found.amplitude("x") / size, 2.00862, rtol=1e-5)


@pytest.mark.parametrize(
    ("law", "period"),
    [
        ({x: -x + sp.exp(-t)}, 1.0),
        ({x: -x + sp.cos(t) + sp.cos(sp.sqrt(2) * t)}, 2 * np.pi),
        ({x: v, v: -0.2 * v - x - x**3 + 0.3 * sp.cos(t)}, np.pi),
        ({x: v, v: -0.2 * v - x - x**3 + 0.3 * sp.cos(t)}, 3 * np.pi),
        ({x: -x * (1 + 0.5 * sp.cos(t)) + 1}, np.pi),
    ],
)
def test_a_period_after_which_the_equations_differ_is_refused(law, period):
    with pytest.raises(ValueError, match="the equations are not the same after period"):
        dr.stability.limit_cycle(dr.first_order("forced", law), start={"x": 0.5}, period=period)


def test_periods_of_the_equations_are_accepted():
    """The period and its multiple; one with few digits is noted. The mean of x + ẋ = cos t is zero."""
    law = dr.first_order("forced", {x: -x + sp.cos(t)})
    for period in (2 * np.pi, 4 * np.pi):
        found = dr.stability.limit_cycle(law, start={"x": 0.5}, period=period)
        assert found.notes == ()
        np.testing.assert_allclose(found.values["x"], 0.5, rtol=1e-9)
        np.testing.assert_allclose(found.multipliers.real, np.exp(-period), rtol=1e-8)
    assert "give it with all digits" in dr.stability.limit_cycle(law, start={"x": 0.5}, period=6.2832).notes[0]


def heavy_mechanism(damping):
    m = dr.Model("heavy")
    m.gravity(0.0)
    m.prismatic("x", "ground", "block", axis="x")
    m.body("block", mass=2e12, inertia=(1.0, 1.0, 1.0))
    m.spring("x", 200.0, damping=damping)
    m.generalized_force("x", m.input("pull", "N"))
    return m


def test_a_heavy_mechanism_on_a_soft_spring():
    """In SI units: the equilibrium F/k, and ±1e-5 i without a damper, ω = √(k/m)."""
    found = dr.steady(heavy_mechanism(1e6), {"pull": 1000.0})
    np.testing.assert_allclose(found["x"], 5.0, rtol=1e-9)
    free = dr.modes(heavy_mechanism(0.0), over={"pull": np.array([0.0, 1000.0, 2000.0])})
    np.testing.assert_allclose(np.sort(free.eigenvalues.imag, axis=1), np.tile([-1e-5, 1e-5], (3, 1)), rtol=1e-9)


def test_a_slow_instability_beside_a_fast_decay():
    """Eigenvalues −1e6 and about 1e-8, whose sign is that of the determinant, exactly known."""
    mixed = dr.first_order("mixed", {x: -1e6 * x + a * y, y: 1e-8 * y - 1e-9 * x}, parameters={a: 1.0})
    found = dr.modes(mixed, over={"a": np.array([1.0, 2.0])})
    assert not found.stable.any()
    np.testing.assert_allclose(found.eigenvalues.real.max(axis=1), [1e-8 - 1e-15, 1e-8 - 2e-15], rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_slow_modes_beside_fast_ones_against_many_digits(seed):
    """Random graded matrices: signs of all eigenvalues as with 60 digits."""
    import mpmath

    from draisine.numerics.spectrum import Spectrum

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    matrix = 10.0 ** rng.uniform(-8, 8, n)[:, None] * rng.normal(size=(n, n))
    found = Spectrum.of(matrix[None])
    with mpmath.workdps(60):
        exact = np.array([complex(z) for z in mpmath.eig(mpmath.matrix(matrix.tolist()), left=False, right=False)])
    assert int(found.growing.sum()) <= int((exact.real > 0).sum())
    assert int(found.decaying.sum()) <= int((exact.real < 0).sum())
    order = np.argsort(np.abs(exact[:, None] - found.values), axis=0)[0]
    assert (np.abs(exact[order] - found.values[0]) <= found.errors[0] + 1e-12 * np.abs(exact[order])).all()
