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

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.estimation.estimate import estimate
from draisine.estimation.fit import Fit
from draisine.estimation.interpolation import Smooth
from draisine.estimation.losses import Cauchy, Huber, Loss, SoftL1
from draisine.estimation.multiple_shooting import MultipleShooting
from draisine.estimation.multistart import MultiStart
from draisine.estimation.single_shooting import SingleShooting
from draisine.estimation.solve import Progress, Shooting
from draisine.expr.expression import closest
from draisine.expr.units import Measured, quantity

LOSSES: Mapping[str, type[Huber] | type[SoftL1] | type[Cauchy]] = {"huber": Huber, "soft_l1": SoftL1, "cauchy": Cauchy}
TABLES = ("unknown", "measured", "inputs", "start", "guess", "parameters", "relations", "priors")
WORDS = ("model", "window", "intervals", "loss", "starts", *TABLES)


@dataclass(frozen=True)
class EstimationStudy:
    """An estimation but for its data."""

    model: str
    unknown: Mapping[str, Any]
    measured: Mapping[str, Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    method: Shooting = field(default_factory=SingleShooting)
    loss: Loss | None = None
    starts: MultiStart | None = None

    def fit(self, model: Any, data: Any, *, progress: Progress | None = None, **changed: Any) -> Fit:
        """The estimation with a model and data; what is `changed` replaces what the file says, e.g. loss=None."""
        told = {**self.given, "method": self.method, "loss": self.loss, "starts": self.starts, "progress": progress, **changed}
        return estimate(model, data, dict(self.unknown), dict(self.measured), **told)


def read_study(path: str | Path) -> EstimationStudy:
    """Read an estimation from a TOML file."""
    place = Path(path)
    said = words_in(place, "an estimation", WORDS, ("unknown", "measured"))
    if said.get("loss") is not None and said["loss"] not in LOSSES:
        raise DataError(f"{place.name}: loss {said['loss']!r} is none of {', '.join(LOSSES)}")
    tables = {name: {k: _plain(v) for k, v in said[name].items()} for name in TABLES if name in said}
    unknown = {k: tuple(v) if v else (float("-inf"), float("inf")) for k, v in tables.pop("unknown").items()}
    measured = tables.pop("measured")
    return EstimationStudy(
        str(said["model"]),
        unknown,
        {k: tuple(v) if isinstance(v, list) else v for k, v in measured.items()},
        {name: {k: input_of(v) for k, v in table.items()} for name, table in _amounts(tables).items()},
        method_of(said.get("window"), said.get("intervals"), place.name),
        LOSSES[said["loss"]]() if "loss" in said else None,
        MultiStart(int(said["starts"])) if "starts" in said else None,
    )


def words_in(place: Path, what: str, words: Sequence[str], tables: Sequence[str]) -> dict[str, Any]:
    """What a TOML file says, in words that are known; a model and these tables must be there."""
    try:
        said = tomllib.loads(place.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise DataError(f"{place.name}: {problem}") from None
    for word in said:
        if word not in words:
            raise DataError(f"{place.name}: nothing is called {word!r} in {what}{closest(word, words)}")
    for word in ("model", *tables):
        if not said.get(word):
            needed = " and ".join(f"[{table}]" for table in tables)
            raise DataError(f"{place.name}: {word!r} is missing; {what} needs a model, {needed}")
    return said


@dataclass(frozen=True)
class _Intervals:
    """Collocation by Radau's nodes, three in an interval."""

    intervals: int
    scheme: str = "radau"
    degree: int = 3


def method_of(window: Any, intervals: Any, where: str) -> Shooting:
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
    if len(words) > 1:
        raise DataError(f"{value!r}: write [column, noise], or [column, noise, 'smooth']")
    return Smooth(str(value[0]), *words) if "smooth" in value[1:] else tuple(value)


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
    return float(value)
