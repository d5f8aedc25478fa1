"""Rows that repeat others: two wheels on one axle, a planar loop closed in space, an overconstrained platform.

Which rows count is judged over sampled configurations. A dependence that is there in all of them has a left kernel, yᵀA = 0;
rows with a large share in it can be left out, and what is kept then spans the same. The kept rows have the largest volume, in the
worst of the samples, that a choice of one row after the other can give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.numerics.rank import ranks_of

Reals = NDArray[np.float64]

_RANK = 1e-7  # singular value of rows, scaled to length 1, below which they count as dependent
_SHARE = 1e-6  # coefficient below which a row takes no part in another
_APART = 1e-6  # by how much, relative to the rates themselves, a repeated row may ask for another rate


@dataclass(frozen=True)
class Spare:
    """A row that says nothing new: the kept rows it repeats, or none where it holds by itself."""

    row: int
    repeats: tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """Rows that are kept, in order, and those that are left out."""

    kept: tuple[int, ...]
    spare: tuple[Spare, ...] = ()


def select_rows(samples: Reals, stay: Sequence[int] = ()) -> Selection:
    """An independent subset of the rows of sampled matrices (samples × rows × columns), and what the others repeat. Those that
    are to `stay` are known to be independent."""
    count = samples.shape[1]
    if count == 0:
        return Selection(())
    scaled, length = _scaled(samples)
    ranks = ranks_of(scaled, _RANK)
    rank = int(ranks.max())
    if rank == count:
        return Selection(tuple(range(count)))
    generic = ranks == rank
    left = np.linalg.svd(scaled)[0]
    out = _left_out(left[generic][:, :, rank:], stay)
    kept = [i for i in range(count) if i not in out]
    shares = coefficients(scaled[generic], kept, out)
    spare = []
    for k, i in enumerate(out):
        taking_part = np.abs(shares[:, k]).max(axis=0) > _SHARE if length[i] > 0 else np.zeros(len(kept), dtype=bool)
        spare.append(Spare(i, tuple(kept[j] for j in np.flatnonzero(taking_part))))
    return Selection(tuple(kept), tuple(spare))


def _scaled(samples: Reals) -> tuple[Reals, Reals]:
    """Rows divided by their greatest length over the samples; rows that vanish everywhere become zero."""
    length = np.linalg.norm(samples, axis=2).max(axis=0)
    length = np.where(length > 1e-10 * length.max(), length, 0.0)
    return np.where(length[:, None] > 0, samples / np.where(length > 0, length, 1.0)[:, None], 0.0), length


def _left_out(kernel: Reals, stay: Sequence[int]) -> list[int]:
    """Rows to leave out, one for each column of the left kernels (samples × rows × columns): the largest pivots."""
    current = kernel.copy()
    out: list[int] = []
    for _ in range(kernel.shape[2]):
        share = np.linalg.norm(current, axis=2)
        share[:, [*out, *stay]] = 0.0
        worst = share.min(axis=0)
        if worst.max() < _SHARE:  # no row can be spared everywhere: the one that can in most places
            worst = np.median(share, axis=0)
        # of rows that are as good as each other the last goes: contacts stay before ties, earlier ties before later ones
        pivot = int(np.flatnonzero(worst >= 0.99 * worst.max())[-1])
        out.append(pivot)
        direction = current[:, pivot, :] / np.maximum(np.linalg.norm(current[:, pivot, :], axis=1), 1e-300)[:, None]
        current -= np.einsum("sij,sj,sk->sik", current, direction, direction)
    return sorted(out)


def coefficients(samples: Reals, kept: Sequence[int], out: Sequence[int]) -> Reals:
    """C of A_out = C A_kept at each sample (samples × out × kept)."""
    if not kept or not out:
        return np.zeros((len(samples), len(out), len(kept)))
    return np.asarray(samples[:, list(out)] @ np.linalg.pinv(samples[:, list(kept)], rcond=1e-9))


def check_consistent(model: str, names: Sequence[str], selection: Selection, samples: Reals, drift: Reals) -> None:
    """A row that repeats others must also ask for the rate that they ask for: a₀ of the spare rows is C a₀ of the kept."""
    if not selection.redundant or not np.abs(drift).max(initial=0.0) > 0:
        return
    out = [s.row for s in selection.redundant]
    scaled, length = _scaled(samples)
    asked = drift / np.where(length > 0, length, 1.0)
    shares = coefficients(scaled, selection.kept, out)
    given = np.einsum("sok,sk->so", shares, asked[:, list(selection.kept)])
    apart = np.abs(asked[:, out] - given)
    # where the matrix has lost rank the coefficients mean nothing
    sizes = np.linalg.svd(scaled[:, list(selection.kept)], compute_uv=False)
    apart[sizes[:, -1] < 1e-3 * sizes[:, -1].max() if selection.kept else np.zeros(len(samples), dtype=bool)] = 0.0
    worst = apart.max(axis=0)
    k = int(np.argmax(worst))
    if worst[k] <= _APART * (1.0 + np.abs(asked).max()):
        return
    spare = selection.redundant[k]
    others = ", ".join(repr(names[i]) for i in spare.repeats)
    if not others:
        raise ModelError(
            f"model {model!r}: constraint {names[spare.row]!r} moves by itself, but no velocity can follow it; give its bodies a "
            "freedom for it, or take it away"
        )
    raise ModelError(
        f"model {model!r}: constraint {names[spare.row]!r} contradicts {others}: both hold the same motion, at different rates; "
        "take one of them away, or make their motions in time agree"
    )


def tell(names: Sequence[str], selection: Selection) -> tuple[list[str], list[str]]:
    """In words: what every run should repeat (forces that are not unique), and what is worth knowing."""
    warnings, notes = [], []
    for spare in selection.redundant:
        name = names[spare.row]
        if not spare.repeats:
            notes.append(f"constraint {name} holds by itself: nothing that the mechanism can do changes it, and it has no force")
            continue
        others = _listed([names[i] for i in spare.repeats])
        warnings.append(
            f"constraint {name} repeats {others}: it is watched but not solved for; the forces of these are not unique, only "
            "what they do together is; the smallest that do it are given"
        )
    return warnings, notes


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
