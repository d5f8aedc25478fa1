"""Linear combinations of named things: few terms, told by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALL = 1e-6  # coefficient that counts as zero


def echelon(rows: Array) -> Array:
    """The same row space by rows with many zeros: reduced echelon form with the largest pivots."""
    rows = rows.copy()
    for k in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[k])))
        rows[k] /= rows[k, pivot]
        for j in range(len(rows)):
            if j != k:
                rows[j] -= rows[j, pivot] * rows[k]
    return rows


def spanned(row: Array, others: Array) -> bool:
    """Whether a row is a combination of others."""
    if not len(others):
        return False
    share = np.linalg.lstsq(others.T, row, rcond=1e-9)[0]
    return bool(np.linalg.norm(row - others.T @ share) <= SMALL * np.linalg.norm(row))


def terms(row: Array, names: Sequence[str]) -> dict[str, float]:
    """Name → coefficient; the largest is 1 and the first is positive.

    >>> terms(np.array([-1.0, 0.0, 2.0]), ("a", "b", "c"))
    {'a': 0.5, 'c': -1.0}
    """
    share = row / np.abs(row).max()
    found = {name: float(s) for name, s in zip(names, share, strict=True) if abs(s) > SMALL}
    sign = -1.0 if next(iter(found.values()), 1.0) < 0 else 1.0
    return {name: round(sign * s, 12) for name, s in found.items()}


def sum_of(terms: dict[str, float]) -> str:
    """In a line, coefficients that are one left out.

    >>> sum_of({"a": 0.5, "c": -1.0})
    '0.5 a − c'
    """
    signed = [f"{'+' if s >= 0 else '−'} {'' if abs(abs(s) - 1) < 1e-9 else f'{abs(s):.4g} '}{name}" for name, s in terms.items()]
    return " ".join(signed).removeprefix("+ ")
