"""Multistart: solve from several guesses, keep the best and list the other local minima.

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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ArgumentError
from draisine.numerics.parallel import Job
from draisine.optimal.guess import ConstantGuess, LinearGuess, OneGuess, PerturbedGuess
from draisine.optimal.ipopt import Outcome
from draisine.optimal.restore import StoredSolution, restored
from draisine.results.base import Result
from draisine.results.status import Progress, ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.adjoint.method import Adjoint
    from draisine.optimal.ipopt import Ipopt
    from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
    from draisine.optimal.solution import Solution
    from draisine.results.trajectory import Trajectory

LONGER = 1.5  # largest factor between durations of random guesses and that of the first


@dataclass(frozen=True, eq=False)
class Attempt:
    """One solve: its guess and its solution."""

    number: int  # in the order tried
    guess: OneGuess
    solution: Solution

    @property
    def objective(self) -> float:
        return self.solution.objective

    @property
    def solved(self) -> bool:
        return self.solution.solved


@dataclass(frozen=True, eq=False)
class MultistartResult(Result):
    """All attempts, solved ones first, ordered by cost."""

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
            if attempt.solved and not any(self._same(attempt, other) for other in found):
                found.append(attempt)
        return tuple(found)

    def _same(self, one: Attempt, other: Attempt) -> bool:
        return abs(one.objective - other.objective) <= self.apart * max(abs(one.objective), abs(other.objective), 1e-12)

    def leading_to(self, minimum: Attempt) -> tuple[int, ...]:
        """Numbers of the attempts that converged to this minimum."""
        return tuple(sorted(a.number for a in self.attempts if a.solved and self._same(a, minimum)))

    def _table(self) -> Mapping[str, Any]:
        of = self.attempts
        return {"start": [a.number + 1 for a in of], "solved": [a.solved for a in of], "cost": [a.objective for a in of]}

    def __str__(self) -> str:
        minima = self.minima
        lost = sum(not a.solved for a in self.attempts)
        kinds = "local minimum" if len(minima) == 1 else "local minima"
        lines = [f"{len(self.attempts)} starts, {len(minima)} {kinds}" + (f", {lost} failed" if lost else "")]
        for m in minima:
            above = m.objective - minima[0].objective
            share = f", {above / max(abs(minima[0].objective), 1e-12):+.2%}" if above else ""
            numbers = ", ".join(str(n + 1) for n in self.leading_to(m))
            lines.append(f"  {m.objective:.6g}{share}, from start {numbers}")
        return "\n".join(lines)


@dataclass(frozen=True)
class RandomGuesses:
    """`count` guesses: `first`, then random perturbations of it by `amplitude`, with durations scaled by a factor of up to 1.5
    or its inverse."""

    count: int = 8
    first: LinearGuess | ConstantGuess | Trajectory = field(default_factory=LinearGuess)
    seed: int = 0
    amplitude: float = 0.5

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
    search = _Search(maneuver, tuple(guesses), method, solver)
    attempts: list[Attempt] = []
    try:
        for number, solution in search.local_solutions() if on is None else search.remote_solutions(on):
            attempts.append(Attempt(number, guesses[number], solution))
            if progress is not None:
                progress(_progress_of(attempts[-1], len(attempts), len(guesses)))
            if solution.outcome is Outcome.INTERRUPTED:
                break
    except KeyboardInterrupt:
        if not attempts:
            raise
    ranked = sorted(attempts, key=lambda a: (not a.solved, a.objective if a.solved else a.solution.answer.violation, a.number))
    return MultistartResult(tuple(ranked), apart)


def _progress_of(attempt: Attempt, done: int, total: int) -> Progress:
    outcome = f"objective {attempt.objective:.8g}" if attempt.solved else str(attempt.solution.outcome)
    return Progress.counted("attempt", done, total, f": {outcome}", objective=attempt.objective)


@dataclass(frozen=True, eq=False)
class _Search:
    """Solves by number. Pickled for other processes, which return the data needed to restore the solution."""

    maneuver: OptimalControlProblem
    guesses: tuple[OneGuess, ...]
    method: DirectMethod | Adjoint | None
    solver: Ipopt | None

    def local_solutions(self) -> Iterator[tuple[int, Solution]]:
        for number in range(len(self.guesses)):
            yield number, self._solved(number)

    def remote_solutions(self, on: Any) -> Iterator[tuple[int, Solution]]:
        for number, kept in Job.of(self).run(range(len(self.guesses)), on):
            yield number, restored(kept, self.maneuver)

    def begin(self) -> Callable[[int], StoredSolution]:
        return lambda number: StoredSolution.of(self._solved(number))

    def _solved(self, number: int) -> Solution:
        return self.maneuver.solve(self.method, guess=self.guesses[number], solver=self.solver)


def _guesses(maneuver: OptimalControlProblem, starts: int | RandomGuesses | Sequence[OneGuess], seed: int) -> list[OneGuess]:
    if isinstance(starts, int):
        starts = RandomGuesses(starts, seed=seed)
    if isinstance(starts, RandomGuesses):
        if starts.count < 1:
            raise ArgumentError(f"multistart: at least one start is needed, got {starts.count!r}")
        own = starts.first.duration if isinstance(starts.first, LinearGuess | ConstantGuess) else None
        low, high = maneuver.times
        return starts.guesses(own if own is not None else float(np.sqrt(low * high)))
    if not starts:
        raise ArgumentError("multistart: give at least one guess")
    return list(starts)
