"""The values of the report of equations, at any points and along a segment of a run.

While contacts are in their usual modes forces follow from the reduced equations (`usual_report`), in a fraction of the time that
the system of all modes takes; where the independent velocities of these are badly conditioned, from that system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.simulation.result import Segment

Reals = NDArray[np.float64]

_MANY_SAMPLES = 50_000  # for which the report is compiled with optimization, in one run or in many


@lru_cache(maxsize=64)
def reporter(equations: Equations, quick: bool = True) -> Kernel:
    """The compiled report of equations."""
    return compile(equations.report, quick=quick)


@lru_cache(maxsize=64)
def _usual_reporter(equations: Equations, quick: bool) -> Kernel:
    assert equations.usual_report is not None
    return compile(equations.usual_report, quick=quick)


@lru_cache(maxsize=64)
def _evaluated(equations: Equations) -> Counter[str]:
    """How many samples of these equations were reported."""
    return Counter()


def evaluate_report(equations: Equations, t: Reals, x: Reals, u: Reals, p: Reals, quick: bool) -> dict[str, Reals]:
    """The results of the report by name at points in rows; `p` may be the same for all."""
    names, count = [slot.name for slot in equations.report.outputs], len(t)

    def values_of(kernel: Kernel, rows: NDArray[np.bool_]) -> Sequence[Reals]:
        if rows.all():
            return kernel.map(t[:, None], x, u, p)
        given = (a if a.ndim == 1 else a[rows] for a in (x, u, p))
        return kernel.map(t[rows, None], *given)

    usual = np.zeros(count, dtype=bool)
    if equations.usual_report is not None and count:
        usual |= equations.in_usual_modes(p)
    if not usual.any():
        return dict(zip(names, values_of(reporter(equations, quick), ~usual), strict=True))
    found = values_of(_usual_reporter(equations, quick), usual)
    clear = usual.copy()
    clear[usual] = found[-1][:, 0] <= equations.limits.condition  # not where it is NaN
    if clear.all():
        return dict(zip(names, found[:-1], strict=True))
    others = values_of(reporter(equations, quick), ~clear)
    values = {name: np.empty((count, *np.shape(part)[1:])) for name, part in zip(names, others, strict=True)}
    for name, ours, theirs in zip(names, found, others, strict=False):
        values[name][clear], values[name][~clear] = ours[clear[usual]], theirs
    return values


def report_values(segment: Segment, p: Reals) -> dict[str, Reals]:
    """The results of the report by name, at the times of a segment in rows."""
    equations = segment.equations
    _evaluated(equations)["samples"] += len(segment.times)
    points = segment.times, segment.states, segment.inputs, p if segment.parameters is None else segment.parameters
    values = evaluate_report(equations, *points, quick=_evaluated(equations)["samples"] < _MANY_SAMPLES)
    if segment.sliding is not None:
        for name, mixed in segment.sliding.report(equations, *points).items():
            values[name][segment.sliding.rows] = mixed
    return values
