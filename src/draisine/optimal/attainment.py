"""Whether a cost has a minimum: searches end where their tolerances hold, which says nothing about problems without a solution.

- Slack. A solver meets bounds and conditions within a tolerance. A lag ẋ = 1 − x never reaches x = 1, but 1 − 1e-8 after ln 1e8
  time constants. The multipliers are the prices of conditions: price × tolerance is what the tolerance changes in the cost. Where
  that is considerable, the problem is solved again with less slack. At a minimum the change shrinks with the slack; where there
  is none, it does not.
- Runaway unknowns. The gradient of exp(−x) is below any tolerance far enough out. There Newton's last step is as long as the ones
  before; finer tolerances lead as far again each time, while a minimum far away settles; or the cost is next to zero, and closer
  still twice and sixteen times as far out.
- Sizes. A cost that falls by orders of magnitude below the size that the statement suggests has no minimum, or one at another
  size: 1e-12 u² − u has it at u = 5e11. Solved again in units of the point that was reached, such a cost has an ordinary minimum;
  one without a bound falls as far again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome, solve_sparse_nlp
from draisine.optimal.nlp import SparseNLP
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]

CONVERGED = (Outcome.SOLVED, Outcome.ACCEPTABLE)
CONSIDERABLE = 1e-6  # of the cost: what slack may change
SHARPER = (1e-4, 1e-2)  # factors of the slack, tried one after the other
SHRINKS = 0.3  # at most this factor of the change is left with less slack, where there is a minimum
LEAST_COST = 1e-3  # of the size of a cost: the scale of one that vanishes
RELAXED = 1e-8  # IPOPT's relaxation of bounds, its default
LONG_STEP = 1e-3  # of an unknown or its scale: a last step of Newton's method that calls for a test
MOVED = 1.0  # in scales: distance from the guess at which an unknown may be on its way to infinity
FREE = 1e-4  # of the size of the cost: price of a condition that costs nothing
FEASIBLE = 1e-6  # scaled violation of a point that shows a lower cost
SEARCHES, FINER, SETTLES = 3, 1e-2, 1e-2  # with ever finer tolerances; relative change of unknowns at a minimum
STEADY = 0.5  # of the rate before: fall of the cost with the logarithm of an unknown, of one that falls without bound
FARTHER = (2.0, 16.0)  # times the distance from the guess
NEARER = tuple(0.5**k for k in range(1, 9))  # shares of the way from the guess
SMALL_TAIL, ROUNDING = 0.05, 1e-13  # of the change of the cost from the guess, and of the cost: heights of a tail
PATIENCE = 100  # iterations of searches that begin at a solution
NEAR_GUESS = {"mu_init": 1e-7, "bound_push": 1e-9, "bound_frac": 1e-9}


@dataclass(frozen=True, eq=False)
class Attained:
    """A solution, with less slack where that was needed, the settings that it needs, and why there is none ("" if there is)."""

    answer: NlpSolution
    solver: Ipopt
    why: str = ""
    outcome: Outcome = Outcome.UNATTAINED  # if there is none


def attained(
    nlp: SparseNLP, answer: NlpSolution, guess: Reals, solver: Ipopt, progress: ProgressCallback | None = None
) -> Attained:
    """Whether a search that converged ended at a minimum, or only where its tolerances hold."""
    if slack_change(nlp, answer, solver) > CONSIDERABLE * _cost_size(nlp, answer):
        return _with_less_slack(nlp, answer, solver, progress)
    if _long_last_step(nlp, answer):
        return _without_runaway(nlp, answer, guess, solver, progress)
    if _levels_off(nlp, answer, guess):
        return Attained(answer, solver, _limit_text(answer))
    return Attained(answer, solver)


def _cost_size(nlp: SparseNLP, answer: NlpSolution) -> float:
    return max(abs(answer.objective), LEAST_COST * nlp.objective_scale)


def slack_change(nlp: SparseNLP, answer: NlpSolution, solver: Ipopt) -> float:
    """What the slack of bounds and conditions changes in the cost, to first order."""
    relaxed = float(solver.options.get("bound_relax_factor", RELAXED))
    change = 0.0
    for values, prices, low, high, scale in (
        (answer.w, answer.bound_multipliers, nlp.low, nlp.high, nlp.scale),
        (nlp.values(answer.w)[1], answer.row_multipliers, nlp.row_low, nlp.row_high, nlp.row_scale),
    ):
        equal = low == high
        edge = np.where(values - low < high - values, low, high)  # the nearer bound
        between = np.isfinite(edge) & ~equal
        change += relaxed * float(np.abs(prices[between]) @ np.maximum(scale, np.abs(edge))[between])
        if scale is nlp.row_scale:
            change += solver.tolerance * float((np.abs(prices) * scale)[equal].max(initial=0.0))
    return change


def _with_less_slack(nlp: SparseNLP, answer: NlpSolution, solver: Ipopt, progress: ProgressCallback | None) -> Attained:
    """The solution with less slack. At a minimum, what slack changes shrinks with it, also where the cost itself is nothing but
    slack: the least |x − 2| is −1e-8 with a tolerance of 1e-8."""
    change = slack_change(nlp, answer, solver)
    relaxed = float(solver.options.get("bound_relax_factor", RELAXED))
    for factor in SHARPER:
        sharper = replace(
            solver, tolerance=solver.tolerance * factor, options={**solver.options, "bound_relax_factor": relaxed * factor}
        )
        near = replace(sharper, iterations=min(solver.iterations, PATIENCE), options={**NEAR_GUESS, **sharper.options})
        other = solve_sparse_nlp(nlp, answer.w, near, progress)
        if other.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if other.outcome in CONVERGED:
            if slack_change(nlp, other, sharper) <= max(SHRINKS * change, CONSIDERABLE * _cost_size(nlp, other)):
                return Attained(other, sharper)
            return Attained(answer, solver, _slack_text(nlp, answer, f"{other.objective:.6g} with {factor:g} of it"))
    if other.outcome is Outcome.INFEASIBLE:
        return Attained(answer, solver, "conditions are met only within the tolerance of the solver", Outcome.INFEASIBLE)
    if change < LEAST_COST * _cost_size(nlp, answer):
        return Attained(answer, solver)
    return Attained(answer, solver, _slack_text(nlp, answer, "with less no solution is found"))


def _slack_text(nlp: SparseNLP, answer: NlpSolution, otherwise: str) -> str:
    dearest: dict[str, float] = {}
    for names, prices, scale in (
        (nlp.unknown_names, answer.bound_multipliers, nlp.scale),
        (nlp.row_names, answer.row_multipliers, nlp.row_scale),
    ):
        for name, price in zip(names, np.abs(prices) * scale, strict=True):
            if not name.startswith(("motion of ", "equation ", "time between phases", "magnitude ")):
                dearest[name] = max(dearest.get(name, 0.0), float(price))
    what = f" ({max(dearest, key=lambda name: dearest[name])})" if dearest else ""
    return (
        f"conditions{what} are met only within the tolerance of the solver, which decides the cost: {answer.objective:.6g}, "
        f"{otherwise}; ask for less than what is approached for ever"
    )


def _long_last_step(nlp: SparseNLP, answer: NlpSolution) -> bool:
    """Whether Newton's method ended without its steps becoming short, in unknowns that may grow."""
    free = np.isinf(nlp.low) | np.isinf(nlp.high)
    before, last = answer.steps
    size = float(np.abs(answer.w / nlp.scale).max(initial=1.0))
    return bool(free.any()) and last > LONG_STEP * size and last > SHRINKS * before


def _without_runaway(
    nlp: SparseNLP, answer: NlpSolution, guess: Reals, solver: Ipopt, progress: ProgressCallback | None
) -> Attained:
    """The minimum far away, more accurately; or why there is none: with finer tolerances some unknown goes as far again and again
    and can go farther, or the cost comes ever closer to zero where it is farther away."""
    at, sharper, unsettled, reached = answer, solver, True, [answer]
    for _ in range(SEARCHES):
        sharper = replace(
            sharper,
            tolerance=sharper.tolerance * FINER,
            iterations=min(solver.iterations, PATIENCE),
            options={**NEAR_GUESS, **solver.options},
        )
        other = _solved(in_reached_sizes(nlp, at.w, at.objective), at.w, sharper, progress)
        if other.outcome not in CONVERGED or other.objective > at.objective:
            unsettled = False
            break
        moved = np.where(np.isinf(nlp.low) | np.isinf(nlp.high), np.abs(other.w - at.w), 0.0) / np.maximum(
            np.abs(at.w - guess), nlp.scale
        )
        j, before, at = int(np.argmax(moved)), at, replace(other, iterations=at.iterations + other.iterations)
        reached.append(at)
        if moved[j] < SETTLES:
            unsettled = False
            break
    gone = at.w - guess
    if unsettled:
        possible = _forced(nlp, at, guess, j, FARTHER[-1], solver, progress).violation <= FEASIBLE
        if not possible:
            return Attained(at, solver)
        falls = -np.diff([r.objective for r in reached])
        rates = falls / np.maximum(np.diff(np.log([abs(r.w[j] - guess[j]) for r in reached])), SETTLES)
        if rates[-1] > STEADY * rates[-2] and falls[-1] > CONSIDERABLE * abs(at.objective):  # as −log x does
            return Attained(answer, solver, "", Outcome.UNBOUNDED)
        return Attained(answer, solver, _endless_text(nlp, j, before, at))
    open_end = np.where(gone > 0.0, np.isinf(nlp.high), np.isinf(nlp.low))
    share = np.where(open_end & _is_free_of_charge(nlp, at), np.abs(gone) / nlp.scale, 0.0)
    j, further = int(np.argmax(share)), at
    if share[j] < MOVED:
        return Attained(at, solver)
    for times in FARTHER:
        other = _forced(nlp, at, guess, j, times, solver, progress)
        if other.violation > FEASIBLE or not abs(other.objective) < SHRINKS * abs(further.objective):
            return Attained(at, solver)
        further = other
    return Attained(answer, solver, _endless_text(nlp, j, at, further))


def _levels_off(nlp: SparseNLP, answer: NlpSolution, guess: Reals) -> bool:
    """Whether a flat cost is a limit, as that of tanh x: some unknown has gone far at no charge; farther away the cost is no
    higher, and on the way from the guess it is a little higher, by less each time. A minimum that is reached has no such tail.
    The way is a straight line: where points on it violate conditions, nothing is known."""
    gone = answer.w - guess
    open_end = np.where(gone > 0.0, np.isinf(nlp.high), np.isinf(nlp.low))
    share = np.where(open_end & _is_free_of_charge(nlp, answer), np.abs(gone) / nlp.scale, 0.0)
    least = ROUNDING * _cost_size(nlp, answer)
    whole = nlp.values(guess)[0] - answer.objective
    if share.max(initial=0.0) < MOVED or not whole > least:
        return False
    heights = []
    for times in (*FARTHER, *NEARER):
        w = guess + times * gone
        objective, rows = nlp.values(w)
        over = np.maximum(nlp.row_low - rows, rows - nlp.row_high) / nlp.row_scale
        beyond = np.maximum(nlp.low - w, w - nlp.high) / nlp.scale
        if max(over.max(initial=0.0), beyond.max(initial=0.0)) > FEASIBLE or not np.isfinite(objective):
            return False
        heights.append(objective - answer.objective)
    tail = [height for height in heights[len(FARTHER) :] if least < height <= SMALL_TAIL * whole]
    return max(heights[: len(FARTHER)]) <= least and len(tail) >= 2


def _forced(
    nlp: SparseNLP, at: NlpSolution, guess: Reals, j: int, times: float, solver: Ipopt, progress: ProgressCallback | None
) -> NlpSolution:
    """The solution with one unknown that many times as far from the guess, or farther."""
    gone, low, high = at.w - guess, nlp.low.copy(), nlp.high.copy()
    (low if gone[j] > 0.0 else high)[j] = guess[j] + times * gone[j]
    beyond = in_reached_sizes(replace(nlp, low=low, high=high), at.w, at.objective)
    limited = replace(solver, iterations=min(solver.iterations, PATIENCE))
    return _solved(beyond, np.clip(guess + times * gone, low, high), limited, progress)


def _solved(nlp: SparseNLP, w: Reals, solver: Ipopt, progress: ProgressCallback | None) -> NlpSolution:
    found = solve_sparse_nlp(nlp, w, solver, progress)
    if found.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def _endless_text(nlp: SparseNLP, j: int, near: NlpSolution, far: NlpSolution) -> str:
    return (
        f"the cost falls ever more slowly and without end as {nlp.unknown_names[j]} goes on ({near.objective:.6g} at "
        f"{near.w[j]:.3g}, lower by {near.objective - far.objective:.2g} at {far.w[j]:.3g}); give bounds(…) of it, or a cost "
        "that grows with it"
    )


def _limit_text(answer: NlpSolution) -> str:
    return (
        f"the cost comes ever closer to {answer.objective:.6g} without reaching it, but for rounding; give bounds(…) of what "
        "goes on without end, or a cost that grows with it"
    )


def _is_free_of_charge(nlp: SparseNLP, answer: NlpSolution) -> NDArray[np.bool_]:
    """Of each unknown: whether no condition in which it takes part costs anything, as where a cost is flat."""
    row, column = nlp.jacobian_indices
    prices, dearest = np.abs(answer.row_multipliers) * nlp.row_scale, np.zeros(nlp.unknowns)
    np.maximum.at(dearest, column, prices[row])
    return np.asarray(dearest < FREE * nlp.objective_scale)


def in_reached_sizes(nlp: SparseNLP, w: Reals, objective: float) -> SparseNLP:
    """The problem in units of a point that lies orders of magnitude beyond the sizes of its statement."""
    scale = np.maximum(nlp.scale, np.abs(w))
    row, column = nlp.jacobian_indices
    entries = np.where(nlp.low[column] < nlp.high[column], np.abs(nlp.jacobian(w)[1]), 0.0)
    old, new = np.zeros(nlp.rows), np.zeros(nlp.rows)
    np.maximum.at(old, row, entries * nlp.scale[column])
    np.maximum.at(new, row, entries * scale[column])
    grown = np.divide(new, old, out=np.ones(nlp.rows), where=old > 0.0)
    size = max(nlp.objective_scale, abs(objective)) if np.isfinite(objective) else nlp.objective_scale
    return replace(nlp, scale=scale, row_scale=nlp.row_scale * np.maximum(grown, 1.0), objective_scale=size)
