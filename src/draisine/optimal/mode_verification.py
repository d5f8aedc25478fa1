"""Verification across modes: the control alone, simulated with contacts that stick, slip, open and land by themselves.

The phases of a maneuver have given modes. This run is given the start and the control only. It must take the same modes in the
same order, and pass through the same states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.verification import ACCURACY, Driven, Simulated, prepared_with_controls
from draisine.program.equations import Equations
from draisine.program.fixed_modes import Mode, mode_values
from draisine.results.assembly import Piece
from draisine.results.contact_modes import ContactHistory, ModeChange
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Trajectory
from draisine.simulation.methods.selection import Auto
from draisine.simulation.run import Run, Segment, integrate
from draisine.simulation.trajectory_from_run import report_segment

if TYPE_CHECKING:
    from draisine.optimal.phase import Phase
    from draisine.optimal.solution import PhaseSolution

Reals = NDArray[np.float64]

SHORT = 1e-5  # of the duration of a phase: a mode that is over earlier is one that ends at another time than planned


class StatedModes(NamedTuple):
    """Equations of all modes, the modes of a phase, and the contacts without friction, which slip or rest."""

    source: Equations
    modes: tuple[tuple[str, Mode], ...]
    frictionless: frozenset[str]

    def differing(self, modes: Mapping[str, str]) -> list[tuple[str, str, str]]:
        """Contacts in other modes: name, mode, stated mode."""
        found = []
        for name, stated in self.modes:
            mode = modes[name]
            same = (mode != "open") == stated.closed if name in self.frictionless else mode == stated.name
            if not same:
                found.append((name, mode, stated.name))
        return found


@dataclass(frozen=True, eq=False)
class AcrossModes:
    """A phase of the run across modes: states at mesh points (NaN where it ended earlier), and the modes that it took."""

    stated: StatedModes
    breaks: Reals  # (intervals + 1, states)
    changes: tuple[ModeChange, ...]  # the first at its begin
    end: float
    status: Status
    segments: tuple[Segment, ...]
    final_parameters: Reals  # with the modes at the end

    @property
    def final(self) -> Reals:
        return self.breaks[-1]

    def between(self, begin: float, end: float) -> list[tuple[float, float, ModeChange]]:
        """Begin, end and modes of the intervals between two times."""
        ends = [change.time for change in self.changes[1:]] + [self.end]
        found = []
        for change, until in zip(self.changes, ends, strict=True):
            low, high = max(change.time, begin), min(until, end)
            if high > low:
                found.append((low, high, change))
        return found


def simulate_across(
    phase: Phase, stated: StatedModes, driven: Driven, x: Reals, p: Reals, modes: Reals | None = None
) -> AcrossModes:
    """Simulate one phase from the state x, in the modes at the end of the phase before, or in its own ones."""
    source = stated.source
    choices = prepared_with_controls(source, phase.controls, driven.degree)
    method = Auto(rtol=ACCURACY, atol=ACCURACY * phase.sizes.smallest_state)
    first = mode_values(source, dict(stated.modes)) if modes is None else modes[len(source.parameters) :]
    now = np.concatenate([p, first])
    breaks = np.full((len(driven.edges), len(x)), np.nan)
    runs, states, breaks[0] = list[Run](), x, x
    for k, (times, given) in enumerate(driven.intervals(phase)):
        run = integrate(
            choices, states, float(times[-1]), start=float(times[0]), parameters=now, inputs=given, method=method, samples=times
        )
        runs.append(run)
        if run.status.kind is not Ending.FINISHED:
            break
        states = breaks[k + 1] = run.final_state
        now = run.segments[-1].parameters if run.segments[-1].parameters is not None else now
    changes = _merged([change for run in runs for change in run.modes.changes])
    segments = tuple(
        segment._replace(equations=source, inputs=driven.inputs_at(phase, k, segment.times))
        for k, run in enumerate(runs)
        for segment in run.segments
        if len(segment.times)
    )
    return AcrossModes(stated, breaks, changes, runs[-1].final_time, runs[-1].status, segments, now)


def _merged(changes: Sequence[ModeChange]) -> tuple[ModeChange, ...]:
    """Changes without those that change nothing: where an interval begins."""
    found: list[ModeChange] = []
    for change in changes:
        if not found or change.impact or change.modes != found[-1].modes:
            found.append(change)
    return tuple(found)


def across_modes(
    stated: Sequence[StatedModes | None], solutions: Sequence[PhaseSolution], runs: Sequence[Simulated]
) -> tuple[Simulated, ...]:
    """Runs of phases in their modes, each with its part of one run across modes; those without contacts as they are."""
    made: list[Simulated] = []
    for modes, solution, run in zip(stated, solutions, runs, strict=True):
        before = made[-1].across if made else None
        if modes is None or (before is not None and before.status.kind is not Ending.FINISHED):
            made.append(run if modes is None else replace(run, across=before))
            continue
        begin = run.samples.times[0] if before is None else before.end
        driven = Driven.of(solution.grid, float(begin), solution.duration, solution.controls)
        x, present = (run.breaks[0], None) if before is None else (before.final, before.final_parameters)
        made.append(replace(run, across=simulate_across(run.phase, modes, driven, x, run.p, present)))
    return tuple(made)


def trajectory_across(pieces: Sequence[AcrossModes], trajectory: Callable[[Sequence[Piece]], Trajectory]) -> Trajectory:
    """The trajectory of the run across modes, with the modes that it took; `trajectory` assembles its pieces."""
    reported = [
        report_segment(segment, segment.parameters)
        for piece in pieces
        for segment in piece.segments
        if segment.parameters is not None
    ]
    changes = _merged([change for piece in pieces for change in piece.changes])
    modes = ContactHistory(tuple(changes[0].modes), changes, pieces[-1].end)
    return replace(trajectory(reported), modes=modes)
