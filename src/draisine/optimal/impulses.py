"""Impulses: controls without bounds may want to be infinite for no time.

Least ∫x² dt of ẋ = u from x = 1 is zero, by a jump to x = 0 at the beginning, which no control makes. On a mesh the control of
one interval makes the jump, and is the larger the shorter the interval. A cost that is curved in a control may still be
nothing: least ∫t² u² dt of ẋ = u from 1 to 0 is approached by the same jump (Weierstrass 1870). There, integrable peaks such as
1/√t belong to minima that are attained; they are lower in proportion, so that the area of an impulse is the criterion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from draisine.numerics.direct_methods import Collocation
from draisine.optimal.attainment import CONVERGED
from draisine.optimal.ipopt import Ipopt, Outcome
from draisine.optimal.mesh_search import NEAR_GUESS, MeshSolution, Task
from draisine.optimal.solution import PhaseSolution
from draisine.results.status import ProgressCallback

STANDS_OUT = 5.0  # times the median of a control's magnitudes by interval
PARTS, GROWS = 4, 2.0  # of the interval with the largest one; factor by which it grows there
SAME_AREA = 0.95  # of the impulse of the interval, in one of its parts or a much shorter one: for costs curved in the control
GROWN = (
    32.0  # times higher than on the first mesh: a peak of which the finest mesh may tell no more than the tolerance of the cost
)


def impulse_of(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> str:
    """The name of a control that wants to be an impulse, or "" if there is none."""
    for number, p in enumerate(found.phases):
        for j, name in enumerate(p.phase.controls):
            k, height = _peak(p, j)
            if k is None or not isinstance(p.scheme, Collocation):
                continue
            breaks = p.grid.breaks
            split = np.concatenate([breaks[:k], np.linspace(breaks[k], breaks[k + 1], PARTS + 1), breaks[k + 2 :]])
            schemes = list(found.schemes)
            schemes[number] = p.scheme.on(split)
            near = Ipopt(solver.tolerance, solver.iterations, options={**NEAR_GUESS, **solver.options})
            other = task.once(schemes, found.phases, near, progress, seconds)
            if other.answer.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            grows = GROWS if p.phase.linear_controls[j] else SAME_AREA * PARTS
            if other.answer.outcome in CONVERGED and np.abs(other.phases[number].controls[:, j]).max() > grows * height:
                return name
    return ""


class Grown(NamedTuple):
    """A control whose peak has become much higher with finer meshes, and whether the area of the peak is what it was."""

    name: str
    same_area: bool


def grown_peak(first: MeshSolution, found: MeshSolution) -> Grown | None:
    """A peak of a control without bounds that has become so much higher with finer meshes that it may be an impulse, which is
    spread over times so short that the cost no longer tells. The area of an integrable peak falls with its interval,
    that of an impulse does not."""
    for before, p in zip(first.phases, found.phases, strict=True):
        for j, name in enumerate(p.phase.controls):
            (earlier, low), (now, high) = _peak(before, j), _peak(p, j)
            if earlier is not None and now is not None and high > GROWN * low:
                return Grown(name, _area(p, j, now) >= SAME_AREA * _area(before, j, earlier))
    return None


def _area(p: PhaseSolution, j: int, interval: int) -> float:
    length = float(np.diff(p.grid.breaks)[interval]) * p.duration
    return length * float(np.abs(p.controls[p.grid.control_of, j][interval]).mean())


def _peak(p: PhaseSolution, j: int) -> tuple[int | None, float]:
    """The interval in which a control stands out that has no bound in its direction, if there is one, and its magnitude."""
    values = p.controls[p.grid.control_of, j]
    sizes = np.abs(values).max(axis=1)
    k = int(np.argmax(sizes))
    low, high = p.phase.limits.get(p.phase.controls[j], (-np.inf, np.inf))
    peak = values[k, int(np.argmax(np.abs(values[k])))]
    bounded = np.isfinite(high if peak > 0.0 else low)
    if bounded or not sizes[k] > STANDS_OUT * float(np.median(sizes)):
        return None, 0.0
    return k, float(sizes[k])
