"""Measurements: the measurement function with exact derivatives, estimates of noise, and a whiteness test of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.errors import ArgumentError
from draisine.estimation.experiment_data import Recording
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program
from draisine.program.variational import Direction, jacobian

Reals = NDArray[np.float64]

LEAST = 1e-13  # of a channel's size: noise below this is rounding
ROUGH = 1.4826  # median of absolute values → standard deviation of normal noise


def measurable(equations: Equations) -> dict[str, Quantity]:
    """All quantities that can be measured, by name: coordinates, velocities, outputs, multipliers."""
    groups = (equations.multipliers, equations.velocities, equations.coordinates, equations.outputs)
    return {q.name: q for group in groups for q in group}


class MeasurementFunction:
    """(t, x, u, p) → the named quantities y, ∂y/∂x and ∂y/∂θ, at many times."""

    def __init__(self, equations: Equations, names: tuple[str, ...], directions: tuple[Direction, ...]) -> None:
        self._kernel: Kernel = compile(jacobian(_selected(equations, names), directions))
        self._count, self._states = len(names), len(equations.states)

    def __call__(self, t: Reals, x: Reals, u: Reals, p: Reals) -> tuple[Reals, Reals, Reals]:
        # a single time has no batch axis
        y, by = self._kernel.map(t[:, None], x, u, p) if len(t) > 1 else self._kernel(t, x[0], u[0], np.ravel(p))
        table = np.asarray(by).reshape(len(t), self._count, -1)
        return np.asarray(y).reshape(len(t), self._count), table[:, :, : self._states], table[:, :, self._states :]


@lru_cache(maxsize=64)
def measurement_function(equations: Equations, names: tuple[str, ...], directions: tuple[Direction, ...]) -> MeasurementFunction:
    """The measurement function of these quantities, cached."""
    return MeasurementFunction(equations, names, directions)


_TIME = Direction("time", "t")


def measured_rates(equations: Equations, names: tuple[str, ...], t: Reals, x: Reals, u: Reals, p: Reals) -> Reals:
    """Time derivatives of these quantities along the motion, ∂y/∂t + ∂y/∂x ẋ, (times, names)."""
    if isinstance(equations.dynamics, DaeResidual):
        raise ArgumentError(
            f"{equations.name}: an unknown offset or delay needs rates of the measured quantities, which equations "
            "0 = F(t, x, ẋ) do not give; give its value"
        )
    _, by_state, by_time = measurement_function(equations, names, (_TIME,))(t, x, u, p)
    kernel = _rates(equations)
    w = kernel.map(t[:, None], x, u, p)[0] if len(t) > 1 else np.asarray(kernel(t, x[0], u[0], p)[0])[None]
    return np.asarray((by_state @ np.asarray(w).reshape(len(t), -1, 1))[..., 0] + by_time[..., 0])


@lru_cache(maxsize=32)
def _rates(equations: Equations) -> Kernel:
    assert not isinstance(equations.dynamics, DaeResidual)
    return compile(equations.dynamics)


def _selected(equations: Equations, names: tuple[str, ...]) -> Program | LinearSolveProgram:
    """The report program reduced to the requested quantities."""
    report = equations.report
    inner = report.after if isinstance(report, LinearSolveProgram) else report
    symbols = dict(zip((slot.name for slot in inner.inputs), inner.symbols(), strict=True))
    results = inner.function.call(list(symbols.values()))
    expressions: dict[str, ca.SX] = {}
    for slot, result in zip(inner.outputs, results, strict=True):
        if slot.name in ("multipliers", "v", "outputs"):
            expressions |= {label: result[i] for i, label in enumerate(slot.labels)}
    expressions |= {q.name: symbols["x"][i] for i, q in enumerate(equations.coordinates)}
    if equations.outputs:  # outputs take precedence over other quantities of the same name
        slot = inner.output("outputs")
        reported = results[[s.name for s in inner.outputs].index("outputs")]
        expressions |= {label: reported[i] for i, label in enumerate(slot.labels)}
    made = Program.build(f"{equations.name}_observed", symbols, {"y": ca.densify(ca.vertcat(*[expressions[n] for n in names]))})
    return replace(report, name=made.name, after=made) if isinstance(report, LinearSolveProgram) else made


# ------------------------------------------------------------ noise


def roughness(recordings: Sequence[Recording]) -> Reals:
    """An initial standard deviation of each channel, from second differences, which suppress the motion."""
    found = []
    for i in range(recordings[0].values.shape[1]):
        second_differences, size = [], 0.0
        for r in recordings:
            column = r.values[:, i]
            column = column[np.isfinite(column)]
            size = max(size, float(np.abs(column).max(initial=0.0)))
            second_differences.append(np.diff(column, 2))
        differences = np.concatenate(second_differences)
        found.append(
            max(ROUGH * float(np.median(np.abs(differences))) / np.sqrt(6.0) if len(differences) else 0.0, 1e-6 * size, 1e-300)
        )
    return np.array(found)


def deviations(residuals: Sequence[Reals], unknowns: int, robust: bool, sizes: Reals) -> Reals:
    """Standard deviations of channels from raw residuals, (times, channels) per experiment, corrected for degrees of freedom."""
    stacked = np.concatenate(list(residuals))
    total = int(np.isfinite(stacked).sum())
    share = total / max(total - unknowns, 1)
    found = []
    for column, size in zip(stacked.T, sizes, strict=True):
        r = column[np.isfinite(column)]
        if robust:
            value = ROUGH * float(np.median(np.abs(r)))
        else:
            value = float(np.sqrt(np.mean(r**2) * share))
        found.append(max(value, LEAST * size))
    return np.array(found)


@dataclass(frozen=True)
class Whiteness:
    """Whiteness of the residuals of a channel: the Ljung–Box statistic Q over some lags, its probability, and the root mean
    square of the residuals."""

    experiment: str
    channel: str
    correlations: tuple[float, ...]  # at lags 1, 2, …
    q: float
    probability: float
    size: float

    @property
    def white(self) -> bool:
        return self.probability > 1e-3

    @property
    def evidence(self) -> str:
        """The numbers of the test: the statistic, its probability, and the largest correlation."""
        lag = int(np.argmax(np.abs(self.correlations)))
        return (
            f"Ljung–Box Q = {self.q:.3g} over {len(self.correlations)} lags, probability {self.probability:.1g}; "
            f"correlation {self.correlations[lag]:+.2f} at lag {lag + 1}"
        )


def whiteness(experiment: str, channel: str, residuals: Reals, lags: int = 10) -> Whiteness:
    """Ljung–Box test of one channel's residuals, in order of time.

    >>> import numpy as np
    >>> whiteness("", "", np.random.default_rng(0).normal(size=500)).white
    True
    >>> whiteness("", "", np.sin(np.arange(500) / 20)).white
    False
    """
    from scipy.stats import chi2

    r = residuals[np.isfinite(residuals)]
    n = len(r)
    lags = min(lags, max(n // 5, 1))
    power = float(r @ r)
    if power == 0.0 or n < 8:
        return Whiteness(experiment, channel, (0.0,) * lags, 0.0, 1.0, 0.0)
    found = np.array([float(r[k:] @ r[:-k]) / power for k in range(1, lags + 1)])
    q = n * (n + 2) * float(np.sum(found**2 / (n - np.arange(1, lags + 1))))
    return Whiteness(experiment, channel, tuple(found.tolist()), q, float(chi2.sf(q, lags)), float(np.sqrt(power / n)))
