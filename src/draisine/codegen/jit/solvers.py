"""Linear solvers as machine code: one copy for all kernels of a process, compiled once per machine.

Dense systems are eliminated with partial pivoting; `sparse_qr` has the sparse ones. Both are restricted Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from draisine.codegen.cache import kept_object
from draisine.codegen.host import host_key
from draisine.codegen.jit.engine import LoadedObject, compile_ir, load_object
from draisine.codegen.jit.sparse_qr import factorize, solve
from draisine.codegen.restricted.entry import digest, llvm_text
from draisine.codegen.restricted.types import AnyIntegers, ArrayType, Options, Vector

PREFIX = "draisine_"
_SOURCES = ("draisine.codegen.jit.solvers", "draisine.codegen.jit.sparse_qr")
_ELEMENTS = {"Vector": "float", "Numbers": "float", "AnyIntegers": "int32"}  # kernels pass arrays as bare pointers


def solvers() -> dict[str, int]:
    """Addresses by symbol. The code stays loaded for the life of the process."""
    loaded = _loaded()
    return {name: loaded.address_of(name) for name in _functions()}


@cache
def _loaded() -> LoadedObject:
    return load_object(kept_object(f"solvers; {digest(_SOURCES)}; {host_key()}", _compiled), *_functions())


def _compiled() -> bytes:
    return compile_ir(text(), passes=2)


def text() -> str:
    """The LLVM module: functions of numbers and of pointers to doubles and 32-bit integers."""
    types = {name: ArrayType.of(element, bare=True) for name, element in _ELEMENTS.items()}
    return llvm_text("the solvers", _functions(), _SOURCES, Options(contract=True, distinct=True), types)


def _functions() -> dict[str, Callable[..., None]]:
    dense, sparse = (decompose, substitute, scatter, fill, copy, newton_update, linear_update), (factorize, solve)
    active = (decompose_active, substitute_active)
    return {PREFIX + function.__name__: function for function in (*dense, *active, *sparse)}


# ------------------------------------------------------------------------------------------- dense systems


def decompose(n: int, a: Vector, pivots: AnyIntegers) -> None:
    """LU decomposition of a matrix in column-major order, in place; `pivots` are the pivot rows."""
    for k in range(n):
        row = k
        best = abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[k * n + i]) > best:
                best = abs(a[k * n + i])
                row = i
        pivots[k] = row
        if row != k:
            for j in range(k, n):
                a[j * n + k], a[j * n + row] = a[j * n + row], a[j * n + k]
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, n):
            a[k * n + i] *= inverse
        for j in range(k + 1, n):
            top = a[j * n + k]
            if top != 0.0:  # most are zero in the augmented matrices of mechanisms
                for i in range(k + 1, n):
                    a[j * n + i] -= a[k * n + i] * top


def substitute(n: int, a: Vector, pivots: AnyIntegers, b: Vector) -> None:
    """b ← a⁻¹ b, with a matrix after `decompose`."""
    for k in range(n):
        row = pivots[k]
        value = b[row]
        b[row] = b[k]
        b[k] = value
        for i in range(k + 1, n):
            b[i] -= a[k * n + i] * value
    for k in range(n - 1, -1, -1):
        value = b[k] / a[k * n + k]
        b[k] = value
        for i in range(k):
            b[i] -= a[k * n + i] * value


# Systems of contacts (`Solver.ACTIVE`). Kernels pass their pattern by rows: `starts` has the first entry of every row, `columns`
# and `places` its column and its place among the computed entries. Of the numbers in `pivots` the first n are pivot rows, the
# next n the rows that take part, then their number, then for every row its place among these, or −1.


def decompose_active(
    n: int,
    starts: AnyIntegers,
    columns: AnyIntegers,
    places: AnyIntegers,
    entries: Vector,
    factors: Vector,
    lower: Vector,
    pivots: AnyIntegers,
) -> None:
    """LU decomposition without the rows that have a diagonal entry alone, in columns of a multiple of four numbers; behind them
    are the diagonal entries of the others. `lower` has room for a column."""
    m = take_part(n, starts, columns, places, entries, factors, pivots)
    stride = (m + 3) // 4 * 4
    for k in range(m * stride):
        factors[k] = 0.0
    for i in range(m):
        row = int(pivots[n + i])
        for k in range(int(starts[row]), int(starts[row + 1])):
            column = int(pivots[2 * n + 1 + int(columns[k])])
            if column >= 0:
                factors[column * stride + i] = entries[int(places[k])]
    for k in range(m):
        eliminate(m, stride, k, factors, lower, pivots)


def take_part(
    n: int,
    starts: AnyIntegers,
    columns: AnyIntegers,
    places: AnyIntegers,
    entries: Vector,
    factors: Vector,
    pivots: AnyIntegers,
) -> int:
    """List the rows that have more than a diagonal entry, and store this entry of the others; return the number of the first."""
    m, diagonals = 0, n * ((n + 3) // 4 * 4)
    for i in range(n):
        alone, own = True, 0.0
        k, end = int(starts[i]), int(starts[i + 1])
        while alone and k < end:
            value = entries[int(places[k])]
            if columns[k] == i:
                own = value
            elif value != 0.0:
                alone = False
            k += 1
        pivots[2 * n + 1 + i] = -1
        factors[diagonals + i] = own
        if not alone or own == 0.0:
            pivots[n + m] = i
            pivots[2 * n + 1 + i] = m
            m += 1
    pivots[2 * n] = m
    return m


def eliminate(m: int, stride: int, k: int, a: Vector, lower: Vector, pivots: AnyIntegers) -> None:
    """One step of the decomposition of m columns of `stride` numbers. Sums begin at a multiple of four, with factors that are
    zero down to the diagonal: vector instructions need no remainder."""
    row = k
    best = abs(a[k * stride + k])
    for i in range(k + 1, m):
        if abs(a[k * stride + i]) > best:
            best = abs(a[k * stride + i])
            row = i
    pivots[k] = row
    if row != k:
        for j in range(m):
            a[j * stride + k], a[j * stride + row] = a[j * stride + row], a[j * stride + k]
    inverse = 1.0 / a[k * stride + k]
    first = k // 4 * 4
    for i in range(first, k + 1):
        lower[i] = 0.0
    for i in range(k + 1, stride):
        lower[i] = a[k * stride + i] * inverse
    for i in range(k + 1, stride):
        a[k * stride + i] = lower[i]
    for j in range(k + 1, m):
        top = a[j * stride + k]
        if top != 0.0:  # most are zero in the augmented matrices of mechanisms
            for i in range(first, stride):
                a[j * stride + i] -= lower[i] * top


def substitute_active(
    n: int,
    starts: AnyIntegers,
    columns: AnyIntegers,
    places: AnyIntegers,
    entries: Vector,
    factors: Vector,
    side: Vector,
    pivots: AnyIntegers,
    b: Vector,
) -> None:
    """b ← a⁻¹ b, with a matrix after `decompose_active`. `side` has room for a column."""
    m, diagonals = int(pivots[2 * n]), n * ((n + 3) // 4 * 4)
    stride = (m + 3) // 4 * 4
    for i in range(m):
        side[i] = b[int(pivots[n + i])]
    for j in range(n):
        if pivots[2 * n + 1 + j] < 0:
            b[j] /= factors[diagonals + j]
            if b[j] != 0.0:
                known(n, j, b[j], starts, columns, places, entries, side, pivots)
    for k in range(m):
        row = int(pivots[k])
        side[row], side[k] = side[k], side[row]
    for k in range(m):
        value = side[k]
        if value != 0.0:
            for i in range(k + 1, m):
                side[i] -= factors[k * stride + i] * value
    for back in range(m):
        k = m - 1 - back
        value = side[k] / factors[k * stride + k]
        b[int(pivots[n + k])] = value
        for i in range(k):
            side[i] -= factors[k * stride + i] * value


def known(
    n: int,
    j: int,
    value: float,
    starts: AnyIntegers,
    columns: AnyIntegers,
    places: AnyIntegers,
    entries: Vector,
    side: Vector,
    pivots: AnyIntegers,
) -> None:
    """Subtract the column of an unknown with a known value from the right-hand side."""
    for i in range(int(pivots[2 * n])):
        row = int(pivots[n + i])
        for k in range(int(starts[row]), int(starts[row + 1])):
            if columns[k] == j:
                side[i] -= entries[int(places[k])] * value


def scatter(count: int, index: AnyIntegers, values: Vector, total: int, a: Vector) -> None:
    """The entries of a sparse matrix at their indices among `total` numbers; the others are zero."""
    for i in range(total):
        a[i] = 0.0
    for k in range(count):
        a[index[k]] = values[k]


def fill(count: int, value: float, a: Vector) -> None:
    for i in range(count):
        a[i] = value


def copy(count: int, source: Vector, target: Vector) -> None:
    for i in range(count):
        target[i] = source[i]


def newton_update(n: int, small: float, new: Vector, z: Vector, converged: Vector) -> None:
    """converged[0] ← 1 if the relative change is less than √small, or is NaN; else 0, and z ← new."""
    change = 0.0
    size = 0.0
    for i in range(n):
        change += (new[i] - z[i]) * (new[i] - z[i])
        size += new[i] * new[i]
    converged[0] = 1.0
    if change > small * size:
        converged[0] = 0.0
        for i in range(n):
            z[i] = new[i]


def linear_update(n: int, small: float, most: float, new: Vector, z: Vector, step: Vector, converged: Vector) -> None:
    """The same for an iteration with one matrix; `step` has its last step, and behind it their number.

    Equal steps without end are along what the matrix leaves undetermined: right sides contradict each other there, which the
    solution leaves out as long as √most times its size is larger than such a step. Else there is none."""
    change, size, bend, rest = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        made = new[i] - z[i]
        change += made * made
        bend += (made - step[i]) * (made - step[i])
        size += new[i] * new[i]
        step[i] = made
    step[n] += 1.0
    converged[0] = 1.0
    if not change > small * size:
        return
    if step[n] > 2.0 and not bend > small * max(change, 0.01 * size):  # steps have rounding errors, too
        for i in range(n):
            z[i] = new[i] - step[n] * step[i]
            rest += z[i] * z[i]
        if change <= most * rest:
            for i in range(n):
                new[i] = z[i]
            return
    converged[0] = 0.0
    for i in range(n):
        z[i] = new[i]
