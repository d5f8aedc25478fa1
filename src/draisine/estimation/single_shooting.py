"""Single shooting: every experiment is one run from its start, with exact derivatives by parameters and unknown starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError, StartError
from draisine.estimation.experiment_data import begun, start_problem
from draisine.estimation.measurement import observer
from draisine.estimation.problem import Posed
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.status import Ending
from draisine.simulation.methods.selection import Method
from draisine.simulation.sensitivity import VariedEquations, VariedRun, initial_jacobian, integrate_varied, sizes_of

Reals = NDArray[np.float64]

GROWTH = 1e7  # of derivatives by the start, beyond which a run says nothing about its start


@dataclass(frozen=True)
class SingleShooting:
    """Simulate each experiment from its start to its end. For motions that do not run away from their start.

    - `integration`: the method of integration; chosen if not given.
    """

    integration: Method | None = None


@dataclass(frozen=True, eq=False)
class Predicted:
    """What the model says at the samples of one experiment, (instants, channels), and its derivatives by all unknowns."""

    values: Reals
    by: Reals
    trouble: str = ""  # why there is nothing


@dataclass(frozen=True, eq=False)
class _Begin:
    """A start: equations of the fitting choice, state, and its derivatives; `given` is all that it depends on."""

    given: bytes
    equations: Equations
    x: Reals
    jacobian: Reals


class Predictor:
    """Runs every experiment at given unknowns. Starts that do not depend on what changed are not solved again."""

    def __init__(self, posed: Posed, method: SingleShooting) -> None:
        self.posed, self._method = posed, method
        self._directions = (*posed.varied, *(Direction(n, "x") for n in posed.starts))
        self._begun: dict[int, _Begin] = {}

    def __call__(self, unknowns: Reals) -> list[Predicted]:
        posed = self.posed
        p, by = posed.parameters(unknowns)
        count, each, varied = len(posed.unknowns), len(posed.starts), len(posed.varied)
        found = []
        for k in range(len(posed.recordings)):
            mine = slice(count + k * each, count + (k + 1) * each)
            values, carried, trouble = self._run(k, dict(zip(posed.starts, unknowns[mine].tolist(), strict=True)), p)
            jacobian = np.zeros((*values.shape, len(unknowns)))
            jacobian[..., :count] = carried[..., :varied] @ by
            jacobian[..., mine] = carried[..., varied:]
            found.append(Predicted(values, jacobian, trouble))
        return found

    def _start(self, key: int, starts: dict[str, float], p: Reals) -> _Begin:
        e, recording = self.posed.equations, self.posed.recordings[key]
        given = np.concatenate([p[_settling(e)], list(starts.values())]).tobytes()
        if key in self._begun and self._begun[key].given == given:
            return self._begun[key]
        targets = {**recording.targets, **starts}
        problem = start_problem(e)
        begin, fitting, x0 = begun(problem, targets, recording.given(np.zeros(1))[0], p)
        jacobian = initial_jacobian(problem, targets, begin, fitting, self._directions)
        self._begun[key] = _Begin(given, fitting, x0, jacobian)
        return self._begun[key]

    def _run(self, key: int, starts: dict[str, float], p: Reals) -> tuple[Reals, Reals, str]:
        """Values and derivatives by varied parameters and unknown starts; NaN from where the run ended."""
        recording = self.posed.recordings[key]
        shape = (len(recording.times), len(recording.channels))
        values, jacobian = np.full(shape, np.nan), np.full((*shape, len(self._directions)), np.nan)
        try:
            begin = self._start(key, starts, p)
        except StartError as problem:
            return values, jacobian, str(problem)
        run = integrate_varied(
            recording.moved_by(begin.equations),
            begin.x,
            begin.jacobian,
            float(recording.times[-1]),
            self._directions,
            sizes=sizes_of(self._directions, recording.given(np.zeros(1))[0], p, {**recording.targets, **starts}),
            parameters=p,
            inputs=recording.constant_inputs(),
            method=self._method.integration,
            samples=recording.times,
            control=recording.control,
        )
        reported = _reported(run, self.posed.quantities, p)
        reached = min(len(reported[0]), shape[0])
        values[:reached], jacobian[:reached] = reported[0][:reached], reported[1][:reached]
        status = run.run.status
        return values, jacobian, "" if status.kind == Ending.FINISHED else str(status)


def predict(posed: Posed, unknowns: Reals, method: SingleShooting) -> list[Predicted]:
    """Every experiment at the given unknowns, once."""
    return Predictor(posed, method)(unknowns)


@lru_cache(maxsize=32)
def _settling(equations: Equations) -> list[int]:
    """Places of the parameters on which a consistent start may depend: those in constraints and outputs, and all lengths."""
    motion = equations.motion
    place = [slot.name for slot in motion.inputs].index("p")
    rates = isinstance(equations.dynamics, DaeResidual)  # whose starts are settled by the equations themselves
    met = {i for i, q in enumerate(equations.parameters) if rates or q.unit == "m"}
    for slot, _ in enumerate(motion.outputs):
        met |= set(motion.function.jac_sparsity(slot, place).get_col())
    return sorted(met)


def _reported(run: VariedRun, names: tuple[str, ...], p: Reals) -> tuple[Reals, Reals]:
    values, jacobian = [], []
    for segment, s in zip(run.run.segments, run.derivatives(), strict=True):
        if not len(segment.times):
            continue
        equations = segment.equations
        plain = equations.plain if isinstance(equations, VariedEquations) else equations
        count = len(plain.states)
        y, by_state, by_given = observer(plain, names, run.directions)(
            segment.times, segment.states[:, :count], segment.inputs, p
        )
        change = by_state @ s
        given = [j for j, d in enumerate(run.directions) if d.slot != "x"]
        change[:, :, given] += by_given
        values.append(y)
        jacobian.append(change)
    return np.concatenate(values), np.concatenate(jacobian)


def refuse_noisy_inputs(posed: Posed) -> None:
    """One run takes inputs as they were recorded: their noise would make gains too small, and intervals too narrow."""
    for recording in posed.recordings:
        for name, drive in recording.noisy:
            raise ArgumentError(
                f"{recording.name}: the column {drive.column!r} of the input {name!r} is said to be noisy, and one run from the "
                "start would take it as it is; use method=MultipleShooting(window, known_start=True), or leave its noise out"
            )


def refuse_growth(posed: Posed, found: list[Predicted]) -> None:
    """Say so where single shooting cannot work: a run that does not reach the end, or forgets nothing of its start."""
    for recording, one in zip(posed.recordings, found, strict=True):
        cure = "use method=MultipleShooting(…), or guess the unknowns and the start better"
        if one.trouble:
            raise SolverError(
                f"{recording.name}: from the guess, the model does not reach the last sample: {one.trouble}; {cure}"
            )
        by_start = np.abs(one.by[..., len(posed.unknowns) :])
        if by_start.size == 0:
            continue
        early = by_start[: max(len(by_start) // 20, 4)].max(axis=(0, 1))  # at the very first, speeds have moved nothing
        late = by_start.max(axis=(0, 1))
        growth = np.where(early > 0.0, late / np.where(early > 0.0, early, 1.0), 0.0)
        worst = int(growth.argmax())
        if growth[worst] > GROWTH:
            raise SolverError(
                f"{recording.name}: changes of {posed.names[len(posed.unknowns) + worst]} grow {growth[worst]:.1g} times until "
                f"the last sample; one run from the start cannot be fitted to data; {cure}"
            )
