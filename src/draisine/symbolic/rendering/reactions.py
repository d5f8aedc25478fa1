"""Reactions of a small constrained system in closed form, with SymPy.

Rows D q̈ = b are solved for the coordinates with the simplest coefficients, the other accelerations follow from the projected
equations, and the reactions from the equations of the dependent coordinates. The Schur complement D M⁻¹Dᵀ of the textbook formula
is not formed: for a rolling disk this gives a line instead of a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from draisine.symbolic.rendering.simplify import odd_powers, reduced, simplified_matrix

if TYPE_CHECKING:
    import sympy

Simplify = Callable[[Any], Any]
TRIED = 200  # choices of dependent coordinates that are tried


def reactions(mass: Any, rows: Any, side: Any, rest: Any, simplify: Simplify) -> sympy.Matrix:
    """λ of M q̈ + rest = Dᵀλ, D q̈ = b."""
    dependent = _dependent_columns(rows, simplify)
    if dependent is None:
        return _by_schur_complement(mass, rows, side, rest, simplify)
    free = [j for j in range(rows.cols) if j not in dependent]
    solve_rows = rows[:, dependent]
    mapped = _solve(solve_rows, rows[:, free].row_join(side), simplify)
    n, k = rows.cols, len(free)
    kernel, particular = type(mass).zeros(n, k), type(mass).zeros(n, 1)
    for i, row in enumerate(dependent):
        particular[row] = mapped[i, k]
        for j in range(k):
            kernel[row, j] = -mapped[i, j]
    for j, row in enumerate(free):
        kernel[row, j] = 1
    reduced = (kernel.T * mass * kernel).applyfunc(simplify)
    force = (-kernel.T * (rest + mass * particular)).applyfunc(simplify)
    accelerations = (kernel * _solve(reduced, force, simplify) + particular).applyfunc(simplify)
    needed = (mass * accelerations + rest)[dependent, :].applyfunc(simplify)
    return _solve(solve_rows.T, needed, simplify)


def _by_schur_complement(mass: Any, rows: Any, side: Any, rest: Any, simplify: Simplify) -> Any:
    """λ of D M⁻¹Dᵀ λ = b + D M⁻¹ rest, where every choice of dependent coordinates fails at some angle."""
    solved = _solve(mass, rows.T.row_join(rest), simplify)
    carried, free = solved[:, :-1], solved[:, -1]
    return _solve((rows * carried).applyfunc(simplify), (side + rows * free).applyfunc(simplify), simplify)


def _dependent_columns(rows: Any, simplify: Simplify) -> list[int] | None:
    """Columns whose determinant vanishes at no angle: the shortest of those that are free of sines and cosines."""
    import sympy

    best: tuple[int, list[int]] | None = None
    ordered = sorted(range(rows.cols), key=lambda j: (int(sympy.count_ops(rows[:, j])), j))
    for chosen in islice(combinations(ordered, rows.rows), TRIED):
        columns = sorted(chosen)
        determinant = simplify(rows[:, columns].det(method="berkowitz"))
        if determinant == 0 or determinant.has(sympy.Function):
            continue
        length = 0 if determinant.is_number else 1 + int(sympy.count_ops(determinant))
        if best is None or length < best[0]:
            best = (length, columns)
        if length == 0:
            break
    return best[1] if best is not None else None


def _solve(matrix: Any, sides: Any, simplify: Simplify) -> Any:
    """Elimination with the shortest nonzero pivot; every entry is simplified as it is formed."""
    import sympy

    n, m = matrix.rows, sides.cols
    work = [[matrix[i, j] for j in range(n)] + [sides[i, j] for j in range(m)] for i in range(n)]
    for k in range(n):
        pivots = [i for i in range(k, n) if work[i][k] != 0]
        first = min(pivots, key=lambda i: (not work[i][k].is_number, int(sympy.count_ops(work[i][k]))))
        work[k], work[first] = work[first], work[k]
        pivot = work[k][k]
        work[k] = [simplify(x / pivot) if x != 0 and j > k else x for j, x in enumerate(work[k])]
        for i in range(n):
            if i != k and work[i][k] != 0:
                work[i] = _subtract(work[i], work[k], k, simplify)
    return type(matrix)(n, m, lambda i, j: work[i][n + j])


def _subtract(row: list[Any], pivot_row: Sequence[Any], k: int, simplify: Simplify) -> list[Any]:
    lead = row[k]
    return [x if j <= k or pivot_row[j] == 0 else simplify(x - lead * pivot_row[j]) for j, x in enumerate(row)]


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

    def simplify(self, expression: Any) -> Any:
        import sympy

        above, below = sympy.fraction(sympy.together(expression))
        for sign in self._sign.values():
            above, below = (odd_powers(sympy.expand(part), sign) if part.has(sign) else part for part in (above, below))
        return reduced(above / below)

    def taken_out(self, matrix: sympy.Matrix) -> sympy.Matrix:
        import sympy

        return simplified_matrix(matrix).xreplace({s: sympy.sign(a) for a, s in self._sign.items()})
