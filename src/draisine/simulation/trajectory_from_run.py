"""A run as a trajectory: an account of every instant, and warnings of what the ground would have to do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from draisine.program.equations import Equations
from draisine.results.assembly import Piece, assemble
from draisine.results.channel import Group
from draisine.results.trajectory import Statistics, Trajectory
from draisine.simulation.result import Run, Segment
from draisine.simulation.simulate import Clock
from draisine.simulation.trajectory_from_run import report_segment


def trajectory_of(run: Run, p: np.ndarray, clock: Clock, equations: Equations, start: str) -> Trajectory:
    """Channels of all segments with their units, how the run ended, and what it cost."""
    pieces = [report_segment(segment, p) for segment in run.segments if len(segment.times)]
    if not pieces:
        last = run.segments[-1]
        alone = Segment(
            last.equations, np.array([run.final_time]), run.final_state[None, :], np.zeros((1, len(equations.inputs))), last.steps
        )
        pieces = [account(alone, p)]
    status = run.status
    for warning in equations.warnings:
        status = status.with_warning(warning)
    clock.lap("report")
    return assemble(
        equations.name,
        pieces,
        status=status,
        events=[(e.name, e.time) for e in run.events],
        warnings=_contact_warnings(pieces),
        statistics=Statistics(run.evaluations, run.accepted, run.rejected),
        seconds=clock.seconds,
        parameters=dict(zip((q.name for q in equations.parameters), p.tolist(), strict=True)),
        scene={"start": start, "method": run.method},
    )


def _contact_warnings(pieces: Sequence[Piece]) -> list[str]:
    """Rolling that would need more friction than there is, and ground that would have to pull."""
    warnings = []
    for name, times, values in _columns(pieces):
        if name.endswith("_friction_needed") and values.size and np.nanmax(values) > 1.0:
            worst = int(np.nanargmax(values))
            wheel = name.removesuffix("_friction_needed")
            warnings.append(
                f"{wheel} would need a friction coefficient of {values[worst]:.2f} to roll at t = {times[worst]:.3f} s"
            )
        if name.endswith("_normal_force") and values.size and np.nanmin(values) < 0.0:
            first = int(np.argmax(values < 0.0))
            wheel = name.removesuffix("_normal_force")
            warnings.append(f"the ground would have to pull on {wheel} from t = {times[first]:.3f} s: it would lift off")
    return warnings


def _columns(pieces: Sequence[Piece]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for piece in pieces:
        for group in piece.blocks:
            for i, channel in enumerate(group.channels):
                if channel.group == Group.OUTPUTS:
                    found.setdefault(channel.name, []).append((piece.time, group.values[:, i]))
    return [(name, np.concatenate([t for t, _ in parts]), np.concatenate([v for _, v in parts])) for name, parts in found.items()]
