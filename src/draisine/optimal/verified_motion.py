"""The motion of a solution, simulated by itself, and the verdict on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.optimal.mesh_search import MeshSolution, Task
from draisine.optimal.mode_verification import across_modes
from draisine.optimal.verdict import Verdict, verdict
from draisine.optimal.verification import GROWTH, Simulated, simulate_phase, stable_windows, transition_matrices

USELESS = 1.0  # miss of a motion, relative to the scale of a quantity, above which windows show more of it


@dataclass(frozen=True, eq=False)
class Verified:
    """Simulated phases, the verdict on them, and the growth of deviations where they were simulated in windows."""

    runs: tuple[Simulated, ...]
    verdict: Verdict
    growth: float


def verify(task: Task, found: MeshSolution, tolerance: float) -> Verified:
    """The simulated motion and the verdict on it. A motion that misses a condition because it is unstable is simulated in
    windows: errors of rounding would grow to any size."""
    values = [task.parameters_of(phase, found) for phase in task.phases]
    runs = _across(task, found, simulate_phases(task, found))
    judged = verdict(found.phases, runs, values, tolerance)
    if judged.holds or not np.isfinite(found.answer.w).all():
        return Verified(runs, judged, 1.0)
    windows, growth = _windows(task, found)
    if growth <= GROWTH:
        return Verified(runs, judged, 1.0)
    pieces = _across(task, found, simulate_phases(task, found, windows))
    in_windows = verdict(found.phases, pieces, values, tolerance)
    if in_windows.holds or judged.worst > USELESS:
        return Verified(pieces, in_windows, growth)
    return Verified(runs, in_windows, 1.0)  # the mesh is too coarse either way: one motion, without jumps


def timed_verification(task: Task, found: MeshSolution, tolerance: float, seconds: dict[str, float]) -> Verified:
    started = time.perf_counter()
    verified = verify(task, found, tolerance)
    seconds["simulate"] = seconds.get("simulate", 0.0) + time.perf_counter() - started
    return verified


def simulate_phases(task: Task, found: MeshSolution, windows: Sequence[list[int]] | None = None) -> tuple[Simulated, ...]:
    """Simulate all phases in sequence, each from the final state of the simulation before; `windows` gives for each phase
    the intervals at which the simulation starts from the nodes."""
    runs: list[Simulated] = []
    end = 0.0
    for k, (phase, solution, builder) in enumerate(zip(task.phases, found.phases, task.builders, strict=True)):
        v, x = phase.symbols, builder.start.copy()
        kept = [v.state_indices[i] for i in phase.kept_indices]
        x[kept] = solution.states[0]
        if k and windows is None:
            names = [q.name for q in task.phases[k - 1].equations.states]
            for i, q in enumerate(phase.equations.states):
                joined = builder.problem.link.joined
                jumps = (*builder.problem.link.jump, *task.builders[k - 1].landing.velocities)
                if q.name in names and q.name not in jumps and (joined is None or q.name in joined):
                    x[i] = runs[-1].final[names.index(q.name)]
        if v.algebraic_indices and len(solution.algebraic):
            x[v.algebraic_indices] = solution.algebraic[0, -len(v.algebraic_indices) :]
        p = task.parameters_of(phase, found)
        begin = max(solution.begin, end)  # rounding must not make time decrease
        grid = solution.grid
        nodes = solution.states[np.searchsorted(grid.points, grid.breaks)]
        restarts = {i: nodes[i] for i in windows[k][1:]} if windows is not None else None
        runs.append(simulate_phase(phase, grid, begin, solution.duration, x, solution.controls, p, restarts))
        end = begin + solution.duration
    return tuple(runs)


def _across(task: Task, found: MeshSolution, runs: tuple[Simulated, ...]) -> tuple[Simulated, ...]:
    """The runs of phases, each with its part of one run across modes, where contacts have given modes."""
    stated = [None if builder.contacts is None else builder.contacts.stated for builder in task.builders]
    return across_modes(stated, found.phases, runs)


def _windows(task: Task, found: MeshSolution) -> tuple[list[list[int]], float]:
    """Windows of each phase, and the largest growth of deviations over a phase."""
    made, most = [], 1.0
    for phase, solution, local in zip(task.phases, found.phases, found.node_arguments, strict=True):
        starts, growth = stable_windows(transition_matrices(phase, solution.grid, local))
        made.append(starts)
        most = max(most, growth)
    return made, most
