"""Dense linear systems in the stepping loop, real and complex alike, by row pivoting. Restricted Python, like `explicit_rk`."""

from __future__ import annotations

from draisine.codegen.restricted.types import Integers, Number, NumberMatrix, Numbers, Vector


def clear(numbers: Vector, length: int) -> None:
    for i in range(length):
        numbers[i] = 0.0


def magnitude(value: Number) -> float:
    return abs(value.real) + abs(value.imag)


def reciprocal(value: Number) -> Number:
    """1/value, for complex numbers without Python's exception for zero."""
    return value.conjugate() * (1.0 / (value.real * value.real + value.imag * value.imag))


def clear_matrix(a: NumberMatrix, n: int) -> None:
    for i in range(n):
        for j in range(n):
            a[i, j] = 0.0


def lu_decompose(a: NumberMatrix, pivot: Integers, n: int) -> int:
    """a = P L U in place, the diagonal of U inverted; return a column without a pivot, or −1."""
    for k in range(n):
        best, size = k, magnitude(a[k, k])
        for i in range(k + 1, n):
            other = magnitude(a[i, k])
            if other > size:
                best, size = i, other
        if not size > 0.0:
            return k
        pivot[k] = best
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        inverse = reciprocal(a[k, k])
        a[k, k] = inverse
        for i in range(k + 1, n):
            if magnitude(a[i, k]) != 0.0:
                factor = a[i, k] * inverse
                a[i, k] = factor
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return -1


def lu_solve(a: NumberMatrix, pivot: Integers, n: int, rhs: Numbers) -> None:
    """side ← (P L U)⁻¹ side."""
    for k in range(n):
        best = pivot[k]
        rhs[k], rhs[best] = rhs[best], rhs[k]
    for i in range(n):
        value = rhs[i]
        for j in range(i):
            value -= a[i, j] * rhs[j]
        rhs[i] = value
    for back in range(n):
        i = n - 1 - back
        value = rhs[i]
        for j in range(i + 1, n):
            value -= a[i, j] * rhs[j]
        rhs[i] = value * a[i, i]
