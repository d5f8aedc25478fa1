"""Trajectories that draw and film themselves: results know no pictures and pictures no solvers; here they meet."""

from __future__ import annotations

from typing import Any

from draisine.results.trajectory import Trajectory

__all__ = ["Trajectory"]


def _plot(run: Trajectory, *names: str, **options: Any) -> Any:
    """Named channels against time as a Matplotlib figure; see `draisine.view.plots.figures.plot`."""
    from draisine.view.plots.figures import plot

    return plot(run, *names, **options)


def _animate(run: Trajectory, **options: Any) -> Any:
    """The run as a moving picture; see `draisine.animate`."""
    from draisine.view.drawn.films import animate

    return animate(run, **options)


Trajectory.plot = _plot  # type: ignore[assignment,method-assign]
Trajectory.animate = _animate  # type: ignore[assignment,method-assign]
