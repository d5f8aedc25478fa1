"""Estimation studies in TOML files: model, unknowns, measurements, inputs, method.

    model = "bicycle"
    window = "0.2 s"            # multiple shooting; default: single shooting
    intervals = 200             # or collocation with this number of intervals
    loss = "huber"              # or "soft_l1", "cauchy"; default: squares
    starts = 8                  # multistart; default: one fit from the guess
    start_time = "2 s"          # when the start holds, by the clock of the data; default: 0

    [unknown]
    trail = [0.0, 0.3]          # bounds, or [] for none
    [measured]
    roll_gyro = ["roll_rate", "0.01 rad/s"]   # column = quantity, or quantity and noise
    steer_pot = {quantity = "-steer", bias = "unknown", delay = [0, 0.05]}   # or a sensor with its properties
    [inputs]
    steer_torque = ["torque", "0.05 N*m"]     # input = column, or column and noise (and "smooth"), a number, or a law
    [start]
    speed = "2 m/s"

Further tables: guess, parameters, relations, priors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from draisine.errors import ArgumentError, DataError, UnitError
from draisine.estimation.estimate import estimate
from draisine.estimation.fit import Fit
from draisine.estimation.inputs import CubicInput
from draisine.estimation.losses import Cauchy, Huber, Loss, SoftL1
from draisine.estimation.multistart import MultiStart
from draisine.estimation.sensors import Sensor
from draisine.estimation.single_shooting import SingleShooting
from draisine.estimation.solve import FitMethod
from draisine.expr.expression import did_you_mean
from draisine.expr.units import Measured, quantity
from draisine.model.toml_files import parse_toml, with_line
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.results.files import read_text
from draisine.results.status import ProgressCallback

LOSSES: Mapping[str, type[Huber] | type[SoftL1] | type[Cauchy]] = {"huber": Huber, "soft_l1": SoftL1, "cauchy": Cauchy}
TABLES = ("unknown", "measured", "inputs", "start", "guess", "parameters", "relations", "priors")
KEYS = ("model", "window", "intervals", "loss", "starts", "start_time", *TABLES)

Made = TypeVar("Made")


@dataclass(frozen=True)
class EstimationStudy:
    """An estimation without its data."""

    model: str
    unknown: Mapping[str, Any]
    measured: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    method: FitMethod = field(default_factory=SingleShooting)
    loss: Loss | None = None
    starts: MultiStart | None = None

    def fit(self, model: Any, data: Any, *, progress: ProgressCallback | None = None, **changed: Any) -> Fit:
        """Run the estimation with a model and data; `changed` overrides settings of the file, e.g. loss=None."""
        reported = {
            **self.given,
            "method": self.method,
            "loss": self.loss,
            "starts": self.starts,
            "progress": progress,
            **changed,
        }
        return estimate(model, data, dict(self.unknown), dict(self.measured), **reported)


def read_study(path: str | Path) -> EstimationStudy:
    """Read an estimation from a TOML file."""
    return from_file(path, lambda content: _study(content, Path(path).name))


def _study(content: dict[str, Any], where: str) -> EstimationStudy:
    check_keys(content, "an estimation", KEYS, TABLES, ("unknown", "measured"))
    if content.get("loss") is not None and content["loss"] not in tuple(LOSSES):
        raise DataError(f"loss {content['loss']!r} is none of {', '.join(LOSSES)}")
    tables = {name: {k: _plain(v) for k, v in content[name].items()} for name in TABLES if name in content}
    measured = tables.pop("measured")
    return EstimationStudy(
        content["model"],
        {name: _bounds(name, both) for name, both in tables.pop("unknown").items()},
        {k: tuple(v) if isinstance(v, list) else sensor_of(k, v) if isinstance(v, dict) else v for k, v in measured.items()},
        {name: {k: input_of(v) for k, v in table.items()} for name, table in _amounts(tables).items()}
        | ({"start_time": number_of(content["start_time"])} if "start_time" in content else {}),
        method_of(content.get("window"), content.get("intervals"), where),
        LOSSES[content["loss"]]() if "loss" in content else None,
        MultiStart(_integer("starts", content["starts"])) if "starts" in content else None,
    )


def _bounds(name: str, both: Any) -> tuple[Any, ...]:
    if not isinstance(both, list) or len(both) not in (0, 2):
        raise DataError(f"unknown {name!r}: write its bounds, [low, high], or [] for none, got {both!r}")
    return tuple(both) or (float("-inf"), float("inf"))


def _integer(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(f"{name}: write a whole number, got {value!r}")
    return value


def from_file(path: str | Path, made: Callable[[dict[str, Any]], Made]) -> Made:
    """Parse the content of a TOML file with `made`; errors name file and line."""
    text = read_text(path, DataError)
    content = parse_toml(text, str(path), DataError)
    try:
        return made(content)
    except (ArgumentError, DataError, UnitError) as problem:
        raise DataError(with_line(str(path), text, str(problem))) from None


def check_keys(content: Mapping[str, Any], what: str, keys: Sequence[str], tables: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse unknown keys, and a file without a model or a required table."""
    for key, value in content.items():
        if key not in keys:
            raise DataError(f"unknown key {key!r} in {what}{did_you_mean(key, keys)}")
        if key in tables and not isinstance(value, dict):
            raise DataError(f"{key} must be a table, got {value!r}; write it under [{key}]")
    for key in ("model", *needed):
        if not content.get(key):
            listed = " and ".join(f"[{table}]" for table in needed)
            raise DataError(f"{key!r} is missing; {what} needs a model, {listed}")
    if not isinstance(content["model"], str):
        raise DataError(f"model must be a name in quotes, got {content['model']!r}")


def method_of(window: Any, intervals: Any, where: str) -> FitMethod:
    """The method for a window length or a number of intervals."""
    if window is not None and intervals is not None:
        raise DataError(f"{where}: window (multiple shooting) and intervals (collocation) are two methods; give one of them")
    if intervals is not None:
        if not isinstance(intervals, int) or intervals < 1:
            raise DataError(f"{where}: intervals is how many there are, got {intervals!r}")
        return Collocation("radau", 3, intervals)
    return SingleShooting() if window is None else MultipleShooting(window=number_of(window))


def sensor_of(column: str, table: Mapping[str, Any]) -> Sensor:
    """A sensor from a table of its properties; pairs are bounds."""
    names = [f.name for f in fields(Sensor)]
    for key in table:
        if key not in names:
            raise DataError(f"measured {column!r}: unknown property {key!r} of a sensor{did_you_mean(key, names)}")
    if "quantity" not in table:
        raise DataError(f'measured {column!r}: the quantity is missing; write {{quantity = "…", …}}')
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return Sensor(**given)


def input_of(value: Any) -> Any:
    """The description of an input: ["torque", "0.05 N*m", "smooth"] is a column with noise; other values are unchanged."""
    if not isinstance(value, list):
        return value
    keys = [key for key in value[1:] if key != "smooth"]
    if len(keys) > 1 or not value:
        raise DataError(f"{value!r}: write [column, noise], or [column, noise, 'smooth']")
    return CubicInput(str(value[0]), *keys) if "smooth" in value[1:] else tuple(value)


def _plain(value: Any) -> Any:
    """Bounds with units as numbers: ["1 cm", "30 cm"]."""
    if isinstance(value, list) and value and all(isinstance(v, str) and quantity(v) is not None for v in value):
        return [number_of(v) for v in value]
    return value


def _amounts(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Quantities with units as numbers, in tables of quantities."""
    amounts = ("start", "guess", "parameters")
    return {name: {k: number_of(v) if name in amounts else v for k, v in table.items()} for name, table in tables.items()}


def number_of(value: Any) -> float:
    """A number, or a quantity with a unit, in SI."""
    if isinstance(value, str):
        found = Measured.read(value)
        if found is None:
            raise DataError(f"{value!r} is not a quantity; write a number, or a number with a unit")
        return found
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DataError(f"{value!r} is not a quantity; write a number, or a number with a unit")
    return float(value)
