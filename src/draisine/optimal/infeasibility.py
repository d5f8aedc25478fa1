"""Which conditions fight: the problem with conditions that give way, at a price.

Rows of the motion and sides of the unknowns stay; conditions at the ends and on the way may be broken, and the sum of what is
broken, relative to their sizes, is made small. What remains broken, and the sides that press against it, are named.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.ipopt import Ipopt, solve_sparse_nlp
from draisine.optimal.nlp import Share, SparseNLP

Reals = NDArray[np.float64]

HARD = ("motion of ", "equation ", "time between phases")
BROKEN = 1e-5  # scaled
PRESSING = 1e-3  # of the largest multiplier
NAMED = 5


def conflicts(large: SparseNLP, guess: Reals, solver: Ipopt) -> tuple[str, ...]:
    """Names of the conditions that cannot be met, then of the sides that stand in the way."""
    soft = np.array([i for i, name in enumerate(large.row_names) if not name.startswith(HARD)], dtype=np.int64)
    if not len(soft):
        return ()
    relaxed = _relaxed(large, soft)
    answer = solve_sparse_nlp(relaxed, np.concatenate([guess, np.full(2 * len(soft), 0.01)]), replace(solver, iterations=500))
    n = large.unknowns
    over, under = answer.w[n : n + len(soft)], answer.w[n + len(soft) :]
    broken: dict[str, float] = {}
    for i, amount in zip(soft, over - under, strict=True):
        if abs(amount) > BROKEN:
            name = large.row_names[i]
            broken[name] = max(broken.get(name, 0.0), abs(float(amount)), key=abs)
    pressing: dict[str, float] = {}
    multipliers = answer.bound_multipliers[:n] * large.scale
    fixed = large.low == large.high
    most = np.abs(np.where(fixed, 0.0, multipliers)).max(initial=0.0)
    for name, value, given in zip(large.unknown_names, multipliers, fixed, strict=True):
        if not given and most > 0 and abs(value) > PRESSING * most:
            pressing[f"bounds of {name}"] = max(pressing.get(f"bounds of {name}", 0.0), abs(float(value)))
    first = [f"{name} (misses by {size:.3g})" for name, size in sorted(broken.items(), key=lambda item: -item[1])]
    second = [name for name, _ in sorted(pressing.items(), key=lambda item: -item[1])]
    return (*first[:NAMED], *second[:NAMED]) if broken else ()


def _relaxed(large: SparseNLP, soft: NDArray[np.int64]) -> SparseNLP:
    """rows + over − under between the same bounds; the objective is the scaled sum of both."""
    from scipy.sparse import csr_array, diags_array, hstack

    height, count = large.linear.shape[0], len(soft)
    keep = np.ones(height)
    keep[0] = 0.0
    rows, columns = np.concatenate([soft + 1, soft + 1]), np.arange(2 * count)
    signs = np.concatenate([-np.ones(count), np.ones(count)]) * large.row_scale[np.concatenate([soft, soft])]
    slack = csr_array((signs, (rows, columns)), shape=(height, 2 * count)).tolil()
    slack[0, :] = 1.0
    without = diags_array(keep)
    added = np.zeros(2 * count)
    return replace(
        large,
        linear=csr_array(hstack([csr_array(without @ large.linear), slack.tocsr()])),
        shares=tuple(Share(s.cluster, csr_array(without @ s.matrix)) for s in large.shares),
        low=np.concatenate([large.low, added]),
        high=np.concatenate([large.high, np.full(2 * count, np.inf)]),
        unknown_names=(*large.unknown_names, *["slack"] * (2 * count)),
        scale=np.concatenate([large.scale, np.ones(2 * count)]),
    )
