"""The derivative array [F; Ḟ; F̈; …] and the differential index by its ranks (Campbell & Gear, Numer. Math. 72, 1995).

After ν differentiations there are (ν + 1) n equations for ẏ, ÿ, …, y^(ν+1). They determine ẏ, with y given, if no vector of the
null space of their Jacobian has a part in ẏ. The smallest such ν is the differential index. Ranks are those at a consistent
point: y and derivatives that fulfil the whole array, which is where solutions are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton import Linearized, Newton
from draisine.numerics.rank import RTOL, decompose, equilibrate, rank_of
from draisine.program.dae_residual import DaeResidual
from draisine.program.taylor_series import along

Reals = NDArray[np.float64]

FOUND = 1e-10  # residuals of a consistent point, relative to what the rows are made of
CONSISTENT = Newton(tolerance=1e-15, acceptable=FOUND, max_iterations=60, patience=8)
ON_UNKNOWNS = 1e-7  # singular values of conditions on y, rows and columns scaled, that count
DETERMINED = 1e-6  # part of a null vector below which a rate counts as determined


@dataclass(frozen=True)
class Others:
    """Time, inputs and parameters: what a point is judged at."""

    t: float
    u: Reals
    p: Reals


@dataclass(frozen=True)
class Point:
    """Unknowns and their derivatives that fulfil a derivative array: one row per order."""

    jets: Reals
    residual: float  # largest, relative to the size of its row's terms

    @property
    def y(self) -> Reals:
        return self.jets[0]

    @property
    def consistent(self) -> bool:
        return self.residual <= FOUND


@dataclass(frozen=True)
class Ranks:
    """What ν differentiations tell: which rates they determine, how many conditions on y alone they hold."""

    times: int
    determined: tuple[bool, ...]
    conditions: int
    kept: float  # the smallest singular value that counts, as a fraction of the largest
    dropped: float  # the largest that does not


class DerivativeArray:
    """F and its derivatives up to an order, inputs held constant, with their Jacobian by y, ẏ, …, y^(order + 1).

    Nothing is differentiated in symbols: F, ∂F/∂y and ∂F/∂ẏ are run over power series. With their derivatives G, H along the
    curve, ∂F^(k)/∂y^(l) = C(k, l) G^(k−l) + C(k, l−1) H^(k−l+1).
    """

    def __init__(self, dynamics: DaeResidual, order: int) -> None:
        self.size, self.order = dynamics.size, order
        self._dynamics = dynamics

    def evaluate(self, jets: Reals, others: Others) -> tuple[Reals, Reals]:
        """Values, and their Jacobian by all jets."""
        n, length = self.size, self.order + 1
        factorials = np.array([math.factorial(k) for k in range(length + 1)], dtype=float)
        coefficients = jets / factorials[:, None]
        time = np.zeros((1, length))
        time[0, :2] = [others.t, 1.0][:length]
        rates = (np.arange(1, length + 1)[:, None] * coefficients[1:]).T
        still = [np.column_stack([v, np.zeros((len(v), length - 1))]) for v in (others.u, others.p)]
        arguments = (time, coefficients[:-1].T, rates, *still)
        (values,) = along(self._dynamics.residual, *arguments)
        by_y, by_rate = (self._matrices(m * factorials[:length]) for m in along(self._dynamics.jacobian, *arguments))
        slope = np.zeros((length, n, length + 1, n))
        for k in range(length):
            for l in range(k + 1):
                slope[k, :, l] += math.comb(k, l) * by_y[k - l]
                slope[k, :, l + 1] += math.comb(k, l) * by_rate[k - l]
        return (values * factorials[:length]).T.ravel(), slope.reshape(length * n, -1)

    def _matrices(self, entries: Reals) -> Reals:
        """Derivative by derivative, the entries of a Jacobian in their places."""
        rows, columns = self._dynamics.pattern
        found = np.zeros((entries.shape[1], self.size, self.size))
        found[:, rows, columns] = entries.T
        return found

    # ---------------------------------------------------------------- consistent points

    def consistent(self, y: Reals, others: Others, held: NDArray[np.bool_]) -> Point:
        """The array fulfilled by derivatives and by unknowns near y, those not `held` moved as little as will do.

        Order by order: what a shallower array has found is a good start for a deeper one.
        """
        nothing = np.zeros((1, self.size))
        point = Point(np.vstack([y, nothing]), np.inf)
        for order in range(1, self.order + 1):
            array = self if order == self.order else DerivativeArray(self._dynamics, order)
            point = array._refined(np.vstack([point.jets, nothing]), others, held)
            if not point.consistent:
                missing = np.zeros((self.order - order, self.size))
                return Point(np.vstack([point.jets, missing]), point.residual)
        return point

    def _refined(self, jets: Reals, others: Others, held: NDArray[np.bool_]) -> Point:

        def evaluate(flat: Reals) -> tuple[Reals, Reals]:
            values, slope = self.evaluate(flat.reshape(jets.shape), others)
            size = 1.0 + np.abs(slope) @ np.abs(flat)
            return values / size, slope / size[:, None]

        found = CONSISTENT.solve(evaluate, jets.ravel(), lambda point: self._step(point, held))
        return Point(found.point.x.reshape(jets.shape), found.residual)

    def _step(self, point: Linearized, held: NDArray[np.bool_]) -> Reals:
        """A Gauss–Newton step that leaves y alone as far as derivatives can do it."""
        n, values, slope = self.size, point.residual, point.jacobian
        free = np.flatnonzero(~held)
        step = np.zeros((self.order + 2, n))
        scaled, rows, columns = equilibrate(slope[:, n:])
        rates = decompose(scaled)
        if free.size:
            blind = rates.left_null_space.T * rows  # combinations of rows that no derivative changes
            step[0, free] = -np.linalg.pinv(blind @ slope[:, free], rcond=RTOL) @ (blind @ values)
        step[1:] = (-columns * rates.solve(rows * (values + slope[:, :n] @ step[0]))).reshape(-1, n)
        return step.ravel()

    # ---------------------------------------------------------------- ranks

    def ranks(self, slope: Reals, times: int) -> Ranks:
        """What the first `times` differentiations determine, by the Jacobian of the array at a point."""
        n = self.size
        rows = slope[: (times + 1) * n, : (times + 2) * n]
        scaled, row_scale, _ = equilibrate(rows[:, n:])
        rates = decompose(scaled)
        loose = np.linalg.norm(rates.null_space[:n], axis=1)  # of scaled unknowns: microfarads are no reason to be overlooked
        blind = rates.left_null_space.T * row_scale
        on_y = equilibrate(blind @ rows[:, :n])[0]
        return Ranks(times, tuple(bool(part < DETERMINED) for part in loose), rank_of(on_y, 0.0, ON_UNKNOWNS), *rates.gap)


def differential_index(
    dynamics: DaeResidual,
    y: Reals,
    others: Others,
    held: NDArray[np.bool_],
    least: int,
    most: int,
    closer: Callable[[], Reals],
) -> tuple[Point, list[Ranks]]:
    """A consistent point near y, and the ranks for ν = 0, 1, … up to the index there; without one, up to `most`.

    The array is deeper than the index by one at least: a point is consistent only as far as the array goes. Where states cannot
    stay as they are, `closer` gives where to begin instead.
    """
    order = min(max(least, 2), most)
    while True:
        array = DerivativeArray(dynamics, order)
        point = array.consistent(y, others, held | np.array(dynamics.differential))  # states stay where they can
        if not point.consistent:
            point = array.consistent(closer(), others, held)
        slope, found = array.evaluate(point.jets, others)[1], list[Ranks]()
        while len(found) <= order and not (found and all(found[-1].determined)):
            found.append(array.ranks(slope, len(found)))
        if order >= most or (all(found[-1].determined) and found[-1].times < order):
            return point, found
        order = min(order + 2, most)
