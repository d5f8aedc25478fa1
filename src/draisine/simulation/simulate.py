"""From a description to a trajectory (`simulate`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations, Event
from draisine.results.trajectory import Trajectory
from draisine.simulation.initial.problem import InitialGuess
from draisine.simulation.methods.selection import Method
from draisine.simulation.sampled_control import EveryStage, Sampled
from draisine.simulation.simulate import compute
from draisine.simulation.trajectory_from_run import trajectory_of

if TYPE_CHECKING:
    from draisine.dynamics.options import Drift, FormulationChoice
    from draisine.simulation.simulate import Law

SAMPLES_PER_SECOND = 100
MOST_SAMPLES = 20_000


def simulate(
    model: Model | System | Equations,
    until: float,
    *,
    start: Mapping[str, float | str | InitialGuess] | None = None,
    parameters: Mapping[str, float | str] | None = None,
    inputs: Mapping[str, Law] | None = None,
    control: Sampled | EveryStage | Callable[..., Any] | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | None = None,
    drift: Drift | None = None,
    formulation: FormulationChoice | None = None,
    sensitivity: Sequence[str] = (),
) -> Trajectory:
    """Move a mechanism from a consistent start for `until` seconds.

    - `start`: wishes by name of coordinates, velocities or outputs; the rest is solved ("wheels on the ground"). Numbers in
      SI, or texts with a unit: `{"speed": "18 km/h", "lean": "5 deg"}`.
    - `parameters`: values by name, the same way; the others keep their defaults. Nothing is recompiled.
    - `inputs`: a number, or a law as text or expression of t, states, outputs and parameters, which is compiled in.
    - `control`: u = function(t, x) in Python: `Sampled(function, rate)`, or `EveryStage(function)`, which is slow.
    - `samples`: times wanted, or how many; 100 per second by default.
    - `events`: `Event(name, expression, action)` besides the model's own.
    - `drift`: what keeps the motion on its constraints and invariants, by name: `Projection()`, `Baumgarte()`, `Minimal()`,
      `Rattle(step)`, …; see docs/drift.md. Without it velocities are eliminated or projected, as suits the mechanism.
    - `formulation`: `Reduced()`, `Recursive()` or `Augmented()`; without it structure and size decide.
    - `sensitivity`: names of parameters, constant inputs or wishes for the start ("start.lean") with respect to which every
      channel is differentiated, exactly: `run.sensitivity["lean", "trail"]`; see docs/periodic.md.

    The result's `status` says how the run ended; what was computed is always there.
    """
    times = _sample_times(samples, until)
    moved = compute(
        model,
        until,
        start=start,
        parameters=parameters,
        inputs=inputs,
        control=control,
        method=method,
        times=times,
        events=events,
        progress=progress,
        drift=drift,
        formulation=formulation,
        sensitivity=sensitivity,
    )
    made = trajectory_of(moved.run, moved.parameters, moved.clock, moved.equations, moved.start)
    made = replace(made, source=model.freeze() if isinstance(model, Model) else model)
    if moved.varied is None:
        return made
    from draisine.simulation.sensitivity import reported_sensitivity

    units = {q.name: q.unit for q in (*moved.equations.outputs, *moved.equations.states)}
    units |= {q.name: q.unit for q in (*moved.equations.inputs, *moved.equations.parameters)}
    by = [units.get(d.name, "") for d in moved.varied.directions]
    return replace(made, sensitivity=reported_sensitivity(moved.varied, moved.parameters, made.channels, by))


def _sample_times(samples: ArrayLike | int | None, until: float) -> np.ndarray:
    if not isinstance(until, int | float | np.number) or not np.isfinite(until) or until == 0:
        raise ArgumentError(f"until: how long to move, in seconds; it must be finite and not zero, got {until!r}")
    if samples is None:
        samples = int(min(max(abs(until) * SAMPLES_PER_SECOND, 200), MOST_SAMPLES)) + 1
    if isinstance(samples, int):
        if samples < 2:
            raise ArgumentError(f"samples: at least 2 are needed (start and end), got {samples}")
        return np.linspace(0.0, until, samples)
    return np.asarray(samples, dtype=float)
