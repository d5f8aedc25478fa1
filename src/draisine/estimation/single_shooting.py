"""Single shooting: each experiment is one run from its start, with exact derivatives by parameters and unknown starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError, StartError
from draisine.estimation.experiment_data import initial_state, start_problem
from draisine.estimation.measurement import measured_rates, measurement_function
from draisine.estimation.problem import EstimationProblem
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.variational import Direction
from draisine.results.status import Ending
from draisine.simulation.methods.selection import Method
from draisine.simulation.sensitivity import VariedEquations, VariedRun, initial_jacobian, integrate_varied, sizes_of

Reals = NDArray[np.float64]

GROWTH = 1e7  # of derivatives by the start, beyond which single shooting is refused


@dataclass(frozen=True)
class SingleShooting:
    """Simulate each experiment from start to end, for motions that are not sensitive to their start.

    - `integration`: the integration method; chosen if not given.
    """

    integration: Method | None = None


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predicted measurements of one experiment, (times, channels), and their derivatives by all unknowns."""

    values: Reals
    by: Reals
    trouble: str = ""  # why the run failed


@dataclass(frozen=True, eq=False)
class _Begin:
    """A start: equations, state and its derivatives, parameters with the modes of contacts; `given` is all it depends on."""

    given: bytes
    equations: Equations
    x: Reals
    jacobian: Reals
    modes: Reals  # behind the parameters


class Predictor:
    """Runs each experiment at given unknowns. Starts that do not depend on changed values are reused."""

    def __init__(self, problem: EstimationProblem, method: SingleShooting) -> None:
        self.problem, self._method = problem, method
        self._directions = (*problem.varied, *(Direction(n, "x") for n in problem.starts))
        self._plain = all(c.calibration.plain for c in problem.recordings[0].channels)
        self._starts: dict[int, _Begin] = {}

    def __call__(self, unknowns: Reals) -> list[Predicted]:
        problem = self.problem
        p, by = problem.parameters(unknowns)
        count, each, varied = len(problem.unknowns), len(problem.starts), len(problem.varied)
        found = []
        readings = problem.readings(unknowns)
        for k in range(len(problem.recordings)):
            mine = slice(count + k * each, count + (k + 1) * each)
            starts = dict(zip(problem.starts, unknowns[mine].tolist(), strict=True))
            values, carried, rates, trouble = self._run(k, starts, p, readings.shift)
            jacobian = np.zeros((*values.shape, len(unknowns)))
            jacobian[..., :count] = carried[..., :varied] @ by
            jacobian[..., mine] = carried[..., varied:]
            if not self._plain:
                jacobian = jacobian * readings.scale[:, None] + problem.by_sensors(values, rates, readings)
                values = readings.of(values)
            found.append(Predicted(values, jacobian, trouble))
        return found

    def _start(self, key: int, starts: dict[str, float], p: Reals) -> _Begin:
        e, recording = self.problem.equations, self.problem.recordings[key]
        given = np.concatenate([p[_start_parameters(e)], list(starts.values())]).tobytes()
        if key in self._starts and self._starts[key].given == given:
            return self._starts[key]
        targets = {**recording.targets, **starts}
        problem = start_problem(e)
        begin, fitting, x0 = initial_state(problem, targets, recording.first_inputs, p, recording.begin)
        jacobian = initial_jacobian(problem, targets, begin, fitting, self._directions)
        self._starts[key] = _Begin(given, fitting, x0, jacobian, begin.given[2][len(e.parameters) :])
        return self._starts[key]

    def _run(self, key: int, starts: dict[str, float], p: Reals, shift: Reals) -> tuple[Reals, Reals, Reals, str]:
        """Quantities, derivatives by varied parameters and unknown starts, and rates where a shift is unknown; NaN after the end
        of the run."""
        recording = self.problem.recordings[key].moved(shift)
        times, back = np.unique(recording.times, return_inverse=True)
        shape = (len(times), len(recording.channels))
        values, jacobian = np.full(shape, np.nan), np.full((*shape, len(self._directions)), np.nan)
        rates = np.full(shape, np.nan)
        try:
            begin = self._start(key, starts, p)
        except StartError as problem:
            return values[back], jacobian[back], rates[back], str(problem)
        run = self._integrated(key, begin, starts, p, times)
        reported = _reported(run, self.problem.quantities, p, self.problem.shifting)
        reached = min(len(reported[0]), shape[0])
        for whole, part in zip((values, jacobian, rates), reported, strict=True):
            whole[:reached] = part[:reached]
        status = run.run.status
        return values[back], jacobian[back], rates[back], "" if status.kind == Ending.FINISHED else str(status)

    def _integrated(self, key: int, begin: _Begin, starts: dict[str, float], p: Reals, times: Reals | None = None) -> VariedRun:
        recording = self.problem.recordings[key]
        samples = np.unique(recording.times) if times is None else times
        p = np.concatenate([p, begin.modes])
        return integrate_varied(
            recording.with_recorded_inputs(begin.equations),
            begin.x,
            begin.jacobian,
            float(samples[-1]),
            self._directions,
            sizes=sizes_of(self._directions, recording.first_inputs, p, {**recording.targets, **starts}),
            start=recording.begin,
            parameters=p,
            inputs=recording.constant_inputs(),
            method=self._method.integration,
            samples=samples,
            control=recording.control,
        )

    def warnings(self, unknowns: Reals) -> list[str]:
        """Warnings of the runs about derivatives that are those of one side."""
        problem = self.problem
        (p, _), count, each = problem.parameters(unknowns), len(problem.unknowns), len(problem.starts)
        found = []
        for k, recording in enumerate(problem.recordings):
            starts = dict(zip(problem.starts, unknowns[count + k * each : count + (k + 1) * each].tolist(), strict=True))
            run = self._integrated(k, self._start(k, starts, p), starts, p).run
            found += [f"{recording.name}: {warning}" for warning in run.status.warnings]
        return found

    def motions(self, unknowns: Reals) -> list[list[tuple[Equations, Reals, Reals, Reals]]]:
        """The motion of each experiment: equations and t, x, u at the samples, by pieces with the same independent velocities."""
        problem = self.problem
        (p, _), count, each = problem.parameters(unknowns), len(problem.unknowns), len(problem.starts)
        found = []
        for k in range(len(problem.recordings)):
            starts = dict(zip(problem.starts, unknowns[count + k * each : count + (k + 1) * each].tolist(), strict=True))
            run = self._integrated(k, self._start(k, starts, p), starts, p)
            pieces = []
            for segment in run.run.segments:
                equations = segment.equations
                plain = equations.plain if isinstance(equations, VariedEquations) else equations
                pieces.append((plain, segment.times, segment.states[:, : len(plain.states)], segment.inputs))
            found.append(pieces)
        return found


def predict(problem: EstimationProblem, unknowns: Reals, method: SingleShooting) -> list[Predicted]:
    """Predicted measurements of all experiments at the given unknowns."""
    return Predictor(problem, method)(unknowns)


@lru_cache(maxsize=32)
def _start_parameters(equations: Equations) -> list[int]:
    """Indices of the parameters on which a consistent start may depend: those in constraints and outputs, and all lengths."""
    motion = equations.motion
    place = [slot.name for slot in motion.inputs].index("p")
    rates = isinstance(equations.dynamics, DaeResidual)  # whose starts depend on the equations themselves
    met = {i for i, q in enumerate(equations.parameters) if rates or q.unit == "m"}
    for slot, _ in enumerate(motion.outputs):
        met |= set(motion.function.jac_sparsity(slot, place).get_col())
    return sorted(i for i in met if i < len(equations.parameters))  # modes of contacts follow from the start


def _reported(run: VariedRun, names: tuple[str, ...], p: Reals, moving: bool) -> tuple[Reals, Reals, Reals]:
    """Measurements, their derivatives in all directions, and their rates if sensors have unknown shifts in time."""
    values, jacobian, rates = [], [], []
    for segment, s in zip(run.run.segments, run.derivatives(), strict=True):
        if not len(segment.times):
            continue
        equations = segment.equations
        plain = equations.plain if isinstance(equations, VariedEquations) else equations
        count = len(plain.states)
        given_p = p if segment.parameters is None else segment.parameters  # with the modes of contacts
        y, by_state, by_given = measurement_function(plain, names, run.directions)(
            segment.times, segment.states[:, :count], segment.inputs, given_p
        )
        change = by_state @ s
        given = [j for j, d in enumerate(run.directions) if d.slot != "x"]
        change[:, :, given] += by_given
        values.append(y)
        jacobian.append(change)
        state = segment.states[:, :count]
        rates.append(
            measured_rates(plain, names, segment.times, state, segment.inputs, given_p) if moving else np.full_like(y, np.nan)
        )
    return np.concatenate(values), np.concatenate(jacobian), np.concatenate(rates)


def check_exact_inputs(problem: EstimationProblem) -> None:
    """Refuse noisy inputs: a single run uses them as recorded, which biases gains and makes intervals too narrow."""
    for recording in problem.recordings:
        for name, drive in recording.noisy:
            raise ArgumentError(
                f"{recording.name}: the column {drive.column!r} of the input {name!r} has noise, which single shooting ignores; "
                "use method=MultipleShooting(window=…), or remove its noise"
            )


def check_growth(problem: EstimationProblem, found: list[Predicted]) -> None:
    """Refuse single shooting where a run does not reach the end, or is too sensitive to its start."""
    for recording, one in zip(problem.recordings, found, strict=True):
        cure = "use method=MultipleShooting(…), or guess the unknowns and the start better"
        if one.trouble:
            raise SolverError(
                f"{recording.name}: from the guess, the model does not reach the last sample: {one.trouble}; {cure}"
            )
        by_start = np.abs(one.by[..., len(problem.unknowns) :])
        if by_start.size == 0:
            continue
        early = by_start[: max(len(by_start) // 20, 4)].max(axis=(0, 1))  # at the very first, speeds have moved nothing
        late = by_start.max(axis=(0, 1))
        growth = np.where(early > 0.0, late / np.where(early > 0.0, early, 1.0), 0.0)
        worst = int(growth.argmax())
        if growth[worst] > GROWTH:
            raise SolverError(
                f"{recording.name}: changes of {problem.names[len(problem.unknowns) + worst]} grow {growth[worst]:.1g} times "
                f"until the last sample; single shooting cannot fit such data; {cure}"
            )
