"""Nonlinear model-predictive control: a maneuver of fixed duration is solved at each sampling instant from the measured state.

Equations, compiled derivatives, sparsity and IPOPT are prepared once. At each instant only the bounds that fix the initial
state and time change, and the solver is warm-started from the previous plan, shifted by one period with its multipliers.
Each interval lasts one sampling period with constant controls, so that the plan matches the sampled control.
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
from draisine.optimal.contact_phases import refuse_modes
from draisine.optimal.guess import guesses
from draisine.optimal.ipopt import Ipopt, NlpSolution, Outcome, Search
from draisine.optimal.maneuver import OptimalControlProblem
from draisine.optimal.phase import Phase
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.solution import Solution
from draisine.optimal.stated_numbers import stated_number
from draisine.optimal.symbolic_model import SymbolicModel
from draisine.optimal.transcription import TranscribedProblem, transcribe
from draisine.simulation.sampled_control import Sampled, State

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
Subject: TypeAlias = "OptimalControlProblem | Solution"

TOLERANCE = 1e-5  # of the solves: a plan is used for one period only


@dataclass(frozen=True)
class Timing:
    """Computation times of the solves relative to the sampling period."""

    period: float
    calls: int
    median: float
    worst: float
    iterations: float  # in the mean
    missed: int  # solves that ended without a solution; the previous plan was followed

    @property
    def factor(self) -> float:
        """Median time over period: below 1 the controller runs in real time."""
        return self.median / self.period

    @property
    def worst_factor(self) -> float:
        return self.worst / self.period

    def __str__(self) -> str:
        return (
            f"{self.calls} solves at {1 / self.period:g} Hz: {1e3 * self.median:.1f} ms in the median ({self.factor:.2f} of "
            f"the period), {1e3 * self.worst:.1f} ms at worst ({self.worst_factor:.2f}), {self.iterations:.1f} iterations each, "
            f"{self.missed} without a solution"
        )


class PredictiveController:
    """Computes the control of one period from a measured state; pass `sampled` to `simulate(…, control=…)`.

    It stores its last plan: one object controls one run at a time, and starts afresh when time decreases.
    """

    def __init__(self, phase: Phase, scheme: Collocation, rate: float, iterations: int) -> None:
        self._phase, self._scheme, self.rate = phase, scheme, rate
        self._transcribed = _transcribe_once(phase, scheme)
        self._indices = self._transcribed.indices[0]
        self._transcribed.nlp.begin_compiling()()
        settings = Ipopt(tolerance=TOLERANCE, iterations=iterations)
        self._cold = Search(self._transcribed.nlp, replace(settings, iterations=max(iterations, 500)))
        self._warm = Search(self._transcribed.nlp, replace(settings, options=_WARM_OPTIONS), warm=True)
        self._plan: NlpSolution | None = None
        self._last = -np.inf
        self._spent: list[tuple[float, int, bool]] = []

    @property
    def sampled(self) -> Sampled:
        return Sampled(self, self.rate)

    @property
    def timing(self) -> Timing:
        """Timing of all solves except the first, which has no warm start."""
        if len(self._spent) < 2:
            raise ArgumentError("the controller has not been used; run simulate(…, control=controller.sampled) first")
        seconds, iterations, solved = zip(*self._spent[1:], strict=True)
        missed = len(solved) - sum(solved)
        mean = float(np.mean(iterations))
        return Timing(1.0 / self.rate, len(seconds), float(np.median(seconds)), float(max(seconds)), mean, missed)

    def plan(self) -> tuple[Reals, Reals, Reals]:
        """The last plan: times from now, kept states at the grid points, and controls of the periods."""
        if self._plan is None:
            raise ArgumentError("there is no plan yet")
        w, length = self._plan.w, self._plan.w[self._indices.length]
        return length * self._scheme.grid.points, w[self._indices.points], w[self._indices.controls]

    def __call__(self, t: float, x: State) -> dict[str, float]:
        began = time.perf_counter()
        if t <= self._last:
            self._plan = None
            self._spent = []
        self._last = t
        self._set_initial_state(t, np.array([x[name] for name in self._phase.kept]))
        earlier = None if self._plan is None else self._shifted_plan(self._plan)
        answer = self._cold(self._transcribed.guess) if earlier is None else self._warm(earlier.w, earlier)
        solved = answer.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE)
        if not solved and earlier is not None and answer.violation > 1e-3:
            answer = earlier  # follow the previous plan
        self._plan = answer
        self._spent.append((time.perf_counter() - began, answer.iterations, solved))
        return dict(zip(self._phase.controls, answer.w[self._indices.controls[0]].tolist(), strict=True))

    def _set_initial_state(self, t: float, kept: Reals) -> None:
        """Fix initial state and time by their bounds; the nonlinear program belongs to this controller."""
        nlp, indices = self._transcribed.nlp, self._indices
        nlp.low[indices.points[0]] = nlp.high[indices.points[0]] = kept
        nlp.low[indices.begin] = nlp.high[indices.begin] = t

    def _shifted_plan(self, plan: NlpSolution) -> NlpSolution:
        """The plan shifted by one period; its last period is repeated."""
        indices, grid = self._indices, self._scheme.grid
        per = len(grid.nodes) // (len(grid.breaks) - 1)
        unknowns = [(indices.points, per), (indices.algebraic, per), (indices.controls, 1), (indices.edge_algebraic, 1)]
        rows = [(indices.defects - 1, per), (indices.path_rows - 1, per), (indices.edge_rows - 1, 1)]
        return replace(
            plan,
            w=_shifted(plan.w, unknowns),
            bound_multipliers=_shifted(plan.bound_multipliers, unknowns),
            row_multipliers=_shifted(plan.row_multipliers, rows),
        )


_WARM_OPTIONS: Mapping[str, float | int | str] = {"mu_init": 1e-5, "mu_strategy": "monotone"}


def _shifted(values: Reals, tables: list[tuple[Indices, int]]) -> Reals:
    moved = values.copy()
    for indices, rows in tables:
        if len(indices) > rows:
            moved[indices[:-rows]] = values[indices[rows:]]
    return moved


def _transcribe_once(phase: Phase, scheme: Collocation) -> TranscribedProblem:
    made = transcribe([phase], [scheme], guesses(None, [phase], [scheme.grid]), {}, [])
    # bounds that change at every instant must not be shared
    return replace(made, nlp=replace(made.nlp, low=made.nlp.low.copy(), high=made.nlp.high.copy()))


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
    """A model-predictive controller that plans `horizon` seconds ahead, `rate` times per second.

    - `subject`: a maneuver, whose cost, bounds and conditions apply over each horizon (its duration is the horizon; put final
      targets into the cost, since conditions may be infeasible after a disturbance); or a solution, whose motion is tracked
      within the bounds of its maneuver with `weights` of named deviations and `input_weights`.
    - `degree`: Radau collocation points per period; `iterations`: limit of one solve.

        controller = dr.optimal.predictive(stated, rate=20, horizon=1.0)
        run = dr.simulate(bike, 5, start={…}, control=controller.sampled)
        print(controller.timing)
    """
    periods = round(horizon * rate)
    if not (rate > 0 and periods >= 2 and abs(periods - horizon * rate) < 1e-6 * periods):
        raise ArgumentError(
            f"predictive: a horizon of {horizon:g} s must be a whole number of periods of {1 / rate:g} s, two or more"
        )
    refuse_modes("predictive", subject.maneuver if isinstance(subject, Solution) else subject)
    scheme = Collocation("radau", degree, periods, constant_controls=True)
    if isinstance(subject, Solution):
        phase = _tracking_phase(subject, scheme, horizon, weights or {}, input_weights or {})
    else:
        if weights or input_weights:
            raise ArgumentError(
                "predictive: weights and input_weights apply to a solution to be tracked; a maneuver has its own cost"
            )
        phase = _single_phase(subject, scheme, horizon)
    return PredictiveController(phase, scheme, float(rate), iterations)


def _single_phase(stated: OptimalControlProblem, scheme: Collocation, horizon: float) -> Phase:
    if len(stated.phases) != 1:
        raise ArgumentError(f"predictive: the maneuver has {len(stated.phases)} phases; only one is supported")
    (phase,) = build_phases(stated.duration(horizon), [scheme])[1]
    if not phase.start_fixed or phase.unknown_parameters:
        raise ArgumentError("predictive: the start is the measured state; remove free=…, periodic(…) and optimize(…)")
    return phase


def _tracking_phase(
    solution: Solution, scheme: Collocation, horizon: float, weights: Mapping[str, float], input_weights: Mapping[str, float]
) -> Phase:
    """A phase whose cost is the weighted deviation from a solution's motion."""
    given, run = solution.maneuver, solution.trajectory
    if not weights:
        raise ArgumentError("predictive: give weights={name: w} for the quantities that track the solution")
    sizes = {name: float(stated_number(w, f"predictive: the weight of {name!r}")) for name, w in weights.items()}
    cost = " + ".join(f"{w!r}*({name})**2" for name, w in sizes.items())
    plain = replace(given, ends=(), end_rates=(), period=None).minimize(integral=cost)
    phase = _single_phase(plain.controls(*solution.only.phase.controls), scheme, horizon)
    v, table = phase.symbols, solution.feedforward
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
    deviation_cost = sum(apart[1:], apart[0])
    return replace(phase, integrand=sum(changed, deviation_cost), final=horizon * deviation_cost)


def _along(v: SymbolicModel, name: str, times: Reals, values: Reals) -> ca.SX:
    """A reference as a table of t, constant after its end."""
    return Table(name, times, values, outside="hold")(v.plant.t)
