"""Verification of solutions: the optimal control is simulated with the adaptive integrator and compared with the nodes.

Controls are polynomials in each interval; no integration step crosses a discontinuity (`program.piecewise_inputs`). An unstable
motion is simulated in windows, each from the nodes at its beginning (`stable_windows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.restricted.entry import begin_all
from draisine.numerics.direct_methods import Grid
from draisine.numerics.matrix_exponential import matrix_exponentials
from draisine.numerics.parallel import in_background
from draisine.numerics.runge_kutta import monomial_coefficients
from draisine.optimal.node_functions import CompiledCluster
from draisine.optimal.phase import Phase
from draisine.optimal.scaling import LEAST_SIZE
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.program.program import DaeResidual, Program
from draisine.results.assembly import Piece, assemble
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Statistics, Trajectory
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.initial.solver import SOLVER
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.run import Run, Segment, integrate
from draisine.simulation.stepper.memory import stepping_entry
from draisine.simulation.trajectory_from_run import report_segment

if TYPE_CHECKING:
    from draisine.optimal.mode_verification import AcrossModes

Reals = NDArray[np.float64]

ACCURACY = 1e-10
SAMPLES = 300  # about, of a phase
GROWTH = 1e3  # of deviations, above which a motion is simulated in windows: errors of 1e-10 stay below 1e-6
MOST_EXPONENT = 300.0
LEAST_INSIDE, PER_NODE = 4, 3  # samples of an interval, at least: bounds are checked between the nodes too


@dataclass(frozen=True, eq=False)
class Samples:
    """A simulated phase at many times, at mesh points with the values of both intervals."""

    times: Reals
    states: Reals  # (samples, states)
    inputs: Reals  # (samples, inputs)
    intervals: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Simulated:
    """A phase simulated from its start with the optimal control."""

    phase: Phase
    p: Reals  # all parameters
    final: Reals  # all states of the equations at the end
    breaks: Reals  # (intervals + 1, states) at mesh points, at the end of the interval before; NaN where the run ended earlier
    status: Status
    statistics: Statistics
    samples: Samples
    every: int  # one of so many samples is reported
    jumps: bool  # whether controls do, at mesh points
    windows: tuple[int, ...] = (0,)  # intervals at which the simulation starts from the nodes
    across: AcrossModes | None = None  # the same with contacts that change their modes by themselves

    @cached_property
    def piece(self) -> Piece:
        """All reported quantities, evaluated when they are first needed: a verdict needs few of them."""
        return _reported(self.phase, self.samples, self.every, self.jumps, self.p)


def simulate_phase(
    phase: Phase,
    grid: Grid,
    begin: float,
    duration: float,
    x: Reals,
    controls: Reals,
    p: Reals,
    restarts: Mapping[int, Reals] | None = None,
) -> Simulated:
    """Simulate from the state x; controls are values at the grid's control points; `restarts` gives kept states by interval."""
    driven = Driven.of(grid, begin, duration, controls)
    choices = prepared_with_controls(phase.equations, phase.controls, driven.degree)
    method = (
        None
        if isinstance(phase.equations.dynamics, DaeResidual)
        else DOP853(rtol=ACCURACY, atol=ACCURACY * phase.sizes.smallest_state)
    )
    kept = [phase.symbols.state_indices[i] for i in phase.kept_indices]
    restarts = restarts or {}
    marks = choices.compiled(choices.root.choice).time_marks
    if marks is not None and method is not None:
        given_inputs = np.array([given for _, given in driven.intervals(phase)])
        marks.foresee(np.column_stack([driven.edges[:-1], driven.edges[1:]]), given_inputs, p, method)
    runs: list[Run] = []
    states, breaks = x, np.full((len(driven.edges), len(x)), np.nan)
    breaks[0] = x
    for k, (times, given) in enumerate(driven.intervals(phase)):
        if k in restarts:
            states = states.copy()
            states[kept] = restarts[k]
        run = integrate(
            choices, states, float(times[-1]), start=float(times[0]), parameters=p, inputs=given, method=method, samples=times
        )
        runs.append(run)
        if run.status.kind is not Ending.FINISHED:
            break
        states = breaks[k + 1] = run.final_state
    samples = _samples(phase, runs, driven)
    count = Statistics(*(sum(getattr(r, n) for r in runs) for n in ("evaluations", "accepted", "rejected")))
    jumps = len(grid.control_local) == 1
    return Simulated(phase, p, runs[-1].final_state, breaks, runs[-1].status, count, samples, driven.every, jumps, (0, *restarts))


class Driven(NamedTuple):
    """Controls of a phase as polynomials in the position within each interval, and the samples of an interval."""

    coefficients: Reals  # (intervals, powers, controls)
    edges: Reals  # (intervals + 1), times
    inside: int  # samples of an interval, without the first
    every: int  # one of so many is reported

    @staticmethod
    def of(grid: Grid, begin: float, duration: float, controls: Reals) -> Driven:
        """From values at the grid's control points."""
        powers = monomial_coefficients(grid.control_local)
        edges = begin + duration * grid.breaks
        shown = max(1, round(SAMPLES / (len(edges) - 1)))
        inside = shown * -(-max(LEAST_INSIDE, PER_NODE * len(grid.node_local)) // shown)
        return Driven(np.einsum("cj,kjn->kcn", powers, controls[grid.control_of]), edges, inside, inside // shown)

    @property
    def degree(self) -> int:
        return int(self.coefficients.shape[1]) - 1

    def intervals(self, phase: Phase) -> Iterator[tuple[Reals, Reals]]:
        """Sample times and inputs (`with_piecewise_inputs`) of each interval."""
        kept = [i for i, q in enumerate(phase.equations.inputs) if q.name not in phase.controls]
        for k, (begin, end) in enumerate(pairwise(self.edges)):
            given = np.concatenate([phase.inputs[kept], self.coefficients[k].T.ravel(), [begin, end - begin]])
            yield np.linspace(begin, end, self.inside + 1), given

    def inputs_at(self, phase: Phase, k: int, times: Reals) -> Reals:
        """(times, inputs) in interval k."""
        names = [q.name for q in phase.equations.inputs]
        s = (times - self.edges[k]) / (self.edges[k + 1] - self.edges[k])
        u = np.tile(phase.inputs, (len(s), 1))
        u[:, [names.index(name) for name in phase.controls]] = (
            np.vander(s, self.coefficients.shape[1], increasing=True) @ self.coefficients[k]
        )
        return u


def _samples(phase: Phase, runs: list[Run], driven: Driven) -> Samples:
    """All samples of the runs, with both values at a mesh point."""
    inputs = [driven.inputs_at(phase, k, run.times) for k, run in enumerate(runs)]
    counts = [len(run.times) for run in runs]
    times, states = np.concatenate([r.times for r in runs]), np.concatenate([r.states for r in runs])
    return Samples(times, states, np.concatenate(inputs), np.repeat(np.arange(len(runs)), counts))


def _reported(phase: Phase, samples: Samples, every: int, jumps: bool, p: Reals) -> Piece:
    """All reported quantities at one of `every` samples; where controls jump, both values are reported."""
    first = np.searchsorted(samples.intervals, samples.intervals)  # of the sample's interval
    number = np.arange(len(samples.times)) - first
    shown = number % every == 0
    shown[-1] = True
    if not jumps:
        shown &= (number > 0) | (samples.intervals == 0)
    t = samples.times[shown]
    return report_segment(Segment(phase.equations, t, samples.states[shown], samples.inputs[shown], t), p)


def trajectory(
    simulated: list[Simulated],
    phases: list[Phase],
    status: Status,
    parameters: dict[str, float],
    notes: list[str],
    pieces: Sequence[Piece] | None = None,
) -> Trajectory:
    """One trajectory of all phases of one model; `pieces` are those of a run across modes."""
    names = ("evaluations", "accepted", "rejected")
    count = Statistics(*(sum(getattr(s.statistics, n) for s in simulated) for n in names))
    return assemble(
        phases[0].equations.name,
        [s.piece for s in simulated] if pieces is None else pieces,
        status=status,
        statistics=count,
        parameters=parameters,
        scene={"start": "optimal control", "notes": notes},
    )


# -------------------------------------------------------------------------------------------------------- unstable motions


def transition_matrices(phase: Phase, grid: Grid, local: Reals) -> Reals:
    """(intervals, states, states): growth of deviations of the kept states over each interval, relative to their sizes.

    `local` are the arguments of `phase.node` at the nodes. The mean of the Jacobian over an interval is used: the order of
    magnitude of the growth is what counts.
    """
    nx, nz = len(phase.kept), phase.algebraic_size
    cluster = CompiledCluster(phase.node, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(grid.nodes))
    row, column = cluster.jacobian_indices
    dense = np.zeros((len(local), cluster.width, local.shape[1]))
    dense[:, row, column] = cluster.jacobian(local)
    matrix = dense[:, :nx, :nx]
    if nz:  # ẏ = f(y, z) with 0 = g(y, z)
        inner = np.linalg.pinv(dense[:, nx : nx + nz, nx : nx + nz])
        matrix = matrix - dense[:, :nx, nx : nx + nz] @ inner @ dense[:, nx : nx + nz, :nx]
    size = np.maximum(np.abs(local[:, :nx]).max(axis=0, initial=0.0), LEAST_SIZE * phase.sizes.states)
    matrix = matrix * size / size[:, None]
    lengths = np.diff(grid.breaks)[:, None, None]
    means = matrix[grid.node_of].mean(axis=1) * lengths
    norms = np.abs(means).sum(axis=2).max(axis=1, initial=0.0)  # nothing may depend on any state
    return matrix_exponentials(means * np.minimum(1.0, MOST_EXPONENT / np.maximum(norms, 1e-300))[:, None, None])


def stable_windows(transitions: Reals) -> tuple[list[int], float]:
    """First intervals of windows in which no deviation grows by more than `GROWTH`, and the growth over the whole span."""
    starts, worst = [0], 1.0
    inside = np.zeros((0, *transitions.shape[1:]))
    for k, transition in enumerate(transitions):
        inside = np.concatenate([transition @ inside, transition[None]])
        growth = float(np.abs(inside).sum(axis=2).max(initial=0.0))
        if growth > GROWTH and k > starts[-1]:
            worst *= growth
            starts.append(k)
            inside = transition[None]
    return starts, worst


# -------------------------------------------------------------------------------------------------------- driven equations


def begin_loop(equations: Equations) -> None:
    """Have another process compile the stepping loop, if this machine has not got it: it is ready before the search ends. The
    start solver follows, for later processes."""
    implicit = isinstance(equations.dynamics, DaeResidual)
    loop = stepping_entry(implicit, equations.can_switch or bool(equations.unilateral), bool(equations.unilateral))
    begin_all((loop, SOLVER))


def prepare_simulation(phase: Phase, grid: Grid) -> None:
    """Begin to compile what `simulate_phase` needs, in another thread, while this one searches for the optimum."""
    _preparation(phase.equations, phase.controls, len(grid.control_local) - 1)


def prepared_with_controls(equations: Equations, controls: tuple[str, ...], degree: int) -> VelocityChoices:
    """Compiled equations without events and without changes of velocity coordinates."""
    return _preparation(equations, controls, degree).result()


@lru_cache(maxsize=32)
def _preparation(equations: Equations, controls: tuple[str, ...], degree: int) -> Future[VelocityChoices]:
    """What `prepared_with_controls` returns, when it is ready.

    Symbols of CasADi are left to this thread, since not every build of it allows several: programs are made here and read as
    tapes, from which the other thread generates code. What needs symbols later, equations that switch, are implicit or have
    contacts, is compiled here.
    """
    plain = replace(equations, monitor=None, events=None, event_list=(), alternates=(), with_independent=None, causes=None)
    driven = with_piecewise_inputs(plain, controls, degree)
    if driven.can_switch or driven.unilateral or isinstance(driven.dynamics, DaeResidual):
        made = Future[VelocityChoices]()
        made.set_result(prepare(driven, quick=True))
        return made
    for program in (driven.dynamics, driven.project):
        for part in _programs(program):
            _ = part.tape, part.digest
    return in_background("verification", lambda: prepare(driven, quick=True))


def _programs(what: Program | LinearSolveProgram | DaeResidual | None) -> list[Program]:
    if isinstance(what, LinearSolveProgram):
        return [part for part in (what.start, what.system, what.further, what.after) if part is not None]
    return [what] if isinstance(what, Program) else []
