"""Equations that depend on time itself have no steady motion and no linear model: they are refused, or treated as periodic."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import draisine as dr

a, b, u, t, k = sp.symbols("a b u t k")


def driven(amplitude: float = 20.0) -> dr.Equations:
    rates = {a: b, b: (1 - amplitude * sp.sin(3 * t)) * a - b + u}
    return dr.first_order("driven", rates, inputs=[u], outputs={"seen": a})


def calls(model: dr.Equations) -> dict[str, object]:
    return {
        "linearize": lambda: dr.linearize(model),
        "steady": lambda: dr.steady(model),
        "modes": lambda: dr.modes(model, u=[0.0, 1.0]),
        "lqr": lambda: dr.lqr(model, weights={"a": 1.0}, input_weights={"u": 1.0}),
        "pole_placement": lambda: dr.control.pole_placement(model, poles=[-1.0, -2.0], controls=["u"]),
        "kalman": lambda: dr.control.kalman(model, measured={"seen": 1.0}, noise={"u": 1.0}),
    }


@pytest.mark.parametrize("name", calls(driven()))
def test_refused_by_every_analysis(name: str) -> None:
    with pytest.raises(dr.errors.ModelError, match=r"driven depends on time itself.*limit_cycle\(model, period"):
        calls(driven())[name]()


def test_a_stiffness_of_time_is_not_frozen() -> None:
    """Through a mechanism with a spring whose stiffness varies, as ẋ = f and as a descriptor system."""
    m = dr.Model("shaken")
    m.body("bob", mass=1.0)
    m.prismatic("x", "ground", "bob", axis="x")
    m.generalized_force("x", "-(2 + sin(t))*x")
    with pytest.raises(dr.errors.ModelError, match="shaken depends on time itself"):
        dr.linearize(m)
    with pytest.raises(dr.errors.ModelError, match=r"shaken.* depends on time itself"):
        dr.stability.descriptor(m)


def test_what_is_wholly_prescribed_is_said() -> None:
    """The legs of a Stewart platform leave it no freedom: its state at t = 0 is said to be that."""
    found = dr.steady(dr.gallery.stewart_platform())
    assert "prescribed in time, and this is its state at t = 0" in str(found)
    assert not dr.steady(dr.gallery.stewart_platform(), parameters={"stroke": 0.0}).warnings


def test_time_without_effect_is_no_reason() -> None:
    """sin² t + cos² t, and a table of rates that multiplies zero at this state only to all orders."""
    calm = dr.first_order("calm", {a: b, b: -4 * a * (sp.sin(t) ** 2 + sp.cos(t) ** 2) - b})
    np.testing.assert_allclose(dr.linearize(calm).A, [[0.0, 1.0], [-4.0, -1.0]], atol=1e-12)
    assert dr.steady(calm)["a"] == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_random_excitations(seed: int) -> None:
    """Any dependence on time is noticed: forces, stiffnesses, gains of inputs; the same equations without it are linearized."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    states = sp.symbols(f"z0:{n}")
    matrix = rng.integers(-3, 4, (n, n))
    plain = {s: sum(int(c) * z for c, z in zip(row, states, strict=True)) for s, row in zip(states, matrix, strict=True)}
    plain[states[-1]] += u
    linear = dr.linearize(dr.first_order("plain", plain, inputs=[u]))
    np.testing.assert_allclose(linear.A, matrix, atol=1e-12)
    wave = [sp.sin, sp.cos, lambda x: sp.exp(-x), lambda x: x][seed % 4](float(rng.uniform(0.1, 9.0)) * t)
    extra = [wave, wave * states[0], wave * u, wave * states[0] ** 2 + wave * states[-1]][seed // 2 % 4]
    moved = dict(plain)
    moved[states[0]] = moved[states[0]] + extra
    with pytest.raises(dr.errors.ModelError, match="depends on time itself"):
        dr.linearize(dr.first_order("moved", moved, inputs=[u]))


def test_mathieu_is_periodic() -> None:
    """The cure that the message names: z̈ + (δ + ε cos t) z = 0 at a known characteristic value has a multiplier of modulus
    one."""
    from scipy.special import mathieu_a

    x, v = sp.symbols("x v")
    q = 0.4
    rates = {x: v, v: -(float(mathieu_a(1, q)) / 4 - q / 2 * sp.cos(t)) * x}
    cycle = dr.stability.limit_cycle(dr.first_order("mathieu", rates, start={x: 0.0}), period=2 * math.pi)
    assert np.sort(cycle.multipliers.real) == pytest.approx([-1.0, -1.0], abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_pulses_and_steps_are_no_steady_equations(seed: int) -> None:
    """A force or a stiffness that is zero at almost any instant: a pulse of any width, a step, a window, a late ramp."""
    rng = np.random.default_rng(seed)
    at, width = float(10 ** (rng.uniform(0, 2.5) if seed < 8 else rng.uniform(3, 8))), float(10 ** rng.uniform(-3, 0))
    what = [
        sp.exp(-(((t - at) / width) ** 2)),
        sp.Piecewise((0, t < at), (1, True)),
        sp.Piecewise((0, t < at), (1, t < at + width), (0, True)),
        sp.Max(0, t - at),
    ][seed % 4]
    rates = {a: b, b: -a - b + u + what * (a if seed < 4 else 1)}
    model = dr.first_order("late", rates, inputs=[u], outputs={"seen": a})
    for call in calls(model).values():
        with pytest.raises(dr.errors.ModelError, match="late depends on time itself"):
            call()


@pytest.mark.parametrize("speed", [0.1, 30.0])
def test_late_rounding_is_no_effect_of_time(speed: float) -> None:
    """(a + v t)/3·3 − v t − a is rounding error, 1e-7 of it at the time of a pulse that is multiplied by zero."""
    third, three, none = sp.symbols("third three none")
    rest = (a + speed * t) * third * three - speed * t
    rates = {a: b, b: 5 - rest - b + none * sp.exp(-((t - 1e8) ** 2))}
    model = dr.first_order("rounded", rates, parameters={third: 1 / 3, three: 3.0, none: 0.0}, start={a: 5.0})
    np.testing.assert_allclose(dr.linearize(model, at={"a": 5.0}).A, [[0.0, 1.0], [-1.0, -1.0]], atol=1e-12)
    with pytest.raises(dr.errors.ModelError, match="depends on time itself"):
        dr.linearize(model, at={"a": 5.0}, parameters={"none": 1.0})
