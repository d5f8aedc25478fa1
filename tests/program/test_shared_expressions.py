"""Common subexpressions of derivatives of tables: one call of each table and of each of its derivatives at each place."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from draisine.expr.tables import Table
from draisine.program.shared_expressions import jacobian, shared


def calls(function: ca.Function) -> list[str]:
    nodes = function.instructions_sx()
    found = [
        nodes[k].which_function().name() for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CALL
    ]
    return sorted(found)


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_of_tables_call_each_derivative_once(seed: int) -> None:
    """f = g(x, y) h(a x² + b y): h, h′ and h″ at one place are in all second derivatives of f."""
    rng = np.random.default_rng(seed)
    knots = np.cumsum(rng.uniform(0.2, 1.0, 9)) - 2.0
    table, (a, b) = Table("h", knots, rng.normal(size=9), "spline"), rng.uniform(0.2, 1.0, 2)
    x = ca.SX.sym("x", 2)
    place, g = a * x[0] ** 2 + b * x[1], 1.0 + x[0] * x[1]
    f = g * table(place)
    gradient = ca.gradient(f, x)
    results = [f, gradient, ca.jacobian(gradient, x)]
    before, after = (ca.Function("f", [x], list(found)) for found in (results, shared(results)))
    assert calls(after) == ["h", "h_d1", "h_d2"] and len(calls(before)) > 3
    for point in rng.uniform(-1.0, 1.5, (5, 2)):
        at = a * point[0] ** 2 + b * point[1]
        h, d, dd = (float(table.at(at, orders=(k,))) for k in range(3))
        inner, outer = np.array([2 * a * point[0], b]), point[::-1]
        size = 1.0 + point[0] * point[1]
        hessian = (
            h * np.array([[0.0, 1.0], [1.0, 0.0]]) + d * (np.outer(outer, inner) + np.outer(inner, outer))
            + size * (dd * np.outer(inner, inner) + d * np.diag([2 * a, 0.0]))
        )  # fmt: skip
        value, slope, bent = (part.full() for part in after(point))
        assert value[0, 0] == pytest.approx(size * h, abs=1e-13)
        np.testing.assert_allclose(slope[:, 0], outer * h + size * d * inner, atol=1e-12)
        np.testing.assert_allclose(bent, hessian, atol=1e-12)


def test_third_derivatives_of_tables_stay_calls() -> None:
    """A cubic spline through a cubic away from its ends: 6 a³ in all orders of differentiation, forward and reverse."""
    knots = np.linspace(-20.0, 20.0, 401)
    table, x = Table("h", knots, knots**3, "spline"), ca.SX.sym("x")
    weight = ca.SX.sym("w")
    bent = ca.jacobian(ca.jacobian(table(0.5 * x), x), x)
    third = ca.jtimes(weight * bent, x, ca.SX(1.0), True)
    function = ca.Function("f", [x, weight], shared([third, ca.jacobian(bent, x)]))
    backward, forward = function(0.7, 2.0)
    assert float(backward) == pytest.approx(2 * 6 * 0.125, rel=1e-6) and float(forward) == pytest.approx(6 * 0.125, rel=1e-6)


def test_what_is_linear_has_a_constant_jacobian() -> None:
    """r = h″(x) v + k(x y): its Jacobian by v is h″ and does not mention v, though CasADi differentiates all calls on the way."""
    knots = np.linspace(-2.0, 2.0, 21)
    h, k = Table("h", knots, np.sin(knots), "spline"), Table("k", knots, np.cos(knots), "spline")
    x, y, v = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("v")
    bent = ca.jacobian(ca.jacobian(h(x), x), x)
    rate = ca.Function("rate", [x, y, v], shared([bent * v + ca.jtimes(k(x * y), ca.vertcat(x, y), ca.vertcat(v, 2 * v))]))
    (along,) = [jacobian(rate(x, y, v), v)]
    assert ca.depends_on(ca.jacobian(rate(x, y, v), v), v) and not ca.depends_on(along, v)
    found = float(ca.Function("f", [x, y], [along])(0.7, 0.9))
    first = float(k.at(0.63, orders=(1,)))
    assert found == pytest.approx(float(h.at(0.7, orders=(2,))) + first * (0.9 + 2 * 0.7), rel=1e-13)


def test_matrices_constants_and_free_symbols_stay() -> None:
    table, x, y = Table("h", (0.0, 1.0, 3.0), (0.0, 1.0, 0.0)), ca.SX.sym("x", 2), ca.SX.sym("y")
    sparse = ca.SX(2, 2)
    sparse[0, 1] = table(x[0] + y) - table(y + x[0])
    sparse[1, 0] = 3.0 * table(x[1])
    results = [sparse, ca.SX([0.0, -0.0]), y, ca.SX(0, 1)]
    found = shared(results)
    assert [f.sparsity() == r.sparsity() for f, r in zip(found, results, strict=True)] == [True] * 4
    one, other = (ca.Function("f", [x, y], r)([0.3, 0.7], 0.4) for r in (results, found))
    assert all((p.full() == q.full()).all() for p, q in zip(one, other, strict=True))
    assert str(found[2]) == "y" and calls(ca.Function("f", [x, y], found)) == ["h"]  # of which two cancel
    assert shared([]) == []
