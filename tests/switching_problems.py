"""Random right-hand sides with nested switches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from draisine.expr.tables import Table
from draisine.program.program import Program

T, X, U, P = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 2), ("u", 1), ("p", 1)))
ARGUMENTS = {"t": (T, ["t"]), "x": (X, ["x", "v"]), "u": (U, ["push"]), "p": (P, ["k"])}
LINEAR = Table("linear", (-1.5, -0.2, 0.4, 1.7), (0.3, -1.0, 0.8, 0.1))
CLAMPED = Table("clamped", (-1.0, 0.0, 0.7, 1.5), (0.3, -1.0, 0.8, 0.5), kind="spline", outside="hold")
SMOOTH = Table("smooth", (-1.0, 0.0, 0.7, 1.5), (0.3, -1.0, 0.8, 0.5), kind="spline")
PLANE = Table("plane", ((-1.0, 0.1, 1.0), (-0.5, 0.6)), ((0.0, 1.0), (0.5, -0.3), (1.0, 0.2)), outside="hold")


def system(rates: Any) -> Any:
    """Equations whose state derivative is a column of expressions."""
    rates = ca.vertcat(*rates) if isinstance(rates, tuple | list) else ca.vertcat(rates, 0)
    return SimpleNamespace(dynamics=Program.build("f", ARGUMENTS, {"xdot": (rates, ["x", "v"])}))


def expression(rng: np.random.Generator, depth: int, leaves: list[ca.SX]) -> ca.SX:
    """A random expression in which most operations switch."""
    if depth == 0:
        return leaves[rng.integers(len(leaves))] * float(rng.uniform(0.5, 2.0)) + float(rng.uniform(-1.0, 1.0))

    def part() -> ca.SX:
        return expression(rng, depth - 1, leaves)

    makers = (
        lambda: ca.if_else(part() > part(), part(), part()),
        lambda: ca.if_else(ca.logic_and(part() <= part(), part() > 0), part(), part()),
        lambda: ca.if_else(ca.logic_or(part() < 0.3, ca.logic_not(part() > 0)), part(), part()),
        lambda: ca.fabs(part()),
        lambda: ca.sign(part()) * part(),
        lambda: ca.fmin(part(), part()) - ca.fmax(part(), 0.2),
        lambda: ca.floor(part()) * 0.3 - ca.ceil(part() * 0.7) * 0.2,
        lambda: ca.remainder(part(), 0.8) + ca.fmod(part(), 1.3),
        lambda: ca.copysign(part(), part()),
        lambda: LINEAR(part()) + SMOOTH(part()),
        lambda: CLAMPED(part()) * 0.7,
        lambda: PLANE(part(), part()),
        lambda: ca.sin(2 * part()) + part() * 0.3,
        lambda: part() * part() / (1 + part() ** 2),
    )
    return makers[rng.integers(len(makers))]()
