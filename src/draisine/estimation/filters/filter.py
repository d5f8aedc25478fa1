"""The verb `filter`: states of a model from recorded data, sample by sample, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, DataError, ModelError, SolverError
from draisine.estimation.data import Experiment
from draisine.estimation.experiment_data import Recording, begun
from draisine.estimation.filters.chart import Manifold, symmetric
from draisine.estimation.filters.filter_result import Estimates, FilterResult
from draisine.estimation.filters.methods import Belief, Corrected, ExtendedKalmanFilter, Filter, Predicted, Sample, smoothed
from draisine.estimation.filters.prediction import Mover, held
from draisine.estimation.filters.process_noise import Noise
from draisine.estimation.inputs import with_laws_of
from draisine.estimation.measurement import observer
from draisine.estimation.problem import recording_of
from draisine.estimation.tangent_coordinates import named_deviations
from draisine.expr.expression import did_you_mean
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.methods.selection import Method
from draisine.simulation.named_values import numbers

Reals = NDArray[np.float64]


def filter(
    model: Model | System | Equations,
    data: Any,
    *,
    measured: Mapping[str, Any] | Sequence[str],
    noise: Mapping[str, float] | ArrayLike | None = None,
    process: Mapping[str, float] | None = None,
    start: Mapping[str, float | InitialGuess] | None = None,
    spread: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    method: Filter | None = None,
    smooth: bool = False,
    integration: Method | None = None,
    progress: Callable[[float], None] | None = None,
) -> FilterResult:
    """Where a mechanism was, and how well one knows it: a Kalman filter on the model's own equations.

    - `data`: a table, file or trajectory, as for `estimate`; instants need not be regular, samples may be missing (NaN).
    - `measured`: column → standard deviation, where the column is called as what it measures; → (quantity, deviation) where it is
      not. Quantities are coordinates, velocities, outputs, multipliers; forces and accelerations too.
    - `noise`: deviations by column where `measured` does not tell them; or the covariance matrix of all columns.
    - `process`: white noise on inputs, or on states themselves, as root of its spectral density: noise of size σ on a velocity
      alone makes it wander by σ√t in the time t.
    - `start`: wishes for the state at the first instant; `spread`: standard deviations of named states or outputs at the start.
      What `spread` does not name is known exactly.
    - `inputs`: constants, columns (straight between samples, or `Smooth(column)`), or laws, "-3*steer_rate + sin(2*t)".
    - `method`: `Extended()` or `Unscented()`; `smooth=True` runs back as well (Rauch, Tung & Striebel).

    - `integration`: the method; chosen if not given. Equations 0 = F(t, x, ẋ) serve as well as explicit ones.

    Errors are small changes that keep the constraints; every estimate keeps them to rounding.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, v = sp.symbols("x v")
    >>> walk = dr.first_order("walk", {x: v, v: 0 * x})
    >>> data = {"time": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0]}
    >>> found = dr.filter(walk, data, measured={"x": 0.1}, spread={"x": 1.0, "v": 10.0})
    >>> round(float(found["v"][-1]), 2), round(float(found.deviation("v")[-1]), 3)
    (1.0, 0.071)
    """
    experiment = Experiment.of(data, data.name if isinstance(data, Experiment) else "data")
    equations, driving = with_laws_of(model, [experiment], inputs or {})
    posed = _pose(equations, experiment, measured, noise, start, driving, parameters, process, spread)
    manifold = Manifold(posed.equations, posed.p)
    mover = Mover(manifold, posed.recording, posed.noise, integration or Mover.usual(posed.equations))
    return _run(posed, mover, method or ExtendedKalmanFilter(), smooth, progress)


# ------------------------------------------------------------------------------------------------------------- posing


@dataclass(frozen=True, eq=False)
class _Posed:
    """Everything that was given, checked."""

    equations: Equations
    recording: Recording
    covariance: Reals  # of the noise of all channels
    noise: Noise
    x: Reals
    p: Reals
    spread: Mapping[str, float]


def _pose(
    equations: Equations,
    experiment: Experiment,
    measured: Mapping[str, Any] | Sequence[str],
    noise: Any,
    start: Mapping[str, float | InitialGuess] | None,
    inputs: Mapping[str, Any],
    parameters: Mapping[str, float] | None,
    process: Mapping[str, float] | None,
    spread: Mapping[str, float] | None,
) -> _Posed:
    reported: dict[str, Any] = {name: name for name in measured} if not isinstance(measured, Mapping) else dict(measured)
    reported = {c: (c, w) if isinstance(w, int | float | np.number) else w for c, w in reported.items()}
    if isinstance(noise, Mapping):
        for column, size in noise.items():
            if column not in reported:
                raise DataError(f"noise: {column!r} is not among what is measured{did_you_mean(column, list(reported))}")
            quantity = reported[column][0] if isinstance(reported[column], tuple) else reported[column]
            reported[column] = (quantity, size)
    recording = recording_of(equations, experiment, reported, inputs, {**(start or {}), **experiment.start})
    p = numbers("parameter", equations.parameters, parameters)
    for name, drive in recording.recorded.items():
        if drive.sigma is not None:
            raise DataError(
                f"inputs: the column {drive.column!r} of {name!r} is taken as it is; say how uncertain the input is by white "
                f"noise, process={{{name!r}: …}}"
            )
    u = recording.given(np.zeros(1))[0]
    _, fitting, x = begun(StartProblem(equations, compiled=False), recording.targets, u, p)
    found = held(fitting)
    covariance = _covariance(recording, None if isinstance(noise, Mapping) else noise)
    around = {name: float(size) for name, size in (spread or {}).items()}
    for name, size in around.items():
        if not (np.isfinite(size) and size >= 0.0):
            raise ArgumentError(f"spread: the standard deviation of {name!r} must be a number that is not negative, got {size!r}")
    made = Noise.of(found, process or {})
    if not made and not any(around.values()):
        raise ArgumentError(
            "nothing is uncertain: with neither spread nor process noise the data have nothing to correct; say how uncertain the "
            "start is, e.g. spread={'lean': 0.1}"
        )
    return _Posed(found, recording, covariance, made, x, p, around)


def _covariance(recording: Recording, given: Any) -> Reals:
    """Of the noise of all channels."""
    columns = [c.column for c in recording.channels]
    if given is not None:
        matrix = np.atleast_2d(np.asarray(given, dtype=float))
        if (
            matrix.shape != (len(columns), len(columns))
            or not np.allclose(matrix, matrix.T)
            or np.linalg.eigvalsh(matrix)[0] <= 0.0
        ):
            raise DataError(
                f"noise: the covariance of {', '.join(columns)} is a symmetric, positive definite matrix of {len(columns)} rows, "
                f"got one of shape {matrix.shape}"
            )
        return matrix
    for channel in recording.channels:
        if channel.sigma is None:
            raise DataError(
                f"how noisy is column {channel.column!r}? A filter weighs model and data: give its standard deviation, "
                f"measured={{{channel.column!r}: …}}"
            )
    return np.diag([float(c.sigma or 0.0) ** 2 for c in recording.channels])


# ------------------------------------------------------------------------------------------------------------- running


def _first(posed: _Posed, mover: Mover) -> Belief:
    """The start: named deviations with their spread, all others known."""
    t, near = 0.0, mover.chart(0.0, posed.x)
    chart = mover.chart(t, mover.point(near, np.zeros(near.tangent.shape[1])))
    asked = tuple(posed.spread)
    count = chart.tangent.shape[1]
    if not count:
        raise ModelError(f"{posed.equations.name}: its constraints leave nothing free; there is nothing to estimate")
    if not asked:
        return Belief(chart, np.zeros((count, count)))
    deviations = named_deviations(posed.equations, asked)
    jacobian = deviations.named(t, chart.x[None], mover.u(t)[None], posed.p[None])
    naming = deviations.choose(jacobian)
    span = np.zeros((len(chart.x), len(asked)))
    places = [naming.names.index(n) for n in asked]
    span[: jacobian.constraints.shape[2]] = naming.span(jacobian)[0][:, places]
    root = chart.reading.T @ span * np.array(list(posed.spread.values()))
    return Belief(chart, symmetric(root @ root.T))


def _sample(posed: _Posed, mover: Mover, k: int) -> tuple[Sample, NDArray[np.bool_]]:
    recording = posed.recording
    t, values = recording.times[k], recording.values[k]
    there = np.isfinite(values)
    # every channel is asked for, so that one compiled program serves all samples
    watch = observer(posed.equations, tuple(c.quantity for c in recording.channels), ())
    u = mover.u(float(t))

    def says(x: Reals) -> tuple[Reals, Reals]:
        n = len(x)
        y, by_state, _ = watch(np.full(n, t), x, np.broadcast_to(u, (n, len(u))), posed.p)
        return y[:, there], by_state[:, there]

    return Sample(values[there], posed.covariance[np.ix_(there, there)], says), there


def _run(posed: _Posed, mover: Mover, method: Filter, smooth: bool, progress: Callable[[float], None] | None) -> FilterResult:
    times, count = posed.recording.times, len(posed.recording.channels)
    innovations = np.full((len(times), count), np.nan)
    covariances = np.full((len(times), count, count), np.nan)
    predicted: list[Predicted] = []
    corrected: list[Corrected] = []
    belief = _first(posed, mover)
    for k, t in enumerate(times):
        still = Predicted(belief, np.eye(len(belief.covariance)))
        ahead = method.predict(belief, float(t), mover) if t > belief.chart.t else still
        sample, there = _sample(posed, mover, k)
        found = method.correct(ahead.belief, sample, mover)
        if not np.isfinite(found.belief.covariance).all():
            raise SolverError(
                f"{posed.equations.name}: the covariance is not finite at t = {t:g} s; what is measured is singular there"
            )
        predicted.append(ahead)
        corrected.append(found)
        belief = found.belief
        innovations[k, there] = found.innovation
        places = np.flatnonzero(there)
        covariances[k][np.ix_(places, places)] = found.covariance
        if progress is not None:
            progress((k + 1) / len(times))
    given = posed.recording.given(times)

    def estimates(beliefs: Sequence[Belief], kind: str) -> Estimates:
        return Estimates(posed.equations, times, tuple(beliefs), given, posed.p, kind)

    back = estimates(smoothed(predicted, corrected, mover), "smoothed") if smooth else None
    return FilterResult(
        estimates([c.belief for c in corrected], "filtered"),
        back,
        tuple(c.column for c in posed.recording.channels),
        tuple(c.quantity for c in posed.recording.channels),
        posed.recording.values,
        innovations,
        covariances,
    )
