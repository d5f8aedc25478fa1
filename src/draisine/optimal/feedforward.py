"""Feedforward control: inputs as piecewise polynomials in time, for further simulations and for files.

A `Feedforward` is a mapping from inputs to expressions of t, which `simulate(model, until, inputs=solution.feedforward)`
compiles into the equations. Files are CSV, one row per time, with names and units of the inputs in the header.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, UnknownNameError
from draisine.expr.expression import Expr, Name, Number, clip, did_you_mean, lt, where
from draisine.numerics.runge_kutta import monomial_coefficients
from draisine.results.files import replacing
from draisine.simulation.sampled_control import Sampled

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution

Reals = NDArray[np.float64]

MOST_ROWS = 10**6
MOST_PIECES = 300  # in one expression, at most
SAME = 1e-6  # relative difference below which values count as equal


@dataclass(frozen=True, eq=False)
class Feedforward(Mapping[str, Expr]):
    """Inputs as polynomials in (t − begin of a piece), constant before the first piece and after the last one.

    >>> import numpy as np
    >>> table = Feedforward(("force",), {}, np.array([0.0, 1.0, 2.0]), np.array([[[1.0]], [[-1.0]]]))
    >>> table.at([0.5, 1.5, 9.0])[:, 0].tolist(), str(table["force"])
    ([1.0, -1.0, -1.0], 'where(clip(t, 0, 2) < 1, 1, -1)')
    """

    inputs: tuple[str, ...]
    units: Mapping[str, str]
    breaks: Reals
    coefficients: Reals  # (pieces, powers, inputs), the constant first

    def __post_init__(self) -> None:
        if len(self.breaks) != len(self.coefficients) + 1 or not (np.diff(self.breaks) > 0).all():
            raise ArgumentError("Feedforward: breaks must increase, and their number must be one more than that of pieces")

    # ---------------------------------------------------------------- a mapping

    def __getitem__(self, name: str) -> Expr:
        if name not in self.inputs:
            raise UnknownNameError(f"the table has no input {name!r}{did_you_mean(name, self.inputs)}")
        breaks, parts = self._merged(self.inputs.index(name))
        if len(parts) > MOST_PIECES:
            raise ArgumentError(
                f"{name!r} has {len(parts)} pieces, more than {MOST_PIECES} per expression; use control=table.sampled(rate), or "
                "a coarser table"
            )
        t = clip(Name("t"), float(self.breaks[0]), float(self.breaks[-1]))

        def tree(low: int, high: int) -> Expr:
            if high - low == 1:
                return _polynomial(t, breaks[low], parts[low])
            middle = (low + high) // 2
            return where(lt(t, breaks[middle]), tree(low, middle), tree(middle, high))

        return tree(0, len(parts))

    def __iter__(self) -> Iterator[str]:
        return iter(self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)

    def _merged(self, place: int) -> tuple[list[float], list[Reals]]:
        """Pieces of one input; neighbors that hold one value, to the accuracy of the solver, are one piece."""
        parts = self.coefficients[:, :, place]
        size = max(float(np.abs(parts).max(initial=0.0)), 1e-300)
        begins: list[float] = []
        kept: list[Reals] = []
        for begin, length, part in zip(self.breaks[:-1], np.diff(self.breaks), parts, strict=True):
            constant = float(np.abs(part[1:] * length ** np.arange(1, len(part))).max(initial=0.0)) < SAME * size
            shown = part[:1] if constant else part
            if kept and constant and len(kept[-1]) == 1 and abs(kept[-1][0] - part[0]) < SAME * size:
                continue
            begins.append(float(begin))
            kept.append(shown)
        return begins, kept

    # ---------------------------------------------------------------- numbers

    def at(self, times: Sequence[float] | Reals) -> Reals:
        """(times, inputs)."""
        t = np.clip(np.asarray(times, dtype=float), self.breaks[0], self.breaks[-1])
        k = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.coefficients) - 1)
        powers = (t - self.breaks[k])[:, None] ** np.arange(self.coefficients.shape[1])
        return np.asarray(np.einsum("ij,ijn->in", powers, self.coefficients[k]))

    def sampled(self, rate: float) -> Sampled:
        """The table sampled `rate` times per second with zero-order hold, for `simulate(…, control=…)`."""
        return Sampled(lambda t, x: dict(zip(self.inputs, self.at([t])[0].tolist(), strict=True)), rate)

    # ---------------------------------------------------------------- files

    def write(self, path: str | os.PathLike[str], rate: float = 100.0) -> None:
        """Write a CSV file with `rate` rows per second; the last row is at the end."""
        if not (math.isfinite(rate) and rate > 0):
            raise ArgumentError(f"Feedforward: rate is a positive number of rows per second, got {rate!r}")
        span = float(self.breaks[-1] - self.breaks[0])
        times = self.breaks[0] + np.arange(math.ceil(span * rate - 1e-6)) / rate
        times = np.append(times, self.breaks[-1])
        with replacing(Path(path)) as draft, draft.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["time [s]", *(f"{n} [{self.units.get(n, '')}]" for n in self.inputs)])
            rows.writerows([repr(float(v)) for v in row] for row in np.column_stack([times, self.at(times)]))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Feedforward:
        """Read a file written by `write`, with linear interpolation between the rows."""
        source = Path(path)
        with source.open(newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            titles = next(rows, [])
            numbers = []
            for number, row in enumerate(rows, 2):
                if number > MOST_ROWS:
                    raise DataError(f"{source}: more than {MOST_ROWS} rows")
                numbers.append(_numbers(source, number, row, len(titles)))
        if len(titles) < 2 or not titles[0].startswith("time") or len(numbers) < 2:
            raise DataError(
                f"{source}: a table of inputs needs a header with 'time [s]' and at least one input, and two rows or more"
            )
        named = [title.partition(" [") for title in titles[1:]]
        table = np.array(numbers)
        back = np.flatnonzero(np.diff(table[:, 0]) <= 0)
        if back.size:
            raise DataError(f"{source}, line {back[0] + 3}: times must increase from row to row; sort the rows")
        jacobian = np.diff(table[:, 1:], axis=0) / np.diff(table[:, 0])[:, None]
        units = {name.strip(): unit.rstrip("] ") for name, _, unit in named}
        return Feedforward(tuple(units), units, table[:, 0], np.stack([table[:-1, 1:], jacobian], axis=1))


def feedforward(phases: Sequence[PhaseSolution]) -> Feedforward:
    """The controls of all phases in sequence."""
    names = phases[0].phase.controls
    if any(p.phase.controls != names for p in phases):
        raise ArgumentError("the phases have different controls; use the phases of solution.phases separately")
    if not names:
        raise ArgumentError(f"{phases[0].phase.equations.name}: the maneuver has no controls")
    breaks, parts = [np.array([phases[0].begin])], []
    most = max(len(p.grid.control_local) for p in phases)
    for p in phases:
        grid = p.grid
        powers = monomial_coefficients(grid.control_local)
        local = np.einsum("cj,kjn->kcn", powers, p.controls[grid.control_of])
        lengths = p.duration * np.diff(grid.breaks)
        local = local / lengths[:, None, None] ** np.arange(local.shape[1])[None, :, None]
        parts.append(np.pad(local, ((0, 0), (0, most - local.shape[1]), (0, 0))))
        breaks.append(breaks[-1][-1] + p.duration * grid.breaks[1:])
    units = {q.name: q.unit for q in phases[0].phase.equations.inputs if q.name in names}
    return Feedforward(names, units, np.concatenate(breaks), np.concatenate(parts))


def _polynomial(t: Expr, begin: float, coefficients: Reals) -> Expr:
    total: Expr = Number(float(coefficients[-1]))
    for c in coefficients[-2::-1]:
        total = total * (t - begin) + float(c)
    return total


def _numbers(source: Path, number: int, row: list[str], count: int) -> list[float]:
    try:
        values = [float(cell) for cell in row]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(v) for v in values):
        raise DataError(f"{source}, line {number}: a row must have {count} finite numbers")
    return values
