"""Law and observer in a computer: at every sample it corrects its estimate by what is measured, answers, and predicts the next.

    ẑ ← ẑ⁻ + L (y − y₀ − C (ẑ⁻ − z₀) − D (u⁻ − u₀)),    u = law(ẑ),    ẑ⁻ ← z₀ + Φ (ẑ − z₀) + Γ (u − u₀),

with u⁻ what was held until now: that is what is felt when the sample is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.design_model import controls_of
from draisine.control.design.discretization import held
from draisine.expr.expression import Expr, evaluate_number, names
from draisine.simulation.sampled_control import State

if TYPE_CHECKING:
    from draisine.control.design.observer import Observed

Array = NDArray[np.float64]


class Computer:
    """One run of a computer: called with time and state at every sample. Where time goes back it begins anew.

    `times` and `estimates` (samples, states) are what it has thought, states in the order of `names`.
    """

    def __init__(self, loop: Observed, period: float) -> None:
        part = loop.observer.linear
        into, b = controls_of(part, loop.controls)
        self._loop, self._gain = loop, loop.observer.L
        self._onward, self._pushed = held(part.A, b, period)
        self._rows, self._through = loop.observer.rows, loop.observer.through(into)
        self._level = np.array([float(part.at.get(s, 0.0)) for s in part.states])
        self._usual = np.array([float(part.at.get(u, 0.0)) for u in loop.controls])
        self._measured = [(loop.level(name), loop.formula(name)) for name in loop.observer.measured]
        self._laws = [(u, loop.command(u)) for u in loop.law]
        self.names = part.states
        self._begin()

    def _begin(self) -> None:
        self._ahead, self._held = np.zeros(len(self.names)), np.zeros(len(self._usual))
        self._times: list[float] = []
        self._thought: list[Array] = []
        self._answer: dict[str, float] = {}

    @property
    def times(self) -> Array:
        return np.array(self._times)

    @property
    def estimates(self) -> Array:
        return np.array(self._thought).reshape(-1, len(self.names))

    def __call__(self, t: float, x: State) -> dict[str, float]:
        if self._times and t == self._times[-1]:
            return self._answer
        if self._times and t < self._times[-1]:
            self._begin()
        y = np.array([_value(formula, t, x) - level for level, formula in self._measured])
        estimate = self._ahead + self._gain @ (y - self._rows @ self._ahead - self._through @ self._held)
        reported = dict(zip(self.names, (self._level + estimate).tolist(), strict=True))
        self._answer = {u: _value(law, t, x, reported) for u, law in self._laws}
        self._held = np.array([self._answer[u] for u in self._loop.controls]) - self._usual
        self._ahead = self._onward @ estimate + self._pushed @ self._held
        self._times.append(float(t))
        self._thought.append(self._level + estimate)
        return self._answer


def _value(formula: Expr, t: float, x: State, reported: dict[str, float] | None = None) -> float:
    """A formula of time, of what is told, and of the state."""
    known = {"t": t, **(reported or {})}
    return float(evaluate_number(formula, {n: known[n] if n in known else x[n] for n in names(formula)}))
