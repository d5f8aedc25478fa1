"""Newton steps of least change onto position constraints, one for each group of constraints that share no coordinate.

A step is written in symbols and compiled with the equations; who repeats it is the stepping loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from draisine.dynamics.linear_algebra import exact, solve_symmetric


def nearest(q: ca.SX, residuals: Sequence[ca.SX]) -> ca.SX:
    """q − Jᵀ (J Jᵀ)⁻¹ f, group by group: a chain of quaternions costs as many small solutions as it has of them."""
    residual = ca.vertcat(*residuals)
    jacobian = ca.jacobian(residual, q)
    change = ca.SX(q.numel(), 1)
    for rows in groups(jacobian.sparsity()):
        part = jacobian[rows, :]
        gram = ca.densify(part @ part.T)
        count = len(rows)
        matrix = [[exact(gram[i, j]) for j in range(count)] for i in range(count)]
        solved = solve_symmetric(matrix, [residual[i] for i in rows])
        change = change + part.T @ ca.vertcat(*solved)
    return q - change


def groups(pattern: ca.Sparsity) -> list[list[int]]:
    """Rows that share columns, directly or through others."""
    chief = list(range(pattern.size1()))

    def find(row: int) -> int:
        while chief[row] != row:
            chief[row] = chief[chief[row]]
            row = chief[row]
        return row

    first: dict[int, int] = {}
    for row, col in zip(*pattern.get_triplet(), strict=True):
        chief[find(row)] = find(first.setdefault(col, row))
    found: dict[int, list[int]] = {}
    for row in range(pattern.size1()):
        found.setdefault(find(row), []).append(row)
    return list(found.values())
