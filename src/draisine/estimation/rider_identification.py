"""A rider's gains and delay from a log of a ride.

With the neuromuscular system G given, the torque of the rider model is linear in products of the gains,

    T = Σ θ_j z_j,   z_j = −G(s) e^{−τ s} x_j,   θ = (k_δ, k_δ k_φ̇, k_δ k_φ̇ k_φ, …),   x = (δ, φ̇, φ, …)

so that they follow by least squares for every delay τ, and τ by a search for the least residual. Nothing else of the machine is
needed. The log must move all signals independently: a ride in which the rider only balances tells the outer loops badly, and the
standard deviations say so. These are the joint ones of gains and delay, for deviations of the torque (noise of its sensor, what
the rider does beside the model) that are independent from sample to sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.rider_control import LOOPS, SIGNALS, SIGNS
from draisine.errors import ArgumentError, DataError
from draisine.estimation.data import Experiment

Array = NDArray[np.float64]
DELAY = "delay"


@dataclass(frozen=True, eq=False)
class IdentifiedRider:
    """Gains and delay of a rider with standard deviations, and the share of the torque's variance that they explain.

    `deviations` has the loops, and "delay" where it was searched.
    """

    gains: Mapping[str, float]
    deviations: Mapping[str, float]
    delay: float
    explained: float
    torque: Array
    predicted: Array

    def interval(self, name: str, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of the gain of a loop, or of the "delay", by Student's distribution."""
        from scipy.stats import t

        if name not in self.deviations:
            raise ArgumentError(f"there is no interval of {name!r}; known are {', '.join(self.deviations)}")
        if not 0 < confidence < 1:
            raise ArgumentError(f"confidence = {confidence!r} must be between 0 and 1")
        value = self.delay if name == DELAY else self.gains[name]
        half = float(t.ppf((1 + confidence) / 2, max(len(self.torque) - len(self.deviations), 1))) * self.deviations[name]
        return value - half, value + half

    def __str__(self) -> str:
        listed = ", ".join(f"k_{loop} = {gain:.4g} ± {self.deviations[loop]:.1g}" for loop, gain in self.gains.items())
        late = f" ± {self.deviations[DELAY]:.1g}" if DELAY in self.deviations else ""
        return f"rider identified: {listed}; delay {self.delay:.3g}{late} s; {100 * self.explained:.1f} % of the torque explained"


def identify_rider(
    log: Any,
    *,
    loops: Sequence[str] = LOOPS[:3],
    torque: str = "steer_torque",
    names: Mapping[str, str] | None = None,
    neuromuscular: tuple[float, float] = (30.0, 0.707),
    delay: float | tuple[float, float] = (0.0, 0.3),
    settle: float = 0.5,
) -> IdentifiedRider:
    """Gains and delay of a rider from a log: a run, a table, or a file as `Experiment.of` reads it, with the time in a column.

    - `loops`: those that the rider closes, from the innermost outward: steer, roll_rate, roll, heading, lateral.
    - `torque`: the column of the steer torque, positive to the left; a minus sign means to the right, "-rider_torque".
    - `names`: columns of signals by loop, where they differ from those of the gallery's bicycle.
    - `neuromuscular`: natural frequency (rad/s) and damping ratio of the muscles, which are taken as known.
    - `delay`: a known delay, or the range to search, in s.
    - `settle`: seconds at the beginning that are left out, until the initial state of the muscles has decayed.
    """
    from scipy.optimize import minimize_scalar

    if not loops or list(loops) != list(LOOPS[: len(loops)]):
        raise ArgumentError(f"loops = {list(loops)!r} must be the first of {', '.join(LOOPS)}, from the innermost outward")
    time, signals, wanted = _columns(log, loops, torque, {**SIGNALS, **(names or {})})
    kept = (time >= time[0] + settle) & np.isfinite(wanted)
    if kept.sum() < 10 * len(loops) or np.ptp(wanted[kept]) == 0:
        raise ArgumentError(
            f"the log has {int(kept.sum())} samples after {settle:g} s, or a constant torque; nothing can be identified"
        )

    def regressors(late: float) -> Array:
        return _muscles(time, _delayed(time, -signals, late), neuromuscular)[kept]

    def residual(late: float) -> float:
        z = regressors(late)
        return float(np.sum((wanted[kept] - z @ np.linalg.lstsq(z, wanted[kept], rcond=None)[0]) ** 2))

    searched = isinstance(delay, tuple)
    if isinstance(delay, tuple):
        grid = np.linspace(*delay, 16)
        best = int(np.argmin([residual(late) for late in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 15)]
        found = float(minimize_scalar(residual, bounds=(low, high), method="bounded", options={"xatol": 1e-6}).x)
    else:
        found = float(delay)
    z = regressors(found)
    theta = np.linalg.lstsq(z, wanted[kept], rcond=None)[0]
    rest = wanted[kept] - z @ theta
    columns = z
    if searched:  # ∂T/∂τ, by a difference over about a sample
        step = float(np.median(np.diff(time)))
        columns = np.column_stack([z, (regressors(found + step) - regressors(max(found - step, 0.0))) @ theta])
        columns[:, -1] /= found + step - max(found - step, 0.0)
    spread: Array = float(rest @ rest) / max(len(rest) - columns.shape[1], 1) * _inverse(columns)
    gains, deviations = _gains(theta, spread, loops)
    if searched:
        deviations[DELAY] = float(np.sqrt(spread[-1, -1]))
    explained = 1 - float(np.var(rest) / np.var(wanted[kept]))
    return IdentifiedRider(gains, deviations, found, explained, wanted[kept], z @ theta)


def _columns(log: Any, loops: Sequence[str], torque: str, columns: Mapping[str, str]) -> tuple[Array, Array, Array]:
    """Time, signals positive to the right without gaps, and the torque, NaN where it is missing."""
    given = Experiment.of(log, "the log")
    signals = []
    for loop in loops:
        values = given.column(columns[loop])
        known = np.isfinite(values)
        if known.sum() < 2:
            raise DataError(f"{given.name}: the column {columns[loop]!r} has no values")
        signals.append(SIGNS[loop] * np.interp(given.time, given.time[known], values[known]))
    sign, column = (1.0, torque[1:]) if torque.startswith("-") else (-1.0, torque)
    return given.time, np.stack(signals, axis=1), sign * given.column(column)


def _inverse(columns: Array) -> Array:
    """(JᵀJ)⁻¹, with columns of one size."""
    sizes = np.linalg.norm(columns, axis=0)
    sizes[sizes == 0] = 1.0
    scaled = columns / sizes
    return np.asarray(np.linalg.pinv(scaled.T @ scaled) / np.outer(sizes, sizes), dtype=float)


def _delayed(time: Array, signals: Array, late: float) -> Array:
    """Signals at t − τ; before the log begins they are as at its beginning."""
    return np.stack([np.interp(time - late, time, column) for column in signals.T], axis=1)


def _muscles(time: Array, signals: Array, neuromuscular: tuple[float, float]) -> Array:
    """Signals through the neuromuscular system, exact for signals that are linear between equally spaced instants."""
    from scipy.signal import cont2discrete, lfilter

    w, zeta = neuromuscular
    even = np.linspace(time[0], time[-1], max(len(time), int((time[-1] - time[0]) * w * 4)))
    above, below, _ = cont2discrete(([w**2], [1.0, 2 * zeta * w, w**2]), even[1] - even[0], method="foh")
    given = np.stack([np.interp(even, time, column) for column in signals.T], axis=1)
    response = lfilter(np.ravel(above), below, given, axis=0)
    return np.stack([np.interp(time, even, column) for column in response.T], axis=1)


def _gains(theta: Array, spread: Array, loops: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Gains as quotients of successive coefficients, and their standard deviations to first order."""
    gains: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for k, loop in enumerate(loops):
        slope = np.zeros(len(spread))
        if k == 0:
            gains[loop], slope[0] = float(theta[0]), 1.0
        else:
            gains[loop] = float(theta[k] / theta[k - 1])
            slope[k], slope[k - 1] = 1 / theta[k - 1], -theta[k] / theta[k - 1] ** 2
        deviations[loop] = float(np.sqrt(slope @ spread @ slope))
    return gains, deviations
