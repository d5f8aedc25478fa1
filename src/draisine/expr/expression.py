"""Symbolic expressions: a small language for formulas in models and model files.

An expression is a number, a name or a call; operators are calls too ("add", "sub", …). Text is parsed by draisine's own parser
and never evaluated by Python, so formulas in model files cannot run code. The evaluator defines the values of names: floats,
CasADi symbols, text.

>>> p = Name("p")
>>> print(2 * p - 1)
2*p - 1
>>> parse("2*p - 1") == 2 * p - 1
True
>>> evaluate_number(parse("hypot(3, a) < 6"), {"a": 4.0})
1.0
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Collection, Mapping
from numbers import Real
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from draisine.errors import ArgumentError, ExpressionError
from draisine.expr.parser import MAX_LENGTH, parse
from draisine.expr.tree import (
    FUNCTIONS,
    MAX_DEPTH,
    MAX_SIZE,
    OPERATORS,
    Call,
    Expr,
    Name,
    Number,
    calls,
    is_name,
    names,
    short,
    walk,
)

# fmt: off
__all__ = [
    "FLOAT_FUNCTIONS",
    "FUNCTIONS",
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_SIZE",
    "OPERATORS",
    "Call",
    "Expr",
    "ExprLike",
    "Name",
    "Number",
    "abs",
    "acos",
    "as_expr",
    "asin",
    "atan",
    "atan2",
    "calls",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "did_you_mean",
    "evaluate",
    "evaluate_number",
    "exp",
    "floor",
    "ge",
    "gt",
    "hypot",
    "is_name",
    "le",
    "log",
    "lt",
    "max",
    "min",
    "names",
    "parse",
    "pi",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "substitute",
    "tan",
    "tanh",
    "unknown_function",
    "walk",
    "where",
]
# fmt: on

T = TypeVar("T")
ExprLike: TypeAlias = Expr | str | float | int


def as_expr(value: ExprLike) -> Expr:
    """Convert a value to an expression: text is parsed, a number becomes a `Number`.

    >>> as_expr("2*r"), as_expr(3)
    (parse('2*r'), parse('3'))
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        return parse(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return Number(value)
    raise ArgumentError(f"{value!r} is not an expression; give a number, a text such as '2*r', or an expression")


def substitute(expr: Expr, mapping: Mapping[str, ExprLike]) -> Expr:
    """Replace names in an expression, simultaneously.

    >>> print(substitute(parse("a + b"), {"a": "b", "b": 2.0}))
    b + 2
    """
    done: dict[int, Expr] = {}
    new = {name: as_expr(value) for name, value in mapping.items()}

    def replaced(part: Expr) -> Expr:
        if id(part) not in done:
            if isinstance(part, Name):
                done[id(part)] = new.get(part.identifier, part)
            elif isinstance(part, Call):
                done[id(part)] = Call(part.function, tuple([replaced(a) for a in part.arguments]))
            else:
                done[id(part)] = part
        return done[id(part)]

    return replaced(expr)


# -------------------------------------------------------------------- evaluating


def evaluate(
    expr: Expr,
    names: Callable[[str], T],
    functions: Mapping[str, Callable[..., T]],
    special: Mapping[str, Callable[[tuple[Expr, ...]], T]] = MappingProxyType({}),
) -> T:
    """Evaluate an expression: `names` returns the value of a name, `functions` has all functions, operators included.

    A function in `special` gets its arguments as unevaluated expressions: in `lean(frame)` the frame has no value. Shared
    subexpressions are evaluated once. Numbers are passed to the functions as floats.
    """
    done: dict[int, T] = {}

    def value(part: Expr) -> T:
        if id(part) in done:
            return done[id(part)]
        if isinstance(part, Number):
            result: T = part.value  # type: ignore[assignment]  # all evaluators accept floats
        elif isinstance(part, Name):
            result = names(part.identifier)
        elif isinstance(part, Call) and part.function in special:
            result = special[part.function](part.arguments)
        elif isinstance(part, Call):
            if part.function not in functions:
                raise unknown_function(part.function, [*functions, *special], expr)
            result = functions[part.function](*[value(a) for a in part.arguments])
        else:
            raise ArgumentError(f"{part!r} is not an expression; convert it by as_expr")
        done[id(part)] = result
        return result

    return value(expr)


def evaluate_number(
    expr: Expr,
    values: Mapping[str, float] = MappingProxyType({}),
    functions: Mapping[str, Callable[..., float]] | None = None,
) -> float:
    """Evaluate an expression to a finite float, given the values of its names (and additional functions).

    >>> evaluate_number(parse("m*g"), {"m": 2.0, "g": 9.81})
    19.62
    """

    def lookup(name: str) -> float:
        if name not in values:
            raise ExpressionError(f"expression '{short(str(expr))}': unknown name {name!r}{did_you_mean(name, values)}")
        return float(values[name])

    result = float(evaluate(expr, lookup, {**FLOAT_FUNCTIONS, **(functions or {})}))
    if not math.isfinite(result):
        given = ", ".join(f"{name} = {values[name]!r}" for name in sorted(names(expr)))
        raise ExpressionError(
            f"expression '{short(str(expr))}' gives {result!r}{f' for {given}' if given else ''}; expected a finite number"
        )
    return result


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of an error message about an unknown name: the most similar known name, or all known names if few.

    >>> did_you_mean("masss", ["mass", "inertia"])
    "; did you mean 'mass'?"
    """
    import difflib

    near = difflib.get_close_matches(str(name), list(known), n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    listed = ", ".join(sorted(set(known)))
    return f"; known are {listed}" if 0 < len(listed) <= 200 else ""


def unknown_function(function: str, known: Collection[str], expr: Expr) -> ExpressionError:
    """The error for an unknown function."""
    near = did_you_mean(function, [k for k in known if k not in OPERATORS])
    return ExpressionError(f"expression '{short(str(expr))}': unknown function {function!r}{near}")


def _float_functions() -> dict[str, Callable[..., float]]:
    """Functions on floats with IEEE semantics: 1/0 is inf and log(-1) is nan, so that `where` can discard them."""

    def ieee(function: Callable[..., float], ufunc: str) -> Callable[..., float]:
        def call(*arguments: float) -> float:
            try:
                return float(function(*arguments))
            except (ValueError, OverflowError, ZeroDivisionError):
                import numpy as np

                with np.errstate(all="ignore"):
                    return float(getattr(np, ufunc)(*map(np.float64, arguments)))

        return call

    arc = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
    direct = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "floor", "ceil", "pow", *arc)
    table = {name: ieee(getattr(math, name), {"pow": "power", **arc}.get(name, name)) for name in direct}
    return table | {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": ieee(lambda a, b: a / b, "divide"),
        "neg": lambda a: -a,
        "lt": lambda a, b: float(a < b),
        "le": lambda a, b: float(a <= b),
        "gt": lambda a, b: float(a > b),
        "ge": lambda a, b: float(a >= b),
        "abs": builtins.abs,
        "sign": lambda a: math.nan if math.isnan(a) else float((a > 0) - (a < 0)),
        "min": builtins.min,
        "max": builtins.max,
        "hypot": math.hypot,
        "clip": lambda x, lo, hi: builtins.min(builtins.max(x, lo), hi),
        "where": lambda condition, a, b: a if condition else b,
    }


FLOAT_FUNCTIONS: Mapping[str, Callable[..., float]] = MappingProxyType(_float_functions())


# -------------------------------------------------------------------- functions for building expressions in Python


def _function(name: str, description: str) -> Callable[..., Expr]:
    def function(*arguments: ExprLike) -> Expr:
        return Call(name, tuple(as_expr(a) for a in arguments))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{description}; returns an expression. Arguments are expressions, numbers or texts."
    return function


pi = Number(math.pi)
sin = _function("sin", "Sine")
cos = _function("cos", "Cosine")
tan = _function("tan", "Tangent")
asin = _function("asin", "Arc sine")
acos = _function("acos", "Arc cosine")
atan = _function("atan", "Arc tangent")
atan2 = _function("atan2", "Angle of the point (second argument, first argument)")
sinh = _function("sinh", "Hyperbolic sine")
cosh = _function("cosh", "Hyperbolic cosine")
tanh = _function("tanh", "Hyperbolic tangent")
sqrt = _function("sqrt", "Square root")
exp = _function("exp", "Exponential function")
log = _function("log", "Natural logarithm")
abs = _function("abs", "Absolute value")
sign = _function("sign", "Sign: -1, 0 or 1")
min = _function("min", "Least of the arguments")
max = _function("max", "Greatest of the arguments")
hypot = _function("hypot", "Length of the vector with these components")
floor = _function("floor", "Greatest integer not above")
ceil = _function("ceil", "Least integer not below")
clip = _function("clip", "First argument, limited to the range from the second to the third")
where = _function("where", "Second argument where the first (a comparison) holds, otherwise the third")
lt = _function("lt", "1 where first < second, otherwise 0")
le = _function("le", "1 where first <= second, otherwise 0")
gt = _function("gt", "1 where first > second, otherwise 0")
ge = _function("ge", "1 where first >= second, otherwise 0")
