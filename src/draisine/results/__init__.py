"""Frozen data that people keep: what a run gave, how it ended, and the files it is kept in."""

from __future__ import annotations

from draisine.results.channel import Channel, Group
from draisine.results.files import TrajectoryFileError, load, save
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Occurrence, Segment, Statistics, Trajectory, UnknownChannel

__all__ = [
    "Channel",
    "Ending",
    "Group",
    "Occurrence",
    "Segment",
    "Statistics",
    "Status",
    "Trajectory",
    "TrajectoryFileError",
    "UnknownChannel",
    "load",
    "save",
]
