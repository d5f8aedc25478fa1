"""The estimation problem: unknowns, measurements, inputs, relations and priors, resolved in the model and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, UnitError
from draisine.estimation.data import Experiment, experiments_of
from draisine.estimation.experiment_data import Channel, RecordedInput, Recording
from draisine.estimation.inputs import CubicInput, LinearInput, with_input_laws
from draisine.estimation.measurement import measurable
from draisine.estimation.sensors import Calibration, Readings, Sensor, rows_of
from draisine.expr.expression import Expr, did_you_mean, evaluate, parse
from draisine.expr.safe_functions import SX_FUNCTIONS
from draisine.expr.units import fits, quantity_in
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import number_in, refuse_dependent
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.channel import named_start
from draisine.simulation.sensitivity import START

Reals = NDArray[np.float64]

FAR = 1000.0  # durations of a record: a start this long before it belongs to another clock


@dataclass(frozen=True)
class Unknown:
    """An unknown parameter with its initial guess and bounds."""

    name: str
    unit: str
    guess: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def size(self) -> float:
        """A typical size, for scaling."""
        if abs(self.guess) > 0.0:
            return abs(self.guess)
        span = self.high - self.low
        return span if np.isfinite(span) else 1.0


@dataclass(frozen=True, eq=False)
class EstimationProblem:
    """An estimation problem with all names resolved, in SI units."""

    equations: Equations
    unknowns: tuple[Unknown, ...]
    starts: tuple[str, ...]  # targets of the start that are unknown in each experiment
    recordings: tuple[Recording, ...]
    fixed: Reals  # all parameters
    relations: Mapping[str, Expr]
    priors: Mapping[str, tuple[float, float]]  # mean and standard deviation
    start_bounds: tuple[tuple[float, float], ...] = ()  # of `starts`
    pinned: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # unknowns pinned to a value, with standard deviation

    @property
    def quantities(self) -> tuple[str, ...]:
        """Measured quantities of the model."""
        return tuple(c.quantity for c in self.recordings[0].channels)

    @cached_property
    def start_guesses(self) -> Reals:
        """Unknown starts, (experiments, names)."""
        return np.array([[_value(r.targets[n]) for n in self.starts] for r in self.recordings]).reshape(len(self.recordings), -1)

    @property
    def guess(self) -> Reals:
        """Parameters, then unknown starts experiment by experiment."""
        return np.concatenate([[u.guess for u in self.unknowns], self.start_guesses.ravel()])

    @cached_property
    def bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds of all unknowns."""
        pairs = [*((u.low, u.high) for u in self.unknowns), *(pair for _ in self.recordings for pair in self.start_bounds)]
        low, high = np.array(pairs).reshape(-1, 2).T
        return low, high

    @cached_property
    def sizes(self) -> Reals:
        """Typical sizes of all unknowns."""
        starts = np.abs(self.start_guesses.ravel())
        return np.concatenate([[u.size for u in self.unknowns], np.where(starts > 0.0, starts, 1.0)])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all unknowns; with several experiments, starts are named with their experiment."""
        many = len(self.recordings) > 1
        starts = [f"{START}{n}" + (f" of {r.name}" if many else "") for r in self.recordings for n in self.starts]
        return (*(u.name for u in self.unknowns), *starts)

    @cached_property
    def units(self) -> tuple[str, ...]:
        known = {q.name: q.unit for q in (*self.equations.outputs, *self.equations.velocities, *self.equations.coordinates)}
        return (*(u.unit for u in self.unknowns), *(known.get(n, "") for _ in self.recordings for n in self.starts))

    @property
    def samples(self) -> int:
        return sum(int(np.isfinite(r.values).sum()) for r in self.recordings)

    # ------------------------------------------------------------ parameters and relations

    @cached_property
    def varied(self) -> tuple[Direction, ...]:
        """Parameters that vary: the unknowns and those related to them."""
        names = [q.name for q in self.equations.parameters]
        wanted = [*(u.name for u in self.unknowns if u.name in names), *self.relations]
        return tuple(Direction(n, "p", names.index(n)) for n in wanted)

    @cached_property
    def _map(self) -> ca.Function:
        names = [q.name for q in self.equations.parameters]
        theta = ca.SX.sym("theta", len(self.unknowns))
        values: dict[str, ca.SX] = {u.name: theta[i] for i, u in enumerate(self.unknowns)}
        on_the_way: list[str] = []

        def value(name: str) -> ca.SX:
            if name in values:
                return values[name]
            if name in on_the_way:
                raise ArgumentError(f"relations: {' → '.join([*on_the_way, name])} is circular")
            if name in self.relations:
                on_the_way.append(name)
                values[name] = ca.SX(evaluate(self.relations[name], value, SX_FUNCTIONS))
                on_the_way.pop()
                return values[name]
            if name not in names:
                raise ArgumentError(f"relations: {self.equations.name} has no parameter {name!r}{did_you_mean(name, names)}")
            return ca.SX(float(self.fixed[names.index(name)]))

        reported = ca.vertcat(*[value(n) for n in names])
        entries = ca.vertcat(ca.SX(0, 1), *[reported[d.place] for d in self.varied])
        return ca.Function("relations", [theta], [reported, ca.densify(ca.jacobian(entries, theta))])

    @cached_property
    def sensor_unknowns(self) -> tuple[tuple[int, int, str], ...]:
        """Unknown properties of sensors: the place of the unknown, the channel, the property."""
        places = {u.name: i for i, u in enumerate(self.unknowns)}
        channels = self.recordings[0].channels
        return tuple((places[f"{c.column}.{n}"], j, n) for j, c in enumerate(channels) for n in c.calibration.unknown)

    def readings(self, theta: Reals) -> Readings:
        """Properties of the sensors at given unknowns."""
        calibrations = [c.calibration for c in self.recordings[0].channels]
        numbers = {n: np.array([getattr(c, n) for c in calibrations]) for n in ("scale", "bias")}
        shift = np.zeros(len(calibrations))
        for place, j, name in self.sensor_unknowns:
            if name in numbers:
                numbers[name][j] = theta[place]
            else:
                shift[j] = theta[place] if name == "offset" else -theta[place]
        return Readings(np.array([c.sign for c in calibrations]) * numbers["scale"], numbers["bias"], shift)

    def by_sensors(self, raw: Reals, rates: Reals, readings: Readings) -> Reals:
        """Derivatives of readings by all unknowns through the sensors, (times, channels, unknowns)."""
        found = np.zeros((*raw.shape, len(self.names)))
        for place, j, name in self.sensor_unknowns:
            sign = self.recordings[0].channels[j].calibration.sign
            column = {"scale": sign * raw[:, j], "bias": 1.0, "offset": readings.scale[j] * rates[:, j]}
            found[:, j, place] = -readings.scale[j] * rates[:, j] if name == "delay" else column[name]
        return found

    @property
    def shifting(self) -> bool:
        """Whether the time offset or the delay of a sensor is unknown."""
        return any(name in ("offset", "delay") for _, _, name in self.sensor_unknowns)

    def parameters(self, theta: Reals) -> tuple[Reals, Reals]:
        """All parameters, and the derivatives of the varied ones by the unknowns."""
        p, by = self._map(theta[: len(self.unknowns)])
        return p.full()[:, 0], by.full()


def prior_rows(problem: EstimationProblem, unknowns: Reals) -> tuple[Reals, Reals]:
    """Rows of priors, for starts in each experiment; then of pinned unknowns."""
    rows, side = [], []
    for name, (mean, deviation) in (*problem.priors.items(), *problem.pinned.items()):
        for i, known in enumerate(problem.names):
            if known == name or (name.startswith(START) and known.startswith(f"{name} of ")):
                rows.append(np.eye(len(problem.names))[i] / deviation)
                side.append((unknowns[i] - mean) / deviation)
    return np.array(rows).reshape(-1, len(problem.names)), np.array(side)


def _in_si(equations: Equations, targets: Mapping[str, Any]) -> dict[str, Any]:
    """Targets with texts such as "35 deg" as numbers in SI, so that they can be unknowns."""
    units = {q.name: q.unit for q in (*equations.outputs, *equations.velocities, *equations.states)}
    return {n: quantity_in(v, units.get(n, ""), f"start {n!r}") if isinstance(v, str) else v for n, v in targets.items()}


def _value(target: Any) -> float:
    return float(getattr(target, "value", target))


def build_problem(
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
) -> EstimationProblem:
    """Build the estimation problem and check it against model and data."""
    experiments = experiments_of(data)
    equations, driving = with_input_laws(model, experiments, inputs or {})
    names = [q.name for q in equations.parameters]
    fixed = equations.default_parameters
    for name, number in (parameters or {}).items():
        place = _index_of(name, names, "parameters", equations)
        fixed[place] = _finite(number, f"parameters: {name!r}", equations.parameters[place].unit)
    related = {n: e if isinstance(e, Expr) else parse(str(e)) for n, e in (relations or {}).items()}
    for name in related:
        _index_of(name, names, "relations", equations)
    reported = {n.removeprefix(START): v for n, v in (guess or {}).items() if n.startswith(START)}
    targets = [_in_si(equations, {**w, **reported}) for w in _targets(start, experiments)]
    recordings = tuple(
        recording_of(equations, e, measured, driving, w, start_time, dict(unknown) if isinstance(unknown, Mapping) else unknown)
        for e, w in zip(experiments, targets, strict=True)
    )
    made, starts = _unknowns(equations, unknown, guess or {}, fixed, related, recordings)
    known = _priors(priors or {}, made, tuple(starts))
    problem = EstimationProblem(equations, made, tuple(starts), recordings, fixed, related, known, tuple(starts.values()))
    _enough(problem)
    return problem


def _finite(value: Any, what: str, unit: str | None = None) -> float:
    number = number_in(value, unit, what)
    if number is None or not np.isfinite(number):
        raise ArgumentError(f"{what} is {value if number is None else number!r}; it must be a finite number")
    return number


def _index_of(name: str, names: Sequence[str], where: str, equations: Equations) -> int:
    if name not in names:
        refuse_dependent(name, equations.dependent_parameters, f"{where}: ")
        raise ArgumentError(f"{where}: {equations.name} has no parameter {name!r}{did_you_mean(name, names)}")
    return list(names).index(name)


def _targets(start: Any, experiments: Sequence[Experiment]) -> list[dict[str, Any]]:
    if isinstance(start, Sequence):
        given = [named_start(one) for one in start]
        if len(given) != len(experiments):
            raise DataError(f"start: {len(given)} starts for {len(experiments)} experiments; give one for each, or one for all")
    else:
        given = [named_start(start)] * len(experiments)
    return [{**common, **e.start} for common, e in zip(given, experiments, strict=True)]


def _unknowns(
    equations: Equations, unknown: Any, guess: Mapping[str, float], fixed: Reals, related: Mapping[str, Any], recordings: Any
) -> tuple[tuple[Unknown, ...], dict[str, tuple[float, float]]]:
    """Unknown parameters, and unknown starts with their bounds."""
    names, units = [q.name for q in equations.parameters], {q.name: q.unit for q in equations.parameters}
    bounds = dict(unknown) if isinstance(unknown, Mapping) else dict.fromkeys(unknown, None)
    sensors = _sensor_unknowns(recordings[0].channels, guess)
    bounds = {name: pair for name, pair in bounds.items() if name not in sensors}
    for name in guess:
        if name not in bounds and name not in sensors:
            raise ArgumentError(f"guess: {name!r} is not among the unknowns{did_you_mean(name, list(bounds))}")
    found: list[Unknown] = []
    starts: dict[str, tuple[float, float]] = {}
    for name, pair in bounds.items():
        low, high = _bounds(name, pair, _unit_of(name, equations))
        if name.startswith(START):
            starts[name.removeprefix(START)] = low, high
            _refuse_start(name, low, high, recordings)
            continue
        _index_of(name, [*names, *(f"{START}{w}" for w in recordings[0].targets)], "unknown", equations)
        if name in related:
            raise ArgumentError(f"unknown: {name!r} follows from a relation ({related[name]}) and cannot be unknown")
        value = _finite(guess.get(name, fixed[names.index(name)]), f"guess: {name!r}", units[name])
        if not low <= value <= high:
            if name in guess:
                raise ArgumentError(f"guess of {name!r} is {value:g}, outside of {low:g} … {high:g}")
            value = 0.5 * (low + high)
        found.append(Unknown(name, units[name], value, low, high))
    if not found and not starts and not sensors:
        raise ArgumentError("unknown: name at least one unknown parameter")
    return (*found, *sensors.values()), starts


def _sensor_unknowns(channels: Sequence[Channel], guess: Mapping[str, float]) -> dict[str, Unknown]:
    """Unknown properties of sensors, by name."""
    found = {}
    for c in channels:
        for name, (low, high) in c.calibration.unknown.items():
            full = f"{c.column}.{name}"
            unit = {"scale": "", "bias": c.unit}.get(name, "s")
            value = _finite(guess.get(full, getattr(c.calibration, name)), f"guess: {full!r}", unit)
            if not low <= value <= high:
                raise ArgumentError(f"guess of {full!r} is {value:g}, outside of {low:g} … {high:g}")
            found[full] = Unknown(full, unit, value, low, high)
    return found


def _unit_of(unknown: str, equations: Equations) -> str | None:
    """The unit of an unknown parameter, or of an unknown start; None where it is not known."""
    e = equations
    own = (*e.velocities, *e.coordinates, *e.states, *e.outputs) if unknown.startswith(START) else e.parameters
    return next((q.unit for q in own if q.name == unknown.removeprefix(START)), None)


def _bounds(name: str, pair: Any, unit: str | None) -> tuple[float, float]:
    if pair is None:
        return -np.inf, np.inf
    sides = [number_in(side, unit, f"unknown {name!r}") for side in pair] if isinstance(pair, tuple | list | np.ndarray) else []
    if len(sides) != 2 or None in sides:
        raise ArgumentError(f"unknown {name!r}: bounds must be two numbers, (low, high), got {pair!r}")
    low, high = (float(side) for side in sides if side is not None)
    if not low < high:
        raise ArgumentError(f"unknown {name!r}: bounds must be (low, high), got ({low:g}, {high:g})")
    return low, high


def _refuse_start(name: str, low: float, high: float, recordings: Sequence[Recording]) -> None:
    """An unknown start needs an initial guess in each experiment, within its bounds."""
    target = name.removeprefix(START)
    for r in recordings:
        if target not in r.targets:
            raise ArgumentError(
                f"unknown {name!r}: the start of {r.name} does not contain {target!r}; "
                f"give an initial guess, start={{{target!r}: …}}"
            )
        if not low <= _value(r.targets[target]) <= high:
            raise ArgumentError(
                f"unknown {name!r}: {r.name} starts with {_value(r.targets[target]):g}, outside of {low:g} … {high:g}; give a "
                "start within the bounds"
            )


def _priors(
    priors: Mapping[str, tuple[float, float]], unknowns: Sequence[Unknown], starts: Sequence[str]
) -> dict[str, tuple[float, float]]:
    known = [*(u.name for u in unknowns), *(f"{START}{s}" for s in starts)]
    for name, pair in priors.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(number, int | float) for number in pair):
            raise ArgumentError(f"priors: {name!r} needs a mean and a standard deviation, such as (1.0, 0.1), got {pair!r}")
        mean, deviation = pair
        if name not in known:
            raise ArgumentError(f"priors: {name!r} is not among the unknowns{did_you_mean(name, known)}")
        if not (np.isfinite(mean) and deviation > 0.0):
            raise ArgumentError(f"priors: {name!r} needs a mean and a positive standard deviation, got ({mean:g}, {deviation:g})")
    return {name: (float(mean), float(deviation)) for name, (mean, deviation) in priors.items()}


def recording_of(
    equations: Equations,
    experiment: Experiment,
    measured: Mapping[str, Any] | Sequence[str],
    inputs: Mapping[str, Any],
    targets: Mapping[str, Any],
    start_time: float = 0.0,
    unknown: Mapping[str, Any] | Sequence[str] = (),
    every_row: bool = False,
) -> Recording:
    """The recording of an experiment: which quantities its columns measure, and which inputs they are.

    Rows without any measurement are left out, unless `every_row` is wanted.
    """
    reported = dict(measured) if isinstance(measured, Mapping) else {name: name for name in measured}
    if not reported:
        raise DataError("measured: name at least one column and its quantity, e.g. {'gyro_x': 'roll_rate'}")
    known = measurable(equations)
    channels = []
    asked = dict(unknown) if isinstance(unknown, Mapping) else dict.fromkeys(unknown, None)
    for column, what in reported.items():
        sensor = Sensor.of(column, what)
        quantity = sensor.name
        if quantity not in known:
            raise ArgumentError(f"measured: {equations.name} has no quantity {quantity!r}{did_you_mean(quantity, list(known))}")
        values = experiment.column(column)
        unit = known[quantity].unit
        _fitting(experiment, column, quantity, unit)
        if not np.isfinite(values).any():
            raise DataError(f"{experiment.name}: column {column!r} has no numeric sample; remove it from `measured`")
        calibration = Calibration.of(sensor, column, unit, asked)
        channels.append(Channel(column, quantity, unit, _deviation(sensor.noise, unit, column), calibration))
    recorded, constants = _inputs(equations, experiment, inputs)
    values = np.column_stack([experiment.columns[c.column] for c in channels])
    given = start_time if experiment.start_time is None else experiment.start_time
    begin = None if isinstance(given, str) else number_in(given, where="start_time")
    if begin is None:
        raise ArgumentError(f"start_time: expected a number of seconds by the clock of the data, got {given!r}")
    rows = rows_of(experiment.time, values, [c.calibration for c in channels], begin, every_row)
    for c, column in zip(channels, rows.values.T, strict=True):
        if not np.isfinite(column).any():
            raise DataError(f"{experiment.name}: offset or delay of {c.column!r} moves all of its samples before the start")
    _check_begin(experiment, rows.times[np.isfinite(rows.values).any(axis=1)], begin)
    return Recording(
        experiment.name,
        equations,
        tuple(channels),
        rows.times,
        rows.values,
        experiment,
        recorded,
        constants,
        dict(targets),
        begin,
        rows.moving if (rows.moving >= 0).any() else None,
        rows.dropped,
    )


def _check_begin(experiment: Experiment, times: Reals, begin: float) -> None:
    """The start precedes all measurements, and is not so far from them that another clock must be meant."""
    cure = f"say when the start holds, start_time={times[0]:.9g}, or correct the column of time"
    if not np.isfinite(begin) or times[0] < begin:
        raise DataError(
            f"{experiment.name}: the first measurement is at t = {times[0]:g} s, the start at t = {begin:g} s; {cure}"
        )
    if len(times) > 1 and times[0] - begin > FAR * (times[-1] - times[0]):  # one measurement says nothing about the clock
        raise DataError(
            f"{experiment.name}: the measurements take {times[-1] - times[0]:g} s and begin {times[0] - begin:g} s after the "
            f"start at t = {begin:g} s; {cure}"
        )


def _fitting(experiment: Experiment, column: str, quantity: str, unit: str) -> None:
    written = experiment.units.get(column, "")
    if written and unit and not fits(written, unit):
        raise DataError(
            f"{experiment.name}: column {column!r} is in {written}, but {quantity!r} is in {unit}; correct the header, or name "
            "another quantity"
        )


def _deviation(sigma: Any, unit: str, column: str) -> float | None:
    if sigma is None:
        return None
    try:
        value = float(sigma) if not isinstance(sigma, str) else quantity_in(sigma, unit, f"noise of column {column!r}")
    except UnitError as problem:
        raise DataError(str(problem)) from None
    if value is None or not np.isfinite(value) or value <= 0.0:
        raise DataError(f"noise of column {column!r}: give a positive standard deviation, or a text with a unit, got {sigma!r}")
    return float(value)


def _inputs(
    equations: Equations, experiment: Experiment, inputs: Mapping[str, Any]
) -> tuple[dict[str, RecordedInput], dict[str, float]]:
    """Recorded inputs, and constant ones."""
    units = {q.name: q.unit for q in equations.inputs}
    recorded: dict[str, RecordedInput] = {}
    constants: dict[str, float] = {}
    for name, what in inputs.items():
        if isinstance(what, tuple):
            what = LinearInput(*what)
        elif isinstance(what, str):
            what = LinearInput(what)
        if not isinstance(what, LinearInput | CubicInput):
            constants[name] = _finite(what, f"inputs: {name!r}")
            continue
        values = experiment.column(what.column)
        _fitting(experiment, what.column, name, units[name])
        if np.isfinite(values).sum() < 2:
            raise DataError(f"{experiment.name}: column {what.column!r} of the input {name!r} needs two samples or more")
        recorded[name] = RecordedInput(what.column, _deviation(what.noise, units[name], what.column), what)
    noisy = [drive.column for drive in recorded.values() if drive.sigma is not None]
    if len(set(noisy)) < len(noisy):
        raise ArgumentError(
            f"inputs: one column is used for two inputs with noise ({', '.join(noisy)}); give the noise for one of them"
        )
    return recorded, constants


def _enough(problem: EstimationProblem) -> None:
    count, samples = len(problem.names), problem.samples + len(problem.priors)
    if count > samples:
        raise DataError(
            f"{count} unknowns ({', '.join(problem.names[:8])}{', …' if count > 8 else ''}), but only {samples} samples and "
            "priors; record more data, or fix some unknowns by relations"
        )
