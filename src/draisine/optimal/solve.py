"""Solution by direct transcription: build phases, guess, transcribe, compile, solve, refine the mesh, verify by simulation.

Searches that fail are repaired where that is possible (`_Task.repaired`, `feasibility`); of an infeasible problem, the
conflicting conditions are named."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.feasibility import find_conflicts, least_violation, narrowing_bounds
from draisine.optimal.first_order_conditions import kkt, pontryagin
from draisine.optimal.guess import Guess, LinearGuess, PerturbedGuess, guesses
from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome, solve_sparse_nlp
from draisine.optimal.minimum_principle import better_controls
from draisine.optimal.mode_verification import across_modes
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase_builder import PhaseBuilder, build_phases, parameter_ranges
from draisine.optimal.refinement import Refinement, next_meshes
from draisine.optimal.second_order import curvature
from draisine.optimal.shooting import check_scheme
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.optimal.transcription import (
    PhaseIndices,
    TranscribedProblem,
    control_unknowns,
    interval_errors,
    transcribe,
)
from draisine.optimal.verdict import TOLERANCE, Verdict, verdict
from draisine.optimal.verification import (
    GROWTH,
    Simulated,
    prepare_simulation,
    simulate_phase,
    stable_windows,
    transition_matrices,
)
from draisine.program.switching import jumps_of
from draisine.results.status import Ending, ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
    from draisine.optimal.phase import Phase, PhaseValues

Reals = NDArray[np.float64]

DURATIONS = (3.0, 10.0, 30.0, 100.0, 1.0, 0.3)  # of feasible motions, relative to the guess
PERTURBATIONS = 2  # further attempts with perturbed guesses where the default guess fails
REPAIRED = (Outcome.INFEASIBLE, Outcome.FAILED)
CONVERGED = (Outcome.SOLVED, Outcome.ACCEPTABLE)
USELESS = 1.0  # miss of a motion, relative to the scale of a quantity, above which windows show more of it
SHARPER = 1e-3  # tolerance of IPOPT on refined meshes, relative to that of the motion
NEAR_GUESS = {"mu_init": 1e-5, "bound_push": 1e-7, "bound_frac": 1e-7}  # options that keep IPOPT near its guess
SHARES = (0.15, 0.35, 0.6, 0.85)  # of the ranges of optimized parameters, from which further searches begin
NOISE, LONGER = 0.05, 3.0  # of the scales of unknowns, beside a guess; factor of its duration
RESCUING = 120  # iterations of each of the searches that repair a guess
RESCUED = "the guess led nowhere and was repaired"
# A minimum below SMALL of the size of the cost is solved for again, up to SHARPENED times, unless it is VANISHING
SMALL, VANISHING, SHARPENED = 1e-3, 1e-12, 3
FEASIBLE = 1e-6  # violation, scaled, of an iterate that is kept at an interruption
ESCAPES = 4  # from saddles, on a mesh
NEEDLES, NOT_BETTER = 4, 1e-7  # searches from needle variations on a mesh; relative gain that counts
LAST_NEEDLES, CONSIDERED = 3, 1e-5  # searches where a mesh is fine enough; relative gain that other controls promise
LEAST_ERROR = 1e-13  # of an interval, asked of a mesh
FLAT = 1e-7  # scaled multipliers below this are zero
LEAST_SECONDS = 1e-3  # for a search that begins when the limit is reached: it ends after one iteration


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
    task = _Task(maneuver, builders, phases)
    seconds = {"pose": time.perf_counter() - began}
    found = task.once(schemes, guess, solver, progress, seconds)
    notes: list[str] = []
    try:
        for seed in range(PERTURBATIONS if guess is None else 0):
            if found.answer.outcome not in REPAIRED:
                break
            other = task.once(schemes, PerturbedGuess(seed=seed), solver, progress, seconds)
            if other.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                found = other
                notes.append(f"the linear guess failed; PerturbedGuess(seed={seed}) was used")
        if found.answer.outcome in REPAIRED:
            found, more = task.repaired(found, guess, solver, progress, seconds)
            notes += more
        if found.answer.outcome in REPAIRED and guess is None:
            found, more = task.with_other_parameters(found, solver, progress, seconds)
            notes += more
        if rescue and found.answer.outcome in (*REPAIRED, Outcome.TOO_MANY_ITERATIONS):
            found, more = task.rescued(found, solver, progress, seconds)
            notes += more
        found, more = task.minimum(found, solver, progress, seconds)
        notes += more
        found, more = task.beside(found, solver, progress, seconds)
        notes += more
        if found.answer.outcome in CONVERGED and any(p.phase.kinks(p.scheme) for p in found.phases):
            # the derivative at a kink is taken as zero, as at a minimum
            found, _ = task.with_needles(found, solver, progress, seconds)
        verified, rounds = task.timed_verification(found, tolerance, seconds), 1
    except KeyboardInterrupt:  # the best so far is kept, and verified
        found = replace(found, answer=replace(found.answer, outcome=Outcome.INTERRUPTED))
        verified, rounds = task.timed_verification(found, tolerance, seconds), 1
    if refine is not None and found.answer.outcome in CONVERGED:
        found, verified, rounds, more = task.refined(found, verified, refine, solver, progress, seconds, began)
        notes += more
    names = find_conflicts(found.transcribed.nlp, found.answer.w, solver) if found.answer.outcome is Outcome.INFEASIBLE else ()
    return replace(task.solution(found, verified, tolerance, names, notes, seconds, rounds, began), refined=refine is not None)


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
    task = _Task(maneuver, builders, phases)
    transcribed = task.transcribed(schemes, None)
    if not _same_size(answer, transcribed):
        raise DataError(
            f"{phases[0].equations.name}: the stored result has {len(answer.bound_multipliers)} unknowns and "
            f"{len(answer.row_multipliers)} conditions, this maneuver {transcribed.nlp.unknowns} and {transcribed.nlp.rows}; "
            "state the maneuver that was solved"
        )
    found = task.evaluated(schemes, transcribed, answer)
    return task.solution(found, task.verified(found, tolerance), tolerance, conflicts, [], {}, rounds, began)


def _each(method: DirectMethod | Sequence[DirectMethod], count: int) -> list[DirectMethod]:
    given = [method] * count if isinstance(method, Collocation | MultipleShooting) else list(method)
    if len(given) != count:
        raise ArgumentError(f"method: {len(given)} given for {count} phases; give one for all, or one for each")
    for scheme in given:
        if isinstance(scheme, MultipleShooting):
            check_scheme(scheme)
    return given


def _same_size(earlier: NlpSolution, transcribed: TranscribedProblem) -> bool:
    """Whether an earlier result has the same numbers of unknowns and rows."""
    nlp = transcribed.nlp
    return len(earlier.bound_multipliers) == nlp.unknowns and len(earlier.row_multipliers) == nlp.rows


def _with_duration(transcribed: TranscribedProblem, duration: float) -> TranscribedProblem:
    """The same problem with a fixed duration of its only phase."""
    (indices,) = transcribed.indices
    low, high, guess = transcribed.nlp.low.copy(), transcribed.nlp.high.copy(), transcribed.guess.copy()
    low[indices.length] = high[indices.length] = guess[indices.length] = duration
    return replace(transcribed, nlp=replace(transcribed.nlp, low=low, high=high), guess=guess)


def _sharper(
    transcribed: TranscribedProblem, answer: NlpSolution, solver: Ipopt, progress: ProgressCallback | None
) -> tuple[TranscribedProblem, NlpSolution]:
    """A minimum that is small relative to the size of the cost, solved for again with the size that it has.

    Tolerance and barrier of the search are relative to the size of the cost, so that a minimum of 1e-8 of it has no digit:
    ∫u² falls with the cube of a free duration, and the search ends before the longest one.
    """
    whole, spent = transcribed.nlp.objective_scale, dict(answer.seconds)
    for _ in range(SHARPENED):
        nlp, size = transcribed.nlp, abs(answer.objective)
        if answer.outcome not in CONVERGED or not VANISHING * whole < size < SMALL * nlp.objective_scale:
            break
        nlp = replace(nlp, objective_scale=size)
        near = replace(solver, iterations=min(solver.iterations, RESCUING), options={**NEAR_GUESS, **solver.options})
        again = solve_sparse_nlp(nlp, answer.w, near, progress)
        spent = {name: seconds + again.seconds.get(name, 0.0) for name, seconds in spent.items()}
        if again.outcome is Outcome.INTERRUPTED:
            return transcribed, replace(answer, outcome=Outcome.INTERRUPTED)
        if again.outcome not in CONVERGED or again.objective > answer.objective + solver.tolerance * nlp.objective_scale:
            break
        answer = replace(again, iterations=answer.iterations + again.iterations)
        transcribed = replace(transcribed, nlp=nlp)
    return transcribed, replace(answer, seconds=spent)


@dataclass(frozen=True, eq=False)
class _MeshSolution:
    schemes: list[DirectMethod]
    transcribed: TranscribedProblem
    answer: NlpSolution
    phases: tuple[PhaseSolution, ...]

    @property
    def error(self) -> float:
        return max(float(p.errors.max(initial=0.0)) for p in self.phases)

    @property
    def node_arguments(self) -> list[Reals]:
        """Arguments of `Phase.node` at the nodes of each phase."""
        return [p.node_arguments(self.answer.w[self.transcribed.parameters]) for p in self.phases]

    @property
    def is_flat(self) -> bool:
        """Whether neither conditions nor bounds cost anything: the cost has no gradient, at a minimum or elsewhere."""
        nlp, answer = self.transcribed.nlp, self.answer
        prices = (answer.row_multipliers * nlp.row_scale, answer.bound_multipliers * nlp.scale)
        return all(float(np.abs(price).max(initial=0.0)) < FLAT * nlp.objective_scale for price in prices)

    @property
    def excess(self) -> float:
        """By how much other controls lower the cost, to first order (`minimum_principle`)."""
        return sum(p.excess(self.answer.w[self.transcribed.parameters]) for p in self.phases)


@dataclass(frozen=True, eq=False)
class _Verified:
    runs: tuple[Simulated, ...]
    verdict: Verdict
    growth: float


@dataclass(frozen=True, eq=False)
class _Task:
    maneuver: OptimalControlProblem
    builders: list[PhaseBuilder]
    phases: tuple[Phase, ...]

    def once(
        self,
        schemes: list[DirectMethod],
        guess: Guess | None,
        solver: Ipopt,
        progress: ProgressCallback | None,
        seconds: dict[str, float],
        duration: float | None = None,
    ) -> _MeshSolution:
        """Solve on one mesh; `duration` keeps that of a single phase fixed."""
        started = time.perf_counter()
        transcribed = self.transcribed(schemes, guess)
        if duration is not None:
            transcribed = _with_duration(transcribed, duration)
        compiling = time.perf_counter()
        compiled = transcribed.nlp.begin_compiling()
        for builder, phase, scheme in zip(self.builders, self.phases, schemes, strict=True):
            if not builder.source.unilateral:  # those are simulated across modes
                prepare_simulation(phase, scheme.grid)
        compiled()
        ready = time.perf_counter()
        earlier = guess.answer if solver.warm and isinstance(guess, Solution) and _same_size(guess.answer, transcribed) else None
        answer = solve_sparse_nlp(transcribed.nlp, transcribed.guess, solver, progress, earlier)
        transcribed, answer = _sharper(transcribed, answer, solver, progress)
        for name, spent in (
            ("transcribe", compiling - started + answer.seconds["prepare"]),
            ("compile", ready - compiling),
            ("solve", answer.seconds["solve"]),
            ("evaluate", answer.seconds["evaluate"]),
        ):
            seconds[name] = seconds.get(name, 0.0) + spent
        return self.evaluated(schemes, transcribed, answer)

    def transcribed(self, schemes: list[DirectMethod], guess: Guess | None) -> TranscribedProblem:
        return self._transcribed(schemes, guesses(guess, self.phases, [s.grid for s in schemes]))

    def _transcribed(self, schemes: list[DirectMethod], values: list[PhaseValues]) -> TranscribedProblem:
        link_expressions = [
            builder.link_expressions(phase.kept) for builder, phase in zip(self.builders[1:], self.phases[1:], strict=True)
        ]
        return transcribe(self.phases, schemes, values, parameter_ranges(self.maneuver), link_expressions)

    def evaluated(self, schemes: list[DirectMethod], transcribed: TranscribedProblem, answer: NlpSolution) -> _MeshSolution:
        phases = tuple(
            self._phase(phase, scheme, indices, transcribed, answer)
            for phase, scheme, indices in zip(self.phases, schemes, transcribed.indices, strict=True)
        )
        return _MeshSolution(schemes, transcribed, answer, phases)

    def repaired(
        self,
        failed: _MeshSolution,
        guess: Guess | None,
        solver: Ipopt,
        progress: ProgressCallback | None,
        seconds: dict[str, float],
    ) -> tuple[_MeshSolution, list[str]]:
        """A solution by way of a feasible motion of fixed duration, where the search failed and the duration is free.

        A search for the least time from a motion that violates conditions often shortens it to nothing, where the violation
        has a local minimum. With a fixed duration it cannot; from a feasible motion it stays feasible.
        """
        if len(self.phases) > 1 or not self.phases[0].times[0] < self.phases[0].times[1]:
            return failed, []
        low, high = self.phases[0].times
        (values,) = guesses(guess, self.phases, [s.grid for s in failed.schemes])
        tried: list[float] = []
        for factor in DURATIONS:
            duration = float(np.clip(values.duration * factor, low, high))
            if any(abs(np.log(duration / other)) < 0.1 for other in tried):
                continue
            tried.append(duration)
            first = guess if isinstance(guess, PerturbedGuess | Solution | PhaseSolution) else LinearGuess(duration=duration)
            feasible = self.once(failed.schemes, first, solver, progress, seconds, duration)
            if feasible.answer.outcome in CONVERGED:
                other = self.once(failed.schemes, feasible.phases, solver, progress, seconds)
                if other.answer.outcome is Outcome.INTERRUPTED and other.answer.violation > FEASIBLE:
                    other = replace(feasible, answer=replace(feasible.answer, outcome=Outcome.INTERRUPTED))
                if other.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                    return other, [f"the search from the guess failed; it began anew from a feasible motion of {duration:.3g} s"]
            if feasible.answer.outcome is Outcome.INTERRUPTED:
                return replace(failed, answer=replace(failed.answer, outcome=Outcome.INTERRUPTED)), []
        return failed, []

    def with_other_parameters(
        self, failed: _MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
    ) -> tuple[_MeshSolution, list[str]]:
        """The best solution from simulated motions with other values of the optimized parameters, where the search failed.

        A motion that obeys its equations violates conditions at the end only, and their dependence on parameters is seen.
        """
        ranges = parameter_ranges(self.maneuver)
        if len(self.phases) > 1 or not ranges or not self.phases[0].start_fixed:
            return failed, []
        (phase,), (scheme,), found, notes = self.phases, failed.schemes, failed, list[str]()
        (first,) = guesses(None, self.phases, [scheme.grid])
        for share in SHARES:
            chosen = {name: low + share * (high - low) for name, (low, high) in ranges.items()}
            p = np.array([chosen.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)])
            run = simulate_phase(phase, scheme.grid, 0.0, first.duration, self.builders[0].start, first.controls, p)
            if run.status.kind is not Ending.FINISHED:
                continue
            kept = [phase.symbols.state_indices[i] for i in phase.kept_indices]
            at = first.duration * scheme.grid.points
            states = np.column_stack([np.interp(at, run.samples.times, run.samples.states[:, i]) for i in kept])
            transcribed = self._transcribed(failed.schemes, [replace(first, states=states)])
            w = transcribed.guess.copy()
            w[transcribed.parameters] = [chosen[name] for name in phase.unknown_parameters]
            answer = solve_sparse_nlp(transcribed.nlp, w, solver, progress)
            seconds["solve"] = seconds.get("solve", 0.0) + answer.seconds["solve"]
            better = found is failed or answer.objective < found.answer.objective
            if answer.outcome is Outcome.INTERRUPTED or (answer.outcome in CONVERGED and better):
                found = self.evaluated(failed.schemes, transcribed, answer)
                values = ", ".join(f"{name} = {value:.4g}" for name, value in chosen.items())
                notes = [f"the search from the guess failed; it began anew from the motion with {values}"]
            if answer.outcome is Outcome.INTERRUPTED:
                break
        return found, notes

    def rescued(
        self, failed: _MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
    ) -> tuple[_MeshSolution, list[str]]:
        """A solution by way of a feasible point near the guess or near the end of its search, or by homotopy in bounds."""
        began, nlp, first = time.perf_counter(), failed.transcribed.nlp, failed.transcribed.guess
        controls, weights = control_unknowns(failed.transcribed, failed.schemes)
        # a guess may be symmetric, a saddle of the violation, and too short: conditions that need time are violated most there
        beside = first + NOISE * nlp.scale * np.random.default_rng(0).normal(size=len(first))
        beside[[indices.length for indices in failed.transcribed.indices]] *= LONGER
        beside = np.clip(beside, nlp.low, nlp.high)
        limited = replace(solver, iterations=min(solver.iterations, RESCUING))

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
                rescued = self.evaluated(failed.schemes, failed.transcribed, answer)
                notes = [f"{RESCUED} by {how}: the search began anew from a motion that meets all conditions"]
                break
        seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
        return rescued, notes

    def minimum(
        self, found: _MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
    ) -> tuple[_MeshSolution, list[str]]:
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
                answer = solve_sparse_nlp(
                    nlp, np.clip(found.answer.w + sign * curved.direction, nlp.low, nlp.high), solver, progress
                )
                seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
                lower = answer.objective < found.answer.objective - NOT_BETTER * nlp.objective_scale
                if answer.outcome is Outcome.INTERRUPTED and not (lower and answer.violation < FEASIBLE):
                    raise KeyboardInterrupt  # what was found before is better
                if answer.outcome is Outcome.UNBOUNDED or (answer.outcome in (*CONVERGED, Outcome.INTERRUPTED) and lower):
                    break
            else:
                return replace(found, answer=replace(found.answer, outcome=Outcome.SADDLE)), []
            found = self.evaluated(found.schemes, found.transcribed, answer)
        return found, []

    def beside(
        self, found: _MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
    ) -> tuple[_MeshSolution, list[str]]:
        """A lower cost from perturbed guesses, where the search ended at a point at which the cost is flat, with notes.

        Neither first nor second derivatives tell the maxima of −x⁴ or −|x| from minima.
        """
        if found.answer.outcome not in CONVERGED or not found.is_flat:
            return found, []
        for seed in range(PERTURBATIONS):
            other = self.once(found.schemes, PerturbedGuess(seed=seed), solver, progress, seconds)
            if other.answer.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            lower = other.answer.objective < found.answer.objective - NOT_BETTER * found.transcribed.nlp.objective_scale
            if other.answer.outcome is Outcome.UNBOUNDED or (other.answer.outcome in CONVERGED and lower):
                return other, [f"the first search ended at a flat point that is no minimum; PerturbedGuess(seed={seed}) was used"]
        return found, []

    def with_needles(
        self, found: _MeshSolution, solver: Ipopt, progress: ProgressCallback | None, seconds: dict[str, float]
    ) -> tuple[_MeshSolution, bool]:
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
            other = self.once(found.schemes, guess, solver, progress, seconds)
            if other.answer.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            better = other.answer.objective < found.answer.objective - NOT_BETTER * abs(found.answer.objective)
            if other.answer.outcome not in CONVERGED or not better:
                return found, False
            found = other
        return found, True

    def timed_verification(self, found: _MeshSolution, tolerance: float, seconds: dict[str, float]) -> _Verified:
        started = time.perf_counter()
        verified = self.verified(found, tolerance)
        seconds["simulate"] = seconds.get("simulate", 0.0) + time.perf_counter() - started
        return verified

    def refined(
        self,
        found: _MeshSolution,
        verified: _Verified,
        refine: Refinement,
        solver: Ipopt,
        progress: ProgressCallback | None,
        seconds: dict[str, float],
        began: float,
    ) -> tuple[_MeshSolution, _Verified, int, list[str]]:
        """The solution on finer meshes, until mesh and motion are accurate enough or a limit is reached, with notes."""
        rounds, target, needles, last = 1, refine.tolerance, True, 0

        def interrupted_at(found: _MeshSolution) -> tuple[_MeshSolution, _Verified, int, list[str]]:
            note = f"interrupted during refinement; the solution on {rounds} mesh{'es' if rounds > 1 else ''} is returned"
            return replace(found, answer=replace(found.answer, outcome=Outcome.INTERRUPTED)), verified, rounds, [note]

        def within_limit(settings: Ipopt) -> Ipopt:
            """No search may take more than the seconds that are left when it begins."""
            left = max(refine.seconds - (time.perf_counter() - began), LEAST_SECONDS)
            return replace(settings, options={"max_wall_time": left, **settings.options})

        while True:
            judged = verified.verdict
            if found.error <= target and judged.holds:
                better = found
                if (needles and rounds == 1) or (last < LAST_NEEDLES and found.excess > CONSIDERED * abs(found.answer.objective)):
                    try:
                        better, _ = self.with_needles(found, within_limit(solver), progress, seconds)
                        judged_anew = verified if better is found else self.timed_verification(better, refine.tolerance, seconds)
                    except KeyboardInterrupt:
                        return interrupted_at(found)
                if better is found:
                    return found, verified, rounds, []
                found, verified, needles, last = better, judged_anew, False, last + 1
                continue
            left = refine.seconds - (time.perf_counter() - began)
            if rounds > refine.rounds or left <= 0.0:
                limit = f"{refine.rounds} rounds" if left > 0.0 else f"{refine.seconds:g} s"
                return found, verified, rounds, [f"refinement stopped at its limit of {limit}; see Refinement(…)"]
            if found.error <= target and not any(v.any() for v in judged.violated):
                target *= float(np.clip(0.3 * refine.tolerance / judged.worst, 1e-3, 0.1))
            meshes = next_meshes(refine, found.phases, target, judged.violated, judged.overshot)
            if not meshes or target < LEAST_ERROR:
                reached = f"{sum(len(p.errors) for p in found.phases)} intervals"
                return found, verified, rounds, [f"refinement ended with {reached}: no finer mesh; see Refinement(most=…)"]
            # the barrier of IPOPT keeps unknowns away from their bounds: its tolerance must be well below that of the motion
            sharp = min(solver.tolerance, SHARPER * refine.tolerance)
            sharper = replace(solver, tolerance=sharp)
            near = replace(sharper, options={**NEAR_GUESS, **solver.options})
            try:
                for schemes, settings in [(s, o) for s in meshes for o in (near, sharper)]:
                    finer = self.once(schemes, found.phases, within_limit(settings), progress, seconds)
                    if finer.answer.outcome in (*CONVERGED, Outcome.INTERRUPTED):
                        break
                interrupted = finer.answer.outcome is Outcome.INTERRUPTED
                if finer.answer.outcome in CONVERGED:
                    if needles:
                        finer, needles = self.with_needles(finer, within_limit(near), progress, seconds)
                    finer_verified = self.timed_verification(finer, refine.tolerance, seconds)
                    interrupted = finer_verified.runs[-1].status.kind is Ending.INTERRUPTED
            except KeyboardInterrupt:
                interrupted = True
            if interrupted:
                return interrupted_at(found)
            rounds += 1
            if finer.answer.outcome not in CONVERGED:
                count = sum(len(s.grid.breaks) - 1 for s in schemes)
                note = f"on a finer mesh of {count} intervals the solver did not converge ({finer.answer.solver_status})"
                return found, verified, rounds - 1, [f"{note}; the solution of the mesh before is returned"]
            found, verified = finer, finer_verified

    def solution(
        self,
        found: _MeshSolution,
        verified: _Verified,
        tolerance: float,
        conflicts: tuple[str, ...],
        notes: list[str],
        seconds: dict[str, float],
        rounds: int,
        began: float,
    ) -> Solution:
        """The verified solution with notes and optimality conditions."""
        answer, transcribed = found.answer, found.transcribed
        reported = [note for phase in self.phases for note in (*phase.notes, *_switching_notes(phase))]
        reported += [note for p in found.phases for note in check_dropped(p, self._parameters(p.phase, found))] + notes
        parameters = dict(zip(self.phases[0].unknown_parameters, answer.w[transcribed.parameters].tolist(), strict=True))
        conditions = kkt(transcribed.nlp, answer)
        seconds["total"] = time.perf_counter() - began
        return Solution(
            self.maneuver,
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

    def _phase(
        self, phase: Phase, scheme: DirectMethod, indices: PhaseIndices, transcribed: TranscribedProblem, answer: NlpSolution
    ) -> PhaseSolution:
        w, grid, nx = answer.w, scheme.grid, len(phase.kept)
        shared = w[np.concatenate([[indices.begin, indices.length], transcribed.parameters])]
        if indices.cluster is not None:
            rates = indices.cluster.values(w[indices.cluster.where])[:, :nx]
            (term,) = [s for s in transcribed.nlp.terms if s.cluster is indices.cluster]
            multipliers = term.matrix.T @ np.concatenate([[1.0], answer.row_multipliers])
            costates = multipliers.reshape(len(grid.nodes), -1)[:, :nx] / grid.weights[:, None]
            positions = grid.nodes
        else:
            local = np.hstack([w[indices.points[:-1]], w[indices.controls], np.tile(shared, (len(grid.nodes), 1))])
            motion = CompiledCluster(phase.motion, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(grid.nodes))
            rates = motion.values(local)[:, :nx]
            costates, positions = -answer.row_multipliers[indices.defects - 1], grid.breaks[1:]
        return PhaseSolution(
            phase,
            scheme,
            float(w[indices.begin]),
            float(w[indices.length]),
            w[indices.points],
            w[indices.algebraic],
            w[indices.controls],
            rates,
            costates,
            positions,
            interval_errors(phase, scheme, indices, w, rates, shared),
            pontryagin(phase, scheme, indices, transcribed, answer),
        )

    def simulated(self, found: _MeshSolution, windows: Sequence[list[int]] | None = None) -> tuple[Simulated, ...]:
        """Simulate all phases in sequence, each from the final state of the simulation before; `windows` gives for each phase
        the intervals at which the simulation starts from the nodes."""
        runs: list[Simulated] = []
        end = 0.0
        for k, (phase, solution, builder) in enumerate(zip(self.phases, found.phases, self.builders, strict=True)):
            v, x = phase.symbols, builder.start.copy()
            kept = [v.state_indices[i] for i in phase.kept_indices]
            x[kept] = solution.states[0]
            if k and windows is None:
                names = [q.name for q in self.phases[k - 1].equations.states]
                for i, q in enumerate(phase.equations.states):
                    joined = builder.problem.link.joined
                    jumps = (*builder.problem.link.jump, *self.builders[k - 1].landing.velocities)
                    if q.name in names and q.name not in jumps and (joined is None or q.name in joined):
                        x[i] = runs[-1].final[names.index(q.name)]
            if v.algebraic_indices and len(solution.algebraic):
                x[v.algebraic_indices] = solution.algebraic[0, -len(v.algebraic_indices) :]
            p = self._parameters(phase, found)
            begin = max(solution.begin, end)  # rounding must not make time decrease
            grid = solution.grid
            nodes = solution.states[np.searchsorted(grid.points, grid.breaks)]
            restarts = {i: nodes[i] for i in windows[k][1:]} if windows is not None else None
            runs.append(simulate_phase(phase, grid, begin, solution.duration, x, solution.controls, p, restarts))
            end = begin + solution.duration
        return tuple(runs)

    def verified(self, found: _MeshSolution, tolerance: float) -> _Verified:
        """The simulated motion and the verdict on it. A motion that misses a condition because it is unstable is simulated in
        windows: errors of rounding would grow to any size."""
        values = [self._parameters(phase, found) for phase in self.phases]
        runs = self._across(found, self.simulated(found))
        judged = verdict(found.phases, runs, values, tolerance)
        if judged.holds or not np.isfinite(found.answer.w).all():
            return _Verified(runs, judged, 1.0)
        windows, growth = self._windows(found)
        if growth <= GROWTH:
            return _Verified(runs, judged, 1.0)
        pieces = self._across(found, self.simulated(found, windows))
        in_windows = verdict(found.phases, pieces, values, tolerance)
        if in_windows.holds or judged.worst > USELESS:
            return _Verified(pieces, in_windows, growth)
        return _Verified(runs, in_windows, 1.0)  # the mesh is too coarse either way: one motion, without jumps

    def _across(self, found: _MeshSolution, runs: tuple[Simulated, ...]) -> tuple[Simulated, ...]:
        """The runs of phases, each with its part of one run across modes, where contacts have given modes."""
        stated = [None if builder.contacts is None else builder.contacts.stated for builder in self.builders]
        return across_modes(stated, found.phases, runs)

    def _windows(self, found: _MeshSolution) -> tuple[list[list[int]], float]:
        """Windows of each phase, and the largest growth of deviations over a phase."""
        made, most = [], 1.0
        for phase, solution, local in zip(self.phases, found.phases, found.node_arguments, strict=True):
            starts, growth = stable_windows(transition_matrices(phase, solution.grid, local))
            made.append(starts)
            most = max(most, growth)
        return made, most

    def _parameters(self, phase: Phase, found: _MeshSolution) -> Reals:
        """All parameters, including the optimized ones."""
        theta = dict(zip(phase.unknown_parameters, found.answer.w[found.transcribed.parameters], strict=True))
        return np.array([theta.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)])


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
