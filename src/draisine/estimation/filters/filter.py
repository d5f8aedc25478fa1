"""`filter`: Kalman filtering and smoothing of the states of a model from recorded data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, DataError, ModelError, SolverError
from draisine.estimation.data import Experiment
from draisine.estimation.experiment_data import Recording, initial_state
from draisine.estimation.filters.chart import Manifold, symmetric
from draisine.estimation.filters.contact_prediction import ContactPropagator
from draisine.estimation.filters.filter_result import Estimates, FilterResult
from draisine.estimation.filters.methods import Belief, Corrected, ExtendedKalmanFilter, Filter, Predicted, Sample, smoothed
from draisine.estimation.filters.prediction import Propagator, without_events
from draisine.estimation.filters.process_noise import Noise
from draisine.estimation.inputs import with_input_laws
from draisine.estimation.measurement import measurable, measurement_function
from draisine.estimation.problem import recording_of
from draisine.estimation.sensors import Sensor
from draisine.estimation.tangent_coordinates import named_deviations
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked, number_in, numbers
from draisine.program.equations import Equations
from draisine.results.channel import HasState, named_start
from draisine.results.status import Progress, ProgressCallback
from draisine.simulation.initial.problem import InitialGuess, StartProblem
from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]


@checked
def filter(
    model: Model | System | Equations,
    data: Any,
    *,
    measured: Mapping[str, Any] | Sequence[str],
    noise: Mapping[str, float] | ArrayLike | None = None,
    process: Mapping[str, float] | None = None,
    start: Mapping[str, float | InitialGuess] | HasState | None = None,
    start_time: float = 0.0,
    spread: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    method: Filter | None = None,
    smooth: bool = False,
    integration: Method | None = None,
    progress: ProgressCallback | None = None,
) -> FilterResult:
    """Estimate the states of a model and their uncertainty: a Kalman filter on the nonlinear equations.

    - `data`: a table, file or trajectory, as for `estimate`; times may be irregular, samples may be missing (NaN). Rows
      without any measurement are in the result, too: predictions.
    - `measured`: column → standard deviation, if the column is named like its quantity; otherwise → (quantity, deviation).
      Quantities are coordinates, velocities, outputs and multipliers, including forces and accelerations.
    - `noise`: standard deviations by column if `measured` does not give them; or the covariance matrix of all columns.
    - `process`: white noise on inputs or states, as square root of its spectral density: noise σ on a velocity alone gives it
      a standard deviation of σ√t after the time t.
    - `start`: targets for the initial state, or a result; `spread`: standard deviations of named states or outputs at the start.
      Quantities not in `spread` are known exactly.
    - `start_time`: when the start holds, in seconds by the clock of the data; zero by default, whenever the first sample is.
    - `inputs`: constants, columns (linear between samples, or `CubicInput(column)`), or laws, "-3*steer_rate + sin(2*t)".
    - `method`: `ExtendedKalmanFilter()` or `UnscentedKalmanFilter()`; `smooth=True` adds a smoother (Rauch, Tung & Striebel).
    - `integration`: the integration method; chosen if not given.
    - `parameters`: values by name; the others have their defaults. `progress`: called with a `Progress` after every sample.

    Explicit equations and 0 = F(t, x, ẋ) are supported. Errors are tangent to the constraints; every estimate satisfies the
    constraints to rounding.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, v = sp.symbols("x v")
    >>> walk = dr.first_order("walk", {x: v, v: 0 * x})
    >>> data = {"time": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0]}
    >>> found = dr.filter(walk, data, measured={"x": 0.1}, spread={"x": 1.0, "v": 10.0})
    >>> round(float(found["v"][-1]), 2), round(float(found.deviation("v")[-1]), 3)
    (1.0, 0.071)
    """
    experiment = Experiment.of(data, data.name if isinstance(data, Experiment) else "data")
    equations, driving = with_input_laws(model, [experiment], inputs or {})
    problem = _build_problem(equations, experiment, measured, noise, start, start_time, driving, parameters, process, spread)
    stepping = integration or Propagator.usual(problem.equations, problem.largest)
    kind = ContactPropagator if problem.equations.unilateral else Propagator
    propagator = kind(Manifold(problem.equations), problem.p, problem.recording, problem.noise, stepping)
    return _run(problem, propagator, method or ExtendedKalmanFilter(), smooth, progress)


# ------------------------------------------------------------------------------------------------------------- problem


@dataclass(frozen=True, eq=False)
class _FilterProblem:
    """The checked arguments of `filter`."""

    equations: Equations
    recording: Recording
    covariance: Reals  # of the noise of all channels
    noise: Noise
    x: Reals
    p: Reals  # with the modes of contacts at the start
    spread: Mapping[str, float]

    @property
    def largest(self) -> float:
        """The largest value among the start, its uncertainty and the data."""
        known = [*np.abs(self.x), *self.spread.values(), *np.abs(self.recording.values[np.isfinite(self.recording.values)])]
        return float(max(known, default=0.0))


def _build_problem(
    equations: Equations,
    experiment: Experiment,
    measured: Mapping[str, Any] | Sequence[str],
    noise: Any,
    start: Mapping[str, float | InitialGuess] | HasState | None,
    start_time: float,
    inputs: Mapping[str, Any],
    parameters: Mapping[str, float] | None,
    process: Mapping[str, float] | None,
    spread: Mapping[str, float] | None,
) -> _FilterProblem:
    reported: dict[str, Any] = {name: name for name in measured} if not isinstance(measured, Mapping) else dict(measured)
    reported = {c: (c, w) if isinstance(w, int | float | np.number) else w for c, w in reported.items()}
    if isinstance(noise, Mapping):
        for column, size in noise.items():
            if column not in reported:
                raise DataError(f"noise: {column!r} is not a measured column{did_you_mean(column, list(reported))}")
            reported[column] = replace(Sensor.of(column, reported[column]), noise=size)
    recording = recording_of(
        equations, experiment, reported, inputs, {**named_start(start), **experiment.start}, start_time, every_row=True
    )
    for channel in recording.channels:
        for name in channel.calibration.unknown:
            raise DataError(
                f"measured: a filter cannot estimate the {name} of column {channel.column!r}; give its value, from "
                f"estimate(…, unknown=['{channel.column}.{name}']), or make it a state of the model"
            )
    p = numbers("parameter", equations.parameters, parameters, equations.dependent_parameters)
    for name, drive in recording.recorded.items():
        if drive.sigma is not None:
            raise DataError(
                f"inputs: a filter takes no noise of the column {drive.column!r} of {name!r}; give the uncertainty of the "
                f"input as white noise, process={{{name!r}: …}}"
            )
    problem = StartProblem(equations, compiled=False)
    begin, fitting, x = initial_state(problem, recording.targets, recording.first_inputs, p, recording.begin)
    found = without_events(fitting)
    p = np.concatenate([p, begin.given[2][len(p) :]])
    covariance = _covariance(recording, None if isinstance(noise, Mapping) else noise)
    units = {name: q.unit for name, q in measurable(equations).items()}
    around = {}
    for name, size in (spread or {}).items():
        number = number_in(size, units.get(name), f"spread: the standard deviation of {name!r}")
        if number is None or not (np.isfinite(number) and number >= 0.0):
            raise ArgumentError(f"spread: the standard deviation of {name!r} must be a number that is not negative, got {size!r}")
        around[name] = number
    made = Noise.of(found, process or {})
    if not made and not any(around.values()):
        raise ArgumentError(
            "nothing is uncertain: without spread and process noise the data cannot correct anything; give the uncertainty of "
            "the start, e.g. spread={'lean': 0.1}"
        )
    return _FilterProblem(found, recording, covariance, made, x, p, around)


def _covariance(recording: Recording, given: Any) -> Reals:
    """Covariance of the noise of all channels."""
    columns = [c.column for c in recording.channels]
    if given is not None:
        matrix = np.atleast_2d(np.asarray(given, dtype=float))
        wrong = ""
        if matrix.shape != (len(columns), len(columns)):
            wrong = f"of {len(columns)} rows and columns, got shape {matrix.shape}"
        elif not np.isfinite(matrix).all():
            wrong = "of finite numbers"
        elif not np.allclose(matrix, matrix.T):
            wrong = "symmetric"
        elif (least := float(np.linalg.eigvalsh(matrix)[0])) <= 0.0:
            wrong = f"positive definite, its least eigenvalue is {least:.3g}"
        if wrong:
            raise DataError(f"noise: the covariance of {', '.join(columns)} must be a matrix that is {wrong}")
        return matrix
    for channel in recording.channels:
        if channel.sigma is None:
            raise DataError(
                f"the noise of column {channel.column!r} is missing; a filter weights model and data: give its standard "
                f"deviation, measured={{{channel.column!r}: …}}"
            )
    return np.diag([float(c.sigma or 0.0) ** 2 for c in recording.channels])


# ------------------------------------------------------------------------------------------------------------- running


def _first(problem: _FilterProblem, propagator: Propagator) -> Belief:
    """The initial belief: named deviations with their spread, all others known."""
    t = problem.recording.begin
    chart = propagator.chart(t, propagator.settled(t, problem.x, problem.p), problem.p)
    asked = tuple(problem.spread)
    count = chart.tangent.shape[1]
    if not count and not problem.equations.unilateral:  # these may open later
        raise ModelError(f"{problem.equations.name}: its constraints leave no degree of freedom; there is nothing to estimate")
    if not asked:
        return Belief(chart, np.zeros((count, count)))
    deviations = named_deviations(problem.equations, asked)
    jacobian = deviations.named(t, chart.x[None], propagator.u(t)[None], problem.p[None])
    naming = deviations.choose(jacobian)
    span = np.zeros((len(chart.x), len(asked)))
    indices = [naming.names.index(n) for n in asked]
    span[: jacobian.constraints.shape[2]] = naming.span(jacobian)[0][:, indices]
    root = chart.reading.T @ span * np.array(list(problem.spread.values()))
    return Belief(chart, symmetric(root @ root.T))


def _sample(problem: _FilterProblem, propagator: Propagator, k: int) -> tuple[Sample, NDArray[np.bool_]]:
    recording = problem.recording
    t, values = recording.times[k], recording.values[k]
    present = np.isfinite(values)
    # all channels are evaluated, so that one compiled program serves all samples
    measure = measurement_function(problem.equations, tuple(c.quantity for c in recording.channels), ())
    u = propagator.u(float(t))
    calibrations = [c.calibration for c in recording.channels]
    scale, bias = np.array([c.sign * c.scale for c in calibrations]), np.array([c.bias for c in calibrations])

    def model_output(x: Reals, p: Reals) -> tuple[Reals, Reals]:
        n = len(x)
        y, by_state, _ = measure(np.full(n, t), x, np.broadcast_to(u, (n, len(u))), p)
        return (y * scale + bias)[:, present], (by_state * scale[:, None])[:, present]

    return Sample(values[present], problem.covariance[np.ix_(present, present)], model_output), present


def _run(
    problem: _FilterProblem, propagator: Propagator, method: Filter, smooth: bool, progress: ProgressCallback | None
) -> FilterResult:
    times, count = problem.recording.times, len(problem.recording.channels)
    innovations = np.full((len(times), count), np.nan)
    covariances = np.full((len(times), count, count), np.nan)
    predicted: list[Predicted] = []
    corrected: list[Corrected] = []
    belief = _first(problem, propagator)
    for k, t in enumerate(times):
        still = Predicted(belief, np.eye(len(belief.covariance)))
        ahead = method.predict(belief, float(t), propagator) if t > belief.chart.t else still
        sample, present = _sample(problem, propagator, k)
        found = method.correct(ahead.belief, sample, propagator)
        if not np.isfinite(found.belief.covariance).all():
            raise SolverError(
                f"{problem.equations.name}: the covariance is not finite at t = {t:g} s; the measurements are singular there"
            )
        predicted.append(ahead)
        corrected.append(found)
        belief = found.belief
        innovations[k, present] = found.innovation
        indices = np.flatnonzero(present)
        covariances[k][np.ix_(indices, indices)] = found.covariance
        if progress is not None:
            progress(Progress.counted("sample", k + 1, len(times)))
    given, warnings = problem.recording.inputs_at(times), problem.recording.warnings

    def estimates(beliefs: Sequence[Belief], kind: str) -> Estimates:
        return Estimates(problem.equations, times, tuple(beliefs), given, kind, warnings)

    back = estimates(smoothed(predicted, corrected, propagator), "smoothed") if smooth else None
    return FilterResult(
        estimates([c.belief for c in corrected], "filtered"),
        back,
        tuple(c.column for c in problem.recording.channels),
        tuple(c.quantity for c in problem.recording.channels),
        problem.recording.values,
        innovations,
        covariances,
        warnings,
    )
