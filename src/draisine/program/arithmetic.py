"""Operations of tapes on floats, complex numbers and mpmath numbers: the tables of the interpreter.

The imaginary part of a complex number is a derivative (complex step). Comparisons therefore use the real part only, and functions
that are not entire are continued to first order, f(a + ib) = f(a) + i b f′(a); outside the real domain the result is NaN.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program import opcodes as op

Operations = Mapping[int, Callable[..., Any]]

_UNARY = {"EXP": np.exp, "SIN": np.sin, "COS": np.cos, "TAN": np.tan, "ATAN": np.arctan, "SINH": np.sinh, "COSH": np.cosh}
_UNARY |= {"TANH": np.tanh, "ASINH": np.arcsinh, "EXPM1": np.expm1, "SQRT": np.sqrt, "LOG": np.log, "LOG1P": np.log1p}
_UNARY |= {"ASIN": np.arcsin, "ACOS": np.arccos, "ACOSH": np.arccosh, "ATANH": np.arctanh, "FLOOR": np.floor, "CEIL": np.ceil}


def operations_for(kind: np.dtype[Any]) -> Operations:
    """The operations for arrays of this dtype: float, complex, or object (mpmath)."""
    return {"c": complex_operations, "O": exact_operations}.get(kind.kind, real_operations)()


@cache
def real_operations() -> Operations:
    table: dict[str, Callable[..., Any]] = dict(_UNARY)
    table |= {"ASSIGN": lambda x: x, "LIFT": lambda x, y: x, "PRINTME": lambda x, y: x}
    table |= {
        "ADD": lambda x, y: x + y,
        "SUB": lambda x, y: x - y,
        "MUL": lambda x, y: x * y,
        "DIV": lambda x, y: np.divide(x, y),
    }
    table |= {"NEG": lambda x: -x, "SQ": lambda x: x * x, "TWICE": lambda x: 2.0 * x, "INV": lambda x: np.divide(1.0, x)}
    table |= {"POW": np.float_power, "CONSTPOW": np.float_power, "ATAN2": np.arctan2, "HYPOT": np.hypot}
    table |= {"FABS": np.abs, "SIGN": np.sign, "COPYSIGN": np.copysign, "FMIN": np.fmin, "FMAX": np.fmax}
    table |= {"FMOD": np.fmod, "REMAINDER": _each(_remainder), "ERF": _each(math.erf), "ERFINV": _each(_erfinv)}
    table |= {"LT": lambda x, y: 1.0 * (x < y), "LE": lambda x, y: 1.0 * (x <= y), "EQ": lambda x, y: 1.0 * (x == y)}
    table |= {"NE": lambda x, y: 1.0 * (x != y), "NOT": lambda x: 1.0 * (x == 0.0)}
    table |= {"AND": lambda x, y: 1.0 * np.logical_and(x != 0, y != 0), "OR": lambda x, y: 1.0 * np.logical_or(x != 0, y != 0)}
    table |= {"IF_ELSE_ZERO": lambda x, y: np.where(x != 0.0, y, 0.0)}
    table |= {"LOW": _low, "GETNONZEROS_PARAM": lambda numbers, k: numbers[np.asarray(k).astype(int)]}
    return _by_number(table)


@cache
def complex_operations() -> Operations:
    real = real_operations()
    over_real_parts = ("SIGN", "FLOOR", "CEIL", "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "LOW", "GETNONZEROS_PARAM")
    table: dict[str, Callable[..., Any]] = {n: _on_real_parts(real[op.NUMBERS[n]]) for n in over_real_parts}
    derivatives: dict[str, Callable[[Any], Any]] = {
        "SQRT": lambda x: 0.5 / np.sqrt(x),
        "LOG": lambda x: 1.0 / x,
        "LOG1P": lambda x: 1.0 / (1.0 + x),
        "ASIN": lambda x: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
        "ACOS": lambda x: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
        "ACOSH": lambda x: 1.0 / np.sqrt((x - 1.0) * (x + 1.0)),
        "ATANH": lambda x: 1.0 / ((1.0 - x) * (1.0 + x)),
        "ERF": lambda x: 2.0 / math.sqrt(math.pi) * np.exp(-x * x),
        "ERFINV": lambda x: 0.5 * math.sqrt(math.pi) * np.exp(real[op.ERFINV](x) ** 2),
    }
    table |= {n: _first_order(real[op.NUMBERS[n]], slope) for n, slope in derivatives.items()}
    table |= {"POW": _complex_power, "CONSTPOW": _complex_power, "ATAN2": _complex_angle, "HYPOT": _complex_hypot}
    table |= {"FABS": lambda x: np.where(np.real(x) < 0.0, -x, x)}
    table |= {"COPYSIGN": lambda x, y: np.where(np.signbit(np.real(x)) == np.signbit(np.real(y)), x, -x)}
    table |= {"FMIN": lambda x, y: np.where((np.real(x) <= np.real(y)) | np.isnan(np.real(y)), x, y)}
    table |= {"FMAX": lambda x, y: np.where((np.real(x) >= np.real(y)) | np.isnan(np.real(y)), x, y)}
    table |= {"FMOD": _complex_remainder(np.fmod), "REMAINDER": _complex_remainder(_each(_remainder))}
    table |= {"IF_ELSE_ZERO": lambda x, y: np.where(np.real(x) != 0.0, y, 0.0)}
    return MappingProxyType({**real, **_by_number(table)})


@cache
def exact_operations() -> Operations:
    """For objects: mpmath functions, at the current mpmath precision."""
    import mpmath as mp

    named = (*_UNARY, "ERF", "ERFINV", "HYPOT", "ATAN2", "SIGN")
    table: dict[str, Callable[..., Any]] = {name: getattr(mp, name.lower()) for name in named}
    table |= {"POW": mp.power, "CONSTPOW": mp.power, "FABS": abs, "FMIN": min, "FMAX": max}
    table |= {"DIV": lambda x, y: mp.mpf(x) / y, "INV": lambda x: 1 / mp.mpf(x)}
    table |= {"COPYSIGN": lambda x, y: abs(x) if y >= 0 else -abs(x), "FMOD": lambda x, y: x - y * _truncate(x / y)}
    table |= {"REMAINDER": lambda x, y: x - y * mp.nint(mp.mpf(x) / y)}
    table |= {"AND": lambda x, y: float(x != 0 and y != 0), "OR": lambda x, y: float(x != 0 or y != 0)}
    table |= {"IF_ELSE_ZERO": lambda x, y: y if x != 0 else 0.0, "GETNONZEROS_PARAM": lambda numbers, k: float(numbers[int(k)])}
    table |= {"LOW": lambda knots, x: float(min(max(bisect_right(list(knots), x) - 1, 0), len(knots) - 2))}
    return MappingProxyType({**real_operations(), **_by_number(table)})


# --------------------------------------------------------------------------------------------------- real functions


def _by_number(table: Mapping[str, Callable[..., Any]]) -> Operations:
    return MappingProxyType({op.NUMBERS[name]: function for name, function in table.items()})


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    return np.vectorize(function, otypes=[float])


def _low(knots: NDArray[np.float64], x: Any) -> Any:
    """The cell of x: the last knot not above it, except the very last one."""
    return np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2).astype(float)


def _remainder(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0.0:
        return math.nan
    return math.remainder(x, y)


def _erfinv(x: float) -> float:
    from statistics import NormalDist

    if not abs(x) < 1.0:
        return math.copysign(math.inf, x) if abs(x) == 1.0 else math.nan
    if x == 0.0:
        return x
    start = math.copysign(NormalDist().inv_cdf(0.5 * (1.0 - abs(x))) / math.sqrt(2.0), x)
    # One Newton step: 1 − |x| loses the last digits of a small x, erf does not.
    return start - (math.erf(start) - x) * 0.5 * math.sqrt(math.pi) * math.exp(start * start)


def _truncate(x: Any) -> Any:
    return math.floor(x) if x >= 0 else math.ceil(x)


# ------------------------------------------------------------------------------------------------- first-order parts


def _on_real_parts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*(np.real(o) for o in operands))


def _first_order(function: Callable[..., Any], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def lifted(x: Any) -> Any:
        a, b = np.real(x), np.imag(x)
        return function(a) + 1j * np.where(b != 0.0, b * slope(a), 0.0)

    return lifted


def _complex_power(x: Any, y: Any) -> Any:
    a, b = np.real(x), np.real(y)
    value = np.float_power(a, b)
    along_x = np.where(np.imag(x) != 0.0, np.imag(x) * b * np.float_power(a, b - 1.0), 0.0)
    along_y = np.where(np.imag(y) != 0.0, np.imag(y) * value * np.log(a), 0.0)
    return value + 1j * (along_x + along_y)


def _complex_angle(y: Any, x: Any) -> Any:
    a, b = np.real(y), np.real(x)
    return np.arctan2(a, b) + 1j * (b * np.imag(y) - a * np.imag(x)) / (a * a + b * b)


def _complex_hypot(x: Any, y: Any) -> Any:
    length = np.hypot(np.real(x), np.real(y))
    return length + 1j * (np.real(x) * np.imag(x) + np.real(y) * np.imag(y)) / length


def _complex_remainder(function: Callable[..., Any]) -> Callable[..., Any]:
    """x − k y with the integer k of the real parts."""

    def remainder(x: Any, y: Any) -> Any:
        value = function(np.real(x), np.real(y))
        turns = np.round((np.real(x) - value) / np.real(y))
        return value + 1j * (np.imag(x) - turns * np.imag(y))

    return remainder
