"""Initial guesses of the starts of windows: one pass through the data, with an iterated Kalman update in each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.estimation.collocation import CollocationScheme
from draisine.estimation.experiment_data import Recording, initial_state, start_problem
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.tangent_coordinates import default_spread, fixed_velocities, tangent_at
from draisine.estimation.window_chain import Chain, white
from draisine.estimation.window_layout import WindowLayout
from draisine.estimation.windows import WindowRun, Windows
from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]

CORRECTIONS = 3  # of the start of a window, at most
SMALL = 0.1  # of the spread: after a smaller correction the iteration stops


@dataclass(frozen=True)
class WindowSettings:
    """How experiments are divided into windows, and how these are integrated.

    - `known_start`: whether the start of each experiment is exact; otherwise it is an initial guess.
    - `states`: names of states or outputs that parametrize starts; the others are chosen.
    - `spread`: by name, how far starts may lie from their initial guesses.
    """

    mesh: Callable[[Recording], tuple[Reals, Reals]]  # edges of windows, and further ends of steps
    stepping: Method | CollocationScheme
    known_start: bool = False
    states: tuple[str, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)


def chains_of(problem: EstimationProblem, settings: WindowSettings, theta: Reals, sigmas: Reals) -> tuple[Chain, ...]:
    """Windows with initial guesses of their starts, from one pass through the data."""
    if problem.starts:
        raise ArgumentError(
            "unknown: windows and collocation estimate the start of every experiment; remove "
            f"{', '.join(f'start.{s}' for s in problem.starts)}"
        )
    if isinstance(settings.stepping, CollocationScheme):
        settings.stepping.check(problem.equations)
    p, _ = problem.parameters(theta)
    made = []
    for recording in problem.recordings:
        u = recording.inputs_at(np.zeros(1))[0]
        _, fitting, x0 = initial_state(start_problem(problem.equations), recording.targets, u, p)
        steady = fixed_velocities(fitting)
        tangent = tangent_at(steady, x0, u, p, problem.quantities, problem.varied, settings.states, recording.controls)
        windows = Windows(
            recording, WindowLayout.of(recording, *settings.mesh(recording)), tangent, settings.stepping, problem.varied
        )
        spread = default_spread(tangent.names, tangent.values(np.zeros(1), x0[None], u[None], p)[0], settings.spread)
        made.append(_first_pass(windows, x0, p, spread, sigmas, settings.known_start))
    return tuple(made)


def _first_pass(windows: Windows, x0: Reals, p: Reals, spread: Reals, sigmas: Reals, known: bool) -> Chain:
    bare, recorded = windows.bare(), windows.recording.samples
    x, states = x0, []
    covariance = np.diag(spread**2)
    for i in range(windows.count):
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        x, window_run = _corrected(bare, i, x, p, spread, root, sigmas, 0 if known and i == 0 else CORRECTIONS)
        states.append(x)
        _, by = white(window_run, bare, sigmas)
        after = np.linalg.inv(by.T @ by + root.T @ root) * (1e-6 if known and i == 0 else 1.0)
        covariance = window_run.end_by @ after @ window_run.end_by.T + np.diag((0.3 * spread) ** 2)
        if i + 1 < windows.count:
            x = _carried(bare, i, x, p, window_run)
    return Chain(windows, spread, np.array(states), recorded.values, recorded, known)


def _corrected(
    windows: Windows, i: int, x: Reals, p: Reals, spread: Reals, root: Reals, sigmas: Reals, corrections: int
) -> tuple[Reals, WindowRun]:
    """The start of window i from its measurements and the prediction x, whose information has the square root `root`.

    An iterated Kalman update with a few corrections, each of which takes one run through the window.
    """
    tangent, t, u = windows.tangent, windows.begins[i : i + 1], windows.inputs[i : i + 1]
    predicted = tangent.values(t, x[None], u, p)[0]
    window_run = windows.window_run(i, x, p)
    if window_run is None:
        raise SolverError(
            f"{windows.recording.name}: the window from {windows.begins[i]:g} s does not reach its end; shorten the windows, or "
            "improve the guess of the start and the unknowns"
        )
    for _ in range(corrections):
        now = tangent.values(t, x[None], u, p)[0]
        r, by = white(window_run, windows, sigmas)
        step = np.linalg.lstsq(np.vstack([by, root]), -np.concatenate([r, root @ (now - predicted)]), rcond=None)[0]
        corrected = tangent.settled(t, x[None], u, p, (now + step)[None])
        if corrected is None:
            break
        if np.abs(step / spread).max() < SMALL:  # its end is extrapolated linearly
            return corrected[0], replace(window_run, end=window_run.end + window_run.end_by @ step)
        again = windows.window_run(i, corrected[0], p)
        if again is None:
            break
        x, window_run = corrected[0], again
    return x, window_run


def _carried(windows: Windows, i: int, x: Reals, p: Reals, window_run: WindowRun) -> Reals:
    """The state at the end of a window: that of its start with the relevant ζ replaced."""
    t, u = windows.begins[i + 1 : i + 2], windows.inputs[i + 1 : i + 2]
    found = windows.tangent.settled(t, x[None], u, p, window_run.end[None])
    if found is None:
        raise SolverError(
            f"{windows.recording.name}: no state satisfies the constraints at {windows.begins[i + 1]:g} s; shorten the windows"
        )
    return np.asarray(found[0])
