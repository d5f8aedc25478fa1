"""Coordinates that may run on in steady motions, whatever values the inputs and parameters take that vary with them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from draisine.errors import ModelError, SolverError
from draisine.stability.linearization import Motion
from draisine.stability.steady import SteadyMotion, ignorable_names

APART = 0.05  # of a parameter; of one where it is zero


def running_on(begin: SteadyMotion, varied: Collection[str]) -> tuple[str, ...]:
    """Those of the first motion on which nothing depends with other values of the varied inputs and parameters either: a push
    from one side, zero at first, makes the heading matter."""
    e = begin.equations
    inputs = np.array([i.name in varied for i in e.inputs], dtype=bool)
    parameters = np.array([p.name in varied for p in e.parameters], dtype=bool)
    if not (inputs.any() or parameters.any()):
        return begin.ignorable
    u = np.where(inputs, begin.u + np.maximum(1.0, np.abs(begin.u)), begin.u)
    p = np.where(parameters, begin.p + APART * np.where(begin.p == 0.0, 1.0, begin.p), begin.p)
    try:
        still = ignorable_names(e, Motion(e, begin.x, u, p))
    except (ModelError, SolverError):  # such values have no motion nearby, so that they tell nothing
        return begin.ignorable
    return tuple(name for name in begin.ignorable if name in still)
