"""A skateboard: both trucks turn with its lean, and the rider stands upright at speed. Closed form of its only critical speed.

Straight ahead at speed v, the trucks at ±a steer by ±κ θ: no lateral velocity, yaw rate v κ θ/a. The lean θ of a rider with his
center of mass at height h on a board with spring k satisfies (m h² + J) θ̈ + (k − m g h + m h κ v²/a) θ = 0, without damping.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr

G = 9.81


def skateboard(m: float, h: float, j: float, a: float, kappa: float, k: float) -> dr.Equations:
    x, y, yaw, lean = dynamicsymbols("x y yaw lean")
    side = h * sp.sin(lean)
    position = sp.Matrix([x - side * sp.sin(yaw), y + side * sp.cos(yaw), h * sp.cos(lean)])
    velocity = position.diff(dynamicsymbols._t)
    kinetic = m * velocity.dot(velocity) / 2 + j * lean.diff() ** 2 / 2 + 0.1 * yaw.diff() ** 2
    trucks = {}
    for name, sign in (("front", 1), ("rear", -1)):
        turned = yaw + sign * kappa * lean
        vx, vy = x.diff() - sign * a * sp.sin(yaw) * yaw.diff(), y.diff() + sign * a * sp.cos(yaw) * yaw.diff()
        trucks[name] = -vx * sp.sin(turned) + vy * sp.cos(turned)
    potential = m * G * h * sp.cos(lean) + k * lean**2 / 2
    return dr.lagrangian("skateboard", [x, y, yaw, lean], kinetic=kinetic, potential=potential, nonholonomic=trucks)


@pytest.mark.parametrize("seed", range(3))
def test_one_critical_speed_and_neutral_oscillations_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, h, j, a, kappa = (float(rng.uniform(*r)) for r in ((40, 90), (0.7, 1.1), (0.5, 5), (0.2, 0.5), (0.2, 0.8)))
    k = float(rng.uniform(0.2, 0.9)) * m * G * h
    critical = np.sqrt((m * G * h - k) * a / (m * h * kappa))
    speeds = np.linspace(0.05, 3.0, 60) * critical
    found = dr.modes(skateboard(m, h, j, a, kappa, k), x_rate=speeds, states=("lean",))
    (only,) = found.critical()
    assert only.value == pytest.approx(critical, rel=1e-9)
    assert only.change == -1
    above = found.values > 1.01 * critical
    exact = np.sqrt((k - m * G * h + m * h * kappa * found.values[above] ** 2 / a) / (m * h**2 + j))
    np.testing.assert_allclose(np.abs(found.eigenvalues[above].imag).max(axis=1), exact, rtol=1e-9)
    np.testing.assert_array_equal(found.eigenvalues[above].real, 0.0)
