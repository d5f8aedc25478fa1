"""Integrability of velocity constraints: growth of the admissible directions under Lie brackets.

The admissible velocities q̇ are spanned by vector fields X₁ … X_k. If a bracket [X_i, X_j] gives a new direction, the constraint
that excludes this direction forbids no position. Combinations of constraints whose directions no bracket reaches are integrable,
that is, holonomic (Frobenius; Chow and Rashevskii). The dimensions reached by brackets of depth 1, 2, … are the growth vector.

Time-dependent constraints, A v + a₀ = 0, are treated in space-time: (1, q̇ at rest) is one more field, and its direction is not
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold, ConstraintSample
from draisine.numerics.rank import decompose, independent_columns, row_rank

Array = NDArray[np.float64]

DEEPEST = 6
SMALL = 1e-6  # coefficient that counts as zero
NEW = 1e-7  # component of a unit direction outside the reached space from which it counts as new
MOST_BRACKETS = 150  # of one depth; with more, the growth is not computed


@dataclass(frozen=True)
class Integrable:
    """A combination of velocity constraints that is integrable although it is not the rate of a position constraint.

    `terms` are constraint → coefficient at one configuration; `constant` is False where they differ at another.
    """

    terms: dict[str, float]
    constant: bool


@dataclass(frozen=True)
class Growth:
    """Growth of the admissible directions under brackets.

    - `dimensions`: the growth vector at generic configurations; `here`: at the state itself, where it may grow more slowly; None
      where it is not defined at the state.
    - `directions`: dimension of the velocities that change coordinates.
    - `known`: position constraints of the model; `disguised`: integrable combinations of velocity constraints.
    - `nonholonomic`: number of independent nonintegrable combinations of constraints; `among`: the constraints they involve.
    - `complete`: whether the brackets were computed until nothing new appeared.
    """

    dimensions: tuple[int, ...]
    here: tuple[int, ...] | None
    directions: int
    known: tuple[str, ...]
    disguised: tuple[Integrable, ...]
    nonholonomic: int
    among: tuple[str, ...]
    complete: bool

    @property
    def reached(self) -> int:
        """Dimension of the set of positions that can be reached from one of them."""
        return self.dimensions[-1]


def growth(mechanism: ConstraintManifold) -> Growth:
    """Growth vector of a mechanism, and its integrable constraints."""
    known = tuple(mechanism.position_names[k] for k in mechanism.holonomic)
    free = mechanism.directions - _forbidden_directions(mechanism)
    if _all_from_positions(mechanism):
        return Growth((free,), (free,), mechanism.directions, known, (), 0, (), True)
    space = _FieldSpace(mechanism)
    reached, complete = _bracket_closure(space, mechanism.directions - mechanism.position_rank)
    disguised, among = _integrable(mechanism, space, reached) if mechanism.unreduced is not None else ((), ())
    generic, _, here = reached
    return Growth(
        dimensions=generic.dimensions,
        here=here.dimensions if here.dimensions[0] == free else None,
        directions=mechanism.directions,
        known=known,
        disguised=disguised,
        nonholonomic=generic.dimension - free,
        among=among,
        complete=complete,
    )


def _forbidden_directions(mechanism: ConstraintManifold) -> int:
    """Number of coordinate directions that the velocity constraints exclude."""
    if mechanism.unreduced is None:
        return len(mechanism.selection.kept)
    best = 0
    for sight in mechanism.samples:
        rows = mechanism.kept_rows(sight)
        left = np.linalg.svd(rows)[2][row_rank(rows) :].T if len(rows) else np.eye(len(mechanism.velocities))
        best = max(best, mechanism.directions - row_rank((sight.velocity_map @ left).T))
    return best


def _all_from_positions(mechanism: ConstraintManifold) -> bool:
    """Whether every velocity constraint is the rate of position constraints."""
    if not mechanism.row_names:
        return True
    if mechanism.unreduced is None:
        return len(mechanism.selection.kept) == mechanism.position_rank
    joint = max(row_rank(np.vstack([mechanism.kept_rows(s), mechanism.position_rows(s)])) for s in mechanism.samples)
    return joint == mechanism.position_rank


class _FieldSpace:
    """The space of the fields: coordinates, preceded by time where constraints depend on it."""

    def __init__(self, mechanism: ConstraintManifold) -> None:
        self.mechanism = mechanism
        self.timed = mechanism.rheonomic
        self.ordinary = (
            mechanism.configurations[-1],
            mechanism.configurations[-2 if len(mechanism.configurations) > 2 else -1],
        )  # generic configurations
        eliminated = len(mechanism.equations.independent) < len(mechanism.velocities)
        self.y, self.fields = self._reduced() if eliminated else self._solved()

    def _fields(self, y: Any, kind: type, columns: Any, rest: Any) -> tuple[Any, list[Any]]:
        parts = [columns[:, i] for i in range(columns.shape[1])]
        if not self.timed:
            return y, parts
        return y, [ca.vertcat(kind(1), rest), *(ca.vertcat(kind(0), part) for part in parts)]

    def _reduced(self) -> tuple[Any, list[Any]]:
        mechanism = self.mechanism
        values = [ca.DM(mechanism.motion.u), ca.DM(mechanism.motion.p)]
        columns, rest = ca.substitute(list(mechanism.state_kinematics), [mechanism.u, mechanism.p], values)
        y = ca.vertcat(mechanism.t, mechanism.q) if self.timed else mechanism.q
        if not self.timed:
            columns, rest = ca.substitute([columns, rest], [mechanism.t], [ca.SX(0)])
        return self._fields(y, ca.SX, columns, rest)

    def _solved(self) -> tuple[Any, list[Any]]:
        """Rows solved for as many velocities, numerically: derivatives of a solution are solutions with the same matrix."""
        mechanism = self.mechanism
        sight = mechanism.sample_at(mechanism.generic)
        kept = list(mechanism.selection.kept)
        dependent = sorted(independent_columns(mechanism.kept_rows(sight), len(kept)))
        free = [j for j in range(len(mechanism.velocities)) if j not in dependent]
        parts = [mechanism.rows[kept, :], mechanism.drift[kept], *mechanism.kinematics]
        look = ca.Function("fields", [mechanism.t, mechanism.q, mechanism.u, mechanism.p], [ca.densify(e) for e in parts])
        y = ca.MX.sym("y", mechanism.q.numel() + self.timed)
        t, q = (y[0], y[1:]) if self.timed else (ca.MX(0), y)
        rows, drift, moving, carried = look(t, q, mechanism.motion.u, mechanism.motion.p)
        solved = -ca.solve(rows[:, dependent], ca.horzcat(rows[:, free], drift), "qr")
        unit = ca.DM.eye(len(mechanism.velocities))
        kernel = unit[:, dependent] @ solved[:, : len(free)] + unit[:, free]
        resting = unit[:, dependent] @ solved[:, len(free)]
        return self._fields(y, ca.MX, moving @ kernel, moving @ resting + carried)

    def values(self, fields: Sequence[Any], places: Sequence[Array]) -> list[Array]:
        """The fields as columns, at each configuration."""
        evaluate = ca.Function("values", [self.y], [ca.densify(ca.horzcat(*fields))])
        return [np.asarray(evaluate(np.concatenate([[0.0], q]) if self.timed else q).full()) for q in places]


class _Reached:
    """An orthonormal basis of the directions reached so far, and its dimension after each depth."""

    def __init__(self, space: _FieldSpace) -> None:
        self.vectors: list[Array] = []
        self._counted: list[int] = []
        self._timed, self._size = space.timed, space.y.numel()

    @property
    def matrix(self) -> Array:
        return np.column_stack(self.vectors) if self.vectors else np.zeros((self._size, 0))

    @property
    def dimension(self) -> int:
        return len(self.vectors) - self._timed

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Dimensions up to the last depth that added a direction; at special configurations earlier depths may add none."""
        return tuple(self._counted[: self._counted.index(self.dimension) + 1])

    def add(self, columns: Array) -> list[bool]:
        """Add the directions of one depth; which of them are new."""
        new = [self._adds(column) for column in columns.T]
        self._counted.append(self.dimension)
        return new

    def _adds(self, column: Array) -> bool:
        size = float(np.linalg.norm(column))
        if not np.isfinite(size) or size < 1e-10:
            return False
        left = column / size
        for _ in range(2):
            for known in self.vectors:
                left = left - known * float(known @ left)
        rest = float(np.linalg.norm(left))
        if rest <= NEW:
            return False
        self.vectors.append(left / rest)
        return True


def _bracket_closure(space: _FieldSpace, most: int) -> tuple[tuple[_Reached, _Reached, _Reached], bool]:
    """Brackets depth by depth at two generic configurations and at the state, and whether they are complete."""
    mechanism = space.mechanism
    places = (*space.ordinary, mechanism.configuration)
    reached = (_Reached(space), _Reached(space), _Reached(space))
    first, level = space.fields, space.fields
    for depth in range(1, DEEPEST + 1):
        if depth > 1:
            pairs = [(x, y) for j, y in enumerate(level) for i, x in enumerate(first) if depth > 2 or i < j]
            if len(pairs) > MOST_BRACKETS:
                return reached, False
            level = [_bracket(x, y, space.y) for x, y in pairs]
        new = [basis.add(values) for basis, values in zip(reached, space.values(level, places), strict=True)]
        if depth > 1:
            # a bracket that adds nothing at generic configurations may add a direction at the state
            level = [field for field, *counts in zip(level, *new, strict=True) if any(counts)]
        if all(basis.dimension == most for basis in reached) or len(level) < (1 if depth > 1 else 2):
            return reached, True
    return reached, False


def _bracket(x: Any, y: Any, at: Any) -> Any:
    """[X, Y] = Y′ X − X′ Y."""
    return ca.jtimes(y, at, x) - ca.jtimes(x, at, y)


# ---------------------------------------------------------------- which constraints are integrable


def _integrable(
    mechanism: ConstraintManifold, space: _FieldSpace, reached: Sequence[_Reached]
) -> tuple[tuple[Integrable, ...], tuple[str, ...]]:
    """Integrable combinations, and the names of the rows that are not integrable by themselves."""
    names = [mechanism.row_names[i] for i in mechanism.selection.kept]
    sight, other = (mechanism.sample_at(q) for q in space.ordinary)
    kernel, elsewhere = (
        _annihilating(mechanism, s, space.timed, basis.matrix) for s, basis in zip((sight, other), reached, strict=False)
    )
    open_rows = tuple(name for i, name in enumerate(names) if not spanned(np.eye(len(names))[i], kernel))
    lengths = mechanism.row_lengths[list(mechanism.selection.kept)]
    known, found = _from_positions(mechanism, sight), list[Integrable]()
    for row in echelon(kernel):
        if not spanned(row, known):
            known = np.vstack([known, row])
            found.append(Integrable(terms(row / lengths, names), spanned(row, elsewhere)))
    return tuple(found), open_rows


def _annihilating(mechanism: ConstraintManifold, sight: ConstraintSample, timed: bool, reached: Array) -> Array:
    """Combinations c of the independent rows with c·(A v + a₀) = 0 for all reached directions."""
    rows = mechanism.kept_rows(sight)
    if not timed:
        times, places = np.zeros(reached.shape[1]), reached
    else:
        times, places = reached[0], reached[1:]
    # velocities that change no coordinate are admissible directions: a row that constrains one of them forbids no position
    v = np.linalg.pinv(sight.velocity_map) @ (places - np.outer(sight.drift_rate, times))
    blind = np.linalg.svd(sight.velocity_map)[2][row_rank(sight.velocity_map) :].T
    kept = list(mechanism.selection.kept)
    image = np.hstack([rows @ v + np.outer(sight.drift[kept] / mechanism.row_lengths[kept], times), rows @ blind])
    return decompose(image, 0.0, SMALL).left_null_space.T


def _from_positions(mechanism: ConstraintManifold, sight: ConstraintSample) -> Array:
    """Combinations of the independent rows that are rates of position constraints."""
    rows, positions = mechanism.kept_rows(sight), mechanism.position_rows(sight)
    if not len(positions):
        return np.zeros((0, len(rows)))
    share = np.linalg.lstsq(rows.T, positions.T, rcond=1e-10)[0].T
    lost = np.linalg.norm(positions - share @ rows, axis=1) > SMALL * np.linalg.norm(positions, axis=1)
    return np.asarray(share[~lost])


# ---------------------------------------------------------------- linear combinations of named quantities


def echelon(rows: Array) -> Array:
    """A sparse basis of the row space: reduced echelon form with the largest pivots."""
    rows = rows.copy()
    for k in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[k])))
        rows[k] /= rows[k, pivot]
        for j in range(len(rows)):
            if j != k:
                rows[j] -= rows[j, pivot] * rows[k]
    return rows


def spanned(row: Array, others: Array) -> bool:
    """Whether a row is a combination of others."""
    if not len(others):
        return False
    share = np.linalg.lstsq(others.T, row, rcond=1e-9)[0]
    return bool(np.linalg.norm(row - others.T @ share) <= SMALL * np.linalg.norm(row))


def terms(row: Array, names: Sequence[str]) -> dict[str, float]:
    """Name → coefficient; the largest is 1 and the first is positive.

    >>> terms(np.array([-1.0, 0.0, 2.0]), ("a", "b", "c"))
    {'a': 0.5, 'c': -1.0}
    """
    share = row / np.abs(row).max()
    found = {name: float(s) for name, s in zip(names, share, strict=True) if abs(s) > SMALL}
    sign = -1.0 if next(iter(found.values()), 1.0) < 0 else 1.0
    return {name: round(sign * s, 12) for name, s in found.items()}


def sum_of(terms: dict[str, float]) -> str:
    """The combination as a text, without coefficients of one.

    >>> sum_of({"a": 0.5, "c": -1.0})
    '0.5 a − c'
    """
    signed = [f"{'+' if s >= 0 else '−'} {'' if abs(abs(s) - 1) < 1e-9 else f'{abs(s):.4g} '}{name}" for name, s in terms.items()]
    return " ".join(signed).removeprefix("+ ")
