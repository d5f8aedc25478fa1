"""Residuals of constraints at the samples of a run, compared with the residual that ends a run at its steps.

The stepping loop monitors what it projects, at step ends. Rows that no projection reduces, runs without one (Baumgarte, GGL)
and states between steps are compared here; redundant rows are among them. Algebraic equations and hidden constraints of systems
0 = F are not: their residuals have no common scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from draisine.program.equations import Equations, Kind
from draisine.results.assembly import Piece
from draisine.results.channel import Group
from draisine.results.status import Ending, Status
from draisine.simulation.result import Run, time_text

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
