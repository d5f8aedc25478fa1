"""Programs over power series, against mpmath's differentiation of the same formulas at high precision."""

from __future__ import annotations

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from draisine.expr.safe_functions import length
from draisine.expr.tables import Table
from draisine.program.program import Program
from draisine.program.taylor_series import along
from draisine.symbolic.sympy_bridge import to_sx

ORDER = 6
a, b = sp.symbols("a b")
A = [0.7, 0.3, -0.2, 0.5, 0.1, 0.05, -0.3]
B = [1.1, -0.4, 0.3, 0.2, -0.6, 0.1, 0.2]


@pytest.mark.parametrize(
    "formula",
    [
        a * b - 3 * a / b + 2,
        sp.sin(a * b) + sp.cos(a) ** 2,
        sp.tan(a / 2),
        sp.exp(a) / b,
        sp.log(a + 2 * b),
        sp.sqrt(a + b + 2),
        sp.asin(a / 2) + sp.acos(b / 3),
        sp.atan(a * b),
        sp.sinh(a) * sp.cosh(b),
        sp.tanh(a * b),
        sp.asinh(a) + sp.acosh(a + 2) + sp.atanh(a / 3),
        (a + 2) ** b,
        (a + 2) ** sp.Rational(5, 2),
        a**3 + (a + 2) ** -2,
        sp.atan2(a, b),
        sp.erf(a),
    ],
    ids=str,
)
def test_coefficients_are_taylor_s(formula):
    symbols = {a: ca.SX.sym("a"), b: ca.SX.sym("b")}
    program = Program.build("f", {"a": symbols[a], "b": symbols[b]}, {"y": to_sx(formula, symbols)})
    (found,) = along(program, np.array([A]), np.array([B]))
    exact = sp.lambdify([a, b], formula, "mpmath")
    with mp.workdps(60):
        wanted = mp.taylor(lambda s: exact(mp.polyval(A[::-1], s), mp.polyval(B[::-1], s)), 0, ORDER)
    assert found[0] == pytest.approx([float(w) for w in wanted], rel=1e-13, abs=1e-14)


def test_decisions_follow_the_value():
    x = ca.SX.sym("x")
    parts = {"abs": ca.fabs(x), "less": ca.fmin(x, 1), "rest": ca.fmod(x, 0.4), "choice": ca.if_else(x > 0, x**2, -x)}
    found = along(Program.build("f", {"x": x}, parts), np.array([[-0.5, 2.0, 1.0]]))
    assert [row[0].tolist() for row in found] == [
        [0.5, -2.0, -1.0],
        [-0.5, 2.0, 1.0],
        pytest.approx([-0.1, 2.0, 1.0]),
        [0.5, -2.0, -1.0],
    ]


def test_calls_are_followed():
    """Tables and safe primitives: a piecewise linear table has the slope of its cell, and a length its own series."""
    knots = np.linspace(0.0, 2.0, 9)
    table = Table("cubes", [knots], knots**3)
    x = ca.SX.sym("x", 2)
    program = Program.build("f", {"x": x}, {"y": ca.vertcat(table(x[0]), length(x))})
    (found,) = along(program, np.array([[0.6, 1.0, 0.0], [0.8, 0.0, 0.0]]))
    low, high = 0.5**3, 0.75**3
    assert found[0] == pytest.approx([low + 0.1 * (high - low) / 0.25, (high - low) / 0.25, 0.0])
    assert found[1] == pytest.approx([1.0, 0.6, (1 - 0.36) / 2])


def test_wrong_numbers_of_series_are_refused():
    x = ca.SX.sym("x", 2)
    with pytest.raises(ValueError, match="argument 'x' needs 2 series, got 1"):
        along(Program.build("f", {"x": x}, {"y": x}), np.array([[1.0, 0.0]]))
