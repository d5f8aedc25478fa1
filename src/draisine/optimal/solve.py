"""From the statement to a verified solution: pose, guess, transcribe, compile, solve, refine, simulate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError
from draisine.numerics.direct_methods import Collocation
from draisine.optimal.first_order_conditions import kkt, necessary
from draisine.optimal.guess import Guess, PerturbedGuess, guesses
from draisine.optimal.ipopt import Answer, Ipopt, Outcome, Progress, solve_sparse_nlp
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase_builder import PhaseBuilder, parameter_ranges, posed
from draisine.optimal.shooting import MultipleShooting
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.optimal.solve import conflicts
from draisine.optimal.transcription import Placed, Refinement, Transcribed, interval_errors, transcribe
from draisine.optimal.verification import Simulated, simulate_phase

if TYPE_CHECKING:
    from draisine.optimal.maneuver import OptimalControlProblem, Transcription
    from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]

SHAKES = 2  # further attempts where the default guess leads nowhere


def solve(
    maneuver: OptimalControlProblem,
    method: Transcription | Sequence[Transcription],
    *,
    guess: Guess | None = None,
    solver: Ipopt | None = None,
    refine: Refinement | None = None,
    progress: Progress | None = None,
) -> Solution:
    """See `Maneuver.solve`."""
    began = time.perf_counter()
    solver = solver or Ipopt()
    schemes = _each(method, len(maneuver.phases))
    posers, phases = posed(maneuver, schemes)
    task = _Task(maneuver, posers, phases)
    seconds = {"pose": time.perf_counter() - began}
    found = task.once(schemes, guess, solver, progress, seconds)
    shaken = 0
    while guess is None and shaken < SHAKES and found.answer.outcome in (Outcome.INFEASIBLE, Outcome.FAILED):
        other = task.once(schemes, PerturbedGuess(seed=shaken), solver, progress, seconds)
        shaken += 1
        if other.answer.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE):
            found = other
    rounds = 1
    while refine is not None and found.answer.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE) and rounds <= refine.rounds:
        finer = [refine.finer(s, p.errors) for s, p in zip(found.schemes, found.phases, strict=True)]
        if all(f is None for f in finer):
            break
        schemes = [f or s for f, s in zip(finer, found.schemes, strict=True)]
        found = task.once(schemes, found.phases, solver, progress, seconds)
        rounds += 1
    names = conflicts(found.transcribed.large, found.answer.w, solver) if found.answer.outcome is Outcome.INFEASIBLE else ()
    more = [f"the straight guess led nowhere, Shaken(seed={shaken - 1}) did better"] if shaken and not names else []
    return task.solution(found, names, more, seconds, rounds, began)


def restored_by_transcription(
    maneuver: OptimalControlProblem, schemes: list[Transcription], answer: Answer, conflicts: tuple[str, ...], rounds: int
) -> Solution:
    """The solution that an answer to this maneuver was, simulated again; nothing is searched for."""
    began = time.perf_counter()
    posers, phases = posed(maneuver, schemes)
    task = _Task(maneuver, posers, phases)
    made = task.transcribed(schemes, None)
    if not _alike(answer, made):
        raise DataError(
            f"{phases[0].equations.name}: the stored answer has {len(answer.bound_multipliers)} unknowns and "
            f"{len(answer.row_multipliers)} conditions, this maneuver {made.large.unknowns} and {made.large.rows}; "
            "state the maneuver that was solved"
        )
    return task.solution(task.found(schemes, made, answer), conflicts, [], {}, rounds, began)


def _each(method: Transcription | Sequence[Transcription], count: int) -> list[Transcription]:
    if isinstance(method, Collocation | MultipleShooting):
        return [method] * count
    if len(method) != count:
        raise ArgumentError(f"method: {len(method)} given for {count} phases; give one for all, or one for each")
    return list(method)


def _alike(earlier: Answer, made: Transcribed) -> bool:
    """Whether multipliers of an earlier answer fit."""
    large = made.large
    return len(earlier.bound_multipliers) == large.unknowns and len(earlier.row_multipliers) == large.rows


@dataclass(frozen=True, eq=False)
class _Found:
    schemes: list[Transcription]
    transcribed: Transcribed
    answer: Answer
    phases: tuple[PhaseSolution, ...]


@dataclass(frozen=True, eq=False)
class _Task:
    maneuver: OptimalControlProblem
    posers: list[PhaseBuilder]
    posed: tuple[Phase, ...]

    def once(
        self,
        schemes: list[Transcription],
        guess: Guess | None,
        solver: Ipopt,
        progress: Progress | None,
        seconds: dict[str, float],
    ) -> _Found:
        """Solve on one mesh."""
        started = time.perf_counter()
        made = self.transcribed(schemes, guess)
        compiling = time.perf_counter()
        for share in made.large.shares:
            share.cluster.compile()
        ready = time.perf_counter()
        earlier = guess.answer if solver.warm and isinstance(guess, Solution) and _alike(guess.answer, made) else None
        answer = solve_sparse_nlp(made.large, made.guess, solver, progress, earlier)
        for name, spent in (
            ("transcribe", compiling - started + answer.seconds["prepare"]),
            ("compile", ready - compiling),
            ("solve", answer.seconds["solve"]),
            ("evaluate", answer.seconds["evaluate"]),
        ):
            seconds[name] = seconds.get(name, 0.0) + spent
        return self.found(schemes, made, answer)

    def transcribed(self, schemes: list[Transcription], guess: Guess | None) -> Transcribed:
        values = guesses(guess, self.posed, [s.grid for s in schemes])
        joints = [poser.joints(phase.kept) for poser, phase in zip(self.posers[1:], self.posed[1:], strict=True)]
        return transcribe(self.posed, schemes, values, parameter_ranges(self.maneuver), joints)

    def found(self, schemes: list[Transcription], made: Transcribed, answer: Answer) -> _Found:
        phases = tuple(
            self._phase(phase, scheme, placed, made, answer)
            for phase, scheme, placed in zip(self.posed, schemes, made.placed, strict=True)
        )
        return _Found(schemes, made, answer, phases)

    def solution(
        self, found: _Found, conflicts: tuple[str, ...], notes: list[str], seconds: dict[str, float], rounds: int, began: float
    ) -> Solution:
        """The answer put to the test, with all that can be said of it."""
        started = time.perf_counter()
        simulated = self.simulated(found)
        seconds["simulate"] = time.perf_counter() - started
        answer, made = found.answer, found.transcribed
        reported = [note for phase in self.posed for note in phase.notes]
        reported += [note for p in found.phases for note in doubts(p, self._parameters(p.phase, found))] + notes
        parameters = dict(zip(self.posed[0].unknown_parameters, answer.w[made.parameters].tolist(), strict=True))
        conditions = kkt(made.large, answer)
        seconds["total"] = time.perf_counter() - began
        return Solution(
            self.maneuver, found.phases, answer, parameters, simulated, tuple(reported), conflicts, seconds, rounds, conditions
        )

    def _phase(self, phase: Phase, scheme: Transcription, placed: Placed, made: Transcribed, answer: Answer) -> PhaseSolution:
        w, grid, nx = answer.w, scheme.grid, len(phase.kept)
        shared = w[np.concatenate([[placed.begin, placed.length], made.parameters])]
        if placed.cluster is not None:
            rates = placed.cluster.values(w[placed.cluster.where])[:, :nx]
            (share,) = [s for s in made.large.shares if s.cluster is placed.cluster]
            multipliers = share.matrix.T @ np.concatenate([[1.0], answer.row_multipliers])
            costates = multipliers.reshape(len(grid.nodes), -1)[:, :nx] / grid.weights[:, None]
            places = grid.nodes
        else:
            local = np.hstack([w[placed.points[:-1]], w[placed.controls], np.tile(shared, (len(grid.nodes), 1))])
            motion = CompiledCluster(phase.motion, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(grid.nodes))
            rates = motion.values(local)[:, :nx]
            costates, places = -answer.row_multipliers[placed.defects - 1], grid.breaks[1:]
        return PhaseSolution(
            phase,
            scheme,
            float(w[placed.begin]),
            float(w[placed.length]),
            w[placed.points],
            w[placed.algebraic],
            w[placed.controls],
            rates,
            costates,
            places,
            interval_errors(phase, scheme, placed, w, rates, shared),
            necessary(phase, scheme, placed, made, answer),
        )

    def simulated(self, found: _Found) -> tuple[Simulated, ...]:
        """All phases one after the other, each from where the simulation of the one before has come."""
        made: list[Simulated] = []
        end = 0.0
        for k, (phase, solution, poser) in enumerate(zip(self.posed, found.phases, self.posers, strict=True)):
            v, x = phase.vocabulary, poser.start.copy()
            places = [v.state_places[i] for i in phase.kept_indices]
            x[places] = solution.states[0]
            if k:
                names = [q.name for q in self.posed[k - 1].equations.states]
                for i, q in enumerate(phase.equations.states):
                    joined = poser.stated.joint.joined
                    if q.name in names and q.name not in poser.stated.joint.jump and (joined is None or q.name in joined):
                        x[i] = made[-1].final[names.index(q.name)]
            if v.other_places and len(solution.algebraic):
                x[v.other_places] = solution.algebraic[0, -len(v.other_places) :]
            p = self._parameters(phase, found)
            begin = max(solution.begin, end)  # rounding must not turn time back
            made.append(simulate_phase(phase, solution.grid, begin, solution.duration, x, solution.controls, p))
            end = begin + solution.duration
        return tuple(made)

    def _parameters(self, phase: Phase, found: _Found) -> Reals:
        """All parameters, the chosen ones among them."""
        theta = dict(zip(phase.unknown_parameters, found.answer.w[found.transcribed.parameters], strict=True))
        return np.array([theta.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)])


def doubts(solution: PhaseSolution, p: Reals) -> list[str]:
    """Conditions at the end that were thought to follow from others, and do not."""
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
        f"finish: {name} was left out as a consequence of the others, but is {value:.3g} instead of {wanted:g}"
        for (name, _, wanted), value in zip(phase.dropped, values, strict=True)
        if abs(value - wanted) > 1e-5
    ]
