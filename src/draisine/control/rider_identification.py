"""A rider's gains and delay from a log of a ride.

With the neuromuscular system G given, the torque of the rider model is linear in products of the gains,

    T = Σ θ_j z_j,   z_j = −G(s) e^{−τ s} x_j,   θ = (k_δ, k_δ k_φ̇, k_δ k_φ̇ k_φ, …),   x = (δ, φ̇, φ, …)

so that they follow by least squares for every delay τ, and τ by a search for the least residual. Nothing else of the machine is
needed. The log must move all signals independently: a ride in which the rider only balances tells the outer loops badly, and the
standard deviations say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.control.rider_control import LOOPS, SIGNALS, SIGNS
from draisine.errors import ArgumentError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IdentifiedRider:
    """Gains and delay of a rider with standard deviations, and the share of the torque's variance that they explain."""

    gains: Mapping[str, float]
    deviations: Mapping[str, float]
    delay: float
    explained: float
    torque: Array
    predicted: Array

    def __str__(self) -> str:
        listed = ", ".join(f"k_{loop} = {gain:.4g} ± {self.deviations[loop]:.1g}" for loop, gain in self.gains.items())
        return f"rider identified: {listed}; delay {self.delay:.3g} s; {100 * self.explained:.1f} % of the torque explained"


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
    """Gains and delay of a rider from a log: a run, or a table with columns by name and the time as `time`.

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
    time = np.asarray(log.time if hasattr(log, "time") else log["time"], dtype=float)
    columns = {**SIGNALS, **(names or {})}
    signals = np.stack([SIGNS[loop] * np.asarray(log[columns[loop]], dtype=float) for loop in loops], axis=1)
    sign, column = (1.0, torque[1:]) if torque.startswith("-") else (-1.0, torque)
    wanted = sign * np.asarray(log[column], dtype=float)
    kept = time >= time[0] + settle
    if kept.sum() < 10 * len(loops) or np.ptp(wanted[kept]) == 0:
        raise ArgumentError(
            f"the log has {int(kept.sum())} samples after {settle:g} s, or a constant torque; nothing can be identified"
        )

    def regressors(late: float) -> Array:
        return _muscles(time, _delayed(time, -signals, late), neuromuscular)[kept]

    def residual(late: float) -> float:
        z = regressors(late)
        return float(np.sum((wanted[kept] - z @ np.linalg.lstsq(z, wanted[kept], rcond=None)[0]) ** 2))

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
    spread: Array = float(rest @ rest) / max(len(rest) - len(theta), 1) * np.asarray(np.linalg.pinv(z.T @ z), dtype=float)
    gains, deviations = _gains(theta, spread, loops)
    explained = 1 - float(np.var(rest) / np.var(wanted[kept]))
    return IdentifiedRider(gains, deviations, found, explained, wanted[kept], z @ theta)


def _delayed(time: Array, signals: Array, late: float) -> Array:
    """Signals at t − τ; before the log begins they are as at its beginning."""
    return np.stack([np.interp(time - late, time, column) for column in signals.T], axis=1)


def _muscles(time: Array, signals: Array, neuromuscular: tuple[float, float]) -> Array:
    """Signals through the neuromuscular system, exact for signals that are linear between equally spaced instants."""
    from scipy.signal import lsim

    w, zeta = neuromuscular
    even = np.linspace(time[0], time[-1], max(len(time), int((time[-1] - time[0]) * w * 4)))
    found = []
    for column in signals.T:
        _, response, _ = lsim(([w**2], [1.0, 2 * zeta * w, w**2]), np.interp(even, time, column), even - even[0])
        found.append(np.interp(time, even, response))
    return np.stack(found, axis=1)


def _gains(theta: Array, spread: Array, loops: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Gains as quotients of successive coefficients, and their standard deviations to first order."""
    gains: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for k, loop in enumerate(loops):
        slope = np.zeros(len(theta))
        if k == 0:
            gains[loop], slope[0] = float(theta[0]), 1.0
        else:
            gains[loop] = float(theta[k] / theta[k - 1])
            slope[k], slope[k - 1] = 1 / theta[k - 1], -theta[k] / theta[k - 1] ** 2
        deviations[loop] = float(np.sqrt(slope @ spread @ slope))
    return gains, deviations
