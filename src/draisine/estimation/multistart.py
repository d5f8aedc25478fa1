"""Multistart fits, in this process or in others: the best fit, and the results of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError, SolverError
from draisine.estimation.fit import Trial
from draisine.estimation.losses import Loss
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.solve import FitMethod, Outcome, solve
from draisine.numerics.number_range import refuse_large_count, with_number_range
from draisine.numerics.parallel import Job
from draisine.results.status import Progress, ProgressCallback

Reals = NDArray[np.float64]


MOST_FITS = 1_000_000


@with_number_range
@dataclass(frozen=True)
class MultiStart:
    """Fit `count` times: from the guess, and from random points between the bounds of the unknowns, drawn with `seed`."""

    count: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ArgumentError(f"MultiStart: count is the number of fits, one or more, got {self.count!r}")
        refuse_large_count("MultiStart: count", self.count, MOST_FITS)

    def begins(self, problem: EstimationProblem) -> list[Reals]:
        """Initial unknowns of the fits."""
        low, high = problem.bounds
        count = len(problem.unknowns)
        if not (np.isfinite(low[:count]).all() and np.isfinite(high[:count]).all()):
            loose = [u.name for u in problem.unknowns if not (np.isfinite(u.low) and np.isfinite(u.high))]
            raise ArgumentError(
                f"starts: random points need bounds, which {', '.join(loose)} do not have; write {{name: (low, high)}}"
            )
        random = np.random.default_rng(self.seed)
        made = [problem.guess]
        for _ in range(self.count - 1):
            drawn = problem.guess
            drawn[:count] = random.uniform(low[:count], high[:count])
            made.append(drawn)
        return made


@dataclass(frozen=True, eq=False)
class _Fits:
    """Fits by number. Travels to other processes, which send back where they ended."""

    problem: EstimationProblem
    method: FitMethod
    sigmas: Reals
    loss: Loss | None
    starts: tuple[Reals, ...]

    def begin(self) -> Callable[[int], Trial | str]:
        return self.trial

    def outcome(self, number: int) -> Outcome:
        return solve(self.problem, self.method, self.sigmas, self.loss, self.starts[number])

    def attempt(self, number: int) -> Outcome | str:
        """What a fit found, or why it did not: a start from which the model does not reach the data is one trial lost."""
        try:
            return self.outcome(number)
        except (ModelError, SolverError) as problem:
            return str(problem)

    def trial(self, number: int) -> Trial | str:
        """Result of a fit, returned from other processes."""
        return self.reported(number, self.attempt(number))

    def reported(self, number: int, found: Outcome | str) -> Trial | str:
        if isinstance(found, str):
            return found
        return Trial(tuple(self.starts[number].tolist()), tuple(found.unknowns.tolist()), found.squares)

    def trials(self, on: Any) -> Iterator[tuple[int, Trial | str, Outcome | None]]:
        """Fits as they end; with the full outcome if they ran in this process."""
        if on is not None:
            for number, trial in Job.of(self).run(range(len(self.starts)), on):
                yield number, trial, None
            return
        for number in range(len(self.starts)):
            found = self.attempt(number)
            yield number, self.reported(number, found), None if isinstance(found, str) else found


def best_of_starts(
    problem: EstimationProblem,
    method: FitMethod,
    sigmas: Reals,
    loss: Loss | None,
    starts: MultiStart,
    progress: ProgressCallback | None,
    on: Any,
) -> tuple[Outcome, tuple[Trial, ...]]:
    """The outcome with the smallest sum of squares, and all trials in the order of their starts.

    Other processes return only the results of fits: the best fit is repeated here from its start.
    """
    fits = _Fits(problem, method, sigmas, loss, tuple(starts.begins(problem)))
    reported: dict[int, Trial | str] = {}
    best: tuple[float, int] | None = None
    kept: Outcome | None = None
    for number, trial, found in fits.trials(on):
        reported[number] = trial
        if isinstance(trial, Trial):
            if best is None or (trial.squares, number) < best:
                best, kept = (trial.squares, number), found
            if progress is not None:
                more = f": sum of squares {trial.squares:.6g}, best {best[0]:.6g}"
                progress(Progress.counted("start", len(reported), starts.count, more, cost=trial.squares / 2))
    if best is None:
        first = next(reason for _, reason in sorted(reported.items()) if isinstance(reason, str))
        raise SolverError(f"starts: none of {starts.count} fits succeeded; the first: {first}")
    return kept or fits.outcome(best[1]), tuple(trial for _, trial in sorted(reported.items()) if isinstance(trial, Trial))
