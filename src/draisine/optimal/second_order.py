"""Second-order condition of a minimum: along the active conditions, the Hessian of the Lagrangian has no negative curvature.

A search that begins at a maximum or a saddle, where the gradient vanishes, ends there: the conditions of first order hold. The
control 0 is such a guess for every cost that is even in its controls. A direction of negative curvature leads away from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.ipopt import NlpSolution
from draisine.optimal.nlp import SparseNLP

Reals = NDArray[np.float64]

ACTIVE = 1e-6  # scaled distance from a bound
CURVED = 1e-5  # of the largest curvature: below, a negative one counts as zero
MOST = 2000  # free unknowns: more are not tested, the matrices are dense
RANK = 1e-10
AWAY = 0.3  # length of the step away from a saddle, in the sizes of the unknowns
SMOOTH = 1e-2  # share of a preferred direction in those of negative curvature, at least


@dataclass(frozen=True, eq=False)
class Curvature:
    """The least curvature along the active conditions, scaled, and a direction of negative curvature in unknowns, if any."""

    least: float
    direction: Reals | None


def curvature(nlp: SparseNLP, answer: NlpSolution, preferred: Reals) -> Curvature | None:
    """The curvature at a point with multipliers, or None if there are too many unknowns.

    Among directions of negative curvature, the nearest to `preferred` is chosen, so that controls move together.
    """
    from scipy.linalg import qr

    w, n = answer.w, nlp.unknowns
    away = np.minimum(w - nlp.low, nlp.high - w) / nlp.scale
    free = np.flatnonzero((away > ACTIVE) & (nlp.low < nlp.high))
    if len(free) > MOST:
        return None
    if not len(free):
        return Curvature(0.0, None)
    place = np.full(n, -1)
    place[free] = np.arange(len(free))
    hessian = _dense_hessian(nlp, answer, place, len(free))
    largest = float(np.abs(hessian).max(initial=0.0))
    if largest == 0.0:
        return Curvature(0.0, None)
    rows = nlp.values(w)[1]
    active = np.flatnonzero(np.minimum(rows - nlp.row_low, nlp.row_high - rows) <= ACTIVE * nlp.row_scale)
    basis = np.eye(len(free))
    if len(active):
        jacobian = _dense_jacobian(nlp, w, place, len(free), active)
        q, r, _ = qr(jacobian.T, pivoting=True)
        sizes = np.abs(np.diag(r))
        basis = q[:, int((sizes > RANK * sizes.max(initial=0.0)).sum()) :]
    if not basis.shape[1]:
        return Curvature(0.0, None)
    values, vectors = np.linalg.eigh(basis.T @ hessian @ basis)
    least = float(values[0] / max(float(np.abs(values).max()), CURVED * largest))
    if least >= -CURVED:
        return Curvature(least, None)
    negative = basis @ vectors[:, values < -CURVED * np.abs(values).max()]
    wanted = preferred[free]
    direction = negative @ (negative.T @ wanted)
    if np.abs(direction).max() < SMOOTH * np.abs(wanted).max(initial=1e-300):
        direction = basis @ vectors[:, 0]
    made = np.zeros(n)
    made[free] = AWAY * direction / np.abs(direction).max()
    return Curvature(least, made * nlp.scale)


def _dense_hessian(nlp: SparseNLP, answer: NlpSolution, place: NDArray[np.int64], count: int) -> Reals:
    one, other = nlp.hessian_indices
    entries = nlp.hessian(answer.w, 1.0, answer.row_multipliers) * nlp.scale[one] * nlp.scale[other] / nlp.objective_scale
    made = np.zeros((count, count))
    used = (place[one] >= 0) & (place[other] >= 0)
    i, j, values = place[one][used], place[other][used], entries[used]
    np.add.at(made, (i, j), values)
    np.add.at(made, (j, i), np.where(i == j, 0.0, values))
    return made


def _dense_jacobian(nlp: SparseNLP, w: Reals, place: NDArray[np.int64], count: int, active: NDArray[np.int64]) -> Reals:
    row, column = nlp.jacobian_indices
    entries = nlp.jacobian(w)[1] * nlp.scale[column] / nlp.row_scale[row]
    of = np.full(nlp.rows, -1)
    of[active] = np.arange(len(active))
    used = (of[row] >= 0) & (place[column] >= 0)
    made = np.zeros((len(active), count))
    np.add.at(made, (of[row][used], place[column][used]), entries[used])
    return made
