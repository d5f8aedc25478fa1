"""What may stand behind a call node, and what is refused by name."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import ExpressionError
from draisine.program.casadi_functions import callee_of
from draisine.program.interpreter import complex_step, interpret
from draisine.program.program import Program


def test_derivatives_through_calls():
    a = ca.SX.sym("a", 2)
    inner = ca.Function("inner", [a], [ca.vertcat(a[0] * ca.sin(a[1]), a[1] ** 3)], {"never_inline": True})
    x = ca.SX.sym("x", 2)
    program = Program.build("outer", {"x": x}, {"y": inner(inner(x) + x)})
    point = [0.4, 0.7]
    assert_allclose(interpret(program, point)[0], program(point)[0], rtol=1e-15)
    exact = program.jacobian("y", "x")
    assert_allclose(complex_step(program, "y", "x", [point]), exact(point)[0], rtol=1e-13)
    assert_allclose(interpret(exact, point)[0], exact(point)[0], rtol=1e-14)


def test_matrix_functions_are_refused_by_name():
    v = ca.MX.sym("v", 2)
    rotate = ca.Function("rotate", [v], [ca.vertcat(-v[1], v[0])], {"never_inline": True})
    with pytest.raises(ExpressionError, match=r"'rotate' cannot be compiled.*rotate\.expand\(\)"):
        _ = callee_of(rotate).tape
    scalar = ca.MX.sym("s")
    norm = ca.Function("size", [scalar], [ca.norm_2(ca.vertcat(scalar, scalar))], {"never_inline": True})
    with pytest.raises(ExpressionError, match="it uses the operation"):
        _ = callee_of(norm).tape


def test_foreign_functions_are_refused_by_name():
    linear = ca.interpolant("curve", "linear", [np.array([0.0, 1.0])], np.array([0.0, 1.0]))
    with pytest.raises(ExpressionError, match=r"'curve'.*use a `Table`"):
        _ = callee_of(linear).tape
