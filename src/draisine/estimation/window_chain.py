"""Windows of experiments run at some parameters, and the white rows of least squares that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.experiment_data import Samples
from draisine.estimation.losses import Loss, cost_of, weighed
from draisine.estimation.problem import Posed, prior_rows
from draisine.estimation.window_chain import Eliminated, Rows, eliminate
from draisine.estimation.windows import Passage, Windows

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chain:
    """The windows of one experiment with the states at their starts, and what noisy inputs are taken to have been."""

    windows: Windows
    spread: Reals
    states: Reals  # (windows, states)
    samples: Reals  # of noisy inputs
    recorded: Samples
    known_start: bool

    def zeta(self, p: Reals) -> Reals:
        w = self.windows
        return w.tangent.values(w.begins, self.states, w.inputs, p)

    def moved(self, p: Reals, zeta: Reals, changes: Sequence[Reals]) -> Chain | None:
        """By changes of every window's deviations and samples; None where no such states are."""
        wanted, samples, d = zeta.copy(), self.samples.copy(), zeta.shape[1]
        for i, change in enumerate(changes):
            own = 0 if i == 0 and self.known_start else d
            wanted[i, :own] += change[:own]
            samples[self.own(i)] += change[own:]
        windows = self.windows.with_samples(samples)
        found = windows.tangent.settled(windows.begins, self.states, windows.inputs, p, wanted)
        return None if found is None else replace(self, windows=windows, states=found, samples=samples)

    def passages(self, p: Reals) -> list[Passage] | None:
        return self.windows.passages(range(self.windows.count), self.states, p)

    def own(self, i: int) -> NDArray[np.intp]:
        """Samples of inputs that count as window i's: at its start, and inside."""
        which, _, count = self.windows.layout.acting(i)
        return which[:count]

    def sizes(self, i: int) -> Reals:
        """How far the unknowns of window i may be moved at once."""
        spread = self.spread[:0] if i == 0 and self.known_start else self.spread
        return np.concatenate([spread, self.recorded.sigmas[self.own(i)]])


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviations of channels, and what gaps of every experiment are divided by."""

    sigmas: Reals
    gaps: tuple[Reals, ...]


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
    return Rows(own, after, common, np.concatenate([side, rows.side[n:]]), rows.start)


def white(passage: Passage, windows: Windows, sigmas: Reals) -> tuple[Reals, Reals]:
    data = windows.recording.values[passage.index]
    present = np.isfinite(data).ravel()
    r = ((passage.values - data) / sigmas).ravel()[present]
    by = (passage.by / sigmas[:, None]).reshape(-1, passage.by.shape[2])[present]
    return r, by


def shoot(posed: Posed, theta: Reals, chains: Sequence[Chain], noise: Noise, loss: Loss | None) -> Shot | None:
    """Run all windows; None where one does not come to its end."""
    p, _ = posed.parameters(theta)
    passages = []
    for chain in chains:
        found = chain.passages(p)
        if found is None:
            return None
        passages.append(found)
    return shot_of(posed, theta, chains, passages, noise, loss)


def shot_of(
    posed: Posed,
    theta: Reals,
    chains: Sequence[Chain],
    passages: Sequence[list[Passage]],
    noise: Noise,
    loss: Loss | None,
) -> Shot:
    p, by = posed.parameters(theta)
    rows, counts, zetas = [], [], []
    for chain, found, gap in zip(chains, passages, noise.gaps, strict=True):
        zeta = chain.zeta(p)
        made = [_rows(chain, i, passage, zeta, noise.sigmas, gap, by) for i, passage in enumerate(found)]
        rows.append([r for r, _ in made])
        counts.append([n for _, n in made])
        zetas.append(zeta)
    return Shot(
        theta, tuple(chains), tuple(zetas), tuple(passages), tuple(rows), tuple(counts), prior_rows(posed, theta), noise, loss
    )


def _rows(chain: Chain, i: int, passage: Passage, zeta: Reals, sigmas: Reals, gap: Reals, by: Reals) -> tuple[Rows, int]:
    """White rows of one window, and how many of them are measurements: these, samples of its inputs, the gap at its end."""
    d, last = zeta.shape[1], i + 1 == len(zeta)
    layout = chain.windows.layout
    acting, at_start, own_samples = layout.acting(i)
    own = 0 if i == 0 and chain.known_start else d
    data = chain.windows.recording.values[passage.index]
    present = np.isfinite(data).ravel()
    n, ends = int(present.sum()), 0 if last else d
    scale = np.concatenate([np.broadcast_to(sigmas, data.shape).ravel()[present], gap[:ends]])[:, None]
    jacobian = np.vstack([passage.by.reshape(-1, passage.by.shape[2])[present], passage.end_by[:ends]]) / scale
    pushed = np.vstack([passage.pushed[:-d][present], passage.pushed[-d:][:ends]]) / scale
    missed = (passage.values - data).ravel()[present], (passage.end - zeta[i + 1] if not last else np.zeros(0))
    side = np.concatenate(missed) / scale[:, 0]
    after = np.zeros((n + ends, 0 if last else d + len(acting) - own_samples))
    after[n:, :ends] = -np.diag(1.0 / gap[:ends])
    after[:, ends:] = pushed[:, own_samples:]
    mine = acting[:own_samples]
    rows = Rows(
        _with_samples(
            np.hstack([jacobian[:, d - own : d], pushed[:, :own_samples]]), n, np.diag(1.0 / chain.recorded.sigmas[mine])
        ),
        _with_samples(after, n, np.zeros((len(mine), 0))),
        _with_samples(jacobian[:, d:] @ by, n, np.zeros((len(mine), 0))),
        np.concatenate([side[:n], ((chain.samples - chain.recorded.values) / chain.recorded.sigmas)[mine], side[n:]]),
        own + at_start,
    )
    return rows, n


def _with_samples(matrix: Reals, n: int, block: Reals) -> Reals:
    """Rows for samples of inputs after the first n, their block in the last columns."""
    rows = np.zeros((len(block), matrix.shape[1]))
    rows[:, matrix.shape[1] - block.shape[1] :] = block
    return np.vstack([matrix[:n], rows, matrix[n:]])
