"""Control functions in Python: u = function(t, x), sampled with zero-order hold or evaluated at every stage.

Control laws given as expressions are compiled into the equations instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import SimulationError
from draisine.numerics.number_range import with_number_range
from draisine.program.arguments import unknown_name
from draisine.program.equations import Equations
from draisine.simulation.methods.tableau import positive

Reals = NDArray[np.float64]
ControlOutput = float | Sequence[float] | NDArray[Any] | Mapping[str, float]


class State(Mapping[str, float]):
    """The state given to a control function: by name, or as an array through `numpy.asarray`.

    Names are those of the states, and of all velocities and outputs of the system, which are computed when read.
    """

    def __init__(self, names: Mapping[str, int], values: Reals, look_up: Callable[[], Mapping[str, float]] | None = None) -> None:
        self._names, self._values, self._look_up = names, values, look_up
        self._more: Mapping[str, float] | None = None

    def __getitem__(self, name: str) -> float:
        if name in self._names:
            return float(self._values[self._names[name]])
        more = self._others()
        if name in more:
            return float(more[name])
        raise unknown_name("state, velocity or output", name, [*self._names, *more])

    def _others(self) -> Mapping[str, float]:
        if self._more is None:
            self._more = self._look_up() if self._look_up is not None else {}
        return self._more

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Reals:
        return np.array(self._values, dtype=dtype)


ControlFunction = Callable[[float, State], ControlOutput]


@with_number_range
@dataclass(frozen=True)
class Sampled:
    """Call the function `rate` times per second and hold the inputs in between (zero-order hold).

    `function(t, x)` returns the inputs by name, or their numbers in order. `x` is indexed by the name of a state, velocity or
    output, `x["steer"]`, not by number; `numpy.asarray(x)` has the states in order.

    >>> Sampled(lambda t, x: -2.0 * x["steer"], rate=100.0).rate
    100.0
    """

    function: ControlFunction
    rate: float

    def __post_init__(self) -> None:
        positive("Sampled", "rate", self.rate)

    def instants(self, start: float, until: float) -> Reals:
        """The sampling instants, `start` first and `until` excluded."""
        span = until - start
        count = max(1, int(np.ceil(abs(span) * self.rate - 1e-9)))
        return start + np.sign(span) * np.arange(count) / self.rate


@dataclass(frozen=True, eq=False)
class Recorded(Sampled):
    """Inputs as a table with zero-order hold: row k applies from its instant to the next.

    They depend on time alone, so runs with them can be differentiated.
    """

    times: Reals = field(default_factory=lambda: np.zeros(1))
    rows: Reals = field(default_factory=lambda: np.zeros((1, 0)))

    @staticmethod
    def of(times: Reals, rows: Reals) -> Recorded:
        """Rows (instants, inputs), each valid from its instant on; the instants increase."""
        made = Recorded(lambda t, _: made.row(t), 1.0, times, rows)
        return made

    def row(self, t: float) -> Reals:
        """The inputs at a time; at an instant of the table those of the new row."""
        found: Reals = self.rows[max(int(self.times.searchsorted(t, side="right")) - 1, 0)]
        return found

    def instants(self, start: float, until: float) -> Reals:
        return np.concatenate([[start], self.times[(self.times > start) & (self.times < until)]])


@dataclass(frozen=True, eq=False)
class Repeated(Recorded):
    """The inputs that a sampled control set during a run, at the same instants."""

    @staticmethod
    def of(times: Reals, rows: Reals) -> Repeated:
        """The instants in the order of the run, and the inputs set there."""
        made = Repeated(lambda t, _: made.row(t), 1.0, times, rows)
        return made

    def row(self, t: float) -> Reals:
        way = 1.0 if self.times[-1] >= self.times[0] else -1.0
        found: Reals = self.rows[int(np.searchsorted(way * self.times, way * t))]
        return found

    def instants(self, start: float, until: float) -> Reals:
        return self.times


def control_changes(control: object, applied: tuple[Reals, Reals] | None, span: tuple[float, float]) -> tuple[float, ...]:
    """The times inside a run at which inputs that are held change: of a table, or of a control function, whose inputs are
    `applied`."""
    if applied is not None:
        times, rows = applied
    elif isinstance(control, Recorded):
        times = control.instants(*span)
        rows = np.array([control.row(float(time)) for time in times])
    else:
        return ()
    changed = np.any(rows[1:] != rows[:-1], axis=1)
    return tuple(times[1:][changed].tolist())


@dataclass(frozen=True)
class EveryStage:
    """Call the function at every evaluation of the derivative. Exact but slow; the run's status reports the cost."""

    function: ControlFunction


Control = Sampled | EveryStage


def inputs_from_control(output: ControlOutput, names: Sequence[str], constant: Reals) -> Reals:
    """The inputs from the return value of a control function; a mapping may omit inputs that stay `constant`."""
    if isinstance(output, Mapping):
        command = np.array(constant, dtype=float)
        for name, value in output.items():
            if name not in names:
                raise unknown_name("input", name, names)
            command[list(names).index(name)] = value
    else:
        command = np.asarray(output, dtype=float).reshape(-1)
        if command.size != len(names):
            raise SimulationError(f"the control returned {command.size} numbers for {len(names)} inputs ({', '.join(names)})")
    for name, value in zip(names, command, strict=True):
        if not np.isfinite(value):
            raise SimulationError(f"the control returned {value} for input {name!r}")
    return command


class ControlCaller:
    """Calls a control function and counts the calls and their time."""

    def __init__(self, function: ControlFunction, inputs: Sequence[str], parameters: Reals, constant: Reals) -> None:
        self._function, self._inputs, self._parameters = function, tuple(inputs), parameters
        self._constant, self._last = constant.copy(), constant.copy()
        self._names: Mapping[str, int] = {}
        self._report: Callable[..., Sequence[Reals]] | None = None
        self._labels: tuple[tuple[int, tuple[str, ...]], ...] = ()
        self.calls = 0
        self.seconds = 0.0

    def use_names_of(self, equations: Equations) -> None:
        """Use the state names of these equations; they change with the choice of velocities."""
        self._names = {q.name: i for i, q in enumerate(equations.states)}
        report = equations.report
        slots = [(i, slot.labels) for i, slot in enumerate(report.outputs) if slot.name in ("v", "outputs")]
        self._labels, self._report = tuple(slots), report

    def __call__(self, t: float, x: Reals) -> Reals:
        """The inputs at (t, x)."""
        began = time.perf_counter()
        state = State(self._names, np.array(x), lambda: self._look_up(t, x))
        try:
            self._last = inputs_from_control(self._function(t, state), self._inputs, self._constant)
            return self._last
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - began

    def _look_up(self, t: float, x: ArrayLike) -> Mapping[str, float]:
        if self._report is None:
            return {}
        results = self._report([t], x, self._last, self._parameters)
        return {label: float(value) for i, labels in self._labels for label, value in zip(labels, results[i], strict=True)}
