"""Least squares over chains of windows: white residual rows of each window, and block elimination of the starts by QR.

Window i has rows on its own start δs_i, on its own input samples δl_i, on the next start δs_{i+1}, and on the parameters δθ:

    S_i δs_i + L_i δl_i + N_i δs_{i+1} + P_i δθ + r_i ≈ 0.

QR of (the remainder of earlier windows; these rows) gives the triangle from which δs_i and δl_i follow later, and the remainder
for the next window. Finally rows on δθ alone remain: the square root of the information with all starts marginalized. No normal
equations are formed, so that the growth of unstable motions from window to window does not lose accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.experiment_data import Samples
from draisine.estimation.losses import Loss, cost_of, reweighted
from draisine.estimation.problem import EstimationProblem, prior_rows
from draisine.estimation.sensors import Readings
from draisine.estimation.windows import WindowRun, Windows

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Rows of one window. `own` are the columns of its start and then of its input samples, `after` those of the next start: none
    in the last window. `start` is the number of columns of the start: zero if it is known."""

    own: Reals
    after: Reals
    common: Reals
    side: Reals
    start: int


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Triangles from which starts follow given the parameters, and the remaining rows on the parameters."""

    triangles: tuple[tuple[Reals, Reals, Reals, Reals, int], ...]  # own, after, common, side, columns of the start
    common: Reals
    side: Reals
    squares: float  # of the sides of all rows

    def starts(self, change: Reals) -> list[Reals]:
        """δs and δl of every window, given δθ."""
        found: list[Reals] = []
        after: Reals = np.zeros(0)
        for own, onward, common, side, start in reversed(self.triangles):
            right = -side - common @ change
            if onward.shape[1]:
                right = right - onward @ after
            current = np.asarray(np.linalg.solve(own, right)) if own.shape[1] else np.zeros(0)
            after = current[:start]
            found.append(current)
        return found[::-1]


def eliminate(chain: Sequence[WindowRows], damping: Sequence[Reals] | None = None) -> Eliminated:
    """Eliminate the starts of a chain; `damping` are weights of additional rows on δs and δl of each window."""
    count = chain[0].common.shape[1]
    left = np.zeros((0, chain[0].start + count + 1))
    triangles = []
    for i, rows in enumerate(chain):
        d, s, onward = rows.own.shape[1], rows.start, rows.after.shape[1]
        kept = d if damping is not None else 0
        block = np.zeros((len(left) + len(rows.side) + kept, d + onward + count + 1))
        block[: len(left), :s], block[: len(left), d + onward :] = left[:, :s], left[:, s:]
        current = block[len(left) : len(left) + len(rows.side)]
        current[:, :d], current[:, d : d + onward], current[:, d + onward : -1], current[:, -1] = (
            rows.own,
            rows.after,
            rows.common,
            rows.side,
        )
        if damping is not None:
            block[len(block) - kept :, :d] = np.diag(damping[i])
        triangle: Reals = np.asarray(np.linalg.qr(block, mode="r"))
        if len(triangle) < d:
            triangle = np.vstack([triangle, np.zeros((d - len(triangle), triangle.shape[1]))])
        top = triangle[:d]
        triangles.append((top[:, :d], top[:, d : d + onward], top[:, d + onward : -1], top[:, -1], s))
        left = triangle[d:, d:]
    return Eliminated(tuple(triangles), left[:, :-1], left[:, -1], sum(float(rows.side @ rows.side) for rows in chain))


@dataclass(frozen=True, eq=False)
class Chain:
    """The windows of one experiment with their initial states and the estimated samples of noisy inputs."""

    windows: Windows
    spread: Reals
    states: Reals  # (windows, states)
    samples: Reals  # of noisy inputs
    recorded: Samples
    free: Indices  # deviations of the first window that are eliminated; the others are known, or among the unknowns:
    named: Indices  # deviations of the first window that are unknowns
    columns: Indices  # the places of these unknowns

    def zeta(self, p: Reals) -> Reals:
        w = self.windows
        return w.tangent.values(w.begins, self.states, w.inputs, p)

    def eliminated(self, i: int) -> Indices:
        """Deviations of the start of window i that are eliminated."""
        return self.free if i == 0 else np.arange(len(self.spread))

    def moved(self, p: Reals, zeta: Reals, theta: Reals, changes: Sequence[Reals], readings: Readings) -> Chain | None:
        """Apply changes of each window's deviations and samples; None if there are no such states."""
        wanted, samples = zeta.copy(), self.samples.copy()
        for i, change in enumerate(changes):
            own = self.eliminated(i)
            wanted[i, own] += change[: len(own)]
            samples[self.own(i)] += change[len(own) :]
        wanted[0, self.named] = theta[self.columns]
        windows = self.windows.with_samples(samples).with_readings(readings)
        found = windows.tangent.settled(windows.begins, self.states, windows.inputs, p, wanted)
        return None if found is None else replace(self, windows=windows, states=found, samples=samples)

    def window_runs(self, p: Reals) -> list[WindowRun] | None:
        return self.windows.window_runs(range(self.windows.count), self.states, p)

    def own(self, i: int) -> NDArray[np.intp]:
        """Input samples that belong to window i: at its start, and inside."""
        which, _, count = self.windows.layout.acting(i)
        return which[:count]

    def sizes(self, i: int) -> Reals:
        """Sizes of the unknowns of window i, for damping."""
        return np.concatenate([self.spread[self.eliminated(i)], self.recorded.sigmas[self.own(i)]])


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviations of channels, and of the gaps in each experiment."""

    sigmas: Reals
    gaps: tuple[Reals, ...]


@dataclass(frozen=True, eq=False)
class ShootingState:
    """All chains evaluated at given parameters: white rows of each window."""

    theta: Reals
    chains: tuple[Chain, ...]
    zetas: tuple[Reals, ...]
    window_runs: tuple[list[WindowRun], ...]
    rows: tuple[list[WindowRows], ...]
    counts: tuple[list[int], ...]  # of measurement residuals among the rows of each window
    priors: tuple[Reals, Reals]
    noise: Noise
    loss: Loss | None
    rounds: int = 0
    settled: bool = True

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
            kept = None if damping is None else [damping / chain.sizes(i) for i in range(len(rows))]
            found.append(eliminate(weighty, kept))
        return found

    def root(self, loss: Loss | None = None) -> Reals:
        """Square root of the information about the parameters, (rows, parameters)."""
        parts = self.eliminated(None, loss)
        return np.vstack([*(e.common for e in parts), self.priors[0]])

    def scaled(self, factors: Reals) -> ShootingState:
        """The same windows with the noise of each channel multiplied by a factor."""
        found = []
        for chain, rows, counts, runs in zip(self.chains, self.rows, self.counts, self.window_runs, strict=True):
            parts = []
            for one, n, run in zip(rows, counts, runs, strict=True):
                measured = np.isfinite(chain.windows.recording.values[run.index])
                weights = np.ones(len(one.side))
                weights[:n] = np.broadcast_to(1.0 / factors, measured.shape)[measured]
                by = weights[:, None]
                parts.append(WindowRows(one.own * by, one.after * by, one.common * by, one.side * weights, one.start))
            found.append(parts)
        return replace(self, rows=tuple(found))

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
        """The largest gap, relative to the spread."""
        found = [0.0]
        for chain, zeta, window_runs in zip(self.chains, self.zetas, self.window_runs, strict=True):
            found += [float(np.abs((a.end - b) / chain.spread).max()) for a, b in zip(window_runs, zeta[1:], strict=False)]
        return max(found)


def _weighed(rows: WindowRows, n: int, loss: Loss | None) -> WindowRows:
    if loss is None:
        return rows
    whole = np.hstack([rows.own, rows.after, rows.common])
    side, matrix = reweighted(loss, rows.side[:n], whole[:n])
    whole = np.vstack([matrix, whole[n:]])
    own, after, common = np.split(whole, [rows.own.shape[1], rows.own.shape[1] + rows.after.shape[1]], axis=1)
    return WindowRows(own, after, common, np.concatenate([side, rows.side[n:]]), rows.start)


def white(window_run: WindowRun, windows: Windows, sigmas: Reals) -> tuple[Reals, Reals]:
    data = windows.recording.values[window_run.index]
    present = np.isfinite(data).ravel()
    r = ((window_run.values - data) / sigmas).ravel()[present]
    by = (window_run.by / sigmas[:, None]).reshape(-1, window_run.by.shape[2])[present]
    return r, by


def shoot(
    problem: EstimationProblem, theta: Reals, chains: Sequence[Chain], noise: Noise, loss: Loss | None
) -> ShootingState | None:
    """Run all windows; None if one does not reach its end."""
    p, _ = problem.parameters(theta)
    window_runs = []
    for chain in chains:
        found = chain.window_runs(p)
        if found is None:
            return None
        window_runs.append(found)
    return shot_of(problem, theta, chains, window_runs, noise, loss)


def shot_of(
    problem: EstimationProblem,
    theta: Reals,
    chains: Sequence[Chain],
    window_runs: Sequence[list[WindowRun]],
    noise: Noise,
    loss: Loss | None,
) -> ShootingState:
    p, by = problem.parameters(theta)
    by = np.hstack([by, np.zeros((len(by), len(theta) - by.shape[1]))])
    rows, counts, zetas = [], [], []
    readings = problem.readings(theta)
    for chain, found, gap in zip(chains, window_runs, noise.gaps, strict=True):
        zeta = chain.zeta(p)
        made = [
            _rows(chain, i, one, zeta, noise.sigmas, gap, by, problem.by_sensors(one.quantities, one.rates, readings))
            for i, one in enumerate(found)
        ]
        rows.append([r for r, _ in made])
        counts.append([n for _, n in made])
        zetas.append(zeta)
    return ShootingState(
        theta,
        tuple(chains),
        tuple(zetas),
        tuple(window_runs),
        tuple(rows),
        tuple(counts),
        prior_rows(problem, theta),
        noise,
        loss,
    )


def _rows(
    chain: Chain,
    i: int,
    window_run: WindowRun,
    zeta: Reals,
    sigmas: Reals,
    gap: Reals,
    by: Reals,
    by_sensors: Reals,
) -> tuple[WindowRows, int]:
    """White rows of one window (measurements, input samples, gap at its end), and the number of measurements."""
    d, last = zeta.shape[1], i + 1 == len(zeta)
    layout = chain.windows.layout
    acting, at_start, own_samples = layout.acting(i)
    own = chain.eliminated(i)
    data = chain.windows.recording.values[window_run.index]
    present = np.isfinite(data).ravel()
    n, ends = int(present.sum()), 0 if last else d
    scale = np.concatenate([np.broadcast_to(sigmas, data.shape).ravel()[present], gap[:ends]])[:, None]
    jacobian = np.vstack([window_run.by.reshape(-1, window_run.by.shape[2])[present], window_run.end_by[:ends]]) / scale
    by_samples = np.vstack([window_run.by_samples[:-d][present], window_run.by_samples[-d:][:ends]]) / scale
    missed = (window_run.values - data).ravel()[present], (window_run.end - zeta[i + 1] if not last else np.zeros(0))
    side = np.concatenate(missed) / scale[:, 0]
    after = np.zeros((n + ends, 0 if last else d + len(acting) - own_samples))
    after[n:, :ends] = -np.diag(1.0 / gap[:ends])
    after[:, ends:] = by_samples[:, own_samples:]
    mine = acting[:own_samples]
    common = jacobian[:, d:] @ by
    common[:n] += by_sensors.reshape(-1, by_sensors.shape[2])[present] / scale[:n]
    if i == 0:
        common[:, chain.columns] = jacobian[:, chain.named]
    rows = WindowRows(
        _with_samples(np.hstack([jacobian[:, own], by_samples[:, :own_samples]]), n, np.diag(1.0 / chain.recorded.sigmas[mine])),
        _with_samples(after, n, np.zeros((len(mine), 0))),
        _with_samples(common, n, np.zeros((len(mine), 0))),
        np.concatenate([side[:n], ((chain.samples - chain.recorded.values) / chain.recorded.sigmas)[mine], side[n:]]),
        len(own) + at_start,
    )
    return rows, n


def _with_samples(matrix: Reals, n: int, block: Reals) -> Reals:
    """Insert rows for input samples after the first n, with their block in the last columns."""
    rows = np.zeros((len(block), matrix.shape[1]))
    rows[:, matrix.shape[1] - block.shape[1] :] = block
    return np.vstack([matrix[:n], rows, matrix[n:]])
