"""Multiple shooting for estimation: windows with their own starts, joined by continuity, for motions sensitive to their start.

Unknowns are the parameters, the named deviations of each window's start, and the true values of noisy inputs, whose deviations
from the record are residuals too. Gaps between windows are rows of the least-squares problem, with a weight that increases until
they are closed. Levenberg–Marquardt steps come from block elimination (`window_chain`), within the bounds of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, SolverError
from draisine.estimation.collocation import CollocationScheme, mesh_of
from draisine.estimation.initial_guess import WindowSettings, chains_of
from draisine.estimation.losses import Loss
from draisine.estimation.problem import EstimationProblem
from draisine.estimation.window_chain import Chain, Noise, ShootingState, shoot, shot_of, white
from draisine.estimation.window_layout import window_edges
from draisine.estimation.windows import WindowRun
from draisine.numerics.direct_methods import Collocation as Collocation
from draisine.numerics.direct_methods import MultipleShooting as MultipleShooting
from draisine.numerics.trust_region import LevenbergMarquardt, Trial
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.switching import jumps_of
from draisine.results.status import Progress, ProgressCallback
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau

Reals = NDArray[np.float64]

FINE = DOP853(rtol=1e-7, atol=1e-9)
STIFF = Radau(rtol=1e-8, atol=1e-10)  # for 0 = F(t, x, ẋ)
ROUNDS = 60  # limit of steps with one weight of continuity
CONTINUITY = (1.0, 1e-2, 1e-4)  # successive tolerances of gaps, in standard deviations of a window's start by its own data
QUIET = (1e-4, 1e-4, 1e-10)  # relative changes of the sum of squares at convergence, for these tolerances
STILL = 1e-7  # relative change of parameters


def window_settings(method: MultipleShooting | Collocation, equations: Equations) -> WindowSettings:
    """How a method divides experiments of these equations into windows."""
    if equations.unilateral:
        contacts = ", ".join(contact.name for contact in equations.unilateral)
        raise ArgumentError(
            f"{type(method).__name__}: the contacts {contacts} of {equations.name} stick, slip and open, and the modes in which "
            "a window begins are not known; use SingleShooting(), whose runs follow the modes, or fix them, model.in_modes({…})"
        )
    if isinstance(method, Collocation):
        jumps = jumps_of(equations)
        if jumps:
            raise ArgumentError(
                f"{equations.name}: its rates jump at {', '.join(jumps)}, which polynomials of collocation do not follow; use "
                "SingleShooting or MultipleShooting, whose runs switch there"
            )
        return WindowSettings(lambda recording: mesh_of(recording, method.intervals), CollocationScheme.of(method))
    if method.steps is not None:
        raise ArgumentError("MultipleShooting: steps is a setting of optimal control; estimate(…) takes integration=RK4(step=…)")
    chosen = method.integration or (STIFF if isinstance(equations.dynamics, DaeResidual) else FINE)
    return WindowSettings(
        lambda recording: (window_edges(recording, method), np.zeros(0)),
        chosen,
        method.known_start,
        method.states,
        method.spread,
        method.integration is None,
    )


def _step(problem: EstimationProblem, shot: ShootingState, damping: float) -> tuple[Reals, list[list[Reals]], float]:
    """Change of the parameters, within their bounds, and of the starts; predicted decrease of the cost."""
    from scipy.optimize import lsq_linear

    parts = shot.eliminated(damping, shot.loss)
    sizes = problem.sizes
    matrix = np.vstack([*(e.common for e in parts), shot.priors[0], damping * np.diag(1.0 / sizes)]) * sizes
    side = np.concatenate([*(e.side for e in parts), shot.priors[1], np.zeros(len(sizes))])
    low, high = (s / sizes for s in problem.bounds)
    now = shot.theta / sizes
    change = np.linalg.lstsq(matrix, -side, rcond=None)[0]
    if ((now + change) < low).any() or ((now + change) > high).any():
        change = lsq_linear(matrix, -side, bounds=(low - now - 1e-15, high - now + 1e-15)).x
    left = matrix @ change + side
    gain = sum(e.squares for e in parts) + float(shot.priors[1] @ shot.priors[1]) - float(left @ left)
    return change * sizes, [e.starts(change * sizes) for e in parts], 0.5 * gain


def descend(
    problem: EstimationProblem, begin: ShootingState, enough: float, progress: ProgressCallback | None = None
) -> ShootingState:
    """Levenberg–Marquardt steps until convergence."""

    def step(now: ShootingState, damping: float) -> Trial[ShootingState]:
        change, starts, gain = _step(problem, now, damping)

        def taken() -> ShootingState | None:
            theta = np.clip(now.theta + change, *problem.bounds)
            moved = _moved(problem, now, theta, starts)
            shot = None if moved is None else shoot(problem, theta, moved, now.noise, now.loss)
            return None if shot is None else replace(shot, rounds=now.rounds + 1)

        return Trial(taken, gain, float(np.abs(change / problem.sizes).max(initial=0.0)))

    def report(k: int, now: ShootingState) -> None:
        if progress is not None:
            progress(
                Progress(
                    f"step {k}: sum of squares {2 * now.cost:.6g}, largest gap {now.gap:.1e}", None, {"step": k, "cost": now.cost}
                )
            )

    found = LevenbergMarquardt(enough, STILL, ROUNDS).minimize(begin, lambda shot: shot.cost, step, report)
    return found.point if found.converged else replace(found.point, settled=False)


def _moved(
    problem: EstimationProblem, shot: ShootingState, theta: Reals, starts: Sequence[Sequence[Reals]]
) -> list[Chain] | None:
    p, _ = problem.parameters(theta)
    found = []
    for chain, zeta, changes in zip(shot.chains, shot.zetas, starts, strict=True):
        moved = chain.moved(p, zeta, theta, changes, problem.readings(theta))
        if moved is None:
            return None
        found.append(moved)
    return found


def _at(problem: EstimationProblem, shot: ShootingState, theta: Reals) -> list[Chain] | None:
    """The chains of a shot at other unknowns; None if there are no such states."""
    still = [[np.zeros(len(chain.sizes(i))) for i in range(chain.windows.count)] for chain in shot.chains]
    return _moved(problem, shot, theta, still)


def first_shot(problem: EstimationProblem, settings: WindowSettings, theta: Reals, sigmas: Reals) -> ShootingState:
    """The windows at the guess, with open gaps."""
    chains = chains_of(problem, settings, theta, sigmas)
    return _evaluate(problem, theta, chains, sigmas, CONTINUITY[-1], None)


def _evaluate(
    problem: EstimationProblem, theta: Reals, chains: Sequence[Chain], sigmas: Reals, tolerance: float, loss: Loss | None
) -> ShootingState:
    p, _ = problem.parameters(theta)
    window_runs = []
    for chain in chains:
        found = chain.window_runs(p)
        if found is None:
            raise SolverError(f"{chain.windows.recording.name}: a window does not reach its end; shorten the windows")
        window_runs.append(found)
    gaps = (tolerance * _reported_alone(chain, found, sigmas) for chain, found in zip(chains, window_runs, strict=True))
    return shot_of(problem, theta, chains, window_runs, Noise(sigmas, tuple(gaps)), loss)


def _tightened(problem: EstimationProblem, shot: ShootingState, tolerance: float) -> ShootingState:
    """The same with another tolerance of gaps, without new integration."""
    pairs = zip(shot.chains, shot.window_runs, strict=True)
    gaps = tuple(tolerance * _reported_alone(chain, found, shot.noise.sigmas) for chain, found in pairs)
    return shot_of(problem, shot.theta, shot.chains, shot.window_runs, Noise(shot.noise.sigmas, gaps), shot.loss)


def _reported_alone(chain: Chain, window_runs: Sequence[WindowRun], sigmas: Reals) -> Reals:
    """Standard deviation of each deviation of a start by the data of its best window, at most the spread."""
    d = len(chain.spread)
    effects = [np.linalg.norm(white(window_run, chain.windows, sigmas)[1][:, :d], axis=0) for window_run in window_runs]
    return np.minimum(chain.spread, 1.0 / np.maximum(np.max(effects, axis=0), 1e-300))


def fit_windows(
    problem: EstimationProblem,
    settings: WindowSettings,
    theta: Reals,
    sigmas: Reals,
    loss: Loss | None,
    begin: ShootingState | None = None,
    progress: ProgressCallback | None = None,
) -> ShootingState:
    """The best parameters and starts for given noise, starting from earlier windows if there are any."""
    stages = list(zip(CONTINUITY, QUIET, strict=True))[1 if begin is not None and begin.rounds > 0 else 0 :]
    if begin is not None and np.array_equal(theta, begin.theta):
        shot = replace(begin, noise=replace(begin.noise, sigmas=sigmas), loss=loss)
    else:
        moved = None if begin is None else _at(problem, begin, theta)
        chains = chains_of(problem, settings, theta, sigmas) if moved is None else moved
        shot = _evaluate(problem, theta, chains, sigmas, stages[0][0], loss)
    rounds = 0
    for tolerance, enough in stages:
        shot = descend(problem, _tightened(problem, shot, tolerance), enough, progress)
        rounds += shot.rounds
    return replace(shot, rounds=rounds)
