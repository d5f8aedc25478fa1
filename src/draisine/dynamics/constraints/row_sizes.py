"""Sizes of constraint rows: the length of a model, and the size below which a row is rounding error.

A point at 0.1 + 0.2 tied to one at 0.3 leaves an offset of 6e-17 whose rate depends on a joint. Such a row constrains nothing:
its entries are compared with the lengths of the model, not with each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.redundancy import sample_coordinates
from draisine.dynamics.lowering import Scope
from draisine.model.items import System, Translate

Array = NDArray[np.float64]

ROUNDING = 256 * float(np.finfo(float).eps)  # relative rounding error of entries that some tens of operations compute
_SAMPLES = 6  # configurations at which rows are evaluated
_VARIED = 0.1  # relative change of parameters


def model_length(system: System, scope: Scope, parameters: Array) -> float:
    """The largest coordinate of points in their bodies and of joints in their parents; 1 m for a model without lengths."""
    symbols = [scope.value(part) for point in system.points for part in point.at]
    for joint in system.joints:
        symbols += [scope.value(part) for step in joint.chain if isinstance(step, Translate) for part in step.by]
    if not symbols:
        return 1.0
    q = np.array([c.default for c in system.coordinates])
    lengths = ca.Function("lengths", [scope.t, scope.q, scope.p], [ca.vertcat(*symbols)])(0.0, q, parameters).full()
    largest = float(np.abs(lengths[np.isfinite(lengths)]).max(initial=0.0))
    return largest if largest > 0 else 1.0


def scale_of(unit: str, length: float) -> float:
    """The size of a residual, from its unit at position or velocity level; for other units the larger of 1 and the model's
    length.

    >>> [scale_of(unit, 0.2) for unit in ("m", "m^2", "rad", "")]
    [0.2, 0.04000000000000001, 1.0, 1.0]
    """
    base = unit.removesuffix("/s")
    return {"m": length, "m^2": length**2, "rad": 1.0}.get(base, max(1.0, length))


def without_rounding(samples: Array, length: float) -> Array:
    """Rows (of samples × rows × columns) that are rounding error in all samples become zero."""
    sizes = np.nan_to_num(np.linalg.norm(samples, axis=2), posinf=np.inf).max(axis=0, initial=0.0)
    return np.asarray(np.where((sizes > ROUNDING * min(1.0, length))[:, None], samples, 0.0))


def vanishing_rows(matrix: ca.SX, units: Sequence[str], scope: Scope, parameters: Array, length: float) -> list[int]:
    """Rows that are zero up to rounding at any coordinates and for other parameters, too: entries of velocities of rotation, and
    those of translation times the model's length, relative to the size of the residual.

    A row that vanishes at the default parameters alone stays: it is a constraint at others.
    """
    if not matrix.nnz():
        return list(range(matrix.shape[0]))
    evaluate = ca.Function("entries", [scope.t, scope.q, scope.p], [matrix.nz[:]])
    rows, columns = (np.array(part) for part in matrix.sparsity().get_triplet())
    sizes = np.array([length if v.unit == "m/s" else 1.0 for v in scope.system.velocities])[columns]
    rng = np.random.default_rng(17)
    varied = bool(len(parameters)) and ca.depends_on(matrix, scope.p)
    largest, smallest = np.zeros(matrix.shape[0]), ROUNDING * np.array([scale_of(unit, length) for unit in units])
    for q in sample_coordinates(scope.system, _SAMPLES):
        changed = parameters * (1.0 + _VARIED * rng.uniform(-1.0, 1.0, len(parameters)))
        for t, p in ((0.0, parameters), *(((0.7, changed),) if varied else ())):
            values = np.abs(evaluate(t, q, p).full().ravel()) * sizes  # a single row is a row
            np.maximum.at(largest, rows, np.where(np.isfinite(values), values, np.inf))
    return [int(i) for i in np.flatnonzero(largest <= smallest)]
