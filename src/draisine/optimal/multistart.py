"""Multistart: solve from several guesses, keep the best and list the other local minima.

Random guesses are first solved on a coarse mesh, which is quick and avoids many poor minima, then on the mesh that is asked. A
guess that leads nowhere is repaired by a feasibility phase or a homotopy in bounds (`feasibility`); a random one for which that
fails is replaced by a perturbation of the first solution on the coarse mesh (basin hopping).

>>> import sympy as sp
>>> import draisine as dr
>>> place, push = sp.symbols("place push")
>>> hills = dr.first_order("hills", {place: push}, inputs=[push])
>>> down = dr.maneuver(hills).start(place=0).bounds(push=(-2, 2)).duration(1).minimize(final="cos(3*place) + 0.1*place")
>>> guesses = [dr.guess.ConstantGuess(inputs={"push": p}) for p in (-1.0, 1.0)]
>>> found = multistart(down, guesses, method=dr.optimal.Adjoint(pieces=2))
>>> [round(a.objective, 3) for a in found.minima]
[-1.105, -0.896]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import Collocation
from draisine.numerics.number_range import refuse_large_count, with_number_range
from draisine.numerics.parallel import Job
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.guess import ConstantGuess, LinearGuess, OneGuess, PerturbedGuess
from draisine.optimal.ipopt import Ipopt, Outcome
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.repaired_searches import RESCUED
from draisine.optimal.restore import StoredSolution, restored
from draisine.optimal.solve import solve
from draisine.results.base import Result
from draisine.results.status import Progress, ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
    from draisine.optimal.solution import Solution
    from draisine.results.trajectory import Trajectory

COARSE = 12  # intervals of a coarse mesh, at least
FEW = 150  # iterations on a coarse mesh
HOP = 0.2  # amplitude of perturbations of a solution
NEAR_GUESS = {"mu_init": 1e-3, "bound_push": 1e-4, "bound_frac": 1e-4}  # options that keep IPOPT near the coarse solution
MOST_GUESSES = 1_000_000
LONGER = 1.5  # largest factor between durations of random guesses and that of the first


@dataclass(frozen=True, eq=False)
class Attempt:
    """One solve: its guess and its solution."""

    number: int  # in the order tried
    guess: OneGuess
    solution: Solution
    repair: str = ""  # how a guess that led nowhere was repaired, or why it led nowhere and what was used instead

    @property
    def objective(self) -> float:
        return self.solution.objective

    @property
    def solved(self) -> bool:
        return self.solution.solved

    @property
    def converged(self) -> bool:
        """Whether it is a local minimum at least on its mesh."""
        return self.solution.converged

    @property
    def repaired(self) -> bool:
        """Whether its guess led nowhere, but by a feasibility phase or a homotopy in bounds to a minimum."""
        return self.converged and self.repair.startswith(RESCUED)

    @property
    def failure(self) -> str:
        """Why no minimum was found; empty if one was."""
        return "" if self.converged else failure_of(self.solution)


@dataclass(frozen=True, eq=False)
class MultistartResult(Result):
    """All attempts ordered by cost: solved ones first, then those whose motion misses a condition, then failed ones."""

    attempts: tuple[Attempt, ...]
    apart: float  # relative difference of costs above which two minima are distinct

    @property
    def best(self) -> Solution:
        return self.attempts[0].solution

    @property
    def minima(self) -> tuple[Attempt, ...]:
        """One attempt for each local minimum, the best first."""
        found: list[Attempt] = []
        for attempt in self.attempts:
            if attempt.converged and not any(self._same(attempt, other) for other in found):
                found.append(attempt)
        return tuple(found)

    def _same(self, one: Attempt, other: Attempt) -> bool:
        return abs(one.objective - other.objective) <= self.apart * max(abs(one.objective), abs(other.objective), 1e-12)

    def leading_to(self, minimum: Attempt) -> tuple[int, ...]:
        """Numbers of the attempts that converged to this minimum."""
        return tuple(sorted(a.number for a in self.attempts if a.converged and self._same(a, minimum)))

    def _table(self) -> Mapping[str, Any]:
        of = self.attempts
        return {"start": [a.number + 1 for a in of], "solved": [a.solved for a in of], "cost": [a.objective for a in of]}

    def __str__(self) -> str:
        minima = self.minima
        lost = [a for a in self.attempts if not a.converged]
        kinds = "local minimum" if len(minima) == 1 else "local minima"
        repaired = sum(a.repaired for a in self.attempts)
        counts = [f"{repaired} repaired"] * bool(repaired) + [f"{len(lost)} failed"] * bool(lost)
        lines = [", ".join([f"{len(self.attempts)} starts, {len(minima)} {kinds}", *counts])]
        for m in minima:
            above = m.objective - minima[0].objective
            share = f", {above / max(abs(minima[0].objective), 1e-12):+.2%}" if above else ""
            numbers = ", ".join(str(n + 1) for n in self.leading_to(m))
            on_mesh = "" if m.solved else f" ({m.solution.outcome}: {m.solution.verdict})"
            lines.append(f"  {m.objective:.6g}{share}, from start {numbers}{on_mesh}")
        lines += [f"  start {a.number + 1} failed: {a.failure}" for a in lost]
        lines += [f"  start {a.number + 1}: {a.repair}" for a in self.attempts if a.repair]
        return "\n".join(lines)


@with_number_range
@dataclass(frozen=True)
class RandomGuesses:
    """`count` guesses: `first`, then random perturbations of it by `amplitude`, with durations scaled by a factor of up to 1.5
    or its inverse."""

    count: int = 8
    first: LinearGuess | ConstantGuess | Trajectory = field(default_factory=LinearGuess)
    seed: int = 0
    amplitude: float = 0.5

    def __post_init__(self) -> None:
        refuse_large_count("RandomGuesses: count", self.count, MOST_GUESSES)

    def guesses(self, duration: float | None) -> list[OneGuess]:
        """The guesses; `duration` is that of the first."""
        rng = np.random.default_rng(self.seed)
        made: list[OneGuess] = [self.first]
        for _ in range(self.count - 1):
            of, factor = self.first, LONGER ** rng.uniform(-1.0, 1.0)
            if isinstance(of, LinearGuess | ConstantGuess) and duration is not None:
                of = type(of)(duration=duration * factor, inputs=of.inputs)
            made.append(PerturbedGuess(of, int(rng.integers(2**31)), self.amplitude))
        return made


def multistart(
    maneuver: OptimalControlProblem,
    starts: int | RandomGuesses | Sequence[OneGuess] = 8,
    *,
    method: DirectMethod | Adjoint | None = None,
    solver: Ipopt | None = None,
    seed: int = 0,
    apart: float = 1e-4,
    on: Any = None,
    progress: ProgressCallback | None = None,
) -> MultistartResult:
    """Solve a maneuver from several guesses, keep the best and list the other local minima.

    - `starts`: a number (the linear guess and random ones around it, reproducible by `seed`), `RandomGuesses(…)`, or guesses.
    - `method`, `solver`: as in `solve`.
    - `apart`: relative difference of costs above which two minima are distinct.
    - `on`: where to run, as in `ensemble`: a `distributed.Client`, or an executor of processes; by default this process.
    - `progress`: called with a `Progress` after every attempt. An interruption returns the attempts so far.
    """
    if len(maneuver.phases) > 1:
        raise ArgumentError(f"multistart: the maneuver has {len(maneuver.phases)} phases; only one is supported")
    guesses = _guesses(maneuver, starts, seed)
    search = _Search(maneuver, tuple(guesses), method, solver, isinstance(starts, int | RandomGuesses))
    attempts: list[Attempt] = []
    try:
        for number, solution, repair in search.local_solutions() if on is None else search.remote_solutions(on):
            attempts.append(Attempt(number, guesses[number], solution, repair))
            if progress is not None:
                progress(_progress_of(attempts[-1], len(attempts), len(guesses)))
            if solution.outcome is Outcome.INTERRUPTED:
                break
    except KeyboardInterrupt:
        if not attempts:
            raise
    return MultistartResult(tuple(sorted(attempts, key=_rank)), apart)


def _rank(attempt: Attempt) -> tuple[bool, bool, float, int]:
    value = attempt.objective if attempt.converged else attempt.solution.answer.violation
    return not attempt.converged, not attempt.solved, value, attempt.number


def failure_of(solution: Solution) -> str:
    """Why a search ended without a minimum, in a few words."""
    if solution.conflicts:
        return f"{solution.outcome}: {'; '.join(solution.conflicts)}"
    k, answer = solution.kkt, solution.answer
    worst = f", worst: {k.violation_name}" if k is not None and k.violation_name else ""
    return f"{solution.outcome} after {answer.iterations} iterations, violation {answer.violation:.1e}{worst}"


def _repair_of(solution: Solution) -> str:
    """How the guess of a solution was repaired, in words; empty if it was not."""
    return next((note for note in solution.notes if note.startswith(RESCUED)), "")


def _progress_of(attempt: Attempt, done: int, total: int) -> Progress:
    outcome = f"objective {attempt.objective:.8g}" if attempt.converged else str(attempt.solution.outcome)
    return Progress.counted("attempt", done, total, f": {outcome}", objective=attempt.objective)


@dataclass(frozen=True, eq=False)
class _Search:
    """Solves by number. Pickled for other processes, which return the data needed to restore the solution."""

    maneuver: OptimalControlProblem
    guesses: tuple[OneGuess, ...]
    method: DirectMethod | Adjoint | None
    solver: Ipopt | None
    random: bool  # whether guesses are random, and may be replaced

    def local_solutions(self) -> Iterator[tuple[int, Solution, str]]:
        for number in range(len(self.guesses)):
            yield number, *self._solved(number)

    def remote_solutions(self, on: Any) -> Iterator[tuple[int, Solution, str]]:
        for number, (kept, repair) in Job.of(self).run(range(len(self.guesses)), on):
            yield number, restored(kept, self.maneuver), repair

    def begin(self) -> Callable[[int], tuple[StoredSolution, str]]:
        def solve(number: int) -> tuple[StoredSolution, str]:
            solution, repair = self._solved(number)
            return StoredSolution.of(solution), repair

        return solve

    @cached_property
    def _coarse(self) -> DirectMethod | None:
        """A coarse mesh for random guesses; none where the method is the adjoint or the mesh is coarse already."""
        if not self.random or isinstance(self.method, Adjoint):
            return None
        method = self.method or Collocation()
        if not isinstance(method.intervals, int) or method.intervals <= 2 * COARSE:
            return None
        return replace(method, intervals=max(method.intervals // 3, COARSE))

    @cached_property
    def _first(self) -> Solution:
        """From the first guess on the coarse mesh."""
        return self._repairing(self._coarse, self.guesses[0], self._settings(quick=True))

    def _repairing(self, method: DirectMethod | Adjoint | None, guess: OneGuess, solver: Ipopt | None) -> Solution:
        """The solution from a guess, which is repaired if it leads nowhere."""
        if isinstance(method, Adjoint):
            return self.maneuver.solve(method, guess=guess, solver=solver)
        return solve(self.maneuver, method, guess=guess, solver=solver, rescue=True)

    def _settings(self, quick: bool, **options: float) -> Ipopt:
        own = self.solver or Ipopt()
        iterations = min(own.iterations, FEW) if quick else own.iterations
        return replace(own, iterations=iterations, options={**options, **own.options})

    def _solved(self, number: int) -> tuple[Solution, str]:
        guess = self.guesses[number]
        if self._coarse is None:
            found = self._repairing(self.method, guess, self.solver)
            return found, _repair_of(found)
        rough = self._repairing(self._coarse, guess, self._settings(quick=True)) if number else self._first
        repair = _repair_of(rough)
        if not rough.converged and rough.outcome is not Outcome.INTERRUPTED and number and self._first.converged:
            seed = guess.seed if isinstance(guess, PerturbedGuess) else number
            other = PerturbedGuess(self._first.only, seed, HOP)
            why = f"its guess led nowhere ({failure_of(rough)}) and could not be repaired"
            repair = f"{why}; a perturbation of the first solution was used"
            rough = self.maneuver.solve(self._coarse, guess=other, solver=self._settings(quick=True))
        if not rough.converged:
            return rough, repair
        found = self.maneuver.solve(self.method, guess=rough, solver=self._settings(quick=False, **NEAR_GUESS))
        if not found.converged and found.outcome is not Outcome.INTERRUPTED:
            found = self.maneuver.solve(self.method, guess=rough, solver=self.solver)
        return found, repair


def _guesses(maneuver: OptimalControlProblem, starts: int | RandomGuesses | Sequence[OneGuess], seed: int) -> list[OneGuess]:
    if isinstance(starts, int):
        starts = RandomGuesses(starts, seed=seed)
    if isinstance(starts, RandomGuesses):
        if starts.count < 1:
            raise ArgumentError(f"multistart: at least one start is needed, got {starts.count!r}")
        own = starts.first.duration if isinstance(starts.first, LinearGuess | ConstantGuess) else None
        return starts.guesses(own if own is not None else build_phases(maneuver, [None] * len(maneuver.phases))[1][0].duration)
    if not starts:
        raise ArgumentError("multistart: give at least one guess")
    return list(starts)
