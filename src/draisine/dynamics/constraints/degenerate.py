"""Constraints that are singular as written: (x − y)² = 0 says that x = y, but its rate 2 (x − y)(ẋ − ẏ) vanishes where it holds.

Such a constraint has no force: its multiplier would have to be infinite. Newton's method approaches it in ever smaller steps, and
its derivative decreases with them to the last, by a half each for a square. That of a constraint that is only flat, or small in
the units of the model, reaches a value. The decrease has no scale.

Such a residual may follow from others: of two bars on one axis that are tied at a point, one component of the gap is proportional
to 1 − cos of the angle between them, the other to its sine. It is redundant then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ModelError
from draisine.numerics.newton import LeastNorm, Newton
from draisine.numerics.uniform_numbers import UniformNumbers

Array = NDArray[np.float64]
Residuals = Callable[[Array], tuple[Array, Array]]  # values and their Jacobian at a configuration

ZERO = 1e-12  # derivative at a zero that needs no step, relative to others
ROUNDING = 1e-15  # of a residual whose terms are about 1; smaller ones are compared where there are no others
SUSPECT = 1e-2  # derivative at admissible configurations, relative to others, below which it is examined
DECREASES = 0.8  # factor of the derivative in the last step of Newton's method: 1/2 for a square, 4/9 for a cube, 1 for others
SIMPLE = 1e-2  # factor by which residual/derivative² decreases towards a simple zero, at least, before the last step
_EXAMINED = 3  # configurations
_CLOSER = Newton(tolerance=0.0, acceptable=0.0, max_iterations=60)
_BESIDE = 0.05  # way from an admissible configuration to one where the constraints are open
_FOLLOWS = 1e-6  # of the residual there, what may be left when the others are closed
_ONTO_OTHERS = Newton(tolerance=1e-14, acceptable=1e-10, max_iterations=40)


def degenerate(residuals: Residuals, admissible: Sequence[Array], others: Sequence[Array]) -> list[int]:
    """Residuals whose derivative vanishes wherever they are zero.

    `others` are configurations where they need not be zero. Without `admissible` ones Newton's method goes there from these, each
    residual by itself. Configurations at which they are not defined say nothing: a ground may end before the origin.
    """
    admissible, others = ([q for q in given if _defined(residuals, q)] for given in (admissible, others))
    if not len(others):
        return []
    usual = np.median([_sizes(residuals(q)[1]) for q in others], axis=0)
    suspects = list(range(len(usual)))
    if len(admissible):
        there = np.max([_sizes(residuals(q)[1]) for q in admissible], axis=0)
        suspects = [int(i) for i in np.flatnonzero(there < SUSPECT * usual)]
    starts = admissible if len(admissible) else others
    return [i for i in suspects if all(_vanishes(residuals, i, q, usual[i]) for q in starts[:_EXAMINED])]


def _defined(residuals: Residuals, q: Array) -> bool:
    return all(bool(np.isfinite(found).all()) for found in residuals(q))


def _sizes(jacobian: Array) -> Array:
    return np.nan_to_num(np.linalg.norm(jacobian, axis=1), nan=0.0, posinf=0.0)


def _vanishes(residuals: Residuals, row: int, q: Array, usual: float) -> bool:
    """Whether the derivative of one residual vanishes with it, as close to its zero as Newton's method comes."""
    closer: list[tuple[float, float]] = []  # ever smaller residuals, with their derivatives

    def evaluate(q: Array) -> tuple[Array, Array]:
        values, jacobian = residuals(q)
        size = float(np.abs(values[row]))
        if not closer or size < closer[-1][0]:
            closer.append((size, float(_sizes(jacobian[row : row + 1])[0])))
        return values[row : row + 1], jacobian[row : row + 1]

    _CLOSER.solve(evaluate, q, LeastNorm(None))
    if len(closer) < 2:
        return closer[-1][1] <= ZERO * usual
    clear = [pair for pair in closer if pair[0] > ROUNDING]  # the others are rounding errors, and so are their derivatives
    before, last = (clear if len(clear) > 1 else closer)[-2:]
    # r/r'² is the same at all steps towards a double zero, and decreases to zero at a simple one, however small the lengths
    small, derivative = closer[-2]
    simple = small * before[1] ** 2 < SIMPLE * before[0] * derivative**2
    return last[1] < SUSPECT * usual and last[1] < DECREASES * before[1] and not simple


def implied(residuals: Residuals, rows: Sequence[int], admissible: Sequence[Array]) -> list[int]:
    """Those of some residuals that are zero wherever the other ones are, near admissible configurations."""
    rng = UniformNumbers(1847)
    follows = dict.fromkeys(rows, bool(len(admissible)))
    for q in admissible[:_EXAMINED]:
        count = len(residuals(q)[0])
        others = [i for i in range(count) if i not in rows]
        if not others:
            return []

        def evaluate(q: Array, others: list[int] = others) -> tuple[Array, Array]:
            values, jacobian = residuals(q)
            return values[others], jacobian[others]

        beside = q + _BESIDE * rng.uniform(-1.0, 1.0, len(q))
        found = _ONTO_OTHERS.solve(evaluate, beside, LeastNorm(1e-9))
        before, after = (np.abs(residuals(x)[0]) for x in (beside, found.point.x))
        for i in rows:
            follows[i] = follows[i] and found.converged and bool(after[i] <= _FOLLOWS * before[i])
    return [i for i in rows if follows[i]]


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
