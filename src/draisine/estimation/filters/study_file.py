"""Filter studies in TOML files: model, measurements, uncertainty, inputs.

    model = "bicycle"
    smooth = true               # add a smoother; default: false
    start_time = "2 s"          # when the start holds, by the clock of the data; default: 0
    method = "extended"         # or "unscented"
    show = ["lean", "steer"]    # reported and plotted quantities; default: the measured ones

    [measured]
    gyro_x = ["roll_rate", "0.1 rad/s"]   # column = quantity and noise, or noise alone if the names are equal
    pot = {quantity = "-steer", noise = "1 deg", delay = "5 ms"}   # or a sensor with its properties
    [spread]
    lean = "3 deg"              # of the start; other quantities are known exactly
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
from draisine.estimation.study_file import check_keys, from_file, input_of, number_of, sensor_of
from draisine.expr.units import quantity

METHODS: Mapping[str, type[ExtendedKalmanFilter] | type[UnscentedKalmanFilter]] = {
    "extended": ExtendedKalmanFilter,
    "unscented": UnscentedKalmanFilter,
}
TABLES = ("measured", "spread", "process", "start", "inputs", "parameters")
KEYS = ("model", "smooth", "method", "show", "start_time", *TABLES)


@dataclass(frozen=True)
class FilterStudy:
    """A filter without its data."""

    model: str
    measured: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    method: Filter = field(default_factory=ExtendedKalmanFilter)
    smooth: bool = False
    show: tuple[str, ...] = ()
    start_time: float = 0.0

    def run(self, model: Any, data: Any, **options: Any) -> FilterResult:
        """Run the filter with a model and data."""
        given: dict[str, Any] = {**self.given, "start_time": self.start_time, **options}
        return filter(model, data, measured=dict(self.measured), method=self.method, smooth=self.smooth, **given)

    def with_more(self, **tables: Mapping[str, Any]) -> FilterStudy:
        """With entries of tables added or replaced."""
        measured = {**self.measured, **{k: measured_by(k, v) for k, v in tables.pop("measured", {}).items()}}
        given = {name: {**self.given.get(name, {}), **_read(name, tables.get(name, {}))} for name in TABLES[1:]}
        return replace(self, measured=measured, given={name: table for name, table in given.items() if table})


def measured_by(column: str, value: Any) -> Any:
    """What a column measures: noise alone if the quantity has its name, a quantity, both, or a sensor with its properties."""
    if isinstance(value, Mapping):
        return sensor_of(column, value)
    if isinstance(value, list):
        if not value:
            raise DataError(f"{column!r}: write its quantity and noise, [quantity, noise], got []")
        return (str(value[0]), value[1]) if len(value) > 1 else str(value[0])
    return (column, value) if isinstance(value, str) and quantity(value) is not None else value


def _read(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: input_of(v) if name == "inputs" else number_of(v) for k, v in table.items()}


def read_filter(path: str | Path) -> FilterStudy:
    """Read a filter from a TOML file."""
    return from_file(path, _filter)


def _filter(content: dict[str, Any]) -> FilterStudy:
    check_keys(content, "a filter", KEYS, TABLES, ("measured",))
    method, show, smooth = content.get("method", "extended"), content.get("show", []), content.get("smooth", False)
    if method not in tuple(METHODS):
        raise DataError(f"method {method!r} is none of {', '.join(METHODS)}")
    if not isinstance(show, list) or not all(isinstance(name, str) for name in show):
        raise DataError(f"show must be a list of names, got {show!r}")
    if not isinstance(smooth, bool):
        raise DataError(f"smooth is true or false, got {smooth!r}")
    made = FilterStudy(
        content["model"], {}, {}, METHODS[method](), smooth, tuple(show), number_of(content.get("start_time", 0.0))
    )
    return made.with_more(**{name: content[name] for name in TABLES if name in content})
