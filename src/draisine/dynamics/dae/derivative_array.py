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

from draisine.program.dae_residual import Implicit
from draisine.program.taylor_series import along

Reals = NDArray[np.float64]

RANK = 1e-9  # singular values below this fraction of the largest count as zero, rows and columns scaled
FOUND = 1e-10  # residuals of a consistent point, relative to what the rows are made of
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

    def __init__(self, dynamics: Implicit, order: int) -> None:
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
        best, idle = Point(jets, np.inf), 0
        for _ in range(60):
            values, slope = self.evaluate(jets, others)
            if not (np.isfinite(values).all() and np.isfinite(slope).all()):
                break
            size = 1.0 + np.abs(slope) @ np.abs(jets.ravel())
            point = Point(jets.copy(), float(np.abs(values / size).max()))
            idle = 0 if point.residual < 0.9 * best.residual else idle + 1
            best = min(best, point, key=lambda p: p.residual)
            if best.residual <= 1e-15 or (best.consistent and idle) or idle > 8:
                break
            jets = jets + self._step(values / size, slope / size[:, None], held)
        return best

    def _step(self, values: Reals, slope: Reals, held: NDArray[np.bool_]) -> Reals:
        """A Gauss–Newton step that leaves y alone as far as derivatives can do it."""
        n = self.size
        free, rates = np.flatnonzero(~held), slope[:, n:]
        step = np.zeros((self.order + 2, n))
        scaled, rows, columns = scaled_matrix(rates)
        left, sizes, right = np.linalg.svd(scaled)
        rank = int(np.count_nonzero(sizes > RANK * max(float(sizes.max(initial=0.0)), 1e-300)))
        if free.size:
            blind = left[:, rank:].T * rows  # combinations of rows that no derivative changes
            step[0, free] = -np.linalg.pinv(blind @ slope[:, free], rcond=1e-9) @ (blind @ values)
        rest = rows * (values + slope[:, :n] @ step[0])
        step[1:] = (-columns * (right[:rank].T @ (left[:, :rank].T @ rest / sizes[:rank]))).reshape(-1, n)
        return step

    # ---------------------------------------------------------------- ranks

    def ranks(self, slope: Reals, times: int) -> Ranks:
        """What the first `times` differentiations determine, by the Jacobian of the array at a point."""
        n = self.size
        rows = slope[: (times + 1) * n, : (times + 2) * n]
        scaled, row_scale, _ = scaled_matrix(rows[:, n:])
        left, sizes, right = np.linalg.svd(scaled)
        largest = max(float(sizes.max(initial=0.0)), 1e-300)
        rank = int(np.count_nonzero(sizes > RANK * largest))
        loose = np.linalg.norm(right[rank:, :n], axis=0)  # of scaled unknowns: microfarads are no reason to be overlooked
        blind = left[:, rank:].T * row_scale
        on_y = scaled_matrix(blind @ rows[:, :n])[0] if len(blind) else np.zeros((0, n))
        kept, dropped = (float(sizes[rank - 1]) if rank else 1.0), (float(sizes[rank]) if rank < len(sizes) else 0.0)
        return Ranks(
            times,
            tuple(bool(part < DETERMINED) for part in loose),
            int(np.linalg.matrix_rank(on_y, tol=1e-7)) if on_y.size else 0,
            kept / largest,
            dropped / largest,
        )


def scaled_matrix(matrix: Reals) -> tuple[Reals, Reals, Reals]:
    """R M C with rows and columns of largest entry near 1, and the diagonals of R and C."""
    rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    for _ in range(6):
        scaled = np.abs(matrix * rows[:, None] * columns)
        for axis, factors in ((1, rows), (0, columns)):
            largest = scaled.max(axis=axis, initial=0.0)
            factors /= np.sqrt(np.where(largest > 0, largest, 1.0))
    return matrix * rows[:, None] * columns, rows, columns


def differential_index(
    dynamics: Implicit,
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
