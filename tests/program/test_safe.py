"""Safe primitives: exact away from the singular points, finite and as documented at them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from draisine.expr import safe_functions as safe
from draisine.program.interpreter import complex_step
from draisine.program.program import Program

V = ca.SX.sym("v", 3)
SINGULAR = {
    "length": safe.length(V),
    "unit": safe.unit(V),
    "angle": safe.angle(V[0], V[1]),
    "root": safe.root(V[0]),
    "cube root": safe.root(V[0], 3),
    "fourth root": safe.root(V[0], 4),
    "absolute": safe.absolute(V[0]),
    "sign": safe.sign(V[0]),
    "creep": safe.unit(V) * safe.length(V) ** 2,
    "nested": safe.length(ca.vertcat(safe.length(V[:2]), V[2] * V[0])),
}
REGULAR = {
    "length": lambda v: np.sqrt(v @ v),
    "unit": lambda v: v / np.sqrt(v @ v),
    "angle": lambda v: np.arctan2(v[0], v[1]),
    "root": lambda v: np.sqrt(v[0]) if v[0] > 0 else 0.0,
    "cube root": lambda v: np.cbrt(v[0]),
    "fourth root": lambda v: v[0] ** 0.25 if v[0] > 0 else 0.0,
    "absolute": lambda v: abs(v[0]),
    "sign": lambda v: np.sign(v[0]),
}


def derivatives(expression: ca.SX) -> ca.Function:
    """Value, forward Jacobian and its Jacobian, reverse gradient of the sum and its Jacobian."""
    jacobian = ca.jacobian(expression, V)
    gradient = ca.gradient(ca.sum1(expression), V)
    return ca.Function(
        "d", [V], [expression, jacobian, ca.jacobian(ca.vec(jacobian), V), gradient, ca.hessian(ca.sum1(expression), V)[0]]
    )


@pytest.mark.parametrize("name", SINGULAR)
def test_zero_and_flat_at_the_singular_point(name):
    for part in derivatives(SINGULAR[name])(np.zeros(3)):
        assert_array_equal(part.full(), 0.0)


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("size", [5e-324, 1e-250, 1e-150, 0.9e-100, 1.1e-100, 1e-99, 1e-60, 1e-8, 1.0, 1e20])
def test_finite_everywhere(name, size):
    function = derivatives(SINGULAR[name])
    for direction in ([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, -1], [1, -1, 1], [-0.3, 0.2, 0.9]):
        for part in function(size * np.array(direction, dtype=float)):
            assert np.isfinite(part.full()).all(), (direction, part)


@pytest.mark.parametrize("name", REGULAR)
def test_exact_away_from_it(name):
    program = Program.build("safe", {"v": V}, {"y": SINGULAR[name]})
    exact = program.jacobian("y", "v")
    for point in (
        np.array([0.3, -0.4, 1.2]),
        np.array([-2.0, 1e-9, 3.0]),
        np.array([1e-90, 2e-90, -1e-90]),
        np.array([5.0, 0.0, 0.0]),
    ):
        assert_allclose(program(point)[0], np.atleast_1d(REGULAR[name](point)), rtol=1e-14)
        stepped = complex_step(program, "y", "v", [point])
        assert_allclose(exact(point)[0], stepped, rtol=1e-12, atol=1e-15 * np.abs(stepped).max())


def test_regular_forms_are_bare():
    """No operation more than the plain formula where the caller vouches for the vector."""

    def operations(expression: ca.SX) -> int:
        return Program.build("count", {"v": V}, {"y": expression}).operations

    assert operations(safe.length(V[:2], regular=True)) == 4
    assert operations(safe.length(V[:2])) == 8
    assert operations(safe.unit(V, regular=True)) == 5 + 1 + 3
    assert operations(safe.angle(V[0], V[1], regular=True)) == 1
    point = [0.3, -0.4, 1.2]
    pairs = {safe.length: (V,), safe.unit: (V,), safe.angle: (V[0], V[1])}
    for primitive, arguments in pairs.items():
        both = Program.build("both", {"v": V}, {"safe": primitive(*arguments), "bare": primitive(*arguments, regular=True)})(
            point
        )
        assert_allclose(both[0], both[1], rtol=1e-15)


def test_vectors_may_be_lists():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    program = Program.build("lists", {"x": x, "y": y}, {"l": safe.length([x, y]), "u": safe.unit((x, y))})
    assert_allclose(np.concatenate(program(3.0, 4.0)), [5.0, 0.6, 0.8])
    with pytest.raises(ValueError, match="one column, got 1 × 3"):
        safe.length(V.T)


def value_and_slope(expression: ca.SX, at: float) -> tuple[float, float]:
    function = ca.Function("f", [V], [expression, ca.jacobian(expression, V[0])])
    value, slope = function([at, 0.0, 0.0])
    return float(value), float(slope)


def test_clip():
    clipped = safe.clip(V[0], -1.0, 2.0)
    assert [value_and_slope(clipped, x) for x in (-5.0, 0.5, 7.0)] == [(-1.0, 0.0), (0.5, 1.0), (2.0, 0.0)]
    assert [value_and_slope(clipped, x) for x in (-1.0, 2.0)] == [(-1.0, 0.5), (2.0, 0.5)]


def test_roots():
    assert value_and_slope(safe.root(V[0]), -1e-18) == (0.0, 0.0)
    assert value_and_slope(safe.root(V[0], 3), -8.0) == pytest.approx((-2.0, 1 / 12))
    assert value_and_slope(safe.root(V[0], 5), 32.0) == pytest.approx((2.0, 1 / 80))
    with pytest.raises(ValueError, match="root of order 1"):
        safe.root(V[0], 1)


def test_smooth_forms_approach_the_sharp_ones():
    assert value_and_slope(safe.absolute(V[0], 0.1), 0.0) == (0.1, 0.0)
    assert value_and_slope(safe.absolute(V[0], 0.1), 50.0) == pytest.approx((50.0, 1.0), rel=1e-5)
    assert value_and_slope(safe.sign(V[0], 0.5), 0.0) == (0.0, 2.0)
    assert value_and_slope(safe.sign(V[0], 0.5), -20.0) == pytest.approx((-1.0, 0.0), abs=1e-12)


def test_switch_takes_one_branch():
    sharp = safe.where(V[0] > 0, V[0] ** 2, -3 * V[0])
    assert [value_and_slope(sharp, x) for x in (2.0, -1.0)] == [(4.0, 4.0), (3.0, -3.0)]
    guarded = safe.where(V[0] > 0, ca.log(safe.guard(V[0] > 0, V[0], 1.0)), 0.0)
    assert [value_and_slope(guarded, x) for x in (0.0, -2.0)] == [(0.0, 0.0), (0.0, 0.0)]
    assert value_and_slope(guarded, 2.0) == pytest.approx((np.log(2.0), 0.5))


def test_plain_formulas_do_fail_there():
    """The reason for this file; if CasADi ever mends it, the file can go."""
    plain = ca.Function("plain", [V], [ca.gradient(ca.norm_2(V), V), ca.gradient(ca.atan2(V[0], V[1]), V)])
    assert all(np.isnan(part.full()).any() for part in plain(np.zeros(3)))
