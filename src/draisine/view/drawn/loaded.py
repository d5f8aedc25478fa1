"""Trajectories from files, which draw and film themselves like those of runs."""

from __future__ import annotations

from draisine.results.files import load
from draisine.view.drawn.runs import Trajectory

__all__ = ["Trajectory", "load"]
