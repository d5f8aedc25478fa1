"""Any dynamics as 0 = F(t, x, ẋ, u, p), compiled, for implicit methods.

ẋ = f becomes ẋ − f. Where accelerations are solved for at run time, K z = r, the solution z joins the unknowns: the Jacobians
then stay sparse and exact, and nothing is solved within a residual. Nobody asks about the errors of those unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.jit.sparse_qr import Plan, analyze
from draisine.program.dae_residual import DaeResidual
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

# From this many unknowns on, matrices are factorized by their pattern if that takes fewer operations.
SPARSE_FROM = 30


def implicit_form(dynamics: Program | LinearSolveProgram | DaeResidual) -> DaeResidual:
    """The dynamics as a residual; its unknowns begin with the states.

    >>> import casadi as ca
    >>> t, x, u, p = (ca.SX.sym(n, k) for n, k in (("t", 1), ("x", 1), ("u", 0), ("p", 0)))
    >>> fall = Program.build("fall", {"t": t, "x": x, "u": u, "p": p}, {"xdot": -x})
    >>> implicit_form(fall)([0.0], [2.0], [1.0], [], [])
    array([3.])
    """
    if isinstance(dynamics, DaeResidual):
        return dynamics
    import casadi as ca

    t, x, u, p = (ca.SX.sym(slot.name, slot.size) for slot in dynamics.inputs)
    labels = dynamics.inputs[1].labels
    if isinstance(dynamics, Program):
        (rates,) = dynamics.function.call([t, x, u, p])[:1]
        rate = ca.SX.sym("xdot", x.numel())
        residual, unknowns = rate - rates, x
    else:
        z = ca.SX.sym("z", dynamics.size, dynamics.sides)
        matrix, side = dynamics.linear([t, x, u, p], z[:, 0])
        if dynamics.further is not None:
            side = ca.horzcat(side, dynamics.further.function.call([t, x, u, p, z[:, 0]])[0])
        rates = dynamics.after.function.call([t, x, u, p, z])[0]
        rate = ca.SX.sym("xdot", x.numel() + z.numel())
        residual = ca.vertcat(rate[: x.numel()] - rates, ca.vec(matrix @ z - side))
        unknowns = ca.vertcat(x, ca.vec(z))
        labels = ()
    arguments: dict[str, Any] = {"t": t, "x": (unknowns, labels), "xdot": rate, "u": u, "p": p}
    return DaeResidual(dynamics.name, Program.build(f"{dynamics.name}_residual", arguments, {"residual": residual}))


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """Residual and Jacobians as kernels, with what the loop must know of them."""

    form: DaeResidual
    residual: Kernel
    jacobian: Kernel
    explicit: bool  # made from ẋ = f, which gives all rates by itself

    @cached_property
    def index(self) -> NDArray[np.int64]:
        return np.array(self.form.index or (1,) * self.form.size, dtype=np.int64)

    @cached_property
    def differential(self) -> NDArray[np.int64]:
        return np.array(self.form.differential, dtype=np.int64)

    @property
    def settles(self) -> bool:
        """Whether rates and algebraic unknowns are to be solved for at a start; not where a higher index is declared."""
        return not self.explicit and max(self.form.index, default=1) <= 1

    @cached_property
    def plan(self) -> Plan | None:
        """How to factorize matrices of this pattern, if they are many and mostly empty."""
        n = self.form.size
        if n < SPARSE_FROM:
            return None
        try:
            plan = analyze(*self.form.pattern, n)
        except ValueError:  # singular by its pattern: the loop meets it, and says so
            return None
        return plan if plan.operations < n**3 // 4 else None


def compile_form(dynamics: Program | LinearSolveProgram | DaeResidual) -> CompiledForm:
    form = implicit_form(dynamics)
    return CompiledForm(form, compile(form.residual), compile(form.jacobian), isinstance(dynamics, Program))
