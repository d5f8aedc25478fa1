"""How an experiment is cut into windows, and to which of them the samples of noisy inputs belong.

Samples of a noisy input at an edge, and those beside it that count there where the input is smooth, act in both windows: they
belong to the start of the later one. All others belong to the window in which they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.inputs import Between, coefficients, places

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Layout:
    """Edges of windows, and in every window: instants of measurements, instants between which steps are made, samples of inputs.

    Samples of all noisy inputs are numbered through, input by input: `Recording.samples`. `breaks` are further instants at which
    steps end.
    """

    times: Reals  # of measurements
    knots: Reals  # of recorded inputs
    lengths: Reals  # of what begins at them
    edges: Reals
    breaks: Reals
    sample_times: Reals
    sample_inputs: Indices  # to which noisy input a sample belongs
    between: tuple[Between, ...]  # of noisy inputs
    degree: int

    @staticmethod
    def of(recording: Recording, edges: Reals, breaks: Reals) -> Layout:
        s, none = recording.samples, np.zeros(0)
        knots, lengths = (recording.knots, recording.lengths) if recording.recorded else (none, none)
        between = tuple(drive.between for _, drive in recording.noisy)
        return Layout(recording.times, knots, lengths, edges, breaks, s.times, s.inputs, between, recording.degree)

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def indices(self) -> list[Indices]:
        """Measurements in every window; an instant on an edge belongs to the window that begins there."""
        window = np.clip(np.searchsorted(self.edges, self.times, side="right") - 1, 0, self.count - 1)
        return [np.flatnonzero(window == i) for i in range(self.count)]

    @cached_property
    def steps(self) -> list[Reals]:
        """Begin and end, knots and breaks of every window: no step goes across these."""
        stops = np.union1d(self.knots, self.breaks)
        return [
            np.concatenate([[begin], stops[(stops > begin) & (stops < end)], [end]])
            for begin, end in zip(self.edges, self.edges[1:], strict=False)
        ]

    @cached_property
    def grids(self) -> list[Reals]:
        """Those and measurements."""
        return [np.union1d(steps, self.times[index]) for steps, index in zip(self.steps, self.indices, strict=True)]

    # ------------------------------------------------------------ samples of noisy inputs

    @cached_property
    def at_start(self) -> list[Indices]:
        """Samples of inputs that count at the beginning of every window but the first."""
        found = [np.zeros(0, dtype=np.intp)]
        for edge in self.edges[1:-1]:
            near = []
            for a, between in enumerate(self.between):
                own = np.flatnonzero(self.sample_inputs == a)
                at = int(np.searchsorted(self.sample_times[own], edge))
                near.append(own[max(at - between.reach, 0) : at + between.reach + 1])
            found.append(np.concatenate(near) if near else found[0])
        return found

    @cached_property
    def inside(self) -> list[Indices]:
        """Samples of inputs that belong to one window alone."""
        at_edges = np.concatenate(self.at_start)
        rest = np.setdiff1d(np.flatnonzero(self.sample_times <= self.edges[-1]), at_edges)
        window = np.clip(np.searchsorted(self.edges, self.sample_times[rest], side="right") - 1, 0, self.count - 1)
        return [rest[window == i] for i in range(self.count)]

    def acting(self, i: int) -> tuple[Indices, int, int]:
        """Samples that act in window i: of its start, its own, of the next start; and how many of the first two kinds."""
        own = np.concatenate([self.at_start[i], self.inside[i]])
        after = self.at_start[i + 1] if i + 1 < self.count else np.zeros(0, dtype=np.intp)
        return np.concatenate([own, after]), len(self.at_start[i]), len(own)

    @cached_property
    def acting_knots(self) -> list[Indices]:
        """Knots at which intervals of a window begin."""
        return [np.flatnonzero((self.knots >= a) & (self.knots < b)) for a, b in zip(self.edges, self.edges[1:], strict=False)]

    def _counting(self, i: int, t: Reals) -> Reals:
        """By how much the samples that act in window i count at instants in it, (instants, samples)."""
        samples = self.acting(i)[0]
        found = np.zeros((len(t), len(samples)))
        for a, between in enumerate(self.between):
            own = np.flatnonzero(self.sample_inputs[samples] == a)
            own = own[np.argsort(self.sample_times[samples[own]])]
            for unit, column in zip(np.eye(len(own)), own, strict=True):
                found[:, column] = between.values(t, self.sample_times[samples[own]], unit)
        return found

    @cached_property
    def weights(self) -> list[Reals]:
        """Coefficients of inputs in a window's intervals by the samples that act in it, (intervals, coefficients, samples)."""
        found = []
        for i, knots in enumerate(self.acting_knots):
            looks = self.knots[knots, None] + self.lengths[knots, None] * places(self.degree)
            reported = self._counting(i, looks.ravel()).reshape(*looks.shape, -1)
            found.append(coefficients(reported.transpose(0, 2, 1)).transpose(0, 2, 1))
        return found

    @cached_property
    def nearby(self) -> list[Reals]:
        """By how much the samples that act in a window count at its measurements, (measurements, samples)."""
        return [self._counting(i, self.times[index]) for i, index in enumerate(self.indices)]


def instants_of(recording: Recording) -> Reals:
    """Where windows may begin: at measurements, or where inputs are noisy, when all of these were recorded."""
    last = float(recording.times[-1])
    pool = recording.times
    if recording.noisy:
        columns = [recording.experiment.columns[drive.column] for _, drive in recording.noisy]
        pool = recording.experiment.time[np.isfinite(columns).all(axis=0)]
        if len(pool) < 2:
            raise DataError(
                f"{recording.name}: there is no instant at which all noisy inputs ({', '.join(n for n, _ in recording.noisy)}) "
                "were recorded, at which a window could begin; fill their gaps, or give one of them without noise"
            )
    return pool[(pool > 0.0) & (pool < last)]


def edges_of(recording: Recording, wanted: Reals) -> Reals:
    """Edges of windows near the wanted instants; the first is 0, the last one ends with the recording."""
    pool = instants_of(recording)
    inside = pool[np.minimum(np.searchsorted(pool, wanted), len(pool) - 1)] if len(pool) and len(wanted) else np.zeros(0)
    edges = np.unique(np.concatenate([[0.0], inside, [recording.times[-1]]]))
    s = recording.samples
    for a, (name, drive) in enumerate(recording.noisy):
        own = s.times[s.inputs == a]
        least = int(np.diff(np.searchsorted(own, edges[1:-1])).min(initial=len(own)))
        if least <= 2 * drive.between.reach:
            raise DataError(
                f"{recording.name}: between the edges of a window there are only {least} intervals of {drive.column!r} ({name}); "
                f"take windows of {2 * drive.between.reach + 1} or more"
            )
    return edges


def windows_of(recording: Recording, length: float) -> Reals:
    """Edges of windows of about a length."""
    last = float(recording.times[-1])
    return edges_of(recording, np.linspace(0.0, last, max(round(last / length), 1) + 1)[1:-1])
