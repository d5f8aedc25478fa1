"""Certificate of equations with a single derivation: a typed Lagrangian, a first-order system, a residual.

Whether the equations are those of the intended mechanism cannot be checked here. What can be checked is whether they are
consistent: exact derivatives agree with complex steps, which share no code with them, and with central differences; the mass
matrix is symmetric; reactions act along their constraints; accelerations keep the constraints; and d/dt (T + V), in the reported
energies, is the power of inputs, dampers and moving constraints. Of a large system a few columns are checked, the same in every
run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.verify.agreement import (
    AGREEMENT,
    DIFFERENCES,
    AvoidedSingularity,
    Certificate,
    Line,
    relative_difference,
    worst_line,
)
from draisine.dynamics.verify.sample_states import Motion, SampleState, random_states, report_at, solved_matrix
from draisine.program.equations import Equations
from draisine.program.interpreter import complex_step_derivatives
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program

Reals = NDArray[np.float64]
Other = Callable[[str, NDArray[np.intp], Sequence[ArrayLike]], Reals]  # argument, columns, point: (tries, rows, columns)

_MOST_COLUMNS = 48  # of complex steps, all at once
_MOST_DIFFERENCES = 16  # of central differences, one by one
# of central differences; near a singularity only the small ones are accurate, where a tire has no slip only the smallest
_STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
_HIDDEN = 1e-5  # derivatives below this part of the values are dominated by rounding errors
_SMALL = 1e-3  # smallest scale of a row, as a fraction of the largest entry


class DerivativeCheck:
    """Check of the derivatives of xdot by x and u, or of an implicit residual by x and xdot."""

    def __init__(self, dynamics: Program | LinearSolveProgram | DaeResidual) -> None:
        self.dynamics = dynamics
        self._program: Program | LinearSolveProgram = dynamics.residual if isinstance(dynamics, DaeResidual) else dynamics
        self._of = "residual" if isinstance(dynamics, DaeResidual) else "xdot"
        arguments_of_interest = ("x", "xdot") if isinstance(dynamics, DaeResidual) else ("x", "u")
        self.by = [slot.name for slot in self._program.inputs if slot.name in arguments_of_interest and slot.size]

    def against_complex_step(self, arguments: Sequence[ArrayLike]) -> float:
        """Largest difference from complex steps."""
        return self._worst(arguments, self._complex, _MOST_COLUMNS)

    def against_differences(self, arguments: Sequence[ArrayLike]) -> float:
        """Largest difference from central differences."""
        return self._worst(arguments, self._differences, _MOST_DIFFERENCES)

    def _worst(self, arguments: Sequence[ArrayLike], other: Other, most: int) -> float:
        found = 0.0
        exact = self.exact(arguments)
        of = [slot.name for slot in self._program.outputs].index(self._of)
        hidden = _HIDDEN * float(np.abs(self._program(*arguments)[of]).max(initial=0.0))
        for name in self.by:
            columns = self._columns(name, most)
            of_columns = exact[name][:, columns]
            found = max(
                found, _difference_by_rows(of_columns, _closest(of_columns, other(name, columns, arguments), hidden), hidden)
            )
        return found

    def exact(self, arguments: Sequence[ArrayLike]) -> dict[str, Reals]:
        """By differentiation of the program: argument → matrix."""
        count = self._program.output(self._of).size
        if isinstance(self.dynamics, DaeResidual):
            rows, columns = self.dynamics.pattern
            found = {}
            for name, values in zip(("x", "xdot"), self.dynamics.jacobian(*arguments), strict=True):
                found[name] = np.zeros((count, self.dynamics.size))
                found[name][rows, columns] = values
            return found
        return {n: program(*arguments)[0].reshape(count, -1) for n, program in self._jacobians.items()}

    @cached_property
    def _jacobians(self) -> dict[str, Program | LinearSolveProgram]:
        return {name: self._program.jacobian(self._of, name, shared=True) for name in self.by}

    def _columns(self, name: str, most: int) -> NDArray[np.intp]:
        size = self._program.input(name).size
        return np.arange(size) if size <= most else np.sort(np.random.default_rng(7).choice(size, most, replace=False))

    def _complex(self, name: str, columns: NDArray[np.intp], arguments: Sequence[ArrayLike]) -> Reals:
        directions = np.eye(self._program.input(name).size)[:, columns]
        return complex_step_derivatives(self._program, arguments, {name: directions})[self._of][None]

    def _differences(self, name: str, columns: NDArray[np.intp], arguments: Sequence[ArrayLike]) -> Reals:
        slots = [slot.name for slot in self._program.inputs]
        of = [slot.name for slot in self._program.outputs].index(self._of)
        place = slots.index(name)
        points = [np.array(a, dtype=float).ravel() for a in arguments]
        tried = np.zeros((len(_STEPS), self._program.outputs[of].size, len(columns)))
        for (k, size), (j, column) in product(enumerate(_STEPS), enumerate(columns)):
            step = size * max(1.0, abs(points[place][column]))
            for far, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):  # fourth order
                moved = [p.copy() for p in points]
                moved[place][column] += far * step
                tried[k, :, j] += weight * self._program(*moved)[of] / (12 * step)
        return tried


def _closest(exact: Reals, tried: Reals, hidden: float) -> Reals:
    """For each column the one of its tries that is closest to the exact one, in all rows together.

    No step is best everywhere: truncation errors grow with it, from tiny lengths on where a tire has no slip, and rounding errors
    decrease. The differences alone do not show which steps are good, two of which may agree by chance. A true
    derivative agrees with those over some step, a wrong one with none."""
    size = np.maximum(np.abs(exact).max(axis=1, initial=0.0), _least(exact, hidden))[:, None]
    far = (np.abs(tried - exact) / size).max(axis=1, initial=0.0)
    best = np.argmin(np.where(np.isfinite(far), far, np.inf), axis=0)
    return np.take_along_axis(tried, best[None, None, :], axis=0)[0]


def _least(exact: Reals, hidden: float) -> float:
    """The least size of a row to which differences are relative."""
    return max(_SMALL * float(np.abs(exact).max(initial=0.0)), hidden, 1e-300)


def _difference_by_rows(exact: Reals, other: Reals, hidden: float) -> float:
    """Each row relative to its own largest entry, with a lower bound from the other rows and rounding errors."""
    least = _least(exact, hidden)
    return max((relative_difference(a, b, least) for a, b in zip(exact, other, strict=True)), default=0.0)


_NOTHING = 1e-10  # relative size below which a derivative counts as zero


@dataclass(frozen=True)
class Balance:
    """Relative error of the power balance, or why it cannot be checked."""

    relative: float
    reason: str = ""


def power_gap(e: Equations, t: float, x: Reals, u: Reals, p: Reals) -> Balance:
    """The balance at an admissible state."""
    outputs = [slot.name for slot in e.report.outputs]
    if "energy" not in outputs:
        return Balance(0.0, "the equations report no energies")
    arguments: list[Any] = [[t], x, u, p]
    reported = dict(zip(outputs, e.report(*arguments), strict=True))
    (xdot,) = e.explicit(*arguments)
    if not _quadratic(e, arguments, reported["energy"][0]):
        return Balance(0.0, "the kinetic energy is not a quadratic form of the velocities, so T + V need not be conserved")
    # energies do not depend on the solution, which is passed as an argument
    program = e.report.after if isinstance(e.report, LinearSolveProgram) else e.report
    if isinstance(e.report, LinearSolveProgram):
        arguments.append(e.report.solution(*arguments))
    along = complex_step_derivatives(program, arguments, {"x": np.eye(len(x))})["energy"][:2]  # ∂(T, V)/∂x
    by_time = complex_step_derivatives(program, arguments, {"t": [[1.0]]})["energy"][:2, 0]
    flows = along * xdot
    size = float(np.abs(flows).sum())
    # a driven potential does work, which is tracked only for mechanisms derived here
    reported_by_time = by_time if isinstance(e.report, LinearSolveProgram) else by_time[:1]
    if np.abs(reported_by_time).max() > _NOTHING * max(size, 1e-300):
        return Balance(0.0, "the energies depend on time explicitly, so T + V need not be conserved")
    tracked = "work" in {s.name for s in e.extra_states}
    work = [s.name for s in e.states].index("work") if tracked else -1
    given = float(xdot[work]) if tracked else float(reported["power"].sum())
    gap = float(flows.sum() + by_time.sum() - given)
    relative = abs(gap) / max(size, 1e-3 * abs(float(reported["energy"][0])), 1e-300)
    if not tracked and relative > 1e-6:
        return Balance(relative, "forces do work that is neither potential energy nor an input's; pass work=True to track it")
    return Balance(relative)


def _quadratic(e: Equations, arguments: list[Any], kinetic: float) -> bool:
    """Whether twice the velocities give four times the energy, and zero velocities none."""
    first, last = len(e.coordinates), len(e.coordinates) + len(e.independent)
    energy = [slot.name for slot in e.report.outputs].index("energy")

    def times(factor: float) -> float:
        x = np.array(arguments[1], dtype=float)
        x[first:last] *= factor
        return float(e.report(arguments[0], x, *arguments[2:])[energy][0])

    size = max(abs(kinetic), 1e-300)
    return abs(times(2.0) - 4.0 * kinetic) < 1e-8 * size and abs(times(0.0)) < 1e-8 * size


DERIVATION = (
    "whether these are the equations of the mechanism: there is a single derivation. Describe it a second time and compare: "
    "certify(model, against=equations)"
)


def certify_single_derivation(e: Equations, states: int = 12, seed: int = 1817) -> Certificate:
    """Check the consistency of typed equations at random admissible states."""
    sampled, avoided = random_states(e, states, seed)
    return _SelfCheck(e, sampled).certificate(tuple(avoided))


@dataclass(frozen=True, eq=False)
class _SelfCheck:
    e: Equations
    states: list[SampleState]

    @cached_property
    def _motion(self) -> Motion:
        return Motion(self.e)

    def certificate(self, avoided: tuple[AvoidedSingularity, ...]) -> Certificate:
        lines, undecided = self._jacobians(), [DERIVATION]
        if not isinstance(self.e.dynamics, DaeResidual) and self.e.velocities:
            lines += self._matrices()
            if self.e.constraints:
                lines.append(self._line("constraints' derivatives", self._constraint_rates))
            balances = [power_gap(self.e, i.t, i.x, i.u, self.e.default_parameters) for i in self.states]
            reason = next((b.reason for b in balances if b.reason), "")
            if reason:
                undecided.append(f"the power balance: {reason}")
            else:
                amounts = dict(zip(map(id, self.states), (b.relative for b in balances), strict=True))
                lines.append(self._line("power balance", lambda i: amounts[id(i)]))
        failing = [line.what for line in lines if not line.holds]
        verdict = f"the equations are inconsistent: {', '.join(failing)}" if failing else "all checks of a single derivation hold"
        return Certificate(self.e.name, ("as typed",), len(self.states), tuple(lines), verdict, avoided, tuple(undecided))

    def _line(self, what: str, found: Callable[[SampleState], float], allowed: float = AGREEMENT) -> Line:
        places = [dict(zip((s.name for s in self.e.states), i.x.tolist(), strict=True)) for i in self.states]
        return worst_line(what, [found(i) for i in self.states], [i.condition for i in self.states], places, allowed)

    def _jacobians(self) -> list[Line]:
        jacobian = DerivativeCheck(self.e.dynamics)
        implicit = isinstance(self.e.dynamics, DaeResidual)
        rng = np.random.default_rng(1689)
        rates = {id(i): rng.normal(size=len(i.x)) for i in self.states}

        def arguments(i: SampleState) -> Sequence[Any]:
            between = [rates[id(i)]] if implicit else []  # a residual is defined for any rates
            return [[i.t], i.x, *between, i.u, self.e.default_parameters]

        return [
            self._line("Jacobian against complex step", lambda i: jacobian.against_complex_step(arguments(i))),
            self._line("Jacobian against differences", lambda i: jacobian.against_differences(arguments(i)), DIFFERENCES),
        ]

    def _matrices(self) -> list[Line]:
        """Symmetry of M, and reactions −Aᵀ, in [M −Aᵀ; A 0]."""
        n, m = len(self.e.velocities), len(self.e.multipliers)
        if not isinstance(self.e.dynamics, LinearSolveProgram) or self.e.dynamics.size != n + m:
            return []
        matrices = {id(i): solved_matrix(self.e, i) for i in self.states}

        def mass(i: SampleState) -> float:
            whole = matrices[id(i)]
            assert whole is not None
            return relative_difference(whole[:n, :n], whole[:n, :n].T)

        def reactions(i: SampleState) -> float:
            whole = matrices[id(i)]
            assert whole is not None
            return relative_difference(whole[:n, n:], -whole[n:, :n].T)

        lines = [self._line("mass matrix is symmetric", mass)]
        return [*lines, self._line("reactions act along constraints", reactions)] if m else lines

    def _constraint_rates(self, i: SampleState) -> float:
        """d/dt of all residuals along the motion, each relative to the largest of its terms."""
        reported = self._motion(i.t, i.q, i.v, i.u)
        (xdot,) = self.e.explicit([i.t], i.x, i.u, self.e.default_parameters)
        rates = {"by_t": np.ones(1), "by_q": xdot[: len(i.q)], "by_v": report_at(self.e, i)["vdot"]}
        count = len(self.e.constraints)
        terms = np.hstack([reported[name][:count] * rate for name, rate in rates.items()])
        size = np.abs(terms).sum(axis=1)
        least = 1e-3 * max(float(size.max(initial=0.0)), 1e-300)
        return float((np.abs(terms.sum(axis=1)) / np.maximum(size, least)).max(initial=0.0))
