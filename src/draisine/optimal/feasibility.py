"""Feasible points of transcribed maneuvers from guesses that lead nowhere, and what prevents them.

- Elastic relaxation: equations of motion and bounds of unknowns stay, conditions at the ends and on the path may be violated, and
  the scaled sum of the violations is minimized. Where it vanishes, the point is feasible; where not, the conditions in conflict
  are named.
- Homotopy in bounds: bounds and inequalities are widened until the search converges, then narrowed step by step to those of the
  problem, each search starting from the solution before.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome, solve_sparse_nlp
from draisine.optimal.nlp import ClusterTerm, SparseNLP
from draisine.optimal.node_functions import CompiledCluster, Formula
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]

UNRELAXED = ("motion of ", "equation ", "time between phases", "magnitude ")
KEPT_BOUNDS = ("t0", "duration", "slack", "magnitude ")  # unknowns whose bounds are not widened
VIOLATED = 1e-5  # scaled
NAMED = 1e-7  # scaled violation of a condition in conflict with others, well above the tolerance of searches
ACTIVE = 1e-3  # of the largest multiplier
LISTED = 5
CONVERGED = (Outcome.SOLVED, Outcome.ACCEPTABLE)
WIDEST = (0.3, 1.0, 3.0)  # first widths, in scales of unknowns and rows
NARROWER, LEAST_STEP = 0.4, 0.9  # factor of the width in one step, and the factor at which the homotopy gives up
NARROW = 1e-3  # width from which bounds become those of the problem at once
PATIENCE = 0.01  # of the square of a control at its bound: what a motion that lasts twice as long costs
NEAR_GUESS = {"mu_init": 1e-3, "bound_push": 1e-4, "bound_frac": 1e-4}  # options that keep IPOPT near the solution before


def least_violation(
    nlp: SparseNLP, guess: Reals, solver: Ipopt, progress: ProgressCallback | None = None
) -> tuple[Reals, bool] | None:
    """A motion near a guess that violates conditions least, by elastic relaxation, and whether it meets all of them; None if not
    even a motion was found."""
    soft = _soft_rows(nlp)
    answer = _elastic(nlp, soft, guess, solver, progress)
    if answer.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if answer.outcome not in CONVERGED:
        return None
    return answer.w[: nlp.unknowns], bool(answer.w[nlp.unknowns :].max(initial=0.0) < VIOLATED)


def narrowing_bounds(
    nlp: SparseNLP,
    guess: Reals,
    controls: NDArray[np.int64],
    weights: Reals,
    solver: Ipopt,
    progress: ProgressCallback | None = None,
) -> tuple[Reals, float] | None:
    """A feasible point by homotopy in bounds from a guess, and the width, in scales, with which it began; None if none was found.

    The motion with the least `controls` (unknowns by number, with their shares of the time as `weights`) is followed, whatever
    the cost of the problem is: the least time of wide bounds is far from that of narrow ones, while the least effort takes its
    time and seldom needs wide bounds.
    """
    easier = _with_least_controls(nlp, guess, controls, weights)
    for first in WIDEST:
        answer = solve_sparse_nlp(_widened(easier, first), guess, solver, progress)
        if answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if answer.outcome not in CONVERGED:
            continue
        near = replace(solver, options={**NEAR_GUESS, **solver.options})
        width, factor = first, NARROWER
        while width > 0.0 and factor <= LEAST_STEP:
            narrower = width * factor if width * factor > NARROW else 0.0
            other = solve_sparse_nlp(_widened(easier, narrower), answer.w, near, progress)
            if other.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            if other.outcome in CONVERGED:
                answer, width, factor = other, narrower, max(factor**2, NARROWER)
            else:
                factor = np.sqrt(factor)
        if width == 0.0:
            return answer.w, first
    return None


def _with_least_controls(nlp: SparseNLP, guess: Reals, controls: NDArray[np.int64], weights: Reals) -> SparseNLP:
    """The problem with the mean square of the controls, relative to their scales, as its cost, and a little of its duration."""
    from scipy.sparse import coo_array, csr_array

    without = _without_cost(nlp)
    if not len(controls):
        return without
    u, d = ca.SX.sym("u"), ca.SX.sym("d")
    squares = CompiledCluster(Formula.build("square", u, d, (u / d) ** 2), controls[:, None], nlp.scale[controls, None])
    places = np.zeros(len(controls), dtype=int), np.arange(len(controls))
    matrix = csr_array(coo_array((weights / weights.sum(), places), shape=(1 + nlp.rows, len(controls))))
    lasting = np.flatnonzero([name == "duration" for name in nlp.unknown_names])
    slow = coo_array((PATIENCE / guess[lasting], (np.zeros(len(lasting), dtype=int), lasting)), shape=nlp.linear.shape)
    terms = (*without.terms, ClusterTerm(squares, matrix))
    return replace(without, linear=csr_array(without.linear + slow), terms=terms, objective_scale=1.0)


def _widened(nlp: SparseNLP, width: float) -> SparseNLP:
    """The problem with inequalities and bounds that are wider by `width` scales on each side; equations and fixed values stay."""
    if width == 0.0:
        return nlp
    stays = (nlp.low == nlp.high) | np.array([name.startswith(KEPT_BOUNDS) for name in nlp.unknown_names])
    rows = (nlp.row_low == nlp.row_high) | np.array([name.startswith(UNRELAXED) for name in nlp.row_names], dtype=bool)
    by, row_by = np.where(stays, 0.0, width * nlp.scale), np.where(rows, 0.0, width * nlp.row_scale)
    return replace(nlp, low=nlp.low - by, high=nlp.high + by, row_low=nlp.row_low - row_by, row_high=nlp.row_high + row_by)


def _without_cost(nlp: SparseNLP) -> SparseNLP:
    from scipy.sparse import csr_array, diags_array

    keep = np.ones(1 + nlp.rows)
    keep[0] = 0.0
    without = diags_array(keep)
    terms = tuple(ClusterTerm(s.cluster, csr_array(without @ s.matrix)) for s in nlp.terms)
    return replace(nlp, linear=csr_array(without @ nlp.linear), terms=terms)


def _soft_rows(nlp: SparseNLP) -> NDArray[np.int64]:
    return np.array([i for i, name in enumerate(nlp.row_names) if not name.startswith(UNRELAXED)], dtype=np.int64)


def _elastic(
    nlp: SparseNLP, soft: NDArray[np.int64], guess: Reals, solver: Ipopt, progress: ProgressCallback | None = None
) -> NlpSolution:
    relaxed = _relaxed(nlp, soft)
    return solve_sparse_nlp(relaxed, np.concatenate([guess, np.full(2 * len(soft), 0.01)]), solver, progress)


def find_conflicts(nlp: SparseNLP, guess: Reals, solver: Ipopt) -> tuple[str, ...]:
    """Names of the conditions that cannot be satisfied, then of the bounds that prevent it."""
    soft = _soft_rows(nlp)
    if not len(soft):
        return ()
    answer = _elastic(nlp, soft, guess, replace(solver, iterations=500))
    if answer.outcome is Outcome.INTERRUPTED:
        return ()
    n = nlp.unknowns
    over, under = answer.w[n : n + len(soft)], answer.w[n + len(soft) :]
    violated: dict[str, float] = {}
    for i, amount in zip(soft, over - under, strict=True):
        if abs(amount) > max(NAMED, ACTIVE * float(np.abs(over - under).max())):
            name = nlp.row_names[i]
            violated[name] = max(violated.get(name, 0.0), abs(float(amount)) * float(nlp.row_scale[i]))  # in its own unit
    active: dict[str, float] = {}
    multipliers = answer.bound_multipliers[:n] * nlp.scale
    fixed = nlp.low == nlp.high
    most = np.abs(np.where(fixed, 0.0, multipliers)).max(initial=0.0)
    for name, value, given in zip(nlp.unknown_names, multipliers, fixed, strict=True):
        if not given and most > 0 and abs(value) > ACTIVE * most:
            active[f"bounds of {name}"] = max(active.get(f"bounds of {name}", 0.0), abs(float(value)))
    first = [f"{name} (misses by {size:.3g})" for name, size in sorted(violated.items(), key=lambda item: -item[1])]
    second = [name for name, _ in sorted(active.items(), key=lambda item: -item[1])]
    return (*first[:LISTED], *second[:LISTED]) if violated else ()


def _relaxed(nlp: SparseNLP, soft: NDArray[np.int64]) -> SparseNLP:
    """Elastic relaxation: rows + over − under between the same bounds; the objective is the scaled sum of both."""
    from scipy.sparse import csr_array, hstack

    height, count = nlp.linear.shape[0], len(soft)
    rows, columns = np.concatenate([soft + 1, soft + 1]), np.arange(2 * count)
    signs = np.concatenate([-np.ones(count), np.ones(count)]) * nlp.row_scale[np.concatenate([soft, soft])]
    slack = csr_array((signs, (rows, columns)), shape=(height, 2 * count)).tolil()
    slack[0, :] = 1.0
    without = _without_cost(nlp)
    added = np.zeros(2 * count)
    return replace(
        without,
        linear=csr_array(hstack([without.linear, slack.tocsr()])),
        low=np.concatenate([nlp.low, added]),
        high=np.concatenate([nlp.high, np.full(2 * count, np.inf)]),
        unknown_names=(*nlp.unknown_names, *["slack"] * (2 * count)),
        scale=np.concatenate([nlp.scale, np.ones(2 * count)]),
        objective_scale=1.0,
    )
