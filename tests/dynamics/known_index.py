"""Differential-algebraic systems whose index is known."""

from __future__ import annotations

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr

t = sp.Symbol("t")


def pendulum() -> dr.Equations:
    """Index 3, by hand, with gravity 10 and length 1."""
    x, y, vx, vy, pull = sp.symbols("x y vx vy pull")
    return dr.symbolic.semi_explicit(
        "pendulum",
        {x: vx, y: vy, vx: -x * pull, vy: -y * pull - 10},
        constraints={"length": x**2 + y**2 - 1},
        unknowns=[pull],
        start={x: 0.6, y: -0.8, vx: 0.8, vy: 0.6},
    )


def hessenberg(index: int) -> dr.Equations:
    """ẋ₁ = f₁(x₂, x₁), …, ẋ_{r−1} = f(z, …), 0 = g(x₁): Hessenberg form of size r has index r (Brenan et al. 1996, 2.5)."""
    states, z = sp.symbols(f"x1:{index}"), sp.Symbol("z")
    follow = [*states[1:], z]
    rates = {x: sp.sin(other) + other + x**2 / 5 for x, other in zip(states, follow, strict=True)}
    return dr.symbolic.semi_explicit("hessenberg", rates, constraints={"held": _held(states)}, unknowns=[z])


def _held(states: tuple[sp.Symbol, ...]) -> sp.Expr:
    return states[0] + states[0] ** 3 - sp.sin(t) / 3


def kronecker(index: int, seed: int = 0, slow: int = 2) -> tuple[dr.Equations, np.ndarray, np.ndarray]:
    """E ẏ + A y = f with the Kronecker form diag(I, N), N nilpotent of this index, behind full matrices of whole numbers."""
    rng = np.random.default_rng(seed)
    n = slow + index
    first, second = np.eye(n), np.eye(n)
    first[slow:, slow:] = np.eye(index, k=1)
    second[:slow, :slow] = rng.integers(-2, 3, (slow, slow))
    left, right = (rng.integers(-2, 3, (n, n)) + 3 * np.eye(n) for _ in range(2))
    assert abs(np.linalg.det(left) * np.linalg.det(right)) > 1
    e, a = left @ first @ right, left @ second @ right
    y = dynamicsymbols(f"y1:{n + 1}")
    rows = {
        f"row{i}": sum(int(e[i, j]) * y[j].diff() + int(a[i, j]) * y[j] for j in range(n)) - sp.sin((i + 1) * t) for i in range(n)
    }
    return dr.symbolic.implicit("kronecker", rows, y), e, a


def reissig() -> dr.Equations:
    """Index 1, structural index 3: rates come in sums that cancel (Reißig, Martinson & Barton, SIAM J. Sci. Comput. 21, 2000)."""
    x1, x2, x3, x4, x5 = x = dynamicsymbols("x1:6")
    rows = {
        "a": x2.diff() + x3.diff() + x1 - sp.sin(t),
        "b": x2.diff() + x3.diff() + x2,
        "c": x4.diff() + x5.diff() + x3,
        "d": x4.diff() + x5.diff() + x4,
        "e": x5 - sp.cos(t),
    }
    return dr.symbolic.implicit("reissig", rows, x)


def robot() -> dr.Equations:
    """Two links with an elastic joint on a prescribed path, index 5 (Campbell & Griepentrog, SIAM J. Sci. Comput. 16, 1995).

    Structure sees both torques in both constraints after two differentiations, where only their difference is.
    """
    x1, x2, x3, v1, v2, v3, u1, u2 = sp.symbols("x1 x2 x3 v1 v2 v3 u1 u2")
    below = 2 - sp.cos(x3) ** 2
    a, b, c, d = 2 / below, sp.cos(x3) / below, sp.sin(x3) / below, sp.sin(x3) * sp.cos(x3) / below
    common = 2 * c * (v1 + v3) ** 2 + v1**2 * d
    spring = 2 * x3 - x2
    first = common + spring * (a + 2 * b) + a * (u1 - u2)
    second = -common + spring * (1 - 3 * a - 2 * b) - a * u1 + (a + 1) * u2
    third = -common + spring * (a - 9 * b) - 2 * v1**2 * c - d * (v1 + v3) ** 2 - (a + b) * (u1 - u2)
    return dr.symbolic.semi_explicit(
        "robot",
        {x1: v1, x2: v2, x3: v3, v1: first, v2: second, v3: third},
        constraints={
            "across": sp.cos(x1) + sp.cos(x1 + x3) - sp.cos(1 - sp.exp(t)) - sp.cos(1 - t),
            "up": sp.sin(x1) + sp.sin(x1 + x3) - sp.sin(1 - sp.exp(t)) - sp.sin(1 - t),
        },
        unknowns=[u1, u2],
        start={x2: 1.0, x3: 1.0, v1: -1.0},
    )
