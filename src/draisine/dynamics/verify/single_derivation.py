"""What can be certified of equations to which there is but one road: a typed Lagrangian, a first-order system, a residual.

Nothing here can see whether the equations are those of the mechanism that somebody had in mind. What can be seen is whether they
are whole: exact derivatives are derivatives, the mass matrix is symmetric, reactions act along their constraints, accelerations
keep the constraints, and energy goes where it is said to go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.verify.agreement import AGREEMENT, DIFFERENCES, Avoided, Certificate, Line, apart, worst_line
from draisine.dynamics.verify.sample_states import Instant, Motion, random_instants, reported_at, solved_matrix
from draisine.dynamics.verify.single_derivation import Jacobian, power_gap
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram

Reals = NDArray[np.float64]

DERIVATION = (
    "whether these are the equations of the mechanism: there is a single derivation. Describe it a second time and compare: "
    + ("certify(model, against=equations)")
)


def certify_single_derivation(e: Equations, states: int = 12, seed: int = 1817) -> Certificate:
    """Certify what can be certified of typed equations at random admissible states."""
    instants, avoided = random_instants(e, states, seed)
    return _Alone(e, instants).certificate(tuple(avoided))


@dataclass(frozen=True, eq=False)
class _Alone:
    e: Equations
    instants: list[Instant]

    @cached_property
    def _motion(self) -> Motion:
        return Motion(self.e)

    def certificate(self, avoided: tuple[Avoided, ...]) -> Certificate:
        lines, undecided = self._jacobians(), [DERIVATION]
        if not isinstance(self.e.dynamics, DaeResidual) and self.e.velocities:
            lines += self._matrices()
            if self.e.constraints:
                lines.append(self._line("constraints' derivatives", self._constraint_rates))
            balances = [power_gap(self.e, i.t, i.x, i.u, self.e.default_parameters) for i in self.instants]
            reason = next((b.reason for b in balances if b.reason), "")
            if reason:
                undecided.append(f"the power balance: {reason}")
            else:
                amounts = dict(zip(map(id, self.instants), (b.relative for b in balances), strict=True))
                lines.append(self._line("power balance", lambda i: amounts[id(i)]))
        failing = [line.what for line in lines if not line.holds]
        verdict = (
            f"the equations contradict themselves: {', '.join(failing)}" if failing else "all checks of a single derivation hold"
        )
        return Certificate(self.e.name, ("as typed",), len(self.instants), tuple(lines), verdict, avoided, tuple(undecided))

    def _line(self, what: str, found: Callable[[Instant], float], allowed: float = AGREEMENT) -> Line:
        places = [dict(zip((s.name for s in self.e.states), i.x.tolist(), strict=True)) for i in self.instants]
        return worst_line(what, [found(i) for i in self.instants], [i.condition for i in self.instants], places, allowed)

    def _jacobians(self) -> list[Line]:
        jacobian = Jacobian(self.e.dynamics)
        implicit = isinstance(self.e.dynamics, DaeResidual)
        rng = np.random.default_rng(1689)
        rates = {id(i): rng.normal(size=len(i.x)) for i in self.instants}

        def arguments(i: Instant) -> Sequence[Any]:
            between = [rates[id(i)]] if implicit else []  # a residual has a value for any rates
            return [[i.t], i.x, *between, i.u, self.e.default_parameters]

        return [
            self._line("Jacobian against complex step", lambda i: jacobian.against_complex_step(arguments(i))),
            self._line("Jacobian against differences", lambda i: jacobian.against_differences(arguments(i)), DIFFERENCES),
        ]

    def _matrices(self) -> list[Line]:
        """Of [M −Aᵀ; A 0]: M symmetric, and what stands above A its negative transpose."""
        n, m = len(self.e.velocities), len(self.e.multipliers)
        if not isinstance(self.e.dynamics, LinearSolveProgram) or self.e.dynamics.size != n + m:
            return []
        matrices = {id(i): solved_matrix(self.e, i) for i in self.instants}

        def mass(i: Instant) -> float:
            whole = matrices[id(i)]
            assert whole is not None
            return apart(whole[:n, :n], whole[:n, :n].T)

        def reactions(i: Instant) -> float:
            whole = matrices[id(i)]
            assert whole is not None
            return apart(whole[:n, n:], -whole[n:, :n].T)

        lines = [self._line("mass matrix is symmetric", mass)]
        return [*lines, self._line("reactions act along constraints", reactions)] if m else lines

    def _constraint_rates(self, i: Instant) -> float:
        """d/dt of all residuals along the motion, each relative to the largest of its terms."""
        reported = self._motion(i.t, i.q, i.v, i.u)
        (xdot,) = self.e.explicit([i.t], i.x, i.u, self.e.default_parameters)
        rates = {"by_t": np.ones(1), "by_q": xdot[: len(i.q)], "by_v": reported_at(self.e, i)["vdot"]}
        count = len(self.e.constraints)
        terms = np.hstack([reported[name][:count] * rate for name, rate in rates.items()])
        size = np.abs(terms).sum(axis=1)
        least = 1e-3 * max(float(size.max(initial=0.0)), 1e-300)
        return float((np.abs(terms.sum(axis=1)) / np.maximum(size, least)).max(initial=0.0))
