"""Rows of ties: closed loops, gears, prescribed motions, and whatever else is given as a residual that stays zero.

A residual f(q, t) of position has the rate (∂f/∂q) N v + ∂f/∂t; one of velocity is g(q, t) v + g₀(q, t) itself. Both are found by
differentiating the expressions, and so is the rate of the rows at v̇ = 0; all ties at once, which costs little more than one. A
multiplier is the force of the tie along its residual: M v̇ = F + Aᵀλ, so that λ · (rate of the residual) is the power it would do
if the residual grew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.rows import Rows, reaction_unit
from draisine.dynamics.contact.rolling import EdgeContact, WheelContact, bias_of
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.twists import Rates, Twist
from draisine.dynamics.linear_algebra import ZERO, exact, is_zero
from draisine.errors import ModelError
from draisine.model.items import ResidualConstraint
from draisine.program.equations import Constraint, Kind, Quantity


class Ties:
    """All ties of a description in symbols, one residual below the other."""

    def __init__(self, ties: Sequence[ResidualConstraint], measures: Measures) -> None:
        self.measures = measures
        scope = measures.scope
        self.named = [(tie, name, expression) for tie in ties for name, expression in tie.residuals]
        self.residual = ca.densify(ca.vertcat(*[ca.SX(scope.value(e)) for _, _, e in self.named])) if self.named else ca.SX(0, 1)
        self._check_position()
        first = self._rate_of(self.residual) if self.named else ca.SX(0, 1)
        chosen = [first[i] if tie.level == "position" else self.residual[i] for i, (tie, _, _) in enumerate(self.named)]
        self.velocity = ca.densify(ca.vertcat(*chosen)) if chosen else ca.SX(0, 1)  # A v + a₀
        self.matrix = ca.jacobian(self.velocity, scope.v)
        self._check_linear()
        still = ca.SX.zeros(len(scope.velocities))
        self.drift = ca.substitute(self.velocity, scope.v, still) if scope.velocities else self.velocity

    @cached_property
    def rate(self) -> ca.SX:
        """Rate of the rows when all accelerations are zero: Ȧ v + ȧ₀, in all velocities."""
        return self._rate_of(self.velocity)

    def _rate_of(self, quantity: ca.SX) -> ca.SX:
        """Time derivative with the velocities held."""
        scope = self.measures.scope
        return ca.densify(ca.jtimes(quantity, scope.q, self.measures.q_rate) + ca.jacobian(quantity, scope.t))

    def _where(self, index: int) -> str:
        tie, name, _ = self.named[index]
        return f"residual {name!r} of constraint {tie.name!r}"

    def _check_position(self) -> None:
        """Residuals of position know no velocities, and no residual an input, whose rates nobody knows."""
        scope = self.measures.scope
        for names, symbols, what in ((scope.velocities, scope.v, "velocity"), (scope.input_names, scope.u, "input")):
            uses = ca.jacobian_sparsity(self.residual, symbols) if names and self.named else ca.Sparsity(0, 0)
            for index, column in zip(*uses.get_triplet(), strict=True):
                tie = self.named[index][0]
                if what == "velocity" and tie.level == "velocity":
                    continue
                level = "coordinates" if tie.level == "position" else "coordinates, velocities"
                raise ModelError(
                    f"{self._where(index)} depends on the {what} {names[column]!r}, but it is of {tie.level} level; write it in "
                    f"{level}, parameters and t"
                )

    def _check_linear(self) -> None:
        curved = ca.jacobian_sparsity(self.matrix.nz[:], self.measures.scope.v) if self.matrix.nnz() else ca.Sparsity(0, 0)
        if curved.nnz():
            index = self.matrix.sparsity().row()[curved.row()[0]]
            raise ModelError(
                f"{self._where(index)} is not linear in the velocities; write it as g(q, t) v + g₀(q, t), or tie the position "
                "behind it"
            )


@dataclass(frozen=True, eq=False)
class Tied:
    """One tie among all of them: its residuals stand from `start` on."""

    tie: ResidualConstraint
    ties: Ties
    start: int

    @property
    def name(self) -> str:
        return self.tie.name

    @property
    def place(self) -> slice:
        return slice(self.start, self.start + len(self.tie.residuals))

    @property
    def position(self) -> ca.SX:
        """f(q, t), for a tie of position."""
        return self.ties.residual[self.place]

    def rates_at(self, velocities: Mapping[str, ca.SX]) -> list[ca.SX]:
        """Rates of the rows when all accelerations are zero, with values put in for the velocities."""
        scope = self.ties.measures.scope
        values = ca.vertcat(*[velocities[n] for n in scope.velocities])
        reported = ca.substitute(self.ties.rate[self.place], scope.v, values)
        return [exact(reported[i]) for i in range(reported.numel())]


def residual_rows(ties: Sequence[ResidualConstraint], measures: Measures, default_parameters: NDArray[np.float64]) -> list[Rows]:
    """Rows of all ties, a block for each."""
    whole = Ties(ties, measures)
    velocities = measures.scope.velocities
    entries: dict[int, dict[int, ca.SX]] = {}
    pattern = whole.matrix.sparsity()
    for k, (i, j) in enumerate(zip(*pattern.get_triplet(), strict=True)):
        entry = exact(whole.matrix.nz[k])
        if not is_zero(entry):
            entries.setdefault(i, {})[j] = entry
    blocks, start = [], 0
    for tie in ties:
        source = Tied(tie, whole, start)
        places = range(start, start + len(tie.residuals))
        kept = [i for i in places if i in entries]
        _check_standing(source, [i for i in places if i not in entries], default_parameters)
        if not kept:
            _complain_idle(tie)
        columns = {velocities[j]: [entries[i].get(j, ZERO) for i in kept] for j in sorted({j for i in kept for j in entries[i]})}
        names = tuple(tie.residuals[i - start][0] for i in kept)
        blocks.append(Rows(source, names, columns, tuple(exact(whole.drift[i]) for i in kept), tuple(i - start for i in kept)))
        start = places.stop
    return blocks


def _complain_idle(tie: ResidualConstraint) -> None:
    residuals = ", ".join(f"{name} = {residual}" for name, residual in tie.residuals)
    raise ModelError(
        f"constraint {tie.name!r} ties nothing: no {_changed_by(tie)} enters its residuals ({residuals}); name what it is to hold, or "
        "take it away"
    )


def _changed_by(tie: ResidualConstraint) -> str:
    return "coordinate" if tie.level == "position" else "velocity"


def _check_standing(source: Tied, idle: Sequence[int], default_parameters: NDArray[np.float64]) -> None:
    """Residuals that nothing can change must be zero as they are."""
    ties, scope, tie = source.ties, source.ties.measures.scope, source.tie
    q = np.array([c.default for c in scope.system.coordinates])
    for index in idle:
        residual = ties.residual[index] if tie.level == "position" else ties.velocity[index]
        value = ca.Function("value", [scope.t, scope.q, scope.v, scope.p], [residual])
        for t in (0.0, 0.7, 3.1):
            gap = float(value(t, q, np.zeros(len(scope.velocities)), default_parameters))
            if abs(gap) > 1e-9:
                name, expression = tie.residuals[index - source.start]
                raise ModelError(
                    f"constraint {tie.name!r}: its residual {name!r} ('{expression}') is {gap:.4g} {tie.unit_of(name)} at t = {t:g} s "
                    f"and no {_changed_by(tie)} can change it; move the points or change the parameters so that it can hold"
                )


# ---------------------------------------------------------------- what rows of contacts and ties are called


def tie_constraints(rows: Rows) -> list[tuple[Constraint, ca.SX]]:
    """Position constraints behind a tie's rows."""
    source = rows.source
    if not isinstance(source, Tied) or source.tie.level != "position":
        return []
    return [
        (Constraint(name, Kind.HOLONOMIC, "position", source.tie.unit_of(name)), source.position[i])
        for name, i in zip(rows.names, rows.kept, strict=True)
    ]


def row_constraints(rows: Rows) -> list[Constraint]:
    """What the rows themselves are called among the constraints."""
    source = rows.source
    if not isinstance(source, Tied):
        return [Constraint(name, Kind.NONHOLONOMIC, "velocity", "m/s") for name in rows.names]
    units = {name: source.tie.unit_of(name) for name in rows.names}
    if source.tie.level == "position":
        return [Constraint(name, Kind.HOLONOMIC, "velocity", f"{units[name] or '1'}/s") for name in rows.names]
    return [Constraint(name, Kind.NONHOLONOMIC, "velocity", units[name]) for name in rows.names]


def row_multipliers(rows: Rows) -> list[Quantity]:
    """Names and units of the rows' multipliers."""
    source = rows.source
    if not isinstance(source, Tied):
        return [Quantity(f"{name}_multiplier", "N") for name in rows.names]
    found = []
    for name in rows.names:
        of = source.tie.unit_of(name)
        description = f"force of constraint {source.name} along {name}"
        found.append(Quantity(f"{name}_multiplier", reaction_unit(of), description))
    return found


def residual_rates(
    rows: Sequence[Rows], motion: Mapping[str, Twist], standing: Mapping[str, Twist], velocities: Rates
) -> list[list[ca.SX]]:
    """Rates of every block's rows when all accelerations are zero. `motion` has the twists of the links, `standing` their rates
    with v̇ = 0."""
    found = []
    for block in rows:
        source = block.source
        if isinstance(source, WheelContact | EdgeContact):
            found.append(bias_of(block, source, motion[source.link.name], standing[source.link.name], velocities))
        elif isinstance(source, Tied):
            reported = source.rates_at(velocities)
            found.append([reported[i] for i in block.kept])
    return found
