"""Recorded experiments: named columns over time, from tables, files and trajectories.

All data become `Experiment`s: time in seconds by the clock of the data, columns in SI units, NaN for missing samples, which are
empty cells, NaN, or masked entries. Other texts and infinite values count as missing too, with a warning where the column is
used. Units are given in headers, "lean [deg]", or in a table's attributes; a column without a unit is in SI units. Time stamps
count from the first.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError, UnitError, require
from draisine.expr.expression import did_you_mean
from draisine.expr.units import Unit, parse_unit
from draisine.results.trajectory import Trajectory

Reals = NDArray[np.float64]

TEXTS = (".csv", ".txt", ".log")
_ZONE = re.compile(r":\d\d(?:[.,]\d+)? ?(?:Z|[+-]\d\d(?::?\d\d)?)$")  # of a time stamp
TIMES = ("time", "t", "timestamp", "time_stamp", "datetime", "seconds")  # names of the column of time
_HEADER = re.compile(r"^\s*(?P<name>.*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\))?\s*$")


@dataclass(frozen=True, eq=False)
class Experiment:
    """One recording: columns over time, in SI units, NaN for missing samples.

    - `start`: targets for the start of this experiment; they take precedence over those given to `estimate`.
    - `start_time`: when the start holds, by the clock of the data; it takes precedence over that given to `estimate`.
    - `texts`: by column, which of its cells are neither numbers nor empty.

    >>> import numpy as np
    >>> e = Experiment.of({"time [ms]": [0, 10, 30], "lean [deg]": [0.0, float("nan"), 180.0]}, "first")
    >>> e.time.tolist(), e.columns["lean"].round(4).tolist(), e.units["lean"]
    ([0.0, 0.01, 0.03], [0.0, nan, 3.1416], 'deg')
    """

    name: str
    time: Reals
    columns: Mapping[str, Reals]
    units: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    start_time: float | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        time = np.asarray(_unmasked(self.time), dtype=float)
        _check_time(time, self.name)
        columns = {name: np.asarray(_unmasked(values), dtype=float) for name, values in self.columns.items()}
        for name, values in columns.items():
            if values.shape != time.shape:
                raise DataError(f"{self.name}: column {name!r} has {values.size} samples, time has {time.size}")
        if self.start_time is not None and not np.isfinite(self.start_time):
            raise DataError(f"{self.name}: start_time is a time of the data's clock in seconds, got {self.start_time!r}")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "columns", columns)

    @staticmethod
    def of(
        data: Any, name: str = "experiment", start: Mapping[str, Any] | None = None, start_time: float | None = None
    ) -> Experiment:
        """An experiment from a table (pandas, xarray, mapping of columns), a trajectory, or a file (CSV, Parquet, NetCDF)."""
        if isinstance(data, Experiment):
            when = data.start_time if start_time is None else start_time
            return replace(data, start={**data.start, **(start or {})}, start_time=when)
        where = str(data) if isinstance(data, str | os.PathLike) else name
        headers, columns, units = _table(data, where)
        lines = _lines_of(data)
        time, values, known, texts = _sorted_out(headers, columns, units, where, lines)
        _check_time(time, where, lines)
        return Experiment(name, time, values, known, dict(start or {}), start_time, texts)

    def column(self, name: str) -> Reals:
        """A column by name; an unknown name raises an error that suggests the closest one."""
        if name not in self.columns:
            raise DataError(f"{self.name}: the data have no column {name!r}{did_you_mean(name, list(self.columns))}")
        _unit(self.units.get(name, ""), name, self.name)  # an unknown unit is an error only if the column is used
        return self.columns[name]

    def not_numbers(self, name: str) -> tuple[str, ...]:
        """Warnings about samples of a column that count as missing although they are not empty."""
        found = [self.texts[name]] if name in self.texts else []
        infinite = np.flatnonzero(np.isinf(self.columns[name]))
        if infinite.size:
            found.append(f"{infinite.size} infinite, the first at t = {self.time[infinite[0]]:.6g} s")
        return tuple(
            f"{self.name}: samples of column {name!r} count as missing: {text}; correct them, or leave these cells empty"
            for text in found
        )

    def part(self, begin: float, end: float) -> Experiment:
        """The samples with begin ≤ time ≤ end, by the same clock; it starts at `begin`, without targets."""
        keep = (self.time >= begin) & (self.time <= end)
        columns = {name: values[keep] for name, values in self.columns.items()}
        return Experiment(f"{self.name} from {begin:g} s", self.time[keep], columns, self.units, start_time=begin)

    def with_columns(self, columns: Mapping[str, Reals]) -> Experiment:
        """The same experiment with some columns replaced or added."""
        return replace(self, columns={**self.columns, **columns})


def experiments_of(data: Any) -> tuple[Experiment, ...]:
    """One or several experiments: a list of data, or a mapping from names to data."""
    if isinstance(data, Mapping) and not _has_time(data) and not any(_numeric(v) for v in data.values()):
        made = tuple(Experiment.of(value, name) for name, value in data.items())
    elif isinstance(data, Sequence) and not isinstance(data, str):
        made = tuple(
            Experiment.of(one, one.name if isinstance(one, Experiment) else f"experiment {i + 1}") for i, one in enumerate(data)
        )
    else:
        made = (Experiment.of(data, data.name if isinstance(data, Experiment) else _called(data)),)
    if not made:
        raise DataError("no data: give a table, a file, a trajectory, or a list of them")
    return made


# ------------------------------------------------------------------------------------------------------------- reading


def _check_time(time: Reals, name: str, lines: Sequence[int] = ()) -> None:
    """Check that time is finite and increasing; `lines` are the line numbers of the samples in a file."""

    def at(k: int) -> str:
        return f"{name}, line {lines[k]}" if k < len(lines) else name

    if time.ndim != 1 or time.size < 2:
        raise DataError(f"{name}: an experiment needs two samples or more, got {time.size}")
    missing = np.flatnonzero(~np.isfinite(time))
    if missing.size:
        raise DataError(f"{at(int(missing[0]))}: {missing.size} time stamps are missing; drop these rows")
    back = np.flatnonzero(np.diff(time) <= 0.0)
    if back.size:
        k = int(back[0])
        what = "does not increase" if time[k + 1] == time[k] else "decreases"
        raise DataError(
            f"{at(k + 1)}: time {what} after sample {k + 1}: {time[k]:g} s is followed by {time[k + 1]:g} s; sort the rows, "
            "drop repeated ones, or give separate recordings as separate experiments"
        )


def _lines_of(data: Any) -> list[int]:
    """Line numbers of the samples in a text file; empty for other data."""
    if not isinstance(data, str | os.PathLike) or Path(data).suffix.lower() not in TEXTS:
        return []
    with Path(data).open(encoding="utf-8-sig") as lines:
        reported = [number for number, line in enumerate(lines, 1) if line.partition("#")[0].strip()]
    return reported[1:]  # after the header


def _has_time(data: Mapping[Any, Any]) -> bool:
    return any(_split(str(header))[0].lower() in TIMES for header in data)


def _numeric(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and np.asarray(value).dtype.kind in "fiubM"


def _called(data: Any) -> str:
    return Path(data).stem if isinstance(data, str | os.PathLike) else "experiment"


def _split(header: str) -> tuple[str, str]:
    """Name and unit of a header: "lean [deg]" → ("lean", "deg")."""
    found = _HEADER.match(header)
    assert found is not None  # the pattern matches every text
    return found["name"], (found["square"] if found["square"] is not None else found["round"] or "").strip()


def _table(data: Any, name: str) -> tuple[list[str], list[Any], dict[str, str]]:
    """Headers, columns, and units from the table's attributes."""
    if isinstance(data, str | os.PathLike):
        return _table(_read(Path(data)), name)
    if isinstance(data, Trajectory):
        keep = np.append(True, np.diff(data.time) > 0)  # times are repeated between segments
        columns = [data.time[keep], *(column[keep] for column in data.data.T)]
        return ["time", *data.names()], columns, {c.name: c.unit for c in data.channels}
    if hasattr(data, "data_vars"):  # xarray
        over = [str(d) for d in data.dims]
        timed = [d for d in over if d.lower() in TIMES] or over[:1]
        variables = {str(k): v for k, v in data.data_vars.items() if v.dims == (timed[0],)}
        units = {k: str(v.attrs["units"]) for k, v in variables.items() if v.attrs.get("units")}
        units |= {timed[0]: str(data[timed[0]].attrs["units"])} if data[timed[0]].attrs.get("units") else {}
        return [timed[0], *variables], [data[timed[0]].values, *(v.values for v in variables.values())], units
    if hasattr(data, "columns") and hasattr(data, "index"):  # pandas
        headers, columns = [str(c) for c in data.columns], [data[c].to_numpy() for c in data.columns]
        if not any(_split(h)[0].lower() in TIMES for h in headers):
            headers, columns = ["time" if data.index.name is None else str(data.index.name), *headers], [data.index, *columns]
            if data.index.name is None and data.index.dtype.kind not in "fM":
                raise DataError(
                    f"{name}: the table has no column of time; name one of {headers[1:]} 'time', or make it the index"
                )
        return headers, columns, dict(data.attrs.get("units", {}))
    if isinstance(data, Mapping):
        return [str(k) for k in data], list(data.values()), {}
    raise DataError(
        f"{name}: {type(data).__name__} is not a table; give a pandas or xarray table, a mapping of columns, a trajectory, or "
        "the path of a CSV, Parquet or NetCDF file"
    )


def _read(path: Path) -> Any:
    """The table in a file."""
    if not path.exists():
        raise DataError(f"{path}: there is no file of this name")
    kind = path.suffix.lower()
    if kind in TEXTS:
        return _read_text(path)
    if kind == ".parquet":
        require("pyarrow", "data in .parquet files", "pandas pyarrow")
        return require("pandas", "data in .parquet files", "pandas pyarrow").read_parquet(path)
    if kind in (".nc", ".h5"):
        xarray = require("xarray", "data in .nc files")
        with xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as opened:
            return opened.load()
    raise DataError(f"{path}: file type {kind or 'none'} is not supported; use .csv, .parquet or .nc")


def _read_text(path: Path) -> Any:
    """The table in a text file, separated by commas, semicolons or tabs; the latter two allow decimal commas."""
    pandas = require("pandas", "data in text files")
    read = partial(pandas.read_csv, path, comment="#", skipinitialspace=True, encoding="utf-8-sig", sep=None, engine="python")
    try:
        table = read()
        titles = read(header=None, nrows=1, dtype=str).iloc[0].dropna().str.strip()  # pandas renames repeated ones
    except UnicodeDecodeError:
        line = path.read_bytes().decode("utf-8", errors="replace").partition("\ufffd")[0].count("\n") + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text; save it in that encoding") from None
    except (csv.Error, pandas.errors.ParserError, pandas.errors.EmptyDataError) as problem:
        place = re.search(r"line (\d+)", str(problem))
        raise DataError(
            f"{path}{f', line {place[1]}' if place else ''}: no table of columns with a header ({problem}); write one such as "
            "'time [s],lean [deg]', then rows with the same number of values"
        ) from None
    for title in titles[titles.duplicated()]:
        raise DataError(f"{path}: two columns are called {title!r}; rename one")
    with path.open(encoding="utf-8-sig") as lines:
        header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    for title in table.columns if re.search("[;\t]", header) else ():
        if table[title].dtype.kind not in "fiub":
            cells = table[title].astype(str)
            points = table[title].where(~cells.str.fullmatch(_DECIMAL_COMMA), cells.str.replace(",", ".", regex=False))
            numbers = pandas.to_numeric(points, errors="coerce")
            table[title] = numbers if (numbers.isna() == points.isna()).all() else points
    return table


_DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?\s*"


def _sorted_out(
    headers: Sequence[str], columns: Sequence[Any], units: Mapping[str, str], name: str, lines: Sequence[int]
) -> tuple[Reals, dict[str, Reals], dict[str, str], dict[str, str]]:
    """Time in seconds, columns in SI, units as they were written, and cells that are texts; `lines` are those of a file."""
    found: dict[str, Reals] = {}
    written: dict[str, str] = {}
    texts: dict[str, str] = {}
    seen: set[str] = set()
    time: Reals | None = None
    for header, values in zip(headers, columns, strict=True):
        title, unit = _split(header)
        title, unit = (title, unit) if title else (header, "")
        unit = unit or units.get(header, "")
        if title in seen:
            raise DataError(f"{name}: two columns are called {title!r}; rename one")
        seen.add(title)
        if title.lower() in TIMES and time is None:
            time = _seconds(values, unit, title, name)
            continue
        numbers, text = _numbers(values, lines)
        texts |= {title: text} if text else {}
        found[title], written[title] = numbers * (_unit(unit, title, name).scale if _known(unit) else 1.0), unit
    if time is None:
        raise DataError(f"{name}: no column of time among {', '.join(headers)}; name it 'time', or 'time [ms]'")
    return time, found, written, texts


def _unit(text: str, column: str, name: str) -> Unit:
    try:
        return parse_unit(text) if text else Unit()
    except UnitError as problem:
        raise DataError(f"{name}: the unit of column {column!r} is unknown: {problem}") from None


def _known(unit: str) -> bool:
    try:
        return not unit or parse_unit(unit) is not None
    except UnitError:
        return False


def _unmasked(values: Any) -> Any:
    """Masked entries as missing ones."""
    if not np.ma.is_masked(values) or not isinstance(values, np.ma.MaskedArray):
        return values
    kind, known = values.dtype.kind, ~np.ma.getmaskarray(values)
    plain = np.asarray(values).astype(float if kind in "fiub" else values.dtype if kind == "M" else object)
    missing: Any = np.nan if kind in "fiub" else np.datetime64("NaT") if kind == "M" else None
    return np.where(known, plain, missing)


def _numbers(values: Any, lines: Sequence[int] = ()) -> tuple[Reals, str]:
    """Values as numbers, NaN for everything else, such as remarks; and which cells are neither numbers nor empty."""
    array = np.asarray(_unmasked(values))
    if array.dtype.kind in "fiub":
        return array.astype(float), ""
    pandas = require("pandas", "columns of data that are not numbers")
    cells = pandas.Series(array)
    numbers = np.asarray(pandas.to_numeric(cells, errors="coerce"), dtype=float)
    empty = cells.isna() | (cells.astype(str).str.strip().str.lower().isin(("", "nan")))
    texts = np.flatnonzero(np.isnan(numbers) & ~np.asarray(empty, dtype=bool))
    if not texts.size:
        return numbers, ""
    k = int(texts[0])
    where = f"in line {lines[k]}" if k < len(lines) else f"at sample {k + 1}"
    return numbers, f"{texts.size} that {'is no number' if texts.size == 1 else 'are no numbers'}, {str(cells[k])[:40]!r} {where}"


def _seconds(values: Any, unit: str, column: str, name: str) -> Reals:
    """Time in seconds: numbers in their unit, or time stamps since the first."""
    array = np.asarray(_unmasked(values))
    if not array.size:
        raise DataError(f"{name}: there are no samples; an experiment needs two or more")
    if array.dtype.kind in "OU" and all(isinstance(cell, str | int | float) for cell in array.ravel()):
        numbers, texts = _numbers(array)
        array = array if texts else numbers  # texts of numbers are numbers, not years
    if array.dtype.kind in "fiu":
        made = _unit(unit or "s", column, name)
        if made.dimension != parse_unit("s").dimension:
            raise DataError(
                f"{name}: the column of time {column!r} is in {unit}, which is not a unit of time; use s, ms, min or h"
            )
        return array.astype(float) * made.scale
    pandas = require("pandas", "time stamps")
    # stamps of several zones, as before and after a change to summer time, are compared in UTC
    zoned = [bool(_ZONE.search(cell)) for cell in map(str, array) if ":" in cell]
    if any(zoned) and not all(zoned):
        raise DataError(
            f"{name}: some stamps in the column of time {column!r} have a time zone and others have none; give it to all"
        )
    form = "ISO8601" if array.dtype.kind in "OU" else None
    stamps = pandas.to_datetime(pandas.Series(array), errors="coerce", format=form, utc=any(zoned))
    if stamps.isna().all():
        raise DataError(f"{name}: the column of time {column!r} has neither numbers nor time stamps, but {array[0]!r}")
    elapsed = (stamps - stamps.iloc[0]).dt.total_seconds()
    return np.asarray(elapsed, dtype=float)
