"""Reduction onto the kernel of the constraints: v = H v_r + h₀ with A H = 0 and A h₀ = −a₀, block by block.

Contacts are eliminated one after the other in the order of the tree, ties after them. Each block of rows is solved for as many
dependent velocities, and the result is put into the rows that follow; so H, the accelerations' bias and the multipliers all come
from the same small factors, and no block is larger than a contact or tie unless conditioning asks for it. h₀ is there only where
a constraint moves by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from draisine.dynamics.constraints.rows import Rows
from draisine.dynamics.linear_algebra import ONE, ZERO, dot, is_zero, minus, mul, opposite, plus, solve


@dataclass(frozen=True)
class Block:
    """Some rows solved for as many velocities, after the earlier blocks have been put in."""

    rows: tuple[int, ...]
    dependent: tuple[str, ...]


@dataclass(frozen=True)
class Elimination:
    """A plan: blocks in order, and the velocities that stay independent."""

    blocks: tuple[Block, ...]
    independent: tuple[str, ...]


class Reduction:
    """The plan carried out on symbolic rows."""

    def __init__(self, blocks: list[Rows], plan: Elimination) -> None:
        self.plan = plan
        self.names = [name for rows in blocks for name in rows.names]
        columns: list[dict[str, ca.SX]] = []
        for rows in blocks:
            for i in range(rows.count):
                columns.append({v: c[i] for v, c in rows.columns.items() if not is_zero(c[i])})
        self.rows = columns
        self._reduced: list[list[dict[str, ca.SX]]] = []  # each block's rows after the earlier blocks are put in
        self._maps: list[dict[str, dict[str, ca.SX]]] = []  # dependent velocity → its row over what is not yet eliminated
        for number, block in enumerate(plan.blocks):
            reduced = [self._put_in(columns[r], number) for r in block.rows]
            self._reduced.append(reduced)
            self._maps.append(self._solved(reduced, block))
        self.kernel = self._back_substituted()
        drift = [a for rows in blocks for a in rows.drift]
        self.moved = self.bias(drift) if any(not is_zero(a) for a in drift) else {}  # h₀ of the dependent velocities

    def _put_in(self, row: dict[str, ca.SX], upto: int) -> dict[str, ca.SX]:
        """A row with the velocities of the first `upto` blocks replaced."""
        row = dict(row)
        for eliminated in self._maps[:upto]:
            for name, replacement in eliminated.items():
                factor = row.pop(name, None)
                if factor is None:
                    continue
                for other, coefficient in replacement.items():
                    row[other] = plus(row.get(other, ZERO), mul(factor, coefficient))
        return {name: c for name, c in row.items() if not is_zero(c)}

    @staticmethod
    def _solved(rows: list[dict[str, ca.SX]], block: Block) -> dict[str, dict[str, ca.SX]]:
        rest = sorted({name for row in rows for name in row} - set(block.dependent))
        matrix = [[row.get(name, ZERO) for name in block.dependent] for row in rows]
        sides = [[opposite(row.get(name, ZERO)) for row in rows] for name in rest]
        solved = solve(matrix, sides)
        return {d: {name: x[i] for name, x in zip(rest, solved, strict=True)} for i, d in enumerate(block.dependent)}

    def _back_substituted(self) -> dict[str, dict[str, ca.SX]]:
        """H by rows: every velocity as a combination of the independent ones."""
        kernel: dict[str, dict[str, ca.SX]] = {name: {name: ONE} for name in self.plan.independent}
        for eliminated in reversed(self._maps):
            found = {}
            for name, row in eliminated.items():
                total: dict[str, ca.SX] = {}
                for other, coefficient in row.items():
                    for independent, h in kernel.get(other, {}).items():
                        total[independent] = plus(total.get(independent, ZERO), mul(coefficient, h))
                found[name] = total
            kernel |= found
        return kernel

    def squares(self) -> Iterator[list[list[ca.SX]]]:
        """The square matrix of each block, by rows, after the earlier blocks are put in."""
        for block, reduced in zip(self.plan.blocks, self._reduced, strict=True):
            yield [[row.get(name, ZERO) for name in block.dependent] for row in reduced]

    def column(self, independent: str) -> dict[str, ca.SX]:
        """All velocities per unit of one independent velocity."""
        return {
            name: row[independent] for name, row in self.kernel.items() if independent in row and not is_zero(row[independent])
        }

    def velocities(self, independent: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """H v_r + h₀: an admissible motion."""
        values = self.combined(independent)
        return {name: plus(value, self.moved.get(name, ZERO)) for name, value in values.items()} if self.moved else values

    def combined(self, independent: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """H v_r, dependent velocities from the last block to the first so that shared sums are formed once."""
        values = dict(independent)
        for eliminated in reversed(self._maps):
            values |= {
                name: dot(list(row.values()), [values.get(other, ZERO) for other in row]) for name, row in eliminated.items()
            }
        return values

    def bias(self, residual_rates: list[ca.SX]) -> dict[str, ca.SX]:
        """Accelerations of the dependent velocities when the independent ones have none: A v̇ = −(Ȧ v + ȧ₀)."""
        particular: list[dict[str, ca.SX]] = []
        for number, block in enumerate(self.plan.blocks):
            sides = []
            for r in block.rows:
                side = opposite(residual_rates[r])
                row = dict(self.rows[r])
                for eliminated, known in zip(self._maps[:number], particular, strict=True):
                    for name in eliminated:
                        factor = row.pop(name, None)
                        if factor is None:
                            continue
                        side = minus(side, mul(factor, known[name]))
                        for other, coefficient in eliminated[name].items():
                            row[other] = plus(row.get(other, ZERO), mul(factor, coefficient))
                sides.append(side)
            matrix = [[row.get(name, ZERO) for name in block.dependent] for row in self._reduced[number]]
            (x,) = solve(matrix, [sides])
            particular.append(dict(zip(block.dependent, x, strict=True)))
        values: dict[str, ca.SX] = {}
        for eliminated, known in zip(reversed(self._maps), reversed(particular), strict=True):
            found = {}
            for name, row in eliminated.items():
                found[name] = plus(known[name], dot(list(row.values()), [values.get(other, ZERO) for other in row]))
            values |= found
        return values

    def multipliers(self, generalized_forces: dict[str, ca.SX]) -> list[ca.SX]:
        """λ of Aᵀλ = r on the dependent velocities, from the last block to the first."""
        found: dict[int, ca.SX] = {}
        left = dict(generalized_forces)
        # Put the eliminations in, as for the rows: work done on an eliminated velocity is passed on to the others.
        passed: list[dict[str, ca.SX]] = []
        for eliminated in self._maps:
            passed.append(dict(left))
            for name, row in eliminated.items():
                amount = left.pop(name, ZERO)
                for other, coefficient in row.items():
                    left[other] = plus(left.get(other, ZERO), mul(coefficient, amount))
        for number in reversed(range(len(self.plan.blocks))):
            block = self.plan.blocks[number]
            side = []
            for name in block.dependent:
                effort = passed[number].get(name, ZERO)
                for later in range(number + 1, len(self.plan.blocks)):
                    for r in self.plan.blocks[later].rows:
                        coefficient = self._put_in(self.rows[r], number).get(name, ZERO)
                        effort = minus(effort, mul(coefficient, found[r]))
                side.append(effort)
            transposed = [[row.get(name, ZERO) for row in self._reduced[number]] for name in block.dependent]
            (x,) = solve(transposed, [side])
            found |= dict(zip(block.rows, x, strict=True))
        return [found[r] for r in range(len(self.rows))]
