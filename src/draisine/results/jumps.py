"""Curves of a run through its jumps: two values at one time, the limits from both sides.

Forces and outputs jump where a law switches, velocities where bodies collide, inputs where a held control changes: at times that
the run knows, but that are not among its samples. A line from sample to sample would be slanted there. Every picture against time
draws the curves that `curve_of` gives.

The limits are those of the motion itself, by its dense output, a little before and behind the jump. Runs without one (those that
were read from a file) or that took long have them on the straight lines through the two samples next to the jump on each side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.results.channel import Group

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

Array = NDArray[np.float64]

_BESIDE = 1e-9  # of the duration: distance from a jump at which a limit is taken; the switch itself is known to rounding
_MOST = 5000  # jumps; more are too close to be seen
_REPEATED = 2.0  # s of integration: longer runs are not repeated for a picture
_SEARCHED = 0.5  # s, likewise, for jumps at times that the run does not know
_ABRUPT = 3.0  # times the changes before and behind: a change between two samples that may be a jump
_SEEN = 0.01  # of the range of a column: smaller jumps are not searched
_ROUNDING = 1e-9  # of its size, likewise
_DIVIDED, _ROUNDS = 32, 4  # an interval is divided into so many parts, so many times
_MOST_SEARCHED = 64  # intervals
_MOST_STEPS = 400  # changes of an input that is constant otherwise


class Limits(NamedTuple):
    """Values of all columns at both sides of jumps; jumps at nearly the same time are one, from `begin` to `end`."""

    begin: Array  # (k)
    end: Array  # (k)
    before: Array  # (k, channels), at `begin`
    after: Array  # (k, channels), at `end`


def jump_times(run: Trajectory) -> Array:
    """The times inside a run at which columns may jump, in the order of the run."""
    known = {event.time for event in run.switches} | {change.time for change in run.modes} | set(run.control_changes)
    low, high = sorted((float(run.time[0]), float(run.time[-1])))
    inside = np.array(sorted(time for time in known if low < time < high))
    return inside if run.time[-1] >= run.time[0] else inside[::-1]


def limits_of(run: Trajectory) -> Limits:
    """The limits at all jumps that the run knows."""
    times, width = jump_times(run), len(run.channels)
    if not 0 < times.size <= _MOST:
        return Limits(np.zeros(0), np.zeros(0), np.zeros((0, width)), np.zeros((0, width)))
    beside = _BESIDE * float(run.time[-1] - run.time[0])  # negative where time runs backwards
    apart = np.abs(np.diff(times)) > 4 * abs(beside)
    begin, end = times[np.concatenate([[True], apart])], times[np.concatenate([apart, [True]])]
    before, after = _from_samples(run, begin, end)
    if _repeats(run, _REPEATED):
        exact = run.at(np.clip(np.concatenate([begin - beside, end + beside]), *sorted((run.time[0], run.time[-1]))))
        for i, channel in enumerate(run.channels):
            found = exact[channel.name]  # not a number for what only samples have, such as poses
            before[:, i] = np.where(np.isnan(found[: begin.size]), before[:, i], found[: begin.size])
            after[:, i] = np.where(np.isnan(found[begin.size :]), after[:, i], found[begin.size :])
    return Limits(begin, end, before, after)


def curve_of(run: Trajectory, name: str) -> tuple[Array, Array]:
    """Times and values of a column as a line to draw: its samples, and both limits at each of its jumps."""
    if name == "time":
        return run.time, run.time
    values = run[name]
    column, limits = run.names().index(name), run.limits
    curve = _joined((run.time, values), limits, limits.before[:, column], limits.after[:, column])
    if _repeats(run, _SEARCHED) and run.channel(name).group is not Group.RESIDUALS:  # which are rounding
        return _with_found_jumps(run, name, curve)
    return _stepwise(*curve) if run.channel(name).group is Group.INPUTS else curve


def thinned(curve: tuple[Array, Array], times: Array) -> tuple[Array, Array]:
    """A curve with values at these times only, beside both ends of its jumps.

    >>> t, v = thinned((np.array([0.0, 1, 1, 2]), np.array([0.0, 0, 5, 5])), np.array([0.0, 2.0]))
    >>> t.tolist(), v.tolist()
    ([0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 5.0, 5.0])
    """
    jumps = np.flatnonzero((np.diff(curve[0]) == 0) & (np.diff(curve[1]) != 0))
    begin, before, after = curve[0][jumps], curve[1][jumps], curve[1][jumps + 1]
    return _joined((times, values_at(curve, times)), Limits(begin, begin, before[:, None], after[:, None]), before, after)


def values_at(curve: tuple[Array, Array], times: Array) -> Array:
    """Values of a curve at times of its range, on straight lines between its points; at a jump the value behind it.

    >>> values_at((np.array([0.0, 1, 1, 3]), np.array([0.0, 0, 5, 7])), np.array([0.5, 1, 2])).tolist()
    [0.0, 5.0, 6.0]
    """
    time, values = curve
    forward = 1.0 if time[-1] >= time[0] else -1.0
    k = np.clip(np.searchsorted(forward * time, forward * times, side="right") - 1, 0, None)
    after = np.minimum(k + 1, time.size - 1)
    gap = time[after] - time[k]
    share = np.divide(times - time[k], gap, out=np.zeros(len(times)), where=gap != 0)
    return np.asarray(values[k] + np.where(share == 0, 0.0, share * (values[after] - values[k])))


def _repeats(run: Trajectory, longest: float) -> bool:
    """Whether the motion between the samples is to be had, in so many seconds."""
    return run.dense is not None and not run.dense.refused and run.seconds.get("integrate", np.inf) < longest


def _joined(curve: tuple[Array, Array], limits: Limits, before: Array, after: Array) -> tuple[Array, Array]:
    """A curve with both limits of each jump; a sample at the time of a jump has one of its two values, and goes.

    Limits that are not known (no sample between two jumps) are left out: not a number would interrupt the line."""
    if not before.size:
        return curve
    time, values = curve
    forward = 1.0 if time[-1] >= time[0] else -1.0
    other = ~np.isin(time, np.concatenate([limits.begin, limits.end]))
    ahead, behind = ~np.isnan(before), ~np.isnan(after)
    times = np.concatenate([time[other], limits.begin[ahead], limits.end[behind]])
    ranks = np.repeat([0, 0, 1], [int(other.sum()), int(ahead.sum()), int(behind.sum())])
    order = np.lexsort((ranks, forward * times))
    return times[order], np.concatenate([values[other], before[ahead], after[behind]])[order]


def _from_samples(run: Trajectory, begin: Array, end: Array) -> tuple[Array, Array]:
    """The limits on the straight lines through the two samples next to each jump; through one where another jump is nearer than
    the second; not a number where there is none."""
    forward = 1.0 if run.time[-1] >= run.time[0] else -1.0
    time = forward * run.time

    def beside(jumps: Array, first: NDArray[np.intp], way: int, bounds: Array) -> Array:
        found = np.full((jumps.size, run.data.shape[1]), np.nan)
        near, far = np.clip(first, 0, time.size - 1), np.clip(first + way, 0, time.size - 1)
        known, both = way * (bounds - time[near]) > 0, way * (bounds - time[far]) > 0
        found[known] = run.data[near[known]]
        both &= known & (time[far] != time[near])
        n, f = near[both], far[both]
        slope = (run.data[n] - run.data[f]) / (time[n] - time[f])[:, None]
        found[both] += slope * (jumps[both] - time[n])[:, None]
        return found

    ahead, behind = forward * begin, forward * end
    edges = time[0] - 1.0, time[-1] + 1.0  # beyond all samples
    before = beside(ahead, np.searchsorted(time, ahead, side="left") - 1, -1, np.concatenate([[edges[0]], behind[:-1]]))
    after = beside(behind, np.searchsorted(time, behind, side="right"), 1, np.concatenate([ahead[1:], [edges[1]]]))
    first, last = np.searchsorted(time, ahead, side="left"), np.searchsorted(time, behind, side="right") - 1
    both = (ahead == behind) & (last > first)  # two samples at this time are the limits themselves
    before[both], after[both] = run.data[first[both]], run.data[last[both]]
    return before, after


def _stepwise(time: Array, values: Array) -> tuple[Array, Array]:
    """An input that is constant between a few changes, at times that are not known: a value holds until the next sample."""
    changes = np.flatnonzero((np.diff(values) != 0) & (np.diff(time) != 0))
    if not 0 < changes.size <= min(_MOST_STEPS, 0.25 * time.size):
        return time, values
    return np.insert(time, changes + 1, time[changes + 1]), np.insert(values, changes + 1, values[changes])


def _with_found_jumps(run: Trajectory, name: str, curve: tuple[Array, Array]) -> tuple[Array, Array]:
    """A curve with the jumps of a column at times that the run does not know: those of outputs and of laws without effect on the
    motion. Intervals with an abrupt change are divided until the change is a jump, or not one."""
    time, values = curve
    step = np.where(np.diff(time) != 0, np.abs(np.nan_to_num(np.diff(values), nan=0.0, posinf=0.0, neginf=0.0)), 0.0)
    beside = np.maximum(np.concatenate([[0.0], step[:-1]]), np.concatenate([step[1:], [0.0]]))
    finite = values[np.isfinite(values)]
    least = max(_SEEN * np.ptp(finite), _ROUNDING * np.abs(finite).max()) if finite.size else np.inf
    doubtful = np.flatnonzero((step > _ABRUPT * beside) & (step > least))
    if not 0 < doubtful.size <= _MOST_SEARCHED or time.size < 4:
        return curve
    low, high, size = time[doubtful], time[doubtful + 1], step[doubtful]
    ends = np.column_stack([values[doubtful], values[doubtful + 1]])
    for _ in range(_ROUNDS):
        inner = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _DIVIDED + 1)[None, 1:-1]
        found = run.at(inner.ravel())[name].reshape(inner.shape)
        times, line = np.column_stack([low, inner, high]), np.column_stack([ends[:, :1], found, ends[:, 1:]])
        worst = np.argmax(np.nan_to_num(np.abs(np.diff(line, axis=1))), axis=1)
        rows = np.arange(low.size)
        low, high, ends = times[rows, worst], times[rows, worst + 1], np.column_stack([line[rows, worst], line[rows, worst + 1]])
        jumps = np.abs(ends[:, 1] - ends[:, 0]) > 0.5 * size
        low, high, ends, size = low[jumps], high[jumps], ends[jumps], size[jumps]
        if not low.size:
            return curve
    middle = (low + high) / 2
    return _joined(curve, Limits(middle, middle, ends[:, :1], ends[:, 1:]), ends[:, 0], ends[:, 1])
