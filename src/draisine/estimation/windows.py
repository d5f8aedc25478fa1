"""Windows of one experiment: each is run from its own start, with exact derivatives by that start, by parameters and by the
samples of noisy inputs.

The difference between the end of a window and the start of the next is a gap. Inputs are polynomials between their samples.
With Z the derivatives of the named deviations ζ by those of the window's start, and P those by the coefficients of an input,
changed equally in all intervals, the growth of Z⁻¹P from one sample to the next is the effect of that interval alone, in
terms of the start. A few directions per input therefore give the derivatives by all of its samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel, compile
from draisine.estimation.batched_rk import BatchedRungeKutta, supports_batching
from draisine.estimation.collocation import CollocationScheme, CollocationSolver
from draisine.estimation.experiment_data import Recording
from draisine.estimation.measurement import measured_rates, measurement_function
from draisine.estimation.sensors import Readings
from draisine.estimation.tangent_coordinates import TangentCoordinates
from draisine.estimation.window_layout import WindowLayout
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.switching import jumps_of
from draisine.program.variational import Direction, split
from draisine.results.status import Ending
from draisine.simulation.methods.selection import Method
from draisine.simulation.sensitivity import integrate_varied, toleranced, varied

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WindowRun:
    """One window run from its start. `index` are indices of its measurements; derivatives are by ζ of the start, then by the
    varied parameters."""

    index: NDArray[np.intp]
    values: Reals  # (instants, channels)
    by: Reals  # (instants, channels, directions)
    end: Reals  # ζ
    end_by: Reals  # (names, directions)
    by_samples: Reals  # all values in order, then ζ at the end, by the input samples that act in the window
    quantities: Reals  # without the properties of sensors, like `values`
    rates: Reals  # of the quantities, NaN unless a sensor has an unknown shift in time


@dataclass(frozen=True, eq=False)
class Windows:
    """An experiment, its layout of windows, and the tangent coordinates of starts."""

    recording: Recording
    layout: WindowLayout
    tangent: TangentCoordinates
    stepping: Method | CollocationScheme
    varied: tuple[Direction, ...]  # parameters
    readings: Readings  # of the sensors
    shifting: bool = False  # whether a sensor has an unknown shift in time

    @property
    def count(self) -> int:
        return self.layout.count

    @property
    def begins(self) -> Reals:
        return self.layout.edges[:-1]

    @cached_property
    def inputs(self) -> Reals:
        """Inputs of the model at the beginnings of windows."""
        return self.recording.inputs_at(self.begins)

    @cached_property
    def equations(self) -> Equations:
        return self.recording.with_recorded_inputs(self.tangent.equations)

    @cached_property
    def _batchable(self) -> bool:
        """Whether windows can be stepped side by side: not where derivatives jump at switches."""
        return not isinstance(self.equations.dynamics, DaeResidual) and not jumps_of(self.equations)

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """Deviations of the start, parameters, then coefficients of noisy inputs, constants first."""
        made = [q.name for q in self.equations.inputs]
        pushing = [f"{name}_{k}" for k in range(self.recording.degree + 1) for name, _ in self.recording.noisy]
        own = (Direction(n, "x") for n in self.tangent.names)
        return (*own, *self.varied, *(Direction(n, "u", made.index(n)) for n in pushing))

    def with_samples(self, values: Reals) -> Windows:
        """With other values of noisy inputs."""
        return replace(self, recording=self.recording.with_samples(values)) if len(values) else self

    def with_readings(self, readings: Readings) -> Windows:
        """With other properties of the sensors, by which some measurements move in time."""
        change = readings.shift - self.readings.shift
        if not change.any():
            return replace(self, readings=readings)
        recording = self.recording.moved(change)
        layout = WindowLayout.of(recording, self.layout.edges, self.layout.breaks)
        return replace(self, recording=recording, layout=layout, readings=readings)

    def rows_at(self, t: Reals) -> Reals:
        """Polynomial inputs of the equations at given times."""
        r = self.recording
        if not r.recorded:
            return np.broadcast_to(r.constant_inputs(), (len(t), len(self.equations.inputs)))
        return r.rows[np.clip(np.searchsorted(r.knots, t, side="right") - 1, 0, len(r.knots) - 1)]

    def bare(self) -> Windows:
        """The same with derivatives by deviations of the starts only."""
        recorded = {name: replace(drive, sigma=None) for name, drive in self.recording.recorded.items()}
        recording = replace(self.recording, recorded=recorded)
        layout = WindowLayout.of(recording, self.layout.edges, self.layout.breaks)
        return replace(self, recording=recording, layout=layout, varied=())

    def window_runs(self, indices: Sequence[int], x: Reals, p: Reals) -> list[WindowRun] | None:
        """Run some windows from states x, (windows, states); None if one does not reach its end."""
        which = list(indices)
        initial_jacobian = np.zeros((len(which), x.shape[1], len(self.directions)))
        spans = self.tangent.spans(self.begins[which], x, self.inputs[which], p)
        known = len(self.tangent.names) + len(self.varied)
        initial_jacobian[:, :, :known] = spans[:, :, :known]
        if isinstance(self.stepping, CollocationScheme):
            runs = self._collocated(which, x.copy(), initial_jacobian, self.stepping, p)
        elif len(which) > 1 and supports_batching(self.stepping) and self._batchable:
            runs = self._batched(which, x, initial_jacobian, p)
        else:
            runs = self._sequential(which, x, initial_jacobian, p)
        if runs is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # of parameters that are tried and given up
            return self._reported(which, *runs, p)

    def window_run(self, i: int, x: Reals, p: Reals) -> WindowRun | None:
        """Run window i from the state x; None if it does not reach its end."""
        found = self.window_runs([i], x[None], p)
        return None if found is None else found[0]

    # ------------------------------------------------------------ runs

    def _sizes(self, p: Reals) -> Reals:
        """Sizes of the directions, for tolerances."""
        parameters = [abs(p[d.place]) or 1.0 for d in self.varied]
        pushing = len(self.directions) - len(self.tangent.names) - len(parameters)
        return np.concatenate([np.ones(len(self.tangent.names)), parameters, np.ones(pushing)])

    def _batched(self, which: Sequence[int], x: Reals, initial_jacobian: Reals, p: Reals) -> tuple[Reals, Reals] | None:
        """States and their derivatives at the grids of all windows, concatenated."""
        assert not isinstance(self.stepping, CollocationScheme)
        method = toleranced(self.stepping, x.shape[1], self._sizes(p))
        assert supports_batching(method)
        grids = [self.layout.grids[i] for i in which]
        lengths = [len(g) for g in grids]
        times = np.array([np.append(g, np.full(max(lengths) - len(g), g[-1])) for g in grids])
        inputs = self.rows_at(times.ravel()).reshape(*times.shape, -1)
        wide = np.hstack([x, initial_jacobian.transpose(0, 2, 1).reshape(len(x), -1)])
        found = BatchedRungeKutta(_rates(self.equations, self.directions), method, p)(times, wide, inputs)
        if found is None:
            return None
        return split(np.concatenate([f[:n] for f, n in zip(found, lengths, strict=True)]), x.shape[1], len(self.directions))

    def _sequential(self, which: Sequence[int], x: Reals, initial_jacobian: Reals, p: Reals) -> tuple[Reals, Reals] | None:
        assert not isinstance(self.stepping, CollocationScheme)
        states, jacobian = [], []
        for i, state, sensitivity in zip(which, x, initial_jacobian, strict=True):
            grid = self.layout.grids[i]
            run = integrate_varied(
                self.equations,
                state,
                sensitivity,
                float(grid[-1]),
                self.directions,
                sizes=self._sizes(p),
                start=float(grid[0]),
                parameters=p,
                inputs=self.rows_at(grid[:1])[0],
                method=self.stepping,
                samples=grid,
                control=self.recording.control,
            )
            if run.run.status.kind != Ending.FINISHED or not np.isfinite(run.run.final_state).all():
                return None
            states.append(run.plain().states)
            jacobian.append(run.derivatives()[0])
        return np.concatenate(states), np.concatenate(jacobian)

    def _collocated(
        self, which: Sequence[int], x: Reals, initial_jacobian: Reals, scheme: CollocationScheme, p: Reals
    ) -> tuple[Reals, Reals] | None:
        """The same by collocation, with one polynomial per step, for all windows at once."""
        solver = CollocationSolver(self.equations, scheme, self.directions[len(self.tangent.names) :], p)
        steps, grids = [self.layout.steps[i] for i in which], [self.layout.grids[i] for i in which]
        states = [np.empty((len(g), x.shape[1])) for g in grids]
        carried = [np.empty((len(g), *initial_jacobian.shape[1:])) for g in grids]
        for k in range(max(len(s) for s in steps) - 1):
            active = [e for e, s in enumerate(steps) if len(s) > k + 1]
            begins, ends = np.array([steps[e][k] for e in active]), np.array([steps[e][k + 1] for e in active])
            spans = [slice(*np.searchsorted(grids[e], [a, b])) for e, a, b in zip(active, begins, ends, strict=True)]
            within = [
                (np.append(grids[e][span], b) - a) / (b - a) for e, span, a, b in zip(active, spans, begins, ends, strict=True)
            ]
            found = solver(begins, ends - begins, x[active], initial_jacobian[active], self.rows_at(begins), within)
            if found is None:
                return None
            for e, span, state, sensitivity in zip(active, spans, *found, strict=True):
                states[e][span.start : span.stop + 1], carried[e][span.start : span.stop + 1] = state, sensitivity
            x[active], initial_jacobian[active] = (np.array([part[-1] for part in parts]) for parts in found)
        return np.concatenate(states), np.concatenate(carried)

    # ------------------------------------------------------------ results

    def _reported(self, which: Sequence[int], states: Reals, carried: Reals, p: Reals) -> list[WindowRun]:
        """Measurements and ends of windows, with derivatives, for all windows at once."""
        names, tangent = tuple(c.quantity for c in self.recording.channels), self.tangent
        own, own_and_varied = len(tangent.names), len(tangent.names) + len(self.varied)
        grids = [self.layout.grids[i] for i in which]
        samples = np.concatenate(grids)
        through = self.directions[own_and_varied : own_and_varied + len(self.recording.noisy)]
        y, by_state, by_given = measurement_function(self.equations, names, (*self.varied, *through))(
            samples, states, self.rows_at(samples), p
        )
        quantities, nothing = y, np.full_like(y, np.nan)
        rates = measured_rates(self.equations, names, samples, states, self.rows_at(samples), p) if self.shifting else nothing
        y, scale = self.readings.of(y), self.readings.scale[:, None]
        by_state, by_given = by_state * scale, by_given * scale
        by = by_state @ carried
        by[:, :, own:own_and_varied] += by_given[:, :, : len(self.varied)]
        given, noisy = self.recording.inputs_at(samples), bool(self.recording.noisy)
        ends = np.cumsum([len(g) for g in grids])
        requested = np.arange(len(samples)) if noisy else ends - 1  # where ζ is needed
        zeta, rows, by_parameter = tangent.rows(samples[requested], states[requested], given[requested], p)
        reported = rows @ carried[requested]
        reported[:, :, own:own_and_varied] += by_parameter[:, :, : len(self.varied)]
        seen = by_state @ tangent.spans(samples, states, given, p)[:, :, :own] if noisy else by_state
        found = []
        for k, (i, end) in enumerate(zip(which, ends, strict=True)):
            span = slice(int(end) - len(grids[k]), int(end))
            index = self.layout.indices[i]
            at = np.searchsorted(grids[k], self.recording.times[index])
            by_samples = np.zeros((y[span][at].size + own, 0))
            if noisy:
                by_samples = self._by_samples(i, reported[span], seen[span][at], by_given[span, :, len(self.varied) :][at], at)
            final = int(end) - 1 if noisy else k
            found.append(
                WindowRun(
                    index,
                    y[span][at],
                    by[span][at][:, :, :own_and_varied],
                    zeta[final],
                    reported[final][:, :own_and_varied],
                    by_samples,
                    quantities[span][at],
                    rates[span][at],
                )
            )
        return found

    def _by_samples(self, i: int, reported: Reals, seen: Reals, through: Reals, at: NDArray[np.intp]) -> Reals:
        """Derivatives of values at `at`, then of ζ at the end, by the noisy input samples that act in window i."""
        layout, d, m = self.layout, len(self.tangent.names), len(self.recording.noisy)
        grid, knots, weights = layout.grids[i], layout.knots[layout.acting_knots[i]], layout.weights[i]
        back = np.linalg.solve(reported[:, :, :d], reported[:, :, -weights.shape[1] * m :])  # (instants, ζ, coefficients)
        requested = np.append(at, len(grid) - 1)
        begin = np.searchsorted(grid, knots)
        stop = np.append(begin[1:], len(grid) - 1)
        # effect of the intervals that begin at the knots until the requested times
        done = back[np.minimum(requested[:, None], stop)] - back[np.minimum(requested[:, None], begin)]
        done = done.reshape(len(requested), len(knots), d, weights.shape[1], m)
        which = layout.sample_inputs[layout.acting(i)[0]]
        by_start = np.empty((len(requested), d, len(which)))
        for a in range(m):
            flat = done[..., a].transpose(0, 2, 1, 3).reshape(len(requested) * d, -1)
            by_start[:, :, which == a] = (flat @ weights[:, :, which == a].reshape(flat.shape[1], -1)).reshape(
                len(requested), d, -1
            )
        values = (seen @ reported[at][:, :, :d]) @ by_start[:-1]
        if through.any():
            values += through[:, :, which] * layout.measurement_weights[i][:, None, :]
        return np.concatenate([values.reshape(-1, len(which)), reported[-1][:, :d] @ by_start[-1]])


@lru_cache(maxsize=32)
def _rates(equations: Equations, directions: tuple[Direction, ...]) -> Kernel:
    """(t, x and its derivatives, u, p) → their rates."""
    dynamics = varied(equations, directions).dynamics
    assert not isinstance(dynamics, DaeResidual)
    return compile(dynamics)
