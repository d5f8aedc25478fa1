"""Reactions of a small constrained system solved with SymPy, as one does by hand.

Rows D q̈ = b are solved for the coordinates that they give most simply, the rest of the accelerations follows from the projected
equations, and each reaction from the equation of its own coordinate. D M⁻¹Dᵀ, which the formula of the books inverts, is then
never formed: for a rolling disk that is the difference between a line and a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from draisine.symbolic.rendering.simplify import neat_matrix, odd_powers, reduced

if TYPE_CHECKING:
    import sympy

Polish = Callable[[Any], Any]
TRIED = 200  # choices of dependent coordinates that are looked at


def reactions(mass: Any, rows: Any, side: Any, rest: Any, polish: Polish) -> sympy.Matrix:
    """λ of M q̈ + rest = Dᵀλ, D q̈ = b."""
    dependent = _dependent_columns(rows, polish)
    if dependent is None:
        return _by_the_book(mass, rows, side, rest, polish)
    free = [j for j in range(rows.cols) if j not in dependent]
    solve_rows = rows[:, dependent]
    mapped = _solve(solve_rows, rows[:, free].row_join(side), polish)
    n, k = rows.cols, len(free)
    kernel, particular = type(mass).zeros(n, k), type(mass).zeros(n, 1)
    for i, row in enumerate(dependent):
        particular[row] = mapped[i, k]
        for j in range(k):
            kernel[row, j] = -mapped[i, j]
    for j, row in enumerate(free):
        kernel[row, j] = 1
    reduced = (kernel.T * mass * kernel).applyfunc(polish)
    force = (-kernel.T * (rest + mass * particular)).applyfunc(polish)
    accelerations = (kernel * _solve(reduced, force, polish) + particular).applyfunc(polish)
    needed = (mass * accelerations + rest)[dependent, :].applyfunc(polish)
    return _solve(solve_rows.T, needed, polish)


def _by_the_book(mass: Any, rows: Any, side: Any, rest: Any, polish: Polish) -> Any:
    """λ of D M⁻¹Dᵀ λ = b + D M⁻¹ rest, where every choice of dependent coordinates fails at some angle."""
    solved = _solve(mass, rows.T.row_join(rest), polish)
    carried, free = solved[:, :-1], solved[:, -1]
    return _solve((rows * carried).applyfunc(polish), (side + rows * free).applyfunc(polish), polish)


def _dependent_columns(rows: Any, polish: Polish) -> list[int] | None:
    """Columns whose determinant vanishes at no angle: the shortest of those that are free of sines and cosines."""
    import sympy

    best: tuple[int, list[int]] | None = None
    ordered = sorted(range(rows.cols), key=lambda j: (int(sympy.count_ops(rows[:, j])), j))
    for chosen in islice(combinations(ordered, rows.rows), TRIED):
        columns = sorted(chosen)
        determinant = polish(rows[:, columns].det(method="berkowitz"))
        if determinant == 0 or determinant.has(sympy.Function):
            continue
        length = 0 if determinant.is_number else 1 + int(sympy.count_ops(determinant))
        if best is None or length < best[0]:
            best = (length, columns)
        if length == 0:
            break
    return best[1] if best is not None else None


def _solve(matrix: Any, sides: Any, polish: Polish) -> Any:
    """Elimination with the shortest pivot that is not zero; every entry is polished as it is formed."""
    import sympy

    n, m = matrix.rows, sides.cols
    work = [[matrix[i, j] for j in range(n)] + [sides[i, j] for j in range(m)] for i in range(n)]
    for k in range(n):
        pivots = [i for i in range(k, n) if work[i][k] != 0]
        first = min(pivots, key=lambda i: (not work[i][k].is_number, int(sympy.count_ops(work[i][k]))))
        work[k], work[first] = work[first], work[k]
        pivot = work[k][k]
        work[k] = [polish(x / pivot) if x != 0 and j > k else x for j, x in enumerate(work[k])]
        for i in range(n):
            if i != k and work[i][k] != 0:
                work[i] = _less(work[i], work[k], k, polish)
    return type(matrix)(n, m, lambda i, j: work[i][n + j])


def _less(row: list[Any], pivot_row: Sequence[Any], k: int, polish: Polish) -> list[Any]:
    lead = row[k]
    return [x if j <= k or pivot_row[j] == 0 else polish(x - lead * pivot_row[j]) for j, x in enumerate(row)]


class Signs:
    """Signs of quantities that never vanish where the equations hold, as symbols with σ² = 1; |a| is a σ."""

    def __init__(self, rows: sympy.Matrix) -> None:
        import sympy

        inside = sorted({node.args[0] for node in rows.atoms(sympy.sign, sympy.Abs)}, key=sympy.default_sort_key)
        self._sign = {a: sympy.Dummy(f"sign{k}", real=True) for k, a in enumerate(inside)}

    def put_in(self, matrix: sympy.Matrix) -> sympy.Matrix:
        import sympy

        known = {sympy.Abs(a): a * s for a, s in self._sign.items()} | {sympy.sign(a): s for a, s in self._sign.items()}
        return matrix.xreplace(known)

    def polish(self, expression: Any) -> Any:
        import sympy

        above, below = sympy.fraction(sympy.together(expression))
        for sign in self._sign.values():
            above, below = (odd_powers(sympy.expand(part), sign) if part.has(sign) else part for part in (above, below))
        return reduced(above / below)

    def taken_out(self, matrix: sympy.Matrix) -> sympy.Matrix:
        import sympy

        return neat_matrix(matrix).xreplace({s: sympy.sign(a) for a, s in self._sign.items()})
