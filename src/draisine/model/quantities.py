"""Conversion of amounts (a number, a text with a unit, an expression) to expressions in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np

from draisine.errors import ArgumentError, ExpressionError, ModelError, UnitError
from draisine.expr.expression import Expr, Name, Number, as_expr
from draisine.expr.units import Measured, quantity_in

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
        reason = "" if isinstance(problem, ArgumentError) else f" ({problem})"  # which says the same
        raise ModelError(f"{where}: expected a number, a text such as '5 cm' or an expression, got {value!r}{reason}") from None


def named(name: str, where: str) -> Name:
    """A name as an expression."""
    try:
        return Name(name)
    except ExpressionError as problem:
        raise ModelError(f"{where}: {problem}") from None


def expression_of(value: Amount, where: str) -> Expr:
    """A number, a text or an expression as an expression, without unit; `where` names it in errors."""
    return amount_in(value, None, where)


def laws_and_constants(inputs: Mapping[str, Amount], instead: str) -> tuple[dict[str, Expr], dict[str, float]]:
    """Inputs given as expressions to compile, and those given as numbers; `instead` is the remedy for a Python function."""
    laws: dict[str, Expr] = {}
    constants: dict[str, float] = {}
    for name, value in inputs.items():
        constant = _number(value, name)
        if constant is not None:
            constants[name] = constant
        elif isinstance(value, Expr | str):
            laws[name] = amount_in(value, None, f"law of input {name!r}")
        elif callable(value):
            raise ModelError(f"input {name!r}: {instead}")
        else:
            raise ModelError(
                f"input {name!r} must be a number, a text such as '2 N*m', or a law such as '-2*lean', got {value!r}"
            )
    return laws, constants


def _number(value: object, name: str) -> float | None:
    """A number, also as a text with a unit, which is checked where the unit of the input is known."""
    if isinstance(value, str):
        try:
            return Measured.read(value)
        except UnitError as problem:
            raise ModelError(f"input {name!r}: {problem}") from None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
