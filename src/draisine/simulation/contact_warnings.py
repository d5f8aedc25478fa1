"""Warnings of a run about ideal contacts: where the ground would have to pull, a wheel needs much friction, a cable would push.

The margins of contacts are evaluated at the samples and at the accepted steps, on both sides of every time at which an input or a
law switches, and inside long steps where an input is a law of time. Where one is beyond its limit, the motion of the steps around
is integrated once more with closer samples, for the time at which it is passed and for the extreme value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.results.status import time_text
from draisine.simulation.compiled_equations import prepared
from draisine.simulation.contact_margins import FRICTION, LARGEST_FRICTION, NORMAL, cables_of, constrained_contacts
from draisine.simulation.report_values import report_values
from draisine.simulation.result import Run, Segment
from draisine.simulation.run import integrate
from draisine.simulation.stepper.layout import ONE_SIDED
from draisine.simulation.stepper.memory import CONTACT_SPACING

SIDE = 1e-6  # part of a step beside a switch at which the margins of this side are evaluated
CLOSER = 33  # samples of a step that is integrated once more
ROUNDING = 1e-12  # of forces, relative to the largest one
UNLOADED = -1e300  # margin of a friction coefficient where there is no normal force
MOST_BETWEEN = 20_000  # points inside the steps of a run

Reals = NDArray[np.float64]


def has_margins(equations: Equations) -> bool:
    """Whether there are ideal contacts or cables."""
    return any(constrained_contacts(equations)) or bool(cables_of(equations))


@lru_cache(maxsize=64)
def _columns(equations: Equations) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The names of the margins, and the columns of outputs and multipliers: normal forces, friction coefficients, cables."""
    outputs, rows = [q.name for q in equations.outputs], [q.name for q in equations.multipliers]
    (normal, friction), cables = constrained_contacts(equations), cables_of(equations)
    return (
        (*normal, *friction, *cables),
        tuple(outputs.index(name) for name in normal),
        tuple(outputs.index(name) for name in friction),
        tuple(rows.index(name) for name in cables),
    )


def _margins(segment: Segment, values: Mapping[str, Reals]) -> Reals:
    """The margins at the points of a segment, (points, margins): all must not be negative."""
    names, normal, friction, cables = _columns(segment.equations)
    count = len(segment.times)
    outputs, multipliers = (values[name].reshape(count, -1) for name in ("outputs", "multipliers"))
    rounding = ROUNDING * _largest_force(segment.equations, outputs, multipliers)
    forces, tensions = (
        np.where(np.abs(found) <= rounding, 0.0, found) for found in (outputs[:, normal], -multipliers[:, cables])
    )
    needed = LARGEST_FRICTION - outputs[:, friction]
    for column, name in enumerate(names[len(normal) : len(normal) + len(friction)]):
        own = f"{name.removesuffix(FRICTION)}{NORMAL}"
        if own in names:
            unloaded = forces[:, names.index(own)] == 0.0
            tangential = np.abs(outputs[:, friction[column]] * outputs[:, normal[names.index(own)]])
            needed[unloaded, column] = np.where(tangential > rounding, UNLOADED, LARGEST_FRICTION)[unloaded]
    return np.hstack([forces, needed, tensions])


@lru_cache(maxsize=64)
def _forces(equations: Equations) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The columns of outputs and multipliers that are forces."""
    outputs, multipliers = (
        tuple(k for k, quantity in enumerate(quantities) if quantity.unit == "N")
        for quantities in (equations.outputs, equations.multipliers)
    )
    return outputs, multipliers


def _largest_force(equations: Equations, outputs: Reals, multipliers: Reals) -> float:
    """The largest force among outputs and multipliers, to tell rounding errors of others."""
    found = [np.abs(values[:, columns]) for values, columns in zip((outputs, multipliers), _forces(equations), strict=True)]
    return max(float(np.max(part, initial=0.0, where=np.isfinite(part))) for part in found)


class Points(NamedTuple):
    """Margins along a run, in the order of time."""

    times: Reals  # (n)
    margins: Reals  # (n, margins)
    parts: NDArray[np.intp]  # (n) the segment
    steps: NDArray[np.intp]  # (n) the step of the segment that ends at the point or after it, -1 where it is not known

    @staticmethod
    def joined(parts: Sequence[Points], sign: float) -> Points:
        times, margins, owners, steps = (
            np.concatenate([getattr(p, name) for p in parts]) for name in ("times", "margins", "parts", "steps")
        )
        order = np.lexsort((steps, sign * times))  # of the two sides of a switch, the one before it first
        return Points(times[order], margins[order], owners[order], steps[order])


def contact_warnings_of(run: Run, reported: Sequence[Mapping[str, Reals]], p: Reals, timed: bool) -> list[str]:
    """The warnings of a run with its report at the samples of each segment; `timed`: inputs are laws of time."""
    parts = [(i, s) for i, s in enumerate(run.segments) if has_margins(s.equations)]
    if not parts:
        return []
    names = _columns(parts[0][1].equations)[0]
    # not by np.unique, which imports NumPy's masked arrays
    switched = np.array(sorted({switch.time for switch in run.switches}))
    sure = [points for i, s in parts for points in _at_segment(i, s, reported[i], p, switched)]
    between = [_between(i, s, p) for i, s in parts if s.at_steps is not None and _is_long(s)] if timed else []
    sign = 1.0 if run.final_time >= min((s.times[0] for _, s in parts if len(s.times)), default=0.0) else -1.0
    if not sure:
        return []
    points = Points.joined(sure + between, sign)
    if not (points.margins < 0.0).any():
        return []
    wanted = sorted({step for column in points.margins.T if (column < 0.0).any() for step in _to_refine(points, column)})
    closer = [_closer(i, run.segments[i], step, p, switched) for i, step in wanted]
    points = Points.joined(sure + closer, sign)
    return [text for j, name in enumerate(names) for text in _warnings(name, points.times, points.margins[:, j])]


def _at_segment(part: int, segment: Segment, reported: Mapping[str, Reals], p: Reals, switched: Reals) -> Iterator[Points]:
    """The margins at the samples, at the steps, and at both sides of switches."""
    kept = segment.at_steps
    if len(segment.times):
        margins = _margins(segment, reported)
        yield Points(segment.times, margins, np.full(len(margins), part), _step_of(segment, segment.times))
    if kept is None or not len(kept.times):
        return
    yield _points(part, kept, kept.times, p, np.arange(len(kept.times)))
    if len(kept.times) < 2:
        return
    jumps = np.isin(kept.times, switched)
    inputs = np.any(kept.inputs[1:] != kept.inputs[:-1], axis=1)
    smooth = _one_sided(kept)
    after = np.flatnonzero((jumps[:-1] | inputs) & smooth)  # steps whose beginning is a switch …
    before = np.flatnonzero(jumps[1:] & smooth)  # … and whose end is one
    for steps, place, ends in ((after, SIDE, after), (before, 1.0 - SIDE, before + 1)):
        if steps.size:
            yield _points(part, _inside(kept, steps, np.full(steps.size, place)), kept.times[ends], p, steps + 1)


def _step_of(segment: Segment, times: Reals) -> NDArray[np.intp]:
    kept = segment.at_steps
    if kept is None or not len(kept.times):
        return np.full(len(times), -1)
    sign = 1.0 if kept.times[-1] >= kept.times[0] else -1.0
    found = np.searchsorted(sign * kept.times, sign * times)
    return np.where(found < len(kept.times), found, -1)


def _one_sided(kept: Segment) -> NDArray[np.bool_]:
    """The steps in which the run does not slide."""
    if kept.sliding is None:
        return np.ones(len(kept.times) - 1, dtype=bool)
    free: NDArray[np.bool_] = kept.sliding.mixture[:, 0] == ONE_SIDED
    return free[1:] & free[:-1]


def _inside(kept: Segment, steps: NDArray[np.intp], place: Reals) -> Segment:
    """Points at a part `place` of steps, by linear interpolation; inputs are those of the step, which its end has."""
    first, last, share = kept.states[steps], kept.states[steps + 1], place[:, None]
    times = kept.times[steps] + place * (kept.times[steps + 1] - kept.times[steps])
    return Segment(kept.equations, times, first + share * (last - first), kept.inputs[steps + 1], kept.steps)


def _points(part: int, segment: Segment, times: Reals, p: Reals, steps: NDArray[np.intp]) -> Points:
    return Points(times, _margins(segment, report_values(segment, p)), np.full(len(times), part), steps)


def _is_long(segment: Segment) -> bool:
    """Whether neither samples nor steps are as close as loads that depend on time need."""
    assert segment.at_steps is not None
    known = np.sort(np.concatenate([segment.times, segment.at_steps.times]))
    return bool((np.diff(known) > 1.01 * CONTACT_SPACING).any())


def _between(part: int, segment: Segment, p: Reals) -> Points:
    """Margins inside long steps, at interpolated states: they tell which steps to integrate once more."""
    kept = segment.at_steps
    assert kept is not None
    lengths = np.abs(np.diff(kept.times)) * _one_sided(kept)
    # n points divide a step into n + 1 parts below the spacing; steps that are shorter have their ends
    counts = (lengths / max(CONTACT_SPACING, float(lengths.sum()) / MOST_BETWEEN)).astype(int)
    steps = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts  # the number of points before those of a step
    place = (np.arange(1, steps.size + 1) - first[steps]) / (counts[steps] + 1)
    inside = _inside(kept, steps, place)
    return _points(part, inside, inside.times, p, steps + 1)


def _to_refine(points: Points, column: Reals) -> Iterator[tuple[int, int]]:
    """Segments and steps around the first negative margin and the least one."""
    first, least = int(np.argmax(column < 0.0)), int(np.nanargmin(column))
    for i in {first, least, min(least + 1, len(column) - 1)}:
        if points.steps[i] > 0:
            yield int(points.parts[i]), int(points.steps[i])


def _closer(part: int, segment: Segment, step: int, p: Reals, switched: Reals) -> Points:
    """The margins at close samples of one step, integrated once more."""
    kept = segment.at_steps
    assert kept is not None
    begin, end, x = float(kept.times[step - 1]), float(kept.times[step]), kept.states[step - 1]
    if begin in switched and bool(_one_sided(kept)[step - 1]):  # on the side of the step
        side = _inside(kept, np.array([step - 1]), np.array([SIDE]))
        begin, x = float(side.times[0]), side.states[0]
    times = np.linspace(begin, end, CLOSER)[1:-1]
    if np.any(np.diff(times) * (end - begin) <= 0.0):  # too short to be divided
        times = times[:0]
    choices, u = prepared(kept.equations).choices, kept.inputs[step]
    again = integrate(choices, x, end, start=begin, parameters=p, inputs=u, samples=times)
    found = [s for s in again.segments if len(s.times) and s.equations is kept.equations]
    values = [_points(part, s, s.times, p, np.full(len(s.times), step)) for s in found]
    empty = Points(np.zeros(0), np.zeros((0, len(_columns(kept.equations)[0]))), np.zeros(0, int), np.zeros(0, int))
    return Points.joined([empty, *values], 1.0)


def _warnings(name: str, times: Reals, margins: Reals) -> Iterator[str]:
    """What to say about one margin along a run."""
    known = np.isfinite(margins)
    times, margins = times[known], margins[known]
    if not (margins < 0.0).any():
        return
    least = int(np.argmin(margins))
    since, worst = time_text(_first_negative(times, margins)), time_text(float(times[least]))
    if name.endswith(FRICTION) and margins[least] == UNLOADED:
        yield (
            f"{name.removesuffix(FRICTION)} needs a tangential force to roll at {worst}, but its normal force is zero up to "
            f"rounding: it would slip, and needs a friction coefficient of more than {LARGEST_FRICTION:g} from {since}"
        )
    elif name.endswith(FRICTION):
        most = LARGEST_FRICTION - margins[least]
        yield (
            f"{name.removesuffix(FRICTION)} needs a friction coefficient of {most:.2f} to roll at {worst}, and more than "
            f"{LARGEST_FRICTION:g} from {since}"
        )
    elif name.endswith(NORMAL):
        yield (
            f"the normal force on {name.removesuffix(NORMAL)} is negative from {since} (least {margins[least]:.4g} N at "
            f"{worst}): it would lift off"
        )
    else:
        yield (
            f"cable {name.removesuffix('_multiplier')} would be slack from {since}: it would have to push, by up to "
            f"{-margins[least]:.4g} N at {worst}; end the run there by an event on {name}, or use a spring that only pulls"
        )


def _first_negative(times: Reals, margins: Reals) -> float:
    """When a margin first becomes negative, between two points by linear interpolation."""
    k = int(np.argmax(margins < 0.0))
    if k == 0:
        return float(times[0])
    before, after = margins[k - 1], margins[k]
    return float(times[k - 1] + before / (before - after) * (times[k] - times[k - 1]))
