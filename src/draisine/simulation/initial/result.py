"""Results of a start: the start itself, its report, the kinds of conflict, and notes where a run differs from the result that
it starts from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from draisine.program.equations import Equations
from draisine.program.interpreter import dependence
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.results.base import Result
from draisine.results.channel import StateValue
from draisine.simulation.compiled_equations import best_choice_for
from draisine.simulation.initial.evaluation import Reals
from draisine.simulation.initial.given_digits import half_digit
from draisine.simulation.initial.problem import Given
from draisine.simulation.initial.solver import Way

SINGULAR = 1e-13  # singular values of linear systems below this fraction of the largest count as zero
LARGE = 300  # systems with more unknowns are not searched for redundant rows


class Target(NamedTuple):
    """A target, and its value at the start."""

    name: str
    wanted: float
    got: float
    how: str  # "coordinate", "velocity", "output" or "state"


class Moved(NamedTuple):
    """A free coordinate or velocity that differs from its default."""

    name: str
    default: float
    value: float
    unit: str = ""

    @property
    def change(self) -> float:
        return self.value - self.default


class ConstraintResidual(NamedTuple):
    """The residual of a constraint, absolute and relative."""

    name: str
    level: str  # "position" or "velocity"
    value: float
    relative_residual: float


class StartReport(NamedTuple):
    """Targets, unknowns moved from their defaults, and residuals of the constraints."""

    targets: tuple[Target, ...]
    moved: tuple[Moved, ...]
    residuals: tuple[ConstraintResidual, ...]
    ways: tuple[tuple[str, Way], ...] = ()  # level, how it was solved
    freedom: tuple[tuple[str, int], ...] = ()  # level, remaining degrees of freedom with all targets kept
    redundant: tuple[tuple[str, int], ...] = ()  # level, number of redundant rows
    rest: tuple[str, ...] = ()  # what is not given and rests, in words
    excess: str = ""  # a velocity many orders above what is given, in words
    moving: tuple[str, ...] = ()  # joints that rest in another position than the one that was not given, in words

    @property
    def largest_residual(self) -> float:
        return max((abs(r.value) for r in self.residuals), default=0.0)

    @property
    def largest_relative_residual(self) -> float:
        return max((r.relative_residual for r in self.residuals), default=0.0)

    def __str__(self) -> str:
        lines = ["consistent start"]
        lines += [f"  target  {w.name} = {w.wanted:g} ({w.how}), got {w.got:.12g}" for w in self.targets]
        lines += [f"  solved  {m.name} = {m.value:.6g} (default {m.default:g}, moved by {m.change:+.3g})" for m in self.moved]
        lines += [f"  {sentence}" for sentence in (*self.rest, self.excess) if sentence]
        lines += [f"  {level} by {way}" for level, way in self.ways if way != Way.NEWTON]
        lines += [f"  {count} redundant among the {level} rows" for level, count in self.redundant if count]
        if self.residuals:
            worst = max(self.residuals, key=lambda r: abs(r.value))
            lines.append(f"  largest residual {abs(worst.value):.1e} ({worst.name})")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Start(Result):
    """A consistent start: coordinates, all velocities, and the state `x` of the equations; everything else by name.

    Other quantities are computed at first use; accelerations and multipliers from the report of the best-conditioned choice of
    independent velocities.
    """

    q: Reals
    v: Reals
    x: Reals
    equations: Equations = field(repr=False)
    given: Given = field(repr=False)  # time, inputs, parameters
    describe: Callable[[], StartReport] = field(repr=False)

    @cached_property
    def report(self) -> StartReport:
        """Targets, moved unknowns, and residuals of the constraints."""
        return self.describe()

    def summary(self) -> str:
        """Targets, moved unknowns, and the largest residual."""
        return str(self.report)

    def as_start(self) -> dict[str, float]:
        """Coordinates, all velocities and further states, as a start."""
        e = self.equations
        extra = zip((s.name for s in e.extra_states), self.x[len(self.x) - len(e.extra_states) :].tolist(), strict=True)
        return {n: StateValue(value) for n, value in {**self.coordinates, **self.velocities, **dict(extra)}.items()}

    def _table(self) -> Mapping[str, Any]:
        e = self.equations
        shown = [*zip(e.coordinates, self.q, strict=True), *zip(e.velocities, self.v, strict=True)]
        return {"name": [s.name for s, _ in shown], "unit": [s.unit for s, _ in shown], "value": [float(x) for _, x in shown]}

    def __reduce__(self) -> tuple[Any, ...]:  # the description would take the solver and its compiled programs along
        return Start, (self.q, self.v, self.x, self.equations, self.given, partial(_as_it_is, self.report))

    @cached_property
    def coordinates(self) -> dict[str, float]:
        return {c.name: float(value) for c, value in zip(self.equations.coordinates, self.q, strict=True)}

    @cached_property
    def velocities(self) -> dict[str, float]:
        return {c.name: float(value) for c, value in zip(self.equations.velocities, self.v, strict=True)}

    @cached_property
    def _reported(self) -> dict[str, dict[str, float]]:
        e, (t, u, p) = self.equations, self.given
        fitting, x = best_choice_for(e, self.q, self.v, self.x[len(self.x) - len(e.extra_states) :], self.given)
        report = fitting.report
        results = _evaluated(report, [t], x, u, p)
        return {
            slot.name: dict(zip(slot.labels, np.ravel(values).tolist(), strict=True))
            for slot, values in zip(report.outputs, results, strict=True)
            if len(slot.labels) == slot.size
        }

    @cached_property
    def accelerations(self) -> dict[str, float]:
        """Accelerations by the names of the velocities."""
        rates = self._reported.get("vdot", {})
        return {v.name: rate for v, rate in zip(self.equations.velocities, rates.values(), strict=True)} if rates else {}

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """Multipliers; for redundant constraints those of least norm."""
        return self._reported.get("multipliers", {})

    @cached_property
    def outputs(self) -> dict[str, float]:
        """All outputs, including forces and accelerations."""
        return self._reported.get("outputs", {})

    @cached_property
    def rates(self) -> dict[str, float]:
        """ẋ by the names of the states; for 0 = F(t, x, ẋ) the solution of least norm."""
        e, (t, u, p) = self.equations, self.given
        names = [s.name for s in e.states]
        if isinstance(e.dynamics, DaeResidual):
            found = _implicit_rates(e.dynamics, t, self.x, u, p)
        else:
            found = _evaluated(e.dynamics, [t], self.x, u, p)[0]
        return dict(zip(names, np.ravel(found).tolist(), strict=True))


def _as_it_is(report: StartReport) -> StartReport:
    return report


def _evaluated(program: Program | LinearSolveProgram, *arguments: ArrayLike) -> tuple[Reals, ...]:
    """Results of a program; its linear system is solved by least squares, because redundant constraints make it singular."""
    if not isinstance(program, LinearSolveProgram) or program.size > LARGE or program.iterates:
        return program(*arguments)
    entries, side = program.system(*arguments)
    matrix = np.zeros((program.size, program.size))
    matrix[program.entry_pattern.rows, program.entry_pattern.columns] = entries.ravel(order="F")
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    rows = np.where(largest > 0.0, largest, 1.0)
    return program.after(*arguments, np.linalg.lstsq(matrix / rows[:, None], side / rows, rcond=SINGULAR)[0])


def _implicit_rates(dynamics: DaeResidual, t: float, x: Reals, u: Reals, p: Reals) -> Reals:
    """ẋ by least-norm Newton steps from zero; usually F is linear in ẋ and one step suffices.

    Written out: every run loads this module, few have a residual, and `numerics.newton` takes longer to load than a run takes.
    """
    rows, columns = dynamics.pattern
    rate = np.zeros(dynamics.size)
    residual = dynamics([t], x, rate, u, p)
    for _ in range(30):
        if not np.any(residual):
            break
        jacobian = np.zeros((dynamics.size, dynamics.size))
        jacobian[rows, columns] = dynamics.jacobian([t], x, rate, u, p)[1]
        new_rate = rate - np.linalg.lstsq(jacobian, residual, rcond=SINGULAR)[0]
        new_residual = dynamics([t], x, new_rate, u, p)
        if not np.linalg.norm(new_residual) < 0.9 * np.linalg.norm(residual):
            break
        rate, residual = new_rate, new_residual
    return rate


class Conflict(StrEnum):
    """Kinds of infeasible starts."""

    TARGET_IMPOSSIBLE = "target infeasible"  # one target alone has no solution
    TARGETS_CONTRADICT = "targets contradict each other"
    TOO_MANY_TARGETS = "too many targets"  # a target is determined already by the others
    MODEL_CANNOT_STAND = "model cannot be assembled"  # its constraints have no solution without any target


SAME = 1e-9  # differences of inputs and parameters that are errors of a solution
MOST_UNITS = 10.0  # changes of a rounded value, in half units of its last digit
NAMED = 3  # quantities that a note names


def start_notes(
    given: Any, named: Mapping[str, Any], begin: Start, u: np.ndarray, p: np.ndarray, laws: Collection[str]
) -> tuple[str, ...]:
    """What distinguishes a run from the result that it starts from; `named` are the values of the start as it was `given`."""
    e, found, since = begin.equations, _completed(named, begin), named.get("time", 0.0)
    found += [begin.report.excess] if begin.report.excess else []
    found += begin.report.moving
    if not any(isinstance(value, StateValue) for value in named.values()):
        return tuple(found)
    if since != 0.0 and isinstance(since, StateValue) and depends_on_time(e):
        found.append(
            f"the equations depend on time, and the run starts at t = 0, not at {since:g} s, where its start was computed; "
            f"write t + {since:g} for t in its laws"
        )
    if not isinstance(given, Mapping):
        pairs = [*zip(e.inputs, u.tolist(), strict=True), *zip(e.arguments, p.tolist(), strict=True)]
        known = [(q.name, named[q.name], value) for q, value in pairs if q.name in named and q.name not in laws]
        other = [(name, was, value) for name, was, value in known if abs(was - value) > SAME * max(1.0, abs(was))]
        if other:
            listed = ", ".join(f"{name} = {was:.6g} (now {value:.6g})" for name, was, value in other[:NAMED])
            found.append(f"the start was computed with {listed}; give the run the same inputs and parameters")
    if all(isinstance(value, StateValue) for value in named.values()) and begin.report.moved:
        moved = ", ".join(f"{m.name} by {m.change:.3g}" for m in begin.report.moved[:NAMED])
        found.append(f"the state given as start violates the constraints; the run starts from the nearest one, {moved}")
    return tuple(found)


def _completed(named: Mapping[str, Any], begin: Start) -> list[str]:
    """A note on given values of 0 = F that were completed beyond their digits to satisfy the constraints."""
    form = begin.equations.dynamics
    if not isinstance(form, DaeResidual) or form.orders:
        return []
    given = {w.name: w.wanted for w in begin.report.targets} or {m.name: m.default for m in begin.report.moved}
    changed = [m for m in begin.report.moved if m.name in given and 0.0 < abs(m.change) <= MOST_UNITS * half_digit(m.default)]
    if not changed:
        return []
    listed = ", ".join(f"{m.name} = {m.value:.12g} for {m.default:.12g}" for m in changed[:NAMED])
    return [f"the constraints need more digits than the start has: the run starts with {listed}"]


def depends_on_time(e: Equations) -> bool:
    """Whether the dynamics contain the time."""
    form = e.dynamics
    if isinstance(form, Program):
        programs = [form]
    else:
        programs = [form.residual] if isinstance(form, DaeResidual) else [form.system, form.after]
    return any(len(dependence(program, [slot.name for slot in program.outputs], "t")[0]) > 0 for program in programs)
