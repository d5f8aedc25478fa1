"""Free durations without a best one: the longer the motion, the lower the cost, by ever less.

Least ∫x² + u² dt of ẋ = u from 1 to 0 is approached with ever longer durations: it exceeds its infimum by about 2 e⁻²ᵀ, which no
tolerance sees beyond ten time constants, where a search ends. A cost that rests for longer durations may also be a minimum: where
x = 0 is reached in finite time, waiting there costs nothing. The excess over the lowest cost tells them apart: of what is
approached it falls by the same factor in equal times; of what is reached it vanishes at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from draisine.optimal.attainment import CONVERGED
from draisine.optimal.default_limits import ENDLESS, default_limit_reached
from draisine.optimal.ipopt import Ipopt, Outcome
from draisine.optimal.mesh_search import FURTHER, NEAR_GUESS, MeshSolution, Task
from draisine.results.status import ProgressCallback

LONGER, SHORTER = 1.5, (0.8, 0.64)  # factors of a duration, at which costs are compared
RESTS = 1e-5  # of the cost: what it may differ at other durations where it rests
FLAT = 1e-7  # of the cost: less is not told apart, beyond the errors of meshes
LOWER = 1e-3  # of the cost, and ten times the error of a mesh: gain elsewhere that is none of a coarse mesh
HIGHEST, ABOVE = 1e-2, 10.0  # excess over the lowest cost from which on it is compared, down to this many times its noise
STEADY = (0.65, 2.5)  # of the time for the upper half of that: time for the lower half, where the cost is approached
HALVINGS, CLOSE = 12, 0.02  # of durations; relative accuracy of those of the levels


Settings = Callable[[], Ipopt]  # of a search that begins now


def lower_or_endless(
    task: Task, found: MeshSolution, settings: Settings, progress: ProgressCallback | None, seconds: dict[str, float]
) -> tuple[MeshSolution, str]:
    """A solution with a lower cost at a longer duration; or the same one, and the note that there is no best duration ("" if
    there is one). Only durations are considered that have no cost of their own and that the statement does not limit."""

    def search(task: Task, guess: MeshSolution) -> MeshSolution:
        solver = settings()
        near = replace(solver, iterations=min(solver.iterations, FURTHER), options={**NEAR_GUESS, **solver.options})
        other = task.once(found.schemes, guess.phases, near, progress, seconds)
        if other.answer.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        return other

    for k, (stated, solution) in enumerate(zip(task.maneuver.phases, found.phases, strict=True)):
        weighted = task.phases[k].time_weight > 0.0  # then the cost rises in the end
        if weighted or stated.times_given[1] or default_limit_reached(stated, task.phases[k], solution.duration):
            continue
        costs = _Costs(task, found, k, search)
        longer = costs.excess(solution.duration * LONGER)
        if longer < -max(LOWER, ABOVE * costs.last.error):
            free = search(task, costs.last)
            if free.answer.outcome in CONVERGED and free.answer.objective < found.answer.objective - LOWER * costs.size:
                return free, ""
            continue
        from_there = _approached(costs, longer, solution.duration, task.phases[k].times[0])
        if from_there:
            return found, _text(found, k, *from_there)
    return found, ""


class _Costs:
    """The least cost of a solution at other durations of one of its phases, on the same mesh."""

    def __init__(self, task: Task, found: MeshSolution, k: int, search: Callable[[Task, MeshSolution], MeshSolution]) -> None:
        self.task, self.found, self.k, self.search = task, found, k, search
        self.last = found
        self.size = max(abs(found.answer.objective), FLAT * found.transcribed.nlp.objective_scale)

    def excess(self, duration: float) -> float:
        """Over the cost of the solution, relative; infinite where no motion is found."""
        phases = list(self.task.phases)
        phases[self.k] = replace(phases[self.k], times=(duration, duration))
        other = self.search(replace(self.task, phases=tuple(phases)), self.found)
        if other.answer.outcome not in CONVERGED:
            return np.inf
        self.last = other
        return (other.answer.objective - self.found.answer.objective) / self.size


def _approached(costs: _Costs, longer: float, now: float, least: float) -> tuple[float, float] | None:
    """A duration and the relative excess of its cost, if the cost nears that of the present duration by equal factors in equal
    times; `longer` is the excess at a longer one."""
    noise = max(FLAT, float(np.median(np.abs([longer, *(costs.excess(now * factor) for factor in SHORTER)]))))
    if max(noise, longer) > RESTS:
        return None
    known = {now: 0.0}
    for halved in range(1, HALVINGS + 1):
        short = now * 0.5**halved
        if short <= least:
            return None
        known[short] = costs.excess(short)
        if known[short] > HIGHEST:
            break
    else:
        return None  # as low at all durations: nothing is approached
    level = ABOVE * noise
    durations = [_duration_of(costs, high, known) for high in (HIGHEST, np.sqrt(HIGHEST * level), level)]
    first, second = np.diff(durations)
    return (durations[-1], level) if STEADY[0] * first < second < STEADY[1] * first else None


def _duration_of(costs: _Costs, level: float, known: dict[float, float]) -> float:
    """The duration at which the excess falls below a level for good, between others of known excess, to which more are added."""
    while True:
        short = max(duration for duration, excess in known.items() if excess > level)
        long = min(duration for duration in known if duration > short)
        middle = 0.5 * (short + long)
        if long - short < CLOSE * long:
            return middle
        known[middle] = costs.excess(middle)


def _text(found: MeshSolution, k: int, duration: float, level: float) -> str:
    which = f" of phase {k + 1}" if len(found.phases) > 1 else ""
    return (
        f"{ENDLESS}, which comes ever closer to {found.answer.objective:.6g} (durations{which} above {duration:.3g} s change it "
        f"by less than {level:.0e} of it); give duration(least, most), or a cost of time, minimize(…, time=weight)"
    )
