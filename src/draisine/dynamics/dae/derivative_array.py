"""The derivative array [F; Ḟ; F̈; …] and the differential index by its ranks (Campbell & Gear, Numer. Math. 72, 1995).

After ν differentiations there are (ν + 1) n equations for ẏ, ÿ, …, y^(ν+1). They determine ẏ, with y given, if no vector of the
null space of their Jacobian has a part in ẏ. The smallest such ν is the differential index. Ranks are taken at a
consistent point, where y and its derivatives satisfy the whole array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.newton import Linearized, Newton
from draisine.numerics.rank import RTOL, decompose, equilibrate, rank_of
from draisine.program.program import DaeResidual
from draisine.program.taylor_series import along

Reals = NDArray[np.float64]

FOUND = 1e-10  # residuals of a consistent point, relative to the terms of the rows
CONSISTENT = Newton(tolerance=1e-15, acceptable=FOUND, max_iterations=60, patience=8)
ON_UNKNOWNS = 1e-7  # smallest significant singular value of conditions on y, rows and columns scaled
DETERMINED = 1e-6  # component of a null vector below which a rate is determined


@dataclass(frozen=True)
class FixedArguments:
    """Time, inputs and parameters of a point."""

    t: float
    u: Reals
    p: Reals


@dataclass(frozen=True)
class Point:
    """Unknowns and their derivatives that satisfy a derivative array: one row per order."""

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
    """Results of ν differentiations: which rates they determine, and the number of conditions on y alone."""

    times: int
    determined: tuple[bool, ...]
    conditions: int
    kept: float  # smallest significant singular value, as a fraction of the largest
    dropped: float  # largest insignificant one


class DerivativeArray:
    """F and its derivatives up to an order, at constant inputs, with their Jacobian by y, ẏ, …, y^(order + 1).

    Nothing is differentiated symbolically: F, ∂F/∂y and ∂F/∂ẏ are evaluated on power series. With their derivatives G, H along
    the curve, ∂F^(k)/∂y^(l) = C(k, l) G^(k−l) + C(k, l−1) H^(k−l+1)."""

    def __init__(self, dynamics: DaeResidual, order: int) -> None:
        self.size, self.order = dynamics.size, order
        self._dynamics = dynamics

    def evaluate(self, jets: Reals, others: FixedArguments) -> tuple[Reals, Reals]:
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
        jacobian = np.zeros((length, n, length + 1, n))
        for k in range(length):
            for l in range(k + 1):
                jacobian[k, :, l] += math.comb(k, l) * by_y[k - l]
                jacobian[k, :, l + 1] += math.comb(k, l) * by_rate[k - l]
        return (values * factorials[:length]).T.ravel(), jacobian.reshape(length * n, -1)

    def _matrices(self, entries: Reals) -> Reals:
        """Dense Jacobians, one for each derivative."""
        rows, columns = self._dynamics.pattern
        found = np.zeros((entries.shape[1], self.size, self.size))
        found[:, rows, columns] = entries.T
        return found

    # ---------------------------------------------------------------- consistent points

    def consistent(self, y: Reals, others: FixedArguments, fixed: NDArray[np.bool_]) -> Point:
        """A point near y that satisfies the array, with the least change of the unknowns that are not `fixed`.

        Order by order: the solution of a shorter array is the initial guess of a longer one.
        """
        nothing = np.zeros((1, self.size))
        point = Point(np.vstack([y, nothing]), np.inf)
        for order in range(1, self.order + 1):
            array = self if order == self.order else DerivativeArray(self._dynamics, order)
            point = array._refined(np.vstack([point.jets, nothing]), others, fixed)
            if not point.consistent:
                missing = np.zeros((self.order - order, self.size))
                return Point(np.vstack([point.jets, missing]), point.residual)
        return point

    def _refined(self, jets: Reals, others: FixedArguments, fixed: NDArray[np.bool_]) -> Point:

        def evaluate(flat: Reals) -> tuple[Reals, Reals]:
            values, jacobian = self.evaluate(flat.reshape(jets.shape), others)
            size = 1.0 + np.abs(jacobian) @ np.abs(flat)
            return values / size, jacobian / size[:, None]

        found = CONSISTENT.solve(evaluate, jets.ravel(), lambda point: self._step(point, fixed))
        return Point(found.point.x.reshape(jets.shape), found.residual)

    def _step(self, point: Linearized, fixed: NDArray[np.bool_]) -> Reals:
        """A Gauss–Newton step that changes y only where derivatives cannot satisfy the rows."""
        n, values, jacobian = self.size, point.residual, point.jacobian
        free = np.flatnonzero(~fixed)
        step = np.zeros((self.order + 2, n))
        scaled, rows, columns = equilibrate(jacobian[:, n:])
        rates = decompose(scaled)
        if free.size:
            blind = rates.left_null_space.T * rows  # combinations of rows that are independent of the derivatives
            step[0, free] = -np.linalg.pinv(blind @ jacobian[:, free], rcond=RTOL) @ (blind @ values)
        step[1:] = (-columns * rates.solve(rows * (values + jacobian[:, :n] @ step[0]))).reshape(-1, n)
        return step.ravel()

    # ---------------------------------------------------------------- ranks

    def ranks(self, jacobian: Reals, times: int) -> Ranks:
        """What the first `times` differentiations determine, by the Jacobian of the array at a point."""
        n = self.size
        rows = jacobian[: (times + 1) * n, : (times + 2) * n]
        scaled, row_scale, _ = equilibrate(rows[:, n:])
        rates = decompose(scaled)
        loose = np.linalg.norm(
            rates.null_space[:n], axis=1
        )  # of scaled unknowns, so that small units (microfarads) do not matter
        blind = rates.left_null_space.T * row_scale
        on_y = equilibrate(blind @ rows[:, :n])[0]
        return Ranks(times, tuple(bool(part < DETERMINED) for part in loose), rank_of(on_y, 0.0, ON_UNKNOWNS), *rates.gap)


def differential_index(
    dynamics: DaeResidual,
    y: Reals,
    others: FixedArguments,
    fixed: NDArray[np.bool_],
    least: int,
    most: int,
    nearest_consistent: Callable[[], Reals],
) -> tuple[Point, list[Ranks]]:
    """A consistent point near y, and the ranks for ν = 0, 1, … up to the index there; without one, up to `most`.

    The array is longer than the index by at least one: a point is consistent only up to the order of the array. Where the states
    cannot be kept, `nearest_consistent` gives another initial guess.
    """
    order = min(max(least, 2), most)
    while True:
        array = DerivativeArray(dynamics, order)
        point = array.consistent(y, others, fixed | np.array(dynamics.differential))  # states are kept if possible
        if not point.consistent:
            point = array.consistent(nearest_consistent(), others, fixed)
        jacobian, found = array.evaluate(point.jets, others)[1], list[Ranks]()
        while len(found) <= order and not (found and all(found[-1].determined)):
            found.append(array.ranks(jacobian, len(found)))
        if order >= most or (all(found[-1].determined) and found[-1].times < order):
            return point, found
        order = min(order + 2, most)
