"""Replay of runs recorded in the studio: each recorded step is repeated from the recorded state before it.

A whole run cannot be repeated from its start if the motion is unstable, since rounding grows; single steps can. The step is
that of `web/runtime.js`: the classical Runge–Kutta method with constant inputs, then one projection onto the position
constraints. Steps that the page cut at a switch, where stages of the method lie on both sides, are counted but not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine import gallery
from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.program.switching import switching_functions
from draisine.results.trajectory import Trajectory
from draisine.simulation.methods.rk4 import SCHEME

Array = NDArray[np.float64]

REPRODUCED = 1e-9


@dataclass(frozen=True)
class Replay:
    """Largest difference between recorded and repeated steps, relative to max(1, |value|)."""

    model: str
    steps: int
    error: float
    state: str  # in which it is
    time: float  # at which that step ends
    switched: int = 0  # steps across a switch, which are not compared

    @property
    def reproduced(self) -> bool:
        return self.error <= REPRODUCED

    def __str__(self) -> str:
        verdict = "reproduced" if self.reproduced else "NOT reproduced"
        worst = f"largest difference {self.error:.2g} in {self.state} at {self.time:g} s" if self.steps else "no step"
        besides = f"; {self.switched} more with a switch, not repeated" if self.switched else ""
        return f"{self.model}: {self.steps} recorded steps, {verdict} to {REPRODUCED:g} ({worst}){besides}"


def replay(ride: Trajectory, model: Model | System | Equations | None = None) -> Replay:
    """Repeat every step of a recorded run; `model` is its description if it is not in the gallery.

    >>> import draisine as dr
    >>> from draisine.studio.replay import replay
    >>> replay(dr.load("ride.csv"))  # doctest: +SKIP
    Replay(model='bicycle', steps=751, error=4.5e-15, state='frame_wx', time=0.812)
    """
    step = _step_of(ride)
    equations = _equations(ride, model)
    x, u, p = _columns(ride, equations)
    if not (np.isfinite(x).all() and np.isfinite(u).all() and np.isfinite(p).all()):
        raise ArgumentError(f"the ride of {ride.model!r} has states, inputs or parameters that are not finite")
    before = np.concatenate([np.arange(s.start, max(s.stop - 1, s.start)) for s in ride.segments]).astype(int)
    _check_times(ride, before, step)
    if not len(before):
        return Replay(ride.model, 0, 0.0, "", float(ride.time[0]))
    repeated, switched = _steps(equations, ride.time[before], x[before], u[before], p, step)
    count = int(switched.sum())
    before, repeated = before[~switched], repeated[~switched]
    if not len(before):
        return Replay(ride.model, 0, 0.0, "", float(ride.time[0]), count)
    recorded = x[before + 1]
    errors = np.abs(repeated - recorded) / np.maximum(1.0, np.abs(recorded))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    row, column = np.unravel_index(int(np.argmax(errors)), errors.shape)
    name = equations.states[int(column)].name
    return Replay(ride.model, len(before), float(errors[row, column]), name, float(ride.time[before[row] + 1]), count)


def _step_of(ride: Trajectory) -> float:
    """The recorded step size."""
    settings: Any = ride.scene.get("studio")
    if not isinstance(settings, dict):
        raise ArgumentError(f"this run of {ride.model!r} was not recorded in the studio: it has no step size")
    step = settings.get("step")
    if settings.get("method") == "DOP853":
        raise ArgumentError(
            f"the ride of {ride.model!r} has contacts that stick, slip and open: its steps end where modes change, and are not "
            "repeated one by one; simulate from its start with its inputs, and compare"
        )
    if settings.get("method") != "RK4" or not isinstance(step, int | float) or not 0 < step < math.inf:
        raise ArgumentError(f"the ride of {ride.model!r} should say {{'method': 'RK4', 'step': seconds}}, got {settings!r:.80}")
    return float(step)


def _equations(ride: Trajectory, model: Model | System | Equations | None) -> Equations:
    if model is None:
        model = gallery.model(ride.model)
    return model if isinstance(model, Equations) else derive(model)


def _columns(ride: Trajectory, equations: Equations) -> tuple[Array, Array, Array]:
    """States and inputs, (samples, size), and parameters, in the order of the equations."""

    def table(names: Sequence[str]) -> Array:
        return np.column_stack([ride[name] for name in names]) if names else np.zeros((len(ride), 0))

    missing = [p.name for p in equations.parameters if p.name not in ride.parameters]
    if missing:
        raise ArgumentError(f"the ride of {ride.model!r} has no parameter {missing[0]!r}")
    p = np.array([ride.parameters[q.name] for q in equations.parameters])
    return table([s.name for s in equations.states]), table([i.name for i in equations.inputs]), p


def _check_times(ride: Trajectory, before: NDArray[np.int_], step: float) -> None:
    gaps = ride.time[before + 1] - ride.time[before]
    wrong = np.flatnonzero(np.abs(gaps - step) > 1e-9 * max(1.0, float(np.abs(ride.time).max())))
    if len(wrong):
        at = ride.time[before[wrong[0]]]
        raise ArgumentError(
            f"the ride of {ride.model!r} says its steps are {step:g} s long, but after {at:g} s comes one of {gaps[wrong[0]]:g} s"
        )


def _steps(equations: Equations, t: Array, x: Array, u: Array, p: Array, h: float) -> tuple[Array, NDArray[np.bool_]]:
    """One step from each state, and whether its stages lie on both sides of a switch, or on it."""
    dynamics = compile_program(equations.explicit)
    functions = switching_functions(equations, free_kinks=False)
    sides = compile_program(functions) if functions is not None else None
    stage_derivatives: list[Array] = []
    lowest, highest = np.full((len(x), 1), np.inf), np.full((len(x), 1), -np.inf)
    for nodes, weights in zip(SCHEME.nodes[:4], SCHEME.weights[:4], strict=True):
        stage = x + h * sum((w * k for w, k in zip(weights, stage_derivatives, strict=False)), np.zeros_like(x))
        stage_derivatives.append(_evaluate(dynamics, t + nodes * h, stage, u, p))
        if sides is not None:
            values = np.asarray(sides.map((t + nodes * h)[:, None], stage, u, p)[0]).reshape(len(x), -1)
            lowest, highest = np.minimum(lowest, values), np.maximum(highest, values)
    made = x + h * sum((w * k for w, k in zip(SCHEME.weights[4], stage_derivatives, strict=False)), np.zeros_like(x))
    if equations.project is not None:
        made = _evaluate(compile_program(equations.project), t + h, made, u, p)
    if sides is not None:
        values = np.asarray(sides.map((t + h)[:, None], made, u, p)[0]).reshape(len(x), -1)
        lowest, highest = np.minimum(lowest, values), np.maximum(highest, values)
    return np.asarray(made), np.any((lowest <= 0.0) & (highest >= 0.0), axis=1).reshape(len(x))


def _evaluate(kernel: Kernel, t: Array, x: Array, u: Array, p: Array) -> Array:
    return np.asarray(kernel.map(t[:, None], x, u, p)[0]).reshape(x.shape)
