"""Constraint rows A(q, t) v + a₀(q, t) = 0 in blocks, and those of residual constraints: closed loops, gears, prescribed motions.

A position residual f(q, t) has the rate (∂f/∂q) N v + ∂f/∂t; a velocity residual is g(q, t) v + g₀(q, t) itself. Both rows and
their rates at v̇ = 0 come from differentiating the expressions, all residuals at once, which costs little more than one. A
multiplier is the force of the constraint along its residual: M v̇ = F + Aᵀλ, so λ times the residual's rate is a power.

A point at 0.1 + 0.2 tied to one at 0.3 leaves an offset of 6e-17 whose rate depends on a joint. Such a row constrains nothing:
its entries are compared with the lengths of the model, not with each other (`vanishing_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.configurations import sample_coordinates
from draisine.dynamics.constraints.smoothness import check_smooth, may_switch
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.linear_algebra import ZERO, fold_constant, is_zero
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.expr.expression import Call, walk
from draisine.model.constraints import PAIRS
from draisine.model.items import ResidualConstraint, Translate
from draisine.model.system import System
from draisine.numerics.uniform_numbers import UniformNumbers
from draisine.program.equations import MINUS_TENSION, Constraint, Kind, Quantity

Array = NDArray[np.float64]

ROUNDING = 256 * float(np.finfo(float).eps)  # relative rounding error of entries that some tens of operations compute
_SAMPLES = 6  # configurations at which rows are evaluated
_VARIED = 0.1  # relative change of parameters


class Motion(NamedTuple):
    """Symbols of the state and of time, and the rates of the coordinates, q̇ = N v + n₀."""

    q: ca.SX
    v: ca.SX
    t: ca.SX
    q_rate: ca.SX

    def rate(self, quantity: ca.SX) -> ca.SX:
        """Time derivative at constant velocities."""
        return ca.jtimes(quantity, self.q, self.q_rate) + ca.jacobian(quantity, self.t)


class VelocityRows(NamedTuple):
    """A v + a₀ and A; `curved` is a row that is not linear in the velocities, if there is one."""

    velocity: ca.SX
    matrix: ca.SX
    curved: int | None


def velocity_rows(residuals: ca.SX, positions: list[bool], motion: Motion) -> VelocityRows:
    """The rows of residuals, of which some are `positions` f(q, t) and enter with their rates, and others g(q, t) v + g₀(q, t).

    Tables and coordinates of paths are call nodes. The derivative of one along a motion keeps the motion as an argument, and its
    derivative along nothing stays as a term that is zero in value only; by both, the rows would seem to depend on velocities more
    than linearly. Where they do, the rates of positions are the product ∂f/∂q · q̇ instead, and the others are differentiated
    backwards, which reaches the velocities without passing a call node.
    """
    if not positions:
        return VelocityRows(ca.SX(0, 1), ca.SX(0, motion.v.numel()), None)
    first = motion.rate(residuals)
    velocity = ca.densify(ca.vertcat(*[(first if level else residuals)[i] for i, level in enumerate(positions)]))
    plain = _checked(velocity, ca.jacobian(velocity, motion.v), motion)
    if plain.curved is None:
        return plain
    slope = ca.jacobian(residuals, motion.q)
    moved, first = slope @ ca.jacobian(motion.q_rate, motion.v), slope @ motion.q_rate + ca.jacobian(residuals, motion.t)
    velocity = ca.densify(ca.vertcat(*[(first if level else residuals)[i] for i, level in enumerate(positions)]))
    rows = [moved[i, :] if level else ca.jtimes(residuals[i], motion.v, ca.SX(1), True).T for i, level in enumerate(positions)]
    return _checked(velocity, ca.sparsify(ca.vertcat(*rows)), motion)


def _checked(velocity: ca.SX, matrix: ca.SX, motion: Motion) -> VelocityRows:
    curved = ca.jacobian_sparsity(matrix.nz[:], motion.v) if matrix.nnz() else ca.Sparsity(0, 0)
    if not curved.nnz():  # call nodes keep velocities as arguments on which nothing depends
        matrix = ca.substitute(matrix, motion.v, ca.SX.zeros(motion.v.sparsity()))
    return VelocityRows(velocity, matrix, matrix.sparsity().row()[curved.row()[0]] if curved.nnz() else None)


def model_length(system: System, scope: Scope, parameters: Array) -> float:
    """The largest coordinate of points in their bodies and of joints in their parents; 1 m for a model without lengths."""
    symbols = [scope.value(part) for point in system.points for part in point.at]
    for joint in system.joints:
        symbols += [scope.value(part) for step in joint.chain if isinstance(step, Translate) for part in step.by]
    if not symbols:
        return 1.0
    q = np.array([c.default for c in system.coordinates])
    lengths = ca.Function("lengths", [scope.t, scope.q, scope.p], [ca.vertcat(*symbols)])(0.0, q, parameters).full()
    largest = float(np.abs(lengths[np.isfinite(lengths)]).max(initial=0.0))
    return largest if largest > 0 else 1.0


def scale_of(unit: str, length: float) -> float:
    """The size of a residual, from its unit at position or velocity level; for other units the larger of 1 and the model's
    length.

    >>> [scale_of(unit, 0.2) for unit in ("m", "m^2", "rad", "")]
    [0.2, 0.04000000000000001, 1.0, 1.0]
    """
    base = unit.removesuffix("/s")
    return {"m": length, "m^2": length**2, "rad": 1.0}.get(base, max(1.0, length))


def without_rounding(samples: Array, length: float) -> Array:
    """Rows (of samples × rows × columns) that are rounding error in all samples become zero."""
    sizes = np.nan_to_num(np.linalg.norm(samples, axis=2), posinf=np.inf).max(axis=0, initial=0.0)
    return np.asarray(np.where((sizes > ROUNDING * min(1.0, length))[:, None], samples, 0.0))


def vanishing_rows(matrix: ca.SX, units: Sequence[str], scope: Scope, parameters: Array, length: float) -> list[int]:
    """Rows that are zero up to rounding at any coordinates and for other parameters, too: entries of velocities of rotation, and
    those of translation times the model's length, relative to the size of the residual.

    A row that vanishes at the default parameters alone stays: it is a constraint at others.
    """
    if not matrix.nnz():
        return list(range(matrix.shape[0]))
    evaluate = ca.Function("entries", [scope.t, scope.q, scope.p], [matrix.nz[:]])
    rows, columns = (np.array(part) for part in matrix.sparsity().get_triplet())
    sizes = np.array([length if v.unit == "m/s" else 1.0 for v in scope.system.velocities])[columns]
    rng = UniformNumbers(17)
    varied = bool(len(parameters)) and ca.depends_on(matrix, scope.p)
    largest, smallest = np.zeros(matrix.shape[0]), ROUNDING * np.array([scale_of(unit, length) for unit in units])
    for q in sample_coordinates(scope.system, _SAMPLES):
        changed = parameters * (1.0 + _VARIED * rng.uniform(-1.0, 1.0, len(parameters)))
        for t, p in ((0.0, parameters), *(((0.7, changed),) if varied else ())):
            values = np.abs(evaluate(t, q, p).full().ravel()) * sizes  # a single row is a row
            np.maximum.at(largest, rows, np.where(np.isfinite(values), values, np.inf))
    return [int(i) for i in np.flatnonzero(largest <= smallest)]


# multiplier × residual is a work, multiplier × rate of the residual a power
_REACTIONS = {"m": "N", "rad": "N*m", "": "N*m", "1": "N*m", "m^2": "N/m"}


def reaction_unit(of: str) -> str:
    """The unit of a multiplier, from that of its residual at position or velocity level.

    >>> reaction_unit("m/s"), reaction_unit("kg"), reaction_unit("m^2")
    ('N', 'J/(kg)', 'N/m')
    """
    return _REACTIONS.get(of.removesuffix("/s"), f"J/({of})")


class RowSource(Protocol):
    """Source of rows: the contact of a wheel or a knife edge, or a residual constraint."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Rows:
    """Rows of one contact or constraint: names, columns by velocity, and the drift a₀ of rheonomic rows.

    Rows in which no velocity enters are left out: a wheel under a body that slides in the ground's plane cannot leave it.
    `kept` are the indices of these rows in the source.
    """

    source: RowSource
    names: tuple[str, ...]
    columns: dict[str, list[ca.SX]]
    drift: tuple[ca.SX, ...]
    kept: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.names)

    def only(self, indices: Sequence[int]) -> Rows:
        """Some of the rows, by their indices in this block."""
        columns = {v: [c[i] for i in indices] for v, c in self.columns.items()}
        return replace(
            self,
            names=tuple(self.names[i] for i in indices),
            columns=columns,
            drift=tuple(self.drift[i] for i in indices),
            kept=tuple(self.kept[i] for i in indices),
        )


class ResidualSystem:
    """All residual constraints of a description in symbols, their residuals stacked."""

    def __init__(self, constraints: Sequence[ResidualConstraint], measures: Measures) -> None:
        self.measures, self.constraints = measures, constraints
        scope = measures.scope
        self.named = [(constraint, name, expression) for constraint in constraints for name, expression in constraint.residuals]
        self.residual = ca.densify(ca.vertcat(*[ca.SX(scope.value(e)) for _, _, e in self.named])) if self.named else ca.SX(0, 1)
        self._check_position()
        self._check_smooth()
        self._motion = Motion(scope.q, scope.v, scope.t, measures.q_rate)
        levels = [constraint.level == "position" for constraint, _, _ in self.named]
        self.velocity, self.matrix, curved = velocity_rows(self.residual, levels, self._motion)  # A v + a₀, A
        if curved is not None:
            raise ModelError(
                f"{self._where(curved)} is not linear in the velocities; write it as g(q, t) v + g₀(q, t), or constrain the "
                "position of which it is the rate"
            )
        still = ca.SX.zeros(len(scope.velocities))
        self.drift = ca.substitute(self.velocity, scope.v, still) if scope.velocities else self.velocity

    def parametric(self, idle: Sequence[str]) -> list[tuple[Constraint, ca.SX]]:
        """Position residuals among the `idle` ones, which no coordinate changes, that parameters change: a start with other
        parameters has to satisfy them."""
        found = []
        for i, (constraint, name, _) in enumerate(self.named):
            if name in idle and constraint.level == "position" and ca.depends_on(self.residual[i], self.measures.scope.p):
                found.append((Constraint(name, Kind.HOLONOMIC, "position", constraint.unit_of(name)), self.residual[i]))
        return found

    @cached_property
    def rate(self) -> ca.SX:
        """Rate of the rows at zero accelerations: Ȧ v + ȧ₀, in all velocities."""
        return ca.densify(self._motion.rate(self.velocity))

    def _where(self, index: int) -> str:
        constraint, name, _ = self.named[index]
        return f"residual {name!r} of constraint {constraint.name!r}"

    def _check_position(self) -> None:
        """Position residuals may not depend on velocities, and no residual on an input, whose rate is unknown."""
        scope = self.measures.scope
        for names, symbols, what in ((scope.velocities, scope.v, "velocity"), (scope.input_names, scope.u, "input")):
            uses = ca.jacobian_sparsity(self.residual, symbols) if names and self.named else ca.Sparsity(0, 0)
            for index, column in zip(*uses.get_triplet(), strict=True):
                constraint = self.named[index][0]
                if what == "velocity" and constraint.level == "velocity":
                    continue
                level = "coordinates" if constraint.level == "position" else "coordinates, velocities"
                raise ModelError(
                    f"{self._where(index)} depends on the {what} {names[column]!r}, but it is of {constraint.level} level; "
                    f"write it in {level}, parameters and t"
                )

    def _check_smooth(self) -> None:
        scope = self.measures.scope
        for index, (constraint, _, expression) in enumerate(self.named):
            if constraint in scope.system.constraints and may_switch(scope, expression):
                check_smooth(scope, self._where(index), self.residual[index], constraint.level)


@dataclass(frozen=True, eq=False)
class ResidualBlock:
    """One residual constraint of a system: its residuals begin at index `start`."""

    constraint: ResidualConstraint
    system: ResidualSystem
    start: int

    @property
    def name(self) -> str:
        return self.constraint.name

    @property
    def indices(self) -> slice:
        return slice(self.start, self.start + len(self.constraint.residuals))

    @property
    def position(self) -> ca.SX:
        """f(q, t), for a position constraint."""
        return self.system.residual[self.indices]

    def rates_at(self, velocities: Mapping[str, ca.SX]) -> list[ca.SX]:
        """Rates of the rows at zero accelerations, with values substituted for the velocities."""
        scope = self.system.measures.scope
        values = ca.vertcat(*[velocities[n] for n in scope.velocities])
        reported = ca.substitute(self.system.rate[self.indices], scope.v, values)
        return [fold_constant(reported[i]) for i in range(reported.numel())]


def residual_rows(system: ResidualSystem, default_parameters: NDArray[np.float64], length: float) -> list[Rows]:
    """Rows of all residual constraints, one block for each that constrains something. `length` is that of the model."""
    measures, constraints = system.measures, system.constraints
    velocities = measures.scope.velocities
    units = [constraint.unit_of(name) for constraint, name, _ in system.named]
    entries: dict[int, dict[int, ca.SX]] = {}
    pattern = system.matrix.sparsity()
    for k, (i, j) in enumerate(zip(*pattern.get_triplet(), strict=True)):
        entry = fold_constant(system.matrix.nz[k])
        if not is_zero(entry):
            entries.setdefault(i, {})[j] = entry
    for i in vanishing_rows(system.matrix, units, measures.scope, default_parameters, length) if entries else []:
        entries.pop(i, None)
    blocks, start = [], 0
    for constraint in constraints:
        source = ResidualBlock(constraint, system, start)
        indices = range(start, start + len(constraint.residuals))
        kept = [i for i in indices if i in entries]
        _check_fixed_residuals(source, [i for i in indices if i not in entries], default_parameters)
        start = indices.stop
        if not kept:
            if not _closes_loop(constraint):
                _raise_idle(constraint)
            continue  # repeats a joint: two hinges on one axis
        columns = {velocities[j]: [entries[i].get(j, ZERO) for i in kept] for j in sorted({j for i in kept for j in entries[i]})}
        own = tuple(i - indices.start for i in kept)
        names = tuple(constraint.residuals[i][0] for i in own)
        blocks.append(Rows(source, names, columns, tuple(fold_constant(system.drift[i]) for i in kept), own))
    return blocks


def _closes_loop(constraint: ResidualConstraint) -> bool:
    """Whether its residuals are measures of two frames, as those of hinges, sliders and rods are."""
    return all(any(isinstance(part, Call) and part.function in PAIRS for part in walk(r)) for _, r in constraint.residuals)


def _raise_idle(constraint: ResidualConstraint) -> None:
    residuals = ", ".join(f"{name} = {residual}" for name, residual in constraint.residuals)
    raise ModelError(
        f"constraint {constraint.name!r} has no effect: no {_changed_by(constraint)} enters its residuals ({residuals}); name "
        "what it should constrain, or remove it"
    )


def _changed_by(constraint: ResidualConstraint) -> str:
    return "coordinate" if constraint.level == "position" else "velocity"


def _check_fixed_residuals(source: ResidualBlock, idle: Sequence[int], default_parameters: NDArray[np.float64]) -> None:
    """Raise if a residual in which no coordinate (or velocity) enters is not zero."""
    system, scope, constraint = source.system, source.system.measures.scope, source.constraint
    q = np.array([c.default for c in scope.system.coordinates])
    for index in idle:
        residual = system.residual[index] if constraint.level == "position" else system.velocity[index]
        value = ca.Function("value", [scope.t, scope.q, scope.v, scope.p], [residual])
        for t in (0.0, 0.7, 3.1):
            gap = float(value(t, q, np.zeros(len(scope.velocities)), default_parameters))
            if abs(gap) > 1e-9:
                name, expression = constraint.residuals[index - source.start]
                raise ModelError(
                    f"constraint {constraint.name!r}: its residual {name!r} ('{expression}') is {gap:.4g} "
                    f"{constraint.unit_of(name)} at t = {t:g} s and no {_changed_by(constraint)} can change it; move the points "
                    "or change the parameters so that it can be zero"
                )


# ---------------------------------------------------------------- names of rows


def position_constraints_of(rows: Rows) -> list[tuple[Constraint, ca.SX]]:
    """Position constraints of which the rows are the rates."""
    source = rows.source
    if not isinstance(source, ResidualBlock) or source.constraint.level != "position":
        return []
    return [
        (Constraint(name, Kind.HOLONOMIC, "position", source.constraint.unit_of(name)), source.position[i])
        for name, i in zip(rows.names, rows.kept, strict=True)
    ]


def row_constraints(rows: Rows) -> list[Constraint]:
    """The rows themselves as velocity constraints."""
    source = rows.source
    if not isinstance(source, ResidualBlock):
        return [Constraint(name, Kind.NONHOLONOMIC, "velocity", "m/s") for name in rows.names]
    units = {name: source.constraint.unit_of(name) for name in rows.names}
    if source.constraint.level == "position":
        return [Constraint(name, Kind.HOLONOMIC, "velocity", f"{units[name] or '1'}/s") for name in rows.names]
    return [Constraint(name, Kind.NONHOLONOMIC, "velocity", units[name]) for name in rows.names]


def row_multipliers(rows: Rows) -> list[Quantity]:
    """Names and units of the rows' multipliers."""
    source = rows.source
    if not isinstance(source, ResidualBlock):
        return [Quantity(f"{name}_multiplier", "N") for name in rows.names]
    found = []
    for name in rows.names:
        of = source.constraint.unit_of(name)
        description = f"force of constraint {source.name} along {name}"
        if source.constraint.only_pulls:
            description = f"{MINUS_TENSION} {name}"
        found.append(Quantity(f"{name}_multiplier", reaction_unit(of), description))
    return found
