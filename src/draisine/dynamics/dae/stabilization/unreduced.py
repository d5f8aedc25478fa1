"""Unreduced equations in symbols: masses, forces and constraint rows, extracted from their programs.

Drift control rewrites programs of (t, x, u, p); it needs only what the programs contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.errors import ModelError
from draisine.program.equations import Equations, Kind
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program


@dataclass(frozen=True, eq=False)
class UnreducedSystem:
    """Equations whose state holds all coordinates and all velocities, in fresh symbols."""

    equations: Equations

    def __post_init__(self) -> None:
        e = self.equations
        if set(e.independent) != {v.name for v in e.velocities}:
            raise ModelError(f"{e.name}: velocities have been eliminated from these equations; pass the model itself")

    # ---------------------------------------------------------------- symbols

    @cached_property
    def symbols(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """t, x, u, p."""
        t, x, u, p = self.equations.explicit.inputs
        return tuple(ca.SX.sym(slot.name, *slot.shape) for slot in (t, x, u, p))  # type: ignore[return-value]

    @cached_property
    def parts(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """q, v and further states."""
        first = len(self.equations.coordinates)
        second = first + len(self.equations.velocities)
        x = self.symbols[1]
        q, v, rest = ca.vertsplit(x, [0, first, second, x.numel()])
        return q, v, rest

    def arguments(self) -> Slots:
        """The slots of programs of (t, x, u, p)."""
        slots = self.equations.explicit.inputs
        return {slot.name: (symbol, slot.labels) for slot, symbol in zip(slots, self.symbols, strict=True)}

    # ---------------------------------------------------------------- masses, forces, rows

    @cached_property
    def solved(self) -> LinearSolveProgram | None:
        dynamics = self.equations.dynamics
        return dynamics if isinstance(dynamics, LinearSolveProgram) else None

    @cached_property
    def _linear(self) -> tuple[ca.SX, ca.SX]:
        assert self.solved is not None
        # masses and constraint rows are independent of the multipliers, so zeros may be used where forces depend on them
        return self.solved.linear(self.symbols, ca.SX.zeros(self.solved.size))

    def check_plain_forces(self, who: str, cure: str) -> None:
        """Raise if forces depend on multipliers: then K = [M B; A 0] has B ≠ −Aᵀ."""
        n = len(self.equations.velocities)
        if self.solved is None or not self.row_count:
            return
        uneven = ca.Function("uneven", list(self.symbols), [self._linear[0][:n, n:] + self._linear[0][n:, :n].T])
        values = [np.random.default_rng(4).uniform(0.1, 1.0, symbol.numel()) for symbol in self.symbols]
        if self.solved.iterates or np.abs(uneven(*values).full()).max(initial=0.0) > 1e-9:
            raise ModelError(
                f"{self.equations.name}: {who} for forces that derive from an energy, but some depend on the multipliers of "
                f"constraints (friction, creep); {cure}"
            )

    @property
    def row_count(self) -> int:
        """Constraint rows that are solved for."""
        return 0 if self.solved is None else self.solved.size - len(self.equations.velocities)

    @property
    def mass(self) -> ca.SX:
        n = len(self.equations.velocities)
        return ca.densify(self._linear[0][:n, :n])

    @property
    def force(self) -> ca.SX:
        return self._linear[1][: len(self.equations.velocities)]

    @property
    def rows(self) -> ca.SX:
        """A of A v̇ = …"""
        n = len(self.equations.velocities)
        return ca.densify(self._linear[0][n:, :n])

    @property
    def slope(self) -> ca.SX:
        """ẋ at zero accelerations and multipliers; its q̇ is exact."""
        assert self.solved is not None
        return self.solved.after.function.call([*self.symbols, ca.SX.zeros(self.solved.size)])[0]

    @cached_property
    def residuals(self) -> tuple[ca.SX, ca.SX]:
        """Residuals that projection sets to zero, positions and velocities, without redundant rows."""
        project = self.equations.project
        if not isinstance(project, LinearSolveProgram):
            return ca.SX(0, 1), ca.SX(0, 1)
        side = project.system.function.call(list(self.symbols))[1]
        first, second = ca.vertsplit(side, [0, side.numel() - self.row_count, side.numel()])
        return first, second

    @cached_property
    def energy(self) -> ca.SX | None:
        """Kinetic + potential energy − work done, or None where the equations report none, or do not count the work."""
        reported = called(self.equations.report, list(self.symbols))
        names = [slot.name for slot in self.equations.report.outputs]
        if "energy" not in names:
            return None
        kinetic, potential, *work = ca.vertsplit(reported[names.index("energy")])
        return kinetic + potential - work[0] if work else None

    @cached_property
    def energies(self) -> tuple[ca.SX, ca.SX]:
        """Kinetic and potential energy."""
        names = [slot.name for slot in self.equations.report.outputs]
        reported = called(self.equations.report, list(self.symbols))[names.index("energy")]
        return reported[0], reported[1]

    # ---------------------------------------------------------------- what kind of mechanism

    @property
    def nonholonomic(self) -> list[str]:
        """Velocity constraints that are not rates of known position constraints."""
        found = [c for c in self.equations.constraints if c.level == "velocity" and c.kind == Kind.NONHOLONOMIC]
        return [c.name for c in found]

    @property
    def rates_are_velocities(self) -> bool:
        """Whether q̇ = v, component by component."""
        q, v, _ = self.parts
        return q.numel() == v.numel() and (self.slope[: q.numel()] - v).is_zero()

    def check_holonomic(self, who: str, cure: str) -> None:
        """Raise if constraints are nonholonomic, or velocities are not rates of the coordinates."""
        name, rolling = self.equations.name, self.nonholonomic
        if rolling:
            some = ", ".join(rolling[:4]) + (", …" if len(rolling) > 4 else "")
            raise ModelError(f"{name}: {who} for holonomic constraints, but {some} constrain only velocities; {cure}")
        if self.solved is None or not self.equations.velocities:
            raise ModelError(f"{name}: {who} for mechanisms, but these are equations of first order; {cure}")
        if not self.rates_are_velocities:
            raise ModelError(
                f"{name}: {who} for velocities that are the rates of the coordinates, but some bodies have quaternions; {cure}"
            )


def called(program: Program | LinearSolveProgram, arguments: list[ca.SX]) -> list[ca.SX]:
    """Results in the given symbols, with zero for the solution of a linear system: for results that do not depend on it."""
    if isinstance(program, Program):
        return list(program.function.call(arguments))
    return list(program.after.function.call([*arguments, ca.SX.zeros(program.size, program.sides)]))


def program_at(program: Program, arguments: Slots, given: Sequence[ca.SX]) -> Program:
    """The same program as a function of other arguments, with its own given in terms of these."""
    results = program.function.call(list(given))
    outputs: Slots = {slot.name: (result, slot.labels) for slot, result in zip(program.outputs, results, strict=True)}
    units = {n: unit for slot in (*program.inputs, *program.outputs) for n, unit in zip(slot.labels, slot.units, strict=True)}
    return Program.build(program.name, arguments, outputs, units)


def at_state(program: Program | LinearSolveProgram, arguments: Slots, given: Sequence[ca.SX]) -> Program | LinearSolveProgram:
    """`program_at`, also for programs with a linear solve."""
    if isinstance(program, Program):
        return program_at(program, arguments, given)
    z = ca.SX.sym("z", program.size, program.sides)
    after = program_at(program.after, {**arguments, "z": z}, [*given, z])
    return solved_at(program, arguments, given, after)


def solved_at(program: LinearSolveProgram, arguments: Slots, given: Sequence[ca.SX], after: Program) -> LinearSolveProgram:
    """The same linear system, or the same rounds of Newton's method, at other arguments, with `after` following the solution."""
    z = ca.SX.sym("z", program.size)
    with_solution: Slots = {**arguments, "z": z}
    rounds = (with_solution, [*given, z]) if program.iterates else (arguments, given)
    return replace(
        program,
        system=program_at(program.system, *rounds),
        after=after,
        further=None if program.further is None else program_at(program.further, with_solution, [*given, z]),
        start=None if program.start is None else program_at(program.start, arguments, given),
    )
