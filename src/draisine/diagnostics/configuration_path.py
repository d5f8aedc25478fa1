"""Paths through the admissible configurations, past turning points of any coordinate.

A step follows the tangent and is projected onto the position constraints; the tangent is projected onto the new tangent space. A
mechanism of one freedom has no other path. Time is the last coordinate; it changes only where constraints depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.constraint_manifold import CLOSED, ConstraintManifold
from draisine.numerics.continuation import CurveTracer, Rejected, StepLengths
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.rank import RTOL

Array = NDArray[np.float64]

STEP, SHORTEST = 0.06, 1e-5  # of a step, in radians or typical lengths
SHORTENED, LENGTHENED = 0.25, 2.0  # factors after a failed and after a successful step
ONTO = Newton(tolerance=CLOSED, acceptable=1e3 * CLOSED, max_iterations=12)
FARTHEST = np.pi  # change of a coordinate at which a path ends; twice this where there is only one path
MOST_STEPS = 120


@dataclass(frozen=True)
class PathPoint:
    """A configuration on a path: scaled coordinates and time, the tangent, and the arc length from the start."""

    place: Array
    tangent: Array
    length: float


class ConfigurationPath:
    """The path of a mechanism from its state in one direction."""

    def __init__(self, mechanism: ConstraintManifold, direction: Array, farthest: float = FARTHEST) -> None:
        """`direction`: rates of coordinates, then of time."""
        self.mechanism, self.farthest = mechanism, farthest
        self.ended = False  # whether `points` ended where the constraints could not be satisfied
        self._scale = np.append(mechanism.sizes, 1.0)
        size = np.linalg.norm(direction[:-1] / mechanism.sizes)
        if direction[-1] and size:
            self._scale[-1] = direction[-1] / size  # scale time so that its unit changes the configuration by about a radian
        self._timed = bool(direction[-1])
        start = np.append(mechanism.configuration, 0.0) / self._scale
        tangent = direction / self._scale
        self.start = PathPoint(start, tangent / np.linalg.norm(tangent), 0.0)

    def coordinates(self, point: PathPoint) -> tuple[Array, float]:
        """Coordinates and time in their own units."""
        y = point.place * self._scale
        return y[:-1], float(y[-1])

    def rates(self, point: PathPoint) -> Array:
        """Derivatives of coordinates, then of time, by arc length."""
        return np.asarray(point.tangent * self._scale)

    def on(self, point: PathPoint, step: float) -> PathPoint | None:
        """The configuration one step further; None if the constraints cannot be satisfied."""
        found = self._onto(point.place + step * point.tangent)
        if found is None:
            return None
        ahead, jacobian = found
        if np.linalg.norm(ahead - point.place - step * point.tangent) > 0.5 * abs(step):
            return None
        tangent = (
            point.tangent - np.linalg.lstsq(jacobian, jacobian @ point.tangent, rcond=RTOL)[0] if len(jacobian) else point.tangent
        )
        size = float(np.linalg.norm(tangent))
        return PathPoint(ahead, tangent / size, point.length + step) if np.isfinite(size) and size > 0.1 else None

    def points(self) -> Iterator[PathPoint]:
        """Successive configurations, to the end of the path."""

        def advance(point: PathPoint, length: float) -> PathPoint | Rejected:
            return self.on(point, length) or Rejected(SHORTENED)

        walker = CurveTracer(self.start, advance, StepLengths(STEP, SHORTEST, STEP), lambda point: LENGTHENED)
        for point in islice(walker, MOST_STEPS):
            yield point
            moved = point.place - self.start.place
            if np.abs(moved[:-1]).max() >= self.farthest or (point.length > 1.0 and self._closed(moved)):
                return
        self.ended = walker.ended

    def _closed(self, moved: Array) -> bool:
        """Whether the path has returned to the start, modulo full turns of angles; time is ignored."""
        lengths = np.array([c.unit == "m" for c in self.mechanism.equations.coordinates])
        apart = np.where(lengths, moved[:-1], 2 * np.sin(moved[:-1] / 2))
        return bool(np.linalg.norm(apart) < STEP)

    def _onto(self, y: Array) -> tuple[Array, Array] | None:
        """The nearest configuration that satisfies the constraints, and their Jacobian there."""
        found = ONTO.solve(self._jacobian, y, LeastNorm(RTOL))
        return (found.point.x, found.point.jacobian) if found.converged else None

    def _jacobian(self, y: Array) -> tuple[Array, Array] | None:
        """Residuals, and their Jacobian by scaled coordinates and time."""
        found = self.mechanism.position_residuals_at((y * self._scale)[:-1], float(y[-1] * self._scale[-1]))
        if found is None:
            return None
        gaps, by_q, by_time = found
        jacobian = np.column_stack([by_q, by_time if self._timed else np.zeros(len(gaps))]) * self._scale
        return gaps, jacobian
