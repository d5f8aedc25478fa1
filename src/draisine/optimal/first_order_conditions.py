"""What is necessary for a minimum, in numbers: the conditions of Karush, Kuhn and Tucker, and Pontryagin's along the motion.

With H = integrand + costateᵀ rates, the gradient of the large problem's Lagrangian by a control value, per second that the value
lasts, is ∂H/∂u with the multipliers of path conditions and algebraic equations in it: the switching function of that control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation
from draisine.optimal.ipopt import Answer
from draisine.optimal.nlp import SparseNLP
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import Phase
from draisine.optimal.shooting import MultipleShooting
from draisine.optimal.transcription import Placed, Transcribed

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Kkt:
    """The largest scaled violation, entry of the Lagrangian's gradient, and product of a multiplier with what is left of its
    condition; each with the name of the row or unknown that has it."""

    violation: float
    violated: str
    stationarity: float
    moving: str
    complementarity: float
    loose: str


@dataclass(frozen=True, eq=False)
class Necessary:
    """Of one phase: H at the costates' times, ∂H/∂u at the control points, path conditions with their prices per second."""

    hamiltonian: Reals  # (costate times)
    switching: Reals  # (control points, controls)
    watched: Reals  # (watched places, path)
    prices: Reals  # (watched places, path), positive at an upper side
    watched_places: Reals  # in [0, 1]


def kkt(large: SparseNLP, answer: Answer) -> Kkt:
    """Of a point with its multipliers, in scaled unknowns and rows."""
    w, rows = answer.w, large.values(answer.w)[1]
    over = np.maximum(np.maximum(large.row_low - rows, rows - large.row_high), 0.0) / large.row_scale
    beyond = np.maximum(np.maximum(large.low - w, w - large.high), 0.0) / large.scale
    slope = lagrangian_gradient(large, answer)
    fixed = large.low == large.high
    still = np.where(fixed, 0.0, np.abs(slope + answer.bound_multipliers) * large.scale)
    bound = _slack(w, large.low, large.high, answer.bound_multipliers)
    row = _slack(rows, large.row_low, large.row_high, answer.row_multipliers)
    return Kkt(
        *_worst((over, large.row_names), (beyond, large.unknown_names)),
        *_worst((still, large.unknown_names)),
        *_worst((np.where(fixed, 0.0, bound), large.unknown_names), (row, large.row_names)),
    )


def lagrangian_gradient(large: SparseNLP, answer: Answer) -> Reals:
    """∂(objective + multipliersᵀ rows)/∂w, without the bounds' part."""
    gradient, entries = large.jacobian(answer.w)
    row, column = large.slope_places
    return gradient + np.bincount(column, weights=entries * answer.row_multipliers[row], minlength=len(answer.w))


def _slack(value: Reals, low: Reals, high: Reals, multiplier: Reals) -> Reals:
    """|multiplier| × what is left to the side that it stands for; a side that is open has the multiplier itself."""
    left = np.where(multiplier > 0, high - value, value - low)
    left = np.where(low == high, 0.0, np.where(np.isfinite(left), np.abs(left), 1.0))
    return np.abs(multiplier) * left


def _worst(*parts: tuple[Reals, tuple[str, ...]]) -> tuple[float, str]:
    best = (0.0, "")
    for values, names in parts:
        if values.size and float(values.max()) > best[0]:
            best = float(values.max()), names[int(values.argmax())]
    return best


def necessary(
    phase: Phase, scheme: Collocation | MultipleShooting, placed: Placed, made: Transcribed, answer: Answer
) -> Necessary:
    """Pontryagin's conditions at the points of one phase."""
    w, grid, large = answer.w, scheme.grid, made.large
    duration = w[placed.length]
    lasting = np.bincount(grid.node_control, weights=grid.weights, minlength=len(grid.control_times))
    pull = lagrangian_gradient(large, answer)[placed.controls] / (duration * lasting[:, None])
    hamiltonian = _hamiltonian(phase, scheme, placed, made, answer)
    count = len(placed.watched)
    spread = grid.weights if count == len(grid.weights) else np.append(grid.weights, grid.weights[-1])
    places = grid.nodes if count == len(grid.nodes) else grid.breaks
    rows = placed.watched - 1
    prices = answer.row_multipliers[rows] / (duration * spread[:, None])
    return Necessary(hamiltonian, pull, large.values(w)[1][rows], prices, places)


def _hamiltonian(
    phase: Phase, scheme: Collocation | MultipleShooting, placed: Placed, made: Transcribed, answer: Answer
) -> Reals:
    """Integrand + costateᵀ rates, where the costates are."""
    w, grid, nx = answer.w, scheme.grid, len(phase.kept)
    shared = w[np.concatenate([[placed.begin, placed.length], made.parameters])]
    costless = phase.integrand is None
    if placed.cluster is not None:
        reported = placed.cluster.values(w[placed.cluster.where])
        (share,) = [s for s in made.large.shares if s.cluster is placed.cluster]
        pull = (share.matrix.T @ np.concatenate([[1.0], answer.row_multipliers])).reshape(len(grid.nodes), -1)
        costates, tau = pull[:, :nx] / grid.weights[:, None], grid.nodes
    else:
        local = np.hstack([w[placed.points[1:]], w[placed.controls], np.tile(shared, (len(grid.nodes), 1))])
        costates, tau = -answer.row_multipliers[placed.defects - 1], grid.breaks[1:]
        reported = CompiledCluster(phase.motion, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(tau)).values(local)
    total = (costates * reported[:, :nx]).sum(axis=1) + (0.0 if costless else reported[:, -1])
    return np.asarray(total / w[placed.length])
