"""The power balance of equations, in the energies that they tell themselves: d/dt (T + V) against what inputs, dampers and moving
constraints give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.program.interpreter import complex_step_derivatives
from draisine.program.linear_solve import LinearSolveProgram

Reals = NDArray[np.float64]

_NOTHING = 1e-10  # relative size below which a derivative counts as zero


@dataclass(frozen=True)
class Balance:
    """By how much the balance is off, relative to what flows; or why it cannot be judged."""

    relative: float
    reason: str = ""


def power_gap(e: Equations, t: float, x: Reals, u: Reals, p: Reals) -> Balance:
    """The balance at an admissible state."""
    outputs = [slot.name for slot in e.report.outputs]
    if "energy" not in outputs:
        return Balance(0.0, "the equations tell no energies")
    arguments: list[Any] = [[t], x, u, p]
    reported = dict(zip(outputs, e.report(*arguments), strict=True))
    (xdot,) = e.explicit(*arguments)
    if not _quadratic(e, arguments, reported["energy"][0]):
        return Balance(0.0, "the kinetic energy is not a quadratic form of the velocities, so that T + V need not be kept")
    # energies do not depend on what is solved for: a solution is an argument like the others
    program = e.report.after if isinstance(e.report, LinearSolveProgram) else e.report
    if isinstance(e.report, LinearSolveProgram):
        arguments.append(e.report.solution(*arguments))
    along = complex_step_derivatives(program, arguments, {"x": np.eye(len(x))})["energy"][:2]  # ∂(T, V)/∂x
    by_time = complex_step_derivatives(program, arguments, {"t": [[1.0]]})["energy"][:2, 0]
    flows = along * xdot
    size = float(np.abs(flows).sum())
    # a potential that is moved does work, which only mechanisms derived here count
    reported_by_time = by_time if isinstance(e.report, LinearSolveProgram) else by_time[:1]
    if np.abs(reported_by_time).max() > _NOTHING * max(size, 1e-300):
        return Balance(0.0, "the energies depend on time explicitly, so that T + V need not be kept")
    tracked = "work" in {s.name for s in e.extra_states}
    work = [s.name for s in e.states].index("work") if tracked else -1
    given = float(xdot[work]) if tracked else float(reported["power"].sum())
    gap = float(flows.sum() + by_time.sum() - given)
    relative = abs(gap) / max(size, 1e-3 * abs(float(reported["energy"][0])), 1e-300)
    if not tracked and relative > 1e-6:
        return Balance(relative, "forces do work that is neither potential energy nor an input's; pass work=True to have it told")
    return Balance(relative)


def _quadratic(e: Equations, arguments: list[Any], kinetic: float) -> bool:
    """Whether twice the velocities have four times the energy, and none has none."""
    first, last = len(e.coordinates), len(e.coordinates) + len(e.independent)
    energy = [slot.name for slot in e.report.outputs].index("energy")

    def times(factor: float) -> float:
        x = np.array(arguments[1], dtype=float)
        x[first:last] *= factor
        return float(e.report(arguments[0], x, *arguments[2:])[energy][0])

    size = max(abs(kinetic), 1e-300)
    return abs(times(2.0) - 4.0 * kinetic) < 1e-8 * size and abs(times(0.0)) < 1e-8 * size
