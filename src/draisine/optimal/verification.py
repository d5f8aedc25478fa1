"""Verification of solutions: the optimal control is simulated with the adaptive integrator and compared with the nodes.

Controls are polynomials in each interval; no integration step crosses a discontinuity (`program.piecewise_inputs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.direct_methods import Grid
from draisine.numerics.runge_kutta import monomial_coefficients
from draisine.optimal.phase import Phase
from draisine.program.equations import Equations
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.program.program import DaeResidual
from draisine.results.assembly import Piece, assemble
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Statistics, Trajectory
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.run import Run, Segment, integrate
from draisine.simulation.trajectory_from_run import report_segment

Reals = NDArray[np.float64]

ACCURACY = 1e-10
SAMPLES = 300  # about, of a phase


@dataclass(frozen=True, eq=False)
class Simulated:
    """A phase simulated from its start with the optimal control."""

    piece: Piece
    final: Reals  # all states of the equations at the end
    breaks: Reals  # (intervals + 1, states) at mesh points, NaN where the run ended earlier
    status: Status
    statistics: Statistics


def simulate_phase(phase: Phase, grid: Grid, begin: float, duration: float, x: Reals, controls: Reals, p: Reals) -> Simulated:
    """Simulate from the state x; controls are values at the grid's control points."""
    degree = len(grid.control_local) - 1
    choices = _prepared(phase.equations, phase.controls, degree)
    # coefficients in the position within an interval, from values at its control points
    powers = monomial_coefficients(grid.control_local)
    coefficients = np.einsum("cj,kjn->kcn", powers, controls[grid.control_of])
    method = None if isinstance(phase.equations.dynamics, DaeResidual) else DOP853(rtol=ACCURACY, atol=ACCURACY)
    edges = begin + duration * grid.breaks
    inside = max(1, round(SAMPLES / (len(edges) - 1)))
    runs: list[Run] = []
    states, breaks = x, np.full((len(edges), len(x)), np.nan)
    breaks[0] = x
    for k in range(len(edges) - 1):
        given = np.concatenate([_constant_inputs(phase), coefficients[k].T.ravel(), [edges[k], edges[k + 1] - edges[k]]])
        times = np.linspace(edges[k], edges[k + 1], inside + 1)
        run = integrate(
            choices, states, float(edges[k + 1]), start=float(edges[k]), parameters=p, inputs=given, method=method, samples=times
        )
        runs.append(run)
        if run.status.kind is not Ending.FINISHED:
            break
        states = breaks[k + 1] = run.final_state
    piece = _reported(phase, grid, runs, coefficients, edges, p)
    count = Statistics(*(sum(getattr(r, n) for r in runs) for n in ("evaluations", "accepted", "rejected")))
    return Simulated(piece, runs[-1].final_state, breaks, runs[-1].status, count)


def _constant_inputs(phase: Phase) -> Reals:
    kept = [i for i, q in enumerate(phase.equations.inputs) if q.name not in phase.controls]
    return phase.inputs[kept]


def _reported(phase: Phase, grid: Grid, runs: list[Run], coefficients: Reals, edges: Reals, p: Reals) -> Piece:
    """All reported quantities along the runs."""
    names = [q.name for q in phase.equations.inputs]
    place = [names.index(name) for name in phase.controls]
    jumps = len(grid.control_local) == 1
    times, states, inputs = [], [], []
    for k, run in enumerate(runs):
        first = 0 if k == 0 or jumps else 1  # where controls jump, both values are reported
        t = run.times[first:]
        s = (t - edges[k]) / (edges[k + 1] - edges[k])
        u = np.tile(phase.inputs, (len(t), 1))
        u[:, place] = np.vander(s, coefficients.shape[1], increasing=True) @ coefficients[k]
        times.append(t)
        states.append(run.states[first:])
        inputs.append(u)
    t = np.concatenate(times)
    return report_segment(Segment(phase.equations, t, np.concatenate(states), np.concatenate(inputs), t), p)


def trajectory(
    simulated: list[Simulated], phases: list[Phase], status: Status, parameters: dict[str, float], notes: list[str]
) -> Trajectory:
    """One trajectory of all phases of one model."""
    names = ("evaluations", "accepted", "rejected")
    count = Statistics(*(sum(getattr(s.statistics, n) for s in simulated) for n in names))
    return assemble(
        phases[0].equations.name,
        [s.piece for s in simulated],
        status=status,
        statistics=count,
        parameters=parameters,
        scene={"start": "optimal control", "notes": notes},
    )


# -------------------------------------------------------------------------------------------------------- driven equations


@lru_cache(maxsize=32)
def _prepared(equations: Equations, controls: tuple[str, ...], degree: int) -> VelocityChoices:
    """Compiled equations without events and without changes of velocity coordinates."""
    plain = replace(equations, monitor=None, events=None, event_list=(), alternates=(), with_independent=None, causes=None)
    return prepare(with_piecewise_inputs(plain, controls, degree))
