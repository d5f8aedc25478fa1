"""Initial guesses: constant states, linear interpolation to the end, a trajectory, an earlier solution, random perturbations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.errors import ArgumentError
from draisine.expr.expression import did_you_mean
from draisine.numerics.direct_methods import Grid
from draisine.numerics.newton_batch import BatchNewton, LeastNormSteps
from draisine.numerics.number_range import with_number_range
from draisine.optimal.phase import Phase, PhaseValues, algebraic_guess
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.optimal.stated_numbers import checked_number, stated_number, stated_seconds, units_of
from draisine.results.trajectory import Trajectory

__all__ = ["ConstantGuess", "LinearGuess", "PerturbedGuess"]

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

WAVES = 4  # sine waves in a perturbation
PROJECTION = BatchNewton(tolerance=1e-10, max_iterations=12)  # of a guess onto the constraints


@with_number_range
@dataclass(frozen=True)
class LinearGuess:
    """States by linear interpolation from the start to a state that satisfies the conditions at the end.

    `duration` in seconds, by default between the shortest and the longest; `inputs` are constant, zero if not given.
    """

    duration: float | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)


@with_number_range
@dataclass(frozen=True)
class ConstantGuess:
    """Constant states, equal to the start."""

    duration: float | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)


@with_number_range
@dataclass(frozen=True)
class PerturbedGuess:
    """Another guess plus random sine waves on states and controls, of `amplitude` times their sizes; reproducible by `seed`.

    Useful where the linear guess is singular (a snakeboard moves only when it steers and twists together), and to find other
    local minima.
    """

    of: LinearGuess | ConstantGuess | Trajectory | PhaseSolution = field(default_factory=LinearGuess)
    seed: int = 0
    amplitude: float = 0.3


OneGuess: TypeAlias = "LinearGuess | ConstantGuess | Trajectory | PhaseSolution | PerturbedGuess"
Guess: TypeAlias = "OneGuess | Solution | Sequence[OneGuess]"


def guesses(given: Guess | None, phases: Sequence[Phase], grids: Sequence[Grid]) -> list[PhaseValues]:
    """Initial values for each phase."""
    if given is None:
        each: Sequence[OneGuess] = [LinearGuess()] * len(phases)
    elif isinstance(given, Solution):
        each = given.phases
    elif isinstance(given, list | tuple):
        each = given
    else:
        if len(phases) > 1 and not isinstance(given, LinearGuess | ConstantGuess | PerturbedGuess):
            raise ArgumentError(f"guess: there are {len(phases)} phases; give a list with one guess for each")
        each = [given] * len(phases)  # type: ignore[list-item]
    if len(each) != len(phases):
        raise ArgumentError(f"guess: {len(each)} guesses for {len(phases)} phases")
    made: list[PhaseValues] = []
    for one, phase, grid in zip(each, phases, grids, strict=True):
        begin = made[-1].begin + made[-1].duration if made else 0.0
        made.append(_values(one, phase, grid, begin))
    return made


def _values(given: OneGuess, phase: Phase, grid: Grid, begin: float) -> PhaseValues:
    if isinstance(given, PhaseSolution):
        return _from_solution(given, phase, grid, begin)
    if isinstance(given, PerturbedGuess):
        return _perturbed(given, _values(given.of, phase, grid, begin), phase, grid)
    if isinstance(given, Trajectory):
        duration = float(np.clip(given.time[-1] - given.time[0], *phase.times))
        states, controls = _sampled(given, phase, grid.points), _inputs(given, phase, grid.control_times)
    else:
        length = phase.duration if given.duration is None else stated_seconds(given.duration, "guess: duration")
        duration = float(np.clip(length, *phase.times))
        end = phase.end if isinstance(given, LinearGuess) else phase.start
        states = phase.start + grid.points[:, None] * (end - phase.start)
        states = with_consistent_velocities(
            phase, begin + duration * grid.points, project_onto_constraints(phase, begin + duration * grid.points, states)
        )
        controls = np.tile(_constant(given.inputs, phase), (len(grid.control_times), 1))
    states = project_onto_constraints(phase, begin + duration * grid.points, states)
    at = states[grid.node_point]
    algebraic = _algebraic(phase, begin + duration * grid.nodes, at, controls[grid.node_control])
    return PhaseValues(begin, duration, states[:, phase.kept_indices], algebraic, controls)


def _perturbed(given: PerturbedGuess, v: PhaseValues, phase: Phase, grid: Grid) -> PhaseValues:
    rng = np.random.default_rng(given.seed)

    def waves(values: Reals, names: Sequence[str], tau: Reals, least: Reals) -> Reals:
        sizes = [max(abs(s) if np.isfinite(s) else 0.0 for s in phase.limits.get(name, (0.0, 0.0))) for name in names]
        size = np.maximum(np.abs(values).max(axis=0, initial=0.0), np.minimum(sizes, 1e3))
        shape = np.sin(np.pi * np.arange(1, WAVES + 1) * tau[:, None]) @ rng.normal(size=(WAVES, len(names)))
        return values + given.amplitude * np.where(size > 1e-6 * least, size, least) * shape / np.sqrt(WAVES)

    states = waves(v.states, phase.kept, grid.points, phase.sizes.states)
    controls = waves(v.controls, phase.controls, grid.control_times, phase.sizes.controls)
    duration = float(np.clip(v.duration * np.exp(given.amplitude * rng.normal()), *phase.times))
    return PhaseValues(v.begin, duration, states, v.algebraic, controls)


def _from_solution(given: PhaseSolution, phase: Phase, grid: Grid, begin: float) -> PhaseValues:
    """Values from an earlier solution, on another mesh or with other kept states."""
    kept, _ = given.grid.states_at(grid.points, given.states, given.rates)
    known = {name: kept[:, i] for i, name in enumerate(given.phase.kept)}
    states = phase.start + grid.points[:, None] * (phase.end - phase.start)
    for i, name in enumerate(phase.symbols.state_names):
        if name in known:
            states[:, i] = known[name]
    old = given.grid.controls_at(grid.control_times, given.controls)
    controls = np.zeros((len(grid.control_times), len(phase.controls)))
    for i, name in enumerate(phase.controls):
        if name in given.phase.controls:
            low, high = phase.limits.get(name, (-np.inf, np.inf))
            controls[:, i] = np.clip(old[:, given.phase.controls.index(name)], low, high)
    if given.algebraic.shape[1] == phase.algebraic_size and len(given.algebraic):
        k, s = given.grid.locate(grid.nodes)
        near = given.grid.node_of[k, np.abs(s[:, None] - given.grid.node_local).argmin(axis=1)]
        algebraic = given.algebraic[near]
    else:
        algebraic = _algebraic(phase, begin + given.duration * grid.nodes, states[grid.node_point], controls[grid.node_control])
    duration = float(np.clip(given.duration, *phase.times))
    return PhaseValues(begin, duration, states[:, phase.kept_indices], algebraic, controls)


def project_onto_constraints(phase: Phase, t: Reals, y: Reals) -> Reals:
    """States projected onto the constraints by least-norm Newton steps, at all points at once."""
    v = phase.symbols
    residuals = v.plant.residuals
    if not residuals.numel() or ca.depends_on(residuals, ca.vertcat(v.z, v.plant.inputs)):
        return y
    rows = ca.horzcat(residuals, ca.jacobian(residuals, v.y))
    inputs = [v.plant.t, v.y, v.plant.p]
    function = ca.Function("constraints", inputs, [ca.densify(rows)]).map(len(t))

    def evaluate(moved: Reals, indices: Indices) -> tuple[Reals, Reals]:
        reported = np.asarray(function(t[None], moved.T, np.tile(phase.p[:, None], (1, len(t)))).full())
        reported = reported.reshape(residuals.numel(), len(t), -1).transpose(1, 0, 2)[indices]
        return reported[:, :, 0], reported[:, :, 1:]

    found = PROJECTION.solve(evaluate, y, LeastNormSteps(1e-8))
    return found.x if np.isfinite(found.residual).all() else y


def with_consistent_velocities(phase: Phase, t: Reals, y: Reals) -> Reals:
    """The same coordinates with velocities that match their rates of change in the least-squares sense, of least change."""
    v, e = phase.symbols, phase.equations
    first, second = len(e.coordinates), len(e.coordinates) + len(e.independent)
    indices = [i for i in phase.kept_indices if i < first]
    rates = stacked([v.rates[i] for i in indices])
    if phase.implicit or not indices or second == first or ca.depends_on(rates, ca.vertcat(v.z, v.plant.inputs)):
        return y
    rows = ca.horzcat(rates, ca.jacobian(rates, v.y[first:second]))
    function = ca.Function("moving", [v.plant.t, v.y, v.plant.p], [ca.densify(rows)]).map(len(t))
    reported = np.asarray(function(t[None], y.T, np.tile(phase.p[:, None], (1, len(t)))).full())
    reported = reported.reshape(len(indices), len(t), -1).transpose(1, 0, 2)
    missing = np.gradient(y[:, indices], t, axis=0)[..., None] - reported[:, :, :1]
    if not np.isfinite(reported).all():
        return y
    moved = y.copy()
    moved[:, first:second] += (np.linalg.pinv(reported[:, :, 1:], rcond=1e-3) @ missing)[..., 0]
    return moved


def _sampled(run: Trajectory, phase: Phase, tau: Reals) -> Reals:
    """All states along a run, by linear interpolation between its samples."""
    return np.column_stack([_channel(run, name, tau) for name in phase.symbols.state_names])


def channel_of(run: Trajectory, name: str) -> Reals:
    """A state or input of a run, also where another quantity has the same name."""
    for key in (name, f"coordinates.{name}", f"velocities.{name}", f"inputs.{name}"):
        if key in run:
            return run[key]
    raise ArgumentError(f"the run of {run.model!r} has no {name!r}{did_you_mean(name, run.names())}")


def _channel(run: Trajectory, name: str, tau: Reals) -> Reals:
    locate = (run.time - run.time[0]) / (run.time[-1] - run.time[0])
    return np.interp(tau, locate, channel_of(run, name))


def _inputs(run: Trajectory, phase: Phase, tau: Reals) -> Reals:
    if not phase.controls:
        return np.zeros((len(tau), 0))
    return np.column_stack([_channel(run, name, tau) for name in phase.controls])


def _constant(given: Mapping[str, float], phase: Phase) -> Reals:
    for name in given:
        if name not in phase.controls:
            raise ArgumentError(f"guess: {name!r} is not among the controls{did_you_mean(name, phase.controls)}")
    sides = [phase.limits.get(name, (-np.inf, np.inf)) for name in phase.controls]
    units = units_of(phase.equations)
    known = {n: checked_number(stated_number(v, f"guess: {n!r}"), units[n], f"guess: {n!r}") for n, v in given.items()}
    return np.array([np.clip(known.get(n, 0.0), *pair) for n, pair in zip(phase.controls, sides, strict=True)])


def _algebraic(phase: Phase, t: Reals, y: Reals, controls: Reals) -> Reals:
    v, inputs = phase.symbols, np.tile(phase.inputs, (len(t), 1))
    names = [q.name for q in phase.equations.inputs]
    inputs[:, [names.index(name) for name in phase.controls]] = controls
    x = np.zeros((len(t), len(phase.equations.states)))
    x[:, v.state_indices] = y
    return algebraic_guess(v, t, x, inputs, phase.p)
