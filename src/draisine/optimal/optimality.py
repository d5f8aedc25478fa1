"""Report of the necessary conditions of optimality along a solution: KKT residuals, Hamiltonian, switching functions.

>>> import sympy as sp
>>> import draisine as dr
>>> x, v, force = sp.symbols("x v force")
>>> mass = dr.first_order("mass", {x: v, v: force}, inputs=[force])
>>> there = dr.maneuver(mass).start(x=0, v=0).finish(x=1, v=0).bounds(force=(-1, 1)).minimize("time")
>>> reported = optimality(there.solve(dr.optimal.Collocation(intervals=20, constant_controls=True)))
>>> reported.switching[0].crossings.round(4).tolist(), round(reported.hamiltonian[0].mean, 6)
([1.0], -1.0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.errors import ArgumentError, UnknownNameError
from draisine.numerics.runge_kutta import lagrange
from draisine.optimal.first_order_conditions import Kkt, PontryaginConditions
from draisine.optimal.phase import Phase
from draisine.optimal.scaling import ordinary
from draisine.results.base import Result

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution, Solution

Reals = NDArray[np.float64]

AT_BOUND = 1e-3  # of the range between bounds: distance within which a control counts as at its bound
ROUNDING = 1e-6  # of the size of the cost per second: ∂H/∂u times the range between bounds that counts as zero
JUMP = 0.2  # of the range between bounds: distance of a control from their middle, on both sides of a jump
PRICED = 1e-4  # of a condition's largest multiplier: below, it counts as inactive
FINE = 9  # points of a control that is a polynomial in an interval, for its picture
CLEAR = 0.05  # of its largest value: above, the sign of a switching function counts


@dataclass(frozen=True, eq=False)
class Switching:
    """An input between bounds: where ∂H/∂u is positive it should be at its lower bound, where negative at its upper one.

    `crossings` are the zeros of ∂H/∂u, `switches` the times at which the control changes from one half of its range to the
    other, at mesh points if it jumps there; both otherwise by linear interpolation between control points. `resolution` is the
    longest time between two of these points.
    `course` has times and values of the control between its points, as it is simulated: a polynomial in each interval of the
    mesh, with both limits where it jumps from one to the next.
    """

    phase: int
    name: str
    times: Reals
    values: Reals  # ∂H/∂u
    control: Reals
    low: float
    high: float
    crossings: Reals
    switches: Reals
    resolution: float
    course: tuple[Reals, Reals]
    rounding: float = ROUNDING  # ∂H/∂u times the range between bounds that counts as zero

    @property
    def bounded(self) -> float:
        """Share of the control points at one of the bounds."""
        near = AT_BOUND * (self.high - self.low)
        return float(np.mean((self.control < self.low + near) | (self.control > self.high - near)))

    @property
    def agreement(self) -> float:
        """Share of the points with a clear sign of ∂H/∂u at which the control is at the bound required by that sign."""
        clear = np.abs(self.values) > max(CLEAR * np.abs(self.values).max(initial=0.0), self.rounding / (self.high - self.low))
        near = AT_BOUND * (self.high - self.low)
        right = np.where(self.values > 0, self.control < self.low + near, self.control > self.high - near)
        return float(np.mean(right[clear])) if clear.any() else 1.0

    @property
    def apart(self) -> float:
        """The longest time from a switch of the control to the nearest zero of ∂H/∂u; infinite if there is none."""
        if not len(self.switches):
            return 0.0
        if not len(self.crossings):
            return math.inf
        return float(np.abs(self.switches[:, None] - self.crossings).min(axis=1).max())

    def __str__(self) -> str:
        text = f"{self.name}: at a bound {self.bounded:.0%} of the way"
        text += f", as the sign of ∂H/∂u requires at {self.agreement:.0%} of the points"
        if len(self.switches) or len(self.crossings):
            text += f"; switches at {_list(self.switches)}, ∂H/∂u is zero at {_list(self.crossings)}"
        if len(self.switches) and len(self.crossings):
            text += f", at most {self.apart:.2g} s apart (control points {self.resolution:.2g} s)"
        return text


@dataclass(frozen=True, eq=False)
class Hamiltonian:
    """H = integrand + costateᵀ rates of a phase, constant when nothing depends on time explicitly. `expected` is its value when
    the duration is free and the only cost at the end is weighted time: −1 for minimum time."""

    phase: int
    times: Reals
    values: Reals
    constant: bool
    expected: float | None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def spread(self) -> float:
        """The largest deviation from the mean; large near a switch inside an interval."""
        return float(np.abs(self.values - self.mean).max(initial=0.0))

    @property
    def typical(self) -> float:
        """The median deviation from the mean."""
        return float(np.median(np.abs(self.values - self.mean)))

    def __str__(self) -> str:
        if not self.constant:
            return f"H varies from {self.values[0]:.6g} to {self.values[-1]:.6g}; the equations depend on time"
        wanted = "" if self.expected is None else f", {self.expected:g} expected"
        return f"H = {self.mean:.8g}{wanted}; deviates by {self.typical:.1e} in the median, {self.spread:.1e} at most"


@dataclass(frozen=True)
class Active:
    """An active bound or path condition: its share of the motion, and its first and last time."""

    phase: int
    name: str
    side: str
    share: float
    begin: float
    end: float

    def __str__(self) -> str:
        text = f"{self.name}: at its {self.side} bound {self.share:.0%} of the way"
        return f"{text}, first at {self.begin:.4g} s, last at {self.end:.4g} s"


@dataclass(frozen=True, eq=False)
class Optimality(Result):
    """Necessary conditions of a minimum."""

    model: str
    outcome: str
    kkt: Kkt
    hamiltonian: tuple[Hamiltonian, ...]
    switching: tuple[Switching, ...]
    active: tuple[Active, ...]

    def __getitem__(self, name: str) -> Switching:
        """The switching function of an input, in the first phase that has it."""
        for each in self.switching:
            if each.name == name:
                return each
        known = ", ".join(dict.fromkeys(s.name for s in self.switching)) or "none"
        raise UnknownNameError(f"{name!r} has no switching function; inputs between bounds: {known}")

    def _table(self) -> Mapping[str, Any]:
        k = self.kkt
        sizes, where = (
            [k.violation, k.stationarity, k.complementarity],
            [k.violation_name, k.stationarity_name, k.complementarity_name],
        )
        return {"condition": ["violation", "stationarity", "complementarity"], "largest": sizes, "where": where}

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {
            "outcome": self.outcome,
            "kkt": dict(vars(self.kkt)),
            "hamiltonian": [
                {"mean": h.mean, "typical": h.typical, "spread": h.spread, "expected": h.expected} for h in self.hamiltonian
            ],
            "switching": [
                {
                    "phase": s.phase,
                    "input": s.name,
                    "at_bounds": s.bounded,
                    "agreeing": s.agreement,
                    "switches": s.switches.tolist(),
                    "crossings": s.crossings.tolist(),
                }
                for s in self.switching
            ],
            "active": [dict(vars(a)) for a in self.active],
        }

    def __str__(self) -> str:
        k, several = self.kkt, len(self.hamiltonian) > 1
        lines = [f"{self.model}: {self.outcome}"]
        for what, value, name in (
            ("violation", k.violation, k.violation_name),
            ("stationarity", k.stationarity, k.stationarity_name),
            ("complementarity", k.complementarity, k.complementarity_name),
        ):
            lines.append(f"  {what:<15} {value:.1e}" + (f" ({name})" if name else ""))
        parts: list[Hamiltonian | Switching | Active] = [*self.hamiltonian, *self.switching, *self.active]
        for part in parts:
            lines.append(f"  {f'phase {part.phase + 1}: ' if several else ''}{part}")
        return "\n".join(lines)


def optimality(solution: Solution) -> Optimality:
    """Necessary conditions along a solution: KKT residuals, Hamiltonian, switching functions, active conditions."""
    if solution.kkt is None or any(p.pontryagin is None for p in solution.phases):
        raise ArgumentError("this solution has no multipliers: it was not found by collocation, shooting or the adjoint method")
    phases = list(enumerate(solution.phases))
    return Optimality(
        solution.phases[0].phase.equations.name,
        str(solution.outcome),
        solution.kkt,
        tuple(_hamiltonian(k, p) for k, p in phases),
        tuple(s for k, p in phases for s in _switching(k, p)),
        tuple(a for k, p in phases for a in _active(k, p)),
    )


def _hamiltonian(number: int, found: PhaseSolution) -> Hamiltonian:
    assert found.pontryagin is not None
    phase, constant = found.phase, not _depends_on_time(found.phase)
    low, high = phase.times
    inside = low * (1 + 1e-6) < found.duration < high * (1 - 1e-6)
    timed = ca.depends_on(stacked([c.value for c in phase.ends]), phase.symbols.plant.t)
    expected = -phase.time_weight if constant and inside and phase.final is None and not timed else None
    return Hamiltonian(number, found.costate_times, found.pontryagin.hamiltonian, constant, expected)


def _depends_on_time(phase: Phase) -> bool:
    v = phase.symbols
    kept = [v.rates[i] for i in phase.kept_indices]
    values = stacked(
        [*kept, v.algebraic, *(c.value for c in phase.path), *([] if phase.integrand is None else [phase.integrand])]
    )
    return bool(ca.depends_on(values, v.plant.t))


def _switching(number: int, found: PhaseSolution) -> list[Switching]:
    assert found.pontryagin is not None
    made = []
    grid = found.grid
    constant = len(grid.control_local) == 1  # for a constant value, ∂H/∂u is the mean over its interval
    positions = 0.5 * (grid.breaks[1:] + grid.breaks[:-1]) if constant else grid.control_times
    times = found.begin + found.duration * positions
    rounding = ROUNDING * found.phase.sizes.cost / ordinary(found.duration)
    for j, name in enumerate(found.phase.controls):
        low, high = found.phase.limits.get(name, (-math.inf, math.inf))
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            continue
        control, values = found.controls[:, j], found.pontryagin.switching[:, j]
        edges = np.concatenate([times, [found.begin + found.duration]])
        crossings = _zeros(times, np.where(np.abs(values) > rounding / (high - low), values, 0.0))
        switches = _switches(found, j, times, 0.5 * (low + high), high - low)
        longest = float(np.diff(edges).max())
        own = times, values, control, low, high, crossings, switches, longest, _course(found, j), rounding
        made.append(Switching(number, name, *own))
    return made


def _switches(found: PhaseSolution, control: int, times: Reals, middle: float, wide: float) -> Reals:
    """Times at which a control passes the middle of its range: those of mesh points at which it jumps, others between points."""
    values, grid = found.controls[:, control] - middle, found.grid
    between = _zeros(times, np.where(np.abs(values) > AT_BOUND * wide, values, 0.0))
    edges = found.controls[grid.control_of, control] @ lagrange(grid.control_local, np.array([0.0, 1.0])).T - middle
    before, after = edges[:-1, 1], edges[1:, 0]
    jumps = (before * after < 0.0) & (np.minimum(np.abs(before), np.abs(after)) > JUMP * wide)
    at = found.begin + found.duration * grid.breaks[1:-1]
    reach = found.duration * np.maximum(np.diff(grid.breaks)[:-1], np.diff(grid.breaks)[1:])
    for k in np.flatnonzero(jumps) if len(between) else ():
        i = int(np.argmin(np.abs(between - at[k])))
        if abs(between[i] - at[k]) <= reach[k]:
            between[i] = at[k]
    return np.unique(between)


def _course(found: PhaseSolution, control: int) -> tuple[Reals, Reals]:
    """Times and values of a control from edge to edge of each interval."""
    grid = found.grid
    local = np.linspace(0.0, 1.0, 2 if len(grid.control_local) == 1 else FINE)
    begin, length = grid.breaks[:-1, None], np.diff(grid.breaks)[:, None]
    values = found.controls[grid.control_of, control] @ lagrange(grid.control_local, local).T
    return found.begin + found.duration * (begin + length * local).ravel(), values.ravel()


def _zeros(times: Reals, values: Reals) -> Reals:
    """Zeros by linear interpolation between points."""
    used = values != 0.0
    t, y = times[used], values[used]
    k = np.flatnonzero(np.sign(y[:-1]) * np.sign(y[1:]) < 0)
    return np.asarray(t[k] + (t[k + 1] - t[k]) * y[k] / (y[k] - y[k + 1]))


def _active(number: int, found: PhaseSolution) -> list[Active]:
    """Active bounds of states, and active path conditions with a multiplier."""
    assert found.pontryagin is not None
    phase, reported, made = found.phase, found.pontryagin, []
    rows = [_path_row(found, reported, i) for i, c in enumerate(phase.path) if not c.equation]
    rows += [
        (name, found.state(name), np.ones(len(found.states)), found.grid.points, None, low, high)
        for name, (low, high) in phase.limits.items()
        if name in phase.kept
    ]
    lengths = np.diff(found.grid.breaks)
    for name, values, path_multipliers, positions, intervals, low, high in rows:
        size = max(float(np.abs(values).max()), *(abs(s) for s in (low, high) if math.isfinite(s)))
        dear = path_multipliers > PRICED * path_multipliers.max(initial=0.0)
        for side, limit in (("lower", low), ("upper", high)):
            reached = dear & (np.abs(values - limit) < AT_BOUND * size) if math.isfinite(limit) else np.zeros_like(dear)
            if reached.any():
                when = found.begin + found.duration * positions[reached]
                share = reached.mean() if intervals is None else lengths[np.unique(intervals[reached])].sum()
                made.append(Active(number, name, side, float(share), float(when[0]), float(when[-1])))
    return made


_PathRow = tuple[str, Reals, Reals, Reals, NDArray[np.int64] | None, float, float]


def _path_row(found: PhaseSolution, reported: PontryaginConditions, i: int) -> _PathRow:
    """A path condition: name, values, magnitudes of multipliers, positions, intervals, bounds. One point of an interval with a
    constant control at the bound determines that control: the condition is active in the whole interval."""
    c, grid = found.phase.path[i], found.grid
    values, multipliers, positions = reported.path_values[:, i], reported.path_multipliers[:, i], reported.path_positions
    if len(grid.control_local) > 1:
        return c.name, values, np.abs(multipliers), positions, None, c.low, c.high
    count = len(grid.breaks) - 1
    shooting = len(positions) == count + 1
    intervals = np.minimum(np.arange(count + 1), count - 1) if shooting else np.repeat(np.arange(count), grid.node_of.shape[1])
    if i in found.phase.path_of_controls and len(reported.edge_values):
        k, edges = found.phase.path_of_controls.index(i), [part[: len(reported.edge_values)] for part in grid.edges]
        positions = np.concatenate([positions, grid.points[edges[1]]])
        order = np.argsort(positions, kind="stable")
        values = np.concatenate([values, reported.edge_values[:, k]])[order]
        multipliers = np.concatenate([multipliers, reported.edge_multipliers[:, k]])[order]
        intervals, positions = np.concatenate([intervals, edges[0]])[order], positions[order]
    return c.name, values, np.abs(multipliers), positions, intervals, c.low, c.high


def _list(times: Reals) -> str:
    if not len(times):
        return "no time"
    shown = ", ".join(f"{t:.4g}" for t in times[:8])
    return f"{shown}{', …' if len(times) > 8 else ''} s"
