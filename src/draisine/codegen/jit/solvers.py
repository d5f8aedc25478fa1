"""Linear solvers as machine code: one copy for all kernels of a process, compiled once per machine.

Dense systems are eliminated with partial pivoting; `sparse_qr` has the sparse ones. Both are restricted Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from draisine.codegen.cache import cached_object, host_key
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
    return load_object(cached_object(f"solvers; {digest(_SOURCES)}; {host_key()}", _compiled), *_functions())


def _compiled() -> bytes:
    return compile_ir(text(), passes=2)


def text() -> str:
    """The LLVM module: functions of numbers and of pointers to doubles and 32-bit integers."""
    types = {name: ArrayType.of(element, bare=True) for name, element in _ELEMENTS.items()}
    return llvm_text("the solvers", _functions(), _SOURCES, Options(contract=True, distinct=True), types)


def _functions() -> dict[str, Callable[..., None]]:
    dense, sparse = (decompose, substitute, scatter, fill, newton_update), (factorize, solve)
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


def decompose_active(n: int, a: Vector, factors: Vector, pivots: AnyIntegers) -> None:
    """LU decomposition without the rows that have a diagonal entry alone. `pivots` are the pivot rows, then the indices of the
    others, then their number; their matrix is in `factors`, which has n more numbers for right-hand sides."""
    m = 0
    for i in range(n):
        alone = a[i * n + i] != 0.0
        for j in range(n):
            if j != i and a[j * n + i] != 0.0:
                alone = False
        if not alone:
            pivots[n + m] = i
            m += 1
    pivots[2 * n] = m
    for k in range(m):
        column = int(pivots[n + k]) * n
        for i in range(m):
            factors[k * m + i] = a[column + int(pivots[n + i])]
    decompose(m, factors, pivots)


def substitute_active(n: int, a: Vector, factors: Vector, pivots: AnyIntegers, b: Vector) -> None:
    """b ← a⁻¹ b, with a matrix after `decompose_active`."""
    m = int(pivots[2 * n])
    first = m * m
    for i in range(m):
        factors[first + i] = b[int(pivots[n + i])]
    k = 0
    for j in range(n):
        if k < m and pivots[n + k] == j:
            k += 1
            continue
        value = b[j] / a[j * n + j]
        b[j] = value
        if value != 0.0:
            for i in range(m):
                factors[first + i] -= a[j * n + int(pivots[n + i])] * value
    for k in range(m):
        row = pivots[k]
        value = factors[first + row]
        factors[first + row] = factors[first + k]
        factors[first + k] = value
        for i in range(k + 1, m):
            factors[first + i] -= factors[k * m + i] * value
    for k in range(m - 1, -1, -1):
        value = factors[first + k] / factors[k * m + k]
        b[int(pivots[n + k])] = value
        for i in range(k):
            factors[first + i] -= factors[k * m + i] * value


def scatter(count: int, index: AnyIntegers, values: Vector, total: int, a: Vector) -> None:
    """The entries of a sparse matrix at their indices among `total` numbers; the others are zero."""
    for i in range(total):
        a[i] = 0.0
    for k in range(count):
        a[index[k]] = values[k]


def fill(count: int, value: float, a: Vector) -> None:
    for i in range(count):
        a[i] = value


def newton_update(n: int, small: float, new: Vector, z: Vector, converged: Vector) -> None:
    """z ← new; converged[0] ← 1 if the relative change is less than √small, or is NaN; else 0."""
    change = 0.0
    size = 0.0
    for i in range(n):
        change += (new[i] - z[i]) * (new[i] - z[i])
        size += new[i] * new[i]
        z[i] = new[i]
    converged[0] = 1.0
    if change > small * size:
        converged[0] = 0.0
