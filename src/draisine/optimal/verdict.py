"""The verdict on a solution: by how much the simulated motion misses conditions and bounds, in their own units.

The control is simulated by itself (`verification`). Conditions at the end, periodicity, bounds and path conditions are evaluated
along that motion, between the nodes too, and where a peak between two samples may exceed a bound, at that peak. A miss is
compared with the scale of its quantity: its largest magnitude along the motion, or that of its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.numerics.runge_kutta import lagrange
from draisine.optimal.mode_verification import SHORT
from draisine.optimal.phase import Phase, algebraic_guess
from draisine.optimal.scaling import LEAST_SIZE
from draisine.optimal.symbolic_model import Condition
from draisine.optimal.verification import Samples, Simulated
from draisine.results.status import Ending

if TYPE_CHECKING:
    from draisine.optimal.solution import PhaseSolution

Reals = NDArray[np.float64]

TOLERANCE = 1e-6  # of the scale of each quantity
LISTED = 3
OTHER_MODES = "the modes of phase"  # begins the name of a miss
STENCIL = 8  # samples through which states and inputs are interpolated at a peak: exact for polynomial controls


@dataclass(frozen=True)
class Miss:
    """A condition that the simulated motion misses: by how much, in the unit of its quantity, and when."""

    name: str
    amount: float
    unit: str
    scale: float
    time: float
    phase: int = 0

    @property
    def relative(self) -> float:
        return self.amount / self.scale if np.isfinite(self.amount) else np.inf

    def __str__(self) -> str:
        if not np.isfinite(self.amount):
            return f"{self.name} is not reached: the simulation ends at t = {self.time:.4g} s"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name} by {self.amount:.2g}{unit} at t = {self.time:.4g} s"


@dataclass(frozen=True, eq=False)
class Verdict:
    """All conditions with their misses, the worst first, and the intervals in which a path condition is violated."""

    misses: tuple[Miss, ...]
    tolerance: float
    violated: tuple[NDArray[np.bool_], ...]  # for each phase, by interval
    overshot: tuple[NDArray[np.bool_], ...]  # the same, by a control

    @property
    def holds(self) -> bool:
        return not self.missed

    @property
    def missed(self) -> tuple[Miss, ...]:
        return tuple(m for m in self.misses if not m.relative <= self.tolerance)

    @property
    def worst(self) -> float:
        """The largest miss, relative to the scale of its quantity."""
        return self.misses[0].relative if self.misses else 0.0

    def __str__(self) -> str:
        missed = self.missed
        if not missed:
            return f"the simulated motion meets its conditions within {self.tolerance:.0e} of their scales"
        more = f", and {len(missed) - LISTED} more" if len(missed) > LISTED else ""
        return f"the simulated motion misses {', '.join(str(m) for m in missed[:LISTED])}{more}"


def verdict(
    phases: Sequence[PhaseSolution], simulated: Sequence[Simulated], parameters: Sequence[Reals], tolerance: float = TOLERANCE
) -> Verdict:
    """The verdict on phases simulated with their parameters."""
    found: list[Miss] = []
    violated, overshot = [], []
    for k, (solution, run, p) in enumerate(zip(phases, simulated, parameters, strict=True)):
        checked = _Checked(k, solution, run, p)
        if run.status.kind is not Ending.FINISHED:
            found.append(Miss(f"the end of phase {k + 1}", np.inf, "s", 1.0, float(run.samples.times[-1]), k))
        else:
            found += checked.at_end()
            found += checked.gaps(k + 1 < len(phases))
        found += checked.across(k > 0, k + 1 < len(phases), tolerance)
        along, anywhere, of_controls = checked.along(tolerance)
        found += along
        violated.append(anywhere)
        overshot.append(of_controls)
    return Verdict(tuple(sorted(found, key=lambda m: -m.relative)), tolerance, tuple(violated), tuple(overshot))


class _Checked:
    """One phase and its simulation."""

    def __init__(self, number: int, solution: PhaseSolution, run: Simulated, p: Reals) -> None:
        self._number, self._solution, self._run, self._p = number, solution, run, p
        self._phase: Phase = solution.phase
        e = self._phase.equations
        named = (*e.outputs, *e.multipliers, *e.inputs, *e.velocities, *e.coordinates, *e.states)
        self._units = {q.name: q.unit for q in named}

    def _unit(self, name: str) -> str:
        if name.endswith(" rate") and name.removesuffix(" rate") in self._units:
            return f"{self._units[name.removesuffix(' rate')]}/s"
        return self._units.get(name, "")

    def _values(self, expressions: Sequence[ca.SX], run: Samples) -> Reals:
        """(samples, expressions) along the simulated motion."""
        v = self._phase.symbols
        if not expressions:
            return np.zeros((len(run.times), 0))
        value = stacked(list(expressions))
        if v.z.numel() and ca.depends_on(value, v.z):
            times, first, back = np.unique(run.times, return_index=True, return_inverse=True)
            z = algebraic_guess(v, times, run.states[first], run.inputs[first], self._p)[back]
            if not self._phase.implicit:  # forces jump with the controls
                z = algebraic_guess(v, run.times, run.states, run.inputs, self._p)
        else:
            z = np.zeros((len(run.times), v.z.numel()))
        plant = v.plant
        function = ca.Function("check", [plant.t, v.y, v.z, plant.inputs, plant.p], [ca.densify(value)])
        y, p = run.states[:, v.state_indices], np.tile(self._p[:, None], (1, len(z)))
        return np.asarray(function.map(len(z))(run.times[None], y.T, z.T, run.inputs.T, p).full()).T

    def at_end(self) -> list[Miss]:
        """Conditions at the end, and periodicity."""
        phase, run, t = self._phase, self._run.samples, float(self._run.samples.times[-1])
        found = [
            Miss(f"finish: {c.name}", _beyond(values[-1:], c)[0], self._unit(c.name), scale, t, self._number)
            for c, values, scale in self._conditions(phase.ends, run, phase.sizes.ends)
        ]
        values_of = self._values([v for _, v in phase.returns], run).T
        for (name, _), values, size in zip(phase.returns, values_of, phase.sizes.returns, strict=True):
            gap = abs(float(values[-1] - values[0]))
            found.append(Miss(f"periodic: {name}", gap, self._unit(name), _scale(values, size), t, self._number))
        return found

    def along(self, tolerance: float) -> tuple[list[Miss], NDArray[np.bool_], NDArray[np.bool_]]:
        """Bounds of states and controls, and path conditions; the intervals where one is violated, and those of a control."""
        run = self._run.samples
        violated, overshot = np.zeros((2, len(self._solution.grid.breaks) - 1), dtype=bool)
        found = []
        path = self._path(run)
        peaks = self._peaks(path, tolerance)
        at_peaks = self._path(peaks) if len(peaks.times) else [(c, scale, np.zeros((2, 0))) for c, scale, _ in path]
        times, intervals = np.concatenate([run.times, peaks.times]), np.concatenate([run.intervals, peaks.intervals])
        for (c, scale, beyond), (_, _, more) in zip(path, at_peaks, strict=True):
            over = np.maximum(np.hstack([beyond, more]).max(axis=0), 0.0)
            over = np.where(np.isfinite(over), over, np.inf)
            name = f"bounds of {c.name}" if c.right is None else f"condition {c.name}"
            worst, unit = int(np.argmax(over)), self._unit(c.name)
            found.append(Miss(name, float(over[worst]), unit, scale, float(times[worst]), self._number))
            outside = intervals[over > tolerance * scale]
            violated[outside] = True
            if c.name in self._phase.controls:
                overshot[outside] = True
        return found, violated, overshot

    def _path(self, run: Samples) -> list[tuple[Condition, float, Reals]]:
        """Conditions along the path, with scales and (2, samples) amounts beyond the lower and the upper bound."""
        phase = self._phase
        made = [(c, scale, _outside(values, c)) for c, values, scale in self._conditions(phase.path, run, phase.sizes.path)]
        names, inputs = [q.name for q in phase.equations.states], [q.name for q in phase.equations.inputs]
        sizes = dict(zip((*phase.kept, *phase.controls), (*phase.sizes.states, *phase.sizes.controls), strict=True))
        for name, (low, high) in phase.limits.items():
            values = run.states[:, names.index(name)] if name in names else run.inputs[:, inputs.index(name)]
            bounds = [abs(b) for b in (low, high) if np.isfinite(b)]
            condition = Condition(name, ca.SX(0), low, high)
            made.append((condition, max(_scale(values, sizes[name]), *bounds, 0.0), _outside(values, condition)))
        return made

    def _peaks(self, path: Sequence[tuple[Condition, float, Reals]], tolerance: float) -> Samples:
        """Samples at peaks beyond a bound: where the parabola through three samples of an interval has its vertex out there."""
        run = self._run.samples
        middle = np.flatnonzero(run.intervals[:-2] == run.intervals[2:]) + 1
        chosen = []
        for _, scale, beyond in path:
            for side in beyond:
                before, here, after = (side[middle + k] for k in (-1, 0, 1))
                with np.errstate(all="ignore"):
                    bend, slope = (before + after) / 2 - here, (after - before) / 2
                    shift, height = -slope / (2 * bend), here - slope**2 / (4 * bend)
                    highest = np.maximum(np.maximum(before, after), here)
                    hidden = (bend < 0) & (np.abs(shift) < 1) & (height > np.maximum(highest, 0.3 * tolerance * scale))
                chosen += [(int(k), float(s)) for k, s in zip(middle[hidden], shift[hidden], strict=True)]
        if not chosen or self._phase.implicit:
            return Samples(np.zeros(0), run.states[:0], run.inputs[:0], run.intervals[:0])
        rows = [_interpolated(run, k, s) for k, s in sorted(set(chosen))]
        return Samples(*(np.array(column) for column in zip(*rows, strict=True)))

    def _conditions(self, given: Sequence[Condition], run: Samples, sizes: Reals) -> list[tuple[Condition, Reals, float]]:
        """Each condition with its values along the motion and its scale."""
        values = self._values([c.value for c in given], run).T
        rights = self._values([ca.SX(0) if c.right is None else c.right for c in given], run).T
        made = []
        for c, value, right, size in zip(given, values, rights, sizes, strict=True):
            bounds = [abs(b) for b in (c.low, c.high) if np.isfinite(b)]
            made.append((c, value, max(_scale(value + right, size), _scale(right, size), *bounds, 0.0)))
        return made

    def gaps(self, ends_too: bool) -> list[Miss]:
        """Gaps between the simulation and the nodes where a window begins, and at the end if another phase follows."""
        solution, run, phase = self._solution, self._run, self._phase
        starts = [*run.windows[1:], *([len(run.breaks) - 1] if ends_too else [])]
        if not starts or not phase.kept:
            return []
        nodes = solution.states[np.searchsorted(solution.grid.points, solution.grid.breaks[starts])]
        indices = [phase.symbols.state_indices[i] for i in phase.kept_indices]
        gap = np.abs(run.breaks[starts][:, indices] - nodes)
        size = np.maximum(np.abs(solution.states).max(axis=0), LEAST_SIZE * phase.sizes.states)
        found = []
        for i, name in enumerate(phase.kept):
            k = int(np.argmax(gap[:, i]))
            t = solution.begin + solution.duration * float(solution.grid.breaks[starts[k]])
            found.append(Miss(f"{name} of the nodes", float(gap[k, i]), self._unit(name), float(size[i]), t, self._number))
        return found

    def across(self, continues: bool, goes_on: bool, tolerance: float) -> list[Miss]:
        """Modes of contacts in the run that changes them by itself, and its states at mesh points away from their changes, which
        are at the begin of a phase that `continues` another and at the end of one that `goes_on` into another."""
        run, phase, solution, number = self._run.across, self._phase, self._solution, self._number
        if run is None:
            return []
        if run.status.kind is not Ending.FINISHED:
            return [Miss(f"the end of phase {number + 1} across modes", np.inf, "s", 1.0, run.end, number)]
        times = solution.begin + solution.duration * solution.grid.breaks
        wrong = [(low, high, d) for low, high, c in run.between(times[0], times[-1]) if (d := run.stated.differing(c.modes))]
        found = []
        if wrong:
            low, _, ((name, mode, stated), *_) = max(wrong, key=lambda w: w[1] - w[0])
            text = f"{OTHER_MODES} {number + 1} ({name}: {mode}, not {stated})"
            lasting = sum(high - low for low, high, _ in wrong)
            found.append(Miss(text, lasting, "s", SHORT * solution.duration / tolerance, low, number))
        chosen = slice(1 if continues else 0, -1 if goes_on else None)
        indices = [phase.symbols.state_indices[i] for i in phase.kept_indices]
        gap = np.abs(run.breaks - self._run.breaks)[chosen][:, indices]
        size = np.maximum(np.abs(solution.states).max(axis=0), LEAST_SIZE * phase.sizes.states)
        for i, name in enumerate(phase.kept if len(gap) else ()):
            k = int(np.argmax(gap[:, i]))
            found.append(
                Miss(f"{name} across modes", float(gap[k, i]), self._unit(name), float(size[i]), times[chosen][k], number)
            )
        return found


def _scale(values: Reals, size: float) -> float:
    """The largest magnitude, or that of a quantity of this size that stays at zero."""
    finite = np.abs(values[np.isfinite(values)])
    return max(float(finite.max(initial=0.0)), LEAST_SIZE * size)


def _outside(values: Reals, c: Condition) -> Reals:
    """(2, values) below the lower bound and above the upper one, negative inside."""
    return np.stack([c.low - values, values - c.high])


def _beyond(values: Reals, c: Condition) -> Reals:
    """By how much values are outside the bounds of a condition; infinite where they are not numbers."""
    over = np.maximum(_outside(values, c).max(axis=0), 0.0)
    return np.where(np.isfinite(over), over, np.inf)


def _interpolated(run: Samples, k: int, shift: float) -> tuple[float, Reals, Reals, int]:
    """Time, states, inputs and interval at `shift` sample distances from sample k, by samples of its interval."""
    first, last = (int(np.searchsorted(run.intervals, run.intervals[k], side=side)) for side in ("left", "right"))
    begin = max(first, min(k - STENCIL // 2 + 1, last - STENCIL))
    part = slice(begin, min(begin + STENCIL, last))
    weights = lagrange(np.arange(part.stop - part.start, dtype=float), np.array([k - begin + shift]))[0]
    return float(weights @ run.times[part]), weights @ run.states[part], weights @ run.inputs[part], int(run.intervals[k])
