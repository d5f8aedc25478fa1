"""Prescribed paths: which controls keep a system on them?

    >>> import draisine as dr
    >>> cart = dr.gallery.cart_pole()
    >>> run = follow(cart, {"pole": "pole = pi - 0.3*cos(2*t)"}, ["push"], until=1.0)
    >>> bool(abs(run["pole_residual"]).max() < 1e-9)
    True

Where the path leaves a motion that would run away (the lean of a bicycle), the bounded one is found, as a boundary value problem;
the status says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.control.path import OnPath, Target, on_path
from draisine.control.stable_inversion import Boundary, Mesh
from draisine.control.zero_dynamics import Remaining
from draisine.errors import ArgumentError, SolverError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.program.equations import Constraint, Equations
from draisine.results.assembly import Piece, assemble, residual_block
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Statistics, Trajectory
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method
from draisine.simulation.run import Run, Segment, integrate
from draisine.simulation.trajectory_from_run import report_segment

Reals = NDArray[np.float64]

RUNS_AWAY = 100.0  # deviations that grow by more than this along the path call for a bounded motion
DEFECT = 1e-9  # between intervals of a bounded motion
INTERVALS_PER_SECOND = 10
ATTEMPTS = 9  # with intervals halved where shooting fails
SAMPLES_PER_SECOND = 100


@dataclass(frozen=True)
class Bounded:
    """The bounded motion on a path whose remaining dynamics is unstable.

    - `beyond`: seconds of path looked at beyond the end, where the growing directions are pinned; what the pinning does wrong
      decays from there backwards in time.
    - `intervals`: to begin with; they are halved until shooting confirms the answer.
    """

    beyond: float = 0.0
    intervals: int | None = None


@dataclass(frozen=True)
class Forward:
    """The motion that begins at the start as it is asked for, wherever it goes."""


def follow(
    model: Model | System | Equations,
    path: Mapping[str, Amount],
    controls: Sequence[str],
    until: float,
    *,
    start: Mapping[str, Target] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    solution: Bounded | Forward | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
) -> Trajectory:
    """Keep a system on a path: the motion, with the controls that it takes among its inputs.

    - `path`: constraints by name, texts "left = right" (or expressions that shall be zero) in time, states, velocities, outputs
      of motion and parameters; as many as controls.
    - `controls`: names of inputs to be found.
    - `start`: wishes as in `simulate`; what they leave open, and the controls, follow from the path and all it hides. For a
      control that enters nonlinearly `Near(…)` says which of several answers is meant.
    - `inputs`: the other inputs, numbers or laws.
    - `solution`: `Bounded()` or `Forward()`; by default the bounded motion where deviations from it would grow a hundredfold.

    The result's status says how it was found and, where the path cannot be followed, when and which control has lost its effect.
    """
    if not (math.isfinite(until) and until > 0):
        raise ArgumentError(f"until: how long to follow the path, in seconds; it must be positive, got {until!r}")
    posed = on_path(model, path, controls, start=start, parameters=parameters, inputs=inputs, until=until)
    times = _times(samples, until)
    remaining = Remaining(posed.equations, posed.inputs, posed.p)
    if solution is None:
        growth = max(remaining.parted(0.0, posed.x, 0.0).growth, 0.0) * until
        solution = Bounded() if growth > math.log(RUNS_AWAY) else None
    if isinstance(solution, Bounded):
        return _bounded(posed, remaining, until, times, solution)
    run = integrate(
        prepare(posed.equations), posed.x, until, parameters=posed.p, inputs=posed.inputs, method=method, samples=times
    )
    if solution is None and _growth(remaining, run) > math.log(RUNS_AWAY):
        return _bounded(posed, remaining, until, times, Bounded())
    return _forward(posed, run)


def _times(samples: ArrayLike | int | None, until: float) -> Reals:
    if samples is None:
        samples = max(int(until * SAMPLES_PER_SECOND), 200) + 1 if until < 100 else 10_001
    return np.linspace(0.0, until, samples) if isinstance(samples, int) else np.asarray(samples, dtype=float)


def _growth(remaining: Remaining, run: Run) -> float:
    """∫ of the largest growth rate along a run, from some of its samples."""
    places = np.unique(np.linspace(0, len(run.times) - 1, 12).astype(int))
    t, x = run.times[places], run.states[places]
    rates = [
        max(remaining.parted(float(a), b, 0.0).growth, 0.0) if np.isfinite(b).all() else 0.0 for a, b in zip(t, x, strict=True)
    ]
    return float(np.trapezoid(rates, t)) if len(t) > 1 else 0.0


# -------------------------------------------------------------------------------------------------------- forward


def _forward(posed: OnPath, run: Run) -> Trajectory:
    status = run.status
    if status.kind is Ending.FINISHED:
        status = replace(status, message=f"kept the path; {status.message}; index {posed.index} reduced")
    elif status.kind in (Ending.EVENT, Ending.SINGULAR, Ending.STEP_TOO_SMALL, Ending.NOT_FINITE):
        status = _lost(posed, run)
    # where control is lost there is no value of it to tell
    kept = max(1, len(run.times) - (status.kind is Ending.SINGULAR))
    return _trajectory(
        posed, run.times[:kept], run.states[:kept], status, Statistics(run.evaluations, run.accepted, run.rejected)
    )


def _lost(posed: OnPath, run: Run) -> Status:
    """The path cannot be followed further: when, and which control has lost its effect."""
    e = posed.equations
    assert e.monitor is not None  # it is made with the equations
    condition = float(e.monitor([run.final_time], run.final_state, posed.inputs, posed.p)[0][0])
    if run.status.kind is not Ending.EVENT and np.isfinite(condition) and condition < 1e2:
        return run.status
    cause = posed.weakest(run.final_time, run.final_state)
    return Status(
        Ending.SINGULAR,
        f"the path cannot be followed beyond t = {run.final_time:.6g} s: {cause} there; choose another control, or a path that "
        "does not lead there",
        run.status.warnings,
    )


# -------------------------------------------------------------------------------------------------------- bounded


def _bounded(posed: OnPath, remaining: Remaining, until: float, times: Reals, wanted: Bounded) -> Trajectory:
    horizon = until + wanted.beyond
    least = 0.5 * math.log(RUNS_AWAY) / horizon
    boundary = Boundary(remaining, posed.x, (0.0, horizon), least)
    if not boundary.first.count:
        raise ArgumentError(
            f"{posed.plant.name}: nothing grows on this path (largest rate {boundary.first.growth:.2g} 1/s), so that there is no "
            "boundary value problem to solve; leave solution out, or ask for Forward()"
        )
    choices, evaluations = prepare(posed.equations), 0
    mesh = boundary.guess(wanted.intervals or min(max(int(horizon * INTERVALS_PER_SECOND), 20), 400))
    for attempt in range(ATTEMPTS):
        mesh = boundary.solve(mesh)
        states, defects, count = _shot(posed, choices, mesh, times)
        evaluations += count
        defect = float(defects.max())
        if defect <= DEFECT or attempt == ATTEMPTS - 1:
            break
        mesh = mesh.refined(defects > 0.2 * DEFECT)
    start = ", ".join(f"{name} by {change:+.3g}" for name, change in _changes(posed, mesh))
    message = (
        f"kept the path to t = {until:.6g} s; index {posed.index} reduced; forward in time deviations would grow like "
        f"exp({boundary.first.growth:.3g} t), so this is the bounded motion, by a boundary value problem in "
        f"{len(mesh.times) - 1} intervals with defects of {defect:.1e}; its start was moved"
        + (f" ({start})" if start else " by less than 1e-9")
    )
    status = Status(Ending.FINISHED, message)
    if defect > DEFECT:
        status = status.with_warning(f"shooting from one interval to the next leaves defects of {defect:.1e}; use more intervals")
    return _trajectory(posed, times, states, status, Statistics(evaluations, len(mesh.times) - 1, 0))


def _shot(posed: OnPath, choices: VelocityChoices, mesh: Mesh, times: Reals) -> tuple[Reals, Reals, int]:
    """States at the samples, by an independent method from the beginning of each interval, and what is missing at its end."""
    method = DOP853(rtol=1e-12, atol=1e-12)
    states, evaluations = np.full((len(times), len(posed.x)), np.nan), 0
    defects = np.full(len(mesh.times) - 1, np.inf)
    scale = np.maximum(1.0, np.abs(mesh.states).max(axis=0))
    for k in range(len(mesh.times) - 1):
        a, b = float(mesh.times[k]), float(mesh.times[k + 1])
        inside = np.flatnonzero((times >= a) & ((times < b) | (k == len(mesh.times) - 2)))
        wanted = np.unique([*times[inside], b])
        run = integrate(
            choices, mesh.states[k], b, start=a, parameters=posed.p, inputs=posed.inputs, method=method, samples=wanted
        )
        evaluations += run.evaluations
        if run.status.kind in (Ending.EVENT, Ending.SINGULAR):
            cause = posed.weakest(run.final_time, run.final_state)
            raise SolverError(f"{posed.plant.name}: the path cannot be followed beyond t = {run.final_time:.6g} s: {cause} there")
        if run.status.kind is Ending.FINISHED:
            defects[k] = (np.abs(run.states[-1] - mesh.states[k + 1]) / scale).max()
            states[inside] = run.states[: len(inside)]
    return states, defects, evaluations


def _changes(posed: OnPath, mesh: Mesh) -> list[tuple[str, float]]:
    change = mesh.states[0] - posed.x
    order = [int(i) for i in np.argsort(-np.abs(change)) if abs(change[i]) > 1e-9]
    return [(posed.equations.coordinates[i].name, float(change[i])) for i in order[:3]]


# -------------------------------------------------------------------------------------------------------- what is told


def _trajectory(posed: OnPath, times: Reals, states: Reals, status: Status, statistics: Statistics) -> Trajectory:
    e, plant = posed.equations, posed.plant
    report = dict(
        zip(
            (slot.name for slot in e.report.outputs),
            _evaluated(posed, times, states),
            strict=True,
        )
    )
    inputs = np.tile(posed.inputs, (len(times), 1))
    found = report["multipliers"] if posed.solved else states[:, len(plant.states) :]
    for k, name in enumerate(posed.controls):
        inputs[:, [q.name for q in plant.inputs].index(name)] = found.reshape(len(times), -1)[:, k]
    piece = report_segment(Segment(plant, times, states[:, : len(plant.states)], inputs, times), posed.p)
    own = {c.name for c in plant.constraints}
    kept = [i for i, c in enumerate(e.constraints) if c.name not in own]
    constraints: list[Constraint] = [e.constraints[i] for i in kept]
    path = residual_block(constraints, report["residuals"].reshape(len(times), -1)[:, kept])
    for warning in plant.warnings:
        status = status.with_warning(warning)
    return assemble(
        plant.name,
        [Piece(piece.time, (*piece.blocks, path), independent=piece.independent)],
        status=status,
        statistics=statistics,
        parameters=dict(zip((q.name for q in plant.parameters), posed.p.tolist(), strict=True)),
        scene={"start": posed.start_report, "path": list(e.notes)},
    )


def _evaluated(posed: OnPath, times: Reals, states: Reals) -> tuple[Reals, ...]:
    from draisine.codegen.jit.kernel import compile

    return compile(posed.equations.report).map(times[:, None], states, posed.inputs, posed.p)
