"""Searches that failed, begun anew: from a feasible motion of fixed duration, from simulated motions with other parameters, and
from points of a feasibility phase or of a homotopy in bounds (`feasibility`); and searches that ended at a default limit of a
duration, within wider ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.optimal.attainment import CONVERGED
from draisine.optimal.default_limits import TIMES, WIDER, default_limit_reached
from draisine.optimal.feasibility import least_violation, narrowing_bounds
from draisine.optimal.guess import Guess, LinearGuess, PerturbedGuess, guesses
from draisine.optimal.ipopt import Ipopt, Outcome, solve_sparse_nlp
from draisine.optimal.mesh_search import FURTHER, MeshSolution, Task
from draisine.optimal.phase_builder import parameter_ranges
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.optimal.transcription import control_unknowns
from draisine.optimal.verification import simulate_phase
from draisine.results.status import Ending, ProgressCallback

Reals = NDArray[np.float64]

DURATIONS = (3.0, 10.0, 30.0, 100.0, 1.0, 0.3)  # of feasible motions, relative to the guess
SHARES = (0.15, 0.35, 0.6, 0.85)  # of the ranges of optimized parameters, from which further searches begin
NOISE, LONGER = 0.05, 3.0  # of the scales of unknowns, beside a guess; factor of its duration
NO_BETTER = 1e-7  # of the cost: what a duration twice as far may gain
COARSE = 1e-2  # error of a mesh on which the cost of a longer motion says nothing
RESCUED = "the guess led nowhere and was repaired"
FEASIBLE = 1e-6  # violation, scaled, of an iterate that is kept at an interruption


def by_feasible_motion(
    task: Task,
    failed: MeshSolution,
    guess: Guess | None,
    solver: Ipopt,
    progress: ProgressCallback | None,
    seconds: dict[str, float],
) -> tuple[MeshSolution, list[str]]:
    """A solution by way of a feasible motion of fixed duration, where the search failed and the duration is free.

    A search for the least time from a motion that violates conditions often shortens it to nothing, where the violation
    has a local minimum. With a fixed duration it cannot; from a feasible motion it stays feasible.
    """
    if len(task.phases) > 1 or not task.phases[0].times[0] < task.phases[0].times[1]:
        return failed, []
    low, high = task.phases[0].times
    (values,) = guesses(guess, task.phases, [s.grid for s in failed.schemes])
    tried: list[float] = []
    for factor in DURATIONS:
        duration = float(np.clip(values.duration * factor, low, high))
        if any(abs(np.log(duration / other)) < 0.1 for other in tried):
            continue
        tried.append(duration)
        first = guess if isinstance(guess, PerturbedGuess | Solution | PhaseSolution) else LinearGuess(duration=duration)
        feasible = task.once(failed.schemes, first, solver, progress, seconds, (duration, duration))
        if feasible.answer.outcome in CONVERGED:
            other = task.once(failed.schemes, feasible.phases, solver, progress, seconds)
            if other.answer.outcome is Outcome.INTERRUPTED and other.answer.violation > FEASIBLE:
                other = replace(feasible, answer=replace(feasible.answer, outcome=Outcome.INTERRUPTED))
            if other.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                return other, [f"the search from the guess failed; it began anew from a feasible motion of {duration:.3g} s"]
        if feasible.answer.outcome is Outcome.INTERRUPTED:
            return replace(failed, answer=replace(failed.answer, outcome=Outcome.INTERRUPTED)), []
    return failed, []


def with_other_parameters(
    task: Task, failed: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, list[str]]:
    """The best solution from simulated motions with other values of the optimized parameters, where the search failed.

    A motion that obeys its equations violates conditions at the end only, and their dependence on parameters is seen.
    """
    ranges = parameter_ranges(task.maneuver)
    if len(task.phases) > 1 or not ranges or not task.phases[0].start_fixed:
        return failed, []
    (phase,), (scheme,), found, notes = task.phases, failed.schemes, failed, list[str]()
    (first,) = guesses(None, task.phases, [scheme.grid])
    for share in SHARES:
        chosen = {name: low + share * (high - low) for name, (low, high) in ranges.items()}
        p = np.array([chosen.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)])
        run = simulate_phase(phase, scheme.grid, 0.0, first.duration, task.builders[0].start, first.controls, p)
        if run.status.kind is not Ending.FINISHED:
            continue
        kept = [phase.symbols.state_indices[i] for i in phase.kept_indices]
        at = first.duration * scheme.grid.points
        states = np.column_stack([np.interp(at, run.samples.times, run.samples.states[:, i]) for i in kept])
        transcribed = task.transcribed_from(failed.schemes, [replace(first, states=states)])
        w = transcribed.guess.copy()
        w[transcribed.parameters] = [chosen[name] for name in phase.unknown_parameters]
        answer = solve_sparse_nlp(transcribed.nlp, w, solver, progress)
        seconds["solve"] = seconds.get("solve", 0.0) + answer.seconds["solve"]
        better = found is failed or answer.objective < found.answer.objective
        if answer.outcome is Outcome.INTERRUPTED or (answer.outcome in CONVERGED and better):
            found = task.evaluated(failed.schemes, transcribed, answer)
            values = ", ".join(f"{name} = {value:.4g}" for name, value in chosen.items())
            notes = [f"the search from the guess failed; it began anew from the motion with {values}"]
        if answer.outcome is Outcome.INTERRUPTED:
            break
    return found, notes


def by_feasible_point(
    task: Task, failed: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, list[str]]:
    """A solution by way of a feasible point near the guess or near the end of its search, or by homotopy in bounds."""
    began, nlp, first = time.perf_counter(), failed.transcribed.nlp, failed.transcribed.guess
    controls, weights = control_unknowns(failed.transcribed, failed.schemes)
    # a guess may be symmetric, a saddle of the violation, and too short: conditions that need time are violated most there
    beside = first + NOISE * nlp.scale * np.random.default_rng(0).normal(size=len(first))
    beside[[indices.length for indices in failed.transcribed.indices]] *= LONGER
    beside = np.clip(beside, nlp.low, nlp.high)
    limited = replace(solver, iterations=min(solver.iterations, FURTHER))

    def points() -> Iterator[tuple[Reals, str]]:
        for origin in (first, failed.answer.w, beside):
            relaxed = least_violation(nlp, origin, limited, progress)
            if relaxed is None and origin is first:
                return  # not even a motion: wider bounds do not help
            if relaxed is not None and relaxed[1]:
                yield relaxed[0], "a feasibility phase"
        narrowed = narrowing_bounds(nlp, beside, controls, weights, limited, progress)
        if narrowed is not None:
            yield narrowed[0], f"a homotopy in bounds, first wider by {narrowed[1]:g} of their scales"

    rescued, notes = failed, list[str]()
    for point, how in points():
        answer = solve_sparse_nlp(nlp, point, solver, progress)
        if answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
            rescued = task.evaluated(failed.schemes, failed.transcribed, answer)
            notes = [f"{RESCUED} by {how}: the search began anew from a motion that meets all conditions"]
            break
    seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
    return rescued, notes


def within_wider_limits(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[Task, MeshSolution]:
    """The solution with wider default limits of durations, where one ends at such a limit; and the task that has them. What ends
    within wider limits only because its cost has become small is left at the limit: a duration twice as far is no better."""
    for _ in range(TIMES):
        stated = zip(task.maneuver.phases, task.phases, found.phases, strict=True)
        sides = [default_limit_reached(m, phase, solution.duration) for m, phase, solution in stated]
        if found.answer.outcome not in CONVERGED or not any(sides):
            break
        factors = {-1: (1.0 / WIDER, 1.0), 0: (1.0, 1.0), 1: (1.0, WIDER)}
        wide = _with_times(task, [tuple(np.multiply(p.times, factors[side])) for p, side in zip(task.phases, sides, strict=True)])
        other = wide.once(found.schemes, found.phases, solver, progress, seconds)
        if other.answer.outcome not in CONVERGED or other.answer.objective > found.answer.objective:
            break
        if other.error > max(COARSE, found.error):
            break
        if _falls_further(wide, other, sides, solver, progress, seconds):
            break
        task, found = wide, other
    return task, found


def _falls_further(
    task: Task,
    found: MeshSolution,
    sides: Sequence[int],
    solver: Ipopt,
    progress: ProgressCallback | None,
    seconds: dict[str, float],
) -> bool:
    """Whether durations twice as far on these sides, within their limits, are better."""
    times = []
    for m, phase, solution, side in zip(task.maneuver.phases, task.phases, found.phases, sides, strict=True):
        far = float(np.clip(solution.duration * {-1: 0.5, 0: 1.0, 1: 2.0}[side], *phase.times))
        at_limit = not side or default_limit_reached(m, phase, solution.duration)
        times.append(phase.times if at_limit else (far, far))
    if times == [p.times for p in task.phases]:
        return False
    further = _with_times(task, times).once(found.schemes, found.phases, solver, progress, seconds).answer
    return further.outcome in CONVERGED and further.objective < found.answer.objective - NO_BETTER * abs(found.answer.objective)


def _with_times(task: Task, times: Sequence[tuple[float, float]]) -> Task:
    return replace(task, phases=tuple(replace(p, times=t) for p, t in zip(task.phases, times, strict=True)))
