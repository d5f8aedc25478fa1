"""Manoeuvres whose solutions draw themselves: here optimal control and figures meet."""

from __future__ import annotations

from typing import Any

from draisine.optimal.maneuver import Manoeuvre, manoeuvre
from draisine.optimal.solution import Solution
from draisine.view.drawn.runs import Trajectory

# a solution's trajectory draws itself too
__all__ = ["Manoeuvre", "Solution", "Trajectory", "manoeuvre", "plot_solution"]


def plot_solution(solution: Solution, *names: str, **options: Any) -> Any:
    """Controls with their switching functions and the Hamiltonian; with names, those channels of the motion against time."""
    if names:
        from draisine.view.plots.figures import plot

        return plot(solution.trajectory, *names, **options)
    from draisine.view.plots.optimal import optimality_figure

    told = solution.optimality
    units = {q.name: q.unit for p in solution.phases for q in p.phase.equations.inputs}
    return optimality_figure(told.switching, told.hamiltonian, units=units, **options)


Solution.plot = plot_solution  # type: ignore[assignment,method-assign]
