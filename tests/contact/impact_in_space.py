"""The impact of one contact in space along the impulse, for tests: slip in polar coordinates, integrated by SciPy.

The normal impulse p is the time (Keller, Bhatt & Koechling): with the slip s (cos θ, sin θ) and the force −μ (cos θ, sin θ) per
normal one, dp = s dτ makes the equations smooth up to the end of the slip, s' = s f(θ), θ' = g(θ), which takes τ → ∞. From then
on the contact sticks, or slips along the direction with g = 0 and f > 0.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

Array = NDArray[Any]
STOPPED = 1e-13  # slip, relative to that before
LONGEST = 1e4  # τ, by far


def compliance_of_point(mass: float, inertia: Array, arm: Array) -> Array:
    """Velocities of a point of a free body by unit impulses there: 1/m + [r]ᵀ J⁻¹ [r], in the axes x, y, z of `inertia`."""
    cross = np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])
    return np.asarray(np.eye(3) / mass + cross.T @ np.linalg.solve(inertia, cross))


def impact(compliance: Array, before: Array, friction: float, restitution: float, law: str) -> Array:
    """Impulses along x, y and the normal z of one contact that approaches with the velocity `before`."""
    first = float(np.linalg.norm(before))
    state = np.array([*before, 0.0, 0.0, 0.0, 0.0])  # velocity, impulse, work of the normal impulse
    state = _phase(compliance, state, friction, lambda y: float(y[2]), first)
    if restitution > 0.0:
        goals = {
            "energetic": lambda y: float(y[6] - (1 - restitution**2) * work),
            "poisson": lambda y: float(y[5] - (1 + restitution) * impulse),
            "newton": lambda y: float(y[2] + restitution * before[2]),
        }
        work, impulse = state[6], state[5]
        state = _phase(compliance, state, friction, goals[law], first)
    return np.asarray(state[3:6])


def _phase(G: Array, state: Array, mu: float, left: Any, first: float) -> Array:
    """Follow the impulse until `left` vanishes, from below; `first` is the velocity before the impact."""
    if np.hypot(*state[:2]) > STOPPED * first:

        def rates(_: float, y: Array) -> Array:
            s = np.hypot(y[0], y[1])
            force = np.array([-mu * y[0] / s, -mu * y[1] / s, 1.0])
            return np.asarray(s * np.array([*(G @ force), *force, y[2]]))

        def ends(_: float, y: Array) -> float:
            return float(left(y))

        def stops(_: float, y: Array) -> float:
            return float(np.hypot(y[0], y[1]) - 0.5 * STOPPED * first)

        ends.terminal, ends.direction, stops.terminal = True, 1.0, True  # type: ignore[attr-defined]
        found = solve_ivp(rates, (0, LONGEST), state, "DOP853", rtol=1e-12, atol=1e-17 * first, events=[ends, stops])
        assert found.status == 1, "the path has no end"
        state = found.y[:, -1]
        if len(found.t_events[0]):
            return np.asarray(state)
    force = _force_at_rest(G, mu)
    up = G @ force

    def after(p: float) -> Array:
        return np.asarray(
            [*(np.array([0, 0, state[2]]) + p * up), *(state[3:6] + p * force), state[6] + p * (state[2] + 0.5 * p * up[2])]
        )

    far = 1e-3 * first / up[2]
    while left(after(far)) < 0.0:
        far *= 2.0
    return after(brentq(lambda p: left(after(p)), 0.0, far, xtol=1e-17 * far, rtol=1e-15)) if left(state) < 0.0 else state


def _force_at_rest(G: Array, mu: float) -> Array:
    """Per normal force, of a contact that has stopped."""
    stick = -np.linalg.solve(G[:2, :2], G[:2, 2])
    if np.hypot(*stick) <= mu:
        return np.array([*stick, 1.0])

    def force(angle: float) -> Array:
        return np.array([-mu * np.cos(angle), -mu * np.sin(angle), 1.0])

    def across(angle: float) -> float:
        v = G @ force(angle)
        return float(np.cos(angle) * v[1] - np.sin(angle) * v[0])

    grid = np.linspace(-np.pi, np.pi, 721) + 0.00123
    roots = [brentq(across, a, b, xtol=1e-15) for a, b in itertools.pairwise(grid) if across(a) * across(b) <= 0]
    away = [a for a in roots if (G @ force(a))[:2] @ [np.cos(a), np.sin(a)] > 0]
    assert len(away) == 1, "directions of slip from rest"
    return force(away[0])
