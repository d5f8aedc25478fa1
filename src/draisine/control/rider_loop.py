"""A rider in the loop: with states of its own and Padé's delay in the equations, or sampled with the exact delay.

Padé's approximation of e^{−τs} of order n is N(−τs)/N(τs) with N(z) = Σ (2n−k)! n! / ((2n)! k! (n−k)!) zᵏ; it has unit magnitude
at all frequencies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import NamedSymbols
from draisine.control.plant import Plant
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, Name, evaluate_number, names, substitute
from draisine.program.equations import Quantity
from draisine.simulation.sampled_control import State

Array = NDArray[np.float64]


def pade(delay: float, order: int) -> tuple[Array, Array, Array, float]:
    """State-space matrices A, B, C, D of Padé's approximation of a delay; without states where the delay is zero.

    >>> a, b, c, d = pade(0.2, 3)
    >>> w = 2.0j
    >>> round(float(abs(c @ np.linalg.solve(w * np.eye(3) - a, b) + d)), 12)
    1.0
    """
    if delay == 0:
        return np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0
    if not (isinstance(order, int) and 1 <= order <= 8):
        raise ArgumentError(f"order = {order!r} of Padé's approximation must be an integer from 1 to 8")
    n, f = order, math.factorial
    below = np.array([f(2 * n - k) * f(n) / (f(2 * n) * f(k) * f(n - k)) * delay**k for k in range(n + 1)])
    above = below * (-1.0) ** np.arange(n + 1)
    below, above = below / below[n], above / below[n]
    # in time units of the delay, so that states are of one size: controllable canonical form
    a = np.diag(np.ones(n - 1), 1) / delay
    scale = delay ** np.arange(n)
    a[-1] = -below[:n] / scale * delay ** (n - 1)
    b = np.zeros(n)
    b[-1] = delay ** (n - 1)
    direct = above[n]
    return a, b, (above[:n] - direct * below[:n]) / scale, float(direct)


@dataclass(frozen=True, eq=False)
class RiderLoop:
    """A controller in the sense of `closed_loop`: torque, its rate and the states of the delay are states of its own."""

    torques: dict[str, float]  # inputs, for a unit of torque to the left
    gains: dict[str, float]
    signals: dict[str, str]
    signs: Mapping[str, float]
    neuromuscular: tuple[float, float]
    delay: float
    order: int
    orders: dict[str, Expr]  # commands by loop
    path: Expr | None
    preview: float
    position: str

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.torques)

    @cached_property
    def _delayed(self) -> tuple[Array, Array, Array, float]:
        return pade(self.delay, self.order)

    @property
    def own_states(self) -> tuple[Quantity, ...]:
        torque = [Quantity("rider_torque", "N*m", "of the rider on the bar, positive to the right")]
        torque.append(Quantity("rider_torque_rate", "N*m/s", "rate of rider_torque"))
        return tuple(
            torque + [Quantity(f"rider_delay_{k + 1}", "", "of the rider's delay") for k in range(len(self._delayed[1]))]
        )

    def error(self, look_up: Mapping[str, Any], value: Callable[[Expr], Any]) -> Any:
        """k_δ (δ_c − δ): from the outermost loop inward. `value` evaluates a command."""
        command: Any = 0.0
        for loop in reversed(list(self.gains)):
            signal = self.signs[loop] * look_up[self.signals[loop]]
            if loop in self.orders:
                command = command + self.signs[loop] * value(self.orders[loop])
            if loop == "lateral" and self.path is not None:
                command = command + self.signs[loop] * value(self._ahead())
            command = self.gains[loop] * (command - signal)
        return command

    def _ahead(self) -> Expr:
        """The path where the rider looks."""
        assert self.path is not None
        where = Name(self.position) + Name("speed") * self.preview if self.preview else Name(self.position)
        return substitute(self.path, {"x": where})

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        return [-share * own["rider_torque"] for share in self.torques.values()]

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        named = NamedSymbols(plant)
        for name in self.signals.values():
            if name not in named.values:
                raise ArgumentError(f"{plant.equations.name} has no quantity {name!r}, which the rider feeds back")
        wanted = self.error(named.values, lambda law: named.value(law, "command of the rider"))
        a, b, c, d = self._delayed
        state = ca.vertcat(*(own[f"rider_delay_{k + 1}"] for k in range(len(b)))) if len(b) else ca.SX(0, 1)
        late = (ca.mtimes(ca.DM(c).T, state) if len(b) else 0) + d * wanted
        w, zeta = self.neuromuscular
        rate = own["rider_torque_rate"]
        change = [ca.mtimes(ca.DM(a[k : k + 1]), state) + b[k] * wanted for k in range(len(b))]
        return [rate, w**2 * (late - own["rider_torque"]) - 2 * zeta * w * rate, *change]


class ExactDelay:
    """The rider as a function of state, called at a constant rate: a delay line, then the exact response of the muscles."""

    def __init__(self, loop: RiderLoop, rate: float) -> None:
        from scipy.linalg import expm

        self.loop = loop
        self.period = 1.0 / rate
        w, zeta = loop.neuromuscular
        system = np.zeros((3, 3))  # torque, its rate, and the error that is held during a sample
        system[0, 1], system[1] = 1.0, (-(w**2), -2 * zeta * w, w**2)
        self.advance = expm(system * self.period)
        self._reset()

    def _reset(self) -> None:
        self.torque = np.zeros(2)
        self.line: deque[float] = deque()
        self.last = -math.inf

    def __call__(self, t: float, x: State) -> dict[str, float]:
        if t <= self.last:  # another run
            self._reset()
        self.last = t
        error = float(self.loop.error(_Values(t, x), lambda law: evaluate_number(law, _values(law, t, x))))
        self.line.append(error)
        # e(t − τ) between two samples of the line
        back = self.loop.delay / self.period
        whole = int(back)
        share = back - whole
        late = (1 - share) * self._past(whole) + share * self._past(whole + 1)
        now = float(self.torque[0])
        self.torque = (self.advance @ [*self.torque, late])[:2]
        while len(self.line) > whole + 2:
            self.line.popleft()
        # the torque at the middle of the sample that is held
        return {name: -0.5 * share * (now + float(self.torque[0])) for name, share in self.loop.torques.items()}

    def _past(self, count: int) -> float:
        return self.line[-1 - count] if count < len(self.line) else 0.0


class _Values(dict[str, float]):
    """Quantities of a state by name."""

    def __init__(self, t: float, x: State) -> None:
        super().__init__()
        self.t, self.x = t, x

    def __missing__(self, name: str) -> float:
        return self.t if name == "t" else self.x[name]


def _values(law: Expr, t: float, x: State) -> dict[str, float]:
    return {name: t if name == "t" else math.pi if name == "pi" else x[name] for name in names(law)}
