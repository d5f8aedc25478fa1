"""Multiple shooting: windows with starts of their own, joined by continuity; for motions that run away from their start.

Unknown are the parameters and the named deviations of every window's start. Gaps between windows are rows of the least squares,
with the noise of recorded inputs behind them or, where there is none, with a weight that grows until they are closed. The damped
Gauss–Newton steps come from `elimination`, within the sides of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.elimination import Eliminated, Rows, eliminate
from draisine.estimation.losses import Loss, cost_of, weighed
from draisine.estimation.posing import Posed, prior_rows
from draisine.estimation.single import start_problem
from draisine.estimation.tangent import spread_of, steady_choice, tangent_at
from draisine.estimation.windows import Passage, Windows, edges_of, whiteners
from draisine.model.errors import ModelError
from draisine.program.implicit import Implicit
from draisine.simulation import consistent_start
from draisine.simulation.choices import best_for
from draisine.simulation.methods import DOP853, Method

Reals = NDArray[np.float64]
Whiteners = Sequence[list[Reals]]  # by which rows of every window become white

FINE = DOP853(rtol=1e-7, atol=1e-9)
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
    - `integration`: the method of integration.
    """

    window: float
    known_start: bool = False
    states: tuple[str, ...] = ()
    spread: Mapping[str, float] = field(default_factory=dict)
    integration: Method = FINE

    def __post_init__(self) -> None:
        if not self.window > 0.0:
            raise ValueError(f"MultipleShooting: window is a time in seconds, got {self.window!r}")


@dataclass(frozen=True, eq=False)
class Chain:
    """The windows of one experiment with the states at their starts."""

    windows: Windows
    spread: Reals
    states: Reals  # (windows, states)
    known_start: bool

    def zeta(self, p: Reals) -> Reals:
        w = self.windows
        return w.tangent.values(w.edges[:-1], self.states, w.inputs, p)

    def moved(self, p: Reals, wanted: Reals) -> Chain | None:
        w = self.windows
        found = w.tangent.settled(w.edges[:-1], self.states, w.inputs, p, wanted)
        return None if found is None else replace(self, states=found)

    def passages(self, p: Reals, with_noise: bool = False) -> list[Passage] | None:
        return self.windows.passages(range(self.windows.count), self.states, p, with_noise)


@dataclass(frozen=True, eq=False)
class Shot:
    """All chains run at some parameters: white rows window by window."""

    theta: Reals
    chains: tuple[Chain, ...]
    zetas: tuple[Reals, ...]
    passages: tuple[list[Passage], ...]
    rows: tuple[list[Rows], ...]
    counts: tuple[list[int], ...]  # of residuals of measurements among the rows of every window
    priors: tuple[Reals, Reals]
    whiten: Whiteners
    loss: Loss | None
    rounds: int = 0

    @property
    def cost(self) -> float:
        total = 0.5 * float(np.sum(self.priors[1] ** 2))
        for chain, counts in zip(self.rows, self.counts, strict=True):
            for rows, n in zip(chain, counts, strict=True):
                total += cost_of(self.loss, rows.side[:n]) + 0.5 * float(np.sum(rows.side[n:] ** 2))
        return total

    def eliminated(self, damping: float | None, loss: Loss | None) -> list[Eliminated]:
        found = []
        for chain, rows, counts in zip(self.chains, self.rows, self.counts, strict=True):
            weighty = [_weighed(r, n, loss) for r, n in zip(rows, counts, strict=True)]
            kept = None if damping is None else [np.full(r.own.shape[1], damping) / chain.spread[: r.own.shape[1]] for r in rows]
            found.append(eliminate(weighty, kept))
        return found

    def root(self, loss: Loss | None = None) -> Reals:
        """The root of the information about the parameters, (rows, parameters)."""
        parts = self.eliminated(None, loss)
        return np.vstack([*(e.common for e in parts), self.priors[0]])

    def residuals(self) -> Reals:
        """White residuals of measurements."""
        return np.concatenate(
            [r.side[:n] for rows, counts in zip(self.rows, self.counts, strict=True) for r, n in zip(rows, counts, strict=True)]
        )

    @property
    def all_rows(self) -> int:
        return sum(len(r.side) for rows in self.rows for r in rows)

    @property
    def all_starts(self) -> int:
        return sum(r.own.shape[1] for rows in self.rows for r in rows)

    @property
    def gap(self) -> float:
        """The largest gap, in spreads."""
        found = [0.0]
        for chain, zeta, passages in zip(self.chains, self.zetas, self.passages, strict=True):
            found += [float(np.abs((a.end - b) / chain.spread).max()) for a, b in zip(passages, zeta[1:], strict=False)]
        return max(found)


def _weighed(rows: Rows, n: int, loss: Loss | None) -> Rows:
    if loss is None:
        return rows
    whole = np.hstack([rows.own, rows.after, rows.common])
    side, matrix = weighed(loss, rows.side[:n], whole[:n])
    whole = np.vstack([matrix, whole[n:]])
    own, after, common = np.split(whole, [rows.own.shape[1], rows.own.shape[1] + rows.after.shape[1]], axis=1)
    return Rows(own, after, common, np.concatenate([side, rows.side[n:]]))


# ------------------------------------------------------------------------------------------------------------- guesses


def chains_of(posed: Posed, method: MultipleShooting, theta: Reals, sigmas: Reals) -> tuple[Chain, ...]:
    """Windows with first starts, from a pass that corrects the start of each window by what is measured in it."""
    if isinstance(posed.equations.dynamics, Implicit):
        raise ModelError(
            f"{posed.equations.name} is given as 0 = F(t, x, ẋ): windows need ẋ = f; reduce its index (reduce_index), or use "
            "SingleShooting()"
        )
    if posed.starts:
        raise ModelError(
            "unknown: with MultipleShooting the start of every window is found anyway; leave "
            f"{', '.join(f'start.{s}' for s in posed.starts)} out"
        )
    p, _ = posed.parameters(theta)
    made = []
    for recording in posed.recordings:
        u = recording.given(np.zeros(1))[0]
        named = {q.name: float(v) for q, v in zip(posed.equations.parameters, p, strict=True)}
        given = {q.name: float(v) for q, v in zip(posed.equations.inputs, u, strict=True)}
        begin = consistent_start(start_problem(posed.equations), dict(recording.wishes), named, inputs=given)
        extra = begin.x[len(begin.x) - len(posed.equations.extra_states) :]
        fitting, x0 = best_for(posed.equations, begin.q, begin.v, extra, (0.0, u, p))
        steady = steady_choice(fitting)
        tangent = tangent_at(steady, x0, u, p, posed.quantities, posed.varied, method.states, recording.controls)
        windows = Windows(recording, tangent, edges_of(recording, method.window), method.integration)
        spread = spread_of(tangent.names, tangent.values(np.zeros(1), x0[None], u[None], p)[0], method.spread)
        made.append(_first_pass(windows, x0, p, spread, sigmas, method.known_start))
    return tuple(made)


def _first_pass(windows: Windows, x0: Reals, p: Reals, spread: Reals, sigmas: Reals, known: bool) -> Chain:
    tangent, d = windows.tangent, len(spread)
    x, states = x0, []
    covariance = np.diag(spread**2) * (1e-6 if known else 1.0)
    for i in range(windows.count):
        t, u = windows.edges[i : i + 1], windows.inputs[i : i + 1]
        predicted = tangent.values(t, x[None], u, p)[0]
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        for _ in range(0 if known and i == 0 else 3):
            passage = windows.passage(i, x, p)
            if passage is None:
                break
            r, by = _white(passage, windows, sigmas)
            now = tangent.values(t, x[None], u, p)[0]
            matrix, side = np.vstack([by[:, :d], root]), np.concatenate([r, root @ (now - predicted)])
            step = np.linalg.lstsq(matrix, -side, rcond=None)[0]
            corrected = tangent.settled(t, x[None], u, p, (now + step)[None])
            if corrected is None:
                break
            x = corrected[0]
            if np.abs(step / spread).max() < 1e-3:
                break
        states.append(x)
        passage = windows.passage(i, x, p)
        if passage is None:
            raise ModelError(
                f"{windows.recording.name}: the window from {windows.edges[i]:g} s does not reach its end; shorten the "
                "windows, or guess the start and the unknowns better"
            )
        r, by = _white(passage, windows, sigmas)
        after = np.linalg.inv(by[:, :d].T @ by[:, :d] + root.T @ root)
        covariance = passage.end_by[:, :d] @ after @ passage.end_by[:, :d].T + np.diag((0.3 * spread) ** 2)
        if i + 1 < windows.count:
            x = _carried(windows, i, x, p, passage)
    return Chain(windows, spread, np.array(states), known)


def _carried(windows: Windows, i: int, x: Reals, p: Reals, passage: Passage) -> Reals:
    """The state at the end of a window: that of its start with the ζ that matter moved on."""
    t, u = windows.edges[i + 1 : i + 2], windows.inputs[i + 1 : i + 2]
    found = windows.tangent.settled(t, x[None], u, p, passage.end[None])
    if found is None:
        raise ModelError(
            f"{windows.recording.name}: no state keeps the constraints at {windows.edges[i + 1]:g} s; shorten windows"
        )
    return np.asarray(found[0])


def _white(passage: Passage, windows: Windows, sigmas: Reals) -> tuple[Reals, Reals]:
    data = windows.recording.values[passage.index]
    present = np.isfinite(data).ravel()
    r = ((passage.values - data) / sigmas).ravel()[present]
    by = (passage.by / sigmas[:, None]).reshape(-1, passage.by.shape[2])[present]
    return r, by


# ------------------------------------------------------------------------------------------------------------- steps


def shoot(posed: Posed, theta: Reals, chains: Sequence[Chain], whiten: Whiteners, loss: Loss | None) -> Shot | None:
    """Run all windows; None where one does not come to its end."""
    p, _ = posed.parameters(theta)
    passages = []
    for chain in chains:
        found = chain.passages(p)
        if found is None:
            return None
        passages.append(found)
    return _shot(posed, theta, chains, passages, whiten, loss)


def _shot(
    posed: Posed,
    theta: Reals,
    chains: Sequence[Chain],
    passages: Sequence[list[Passage]],
    whiten: Whiteners,
    loss: Loss | None,
) -> Shot:
    p, by = posed.parameters(theta)
    rows, counts, zetas = [], [], []
    for chain, found, factor in zip(chains, passages, whiten, strict=True):
        zeta = chain.zeta(p)
        made, count = _rows(chain, found, zeta, factor, by)
        rows.append(made)
        counts.append(count)
        zetas.append(zeta)
    return Shot(
        theta, tuple(chains), tuple(zetas), tuple(passages), tuple(rows), tuple(counts), prior_rows(posed, theta), whiten, loss
    )


def _rows(
    chain: Chain, passages: Sequence[Passage], zeta: Reals, factor: Sequence[Reals], by: Reals
) -> tuple[list[Rows], list[int]]:
    d = zeta.shape[1]
    made, counts = [], []
    for i, passage in enumerate(passages):
        data = chain.windows.recording.values[passage.index]
        present = np.isfinite(data).ravel()
        side = (passage.values - data).ravel()[present]
        slopes = passage.by.reshape(-1, passage.by.shape[2])[present]
        after = np.zeros((len(side), 0))
        counts.append(len(side))
        if i + 1 < len(passages):
            side = np.concatenate([side, passage.end - zeta[i + 1]])
            slopes = np.vstack([slopes, passage.end_by])
            after = np.vstack([np.zeros((counts[-1], d)), -np.eye(d)])
        own = slopes[:, :d] if i or not chain.known_start else np.zeros((len(side), 0))
        whole = np.hstack([own, after, slopes[:, d:] @ by, side[:, None]])
        white = factor[i] @ whole
        own, after, common = np.split(white[:, :-1], [own.shape[1], own.shape[1] + after.shape[1]], axis=1)
        made.append(Rows(own, after, common, white[:, -1]))
    return made, counts


def _step(posed: Posed, shot: Shot, damping: float) -> tuple[Reals, list[list[Reals]]]:
    """Change of the parameters, within their sides, and of the starts."""
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
    return change * sizes, [e.starts(change * sizes) for e in parts]


def descend(posed: Posed, begin: Shot, enough: float, progress: Callable[[str], None] | None = None) -> Shot:
    """Damped Gauss–Newton steps until nothing changes any more."""
    now, damping = begin, 1.0
    for k in range(ROUNDS):
        trial = None
        change, starts = _step(posed, now, damping)
        theta = np.clip(now.theta + change, *posed.sides)
        moved = _moved(posed, now, theta, starts)
        if moved is not None:
            trial = shoot(posed, theta, moved, now.whiten, now.loss)
        if trial is None or not trial.cost <= now.cost * (1.0 + 1e-14):
            damping = max(10.0 * damping, 1e-6)
            if damping > 1e12:
                return now
            continue
        quiet = now.cost - trial.cost <= enough * max(now.cost, 1e-300)
        still = float(np.abs(change / posed.sizes).max(initial=0.0)) <= STILL
        now, damping = replace(trial, rounds=now.rounds + 1), damping / 10.0
        if progress is not None:
            progress(f"step {k + 1}: sum of squares {2 * now.cost:.6g}, largest gap {now.gap:.1e}")
        if quiet or (still and damping < 1e-3):
            return now
    return now


def _moved(posed: Posed, shot: Shot, theta: Reals, starts: Sequence[Sequence[Reals]]) -> list[Chain] | None:
    p, _ = posed.parameters(theta)
    found = []
    for chain, zeta, changes in zip(shot.chains, shot.zetas, starts, strict=True):
        wanted = zeta.copy()
        for i, change in enumerate(changes):
            if len(change):
                wanted[i] += change
        moved = chain.moved(p, wanted)
        if moved is None:
            return None
        found.append(moved)
    return found


def first_shot(posed: Posed, method: MultipleShooting, theta: Reals, sigmas: Reals) -> Shot:
    """The windows at the guess, their gaps as yet open."""
    chains = chains_of(posed, method, theta, sigmas)
    return _begun(posed, theta, chains, sigmas, CONTINUITY[-1], None)


def _begun(posed: Posed, theta: Reals, chains: Sequence[Chain], sigmas: Reals, tolerance: float, loss: Loss | None) -> Shot:
    p, _ = posed.parameters(theta)
    whiten, passages = [], []
    for chain in chains:
        found = chain.passages(p, with_noise=True)
        if found is None:
            raise ModelError(f"{chain.windows.recording.name}: a window does not reach its end; shorten the windows")
        passages.append(found)
        whiten.append(whiteners(found, chain.windows, sigmas, tolerance * _told_alone(chain, found, sigmas)))
    return _shot(posed, theta, chains, passages, whiten, loss)


def _told_alone(chain: Chain, passages: Sequence[Passage], sigmas: Reals) -> Reals:
    """How well the data of the best window tell each deviation of its start, at most the spread."""
    d = len(chain.spread)
    effects = [np.linalg.norm(_white(passage, chain.windows, sigmas)[1][:, :d], axis=0) for passage in passages]
    return np.minimum(chain.spread, 1.0 / np.maximum(np.max(effects, axis=0), 1e-300))


def fit_windows(
    posed: Posed,
    method: MultipleShooting,
    theta: Reals,
    sigmas: Reals,
    loss: Loss | None,
    chains: Sequence[Chain] | None = None,
    closed: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Shot:
    """The best parameters and starts for given noise; from chains that were found before, and may be `closed` already."""
    now = tuple(chains) if chains is not None else chains_of(posed, method, theta, sigmas)
    rounds, shot = 0, None
    for tolerance, enough in list(zip(CONTINUITY, QUIET, strict=True))[1 if closed else 0 :]:
        begin = _begun(posed, theta, now, sigmas, tolerance, loss)
        shot = descend(posed, begin, enough, progress)
        theta, now, rounds = shot.theta, shot.chains, rounds + shot.rounds
    assert shot is not None
    return replace(shot, rounds=rounds)
