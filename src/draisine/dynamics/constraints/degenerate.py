"""Constraints that are singular as written: (x − y)² = 0 says that x = y, but its rate 2 (x − y)(ẋ − ẏ) vanishes where it holds.

Such a constraint has no force: its multiplier would have to be infinite. Newton's method approaches it in ever smaller steps, and
its derivative decreases with them; that of a constraint that is only flat does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.numerics.newton import LeastNorm, Newton

Array = NDArray[np.float64]
Residuals = Callable[[Array], tuple[Array, Array]]  # values and their Jacobian at a configuration

SUSPECT = 1e-2  # derivative at admissible configurations, relative to others, below which it is examined
VANISHES = 1e-5  # and below which it vanishes
_SATISFIED = 1e-8
_EXAMINED = 3  # configurations
_CLOSER = Newton(tolerance=0.0, acceptable=1e-15, max_iterations=60)


def degenerate(residuals: Residuals, admissible: Sequence[Array], others: Sequence[Array]) -> list[int]:
    """Residuals whose derivative vanishes wherever they are zero.

    `others` are configurations where they need not be zero. Without `admissible` ones Newton's method goes there from these, each
    residual by itself.
    """
    if not len(others):
        return []
    usual = np.median([_sizes(residuals(q)[1]) for q in others], axis=0)
    suspects = list(range(len(usual)))
    if len(admissible):
        there = np.max([_sizes(residuals(q)[1]) for q in admissible], axis=0)
        suspects = [int(i) for i in np.flatnonzero(there < SUSPECT * usual)]
    starts = admissible if len(admissible) else others
    return [i for i in suspects if max(_closer(residuals, i, q) for q in starts[:_EXAMINED]) < VANISHES * usual[i]]


def _sizes(jacobian: Array) -> Array:
    return np.nan_to_num(np.linalg.norm(jacobian, axis=1), nan=0.0, posinf=0.0)


def _closer(residuals: Residuals, row: int, q: Array) -> float:
    """The derivative of one residual as close to its zero as Newton's method comes; infinite if that is not close."""

    def evaluate(q: Array) -> tuple[Array, Array]:
        values, jacobian = residuals(q)
        return values[row : row + 1], jacobian[row : row + 1]

    found = _CLOSER.solve(evaluate, q, LeastNorm(None))
    return float(np.linalg.norm(found.point.jacobian)) if found.residual < _SATISFIED else np.inf


def degenerate_error(model: str, names: Sequence[str]) -> ModelError:
    """The error that names constraints which are singular as written."""
    listed = " and ".join(repr(name) for name in names)
    are, their = (
        ("is", "its rate vanishes wherever it is") if len(names) == 1 else ("are", "their rates vanish wherever they are")
    )
    return ModelError(
        f"{model}: constraint {listed} {are} singular as written: {their} satisfied, as that of (x - y)^2 = 0 does, so that no "
        "force belongs to it; write what must be zero without the power: x - y = 0"
    )
