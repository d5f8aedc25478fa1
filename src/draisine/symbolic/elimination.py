"""Elimination of a linear system in formulas: K z = r solved step by step, each value a definition.

Nothing is multiplied out, so the formulas are as long as the elimination. Pivots are taken along the diagonal where that is
possible at random points: of a mechanism, [M −Aᵀ; A 0], those of the mass matrix come first, then those of A M⁻¹ Aᵀ, which vanish
at singular configurations only. Elsewhere the order is that of complete pivoting at a random point; where such a pivot vanishes,
the formulas divide by zero and the program, which pivots at run time, does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from draisine.errors import ExpressionError
from draisine.program.linear_solve import LinearSolveProgram

Definitions: TypeAlias = list[tuple[Any, Any]]  # symbols and their formulas, in order

_SMALL = 1e-6  # of the largest entry of its column: a diagonal pivot below it is not used
_SINGULAR = 1e12  # condition number of a matrix that is not eliminated
_POINTS = 20


def defined(formula: Any, definitions: Definitions) -> Any:
    """A formula by a symbol of its own; atoms as they are."""
    import sympy

    if formula.is_Atom:
        return formula
    definitions.append((sympy.Symbol(f"w{len(definitions)}", real=True), formula))
    return definitions[-1][0]


class Elimination:
    """The matrix of a program, factorized in formulas."""

    def __init__(self, program: LinearSolveProgram, entries: Mapping[tuple[int, int], Any], definitions: Definitions) -> None:
        self._program, self._definitions = program, definitions
        self._entries = {place: self._named(value) for place, value in entries.items() if value != 0}

    def _named(self, formula: Any) -> Any:
        return defined(formula, self._definitions)

    @cached_property
    def _order(self) -> list[tuple[int, int]]:
        """Rows and columns of the pivots."""
        program, rng = self._program, np.random.default_rng(1827)
        for _ in range(_POINTS):
            left = program.matrix_at(*[rng.uniform(0.3, 1.0, slot.size) for slot in program.inputs])
            if np.isfinite(left).all() and np.linalg.cond(left) < _SINGULAR:
                break
        else:
            raise ExpressionError(f"{program.name}: its linear system is singular at random points and cannot be eliminated")
        found: list[tuple[int, int]] = []
        rows, columns = list(range(program.size)), list(range(program.size))
        while rows:
            free = np.abs(left[np.ix_(rows, columns)])
            diagonal = [k for k in rows if k in columns and abs(left[k, k]) > _SMALL * free[:, columns.index(k)].max()]
            if diagonal:
                i = j = diagonal[0]
            else:
                place = np.unravel_index(int(np.argmax(free)), free.shape)
                i, j = rows[int(place[0])], columns[int(place[1])]
            found.append((i, j))
            rows.remove(i)
            columns.remove(j)
            left[rows] -= np.outer(left[rows, j] / left[i, j], left[i])
        return found

    @cached_property
    def _factors(self) -> dict[tuple[int, int], Any]:
        """L and U in place of the entries, zeros left out; the pivots of L are 1."""
        found, order = dict(self._entries), self._order
        for step, (i, j) in enumerate(order):
            right = [column for _, column in order[step + 1 :] if (i, column) in found]
            for row, _ in order[step + 1 :]:
                if (row, j) not in found:
                    continue
                share = found[row, j] = self._named(found[row, j] / found[i, j])
                for column in right:
                    found[row, column] = self._named(found.get((row, column), 0) - share * found[i, column])
        return found

    def solve(self, side: list[Any]) -> list[Any]:
        """z for a right-hand side."""
        factors, order, rest = self._factors, self._order, list(side)
        for step, (i, j) in enumerate(order):
            rest[i] = self._named(rest[i])
            for row, _ in order[step + 1 :]:
                if (row, j) in factors:
                    rest[row] -= factors[row, j] * rest[i]
        solution: dict[int, Any] = {}
        for i, j in reversed(order):
            known = sum((factors[i, k] * value for k, value in solution.items() if (i, k) in factors), start=0)
            solution[j] = self._named((rest[i] - known) / factors[i, j])
        return [solution[j] for j in range(len(side))]
