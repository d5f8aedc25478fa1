"""Every scalar operation that CasADi's SX has: how it is written, and arguments on which it is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "sq": lambda x: x**2,
    "twice": lambda x: 2 * x,
    "inv": lambda x: 1 / x,
    "sqrt": ca.sqrt,
    "exp": ca.exp,
    "log": ca.log,
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "asin": ca.asin,
    "acos": ca.acos,
    "atan": ca.atan,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "asinh": ca.asinh,
    "acosh": ca.acosh,
    "atanh": ca.atanh,
    "floor": ca.floor,
    "ceil": ca.ceil,
    "fabs": ca.fabs,
    "sign": ca.sign,
    "not": ca.logic_not,
    "erf": ca.erf,
    "erfinv": ca.erfinv,
    "log1p": ca.log1p,
    "expm1": ca.expm1,
    "constpow": lambda x: x**2.7,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "fmod": ca.fmod,
    "remainder": ca.remainder,
    "copysign": ca.copysign,
    "if_else_zero": lambda x, y: ca.if_else(x, y, 0),
    "if_else": lambda x, y: ca.if_else(x < y, x * y, y - x),
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "atan2": ca.atan2,
    "hypot": ca.hypot,
}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-300, 1e300, 5e-324, float("inf"), -float("inf"), float("nan"))
ORDINARY = (0.3, -0.7, 0.92, 1.7, -2.6, 11.3, -40.0, 1e-9, -1e-5)
