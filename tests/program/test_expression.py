"""Expressions: reading, writing, evaluating, and refusing everything that is none."""

from __future__ import annotations

import math
import operator
import subprocess
import sys
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draisine.errors import ExpressionError
from draisine.expr import expression as ex
from draisine.expr.expression import Call, Expr, Name, Number, evaluate, evaluate_number, parse
from draisine.expr.safe_functions import SX_FUNCTIONS

X, Y, Z = Name("x"), Name("y"), Name("z")

# -------------------------------------------------------------------- random expressions

numbers = st.floats(allow_nan=False, allow_infinity=False).map(Number)
identifiers = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}(\.[A-Za-z][A-Za-z0-9_]{0,3}){0,2}", fullmatch=True).filter(ex.is_name)
leaves = numbers | st.sampled_from([-math.pi, math.pi, 0.0, -0.0, 2.0, -2.0]).map(Number) | identifiers.map(Name)


def _call(function: str, arguments: list[Expr]) -> Expr:
    return Call(function, tuple(arguments))


def _longer(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.builds(
        _call,
        st.sampled_from(["add", "sub", "mul", "div", "pow", "lt", "le", "gt", "ge"]),
        st.lists(parts, min_size=2, max_size=2),
    )
    unary = st.builds(_call, st.sampled_from(["neg", "neg", "sin", "abs"]), st.lists(parts, min_size=1, max_size=1))
    other = st.builds(_call, st.sampled_from(["min", "lean", "_f"]), st.lists(parts, min_size=2, max_size=4))
    return binary | unary | other


expressions = st.recursive(leaves, _longer, max_leaves=25)


@given(expressions)
def test_text_reads_back_as_the_same_expression(expr: Expr) -> None:
    again = parse(str(expr))
    assert again == expr
    assert hash(again) == hash(expr)
    assert str(again) == str(expr)


def _leaf_signs(expr: Expr) -> list[float]:
    if isinstance(expr, Call):
        return [sign for argument in expr.arguments for sign in _leaf_signs(argument)]
    return [math.copysign(1.0, expr.value)] if isinstance(expr, Number) else []


@given(expressions)
def test_signs_of_zero_survive(expr: Expr) -> None:
    # 0.0 == -0.0, so equality alone would not see a lost sign
    assert _leaf_signs(parse(str(expr))) == _leaf_signs(expr)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        expr = parse(text)
    except ExpressionError as problem:
        assert "expression" in str(problem)
    else:
        assert parse(str(expr)) == expr


@given(st.text(alphabet="abxy01.e+-*/^<>=(), ", max_size=40))
def test_any_formula_like_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        expr = parse(text)
    except ExpressionError:
        return
    assert parse(str(expr)) == expr


# Python's own grammar as a second parser: for these operators it binds alike (its "^" is written "**").
python_like = st.recursive(
    st.sampled_from(["a", "b", "2.0", "0.5"]),
    lambda part: (
        st.builds("{}{}{}".format, part, st.sampled_from(["+", "-", "*", "/", "**", " - ", "*-"]), part)
        | part.map("({})".format)
        | part.map("-{}".format)
    ),
    max_leaves=12,
)


@given(python_like)
def test_precedence_is_that_of_python(text: str) -> None:
    names = {"a": 1.25, "b": 0.75}
    try:
        expected = eval(text, {"__builtins__": {}}, names)  # the text is made by this test from the alphabet above
    except (OverflowError, ZeroDivisionError):
        return
    if isinstance(expected, complex):
        return
    assert evaluate(parse(text), names.__getitem__, ex.FLOAT_FUNCTIONS) == pytest.approx(expected, rel=1e-12, nan_ok=True)


# -------------------------------------------------------------------- reading and writing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b*c", Call("add", (Name("a"), Call("mul", (Name("b"), Name("c")))))),
        ("a - b - c", Name("a") - Name("b") - Name("c")),
        ("a/b/c", Name("a") / Name("b") / Name("c")),
        ("a^b^c", Name("a") ** (Name("b") ** Name("c"))),
        ("-a^2", -(Name("a") ** 2)),
        ("-2^2", -(Number(2) ** 2)),
        ("-2", Number(-2)),
        ("-(2)", Call("neg", (Number(2),))),
        ("2**-x", 2 ** (-X)),
        ("+x", X),
        ("1.5e-3*frame.hub", Number(1.5e-3) * Name("frame.hub")),
        (".5", Number(0.5)),
        ("2.", Number(2)),
        ("pi/2", Number(math.pi) / 2),
        ("x < y", Call("lt", (X, Y))),
        ("where(x >= y, x, y)", ex.where(ex.ge(X, Y), X, Y)),
        ("lean( frame )", Call("lean", (Name("frame"),))),
        ("f()", Call("f", ())),
        ("add(x, 1)", X + 1),
        ("\tx\n+ y", X + Y),
    ],
)
def test_reading(text: str, expected: Expr) -> None:
    assert parse(text) == expected
    assert parse(str(expected)) == expected


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (2 * X - 1, "2*x - 1"),
        (-X, "-x"),
        (X**2, "x**2"),
        (1 / X + 0.1, "1/x + 0.1"),
        (X - (Y - Z), "x - (y - z)"),
        ((X - Y) - Z, "x - y - z"),
        (X / (Y * Z), "x/(y*z)"),
        ((-X) ** 2, "(-x)**2"),
        (Number(-2) ** X, "(-2)**x"),
        (X - Number(-2), "x - (-2)"),
        (Call("neg", (-X,)), "-(-x)"),
        (-(X * Y), "-(x*y)"),
        ((-X) * Y, "-x*y"),
        ((X**Y) ** Z, "(x**y)**z"),
        (ex.lt(ex.lt(X, Y), Z), "(x < y) < z"),
        (ex.lt(X, -Y), "x < -y"),
        (Number(math.pi) * X, "pi*x"),
        (Number(0.1) + Number(1e300), "0.1 + 1e+300"),
        (Number(-0.0), "-0"),
        (Number(1e22), "1e+22"),
        (Number(123456789012345680.0), "1.2345678901234568e+17"),
        (ex.atan2(X, 2), "atan2(x, 2)"),
    ],
)
def test_writing_uses_few_parentheses(expr: Expr, text: str) -> None:
    assert str(expr) == text
    assert parse(text) == expr


def test_operators_take_numbers_on_either_side() -> None:
    assert Call("mul", (Number(2), X)) == 2 * X
    assert Call("mul", (X, Number(2))) == X * 2.0
    assert Call("sub", (Number(1), X)) == 1 - X
    assert Call("div", (Number(1), X)) == 1 / X
    assert Call("pow", (Number(2), X)) == 2**X
    assert Call("add", (Number(1), X)) == 1 + X
    assert +X == X
    assert abs(X) == ex.abs(X) == Call("abs", (X,))
    assert np.float64(2) * X == 2 * X == np.int64(2) * X
    with pytest.raises(TypeError, match="unsupported operand"):
        X + [1]  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        X + "y"  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        X * True  # type: ignore[operator]


def test_equality_is_structural_and_ordering_is_a_function() -> None:
    assert X + Y != Y + X
    assert {X + Y: 1}[parse("x + y")] == 1
    with pytest.raises(TypeError, match="not supported"):
        X < Y  # type: ignore[operator]  # noqa: B015


def test_expressions_do_not_change() -> None:
    with pytest.raises(AttributeError):
        X.identifier = "y"  # type: ignore[misc]


def test_representation_can_be_typed_back() -> None:
    assert repr(2 * X) == "parse('2*x')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + * b", "expression 'a + * b': unexpected '*' at column 5"),
        ("", "the expression is empty; give a number or a formula"),
        ("  ", "the expression is empty; give a number or a formula"),
        ("a +", "expression 'a +': unexpected end at column 4"),
        ("2x", "expression '2x': unexpected 'x' (a product is written with *) at column 2"),
        ("2,5*a", "expression '2,5*a': unexpected ',' (decimals are written with a point) at column 2"),
        ("2 (a)", "expression '2 (a)': unexpected '(' (a product is written with *) at column 3"),
        ("(a", "expression '(a': '(' is never closed; it opened at column 1"),
        ("1 + sin(a", "expression '1 + sin(a': '(' is never closed; it opened at column 5"),
        ("a)", "expression 'a)': unexpected ')' at column 2"),
        ("()", "expression '()': unexpected ')' at column 2"),
        ("f(a,)", "expression 'f(a,)': unexpected ')' at column 5"),
        ("f(,a)", "expression 'f(,a)': unexpected ',' at column 3"),
        ("a, b", "expression 'a, b': unexpected ',' at column 2"),
        ("(a, b)", "expression '(a, b)': unexpected ',' at column 3"),
        ("a < b < c", "expression 'a < b < c': '<' after another comparison (put one of them in parentheses) at column 7"),
        ("a == b", "expression 'a == b': unexpected '=' at column 3"),
        ("sin(a, b)", "expression 'sin(a, b)': sin takes 1 argument, got 2 at column 1"),
        ("1 + max(a)", "expression '1 + max(a)': max takes 2 or more arguments, got 1 at column 5"),
        ("1e999", "expression '1e999': the number '1e999' is too large at column 1"),
        ("frame.hub(1)", "expression 'frame.hub(1)': 'frame.hub' is a dotted name and cannot be called at column 1"),
        ("x = 1", "expression 'x = 1': unexpected '=' at column 3"),
    ],
)
def test_mistakes_are_shown_with_their_column(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "__import__",
        "().__class__",
        "(1).__class__.__bases__",
        "frame.__class__",
        "frame.__init__.__globals__",
        "frame .hub",
        "[1 for x in y]",
        "lambda: 1",
        "x[0]",
        "{'a': 1}",
        '"text"',
        "f'{x}'",
        "x; y",
        "x := 1",
        "x or y",
        "a if b else c",
        "\\x41",
        "a\x00b",
        "ѕin(x)",  # a Cyrillic letter
        "２ + 1",  # a full-width digit
        "x\u200b",
        "x − 1",  # a typographic minus
        "é",
        "@x",
        "#x",
        "1_000",
        "0x10",
        "1j",
    ],
)
def test_nothing_but_formulas_is_read(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 200_000, r"expression 'x{57}…' has 200000 characters; the limit is 100000"),
        ("(" * 9_000 + "x" + ")" * 9_000 + "+", "unexpected end"),
        ("sin(" * 3_000 + "x" + ")" * 3_000, "nested more than 200 deep; split it into named parts"),
        ("-" * 15_000 + "x", "nested more than 200 deep"),
        ("2**" * 5_000 + "x", "nested more than 200 deep"),
        ("x-(" * 20_000 + "x" + ")" * 20_000, "nested more than 200 deep"),
        ("(x+1)*(" * 9_000 + "x" + ")" * 9_000, "nested more than 200 deep"),
        ("+".join("x" * 40_000), "more than 50000 parts"),
        ("f(" + "-x," * 30_000 + "x)", "more than 50000 parts"),
        ("9" * 10_000, "too large"),
    ],
)
def test_huge_texts_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        parse(text)


def test_deep_parentheses_alone_are_harmless() -> None:
    assert parse("(" * 9_000 + "x" + ")" * 9_000) == X


def test_deepest_expressions_survive_every_operation() -> None:
    deep: Expr = X
    for _ in range(ex.MAX_DEPTH):
        deep = ex.sin(deep)
    assert parse(str(deep)) == deep
    assert hash(parse(str(deep))) == hash(deep)
    assert ex.names(deep) == {"x"}
    assert ex.substitute(deep, {"x": 0.0}) != deep
    assert evaluate_number(deep, {"x": 0.0}) == 0.0
    with pytest.raises(ExpressionError, match="nested more than 200 deep"):
        ex.sin(deep)
    with pytest.raises(ExpressionError, match="nested more than 200 deep"):
        ex.substitute(deep, {"x": "sin(x)"})


@pytest.mark.parametrize(("signs", "count"), [("+-", 199), ("+-", 200), ("+-", 201), ("+-", 3_000), ("*/", 202), ("*/", 1_777)])
def test_long_sums_and_products_are_read(signs: str, count: int) -> None:
    """They are not nested: thousands of terms, with the value of exact arithmetic, from text and from Python's operators."""
    random = np.random.default_rng(count)
    terms = random.integers(1, 1000, count)
    chosen = ["+" if signs == "+-" else "*", *random.choice(list(signs), count - 1)]
    text = "".join(f"{sign}a*{term}" if signs == "+-" else f"{sign}(a+{term})" for sign, term in zip(chosen, terms, strict=True))[
        1:
    ]
    built: Expr = parse("a") * int(terms[0]) if signs == "+-" else parse("a") + int(terms[0])
    exact = Fraction(int(terms[0])) * 3 if signs == "+-" else Fraction(int(terms[0]) + 3)
    for sign, term in zip(chosen[1:], terms[1:].tolist(), strict=True):
        part, value = (parse("a") * term, Fraction(3 * term)) if signs == "+-" else (parse("a") + term, Fraction(3 + term))
        operate = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
        built, exact = operate(built, part), operate(exact, value)
    read = parse(text)
    assert isinstance(read, ex.Call) and (read.depth <= ex.MAX_DEPTH if count < 201 else read.depth < 20)
    assert parse(str(read)) == read and parse(str(built)) == built
    assert isinstance(built, ex.Call) and built.size == read.size
    for expr in (read, built, ex.substitute(read, {"a": "b"})):
        assert evaluate_number(expr, {"a": 3.0, "b": 3.0}) == pytest.approx(float(exact), rel=1e-12)


def test_sums_of_two_hundred_terms_are_added_from_left_to_right() -> None:
    terms = np.random.default_rng(1).uniform(-1, 1, 201)
    left = 0.0
    for term in terms:
        left += float(term)
    assert evaluate_number(parse("+".join(f"({float(term)!r})" for term in terms))) == left


def test_shared_parts_cannot_grow_without_bound() -> None:
    expr: Expr = X
    with pytest.raises(ExpressionError, match="more than 50000 parts; split it into named parts"):
        for _ in range(100):
            expr = expr * expr


@pytest.mark.parametrize("identifier", ["", "2x", "a b", "a..b", ".a", "a.", "é", "a-b", "__x", "pi", "a.__b", "x\n"])
def test_bad_names_are_refused(identifier: str) -> None:
    assert not ex.is_name(identifier)
    with pytest.raises(
        ExpressionError,
        match=r"is not a valid name; use letters, digits, underscores and dots|'pi' is a number and cannot be used as a name",
    ):
        Name(identifier)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_are_finite(value: float) -> None:
    with pytest.raises(ExpressionError, match=r"cannot hold (-?inf|nan); give a finite number"):
        Number(value)


def test_bad_calls_are_refused() -> None:
    with pytest.raises(ExpressionError, match=r"'frame\.f' is not a valid function name"):
        Call("frame.f", ())
    with pytest.raises(ExpressionError, match="clip takes 3 arguments, got 2"):
        ex.clip(X, 1)
    with pytest.raises(TypeError, match="sin: argument 2 is not an expression; convert it by as_expr"):
        Call("sin", (2,))  # type: ignore[arg-type]


# -------------------------------------------------------------------- looking, rewriting, converting


def test_names_and_calls() -> None:
    expr = parse("m*g*sin(slope) + lean(frame.hub)")
    assert ex.names(expr) == {"m", "g", "slope", "frame.hub"}
    assert ex.calls(expr) == {"mul", "add", "sin", "lean"}
    assert ex.names(Number(2)) == frozenset()


def test_substitution_is_simultaneous() -> None:
    assert ex.substitute(parse("x + y*f(x)"), {"x": Y, "y": "2*z"}) == parse("y + 2*z*f(y)")
    assert ex.substitute(X, {"y": 1}) is X


def test_as_expr() -> None:
    assert ex.as_expr("2*x") == 2 * X
    assert ex.as_expr(3) == ex.as_expr(3.0) == ex.as_expr(np.float64(3)) == Number(3)
    assert ex.as_expr(X) is X
    for wrong in (None, True, [1], 1j):
        with pytest.raises(TypeError, match="is not an expression; give a number, a text such as"):
            ex.as_expr(wrong)  # type: ignore[arg-type]
    for huge in (math.inf, 10**400):
        with pytest.raises(ExpressionError, match="cannot hold inf"):
            ex.as_expr(huge)


# -------------------------------------------------------------------- evaluating

CASES = {
    "sin(x)": math.sin(0.3),
    "cos(x)": math.cos(0.3),
    "tan(x)": math.tan(0.3),
    "asin(x)": math.asin(0.3),
    "acos(x)": math.acos(0.3),
    "atan(x)": math.atan(0.3),
    "atan2(x, -y)": math.atan2(0.3, -2.0),
    "sinh(x)": math.sinh(0.3),
    "cosh(x)": math.cosh(0.3),
    "tanh(x)": math.tanh(0.3),
    "sqrt(x)": math.sqrt(0.3),
    "exp(x)": math.exp(0.3),
    "log(x)": math.log(0.3),
    "abs(-x)": 0.3,
    "sign(-x)": -1.0,
    "sign(0)": 0.0,
    "sign(x)": 1.0,
    "min(x, y, -1)": -1.0,
    "max(x, y)": 2.0,
    "hypot(3, 4)": 5.0,
    "hypot(1, 2, 2)": 3.0,
    "floor(-x)": -1.0,
    "ceil(x)": 1.0,
    "clip(x, 1, y)": 1.0,
    "clip(5, 1, y)": 2.0,
    "clip(1.5, 1, y)": 1.5,
    "where(x < y, x, y)": 0.3,
    "where(x > y, x, y)": 2.0,
    "x <= x": 1.0,
    "x >= y": 0.0,
    "x < x": 0.0,
    "y > x": 1.0,
    "x - y": -1.7,
    "x/y": 0.15,
    "x**y": 0.09,
    "y^3": 8.0,
    "-x + 2*y": 3.7,
}


@pytest.mark.parametrize("text", CASES)
def test_values_in_floats_and_in_casadi(text: str) -> None:
    expr = parse(text)
    assert evaluate_number(expr, {"x": 0.3, "y": 2.0}) == pytest.approx(CASES[text], rel=1e-15)
    symbols = {"x": ca.SX.sym("x"), "y": ca.SX.sym("y")}
    lowered = ca.Function("f", list(symbols.values()), [evaluate(expr, symbols.__getitem__, SX_FUNCTIONS)])
    assert float(lowered(0.3, 2.0)) == pytest.approx(CASES[text], rel=1e-14)


@pytest.mark.parametrize(
    "text", ["hypot(x, y)", "hypot(x, y, 0)", "atan2(x, y)", "sqrt(x)", "sqrt(x^2 + y^2)", "abs(x)", "sign(x)"]
)
def test_derivatives_in_casadi_are_finite_at_zero_and_exact_elsewhere(text: str) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    value = evaluate(parse(text), {"x": x, "y": y}.__getitem__, SX_FUNCTIONS)
    slope = ca.Function("slope", [x, y], [ca.jacobian(value, ca.vertcat(x, y))])
    assert np.all(slope(0.0, 0.0).full() == 0.0)
    step, at = 1e-6, {"x": 0.3, "y": -0.4}
    for column, name in enumerate(at):
        ahead, behind = (evaluate_number(parse(text), {**at, name: at[name] + s}) for s in (step, -step))
        assert float(slope(0.3, -0.4)[column]) == pytest.approx((ahead - behind) / (2 * step), abs=1e-8)


def test_the_root_of_a_negative_number_does_not_pass_in_silence() -> None:
    x = ca.SX.sym("x")
    assert math.isnan(float(ca.Function("f", [x], [evaluate(parse("sqrt(x)"), lambda _: x, SX_FUNCTIONS)])(-1.0)))


def test_cases_cover_every_function() -> None:
    used = frozenset().union(*(ex.calls(parse(text)) for text in CASES))
    assert used == ex.FUNCTIONS | ex.OPERATORS == set(ex.FLOAT_FUNCTIONS) == set(SX_FUNCTIONS)
    for name in ex.FUNCTIONS:
        helper = getattr(ex, name)
        assert helper.__name__ == name
        assert helper.__doc__


def test_where_discards_what_its_other_branch_cannot_compute() -> None:
    guarded = parse("where(x > 0, log(x) + 1/x + sqrt(x) + x^0.5, -1)")
    assert evaluate_number(guarded, {"x": 0.0}) == -1.0
    assert evaluate_number(guarded, {"x": -4.0}) == -1.0


def test_values_that_are_not_finite_are_reported() -> None:
    with pytest.raises(ExpressionError, match=r"^expression 'log\(x\)' gives nan for x = -1\.0; expected a finite number$"):
        evaluate_number(parse("log(x)"), {"x": -1.0})
    with pytest.raises(ExpressionError, match=r"^expression '1/0' gives inf; expected a finite number$"):
        evaluate_number(parse("1/0"))
    with pytest.raises(ExpressionError, match="gives -inf"):
        evaluate_number(parse("(-10)^401"))


def test_unknown_things_are_named_with_the_nearest_known() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_number(parse("2*sine(x)"), {"x": 1.0})
    assert str(caught.value) == "expression '2*sine(x)': unknown function 'sine'; did you mean 'sin'?"
    with pytest.raises(ExpressionError) as caught:
        evaluate_number(parse("masss*g"), {"mass": 1.0, "g": 1.0})
    assert str(caught.value) == "expression 'masss*g': unknown name 'masss'; did you mean 'mass'?"
    with pytest.raises(ExpressionError, match="did you mean 'lean'"):
        evaluate(parse("leen(frame)"), float, ex.FLOAT_FUNCTIONS, {"lean": lambda arguments: 0.0})


def test_special_functions_see_their_arguments_unevaluated() -> None:
    seen: list[tuple[Expr, ...]] = []

    def lean(arguments: tuple[Expr, ...]) -> float:
        seen.append(arguments)
        return 0.25

    def no_names(name: str) -> float:
        raise AssertionError(f"{name} was evaluated")

    assert evaluate(parse("4*lean(frame.hub, 1 + 2)"), no_names, ex.FLOAT_FUNCTIONS, {"lean": lean}) == 1.0
    assert seen == [(Name("frame.hub"), Number(1) + 2)]


def test_shared_parts_are_evaluated_once() -> None:
    asked: list[str] = []
    shared = ex.sin(X)
    evaluate(shared * shared + shared, lambda name: asked.append(name) or 1.0, ex.FLOAT_FUNCTIONS)
    assert asked == ["x"]


def test_importing_expressions_is_light() -> None:
    code = "import sys, draisine.expr.expression as e; e.parse('x + 1'); sys.exit(bool({'casadi', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
