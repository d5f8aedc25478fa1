"""Continuation of steady motions over a named quantity (`continuation`), and its result (`Branch`).

>>> import sympy as sp, draisine as dr
>>> x, mu = sp.symbols("x mu")
>>> saddle_node = dr.first_order("saddle_node", {x: mu - 0.5 - x**2}, parameters={mu: 1.5}, start={x: 1.0})
>>> branch = dr.stability.continuation(saddle_node, "mu", between=(-1.0, 2.0))
>>> [(point.kind, round(point.value, 9)) for point in branch.special]
[('fold', 0.5)]
>>> branch.ended
('mu reached 2', 'mu reached 2')
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.continuation import CurvePoint
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.results.base import Result, figure
from draisine.results.channel import HasState
from draisine.results.status import ProgressCallback
from draisine.stability.changing_ground import refuse_changing_ground
from draisine.stability.continuation.arclength import Bound, CurveSegment, Steps, follow
from draisine.stability.continuation.branch_stability import Complex, eigenvalues, matrices, neutral_count, unstable_count
from draisine.stability.continuation.evaluation import path_radii
from draisine.stability.continuation.problem import ANYWHERE, ContinuationProblem, Range, SteadyCurve
from draisine.stability.continuation.special_points import BRANCH_POINT, FoundPoint, find, parted
from draisine.stability.linearization import explicit_equations_of, motion_of, what_is_singular
from draisine.stability.steady_problem import SteadyMotion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A special point of a branch: its kind, and the steady motion there."""

    kind: str  # "fold", "branch point", "Hopf point" or "zero crossing"
    over: str
    value: float
    motion: SteadyMotion = field(repr=False)
    frequency: float = 0.0  # rad/s, of a Hopf point
    found: FoundPoint = field(repr=False, kw_only=True)

    @property
    def after(self) -> int:
        """Index of the preceding point of the branch."""
        return self.found.after

    def __getitem__(self, name: str) -> float:
        return self.motion[name]

    def as_start(self) -> dict[str, float]:
        """Its motion as a start."""
        return self.motion.as_start()

    def as_data(self) -> dict[str, Any]:
        own = {"frequency": self.frequency} if self.frequency else {}
        return {"kind": self.kind, self.over: self.value, **own, "values": self.motion.values}


@dataclass(frozen=True, eq=False)
class Branch(Result):
    """Steady motions along a curve, in order.

    `branch["lean"]` is a column: any state, velocity, input, output, contact force or multiplier, energy, varying parameter, or
    radius of a wheel's path. `unstable` counts the unstable modes, `neutral` the eigenvalues that are zero along the whole branch
    because steady motions at constant inputs and parameters form a family. `ended` gives the reasons why the branch ends, at its
    first and at its last point.
    """

    model: str
    over: str
    columns: dict[str, Array] = field(repr=False)
    eigenvalues: Complex = field(repr=False)  # (points, modes), by real part
    unstable: NDArray[np.int64] = field(repr=False)
    neutral: int
    special: tuple[SpecialPoint, ...]
    ended: tuple[str, str]
    closed: bool
    units: dict[str, str] = field(repr=False)
    motions: tuple[SteadyMotion, ...] = field(repr=False, default=())
    _other: Callable[[SpecialPoint], Branch] | None = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.unstable)

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise UnknownNameError(f"{self.model} has no {name!r} along this branch{did_you_mean(name, list(self.columns))}")
        return self.columns[name]

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether no mode grows, at each point."""
        return self.unstable == 0

    def points(self, kind: str) -> list[SpecialPoint]:
        """Special points of one kind."""
        return [point for point in self.special if point.kind == kind]

    def switch(self, point: SpecialPoint | None = None) -> Branch:
        """The branch that crosses this one at a branch point (the first, by default)."""
        choice = point if point is not None else next(iter(self.points(BRANCH_POINT)), None)
        if choice is None or choice.kind != BRANCH_POINT or self._other is None:
            have = ", ".join(f"{p.kind} at {p.over} = {p.value:.6g}" for p in self.special) or "no special point"
            raise ArgumentError(f"{self.model}: branches cross only at branch points; this branch has {have}")
        return self._other(choice)

    def _table(self) -> Mapping[str, Any]:
        """A row for each point, with the number of unstable modes."""
        return {**self.columns, "unstable": self.unstable}

    def _overview(self) -> Mapping[str, Any]:
        return {"special point": [s.kind for s in self.special], self.over: [s.value for s in self.special]}

    def plot(self, *names: str, **options: Any) -> Any:
        """Named quantities along the branch as a Matplotlib figure; see `draisine.view.plots.branches.branch_figure`."""
        return figure("plots.branches.branch_figure", {self.model: self}, *names, **options)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        head = {"model": self.model, "over": self.over, "ended": self.ended, "closed": self.closed, "neutral": self.neutral}
        spectra = [[[float(z.real), float(z.imag)] for z in row] for row in self.eigenvalues]
        columns = {name: [v if np.isfinite(v) else None for v in column.tolist()] for name, column in self.columns.items()}
        special = [point.as_data() for point in self.special]
        return {**head, "columns": columns, "unstable": self.unstable.tolist(), "eigenvalues": spectra, "special": special}

    def __str__(self) -> str:
        values = np.where(np.abs(self[self.over]) < 1e-12, 0.0, self[self.over])
        lines = [
            f"{self.model}: {len(self)} steady motions, {self.over} from {values.min():.6g} to {values.max():.6g}"
            f"{', a closed curve' if self.closed else ''}"
        ]
        lines += [f"  {side}: {why}" for side, why in zip(("begins", "ends"), self.ended, strict=True) if not self.closed]
        for point in self.special:
            swing = f", {point.frequency:.9g} rad/s" if point.frequency else ""
            lines.append(f"  {point.kind} at {self.over} = {point.value:.12g}{swing}")
        runs = _runs(self.stable)
        stretches = np.flatnonzero(np.diff(self.stable.astype(int)))
        word = "stretch" if runs == 1 else "stretches"
        lines.append(f"  no mode grows at {int(self.stable.sum())} of {len(self)} points, in {runs} {word}")
        return "\n".join(lines) if len(stretches) or not self.stable.all() else "\n".join([*lines[:-1], "  no mode grows"])


def _runs(flags: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(np.diff(np.concatenate([[0], flags.astype(int)])) == 1))


@checked
def continuation(
    model: Model | System | Equations,
    over: str,
    *,
    fixed: Mapping[str, float] | None = None,
    free: Sequence[str] = (),
    start: Mapping[str, float] | HasState | None = None,
    between: Range | None = None,
    bounds: Mapping[str, Range] | None = None,
    parameters: Mapping[str, float] | None = None,
    steps: Steps | None = None,
    progress: ProgressCallback | None = None,
) -> Branch:
    """Steady motions as a branch over a parameter, an input, a state or an output of motion, followed in both directions.

    - `fixed`: quantities with fixed values, as in `steady`; `free`: inputs or parameters that are solved for. All others keep
      their values. Where `over` is a state or an output, the motions at constant inputs and parameters must form a family.
    - `start`: targets for the first motion, or a result, as in `simulate`; `between`: the range of `over`; `bounds`: ranges of
      any other named quantity, `{"lean": (-1.2, 1.2), "rear_wheel_normal_force": (0, np.inf)}`.
    - `steps`: step lengths; `progress`: called with the number of points so far.

    Folds, branch points, Hopf points and zero crossings are solved exactly; `Branch.switch` follows the crossing branch.
    """
    if not isinstance(over, str):
        raise ArgumentError(f"continuation: over must be the name of a parameter, input, state or output, got {over!r}")
    if between is not None and np.shape(np.array(between, dtype=object)) != (2,):
        raise ArgumentError(f"continuation: between must be two numbers, the lowest and the highest {over}, got {between!r}")
    for end in between or ():
        if isinstance(end, bool) or not isinstance(end, int | float | np.number):
            raise ArgumentError(f"continuation: between must be two numbers, the lowest and the highest {over}, got {between!r}")
    refuse_changing_ground(model, fixed or {}, start, over=(over,))
    problem = ContinuationProblem(
        explicit_equations_of(model), over, dict(fixed or {}), tuple(free), between or ANYWHERE, dict(parameters or {})
    )
    begin = problem.begin(motion_of(start))
    return _BranchFollower(problem, begin, dict(bounds or {}), steps or Steps(), progress).branch()


class _BranchFollower:
    """Follows one continuation problem from one motion."""

    def __init__(
        self,
        problem: ContinuationProblem,
        begin: SteadyMotion,
        bounds: Mapping[str, Range],
        steps: Steps,
        progress: ProgressCallback | None,
    ) -> None:
        self.problem, self.steps, self.progress, self._limits = problem, steps, progress, dict(bounds)
        self._begin = begin

    @cached_property
    def curve_of_motions(self) -> SteadyCurve:
        return SteadyCurve(self.problem, self._begin)

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        return tuple(
            Bound(name, *limits, self.curve_of_motions.reader(name))
            for name, limits in {self.problem.over: self.problem.between, **self._limits}.items()
            if np.isfinite(limits).any()
        )

    def __reduce__(self) -> tuple[Any, ...]:  # pickled with its branch; compiled programs are built again
        return _BranchFollower, (self.problem, self._begin, self._limits, self.steps, None)

    def branch(self) -> Branch:
        curve = self.curve_of_motions.curve
        y = self.curve_of_motions.y
        gradient = curve.jacobians(y)[2]
        first = curve.correct(y, _forward(curve.jacobians(y)[1], gradient))
        if first is None:
            raise SolverError(f"{self.problem.equations.name}: the first steady motion is singular; start near it")
        for bound in self.bounds:
            if bound.passed(first.y) is not None:
                raise ArgumentError(
                    f"{self.problem.equations.name}: the branch starts outside its bounds, at {bound.name} = "
                    f"{bound.value(first.y):g}; {bound.name} must be between {bound.low:g} and {bound.high:g}"
                )
        return self._both_ways(first)

    def across(self, special: SpecialPoint) -> Branch:
        """The branch that crosses at a branch point."""
        found = special.found
        assert found.other is not None
        there = found.point.heading(found.other)
        return self._both_ways(there, replace(found, point=there, other=found.point.tangent))

    @property
    def _span(self) -> float:
        low, high = self.problem.between
        return high - low

    def _both_ways(self, first: CurvePoint, crossing: FoundPoint | None = None) -> Branch:
        curve = self.curve_of_motions.curve
        ahead = follow(curve, first, self.steps, self.bounds, self._span, self.progress)
        if ahead.closed:
            return self._branch(ahead.points, ahead.closed, ("", ""), crossing, 0)
        back = follow(curve, first.heading(-first.tangent), self.steps, self.bounds, self._span, self.progress)
        turned = [p.heading(-p.tangent) for p in reversed(back.points[1:])]
        ended = (self._reason(back), self._reason(ahead))
        return self._branch((*turned, *ahead.points), False, ended, crossing, len(turned))

    def _reason(self, walk: CurveSegment) -> str:
        """Why the branch ends, with the cause of a singularity if there is one."""
        if walk.bounded:
            return walk.ended
        singular = what_is_singular(self.curve_of_motions.motion(walk.points[-1].y))
        return "; ".join(text for text in (walk.ended, singular) if text)

    # ------------------------------------------------------------ results

    def _branch(
        self, points: tuple[CurvePoint, ...], closed: bool, ended: tuple[str, str], crossing: FoundPoint | None, at: int
    ) -> Branch:
        q, curve_of_motions = self.problem, self.curve_of_motions
        e = q.equations
        every = self._matrices(points)
        neutral = neutral_count([eigenvalues(a) for a in every])
        skip = at if crossing is not None else None
        found = find(curve_of_motions.curve, points, every, neutral, lambda point: self._matrices([point])[0], skip)
        if crossing is not None:
            found = sorted([*found, replace(crossing, after=at)], key=lambda f: f.after)
        if q.over in [p.name for p in e.parameters] and len(points) > 1 and _all_equal(every, [p.y for p in points]):
            warnings.warn(f"{e.name}: {q.over} has no effect on these motions and their stability", stacklevel=4)
        parts, found = parted(curve_of_motions.curve, points, found)
        spectra = [eigenvalues(a) for a in (every if len(parts) == len(points) else self._matrices(parts))]
        motions = [curve_of_motions.motion(point.y) for point in parts]
        columns = {name: np.array([m.values[name] for m in motions]) for name in motions[0].values}
        columns[q.over] = np.clip(columns[q.over], *q.between)  # its ends by rounding
        columns |= path_radii(
            e, np.array([m.x for m in motions]), np.array([m.u for m in motions]), np.array([m.p for m in motions])
        )
        return Branch(
            e.name,
            q.over,
            columns,
            _table(spectra),
            np.array([unstable_count(s, neutral) for s in spectra], dtype=np.int64),
            neutral,
            tuple(self._special(f) for f in found),
            ended,
            closed,
            {
                quantity.name: quantity.unit
                for quantity in (*e.states, *e.velocities, *e.inputs, *e.outputs, *e.parameters, *e.multipliers)
            }
            | {name: "m" for name in columns if name.endswith("_path_radius")},
            tuple(motions),
            self.across,
        )

    def _matrices(self, points: Sequence[CurvePoint]) -> list[Array]:
        """The linear models at points, without ignorable coordinates."""
        states = [self.curve_of_motions.state(point.y) for point in points]
        return matrices(self.problem.equations, self.curve_of_motions.ignorable, states)

    def _special(self, found: FoundPoint) -> SpecialPoint:
        motion = self.curve_of_motions.motion(found.point.y)
        return SpecialPoint(
            found.kind, self.problem.over, self.curve_of_motions.varied_value(found.point.y), motion, found.frequency, found=found
        )


def _all_equal(matrices: Sequence[Array], unknowns: Sequence[Array]) -> bool:
    """Whether all linear models are the same, and only one unknown changes."""
    changing = np.ptp(np.array(unknowns), axis=0)
    return int((changing != 0.0).sum()) <= 1 and all(np.array_equal(a, matrices[0]) for a in matrices)


def _table(spectra: Sequence[Complex]) -> Complex:
    """Spectra as rows, NaN where one is shorter than others."""
    table = np.full((len(spectra), max(len(s) for s in spectra)), np.nan + 0j)
    for row, spectrum in zip(table, spectra, strict=True):
        row[: len(spectrum)] = spectrum
    return table


def _forward(jacobian: Array, gradient: Array) -> Array:
    """The direction of the null space of F_y in which the continuation quantity grows fastest."""
    rows = np.linalg.svd(jacobian)[2]
    null = rows[len(rows) - 1 :]
    direction = null.T @ (null @ gradient)
    size = float(np.linalg.norm(direction))
    return direction / size if size > 1e-12 else rows[-1]
