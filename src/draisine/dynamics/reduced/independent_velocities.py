"""Choice of independent velocities: by conditioning over sampled configurations, then by structure.

For a choice with null-space basis H (its independent rows are the identity) the measure is the largest singular value of H: how
much the dependent velocities amplify the independent ones. No single choice is well-conditioned everywhere, so alternates are
kept in order of merit.

Velocities that move no mass, those of contact places on curved ground, are dependent wherever that is well conditioned: each
contact then is a small block of its own, and the twists of bodies are short."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.reduced.reduction import Block, EliminationPlan
from draisine.numerics.rank import independent_columns

POOR = 100.0  # amplification above which a choice is ill-conditioned
SWITCH = 15.0  # amplification at which a run seeks a better choice
CLOSE = 4.0  # choices within this factor of the best conditioned are compared by structure
_MOST_CHOICES = 3000  # number of choices that are all ranked
_TOGETHER = 100  # of them in one call
_MOST_BLOCKS = 500  # the same for the velocities of one block
_LEAST = 0.005  # smallest singular value of a block that is solved separately


@dataclass(frozen=True, eq=False)
class VelocityChoice:
    """A choice of independent velocities with its amplification at each sample (infinite where it is singular)."""

    independent: tuple[str, ...]
    amplification: NDArray[np.float64]
    massless: int  # number of dependent velocities that move no mass
    simplicity: int  # number of dependent velocities that enter some row with a constant unit coefficient

    @cached_property
    def worst(self) -> float:
        return float(self.amplification.max())

    @cached_property
    def typical(self) -> float:
        """The median; `np.median` imports NumPy's masked arrays, which takes as long as all choices do."""
        ordered = np.sort(self.amplification)
        return float(0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]))


def amplification(samples: NDArray[np.float64], names: Sequence[str], independent: Sequence[str]) -> NDArray[np.float64]:
    """‖H‖ at each sampled constraint matrix A (samples × rows × velocities); infinite where the choice is singular."""
    if len(names) - len(set(independent)) != samples.shape[1]:
        return np.full(len(samples), np.inf)
    (found,) = _amplifications(samples, [[names.index(n) for n in independent]])
    return found


def _amplifications(samples: NDArray[np.float64], choices: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """‖H‖ (choices × samples) of choices of as many independent velocities, by index, as rows leave."""
    count, (rows, columns) = len(choices), samples.shape[1:]
    free = np.array(choices, dtype=np.intp).reshape(count, columns - rows)
    bound = np.array([[i for i in range(columns) if i not in choice] for choice in choices], dtype=np.intp).reshape(count, rows)
    found = np.full((count, len(samples)), np.inf)
    square = samples[:, :, bound].transpose(2, 0, 1, 3)  # choices × samples × rows × rows
    # with many rows the determinant is small although they are independent
    least = 10.0 ** -max(10, rows)
    regular = np.abs(np.linalg.det(square)) > least * np.prod(np.linalg.norm(samples, axis=2), axis=1)
    if not free.size:
        found[regular] = 1.0
    elif regular.any():
        sides = samples[:, :, free].transpose(2, 0, 1, 3)
        dependent = np.linalg.solve(square[regular], sides[regular])
        found[regular] = np.sqrt(1.0 + np.linalg.norm(dependent, ord=2, axis=(1, 2)) ** 2)
    return found


def rank_choices(
    samples: NDArray[np.float64], names: Sequence[str], massless: Collection[str], units: NDArray[np.bool_]
) -> list[VelocityChoice]:
    """All choices (or candidates, for large systems) that are regular at some sample, best first.

    `massless` are velocities that move no mass. `units` marks the entries of A that are the constant 1 (a free body's linear
    velocity): making those velocities dependent costs nothing.
    """
    ranked = []
    first = [i for i, name in enumerate(names) if name in massless]
    candidates = [free for free in _candidates(samples, first) if len(names) - len(free) == samples.shape[1]]
    for free, amplified in zip(candidates, _in_parts(samples, candidates), strict=True):
        independent = tuple(names[i] for i in free)
        if np.isfinite(amplified).any():
            dependent = [i for i in range(len(names)) if i not in free]
            simple = int(np.count_nonzero(units[:, dependent].any(axis=0)))
            ranked.append(VelocityChoice(independent, amplified, len(set(first) - set(free)), simple))
    if not ranked:
        return []
    best = min(j.worst for j in ranked)

    def merit(j: VelocityChoice) -> tuple[bool, bool, int, int, float, float]:
        at_start = float(j.amplification[0])  # the first sample is the default start
        return (at_start > SWITCH, j.worst > max(CLOSE * best, SWITCH), -j.massless, -j.simplicity, j.worst, j.typical)

    return sorted(ranked, key=merit)


def _in_parts(samples: NDArray[np.float64], choices: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float64]]:
    """The amplifications of choices, computed for many at a time."""
    for k in range(0, len(choices), _TOGETHER):
        yield from _amplifications(samples, choices[k : k + _TOGETHER])


def _candidates(samples: NDArray[np.float64], massless: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Indices of candidate independent velocities: all choices where they are few, otherwise the best at each sample, those
    that move no mass being dependent or not."""
    rows, columns = samples.shape[1:]
    if comb(columns, rows) <= _MOST_CHOICES:
        return combinations(range(columns), columns - rows)
    orders = [massless, ()] if massless else [()]
    return dict.fromkeys(_best_at(matrix, first) for first in orders for matrix in samples)


def _best_at(matrix: NDArray[np.float64], first: Sequence[int]) -> tuple[int, ...]:
    """Independent velocities at one configuration: those without pivots, which are sought among the `first` ones first."""
    left = np.array(matrix)
    dependent = [first[i] for i in independent_columns(left[:, first], rtol=_LEAST)]
    if dependent:
        basis = np.linalg.qr(left[:, dependent])[0]
        left -= basis @ (basis.T @ left)
        left[:, dependent] = 0.0
    dependent += independent_columns(left, len(matrix) - len(dependent))
    return tuple(i for i in range(matrix.shape[1]) if i not in dependent)


def alternates_for(chosen: NDArray[np.float64], ranked: Sequence[VelocityChoice], count: int) -> list[VelocityChoice]:
    """Alternates for configurations where the choice is ill-conditioned, picked greedily to lower the worst case."""
    covered = np.minimum(chosen, 1e9)
    picked: list[VelocityChoice] = []
    left = list(ranked)
    while left and len(picked) < count:
        best = min(left, key=lambda j: (float(np.minimum(covered, j.amplification).max()), j.worst, j.typical))
        picked.append(best)
        left.remove(best)
        covered = np.minimum(covered, best.amplification)
    return picked


def plan_blocks(
    samples: NDArray[np.float64],
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    independent: Sequence[str],
    cost: Callable[[Sequence[int], Sequence[str]], float],
) -> EliminationPlan:
    """Partition the elimination into blocks: each group of rows takes its best dependent velocities.

    A block must stay well conditioned at every sample after substitution of the earlier blocks; groups that cannot be
    solved separately are joined with the next.
    """
    amplified = amplification(samples, names, independent)
    current = samples[amplified <= max(POOR, float(amplified.min()))]  # elsewhere a run uses another choice
    left = [i for i in range(len(names)) if names[i] not in independent]
    blocks: list[Block] = []
    pending: list[int] = []
    for number, group in enumerate(groups):
        pending += group
        last = number == len(groups) - 1
        picked = tuple(left) if last else _best_block(current, names, pending, left, cost)
        if picked is None:
            continue
        rows = list(pending)
        solved = np.linalg.solve(current[np.ix_(range(len(current)), rows, picked)], current[:, rows, :])
        others = [r for r in range(current.shape[1]) if r not in rows]
        current[:, others, :] -= current[:, others][:, :, list(picked)] @ solved
        blocks.append(Block(tuple(rows), tuple(names[i] for i in picked)))
        left = [i for i in left if i not in picked]
        pending = []
    return EliminationPlan(tuple(blocks), tuple(independent))


def _candidate_blocks(rows: NDArray[np.float64], left: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Velocities for which some rows may be solved: all choices where they are few, otherwise the best at each sample."""
    count = rows.shape[1]
    if comb(len(left), count) <= _MOST_BLOCKS:
        return combinations(left, count)
    best = dict.fromkeys(tuple(independent_columns(matrix[:, list(left)], count)) for matrix in rows)
    return [tuple(left[i] for i in sorted(chosen)) for chosen in best]


def _best_block(
    current: NDArray[np.float64],
    names: Sequence[str],
    rows: Sequence[int],
    left: Sequence[int],
    cost: Callable[[Sequence[int], Sequence[str]], float],
) -> tuple[int, ...] | None:
    best: tuple[float, tuple[int, ...]] | None = None
    for chosen in _candidate_blocks(current[:, list(rows)], left):
        square = current[np.ix_(range(len(current)), rows, chosen)]
        smallest = np.linalg.svd(square, compute_uv=False)[:, -1]
        # a determinant that changes its sign is zero somewhere between the samples
        if np.min(smallest) < _LEAST or np.ptp(np.sign(np.linalg.det(square))) > 0:
            continue
        rating = cost(rows, [names[i] for i in chosen]) - 1e-3 * float(np.log(np.min(smallest)))
        if best is None or rating < best[0]:
            best = (rating, chosen)
    return best[1] if best else None
