"""Estimations written in a file (TOML): model, unknowns, what is measured, what drives it, how to shoot.

    model = "bicycle"
    window = "0.2 s"            # multiple shooting; left out: one run from the start
    intervals = 200             # or collocation, with as many
    loss = "huber"              # or "soft_l1", "cauchy"; left out: squares
    starts = 8                  # left out: one, from the guess

    [unknown]
    trail = [0.0, 0.3]          # sides, or [] for none
    [measured]
    roll_gyro = ["roll_rate", "0.01 rad/s"]   # column = quantity, or quantity and noise
    [inputs]
    steer_torque = ["torque", "0.05 N*m"]     # input = column, or column and noise (and "smooth"), a number, or a law
    [start]
    speed = "2 m/s"

Further tables: guess, parameters, relations, priors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from draisine.errors import ArgumentError, DataError, UnitError
from draisine.estimation.estimate import estimate
from draisine.estimation.fit import Fit
from draisine.estimation.inputs import CubicInput
from draisine.estimation.losses import Cauchy, Huber, Loss, SoftL1
from draisine.estimation.multiple_shooting import MultipleShooting
from draisine.estimation.multistart import MultiStart
from draisine.estimation.single_shooting import SingleShooting
from draisine.estimation.solve import MultipleShooting, Progress
from draisine.expr.expression import did_you_mean
from draisine.expr.units import Measured, quantity
from draisine.model.toml_files import parse_toml, read_text, with_line

LOSSES: Mapping[str, type[Huber] | type[SoftL1] | type[Cauchy]] = {"huber": Huber, "soft_l1": SoftL1, "cauchy": Cauchy}
TABLES = ("unknown", "measured", "inputs", "start", "guess", "parameters", "relations", "priors")
WORDS = ("model", "window", "intervals", "loss", "starts", *TABLES)

Made = TypeVar("Made")


@dataclass(frozen=True)
class EstimationStudy:
    """An estimation but for its data."""

    model: str
    unknown: Mapping[str, Any]
    measured: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    method: MultipleShooting = field(default_factory=SingleShooting)
    loss: Loss | None = None
    starts: MultiStart | None = None

    def fit(self, model: Any, data: Any, *, progress: Progress | None = None, **changed: Any) -> Fit:
        """The estimation with a model and data; what is `changed` replaces what the file says, e.g. loss=None."""
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
    return from_file(path, lambda said: _study(said, Path(path).name))


def _study(said: dict[str, Any], where: str) -> EstimationStudy:
    check_words(said, "an estimation", WORDS, TABLES, ("unknown", "measured"))
    if said.get("loss") is not None and said["loss"] not in tuple(LOSSES):
        raise DataError(f"loss {said['loss']!r} is none of {', '.join(LOSSES)}")
    tables = {name: {k: _plain(v) for k, v in said[name].items()} for name in TABLES if name in said}
    measured = tables.pop("measured")
    return EstimationStudy(
        said["model"],
        {name: _sides(name, both) for name, both in tables.pop("unknown").items()},
        {k: tuple(v) if isinstance(v, list) else v for k, v in measured.items()},
        {name: {k: input_of(v) for k, v in table.items()} for name, table in _amounts(tables).items()},
        method_of(said.get("window"), said.get("intervals"), where),
        LOSSES[said["loss"]]() if "loss" in said else None,
        MultiStart(_whole("starts", said["starts"])) if "starts" in said else None,
    )


def _sides(name: str, both: Any) -> tuple[Any, ...]:
    if not isinstance(both, list) or len(both) not in (0, 2):
        raise DataError(f"unknown {name!r}: write its sides, [low, high], or [] for none, got {both!r}")
    return tuple(both) or (float("-inf"), float("inf"))


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(f"{name}: write a whole number, got {value!r}")
    return value


def from_file(path: str | Path, made: Callable[[dict[str, Any]], Made]) -> Made:
    """What is made of the content of a TOML file; complaints name the file and the line."""
    text = read_text(path, DataError)
    content = parse_toml(text, str(path), DataError)
    try:
        return made(content)
    except (ArgumentError, DataError, UnitError) as problem:
        raise DataError(with_line(str(path), text, str(problem))) from None


def check_words(said: Mapping[str, Any], what: str, words: Sequence[str], tables: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a file with words that are not known, or without a model and the tables that are needed."""
    for word, value in said.items():
        if word not in words:
            raise DataError(f"nothing is called {word!r} in {what}{did_you_mean(word, words)}")
        if word in tables and not isinstance(value, dict):
            raise DataError(f"{word} must be a table, got {value!r}; write it under [{word}]")
    for word in ("model", *needed):
        if not said.get(word):
            listed = " and ".join(f"[{table}]" for table in needed)
            raise DataError(f"{word!r} is missing; {what} needs a model, {listed}")
    if not isinstance(said["model"], str):
        raise DataError(f"model must be a name in quotes, got {said['model']!r}")


@dataclass(frozen=True)
class _Intervals:
    """Collocation by Radau's nodes, three in an interval."""

    intervals: int
    scheme: str = "radau"
    degree: int = 3


def method_of(window: Any, intervals: Any, where: str) -> MultipleShooting:
    """The method that a window or a number of intervals means."""
    if window is not None and intervals is not None:
        raise DataError(f"{where}: window (multiple shooting) and intervals (collocation) are two methods; give one of them")
    if intervals is not None:
        if not isinstance(intervals, int) or intervals < 1:
            raise DataError(f"{where}: intervals is how many there are, got {intervals!r}")
        return _Intervals(intervals)
    return SingleShooting() if window is None else MultipleShooting(number_of(window))


def input_of(value: Any) -> Any:
    """What drives an input: ["torque", "0.05 N*m", "smooth"] as a column with noise, all else as it stands."""
    if not isinstance(value, list):
        return value
    words = [word for word in value[1:] if word != "smooth"]
    if len(words) > 1 or not value:
        raise DataError(f"{value!r}: write [column, noise], or [column, noise, 'smooth']")
    return CubicInput(str(value[0]), *words) if "smooth" in value[1:] else tuple(value)


def _plain(value: Any) -> Any:
    """Sides with units as numbers: ["1 cm", "30 cm"]."""
    if isinstance(value, list) and value and all(isinstance(v, str) and quantity(v) is not None for v in value):
        return [number_of(v) for v in value]
    return value


def _amounts(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Amounts with units as numbers, where a table holds amounts."""
    amounts = ("start", "guess", "parameters")
    return {name: {k: number_of(v) if name in amounts else v for k, v in table.items()} for name, table in tables.items()}


def number_of(value: Any) -> float:
    """A number, or an amount with its unit, in SI."""
    if isinstance(value, str):
        found = Measured.read(value)
        if found is None:
            raise DataError(f"{value!r} is no amount; write a number, or a number with a unit")
        return found
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DataError(f"{value!r} is no amount; write a number, or a number with a unit")
    return float(value)
