"""First guesses: the start held, a straight way to the end, a simulated motion, a followed path, or an earlier solution."""

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
from draisine.numerics.newton_batch import BatchNewton, Indices, LeastNormSteps
from draisine.optimal.phase import Phase, Values, algebraic_guess
from draisine.optimal.solution import PhaseSolution, Solution
from draisine.results.trajectory import Trajectory

Reals = NDArray[np.float64]

WAVES = 4  # that shake a guess
ONTO = BatchNewton(tolerance=1e-10, max_iterations=12)  # a guess onto the constraints


@dataclass(frozen=True)
class Straight:
    """States on straight lines from the start to a state that the conditions at the end allow.

    `duration` in seconds, by default between the shortest and the longest; `inputs` are constant, zero where not given.
    """

    duration: float | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Held:
    """States as at the start, all the way."""

    duration: float | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PerturbedGuess:
    """Another guess with random waves on states and controls, `amplitude` times their sizes; other seeds give other ones.

    Where the straight way is singular (a board that moves only when it steers and twists at once), and to look for other minima.
    """

    of: Straight | Held | Trajectory | PhaseSolution = field(default_factory=Straight)
    seed: int = 0
    amplitude: float = 0.3


OneGuess: TypeAlias = "Straight | Held | Trajectory | PhaseSolution | PerturbedGuess"
Guess: TypeAlias = "OneGuess | Solution | Sequence[OneGuess]"


def guesses(given: Guess | None, phases: Sequence[Phase], grids: Sequence[Grid]) -> list[Values]:
    """Values for each phase."""
    if given is None:
        each: Sequence[OneGuess] = [Straight()] * len(phases)
    elif isinstance(given, Solution):
        each = given.phases
    elif isinstance(given, list | tuple):
        each = given
    else:
        if len(phases) > 1 and not isinstance(given, Straight | Held | PerturbedGuess):
            raise ArgumentError(f"guess: there are {len(phases)} phases; give one guess for each, as a list")
        each = [given] * len(phases)  # type: ignore[list-item]
    if len(each) != len(phases):
        raise ArgumentError(f"guess: {len(each)} guesses for {len(phases)} phases")
    made: list[Values] = []
    for one, phase, grid in zip(each, phases, grids, strict=True):
        begin = made[-1].begin + made[-1].duration if made else 0.0
        made.append(_values(one, phase, grid, begin))
    return made


def _values(given: OneGuess, phase: Phase, grid: Grid, begin: float) -> Values:
    if isinstance(given, PhaseSolution):
        return _earlier(given, phase, grid, begin)
    if isinstance(given, PerturbedGuess):
        return _shaken(given, _values(given.of, phase, grid, begin), phase, grid)
    if isinstance(given, Trajectory):
        duration = float(np.clip(given.time[-1] - given.time[0], *phase.times))
        states, controls = _sampled(given, phase, grid.points), _inputs(given, phase, grid.control_times)
    else:
        duration = float(np.clip(phase.duration if given.duration is None else given.duration, *phase.times))
        end = phase.end if isinstance(given, Straight) else phase.start
        states = phase.start + grid.points[:, None] * (end - phase.start)
        states = moving(phase, begin + duration * grid.points, admissible(phase, begin + duration * grid.points, states))
        controls = np.tile(_constant(given.inputs, phase), (len(grid.control_times), 1))
    states = admissible(phase, begin + duration * grid.points, states)
    at = states[grid.node_point]
    algebraic = _algebraic(phase, begin + duration * grid.nodes, at, controls[grid.node_control])
    return Values(begin, duration, states[:, phase.kept_indices], algebraic, controls)


def _shaken(given: PerturbedGuess, v: Values, phase: Phase, grid: Grid) -> Values:
    rng = np.random.default_rng(given.seed)

    def waves(values: Reals, names: Sequence[str], tau: Reals) -> Reals:
        sizes = [max(abs(s) if np.isfinite(s) else 0.0 for s in phase.limits.get(name, (0.0, 0.0))) for name in names]
        size = np.maximum(np.abs(values).max(axis=0, initial=0.0), np.minimum(sizes, 1e3))
        shape = np.sin(np.pi * np.arange(1, WAVES + 1) * tau[:, None]) @ rng.normal(size=(WAVES, len(names)))
        return values + given.amplitude * np.where(size > 1e-6, size, 1.0) * shape / np.sqrt(WAVES)

    states = waves(v.states, phase.kept, grid.points)
    controls = waves(v.controls, phase.controls, grid.control_times)
    duration = float(np.clip(v.duration * np.exp(given.amplitude * rng.normal()), *phase.times))
    return Values(v.begin, duration, states, v.algebraic, controls)


def _earlier(given: PhaseSolution, phase: Phase, grid: Grid, begin: float) -> Values:
    """On another mesh, or of a phase that keeps other states."""
    kept, _ = given.grid.states_at(grid.points, given.states, given.rates)
    known = {name: kept[:, i] for i, name in enumerate(given.phase.kept)}
    states = phase.start + grid.points[:, None] * (phase.end - phase.start)
    for i, name in enumerate(phase.vocabulary.state_names):
        if name in known:
            states[:, i] = known[name]
    old = given.grid.controls_at(grid.control_times, given.controls)
    controls = np.zeros((len(grid.control_times), len(phase.controls)))
    for i, name in enumerate(phase.controls):
        if name in given.phase.controls:
            low, high = phase.limits.get(name, (-np.inf, np.inf))
            controls[:, i] = np.clip(old[:, given.phase.controls.index(name)], low, high)
    if given.algebraic.shape[1] == phase.algebraic_size and len(given.algebraic):
        k, s = given.grid.place(grid.nodes)
        near = given.grid.node_of[k, np.abs(s[:, None] - given.grid.node_local).argmin(axis=1)]
        algebraic = given.algebraic[near]
    else:
        algebraic = _algebraic(phase, begin + given.duration * grid.nodes, states[grid.node_point], controls[grid.node_control])
    duration = float(np.clip(given.duration, *phase.times))
    return Values(begin, duration, states[:, phase.kept_indices], algebraic, controls)


def admissible(phase: Phase, t: Reals, y: Reals) -> Reals:
    """The nearest states that keep the constraints, by steps of least change at all points at once."""
    v = phase.vocabulary
    residuals = v.plant.residuals
    if not residuals.numel() or ca.depends_on(residuals, ca.vertcat(v.z, v.plant.inputs)):
        return y
    rows = ca.horzcat(residuals, ca.jacobian(residuals, v.y))
    inputs = [v.plant.t, v.y, v.plant.p]
    function = ca.Function("constraints", inputs, [ca.densify(rows)]).map(len(t))

    def evaluate(moved: Reals, places: Indices) -> tuple[Reals, Reals]:
        reported = np.asarray(function(t[None], moved.T, np.tile(phase.p[:, None], (1, len(t)))).full())
        reported = reported.reshape(residuals.numel(), len(t), -1).transpose(1, 0, 2)[places]
        return reported[:, :, 0], reported[:, :, 1:]

    found = ONTO.solve(evaluate, y, LeastNormSteps(1e-8))
    return found.x if np.isfinite(found.residual).all() else y


def moving(phase: Phase, t: Reals, y: Reals) -> Reals:
    """The same coordinates with velocities that make them change as they do, as nearly as they can; of least change."""
    v, e = phase.vocabulary, phase.equations
    first, second = len(e.coordinates), len(e.coordinates) + len(e.independent)
    places = [i for i in phase.kept_indices if i < first]
    rates = stacked([v.rates[i] for i in places])
    if phase.implicit or not places or second == first or ca.depends_on(rates, ca.vertcat(v.z, v.plant.inputs)):
        return y
    rows = ca.horzcat(rates, ca.jacobian(rates, v.y[first:second]))
    function = ca.Function("moving", [v.plant.t, v.y, v.plant.p], [ca.densify(rows)]).map(len(t))
    reported = np.asarray(function(t[None], y.T, np.tile(phase.p[:, None], (1, len(t)))).full())
    reported = reported.reshape(len(places), len(t), -1).transpose(1, 0, 2)
    missing = np.gradient(y[:, places], t, axis=0)[..., None] - reported[:, :, :1]
    if not np.isfinite(reported).all():
        return y
    moved = y.copy()
    moved[:, first:second] += (np.linalg.pinv(reported[:, :, 1:], rcond=1e-3) @ missing)[..., 0]
    return moved


def _sampled(run: Trajectory, phase: Phase, tau: Reals) -> Reals:
    """All states along a run, on straight lines between its samples."""
    return np.column_stack([_channel(run, name, tau) for name in phase.vocabulary.state_names])


def channel_of(run: Trajectory, name: str) -> Reals:
    """A state or input of a run, also where another quantity bears its name."""
    for word in (name, f"coordinates.{name}", f"velocities.{name}", f"inputs.{name}"):
        if word in run:
            return run[word]
    raise ArgumentError(f"the run of {run.model!r} has no {name!r}{did_you_mean(name, run.names())}")


def _channel(run: Trajectory, name: str, tau: Reals) -> Reals:
    place = (run.time - run.time[0]) / (run.time[-1] - run.time[0])
    return np.interp(tau, place, channel_of(run, name))


def _inputs(run: Trajectory, phase: Phase, tau: Reals) -> Reals:
    if not phase.controls:
        return np.zeros((len(tau), 0))
    return np.column_stack([_channel(run, name, tau) for name in phase.controls])


def _constant(given: Mapping[str, float], phase: Phase) -> Reals:
    for name in given:
        if name not in phase.controls:
            raise ArgumentError(f"guess: {name!r} is not among the controls{did_you_mean(name, phase.controls)}")
    sides = [phase.limits.get(name, (-np.inf, np.inf)) for name in phase.controls]
    return np.array([np.clip(given.get(n, 0.0), *pair) for n, pair in zip(phase.controls, sides, strict=True)])


def _algebraic(phase: Phase, t: Reals, y: Reals, controls: Reals) -> Reals:
    v, inputs = phase.vocabulary, np.tile(phase.inputs, (len(t), 1))
    names = [q.name for q in phase.equations.inputs]
    inputs[:, [names.index(name) for name in phase.controls]] = controls
    x = np.zeros((len(t), len(phase.equations.states)))
    x[:, v.state_places] = y
    return algebraic_guess(v, t, x, inputs, phase.p)
