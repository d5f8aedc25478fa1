"""A way through the admissible configurations, straight on from the state, past turning points of any coordinate.

The way is that of least bending: a step along the tangent, back onto the position constraints, and the tangent projected onto the
new tangent space. A mechanism of one freedom has no other. Time is the last coordinate; it moves only where constraints do.
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
SHORTENED, LENGTHENED = 0.25, 2.0  # after a step that failed, and after one that did not
ONTO = Newton(tolerance=CLOSED, acceptable=1e3 * CLOSED, max_iterations=12)
FARTHEST = np.pi  # change of any coordinate at which a way ends; twice that, where it is the only one
MOST_STEPS = 120


@dataclass(frozen=True)
class Stop:
    """A configuration on the way: coordinates and time in units of their sizes, the tangent, and how far it is from the start."""

    place: Array
    tangent: Array
    length: float


class Way:
    """Where a mechanism gets from its state when it sets out in one direction."""

    def __init__(self, mechanism: ConstraintManifold, direction: Array, farthest: float = FARTHEST) -> None:
        """`direction`: rates of coordinates, then of time."""
        self.mechanism, self.farthest = mechanism, farthest
        self.ended = False  # whether `stops` came to a place where the constraints could not be kept further
        self._scale = np.append(mechanism.sizes, 1.0)
        size = np.linalg.norm(direction[:-1] / mechanism.sizes)
        if direction[-1] and size:
            self._scale[-1] = direction[-1] / size  # time in units that bring about as much as a radian does
        self._timed = bool(direction[-1])
        start = np.append(mechanism.configuration, 0.0) / self._scale
        tangent = direction / self._scale
        self.start = Stop(start, tangent / np.linalg.norm(tangent), 0.0)

    def coordinates(self, stop: Stop) -> tuple[Array, float]:
        """Coordinates and time in their own units."""
        y = stop.place * self._scale
        return y[:-1], float(y[-1])

    def rates(self, stop: Stop) -> Array:
        """Of coordinates, then of time, by the length of the way."""
        return np.asarray(stop.tangent * self._scale)

    def on(self, stop: Stop, step: float) -> Stop | None:
        """The configuration one step on; None if the constraints cannot be kept."""
        found = self._onto(stop.place + step * stop.tangent)
        if found is None:
            return None
        ahead, slope = found
        if np.linalg.norm(ahead - stop.place - step * stop.tangent) > 0.5 * abs(step):
            return None
        tangent = stop.tangent - np.linalg.lstsq(slope, slope @ stop.tangent, rcond=RTOL)[0] if len(slope) else stop.tangent
        size = float(np.linalg.norm(tangent))
        return Stop(ahead, tangent / size, stop.length + step) if np.isfinite(size) and size > 0.1 else None

    def stops(self) -> Iterator[Stop]:
        """One after the other, as far as the way is of interest or goes."""

        def advance(stop: Stop, length: float) -> Stop | Rejected:
            return self.on(stop, length) or Rejected(SHORTENED)

        walker = CurveTracer(self.start, advance, StepLengths(STEP, SHORTEST, STEP), lambda stop: LENGTHENED)
        for stop in islice(walker, MOST_STEPS):
            yield stop
            moved = stop.place - self.start.place
            if np.abs(moved[:-1]).max() >= self.farthest or (stop.length > 1.0 and self._closed(moved)):
                return
        self.ended = walker.ended

    def _closed(self, moved: Array) -> bool:
        """Whether it has come back to the start: full turns of angles do not count, and time does not matter."""
        lengths = np.array([c.unit == "m" for c in self.mechanism.equations.coordinates])
        apart = np.where(lengths, moved[:-1], 2 * np.sin(moved[:-1] / 2))
        return bool(np.linalg.norm(apart) < STEP)

    def _onto(self, y: Array) -> tuple[Array, Array] | None:
        """The nearest configuration that keeps the constraints, and their slope there."""
        found = ONTO.solve(self._slope, y, LeastNorm(RTOL))
        return (found.point.x, found.point.jacobian) if found.converged else None

    def _slope(self, y: Array) -> tuple[Array, Array] | None:
        """Residuals, and their slope by scaled coordinates and time. Where nothing moves in time, time is held by a row."""
        found = self.mechanism.position_residuals_at((y * self._scale)[:-1], float(y[-1] * self._scale[-1]))
        if found is None:
            return None
        gaps, by_q, by_time = found
        slope = np.column_stack([by_q, by_time if self._timed else np.zeros(len(gaps))]) * self._scale
        return gaps, slope
