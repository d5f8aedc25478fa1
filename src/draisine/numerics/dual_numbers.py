"""Dual numbers: values with their derivatives in several directions, through code that is written for plain numbers.

    (a + a′ε) (b + b′ε) = a b + (a′b + a b′) ε,        ε² = 0.

Comparisons are those of the values, so that a program takes the same path as without derivatives, and the result is the exact
derivative of that path. `DualMath` stands for the module `math`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class Dual:
    """A number with derivatives.

    >>> x = Dual(2.0, np.array([1.0, 0.0]))
    >>> y = (x * x + 1.0) / x
    >>> y.value, y.derivative.tolist()
    (2.5, [0.75, 0.0])
    """

    __slots__ = ("derivative", "value")
    __array_ufunc__ = None  # NumPy numbers leave arithmetic to this class

    def __init__(self, value: float, derivative: Reals) -> None:
        self.value, self.derivative = value, derivative

    # arithmetic -------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.derivative + other.derivative)
        return Dual(self.value + other, self.derivative)

    def __sub__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.derivative - other.derivative)
        return Dual(self.value - other, self.derivative)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.derivative * other.value + other.derivative * self.value)
        return Dual(self.value * other, self.derivative * other)

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            ratio = self.value / other.value
            return Dual(ratio, (self.derivative - ratio * other.derivative) / other.value)
        return Dual(self.value / other, self.derivative / other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: float) -> Dual:
        return Dual(other - self.value, -self.derivative)

    def __rtruediv__(self, other: float) -> Dual:
        ratio = other / self.value
        return Dual(ratio, -ratio / self.value * self.derivative)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.derivative)

    def __abs__(self) -> Dual:
        return -self if self.value < 0.0 else self

    # as a real number -------------------------------------------------------------------------------------------------

    @property
    def real(self) -> Dual:
        return self

    @property
    def imag(self) -> float:
        return 0.0

    def conjugate(self) -> Dual:
        return self

    # comparisons ------------------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < value_of(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= value_of(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > value_of(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= value_of(other))

    def __eq__(self, other: object) -> bool:
        return bool(self.value == value_of(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.derivative.tolist()!r})"


class DualMath:
    """The functions of `math` that restricted Python has, for dual and plain numbers."""

    inf, nan, pi = math.inf, math.nan, math.pi

    @staticmethod
    def sqrt(x: Any) -> Any:
        if not isinstance(x, Dual):
            return math.sqrt(x)
        root = math.sqrt(x.value)
        # |v| at v = 0: along the directions that do not change it, which are the only ones with a derivative
        return Dual(root, 0.5 / root * x.derivative if root > 0.0 else np.zeros_like(x.derivative))

    @staticmethod
    def sin(x: Any) -> Any:
        return Dual(math.sin(x.value), math.cos(x.value) * x.derivative) if isinstance(x, Dual) else math.sin(x)

    @staticmethod
    def cos(x: Any) -> Any:
        return Dual(math.cos(x.value), -math.sin(x.value) * x.derivative) if isinstance(x, Dual) else math.cos(x)

    @staticmethod
    def log(x: Any) -> Any:
        return Dual(math.log(x.value), 1.0 / x.value * x.derivative) if isinstance(x, Dual) else math.log(x)

    @staticmethod
    def isfinite(x: Any) -> bool:
        return math.isfinite(value_of(x))

    @staticmethod
    def isnan(x: Any) -> bool:
        return math.isnan(value_of(x))


def value_of(number: Any) -> Any:
    """The value of a number, dual or plain."""
    return number.value if isinstance(number, Dual) else number


def dual_array(values: Reals, derivatives: Reals) -> NDArray[Any]:
    """Dual numbers from values (n) and derivatives (n, directions)."""
    made = np.empty(len(values), dtype=object)
    for i, (value, derivative) in enumerate(zip(values.tolist(), derivatives, strict=True)):
        made[i] = Dual(value, derivative)
    return made


def derivatives_of(numbers: Sequence[Any] | NDArray[Any], directions: int) -> Reals:
    """The derivatives of numbers, (n, directions); zero for plain ones."""
    return np.array([x.derivative if isinstance(x, Dual) else np.zeros(directions) for x in numbers]).reshape(-1, directions)


def plain_values(numbers: Sequence[Any] | NDArray[Any]) -> Reals:
    """The values of numbers."""
    return np.array([value_of(x) for x in numbers], dtype=float)
