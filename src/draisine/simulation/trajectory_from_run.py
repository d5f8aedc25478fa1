"""Trajectories from runs: all reported channels at every sample, and warnings about contact forces and non-finite values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.program.equations import Equations
from draisine.results.assembly import Block, Piece, assemble, block, energy_block, power_block, residual_block
from draisine.results.channel import Group
from draisine.results.trajectory import WORK, Occurrence, Statistics, Trajectory
from draisine.simulation.residual_check import with_violation
from draisine.simulation.result import Clock, Run, Segment, time_text

_MANY_SAMPLES = 50_000  # for which the report is compiled with optimization


@lru_cache(maxsize=64)
def reporter(equations: Equations, quick: bool = True) -> Kernel:
    """The compiled report of equations."""
    return compile(equations.report, quick=quick)


@lru_cache(maxsize=64)
def _event_values(equations: Equations) -> Kernel | None:
    """The compiled values of events."""
    return None if equations.events is None else compile(equations.events, quick=True)


def report_segment(segment: Segment, p: np.ndarray) -> Piece:
    """All channels that the report of the equations gives along a segment of a run."""
    equations = segment.equations
    kernel = reporter(equations, quick=len(segment.times) < _MANY_SAMPLES)
    names = [slot.name for slot in equations.report.outputs]
    reported = dict(zip(names, kernel.map(segment.times[:, None], segment.states, segment.inputs, p), strict=True))
    blocks = blocks_of(equations, segment.states[:, : len(equations.coordinates)], reported)
    return Piece(segment.times, blocks, independent=equations.independent)


def blocks_of(equations: Equations, coordinates: np.ndarray, reported: Mapping[str, np.ndarray]) -> tuple[Block, ...]:
    """Coordinates and the values of the report, samples in rows, as blocks of named columns."""
    count = len(coordinates)
    blocks = [
        block(Group.COORDINATES, equations.coordinates, coordinates),
        block(Group.VELOCITIES, equations.velocities, reported["v"].reshape(count, -1)),
        block(Group.INPUTS, equations.inputs, reported["inputs"].reshape(count, -1)),
        block(Group.OUTPUTS, equations.outputs, reported["outputs"].reshape(count, -1)),
        block(Group.MULTIPLIERS, equations.multipliers, reported["multipliers"].reshape(count, -1)),
        residual_block(equations.constraints, reported["residuals"].reshape(count, -1)),
    ]
    if "energy" in reported:  # first-order systems have none
        kinetic, potential, *work = reported["energy"].reshape(count, -1).T
        blocks.append(energy_block(kinetic, potential, work[0] if work else None))
        blocks.append(power_block(equations.inputs, reported["power"].reshape(count, -1)))
    return tuple(blocks)


def trajectory_of(run: Run, p: np.ndarray, clock: Clock, equations: Equations, start: str) -> Trajectory:
    """The trajectory of a run: channels with units, status, warnings, events and statistics."""
    pieces = [report_segment(segment, p) for segment in run.segments if len(segment.times)]
    if not pieces:
        last = run.segments[-1]
        single = Segment(
            last.equations, np.array([run.final_time]), run.final_state[None, :], np.zeros((1, len(equations.inputs))), last.steps
        )
        pieces = [report_segment(single, p)]
    if "work" not in {s.name for s in equations.extra_states}:
        pieces = _without_uncounted_work(pieces)
    status = run.status
    for warning in equations.warnings:
        status = status.with_warning(warning)
    status = with_violation(status, pieces, run, equations)
    clock.lap("report")
    trajectory = assemble(
        equations.name,
        pieces,
        status=status,
        events=[(e.name, e.time) for e in run.events],
        warnings=[*_contact_warnings(pieces), *_nonfinite_channels(pieces), *_nonfinite_events(run.segments, p)],
        statistics=Statistics(run.evaluations, run.accepted, run.rejected),
        seconds=clock.seconds,
        parameters=dict(zip((q.name for q in equations.parameters), p.tolist(), strict=True)),
        scene={"start": start, "method": run.method},
    )
    return replace(trajectory, switches=tuple(Occurrence(str(switch), switch.time) for switch in run.switches))


def _without_uncounted_work(pieces: list[Piece]) -> list[Piece]:
    """Pieces of a run whose equations do not count work: without the zero reported for it where inputs do any."""
    if not any(values.any() for _, _, values in _columns(pieces, (Group.POWER,))):
        return pieces

    def kept(group: Block) -> Block:
        columns = [i for i, channel in enumerate(group.channels) if (channel.group, channel.name) != (Group.ENERGY, WORK)]
        return Block(tuple(group.channels[i] for i in columns), group.values[:, columns])

    return [piece._replace(blocks=tuple(map(kept, piece.blocks))) for piece in pieces]


def _contact_warnings(pieces: Sequence[Piece]) -> list[str]:
    """Warnings about friction coefficients above 1 needed for rolling, and about negative normal forces."""
    warnings = []
    for name, times, values in _columns(pieces, (Group.OUTPUTS,)):
        if name.endswith("_friction_needed") and values.size and np.nanmax(values) > 1.0:
            worst = int(np.nanargmax(values))
            wheel = name.removesuffix("_friction_needed")
            warnings.append(f"{wheel} needs a friction coefficient of {values[worst]:.2f} to roll at t = {times[worst]:.3f} s")
        if name.endswith("_normal_force") and values.size and np.nanmin(values) < 0.0:
            first = int(np.argmax(values < 0.0))
            wheel = name.removesuffix("_normal_force")
            warnings.append(f"the normal force on {wheel} is negative from t = {times[first]:.3f} s: it would lift off")
    return warnings


MOST_NAMED = 5  # channels that a warning names


def _nonfinite_channels(pieces: Sequence[Piece]) -> list[str]:
    """A warning that names the channels with values that are not finite."""
    found = []
    for name, times, values in _columns(pieces, tuple(Group)):
        bad = ~np.isfinite(values)
        if bad.any():
            found.append(f"{name} (at {bad.sum()} of {len(values)} samples, first at {time_text(float(times[np.argmax(bad)]))})")
    if not found:
        return []
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return [f"not finite: {', '.join(found[:MOST_NAMED])}{more}; look for a division by zero or the root of a negative number"]


def _nonfinite_events(segments: Sequence[Segment], p: np.ndarray) -> list[str]:
    """Warnings about events without a value: they cannot occur while their expression is not a number."""
    first: dict[str, float] = {}
    for segment in segments:
        kernel = _event_values(segment.equations)
        if kernel is None or not len(segment.times):
            continue
        (values,) = kernel.map(segment.times[:, None], segment.states, segment.inputs, p)
        bad = np.isnan(values.reshape(len(segment.times), -1))
        for event, rows in zip(segment.equations.event_list, bad.T, strict=True):
            if rows.any():
                first.setdefault(event.name, float(segment.times[np.argmax(rows)]))
    return [
        f"event {name!r} has no value at {time_text(t)}: its expression is not a number there, and the event cannot be found"
        for name, t in first.items()
    ]


def _columns(pieces: Sequence[Piece], groups: tuple[Group, ...]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for piece in pieces:
        for group in piece.blocks:
            for i, channel in enumerate(group.channels):
                if channel.group in groups:
                    found.setdefault(channel.name, []).append((piece.time, group.values[:, i]))
    return [(name, np.concatenate([t for t, _ in parts]), np.concatenate([v for _, v in parts])) for name, parts in found.items()]
