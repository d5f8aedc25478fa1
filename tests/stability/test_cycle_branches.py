"""Special points of branches of periodic motions against closed forms, whatever the step lengths are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import mathieu_a, mathieu_b

import draisine as dr

x, v, y, w, p, t = sp.symbols("x v y w p t")


@pytest.mark.parametrize("largest", [0.02, 0.05, 0.2, 0.5, 1.0])
def test_a_fold_does_not_depend_on_steps(largest: float) -> None:
    """ṙ = r (p + 2 r² − r⁴): cycles r² = 1 ± √(1 + p), which meet at p = −1."""
    square = x * x + v * v
    radial = p + 2 * square - square**2
    model = dr.first_order("bautin", {x: x * radial - 2 * v, v: v * radial + 2 * x}, parameters={p: 0.1})
    cycle = dr.stability.limit_cycle(model, start={"x": math.sqrt(1 + math.sqrt(1.1))}, period=math.pi)
    branch = dr.stability.follow_cycle(cycle, "p", -2.0, largest=largest, most=200)
    assert [point.kind for point in branch.special] == ["fold"]
    assert branch.special[0].value == pytest.approx(-1.0, abs=1e-10) and branch.folds == (branch.special[0].value,)


@pytest.mark.parametrize("seed", range(12))
def test_random_folds(seed: int) -> None:
    """ṙ = k r (p − a + 2 b r² − r⁴), with a coordinate beside it: r² = b ± √(b² + p − a), a fold at p = a − b²."""
    rng = np.random.default_rng(seed)
    a, b, k, w = rng.uniform(-3, 3), rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5), rng.uniform(1.0, 4.0)
    size, d, first = 10.0 ** rng.uniform(-4, 4), rng.uniform(0.1, 0.5), a + rng.uniform(-0.5, 0.5) * b**2
    square = (x * x + v * v) / size**2
    radial = k * (p - a + 2 * b * square - square**2)
    rates = {x: x * radial - w * v, v: v * radial + w * x, y: -d * y + (square - b)}
    model = dr.first_order("bautin", rates, parameters={p: first})
    outer = b + math.sqrt(b * b + first - a)
    cycle = dr.stability.limit_cycle(model, start={"x": size * math.sqrt(outer), "y": (outer - b) / d}, period=2 * math.pi / w)
    branch = dr.stability.follow_cycle(cycle, "p", float(a - 2 * b * b), largest=float(rng.uniform(0.05, 0.4)), most=200)
    assert [point.kind for point in branch.special] == ["fold"]
    assert branch.special[0].value == pytest.approx(a - b * b, abs=1e-8 * b * b)


def crossings(c: float, q: float) -> dict[str, list[float]]:
    """Of ẍ = −c ẋ − (p − 2 q cos 2t) x over 2 < p < 6: where a multiplier is +1 or −1, by SciPy."""

    def test(value: float, at: float) -> float:
        def rates(s: float, z: np.ndarray) -> list[float]:
            k = value - 2 * q * math.cos(2 * s)
            return [z[1], -c * z[1] - k * z[0], z[3], -c * z[3] - k * z[2]]

        end = solve_ivp(rates, (0, math.pi), [1, 0, 0, 1], rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]
        return float((end[0] - at) * (end[3] - at) - end[1] * end[2])

    grid, found = np.linspace(2.0, 6.0, 201), {}
    for kind, at in (("branch point", 1.0), ("period doubling", -1.0)):
        values = [test(value, at) for value in grid]
        between = [i for i in range(200) if values[i] * values[i + 1] < 0]
        found[kind] = [float(brentq(test, grid[i], grid[i + 1], (at,), xtol=1e-12)) for i in between]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_forced_motion_at_rest_is_followed(seed: int) -> None:
    """The damped Mathieu equation with a cubic term, x ≡ 0: crossings of its multipliers, also two within one step."""
    rng = np.random.default_rng(seed)
    c, q = float(rng.uniform(0.01, 0.05)), float(rng.uniform(0.7, 1.5))
    rates: dict[Any, Any] = {x: v, v: -c * v - (p - 2 * q * sp.cos(2 * t)) * x - x**3}
    model = dr.first_order("mathieu", rates, parameters={p: 2.0})
    cycle = dr.stability.limit_cycle(model, start={}, period=math.pi)
    branch = dr.stability.follow_cycle(cycle, "p", 6.0)
    assert branch.values[-1] == 6.0 and len(branch.cycles) < 30
    for kind, expected in crossings(c, q).items():
        found = [point.value for point in branch.special if point.kind == kind]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_windows_of_instability_anywhere_in_the_range(seed: int) -> None:
    """Mathieu's equation: its characteristic values, by SciPy, also where two lie in the last step; of two equal parts, twice."""
    rng = np.random.default_rng(seed)
    q, low = float(rng.uniform(0.5, 4.0)), float(rng.uniform(-1.0, 8.0))
    exact = sorted(
        (float(f(n, q)), "period doubling" if n % 2 else "branch point")
        for n in range(7)
        for f in (mathieu_a, mathieu_b)
        if n or f is mathieu_a
    )
    last = [value for value, _ in exact if value > low + 3.0]
    high = last[1] + 0.3 if seed % 2 else low + float(rng.uniform(3.0, 14.0))  # behind the window
    expected = [pair for pair in exact if low < pair[0] < high]
    stiffness, copies = p - 2 * q * sp.cos(2 * t), 1 + seed // 2
    rates: dict[Any, Any] = {x: v, v: -stiffness * x}
    if copies == 2:
        rates |= {y: w, w: -stiffness * y}
    model = dr.first_order("mathieu", rates, parameters={p: low})
    cycle = dr.stability.limit_cycle(model, start={}, period=math.pi)
    found = sorted((point.value, point.kind) for point in dr.stability.follow_cycle(cycle, "p", high).special)
    assert [kind for _, kind in found] == [kind for _, kind in expected for _ in range(copies)]
    np.testing.assert_allclose(
        [value for value, _ in found], np.repeat([value for value, _ in expected], copies), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("rates", [(1.0, 1.0), (1.0, 0.7), (2.0, 2.0, 2.0)])
def test_multipliers_that_pass_one_together(rates: tuple[float, ...]) -> None:
    """ẋ = k (p + cos 2t) x − x³ for each part: all multipliers exp(k π p) pass +1 at p = 0."""
    parts = sp.symbols(f"x:{len(rates)}")
    model = dr.first_order(
        "parts", {z: k * (p + sp.cos(2 * t)) * z - z**3 for z, k in zip(parts, rates, strict=True)}, parameters={p: -0.53}
    )
    cycle = dr.stability.limit_cycle(model, start={}, period=math.pi)
    special = dr.stability.follow_cycle(cycle, "p", 0.6).special
    assert [point.kind for point in special] == ["branch point"] * len(rates)
    np.testing.assert_allclose([point.value for point in special], 0.0, atol=1e-7)


def mathieu_parts(stiffnesses: list[Any], first: float, seed: int) -> dr.Equations:
    """Mathieu's equation with q = 1 for each part, in mixed coordinates."""
    n = len(stiffnesses)
    mix = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    places, speeds = sp.symbols(f"x:{n}"), sp.symbols(f"v:{n}")
    rates: dict[Any, Any] = dict(zip(places, speeds, strict=True))
    for i in range(n):
        row = [sum(float(mix[i, k] * mix[j, k]) * (s - 2 * sp.cos(2 * t)) for k, s in enumerate(stiffnesses)) for j in range(n)]
        rates[speeds[i]] = -sum(k * z for k, z in zip(row, places, strict=True))
    return dr.first_order("parts", rates, parameters={p: first})


def special_points(model: dr.Equations, last: float, period: float = math.pi, **start: float) -> list[tuple[float, str]]:
    cycle = dr.stability.limit_cycle(model, start=start, period=period)
    return sorted((point.value, point.kind) for point in dr.stability.follow_cycle(cycle, "p", last).special)


@pytest.mark.parametrize("shift", [1e-3, 1e-5, 1e-6, 3e-7, 1e-8, 0.0])
def test_multipliers_of_nearly_equal_parts(shift: float) -> None:
    """Two parts, the characteristic values of one moved a little."""
    found = special_points(mathieu_parts([p, p + shift], 3.5, 3), 4.7)
    exact = [float(value) - s for value in (mathieu_b(2, 1.0), mathieu_a(2, 1.0)) for s in (shift, 0.0)]
    assert [kind for _, kind in found] == ["branch point"] * 4
    np.testing.assert_allclose([value for value, _ in found], exact, rtol=0, atol=2e-9)


@pytest.mark.parametrize("shift", [0.01, 0.05, 1e-5])
def test_two_windows_within_a_step(shift: float) -> None:
    """Instability between b₃ = 9.0477 and a₃ = 9.0784 in one part, and a little earlier in the other: windows that overlap, or
    follow each other."""
    found = special_points(mathieu_parts([p, p + shift], 8.5, 3), 10.0)
    exact = sorted(float(f(3, 1.0)) - s for f in (mathieu_a, mathieu_b) for s in (shift, 0.0))
    np.testing.assert_allclose([value for value, _ in found], exact, rtol=0, atol=2e-9)


@pytest.mark.parametrize("shift", [1e-2, 1e-6, 0.0])
def test_one_part_becomes_stable_where_another_ceases_to_be(shift: float) -> None:
    """In the second part the parameter has the opposite sign."""
    edge = float(mathieu_a(1, 1.0))
    found = special_points(mathieu_parts([p, 2 * edge + shift - p], 1.0, 3), 2.9)
    assert [kind for _, kind in found] == ["period doubling"] * 2
    np.testing.assert_allclose([value - edge for value, _ in found], [0.0, shift], rtol=0, atol=2e-9)


@pytest.mark.parametrize(
    ("parts", "exact"),
    [
        ([(p, 0.3), (p, 0.3)], [0.0, 0.0]),
        ([(p, 0.3), (-p, 0.4)], [0.0, 0.0]),
        ([(p, 0.3), (-p, 0.3)], [0.0, 0.0]),
        ([(p, 0.3), (p - 1e-5, 0.3)], [0.0, 1e-5]),
        ([(p, 0.3), (p - 1e-7, 0.3)], [0.0, 1e-7]),
        ([(p, 0.3), (1e-5 - p, 0.4)], [0.0, 1e-5]),
        ([(-(p**2), 0.3)], []),
        ([(1e-6 - p**2, 0.3), (p - 0.2, 0.4)], [-1e-3, 1e-3, 0.2]),
    ],
)
def test_tori_at_one_value_or_next_to_each_other(parts: list[tuple[Any, float]], exact: list[float]) -> None:
    """Oscillators of growth rate f(p) beside a cycle, in mixed coordinates: multipliers exp(2π (f ± iω))."""
    n = 2 * len(parts)
    matrix = sp.diag(*[sp.Matrix([[growth, -rate], [rate, growth]]) for growth, rate in parts])
    mix = sp.Matrix(np.linalg.qr(np.random.default_rng(1).normal(size=(n, n)))[0])
    beside = sp.Matrix(sp.symbols(f"u:{n}"))
    radial = 1 - x * x - v * v
    rates = dict(zip(beside, mix * matrix * mix.T * beside, strict=True)) | {x: x * radial - v, v: v * radial + x}
    found = special_points(dr.first_order("beside", rates, parameters={p: -0.3}), 0.5, 2 * math.pi, x=1.0)
    assert [kind for _, kind in found] == ["torus"] * len(exact)
    np.testing.assert_allclose([value for value, _ in found], exact, rtol=0, atol=1e-9)
