"""One level of a start — positions, or velocities — as a small system of equations in scaled changes.

The unknowns y are all coordinates (or all velocities). Some are held at the value wished for, bit by bit; the others are
y = reference + scale · z, so that z = 0 is the reference itself and |z| says how far a start is from it, with metres, radians
and quaternions made comparable. Rows are constraints, which must vanish, and wishes for outputs, which have a target.

A residual r counts as zero by its share r/ρ, where ρ = |target| + Σ |∂r/∂y| · max(|y|, scale): neither units nor size matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]

FULFILLED = 1e-12  # the largest share of a residual that counts as zero
EXACT = 5e-15  # a share that steps need not better
RANK = 1e-10  # singular values of rows of length one below this fraction of the largest count as zero
FAR = 1e3
SAFE = 1e8  # as long as the entries of (AAᵀ)⁻¹ stay below this, rows of length one are independent beyond doubt


@dataclass(frozen=True, eq=False)
class Level:
    """Equations in the scaled changes of the free unknowns.

    `call` gives, for all unknowns, the values of all rows that the problem has and the entries of their Jacobian; `take` says
    which rows count, `source` and `place` which entries of the Jacobian go where in the dense matrix of these rows. `plane` adds
    rows that are linear: matrix · y = offset.
    """

    unknowns: tuple[str, ...]
    labels: tuple[str, ...]  # of the rows
    wished: Bools  # which rows are wishes; the others are constraints
    call: Callable[[Reals], tuple[Reals, Reals]]
    take: Places
    source: Places
    place: Places
    target: Reals
    reference: Reals  # held unknowns have the value wished for
    free: Bools
    scale: Reals
    leap: Reals  # steps of the unknowns beyond this are not believed
    homogeneous: bool = False  # velocities: their size is that of what was wished for, not of the scale
    plane: tuple[Reals, Reals] | None = None

    @cached_property
    def columns(self) -> Places:
        """The free unknowns."""
        return np.flatnonzero(self.free)

    @cached_property
    def spread(self) -> Reals:
        """Scales of the free unknowns."""
        return self.scale[self.columns]

    @cached_property
    def furthest(self) -> Reals:
        """Leaps of the free unknowns, in scales; those of coordinates are not far beyond all that is known of their sizes."""
        leap = self.leap
        if not self.homogeneous:
            known = np.maximum(np.abs(self.reference), self.scale).max(initial=0.0)
            leap = np.minimum(leap, FAR * max(float(known), float(self.sought.max(initial=0.0))))
        return leap[self.columns] / self.spread

    @cached_property
    def sought(self) -> Reals:
        """Sizes of what the rows should be."""
        return np.abs(self.target if self.plane is None else np.concatenate([self.target, self.plane[1]]))

    @cached_property
    def exact(self) -> tuple[Places, Reals]:
        """Rows that are wishes for something else than zero, and the sizes of these."""
        rows = np.flatnonzero(self.wished & (self.target != 0.0))
        return rows, np.abs(self.target[rows])

    @cached_property
    def least(self) -> Reals:
        """Unknowns count as at least this large."""
        if not self.homogeneous:
            return self.scale
        residual, jacobian = self._begin
        rates = np.abs(jacobian) @ self.scale
        needed = np.maximum(np.abs(residual), self.sought)[rates > 0.0] / rates[rates > 0.0]
        size = max(float(needed.max(initial=0.0)), float((np.abs(self.reference) / self.scale).max(initial=0.0)))
        return self.scale * (size if 0.0 < size < np.inf else 1.0)

    @cached_property
    def _begin(self) -> tuple[Reals, Reals]:
        return self._rows(self.reference)

    @property
    def origin(self) -> Reals:
        return np.zeros(len(self.columns))

    def everything(self, z: Reals) -> Reals:
        """All unknowns at the changes z."""
        if len(z) == len(self.reference):
            return self.reference + self.spread * z
        y = self.reference.copy()
        y[self.columns] += self.spread * z
        return y

    def changes(self, y: Reals) -> Reals:
        """The changes that lead to y, as far as its free entries go."""
        return (y - self.reference)[self.columns] / self.spread

    @property
    def wishful(self) -> bool:
        """Whether anything is wished for."""
        return bool(self.wished.any()) or len(self.columns) < len(self.reference)

    def asked(self, base: Level) -> Level:
        """The wishes alone, held unknowns among them, as rows in the unknowns of the base."""
        rows = np.flatnonzero(self.wished)
        width = len(self.reference)
        order = np.full(len(self.take), -1, dtype=np.intp)
        order[rows] = np.arange(len(rows))
        kept = order[self.place // width] >= 0
        place = order[self.place[kept] // width] * width + self.place[kept] % width
        held = np.flatnonzero(~self.free)
        return replace(
            base,
            labels=tuple(self.labels[i] for i in rows) + tuple(self.unknowns[i] for i in held),
            wished=self.wished[rows],
            take=self.take[rows],
            source=self.source[kept],
            place=place,
            target=self.target[rows],
            plane=(np.eye(width)[held], self.reference[held]),
        )

    def _rows(self, y: Reals) -> tuple[Reals, Reals]:
        """Residuals and their Jacobian by all unknowns."""
        r, matrix = np.zeros(0), np.zeros((len(self.take), len(y)))
        if self.take.size:
            values, entries = self.call(y)
            r = values[self.take] - self.target
            matrix.reshape(-1)[self.place] = entries[self.source]
        if self.plane is None:
            return r, matrix
        return np.concatenate([r, self.plane[0] @ y - self.plane[1]]), np.concatenate([matrix, self.plane[0]])

    def at(self, z: Reals) -> Point:
        if not z.any():
            return Point(self, z, self.reference.copy(), *self._begin)
        y = self.everything(z)
        return Point(self, z, y, *self._rows(y))

    def slope(self, z: Reals) -> Reals:
        """The Jacobian by z."""
        return self._rows(self.everything(z))[1][:, self.columns] * self.spread


class Point:
    """Changes z, with the residuals there and what Newton needs of them."""

    def __init__(self, level: Level, z: Reals, y: Reals, residual: Reals, jacobian: Reals) -> None:
        self.level, self.z, self.y = level, z, y
        self.residual, self.jacobian = residual, jacobian  # the latter by all unknowns
        self.straight = False  # whether the Jacobian was the same one step before
        self._sizes = np.abs(jacobian)
        self.weight: Reals = _positive(level.sought + self._sizes @ np.maximum(np.abs(y), level.least))  # ρ
        self.share = self._shares(self.weight)  # the largest residual, as a share of what it is compared with

    def _shares(self, weight: Reals) -> float:
        if not self.residual.size:
            return 0.0
        largest = float((np.abs(self.residual) / weight).max())
        return largest if largest == largest else np.inf

    @property
    def finite(self) -> bool:
        return self.share < np.inf

    @property
    def fulfilled(self) -> bool:
        return self.share <= FULFILLED

    @property
    def strict_share(self) -> float:
        """The share where wishes are compared with what they ask for alone: a slow turn beside a great speed, say."""
        wished, sizes = self.level.exact
        return max(self.share, float((np.abs(self.residual[wished]) / sizes).max(initial=0.0)))

    @cached_property
    def slope(self) -> Reals:
        """The Jacobian by z."""
        whole = len(self.z) == len(self.y)
        return (self.jacobian if whole else self.jacobian[:, self.level.columns]) * self.level.spread

    @cached_property
    def _unit_rows(self) -> tuple[Reals, Reals]:
        """The rows of the slope at length one, and their lengths."""
        lengths = _positive(np.sqrt(np.einsum("ij,ij->i", self.slope, self.slope)))
        return self.slope / lengths[:, None], lengths

    @cached_property
    def _plain_inverse(self) -> Reals | None:
        return _by_products(self._unit_rows[0])

    @property
    def independent(self) -> bool:
        """Whether no row comes close to depending on the others; if not, `rank` decides."""
        return self._plain_inverse is not None

    @cached_property
    def inverse(self) -> Reals:
        """The pseudo-inverse of the slope: redundant rows are seen as such, rows being compared at length one."""
        rows, lengths = self._unit_rows
        plain = self._plain_inverse
        if plain is None:
            left, sizes, right = np.linalg.svd(rows, full_matrices=False)
            kept = sizes > RANK * sizes.max(initial=1e-300)
            plain = (right[kept].T / sizes[kept]) @ left[:, kept].T
        return plain / lengths

    @cached_property
    def rank(self) -> int:
        """Number of independent rows."""
        if self.independent:
            return len(self.residual)
        sizes = np.linalg.svd(self._unit_rows[0], compute_uv=False)
        return int(np.count_nonzero(sizes > RANK * sizes.max(initial=1e-300)))

    def inherit(self, other: Point) -> None:
        """Take over what was computed elsewhere from the same Jacobian, which linear rows have everywhere."""
        difference = np.abs(self.jacobian - other.jacobian).max(initial=0.0)
        self.straight = bool(difference <= 1e-13 * self._sizes.max(initial=0.0))
        if self.straight:
            vars(self).update({name: vars(other)[name] for name in ("slope", "_plain_inverse", "inverse") if name in vars(other)})

    def along(self, direction: Reals) -> Reals:
        """The part of a direction in which no residual changes."""
        return direction - self.inverse @ (self.slope @ direction)


def _positive(sizes: Reals) -> Reals:
    return np.where(sizes == 0.0, 1.0, sizes)


def _by_products(rows: Reals) -> Reals | None:
    """Aᵀ(AAᵀ)⁻¹, which takes a fifth of the time that singular values take; None where rows come close to being dependent."""
    if not len(rows):
        return rows.T
    if len(rows) > rows.shape[1]:
        return None
    try:
        inverse = np.linalg.inv(rows @ rows.T)
    except np.linalg.LinAlgError:
        return None
    return rows.T @ inverse if np.abs(inverse).max() < SAFE else None
