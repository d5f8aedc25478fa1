"""Multiple shooting: windows with starts of their own, joined by continuity; for motions that run away from their start.

Unknown are the parameters, the named deviations of every window's start, and the true values of inputs that were recorded with
noise, whose distance from the record is a residual as good as any other. Gaps between windows are rows of the least squares, with
a weight that grows until they are closed. The damped Gauss–Newton steps come from `elimination`, within the sides of the
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.estimation.collocation import Collocating, Elements, mesh_of
from draisine.estimation.initial_guess import Cut, chains_of
from draisine.estimation.losses import Loss
from draisine.estimation.problem import Posed
from draisine.estimation.window_chain import Chain, Noise, Shot, shoot, shot_of, white
from draisine.estimation.window_layout import windows_of
from draisine.estimation.windows import Passage
from draisine.numerics.trust_region import LevenbergMarquardt, Trial
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.selection import Method

Reals = NDArray[np.float64]

FINE = DOP853(rtol=1e-7, atol=1e-9)
STIFF = Radau(rtol=1e-8, atol=1e-10)  # for 0 = F(t, x, ẋ)
ROUNDS = 60  # of damped steps, at most, with one weight of continuity
CONTINUITY = (1.0, 1e-2, 1e-4)  # tolerances of gaps, one after the other, in deviations to which one window's data tell its start
QUIET = (1e-4, 1e-4, 1e-10)  # relative changes of the sum of squares at which it has settled, with these tolerances
STILL = 1e-7  # relative change of parameters


@dataclass(frozen=True)
class MultipleShooting:
    """Cut every experiment into windows of about `window` seconds, each with an unknown start, joined by continuity.

    - `known_start`: whether the start of each experiment is as given; else it is a first guess.
    - `states`: names of states or outputs by which starts shall be told; the others are chosen.
    - `spread`: by name, how far starts may lie from first guesses; it need not be exact.
    - `integration`: the method of integration; chosen if not given.
    """

    window: float
    known_start: bool = False
    states: tuple[str, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)
    integration: Method | None = None

    def __post_init__(self) -> None:
        if not self.window > 0.0:
            raise ArgumentError(f"MultipleShooting: window is a time in seconds, got {self.window!r}")

    def cut(self, equations: Equations) -> Cut:
        """Windows of this length."""
        chosen = self.integration or (STIFF if isinstance(equations.dynamics, DaeResidual) else FINE)
        return Cut(
            lambda recording: (windows_of(recording, self.window), np.zeros(0)),
            chosen,
            self.known_start,
            self.states,
            self.spread,
        )


def cut_of(method: MultipleShooting | Collocating, equations: Equations) -> Cut:
    """How a method cuts experiments of these equations."""
    if isinstance(method, MultipleShooting):
        return method.cut(equations)
    return Cut(lambda recording: mesh_of(recording, method.intervals), Elements.of(method))


def _step(posed: Posed, shot: Shot, damping: float) -> tuple[Reals, list[list[Reals]], float]:
    """Change of the parameters, within their sides, and of the starts; by how much the cost should become smaller."""
    from scipy.optimize import lsq_linear

    parts = shot.eliminated(damping, shot.loss)
    sizes = posed.sizes
    matrix = np.vstack([*(e.common for e in parts), shot.priors[0], damping * np.diag(1.0 / sizes)]) * sizes
    side = np.concatenate([*(e.side for e in parts), shot.priors[1], np.zeros(len(sizes))])
    low, high = (s / sizes for s in posed.sides)
    now = shot.theta / sizes
    change = np.linalg.lstsq(matrix, -side, rcond=None)[0]
    if ((now + change) < low).any() or ((now + change) > high).any():
        change = lsq_linear(matrix, -side, bounds=(low - now - 1e-15, high - now + 1e-15)).x
    left = matrix @ change + side
    gain = sum(e.squares for e in parts) + float(shot.priors[1] @ shot.priors[1]) - float(left @ left)
    return change * sizes, [e.starts(change * sizes) for e in parts], 0.5 * gain


def descend(posed: Posed, begin: Shot, enough: float, progress: Callable[[str], None] | None = None) -> Shot:
    """Damped Gauss–Newton steps until nothing changes any more."""

    def step(now: Shot, damping: float) -> Trial[Shot]:
        change, starts, gain = _step(posed, now, damping)

        def taken() -> Shot | None:
            theta = np.clip(now.theta + change, *posed.sides)
            moved = _moved(posed, now, theta, starts)
            shot = None if moved is None else shoot(posed, theta, moved, now.noise, now.loss)
            return None if shot is None else replace(shot, rounds=now.rounds + 1)

        return Trial(taken, gain, float(np.abs(change / posed.sizes).max(initial=0.0)))

    def report(k: int, now: Shot) -> None:
        if progress is not None:
            progress(f"step {k}: sum of squares {2 * now.cost:.6g}, largest gap {now.gap:.1e}")

    found = LevenbergMarquardt(enough, STILL, ROUNDS).minimize(begin, lambda shot: shot.cost, step, report)
    return found.point if found.converged else replace(found.point, settled=False)


def _moved(posed: Posed, shot: Shot, theta: Reals, starts: Sequence[Sequence[Reals]]) -> list[Chain] | None:
    p, _ = posed.parameters(theta)
    found = []
    for chain, zeta, changes in zip(shot.chains, shot.zetas, starts, strict=True):
        moved = chain.moved(p, zeta, changes)
        if moved is None:
            return None
        found.append(moved)
    return found


def first_shot(posed: Posed, cut: Cut, theta: Reals, sigmas: Reals) -> Shot:
    """The windows at the guess, their gaps as yet open."""
    chains = chains_of(posed, cut, theta, sigmas)
    return _begun(posed, theta, chains, sigmas, CONTINUITY[-1], None)


def _begun(posed: Posed, theta: Reals, chains: Sequence[Chain], sigmas: Reals, tolerance: float, loss: Loss | None) -> Shot:
    p, _ = posed.parameters(theta)
    passages = []
    for chain in chains:
        found = chain.passages(p)
        if found is None:
            raise SolverError(f"{chain.windows.recording.name}: a window does not reach its end; shorten the windows")
        passages.append(found)
    gaps = (tolerance * _reported_alone(chain, found, sigmas) for chain, found in zip(chains, passages, strict=True))
    return shot_of(posed, theta, chains, passages, Noise(sigmas, tuple(gaps)), loss)


def _tightened(posed: Posed, shot: Shot, tolerance: float) -> Shot:
    """The same with another tolerance of gaps; nothing is run again."""
    pairs = zip(shot.chains, shot.passages, strict=True)
    gaps = tuple(tolerance * _reported_alone(chain, found, shot.noise.sigmas) for chain, found in pairs)
    return shot_of(posed, shot.theta, shot.chains, shot.passages, Noise(shot.noise.sigmas, gaps), shot.loss)


def _reported_alone(chain: Chain, passages: Sequence[Passage], sigmas: Reals) -> Reals:
    """How well the data of the best window tell each deviation of its start, at most the spread."""
    d = len(chain.spread)
    effects = [np.linalg.norm(white(passage, chain.windows, sigmas)[1][:, :d], axis=0) for passage in passages]
    return np.minimum(chain.spread, 1.0 / np.maximum(np.max(effects, axis=0), 1e-300))


def fit_windows(
    posed: Posed,
    cut: Cut,
    theta: Reals,
    sigmas: Reals,
    loss: Loss | None,
    begin: Shot | None = None,
    progress: Callable[[str], None] | None = None,
) -> Shot:
    """The best parameters and starts for given noise; from windows that were run before, where there are any."""
    stages = list(zip(CONTINUITY, QUIET, strict=True))[1 if begin is not None and begin.rounds > 0 else 0 :]
    if begin is not None and np.array_equal(theta, begin.theta):
        shot = replace(begin, noise=replace(begin.noise, sigmas=sigmas), loss=loss)
    else:
        chains = begin.chains if begin is not None else chains_of(posed, cut, theta, sigmas)
        shot = _begun(posed, theta, chains, sigmas, stages[0][0], loss)
    rounds = 0
    for tolerance, enough in stages:
        shot = descend(posed, _tightened(posed, shot, tolerance), enough, progress)
        rounds += shot.rounds
    return replace(shot, rounds=rounds)
