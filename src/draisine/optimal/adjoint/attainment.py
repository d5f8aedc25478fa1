"""Whether a descent ended at a minimum, or where its tolerance holds: gradients of exp(−x) vanish far away, those of −log x too.

Finer tolerances lead to the same point if it is a minimum. Where an unknown without bounds goes on as far each time, the cost has
a limit that no motion attains, or falls without bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.adjoint.descent import DescentResult, Search
from draisine.optimal.attainment import SETTLES, STEADY
from draisine.optimal.ipopt import Outcome

Reals = NDArray[np.float64]

FAR = 1.0  # in sizes, from the guess: an unknown that may be on its way
SEARCHES, FINER = 2, 0.1  # with finer tolerances, each so many times the one before: rounding ends a descent soon


def attained_by_descent(search: Search, found: DescentResult, first: Reals) -> tuple[DescentResult, str]:
    """The result with the outcome that it has, and why there is no minimum, if there is none."""
    unknowns = search.unknowns
    gone = found.w - first
    onward = np.where(gone > 0.0, np.isinf(unknowns.high), np.isinf(unknowns.low)) & (np.abs(gone) > FAR)
    if found.ending is not Outcome.SOLVED or not onward.any():
        return found, ""
    reached, finer = [found], search
    for _ in range(SEARCHES):
        finer = finer.with_tolerance(FINER)
        other = finer.run(reached[-1].w)
        moved = np.where(onward, np.abs(other.w - reached[-1].w) / np.where(onward, np.abs(gone), 1.0), 0.0)
        if other.ending is Outcome.INTERRUPTED:
            return replace(found, ending=Outcome.INTERRUPTED), ""
        if other.ending is not Outcome.SOLVED or moved.max() < SETTLES:
            return found, ""
        reached.append(other)
    j = int(np.argmax(moved))
    falls = -np.diff([r.cost for r in reached])
    rates = falls / np.maximum(np.diff(np.log([abs(r.w[j] - first[j]) for r in reached])), SETTLES)
    if rates[-1] > STEADY * rates[-2] > 0.0:
        return replace(reached[-1], ending=Outcome.UNBOUNDED), ""
    why = (
        f"with finer tolerances the cost falls ever more slowly, from {reached[0].cost:.6g} to {reached[-1].cost:.6g}, and "
        "controls go on; give bounds(…) of them, or a cost that grows with them"
    )
    return replace(found, ending=Outcome.UNATTAINED), why
