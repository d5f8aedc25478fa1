"""Functions in restricted Python, one for each thing it can do; `test_restricted` compares them interpreted and compiled."""

from __future__ import annotations

import math

from numpy import conjugate

from draisine.codegen.restricted.types import (
    ComplexCube,
    ComplexVector,
    Cube,
    IntegerMatrix,
    Integers,
    Matrix,
    Number,
    NumberMatrix,
    Numbers,
    Record,
    ShortIntegers,
    Vector,
    call_kernel,
    restore,
)

OFFSET, FACTOR = 2, 1.5


class Inner(Record):
    count: int
    scale: float
    values: Vector


class Outer(Record):
    n: int
    total: float
    x: Vector
    a: Matrix
    cube: Cube
    places: Integers
    table: IntegerMatrix
    short: ShortIntegers
    z: ComplexVector
    zz: ComplexCube
    inner: Inner
    many: list[Inner]
    kernel: int
    last: int


def quotients(a: int, b: int) -> int:
    return 1000003 * (a // b) + a % b


def quotients_of_constants(a: int) -> int:
    return a // 7 + 11 * (a % 7) + 101 * (a // -3) + 1009 * (a % -3) + 10007 * (a // -1) + a % 2


def arithmetic(a: int, b: float, c: float) -> float:
    d = -b * c + a / 4 - (a + 3) * FACTOR
    d += b**2 - (a**2) * 0.5
    d *= 1.0 + a
    d /= 3.0
    return +d - OFFSET


def comparisons(a: float, b: float) -> int:
    """NaN is neither less nor greater nor equal."""
    bits = 0
    bits += 1 if a < b else 0
    bits += 2 if a <= b else 0
    bits += 4 if a > b else 0
    bits += 8 if a >= b else 0
    bits += 16 if a == b else 0
    bits += 32 if a != b else 0
    bits += 64 if not a < b else 0
    bits += 128 if 0.0 <= a < b <= 10.0 else 0
    bits += 256 if (a < b and b < 3.0) or not b <= a else 0
    return bits


def extremes(a: float, b: float, c: float) -> float:
    return 100.0 * max(a, b, c) + 10.0 * min(a, b, c) + max(a, b) + min(b, a)


def whole_extremes(a: int, b: int) -> int:
    return 7 * max(a, b) + min(b, a, OFFSET) + abs(a)


def functions(a: float, b: float) -> float:
    total = math.sqrt(abs(a)) + math.copysign(b, a) + math.fabs(b)
    total += 1.0 if math.isfinite(a) else 2.0
    total += 4.0 if math.isnan(b) else 8.0
    return total


def powers(a: float, b: float) -> float:
    return abs(a) ** b + math.hypot(a, b) + math.atan2(a, b)


def rounded(a: float) -> int:
    return 100 * math.floor(a) + 10 * math.ceil(a) + int(a)


def loops(n: int) -> int:
    total = 0
    for i in range(n):
        if i == 3:
            continue
        for j in range(n, i, -2):
            if j % 5 == 4:
                break
            total += i * j
        i = total  # what the body does to its counter does not count
        total += i % 3
    k = 0
    while True:
        k += 1
        if k > 4:
            return total + k
        while k < 3 and total % 2 == 0:
            total += 7


def endless(n: int) -> int:
    """Only the inner loop is left by `break`."""
    while True:
        for i in range(n):
            if i * i > 7:
                break
            n += i
        if n > 20:
            return n
        n += 3


def early(n: int) -> int:
    if n > 10:
        return 1
    elif n > 5:
        n += 1
    else:
        if n < 0:
            return 2
        n -= 1
    for i in range(n):
        if i * i > n:
            return 100 + i
    return n


def both(a: float, b: float) -> tuple[float, int]:
    """A tuple, whose values are converted to what is declared."""
    if a > b:
        return 1, 2
    return a + b, 3


def tuples(a: float, b: float) -> float:
    c, k = both(a, b)
    a, b = b, a
    d, e = both(a, b)
    return c + 10.0 * k + 100.0 * d + 1000.0 * e + a


def complex_product(a: complex, b: complex, c: float) -> float:
    z = a * b - a * c + 2 * b - (1.5 - 0.5j)
    z *= conjugate(a)
    z -= b.conjugate()
    return z.real + 3.0 * z.imag + abs(a) + (-z).real


def generic_size(value: Number) -> float:
    return abs(value.real) + abs(value.imag)


def generic_inverse(value: Number) -> Number:
    return value.conjugate() * (1.0 / (value.real * value.real + value.imag * value.imag))


def generic(a: float, z: complex) -> float:
    inverse = generic_inverse(z)
    return generic_size(a) + generic_size(z) + generic_inverse(a) + inverse.real - inverse.imag


def scale_all(values: Numbers, factor: float, n: int) -> None:
    for i in range(n):
        values[i] *= factor


def diagonal(a: NumberMatrix, n: int) -> None:
    for i in range(n):
        a[i, i] += 1.0


def arrays(s: Outer) -> int:
    """Elements, rows, parts, lengths, and fields of all kinds."""
    row, part = s.a[1], s.x[1:3]
    scale_all(row, 2.0, len(row))
    scale_all(part, 0.5, len(part))
    scale_all(s.z, 3.0, len(s.z))
    scale_all(s.cube[1, 0], 7.0, 2)
    scale_all(s.x[: s.n], 1.25, s.n)
    diagonal(s.a, 2)
    diagonal(s.zz[1], 2)
    for i in range(s.n):
        s.x[i] += s.a[i % 2, i % 3] + s.cube[i % 2, 1, i % 2] * i
        s.places[i] += s.table[i % 2, 1] - s.short[i % 3]
        s.short[i % 3] = i - 40
    s.x[0], s.x[1] = s.x[1], s.x[0]
    s.z[1] = s.z[0] * s.x[2]
    s.z[0] = 5
    s.total = s.x[0] + s.z[1].real - s.zz[1, 0, 1].imag
    s.last = int(s.places[s.n - 1])
    return s.last


def records(s: Outer) -> int:
    """Other records, lists of them, arrays assigned to fields, and one record made like another."""
    inner = s.inner
    inner.count += 1
    inner.scale *= s.many[1].scale
    s.many[0].values[0] = inner.scale
    s.many[inner.count % 2].count += 10
    restore(s.many[2], s.many[1])
    s.many[2].count = 77
    s.many[2].values[1] += 0.5
    inner.values = s.a[1]
    s.x = s.cube[0, 1]
    return inner.count + s.many[0].count + 100 * s.many[1].count


def with_kernel(s: Outer) -> int:
    for row in range(2):
        call_kernel(s.kernel, (s.x, s.a[row]), (s.a[1 - row],))
    return 0


def short_circuit(x: Vector, n: int) -> int:
    """What follows a decisive condition is not looked at: there may be nothing to look at."""
    k = n
    while k > 0 and x[k - 1] > 0.5:
        k -= 1
    return k if k == 0 or x[k - 1] < 0.25 else -k


def specialized(s: Outer) -> int:
    if s.n != 0:
        s.x[0] = math.gamma(s.total)  # beyond the language, and left out where n is known to be zero
    return 5 if s.n == 0 and s.last > 0 else 6


# ---- what is beyond the language


def no_annotation(n) -> int:  # type: ignore[no-untyped-def]
    return n


def unknown_function(a: float) -> float:
    return math.gamma(a)


def changing_type(n: int) -> float:
    x = 0
    x = 0.5
    return x


def truth_of_number(n: int) -> int:
    if n:
        return 1
    return 0


def no_result(n: int) -> int:
    if n > 0:
        return 1


def lists(n: int) -> int:
    a = [n]
    return len(a)


def unknown_field(s: Outer) -> float:
    return s.missing


def wrong_argument(s: Outer) -> int:
    return early(s.total)


def negative_index(x: Vector) -> float:
    return x[-1]


def unset(n: int) -> int:
    if n > 3:
        m = 2
    return m + k  # noqa: F821


def keyword(n: int) -> int:
    return early(n=n)
