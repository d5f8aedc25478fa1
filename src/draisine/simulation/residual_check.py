"""Residuals of constraints at the samples of a run, compared with the residual that ends a run at its steps.

The stepping loop monitors what it projects, at step ends. Rows that no projection reduces, runs without one (Baumgarte, GGL)
and states between steps are compared here; redundant rows are among them. Algebraic equations and hidden constraints of systems
0 = F are not: their residuals have no common scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations, Kind
from draisine.program.program import Program
from draisine.results.assembly import Piece
from draisine.results.channel import Group
from draisine.results.status import Ending, Status
from draisine.simulation.result import Run, time_text

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

OFF = "constraints are off by more than the limit, and samples are inexact"  # in short, for ensembles
GEOMETRIC = (Kind.HOLONOMIC, Kind.NONHOLONOMIC, Kind.NORM)
UNCONTROLLED = math.inf  # `RunLimits.residual` of a run without drift control


@dataclass(frozen=True)
class Violation:
    """The constraint row that is off most, at position level if any row there is."""

    row: str
    size: float
    unit: str
    time: float  # of the largest residual
    since: float  # when the limit was exceeded first
    at_end: bool  # whether the last state, a step end, exceeds it


def with_violation(status: Status, pieces: Sequence[Piece], run: Run, equations: Equations) -> Status:
    """The status of a run whose sampled residuals exceed its limit: CONSTRAINTS_BROKEN where the states of the steps are wrong,
    a warning where the states between good steps are, or where no drift control was requested."""
    found = violation(pieces, run.residual_limit, run.final_time)
    if found is None or status.kind is Ending.CONSTRAINTS_BROKEN:
        return status
    off = f"{found.row} is off by {found.size:.3g} {found.unit}".rstrip() + f" at {time_text(found.time)}"
    since = f"(beyond {run.residual_limit:.2g} since {time_text(found.since)})"
    if equations.limits.residual == UNCONTROLLED:
        return status.with_warning(f"{off} {since}: the drift is not controlled, and the motion is not that of the model")
    if not found.at_end and equations.project is not None:
        return status.with_warning(
            f"{off} {since}, between steps that fulfil it: samples there are inexact; make shorter steps, or take more accurate "
            "drift control, such as Projection() or Minimal()"
        )
    cure = "tighten the tolerance or the step, or use another drift control, such as Projection() or Minimal()"
    if not status.complete:
        return status.with_warning(f"{off} {since}: {cure}")
    return replace(
        status,
        kind=Ending.CONSTRAINTS_BROKEN,
        message=f"{off} {since}, and nothing brings it back: {cure}; the run went on ({status.message})",
    )


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


def violation(pieces: Sequence[Piece], limit: float, end: float) -> Violation | None:
    """The largest residual beyond the limit and what the start already has; None if there is none."""
    if not math.isfinite(limit):
        return None
    found: list[Violation] = []
    levels: list[str] = []
    first: dict[str, float] = {}
    for piece in pieces:
        for block in piece.blocks:
            for channel, values in zip(block.channels, block.values.T, strict=True):
                if channel.group is not Group.RESIDUALS or channel.kind not in GEOMETRIC or channel.level == "acceleration":
                    continue
                sizes = np.nan_to_num(np.abs(values), nan=0.0)
                allowed = limit + 2.0 * first.setdefault(channel.name, float(sizes[0]))
                beyond = sizes > allowed
                if beyond.any():
                    worst, since = int(np.argmax(sizes)), float(piece.time[np.argmax(beyond)])
                    at_end = bool(beyond[-1]) and float(piece.time[-1]) == end
                    row = channel.name.removesuffix("_residual")
                    what = f"constraint {row}"
                    if channel.level == "velocity" and channel.kind != Kind.NONHOLONOMIC:
                        what = f"rate of {row.removesuffix('_velocity')}"
                    found.append(Violation(what, float(sizes[worst]), channel.unit, float(piece.time[worst]), since, at_end))
                    levels.append(channel.level)
    if not found:
        return None
    positions = [one for one, level in zip(found, levels, strict=True) if level == "position"]
    worst_row = max(positions or found, key=lambda one: one.size)
    return replace(worst_row, since=min(one.since for one in found), at_end=any(one.at_end for one in found))
