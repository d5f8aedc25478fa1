"""A rider who balances and steers: the multi-loop compensatory model of Hess, Moore & Hubbard (2012).

Five loops are nested. Signals are positive to the right, as in the papers: roll φ, steer δ, heading ψ, lateral position y.

    ψ_c = k_y (y_c − y),  φ_c = k_ψ (ψ_c − ψ),  φ̇_c = k_φ (φ_c − φ),  δ_c = k_φ̇ (φ̇_c − φ̇),
    T = G(s) e^{−τ s} k_δ (δ_c − δ),   G(s) = ω²/(s² + 2 ζ ω s + ω²)

G is the neuromuscular system, τ the delay of perception. Gains follow by closing one loop after the other: k_δ and k_φ̇ such that
the least damped oscillation of the closed loop has a given damping ratio at the highest gain, the others such that the open loop
crosses unity at 2, 1 and 0.5 rad/s (the crossover model of McRuer).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import close_loop
from draisine.control.rider_loop import ExactDelay, RiderLoop, pade
from draisine.errors import ArgumentError, SolverError
from draisine.expr.expression import Expr
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.model.system import System
from draisine.numerics.number_range import with_number_range
from draisine.numerics.root_finding import bracketed_root
from draisine.program.equations import Equations
from draisine.results.linear import LinearModel
from draisine.simulation.sampled_control import Sampled
from draisine.stability.linearization import linearize

Array = NDArray[np.float64]
Gains = dict[str, float]
LOOPS = ("steer", "roll_rate", "roll", "heading", "lateral")
SIGNALS = {"steer": "steer", "roll_rate": "roll_rate", "roll": "lean", "heading": "heading", "lateral": "front_wheel_contact_y"}
SIGNS = {"steer": -1.0, "roll_rate": 1.0, "roll": 1.0, "heading": -1.0, "lateral": -1.0}  # ours are positive to the left
TORQUES = {"steer_torque": 1.0}  # inputs by which the rider acts, for a unit of torque to the left
# of the steer and roll-rate loops: those of the 10 dB peaks of Hess, Moore & Hubbard for the benchmark bicycle at 5 m/s
DAMPING = (0.1289, 0.0855)
CROSSOVER = (2.0, 1.0, 0.5)  # rad/s, of the loops of roll, heading and lateral position


@with_number_range
@dataclass(frozen=True, eq=False)
class RiderControl:
    """Gains of a rider by loop, about a motion. `on` and `sampled` close the loop; `handling` rates the machine."""

    gains: Mapping[str, float]
    linear: LinearModel
    neuromuscular: tuple[float, float] = (30.0, 0.707)
    delay: float = 0.0
    order: int = 2  # of the Padé approximation
    names: Mapping[str, str] | None = None
    torques: Mapping[str, float] | None = None  # by default TORQUES

    @property
    def signals(self) -> dict[str, str]:
        """Names of the quantities that are fed back, by loop."""
        return {loop: name for loop, name in {**SIGNALS, **(self.names or {})}.items() if loop in self.gains}

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of the closed loops of steer, roll rate and roll, with the delay by Padé's approximation."""
        closed = _Closing(self, self.signals).inner(self.gains, ("steer", "roll_rate", "roll"))
        return np.linalg.eigvals(closed).astype(complex)

    @property
    def stable(self) -> bool:
        return bool(self.eigenvalues.real.max() < 0)

    def response(self, command: str, signal: str, frequencies: Any) -> NDArray[np.complex128]:
        """Frequency response of a signal to the command of a loop; the loops from this one inward are closed, others open."""
        closing = _Closing(self, self.signals)
        return closing.response(self.gains, LOOPS[: LOOPS.index(command) + 1], signal, np.atleast_1d(np.asarray(frequencies)))

    def handling(self, frequencies: Any = None) -> HandlingQuality:
        """The handling quality metric (Hess, Moore & Hubbard 2012; Moore, Hubbard & Hess 2016), over frequencies in rad/s.

            |HQM(iω)| = |(φ̇ + δ/k_φ̇)/(k_φ φ_c)| · |20²/(s + 20)²|,  s = iω

        with the loops of steer, roll rate and roll closed: how large the signals of the inner loops are for a roll command. Its
        largest value is below 5 for machines that are easy to control (level 1), and above 8 for difficult ones (level 3). A
        rider who does not balance has no level.
        """
        w = np.linspace(0.05, 40.0, 800) if frequencies is None else np.atleast_1d(np.asarray(frequencies, dtype=float))
        return HandlingQuality(w, self._metric(w), self._largest_metric(w), self.stable)

    def _metric(self, w: Array) -> Array:
        """|HQM(iω)|."""
        inner = self.response("roll", "roll_rate", w) + self.response("roll", "steer", w) / self.gains["roll_rate"]
        return np.abs(inner / self.gains["roll"] * 20.0**2 / (1j * w + 20.0) ** 2)

    def _largest_metric(self, frequencies: Array) -> float:
        """The largest |HQM| over the range of frequencies: that of the grid and of the resonances, refined between neighbors."""
        from scipy.optimize import minimize_scalar

        low, high = frequencies.min(), frequencies.max()
        resonances = np.abs(self.eigenvalues.imag)  # of a peak that is narrower than the grid's steps
        w = np.unique(np.concatenate([frequencies, resonances[(low < resonances) & (resonances < high)]]))
        found = self._metric(w)
        k = int(found.argmax())
        bounds = (w[max(k - 1, 0)], w[min(k + 1, len(w) - 1)])
        if not bounds[0] < bounds[1]:
            return float(found[k])
        refined = minimize_scalar(lambda x: -self._metric(np.array([x]))[0], bounds=bounds, method="bounded")
        return max(float(found[k]), float(-refined.fun))

    def on(
        self,
        model: Model | System | Equations,
        *,
        path: Amount | None = None,
        preview: float = 0.0,
        commands: Mapping[str, Amount] | None = None,
        inputs: Mapping[str, Amount] | None = None,
    ) -> Equations:
        """The model with the rider in the loop, the delay by Padé's approximation, as equations for any verb.

        `path` is the lateral position to follow, to the left, as an expression of `x`, the position ahead; the rider looks at it
        `preview` seconds ahead. `commands` are commands by loop as expressions of t, {"roll": "0.1*sin(t)"}, positive as the
        model's signals; `inputs` are laws of other inputs.
        """
        return close_loop(model, self._loop(path, preview, commands), inputs)

    def sampled(
        self,
        rate: float = 200.0,
        *,
        path: Amount | None = None,
        preview: float = 0.0,
        commands: Mapping[str, Amount] | None = None,
    ) -> Sampled:
        """The rider as a control function, `simulate(…, control=rider.sampled())`: sampled at `rate`, with the exact delay."""
        if self.delay and self.delay * rate < 1:
            least = 1 / self.delay
            raise ArgumentError(
                f"rate = {rate:g}: the delay of {self.delay:g} s is shorter than a sample; take {least:g} or more"
            )
        return Sampled(ExactDelay(self._loop(path, preview, commands), rate), rate)

    def _loop(self, path: Amount | None, preview: float, commands: Mapping[str, Amount] | None) -> RiderLoop:
        given = {loop: amount_in(law, None, f"command of {loop}") for loop, law in (commands or {}).items()}
        for loop in given:
            if loop not in self.gains:
                raise ArgumentError(f"there is no loop {loop!r} to command; it has {', '.join(self.gains)}")
        if path is not None and "lateral" not in self.gains:
            raise ArgumentError("this rider has no loop of the lateral position; design one with lateral=…")
        track: Expr | None = None if path is None else amount_in(path, None, "path")
        position = self.signals.get("lateral", "").removesuffix("_y") + "_x"
        return RiderLoop(
            dict(self.torques or TORQUES),
            dict(self.gains),
            self.signals,
            SIGNS,
            self.neuromuscular,
            self.delay,
            self.order,
            given,
            track,
            preview,
            position,
        )

    def as_data(self) -> dict[str, Any]:
        return {"gains": dict(self.gains), "neuromuscular": self.neuromuscular, "delay": self.delay, "signals": self.signals}

    def __str__(self) -> str:
        found, (frequency, ratio) = self.handling(), self.neuromuscular
        lines = [f"rider of {self.linear.model}: " + ", ".join(f"k_{loop} = {gain:.4g}" for loop, gain in self.gains.items())]
        lines.append(f"  neuromuscular system {frequency:g} rad/s, ζ = {ratio:g}; delay {self.delay:g} s")
        lines.append(f"  balances: {'yes' if found.balances else 'no'}; {found}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class HandlingQuality:
    """The handling quality metric over frequencies in rad/s, and its peak, which need not be at one of them."""

    frequencies: Array
    magnitudes: Array
    peak: float
    balances: bool = True

    @property
    def level(self) -> int | None:
        """1 (easy) to 3 (difficult): the bounds are 5 and 8. None where the rider does not balance: the metric rates responses
        that settle."""
        return 1 + int(self.peak > 5.0) + int(self.peak > 8.0) if self.balances else None

    def __str__(self) -> str:
        if self.balances:
            return f"handling quality metric {self.peak:.3g}, level {self.level}"
        return "without balance there is no handling level; give other gains, or torques= of the opposite sign"


def rider_control(
    model: Model | System | Equations,
    at: Mapping[str, float],
    *,
    delay: float = 0.0,
    neuromuscular: tuple[float, float] = (30.0, 0.707),
    damping: tuple[float, float] = DAMPING,
    crossover: tuple[float, float, float] = CROSSOVER,
    lateral: str | None = SIGNALS["lateral"],
    order: int = 2,
    torques: Mapping[str, float] | None = None,
) -> RiderControl:
    """Design a rider for a motion by closing one loop after the other.

    - `at`: targets of the motion, {"speed": 5.0}.
    - `delay`: of perception, in s; for the design by Padé's approximation of `order`.
    - `neuromuscular`: natural frequency (rad/s) and damping ratio.
    - `damping`: ratios of the least damped oscillation with the loops of steer, and of steer and roll rate closed.
    - `crossover`: frequencies of the loops of roll, heading and lateral position, in rad/s.
    - `torques`: inputs by which the rider acts, for a unit of torque to the left; by default `{"steer_torque": 1}`. The arms of
      `dr.parts.rider` steer by `{"rider_left_elbow_torque": 1, "rider_right_elbow_torque": -1}`, or with the opposite signs.
    - `lateral`: the output that is the lateral position, such as that of a contact point; None for a rider who balances only.

    >>> import draisine as dr
    >>> rider = dr.control.rider_control(dr.gallery.bicycle(), {"speed": 5.0})
    >>> [round(gain, 4) for gain in rider.gains.values()][:2], rider.stable
    ([46.552, -0.0522], True)
    """
    if not delay >= 0:
        raise ArgumentError(f"delay = {delay!r} must not be negative")
    linear = linearize(model, dict(at))
    names = {} if lateral is None else {"lateral": lateral}
    loops = LOOPS if lateral is not None else LOOPS[:3]
    rider = RiderControl(dict.fromkeys(loops, 0.0), linear, neuromuscular, delay, order, names, torques)
    closing = _Closing(rider, rider.signals)
    gains: Gains = {"steer": closing.damped({}, "steer", 1.0, damping[0])}
    gains["roll_rate"] = closing.damped(gains, "roll_rate", -1.0, damping[1])
    for loop, frequency in zip(loops[2:], crossover, strict=False):
        inward = LOOPS[: LOOPS.index(loop)]
        gain = closing.response(gains, inward, loop, np.array([frequency]))[0]
        gains[loop] = float(1 / abs(gain))
    return replace(rider, gains=gains)


class _Closing:
    """The plant with neuromuscular system and delay, and loops that are closed around it; signals are positive to the right."""

    def __init__(self, rider: RiderControl, signals: Mapping[str, str]) -> None:
        linear = rider.linear
        into = np.zeros(len(linear.states))
        for name, share in (rider.torques or TORQUES).items():
            if name not in linear.inputs:
                known = ", ".join(linear.inputs) or "none"
                raise ArgumentError(f"{linear.model} has no input {name!r}, by which a rider steers; it has {known}")
            into = into - share * linear.B[:, linear.inputs.index(name)]
        rows = {loop: SIGNS[loop] * linear.row(name) for loop, name in signals.items()}
        w, zeta = rider.neuromuscular
        a, b, c, d = pade(rider.delay, rider.order)
        self.plants = {}
        balancing = (signals["steer"], signals["roll"])
        keep = linear.with_outputs(*balancing).essential(balancing)
        within = [linear.states.index(s) for s in keep.states]
        for name, index in (("balance", within), ("all", list(range(len(linear.states))))):
            n, m = len(index), len(b)
            whole = np.zeros((n + 2 + m, n + 2 + m))  # plant, torque and its rate, delay
            whole[:n, :n], whole[:n, n] = linear.A[np.ix_(index, index)], into[index]
            whole[n, n + 1], whole[n + 1, n], whole[n + 1, n + 1] = 1.0, -(w**2), -2 * zeta * w
            whole[n + 1, n + 2 :], whole[n + 2 :, n + 2 :] = w**2 * c, a
            entry = np.concatenate([np.zeros(n + 1), [w**2 * d], b])  # of k_δ (δ_c − δ)
            shown = {loop: np.concatenate([row[index], np.zeros(2 + m)]) for loop, row in rows.items()}
            self.plants[name] = (whole, entry, shown)

    def _closed(self, plant: str, gains: Gains, loops: tuple[str, ...]) -> tuple[Array, Array, dict[str, Array]]:
        """System matrix with `loops` closed, and what the command of the outermost of them enters by."""
        whole, entry, rows = self.plants[plant]
        through = 1.0
        matrix = whole.copy()
        for loop in loops:
            through *= gains[loop]
            matrix -= through * np.outer(entry, rows[loop])
        return matrix, through * entry, rows

    def inner(self, gains: Gains | Mapping[str, float], loops: tuple[str, ...]) -> Array:
        return self._closed("balance", dict(gains), loops)[0]

    def response(self, gains: Any, loops: tuple[str, ...], signal: str, frequencies: Array) -> NDArray[np.complex128]:
        matrix, entry, rows = self._closed("all", dict(gains), loops)
        eye = np.eye(len(matrix))
        return np.array([rows[signal] @ np.linalg.solve(1j * w * eye - matrix, entry) for w in frequencies])

    def damped(self, gains: Gains, loop: str, sign: float, target: float) -> float:
        """The largest gain at which the least damped oscillation has the damping ratio `target`."""
        loops = LOOPS[: LOOPS.index(loop) + 1]

        def excess(size: float) -> float:
            return _least_damping(self.inner({**gains, loop: sign * math.exp(size)}, loops)) - target

        sizes = np.linspace(math.log(1e-4), math.log(2e3), 400)
        values = [excess(size) for size in sizes]
        falls = [k for k in range(len(sizes) - 1) if values[k] >= 0 > values[k + 1]]
        if not falls:
            raise SolverError(
                f"no gain of the {loop} loop gives its least damped oscillation the ratio {target:g}; "
                "give another damping, a shorter delay or another speed"
            )
        return sign * math.exp(bracketed_root(excess, sizes[falls[-1]], sizes[falls[-1] + 1]))


def _least_damping(matrix: Array) -> float:
    """The least damping ratio of the oscillations."""
    roots = np.linalg.eigvals(matrix)
    pairs = roots[roots.imag > 1e-6 * np.abs(roots)]
    return float((-pairs.real / np.abs(pairs)).min()) if len(pairs) else 1.0
