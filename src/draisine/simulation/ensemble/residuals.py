"""Residuals of constraints at the samples of many runs, compared with the limit of single runs (`trajectory_from_run`)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.program.program import Program
from draisine.simulation.trajectory_from_run import GEOMETRIC, UNCONTROLLED

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

OFF = "constraints are off by more than the limit, and samples are inexact"  # a warning in short


def checked_rows(equations: Equations) -> list[int]:
    """Constraints that are compared with the limit, by their indices."""
    pairs = enumerate(equations.constraints)
    return [i for i, c in pairs if c.kind in GEOMETRIC and c.level != "acceleration"]


@lru_cache(maxsize=32)
def residual_kernel(equations: Equations) -> Kernel | None:
    """Residuals of these constraints as a program of (t, x, u, p), for many states; None without any."""
    rows, report = checked_rows(equations), equations.report
    if not rows:
        return None
    program = report if isinstance(report, Program) else report.after
    symbols = program.symbols()
    slot = [output.name for output in program.outputs].index("residuals")
    found = program.function.call(symbols)[slot][rows]
    if program is not report:  # residuals do not depend on accelerations and multipliers
        import casadi as ca

        found = ca.substitute(found, symbols[-1], ca.SX.zeros(*symbols[-1].shape))
        symbols = symbols[:-1]
    arguments = {s.name: (symbol, s.labels) for s, symbol in zip(equations.report.inputs, symbols, strict=True)}
    return compile(Program.build(f"{equations.name}_residuals", arguments, {"residuals": found}))


def broken_samples(residuals: Reals, limit: float, equations: Equations, to_end: Bools) -> tuple[Bools, Bools]:
    """Of many runs (runs × times × rows, NaN where not reached, the last time at the end) those that end as CONSTRAINTS_BROKEN,
    and those to be warned of, as `with_violation` does for one."""
    sizes = np.nan_to_num(np.abs(residuals), nan=0.0)
    beyond = sizes > limit + 2.0 * sizes[:, :1]
    anywhere, at_end = np.asarray(beyond.any(axis=(1, 2))), np.asarray(beyond[:, -1].any(axis=1))
    if equations.limits.residual == UNCONTROLLED:
        return np.zeros_like(anywhere), anywhere
    broken = anywhere & to_end & (at_end | (equations.project is None))
    return np.asarray(broken), np.asarray(anywhere & ~broken)
