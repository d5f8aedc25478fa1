"""Steady turns over a grid: required inputs, required friction, and stability.

>>> import numpy as np, draisine as dr
>>> atlas = dr.bicycle.turning_atlas(dr.gallery.bicycle(), lean=np.linspace(0, 0.6, 7), speed=np.linspace(4, 8, 5))
>>> atlas["steer_torque"].shape
(7, 5)
>>> bool(atlas.exists.all()), float(atlas.friction.max().round(3))
(True, 0.766)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, ModelError, SolverError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.stability.continuation.branch_stability import GROWS, ZERO
from draisine.stability.continuation.evaluation import path_radii, reported
from draisine.stability.continuation.problem import ContinuationProblem
from draisine.stability.continuation.steady_grid import Grid, SteadyGridSolver
from draisine.stability.deviations import deviations_of
from draisine.stability.linearization import equations_of
from draisine.stability.steady_problem import SteadyMotion, steady_near

Array = NDArray[np.float64]

MOST_TURNS = 4_000_000  # of an atlas, held in memory with all columns
TURN_INPUTS = ("steer_torque", "pedal_torque")
TURNS: dict[str, ArrayLike] = {"lean": np.linspace(0.0, 0.8, 41), "speed": np.linspace(1.0, 10.0, 46)}


@dataclass(frozen=True, eq=False)
class Atlas(Result):
    """Steady turns over a grid: `atlas["steer_torque"]` is an array (first axis, second axis), NaN where no turn exists.

    Columns are states, velocities, inputs, outputs, contact forces, energies, and path radii of wheels. `unstable` is the
    number of growing modes (−1 where no turn exists).
    """

    model: str
    axes: tuple[str, str]
    first: Array = field(repr=False)
    second: Array = field(repr=False)
    inputs: tuple[str, ...]
    columns: dict[str, Array] = field(repr=False)
    exists: NDArray[np.bool_] = field(repr=False)
    unstable: NDArray[np.int64] = field(repr=False)
    units: dict[str, str] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise UnknownNameError(f"{self.model} has no {name!r} in this atlas{did_you_mean(name, list(self.columns))}")
        return self.columns[name]

    @property
    def wheels(self) -> tuple[str, ...]:
        """Wheels with contact forces."""
        return tuple(name.removesuffix("_friction_needed") for name in self.columns if name.endswith("_friction_needed"))

    @property
    def friction(self) -> Array:
        """The required coefficient of friction: the largest |tangential|/normal force of all wheels."""
        return np.max([self[f"{wheel}_friction_needed"] for wheel in self._contact_wheels()], axis=0)

    @property
    def load(self) -> Array:
        """The smallest normal force of all wheels; negative if a wheel would lift off."""
        return np.min([self[f"{wheel}_normal_force"] for wheel in self._contact_wheels()], axis=0)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Where a turn exists and has no growing mode."""
        return self.unstable == 0

    def possible(self, friction: float = np.inf) -> NDArray[np.bool_]:
        """Where a turn exists without slip at this coefficient of friction and without lift-off."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.exists & (self.friction <= friction) & (self.load > 0))

    def _contact_wheels(self) -> tuple[str, ...]:
        if not self.wheels:
            raise ModelError(f"{self.model} has no wheels with contact forces")
        return self.wheels

    def _table(self) -> Mapping[str, Any]:
        a, b = np.meshgrid(self.first, self.second, indexing="ij")
        others = {name: column.ravel() for name, column in self.columns.items() if name not in self.axes}
        return {self.axes[0]: a.ravel(), self.axes[1]: b.ravel(), "unstable": self.unstable.ravel(), **others}

    def _overview(self) -> Mapping[str, Any]:
        low, high = ([float(f(self[name])) for name in self.inputs] for f in (np.nanmin, np.nanmax))
        return {"inputs": list(self.inputs), "unit": [self.units.get(n, "") for n in self.inputs], "least": low, "greatest": high}

    def plot(self, **options: Any) -> Any:
        """Four maps of the turns as a Matplotlib figure; see `draisine.view.plots.branches.atlas_figure`."""
        return figure("plots.branches.atlas_figure", self, **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON; None where no turn exists."""
        columns = {n: [[v if np.isfinite(v) else None for v in row] for row in a.tolist()] for n, a in self.columns.items()}
        axes = {self.axes[0]: self.first.tolist(), self.axes[1]: self.second.tolist()}
        data = {"model": self.model, "axes": axes, "inputs": self.inputs, "exists": self.exists.tolist()}
        return {**data, "unstable": self.unstable.tolist(), "columns": columns}

    def __str__(self) -> str:
        a, b = self.axes
        lines = [
            f"{self.model}: turns over {a} ({self.first[0]:g} to {self.first[-1]:g}) and {b} ({self.second[0]:g} to "
            f"{self.second[-1]:g}), inputs: {', '.join(self.inputs) or 'none'}",
            f"  {int(self.exists.sum())} of {self.exists.size} exist, {int(self.stable.sum())} of them without a growing mode",
        ]
        for name in self.inputs:
            lines.append(f"  {name} from {np.nanmin(self[name]):.4g} to {np.nanmax(self[name]):.4g}")
        if self.wheels:
            lines.append(f"  required friction up to {np.nanmax(self.friction):.3g}, least load {np.nanmin(self.load):.4g} N")
        return "\n".join(lines)


def turning_atlas(
    model: Model | System | Equations,
    over: Mapping[str, ArrayLike] | None = None,
    *,
    hold: Sequence[str] = TURN_INPUTS,
    fixed: Mapping[str, float] | None = None,
    near: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    **axes: ArrayLike,
) -> Atlas:
    """Steady turns over a grid, e.g. `turning_atlas(bike, lean=np.linspace(0, 0.8, 60), speed=np.linspace(1, 10, 60))`.

    - the two axes are states, outputs of motion, inputs or parameters; by default lean and speed. Rows are continued from the
      value of the first axis nearest to zero, each from the previous one.
    - `hold`: inputs that are solved for (as far as the model has them); `fixed`, `near`, `parameters` as in `steady`.
    """
    refuse_unilateral("turning_atlas", model)
    e = equations_of(model)
    grid = _grid(e, {**(over or {}), **axes} or TURNS)
    inputs = [i.name for i in e.inputs]
    free = tuple(name for name in hold if name in inputs)
    if tuple(hold) != TURN_INPUTS and len(free) < len(hold):
        missing = next(name for name in hold if name not in inputs)
        raise ArgumentError(f"{e.name} has no input {missing!r} to solve for{did_you_mean(missing, inputs)}")
    fixed = dict(fixed or {})
    free = tuple(n for n in free if n not in (*grid.names, *fixed))
    base = _base(e, grid, fixed, free, near, parameters)
    problem = SteadyGridSolver(base, grid, fixed, free)
    solved = problem.solve()
    base = replace(base, ignorable=problem.ignorable)
    return _atlas(base, grid, free, solved.x, solved.u, solved.p, solved.exists)


def _grid(e: Equations, axes: Mapping[str, ArrayLike]) -> Grid:
    if len(axes) != 2:
        raise ArgumentError(f"{e.name}: give two axes, as in lean=np.linspace(0, 0.8, 60), speed=np.linspace(1, 10, 60)")
    values = []
    for name, given in axes.items():
        row = np.atleast_1d(np.asarray(given, dtype=float))
        if row.ndim != 1 or not np.isfinite(row).all() or (np.diff(row) <= 0).any():
            raise ArgumentError(f"{e.name}: the values of {name!r} must be a sequence of finite, increasing numbers")
        values.append(row)
    first, second = axes
    if (count := values[0].size * values[1].size) > MOST_TURNS:
        raise ArgumentError(f"{e.name}: an atlas has at most {MOST_TURNS:,} pairs of values, got {count:,}; give fewer")
    for name, other in ((first, second), (second, first)):
        ContinuationProblem(e, name, {other: 0.0})  # raises for quantities that cannot be fixed
    return Grid((first, second), values[0], values[1])


def _base(
    e: Equations,
    grid: Grid,
    fixed: Mapping[str, float],
    free: tuple[str, ...],
    near: Mapping[str, float] | None,
    parameters: Mapping[str, float] | None,
) -> SteadyMotion:
    """A first turn, with the first axis nearest to zero and the second in the middle of its range, or elsewhere."""
    names = [p.name for p in e.parameters]
    smallest = float(grid.first[np.argmin(np.abs(grid.first))])
    count = len(grid.second)
    problem: SolverError | None = None
    for k in dict.fromkeys((count // 2, (3 * count) // 4, count - 1, count // 4, 0)):
        at = {grid.names[0]: smallest, grid.names[1]: float(grid.second[k])}
        given = {n: v for n, v in at.items() if n in names}
        fixed_values = {**fixed, **{n: v for n, v in at.items() if n not in names}}
        begin = (
            None if near is None else {**near, **{n: v for n, v in fixed_values.items() if n not in {i.name for i in e.inputs}}}
        )
        try:
            found = steady_near(e, fixed_values, free=free, near=begin, parameters={**(parameters or {}), **given})
        except SolverError as missing:
            problem = problem or missing
            continue
        return SteadyMotion(e, found.x, found.u, found.p, {**found.values, **given}, found.ignorable)
    assert problem is not None
    raise problem


def _atlas(
    base: SteadyMotion, grid: Grid, free: tuple[str, ...], x: Array, u: Array, p: Array, exists: NDArray[np.bool_]
) -> Atlas:
    e = base.equations
    at = x[exists], u[exists], p[exists]
    flat = {**reported(e, *at), **path_radii(e, *at)}
    parameters = [q.name for q in e.parameters]
    flat |= {n: at[2][:, parameters.index(n)] for n in grid.names if n in parameters}
    columns = {}
    for name, values in flat.items():
        columns[name] = np.full(exists.shape, np.nan)
        columns[name][exists] = values
    unstable = np.full(exists.shape, -1, dtype=np.int64)
    unstable[exists] = _growing(base, *at)
    quantities = (*e.states, *e.velocities, *e.inputs, *e.outputs, *e.parameters, *e.multipliers)
    units = {q.name: q.unit for q in quantities} | {n: "m" for n in columns if n.endswith("_path_radius")}
    return Atlas(e.name, grid.names, grid.first, grid.second, free, columns, exists, unstable, units)


def _growing(base: SteadyMotion, x: Array, u: Array, p: Array) -> NDArray[np.int64]:
    """The number of growing modes at each point, without modes that are zero everywhere."""
    e = base.equations
    deviations = deviations_of(e)
    jacobians = deviations.derivatives(0.0, x, u, p)
    naming = deviations.choose(jacobians)
    kept = [k for k, name in enumerate(naming.names) if name not in base.ignorable]
    a = naming.matrices(jacobians)[0][:, kept][:, :, kept]
    values = np.linalg.eigvals(a)
    sizes = np.abs(values)
    largest = np.maximum(sizes.max(axis=1, initial=0.0), 1e-300)[:, None]
    neutral = int((sizes <= ZERO * largest).sum(axis=1).min()) if len(values) else 0
    order = np.argsort(sizes, axis=1)[:, neutral:]
    others = np.take_along_axis(values, order, axis=1)
    return np.asarray((others.real > GROWS * largest).sum(axis=1), dtype=np.int64)
