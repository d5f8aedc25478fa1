"""Trajectories from files, which draw and film themselves like those of runs."""

from __future__ import annotations

from draisine.drawn.runs import Trajectory
from draisine.results.files import load

__all__ = ["Trajectory", "load"]
