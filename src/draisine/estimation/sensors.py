"""Sensors: what a column shows of a quantity, with sign, scale, bias, time offset and delay, each known or unknown.

    reading at the stamp t  =  ± scale · quantity(t + offset − delay) + bias

Unknown properties are estimated like parameters, under the names "column.scale", "column.bias", "column.offset", "column.delay".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, UnitError
from draisine.expr.units import quantity_in
from draisine.numerics.number_range import with_number_range

Reals = NDArray[np.float64]

PROPERTIES = ("scale", "bias", "offset", "delay")
NEUTRAL = {"scale": 1.0, "bias": 0.0, "offset": 0.0, "delay": 0.0}
Property = float | str | tuple[float, float]


@with_number_range
@dataclass(frozen=True)
class Sensor:
    """What a column measures: `measured={"gyro": Sensor("-roll_rate", "0.01 rad/s", bias="unknown", delay=(0.0, 0.05))}`.

    - `quantity`: its name in the model; "-steer" if the sensor counts the other way.
    - `noise`: standard deviation, a number in SI or a text with a unit; estimated if not given.
    - `scale`, `bias`: the reading is scale · quantity + bias.
    - `offset`: seconds to add to the sensor's time stamps; `delay`: age of the quantity that it shows, in seconds.

    A property is a number (known), a text with a unit, "unknown", or its bounds (low, high), between which it is estimated. An
    unknown offset or delay needs bounds: samples that some admissible value would move before the start are not used.

    >>> Sensor("-steer", bias="unknown").name, Sensor("-steer").sign
    ('steer', -1.0)
    """

    quantity: str
    noise: float | str | None = None
    scale: Property = 1.0
    bias: Property = 0.0
    offset: Property = 0.0
    delay: Property = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, str) or not self.name:
            raise ArgumentError(f"Sensor: give the name of a quantity, such as 'steer' or '-steer', got {self.quantity!r}")

    @property
    def name(self) -> str:
        return self.quantity.strip().removeprefix("-").strip()

    @property
    def sign(self) -> float:
        return -1.0 if self.quantity.strip().startswith("-") else 1.0

    @staticmethod
    def of(column: str, what: Any) -> Sensor:
        """The sensor of an entry of `measured`: a sensor, the name of a quantity, or (name, noise)."""
        if isinstance(what, Sensor):
            return what
        quantity, noise = what if isinstance(what, tuple) else (what, None)
        if not isinstance(quantity, str):
            raise ArgumentError(
                f"measured: column {column!r} needs the name of a quantity, (name, noise), or a Sensor(…), got {what!r}"
            )
        return Sensor(quantity, noise)


@dataclass(frozen=True)
class Calibration:
    """Properties of a sensor as numbers; `bounds` of those that are unknown, by name."""

    sign: float = 1.0
    scale: float = 1.0
    bias: float = 0.0
    offset: float = 0.0
    delay: float = 0.0
    bounds: Mapping[str, tuple[float, float]] | None = None

    @staticmethod
    def of(sensor: Sensor, column: str, unit: str, unknown: Mapping[str, Any]) -> Calibration:
        """From a sensor; `unknown` are further unknowns, "column.bias", with their bounds or None."""
        numbers, bounds = {}, {}
        for name in PROPERTIES:
            given: Any = getattr(sensor, name)
            asked = f"{column}.{name}" in unknown
            if asked and unknown[f"{column}.{name}"] is not None:
                given = unknown[f"{column}.{name}"]
            if isinstance(given, tuple | list):
                bounds[name] = _bounds(column, name, given)
                low, high = bounds[name]
                numbers[name] = float(np.clip(NEUTRAL[name], low, high)) if low < NEUTRAL[name] < high else 0.5 * (low + high)
            elif isinstance(given, str) and given == "unknown":
                bounds[name], numbers[name] = (-np.inf, np.inf), NEUTRAL[name]
            else:
                numbers[name] = _number(column, name, given, unit)
                if asked:
                    bounds[name] = (-np.inf, np.inf)
        if not numbers["scale"]:
            raise ArgumentError(f"measured: the scale of column {column!r} is 0; such a sensor shows nothing")
        if "offset" in bounds and "delay" in bounds:
            raise ArgumentError(f"measured: offset and delay of column {column!r} have the same effect; only one can be unknown")
        for name in ("offset", "delay"):
            if name in bounds and not np.isfinite(bounds[name]).all():
                raise ArgumentError(
                    f"measured: the unknown {name} of column {column!r} needs bounds, {name}=(low, high) in seconds: samples "
                    "that it may move before the start are not used"
                )
        return Calibration(sensor.sign, **numbers, bounds=bounds or None)

    @property
    def plain(self) -> bool:
        """Whether the column shows the quantity itself."""
        return self == Calibration()

    @property
    def unknown(self) -> Mapping[str, tuple[float, float]]:
        return self.bounds or {}

    @property
    def shift(self) -> float:
        """Known seconds from the stamp of a sample to the time of what it shows."""
        return sum(sign * getattr(self, name) for name, sign in (("offset", 1.0), ("delay", -1.0)) if name not in self.unknown)

    @property
    def shifts(self) -> tuple[float, float]:
        """The least and the largest shift that bounds admit."""
        low, high = self.unknown.get("offset", (0.0, 0.0))
        least, most = self.unknown.get("delay", (0.0, 0.0))
        return self.shift + low - most, self.shift + high - least

    @property
    def moves(self) -> bool:
        """Whether offset or delay is unknown."""
        return "offset" in self.unknown or "delay" in self.unknown


def _bounds(column: str, name: str, pair: Sequence[Any]) -> tuple[float, float]:
    try:
        low, high = (float(side) for side in pair)
    except (TypeError, ValueError):
        raise ArgumentError(f"measured: bounds of {column}.{name} must be two numbers, (low, high), got {pair!r}") from None
    if not low < high:
        raise ArgumentError(f"measured: bounds of {column}.{name} must be (low, high), got ({low:g}, {high:g})")
    return low, high


def _number(column: str, name: str, given: Any, unit: str) -> float:
    dimension = {"scale": "", "bias": unit}.get(name, "s")
    try:
        number = quantity_in(given, dimension, f"{name} of column {column!r}") if isinstance(given, str) else float(given)
    except (UnitError, TypeError, ValueError) as problem:
        raise DataError(f"measured: {name} of column {column!r}: {problem}") from None
    if number is None or not np.isfinite(number):
        raise DataError(
            f"measured: {name} of column {column!r} is a number, a text with a unit, 'unknown' or (low, high), got {given!r}"
        )
    return float(number)


# ------------------------------------------------------------ rows


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples by the time of what they show: `values` (rows, channels); `moving` is the channel whose unknown shift
    moves a row, or −1."""

    times: Reals
    values: Reals
    moving: NDArray[np.intp]
    dropped: tuple[int, ...]  # samples of each channel that come before the start


def rows_of(time: Reals, values: Reals, calibrations: Sequence[Calibration], begin: float, every: bool = False) -> Rows:
    """Rows of a table by the clock of the model; columns with different shifts are rows of their own.

    Rows without any measurement are left out, unless `every` row since the start is wanted.
    """
    dropped = []
    empty, values = ~np.isfinite(values).any(axis=1), values.copy()
    for j, c in enumerate(calibrations):
        if not c.shift and not c.moves:  # a plain sample before the start is an error, reported later
            dropped.append(0)
            continue
        early = (time + c.shifts[0] < begin) & np.isfinite(values[:, j])
        values[early, j] = np.nan
        dropped.append(int(early.sum()))
    if not any(c.shift or c.moves for c in calibrations):
        kept = np.asarray(np.isfinite(values).any(axis=1) | (every & (time >= begin)))
        return Rows(time[kept], values[kept], np.full(int(kept.sum()), -1, dtype=np.intp), tuple(dropped))
    groups: dict[tuple[float, int], list[int]] = {}
    for j, c in enumerate(calibrations):
        groups.setdefault((c.shift, j if c.moves else -1), []).append(j)
    times, tables, moving = [], [], []
    for (shift, j), members in groups.items():
        own = np.full_like(values, np.nan)
        own[:, members] = values[:, members]
        kept = np.asarray(np.isfinite(own).any(axis=1))
        times.append(time[kept] + shift)
        tables.append(own[kept])
        moving.append(np.full(int(kept.sum()), j, dtype=np.intp))
    if every:
        more = np.setdiff1d(time[empty & (time >= begin)], np.concatenate(times))
        times.append(more)
        tables.append(np.full((len(more), values.shape[1]), np.nan))
        moving.append(np.full(len(more), -1, dtype=np.intp))
    order = np.argsort(np.concatenate(times), kind="stable")
    return Rows(np.concatenate(times)[order], np.concatenate(tables)[order], np.concatenate(moving)[order], tuple(dropped))


@dataclass(frozen=True, eq=False)
class Readings:
    """Properties of all sensors at given unknowns, by channel."""

    scale: Reals  # with the sign
    bias: Reals
    shift: Reals  # the unknown part

    def of(self, y: Reals) -> Reals:
        """Readings of the quantities y, (…, channels)."""
        return np.asarray(y * self.scale + self.bias)
