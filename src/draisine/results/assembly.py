"""Assembly of a `Trajectory` from the pieces of an integration: blocks of columns with unique names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError
from draisine.results.channel import Channel, Group
from draisine.results.status import Status
from draisine.results.summary import NATIVE_LEVEL
from draisine.results.trajectory import KINETIC, POSE_PARTS, POTENTIAL, TOTAL, WORK, Occurrence, Segment, Statistics, Trajectory

Array = NDArray[np.float64]

# The group that keeps the plain name if several use it; in the others it becomes "group.name".
_PRECEDENCE = (Group.ENERGY, Group.OUTPUTS, *(group for group in Group if group not in (Group.ENERGY, Group.OUTPUTS)))


class Named(Protocol):
    """Anything with a name, a unit and a description: a coordinate, an input, an output."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def description(self) -> str: ...


class NamedConstraint(Protocol):
    """The attributes of a constraint used for its residual column."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def level(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Block:
    """Columns: channels and values (samples, channels)."""

    channels: tuple[Channel, ...]
    values: Array

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.channels):
            names = ", ".join(channel.name for channel in self.channels) or "none"
            raise ArgumentError(f"a block needs one column per channel ({names}), got shape {values.shape}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "channels", tuple(self.channels))


class Piece(NamedTuple):
    """A part of a run with one mode and one choice of independent velocities."""

    time: Array
    blocks: tuple[Block, ...]
    mode: str = "motion"
    independent: tuple[str, ...] = ()


def block(group: Group, quantities: Sequence[Named], values: ArrayLike) -> Block:
    """Columns of coordinates, velocities, inputs, outputs or multipliers."""
    return Block(tuple(Channel(q.name, q.unit, group, q.description) for q in quantities), np.asarray(values))


def power_block(inputs: Sequence[Named], values: ArrayLike) -> Block:
    """Power of each input in watts, as `<input>_power`."""
    channels = (Channel(f"{u.name}_power", "W", Group.POWER, f"power of {u.name}") for u in inputs)
    return Block(tuple(channels), np.asarray(values))


def residual_block(constraints: Sequence[NamedConstraint], values: ArrayLike) -> Block:
    """Residuals as `<constraint>_residual`; `<constraint>_velocity_residual` for the derivative of a position constraint."""

    def channel(constraint: NamedConstraint) -> Channel:
        kind, level = str(constraint.kind), str(constraint.level)
        own = NATIVE_LEVEL.get(kind, level) == level
        name = f"{constraint.name}_residual" if own else f"{constraint.name}_{level}_residual"
        description = f"residual of the {kind} constraint {constraint.name} at {level} level"
        return Channel(name, constraint.unit, Group.RESIDUALS, description, kind, level)

    return Block(tuple(channel(constraint) for constraint in constraints), np.asarray(values))


def energy_block(kinetic: ArrayLike, potential: ArrayLike, work: ArrayLike | None = 0.0) -> Block:
    """Kinetic, potential and total energy, and work done by inputs and dissipative forces since the start; None where it is
    not counted."""
    kinetic, potential = np.broadcast_arrays(np.asarray(kinetic, dtype=float), potential)
    columns = [kinetic, potential, kinetic + potential]
    description = {
        KINETIC: "kinetic energy",
        POTENTIAL: "potential energy",
        TOTAL: "kinetic + potential energy",
        WORK: "work of inputs and dissipative forces since the start",
    }
    if work is not None:
        columns.append(np.broadcast_to(np.asarray(work, dtype=float), kinetic.shape))
    channels = (Channel(name, "J", Group.ENERGY, text) for name, text in list(description.items())[: len(columns)])
    return Block(tuple(channels), np.column_stack(columns))


def pose_block(body: str, poses: ArrayLike) -> Block:
    """Position and quaternion (scalar first, body to world) of a body, n × 7, as `<body>.x` … `<body>.qz`."""
    units = ("m",) * 3 + ("",) * 4
    channels = (Channel(f"{body}.{part}", unit, Group.POSES) for part, unit in zip(POSE_PARTS, units, strict=True))
    return Block(tuple(channels), np.asarray(poses))


def assemble(
    model: str,
    pieces: Sequence[Piece],
    *,
    status: Status,
    events: Iterable[tuple[str, float]] = (),
    warnings: Iterable[str] = (),
    statistics: Statistics | None = None,
    seconds: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    scene: Mapping[str, Any] | None = None,
) -> Trajectory:
    """One `Trajectory` from the pieces of a run, in order.

    A column that some pieces lack (the multiplier of an open contact) is NaN there. A name used by several groups is kept by
    energy, then outputs, then the order of `Group`; the others become `"coordinates.steer"`. Warnings are added to the status.
    """
    pieces = [piece for piece in pieces if np.size(piece.time)]
    if not pieces:
        raise ArgumentError(f"the run of {model!r} has no samples; at least the initial state is needed")
    originals, columns = _ordered_channels(pieces)
    time = np.concatenate([np.asarray(piece.time, dtype=np.float64) for piece in pieces])
    data = np.full((time.size, len(originals)), np.nan)
    segments, start = [], 0
    for piece, places in zip(pieces, columns, strict=True):
        stop = start + np.size(piece.time)
        for part, own in zip(piece.blocks, places, strict=True):
            if len(part.values) != stop - start:
                names = ", ".join(channel.name for channel in part.channels)
                raise ArgumentError(f"{stop - start} samples but {len(part.values)} rows of {names}")
            data[start:stop, own] = part.values
        segments.append(Segment(piece.mode, tuple(piece.independent), start, stop))
        start = stop
    for text in warnings:
        status = status.with_warning(text)
    time.flags.writeable = data.flags.writeable = False
    return Trajectory(
        model=model,
        time=time,
        channels=_with_distinct_names(originals),
        data=data,
        status=status,
        segments=tuple(segments),
        events=tuple(Occurrence(name, at) for name, at in events),
        statistics=statistics or Statistics(),
        seconds=seconds or {},
        parameters=parameters or {},
        scene=scene or {},
    )


def _ordered_channels(pieces: Sequence[Piece]) -> tuple[list[Channel], list[list[list[int]]]]:
    """All channels, sorted by their groups; and for each piece and block the columns of its channels among them."""
    numbers: dict[Channel, int] = {}  # in the order of appearance; channels are many, and hashed once per piece
    found = [[[numbers.setdefault(c, len(numbers)) for c in part.channels] for part in piece.blocks] for piece in pieces]
    channels, rank = list(numbers), {group: i for i, group in enumerate(Group)}
    for piece, own in zip(pieces, found, strict=True):
        _check_unique(piece, own)
    order = sorted(range(len(channels)), key=lambda k: rank[channels[k].group])  # stable: keeps the order within a group
    column = {k: i for i, k in enumerate(order)}
    return [channels[k] for k in order], [[[column[k] for k in own] for own in places] for places in found]


def _check_unique(piece: Piece, numbers: Sequence[Sequence[int]]) -> None:
    seen: set[int] = set()
    for part, own in zip(piece.blocks, numbers, strict=True):
        for channel, number in zip(part.channels, own, strict=True):
            if number in seen:
                raise ArgumentError(f"{channel.name!r} occurs twice in {channel.group}; names must be unique")
            seen.add(number)


def _with_distinct_names(channels: Sequence[Channel]) -> tuple[Channel, ...]:
    owners: dict[str, Group] = {}
    for group in _PRECEDENCE:
        for channel in channels:
            if channel.group is group:
                owners.setdefault(channel.name, group)
    return tuple(c if owners[c.name] is c.group else replace(c, name=f"{c.group}.{c.name}") for c in channels)
