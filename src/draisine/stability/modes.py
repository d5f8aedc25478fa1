"""Modes over a sweep: eigenvalues and shapes, followed through crossings, named by what moves.

>>> import numpy as np, draisine as dr
>>> m = dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 101), states=("lean", "steer"))
>>> m.names
('castering', 'weave', 'weave*', 'capsize')
>>> [(c.kind, round(c.value, 4)) for c in m.critical()]
[('oscillation begins', 0.6843), ('weave', 4.2924), ('capsize', 6.0243)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.model.errors import ModelError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.stability.critical import Critical, critical_values
from draisine.stability.family import Family

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

REAL = 1e-9  # imaginary parts below this, in units of the largest eigenvalue, are round-off


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenvalues of the essential deviations over a swept quantity.

    `eigenvalues` (points, modes) and `shapes` (points, states, modes) are followed by continuity, so that a column is one mode;
    points without a steady motion hold NaN. `names` says which column is which.
    """

    over: str
    values: Array
    states: tuple[str, ...]
    eigenvalues: Complex
    shapes: Complex = field(repr=False)
    matrices: Array = field(repr=False)
    left_out: dict[str, str] = field(repr=False)
    family: Family = field(repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return _names(self)

    def critical(self) -> list[Critical]:
        """Where a mode gains or loses stability, and where real modes join to oscillate; solved exactly, in order."""
        return critical_values(self.family, self.over, self.values, self.matrices)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """At which values every mode decays."""
        return np.asarray(np.nanmax(self.eigenvalues.real, axis=1) < 0)

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

    def __str__(self) -> str:
        shown = np.unique(np.linspace(0, len(self.values) - 1, min(len(self.values), 21)).round().astype(int))
        lines = [f"{self.over:>10}  " + "  ".join(f"{name:>18}" for name in self.names)]
        for i in shown:
            cells = [
                f"{z.real:>9.4f} {z.imag:>+8.4f}i" if abs(z.imag) > 1e-9 else f"{z.real:>9.4f}          "
                for z in self.eigenvalues[i]
            ]
            lines.append(f"{self.values[i]:>10.4g}  " + "  ".join(f"{cell:>18}" for cell in cells))
        return "\n".join(lines)


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

    - the swept quantity is a parameter, an input, a state or an output of motion; `over={"name": values}` where the name is no
      Python word;
    - `fixed`, `free`, `near`, `parameters`: which steady motion, as in `steady`;
    - `states`: quantities by which the shapes are told, as in `linearize`.
    """
    swept = {**(over or {}), **sweep}
    if len(swept) != 1:
        raise ModelError(f"modes sweeps one quantity, as in modes(model, speed=np.linspace(0, 10, 200)); got {len(swept)}")
    ((name, given),) = swept.items()
    values = np.atleast_1d(np.asarray(given, dtype=float))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ModelError(f"the values of {name!r} to sweep must be finite numbers in one row")
    middle = float(values[len(values) // 2])
    family = Family(model, {name: middle}, fixed=fixed, free=free, near=near, parameters=parameters, states=states)
    found = family.matrices(values[:, None])
    if not found.found.any():
        raise ModelError(f"{family.equations.name}: no value of {name!r} in the sweep has a steady motion")
    eigenvalues, shapes = _followed(found.A, found.found)
    return Modes(name, values, family.states, eigenvalues, shapes, found.A, family.left_out, family)


def _followed(matrices: Array, found: NDArray[np.bool_]) -> tuple[Complex, Complex]:
    """Eigenvalues and vectors with columns in the order that changes least from point to point."""
    count, k, _ = matrices.shape
    values = np.full((count, k), np.nan + 0j)
    shapes = np.full((count, k, k), np.nan + 0j)
    good = np.flatnonzero(found)
    values[good], shapes[good] = np.linalg.eig(matrices[good])
    values.imag[np.abs(values.imag) <= REAL * np.nanmax(np.abs(values))] = 0.0
    # from the end, where modes are usually well apart, towards the beginning
    before: list[int] = []
    for i in good[::-1]:
        if before:
            # a straight line through the last two points tells apart modes that cross
            here = values[before[-1]]
            ahead = 2 * here - values[before[-2]] if len(before) > 1 else here
            order = _assigned(ahead, values[i], shapes[before[-1]], shapes[i])
        else:
            order = np.lexsort((-values[i].imag, values[i].real))
        values[i], shapes[i] = values[i][order], shapes[i][:, order]
        before.append(int(i))
    return values, shapes


def _assigned(ahead: Complex, values: Complex, old: Complex, new: Complex) -> NDArray[np.int64]:
    """Which new mode continues which old one: the nearest pairs first."""
    size = max(float(np.abs(values).max()), 1e-300)
    alike = np.abs(np.conj(old.T) @ new)  # columns have unit length: 1 for the same shape
    distance = np.abs(ahead[:, None] - values[None, :]) / size + 0.05 * (1 - alike)
    order = np.zeros(len(values), dtype=np.int64)
    for _ in values:
        i, j = divmod(int(np.argmin(distance)), len(values))
        order[i] = j
        distance[i, :], distance[:, j] = np.inf, np.inf
    return order


def _names(m: Modes) -> tuple[str, ...]:
    """Names by shape at the last point of the sweep: the bicycle's where lean and steer are states, else what moves most."""
    last = int(np.flatnonzero(np.isfinite(m.eigenvalues[:, 0]))[-1])
    values, shapes = m.eigenvalues[last], np.abs(m.shapes[last])
    # a conjugate pair somewhere in the sweep is an oscillation, even if it is two real modes at its end
    swings = np.nanmax(np.abs(m.eigenvalues.imag), axis=0) > 0
    names: list[str] = []
    for j, value in enumerate(values):
        if {"lean", "steer"} <= set(m.states) and len(m.states) == 4:
            lean, steer = shapes[m.states.index("lean"), j], shapes[m.states.index("steer"), j]
            # fast and in the fork: castering; slow and in the whole: capsize
            name = "weave" if swings[j] else ("castering" if steer > lean else "capsize")
        else:
            manner = "oscillation" if swings[j] else "decay" if value.real < 0 else "growth"
            name = f"{m.states[int(np.argmax(shapes[:, j]))]} {manner}"
        while name in names:
            name += "*"
        names.append(name)
    return tuple(names)
