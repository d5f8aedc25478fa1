"""Layout of windows in an experiment, and the assignment of noisy input samples to windows.

Samples of a noisy input at an edge, and with cubic interpolation their neighbors, act in both windows: they belong to the start
of the later one. All others belong to the window that contains them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.inputs import Interpolation, coefficients, sample_positions
from draisine.numerics.direct_methods import MOST_INTERVALS, MultipleShooting, breaks_of

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class WindowLayout:
    """Edges of windows, and in each window: times of measurements, ends of steps, input samples.

    Samples of all noisy inputs are numbered consecutively, input by input: `Recording.samples`. `breaks` are further ends of
    steps.
    """

    times: Reals  # of measurements
    knots: Reals  # of recorded inputs
    lengths: Reals  # of the intervals that begin at knots
    edges: Reals
    breaks: Reals
    sample_times: Reals
    sample_inputs: Indices  # index of the noisy input of a sample
    interpolation: tuple[Interpolation, ...]  # of noisy inputs
    degree: int

    @staticmethod
    def of(recording: Recording, edges: Reals, breaks: Reals) -> WindowLayout:
        s, none = recording.samples, np.zeros(0)
        knots, lengths = (recording.knots, recording.lengths) if recording.recorded else (none, none)
        interpolation = tuple(drive.interpolation for _, drive in recording.noisy)
        return WindowLayout(recording.times, knots, lengths, edges, breaks, s.times, s.inputs, interpolation, recording.degree)

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def indices(self) -> list[Indices]:
        """Measurements in each window; one at an edge belongs to the window that begins there."""
        window = np.clip(np.searchsorted(self.edges, self.times, side="right") - 1, 0, self.count - 1)
        return [np.flatnonzero(window == i) for i in range(self.count)]

    @cached_property
    def steps(self) -> list[Reals]:
        """Begin, end, knots and breaks of each window: no step crosses these."""
        stops = np.union1d(self.knots, self.breaks)
        return [
            np.concatenate([[begin], stops[(stops > begin) & (stops < end)], [end]])
            for begin, end in zip(self.edges, self.edges[1:], strict=False)
        ]

    @cached_property
    def grids(self) -> list[Reals]:
        """Steps and times of measurements."""
        return [np.union1d(steps, self.times[index]) for steps, index in zip(self.steps, self.indices, strict=True)]

    # ------------------------------------------------------------ samples of noisy inputs

    @cached_property
    def at_start(self) -> list[Indices]:
        """Input samples that act at the beginning of each window but the first."""
        found = [np.zeros(0, dtype=np.intp)]
        for edge in self.edges[1:-1]:
            near = []
            for a, interpolation in enumerate(self.interpolation):
                own = np.flatnonzero(self.sample_inputs == a)
                at = int(np.searchsorted(self.sample_times[own], edge))
                near.append(own[max(at - interpolation.reach, 0) : at + interpolation.reach + 1])
            found.append(np.concatenate(near) if near else found[0])
        return found

    @cached_property
    def inside(self) -> list[Indices]:
        """Input samples that belong to one window only."""
        at_edges = np.concatenate(self.at_start)
        rest = np.setdiff1d(np.flatnonzero(self.sample_times <= self.edges[-1]), at_edges)
        window = np.clip(np.searchsorted(self.edges, self.sample_times[rest], side="right") - 1, 0, self.count - 1)
        return [rest[window == i] for i in range(self.count)]

    def acting(self, i: int) -> tuple[Indices, int, int]:
        """Samples that act in window i (of its start, inside, of the next start); numbers of the first, and of the first two."""
        own = np.concatenate([self.at_start[i], self.inside[i]])
        after = self.at_start[i + 1] if i + 1 < self.count else np.zeros(0, dtype=np.intp)
        return np.concatenate([own, after]), len(self.at_start[i]), len(own)

    @cached_property
    def acting_knots(self) -> list[Indices]:
        """Knots at which intervals of a window begin."""
        return [np.flatnonzero((self.knots >= a) & (self.knots < b)) for a, b in zip(self.edges, self.edges[1:], strict=False)]

    def _sample_weights(self, i: int, t: Reals) -> Reals:
        """Interpolation weights of the samples that act in window i, (times, samples)."""
        samples = self.acting(i)[0]
        found = np.zeros((len(t), len(samples)))
        for a, interpolation in enumerate(self.interpolation):
            own = np.flatnonzero(self.sample_inputs[samples] == a)
            own = own[np.argsort(self.sample_times[samples[own]])]
            for unit, column in zip(np.eye(len(own)), own, strict=True):
                found[:, column] = interpolation.values(t, self.sample_times[samples[own]], unit)
        return found

    @cached_property
    def weights(self) -> list[Reals]:
        """Coefficients of inputs in a window's intervals by the samples that act in it, (intervals, coefficients, samples)."""
        found = []
        for i, knots in enumerate(self.acting_knots):
            points = self.knots[knots, None] + self.lengths[knots, None] * sample_positions(self.degree)
            reported = self._sample_weights(i, points.ravel()).reshape(*points.shape, -1)
            found.append(coefficients(reported.transpose(0, 2, 1)).transpose(0, 2, 1))
        return found

    @cached_property
    def measurement_weights(self) -> list[Reals]:
        """Interpolation weights of the samples that act in a window at its measurements, (measurements, samples)."""
        return [self._sample_weights(i, self.times[index]) for i, index in enumerate(self.indices)]


def instants_of(recording: Recording) -> Reals:
    """Times at which windows may begin: of measurements; with noisy inputs, times at which all of these were recorded."""
    last = recording.end
    pool = recording.times
    if recording.noisy:
        columns = [recording.experiment.columns[drive.column] for _, drive in recording.noisy]
        pool = recording.experiment.time[np.isfinite(columns).all(axis=0)]
        if len(pool) < 2:
            raise DataError(
                f"{recording.name}: there is no time at which all noisy inputs ({', '.join(n for n, _ in recording.noisy)}) "
                "were recorded, so that no window can begin; fill their gaps, or give one of them without noise"
            )
    return pool[(pool > recording.begin) & (pool < last)]


def edges_of(recording: Recording, wanted: Reals) -> Reals:
    """Edges of windows near the requested times; the first is the start, the last is the end of the recording."""
    pool = instants_of(recording)
    inside = pool[np.minimum(np.searchsorted(pool, wanted), len(pool) - 1)] if len(pool) and len(wanted) else np.zeros(0)
    edges = np.unique(np.concatenate([[recording.begin], inside, [recording.end]]))
    s = recording.samples
    for a, (name, drive) in enumerate(recording.noisy):
        own = s.times[s.inputs == a]
        least = int(np.diff(np.searchsorted(own, edges[1:-1])).min(initial=len(own)))
        if least <= 2 * drive.interpolation.reach:
            raise DataError(
                f"{recording.name}: a window contains only {least} intervals of {drive.column!r} ({name}); "
                f"use windows of {2 * drive.interpolation.reach + 1} or more"
            )
    return edges


def window_edges(recording: Recording, method: MultipleShooting) -> Reals:
    """Edges of windows of about the given length, or on the given mesh."""
    begin, last = recording.begin, recording.end
    if method.window is None:
        return edges_of(recording, begin + (last - begin) * breaks_of(method.intervals)[1:-1])
    count = (last - begin) / method.window
    if count > MOST_INTERVALS:
        raise ArgumentError(
            f"MultipleShooting: windows of {method.window:g} s would be {count:.3g} in the {last - begin:g} s of "
            f"{recording.name}; at most {MOST_INTERVALS:,} are taken, give longer ones"
        )
    return edges_of(recording, np.linspace(begin, last, max(round(count), 1) + 1)[1:-1])
