"""Programs of the adjoint method: rates with the integrand of the cost, and their adjoint, compiled to kernels.

Forward: (t, x, u, p) → (f, c), c being the integrand. Backward, for weights κ of these rates: derivatives of
κᵀ(f, c) by x, u, p and t by reverse differentiation, whose cost does not depend on their number.

Where accelerations and multipliers z are solved for, K z = r, the forward kernel returns z, and the backward kernel solves one
transposed system,

    Kᵀ w = (∂(f, c)/∂z)ᵀ κ,        κᵀ d(f, c) = κᵀ ∂(f, c) + wᵀ ∂(r − K z)        (∂: z fixed).

With f = (q̇, q̈) and the matrix of (13), w = (p₂, μ): this is the linear system of Delebecque & Nikoukhah's (20), and the term
wᵀ ∂(r − K z) their right side of (19) and integrand p₂ᵀF_u of (21).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ModelError
from draisine.optimal.symbolic_model import SymbolicModel
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.switching import jumps_of, switches_of


@dataclass(frozen=True, eq=False)
class Motion:
    """Explicit equations with an integrand, and the parameters to differentiate by."""

    symbols: SymbolicModel
    integrand: ca.SX | None
    varied: tuple[str, ...]

    def __post_init__(self) -> None:
        e = self.symbols.equations
        if isinstance(e.dynamics, DaeResidual):
            raise ModelError(
                f"{e.name}: the adjoint method needs explicit equations, and these are implicit, 0 = F(t, x, ẋ); use "
                "Collocation, or reduce_index"
            )

    @cached_property
    def switches(self) -> bool:
        """Whether rates or cost jump, so that costates do."""
        return bool(jumps_of(self.symbols.equations) or self._jumps_of_cost)

    @property
    def _jumps_of_cost(self) -> list[str]:
        if self.integrand is None:
            return []
        cost = Program.build("cost", {**self._slots, "z": self.symbols.z}, {"cost": self.integrand})
        return [switch.name for switch in switches_of(cost) if switch.jump]

    @cached_property
    def rates(self) -> ca.SX:
        """(f, c)."""
        return ca.vertcat(self.symbols.rates, ca.SX(0) if self.integrand is None else self.integrand)

    @property
    def _slots(self) -> dict[str, ca.SX]:
        t, x, u, p = self.symbols.plant.arguments
        return {"t": t, "x": x, "u": u, "p": p}

    @cached_property
    def varied_indices(self) -> list[int]:
        place = {q.name: i for i, q in enumerate(self.symbols.equations.parameters)}
        return [place[name] for name in self.varied]

    @cached_property
    def _by(self) -> list[ca.SX]:
        """x, u, the varied parameters and t."""
        t, x, u, p = self.symbols.plant.arguments
        return [x, u, ca.vertcat(*[p[i] for i in self.varied_indices]) if self.varied else ca.SX(0, 1), t]

    @property
    def forward(self) -> Program | LinearSolveProgram:
        """(t, x, u, p) → rates, and z."""
        v, dynamics = self.symbols, self.symbols.equations.dynamics
        name = f"{v.equations.name}_with_cost"
        outs = {"rates": self.rates, "reported": v.z}
        if isinstance(dynamics, Program):
            return Program.build(name, self._slots, outs)
        assert isinstance(dynamics, LinearSolveProgram)
        after = Program.build(name, {**self._slots, "z": v.z}, outs)
        return LinearSolveProgram(
            name, dynamics.system, after, dynamics.pattern, dynamics.solver, start=dynamics.start, tolerance=dynamics.tolerance
        )

    @property
    def backward(self) -> Program | LinearSolveProgram:
        """(t, x, u, p, reported, κ) → derivatives of κᵀ rates by x, u, varied parameters, t."""
        v, dynamics = self.symbols, self.symbols.equations.dynamics
        name, load = f"{v.equations.name}_adjoint", ca.SX.sym("load", self.rates.numel())
        slots = {**self._slots, "reported": v.z, "load": load}
        if isinstance(dynamics, Program):
            return Program.build(name, slots, self._outs(_vjp(self.rates, self._by, load)))
        assert isinstance(dynamics, LinearSolveProgram)
        matrix, side = dynamics.linear(v.plant.arguments, v.z)
        w = ca.SX.sym("w", dynamics.size)
        direct = _vjp(self.rates, self._by, load)
        through = _vjp(side - matrix @ v.z, self._by, w)
        results = [one + other for one, other in zip(direct, through, strict=True)]
        (pulled,) = _vjp(self.rates, [v.z], load)
        return LinearSolveProgram.build(name, slots, matrix.T, pulled, w, self._outs(results), dynamics.solver)

    def _outs(self, results: list[ca.SX]) -> dict[str, ca.SX]:
        return dict(zip(("by_x", "by_u", "by_p", "by_t"), results, strict=True))

    @cached_property
    def kernels(self) -> tuple[Kernel, Kernel]:
        return compile(self.forward), compile(self.backward)


def _vjp(values: ca.SX, by: list[ca.SX], weights: ca.SX) -> list[ca.SX]:
    """(∂values/∂by)ᵀ weights, by reverse differentiation, split as `by` is."""
    whole = ca.vertcat(*by)
    column = ca.densify(ca.jtimes(values, whole, weights, True))
    ends = [0]
    for part in by:
        ends.append(ends[-1] + part.numel())
    return ca.vertsplit(column, ends)
