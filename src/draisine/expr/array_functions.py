"""The functions of expressions on arrays of numbers, for `draisine.expr.expression.evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np


def array_functions() -> dict[str, Callable[..., Any]]:
    """The functions of expressions on arrays."""
    arc = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2}
    same = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "floor", "ceil", "abs", "sign", "clip", "where")
    return {
        **{name: getattr(np, name) for name in same},
        **arc,
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "neg": np.negative,
        "pow": np.float_power,
        "lt": lambda a, b: np.less(a, b) * 1.0,
        "le": lambda a, b: np.less_equal(a, b) * 1.0,
        "gt": lambda a, b: np.greater(a, b) * 1.0,
        "ge": lambda a, b: np.greater_equal(a, b) * 1.0,
        "min": lambda *a: reduce(np.minimum, a),
        "max": lambda *a: reduce(np.maximum, a),
        "hypot": lambda *a: reduce(np.hypot, a),
    }
