"""The oracle: against CasADi's own evaluation, and as the way to complex-step derivatives."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.program.interpreter import complex_step, interpret
from draisine.program.program import Program
from every_operation import BINARY, ORDINARY, SPECIAL, UNARY

X, Y = ca.SX.sym("x"), ca.SX.sym("y")
EVERY = Program.build(
    "every", {"x": X, "y": Y}, {**{n: f(X) for n, f in UNARY.items()}, **{n: f(X, Y) for n, f in BINARY.items()}}
)


@pytest.mark.parametrize("x", [*ORDINARY, *SPECIAL])
@pytest.mark.parametrize("y", [0.4, -1.7, 0.0, 3.0])
def test_every_operation_agrees_with_casadi(x, y):
    for slot, mine, theirs in zip(EVERY.outputs, interpret(EVERY, x, y), EVERY(x, y), strict=True):
        # CasADi's own inverse error function has few digits; ours is held against SciPy's below.
        rtol = 1e-5 if slot.name == "erfinv" else 3e-15
        assert_allclose(mine, theirs, rtol=rtol, atol=1e-320, equal_nan=True, err_msg=f"{slot.name}({x}, {y})")


# Points away from the places where a function jumps; within the domain of each.
DOMAINS = {
    "acosh": (1.3, 2.7),
    "log": (0.3, 2.0),
    "sqrt": (0.3, 2.0),
    "constpow": (0.3, 2.0),
    "pow": (0.4, 1.7),
    "log1p": (-0.4, 1.5),
}


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_complex_step_agrees_with_exact_derivatives(name):
    z = ca.SX.sym("z", 2)
    expression = UNARY[name](z[0]) if name in UNARY else BINARY[name](z[0], z[1])
    program = Program.build("one", {"z": z}, {"f": expression})
    exact = program.jacobian("f", "z")
    low, high = DOMAINS.get(name, (-0.9, 0.9))
    for point in np.random.default_rng(4).uniform(low, high, (12, 2)):
        stepped = complex_step(program, "f", "z", [point])
        rtol = 1e-5 if name == "erfinv" else 2e-12  # CasADi's own inverse error function has few digits
        assert_allclose(stepped, exact(point)[0], rtol=rtol, atol=1e-14, err_msg=f"{name} at {point}")


def test_inverse_error_function():
    from scipy.special import erfinv

    program = Program.build("one", {"x": X}, {"f": ca.erfinv(X)})
    for x in (1e-12, 0.3, -0.69, 0.71, -0.9, 0.999999, -1 + 1e-15):
        assert_allclose(interpret(program, x)[0], erfinv(x), rtol=1e-14 if abs(x) < 0.99 else 1e-9)


def test_complex_step_through_a_long_program():
    rng = np.random.default_rng(8)
    x, p = ca.SX.sym("x", 4), ca.SX.sym("p", 3)
    m = ca.reshape(ca.vertcat(x, p, x[:2]), 3, 3)
    y = ca.inv(m.T @ m + 2 * ca.SX.eye(3)) @ ca.sin(m) @ ca.vertcat(x[0], ca.atan2(x[1], p[0]), ca.sqrt(4 + x[2]))
    program = Program.build("long", {"x": x, "p": p}, {"y": y})
    point = [rng.normal(size=4), rng.normal(size=3)]
    for wrt in ("x", "p"):
        assert_allclose(complex_step(program, "y", wrt, point), program.jacobian("y", wrt)(*point)[0], rtol=1e-12, atol=1e-13)


def test_forbidden_arguments_stay_forbidden_with_an_imaginary_part():
    for name in ("sqrt", "log", "asin", "acosh", "atanh", "log1p"):
        value = 0.5 if name == "acosh" else -2.5
        program = Program.build("one", {"x": X}, {"f": UNARY[name](X)})
        assert np.isnan(interpret(program, value + 1e-30j)[0]).all(), name


def test_numbers_of_any_precision():
    import mpmath

    program = Program.build("difference", {"x": X}, {"f": (1 - ca.cos(X)) / X**2, "g": ca.if_else(X < 1, ca.exp(X), ca.floor(X))})
    with mpmath.workdps(50):
        small = np.array([mpmath.mpf("1e-12")], dtype=object)
        f, g = interpret(program, small)
        assert abs(f[0] - mpmath.mpf("0.5") + small[0] ** 2 / 24) < mpmath.mpf("1e-25")
        assert abs(g[0] - mpmath.exp(small[0])) < mpmath.mpf("1e-48")
    assert interpret(program, 1e-12)[0][0] != 0.5  # floats lose every digit of this


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_operation_in_high_precision(name):
    import mpmath

    expression = UNARY[name](X) if name in UNARY else BINARY[name](X, Y)
    program = Program.build("one", {"x": X, "y": Y}, {"f": expression})
    x, y = (1.75, -0.625) if name == "acosh" else (0.71875, -0.4375)
    exact = interpret(program, np.array([mpmath.mpf(x)], dtype=object), np.array([mpmath.mpf(y)], dtype=object))[0]
    assert_allclose(float(exact[0]), interpret(program, x, y)[0][0], rtol=1e-14)


def test_shapes_and_complaints():
    m = ca.SX.sym("m", 2, 3)
    program = Program.build("shapes", {"m": m}, {"t": m.T, "c": m[:, 1]})
    given = np.arange(6.0).reshape(2, 3)
    transposed, column = interpret(program, given)
    assert_allclose(transposed, given.T)
    assert_allclose(column, given[:, 1])
    with pytest.raises(TypeError, match=r"takes 1 arguments \(m\), got 2"):
        interpret(program, given, given)
    with pytest.raises(ValueError, match="argument 'm' needs 6 numbers, got 5"):
        interpret(program, np.zeros(5))
    with pytest.raises(KeyError, match="no output 'q'"):
        complex_step(program, "q", "m", [given])
