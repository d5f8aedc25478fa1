"""Typed access to the tables of model files; errors name the item, the value given and the value expected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number, did_you_mean
from draisine.model.quantities import amount_in

Amount = str | int | float

_EXAMPLES = {
    "an amount": "give a number such as 1.5, or a text such as '5 cm' or 'wheelbase - trail'",
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


@dataclass(frozen=True)
class Entry:
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

    def amount(self, key: str, default: Amount | None = None) -> Amount:
        """A number or a text, converted later where the unit is known."""
        value = self._get(key, default, "an amount")
        if not _is_amount(value):
            self._refuse(key, value, "an amount")
        return value

    def vector(self, key: str, default: tuple[Amount, ...] | None = None) -> tuple[Amount, ...]:
        value = self._get(key, default, "a list of three amounts")
        if not isinstance(value, list | tuple) or len(value) != 3 or not all(map(_is_amount, value)):
            self._refuse(key, value, "a list of three amounts")
        return tuple(value)

    def axis(self, key: str, default: str) -> str | tuple[Amount, ...]:
        """A text such as "y" or "-y", or a list of three amounts."""
        return self.text(key, default) if isinstance(self.table.get(key, default), str) else self.vector(key)

    def expression(self, key: str, default: Amount | None = None) -> Expr:
        """A number or an expression without unit."""
        return amount_in(self.amount(key, default), None, f"{key} of {self.where}")

    def number(self, key: str, unit: str, default: float | None = None) -> float:
        """A number, or a text with a number and a fitting unit."""
        return self.as_number(self.amount(key, default), key, unit)

    def as_number(self, value: Amount, key: str, unit: str) -> float:
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
