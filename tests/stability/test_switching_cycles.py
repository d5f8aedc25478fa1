"""Limit cycles across switches: Floquet multipliers in closed form, and by differences of the Poincaré map."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.optimize import brentq
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.simulation.run import integrate
from draisine.stability import limit_cycle, state_transition
from draisine.stability.periodic.shooting import factors, off_surfaces

u, v, x, y, z = sp.symbols("u v x y z")
t = dynamicsymbols._t
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


@pytest.fixture(scope="module")
def relay() -> tuple[object, float, np.ndarray, np.ndarray]:
    """A relay around 1/(s + 1)³: equations, period, state at the switch, multipliers (Åström, 1995, theorem 1)."""
    a, b, c = np.array([[-1.0, 0, 0], [1, -1, 0], [0, 1, -1]]), np.array([-1.0, 0, 0]), np.array([0, 0, 1.0])

    def switch(half: float) -> np.ndarray:  # −s = e^{ah} s + a⁻¹ (e^{ah} − 1) b
        e = expm(a * half)
        return -np.linalg.solve(np.eye(3) + e, np.linalg.solve(a, e - np.eye(3)) @ b)

    half = brentq(lambda h: c @ switch(h), 1.0, 3.0, xtol=1e-14)
    rate = a @ -switch(half) + b  # before the next switch
    jacobian = (np.eye(3) - np.outer(rate, c) / (c @ rate)) @ expm(a * half)
    multipliers = sorted(np.linalg.eigvals(jacobian).real ** 2, reverse=True)[:2]
    equations = dr.first_order("relay", {x: -x - sp.sign(z), y: x - y, z: y - z})
    return equations, 2 * half, switch(half), np.array(multipliers)


@pytest.mark.parametrize("how", ["settled", "from the switch", "phase at the switch"])
def test_relay(relay: tuple, how: str) -> None:
    equations, period, at, multipliers = relay
    if how == "settled":
        cycle = limit_cycle(equations, start={"x": 0.3, "y": 0.1}, settle=30.0)
    else:
        fixed = {"z": 0.0} if how == "phase at the switch" else None
        cycle = limit_cycle(equations, start=dict(zip("xyz", at, strict=True)), period=3.5, fixed=fixed)
        assert len(cycle.notes) == (fixed is not None)
    assert cycle.period == pytest.approx(period, abs=1e-9)
    assert_allclose(cycle.multipliers, multipliers, atol=1e-9)
    assert cycle.floquet.digits > 9


@pytest.mark.parametrize("nodes", [1, 2])
def test_stick_slip(nodes: int) -> None:
    """A block on a belt: sticking removes all deviations across the motion."""
    slip = v - sp.Rational(1, 2)
    belt = dr.first_order("belt", {u: v, v: -u - sp.sign(slip) / (1 + sp.Abs(slip))})
    cycle = limit_cycle(belt, start={"u": 1.2}, settle=40.0, nodes=nodes)
    assert_allclose(cycle.multipliers, 0.0, atol=1e-9)
    assert cycle.stable and cycle.floquet.digits > 9 and not cycle.notes
    assert len(factors(off_surfaces(cycle.shot))[0]) < 100  # a piece that sticks is singular however short it is


@pytest.mark.parametrize("seed", range(3))
def test_forced_oscillators(seed: int) -> None:
    """Monodromy matrices of forced oscillators with springs and friction that switch."""
    draw = np.random.default_rng(seed).uniform
    k, d, f, s = (float(draw(*r)) for r in ((2.0, 5.0), (0.2, 0.5), (0.2, 0.6), (-0.3, 0.3)))
    # the excitation is large enough that it never sticks
    force = -k * u - d * v - f * sp.sign(v + s * u) - sp.Piecewise((0.4, u > s), (0, True)) + 4 * sp.sin(t)
    equations = dr.first_order("forced", {u: v, v: force})
    cycle = limit_cycle(equations, start={"u": 0.1, "v": 1.0}, period=2 * np.pi, settle=20 * np.pi)
    begin = cycle.shot.nodes[0].x

    def after(change: np.ndarray) -> np.ndarray:
        return integrate(equations, begin + change, 2 * np.pi, method=TIGHT, samples=[2 * np.pi]).final_state

    expected = np.column_stack([(after(row) - after(-row)) / 2e-5 for row in 1e-5 * np.eye(2)])
    assert_allclose(cycle.monodromy, expected, atol=1e-6)
    transition = state_transition(equations, 2 * np.pi, start=dict(zip("uv", begin, strict=True)))
    assert_allclose(transition.matrix, expected, atol=1e-6)
