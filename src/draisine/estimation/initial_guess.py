"""Initial guesses of the starts of windows: one pass through the data, with an iterated Kalman update in each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.estimation.collocation import CollocationScheme
from draisine.estimation.experiment_data import Recording, initial_state, start_problem
from draisine.estimation.known_starts import ALL, FirstState, known_quantities, tangent_with
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.tangent_coordinates import default_spread, fixed_velocities, usual_size
from draisine.estimation.window_chain import Chain, white
from draisine.estimation.window_layout import WindowLayout
from draisine.estimation.windows import WindowRun, Windows
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]

CORRECTIONS = 3  # of the start of a window, at most
CERTAIN = 1e-3  # of the spread: deviations of a start that is known
SHARES = (1.0, 0.5, 0.25, 0.125)
SMALL = 0.1  # of the spread: after a smaller correction the iteration stops


@dataclass(frozen=True)
class WindowSettings:
    """How experiments are divided into windows, and how these are integrated.

    - `known_start`: whether the start of each experiment is exact (True) or a guess (False); by default what was given is.
    - `states`: names of states or outputs that parametrize starts; the others are chosen.
    - `spread`: by name, how far starts may lie from their initial guesses.
    """

    mesh: Callable[[Recording], tuple[Reals, Reals]]  # edges of windows, and further ends of steps
    stepping: Method | CollocationScheme
    known_start: bool | None = None
    states: tuple[str, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)
    chosen: bool = False  # the integration method is not the user's


def chains_of(problem: EstimationProblem, settings: WindowSettings, theta: Reals, sigmas: Reals) -> tuple[Chain, ...]:
    """Windows with initial guesses of their starts, from one pass through the data."""
    if isinstance(settings.stepping, CollocationScheme):
        settings.stepping.check(problem.equations)
    p, _ = problem.parameters(theta)
    made = []
    for k, recording in enumerate(problem.recordings):
        u, t = recording.first_inputs, recording.begin
        columns = len(problem.unknowns) + k * len(problem.starts) + np.arange(len(problem.starts))
        targets = {**recording.targets, **dict(zip(problem.starts, theta[columns].tolist(), strict=True))}
        _, fitting, x0 = initial_state(start_problem(problem.equations), targets, u, p, t)
        begin = FirstState(fixed_velocities(fitting), recording, x0, p, t)
        known = known_quantities(begin, problem.starts, settings.known_start)
        tangent = tangent_with(begin, problem, settings.states, known)
        mesh, readings = settings.mesh(recording), problem.readings(theta)
        recording = recording.moved(readings.shift)
        layout = WindowLayout.of(recording, *mesh)
        sizes = np.fmax(np.abs(tangent.values(np.array([t]), x0[None], u[None], p)[0]), recording.largest(tangent.names))
        spread = default_spread(tangent.names, sizes, settings.spread)
        stepping = _at_scale(settings, float(sizes.max(initial=0.0)))
        windows = Windows(recording, layout, tangent, stepping, problem.varied, readings, problem.shifting)
        fixed = {*problem.starts, *(tangent.names if known is ALL else known)}
        free = np.array([i for i, name in enumerate(tangent.names) if name not in fixed], dtype=np.intp)
        pairs = [(tangent.names.index(n), c) for n, c in zip(problem.starts, columns, strict=True) if n in tangent.names]
        named, of_named = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        states = _first_pass(windows, x0, p, spread, sigmas, free)
        recorded = recording.samples
        made.append(Chain(windows, spread, states, recorded.values, recorded, free, named, of_named))
    return tuple(made)


def _at_scale(settings: WindowSettings, largest: float) -> Method | CollocationScheme:
    """A default method with an absolute tolerance relative to the largest state where all of them are small."""
    stepping, size = settings.stepping, usual_size(largest)
    if settings.chosen and isinstance(stepping, DOP853 | Radau) and size < 1.0:
        return replace(stepping, atol=float(np.min(stepping.atol)) * size)
    return stepping


def _first_pass(windows: Windows, x0: Reals, p: Reals, spread: Reals, sigmas: Reals, free: Indices) -> Reals:
    """States at the beginnings of windows; of the first, only the `free` deviations are corrected."""
    bare = windows.bare()
    x, states = x0, []
    certain = np.ones(len(spread))
    certain[free] = 0.0
    covariance: Reals = np.diag(np.where(certain > 0.0, CERTAIN * spread, spread) ** 2)
    for i in range(windows.count):
        root: Reals = np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), dtype=float)
        x, window_run = _corrected(bare, i, x, p, spread, root, sigmas, free if i == 0 else np.arange(len(spread)))
        states.append(x)
        _, by = white(window_run, bare, sigmas)
        after = np.linalg.inv(by.T @ by + root.T @ root)
        covariance = window_run.end_by @ after @ window_run.end_by.T + np.diag((0.3 * spread) ** 2)
        if i + 1 < windows.count:
            x = _carried(bare, i, x, p, window_run)
    return np.array(states)


def _corrected(
    windows: Windows, i: int, x: Reals, p: Reals, spread: Reals, root: Reals, sigmas: Reals, free: Indices
) -> tuple[Reals, WindowRun]:
    """The start of window i from its measurements and the prediction x, whose information has the square root `root`.

    An iterated Kalman update of the `free` deviations with a few corrections, each of which takes one run through the window.
    """
    tangent, t, u = windows.tangent, windows.begins[i : i + 1], windows.inputs[i : i + 1]
    predicted = tangent.values(t, x[None], u, p)[0]
    window_run = windows.window_run(i, x, p)
    if window_run is None:
        raise SolverError(
            f"{windows.recording.name}: the window from {windows.begins[i]:g} s does not reach its end; shorten the windows, or "
            "improve the guess of the start and the unknowns"
        )
    for _ in range(CORRECTIONS if len(free) else 0):
        now = tangent.values(t, x[None], u, p)[0]
        r, by = white(window_run, windows, sigmas)
        step, side = np.zeros(len(now)), np.concatenate([r, root @ (now - predicted)])
        step[free] = np.linalg.lstsq(np.vstack([by, root])[:, free], -side, rcond=None)[0]
        if np.abs(step / spread).max() < SMALL:  # its end is extrapolated linearly
            corrected = tangent.settled(t, x[None], u, p, (now + step)[None])
            if corrected is None:
                break
            return corrected[0], replace(window_run, end=window_run.end + window_run.end_by @ step)
        for share in SHARES:  # of the step: a full one may lead away from the data
            corrected = tangent.settled(t, x[None], u, p, (now + share * step)[None])
            again = None if corrected is None else windows.window_run(i, corrected[0], p)
            if corrected is None or again is None:
                continue
            left = np.concatenate([white(again, windows, sigmas)[0], root @ (now + share * step - predicted)])
            if left @ left < side @ side:
                x, window_run = corrected[0], again
                break
        else:
            break
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
