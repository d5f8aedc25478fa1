"""Taylor arithmetic: evaluation of programs on truncated power series, for high time derivatives along a curve.

With y(s) = Σ aₖ sᵏ in place of y, each operation of a tape becomes a recurrence for the coefficients (Griewank & Walther,
Evaluating Derivatives, 2008, ch. 13); the k-th derivative along the curve is k! times the k-th coefficient. The cost grows with
the square of the order, that of repeated symbolic differentiation exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.program import opcodes as op
from draisine.program.arithmetic import Operations, real_operations
from draisine.program.interpreter import run_tape
from draisine.program.program import Program

Series = NDArray[np.float64]  # coefficients; a number is a series too


def along(program: Program, *arguments: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """The results of a program along a curve. Arguments and results are arrays (entries, coefficients) of equal length.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> f = Program.build("f", {"x": x}, {"y": ca.exp(2 * x)})
    >>> along(f, np.array([[0.0, 1.0, 0.0, 0.0]]))[0].tolist()  # x = s: 1 + 2s + 2s² + 4/3 s³
    [[1.0, 2.0, 2.0, 1.3333333333333333]]
    """
    tables = [np.atleast_2d(np.asarray(a, dtype=float)) for a in arguments]
    length = max(table.shape[1] for table in tables)
    for slot, table in zip(program.inputs, tables, strict=True):
        if table.shape[0] != slot.size and table.size:
            raise ArgumentError(
                f"program {program.name!r}: argument {slot.name!r} needs {slot.size} series, got {table.shape[0]}"
            )
    inputs: list[Any] = [list(table) if slot.size else [] for slot, table in zip(program.inputs, tables, strict=True)]
    results = run_tape(program.tape, inputs, [slot.size for slot in program.outputs], series_operations())
    return tuple(
        np.array([_lifted(entry, length) for entry in column]).reshape(slot.size, length)
        for slot, column in zip(program.outputs, results, strict=True)
    )


def series_operations() -> Operations:
    """The operations of tapes on series, for the interpreter."""
    real = real_operations()
    decisions = ("SIGN", "FLOOR", "CEIL", "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "LOW", "GETNONZEROS_PARAM")
    table: dict[str, Callable[..., Any]] = {name: _on_values(real[op.NUMBERS[name]], name) for name in decisions}
    table |= {"ASSIGN": lambda a: a, "LIFT": lambda a, b: a, "PRINTME": lambda a, b: a}
    table |= {"ADD": _sum, "SUB": lambda a, b: _sum(a, -1.0 * b), "MUL": _product, "DIV": _quotient}
    table |= {"NEG": lambda a: -1.0 * a, "SQ": lambda a: _product(a, a), "TWICE": lambda a: 2.0 * a}
    table |= {"INV": lambda a: _quotient(1.0, a), "SQRT": _root, "EXP": _exp, "LOG": _log, "TANH": _tanh}
    table |= {"SIN": lambda a: _circle(a)[0], "COS": lambda a: _circle(a)[1], "TAN": lambda a: _quotient(*_circle(a))}
    table |= {"SINH": lambda a: _hyperbola(a)[0], "COSH": lambda a: _hyperbola(a)[1], "EXPM1": _expm1}
    table |= {name: _by_derivative(real[op.NUMBERS[name]], slope) for name, slope in _derivatives().items()}
    table |= {
        "POW": _power,
        "CONSTPOW": _power,
        "ATAN2": _angle,
        "HYPOT": lambda a, b: _root(_sum(_product(a, a), _product(b, b))),
    }
    table |= {"FABS": lambda a: _sign(a) * a, "COPYSIGN": lambda a, b: _sign(a) * _sign(b) * a}
    table |= {"FMIN": lambda a, b: a if _value(a) <= _value(b) else b, "FMAX": lambda a, b: a if _value(a) >= _value(b) else b}
    table |= {"FMOD": _remainder(math.fmod), "REMAINDER": _remainder(math.remainder)}
    table |= {"IF_ELSE_ZERO": lambda a, b: b if _value(a) != 0.0 else 0.0}
    return MappingProxyType({op.NUMBERS[name]: function for name, function in table.items()})


def _derivatives() -> dict[str, Callable[[Any], Any]]:
    """Derivatives of the functions that are integrated from their derivative."""
    square = lambda a: _product(a, a)  # noqa: E731
    return {
        "ATAN": lambda a: _quotient(1.0, _sum(1.0, square(a))),
        "ASIN": lambda a: _quotient(1.0, _root(_sum(1.0, -square(a)))),
        "ACOS": lambda a: _quotient(-1.0, _root(_sum(1.0, -square(a)))),
        "ASINH": lambda a: _quotient(1.0, _root(_sum(1.0, square(a)))),
        "ACOSH": lambda a: _quotient(1.0, _root(_sum(-1.0, square(a)))),
        "ATANH": lambda a: _quotient(1.0, _sum(1.0, -square(a))),
        "LOG1P": lambda a: _quotient(1.0, _sum(1.0, a)),
        "ERF": lambda a: 2.0 / math.sqrt(math.pi) * _exp(-square(a)),
    }


# ---------------------------------------------------------------- series


def _value(a: Any) -> float:
    return float(a[0]) if np.ndim(a) else float(a)


def _lifted(a: Any, length: int) -> Series:
    if np.ndim(a):
        return np.asarray(a)
    found = np.zeros(length)
    found[0] = a
    return found


def _on_values(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    if name in ("LOW", "GETNONZEROS_PARAM"):  # the first operand is a vector of numbers
        return lambda numbers, a: float(function(numbers, _value(a)))
    return lambda *operands: float(function(*(_value(a) for a in operands)))


def _sign(a: Any) -> float:
    """The sign of a series for small s > 0."""
    leading = next((c for c in np.atleast_1d(a) if c != 0.0), 1.0)
    return math.copysign(1.0, leading)


def _sum(a: Any, b: Any) -> Any:
    if np.ndim(a) == np.ndim(b):
        return a + b
    series, number = (a, b) if np.ndim(a) else (b, a)
    found = series.copy()
    found[0] += number
    return found


def _product(a: Any, b: Any) -> Any:
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    return np.convolve(a, b)[: len(a)]


def _quotient(a: Any, b: Any) -> Any:
    if not np.ndim(b):
        return np.divide(a, b)
    a, found = _lifted(a, len(b)), np.zeros(len(b))
    for k in range(len(b)):
        found[k] = (a[k] - found[:k] @ b[k:0:-1]) / b[0]
    return found


def _root(a: Any) -> Any:
    if not np.ndim(a):
        return np.sqrt(a)
    found = np.zeros(len(a))
    found[0] = np.sqrt(a[0])
    for k in range(1, len(a)):
        found[k] = (a[k] - found[1:k] @ found[k - 1 : 0 : -1]) / (2.0 * found[0])
    return found


def _moments(a: Series) -> Series:
    """k aₖ: the coefficients of s a′(s)."""
    return np.arange(len(a)) * a


def _exp(a: Any) -> Any:
    if not np.ndim(a):
        return np.exp(a)
    found, moments = np.zeros(len(a)), _moments(a)
    found[0] = np.exp(a[0])
    for k in range(1, len(a)):
        found[k] = moments[1 : k + 1] @ found[k - 1 :: -1][:k] / k
    return found


def _expm1(a: Any) -> Any:
    found = _exp(a)
    return _sum(found, np.expm1(_value(a)) - _value(found))


def _log(a: Any) -> Any:
    if not np.ndim(a):
        return np.log(a)
    found = np.zeros(len(a))
    found[0] = np.log(a[0])
    for k in range(1, len(a)):
        found[k] = (a[k] - (np.arange(1, k) * found[1:k]) @ a[k - 1 : 0 : -1] / k) / a[0]
    return found


def _circle(a: Any) -> tuple[Any, Any]:
    return _pair(a, np.sin, np.cos, -1.0)


def _hyperbola(a: Any) -> tuple[Any, Any]:
    return _pair(a, np.sinh, np.cosh, 1.0)


def _pair(a: Any, first: Any, second: Any, sign: float) -> tuple[Any, Any]:
    """Two functions, each of which is the derivative of the other, up to the sign for the second."""
    if not np.ndim(a):
        return first(a), second(a)
    s, c, moments = np.zeros(len(a)), np.zeros(len(a)), _moments(a)
    s[0], c[0] = first(a[0]), second(a[0])
    for k in range(1, len(a)):
        s[k] = moments[1 : k + 1] @ c[k - 1 :: -1][:k] / k
        c[k] = sign * (moments[1 : k + 1] @ s[k - 1 :: -1][:k]) / k
    return s, c


def _tanh(a: Any) -> Any:
    if not np.ndim(a):
        return np.tanh(a)
    found, moments = np.zeros(len(a)), _moments(a)
    found[0] = np.tanh(a[0])
    for k in range(1, len(a)):
        slope = -np.convolve(found[:k], found[:k])[:k]
        slope[0] += 1.0
        found[k] = moments[1 : k + 1] @ slope[::-1] / k
    return found


def _by_derivative(function: Callable[[float], Any], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f(a) from f(a₀) and f′(a(s)) a′(s), integrated."""

    def lifted(a: Any) -> Any:
        if not np.ndim(a):
            return float(function(a))
        return _integrated(float(function(a[0])), _product(slope(a), _rate(a)))

    return lifted


def _rate(a: Any) -> Any:
    """a′(s), with the length of a; its last coefficient is unknown and never used."""
    return np.append(_moments(a)[1:], 0.0)


def _integrated(value: float, rate: Series) -> Series:
    return np.append(value, rate[:-1] / np.arange(1, len(rate)))


def _power(a: Any, b: Any) -> Any:
    if np.ndim(b) and np.any(b[1:]):
        return _exp(_product(b, _log(a)))
    exponent = _value(b)
    if not np.ndim(a):
        return np.float_power(a, exponent)
    if exponent.is_integer() and abs(exponent) <= 16:
        power = _integer_power(a, int(abs(exponent)))
        return power if exponent >= 0 else _quotient(1.0, power)
    found = np.zeros(len(a))
    found[0] = np.float_power(a[0], exponent)
    for k in range(1, len(a)):
        weights = np.arange(1, k + 1) * (exponent + 1.0) - k
        found[k] = (weights * a[1 : k + 1]) @ found[k - 1 :: -1][:k] / (k * a[0])
    return found


def _integer_power(a: Series, n: int) -> Any:
    if n == 0:
        return 1.0
    half = _integer_power(a, n // 2)
    square = _product(half, half)
    return _product(square, a) if n % 2 else square


def _angle(y: Any, x: Any) -> Any:
    if not np.ndim(y) and not np.ndim(x):
        return math.atan2(y, x)
    length = len(y) if np.ndim(y) else len(x)
    y, x = _lifted(y, length), _lifted(x, length)
    turning = _product(x, _rate(y)) - _product(y, _rate(x))
    return _integrated(math.atan2(y[0], x[0]), _quotient(turning, _product(x, x) + _product(y, y)))


def _remainder(function: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    """a − k b with the integer k of the values."""

    def remainder(a: Any, b: Any) -> Any:
        turns = round((_value(a) - function(_value(a), _value(b))) / _value(b))
        return _sum(a, -float(turns) * b)

    return remainder
