"""A search on one mesh: transcribe, compile, solve, and the solution in phases.

Tolerances and the barrier of a search are relative to sizes of unknowns and of the cost, which a statement gives only roughly. A
minimum that is far below the size of the cost, or far beyond those of the unknowns, is solved for again in the sizes it has."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Collocation
from draisine.optimal.attainment import CONVERGED, in_reached_sizes
from draisine.optimal.control_arcs import SHORTEST, ControlArcs, moved_breaks
from draisine.optimal.control_turns import without_turns
from draisine.optimal.first_order_conditions import kkt, lagrangian_gradient, pontryagin
from draisine.optimal.guess import Guess, guesses
from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome, solve_sparse_nlp
from draisine.optimal.nlp import SparseNLP
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import PhaseValues
from draisine.optimal.phase_builder import PhaseBuilder, parameter_ranges
from draisine.optimal.refinement import constant_errors
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.optimal.transcription import PhaseIndices, TranscribedProblem, interval_errors, transcribe
from draisine.optimal.verification import prepare_simulation
from draisine.results.status import ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
    from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]

NEAR_GUESS = {"mu_init": 1e-5, "bound_push": 1e-7, "bound_frac": 1e-7}  # options that keep IPOPT near its guess
FURTHER = 120  # iterations of each of the searches that continue or repair another one
# A minimum below SMALL of the size of the cost is solved for again, up to SHARPENED times, unless it is VANISHING
SMALL, VANISHING, SHARPENED = 1e-3, 1e-12, 3
FLATTEST = 1e-60  # of the size of the cost: a gradient below is zero
RESCALED = 4  # times; a minimum 1e40 times beyond the sizes of the statement is not sought
LEAST_INTERVAL = 1e-10  # of the duration, which times still tell apart
FLAT = 1e-7  # scaled multipliers below this are zero


@dataclass(frozen=True, eq=False)
class MeshSolution:
    """The solution of a problem on one mesh."""

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
class Task:
    """A maneuver, with its phases: what is solved on one mesh after the other."""

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
        duration: tuple[float, float] | None = None,
    ) -> MeshSolution:
        """Solve on one mesh; `duration` are other limits of that of a single phase."""
        started = time.perf_counter()
        transcribed = self.transcribed(schemes, guess)
        if duration is not None:
            transcribed = _with_duration(transcribed, *duration)
        compiling = time.perf_counter()
        compiled = transcribed.nlp.begin_compiling()
        for builder, phase, scheme in zip(self.builders, self.phases, schemes, strict=True):
            if not builder.source.unilateral:  # those are simulated across modes
                prepare_simulation(phase, scheme.grid)
        compiled()
        ready = time.perf_counter()
        earlier = guess.answer if solver.warm and isinstance(guess, Solution) and same_size(guess.answer, transcribed) else None
        answer = solve_sparse_nlp(transcribed.nlp, transcribed.guess, solver, progress, earlier)
        transcribed, answer = _in_reached_sizes(transcribed, answer, solver, progress)
        transcribed, answer = _sharper(transcribed, answer, solver, progress)
        for name, spent in (
            ("transcribe", compiling - started + answer.seconds["prepare"]),
            ("compile", ready - compiling),
            ("solve", answer.seconds["solve"]),
            ("evaluate", answer.seconds["evaluate"]),
        ):
            seconds[name] = seconds.get(name, 0.0) + spent
        return self.evaluated(schemes, transcribed, answer)

    def in_arcs(
        self,
        schemes: list[DirectMethod],
        arcs: list[ControlArcs | None],
        guess: Guess,
        solver: Ipopt,
        progress: ProgressCallback | None,
        seconds: dict[str, float],
    ) -> tuple[MeshSolution | None, list[Reals]]:
        """Solve with mesh points that move and controls held at their bounds: the same solution on the mesh that has moved, None
        if no minimum is found; and, where arcs have vanished, the share of the duration of each arc."""
        began = time.perf_counter()
        transcribed = self.transcribed(schemes, guess, arcs)
        transcribed.nlp.begin_compiling()()
        answer = solve_sparse_nlp(transcribed.nlp, transcribed.guess, solver, progress)
        seconds["solve"] = seconds.get("solve", 0.0) + time.perf_counter() - began
        if answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if answer.outcome not in CONVERGED:
            return None, []
        moved = [
            moved_breaks(scheme.grid.breaks, answer.w[i.clocks], answer.w[i.begin], answer.w[i.length])
            for scheme, i in zip(schemes, transcribed.indices, strict=True)
        ]
        edges = [np.array([0, *(() if arc is None else arc.moving), -1]) for arc in arcs]
        shares = [np.diff(breaks[edge]) for breaks, edge in zip(moved, edges, strict=True)]
        if any((share < SHORTEST).any() for share in shares):
            return None, shares
        if any((np.diff(breaks) < LEAST_INTERVAL).any() for breaks in moved):
            return None, []
        return self._on_moved_mesh([_on(s, b) for s, b in zip(schemes, moved, strict=True)], transcribed, answer), []

    def _on_moved_mesh(self, schemes: list[DirectMethod], transcribed: TranscribedProblem, answer: NlpSolution) -> MeshSolution:
        """The solution as one of a mesh whose points stay: its rows are the same. Multipliers of the bounds at which controls
        were held follow from stationarity."""
        w, indices = answer.w, transcribed.indices
        values = [PhaseValues(float(w[i.begin]), float(w[i.length]), w[i.points], w[i.algebraic], w[i.controls]) for i in indices]
        plain = self.transcribed_from(schemes, values)
        clocks = np.concatenate([np.unique(i.clocks) for i in indices if len(i.clock_rows)])
        rows = np.concatenate([i.clock_rows - 1 for i in indices])
        answer = replace(
            answer,
            w=np.delete(w, clocks),
            row_multipliers=np.delete(answer.row_multipliers, rows),
            bound_multipliers=np.delete(answer.bound_multipliers, clocks),
        )
        at_bound = np.delete(transcribed.nlp.low == transcribed.nlp.high, clocks) & (plain.nlp.low < plain.nlp.high)
        answer.bound_multipliers[at_bound] = -lagrangian_gradient(plain.nlp, answer)[at_bound]
        residuals = kkt(plain.nlp, answer)
        answer = replace(answer, violation=residuals.violation, stationarity=residuals.stationarity)
        return self.evaluated(schemes, plain, answer)

    def transcribed(
        self, schemes: list[DirectMethod], guess: Guess | None, arcs: list[ControlArcs | None] | None = None
    ) -> TranscribedProblem:
        return self.transcribed_from(schemes, guesses(guess, self.phases, [s.grid for s in schemes]), arcs)

    def transcribed_from(
        self, schemes: list[DirectMethod], values: list[PhaseValues], arcs: list[ControlArcs | None] | None = None
    ) -> TranscribedProblem:
        link_expressions = [
            builder.link_expressions(phase.kept) for builder, phase in zip(self.builders[1:], self.phases[1:], strict=True)
        ]
        return transcribe(self.phases, schemes, values, parameter_ranges(self.maneuver), link_expressions, arcs)

    def evaluated(self, schemes: list[DirectMethod], transcribed: TranscribedProblem, answer: NlpSolution) -> MeshSolution:
        w = answer.w
        for phase, indices in zip(self.phases, transcribed.indices, strict=True):
            w = without_turns(phase, indices, w, transcribed.guess)
        answer = answer if w is answer.w else replace(answer, w=w)
        phases = tuple(
            _phase_solution(phase, scheme, indices, transcribed, answer)
            for phase, scheme, indices in zip(self.phases, schemes, transcribed.indices, strict=True)
        )
        return MeshSolution(schemes, transcribed, answer, phases)

    def parameters_of(self, phase: Phase, found: MeshSolution) -> Reals:
        """All parameters, including the optimized ones."""
        theta = dict(zip(phase.unknown_parameters, found.answer.w[found.transcribed.parameters], strict=True))
        return np.array([theta.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)])


def _on(scheme: DirectMethod, breaks: Reals) -> DirectMethod:
    """The same scheme with its mesh points elsewhere."""
    assert isinstance(scheme, Collocation)
    return scheme.on(breaks, scheme.constant_controls)


def same_size(earlier: NlpSolution, transcribed: TranscribedProblem) -> bool:
    """Whether an earlier result has the same numbers of unknowns and rows."""
    nlp = transcribed.nlp
    return len(earlier.bound_multipliers) == nlp.unknowns and len(earlier.row_multipliers) == nlp.rows


def _with_duration(transcribed: TranscribedProblem, least: float, most: float) -> TranscribedProblem:
    """The same problem with other limits of the duration of its only phase."""
    (indices,) = transcribed.indices
    low, high, guess = transcribed.nlp.low.copy(), transcribed.nlp.high.copy(), transcribed.guess.copy()
    low[indices.length], high[indices.length] = least, most
    guess[indices.length] = np.clip(guess[indices.length], least, most)
    return replace(transcribed, nlp=replace(transcribed.nlp, low=low, high=high), guess=guess)


def _sharper(
    transcribed: TranscribedProblem, answer: NlpSolution, solver: Ipopt, progress: ProgressCallback | None
) -> tuple[TranscribedProblem, NlpSolution]:
    """A minimum that is small relative to the size of the cost, solved for again with the size that it has.

    Tolerance and barrier of the search are relative to the size of the cost, so that a minimum of 1e-8 of it has no digit:
    ∫u² falls with the cube of a free duration, and the search ends before the longest one. Where the cost is next to zero, its
    gradient gives the size: x⁴ − 1e-6 x is flat at zero beside one of size 1, and falls from there.
    """
    whole, spent = transcribed.nlp.objective_scale, dict(answer.seconds)
    for _ in range(SHARPENED):
        nlp, size = transcribed.nlp, abs(answer.objective)
        if answer.outcome not in CONVERGED or not size < SMALL * nlp.objective_scale:
            break
        if size <= VANISHING * whole:
            size = _slope_of_cost(nlp, answer.w)
            if not FLATTEST * whole < size < SMALL * nlp.objective_scale:
                break
        nlp = replace(nlp, objective_scale=size)
        near = replace(solver, iterations=min(solver.iterations, FURTHER), options={**NEAR_GUESS, **solver.options})
        again = solve_sparse_nlp(nlp, answer.w, near, progress)
        spent = {name: seconds + again.seconds.get(name, 0.0) for name, seconds in spent.items()}
        if again.outcome is Outcome.INTERRUPTED:
            return transcribed, replace(answer, outcome=Outcome.INTERRUPTED)
        if again.outcome not in CONVERGED or again.objective > answer.objective + solver.tolerance * nlp.objective_scale:
            break
        # steps of a search that begins at a solution are short by themselves
        answer = replace(again, iterations=answer.iterations + again.iterations, steps=answer.steps)
        transcribed = replace(transcribed, nlp=nlp)
    return transcribed, replace(answer, seconds=spent)


def _slope_of_cost(nlp: SparseNLP, w: Reals) -> float:
    """The largest change of the cost when one unknown that is free to fall or rise changes by its scale."""
    slope = nlp.jacobian(w)[0]
    room = np.where(slope > 0.0, w - nlp.low, nlp.high - w) > FLAT * nlp.scale
    return float(np.abs(np.where(room, slope * nlp.scale, 0.0)).max(initial=0.0))


def _in_reached_sizes(
    transcribed: TranscribedProblem, answer: NlpSolution, solver: Ipopt, progress: ProgressCallback | None
) -> tuple[TranscribedProblem, NlpSolution]:
    """The solution of a search that went orders of magnitude beyond the sizes of its statement, in units of where it went."""
    spent, first = dict(answer.seconds), (transcribed, answer)
    for _ in range(RESCALED):
        if answer.far is None:
            break
        nlp = in_reached_sizes(transcribed.nlp, answer.far, transcribed.nlp.values(answer.far)[0])
        limited = replace(solver, iterations=min(solver.iterations, FURTHER))
        answer = solve_sparse_nlp(nlp, answer.far, limited, progress)
        spent = {name: seconds + answer.seconds.get(name, 0.0) for name, seconds in spent.items()}
        transcribed = replace(transcribed, nlp=nlp)
    if answer.outcome not in (*CONVERGED, Outcome.UNBOUNDED, Outcome.INTERRUPTED):
        transcribed, answer = first
    return transcribed, replace(answer, seconds=spent)


def _phase_solution(
    phase: Phase, scheme: DirectMethod, indices: PhaseIndices, transcribed: TranscribedProblem, answer: NlpSolution
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
        np.maximum(
            interval_errors(phase, scheme, indices, w, rates, shared), constant_errors(phase, scheme, w[indices.controls])
        ),
        pontryagin(phase, scheme, indices, transcribed, answer),
    )
