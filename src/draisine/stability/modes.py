"""Modes over a sweep: eigenvalues and mode shapes, tracked through crossings and named by their shapes.

>>> import numpy as np, draisine as dr
>>> m = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
>>> m.names
('castering', 'weave', 'weave*', 'capsize')
>>> [(c.kind, round(c.value, 4)) for c in m.critical()]
[('oscillation begins', 0.6843), ('weave', 4.2924), ('capsize', 6.0243)]
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.spectrum import Spectrum
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.stability.bracket_solver import BEGINS, ENDS
from draisine.stability.critical import Critical, critical_values
from draisine.stability.crossings import LEAST
from draisine.stability.mode_names import ModeNames, eigenvectors
from draisine.stability.mode_tracking import continued, sorted_vectors
from draisine.stability.steady_family import Family, sweep_values

_WIDE = 80  # characters of a line of a table

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

COINCIDE = 1e-6  # distance of eigenvalues, relative to the largest, below which their vectors are separated


@dataclass(frozen=True, eq=False)
class Modes(Result):
    """Eigenvalues of the essential deviations over a swept quantity.

    `eigenvalues` (points, modes) and `shapes` (points, states, modes) are tracked by continuity, so that a column is one mode;
    points without a steady motion hold NaN. Parts of eigenvalues that are rounding error are zero. `names` are the names of the
    columns.
    """

    over: str
    values: Array
    states: tuple[str, ...]
    eigenvalues: Complex
    matrices: Array = field(repr=False)
    left_out: dict[str, str] = field(repr=False)
    family: Family = field(repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the modes by their shapes, see `draisine.stability.mode_names`."""
        good = np.isfinite(self.eigenvalues).all(axis=1)
        return self._by_shape.names(self.matrices[good], self.eigenvalues[good])

    @cached_property
    def _by_shape(self) -> ModeNames:
        return ModeNames(self.family)

    @cached_property
    def shapes(self) -> Complex:
        """Eigenvectors of unit length, (points, states, modes)."""
        return _shapes(self.matrices, self.eigenvalues)

    def critical(self) -> list[Critical]:
        """Where a mode gains or loses stability, and where real modes become an oscillation or the reverse; solved exactly, in
        order.

        There is one for each mode. The sweep is sampled at 64 intervals at least, and refined until the numbers of growing modes
        at neighboring samples agree with the critical values between them; so are intervals in which real parts bend toward zero.
        A window of instability narrower than the samples, of which these show nothing, is not found: give values within it. What
        rounding can do is no crossing.
        """
        return list(self._critical)

    @cached_property
    def _critical(self) -> list[Critical]:
        return critical_values(self.family, self.over, self.values, self._by_shape, self.unit)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether every mode decays, at each value, besides those that are zero at all values: directions of a family of
        motions."""
        known = np.isfinite(self.eigenvalues).all(axis=1)
        always = (self.eigenvalues[known] == 0).all(axis=0)
        return known & np.asarray((self.eigenvalues.real[:, ~always] < 0).all(axis=1))

    @property
    def neutral(self) -> NDArray[np.bool_]:
        """Which modes (points, modes) neither grow nor decay, up to rounding; their real parts are zero."""
        return np.asarray(self.eigenvalues.real == 0)

    @property
    def unit(self) -> str:
        """Unit of the swept quantity."""
        e = self.family.equations
        return next((q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs) if q.name == self.over), "")

    @property
    def units(self) -> dict[str, str]:
        """Units by column of the table: eigenvalues are in 1/s."""
        return {self.over: self.unit, **dict.fromkeys(self.names, "1/s")}

    def _table(self) -> Mapping[str, Any]:
        return {self.over: self.values, **dict(zip(self.names, self.eigenvalues.T, strict=True))}

    def summary(self) -> str:
        """The sweep, its critical values, and which modes grow between them."""
        first, last = self.values[0], self.values[-1]
        head = f"modes of {self.family.equations.name}, {self.over} from {first:g} to {last:g} {self.unit}".rstrip()
        critical = [f"  {c.kind} at {c.value:.6g} {self.unit}".rstrip() for c in self.critical()]
        return "\n".join([head, *critical, *self._sections()])

    def _sections(self) -> list[str]:
        """A line for each range of neighboring values at which the same modes grow; ranges end at critical values, where there is
        one between two samples."""
        verdicts = [self._verdict(i) for i in range(len(self.values))]
        starts = [0, *(i for i in range(1, len(verdicts)) if verdicts[i] != verdicts[i - 1]), len(verdicts)]
        lines = []
        for start, end in pairwise(starts):
            low = self.values[start] if start == 0 else self._edge(start)[1]
            high = self.values[end - 1] if end == len(verdicts) else self._edge(end)[0]
            where = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
            lines.append(f"  {where} {self.unit}".rstrip() + f": {verdicts[start]}")
        return lines

    def _edge(self, i: int) -> tuple[float, float]:
        """Where one range ends and the next begins, between the values i − 1 and i: at a critical value, or at these values."""
        low, high = sorted((float(self.values[i - 1]), float(self.values[i])))
        between = {c.value for c in self.critical() if low <= c.value <= high and self._changes_growth(c)}
        return (min(between), max(between)) if len(between) == 1 else (float(self.values[i - 1]), float(self.values[i]))

    def _changes_growth(self, critical: Critical) -> bool:
        """Whether a mode crosses the imaginary axis there; two real modes that become an oscillation need not."""
        return critical.kind not in (BEGINS, ENDS)

    def _verdict(self, i: int) -> str:
        row = self.eigenvalues[i]
        if not row.size:
            return "no modes: all states are left out, see left_out"
        if not np.isfinite(row).all():
            return "no steady motion"
        plain = [n.rstrip("*") for n in self.names]
        names = [n if z.imag else n.replace(" oscillation", "") for n, z in zip(plain, row, strict=True)]
        growing = list(dict.fromkeys(n for n, z in zip(names, row, strict=True) if z.real > 0))
        if growing:
            return f"unstable, {' and '.join(growing)} {'grows' if len(growing) == 1 else 'grow'}"
        return "stable, all modes decay" if self.stable[i] else "no mode grows, some neither grow nor decay"

    def plot(self, **options: Any) -> Any:
        """Eigenvalues against the swept quantity, critical values marked; see `draisine.view.plots.eigenvalues`."""
        marks = [(c.kind, c.value) for c in self.critical()]
        swept = (self.over, self.unit)
        return figure("plots.eigenvalues.eigenvalues_against", self.values, self.eigenvalues, self.names, swept, marks, **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        table = [
            {self.over: float(v), **{n: [float(z.real), float(z.imag)] for n, z in zip(self.names, row, strict=True)}}
            for v, row in zip(self.values, self.eigenvalues, strict=True)
        ]
        critical = [c.as_data() for c in self.critical()]
        return {
            "model": self.family.equations.name,
            "over": self.over,
            "states": self.states,
            "modes": table,
            "critical": critical,
        }

    def __repr__(self) -> str:
        first, last = self.values[0], self.values[-1]
        return f"<Modes of {self.family.equations.name} over {len(self.values)} values of {self.over}, {first:g} to {last:g}>"

    def __str__(self) -> str:
        shown = np.unique(np.linspace(0, len(self.values) - 1, min(len(self.values), 21)).round().astype(int))
        first = [self.over, *(f"{self.values[i]:.4g}" for i in shown)]
        columns = [[name, *(_cell(z) for z in self.eigenvalues[shown, j])] for j, name in enumerate(self.names)]
        return "\n\n".join(_block(first, columns[i:k]) for i, k in pairwise(_breaks(first, columns)))


def _cell(z: complex) -> str:
    return f"{z.real:>8.4f} {z.imag:>+7.3f}i" if z.imag else f"{z.real:>8.4f}         "


def _block(first: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Columns beside each other, aligned at the right."""
    widths = [max(map(len, column)) for column in (first, *columns)]
    rows = zip(first, *columns, strict=True)
    return "\n".join(" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _breaks(first: Sequence[str], columns: Sequence[Sequence[str]]) -> list[int]:
    """Where columns are broken into blocks that fit a terminal."""
    found, wide = [0], max(map(len, first))
    for k, column in enumerate(columns):
        more = 1 + max(map(len, column))
        if wide + more > _WIDE and k > found[-1]:
            found.append(k)
            wide = max(map(len, first))
        wide += more
    return [*found, len(columns)]


@checked
def modes(
    model: Model | System | Equations,
    over: Mapping[str, ArrayLike] | None = None,
    *,
    fixed: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    states: Sequence[str] = (),
    **sweep: ArrayLike,
) -> Modes:
    """Modes of the steady motions over values of one quantity, e.g. `modes(bike, speed=np.linspace(0, 10, 200))`.

    - `sweep`: the swept quantity, a parameter, an input, a state or an output of motion, with its values; write
      `over={"name": values}` where the name is not a Python identifier;
    - `fixed`, `free`, `near`, `parameters`: which steady motion, as in `steady`;
    - `states`: states of the mode shapes, as in `linearize`.
    """
    swept = {**(over or {}), **sweep}
    if len(swept) != 1:
        raise ArgumentError(f"modes sweeps one quantity, as in modes(model, speed=np.linspace(0, 10, 200)); got {len(swept)}")
    ((name, given),) = swept.items()
    values = sweep_values(name, given)
    family = Family.over(model, {name: values}, fixed=fixed, free=free, near=near, parameters=parameters, states=states)
    pieces = -(-LEAST // (len(values) - 1)) if len(values) > 1 else 1
    between = values[:-1, None] + np.arange(pieces) / pieces * np.diff(values)[:, None]
    found = family.matrices(np.append(between.ravel(), values[-1])[:, None])  # tracked through points between few values
    _warn_of_gaps(family, name, values, found.found[::pieces])
    family.warn_without_effect({name: values}, 3)
    tracked = _tracked_eigenvalues(found.A, found.found)[::pieces]
    return Modes(name, values, family.states, tracked, found.A[::pieces], family.left_out, family)


def _warn_of_gaps(family: Family, name: str, values: Array, found: NDArray[np.bool_]) -> None:
    """Warn where a sweep has no steady motion, comes close to a singular configuration, or lies on the limit of a switch."""
    model, missing = family.equations.name, np.flatnonzero(~found)
    if len(missing):
        where = ", ".join(f"{values[i]:.6g}" for i in missing[:3]) + (", …" if len(missing) > 3 else "")
        message = f"{model}: no steady motion at {name} = {where}: {family.why_missing(values[missing[:1]])}"
        if len(missing) == len(values):
            raise SolverError(message)
        warnings.warn(f"{message}; their modes are NaN", stacklevel=3)
    if near := family.singular_at(values[:, None]):
        message = f"{model}: the sweep comes close to a singular configuration at {name} = {values[near[0]]:.6g}: {near[1]}"
        warnings.warn(message, stacklevel=3)
    if limit := family.limit_at(values[:, None]):
        warnings.warn(f"{model}: at {name} = {values[limit[0]]:.6g} {limit[1]}", stacklevel=3)


def _tracked_eigenvalues(matrices: Array, found: NDArray[np.bool_]) -> Complex:
    """Eigenvalues with columns ordered by continuity, from the end of the sweep, where modes are usually well separated, to its
    beginning."""
    values = np.full(matrices.shape[:2], np.nan + 0j)
    good = np.flatnonzero(found)[::-1]
    spectrum = Spectrum.of(matrices[good])
    spectrum = spectrum.taken(np.lexsort((-spectrum.cleaned.imag, spectrum.cleaned.real), axis=1))
    values[good] = np.take_along_axis(spectrum.cleaned, continued(spectrum), axis=1)
    return values


def _shapes(matrices: Array, eigenvalues: Complex) -> Complex:
    shapes = np.full(matrices.shape, np.nan + 0j)
    good = np.flatnonzero(np.isfinite(eigenvalues).all(axis=1))
    shapes[good] = sorted_vectors(matrices[good], eigenvalues[good])
    gaps = np.abs(eigenvalues[good][:, :, None] - eigenvalues[good][:, None, :]) + np.diag(np.full(matrices.shape[1], np.inf))
    for i in good[gaps.min(axis=(1, 2), initial=np.inf) <= COINCIDE * np.abs(eigenvalues[good]).max(axis=1, initial=0.0)]:
        shapes[i] = eigenvectors(matrices[i], eigenvalues[i])
    return shapes
