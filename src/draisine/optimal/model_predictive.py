"""Nonlinear model-predictive control: a maneuver of fixed length is solved again from every measured state, many times a second.

What does not change between two instants is made once: equations, derivatives as machine code, the pattern of the large problem
and IPOPT itself. Only the bounds that say where the motion begins, and when, are set anew, and the search starts from the plan
before, moved on by one period with its multipliers. Intervals last one period each, with controls held in them, so that what is
planned is what is done.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.expr.tables import Table
from draisine.numerics.direct_methods import Collocation
from draisine.optimal.guess import guesses
from draisine.optimal.ipopt import Answer, Ipopt, Outcome, Search
from draisine.optimal.maneuver import OptimalControlProblem
from draisine.optimal.phase import Phase
from draisine.optimal.phase_builder import posed
from draisine.optimal.solution import Solution
from draisine.optimal.symbolic_model import Vocabulary
from draisine.optimal.transcription import Transcribed, transcribe
from draisine.simulation.sampled_control import Sampled, State

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
Subject: TypeAlias = "Maneuver | Solution"

TOLERANCE = 1e-5  # of the searches: a plan is thrown away after one period


@dataclass(frozen=True)
class Pace:
    """How long the searches took against the time there was for them."""

    period: float
    calls: int
    median: float
    worst: float
    iterations: float  # in the mean
    missed: int  # searches that ended without a solution; the plan before was followed

    @property
    def factor(self) -> float:
        """Median time over period: below 1 the controller keeps pace."""
        return self.median / self.period

    @property
    def worst_factor(self) -> float:
        return self.worst / self.period

    def __str__(self) -> str:
        return (
            f"{self.calls} searches at {1 / self.period:g} Hz: {1e3 * self.median:.1f} ms in the median ({self.factor:.2f} of "
            f"the period), {1e3 * self.worst:.1f} ms at worst ({self.worst_factor:.2f}), {self.iterations:.1f} iterations each, "
            f"{self.missed} without a solution"
        )


class PredictiveController:
    """Answers a state with the control to be held for one period; `sampled` goes into `simulate(…, control=…)`.

    It remembers its last plan: one object controls one run at a time, and begins anew when time turns back.
    """

    def __init__(self, phase: Phase, scheme: Collocation, rate: float, iterations: int) -> None:
        self._phase, self._scheme, self.rate = phase, scheme, rate
        self._made = _transcribed(phase, scheme)
        self._placed = self._made.placed[0]
        for share in self._made.large.shares:
            share.cluster.compile()
        settings = Ipopt(tolerance=TOLERANCE, iterations=iterations)
        self._cold = Search(self._made.large, replace(settings, iterations=max(iterations, 500)))
        self._warm = Search(self._made.large, replace(settings, options=_NEAR), warm=True)
        self._plan: Answer | None = None
        self._last = -np.inf
        self._spent: list[tuple[float, int, bool]] = []

    @property
    def sampled(self) -> Sampled:
        return Sampled(self, self.rate)

    @property
    def pace(self) -> Pace:
        """Of all searches but the first, which begins from nothing."""
        if len(self._spent) < 2:
            raise ArgumentError("the controller has not been used yet; run simulate(…, control=controller.sampled) first")
        seconds, iterations, solved = zip(*self._spent[1:], strict=True)
        missed = len(solved) - sum(solved)
        mean = float(np.mean(iterations))
        return Pace(1.0 / self.rate, len(seconds), float(np.median(seconds)), float(max(seconds)), mean, missed)

    def plan(self) -> tuple[Reals, Reals, Reals]:
        """The last plan: times from now, kept states at the grid's points, and controls of the periods."""
        if self._plan is None:
            raise ArgumentError("there is no plan yet")
        w, length = self._plan.w, self._plan.w[self._placed.length]
        return length * self._scheme.grid.points, w[self._placed.points], w[self._placed.controls]

    def __call__(self, t: float, x: State) -> dict[str, float]:
        began = time.perf_counter()
        if t <= self._last:
            self._plan = None
            self._spent = []
        self._last = t
        self._begin_at(t, np.array([x[name] for name in self._phase.kept]))
        earlier = None if self._plan is None else self._moved_on(self._plan)
        answer = self._cold(self._made.guess) if earlier is None else self._warm(earlier.w, earlier)
        solved = answer.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE)
        if not solved and earlier is not None and answer.violation > 1e-3:
            answer = earlier  # follow the plan before
        self._plan = answer
        self._spent.append((time.perf_counter() - began, answer.iterations, solved))
        return dict(zip(self._phase.controls, answer.w[self._placed.controls[0]].tolist(), strict=True))

    def _begin_at(self, t: float, kept: Reals) -> None:
        """Set the start's bounds; the large problem is this controller's own."""
        large, placed = self._made.large, self._placed
        large.low[placed.points[0]] = large.high[placed.points[0]] = kept
        large.low[placed.begin] = large.high[placed.begin] = t

    def _moved_on(self, plan: Answer) -> Answer:
        """The plan one period later; its last period is repeated."""
        placed, grid = self._placed, self._scheme.grid
        per = len(grid.nodes) // (len(grid.breaks) - 1)
        unknowns = [(placed.points, per), (placed.algebraic, per), (placed.controls, 1)]
        rows = [(placed.defects - 1, per), (placed.watched - 1, per)]
        return replace(
            plan,
            w=_shifted(plan.w, unknowns),
            bound_multipliers=_shifted(plan.bound_multipliers, unknowns),
            row_multipliers=_shifted(plan.row_multipliers, rows),
        )


_NEAR: Mapping[str, float | int | str] = {"mu_init": 1e-5, "mu_strategy": "monotone"}


def _shifted(values: Reals, tables: list[tuple[Indices, int]]) -> Reals:
    moved = values.copy()
    for places, rows in tables:
        if len(places) > rows:
            moved[places[:-rows]] = values[places[rows:]]
    return moved


def _transcribed(phase: Phase, scheme: Collocation) -> Transcribed:
    made = transcribe([phase], [scheme], guesses(None, [phase], [scheme.grid]), {}, [])
    # what is set anew at every instant must belong to nobody else
    return replace(made, large=replace(made.large, low=made.large.low.copy(), high=made.large.high.copy()))


def predictive(
    subject: Subject,
    *,
    rate: float,
    horizon: float,
    weights: Mapping[str, float] | None = None,
    input_weights: Mapping[str, float] | None = None,
    degree: int = 2,
    iterations: int = 30,
) -> PredictiveController:
    """A controller that plans `horizon` seconds ahead, `rate` times per second.

    - `subject`: a maneuver, whose cost, bounds and conditions hold over each horizon (its duration is the horizon; what shall
      be reached in the end belongs into the cost, since conditions may be out of reach after a disturbance); or a solution,
      whose motion is then followed within the bounds of its maneuver by `weights` of named deviations and `input_weights` of inputs.
    - `degree`: collocation points (Radau) per period; `iterations`: the most that one search may take.

        controller = dr.predictive(stated, rate=20, horizon=1.0)
        run = dr.simulate(bike, 5, start={…}, control=controller.sampled)
        print(controller.pace)
    """
    periods = round(horizon * rate)
    if not (rate > 0 and periods >= 2 and abs(periods - horizon * rate) < 1e-6 * periods):
        raise ArgumentError(
            f"predictive: a horizon of {horizon:g} s must be two periods of {1 / rate:g} s or more, a whole number of them"
        )
    scheme = Collocation("radau", degree, periods, constant_controls=True)
    if isinstance(subject, Solution):
        phase = _following(subject, scheme, horizon, weights or {}, input_weights or {})
    else:
        if weights or input_weights:
            raise ArgumentError(
                "predictive: weights and input_weights belong to a solution that is followed; a maneuver has its own cost"
            )
        phase = _posed(subject, scheme, horizon)
    return PredictiveController(phase, scheme, float(rate), iterations)


def _posed(stated: OptimalControlProblem, scheme: Collocation, horizon: float) -> Phase:
    if len(stated.phases) != 1:
        raise ArgumentError(f"predictive: the maneuver has {len(stated.phases)} phases; give one")
    (phase,) = posed(stated.duration(horizon), [scheme])[1]
    if not phase.start_fixed or phase.unknown_parameters:
        raise ArgumentError("predictive: the start is what is measured; leave out free=…, periodic(…) and optimize(…)")
    return phase


def _following(
    solution: Solution, scheme: Collocation, horizon: float, weights: Mapping[str, float], input_weights: Mapping[str, float]
) -> Phase:
    """A phase whose cost is the distance from a solution's motion."""
    given, run = solution.maneuver, solution.trajectory
    if not weights:
        raise ArgumentError("predictive: give weights={name: w} for what shall follow the solution")
    words = " + ".join(f"{float(w)!r}*({name})**2" for name, w in weights.items())
    plain = replace(given, ends=(), end_rates=(), period=None).minimize(integral=words)
    phase = _posed(plain.controls(*solution.only.phase.controls), scheme, horizon)
    v, table = phase.vocabulary, solution.feedforward
    for name in input_weights:
        if name not in phase.controls:
            raise ArgumentError(f"{run.model}: {name!r} is not among the controls{did_you_mean(name, phase.controls)}")
    kept = np.append(np.diff(run.time) > 0, True)
    times = run.time[kept]
    apart = [
        w * (v.named(name, "weights") - _along(v, f"track_{k}", times, run[name][kept])) ** 2
        for k, (name, w) in enumerate(weights.items())
    ]
    inputs = table.at(times)
    changed = [
        r * (v.named(name, "input_weights") - _along(v, f"feed_{k}", times, inputs[:, table.inputs.index(name)])) ** 2
        for k, (name, r) in enumerate(input_weights.items())
    ]
    held = sum(apart[1:], apart[0])
    return replace(phase, integrand=sum(changed, held), final=horizon * held)


def _along(v: Vocabulary, name: str, times: Reals, values: Reals) -> ca.SX:
    """A reference as a table of t, held after its end."""
    return Table(name, times, values, outside="hold")(v.plant.t)
