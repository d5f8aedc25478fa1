"""Amounts (a number, a text with a unit, an expression) as expressions in SI units; typed access to the tables of model files,
whose errors name the item, the value given and the value expected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from draisine.errors import ArgumentError, ExpressionError, ModelError, UnitError
from draisine.expr.expression import Expr, Name, Number, as_expr, did_you_mean
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


FileAmount = str | int | float

_EXAMPLES = {
    "an amount": "give a number such as 1.5, or a text such as '5 cm' or 'wheelbase - trail'",
    "an amount, or a list of amounts": "give a number such as 1.5, or a list such as [0.8, 'mu']",
    "a list of three amounts": "give a list such as [0.3, 0, 'height']",
    "a text": "give it in quotes",
    "true or false": "write true or false, without quotes",
    "a list of texts": "give a list such as ['a', 'b']",
    "a table": "give it as { key = value } or under a header in brackets",
    "a list": "give a list in brackets",
}

# retired keys of model files, and their new names
_RENAMED = [tuple(pair.split(">")) for pair in (
    "about>description", "centre>center_of_mass", "centre>center", "turned>orientation", "colour>color",
    "ties>constraints", "efforts>generalized_forces", "watches>events",
)]  # fmt: skip


class Entry(NamedTuple):
    """A table and its name in error messages, such as "body 'frame'"."""

    where: str
    table: Mapping[str, Any]

    @staticmethod
    def of(where: str, value: Any) -> Entry:
        if not isinstance(value, dict):
            raise ModelError(f"{where}: expected a table, got {_shown(value)}; {_EXAMPLES['a table']}")
        return Entry(where, value)

    def only(self, *known: str) -> Entry:
        """Reject unknown keys; a retired key is reported with its new name."""
        for key in self.table:
            if key not in known:
                renamed = next((new for old, new in _RENAMED if old == key and new in known), None)
                hint = did_you_mean(key, known) if renamed is None else f"; it is called {renamed!r} now: rename it"
                raise ModelError(f"{self.where}: unknown key {key!r}{hint}")
        return self

    def has(self, key: str) -> bool:
        return key in self.table

    def text(self, key: str, default: str | None = None, choices: Collection[str] = ()) -> str:
        value = self._get(key, default, "a text")
        if not isinstance(value, str):
            self._refuse(key, value, "a text")
        if choices and value not in choices:
            raise ModelError(f"{self.where}: {key} {value!r} is unknown{did_you_mean(value, choices)}")
        return value

    def texts(self, key: str, default: list[str] | None = None, count: int | None = None) -> list[str]:
        value = self._get(key, default, "a list of texts")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._refuse(key, value, "a list of texts")
        if count is not None and len(value) != count:
            raise ModelError(f"{self.where}: {key!r} needs {count} names, got {len(value)}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default, "true or false")
        if not isinstance(value, bool):
            self._refuse(key, value, "true or false")
        return value

    def amount(self, key: str, default: FileAmount | None = None) -> FileAmount:
        """A number or a text, converted later where the unit is known."""
        value = self._get(key, default, "an amount")
        if not _is_amount(value):
            self._refuse(key, value, "an amount")
        return value

    def amounts(self, key: str) -> FileAmount | tuple[FileAmount, ...]:
        """An amount, or a list of amounts."""
        value = self._get(key, None, "an amount, or a list of amounts")
        if not isinstance(value, list):
            return self.amount(key)
        if not all(map(_is_amount, value)):
            self._refuse(key, value, "an amount, or a list of amounts")
        return tuple(value)

    def vector(self, key: str, default: tuple[FileAmount, ...] | None = None) -> tuple[FileAmount, ...]:
        value = self._get(key, default, "a list of three amounts")
        if not isinstance(value, list | tuple) or len(value) != 3 or not all(map(_is_amount, value)):
            self._refuse(key, value, "a list of three amounts")
        return tuple(value)

    def axis(self, key: str, default: str) -> str | tuple[FileAmount, ...]:
        """A text such as "y" or "-y", or a list of three amounts."""
        return self.text(key, default) if isinstance(self.table.get(key, default), str) else self.vector(key)

    def expression(self, key: str, default: FileAmount | None = None) -> Expr:
        """A number or an expression without unit."""
        return amount_in(self.amount(key, default), None, f"{key} of {self.where}")

    def number(self, key: str, unit: str, default: float | None = None) -> float:
        """A number, or a text with a number and a fitting unit."""
        return self.as_number(self.amount(key, default), key, unit)

    def as_number(self, value: FileAmount, key: str, unit: str) -> float:
        found = amount_in(value, unit, f"{key} of {self.where}")
        if not isinstance(found, Number):
            raise ModelError(f"{key} of {self.where}: expected a number, got {value!r}; expressions are not allowed here")
        return found.value

    def items(self, key: str, default: list[Any] | None = None) -> list[Any]:
        value = self._get(key, default, "a list")
        if not isinstance(value, list):
            self._refuse(key, value, "a list")
        return value

    def entry(self, key: str) -> Entry:
        """A table within this one."""
        return Entry.of(f"{key} of {self.where}", self._get(key, None, "a table"))

    def _get(self, key: str, default: Any, expected: str) -> Any:
        if key in self.table:
            return self.table[key]
        if default is None:
            raise ModelError(f"{self.where}: {key!r} is missing; {_EXAMPLES[expected]}")
        return default

    def _refuse(self, key: str, value: Any, expected: str) -> NoReturn:
        raise ModelError(f"{self.where}: {key!r} must be {expected}, got {_shown(value)}; {_EXAMPLES[expected]}")


def _is_amount(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = "a table" if isinstance(value, dict) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
