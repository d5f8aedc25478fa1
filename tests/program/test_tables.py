"""Tables: values, continuity, derivatives, and one truth in CasADi, interpreter and machine code."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline, RegularGridInterpolator

from draisine.codegen.jit.kernel import compile
from draisine.errors import ModelError
from draisine.expr.tables import Table
from draisine.program.interpreter import complex_step, interpret
from draisine.program.program import Program

RNG = np.random.default_rng(12)
KNOTS = np.array([-1.0, -0.4, 0.1, 0.3, 1.1, 2.0, 2.2])
OTHER = np.array([0.0, 0.5, 0.8, 2.0])
VALUES, GRID = RNG.normal(size=7), RNG.normal(size=(7, 4))
INSIDE = np.linspace(-0.99, 2.19, 57)


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path))


def derivative_program(table: Table) -> Program:
    """Value, gradient and Hessian of a table of scaled arguments."""
    x = ca.SX.sym("x", len(table.knots))
    y = table(*(x[k] * (1 + 0.5 * k) for k in range(len(table.knots))))
    hessian, gradient = ca.hessian(y, x)
    return Program.build("derivatives", {"x": x}, {"value": y, "gradient": gradient, "hessian": hessian})


# ----------------------------------------------------------------------------------------------------------- values


def test_linear_tables_are_the_usual_interpolation():
    assert_allclose(Table("t", KNOTS, VALUES).at(INSIDE), np.interp(INSIDE, KNOTS, VALUES), rtol=1e-13)
    theirs = RegularGridInterpolator((KNOTS, OTHER), GRID)
    points = np.column_stack([INSIDE, np.linspace(0.01, 1.99, 57)])
    assert_allclose(Table("t", (KNOTS, OTHER), GRID).at(*points.T), theirs(points), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_splines_are_natural_cubic_splines(order):
    theirs = CubicSpline(KNOTS, VALUES, bc_type="natural")
    assert_allclose(Table("t", KNOTS, VALUES, "spline").at(INSIDE, orders=(order,)), theirs(INSIDE, order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("orders", [(0, 0), (1, 0), (0, 1), (2, 1), (2, 2)])
def test_splines_of_two_variables_are_tensor_products(orders):
    rows = CubicSpline(OTHER, GRID, axis=1, bc_type="natural")
    table = Table("t", (KNOTS, OTHER), GRID, "spline")
    for y in (0.2, 0.5, 1.7):
        theirs = CubicSpline(KNOTS, rows(y, orders[1]), bc_type="natural")(INSIDE, orders[0])
        assert_allclose(table.at(INSIDE, y, orders=orders), theirs, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kind", ["linear", "spline"])
def test_values_at_knots_are_the_given_ones(kind):
    assert_allclose(Table("t", KNOTS, VALUES, kind).at(KNOTS), VALUES, rtol=0, atol=1e-15)
    found = Table("t", (KNOTS, OTHER), GRID, kind).at(KNOTS[:, None], OTHER[None, :])
    assert_allclose(found, GRID, rtol=0, atol=1e-14)


def test_two_knots_make_a_straight_line():
    table = Table("t", (0.0, 2.0), (1.0, 5.0), "spline")
    assert_allclose(table.at([-1.0, 0.5, 4.0]), [-1.0, 2.0, 9.0])


# ----------------------------------------------------------------------------------------- continuity and the outside


@pytest.mark.parametrize(
    ("kind", "outside", "smoothness"),
    [("linear", "slope", 0), ("linear", "hold", 0), ("spline", "slope", 2), ("spline", "hold", 0)],
)
def test_continuity_at_every_knot(kind, outside, smoothness):
    """One-sided limits agree up to the promised order, at the ends of the grid too."""
    table = Table("t", KNOTS, VALUES, kind, outside)
    for order in range(smoothness + 1):
        left, right = table.at(KNOTS - 1e-9, orders=(order,)), table.at(KNOTS + 1e-9, orders=(order,))
        scale = np.abs(table.at(INSIDE, orders=(order + 1,))).max()
        assert_allclose(left, right, rtol=0, atol=4e-9 * scale)
    if kind == "linear":
        assert np.abs(table.at(KNOTS[1:-1] - 1e-9, orders=(1,)) - table.at(KNOTS[1:-1] + 1e-9, orders=(1,))).min() > 0.1


def test_outside_the_grid():
    far = np.array([-7.0, 9.0])
    edge = np.array([-1.0, 2.2])
    for kind in ("linear", "spline"):
        held = Table("t", KNOTS, VALUES, kind, "hold")
        assert_allclose(held.at(far), VALUES[[0, -1]])
        assert_allclose(held.at(far, orders=(1,)), 0.0)
        sloping = Table("t", KNOTS, VALUES, kind)
        slope = sloping.at(edge + [1e-12, 0.0], orders=(1,))
        assert_allclose(sloping.at(far), VALUES[[0, -1]] + slope * (far - edge), rtol=1e-9)
    corner = Table("t", (KNOTS, OTHER), GRID, "spline")
    step = 0.25  # outside both ranges the spline is bilinear
    values = corner.at(np.array([3.0, 3.0 + step, 3.0 + 2 * step])[:, None], np.array([3.0, 3.0 + step, 3.0 + 2 * step])[None, :])
    assert_allclose(np.diff(values, 2, axis=0), 0.0, atol=1e-9)
    assert_allclose(np.diff(values, 2, axis=1), 0.0, atol=1e-9)


# ------------------------------------------------------------------------------------------------------ derivatives

EVERY_TABLE = [
    Table("line", KNOTS, VALUES),
    Table("curve", KNOTS, VALUES, "spline"),
    Table("curve_held", KNOTS, VALUES, "spline", "hold"),
    Table("plane", (KNOTS, OTHER), GRID),
    Table("surface", (KNOTS, OTHER), GRID, "spline"),
]


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda t: t.name)
def test_one_truth_in_all_three_derivations(table):
    """CasADi, interpreter and machine code; values, gradients and Hessians; inside, outside and on knots."""
    program = derivative_program(table)
    kernel = compile(program)
    points = RNG.uniform(-2.0, 3.0, (25, len(table.knots))).tolist() + [[0.1] * len(table.knots)]
    points.append([-1.0, OTHER[0] / 1.5][: len(table.knots)])
    points.append([2.2, OTHER[-1] / 1.5][: len(table.knots)])
    points.append([1e30, -1e30][: len(table.knots)])
    for point in points:
        for slot, casadi, oracle, machine in zip(
            program.outputs, program(point), interpret(program, point), kernel(point), strict=True
        ):
            size = max(1.0, np.nanmax(np.abs(oracle), initial=0.0))
            assert_allclose(oracle, casadi, rtol=1e-12, atol=1e-13 * size, err_msg=f"{slot.name} at {point}")
            assert_allclose(machine, oracle, rtol=1e-12, atol=1e-13 * size, err_msg=f"{slot.name} at {point}")


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda t: t.name)
def test_not_a_number_stays_so(table):
    program = derivative_program(table)
    nowhere = [float("nan")] * len(table.knots)
    for road in (program, compile(program), lambda point: interpret(program, point)):
        assert np.isnan(road(nowhere)[0]).all()


@pytest.mark.parametrize("table", EVERY_TABLE, ids=lambda t: t.name)
def test_derivatives_by_complex_step_and_by_numbers(table):
    program = derivative_program(table)
    for point in RNG.uniform(-0.9, 1.2, (6, len(table.knots))):
        _, gradient, hessian = program(point)
        assert_allclose(complex_step(program, "value", "x", [point])[0], gradient, rtol=1e-12, atol=1e-12)
        assert_allclose(complex_step(program, "gradient", "x", [point]), np.atleast_2d(hessian), rtol=1e-11, atol=1e-11)
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    arguments = [x, y][: len(table.knots)]
    slope = ca.Function("slope", [x, y], [ca.jacobian(table(*arguments), x)])
    expected = table.at(*(0.37, 0.91)[: len(table.knots)], orders=(1, 0)[: len(table.knots)])
    assert float(slope(0.37, 0.91)) == pytest.approx(float(expected), rel=1e-12)


def test_derivatives_at_knots_are_those_of_the_right_side():
    program = derivative_program(Table("line", KNOTS, VALUES))
    jacobian = np.diff(VALUES) / np.diff(KNOTS)
    found = [float(program(k)[1][0]) for k in KNOTS]
    assert_allclose(found, [*jacobian, jacobian[-1]], rtol=1e-12)


def test_third_derivatives():
    table = EVERY_TABLE[4]
    second = derivative_program(table)
    z = ca.SX.sym("x", 2)
    program = Program.build("second", {"x": z}, {"h": ca.vec(second.function(z)[2])})
    third = program.jacobian("h", "x")
    point = [0.2, 0.7]
    assert_allclose(interpret(third, point)[0], third(point)[0], rtol=1e-12)
    assert_allclose(compile(third)(point)[0], third(point)[0], rtol=1e-11)
    assert_allclose(complex_step(program, "h", "x", [point]), third(point)[0], rtol=1e-10)


def test_a_table_and_its_derivative_search_once():
    from draisine.program.ssa import SEARCH, to_ssa

    program = derivative_program(Table("curve", KNOTS, VALUES, "spline"))
    assert sum(value.kind == SEARCH for value in to_ssa(program.tape).values) == 1


def test_columns_are_taken_entry_by_entry():
    table = Table("curve", KNOTS, VALUES, "spline")
    x = ca.SX.sym("x", 3)
    assert_allclose(Program.build("p", {"x": x}, {"y": table(x)})(INSIDE[:3])[0], table.at(INSIDE[:3]), rtol=1e-13)
    surface = EVERY_TABLE[4]
    found = Program.build("p", {"x": x}, {"y": surface(x, 0.3)})(INSIDE[:3])[0]
    assert_allclose(found, surface.at(INSIDE[:3], 0.3), rtol=1e-12)


# ---------------------------------------------------------------------------------------------- identity, complaints


def test_the_numbers_enter_the_digest():
    x = ca.SX.sym("x")

    def digest(values) -> str:
        return Program.build("p", {"x": x}, {"y": Table("t", KNOTS, values)(x)}).digest

    assert digest(VALUES) == digest(VALUES.copy())
    assert digest(VALUES) != digest(VALUES + np.eye(7)[3] * 1e-15 * VALUES[3] * 8)


def test_tables_compare_by_content_and_keep_it():
    values = VALUES.copy()
    table = Table("t", KNOTS, values)
    values[0] = 99.0
    assert table == Table("t", KNOTS, VALUES)
    assert hash(table) == hash(Table("t", list(KNOTS), VALUES.tolist()))
    assert table != Table("t", KNOTS, VALUES, "spline")
    assert table != Table("other", KNOTS, VALUES)
    with pytest.raises(ValueError, match="read-only"):
        table.values[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("drag", (0, 1, 1), (1, 2, 3)), "table 'drag': the knots must increase, but 1 is followed by 1; sort"),
        (("drag", (0, 1, 0.5), (1, 2, 3)), "1 is followed by 0.5"),
        (("drag", ((0, 1), (3, 2)), np.ones((2, 2))), "the second knots must increase, but 3 is followed by 2"),
        (("drag", (0, 1, 2), (1, 2)), r"values have shape \(2,\), expected \(3,\)"),
        (("drag", ((0, 1, 2), (0, 1)), np.ones((2, 3))), r"values have shape \(2, 3\), expected \(3, 2\)"),
        (("drag", (0, 1, 2), (1, np.nan, 3)), r"values must be finite, found nan at entry \(1,\)"),
        (("drag", (0, np.inf), (1, 2)), "knots must be finite, found inf"),
        (("drag", (0,), (1,)), "two numbers or more"),
        (("drag", (0, 1), ("a", "b")), "values must be numbers"),
        (("drag", ((0, 1), (0, 1), (0, 1)), np.ones((2, 2, 2))), "3 axes of knots given"),
        (("drag", (0, 1), (1, 2), "cubic"), "kind 'cubic' is unknown; choose one of 'linear', 'spline'"),
        (("drag", (0, 1), (1, 2), "linear", "wrap"), "outside 'wrap' is unknown"),
        (("drag force", (0, 1), (1, 2)), "table 'drag force': the name must be"),
    ],
)
def test_complaints_name_the_table(arguments, complaint):
    with pytest.raises(ModelError, match=complaint):
        Table(*arguments)


def test_wrong_number_of_arguments():
    with pytest.raises(TypeError, match="table 't' takes 1 arguments, got 2"):
        Table("t", KNOTS, VALUES)(ca.SX.sym("x"), 2.0)
