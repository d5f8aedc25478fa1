"""SymPy in and out."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

from draisine.errors import ExpressionError
from draisine.program.program import Program
from draisine.symbolic.sympy_bridge import to_sx, to_sympy
from every_operation import BINARY, UNARY

a, b, c = sp.symbols("a b c", real=True)
X = ca.SX.sym("x", 3)
SYMBOLS = {a: X[0], b: X[1], c: X[2]}
POINT = {a: 0.37, b: -0.82, c: 1.9}

EXPRESSIONS = [
    a * b / c,
    a**3 / b**2 - c**-1,
    sp.Rational(2, 7) * a - b / 3 - a / c,
    sp.sqrt(a * c) + c ** sp.Rational(3, 2) + c ** sp.Rational(-1, 2) + a ** sp.Rational(1, 3) + b**5 + b**-3,
    a**c + sp.E**b + sp.pi * sp.GoldenRatio,
    sp.sin(a) + sp.cos(b) * sp.tan(c) + sp.asin(a) - sp.acos(b) + sp.atan(c) + sp.atan2(b, a) + sp.sec(a) + sp.csc(b) + sp.cot(c),
    sp.sinh(a) + sp.cosh(b) - sp.tanh(c) + sp.asinh(b) + sp.acosh(c) + sp.atanh(a),
    sp.exp(-(a**2)) + sp.log(c) + sp.erf(b),
    sp.Abs(b) + sp.sign(b) + sp.floor(c) + sp.ceiling(c) + sp.Max(a, b, c) - sp.Min(a, b, c) + sp.Mod(b, c),
    sp.Piecewise((a, b > 0), (b * 2, (a > 0) & (c < 1)), (c**2, True)),
    sp.Piecewise((1, sp.Or(a < b, sp.Not(c <= 1))), (0, True)) + sp.Heaviside(b) + sp.Heaviside(a),
    sp.sinc(a) + sp.UnevaluatedExpr(a + b),
    sp.Float("1.25") * a + sp.Integer(10) ** 20,
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_from_sympy(expression):
    program = Program.build("e", {"x": X}, {"y": to_sx(expression, SYMBOLS)})
    expected = complex(expression.subs(POINT).doit().evalf(30))
    assert abs(expected.imag) < 1e-12
    assert_allclose(program(list(POINT.values()))[0], expected.real, rtol=1e-13)


@pytest.mark.parametrize("kind", [sp.Matrix, sp.ImmutableMatrix, sp.SparseMatrix, list])
def test_matrices_of_every_kind(kind):
    entries = [[a, 0, a * b], [c, 1, sp.sin(c)]]
    found = Program.build("m", {"x": X}, {"y": to_sx(kind(entries), SYMBOLS)})(list(POINT.values()))[0]
    assert_allclose(found, np.array(sp.Matrix(entries).subs(POINT), dtype=float), rtol=1e-15)


def test_one_division_per_product_and_squares_for_powers():
    def operations(expression: sp.Expr) -> int:
        return Program.build("e", {"x": X}, {"y": to_sx(expression, SYMBOLS)}).operations

    assert operations(a / (b * c)) == 2
    assert operations(a**2 / b**2) == 3
    assert operations(a**8) == 3


def test_shared_parts_cross_once():
    """A tower of squares: a tree of 2⁴⁰ leaves, forty operations."""
    tower = a
    for _ in range(40):
        tower = sp.Add(sp.Mul(tower, tower, evaluate=False), sp.Rational(-1, 5), evaluate=False)
    program = Program.build("tower", {"x": X}, {"y": to_sx(tower, SYMBOLS)})
    assert program.operations <= 80
    listing = to_sympy(program)
    assert len(listing.definitions) <= 41
    assert sum(formula.count_ops() for _, formula in listing.definitions) < 200


def test_expressions_deeper_than_the_stack():
    deep = a
    for _ in range(3000):
        deep = sp.sin(deep, evaluate=False)
    assert Program.build("deep", {"x": X}, {"y": to_sx(deep, SYMBOLS)}).operations == 3000


def test_functions_of_time_are_symbols_when_named():
    t = sp.Symbol("t")
    q = sp.Function("q")(t)
    expression = q.diff(t) ** 2 + q * t
    found = to_sx(expression, {q: X[0], q.diff(t): X[1], t: X[2]})
    assert float(ca.evalf(ca.substitute(found, X, ca.DM([2.0, 3.0, 5.0])))) == 19.0


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        (a + sp.Symbol("mass"), "symbol mass is not among the arguments"),
        (sp.gamma(a) + b, "gamma has no counterpart.*Supported functions: Abs"),
        (sp.Function("q")(a), "q has no counterpart"),
        (sp.Function("q")(a).diff(a), r"Derivative\(q\(a\), a\) has no counterpart"),
        (a + sp.I, "the number I is not real"),
        (a + sp.zoo, "not real"),
        ("a + b", "'a \\+ b' is text"),
    ],
)
def test_complaints_name_the_part(expression, complaint):
    with pytest.raises(ExpressionError, match=complaint):
        to_sx(expression, SYMBOLS)


# -------------------------------------------------------------------------------------------------------- to SymPy


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_operation_comes_back(name):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    program = Program.build("one", {"x": x, "y": y}, {"f": UNARY[name](x) if name in UNARY else BINARY[name](x, y)})
    listing = to_sympy(program)
    point = (1.71875, -0.4375) if name == "acosh" else (0.71875, -0.4375)
    symbols = [listing.symbols["x"][0], listing.symbols["y"][0]]
    value = listing.expanded()["f"][0].subs(dict(zip(symbols, point, strict=True))).evalf(30)
    assert_allclose(float(value), program(*point)[0][0], rtol=1e-14)


def test_there_and_back_again():
    matrix = sp.Matrix([[a * b / c, sp.sin(a * b) ** 2], [sp.sqrt(c) - a, sp.exp(a * b)]])
    program = Program.build("m", {"x": (X, ("a", "b", "c"))}, {"y": to_sx(matrix, SYMBOLS)})
    listing = to_sympy(program)
    assert listing.symbols["x"] == (a, b, c)
    assert [formula for _, formula in listing.definitions] == [a * b]
    assert sp.simplify(listing.expanded()["y"] - matrix) == sp.zeros(2, 2)


def test_labels_that_clash_are_reported_apart():
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 2)
    program = Program.build("clash", {"q": (x, ("roll", "steer")), "v": (y, ("roll", "rate"))}, {"z": x + y})
    assert [s.name for slot in to_sympy(program).symbols.values() for s in slot] == ["q_roll", "steer", "v_roll", "rate"]


def test_calls_stay_calls():
    from draisine.expr.tables import Table

    x = ca.SX.sym("x")
    torque = Table("torque", (0, 1), (0, 1))
    listing = to_sympy(Program.build("p", {"x": x}, {"y": 2 * torque(x)}))
    assert str(listing.results["y"][0]) == "2*torque(x)"
