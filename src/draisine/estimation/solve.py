"""Solution of estimation problems for given noise, by single shooting with SciPy's least squares or by windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.estimation.estimated_noise import NoiseEffect, noise_effect
from draisine.estimation.fisher_information import Identifiability
from draisine.estimation.initial_guess import WindowSettings
from draisine.estimation.losses import Loss, covariance_factor
from draisine.estimation.multiple_shooting import first_shot, fit_windows, window_settings
from draisine.estimation.problem import EstimationProblem, prior_rows
from draisine.estimation.single_shooting import Predicted, Predictor, SingleShooting, check_exact_inputs, check_growth, predict
from draisine.estimation.window_chain import ShootingState
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.results.status import Progress, ProgressCallback

Reals = NDArray[np.float64]
FitMethod = SingleShooting | MultipleShooting | Collocation

ACCURACY = 1e-11  # tolerances of SciPy's least_squares
LOOSER = (30.0, 5.0, 1.0)  # factors of the noise of inputs where a search did not converge
KEPT = 4  # cached predictions within a fit
CLOSE = 1e-6  # of an unknown's size: distance from a bound
RANK = 1e-7  # of the largest singular value: directions that the data do not identify
STEP = 0.02  # standard deviations: a longer step from where a search ended shows that it did not converge
ROUNDING = 1e-4  # of the noise: smaller residuals are errors of integration
EXACT = 1e-9  # of a column's size: smaller residuals, or noise, are those of integration


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a fit. `root` is the square root of the information about all unknowns: rows of white derivatives."""

    unknowns: Reals
    root: Reals
    white: Reals  # residuals of measurements over their noise
    prior: Reals  # residuals of priors
    predicted: tuple[Reals, ...]  # (times, channels) per experiment
    freedom: int  # residuals less unknowns
    covariance_factor: float  # of the covariance, by a robust loss
    rounds: int
    gap: float = 0.0  # the largest between windows, in spreads
    shot: ShootingState | None = None  # the windows
    squares: float = 0.0  # Σρ over all rows
    settled: bool = True  # whether the search converged
    trouble: str = ""  # why not
    noise_effect: NoiseEffect | None = None  # of estimated noise of several columns, on the uncertainty


def solve(
    problem: EstimationProblem,
    method: FitMethod,
    sigmas: Reals,
    loss: Loss | None = None,
    begin: Outcome | Reals | None = None,
    progress: ProgressCallback | None = None,
) -> Outcome:
    """The best unknowns for given noise, starting from the guess or from an earlier outcome."""
    unknowns = problem.guess if begin is None else begin.unknowns if isinstance(begin, Outcome) else begin
    if isinstance(method, SingleShooting):
        check_exact_inputs(problem)
        return _single(problem, method, sigmas, loss, unknowns, progress)
    shot = begin.shot if isinstance(begin, Outcome) else None
    settings = window_settings(method, problem.equations)
    found = fit_windows(problem, settings, unknowns, sigmas, loss, shot, progress)
    if not found.settled and any(r.noisy for r in problem.recordings):
        found = _through_looser_inputs(problem, settings, found, unknowns, sigmas, loss, progress)
    return _of_shot(problem, found, loss)


def with_noise_effect(
    problem: EstimationProblem, method: FitMethod, sigmas: Reals, found: Outcome, freedoms: Sequence[float | None]
) -> Outcome:
    """The same outcome with the effect of noise that was estimated with so many degrees of freedom per channel."""
    sizes = np.where(found.unknowns != 0.0, np.abs(found.unknowns), problem.sizes)
    shot = found.shot
    predicted = Predictor(problem, method)(found.unknowns) if shot is None and isinstance(method, SingleShooting) else []

    def covariance(factors: Reals) -> Reals:
        root = _rows(problem, predicted, found.unknowns, sigmas * factors)[1] if shot is None else shot.scaled(factors).root()
        return Identifiability(problem.names, root, sizes).covariance

    return replace(found, noise_effect=noise_effect(covariance, freedoms))


def _through_looser_inputs(
    problem: EstimationProblem,
    settings: WindowSettings,
    failed: ShootingState,
    unknowns: Reals,
    sigmas: Reals,
    loss: Loss | None,
    progress: ProgressCallback | None,
) -> ShootingState:
    """Fits with inputs that are known less and less loosely, each from the unknowns of the one before.

    Far from the solution, inputs that may deviate keep an unstable motion near the data, where their noise alone would not.
    """
    rounds, reached = failed.rounds, failed
    for factor in LOOSER:
        recordings = tuple(r.with_input_noise(factor) for r in problem.recordings)
        try:
            found = fit_windows(replace(problem, recordings=recordings), settings, unknowns, sigmas, loss, None, progress)
        except SolverError:  # from these unknowns a window does not reach its end
            continue
        unknowns, rounds = found.theta, rounds + found.rounds
        if factor == 1.0 and (found.settled or found.cost < failed.cost):
            reached = found
    return replace(reached, rounds=rounds)


def evaluate_at_guess(problem: EstimationProblem, method: FitMethod, sigmas: Reals, unknowns: Reals | None = None) -> Outcome:
    """The outcome at the guess, without a fit."""
    at = problem.guess if unknowns is None else unknowns
    if isinstance(method, SingleShooting):
        check_exact_inputs(problem)
        found = predict(problem, at, method)
        check_growth(problem, found)
        return _of_predicted(problem, found, at, sigmas, None, 0)
    return _of_shot(problem, first_shot(problem, window_settings(method, problem.equations), at, sigmas), None)


# ------------------------------------------------------------------------------------------------------------- single


class _Residuals:
    """Residuals and Jacobian at the same unknowns come from one run; the last few are cached."""

    def __init__(self, predictor: Predictor, sigmas: Reals, progress: ProgressCallback | None) -> None:
        self._predictor, self._sigmas, self._progress = predictor, sigmas, progress
        self._known: dict[bytes, tuple[list[Predicted], Reals, Reals]] = {}
        self.rounds = 0

    def at(self, unknowns: Reals) -> tuple[list[Predicted], Reals, Reals]:
        key = np.asarray(unknowns, dtype=float).tobytes()
        if key not in self._known:
            found = self._predictor(unknowns)
            while len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = (found, *_rows(self._predictor.problem, found, unknowns, self._sigmas))
            self.rounds += 1
            if self._progress is not None:
                squares = float(np.sum(self._known[key][1] ** 2))
                self._progress(
                    Progress(f"run {self.rounds}: sum of squares {squares:.6g}", None, {"run": self.rounds, "cost": squares / 2})
                )
        return self._known[key]

    def values(self, unknowns: Reals) -> Reals:
        return self.at(unknowns)[1]

    def jacobian(self, unknowns: Reals) -> Reals:
        return self.at(unknowns)[2]


def _rows(problem: EstimationProblem, found: Sequence[Predicted], unknowns: Reals, sigmas: Reals) -> tuple[Reals, Reals]:
    """White residuals of measurements, then of priors, and their derivatives."""
    bounds, jacobian = [], []
    for recording, one in zip(problem.recordings, found, strict=True):
        present = np.isfinite(recording.values)
        bounds.append(((one.values - recording.values) / sigmas)[present])
        jacobian.append((one.by / sigmas[:, None])[present])
    matrix, side = prior_rows(problem, unknowns)
    return np.concatenate([*bounds, side]), np.vstack([*jacobian, matrix])


def _single(
    problem: EstimationProblem,
    method: SingleShooting,
    sigmas: Reals,
    loss: Loss | None,
    begin: Reals,
    progress: ProgressCallback | None,
) -> Outcome:
    from scipy.optimize import least_squares

    residuals = _Residuals(Predictor(problem, method), sigmas, progress)
    low, high = problem.bounds
    inside = np.clip(begin, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    check_growth(problem, residuals.at(inside)[0])
    measured = problem.samples

    def robust(z: Reals) -> Reals:
        """ρ of measurements; priors are quadratic."""
        assert loss is not None
        return np.hstack(
            [loss.rho(z[:measured]), np.array([z[measured:], np.ones(len(z) - measured), np.zeros(len(z) - measured)])]
        )

    found = least_squares(
        residuals.values,
        inside,
        residuals.jacobian,
        bounds=(low, high),
        x_scale=problem.sizes,
        loss="linear" if loss is None else robust,
        ftol=ACCURACY,
        xtol=ACCURACY,
        gtol=ACCURACY,
    )
    at = np.asarray(found.x)
    reported = _of_predicted(problem, residuals.at(at)[0], at, sigmas, loss, residuals.rounds, 2.0 * float(found.cost))
    exact = fits_exactly(problem, reported.predicted)
    trouble = "" if found.status > 0 or exact else "the limit of runs was reached"
    broken = next(
        (f"{r.name}: {one.trouble}" for r, one in zip(problem.recordings, residuals.at(at)[0], strict=True) if one.trouble), ""
    )
    trouble = (
        trouble
        or broken
        or (_unfinished(problem, *_rows(problem, residuals.at(at)[0], at, sigmas), at) if loss is None and not exact else "")
    )
    return replace(reported, settled=not trouble, trouble=trouble)


def _unfinished(problem: EstimationProblem, side: Reals, jacobian: Reals, at: Reals) -> str:
    """Why a point is no minimum: a full step from it would change unknowns by a share of their standard deviations."""
    low, high = problem.bounds
    gradient = jacobian.T @ side
    inside = ~(
        ((at - low <= CLOSE * problem.sizes) & (gradient > 0.0)) | ((high - at <= CLOSE * problem.sizes) & (gradient < 0.0))
    )
    scaled = jacobian[:, inside] * problem.sizes[inside]
    if not scaled.size or not np.isfinite(scaled).all():
        return ""
    vectors, values, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = values > RANK * values[0]
    step = float(np.linalg.norm(vectors[:, kept].T @ side))
    scale = max(float(np.linalg.norm(side)) / np.sqrt(max(len(side) - len(at), 1)), 1e-300)
    return "" if step <= STEP * max(scale, ROUNDING) else f"the next step is {step / scale:.2g} standard deviations"


def fits_exactly(problem: EstimationProblem, predicted: Sequence[Reals]) -> bool:
    """Whether all residuals are rounding, about which steps of a search say nothing.

    Only without given noise: given noise, however small, is a statement about the residuals.
    """
    if any(c.sigma is not None for c in problem.recordings[0].channels):
        return False
    measured = np.concatenate([r.values for r in problem.recordings])
    close = np.abs(np.concatenate(list(predicted)) - measured) <= EXACT * sizes_of(problem)
    return bool(close[np.isfinite(measured)].all())


def sizes_of(problem: EstimationProblem) -> Reals:
    """Largest measured values of the channels."""
    return np.asarray(np.nanmax(np.abs(np.concatenate([r.values for r in problem.recordings])), axis=0))


def _of_predicted(
    problem: EstimationProblem,
    found: Sequence[Predicted],
    at: Reals,
    sigmas: Reals,
    loss: Loss | None,
    rounds: int,
    squares: float | None = None,
) -> Outcome:
    side, matrix = _rows(problem, found, at, sigmas)
    n = problem.samples
    return Outcome(
        at,
        np.asarray(np.linalg.qr(matrix, mode="r")),
        side[:n],
        side[n:],
        tuple(one.values for one in found),
        len(side) - len(at),
        covariance_factor(loss, side[:n]),
        rounds,
        squares=float(np.sum(side**2)) if squares is None else squares,
    )


# ------------------------------------------------------------------------------------------------------------- windows


def _of_shot(problem: EstimationProblem, shot: ShootingState, loss: Loss | None) -> Outcome:
    predicted = []
    for chain, window_runs in zip(shot.chains, shot.window_runs, strict=True):
        values = np.full(chain.windows.recording.values.shape, np.nan)
        for window_run in window_runs:
            values[window_run.index] = window_run.values
        predicted.append(values)
    white = shot.residuals()
    freedom = shot.all_rows + len(shot.priors[1]) - shot.all_starts - len(shot.theta)
    trouble, settled = "", shot.settled or (shot.gap <= EXACT and fits_exactly(problem, predicted))
    if not settled:
        ratio = np.sqrt(2.0 * shot.cost / max(freedom, 1))
        trouble = (
            f"residuals are {ratio:.3g} times the noise, and gaps between windows reach {shot.gap:.1g} of the spread of starts"
        )
    return Outcome(
        shot.theta,
        shot.root(),
        white,
        shot.priors[1],
        tuple(predicted),
        freedom,
        covariance_factor(loss, white),
        shot.rounds,
        shot.gap,
        shot,
        2.0 * shot.cost,
        settled,
        trouble,
    )


def pinned_at(problem: EstimationProblem, name: str, value: float, deviation: float) -> EstimationProblem:
    """The same problem with one unknown pinned to a value by an additional prior, without new compilation."""
    return replace(problem, pinned={name: (value, deviation)})
