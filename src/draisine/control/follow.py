"""Prescribed paths: inverse dynamics and stable inversion (`follow`).

    >>> import draisine as dr
    >>> cart = dr.gallery.cart_pole()
    >>> run = follow(cart, 1.0, {"pole": "pole = pi - 0.3*cos(2*t)"}, ["push"])
    >>> bool(abs(run["pole_residual"]).max() < 1e-9)
    True

Where the zero dynamics is unstable (the lean of a bicycle), the bounded motion is found by a boundary value problem; the status
reports it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.kernel import compile
from draisine.control.path import OnPath, Target, on_path
from draisine.control.stable_inversion import BoundaryValueProblem, Mesh
from draisine.control.zero_dynamics import ZeroDynamics
from draisine.errors import ArgumentError, SolverError
from draisine.model.model import Model
from draisine.model.quantities import Amount
from draisine.model.system import System
from draisine.numerics.number_range import with_number_range
from draisine.program.arguments import checked
from draisine.program.equations import Constraint, Equations
from draisine.results.assembly import Piece, assemble, residual_block
from draisine.results.channel import HasState
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Statistics, Trajectory
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.selection import Method
from draisine.simulation.run import Run, Segment, integrate
from draisine.simulation.trajectory_from_run import report_segment

Reals = NDArray[np.float64]

UNSTABLE_GROWTH = 100.0  # growth of deviations along the path above which the bounded motion is sought
DEFECT = 1e-9  # largest defect between intervals of a bounded motion
INTERVALS_PER_SECOND = 10
ATTEMPTS = 9  # refinements of the mesh
SAMPLES_PER_SECOND = 100


@with_number_range
@dataclass(frozen=True)
class Bounded:
    """The bounded motion on a path whose zero dynamics is unstable.

    - `beyond`: seconds of path computed beyond the end, where the unstable directions are fixed; the error of this condition
      decays backwards in time.
    - `intervals`: initial number; they are halved until shooting confirms the solution.
    """

    beyond: float = 0.0
    intervals: int | None = None


@dataclass(frozen=True)
class Forward:
    """The motion from the given start, integrated forward in time."""


@checked
def follow(
    model: Model | System | Equations,
    until: float,
    path: Mapping[str, Amount],
    controls: Sequence[str],
    *,
    start: Mapping[str, Target] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    solution: Bounded | Forward | None = None,
    method: Method | None = None,
    samples: ArrayLike | int | None = None,
) -> Trajectory:
    """The motion along a prescribed path, with the required controls among its inputs.

    - `until`: duration in seconds.
    - `path`: constraints by name, texts "left = right" (or expressions that vanish) in time, states, velocities, outputs of
      motion and parameters; as many as controls.
    - `controls`: names of the inputs to find.
    - `start`: targets, or a result, as in `simulate`; the rest and the controls follow from the path and its derivatives. For a
      control that enters nonlinearly `InitialGuess(…)` selects one of several solutions.
    - `inputs`: the other inputs, numbers or laws.
    - `parameters`, `method`, `samples`: as in `simulate`.
    - `solution`: `Bounded()` or `Forward()`; by default the bounded motion where deviations would grow a hundredfold.

    The status of the result describes the solution and, where the path cannot be followed, the time and the control that lost
    its effect.
    """
    if not (math.isfinite(until) and until > 0):
        raise ArgumentError(f"until: the duration in seconds must be positive, got {until!r}")
    problem = on_path(model, path, controls, start=start, parameters=parameters, inputs=inputs, horizon=until)
    times = _times(samples, until)
    zero_dynamics = ZeroDynamics(problem.equations, problem.inputs, problem.p)
    if solution is None:
        growth = max(zero_dynamics.split(0.0, problem.x, 0.0).growth, 0.0) * until
        solution = Bounded() if growth > math.log(UNSTABLE_GROWTH) else None
    if isinstance(solution, Bounded):
        return _bounded(problem, zero_dynamics, until, times, solution)
    run = integrate(
        prepare(problem.equations), problem.x, until, parameters=problem.p, inputs=problem.inputs, method=method, samples=times
    )
    if solution is None and _growth(zero_dynamics, run) > math.log(UNSTABLE_GROWTH):
        return _bounded(problem, zero_dynamics, until, times, Bounded())
    return _forward(problem, run)


def _times(samples: ArrayLike | int | None, until: float) -> Reals:
    if samples is None:
        samples = max(int(until * SAMPLES_PER_SECOND), 200) + 1 if until < 100 else 10_001
    return np.linspace(0.0, until, samples) if isinstance(samples, int) else np.asarray(samples, dtype=float)


def _growth(zero_dynamics: ZeroDynamics, run: Run) -> float:
    """Integral of the largest growth rate along a run, from some of its samples."""
    indices = np.unique(np.linspace(0, len(run.times) - 1, 12).astype(int))
    t, x = run.times[indices], run.states[indices]
    rates = [
        max(zero_dynamics.split(float(a), b, 0.0).growth, 0.0) if np.isfinite(b).all() else 0.0 for a, b in zip(t, x, strict=True)
    ]
    return float(np.trapezoid(rates, t)) if len(t) > 1 else 0.0


# -------------------------------------------------------------------------------------------------------- forward


def _forward(problem: OnPath, run: Run) -> Trajectory:
    status = run.status
    if status.kind is Ending.FINISHED:
        status = replace(status, message=f"followed the path; {status.message}; index {problem.index} reduced")
    elif status.kind in (
        Ending.EVENT,
        Ending.SINGULAR,
        Ending.CONSTRAINTS_BROKEN,
        Ending.STEP_TOO_SMALL,
        Ending.NOT_FINITE,
    ):
        status = _lost(problem, run)
    # where a control loses its effect it has no value
    kept = max(1, len(run.times) - (status.kind is Ending.SINGULAR))
    return _trajectory(
        problem, run.times[:kept], run.states[:kept], status, Statistics(run.evaluations, run.accepted, run.rejected)
    )


def _lost(problem: OnPath, run: Run) -> Status:
    """The status of a path that cannot be followed further: when, and which control lost its effect."""
    e = problem.equations
    assert e.monitor is not None  # built with the equations
    condition = float(e.monitor([run.final_time], run.final_state, problem.inputs, problem.p)[0][0])
    if run.status.kind is not Ending.EVENT and np.isfinite(condition) and condition < 1e2:
        return run.status
    cause = problem.weakest(run.final_time, run.final_state)
    return Status(
        Ending.SINGULAR,
        f"the path cannot be followed beyond t = {run.final_time:.6g} s: {cause} there; choose another control, or a path that "
        "avoids this state",
        run.status.warnings,
    )


# -------------------------------------------------------------------------------------------------------- bounded


def _bounded(problem: OnPath, zero_dynamics: ZeroDynamics, until: float, times: Reals, options: Bounded) -> Trajectory:
    horizon = until + options.beyond
    least = 0.5 * math.log(UNSTABLE_GROWTH) / horizon
    boundary = BoundaryValueProblem(zero_dynamics, problem.x, (0.0, horizon), least)
    if not boundary.first.count:
        raise ArgumentError(
            f"{problem.plant.name}: no deviation grows on this path (largest rate {boundary.first.growth:.2g} 1/s), so that "
            "there is no boundary value problem to solve; leave solution out, or use Forward()"
        )
    choices, evaluations = prepare(problem.equations), 0
    mesh = boundary.guess(options.intervals or min(max(int(horizon * INTERVALS_PER_SECOND), 20), 400))
    for attempt in range(ATTEMPTS):
        mesh = boundary.solve(mesh)
        states, defects, count = _shot(problem, choices, mesh, times)
        evaluations += count
        defect = float(defects.max())
        if defect <= DEFECT or attempt == ATTEMPTS - 1:
            break
        mesh = mesh.refined(defects > 0.2 * DEFECT)
    start = ", ".join(f"{name} by {change:+.3g}" for name, change in _changes(problem, mesh))
    message = (
        f"followed the path to t = {until:.6g} s; index {problem.index} reduced; forward in time deviations would grow like "
        f"exp({boundary.first.growth:.3g} t), so this is the bounded motion, by a boundary value problem in "
        f"{len(mesh.times) - 1} intervals with defects of {defect:.1e}; its start was changed"
        + (f" ({start})" if start else " by less than 1e-9")
    )
    status = Status(Ending.FINISHED, message)
    if defect > DEFECT:
        status = status.with_warning(f"shooting between intervals has defects of {defect:.1e}; use more intervals")
    return _trajectory(problem, times, states, status, Statistics(evaluations, len(mesh.times) - 1, 0))


def _shot(problem: OnPath, choices: VelocityChoices, mesh: Mesh, times: Reals) -> tuple[Reals, Reals, int]:
    """States at the samples and defects, by an independent integration over each interval."""
    method = DOP853(rtol=1e-12, atol=1e-12)
    states, evaluations = np.full((len(times), len(problem.x)), np.nan), 0
    defects = np.full(len(mesh.times) - 1, np.inf)
    scale = np.maximum(1.0, np.abs(mesh.states).max(axis=0))
    for k in range(len(mesh.times) - 1):
        a, b = float(mesh.times[k]), float(mesh.times[k + 1])
        inside = np.flatnonzero((times >= a) & ((times < b) | (k == len(mesh.times) - 2)))
        samples = np.unique([*times[inside], b])
        run = integrate(
            choices, mesh.states[k], b, start=a, parameters=problem.p, inputs=problem.inputs, method=method, samples=samples
        )
        evaluations += run.evaluations
        if run.status.kind in (Ending.EVENT, Ending.SINGULAR):
            cause = problem.weakest(run.final_time, run.final_state)
            raise SolverError(
                f"{problem.plant.name}: the path cannot be followed beyond t = {run.final_time:.6g} s: {cause} there"
            )
        if run.status.kind is Ending.FINISHED:
            defects[k] = (np.abs(run.states[-1] - mesh.states[k + 1]) / scale).max()
            states[inside] = run.states[: len(inside)]
    return states, defects, evaluations


def _changes(problem: OnPath, mesh: Mesh) -> list[tuple[str, float]]:
    change = mesh.states[0] - problem.x
    order = [int(i) for i in np.argsort(-np.abs(change)) if abs(change[i]) > 1e-9]
    return [(problem.equations.coordinates[i].name, float(change[i])) for i in order[:3]]


# -------------------------------------------------------------------------------------------------------- results


def _trajectory(problem: OnPath, times: Reals, states: Reals, status: Status, statistics: Statistics) -> Trajectory:
    e, plant = problem.equations, problem.plant
    report = dict(
        zip(
            (slot.name for slot in e.report.outputs),
            _evaluated(problem, times, states),
            strict=True,
        )
    )
    inputs = np.tile(problem.inputs, (len(times), 1))
    found = report["multipliers"] if problem.solved else states[:, len(plant.states) :]
    for k, name in enumerate(problem.controls):
        inputs[:, [q.name for q in plant.inputs].index(name)] = found.reshape(len(times), -1)[:, k]
    piece = report_segment(Segment(plant, times, states[:, : len(plant.states)], inputs, times), problem.p)
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
        parameters=dict(zip((q.name for q in plant.parameters), problem.p.tolist(), strict=True)),
        scene={"start": problem.start_report, "path": list(e.notes)},
    )


def _evaluated(problem: OnPath, times: Reals, states: Reals) -> tuple[Reals, ...]:
    return compile(problem.equations.report).map(times[:, None], states, problem.inputs, problem.p)
