"""Mesh refinement: shorter intervals where the error is large or a bound is violated, mesh points at the jumps of controls.

A polynomial cannot follow a control that jumps inside an interval. Such an interval gets a constant control, whose motion is
exact and within its bounds; from its value between those of the neighbors follows the position of the jump, and the interval is
shortened about it. The cost of a constant control in a share w of the duration is of the order w² times its
change: its error here.

Where all controls are asked to be constant, the motion within an interval is smooth: the degree is raised first, which keeps the
pieces, and intervals are split only if the highest degree does not suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import Collocation, Grid, MultipleShooting
from draisine.numerics.number_range import with_number_range
from draisine.numerics.runge_kutta import lagrange, quadrature

if TYPE_CHECKING:
    from draisine.optimal.phase import Phase
    from draisine.optimal.solution import PhaseSolution

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

JUMP = 0.25  # of the range between a control's bounds: change within an interval that may be a jump
STEEPER = 2.0  # than in the intervals beside it
SHORTER = 0.6  # than the longest interval: change in an interval that was split before
AROUND = 0.1  # length of the next interval about a jump
SLIVER = 0.02  # of an interval: shorter parts are not made
SAME = 1e-9  # of the range between a control's bounds
SHORTEST, RESOLVED = 1e-12, 1e4  # of the duration, and times the resolution of time: shorter intervals are not made
HIGHEST, MORE = 7, 0.5  # degree, and share of intervals with a large error from which it is raised


@with_number_range
@dataclass(frozen=True)
class Refinement:
    """Mesh refinement: solve again on finer meshes until the error of every interval is below `tolerance` and the simulated
    motion meets conditions and bounds within `tolerance` of their scales.

    - `rounds`, `most`: limits of the number of refinements and of the intervals of a phase.
    - `seconds`: time after which no search on a finer mesh goes on. The search on the first mesh is not cut:
      `Ipopt(options={"max_wall_time": …})` limits every search.

    Mesh points move to the jumps of controls; nodes are added where bounds do not hold between nodes; where most intervals
    have large errors, the degree of the polynomials is raised.
    """

    tolerance: float = 1e-6
    rounds: int = 30
    most: int = 2000
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not self.tolerance > 0.0 or not self.seconds > 0.0:
            raise ArgumentError(
                f"Refinement: tolerance and seconds are positive numbers, got {self.tolerance!r} and {self.seconds!r}"
            )

    def finer(self, scheme: Collocation | MultipleShooting, errors: Reals) -> Collocation | MultipleShooting | None:
        """The next mesh by errors alone, or None if they are small enough or the limit of intervals is reached."""
        parts = self.parts(scheme, errors, self.tolerance)
        if parts.max(initial=1) == 1 or parts.sum() > self.most:
            return None
        return scheme.on(_split(scheme.grid.breaks, parts))

    def parts(self, scheme: Collocation | MultipleShooting, errors: Reals, tolerance: float) -> NDArray[np.int64]:
        """Numbers of parts into which intervals are split."""
        bad = errors > tolerance
        parts = np.ones(len(errors), dtype=np.int64)
        parts[bad] = np.clip(np.ceil((errors[bad] / tolerance) ** (1.0 / (scheme.order + 1))), 2, 4)
        return parts

    def next_mesh(
        self, found: PhaseSolution, tolerance: float, violated: Flags, overshot: Flags, with_jumps: bool = True
    ) -> Collocation | MultipleShooting | None:
        """The next mesh of a phase, or None if none is needed or the limit of intervals is reached.

        `violated` are the intervals in which a bound or path condition is violated, `overshot` those where it is a control's.
        With `with_jumps`, intervals in which a control jumps get a constant one.
        """
        scheme = found.scheme
        assert isinstance(scheme, Collocation | MultipleShooting)
        lengths = np.diff(scheme.grid.breaks)
        least = max(SHORTEST, RESOLVED * float(np.spacing(abs(found.begin) + found.duration)) / found.duration)
        parts = np.minimum(self.parts(scheme, found.errors, tolerance), np.maximum(lengths / least, 1.0).astype(np.int64))
        violated, overshot = violated & (lengths > 4.0 * least), overshot & (lengths > 4.0 * least)
        movable = isinstance(scheme, Collocation) and scheme.scheme in ("radau", "gauss") and scheme.constant_controls is not True
        constant = _constant_intervals(scheme)
        if not movable:
            if isinstance(scheme, Collocation) and scheme.constant_controls is True:
                if (violated.any() or parts.max(initial=1) > 1) and scheme.degree < HIGHEST:
                    return replace(scheme, degree=min(scheme.degree + 2, HIGHEST))  # the pieces of the controls stay
                parts[violated] = 4  # between nodes, an excess falls with the square of the length
            parts[violated & (parts == 1)] = 2
            if parts.max(initial=1) == 1 or parts.sum() > self.most:
                return None
            return scheme.on(_split(scheme.grid.breaks, parts))
        assert isinstance(scheme, Collocation)
        jumps = _jumps(found, constant) & ((found.errors > tolerance) | overshot) & with_jumps
        raised = not jumps.any() and not constant.any() and (parts > 1).mean() > MORE and scheme.degree < HIGHEST
        if raised and (parts > 1).mean() < 1.0:
            return replace(scheme, degree=scheme.degree + 2)
        breaks, flags = [0.0], []
        for k, (a, b) in enumerate(zip(scheme.grid.breaks[:-1], scheme.grid.breaks[1:], strict=True)):
            if constant[k]:
                edges, own = _about_jump(found, k) if lengths[k] ** 2 > 0.1 * tolerance else ([a, b], [True])
            elif jumps[k] or (overshot[k] and lengths[k] ** 2 <= 0.1 * tolerance):
                edges, own = [a, b], [True]
            else:
                count = max(int(parts[k]), 4 if overshot[k] else 3 if violated[k] else 1)
                edges, own = np.linspace(a, b, count + 1).tolist(), [False] * count
            breaks += edges[1:]
            flags += own
        same = len(flags) == len(constant) and bool((np.array(flags) == constant).all())
        if (same and np.array_equal(breaks, scheme.grid.breaks)) or len(flags) > self.most:
            return None
        return scheme.on(np.array([*breaks[:-1], 1.0]), tuple(flags) if any(flags) else False)


def _constant_intervals(scheme: Collocation | MultipleShooting) -> Flags:
    count = len(scheme.grid.breaks) - 1
    given = scheme.constant_controls if isinstance(scheme, Collocation) else True
    return np.full(count, given) if isinstance(given, bool) else np.array(given)


def constant_errors(phase: Phase, scheme: Collocation | MultipleShooting, controls: Reals) -> Reals:
    """Errors of the intervals of a refined mesh that have a constant control: w² for a share w of the duration. With a control in
    which the Hamiltonian is linear, w² times its change, relative to its range, from the interval beside it to which it changes
    less: it jumps at a mesh point, or follows a singular arc, along which small changes cost less than their squares."""
    if not isinstance(scheme, Collocation) or isinstance(scheme.constant_controls, bool):
        return np.zeros(len(scheme.grid.breaks) - 1)
    grid = scheme.grid
    values, at = controls[grid.control_of], lagrange(grid.control_local, np.array([0.0, 1.0]))
    left, right = (np.einsum("j,kjn->kn", weights, values) for weights in at)
    bounds = np.array([phase.limits.get(name, (-np.inf, np.inf)) for name in phase.controls]).reshape(-1, 2)
    wide = bounds[:, 1] - bounds[:, 0]
    size = np.where(np.isfinite(wide) & (wide > 0.0), wide, np.maximum(np.abs(controls).max(axis=0, initial=0.0), 1e-300))
    steps = np.abs(left[1:] - right[:-1]) / size
    none = np.ones((1, len(size)))
    change = np.minimum(np.minimum(np.vstack([none, steps]), np.vstack([steps, none])), 1.0)
    change = np.where(phase.linear_controls, change, change > SAME).max(axis=1, initial=0.0)
    return np.where(scheme.constant_controls, np.diff(grid.breaks) ** 2 * change, 0.0)


def _split(breaks: Reals, parts: NDArray[np.int64]) -> Reals:
    pieces = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(breaks[:-1], breaks[1:], parts, strict=True)]
    return np.concatenate([*pieces, [1.0]])


def _edges(found: PhaseSolution) -> tuple[Reals, Reals, Reals, Reals]:
    """Controls of each interval: at its nodes, at its left and right edge, and their means."""
    grid: Grid = found.grid
    values = found.controls[grid.control_of]
    at = lagrange(grid.control_local, np.array([0.0, 1.0]))
    left, right = np.einsum("j,kjn->kn", at[0], values), np.einsum("j,kjn->kn", at[1], values)
    bounds = np.array([found.phase.limits.get(name, (-np.inf, np.inf)) for name in found.phase.controls]).reshape(-1, 2)
    left, right = (np.clip(side, bounds[:, 0], bounds[:, 1]) for side in (left, right))
    return values, left, right, np.einsum("j,kjn->kn", quadrature(grid.control_local), values)


def _jumps(found: PhaseSolution, constant: Flags) -> Flags:
    """Intervals with polynomial controls in which one jumps: it changes by a large part of its range, much more than beside."""
    values, left, right, _ = _edges(found)
    change = values.max(axis=1) - values.min(axis=1)
    count = len(change)
    jumps = np.zeros(count, dtype=bool)
    lengths = np.diff(found.grid.breaks)
    for j, name in enumerate(found.phase.controls):
        low, high = found.phase.limits.get(name, (-np.inf, np.inf))
        if not (np.isfinite(low) and np.isfinite(high)):
            continue  # without bounds, controls that minimize the Hamiltonian are continuous, or impulses
        for k in np.flatnonzero((change[:, j] > JUMP * (high - low)) & ~constant):
            beside = [change[i, j] for i in (k - 1, k + 1) if 0 <= i < count]
            sides = [right[k - 1, j]] if k else []
            sides += [left[k + 1, j]] if k + 1 < count else []
            saturated = len(sides) == 2 and all(min(s - low, high - s) < 1e-3 * (high - low) for s in sides)
            switched = saturated and abs(sides[0] - sides[1]) > 0.9 * (high - low)
            if switched or (max(beside, default=0.0) * STEEPER < change[k, j] and lengths[k] < SHORTER * lengths.max()):
                jumps[k] = True
    return jumps


def _about_jump(found: PhaseSolution, k: int) -> tuple[list[float], list[bool]]:
    """The parts of an interval with constant controls: a shorter one about the jump, and polynomials beside it."""
    breaks = found.grid.breaks
    a, b = float(breaks[k]), float(breaks[k + 1])
    _, left, right, mean = _edges(found)
    limits = np.array([found.phase.limits.get(name, (-np.inf, np.inf)) for name in found.phase.controls]).reshape(-1, 2)
    after = left[k + 1] if k + 2 < len(breaks) else np.full(len(limits), np.nan)
    before = right[k - 1] if k else np.full(len(limits), np.nan)
    # at the ends of the motion: the bound on the other side of the value here
    before, after = (_or_bound(side, other, mean[k], limits) for side, other in ((before, after), (after, before)))
    j = int(np.argmax(np.abs(after - before) / np.maximum(np.abs(found.controls).max(axis=0), 1e-12)))
    height = before[j] - after[j]
    share = float(np.clip((mean[k, j] - after[j]) / height, 0.0, 1.0)) if abs(height) > 1e-12 else 0.5
    low, high = max(share - AROUND / 2, 0.0), min(share + AROUND / 2, 1.0)
    low, high = (0.0 if low < SLIVER else low), (1.0 if high > 1.0 - SLIVER else high)
    positions = [a, *([a + low * (b - a)] if low > 0.0 else []), *([a + high * (b - a)] if high < 1.0 else []), b]
    return positions, [*([False] if low > 0.0 else []), True, *([False] if high < 1.0 else [])]


def _or_bound(side: Reals, other: Reals, mean: Reals, limits: Reals) -> Reals:
    """Controls beside an interval; where there is no interval, the bound beyond the mean, seen from the other side."""
    bound = np.where(mean >= other, limits[:, 1], limits[:, 0])
    return np.where(np.isfinite(side), side, np.where(np.isfinite(bound), bound, mean))


def next_meshes(
    refine: Refinement, phases: Sequence[PhaseSolution], tolerance: float, violated: Sequence[Flags], overshot: Sequence[Flags]
) -> list[list[Collocation | MultipleShooting]]:
    """The next meshes of all phases: with constant controls where they jump, and without. Empty if no mesh changes."""
    made: list[list[Collocation | MultipleShooting]] = []
    kept = [p.scheme for p in phases if isinstance(p.scheme, Collocation | MultipleShooting)]
    for with_jumps in (True, False):
        next_of = [refine.next_mesh(p, tolerance, v, o, with_jumps) for p, v, o in zip(phases, violated, overshot, strict=True)]
        schemes = [f or s for f, s in zip(next_of, kept, strict=True)]
        if any(f is not None for f in next_of) and schemes not in made:
            made.append(schemes)
    return made
