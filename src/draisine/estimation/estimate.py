"""`estimate`: parameters of a model from data, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError, SolverError
from draisine.estimation.estimated_noise import MEDIAN_EFFICIENCY
from draisine.estimation.fisher_information import Identifiability
from draisine.estimation.fit import Fit, Trial
from draisine.estimation.losses import Loss
from draisine.estimation.measurement import deviations, roughness
from draisine.estimation.multistart import MultiStart, best_of_starts
from draisine.estimation.problem import EstimationProblem, build_problem
from draisine.estimation.single_shooting import SingleShooting
from draisine.estimation.solve import (
    EXACT,
    FitMethod,
    Outcome,
    evaluate_at_guess,
    fits_exactly,
    sizes_of,
    solve,
    with_noise_effect,
)
from draisine.expr.expression import Expr
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations
from draisine.results.status import ProgressCallback

Reals = NDArray[np.float64]

ROUNDS = 40  # of fits with updated noise estimates
TRUST = 10.0  # factor between the noise of a column that is trusted and that of the others, each way
SAME = 1e-5  # relative change of the noise at convergence


@checked
def estimate(
    model: Model | System | Equations,
    data: Any,
    unknown: Sequence[str] | Mapping[str, tuple[float, float]],
    measured: Mapping[str, Any] | Sequence[str],
    *,
    guess: Mapping[str, float] | None = None,
    start: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    relations: Mapping[str, str | Expr] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    start_time: float = 0.0,
    loss: Loss | None = None,
    method: FitMethod | None = None,
    starts: MultiStart | None = None,
    on: Any = None,
    progress: ProgressCallback | None = None,
) -> Fit:
    """Estimate parameters of a model from data, with their uncertainty.

    - `data`: a table (pandas, xarray, mapping of columns), a file (CSV, Parquet, NetCDF), a trajectory, or several of them.
    - `unknown`: names of parameters, or {name: (low, high)}; "start.lean" is a target of the start, unknown in each experiment.
    - `measured`: {column: quantity} or {column: (quantity, noise)}; noise is a standard deviation in SI units or a text with a
      unit, estimated from the residuals if not given. Quantities are coordinates, velocities, outputs, multipliers.
    - `guess`: initial values; by default those of the model, or the middle of the bounds.
    - `start`: targets for the start, as in `simulate`; one mapping for all experiments, or one for each. They are known, unless
      `unknown` names them or they are an `InitialGuess`. What is not given has its default in single shooting and is estimated
      by windows and collocation (`fit.estimated_start` lists it), except in a first-order system that has a start of its own.
    - `start_time`: when the start holds, in seconds by the clock of the data; zero by default, whenever the first sample is.
    - `inputs`: {input: column} or {input: (column, noise)}, linear between samples, or `CubicInput(column, noise)`; a constant;
      or a law, {"u": "-3*rate + sin(2*t)"}.
    - `relations`: parameters that follow from others, {"izz_frame": "2*ixx_frame"}.
    - `priors`: {name: (mean, standard deviation)}.
    - `loss`: `Huber()`, `SoftL1()` or `Cauchy()`, robust against outliers.
    - `method`: `SingleShooting()`; `MultipleShooting(window=…)` or `Collocation("radau", 3, intervals)` for motions that are
      sensitive to their start.
    - `starts`: `MultiStart(count)` for several local minima; `on`: where to run these fits, as in `ensemble`: a
      `distributed.Client`, or an executor of processes.
    - `parameters`: values of known parameters by name; the others have their defaults.
    - `progress`: called with a `Progress` after every step; `progress=print` prints a line.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, k = sp.symbols("x k")
    >>> decay = dr.first_order("decay", {x: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> t = np.linspace(0.0, 2.0, 21)
    >>> found = dr.estimate(decay, {"time": t, "level": np.exp(-0.7 * t)}, ["k"], {"level": "x"})
    >>> round(found["k"], 9)
    0.7
    """
    problem = build_problem(
        model,
        data,
        unknown,
        measured,
        guess=guess,
        start=start,
        inputs=inputs,
        parameters=parameters,
        relations=relations,
        priors=priors,
        start_time=start_time,
    )
    return fitted(problem, method or SingleShooting(), loss, starts, progress, on)


def identifiability(
    model: Model | System | Equations,
    data: Any,
    unknown: Sequence[str] | Mapping[str, tuple[float, float]],
    measured: Mapping[str, Any] | Sequence[str],
    *,
    method: FitMethod | None = None,
    **given: Any,
) -> Identifiability:
    """Identifiability of the unknowns at the guess, before a fit or even before a measurement.

    `data`, `unknown`, `measured`, `method` and all that is `given` by keyword are the arguments of `estimate`. With given noise
    and single shooting, only times, inputs and the missing samples of the data matter; a simulated run is enough.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, a, b = sp.symbols("x a b")
    >>> decay = dr.first_order("decay", {x: -a * b * x}, parameters={a: 1.0, b: 2.0}, start={x: 1.0})
    >>> t = np.linspace(0.0, 2.0, 21)
    >>> reported = dr.estimation.identifiability(decay, {"time": t, "x": 0 * t}, ["a", "b"], {"x": ("x", 0.01)})
    >>> print(reported.unidentifiable[0])
    b +100 %, a -100 %: not at all
    """
    problem = build_problem(model, data, unknown, measured, **given)
    return Identifiability(
        problem.names, evaluate_at_guess(problem, method or SingleShooting(), _initial_noise(problem)).root, problem.sizes
    )


def fitted(
    problem: EstimationProblem,
    method: FitMethod,
    loss: Loss | None = None,
    starts: MultiStart | None = None,
    progress: ProgressCallback | None = None,
    on: Any = None,
) -> Fit:
    """Solve an estimation problem."""
    sigmas = _initial_noise(problem)
    _check_noise(problem)
    seen = evaluate_at_guess(problem, method, sigmas)
    before = Identifiability(problem.names, seen.root, problem.sizes)
    if before.without_effect:
        where = "in the modes that contacts take at the guess; give another guess=" if problem.equations.unilateral else "here"
        raise DataError(
            f"{', '.join(before.without_effect)}: the measurements ({', '.join(problem.quantities)}) do not depend on it "
            f"{where}; remove it, measure other quantities, or use another motion"
        )
    trials: tuple[Trial, ...] = ()
    if starts is None:
        best = solve(problem, method, sigmas, loss, seen, progress)
    else:
        best, trials = best_of_starts(problem, method, sigmas, loss, starts, progress, on)
    best, sigmas = _NoiseFit(problem, method, loss, progress).most_likely(sigmas, best)
    freedoms = noise_freedoms(problem, best, loss is not None)
    if len(freedoms) > 1 and any(freedoms) and best.settled:
        best = with_noise_effect(problem, method, sigmas, best, freedoms)
    return Fit(problem, method, best, sigmas, loss, before, trials)


def _initial_noise(problem: EstimationProblem) -> Reals:
    guessed = roughness(problem.recordings)
    return np.array([g if c.sigma is None else c.sigma for c, g in zip(problem.recordings[0].channels, guessed, strict=True)])


def noise_freedoms(problem: EstimationProblem, best: Outcome, robust: bool) -> list[float | None]:
    """Degrees of freedom of the noise of each channel, as `deviations` estimates it; None where it is given, or is not known."""
    counts = sum(np.isfinite(r.values).sum(axis=0) for r in problem.recordings)
    share = best.freedom / (problem.samples + len(best.prior)) * (MEDIAN_EFFICIENCY if robust else 1.0)
    channels = problem.recordings[0].channels
    return [None if c.sigma is not None or share <= 0.0 else share * float(n) for c, n in zip(channels, counts, strict=True)]


def _check_noise(problem: EstimationProblem) -> None:
    unknown_noise = [c.column for c in problem.recordings[0].channels if c.sigma is None]
    driven = [name for r in problem.recordings for name, _ in r.noisy]
    if unknown_noise and driven:
        raise DataError(
            f"the noise of the input {driven[0]!r} is given, that of {', '.join(unknown_noise)} is not: residuals cannot "
            "separate the two; give both"
        )


class _NoiseFit(NamedTuple):
    """A fit of parameters together with the noise that is not given."""

    problem: EstimationProblem
    method: FitMethod
    loss: Loss | None
    progress: ProgressCallback | None

    def _solve(self, sigmas: Reals, begin: Outcome | Reals) -> Outcome:
        return solve(self.problem, self.method, sigmas, self.loss, begin, self.progress)

    def most_likely(self, sigmas: Reals, best: Outcome) -> tuple[Outcome, Reals]:
        """The fit at the best maximum of the likelihood of parameters and noise.

        With the noise of several columns unknown the likelihood may have several maxima, in each of which another column is
        fitted closely. Fits therefore also begin with one column trusted more than the others; maxima at which a column is fitted
        to rounding have no noise to estimate, and count only if all are such.
        """
        found = [self._until_constant(sigmas, best)]
        free = [j for j, c in enumerate(self.problem.recordings[0].channels) if c.sigma is None]
        if len(free) > 1:
            sizes = sizes_of(self.problem)
            for j in free:
                trusted = found[0][1].copy()
                trusted[[i for i in free if i != j]] *= TRUST
                trusted[j] /= TRUST
                try:
                    found.append(self._until_constant(trusted, self._solve(trusted, best.unknowns)))
                except SolverError:  # from there the model does not reach the data: no other maximum on this side
                    continue
            proper = [one for one in found if (one[1][free] > EXACT * sizes[free]).all() and one[0].settled]
            found = proper or found[:1]
        return min(found, key=lambda one: _unlikelihood(self.problem, one[0], one[1], free))

    def _until_constant(self, sigmas: Reals, best: Outcome) -> tuple[Outcome, Reals]:
        """Estimate unknown noise from residuals and fit again, until convergence."""
        problem = self.problem
        unknown_noise = np.array([c.sigma is None for c in problem.recordings[0].channels])
        if not unknown_noise.any() or best.freedom <= 0:  # as many unknowns as data: the residuals say nothing about the noise
            return best, sigmas
        sizes = sizes_of(problem)
        for _ in range(ROUNDS):
            raw = [predicted - r.values for predicted, r in zip(best.predicted, problem.recordings, strict=True)]
            taken = problem.samples + len(best.prior) - best.freedom
            new = np.where(unknown_noise, deviations(raw, taken, self.loss is not None, sizes), sigmas)
            change = float(np.abs(new / sigmas - 1.0).max())
            sigmas = new
            best = self._solve(sigmas, best)
            if change <= SAME:
                return best, sigmas
        if fits_exactly(problem, best.predicted):  # the noise is rounding, which does not converge
            return best, sigmas
        reason = f"noise estimated from the residuals still changes by {100 * change:.2g} %"
        return replace(best, settled=False, trouble=best.trouble or reason), sigmas


def _unlikelihood(problem: EstimationProblem, outcome: Outcome, sigmas: Reals, free: Sequence[int]) -> float:
    """−2 log of the likelihood, up to a constant: Σ r²/σ² + 2 n log σ."""
    counts = sum(np.isfinite(r.values).sum(axis=0) for r in problem.recordings)
    return outcome.squares + 2.0 * float(np.sum((counts * np.log(sigmas))[list(free)]))
