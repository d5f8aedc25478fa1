"""Sweeps and ranges: `speed=0:10:200`, `speed=10:30km/h:5`, `lean=-60:60deg`.

Ends are numbers in the unit of the quantity, numbers with a unit, or expressions of numbers. A unit that is written once, at the
second end or after the count, is that of both ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from draisine.cli.arguments import identifier, number_of
from draisine.codegen.equation_cache import derive_cached
from draisine.errors import ArgumentError, DraisineError
from draisine.expr.tree import short
from draisine.expr.units import Measured, unit_of
from draisine.model.model import Model
from draisine.program.equations import Equations

MOST_VALUES = 10_000_000  # of a sweep
DEFAULT_COUNT = 101
_COUNT = re.compile(r"\s*([+-]?\d+)(?![eE][+-]?\d)\s*((?:[^\d\s.].*?)?)\s*")  # 5, 5km/h; 1e3 is no count
_START = "start."  # of names of initial conditions in ensembles


class Sweeps:
    """Reads sweeps of a model's quantities; their units are looked up when a sweep is written in others."""

    def __init__(self, model: Model | Equations) -> None:
        self._model = model

    @cached_property
    def _units(self) -> Mapping[str, str]:
        e = self._model if isinstance(self._model, Equations) else derive_cached(self._model.freeze())
        named: tuple[Any, ...] = (*e.outputs, *e.parameters, *e.dependent_parameters, *e.inputs, *e.velocities, *e.states)
        return {q.name: q.unit for q in named}

    def sweep(self, text: str) -> tuple[str, Any]:
        """`speed=0:10:200` as a name and its values, at least two."""
        name, first, last, count = self._ends(text, "NAME=FROM:TO:COUNT, e.g. speed=0:10:200 or speed=10:30km/h:5", least=2)
        return name, np.linspace(first, last, count)

    def values(self, text: str) -> tuple[str, Any]:
        """`speed=3:8:60` or `mass=80,85,90` as a name and its values."""
        form = "NAME=FROM:TO:COUNT, e.g. speed=3:8:60 or speed=10:30km/h:5, or NAME=VALUE,VALUE,…"
        if ":" in text:
            name, first, last, count = self._ends(text, form, least=1)
            return name, (first, last, count)
        name, listed = _named(text, "--over", form)
        return name, self.numbers(name, listed.split(","), f"--over {short(text)!r}", form)

    def range(self, text: str, option: str) -> tuple[str, tuple[float, float]]:
        """`lean=-1.2:1.2` as a name and its range."""
        form = "NAME=FROM:TO, e.g. lean=-1.2:1.2 or lean=-60:60deg"
        name, limits = _named(text, option, form)
        return name, self.limits(name, limits, option, f"{option} {short(text)!r}", form)

    def limits(self, name: str, text: str, option: str, where: str = "", form: str = "FROM:TO, e.g. 0:10") -> tuple[float, float]:
        """`0:10` as the two ends of the range of a quantity."""
        parts = text.split(":")
        where = where or f"{option} {short(text)!r}"
        if len(parts) != 2:
            raise ArgumentError(f"{where}: write {form}")
        low, high = self.numbers(name, parts, where, form)
        return low, high

    def _ends(self, text: str, form: str, least: int) -> tuple[str, float, float, int]:
        name, numbers = _named(text, "--over", form)
        where, parts = f"--over {short(text)!r}", numbers.split(":")
        count = _COUNT.fullmatch(parts[2]) if len(parts) == 3 else None
        if len(parts) not in (2, 3) or (len(parts) == 3 and (count is None or len(count[1]) > 30)):
            raise ArgumentError(f"{where}: write {form}")
        first, last = self.numbers(name, parts[:2], where, form, count[2] if count else "")
        if not (math.isfinite(first) and math.isfinite(last)):
            raise ArgumentError(f"{where}: the ends of a sweep are finite numbers")
        values = int(count[1]) if count else DEFAULT_COUNT
        if not least <= values <= MOST_VALUES:
            raise ArgumentError(f"{where}: {values} values; give between {least} and {MOST_VALUES:,}, e.g. speed=3:8:60")
        return name, first, last, values

    def numbers(self, name: str, texts: Sequence[str], where: str, form: str, unit: str = "") -> list[float]:
        """Numbers in the unit of a quantity. `unit`, or that of the last one, is the unit of those without any."""
        try:
            shared = unit or unit_of(texts[-1].strip()) or ""
            return [self._number(name, text.strip(), shared) for text in texts]
        except DraisineError as problem:
            raise ArgumentError(f"{where}: {problem}; write {form}") from None

    def _number(self, name: str, text: str, shared: str) -> float:
        plain = _float(text)
        if plain is not None and math.isinf(plain) and "inf" not in text.lower():
            raise ArgumentError(f"{short(text)!r} is too large; numbers are at most 1.8e308")
        if shared and plain is not None:
            text = f"{text} {shared}"
        found = plain if plain is not None and not shared else number_of(text, name)
        if not isinstance(found, Measured):
            return found
        unit = self._units.get(name.removeprefix(_START))
        return float(found) if unit is None else found.checked(unit, name)  # an unknown name is refused later


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _named(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ArgumentError(f"{option} {short(text)!r}: write {form}")
    return identifier(name), value
