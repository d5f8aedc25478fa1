"""Optimal experiment design: starts, inputs and sampling times that minimize the uncertainty of parameters.

With J the exact derivatives of the measurements by the unknowns (`single_shooting.predict`) and noise of standard deviation σ,
the Fisher information of an experiment is JᵀJ/σ², and its inverse bounds the covariance of unbiased estimates (Cramér–Rao). The
search minimizes a scalar of that inverse: the variance of one parameter, the determinant, or the largest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError, SolverError
from draisine.estimation.data import Experiment
from draisine.estimation.design_criteria import Criterion, Design, DOptimal, SamplingTimes, Variance
from draisine.estimation.experiment_data import Recording
from draisine.estimation.fisher_information import Identifiability
from draisine.estimation.problem import EstimationProblem, build_problem
from draisine.estimation.single_shooting import SingleShooting, predict
from draisine.expr.expression import Expr
from draisine.expr.tree import names as names_in
from draisine.model.items import Parameter
from draisine.model.model import Model
from draisine.model.quantities import amount_in
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.results.channel import HasState, named_start
from draisine.results.status import Progress, ProgressCallback
from draisine.simulation.sensitivity import START
from draisine.stability.linearization import equations_of

Reals = NDArray[np.float64]

USELESS = 1e3  # criterion of a design without information, or with a run that does not reach its samples
LOCAL = 3  # number of best trials for local search


# ------------------------------------------------------------------------------------------------------------- interface


@checked
def design_experiment(
    model: Model | System | Equations,
    until: float,
    unknown: Sequence[str],
    measured: Mapping[str, float | str],
    choose: Mapping[str, tuple[float, float]] | None = None,
    *,
    samples: int | ArrayLike | SamplingTimes = 50,
    parameter: str | None = None,
    criterion: Criterion | None = None,
    start: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float | str | Expr] | None = None,
    priors: Mapping[str, float] | None = None,
    experiments: int = 1,
    trials: int = 16,
    seed: int = 0,
    method: SingleShooting | None = None,
    progress: ProgressCallback | None = None,
) -> Design:
    """Design experiments that minimize the uncertainty of unknown parameters.

    - `until`: duration of an experiment in seconds.
    - `unknown`: names of parameters; "start.lean" is a target of the start that is unknown in each experiment.
    - `measured`: quantity → standard deviation of its noise.
    - `choose`: name → (low, high): a target of the start, a constant input, a parameter of the model, or of a law in `inputs`:
      inputs={"steer_torque": "amplitude*sin(rate*t)"} with choose={"amplitude": (0, 2), "rate": (1, 9)}.
    - `samples`: number of samples, their times, or `SamplingTimes(count)` to optimize the times too.
    - `parameter`: the one whose variance to minimize; else `criterion`: `Variance(name)`, `DOptimal()` (default) or
      `EOptimal()`.
    - `priors`: prior standard deviations. `experiments`: number of experiments, each with its own choices.
    - `trials`: quasi-random designs over the ranges (reproducible by `seed`), the best of which start a local search.
    - `start`, `parameters`, `inputs`: as in `simulate`; `method`: `SingleShooting(integration=…)`; `progress`: called with the
      share that is done.

    >>> import sympy as sp, draisine as dr
    >>> x, k, load = sp.symbols("x k load")
    >>> spring = dr.first_order("spring", {x: load - k * x}, inputs=[load], parameters={k: 2.0})
    >>> plan = dr.estimation.design_experiment(spring, 20.0, ["k"], {"x": 0.01}, {"load": (0.0, 3.0)}, samples=[20.0])
    >>> plan.chosen[0]["load"], round(plan.deviation("k"), 6)  # x = load/k in the end: σ k²/load
    (3.0, 0.013333)
    """
    request = _Request(unknown, choose or {}, until, samples, priors or {}, experiments)
    problem = _build_problem(model, measured, request, named_start(start), parameters or {}, inputs or {})
    wanted = criterion or (Variance(parameter) if parameter is not None else DOptimal())
    aim = getattr(wanted, "of", None)
    if aim is not None and aim not in problem.names:
        raise ArgumentError(f"the criterion is about {aim!r}, which is not among the unknowns {', '.join(problem.names)}")
    search = _Search(problem, wanted, method or SingleShooting(), max(int(trials), 1), seed, progress)
    return search.run()


@dataclass(frozen=True, eq=False)
class _DesignProblem:
    """A design problem: one estimation per experiment, and ranges of what is chosen in each."""

    base: EstimationProblem
    ranges: tuple[tuple[str, float, float], ...]
    instants: SamplingTimes | None
    times: Reals
    until: float
    priors: Mapping[str, float]
    experiments: int
    sigmas: Reals

    @property
    def names(self) -> tuple[str, ...]:
        """Unknown parameters; unknown starts are nuisance parameters."""
        return tuple(u.name for u in self.base.unknowns) or self.base.names

    @property
    def each(self) -> int:
        """Number of variables of one experiment."""
        return len(self.ranges) + (0 if self.instants is None else self.instants.count)

    def settings(self, z: Reals) -> tuple[dict[str, float], Reals]:
        """Choices and sampling times of one experiment, from variables between 0 and 1."""
        chosen = {name: low + (high - low) * float(s) for (name, low, high), s in zip(self.ranges, z, strict=False)}
        if self.instants is None:
            return chosen, self.times
        first = self.instants.first
        return chosen, np.sort(first + (self.until - first) * z[len(self.ranges) :])


@dataclass(frozen=True, eq=False)
class _Request:
    """Arguments of `design_experiment` except the measurements."""

    unknown: Sequence[str]
    choose: Mapping[str, tuple[float, float]]
    until: float
    samples: Any
    priors: Mapping[str, float]
    experiments: int

    def check(self) -> None:
        if not (np.isfinite(self.until) and self.until > 0.0):
            raise ArgumentError(f"until: the duration of an experiment in seconds must be positive, got {self.until!r}")
        if self.experiments < 1:
            raise ArgumentError(f"experiments: one or more, got {self.experiments}")
        for name, pair in self.choose.items():
            low, high = pair
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ArgumentError(f"choose: the range of {name!r} must be (low, high), got {pair!r}")
            if name in self.unknown or f"{START}{name}" in self.unknown:
                raise ArgumentError(f"choose: {name!r} is among the unknowns and cannot be chosen")
        for name, size in self.priors.items():
            if name not in self.unknown or not size > 0.0:
                raise ArgumentError(f"priors: give positive standard deviations of unknowns by name, got {name!r}: {size!r}")

    @property
    def times(self) -> Reals:
        if isinstance(self.samples, SamplingTimes):
            if not self.samples.first < self.until:
                raise ArgumentError(
                    f"samples: the first time, {self.samples.first:g} s, must come before until = {self.until:g} s"
                )
            return np.linspace(self.samples.first, self.until, max(self.samples.count, 2))
        return _times(self.samples, self.until)


def _build_problem(
    model: Model | System | Equations,
    measured: Mapping[str, float | str],
    request: _Request,
    start: Mapping[str, float],
    parameters: Mapping[str, float],
    inputs: Mapping[str, float | str | Expr],
) -> _DesignProblem:
    """One estimation per experiment, all in the middle of the ranges."""
    request.check()
    laws = {n: amount_in(v, None, f"law of input {n!r}") for n, v in inputs.items() if isinstance(v, Expr | str)}
    equations = _with_laws(model, laws, request.choose)
    homes = {q.name: "p" for q in equations.parameters} | {q.name: "u" for q in equations.inputs}
    middle: dict[str, dict[str, float]] = {"p": {}, "u": {}, "x": {}}
    for name, (low, high) in request.choose.items():
        middle[homes.get(name, "x")][name] = 0.5 * (low + high)
    # the table of an experiment includes its start, measured or not
    times = np.append(0.0, request.times[request.times > 0.0])
    table = Experiment("experiment", times, {q: np.zeros(len(times)) for q in measured})
    problem = build_problem(
        equations,
        [replace(table, name=f"experiment {k + 1}") for k in range(request.experiments)],
        list(request.unknown),
        {q: (q, s) for q, s in measured.items()},
        start={**start, **middle["x"]},
        inputs={**{n: v for n, v in inputs.items() if n not in laws}, **middle["u"]},
        parameters={**parameters, **middle["p"]},
    )
    ranges = tuple((n, float(low), float(high)) for n, (low, high) in request.choose.items())
    instants = request.samples if isinstance(request.samples, SamplingTimes) else None
    sigmas = np.array([float(c.sigma or 1.0) for c in problem.recordings[0].channels])
    return _DesignProblem(
        problem, ranges, instants, request.times, float(request.until), request.priors, request.experiments, sigmas
    )


def _times(samples: Any, until: float) -> Reals:
    times = (
        np.linspace(0.0, until, samples) if isinstance(samples, int) else np.sort(np.asarray(samples, dtype=float).reshape(-1))
    )
    if not len(times) or times[0] < 0.0 or times[-1] > until:
        raise ArgumentError(f"samples: give times between 0 and until = {until:g} s, or their number, got {samples!r}")
    return times


def _with_laws(model: Any, laws: Mapping[str, Expr], choose: Mapping[str, Any]) -> Equations:
    """The equations with the laws of inputs; chosen names in laws that the model does not know become parameters."""
    if not laws:
        return equations_of(model)
    if isinstance(model, Equations):
        return with_laws(model, laws)
    system = model.freeze() if isinstance(model, Model) else model
    known = {q.name for q in (*equations_of(system).parameters, *equations_of(system).states, *equations_of(system).outputs)}
    free = sorted({n for law in laws.values() for n in names_in(law)} & set(choose) - known)
    wider = replace(system, parameters=(*system.parameters, *(Parameter(n, 1.0) for n in free)))
    return derive(wider, laws, work=False)


# ------------------------------------------------------------------------------------------------------------- search


class _Search:
    """Global search by quasi-random designs, then local search from the best ones."""

    def __init__(
        self, problem: _DesignProblem, criterion: Criterion, method: SingleShooting, trials: int, seed: int, progress: Any
    ) -> None:
        self._problem, self._criterion, self._method = problem, criterion, method
        self._trials, self._seed, self._progress = trials, seed, progress
        self._done, self._trouble = 0, ""

    def identifiability(self, z: Reals) -> Identifiability | None:
        """Identifiability of a design; None if a run does not reach its samples."""
        q = self._problem
        count, each = len(q.base.unknowns), len(q.base.starts)
        blocks = []
        for k in range(q.experiments):
            chosen, instants = q.settings(z[k * q.each : (k + 1) * q.each])
            rows = self._rows(k, chosen, instants)
            if rows is None:
                return None
            wide = np.zeros((len(rows), count + each * q.experiments))
            wide[:, :count] = rows[:, :count]
            wide[:, count + k * each : count + (k + 1) * each] = rows[:, count:]
            blocks.append(wide)
        names = q.base.names
        for name, size in q.priors.items():  # starts are named with their experiment: one row for each
            rows = np.diag([1.0 / size if n.split(" of ")[0] == name else 0.0 for n in names])
            blocks.append(rows[np.diag(rows) > 0.0])
        return Identifiability(names, np.vstack(blocks), q.base.sizes)

    def _rows(self, k: int, chosen: Mapping[str, float], instants: Reals) -> Reals | None:
        """Derivatives of an experiment's samples in units of their noise, (samples, unknowns)."""
        q, base = self._problem, self._problem.base
        times, counts = np.unique(instants, return_counts=True)
        p, recording = base.fixed.copy(), base.recordings[k]
        targets, constants = dict(recording.targets), dict(recording.constants)
        parameters, inputs = [x.name for x in base.equations.parameters], [x.name for x in base.equations.inputs]
        for name, value in chosen.items():
            if name in parameters:
                p[parameters.index(name)] = value
            elif name in inputs:
                constants[name] = value
            else:
                targets[name] = value
        one: Recording = replace(
            recording, times=times, values=np.zeros((len(times), len(q.sigmas))), targets=targets, constants=constants
        )
        alone = replace(base, recordings=(one,), fixed=p)
        (found,) = predict(alone, alone.guess, self._method)
        if found.trouble or not np.isfinite(found.by).all():
            chosen_text = ", ".join(f"{n} = {v:.4g}" for n, v in chosen.items())
            self._trouble = self._trouble or f"with {chosen_text}: {found.trouble or 'derivatives are not finite'}"
            return None
        weighted = found.by / q.sigmas[:, None] * np.sqrt(counts)[:, None, None]
        return np.asarray(weighted.reshape(-1, weighted.shape[2]))

    def value(self, z: Reals) -> float:
        identifiability = self.identifiability(np.clip(z, 0.0, 1.0))
        if identifiability is None:
            return USELESS
        kept = [identifiability.names.index(n) for n in self._problem.names]
        sizes = identifiability.sizes[kept]
        covariance = identifiability.covariance[np.ix_(kept, kept)] / np.outer(sizes, sizes)
        if not np.isfinite(covariance).all():
            return USELESS
        return self._criterion.value(self._problem.names, covariance)

    def _counted(self, z: Reals) -> float:
        self._done += 1
        return self.value(z)

    def run(self) -> Design:
        q = self._problem
        size = q.each * q.experiments
        initial_designs = self._spread(size)
        values = [self._reported(k / (2 * len(initial_designs)), self._counted(z)) for k, z in enumerate(initial_designs)]
        best = initial_designs[int(np.argmin(values))]
        if min(values) < USELESS and size:
            best = self._improved([initial_designs[i] for i in np.argsort(values)[:LOCAL] if values[i] < USELESS])
        identifiability = self.identifiability(best)
        if identifiability is None:
            raise SolverError(f"{q.base.equations.name}: no design reaches its last sample; {self._trouble}")
        settings = [q.settings(best[k * q.each : (k + 1) * q.each]) for k in range(q.experiments)]
        return Design(
            q.base.equations.name,
            self._criterion,
            tuple(chosen for chosen, _ in settings),
            tuple(instants for _, instants in settings),
            identifiability,
            q.base.units,
            self.identifiability(np.full(size, 0.5)) if size else None,
            self.value(best),
            self._done,
        )

    def _reported(self, fraction: float, value: float) -> float:
        if self._progress is not None:
            self._progress(Progress("designing", min(fraction, 1.0)))
        return value

    def _spread(self, size: int) -> list[Reals]:
        """The middle of the ranges, and quasi-random points."""
        from scipy.stats import qmc

        if size == 0:
            return [np.zeros(0)]
        points = qmc.Halton(size, scramble=True, seed=self._seed).random(self._trials)
        return [np.full(size, 0.5), *points]

    def _improved(self, initial_designs: Sequence[Reals]) -> Reals:
        """The best design after a bounded local search from each."""
        from scipy.optimize import minimize

        found = []
        for k, z in enumerate(initial_designs):
            result = minimize(self._counted, z, method="L-BFGS-B", jac="3-point", bounds=[(0.0, 1.0)] * len(z))
            found.append(
                (self._reported(0.5 + 0.5 * (k + 1) / len(initial_designs), float(result.fun)), np.clip(result.x, 0.0, 1.0))
            )
        return min(found, key=lambda pair: pair[0])[1]
