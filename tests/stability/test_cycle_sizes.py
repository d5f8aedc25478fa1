"""Periodic motions beside coordinates that vanish or are constant on them, in any units: random systems with closed forms."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.errors import SolverError
from draisine.results.status import Ending
from draisine.stability.periodic import flow

x, v, y, t = sp.symbols("x v y t")
VAN_DER_POL = {x: v, v: (1 - x**2) * v - x}
PERIOD, AMPLITUDE, MULTIPLIER = 6.66328685932313, 2.0086198608748431, math.exp(-1.059376994841854892700404 * 6.66328685932313)


def hopf(seed: int) -> tuple[Any, dict[str, float], float, np.ndarray, np.random.Generator]:
    """ṙ = k r (R² − r²) with the frequency w, beside coordinates that decay or grow alone, to zero or to a constant, driven by
    the radius, or driven by an oscillating coordinate; sizes of 1e-6 to 1e6, slow or fast. The model, a start near the cycle,
    its period and its multipliers."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    k, radius, w = rng.choice([-1, 1]) * rng.uniform(0.02, 0.15), rng.uniform(0.7, 1.6), rng.uniform(1.5, 4.0)
    sizes = 10.0 ** rng.uniform(-6, 6, 2 + count)
    speed, off = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-10, -1)
    a, b = x / sizes[0], v / sizes[1]
    square = a * a + b * b
    rates = {
        x: speed * sizes[0] * (k * a * (radius**2 - square) - w * b),
        v: speed * sizes[1] * (k * b * (radius**2 - square) + w * a),
    }
    start = {"x": sizes[0] * radius * (1 + off * rng.normal()), "v": sizes[1] * radius * off * rng.normal()}
    multipliers = [math.exp(-2 * k * radius**2 * 2 * math.pi / w)]
    for i, size in enumerate(sizes[2:]):
        own, d, at = sp.Symbol(f"y{i}"), rng.choice([-1, 1]) * rng.uniform(0.02, 0.6), 0.0
        kind, strength = rng.choice(["alone", "constant", "radius", "oscillates"]), rng.uniform(0.3, 3.0)
        if kind == "constant":
            at = rng.uniform(-2.0, 2.0)
        law = -d * (own / size - at)
        if kind == "radius":
            law += strength * (square - radius**2)
        if kind == "oscillates":  # ẏ = −d y + s R cos wt
            law, at = -d * own / size + strength * a, (strength * radius / complex(d, w)).real
        rates[own] = speed * size * law
        start[f"y{i}"] = size * (at + rng.choice([off * rng.normal(), 1e-3, 0.1, -1.0]))
        multipliers.append(math.exp(-d * 2 * math.pi / w))
    model = dr.first_order("hopf", rates)
    values = {name: float(value) for name, value in start.items()}
    return model, values, 2 * math.pi / w / speed, np.sort(multipliers), rng


@pytest.mark.parametrize("seed", range(60))
def test_hopf_beside_other_coordinates(seed: int) -> None:
    model, start, period, multipliers, rng = hopf(seed)
    guess = float(period * rng.choice([1, 1, 1, 2, 3]) * (1 + rng.choice([0.0, 1e-4, 1e-2, -1e-2, 0.03])))
    found = dr.stability.limit_cycle(model, start=start, period=guess)
    assert found.period == pytest.approx(period, rel=1e-9)
    apart = np.abs(np.sort(found.multipliers.real) - multipliers).max() / multipliers.max()
    assert apart < 1e-8 and apart < 10.0 * 10.0**-found.floquet.digits  # as many digits as it says
    assert len(found.notes) == (guess > 1.5 * period)
    assert found.floquet.digits > 10


@pytest.mark.parametrize("start", [1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_a_transient_is_removed(start: float, at: float) -> None:
    """ẏ = (at − y)/5 beside van der Pol's oscillator: one Newton step, however large the transient is."""
    model = dr.first_order("beside", VAN_DER_POL | {y: (at - y) / 5})
    found = dr.stability.limit_cycle(model, start={"x": AMPLITUDE, "v": 0.0, "y": at + start}, period=PERIOD)
    assert found.period == pytest.approx(PERIOD, rel=1e-10)
    np.testing.assert_allclose(found.multipliers.real, [math.exp(-PERIOD / 5), MULTIPLIER], rtol=1e-6)
    assert found.values["y"] == pytest.approx(at, abs=1e-9 * start + 1e-12)


@pytest.mark.parametrize("settle", [30.0, 45.0, 60.0, 100.0])
def test_settled_beside_a_transient(settle: float) -> None:
    """In bounded time, with the least period."""
    model = dr.first_order("beside", VAN_DER_POL | {y: -y / 5})
    begun = time.process_time()
    found = dr.stability.limit_cycle(model, start={"x": 2.0, "v": 0.0, "y": 0.1}, settle=settle)
    assert time.process_time() - begun < 100.0
    assert found.period == pytest.approx(PERIOD, rel=1e-10) and found.stable
    np.testing.assert_allclose(found.multipliers.real, [math.exp(-PERIOD / 5), MULTIPLIER], rtol=1e-6)


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1])
def test_multipliers_near_each_other(off: float) -> None:
    """y is driven by the radius, with nearly its multiplier: exp(−2 k R² T) and exp(−d T)."""
    k, radius, w, d = -0.08, 1.3, 3.0, -0.27
    rate = k * (radius**2 - x * x - v * v)
    model = dr.first_order("radial", {x: rate * x - w * v, v: rate * v + w * x, y: -d * y + (x * x + v * v - radius**2) / 2})
    found = dr.stability.limit_cycle(model, start={"x": radius + off, "v": 0.0, "y": off}, period=2 * math.pi / w)
    expected = np.exp(-2 * math.pi / w * np.array([2 * k * radius**2, d]))
    np.testing.assert_allclose(np.sort(found.multipliers.real), np.sort(expected), rtol=1e-8)


@pytest.mark.parametrize(("guess", "times"), [(6.6, 1), (13.3, 2), (20.0, 3), (26.7, 4), (33.0, 5), (40.0, 6)])
def test_the_least_period(guess: float, times: int) -> None:
    found = dr.stability.limit_cycle(dr.first_order("van_der_pol", VAN_DER_POL), start={"x": 2.0}, period=guess)
    assert found.period == pytest.approx(PERIOD, rel=1e-10)
    assert found.notes == (
        () if times == 1 else (f"the guess of the period led to {times} periods of this motion; this is its least one",)
    )


def test_a_doubled_period_is_the_least_one() -> None:
    """Rössler's system beyond its period doubling: the motion returns after two turns, not after one."""
    z = sp.Symbol("z")
    model = dr.first_order("roessler", {x: -y - z, y: x + y / 5, z: sp.Rational(1, 5) + z * (x - sp.Rational(7, 2))})
    found = dr.stability.limit_cycle(model, start={"x": 3.0, "y": 0.0, "z": 0.1}, settle=400.0)
    assert found.stable and 11.0 < found.period < 13.0 and found.notes == ()


@pytest.mark.parametrize("seed", range(8))
def test_conservative_systems(seed: int) -> None:
    """One of the family is found, with the period of its energy; a note tells how to select one."""
    rng = np.random.default_rng(seed)
    stiffness, amplitude = float(rng.uniform(0.2, 5.0)), float(rng.uniform(0.5, 2.0))
    linear = dr.first_order("linear", {x: v, v: -stiffness * x})
    exact = 2 * math.pi / math.sqrt(stiffness)
    found = dr.stability.limit_cycle(linear, start={"x": amplitude}, period=exact * rng.uniform(0.9, 1.1))
    assert found.period == pytest.approx(exact, rel=1e-9) and found.amplitude("x") > 0.5 * amplitude
    assert found.stable is None and "fixed={" in found.notes[-1]
    selected = dr.stability.limit_cycle(linear, start={"x": amplitude}, period=1.05 * exact, fixed={"x": amplitude})
    assert selected.period == pytest.approx(exact, rel=1e-9) and selected.notes == ()


def test_an_equilibrium_names_the_cure() -> None:
    hard = dr.first_order("hard", {x: v, v: -0.5 * v - x})
    with pytest.raises(SolverError, match=r"in an equilibrium.*fixed=\{'x': …\}"):
        dr.stability.limit_cycle(hard, start={"x": 0.01}, period=6.3)


@pytest.mark.parametrize("seed", range(6))
def test_coordinates_matter_at_other_times(seed: int) -> None:
    """ẍ = −c ẋ − (1 − cos(n t)) k x: at t = 0 nothing depends on x. The product of the multipliers is exp(−c T)."""
    rng = np.random.default_rng(seed)
    c, k, n = float(rng.uniform(0.05, 0.3)), float(rng.uniform(0.5, 3.0)), int(rng.integers(1, 5))
    model = dr.first_order("parametric", {x: v, v: -c * v - k * (1 - sp.cos(n * t)) * x - x**3})
    found = dr.stability.limit_cycle(model, start={}, period=2 * math.pi)
    assert found.ignorable == () and len(found.multipliers) == 2
    assert np.prod(found.multipliers).real == pytest.approx(math.exp(-2 * math.pi * c), rel=1e-8)


def test_an_interruption_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that the user interrupts is no failed step."""
    model = dr.first_order("van_der_pol", VAN_DER_POL)
    ran = flow.integrate_varied
    calls = []

    def interrupted(*given: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            return ran(*given, **options)
        return SimpleNamespace(run=SimpleNamespace(status=SimpleNamespace(kind=Ending.INTERRUPTED)))

    monkeypatch.setattr(flow, "integrate_varied", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dr.stability.limit_cycle(model, start={"x": 1.5}, period=6.0)
    assert len(calls) == 3
