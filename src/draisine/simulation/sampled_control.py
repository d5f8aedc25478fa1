"""Feedback written in Python: u = function(t, x), sampled at a rate or called at every stage.

A law given as an expression is compiled into the equations and needs nothing from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import SimulationError
from draisine.program.equations import Equations
from draisine.simulation.methods.tableau import positive
from draisine.simulation.named_values import unknown_name

Reals = NDArray[np.float64]
Answer = float | Sequence[float] | NDArray[Any] | Mapping[str, float]


class State(Mapping[str, float]):
    """The state given to a control function: by name, or as an array through `numpy.asarray`.

    Names are those of the states, and beyond them all velocities and outputs of the system, which are computed when asked for.
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


ControlFunction = Callable[[float, State], Answer]


@dataclass(frozen=True)
class Sampled:
    """Ask the function `rate` times per second and hold its answer in between.

    >>> Sampled(lambda t, x: -2.0 * x["steer"], rate=100.0).rate
    100.0
    """

    function: ControlFunction
    rate: float

    def __post_init__(self) -> None:
        positive("Sampled", "rate", self.rate)

    def instants(self, start: float, until: float) -> Reals:
        """The times at which the function is asked, `start` first and `until` excluded."""
        span = until - start
        count = max(1, int(np.ceil(abs(span) * self.rate - 1e-9)))
        return start + np.sign(span) * np.arange(count) / self.rate


@dataclass(frozen=True, eq=False)
class Recorded(Sampled):
    """Inputs known in advance: row k of a table holds from its instant to the next.

    They depend on time alone, so that runs with them can be differentiated.
    """

    times: Reals = field(default_factory=lambda: np.zeros(1))
    rows: Reals = field(default_factory=lambda: np.zeros((1, 0)))

    @staticmethod
    def of(times: Reals, rows: Reals) -> Recorded:
        """Rows (instants, inputs) from each of the instants on, which increase."""
        made = Recorded(lambda t, _: made.row(t), 1.0, times, rows)
        return made

    def row(self, t: float) -> Reals:
        """The inputs at an instant, those of an edge being the new ones."""
        found: Reals = self.rows[max(int(self.times.searchsorted(t, side="right")) - 1, 0)]
        return found

    def instants(self, start: float, until: float) -> Reals:
        return np.concatenate([[start], self.times[(self.times > start) & (self.times < until)]])


@dataclass(frozen=True)
class EveryStage:
    """Ask the function whenever a derivative is needed. Exact, and slow: the run's status says how slow."""

    function: ControlFunction


Control = Sampled | EveryStage


def command_from(answer: Answer, names: Sequence[str], held: Reals) -> Reals:
    """The inputs from what a control function answered; a mapping may leave out those that are `held` constant."""
    if isinstance(answer, Mapping):
        command = np.array(held, dtype=float)
        for name, value in answer.items():
            if name not in names:
                raise unknown_name("input", name, names)
            command[list(names).index(name)] = value
    else:
        command = np.asarray(answer, dtype=float).reshape(-1)
        if command.size != len(names):
            raise SimulationError(f"the control gave {command.size} numbers for {len(names)} inputs ({', '.join(names)})")
    for name, value in zip(names, command, strict=True):
        if not np.isfinite(value):
            raise SimulationError(f"the control gave {value} for input {name!r}")
    return command


class Asker:
    """Asks a control function, counts the calls and their time, and remembers what it raised."""

    def __init__(self, function: ControlFunction, inputs: Sequence[str], parameters: Reals, held: Reals) -> None:
        self._function, self._inputs, self._parameters = function, tuple(inputs), parameters
        self._constant, self._last = held.copy(), held.copy()
        self._names: Mapping[str, int] = {}
        self._report: Callable[..., Sequence[Reals]] | None = None
        self._labels: tuple[tuple[int, tuple[str, ...]], ...] = ()
        self.calls = 0
        self.seconds = 0.0

    def speak_of(self, equations: Equations) -> None:
        """Take the names of the states from these equations; they change with the choice of velocities."""
        self._names = {q.name: i for i, q in enumerate(equations.states)}
        report = equations.report
        slots = [(i, slot.labels) for i, slot in enumerate(report.outputs) if slot.name in ("v", "outputs")]
        self._labels, self._report = tuple(slots), report

    def __call__(self, t: float, x: Reals) -> Reals:
        """The inputs at (t, x)."""
        began = time.perf_counter()
        state = State(self._names, np.array(x), lambda: self._look_up(t, x))
        try:
            self._last = command_from(self._function(t, state), self._inputs, self._constant)
            return self._last
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - began

    def _look_up(self, t: float, x: ArrayLike) -> Mapping[str, float]:
        if self._report is None:
            return {}
        results = self._report([t], x, self._last, self._parameters)
        return {label: float(value) for i, labels in self._labels for label, value in zip(labels, results[i], strict=True)}
