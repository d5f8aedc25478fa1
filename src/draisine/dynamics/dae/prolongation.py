"""Equations 0 = F(t, y, ẏ, u, p) and their time derivatives, by differentiation of the program.

Where a row gives the rate of one unknown explicitly, ẏ = f(t, y, u, p), the rate is substituted wherever it occurs: such unknowns
are *states*, and differentiation introduces no new symbol for them. The other rows are the *rest*; derivatives of the other
unknowns stay symbols. For a semi-explicit system the rest are the constraints, and for a Hessenberg form their derivatives
are functions of the unknowns alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.dae.signature_method import ABSENT, Offsets, offsets
from draisine.program.program import DaeResidual


class Prolongation:
    """The rows that remain after substitution of explicit rates, and their total derivatives at constant inputs."""

    def __init__(self, dynamics: DaeResidual) -> None:
        self.name = dynamics.name
        self.t, self.y, rate, self.u, self.p = dynamics.residual.symbols()
        (residual,) = dynamics.residual.function.call([self.t, self.y, rate, self.u, self.p])
        self.unknowns = list(dynamics.residual.input("x").labels) or [f"x{j}" for j in range(dynamics.size)]
        self.inputs = list(dynamics.residual.input("u").labels) or [f"u{j}" for j in range(self.u.numel())]
        labels = dynamics.residual.output("residual").labels
        self.equations = list(labels) or [f"equation {i + 1}" for i in range(dynamics.size)]
        self.states: dict[int, ca.SX] = {}  # unknown → its rate
        self.stated: dict[int, int] = {}  # unknown → the equation that gives its rate
        self._find_states(residual, rate)
        self.others = [j for j in range(len(self.unknowns)) if j not in self.states]
        self.rest = [i for i in range(len(self.equations)) if i not in self.stated.values()]
        self._jets: list[ca.SX] = []  # of the others: their first derivatives, second derivatives, …
        open_rates = {j: self.jet(1)[k] for k, j in enumerate(self.others)}
        self._flow = ca.vertcat(*[self.states[j] if j in self.states else open_rates[j] for j in range(len(self.unknowns))])
        rows = ca.substitute(residual, rate, self._flow)
        self.rows: list[ca.SX] = [rows[i] for i in self.rest]
        self._derivatives: dict[tuple[int, int], ca.SX] = {}
        self.on_a_branch = False

    def _find_states(self, residual: ca.SX, rate: ca.SX) -> None:
        slope = ca.jacobian(residual, rate)
        pattern = slope.sparsity()
        columns: dict[int, list[int]] = {}
        for i, j in zip(*pattern.get_triplet(), strict=True):
            columns.setdefault(i, []).append(j)
        for i, found in columns.items():
            j = found[0]
            factor = slope[i, j]
            # a parameter may be zero (singular perturbations): only constants are divided by
            if len(found) == 1 and j not in self.states and factor.is_constant() and float(factor) != 0.0:
                self.states[j] = -ca.substitute(residual[i], rate, ca.SX.zeros(rate.numel())) / factor
                self.stated[j] = i

    # ---------------------------------------------------------------- derivatives

    def jet(self, order: int) -> ca.SX:
        """Symbols of the derivatives of the others."""
        while len(self._jets) < order:
            made = [ca.SX.sym(f"{self.unknowns[j]}_{len(self._jets) + 1}") for j in self.others]
            self._jets.append(ca.vertcat(*made) if made else ca.SX(0, 1))
        return self._jets[order - 1]

    def rate(self, expression: ca.SX) -> ca.SX:
        """The total time derivative, along the motion."""
        deepest = max((order for order, jet in enumerate(self._jets, start=1) if ca.depends_on(expression, jet)), default=0)
        known = self._jets[:deepest]
        moving = ca.vertcat(self.t, self.y, *known)
        onward = [self.jet(order + 1) for order in range(1, len(known) + 1)]
        return ca.jtimes(expression, moving, ca.vertcat(1, self._flow, *onward))

    def derivative(self, row: int, times: int) -> ca.SX:
        """A remaining row, differentiated `times` times."""
        found = self._raw(row, times)
        return self._trimmed(row, times, found) if self.on_a_branch else found

    def _raw(self, row: int, times: int) -> ca.SX:
        if times == 0:
            return self.rows[row]
        if (row, times) not in self._derivatives:
            self._derivatives[row, times] = self.rate(self._raw(row, times - 1))
        return self._derivatives[row, times]

    def _trimmed(self, row: int, times: int, expression: ca.SX) -> ca.SX:
        """Without terms whose factors are zero on the branch: derivatives beyond those in the signature."""
        gone = []
        for k, order in enumerate(self.signature[row] + times):
            first = 0 if order < 0 else int(order) + 1
            gone += [self.top(k, high) for high in range(first, len(self._jets) + 1)]
        return ca.substitute(expression, ca.vertcat(*gone), ca.SX.zeros(len(gone))) if gone else expression

    def top(self, index: int, order: int) -> ca.SX:
        """The derivative of that order of one of the others."""
        return self.y[self.others[index]] if order == 0 else self.jet(order)[index]

    @property
    def jets(self) -> ca.SX:
        """All symbols of derivatives created so far."""
        return ca.vertcat(*self._jets) if self._jets else ca.SX(0, 1)

    def with_row(self, row: int, name: str, expression: ca.SX) -> Prolongation:
        """The same system with one of the remaining rows replaced."""
        other = copy(self)
        other.__dict__.pop("signature", None)
        other.rows = [expression if i == row else old for i, old in enumerate(self.rows)]
        other.equations = [name if i == self.rest[row] else old for i, old in enumerate(self.equations)]
        other._derivatives = {key: value for key, value in self._derivatives.items() if key[0] != row}
        return other

    def on_branch(self, signature: NDArray[np.float64]) -> Prolongation:
        """The same system on a branch where some generically nonzero entries vanish; `signature` has the others."""
        other = copy(self)
        other.__dict__["signature"] = signature
        other.on_a_branch = True
        return other

    # ---------------------------------------------------------------- structure

    @cached_property
    def signature(self) -> NDArray[np.float64]:
        """σ of the rest by the others; −r where an unknown enters after r differentiations, through states."""
        found = np.full((len(self.rest), len(self.others)), ABSENT)
        index = {j: k for k, j in enumerate(self.others)}
        for i, row in enumerate(self.rows):
            levels = self.levels(row)
            for k, level in enumerate(levels):
                for j in level:
                    if j in index:
                        found[i, index[j]] = max(found[i, index[j]], -k)
            for order, jet in enumerate(self._jets, start=1):
                found[i, entries(row, jet)] = order
        return found

    def levels(self, row: ca.SX) -> list[set[int]]:
        """Unknowns in a row, those that its first derivative adds through states, those that its second adds, …"""
        levels, met = [set(entries(row, self.y))], set(entries(row, self.y))
        while True:
            new = {k for j in levels[-1] if j in self.states for k in self._inside[j]} - met
            if not new:
                return levels
            levels.append(new)
            met |= new

    @cached_property
    def _inside(self) -> Mapping[int, list[int]]:
        return {j: entries(rate, self.y) for j, rate in self.states.items()}

    @property
    def whole_signature(self) -> NDArray[np.float64]:
        """σ of all equations by all unknowns: rates of states, then the remaining rows."""
        found = np.full((len(self.equations), len(self.unknowns)), ABSENT)
        for j, i in self.stated.items():
            found[i, self._inside[j]] = 0.0
            found[i, j] = 1.0
        for i, row in zip(self.rest, self.rows, strict=True):
            found[i, entries(row, self.y)] = 0.0
            for order, jet in enumerate(self._jets, start=1):
                found[i, [self.others[k] for k in entries(row, jet)]] = order
        return found

    def offsets(self, least: Mapping[int, int] | None = None) -> Offsets:
        """Offsets of the remaining rows; `least`: minimal differentiations by row."""
        minimal = [(least or {}).get(i, 0) for i in range(len(self.rest))]
        names = [self.equations[i] for i in self.rest], [self.unknowns[j] for j in self.others]
        return offsets(self.signature, *names, self.name, minimal)


def entries(expression: ca.SX, symbols: ca.SX) -> list[int]:
    """Which of the symbols an expression contains, by structure."""
    if not symbols.numel():
        return []
    return sorted(set(ca.jacobian_sparsity(expression, symbols).get_triplet()[1]))


def full_signature(dynamics: DaeResidual) -> NDArray[np.float64]:
    """σ of all equations by all unknowns: 1 where a rate enters, 0 where only the unknown itself does."""
    t, y, rate, u, p = dynamics.residual.symbols()
    (residual,) = dynamics.residual.function.call([t, y, rate, u, p])
    found = np.full((dynamics.size, dynamics.size), ABSENT)
    for value, symbols in ((0.0, y), (1.0, rate)):
        rows, columns = ca.jacobian_sparsity(residual, symbols).get_triplet()
        found[rows, columns] = value
    return found
