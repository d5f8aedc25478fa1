"""Programs of one matrix each, from both derivations of a model, for conversion to SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property

import casadi as ca

from draisine.dynamics.lagrangian.energies import Energies
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.reduced.formulation import ReducedFormulation
from draisine.model.system import System
from draisine.program import opcodes as op
from draisine.program.program import Program


class Matrices:
    """Both derivations of one model, each computed once, as programs of one matrix."""

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def energies(self) -> Energies:
        return Energies(self.system)

    @cached_property
    def formulation(self) -> ReducedFormulation:
        mechanism = Mechanism(self.system)
        plan, _, _ = mechanism.choose(self.system.independent)
        return ReducedFormulation(mechanism, plan, {}, (), None)

    @cached_property
    def rate_names(self) -> list[str]:
        rates = {c.name: c.rate for c in self.system.coordinates if c.rate}
        return [rates.get(name, f"{name}_rate") for name in self.energies.names]

    @cached_property
    def rows(self) -> list[str]:
        heights, rolling = self.energies.constraints
        return [name for name, _ in (*heights, *rolling)]

    @cached_property
    def program(self) -> Callable[[str], Program]:
        """The program of a matrix, by its name; each is made once."""
        return cache(self._program)

    def _program(self, name: str) -> Program:
        if name in ("A", "H", "reduced_mass", "reduced_force", "coordinate_rates"):
            return self.formulation.program(name, {name: self._reduced(name)})
        e = self.energies
        inputs: Mapping[str, tuple[ca.SX, Sequence[str]]] = {
            "t": (e.t, ["t"]),
            "q": (e.q, e.names),
            "v": (e.v, self.rate_names),
            "u": (e.u, [u.name for u in self.system.inputs]),
            "p": (e.p, [p.name for p in self.system.parameters]),
        }
        return Program.build(f"{self.system.name}_{name}", inputs, {name: self._by_energies(name)})

    def _by_energies(self, name: str) -> ca.SX:
        e = self.energies
        if name in ("D", "b"):
            return e.rows["Db".index(name)]
        made: dict[str, Callable[[], ca.SX]] = {
            "kinetic": lambda: e.kinetic,
            "potential": lambda: e.potential,
            "position_residuals": lambda: ca.vertcat(ca.SX(0, 1), *[residual for _, residual in e.constraints[0]]),
            "velocity_residuals": lambda: ca.vertcat(ca.SX(0, 1), *[residual for _, residual in e.constraints[1]]),
            "M": lambda: e.mass,
            "C": lambda: e.coriolis,
            "g": lambda: e.gravity,
            "Q": lambda: e.driven,
        }
        return made[name]()

    def _reduced(self, name: str) -> ca.SX:
        f = self.formulation
        independent, n = list(f.independent), len(f.independent)
        if name == "A":
            return f.mechanism.matrix
        if name == "coordinate_rates":
            return f.in_terms_of_state([f.mechanism.measures.q_rate])[0]
        if name == "H":
            kernel = f.reduction.kernel
            rows = [[kernel[v].get(i, ca.SX(0)) for i in independent] for v in f.mechanism.scope.velocities]
            return ca.vertcat(*[ca.horzcat(*row) for row in rows])
        if name == "reduced_force":
            return ca.vertcat(*f.dynamics.force)
        lower = f.dynamics.mass_matrix
        return ca.vertcat(*[ca.horzcat(*[lower[max(i, j)][min(i, j)] for j in range(n)]) for i in range(n)])


def written_out(program: Program) -> int:
    """Operations of the expanded expressions, counted on the tape without expanding anything."""
    lengths: dict[int, int] = {}
    total = 0
    for line in program.tape:
        if line.operation == op.OUTPUT:
            total += lengths[line.inputs[0]]
        elif line.operation in (op.INPUT, op.CONST):
            lengths[line.outputs[0]] = 0
        else:
            length = 1 + sum(lengths[i] for i in line.inputs)
            lengths |= {o: length for o in line.outputs}
    return total
