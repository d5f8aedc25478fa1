"""Solvers compared at equal accuracy: for each the cheapest setting that reaches it, reported beside its cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from figure import AtMost, Faster, Figure
from speed import Clock, median, medians

Vector = NDArray[np.float64]
Solve = Callable[[], Vector]  # runs once and gives the coordinates at the end

TURNS, LONG_TURNS, LONG = 5, 3, 1.0  # readings, and those where one takes longer than so many seconds
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(6, 25))  # relative and absolute alike, by half decades


class Unreached(Exception):
    """No setting of a solver reaches the accuracy."""


@dataclass(frozen=True)
class SolverSettings:
    """One way of a solver to a solution, with its settings from cheap to dear.

    `ready` does all that is done once and gives the call that is timed. Where getting ready for the quickest call takes too long
    to be done for every setting, `quickest` does it for the one that was found.
    """

    name: str
    settings: Sequence[float]
    reported: str  # what a setting is, as a format
    ready: Callable[[float], Solve]
    quickest: Callable[[float], Solve] | None = None
    known: dict[float, tuple[float, float]] = field(default_factory=dict)  # error and seconds of settings tried before

    def tried(self, setting: float, exact: Vector) -> tuple[float, float]:
        """Error and seconds, run once and remembered: the next accuracy asks for the same again."""
        if setting not in self.known:
            solve = self.ready(setting)
            start = time.perf_counter()
            found = solve()
            seconds = time.perf_counter() - start
            self.known[setting] = float(np.abs(found - exact).max()), seconds
        return self.known[setting]


@dataclass(frozen=True)
class Choice:
    """The cheapest way found to an accuracy."""

    name: str
    error: float
    solve: Solve


def cheapest(candidates: Sequence[SolverSettings], exact: Vector, accuracy: float) -> Choice:
    """Among all solvers and settings, by the clock.

    A setting counts when the next finer one reaches the accuracy as well: an error that changes its sign on the way would let a
    coarse setting hit by chance.
    """
    best, least = None, np.inf
    for solver in candidates:
        found = _first(solver, exact, accuracy, patience=1.5 * least)
        if found is None:
            continue
        setting, error, seconds = found
        if seconds < least:
            least = seconds
            best = solver, setting, error
    if best is None:
        raise Unreached(f"no setting of {', '.join(solver.name for solver in candidates)} reaches {accuracy:g}")
    solver, setting, error = best
    return Choice(f"{solver.name}, {solver.reported.format(setting)}", error, (solver.quickest or solver.ready)(setting))


def _first(solver: SolverSettings, exact: Vector, accuracy: float, patience: float) -> tuple[float, float, float] | None:
    """Setting, error and seconds; None where no setting reaches the accuracy, or at more than a cost known."""
    settings = list(solver.settings)
    for k in range(1, len(settings), 2):  # every other one, and then the one before it
        error, seconds = solver.tried(settings[k], exact)
        if seconds > patience:
            return None
        if error <= accuracy:
            for i in (k - 1, k):
                if all(solver.tried(s, exact)[0] <= accuracy for s in settings[i : i + 2]):
                    return settings[i], *solver.tried(settings[i], exact)
    return None


# ------------------------------------------------------------------------------------------------ in turns


def compared(
    name: str,
    unit: str,
    solvers: Sequence[Sequence[SolverSettings]],
    exact: Vector,
    accuracy: float,
    target: Faster | None,
) -> Iterator[Figure]:
    """Ours is the first of the solvers. A peer none of whose settings reaches the accuracy is reported, and not timed."""
    ours, theirs = cheapest(solvers[0], exact, accuracy), []
    for candidates in solvers[1:]:
        try:
            theirs.append(cheapest(candidates, exact, accuracy))
        except Unreached as why:
            yield Figure(f"{name}: {why}; settings tried", sum(len(solver.known) for solver in candidates))
    yield Figure(
        f"{name}: farthest of all from the exact solution", max(c.error for c in (ours, *theirs)), unit, AtMost(accuracy)
    )
    clocks, begun = zip(*(_steady(c.solve) for c in (ours, *theirs)), strict=True)
    first, *others = medians(LONG_TURNS if max(begun) > LONG else TURNS, *clocks)
    yield Figure(f"{name}: {ours.name}", first, "s")
    for choice, seconds in zip(theirs, others, strict=True):
        yield Figure(f"{name}, beside {choice.name}", first, "s", target, seconds)


def _steady(work: Callable[[], object], turn: float = 0.1) -> tuple[Clock, float]:
    """A short piece of work is read several times in its turn, for about as long as `turn` says, and the median counts.

    Also the seconds of the first time, which is not counted and for long work is the only one beforehand.
    """

    def seconds() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    first = seconds()
    count = 1 if first > LONG else max(1, min(25, int(turn / seconds())))
    return partial(median, count, seconds), first
