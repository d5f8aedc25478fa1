"""From an estimation in words to its solution for given noise, by single shooting through SciPy or by windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.collocation import Collocating
from draisine.estimation.losses import Loss, widening
from draisine.estimation.multiple_shooting import MultipleShooting, cut_of, first_shot, fit_windows
from draisine.estimation.problem import Posed, prior_rows
from draisine.estimation.single_shooting import Predicted, Predictor, SingleShooting, predict, refuse_growth, refuse_noisy_inputs
from draisine.estimation.window_chain import Shot

Reals = NDArray[np.float64]
MultipleShooting = SingleShooting | MultipleShooting | Collocating
Progress = Callable[[str], None]

ACCURACY = 1e-11  # of SciPy's steps
KEPT = 4  # predictions that are remembered within a fit


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found. `root` is the root of the information about all that was looked for: rows of white derivatives."""

    unknowns: Reals
    root: Reals
    white: Reals  # residuals of measurements over their noise
    prior: Reals  # and of what was known before
    predicted: tuple[Reals, ...]  # (instants, channels) per experiment
    freedom: int  # residuals less unknowns
    widening: float  # of the covariance, by a robust loss
    rounds: int
    gap: float = 0.0  # the largest between windows, in spreads
    shot: Shot | None = None  # the windows
    squares: float = 0.0  # Σρ over all rows
    settled: bool = True  # whether the search came to its end


def solve(
    posed: Posed,
    method: MultipleShooting,
    sigmas: Reals,
    loss: Loss | None = None,
    begin: Outcome | Reals | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """The best unknowns for given noise, from the guess or from what was found before."""
    unknowns = posed.guess if begin is None else begin.unknowns if isinstance(begin, Outcome) else begin
    if isinstance(method, SingleShooting):
        refuse_noisy_inputs(posed)
        return _single(posed, method, sigmas, loss, unknowns, progress)
    shot = begin.shot if isinstance(begin, Outcome) else None
    return _of_shot(posed, fit_windows(posed, cut_of(method, posed.equations), unknowns, sigmas, loss, shot, progress), loss)


def look(posed: Posed, method: MultipleShooting, sigmas: Reals, unknowns: Reals | None = None) -> Outcome:
    """What the data would tell at the guess, before anything is fitted."""
    at = posed.guess if unknowns is None else unknowns
    if isinstance(method, SingleShooting):
        refuse_noisy_inputs(posed)
        found = predict(posed, at, method)
        refuse_growth(posed, found)
        return _of_predicted(posed, found, at, sigmas, None, 0)
    return _of_shot(posed, first_shot(posed, cut_of(method, posed.equations), at, sigmas), None)


# ------------------------------------------------------------------------------------------------------------- single


class _Residuals:
    """Residuals and Jacobian at the same unknowns come from one run; the last few are kept."""

    def __init__(self, predictor: Predictor, sigmas: Reals, progress: Progress | None) -> None:
        self._predictor, self._sigmas, self._progress = predictor, sigmas, progress
        self._known: dict[bytes, tuple[list[Predicted], Reals, Reals]] = {}
        self.rounds = 0

    def at(self, unknowns: Reals) -> tuple[list[Predicted], Reals, Reals]:
        key = np.asarray(unknowns, dtype=float).tobytes()
        if key not in self._known:
            found = self._predictor(unknowns)
            while len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = (found, *_rows(self._predictor.posed, found, unknowns, self._sigmas))
            self.rounds += 1
            if self._progress is not None:
                self._progress(f"run {self.rounds}: sum of squares {float(np.sum(self._known[key][1] ** 2)):.6g}")
        return self._known[key]

    def values(self, unknowns: Reals) -> Reals:
        return self.at(unknowns)[1]

    def jacobian(self, unknowns: Reals) -> Reals:
        return self.at(unknowns)[2]


def _rows(posed: Posed, found: Sequence[Predicted], unknowns: Reals, sigmas: Reals) -> tuple[Reals, Reals]:
    """White residuals of measurements, then of what is known before, and their derivatives."""
    sides, jacobian = [], []
    for recording, one in zip(posed.recordings, found, strict=True):
        present = np.isfinite(recording.values)
        sides.append(((one.values - recording.values) / sigmas)[present])
        jacobian.append((one.by / sigmas[:, None])[present])
    matrix, side = prior_rows(posed, unknowns)
    return np.concatenate([*sides, side]), np.vstack([*jacobian, matrix])


def _single(
    posed: Posed, method: SingleShooting, sigmas: Reals, loss: Loss | None, begin: Reals, progress: Progress | None
) -> Outcome:
    from scipy.optimize import least_squares

    residuals = _Residuals(Predictor(posed, method), sigmas, progress)
    low, high = posed.sides
    inside = np.clip(begin, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    refuse_growth(posed, residuals.at(inside)[0])
    measured = posed.samples

    def robust(z: Reals) -> Reals:
        """ρ of measurements; what is known before counts in squares."""
        assert loss is not None
        return np.hstack(
            [loss.rho(z[:measured]), np.array([z[measured:], np.ones(len(z) - measured), np.zeros(len(z) - measured)])]
        )

    found = least_squares(
        residuals.values,
        inside,
        residuals.jacobian,
        bounds=(low, high),
        x_scale=posed.sizes,
        loss="linear" if loss is None else robust,
        ftol=ACCURACY,
        xtol=ACCURACY,
        gtol=ACCURACY,
    )
    at = np.asarray(found.x)
    reported = _of_predicted(posed, residuals.at(at)[0], at, sigmas, loss, residuals.rounds, 2.0 * float(found.cost))
    return replace(reported, settled=found.status > 0)


def _of_predicted(
    posed: Posed,
    found: Sequence[Predicted],
    at: Reals,
    sigmas: Reals,
    loss: Loss | None,
    rounds: int,
    squares: float | None = None,
) -> Outcome:
    side, matrix = _rows(posed, found, at, sigmas)
    n = posed.samples
    return Outcome(
        at,
        np.asarray(np.linalg.qr(matrix, mode="r")),
        side[:n],
        side[n:],
        tuple(one.values for one in found),
        len(side) - len(at),
        widening(loss, side[:n]),
        rounds,
        squares=float(np.sum(side**2)) if squares is None else squares,
    )


# ------------------------------------------------------------------------------------------------------------- windows


def _of_shot(posed: Posed, shot: Shot, loss: Loss | None) -> Outcome:
    predicted = []
    for chain, passages in zip(shot.chains, shot.passages, strict=True):
        values = np.full(chain.windows.recording.values.shape, np.nan)
        for passage in passages:
            values[passage.index] = passage.values
        predicted.append(values)
    white = shot.residuals()
    return Outcome(
        shot.theta,
        shot.root(),
        white,
        shot.priors[1],
        tuple(predicted),
        shot.all_rows + len(shot.priors[1]) - shot.all_starts - len(shot.theta),
        widening(loss, white),
        shot.rounds,
        shot.gap,
        shot,
        2.0 * shot.cost,
        shot.settled,
    )


def fixed_at(posed: Posed, name: str, value: float, deviation: float) -> Posed:
    """The same problem with one unknown held near a value, beside what is known of it before: nothing is compiled anew."""
    return replace(posed, held={name: (value, deviation)})
