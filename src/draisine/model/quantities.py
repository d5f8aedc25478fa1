"""Conversion of amounts (a number, a text with a unit, an expression) to expressions in SI units."""

from __future__ import annotations

from collections.abc import Mapping

from draisine.errors import ExpressionError, ModelError, UnitError
from draisine.expr.expression import Expr, Name, Number, as_expr
from draisine.expr.units import quantity_in

Amount = Expr | str | float | int


def amount_in(value: Amount, unit: str | None, where: str) -> Expr:
    """The value as an expression in SI units.

    A text such as "5 cm" is converted and must fit `unit` (None accepts no unit); other texts are expressions, whose dimensions
    are not checked.
    """
    if isinstance(value, str):
        if unit is not None:
            try:
                converted = quantity_in(value, unit, where)
            except UnitError as problem:
                raise ModelError(str(problem)) from None
            if converted is not None:
                return Number(converted)
        try:
            return as_expr(value)
        except ExpressionError as problem:
            raise ModelError(f"{where}: {problem}") from None
    try:
        return as_expr(value)
    except (TypeError, ValueError) as problem:
        raise ModelError(
            f"{where}: expected a number, a text such as '5 cm' or an expression, got {value!r} ({problem})"
        ) from None


def named(name: str, where: str) -> Name:
    """A name as an expression."""
    try:
        return Name(name)
    except ExpressionError as problem:
        raise ModelError(f"{where}: {problem}") from None


def expression_of(value: Amount) -> Expr:
    """A number, a text or an expression as an expression, without unit."""
    return amount_in(value, None, "expression")


def laws_and_constants(inputs: Mapping[str, Amount], instead: str) -> tuple[dict[str, Expr], dict[str, float]]:
    """Inputs given as expressions to compile, and those given as numbers; `instead` is the remedy for a Python function."""
    laws: dict[str, Expr] = {}
    constants: dict[str, float] = {}
    for name, value in inputs.items():
        if isinstance(value, Expr | str):
            laws[name] = amount_in(value, None, f"law of input {name!r}")
        elif callable(value):
            raise ModelError(f"input {name!r}: {instead}")
        else:
            constants[name] = float(value)
    return laws, constants
