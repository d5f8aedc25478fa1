"""First-order conditions of optimality: Karush–Kuhn–Tucker residuals, and Pontryagin's conditions along the motion.

With H = integrand + costateᵀ rates, the derivative of the nonlinear program's Lagrangian by a control value, per second of its
duration, is ∂H/∂u including the multipliers of path conditions and algebraic equations: the switching function of that control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.ipopt import NlpSolution
from draisine.optimal.nlp import SparseNLP
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import Phase
from draisine.optimal.transcription import PhaseIndices, TranscribedProblem

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Kkt:
    """The largest scaled constraint violation, entry of the Lagrangian's gradient, and product of a multiplier with the slack of
    its condition; each with the name of the row or unknown."""

    violation: float
    violation_name: str
    stationarity: float
    stationarity_name: str
    complementarity: float
    complementarity_name: str


@dataclass(frozen=True, eq=False)
class PontryaginConditions:
    """Of one phase: H at the costates' times, ∂H/∂u at the control points, path conditions with their multipliers per second."""

    hamiltonian: Reals  # (costate times)
    switching: Reals  # (control points, controls)
    path_values: Reals  # (path positions, path conditions)
    path_multipliers: Reals  # per second, (path positions, path conditions), positive at an upper bound
    path_positions: Reals  # in [0, 1]
    edge_values: Reals  # the same at the edges of intervals with a constant control, (edges, `Phase.path_of_controls`)
    edge_multipliers: Reals


def kkt(nlp: SparseNLP, answer: NlpSolution) -> Kkt:
    """KKT residuals of a point with its multipliers, in scaled unknowns and rows."""
    w, rows = answer.w, nlp.values(answer.w)[1]
    over = np.maximum(np.maximum(nlp.row_low - rows, rows - nlp.row_high), 0.0) / nlp.row_scale
    beyond = np.maximum(np.maximum(nlp.low - w, w - nlp.high), 0.0) / nlp.scale
    slope = lagrangian_gradient(nlp, answer)
    fixed = nlp.low == nlp.high
    still = np.where(fixed, 0.0, np.abs(slope + answer.bound_multipliers) * nlp.scale / nlp.objective_scale)
    bound = _slack(w, nlp.low, nlp.high, answer.bound_multipliers) / nlp.objective_scale
    row = _slack(rows, nlp.row_low, nlp.row_high, answer.row_multipliers) / nlp.objective_scale
    return Kkt(
        *_worst((over, nlp.row_names), (beyond, nlp.unknown_names)),
        *_worst((still, nlp.unknown_names)),
        *_worst((np.where(fixed, 0.0, bound), nlp.unknown_names), (row, nlp.row_names)),
    )


def lagrangian_gradient(nlp: SparseNLP, answer: NlpSolution) -> Reals:
    """∂(objective + multipliersᵀ rows)/∂w, without the multipliers of bounds."""
    gradient, entries = nlp.jacobian(answer.w)
    row, column = nlp.jacobian_indices
    return gradient + np.bincount(column, weights=entries * answer.row_multipliers[row], minlength=len(answer.w))


def _slack(value: Reals, low: Reals, high: Reals, multiplier: Reals) -> Reals:
    """|multiplier| × slack to its bound; for an infinite bound the multiplier itself."""
    left = np.where(multiplier > 0, high - value, value - low)
    left = np.where(low == high, 0.0, np.where(np.isfinite(left), np.abs(left), 1.0))
    return np.abs(multiplier) * left


def _worst(*parts: tuple[Reals, tuple[str, ...]]) -> tuple[float, str]:
    best = (0.0, "")
    for values, names in parts:
        if values.size and float(values.max()) > best[0]:
            best = float(values.max()), names[int(values.argmax())]
    return best


def pontryagin(
    phase: Phase,
    scheme: Collocation | MultipleShooting,
    indices: PhaseIndices,
    transcribed: TranscribedProblem,
    answer: NlpSolution,
) -> PontryaginConditions:
    """Pontryagin's conditions at the points of one phase."""
    w, grid, nlp = answer.w, scheme.grid, transcribed.nlp
    duration = w[indices.length]
    durations = np.bincount(grid.node_control, weights=grid.weights, minlength=len(grid.control_times))
    pull = lagrangian_gradient(nlp, answer)[indices.controls] / (duration * durations[:, None])
    hamiltonian = _hamiltonian(phase, scheme, indices, transcribed, answer)
    count = len(indices.path_rows)
    spread = grid.weights if count == len(grid.weights) else np.append(grid.weights, grid.weights[-1])
    positions = grid.nodes if count == len(grid.nodes) else grid.breaks
    rows = indices.path_rows - 1
    path_multipliers = answer.row_multipliers[rows] / (duration * spread[:, None])
    edge_rows = indices.edge_rows - 1
    edge_intervals = grid.edges[0][: len(edge_rows)]
    edge_multipliers = answer.row_multipliers[edge_rows] / (duration * np.diff(grid.breaks)[edge_intervals, None])
    values = nlp.values(w)[1]
    return PontryaginConditions(hamiltonian, pull, values[rows], path_multipliers, positions, values[edge_rows], edge_multipliers)


def _hamiltonian(
    phase: Phase,
    scheme: Collocation | MultipleShooting,
    indices: PhaseIndices,
    transcribed: TranscribedProblem,
    answer: NlpSolution,
) -> Reals:
    """Integrand + costateᵀ rates at the costates' times."""
    w, grid, nx = answer.w, scheme.grid, len(phase.kept)
    shared = w[np.concatenate([[indices.begin, indices.length], transcribed.parameters])]
    costless = phase.integrand is None
    if indices.cluster is not None:
        reported = indices.cluster.values(w[indices.cluster.where])
        (term,) = [s for s in transcribed.nlp.terms if s.cluster is indices.cluster]
        pull = (term.matrix.T @ np.concatenate([[1.0], answer.row_multipliers])).reshape(len(grid.nodes), -1)
        costates, tau = pull[:, :nx] / grid.weights[:, None], grid.nodes
    else:
        local = np.hstack([w[indices.points[1:]], w[indices.controls], np.tile(shared, (len(grid.nodes), 1))])
        costates, tau = -answer.row_multipliers[indices.defects - 1], grid.breaks[1:]
        reported = CompiledCluster(phase.motion, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(tau)).values(local)
    total = (costates * reported[:, :nx]).sum(axis=1) + (0.0 if costless else reported[:, -1])
    return np.asarray(total / w[indices.length])
