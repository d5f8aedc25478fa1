"""Solution by direct transcription: build phases, guess, transcribe, compile, solve, refine the mesh, verify by simulation.

Searches that fail are repaired where that is possible (`repaired_searches`); of an infeasible problem, the conflicting conditions
are named."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.attainment import CONVERGED
from draisine.optimal.better_minima import (
    PERTURBATIONS,
    attained_minimum,
    beside_flat_points,
    beside_inflections,
    beside_saddles,
    with_needles,
)
from draisine.optimal.default_limits import default_limit_reached, with_limits_about
from draisine.optimal.endless_durations import lower_or_endless
from draisine.optimal.feasibility import find_conflicts
from draisine.optimal.first_order_conditions import kkt
from draisine.optimal.guess import Guess, PerturbedGuess
from draisine.optimal.impulses import grown_peak, impulse_of
from draisine.optimal.interruption import keeping_the_best
from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome
from draisine.optimal.mesh_cost import has_constant_intervals, mesh_costs
from draisine.optimal.mesh_search import NEAR_GUESS, MeshSolution, Task, same_size
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.refinement import Refinement, next_meshes
from draisine.optimal.repaired_searches import by_feasible_motion, by_feasible_point, with_other_parameters, within_wider_limits
from draisine.optimal.shooting import check_scheme
from draisine.optimal.solution import STOPPED, UNATTAINED, PhaseSolution, Solution
from draisine.optimal.switching_times import with_switching_times
from draisine.optimal.verdict import TOLERANCE
from draisine.optimal.verified_motion import Verified, timed_verification, verify
from draisine.program.switching import jumps_of
from draisine.results.status import Ending, ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
    from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]

REPAIRED = (Outcome.INFEASIBLE, Outcome.FAILED)
SHARPER = 1e-3  # tolerance of IPOPT on refined meshes, relative to that of the motion
LAST_NEEDLES, CONSIDERED = 3, 1e-5  # searches where a mesh is fine enough; relative gain that other controls promise
SHARE = 0.1  # of the mean of what intervals may cost: cheaper ones stay
SHARPENED = 6  # meshes whose errors are small enough, but which cost more
IN_ARCS = (1, 3, 6, 12)  # meshes from which a solution with switching times as unknowns is tried
LEAST_ERROR = 1e-13  # of an interval, asked of a mesh
LATER = 3  # searches from lower costs at longer durations
OUT_OF_TIME = "Maximum_WallTime_Exceeded"  # of IPOPT
ITERATED = "Maximum_Iterations_Exceeded"
GIVEN_UP = {"User_Requested_Stop": "cost or unknowns went orders of magnitude beyond their sizes"}
LEAST_SECONDS = 1e-3  # for a search that begins when the limit is reached: it ends after one iteration


@keeping_the_best
def solve(
    maneuver: OptimalControlProblem,
    method: DirectMethod | Sequence[DirectMethod] | None,
    *,
    guess: Guess | None = None,
    solver: Ipopt | None = None,
    refine: Refinement | bool | None = None,
    progress: ProgressCallback | None = None,
    rescue: bool = False,
) -> Solution:
    """See `OptimalControlProblem.solve`. With `rescue`, a guess that leads nowhere is followed by a feasibility phase and a
    homotopy in bounds, which a note tells."""
    began = time.perf_counter()
    solver = solver or Ipopt()
    if refine is None or isinstance(refine, bool):
        refine = Refinement() if (method is None if refine is None else refine) else None
    tolerance = TOLERANCE if refine is None else refine.tolerance
    schemes = _each(method or Collocation(), len(maneuver.phases))
    builders, phases = build_phases(maneuver, schemes)
    task = Task(maneuver, builders, phases)
    seconds = {"pose": time.perf_counter() - began}
    found = task.once(schemes, guess, solver, progress, seconds)
    notes: list[str] = []
    without_end, sides = False, list[int]()
    try:
        for seed in range(PERTURBATIONS if guess is None else 0):
            if not _led_nowhere(found, solver):
                break
            other = task.once(schemes, PerturbedGuess(seed=seed), solver, progress, seconds)
            if other.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                found = other
                notes.append(f"the linear guess failed; PerturbedGuess(seed={seed}) was used")
        if _led_nowhere(found, solver):
            found, more = by_feasible_motion(task, found, guess, solver, progress, seconds)
            notes += more
        if _led_nowhere(found, solver) and guess is None:
            found, more = with_other_parameters(task, found, solver, progress, seconds)
            notes += more
        if rescue and found.answer.outcome in (*REPAIRED, Outcome.TOO_MANY_ITERATIONS):
            found, more = by_feasible_point(task, found, solver, progress, seconds)
            notes += more
        found, more = beside_inflections(task, found, solver, progress, seconds)
        notes += more
        task, found = within_wider_limits(task, found, solver, progress, seconds)
        sides = [default_limit_reached(m, p.phase, p.duration) for m, p in zip(maneuver.phases, found.phases, strict=True)]
        without_end = any(sides)
        if not without_end:
            found, solver, more = _better(task, found, solver, progress, seconds)
            notes += more
        verified, rounds = timed_verification(task, found, tolerance, seconds), 1
    except KeyboardInterrupt:  # the best so far is kept, and verified
        found = replace(found, answer=replace(found.answer, outcome=Outcome.INTERRUPTED))
        verified, rounds = timed_verification(task, found, tolerance, seconds), 1
    first = found
    endless = without_end and not (1 in sides and found.error > tolerance)  # the cost at the longest duration is a result
    if refine is not None and found.answer.outcome in CONVERGED and not endless:
        found, verified, rounds, more = _refined(task, found, verified, refine, solver, progress, seconds, began)
        notes += more
    for _ in range(LATER):
        if found.answer.outcome not in CONVERGED or found.error > tolerance:
            break
        try:
            limited = partial(_within, refine, solver, began)
            lower, why = lower_or_endless(task, found, limited, progress, seconds)
            if why:
                found = replace(found, answer=replace(found.answer, outcome=Outcome.UNBOUNDED))
                notes.append(why)
            if why or lower is found:
                break
            task, found = within_wider_limits(task, lower, limited(), progress, seconds)
            verified = timed_verification(task, found, tolerance, seconds)
            if refine is not None and found.answer.outcome in CONVERGED:
                found, verified, rounds, more = _refined(task, found, verified, refine, solver, progress, seconds, began)
                notes += more
        except KeyboardInterrupt:
            found = replace(found, answer=replace(found.answer, outcome=Outcome.INTERRUPTED))
    if found.answer.outcome in CONVERGED and not without_end:
        try:
            grown = grown_peak(first, found)
            resolved = verified.verdict.holds and found.error <= tolerance  # else a short layer may look like an impulse
            if grown and grown.same_area and resolved:
                impulse = grown.name
            else:
                impulse = impulse_of(task, found, solver, progress, seconds)
            if grown and not impulse:
                impulse = impulse_of(task, first, solver, progress, seconds)
        except KeyboardInterrupt:
            impulse = ""
        if impulse:
            found = replace(found, answer=replace(found.answer, outcome=Outcome.UNATTAINED))
            why = "is the larger the shorter its intervals, an impulse is best; give bounds(…) of it, or a cost with its square"
            notes.append(f"{UNATTAINED}: {impulse} {why}")
    names = find_conflicts(found.transcribed.nlp, found.answer.w, solver) if found.answer.outcome is Outcome.INFEASIBLE else ()
    return replace(_solution(task, found, verified, tolerance, names, notes, seconds, rounds, began), refined=refine is not None)


def _led_nowhere(found: MeshSolution, solver: Ipopt) -> bool:
    """Whether a search failed by itself: limits of iterations or time that a user gives are kept."""
    endless = found.answer.solver_status == ITERATED and solver.iterations >= Ipopt.iterations
    return found.answer.outcome in REPAIRED or endless


def _better(
    task: Task, found: MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, Ipopt, list[str]]:
    """A minimum, where the search ended at a point that seems to be one; the settings that it needs; and notes."""
    found, notes = beside_saddles(task, found, solver, progress, seconds)
    found, more = beside_flat_points(task, found, solver, progress, seconds)
    found, solver, further = attained_minimum(task, found, solver, progress, seconds)
    if found.answer.outcome in CONVERGED and any(p.phase.kinks(p.scheme) for p in found.phases):
        # the derivative at a kink is taken as zero, as at a minimum
        found, _ = with_needles(task, found, solver, progress, seconds)
    return found, solver, [*notes, *more, *further]


def restored_by_transcription(
    maneuver: OptimalControlProblem,
    schemes: list[DirectMethod],
    answer: NlpSolution,
    conflicts: tuple[str, ...],
    rounds: int,
    tolerance: float,
) -> Solution:
    """The solution of this maneuver from a stored result, simulated again without solving."""
    began = time.perf_counter()
    builders, phases = build_phases(maneuver, schemes)
    task = Task(maneuver, builders, phases)
    transcribed = task.transcribed(schemes, None)
    if not same_size(answer, transcribed):
        raise DataError(
            f"{phases[0].equations.name}: the stored result has {len(answer.bound_multipliers)} unknowns and "
            f"{len(answer.row_multipliers)} conditions, this maneuver {transcribed.nlp.unknowns} and {transcribed.nlp.rows}; "
            "state the maneuver that was solved"
        )
    wide = with_limits_about(maneuver, phases, [float(answer.w[i.length]) for i in transcribed.indices])
    if wide != phases:
        task = Task(maneuver, builders, wide)
        transcribed = task.transcribed(schemes, None)
    found = task.evaluated(schemes, transcribed, answer)
    return _solution(task, found, verify(task, found, tolerance), tolerance, conflicts, [], {}, rounds, began)


def _each(method: DirectMethod | Sequence[DirectMethod], count: int) -> list[DirectMethod]:
    given = [method] * count if isinstance(method, Collocation | MultipleShooting) else list(method)
    if len(given) != count:
        raise ArgumentError(f"method: {len(given)} given for {count} phases; give one for all, or one for each")
    for scheme in given:
        if isinstance(scheme, MultipleShooting):
            check_scheme(scheme)
    return given


def _refined(
    task: Task,
    found: MeshSolution,
    verified: Verified,
    refine: Refinement,
    solver: Ipopt,
    progress: ProgressCallback | None,
    seconds: dict[str, float],
    began: float,
) -> tuple[MeshSolution, Verified, int, list[str]]:
    """The solution on finer meshes, until mesh and motion are accurate enough or a limit is reached, with notes."""
    rounds, target, needles, last = 1, refine.tolerance, True, 0
    accurate: tuple[MeshSolution, Verified, int] | None = None  # enough; sharper ones are sought for their cost alone

    def ended(note: str) -> tuple[MeshSolution, Verified, int, list[str]]:
        return (found, verified, rounds, [note]) if accurate is None else (*accurate, [])

    def interrupted_at(found: MeshSolution) -> tuple[MeshSolution, Verified, int, list[str]]:
        note = f"interrupted during refinement; the solution on {rounds} mesh{'es' if rounds > 1 else ''} is returned"
        return replace(found, answer=replace(found.answer, outcome=Outcome.INTERRUPTED)), verified, rounds, [note]

    def within_limit(settings: Ipopt) -> Ipopt:
        return _within(refine, settings, began)

    tried = sharpened = 0
    while True:
        judged = verified.verdict
        violated = list(judged.violated)
        if rounds in IN_ARCS and rounds > tried and not (found.error <= target and judged.holds):
            tried = rounds
            try:
                moved = with_switching_times(
                    task, found, refine, refine.rounds - rounds + 1, solver, within_limit, progress, seconds
                )
            except KeyboardInterrupt:
                return interrupted_at(found)
            if moved is not None:
                found, verified, more = moved
                rounds += more
                continue
        if found.error <= target and judged.holds:
            better = found
            if (needles and rounds == 1) or (last < LAST_NEEDLES and found.excess > CONSIDERED * abs(found.answer.objective)):
                try:
                    better, _ = with_needles(task, found, within_limit(solver), progress, seconds)
                    judged_anew = verified if better is found else timed_verification(task, better, refine.tolerance, seconds)
                except KeyboardInterrupt:
                    return interrupted_at(found)
            if better is not found:
                found, verified, needles, last = better, judged_anew, False, last + 1
                continue
            costly = _costly(task, found, verified, refine.tolerance)
            if sharpened == SHARPENED or not any(c.any() for c in costly):
                return found, verified, rounds, []
            sharpened, accurate = sharpened + 1, (found, verified, rounds)
            if any(has_constant_intervals(p) for p in found.phases):
                target = 0.1 * min(target, found.error)  # which shortens them
            violated = [v | c for v, c in zip(judged.violated, costly, strict=True)]
        left = refine.seconds - (time.perf_counter() - began)
        if rounds > refine.rounds or left <= 0.0:
            return ended(_stopped_at(f"{refine.rounds} rounds" if left > 0.0 else f"{refine.seconds:g} s"))
        if found.error <= target and not judged.holds and not any(v.any() for v in judged.violated):
            target *= float(np.clip(0.3 * refine.tolerance / judged.worst, 1e-3, 0.1))
        meshes = next_meshes(refine, found.phases, target, violated, judged.overshot)
        if not meshes or target < LEAST_ERROR:
            reached = f"{sum(len(p.errors) for p in found.phases)} intervals"
            return ended(f"refinement ended with {reached}: no finer mesh; see Refinement(most=…)")
        # the barrier of IPOPT keeps unknowns away from their bounds: its tolerance must be well below that of the motion
        sharp = min(solver.tolerance, SHARPER * refine.tolerance)
        sharper = replace(solver, tolerance=sharp)
        near = replace(sharper, options={**NEAR_GUESS, **solver.options})
        try:
            for schemes, settings in [(s, o) for s in meshes for o in (near, sharper)]:
                finer = task.once(schemes, found.phases, within_limit(settings), progress, seconds)
                if finer.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                    break
            interrupted = finer.answer.outcome is Outcome.INTERRUPTED
            if finer.answer.outcome in CONVERGED:
                if needles:
                    finer, needles = with_needles(task, finer, within_limit(near), progress, seconds)
                finer_verified = timed_verification(task, finer, refine.tolerance, seconds)
                interrupted = finer_verified.runs[-1].status.kind is Ending.INTERRUPTED
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            return interrupted_at(found)
        if finer.answer.outcome not in CONVERGED:
            if finer.answer.solver_status == OUT_OF_TIME:
                return ended(_stopped_at(f"{refine.seconds:g} s"))
            count = sum(len(s.grid.breaks) - 1 for s in schemes)
            why = GIVEN_UP.get(finer.answer.solver_status, finer.answer.solver_status)
            note = f"on a finer mesh of {count} intervals the solver did not converge ({why})"
            return ended(f"{note}; the solution of the mesh before is returned")
        rounds += 1
        found, verified = finer, finer_verified


def _within(refine: Refinement | None, settings: Ipopt, began: float) -> Ipopt:
    """No search of a refinement may take more than the seconds that are left when it begins."""
    if refine is None:
        return settings
    left = max(refine.seconds - (time.perf_counter() - began), LEAST_SECONDS)
    return replace(settings, options={"max_wall_time": left, **settings.options})


def _costly(task: Task, found: MeshSolution, verified: Verified, tolerance: float) -> list[NDArray[np.bool_]]:
    """The intervals of each phase that cost more than their share of this part of the cost; none if the mesh does not.

    A polynomial that meets the equations may be far from the best control: where that is large for a moment, or jumps at a price
    that nodes do not see; and where conditions are tight, a switch a little earlier is dear. A least time without such switches
    has no price along the path."""
    if not any(p.phase.integrand is not None or has_constant_intervals(p) for p in found.phases):
        return [np.zeros(len(p.errors), dtype=bool) for p in found.phases]
    costs = mesh_costs(found.phases, verified.runs, [task.parameters_of(p.phase, found) for p in found.phases])
    none = [np.zeros(len(p.errors), dtype=bool) for p in found.phases]
    size = tolerance * max(abs(found.answer.objective), found.transcribed.nlp.objective_scale)
    if costs is None or not sum(float(part.sum()) for part in costs) > size:
        return none
    count = sum(len(part) for part in costs)
    return [part > SHARE * size / count for part in costs]


def _stopped_at(limit: str) -> str:
    return f"{STOPPED} {limit}; see Refinement(…)"


def _solution(
    task: Task,
    found: MeshSolution,
    verified: Verified,
    tolerance: float,
    conflicts: tuple[str, ...],
    notes: list[str],
    seconds: dict[str, float],
    rounds: int,
    began: float,
) -> Solution:
    """The verified solution with notes and optimality conditions."""
    answer, transcribed = replace(found.answer, far=None), found.transcribed
    reported = [note for phase in task.phases for note in (*phase.notes, *_switching_notes(phase))]
    reported += [note for p in found.phases for note in check_dropped(p, task.parameters_of(p.phase, found))] + notes
    parameters = dict(zip(task.phases[0].unknown_parameters, answer.w[transcribed.parameters].tolist(), strict=True))
    reported += [
        f"{name} has no effect on the motion, its conditions and its cost: the value {parameters[name]:.6g} says nothing"
        for name in _without_effect(found, task.phases[0].unknown_parameters)
    ]
    conditions = kkt(transcribed.nlp, answer)
    seconds["total"] = time.perf_counter() - began
    return Solution(
        task.maneuver,
        found.phases,
        answer,
        parameters,
        verified.runs,
        tuple(reported),
        conflicts,
        seconds,
        rounds,
        conditions,
        tolerance,
        growth=verified.growth,
    )


def _without_effect(found: MeshSolution, names: Sequence[str]) -> list[str]:
    """Optimized parameters on which no row of the problem depends at the solution."""
    nlp = found.transcribed.nlp
    gradient, entries = nlp.jacobian(found.answer.w)
    _, column = nlp.jacobian_indices
    effect = np.maximum(np.abs(gradient), np.bincount(column, weights=np.abs(entries), minlength=nlp.unknowns))
    return [name for name, j in zip(names, found.transcribed.parameters, strict=True) if effect[j] == 0.0]


def _switching_notes(phase: Phase) -> list[str]:
    jumps = jumps_of(phase.equations)
    if not jumps:
        return []
    return [
        f"rates jump at {', '.join(jumps)}, which transcription does not follow inside an interval: the solution is exact to the "
        "length of intervals only; use Adjoint, smooth the jumps, or make a phase of each branch"
    ]


def check_dropped(solution: PhaseSolution, p: Reals) -> list[str]:
    """Conditions at the end that were dropped as redundant but are not satisfied."""
    phase = solution.phase
    if not phase.dropped:
        return []
    y, u = phase.start.copy(), phase.inputs.copy()
    y[phase.kept_indices] = solution.states[-1]
    names = [q.name for q in phase.equations.inputs]
    u[[names.index(name) for name in phase.controls]] = solution.controls[-1]
    z = solution.algebraic[-1] if len(solution.algebraic) else np.zeros(0)
    reported = phase.evaluator({n: e for n, e, _ in phase.dropped})
    values = reported(solution.begin + solution.duration, y, z, u, p).full().ravel()
    return [
        f"finish: {name} was dropped as a consequence of the other conditions, but is {value:.3g} instead of {wanted:g}"
        for (name, _, wanted), value in zip(phase.dropped, values, strict=True)
        if abs(value - wanted) > 1e-5
    ]
