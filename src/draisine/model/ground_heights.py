"""Heights of curved ground at points, from its description alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.expr.array_functions import array_functions
from draisine.expr.expression import evaluate
from draisine.model.system import System


def ground_heights(
    system: System, values: Mapping[str, float], x: ArrayLike, y: ArrayLike, time: float = 0.0
) -> NDArray[np.float64]:
    """Heights at arrays of points, with the values of all parameters; NaN where there is none, as outside a bowl."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    at: dict[str, Any] = {**values, "x": x.ravel(), "y": y.ravel(), "t": time}
    functions = {**array_functions(), **{function.name: function.at for function in system.functions}}
    with np.errstate(all="ignore"):
        found = np.asarray(evaluate(system.ground.height, at.__getitem__, functions), dtype=float)
    found = np.broadcast_to(found, (x.size,)).reshape(x.shape)
    return np.where(np.isfinite(found), found, np.nan)
