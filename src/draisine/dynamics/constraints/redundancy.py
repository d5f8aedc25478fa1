"""Constraint rows that are redundant in all sampled configurations.

Redundant rows occur with two wheels on one axle, a planar loop closed in space, an overconstrained platform. Dependences present
in all samples have a common left null space, yᵀA = 0; rows with a large share in it can be left out, and the kept rows span the
same space. The kept rows are those whose volume, in the worst sample, is the largest that a greedy choice gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.numerics.rank import ranks_of

Array = NDArray[np.float64]

DEPENDENT = 1e-7  # singular value of rows, scaled to length 1, below which they are dependent
_SHARE = 1e-6  # coefficient below which a row does not contribute to another
MOST_NAMED = 8  # rows in a sentence
_RATE_TOLERANCE = 1e-6  # relative difference of the rates that a redundant row and the others prescribe


class RedundantRow(NamedTuple):
    """A redundant row: the kept rows on which it depends; none where no velocity enters it."""

    row: int
    repeats: tuple[int, ...]


class RowSelection(NamedTuple):
    """Rows that are kept, in order, and those that are left out."""

    kept: tuple[int, ...]
    redundant: tuple[RedundantRow, ...] = ()


def select_rows(samples: Array, required: Sequence[int] = ()) -> RowSelection:
    """An independent subset of the rows of sampled matrices (samples × rows × columns), and the dependences of the others.
    `required` rows are known to be independent and are kept."""
    count = samples.shape[1]
    if count == 0:
        return RowSelection(())
    scaled, length = scaled_rows(samples)
    ranks = ranks_of(scaled, DEPENDENT)
    rank = int(ranks.max())
    if rank == count:
        return RowSelection(tuple(range(count)))
    generic = ranks == rank
    left = np.linalg.svd(scaled)[0]
    out = _redundant_rows(left[generic][:, :, rank:], required)
    kept = [i for i in range(count) if i not in out]
    shares = coefficients(scaled[generic], kept, out)
    redundant = []
    for k, i in enumerate(out):
        taking_part = np.abs(shares[:, k]).max(axis=0) > _SHARE if length[i] > 0 else np.zeros(len(kept), dtype=bool)
        redundant.append(RedundantRow(i, tuple(kept[j] for j in np.flatnonzero(taking_part))))
    return RowSelection(tuple(kept), tuple(redundant))


def scaled_rows(samples: Array) -> tuple[Array, Array]:
    """Rows divided by their greatest length over the samples; rows that vanish everywhere become zero."""
    length = np.linalg.norm(samples, axis=2).max(axis=0)
    length = np.where(length > 1e-10 * length.max(), length, 0.0)
    return np.where(length[:, None] > 0, samples / np.where(length > 0, length, 1.0)[:, None], 0.0), length


def _redundant_rows(kernel: Array, required: Sequence[int]) -> list[int]:
    """Rows to leave out, one for each column of the left null spaces (samples × rows × columns): the largest pivots."""
    current = kernel.copy()
    out: list[int] = []
    for _ in range(kernel.shape[2]):
        share = np.linalg.norm(current, axis=2)
        share[:, [*out, *required]] = 0.0
        worst = share.min(axis=0)
        if worst.max() < _SHARE:  # no row is redundant in all samples: take the one that is in most
            worst = np.median(share, axis=0)
        # among equivalent rows the last is left out: residual constraints before contacts, later constraints before earlier ones
        pivot = int(np.flatnonzero(worst >= 0.99 * worst.max())[-1])
        out.append(pivot)
        direction = current[:, pivot, :] / np.maximum(np.linalg.norm(current[:, pivot, :], axis=1), 1e-300)[:, None]
        current -= np.einsum("sij,sj,sk->sik", current, direction, direction)
    return sorted(out)


def coefficients(samples: Array, kept: Sequence[int], out: Sequence[int]) -> Array:
    """C of A_out = C A_kept at each sample (samples × out × kept)."""
    if not kept or not out:
        return np.zeros((len(samples), len(out), len(kept)))
    return np.asarray(samples[:, list(out)] @ np.linalg.pinv(samples[:, list(kept)], rcond=1e-9))


def check_consistent(model: str, names: Sequence[str], selection: RowSelection, samples: Array, drift: Array) -> None:
    """Raise if a redundant row prescribes another rate than the kept rows: a₀ of the redundant rows must be C a₀ of the kept."""
    if not selection.redundant or not np.abs(drift).max(initial=0.0) > 0:
        return
    out = [s.row for s in selection.redundant]
    scaled, length = scaled_rows(samples)
    rates = drift / np.where(length > 0, length, 1.0)
    shares = coefficients(scaled, selection.kept, out)
    given = np.einsum("sok,sk->so", shares, rates[:, list(selection.kept)])
    apart = np.abs(rates[:, out] - given)
    # where the matrix has lost rank the coefficients are not determined
    sizes = np.linalg.svd(scaled[:, list(selection.kept)], compute_uv=False)
    apart[sizes[:, -1] < 1e-3 * sizes[:, -1].max() if selection.kept else np.zeros(len(samples), dtype=bool)] = 0.0
    worst = apart.max(axis=0)
    k = int(np.argmax(worst))
    if worst[k] <= _RATE_TOLERANCE * (1.0 + np.abs(rates).max()):
        return
    redundant = selection.redundant[k]
    others = ", ".join(repr(names[i]) for i in redundant.repeats)
    if not others:
        raise ModelError(
            f"model {model!r}: constraint {names[redundant.row]!r} is driven in time, but no velocity can follow it; give its "
            "bodies a degree of freedom for it, or remove it"
        )
    raise ModelError(
        f"model {model!r}: constraint {names[redundant.row]!r} contradicts {others}: both constrain the same motion, at "
        "different rates; remove one of them, or make their laws in time agree"
    )


def redundancy_messages(names: Sequence[str], selection: RowSelection) -> tuple[list[str], list[str]]:
    """Warnings for every run (forces that are not unique; one sentence, however many rows are redundant), and notes."""
    idle = [names[redundant.row] for redundant in selection.redundant if not redundant.repeats]
    notes = [
        f"constraint {name} is satisfied identically: no motion of the mechanism changes it, and it has no force" for name in idle
    ]
    repeating = [redundant for redundant in selection.redundant if redundant.repeats]
    each = [f"constraint {names[s.row]} repeats {_listed([names[i] for i in s.repeats])}" for s in repeating]
    if len(each) < 2:
        warnings = [
            f"{repeats}: it is monitored but not solved for; the forces of these are not unique, only their resultant is; the "
            "smallest that give it are reported"
            for repeats in each
        ]
        return warnings, notes
    together = (
        f"constraints {_listed([names[s.row] for s in repeating])} repeat others: they are monitored but not solved for; the "
        "forces of these and of those that they repeat are not unique, only their resultants are; the smallest that give these "
        "are reported. The notes of the equations list the dependences, and so does dr.diagnose"
    )
    return [together], [*each, *notes]


def _listed(names: Sequence[str]) -> str:
    """The names in a sentence; of very many the first ones."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
