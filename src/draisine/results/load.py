"""Reading of trajectory files written by `files.save`. All metadata are checked; reading executes no code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.results.channel import Group
from draisine.results.contact_modes import NO_MODES, ContactHistory
from draisine.results.files import format_of
from draisine.results.metadata import (
    channels_in,
    checked,
    integer_at,
    list_at,
    number_at,
    numbers_at,
    object_at,
    shortened,
    text_at,
)
from draisine.results.sensitivity import Sensitivity
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Occurrence, Segment, Statistics, Trajectory

MAX_NUMBERS = 2**28  # 2 GiB, about an hour of a bicycle at 1 kHz


def load(path: str | os.PathLike[str], *, limit: int = MAX_NUMBERS) -> Trajectory:
    """Read a trajectory from the file `path`, written by `Trajectory.save`.

    At most `limit` numbers are read, so that a forged file cannot exhaust the memory.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"load: expected the name of a file such as 'run.nc', got {path!r}")
    source = Path(path)
    form = format_of(source)
    if not source.is_file():
        raise FileNotFoundError(f"the trajectory file {str(source)!r} does not exist")
    try:
        return _folded(rebuild(*form.read(source, limit)))
    except DataError as problem:
        raise DataError(f"{source}: {problem}") from None


def rebuild(metadata: Any, time: NDArray[np.float64], data: NDArray[np.float64]) -> Trajectory:
    """The trajectory from the metadata of `describe` and its numbers."""
    statistics = object_at(metadata, "statistics")
    try:
        return Trajectory(
            model=text_at(metadata, "model"),
            time=time,
            channels=channels_in(metadata),
            data=data,
            status=_status(object_at(metadata, "status")),
            segments=tuple(_segment(entry) for entry in list_at(metadata, "segments")),
            events=_occurrences(metadata, "events"),
            switches=_occurrences(metadata, "switches") if "switches" in metadata else (),
            control_changes=tuple(map(_time, list_at(metadata, "control_changes"))) if "control_changes" in metadata else (),
            statistics=Statistics(**{name: integer_at(statistics, name) for name in Statistics._fields}),
            seconds=numbers_at(metadata, "seconds"),
            parameters=numbers_at(metadata, "parameters"),
            scene=object_at(metadata, "scene"),
            modes=ContactHistory.from_data(object_at(metadata, "modes")) if "modes" in metadata else NO_MODES,
        )
    except DataError:
        raise
    except ValueError as error:  # raised by Trajectory itself
        raise DataError(str(error)) from None


def _folded(run: Trajectory) -> Trajectory:
    """The run with the columns of sensitivities moved to `sensitivity`."""
    count = len(run.names(Group.SENSITIVITIES))
    if not count:
        return run
    own, columns = run.channels[:-count], run.channels[-count:]
    try:
        sensitivity = Sensitivity.from_columns(run.time, own, columns, run.data[:, -count:])
    except (KeyError, ValueError):
        raise DataError("its sensitivities do not belong to its channels") from None
    return replace(run, channels=own, data=run.data[:, :-count], sensitivity=sensitivity)


def _occurrences(metadata: Any, key: str) -> tuple[Occurrence, ...]:
    return tuple(Occurrence(text_at(entry, "name"), number_at(entry, "time")) for entry in list_at(metadata, key))


def _time(entry: Any) -> float:
    return number_at({"control_changes": entry}, "control_changes")


def _status(entry: dict[str, Any]) -> Status:
    warnings = tuple(checked(str, text, "a warning") for text in list_at(entry, "warnings"))
    kind = text_at(entry, "kind")
    if kind not in tuple(Ending):
        raise DataError(f"the status {shortened(kind)} is unknown in this version of draisine")
    return Status(Ending(kind), text_at(entry, "message"), warnings)


def _segment(entry: Any) -> Segment:
    independent = tuple(checked(str, name, "an independent velocity") for name in list_at(entry, "independent"))
    return Segment(text_at(entry, "mode"), independent, integer_at(entry, "start"), integer_at(entry, "stop"))
