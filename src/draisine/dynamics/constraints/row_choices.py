"""Choice of the rows that are solved for, where some are redundant.

Any independent subset of the rows serves near one configuration, but a subset may lose rank where all rows together do not: two
of the five rows of Bennett's linkage do, somewhere on its way. A run then takes other rows, as it takes other velocities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.redundancy import DEPENDENT, coefficients, scaled_rows
from draisine.numerics.rank import independent_columns, ranks_of

Array = NDArray[np.float64]

ENOUGH = 0.15  # quality of rows at which no others are needed
VARIES = 1e-6  # change of the coefficients of redundant rows, scaled to length 1
MOST = 4  # other choices of rows


def generic(samples: Array) -> Array:
    """Scaled rows at the samples of full rank."""
    scaled = scaled_rows(samples)[0]
    ranks = ranks_of(scaled, DEPENDENT)
    return np.asarray(scaled[ranks == ranks.max()])


def quality(scaled: Array, kept: Sequence[int]) -> Array:
    """Smallest singular value of some rows, relative to that of all of them, at each sample: 0 where they lose rank."""
    rank = len(kept)
    whole = np.linalg.svd(scaled, compute_uv=False)[:, rank - 1]
    return np.asarray(np.linalg.svd(scaled[:, list(kept)], compute_uv=False)[:, rank - 1] / whole)


def combinations_vary(samples: Array, kept: Sequence[int], out: Sequence[int]) -> bool:
    """Whether redundant rows are different combinations of the kept ones in different configurations; only then can the kept ones
    lose rank alone."""
    shares = coefficients(generic(samples), kept, out)
    return bool(np.ptp(shares, axis=0).max(initial=0.0) > VARIES)


def other_rows(samples: Array, kept: Sequence[int]) -> list[tuple[int, ...]]:
    """Other independent rows (of samples × rows × velocities) for configurations where the kept ones are nearly dependent, picked
    greedily; none where the kept ones serve everywhere."""
    if not kept:
        return []
    scaled = generic(samples)
    covered = quality(scaled, kept)
    best_at = (tuple(sorted(independent_columns(matrix.T, len(kept)))) for matrix in scaled[covered < 0.5])
    candidates = {rows: quality(scaled, rows) for rows in dict.fromkeys(best_at) if rows != tuple(kept)}
    found: list[tuple[int, ...]] = []
    while candidates and covered.min() < ENOUGH and len(found) < MOST:
        best = max(candidates, key=lambda rows: float(np.sort(np.maximum(covered, candidates[rows]))[:3].sum()))
        if np.maximum(covered, candidates[best]).sum() <= covered.sum() * (1 + 1e-9):
            break
        covered = np.maximum(covered, candidates.pop(best))
        found.append(best)
    return found


def row_space(samples: Array) -> Array:
    """Orthonormal rows that span all rows at each sample of full rank: (samples, rank, velocities)."""
    scaled = generic(samples)
    rank = int(ranks_of(scaled[:1], DEPENDENT)[0]) if len(scaled) else 0
    return np.asarray(np.linalg.svd(scaled)[2][:, :rank])
