"""Singular configurations nearby, found by following every freedom of shape both ways.

Along each way three things are watched: the smallest singular value of the constraint rows (where it vanishes they lose rank, and
another motion opens); what a contact needs to have a meaning (a wheel that lies flat has no contact point); and the meaning of
the chosen independent velocities. Where the mechanism has one freedom of position, coordinates that turn back are at dead
centers: nothing that drives such a coordinate alone carries the mechanism over. Where constraints move it, the way is followed in
time; if time turns back, the mechanism cannot follow them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.diagnostics.configuration_path import FARTHEST, Stop, Way
from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.errors import SolverError
from draisine.numerics.rank import RTOL, decompose
from draisine.numerics.root_finding import bisect
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

LOST = 1e-3  # of what is usual, below which a measure counts as vanished
STEEP = 0.75  # of its value a step before or after: a measure that is on its way to zero is less
SMOOTH = 0.8  # cosine between tangents one step apart
SHORT = 1e-3  # step back from the state, to see what turns there
FAR = 0.3  # step along a direction to see whether it matters
TAKING_PART = 0.1  # share of a row in the combination that vanishes, from which it is named
MOST_WAYS, FEW_WAYS = 5, 1  # freedoms that are worth following; few of them in large systems
TIME = "t"


class What(StrEnum):
    """What is singular."""

    RANK = "constraints lose rank"
    MEANING = "a contact loses its meaning"
    CHOICE = "the independent velocities lose their meaning"
    DEAD_CENTER = "a coordinate turns back"
    BEND = "constraints bend sharply"
    END = "constraints cannot be kept further"


@dataclass(frozen=True)
class Singular:
    """A singular configuration.

    - `along`: the coordinate that was followed, or `t`; `change`: by how much it had changed.
    - `at`: values of the freedoms of shape there, by name, and of the coordinate that turns back.
    - `involved`: constraints that depend on each other or bend there, or the coordinate that turns back.
    - `said`: what loses its meaning, in words.
    """

    what: What
    along: str
    change: float
    at: dict[str, float]
    involved: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class Freedom:
    """A named freedom of shape and the direction in which it alone changes: rates of coordinates, then of time."""

    name: str
    direction: Array


@dataclass(frozen=True)
class Measure:
    """Something that vanishes at a singular configuration, and how large it usually is."""

    what: What
    usual: float
    said: str = ""


class Measures:
    """What is watched: the rank of the constraints, then what the equations themselves call singular."""

    def __init__(self, mechanism: ConstraintManifold) -> None:
        self.mechanism = mechanism
        causes = mechanism.equations.causes
        labels = causes.output("value").labels if causes is not None else ()
        # what is said of ties is the rank of their rows; dead centers are found as such
        self._reported_of = [
            k for k, label in enumerate(labels) if not label.startswith(("residual constraint ", "the mechanism is at a dead"))
        ]
        usual = np.median([self.at(q) for q in mechanism.configurations[1:] or mechanism.configurations], axis=0)
        said = ["", *(labels[k] for k in self._reported_of)]
        self.each = [Measure(_kind(label), float(size), label) for label, size in zip(said, usual, strict=True)]

    def at(self, q: Array, t: float = 0.0) -> Array:
        """Values at a configuration."""
        return np.concatenate([[self._least(q, t)], self._meanings(q, t)])

    def _least(self, q: Array, t: float) -> float:
        """Smallest singular value of the rows that count."""
        rows = self.mechanism.rows_at(q, t)
        return float(np.linalg.svd(rows, compute_uv=False)[-1]) if rows.size and np.isfinite(rows).all() else 0.0

    def _meanings(self, q: Array, t: float) -> Array:
        """Of contacts and of the chosen velocities: 1/√ of the squares that grow without bound."""
        e, motion = self.mechanism.equations, self.mechanism.motion
        if e.causes is None:
            return np.zeros(0)
        squares = e.causes([t], np.concatenate([q, motion.x[len(q) :]]), motion.u, motion.p)[0][self._reported_of]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = 1 / np.sqrt(squares)
        return np.asarray(np.where(np.isfinite(values), values, 0.0))

    def change_along(self, direction: Array) -> bool:
        """Whether a direction changes any of them: along ignorable coordinates most do not."""
        way = Way(self.mechanism, direction)
        there = way.on(way.start, FAR)
        here = self.at(self.mechanism.configuration)
        return there is None or bool(np.abs(self.at(*way.coordinates(there)) - here).max() > 1e-6 * np.abs(here).max())


def freedoms_of_shape(mechanism: ConstraintManifold, measures: Measures, ignorable: Sequence[str]) -> list[Freedom]:
    """Named freedoms of position that matter; where constraints move in time and nothing else can, time."""
    e, motion = mechanism.equations, mechanism.motion
    deviations = deviations_of(e)
    count = len(e.coordinates)
    jacobian = deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    try:
        naming = deviations.choose(jacobian)
        span = naming.span(jacobian)[0][:count]
        names, columns = naming.names, span.T
    except SolverError:  # names fail at the state: directions of the tangent space, by the coordinate that moves most
        columns = decompose(mechanism.sample_at(mechanism.configuration).by_q, 0.0, RTOL).null_space.T
        names = tuple(e.coordinates[int(np.argmax(np.abs(c)))].name for c in columns)
    found = [
        Freedom(name, np.append(column, 0.0))
        for name, column in zip(names, columns, strict=True)
        if name not in e.independent and np.abs(np.delete(column, mechanism.lags)).max(initial=0.0) > 0
    ]
    found = [f for f in found if f.name not in ignorable or measures.change_along(f.direction)]
    if not found and mechanism.rheonomic:
        sight = mechanism.sample_at(mechanism.configuration)
        rate = np.linalg.lstsq(sight.by_q * mechanism.sizes, -sight.by_time, rcond=1e-9)[0] * mechanism.sizes
        return [Freedom(TIME, np.append(rate, 1.0))] if np.abs(rate).max(initial=0.0) > 0 else []
    return found


def singular_nearby(mechanism: ConstraintManifold, measures: Measures, freedoms: Sequence[Freedom]) -> list[Singular]:
    """Singular configurations on the ways that begin at the state; at the state itself first."""
    watch = _Watch(mechanism, measures, freedoms)
    found = watch.at_state()
    alone = mechanism.directions - mechanism.position_rank <= 1
    for freedom in freedoms:
        for sense in (1.0, -1.0) if freedom.name != TIME else (1.0,):
            found += watch.follow(freedom, sense, alone)
    return _distinct(found)


class _Watch:
    """Measures along ways."""

    def __init__(self, mechanism: ConstraintManifold, measures: Measures, freedoms: Sequence[Freedom]) -> None:
        self.mechanism, self.measures = mechanism, measures
        self._shown = [f.name for f in freedoms]

    # ---------------------------------------------------------------- where

    def at_state(self) -> list[Singular]:
        """What is singular before anything has moved."""
        q = self.mechanism.configuration
        along = self._shown[0] if self._shown else ""
        gone = (m for m, value in zip(self.measures.each, self.measures.at(q), strict=True) if value < LOST * m.usual)
        return [self._reported(m.what, along, 0.0, q, 0.0, m.said) for m in gone]

    def follow(self, freedom: Freedom, sense: float, alone: bool) -> list[Singular]:
        """Along one way: where a measure vanishes and, where there is no other way, where a coordinate turns back."""
        way = Way(self.mechanism, sense * freedom.direction, 2 * FARTHEST if alone else FARTHEST)
        stops = [way.start, *way.stops()]
        values = np.array([self.measures.at(*way.coordinates(stop)) for stop in stops])
        found: list[tuple[float, Singular]] = []
        for k, measure in enumerate(self.measures.each):
            for stop in self._vanishing(way, stops, values[:, k], k) if measure.usual > 0 else ():
                found.append((stop.length, self._stopped(way, stop, measure.what, freedom.name, measure.said)))
        known = [length for length, _ in found]
        for stop, what in self._broken(way, stops):
            if not any(abs(stop.length - length) < FAR for length in known):
                found.append((stop.length, self._stopped(way, stop, what, freedom.name, "", self._bent(way, stop))))
        for stop, coordinate in self._turning(way, stops) if alone else ():
            found.append((stop.length, self._stopped(way, stop, What.DEAD_CENTER, freedom.name, "", (coordinate,))))
        found.sort(key=lambda pair: pair[0])
        if freedom.name != TIME:
            return [singular for _, singular in found]
        # what is driven turns back as it is driven; only time itself must not, and after that nothing goes on
        ends = min((length for length, s in found if s.involved == (TIME,)), default=np.inf)
        return [s for length, s in found if length <= ends + SHORT and (s.what != What.DEAD_CENTER or s.involved == (TIME,))]

    def _vanishing(self, way: Way, stops: Sequence[Stop], values: Array, measure: int) -> list[Stop]:
        """Where one of the measures comes down to nothing between stops."""
        found = []

        def value(stop: Stop) -> float:
            return float(self.measures.at(*way.coordinates(stop))[measure])

        for k in range(1, len(stops)):
            last = k == len(stops) - 1
            beside = values[k - 1] if last else max(values[k - 1], values[k + 1])
            if values[k] <= values[k - 1] and (last or values[k] <= values[k + 1]) and values[k] < STEEP * beside:
                before, after = stops[k - 1], stops[k] if last else stops[k + 1]
                best = _least_between(way, before, after.length - before.length, value)
                if best is not None and value(best) < LOST * self.measures.each[measure].usual and best.length > 1e-6:
                    found.append(best)
        return found

    def _broken(self, way: Way, stops: Sequence[Stop]) -> list[tuple[Stop, What]]:
        """Where the way has a kink, as it does where a contact point jumps, and where it ends before its time."""
        found = []
        for before, after in pairwise(stops):
            if float(before.tangent @ after.tangent) < SMOOTH:

                def smooth(length: float, before: Stop = before) -> bool:
                    there = way.on(before, length)
                    return there is not None and float(before.tangent @ there.tangent) > SMOOTH

                low, high = bisect(smooth, 0.0, after.length - before.length, 24)
                there = way.on(before, low) if low else before
                if there is not None and high < 0.99 * (after.length - before.length):
                    found.append((there, What.BEND))
        return [*found, *([(stops[-1], What.END)] if way.ended else [])]

    def _bent(self, way: Way, stop: Stop) -> tuple[str, ...]:
        """Position constraints whose slope changes most within a short step, both ways."""
        jacobian = []
        for step in (-SHORT, SHORT):
            there = self.mechanism.position_residuals_at(
                *way.coordinates(Stop(stop.place + step * stop.tangent, stop.tangent, 0.0))
            )
            if there is None:
                return ()
            jacobian.append(there[1] / np.maximum(np.linalg.norm(there[1], axis=1, keepdims=True), 1e-300))
        change = np.linalg.norm(jacobian[1] - jacobian[0], axis=1)
        return tuple(name for name, much in zip(self.mechanism.position_names, change, strict=True) if much > 0.1)

    def _turning(self, way: Way, stops: Sequence[Stop]) -> list[tuple[Stop, str]]:
        """Coordinates that turn back, and where. One that hardly moves is not said to turn."""
        names = [*(c.name for c in self.mechanism.equations.coordinates), TIME]
        back = way.on(way.start, -SHORT)  # a coordinate may turn at the state itself
        along = [*([back] if back is not None else []), *stops[1:]]
        rates = np.array([way.rates(stop) for stop in along])
        found = []
        for j, name in enumerate(names):
            if np.abs(rates[:, j]).max(initial=0.0) < 1e-6:
                continue
            for k in np.flatnonzero(rates[:-1, j] * rates[1:, j] < 0):
                place = _zero_between(way, along[k], along[k + 1].length - along[k].length, j)
                if place is not None:
                    found.append((place, name))
        return found

    # ---------------------------------------------------------------- told

    def _stopped(self, way: Way, stop: Stop, what: What, along: str, said: str, involved: tuple[str, ...] = ()) -> Singular:
        q, t = way.coordinates(stop)
        change = t if along == TIME else self._named(q)[along] - self._named(self.mechanism.configuration)[along]
        return self._reported(what, along, float(change), q, t, said, involved)

    def _reported(
        self, what: What, along: str, change: float, q: Array, t: float, said: str = "", involved: tuple[str, ...] = ()
    ) -> Singular:
        values = self._named(q) | {TIME: t}
        shown = dict.fromkeys([*self._shown, *(involved if what == What.DEAD_CENTER else ())])
        at = {name: round(values[name], 9) + 0.0 for name in shown if name in values}
        if what == What.RANK:
            involved = self._dependent(q, t)
        return Singular(what, along, change, at, involved, said)

    def _named(self, q: Array) -> dict[str, float]:
        """Everything that names a deviation, and every coordinate."""
        e, motion = self.mechanism.equations, self.mechanism.motion
        deviations = deviations_of(e)
        x = np.concatenate([q, motion.x[len(q) :]])
        w = np.zeros(len(q) + len(e.independent))
        values = deviations.naming([0.0], x, motion.u, motion.p, w)[3]
        named = dict(zip((c.name for c in e.coordinates), q.tolist(), strict=True))
        return named | dict(zip(deviations.candidates, values.tolist(), strict=True))

    def _dependent(self, q: Array, t: float) -> tuple[str, ...]:
        """Rows that take part in the combination that vanishes."""
        rows = self.mechanism.rows_at(q, t)
        if not np.isfinite(rows).all():
            return ()
        left = np.linalg.svd(rows)[0][:, -1]
        kept = self.mechanism.selection.kept
        return tuple(self.mechanism.row_names[kept[i]] for i in np.flatnonzero(np.abs(left) > TAKING_PART))


def _kind(label: str) -> What:
    if not label:
        return What.RANK
    return What.CHOICE if label.startswith("the independent velocities") else What.MEANING


def _least_between(way: Way, stop: Stop, span: float, value: Callable[[Stop], float]) -> Stop | None:
    """Where a measure is least within a span of the way, by golden section; it may have a kink there."""
    ratio = (np.sqrt(5) - 1) / 2

    def at(length: float) -> tuple[float, Stop | None]:
        there = way.on(stop, length)
        return (value(there) if there is not None else np.inf), there

    low, high = 0.0, span
    inner, outer = high - ratio * (high - low), low + ratio * (high - low)
    first, second = at(inner), at(outer)
    for _ in range(22):
        if first[0] <= second[0]:
            high, outer, second = outer, inner, first
            inner = high - ratio * (high - low)
            first = at(inner)
        else:
            low, inner, first = inner, outer, second
            outer = low + ratio * (high - low)
            second = at(outer)
    return min((first, second, at(span)), key=lambda found: found[0])[1]


def _zero_between(way: Way, stop: Stop, span: float, coordinate: int) -> Stop | None:
    """Where the rate of a coordinate passes zero."""
    sign = np.sign(way.rates(stop)[coordinate])

    def before(length: float) -> bool:
        there = way.on(stop, length)
        return there is not None and np.sign(way.rates(there)[coordinate]) == sign

    low, high = bisect(before, 0.0, span, 40)
    return way.on(stop, low) if low and way.on(stop, high) is not None else None


def _distinct(found: Sequence[Singular]) -> list[Singular]:
    """Each once: ways both ways round a circle meet."""
    kept: list[Singular] = []
    for one in found:
        same = (s for s in kept if s.what == one.what and s.involved == one.involved and s.said == one.said)
        if not any(_same_place(one.at, s.at) for s in same):
            kept.append(one)
    return kept


def _same_place(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(abs(np.sin((a[n] - b[n]) / 2)) < 1e-4 for n in a)
