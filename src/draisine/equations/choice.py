"""Which velocities stay independent: judged by conditioning over sampled configurations, then by structure.

For a choice with kernel H (its independent rows are the identity) the measure is the largest singular value of H: how much a
dependent velocity can amplify an independent one. No single choice is good everywhere, so alternates are kept in order of merit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from draisine.equations.reduction import Block, Elimination

POOR = 100.0  # amplification beyond which a choice is called poor
CLOSE = 4.0  # choices within this factor of the best conditioned are compared by structure
_MOST_CHOICES = 3000


@dataclass(frozen=True)
class Judged:
    """A choice of independent velocities with its worst amplification over the samples."""

    independent: tuple[str, ...]
    worst: float
    simplicity: int  # number of dependent velocities that enter some row with a constant unit coefficient


def worst_amplification(samples: NDArray[np.float64], names: Sequence[str], independent: Sequence[str]) -> float:
    """Largest ‖H‖ over sampled constraint matrices A (samples × rows × velocities)."""
    free = [names.index(n) for n in independent]
    bound = [i for i in range(len(names)) if i not in free]
    if not bound:
        return 1.0
    square, sides = samples[:, :, bound], samples[:, :, free]
    if square.shape[1] != square.shape[2]:
        return np.inf
    sizes = np.abs(np.linalg.det(square))
    scale = np.prod(np.linalg.norm(samples, axis=2), axis=1)
    if np.any(sizes < 1e-12 * scale):
        return np.inf
    dependent = np.linalg.solve(square, sides)
    amplification = np.sqrt(1.0 + np.linalg.norm(dependent, ord=2, axis=(1, 2)) ** 2) if free else np.ones(1)
    return float(np.max(amplification))


def judge(samples: NDArray[np.float64], names: Sequence[str], units: NDArray[np.bool_]) -> list[Judged]:
    """All choices (or the likeliest, for large systems) that are regular at every sample, best first.

    `units` marks the entries of A that are the constant ±1 (a free body's linear velocity): making those velocities
    dependent costs nothing.
    """
    rows = samples.shape[1]
    count = len(names) - rows
    if rows == 0:
        return [Judged(tuple(names), 1.0, 0)]
    judged = []
    for free in islice(combinations(range(len(names)), count), _MOST_CHOICES):
        independent = tuple(names[i] for i in free)
        worst = worst_amplification(samples, names, independent)
        if np.isfinite(worst):
            simple = int(np.count_nonzero(units[:, [i for i in range(len(names)) if i not in free]].any(axis=0)))
            judged.append(Judged(independent, worst, simple))
    if not judged:
        return []
    best = min(j.worst for j in judged)
    return sorted(judged, key=lambda j: (j.worst > max(CLOSE * best, 20.0), -j.simplicity, j.worst))


def plan_blocks(
    samples: NDArray[np.float64],
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    independent: Sequence[str],
    cost: Callable[[Sequence[int], Sequence[str]], float],
) -> Elimination:
    """Cut the elimination into blocks: each group of rows takes the dependent velocities that suit it best.

    A block must stay well conditioned at every sample after the earlier blocks are put in; groups that cannot be solved on
    their own are joined with the next.
    """
    current = samples.copy()
    left = [i for i in range(len(names)) if names[i] not in independent]
    blocks: list[Block] = []
    pending: list[int] = []
    for number, group in enumerate(groups):
        pending += group
        last = number == len(groups) - 1
        picked = tuple(left) if last else _pick(current, names, pending, left, cost)
        if picked is None:
            continue
        rows = list(pending)
        solved = np.linalg.solve(current[np.ix_(range(len(current)), rows, picked)], current[:, rows, :])
        others = [r for r in range(current.shape[1]) if r not in rows]
        current[:, others, :] -= current[:, others][:, :, list(picked)] @ solved
        blocks.append(Block(tuple(rows), tuple(names[i] for i in picked)))
        left = [i for i in left if i not in picked]
        pending = []
    return Elimination(tuple(blocks), tuple(independent))


def _pick(
    current: NDArray[np.float64],
    names: Sequence[str],
    rows: Sequence[int],
    left: Sequence[int],
    cost: Callable[[Sequence[int], Sequence[str]], float],
) -> tuple[int, ...] | None:
    best: tuple[float, tuple[int, ...]] | None = None
    for chosen in islice(combinations(left, len(rows)), 500):
        square = current[np.ix_(range(len(current)), rows, chosen)]
        smallest = np.linalg.svd(square, compute_uv=False)[:, -1]
        if np.min(smallest) < 0.02:
            continue
        rating = cost(rows, [names[i] for i in chosen]) - 1e-3 * float(np.log(np.min(smallest)))
        if best is None or rating < best[0]:
            best = (rating, chosen)
    return best[1] if best else None
