"""One experiment cut into windows: each is run from a start of its own, with exact derivatives by that start and the parameters.

What is left between the end of a window and the start of the next is a gap. A recorded input with noise drives the motion by what
was recorded, not by what acted; the noise w of its samples moves measurements and ends of windows by G w: within a window

    cov(residuals, gap) = diag(σ²) ⊕ diag(tolerance²) + G σ_w² Gᵀ,

and rows are made white by the Cholesky factor of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.estimation.observing import observer
from draisine.estimation.recording import Recording
from draisine.estimation.tangent import Tangent
from draisine.program.equations import Equations
from draisine.program.variational import Direction
from draisine.results.status import Ending
from draisine.simulation.methods import Method
from draisine.simulation.sensitivity import integrate_varied
from draisine.stability.deviations import deviations_of

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Passage:
    """One window run from its start. `index` are the recording's instants inside; derivatives are by ζ of the start, then by the
    varied parameters."""

    index: NDArray[np.intp]
    values: Reals  # (instants, channels)
    by: Reals  # (instants, channels, directions)
    end: Reals  # ζ
    end_by: Reals  # (names, directions)
    noise: Reals | None  # G: of all values in order, then of the end, by noisy samples of inputs in standard deviations


@dataclass(frozen=True, eq=False)
class Windows:
    """An experiment, the edges of its windows, and the tangent in which their starts are told."""

    recording: Recording
    tangent: Tangent
    edges: Reals
    method: Method | None

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def inputs(self) -> Reals:
        """Of the model at the beginnings of windows."""
        return self.recording.given(self.edges[:-1])

    @cached_property
    def equations(self) -> Equations:
        return self.recording.moved_by(self.tangent.equations)

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        return (*(Direction(n, "x") for n in self.tangent.names), *self.tangent.varied)

    @cached_property
    def indices(self) -> list[NDArray[np.intp]]:
        """Instants of the recording in every window; an instant on an edge belongs to the window that begins there."""
        window = np.clip(np.searchsorted(self.edges, self.recording.times, side="right") - 1, 0, self.count - 1)
        return [np.flatnonzero(window == i) for i in range(self.count)]

    @cached_property
    def noisy(self) -> list[tuple[int, float]]:
        """Recorded inputs with noise: place among the model's inputs, standard deviation."""
        names = [q.name for q in self.recording.equations.inputs]
        return [(names.index(n), sigma) for n, (_, sigma) in self.recording.recorded.items() if sigma is not None]

    @cached_property
    def _through(self) -> tuple[Direction, ...]:
        """Directions of noisy inputs where they enter the driven equations directly."""
        names, made = [q.name for q in self.recording.equations.inputs], [q.name for q in self.equations.inputs]
        return tuple(Direction(f"{names[i]}_0", "u", made.index(f"{names[i]}_0")) for i, _ in self.noisy)

    def rows_at(self, t: Reals) -> Reals:
        """Inputs of the driven equations at instants."""
        r = self.recording
        if not r.recorded:
            return np.broadcast_to(r.constant_inputs(), (len(t), len(self.equations.inputs)))
        return r.rows[np.clip(np.searchsorted(r.knots, t, side="right") - 1, 0, len(r.knots) - 1)]

    def passages(self, places: Sequence[int], x: Reals, p: Reals, with_noise: bool = False) -> list[Passage] | None:
        """Run some windows from states x, (windows, states); None where one does not come to its end."""
        which = list(places)
        edges = self.edges[which]
        slopes = self.tangent.spans(edges, x, self.inputs[which], p)
        runs = []
        for i, state, slope in zip(which, x, slopes, strict=True):
            run = self._run(i, state, slope, p, with_noise)
            if run is None:
                return None
            runs.append(run)
        return self._told(which, runs, p, with_noise)

    def passage(self, i: int, x: Reals, p: Reals) -> Passage | None:
        """Run window i from the state x; None where it does not come to its end."""
        found = self.passages([i], x[None], p)
        return None if found is None else found[0]

    def _run(self, i: int, x: Reals, slopes: Reals, p: Reals, with_noise: bool) -> tuple[Reals, Reals, Reals] | None:
        """Instants (those of the recording, knots of noisy inputs, the end), states, and their derivatives."""
        begin, end = float(self.edges[i]), float(self.edges[i + 1])
        grid = self.recording.times[self.indices[i]]
        if with_noise and self.noisy:
            knots = self.recording.knots
            grid = np.union1d(grid, np.concatenate([[begin], knots[(knots > begin) & (knots < end)]]))
        samples = grid if len(grid) and grid[-1] == end else np.append(grid, end)
        varied = integrate_varied(
            self.equations,
            x,
            slopes,
            end,
            self.directions,
            sizes=np.concatenate([np.ones(len(self.tangent.names)), [abs(p[d.place]) or 1.0 for d in self.tangent.varied]]),
            start=begin,
            parameters=p,
            inputs=self.rows_at(self.edges[i : i + 1])[0],
            method=self.method,
            samples=samples,
            control=self.recording.control,
        )
        if varied.run.status.kind != Ending.FINISHED or not np.isfinite(varied.run.final_state).all():
            return None
        return samples, varied.plain().states, varied.derivatives()[0]

    def _told(
        self, which: Sequence[int], runs: Sequence[tuple[Reals, Reals, Reals]], p: Reals, with_noise: bool
    ) -> list[Passage]:
        """What is measured and where windows end, with derivatives; all windows at once."""
        names, tangent = tuple(c.quantity for c in self.recording.channels), self.tangent
        own, varied = len(tangent.names), len(tangent.varied)
        samples, states, carried = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        y, by_state, by_given = observer(self.equations, names, (*tangent.varied, *self._through))(
            samples, states, self.rows_at(samples), p
        )
        by = by_state @ carried
        by[:, :, own:] += by_given[:, :, :varied]
        given = self.recording.given(samples)
        noisy = with_noise and bool(self.noisy)
        ends = np.cumsum([len(run[0]) for run in runs])
        last = np.arange(len(samples)) if noisy else ends - 1  # where ζ is asked for
        zeta, rows, by_parameter = tangent.rows(samples[last], states[last], given[last], p)
        told = rows @ carried[last]
        told[:, :, own:] += by_parameter
        seen = by_state @ tangent.spans(samples, states, given, p)[:, :, :own] if noisy else by_state
        found = []
        for k, (i, end) in enumerate(zip(which, ends, strict=True)):
            here = slice(int(end) - len(runs[k][0]), int(end))
            at = np.searchsorted(samples[here], self.recording.times[self.indices[i]])
            noise = None
            if noisy:
                through = by_given[here, :, varied:]
                noise = self._noise(samples[here], states[here], told[here, :, :own], seen[here], through, at, p)
            final = int(end) - 1 if noisy else k
            found.append(Passage(self.indices[i], y[here][at], by[here][at], zeta[final], told[final], noise))
        return found

    def _noise(
        self, t: Reals, x: Reals, carried: Reals, observed: Reals, through: Reals, at: NDArray[np.intp], p: Reals
    ) -> Reals:
        """G, by the trapezoidal rule over the samples: (values at `at`, then ζ at the end) by (instants × noisy inputs)."""
        given = self.recording.given(t)
        tangent, n, d = self.tangent, len(t), carried.shape[1]
        slopes = deviations_of(tangent.equations, tangent.asked).slopes(float(t[0]), x, given, np.broadcast_to(p, (n, len(p))))
        names = [tangent.naming.chosen[tangent.naming.names.index(name)] for name in tangent.names]
        pushed = (slopes.names[:, names] @ slopes.by_input)[:, :, [i for i, _ in self.noisy]] * np.array(
            [s for _, s in self.noisy]
        )
        back = np.linalg.solve(carried, pushed)  # in terms of the window's start
        steps = np.diff(t)
        moved = np.zeros((n, d, n, len(self.noisy)))
        for j in range(1, n):
            weights = np.zeros(n)
            weights[:j] += 0.5 * steps[:j]
            weights[1 : j + 1] += 0.5 * steps[:j]
            moved[j] = np.einsum("ab,kbm,k->akm", carried[j], back, weights)
        seen = np.einsum("jca,jakm->jckm", observed, moved)
        seen[range(n), :, range(n)] += through * np.array([s for _, s in self.noisy])
        return np.concatenate([seen[at].reshape(-1, n * len(self.noisy)), moved[-1].reshape(d, -1)])


def edges_of(recording: Recording, length: float) -> Reals:
    """Edges of windows of about a length, at instants of the recording; the last one ends with the recording."""
    times = recording.times
    last = float(times[-1])
    count = max(round(last / length), 1)
    wanted = np.linspace(0.0, last, count + 1)[1:-1]
    inside = times[np.searchsorted(times, wanted)] if len(wanted) else np.zeros(0)
    edges = np.unique(np.concatenate([[0.0], inside, [last]]))
    return edges


def whiteners(passages: Sequence[Passage], windows: Windows, sigmas: Reals, tolerance: Reals) -> list[Reals]:
    """What makes every window's residuals and gap white; the last window has no gap."""
    found = []
    for i, passage in enumerate(passages):
        present = np.isfinite(windows.recording.values[passage.index]).ravel()
        spread = np.broadcast_to(sigmas, passage.values.shape).ravel()[present]
        last = i == len(passages) - 1
        everything = spread if last else np.concatenate([spread, tolerance])
        covariance = np.diag(everything**2)
        if passage.noise is not None:
            g = passage.noise[: -len(tolerance)][present]
            g = g if last else np.vstack([g, passage.noise[-len(tolerance) :]])
            covariance = covariance + g @ g.T
        found.append(np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), dtype=np.float64))
    return found
