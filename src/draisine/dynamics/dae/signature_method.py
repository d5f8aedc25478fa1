"""The structure of a differential-algebraic system: Pryce's Σ-method (J. D. Pryce, BIT 41, 2001).

The signature σ_ij is the order of the highest derivative of unknown j in equation i, −∞ where it does not enter. A transversal
(each equation with an unknown of its own) of largest sum, found as an assignment problem, and the smallest offsets c, d ≥ 0 with

    d_j − c_i ≥ σ_ij,   equality on the transversal

give the result: equation i is differentiated c_i times, and the system of all F_i^(c_i) = 0 determines the x_j^(d_j).
These are the numbers of Pantelides' algorithm (1988). An unknown that enters only after r differentiations, through states whose
rates are known, has σ_ij = −r; the method is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError

ABSENT = -np.inf
_FORBIDDEN = -1e7  # replaces −∞ in the assignment problem, whose entries are small integers


@dataclass(frozen=True)
class Offsets:
    """`equations` c_i, `unknowns` d_j, and the unknown `partner` of each equation on the transversal."""

    equations: tuple[int, ...]
    unknowns: tuple[int, ...]
    partner: tuple[int, ...]

    @property
    def index(self) -> int:
        """The structural index: differentiations of the most differentiated equation, and one more for algebraic unknowns."""
        return max(self.equations, default=0) + (1 if 0 in self.unknowns else 0)

    @property
    def freedoms(self) -> int:
        """Number of values that may be chosen at a start, if the structural Jacobian is regular."""
        return sum(self.unknowns) - sum(self.equations)


def offsets(
    signature: NDArray[np.float64],
    equations: Sequence[str],
    unknowns: Sequence[str],
    owner: str,
    least: Sequence[int] | None = None,
) -> Offsets:
    """Smallest offsets of a signature matrix; `least` sets minimal numbers of differentiations.

    >>> pendulum = [  # x, y, λ in ẍ = −λ x, ÿ = −λ y − g, x² + y² = 1
    ...     [2, ABSENT, 0],
    ...     [ABSENT, 2, 0],
    ...     [0, 0, ABSENT],
    ... ]
    >>> found = offsets(np.array(pendulum), ["x", "y", "length"], ["x", "y", "λ"], "pendulum")
    >>> found.equations, found.unknowns, found.index, found.freedoms
    ((0, 0, 2), (2, 2, 0), 3, 2)
    """
    from scipy.optimize import linear_sum_assignment

    count = len(equations)
    if not count:
        return Offsets((), (), ())
    rows, partner = linear_sum_assignment(np.maximum(signature, _FORBIDDEN), maximize=True)
    if not np.isfinite(signature[rows, partner]).all():
        raise ModelError(f"{owner}: {_mismatch(signature, equations, unknowns)}")
    own = signature[rows, partner]
    c = np.array(least if least is not None else np.zeros(count), dtype=float)
    while True:
        d = np.maximum((signature + c[:, None]).max(axis=0), 0.0)
        following = d[partner] - own
        if np.array_equal(following, c):
            break
        c = following
    return Offsets(tuple(int(k) for k in c), tuple(int(k) for k in d), tuple(int(j) for j in partner))


def coupled(signature: NDArray[np.float64], found: Offsets) -> NDArray[np.bool_]:
    """Which F_i^(c_i) determine which x_j^(d_j): the nonzero entries (unknown, equation) of the inverse Jacobian."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = len(found.equations)
    c, d = np.array(found.equations), np.array(found.unknowns)
    filled = np.isfinite(signature) & (d[None, :] - c[:, None] == signature)
    # equation i needs, besides its own unknown, those of the equations `needs[i]`
    needs = filled[:, list(found.partner)]
    _, component = connected_components(csr_array(needs), directed=True, connection="strong")
    reach = _closure(needs, component)
    by_unknown = np.zeros((count, count), dtype=bool)
    by_unknown[list(found.partner)] = reach
    return by_unknown


def _closure(needs: NDArray[np.bool_], component: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Transitive closure over strongly connected components."""
    count = int(component.max(initial=-1)) + 1
    between = np.zeros((count, count), dtype=bool)
    rows, columns = np.nonzero(needs)
    between[component[rows], component[columns]] = True
    np.fill_diagonal(between, True)
    while True:
        further = (between.astype(np.float32) @ between.astype(np.float32)) > 0
        if np.array_equal(further, between):
            return np.asarray(between[np.ix_(component, component)], dtype=bool)
        between = further


def _mismatch(signature: NDArray[np.float64], equations: Sequence[str], unknowns: Sequence[str]) -> str:
    """Equations that share too few unknowns, and unknowns that share too few equations, by name (Hall's theorem)."""
    many, few = _deficient(np.isfinite(signature))
    plenty, scarce = _deficient(np.isfinite(signature).T)
    return (
        f"the equations {_listed([equations[i] for i in many])} contain {_only([unknowns[j] for j in few])}, too few for them; "
        f"and {_listed([unknowns[j] for j in plenty])} are to be found from {_only([equations[i] for i in scarce])}. Remove "
        "or combine equations of the first kind, and add equations for the second"
    )


def _deficient(filled: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """A set of rows with fewer columns than rows, and these columns."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    row_of = maximum_bipartite_matching(csr_array(filled), perm_type="row")  # of each column, −1 where free
    rows = {i for i in range(len(filled)) if i not in set(row_of)}
    columns: set[int] = set()
    while True:
        met = {int(j) for i in rows for j in np.flatnonzero(filled[i])}
        further = {int(row_of[j]) for j in met}
        if met == columns and further <= rows:
            return sorted(rows), sorted(columns)
        columns, rows = met, rows | further


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _only(names: Sequence[str]) -> str:
    return f"only {_listed(names)}" if names else "nothing"
