"""Filters written in a file (TOML): model, what is measured, what is uncertain, what drives it.

    model = "bicycle"
    smooth = true               # look back as well; left out: not
    method = "extended"         # or "unscented"
    show = ["lean", "steer"]    # what is told and drawn; left out: what is measured

    [measured]
    gyro_x = ["roll_rate", "0.1 rad/s"]   # column = quantity and noise, or noise alone where both have one name
    [spread]
    lean = "3 deg"              # of the start; what is not named is known
    [process]
    steer_torque = 0.2          # white noise on inputs or states
    [start]
    speed = "4.6 m/s"

Further tables: inputs (a column, a constant or a law), parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.estimation.filters.filter import filter
from draisine.estimation.filters.filter_result import FilterResult
from draisine.estimation.filters.methods import ExtendedKalmanFilter, Filter, UnscentedKalmanFilter
from draisine.estimation.study_file import check_words, from_file, input_of, number_of
from draisine.expr.units import quantity

METHODS: Mapping[str, type[ExtendedKalmanFilter] | type[UnscentedKalmanFilter]] = {
    "extended": ExtendedKalmanFilter,
    "unscented": UnscentedKalmanFilter,
}
TABLES = ("measured", "spread", "process", "start", "inputs", "parameters")
WORDS = ("model", "smooth", "method", "show", *TABLES)


@dataclass(frozen=True)
class FilterStudy:
    """A filter but for its data."""

    model: str
    measured: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    method: Filter = field(default_factory=ExtendedKalmanFilter)
    smooth: bool = False
    show: tuple[str, ...] = ()

    def run(self, model: Any, data: Any, **options: Any) -> FilterResult:
        """The filter with a model and data."""
        given: dict[str, Any] = {**self.given, **options}
        return filter(model, data, measured=dict(self.measured), method=self.method, smooth=self.smooth, **given)

    def with_more(self, **tables: Mapping[str, Any]) -> FilterStudy:
        """With entries added to tables, or in place of what stands there."""
        measured = {**self.measured, **{k: measured_by(k, v) for k, v in tables.pop("measured", {}).items()}}
        given = {name: {**self.given.get(name, {}), **_read(name, tables.get(name, {}))} for name in TABLES[1:]}
        return replace(self, measured=measured, given={name: table for name, table in given.items() if table})


def measured_by(column: str, value: Any) -> Any:
    """What a column measures: noise alone, where the quantity has its name, a quantity, or both."""
    if isinstance(value, list):
        if not value:
            raise DataError(f"{column!r}: write what it measures, [quantity, noise], got []")
        return (str(value[0]), value[1]) if len(value) > 1 else str(value[0])
    return (column, value) if isinstance(value, str) and quantity(value) is not None else value


def _read(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: input_of(v) if name == "inputs" else number_of(v) for k, v in table.items()}


def read_filter(path: str | Path) -> FilterStudy:
    """Read a filter from a TOML file."""
    return from_file(path, _filter)


def _filter(said: dict[str, Any]) -> FilterStudy:
    check_words(said, "a filter", WORDS, TABLES, ("measured",))
    method, show, smooth = said.get("method", "extended"), said.get("show", []), said.get("smooth", False)
    if method not in tuple(METHODS):
        raise DataError(f"method {method!r} is none of {', '.join(METHODS)}")
    if not isinstance(show, list) or not all(isinstance(name, str) for name in show):
        raise DataError(f"show must be a list of names, got {show!r}")
    if not isinstance(smooth, bool):
        raise DataError(f"smooth is true or false, got {smooth!r}")
    made = FilterStudy(said["model"], {}, {}, METHODS[method](), smooth, tuple(show))
    return made.with_more(**{name: said[name] for name in TABLES if name in said})
