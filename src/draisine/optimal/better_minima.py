"""Better minima on the same mesh: beside saddles, flat points and inflections, at lower Hamiltonians, and with less slack.

Derivatives vanish at maxima, saddles and kinks as they do at minima, and tolerances hold where there is no minimum at all
(`attainment`)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from draisine.optimal.attainment import CONVERGED, attained
from draisine.optimal.guess import PerturbedGuess
from draisine.optimal.ipopt import Ipopt, Outcome, solve_sparse_nlp
from draisine.optimal.mesh_search import FURTHER, NEAR_GUESS, MeshSolution, Task
from draisine.optimal.minimum_principle import better_controls
from draisine.optimal.repaired_searches import COARSE, FEASIBLE
from draisine.optimal.second_order import curvature
from draisine.optimal.solution import UNATTAINED
from draisine.results.status import ProgressCallback

PERTURBATIONS = 2  # attempts with perturbed guesses
ASIDE = 0.3  # of the scales of controls, from a flat point
ESCAPES = 4  # from saddles, on a mesh
BESIDE = 1.05  # a duration relative to that of a minimum
LOWER = 1e-6  # relative gain there that counts
NEEDLES, NOT_BETTER = 4, 1e-7  # searches from needle variations on a mesh; relative gain that counts


def beside_saddles(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, list[str]]:
    """A minimum on the same mesh, where the search ended at a maximum or a saddle, with notes."""
    for _ in range(ESCAPES):
        if found.answer.outcome not in CONVERGED or not found.answer.regularized:
            return found, []
        nlp = found.transcribed.nlp
        preferred = np.zeros(nlp.unknowns)
        for indices in found.transcribed.indices:
            preferred[indices.controls.ravel()] = 1.0
        curved = curvature(nlp, found.answer, preferred)
        if curved is None:
            return found, ["the second-order condition of a minimum was not tested: there are too many unknowns"]
        if curved.direction is None:
            return found, []
        for sign in (1.0, -1.0):
            began = time.perf_counter()
            answer = solve_sparse_nlp(nlp, np.clip(found.answer.w + sign * curved.direction, nlp.low, nlp.high), solver, progress)
            seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
            lower = answer.objective < found.answer.objective - NOT_BETTER * nlp.objective_scale
            if answer.outcome is Outcome.INTERRUPTED and not (lower and answer.violation < FEASIBLE):
                raise KeyboardInterrupt  # what was found before is better
            if answer.outcome is Outcome.UNBOUNDED or (answer.outcome in (*CONVERGED, Outcome.INTERRUPTED) and lower):
                break
        else:
            return replace(found, answer=replace(found.answer, outcome=Outcome.SADDLE)), []
        found = task.evaluated(found.schemes, found.transcribed, answer)
    return found, []


def beside_flat_points(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, list[str]]:
    """A lower cost from perturbed guesses, and from controls that are larger or smaller all the time, where the search ended at a
    point at which the cost is flat, with notes.

    Neither first nor second derivatives tell the maxima of −x⁴ or −|x|, or the saddle of x³, from minima.
    """
    if found.answer.outcome not in CONVERGED or not found.is_flat:
        return found, []
    flat = "the first search ended at a flat point that is no minimum"
    for seed in range(PERTURBATIONS):
        other = task.once(found.schemes, PerturbedGuess(seed=seed), solver, progress, seconds)
        if other.answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        lower = other.answer.objective < found.answer.objective - NOT_BETTER * found.transcribed.nlp.objective_scale
        if other.answer.outcome is Outcome.UNBOUNDED or (other.answer.outcome in CONVERGED and lower):
            return other, [f"{flat}; PerturbedGuess(seed={seed}) was used"]
    nlp, aside = found.transcribed.nlp, np.zeros(found.transcribed.nlp.unknowns)
    for indices in found.transcribed.indices:
        aside[indices.controls.ravel()] = ASIDE * nlp.scale[indices.controls.ravel()]
    for change, how in ((aside, "larger"), (-aside, "smaller")):
        began = time.perf_counter()
        answer = solve_sparse_nlp(nlp, np.clip(found.answer.w + change, nlp.low, nlp.high), solver, progress)
        seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
        if answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        lower = answer.objective < found.answer.objective - NOT_BETTER * nlp.objective_scale
        if answer.outcome is Outcome.UNBOUNDED or (answer.outcome in CONVERGED and lower):
            return task.evaluated(found.schemes, found.transcribed, answer), [f"{flat}; another one began at {how} controls"]
    return found, []


def beside_inflections(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, list[str]]:
    """A lower cost with a longer or a shorter motion, where the search ended at a duration at which the cost only rests.

    From rest to rest an oscillator stays at rest at no cost, so that the least cost never rises with the duration; where it has
    an inflection, all derivatives of first and second order are those of a minimum. Single phases only.
    """
    if len(task.phases) > 1 or found.answer.outcome not in CONVERGED:
        return found, []
    (phase,), now = task.phases, found.phases[0].duration
    (low, high), allowed = phase.times, max(COARSE, found.error)
    if (phase.integrand is None and phase.final is None) or not low * BESIDE < now < high / BESIDE:
        return found, []
    near = replace(solver, iterations=min(solver.iterations, FURTHER), options={**NEAR_GUESS, **solver.options})

    def lower(best: MeshSolution, least: float, most: float) -> MeshSolution | None:
        other = task.once(found.schemes, best.phases, near, progress, seconds, (least, most))
        if other.answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        gain = best.answer.objective - other.answer.objective
        better = other.answer.outcome in CONVERGED and gain > LOWER * abs(best.answer.objective)
        return other if better and other.error <= allowed else None

    for factor in (BESIDE, 1.0 / BESIDE):
        there = edge = now * factor
        best = lower(found, there, there)
        if best is None:
            continue
        while low < there < high:
            there = float(np.clip(there * (2.0 if factor > 1.0 else 0.5), low, high))
            further = lower(best, there, there)
            if further is None:
                break
            best = further
        best = lower(best, *((edge, high) if factor > 1.0 else (low, edge))) or best
        return best, [f"the first search ended at {now:.4g} s, where the cost is stationary but no minimum"]
    return found, []


def attained_minimum(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, Ipopt, list[str]]:
    """The solution with as little slack as it needs, the settings for it, and notes; UNATTAINED where there is none."""
    if found.answer.outcome not in CONVERGED:
        return found, solver, []
    began = time.perf_counter()
    result = attained(found.transcribed.nlp, found.answer, found.transcribed.guess, solver, progress)
    seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
    if result.outcome is Outcome.UNBOUNDED:
        return replace(found, answer=replace(found.answer, outcome=Outcome.UNBOUNDED)), solver, []
    if result.why:
        return (
            replace(found, answer=replace(found.answer, outcome=result.outcome)),
            solver,
            [f"{UNATTAINED}: {result.why}" if result.outcome is Outcome.UNATTAINED else result.why],
        )
    if result.answer is found.answer:
        return found, solver, []
    return task.evaluated(found.schemes, found.transcribed, result.answer), result.solver, []


def with_needles(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, bool]:
    """A better minimum on the same mesh, from controls with a lower Hamiltonian, as long as there are any; and whether the
    last search from such controls was of use."""
    for _ in range(NEEDLES):
        guess, changed = list(found.phases), False
        for k, (p, local) in enumerate(zip(found.phases, found.node_arguments, strict=True)):
            controls, _ = better_controls(p.phase, p.grid, local, p.costates, p.controls)
            if controls is not None:
                guess[k], changed = replace(p, controls=controls), True
        if not changed:
            return found, True
        other = task.once(found.schemes, guess, solver, progress, seconds)
        if other.answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        better = other.answer.objective < found.answer.objective - NOT_BETTER * abs(found.answer.objective)
        if other.answer.outcome not in CONVERGED or not better:
            return found, False
        found = other
    return found, True
