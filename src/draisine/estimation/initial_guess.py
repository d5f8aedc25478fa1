"""First starts of windows: a pass through the data that corrects the start of each by what is measured in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.estimation.collocation import Elements
from draisine.estimation.experiment_data import Recording, begun, start_problem
from draisine.estimation.problem import Posed
from draisine.estimation.tangent_coordinates import spread_of, steady_choice, tangent_at
from draisine.estimation.window_chain import Chain, white
from draisine.estimation.window_layout import Layout
from draisine.estimation.windows import Passage, Windows
from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]

CORRECTIONS = 3  # of the first start of a window, at most
SMALL = 0.1  # of the spread: a correction after which there is no other


@dataclass(frozen=True)
class Cut:
    """How experiments are cut into windows, and how these are run.

    - `known_start`: whether the start of each experiment is as given; else it is a first guess.
    - `states`: names of states or outputs by which starts shall be told; the others are chosen.
    - `spread`: by name, how far starts may lie from first guesses.
    """

    mesh: Callable[[Recording], tuple[Reals, Reals]]  # edges of windows, and where else steps end
    stepping: Method | Elements
    known_start: bool = False
    states: tuple[str, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)


def chains_of(posed: Posed, cut: Cut, theta: Reals, sigmas: Reals) -> tuple[Chain, ...]:
    """Windows with first starts, from a pass that corrects the start of each window by what is measured in it."""
    if posed.starts:
        raise ArgumentError(
            "unknown: with windows or collocation the start of every experiment is found anyway; leave "
            f"{', '.join(f'start.{s}' for s in posed.starts)} out"
        )
    if isinstance(cut.stepping, Elements):
        cut.stepping.check(posed.equations)
    p, _ = posed.parameters(theta)
    made = []
    for recording in posed.recordings:
        u = recording.given(np.zeros(1))[0]
        _, fitting, x0 = begun(start_problem(posed.equations), recording.targets, u, p)
        steady = steady_choice(fitting)
        tangent = tangent_at(steady, x0, u, p, posed.quantities, posed.varied, cut.states, recording.controls)
        windows = Windows(recording, Layout.of(recording, *cut.mesh(recording)), tangent, cut.stepping, posed.varied)
        spread = spread_of(tangent.names, tangent.values(np.zeros(1), x0[None], u[None], p)[0], cut.spread)
        made.append(_first_pass(windows, x0, p, spread, sigmas, cut.known_start))
    return tuple(made)


def _first_pass(windows: Windows, x0: Reals, p: Reals, spread: Reals, sigmas: Reals, known: bool) -> Chain:
    bare, recorded = windows.bare(), windows.recording.samples
    x, states = x0, []
    covariance = np.diag(spread**2)
    for i in range(windows.count):
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        x, passage = _corrected(bare, i, x, p, spread, root, sigmas, 0 if known and i == 0 else CORRECTIONS)
        states.append(x)
        _, by = white(passage, bare, sigmas)
        after = np.linalg.inv(by.T @ by + root.T @ root) * (1e-6 if known and i == 0 else 1.0)
        covariance = passage.end_by @ after @ passage.end_by.T + np.diag((0.3 * spread) ** 2)
        if i + 1 < windows.count:
            x = _carried(bare, i, x, p, passage)
    return Chain(windows, spread, np.array(states), recorded.values, recorded, known)


def _corrected(
    windows: Windows, i: int, x: Reals, p: Reals, spread: Reals, root: Reals, sigmas: Reals, corrections: int
) -> tuple[Reals, Passage]:
    """The start of window i from what is measured in it, near x as far as `root`, that of the information so far, asks for.

    An iterated Kalman update: a few corrections, each of which costs a run through the window, and no search for a root.
    """
    tangent, t, u = windows.tangent, windows.begins[i : i + 1], windows.inputs[i : i + 1]
    predicted = tangent.values(t, x[None], u, p)[0]
    passage = windows.passage(i, x, p)
    if passage is None:
        raise SolverError(
            f"{windows.recording.name}: the window from {windows.begins[i]:g} s does not reach its end; shorten the windows, or "
            "guess the start and the unknowns better"
        )
    for _ in range(corrections):
        now = tangent.values(t, x[None], u, p)[0]
        r, by = white(passage, windows, sigmas)
        step = np.linalg.lstsq(np.vstack([by, root]), -np.concatenate([r, root @ (now - predicted)]), rcond=None)[0]
        corrected = tangent.settled(t, x[None], u, p, (now + step)[None])
        if corrected is None:
            break
        if np.abs(step / spread).max() < SMALL:  # its end moves linearly
            return corrected[0], replace(passage, end=passage.end + passage.end_by @ step)
        again = windows.passage(i, corrected[0], p)
        if again is None:
            break
        x, passage = corrected[0], again
    return x, passage


def _carried(windows: Windows, i: int, x: Reals, p: Reals, passage: Passage) -> Reals:
    """The state at the end of a window: that of its start with the ζ that matter moved on."""
    t, u = windows.begins[i + 1 : i + 2], windows.inputs[i + 1 : i + 2]
    found = windows.tangent.settled(t, x[None], u, p, passage.end[None])
    if found is None:
        raise SolverError(
            f"{windows.recording.name}: no state keeps the constraints at {windows.begins[i + 1]:g} s; shorten windows"
        )
    return np.asarray(found[0])
