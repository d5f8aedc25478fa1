"""Singular configurations near a state, by following every freedom of shape in both directions.

Along each path three measures are monitored: the smallest singular value of the constraint Jacobian (where it vanishes, the
mechanism can bifurcate); conditions of contacts (a wheel that lies flat has no contact point); and the regularity of the chosen
independent velocities. For a mechanism of one freedom, coordinates that turn back are at dead centers: driving such a coordinate
alone cannot pass them. Where constraints depend on time, the path is followed in time; if time turns back, the mechanism cannot
follow its drive. At the end: conditioning of the independent velocities (`Choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from draisine.diagnostics.configuration_path import FARTHEST, ConfigurationPath, PathPoint
from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.dynamics.reduced.independent_velocities import SWITCH, amplification
from draisine.errors import SolverError
from draisine.numerics.rank import RTOL, decompose
from draisine.numerics.root_finding import bisect
from draisine.stability.deviations import deviations_of

Array = NDArray[np.float64]

LOST = 1e-3  # relative to its usual size, below which a measure counts as zero
STEEP = 0.75  # a measure that approaches zero is below this, relative to its value one step away
SMOOTH = 0.8  # cosine between tangents one step apart
SHORT = 1e-3  # step back from the state, to detect coordinates that turn back there
FAR = 0.3  # step along a direction to test its influence
TAKING_PART = 0.1  # coefficient in the vanishing combination from which a row is named
MOST_PATHS, FEW_PATHS = 5, 1  # freedoms to follow; fewer in large systems
TIME = "t"


class SingularityKind(StrEnum):
    """Kinds of singular configurations."""

    RANK = "constraints lose rank"
    MEANING = "a contact loses its meaning"
    CHOICE = "the independent velocities lose their meaning"
    DEAD_CENTER = "a coordinate turns back"
    KINK = "constraints have a kink"
    END = "constraints cannot be satisfied further"


@dataclass(frozen=True)
class SingularConfiguration:
    """A singular configuration.

    - `along`: the coordinate that was followed, or `t`; `change`: its change from the start.
    - `at`: values of the freedoms of shape, by name, and of the coordinate that turns back.
    - `involved`: constraints that are dependent or have a kink, or the coordinate that turns back.
    - `cause`: a description of the condition that fails.
    """

    what: SingularityKind
    along: str
    change: float
    at: dict[str, float]
    involved: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True)
class Freedom:
    """A named freedom of shape and its direction: rates of coordinates, then of time."""

    name: str
    direction: Array


@dataclass(frozen=True)
class Measure:
    """A quantity that vanishes at a singular configuration, and its usual size."""

    what: SingularityKind
    usual: float
    cause: str = ""


class Measures:
    """The monitored measures: the rank of the constraints, then the causes of singularities that the equations name."""

    def __init__(self, mechanism: ConstraintManifold) -> None:
        self.mechanism = mechanism
        causes = mechanism.equations.causes
        labels = causes.output("value").labels if causes is not None else ()
        # causes about loop closures are covered by the rank; dead centers are detected separately
        self._causes = [
            k for k, label in enumerate(labels) if not label.startswith(("residual constraint ", "the mechanism is at a dead"))
        ]
        usual = np.median([self.at(q) for q in mechanism.configurations[1:] or mechanism.configurations], axis=0)
        cause = ["", *(labels[k] for k in self._causes)]
        self.each = [Measure(_kind(label), float(size), label) for label, size in zip(cause, usual, strict=True)]

    def at(self, q: Array, t: float = 0.0) -> Array:
        """Values at a configuration."""
        return np.concatenate([[self._least(q, t)], self._cause_measures(q, t)])

    def _least(self, q: Array, t: float) -> float:
        """Smallest singular value of the independent rows."""
        rows = self.mechanism.rows_at(q, t)
        return float(np.linalg.svd(rows, compute_uv=False)[-1]) if rows.size and np.isfinite(rows).all() else 0.0

    def _cause_measures(self, q: Array, t: float) -> Array:
        """Measures of contacts and of the chosen velocities: 1/√ of the causes, which grow without bound."""
        e, motion = self.mechanism.equations, self.mechanism.motion
        if e.causes is None:
            return np.zeros(0)
        squares = e.causes([t], np.concatenate([q, motion.x[len(q) :]]), motion.u, motion.p)[0][self._causes]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = 1 / np.sqrt(squares)
        return np.asarray(np.where(np.isfinite(values), values, 0.0))

    def change_along(self, direction: Array) -> bool:
        """Whether a direction changes any of the measures: most ignorable coordinates do not."""
        path = ConfigurationPath(self.mechanism, direction)
        there = path.on(path.start, FAR)
        here = self.at(self.mechanism.configuration)
        return there is None or bool(np.abs(self.at(*path.coordinates(there)) - here).max() > 1e-6 * np.abs(here).max())


def freedoms_of_shape(mechanism: ConstraintManifold, measures: Measures, ignorable: Sequence[str]) -> list[Freedom]:
    """Named freedoms of position that change the measures; time, where only time-dependent constraints cause motion."""
    e, motion = mechanism.equations, mechanism.motion
    deviations = deviations_of(e)
    count = len(e.coordinates)
    derivatives = deviations.derivatives(0.0, motion.x[None], motion.u[None], motion.p[None])
    try:
        naming = deviations.choose(derivatives)
        span = naming.span(derivatives)[0][:count]
        names, columns = naming.names, span.T
    except SolverError:  # without names at the state, use tangent directions, named by the coordinate that moves most
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


def singular_nearby(
    mechanism: ConstraintManifold, measures: Measures, freedoms: Sequence[Freedom]
) -> list[SingularConfiguration]:
    """Singular configurations on the paths from the state; at the state itself first."""
    monitor = _PathMonitor(mechanism, measures, freedoms)
    found = monitor.at_state()
    alone = mechanism.directions - mechanism.position_rank <= 1
    for freedom in freedoms:
        for sense in (1.0, -1.0) if freedom.name != TIME else (1.0,):
            found += monitor.follow(freedom, sense, alone)
    return _distinct(found)


class _PathMonitor:
    """Monitors the measures along paths."""

    def __init__(self, mechanism: ConstraintManifold, measures: Measures, freedoms: Sequence[Freedom]) -> None:
        self.mechanism, self.measures = mechanism, measures
        self._shown = [f.name for f in freedoms]

    # ---------------------------------------------------------------- where

    def at_state(self) -> list[SingularConfiguration]:
        """Singularities at the state itself."""
        q = self.mechanism.configuration
        along = self._shown[0] if self._shown else ""
        gone = (m for m, value in zip(self.measures.each, self.measures.at(q), strict=True) if value < LOST * m.usual)
        return [self._configuration(m.what, along, 0.0, q, 0.0, m.cause) for m in gone]

    def follow(self, freedom: Freedom, sense: float, alone: bool) -> list[SingularConfiguration]:
        """Singular configurations along one path: zeros of measures and, if the path is unique, turning points of coordinates."""
        path = ConfigurationPath(self.mechanism, sense * freedom.direction, 2 * FARTHEST if alone else FARTHEST)
        points = [path.start, *path.points()]
        values = np.array([self.measures.at(*path.coordinates(point)) for point in points])
        found: list[tuple[float, SingularConfiguration]] = []
        for k, measure in enumerate(self.measures.each):
            for point in self._vanishing(path, points, values[:, k], k) if measure.usual > 0 else ():
                found.append((point.length, self._configuration_at(path, point, measure.what, freedom.name, measure.cause)))
        known = [length for length, _ in found]
        for point, what in self._broken(path, points):
            if not any(abs(point.length - length) < FAR for length in known):
                found.append(
                    (point.length, self._configuration_at(path, point, what, freedom.name, "", self._kinked(path, point)))
                )
        for point, coordinate in self._turning(path, points) if alone else ():
            found.append(
                (point.length, self._configuration_at(path, point, SingularityKind.DEAD_CENTER, freedom.name, "", (coordinate,)))
            )
        found.sort(key=lambda pair: pair[0])
        if freedom.name != TIME:
            return [singular for _, singular in found]
        # driven coordinates may turn back; only time must not, and the path ends where it does
        ends = min((length for length, s in found if s.involved == (TIME,)), default=np.inf)
        return [
            s
            for length, s in found
            if length <= ends + SHORT and (s.what != SingularityKind.DEAD_CENTER or s.involved == (TIME,))
        ]

    def _vanishing(self, path: ConfigurationPath, points: Sequence[PathPoint], values: Array, measure: int) -> list[PathPoint]:
        """Where one of the measures vanishes between points."""
        found = []

        def value(point: PathPoint) -> float:
            return float(self.measures.at(*path.coordinates(point))[measure])

        for k in range(1, len(points)):
            last = k == len(points) - 1
            beside = values[k - 1] if last else max(values[k - 1], values[k + 1])
            if values[k] <= values[k - 1] and (last or values[k] <= values[k + 1]) and values[k] < STEEP * beside:
                before, after = points[k - 1], points[k] if last else points[k + 1]
                best = _least_between(path, before, after.length - before.length, value)
                if best is not None and value(best) < LOST * self.measures.each[measure].usual and best.length > 1e-6:
                    found.append(best)
        return found

    def _broken(self, path: ConfigurationPath, points: Sequence[PathPoint]) -> list[tuple[PathPoint, SingularityKind]]:
        """Where the path has a kink, as where a contact point jumps, and where it ends early."""
        found = []
        for before, after in pairwise(points):
            if float(before.tangent @ after.tangent) < SMOOTH:

                def smooth(length: float, before: PathPoint = before) -> bool:
                    there = path.on(before, length)
                    return there is not None and float(before.tangent @ there.tangent) > SMOOTH

                low, high = bisect(smooth, 0.0, after.length - before.length, 24)
                there = path.on(before, low) if low else before
                if there is not None and high < 0.99 * (after.length - before.length):
                    found.append((there, SingularityKind.KINK))
        return [*found, *([(points[-1], SingularityKind.END)] if path.ended else [])]

    def _kinked(self, path: ConfigurationPath, point: PathPoint) -> tuple[str, ...]:
        """Position constraints whose gradient changes most within a short step."""
        derivatives = []
        for step in (-SHORT, SHORT):
            there = self.mechanism.position_residuals_at(
                *path.coordinates(PathPoint(point.place + step * point.tangent, point.tangent, 0.0))
            )
            if there is None:
                return ()
            derivatives.append(there[1] / np.maximum(np.linalg.norm(there[1], axis=1, keepdims=True), 1e-300))
        change = np.linalg.norm(derivatives[1] - derivatives[0], axis=1)
        return tuple(name for name, much in zip(self.mechanism.position_names, change, strict=True) if much > 0.1)

    def _turning(self, path: ConfigurationPath, points: Sequence[PathPoint]) -> list[tuple[PathPoint, str]]:
        """Coordinates that turn back, and where; coordinates that hardly move are ignored."""
        names = [*(c.name for c in self.mechanism.equations.coordinates), TIME]
        back = path.on(path.start, -SHORT)  # a coordinate may turn at the state itself
        along = [*([back] if back is not None else []), *points[1:]]
        rates = np.array([path.rates(point) for point in along]).reshape(len(along), len(names))
        found = []
        for j, name in enumerate(names):
            if np.abs(rates[:, j]).max(initial=0.0) < 1e-6:
                continue
            for k in np.flatnonzero(rates[:-1, j] * rates[1:, j] < 0):
                place = _zero_between(path, along[k], along[k + 1].length - along[k].length, j)
                if place is not None:
                    found.append((place, name))
        return found

    # ---------------------------------------------------------------- results

    def _configuration_at(
        self,
        path: ConfigurationPath,
        point: PathPoint,
        what: SingularityKind,
        along: str,
        cause: str,
        involved: tuple[str, ...] = (),
    ) -> SingularConfiguration:
        q, t = path.coordinates(point)
        change = t if along == TIME else self._named(q)[along] - self._named(self.mechanism.configuration)[along]
        return self._configuration(what, along, float(change), q, t, cause, involved)

    def _configuration(
        self,
        what: SingularityKind,
        along: str,
        change: float,
        q: Array,
        t: float,
        cause: str = "",
        involved: tuple[str, ...] = (),
    ) -> SingularConfiguration:
        values = self._named(q) | {TIME: t}
        shown = dict.fromkeys([*self._shown, *(involved if what == SingularityKind.DEAD_CENTER else ())])
        at = {name: round(values[name], 9) + 0.0 for name in shown if name in values}
        if what == SingularityKind.RANK:
            involved = self._dependent(q, t)
        return SingularConfiguration(what, along, change, at, involved, cause)

    def _named(self, q: Array) -> dict[str, float]:
        """Values of all coordinates and candidate names."""
        e, motion = self.mechanism.equations, self.mechanism.motion
        deviations = deviations_of(e)
        x = np.concatenate([q, motion.x[len(q) :]])
        w = np.zeros(len(q) + len(e.independent))
        values = deviations.names_program([0.0], x, motion.u, motion.p, w)[3]
        named = dict(zip((c.name for c in e.coordinates), q.tolist(), strict=True))
        return named | dict(zip(deviations.candidates, values.tolist(), strict=True))

    def _dependent(self, q: Array, t: float) -> tuple[str, ...]:
        """Rows of the combination that vanishes."""
        rows = self.mechanism.rows_at(q, t)
        if not np.isfinite(rows).all():
            return ()
        left = np.linalg.svd(rows)[0][:, -1]
        kept = self.mechanism.selection.kept
        return tuple(self.mechanism.row_names[kept[i]] for i in np.flatnonzero(np.abs(left) > TAKING_PART))


def _kind(label: str) -> SingularityKind:
    if not label:
        return SingularityKind.RANK
    return SingularityKind.CHOICE if label.startswith("the independent velocities") else SingularityKind.MEANING


def _least_between(
    path: ConfigurationPath, point: PathPoint, span: float, value: Callable[[PathPoint], float]
) -> PathPoint | None:
    """The minimum of a measure within a span of the path, by golden section; it may have a kink there."""
    ratio = (np.sqrt(5) - 1) / 2

    def at(length: float) -> tuple[float, PathPoint | None]:
        there = path.on(point, length)
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


def _zero_between(path: ConfigurationPath, point: PathPoint, span: float, coordinate: int) -> PathPoint | None:
    """Where the rate of a coordinate crosses zero."""
    sign = np.sign(path.rates(point)[coordinate])

    def before(length: float) -> bool:
        there = path.on(point, length)
        return there is not None and np.sign(path.rates(there)[coordinate]) == sign

    low, high = bisect(before, 0.0, span, 40)
    return path.on(point, low) if low and path.on(point, high) is not None else None


def _distinct(found: Sequence[SingularConfiguration]) -> list[SingularConfiguration]:
    """Each configuration once: paths in both directions around a closed curve meet."""
    kept: list[SingularConfiguration] = []
    for one in found:
        same = (s for s in kept if s.what == one.what and s.involved == one.involved and s.cause == one.cause)
        if not any(_same_place(one.at, s.at) for s in same):
            kept.append(one)
    return kept


def _same_place(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(abs(np.sin((a[n] - b[n]) / 2)) < 1e-4 for n in a)


# ---------------------------------------------------------------- independent velocities


@dataclass(frozen=True)
class Choice:
    """Independent velocities with their amplification of the others at the state and at worst near it, and, where it is poor, a
    better choice. Infinite means that they do not determine the others."""

    independent: tuple[str, ...]
    here: float
    nearby: float
    better: tuple[str, ...] = ()
    better_here: float | None = None

    @property
    def poor(self) -> bool:
        """Whether a simulation would switch to another choice."""
        return self.here > SWITCH


def choice_of(mechanism: ConstraintManifold) -> Choice | None:
    """The choice of the reduced equations; None where no velocity was eliminated."""
    e = mechanism.equations
    if not e.independent or len(e.independent) == len(e.velocities):
        return None
    rows = np.array(
        [mechanism.kept_rows(s) for s in (mechanism.sample_at(mechanism.configuration), *mechanism.samples) if s.finite]
    )
    if not len(rows):
        return Choice(e.independent, np.inf, np.inf)
    amplified = amplification(rows, mechanism.velocities, e.independent)
    here, nearby = float(amplified[0]), float(amplified.max())
    if here <= SWITCH:
        return Choice(e.independent, here, nearby)
    velocities = dict.fromkeys(tuple(n for n in names if n in mechanism.velocities) for names in e.alternates)
    others = {names: float(amplification(rows[:1], mechanism.velocities, names)[0]) for names in velocities}
    best = min(others, key=others.__getitem__, default=None)
    if best is None or others[best] >= here:
        return Choice(e.independent, here, nearby)
    return Choice(e.independent, here, nearby, best, others[best])
