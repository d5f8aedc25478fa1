"""CasADi's functions run on numbers that stay where they are.

Making CasADi's matrices of arrays, and arrays of its matrices, takes several times as long as evaluating a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import CompilationError

if TYPE_CHECKING:
    import casadi as ca

Reals = NDArray[np.float64]


def evaluate(
    function: ca.Function, arguments: Iterable[ArrayLike], shapes: Iterable[tuple[int, int]] | None = None
) -> list[Reals]:
    """The results as matrices, of the given `shapes` if these are known. Arguments are read by columns; all must be dense.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> [found] = evaluate(ca.Function("outer", [x], [ca.densify(x @ x.T)]), [[2.0, 3.0]])
    >>> found.tolist()
    [[4.0, 6.0], [6.0, 9.0]]
    """
    given = [np.array(argument, dtype=float).ravel(order="F") for argument in arguments]
    if shapes is None:
        shapes = [function.size_out(k) for k in range(function.n_out())]
    taken = [np.empty(shape, order="F") for shape in shapes]
    opened: Any = function.buffer()  # the stubs know only its form in C++
    buffer, run = opened
    for place, numbers in enumerate(given):
        if numbers.size or function.numel_in(place):  # too few are refused
            buffer.set_arg(place, numbers.data)
    for place, matrix in enumerate(taken):
        if matrix.size:
            buffer.set_res(place, matrix.ravel(order="F").data)
    run()
    if buffer.ret():
        raise CompilationError(f"{function.name()!r} could not be evaluated: CasADi's interpreter reports {buffer.ret()}")
    return taken
