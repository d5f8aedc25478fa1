"""The values of the report of equations along a segment of a run."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.simulation.result import Segment

_MANY_SAMPLES = 50_000  # for which the report is compiled with optimization, in one run or in many


@lru_cache(maxsize=64)
def reporter(equations: Equations, quick: bool = True) -> Kernel:
    """The compiled report of equations."""
    return compile(equations.report, quick=quick)


@lru_cache(maxsize=64)
def _evaluated(equations: Equations) -> Counter[str]:
    """How many samples of these equations were reported."""
    return Counter()


def report_values(segment: Segment, p: np.ndarray) -> dict[str, np.ndarray]:
    """The results of the report by name, at the times of a segment in rows."""
    equations = segment.equations
    _evaluated(equations)["samples"] += len(segment.times)
    kernel = reporter(equations, quick=_evaluated(equations)["samples"] < _MANY_SAMPLES)
    points = segment.times, segment.states, segment.inputs, p if segment.parameters is None else segment.parameters
    names = [slot.name for slot in equations.report.outputs]
    values = dict(zip(names, kernel.map(points[0][:, None], *points[1:]), strict=True))
    if segment.sliding is not None:
        for name, mixed in segment.sliding.report(equations, *points).items():
            values[name][segment.sliding.rows] = mixed
    return values
