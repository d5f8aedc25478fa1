"""Trajectories from runs: all reported channels at every sample, warnings about contact forces, values that are not finite and
residuals beyond their limit, and values between the samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError
from draisine.program.equations import Equations, Kind
from draisine.results.assembly import Block, Piece, assemble, block, energy_block, power_block, residual_block
from draisine.results.channel import Channel, Group
from draisine.results.status import Ending, Status, time_text
from draisine.results.trajectory import TOTAL, WORK, Occurrence, Statistics, Trajectory
from draisine.simulation.contact_needs import contact_needs
from draisine.simulation.contact_warnings import contact_warnings_of
from draisine.simulation.report_values import report_values
from draisine.simulation.result import Clock, Run, Segment


@lru_cache(maxsize=64)
def _event_values(equations: Equations) -> Kernel | None:
    """The compiled values of events."""
    return None if equations.events is None else compile(equations.events, quick=True)


def report_segment(segment: Segment, p: np.ndarray) -> Piece:
    """All channels that the report of the equations gives along a segment of a run."""
    return _piece(segment, report_values(segment, p))


def _piece(segment: Segment, values: Mapping[str, np.ndarray]) -> Piece:
    equations = segment.equations
    blocks = blocks_of(equations, segment.states[:, : len(equations.coordinates)], values)
    return Piece(segment.times, blocks, independent=equations.independent)


def blocks_of(equations: Equations, coordinates: np.ndarray, values: Mapping[str, np.ndarray]) -> tuple[Block, ...]:
    """Coordinates and the values of the report, samples in rows, as blocks of named columns."""
    count = len(coordinates)
    found = (coordinates, *(values[name] for name in ("v", "inputs", "outputs", "multipliers", "residuals")))
    *channels, powers = _channels(equations)
    blocks = [Block(own, columns.reshape(count, -1)) for own, columns in zip(channels, found, strict=True)]
    if "energy" in values:  # first-order systems have none
        kinetic, potential, *work = values["energy"].reshape(count, -1).T
        blocks.append(energy_block(kinetic, potential, work[0] if work else None))
        blocks.append(Block(powers, values["power"].reshape(count, -1)))
    return tuple(blocks)


@lru_cache(maxsize=64)
def _channels(e: Equations) -> tuple[tuple[Channel, ...], ...]:
    """Coordinates, velocities, inputs, outputs, multipliers, residuals and powers: the same in every run."""
    groups = (Group.COORDINATES, Group.VELOCITIES, Group.INPUTS, Group.OUTPUTS, Group.MULTIPLIERS)
    quantities = (e.coordinates, e.velocities, e.inputs, e.outputs, e.multipliers)
    blocks = [block(group, own, np.zeros((0, len(own)))) for group, own in zip(groups, quantities, strict=True)]
    blocks.append(residual_block(e.constraints, np.zeros((0, len(e.constraints)))))
    blocks.append(power_block(e.inputs, np.zeros((0, len(e.inputs)))))
    return tuple(made.channels for made in blocks)


def trajectory_of(run: Run, p: np.ndarray, clock: Clock, equations: Equations, start: str, timed: bool) -> Trajectory:
    """The trajectory of a run: channels with units, status, warnings, events and statistics. `timed`: inputs are laws of time."""
    reported = [report_values(segment, p) for segment in run.segments]
    pieces = [_piece(segment, values) for segment, values in zip(run.segments, reported, strict=True) if len(segment.times)]
    if not pieces:
        last = run.segments[-1]
        single = Segment(
            last.equations,
            np.array([run.final_time]),
            run.final_state[None, :],
            np.zeros((1, len(equations.inputs))),
            last.steps,
            run.final_sliding,
            last.parameters,
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
        warnings=[
            *contact_warnings_of(run, reported, p, timed),
            *_nonfinite_channels(pieces),
            *_outside_ranges(pieces, equations),
            *_nonfinite_events(run.segments, p),
        ],
        statistics=Statistics(run.evaluations, run.accepted, run.rejected),
        seconds=clock.seconds,
        parameters={q.name: float(value) for q, value in zip(equations.parameters, p, strict=False)},  # without modes of contacts
        scene={"start": start, "method": run.method},
    )
    off = _energy_warning(trajectory, run.tolerance)
    status = trajectory.status if off is None else trajectory.status.with_warning(off)
    gained = _gained_in_impacts(run, trajectory.energy_scale or 0.0)
    status = status if gained is None else status.with_warning(gained)
    switches = tuple(Occurrence(str(switch), switch.time) for switch in run.switches)
    modes = replace(run.modes, needs=contact_needs(run, trajectory, equations)) if run.modes.contacts else run.modes
    return replace(trajectory, modes=modes, switches=switches, status=status)


_GAIN = 1e-9  # of the energy in play


def _gained_in_impacts(run: Run, scale: float) -> str | None:
    """A warning about impacts that gain energy, as Newton's law, and several contacts at once, can with friction."""
    gains = [change for change in run.modes.changes if change.lost < -_GAIN * scale]
    if not gains:
        return None
    total = -sum(change.lost for change in gains)
    return (
        f"{len(gains)} impacts gain {total:.3g} J of energy, the first at {time_text(gains[0].time)}: with friction, Newton's "
        "and Poisson's laws can, and so can the law for several contacts at once; take impact='energetic', or restitution 0"
    )


_LARGE_DRIFT = 1e-3  # of the energy in play, with error control
_DRIFT_OF_TOLERANCE = 1e4  # times the relative tolerance: more is not explained by it
_LARGE_DRIFT_OF_STEPS = 0.1  # of the energy in play, with fixed steps
_ROUNDING_OF_ENERGY = 1e-6  # of the largest energy and work: less may be rounding, or absolute tolerances


def _energy_warning(trajectory: Trajectory, tolerance: float | None) -> str | None:
    """A warning about an error of the energy balance that the tolerance of a complete run does not explain."""
    balance, scale = trajectory.energy_balance, trajectory.energy_scale
    if balance is None or scale is None or not trajectory.status.complete or not np.isfinite(balance).all():
        return None
    work = float(np.max(np.abs(trajectory[WORK])))
    most = _LARGE_DRIFT_OF_STEPS if tolerance is None else max(_LARGE_DRIFT, _DRIFT_OF_TOLERANCE * tolerance)
    limit = max(most * (scale + work), _ROUNDING_OF_ENERGY * (1.0 + float(np.max(np.abs(trajectory[TOTAL])))))
    first = int(np.argmax(np.abs(balance) > limit))
    if not abs(balance[first]) > limit:
        return None
    cure = "make shorter steps" if tolerance is None else "tighten the tolerance"
    return (
        f"the energy balance is off by {np.max(np.abs(balance)):.3g} J, {np.max(np.abs(balance)) / scale:.2g} of the energy in "
        f"play, beyond its limit from {time_text(float(trajectory.time[first]))}: the motion is inexact, or work is not counted; "
        f"{cure}, and look for energies that jump and for work=False"
    )


def _without_uncounted_work(pieces: list[Piece]) -> list[Piece]:
    """Pieces of a run whose equations do not count work: without the zero reported for it where inputs do any."""
    power = [g.values[:, i] for p in pieces for g in p.blocks for i, c in enumerate(g.channels) if c.group is Group.POWER]
    if not any(values.any() for values in power):
        return pieces

    def kept(group: Block) -> Block:
        columns = [i for i, channel in enumerate(group.channels) if (channel.group, channel.name) != (Group.ENERGY, WORK)]
        return Block(tuple(group.channels[i] for i in columns), group.values[:, columns])

    return [piece._replace(blocks=tuple(map(kept, piece.blocks))) for piece in pieces]


MOST_NAMED = 5  # channels that a warning names


def _nonfinite_channels(pieces: Sequence[Piece]) -> list[str]:
    """A warning that names the channels with values that are not finite.

    Curvature, a rate of turn by speed, is not defined where the speed is zero: there it has no value, which is no fault.
    """
    if all(np.isfinite(part.values).all() for piece in pieces for part in piece.blocks):
        return []
    found = []
    at_rest = {name: values == 0.0 for name, _, values in _columns(pieces, (Group.OUTPUTS,)) if name == "speed"}
    for name, times, values in _columns(pieces, tuple(Group)):
        bad = ~np.isfinite(values)
        if name == "curvature" and "speed" in at_rest and len(values) == len(at_rest["speed"]):
            bad &= ~at_rest["speed"]
        if bad.any():
            found.append(f"{name} (at {bad.sum()} of {len(values)} samples, first at {time_text(float(times[np.argmax(bad)]))})")
    if not found:
        return []
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return [f"not finite: {', '.join(found[:MOST_NAMED])}{more}; look for a division by zero or the root of a negative number"]


def _outside_ranges(pieces: Sequence[Piece], equations: Equations) -> list[str]:
    """Warnings about outputs that leave the range for which the data of the model hold."""
    if not equations.valid_ranges:
        return []
    columns = {name: (times, values) for name, times, values in _columns(pieces, (Group.OUTPUTS,))}
    found = []
    for valid in equations.valid_ranges:
        times, values = columns.get(valid.output, (np.zeros(0), np.zeros(0)))
        outside = (values < valid.low) | (values > valid.high)
        if outside.any():
            worst = values[np.argmax(np.maximum(valid.low - values, values - valid.high))]
            found.append(
                f"{valid.output} leaves {valid.reason}, {valid.low:.4g} to {valid.high:.4g}, first at "
                f"{time_text(float(times[np.argmax(outside)]))}; it reaches {worst:.4g}"
            )
    return found


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


GEOMETRIC = (Kind.HOLONOMIC, Kind.NONHOLONOMIC, Kind.NORM)
UNCONTROLLED = math.inf  # `RunLimits.residual` of a run without drift control


class Violation(NamedTuple):
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
        for part in piece.blocks:
            for channel, values in zip(part.channels, part.values.T, strict=True):
                if channel.group is not Group.RESIDUALS or channel.kind not in GEOMETRIC or channel.level == "acceleration":
                    continue
                sizes = np.fmax(np.abs(values), 0.0)  # 0 for NaN
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
    return worst_row._replace(since=min(one.since for one in found), at_end=any(one.at_end for one in found))


Reals = NDArray[np.float64]


class DenseOutput(NamedTuple):
    """Channels of a run at other times than its samples; `repeat` integrates again, or `refused` says why it cannot."""

    name: str
    repeat: Callable[[Reals], Run]
    parameters: Reals
    refused: str = ""

    def __call__(self, times: Reals) -> Trajectory:
        """The run at these times, which are in its range, in its order and different."""
        if self.refused:
            raise ArgumentError(f"the run of {self.name!r} has no values between its samples: {self.refused}")
        run = self.repeat(times)
        return assemble(self.name, [report_segment(s, self.parameters) for s in run.segments if len(s.times)], status=run.status)

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Not pickled: kernels and control functions belong to this process."""
        return _none, ()


def _none() -> None:
    """In place of the dense output of a run that was pickled."""
