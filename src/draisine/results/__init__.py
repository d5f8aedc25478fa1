"""Frozen data that people keep: what a run gave, how it ended, and the files it is kept in."""

from __future__ import annotations

from draisine.lazily import loader, names_of

# module of this folder → the names it holds
_HELD = {
    "channel": ("Channel", "Group"),
    "files": ("TrajectoryFileError", "load", "save"),
    "status": ("Ending", "Status"),
    "trajectory": ("Occurrence", "Segment", "Statistics", "Trajectory", "UnknownChannel"),
}
__all__ = names_of(_HELD)
__getattr__ = loader(__name__, _HELD)
