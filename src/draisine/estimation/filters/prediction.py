"""Prediction between samples: propagation of state, deviations and process noise.

Motion and deviations are integrated together by the exact variational equations, on compiled kernels. With S(s) the chart's
tangent vectors propagated to time s, white noise with input matrix B(s) adds

    Q = ∫ M(s) M(s)ᵀ ds,    M(s) = Φ S(s)⁺ B(s),    Φ = L₁ᵀ S(t₁),

where S⁺ maps tangent vectors back to the start, and L₁ gives coordinates of the chart at the end; only independent states
enter. The integral uses Kronrod's seven points; where they differ from Gauss's three, the interval is halved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.filters.chart import Chart, Manifold, symmetric
from draisine.estimation.filters.process_noise import Noise, independent_states
from draisine.estimation.tangent_coordinates import usual_size
from draisine.numerics.runge_kutta import gauss_kronrod
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.program.variational import Direction, split
from draisine.results.status import Ending
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.selection import Method
from draisine.simulation.result import Run
from draisine.simulation.run import integrate
from draisine.simulation.sensitivity import integrate_varied

Reals = NDArray[np.float64]

FINE = DOP853(rtol=1e-10, atol=1e-12)
STIFF = Radau(rtol=1e-10, atol=1e-12)  # for 0 = F(t, x, ẋ)
ENOUGH = 1e-5  # relative difference of three and seven points; the error of seven points is about its square
UNTOUCHED = 1e-10  # of the largest noise: smaller components are rounding, and are compared with that size
FADED = 1e-6  # decay of a deviation beyond which it cannot be inverted
HALVINGS = 12


NODES, KRONROD, GAUSS = gauss_kronrod()


@lru_cache(maxsize=32)
def without_events(equations: Equations) -> Equations:
    """The equations with fixed velocity coordinates and without events."""
    return replace(equations, monitor=None, alternates=(), with_independent=None, events=None, event_list=())


@lru_cache(maxsize=32)
def _compiled(equations: Equations) -> VelocityChoices:
    return prepare(equations)


@dataclass(frozen=True, eq=False)
class Transition:
    """The propagated chart, the transition matrix ∂ξ₁/∂ξ₀, and the covariance added by noise."""

    end: Chart
    matrix: Reals
    added: Reals


@dataclass(frozen=True, eq=False)
class Propagator:
    """Propagates states between samples: equations, recorded inputs, process noise."""

    manifold: Manifold
    recording: Recording
    noise: Noise
    method: Method

    @staticmethod
    def usual(equations: Equations, largest: float) -> Method:
        """The default integration method for these equations; its absolute tolerance follows the largest state where all of
        them are small."""
        method = STIFF if isinstance(equations.dynamics, DaeResidual) else FINE
        return replace(method, atol=float(np.min(method.atol)) * usual_size(largest))

    @property
    def equations(self) -> Equations:
        return self.manifold.equations

    @cached_property
    def _driven(self) -> Equations:
        return self.recording.with_recorded_inputs(self.equations)

    def u(self, t: float) -> Reals:
        """Inputs at a time."""
        return np.asarray(self.recording.inputs_at(np.array([t]))[0])

    def chart(self, t: float, x: Reals) -> Chart:
        return self.manifold.chart(t, x, self.u(t))

    def point(self, chart: Chart, change: Reals) -> Reals:
        return self.manifold.point(chart, change, self.u(chart.t))

    def points(self, chart: Chart, changes: Reals) -> Reals:
        return self.manifold.points(chart, changes, self.u(chart.t))

    def propagate(self, t: float, x: Reals, until: float) -> Reals:
        """A state propagated to a later time."""
        run = integrate(
            _compiled(self._driven),
            x,
            until,
            start=t,
            parameters=self.manifold.p,
            inputs=self.recording.constant_inputs(),
            method=self.method,
            samples=[until],
            control=self.recording.control,
        )
        self._require(run, t, until)
        return self._settled(until, run.final_state)

    def _settled(self, t: float, x: Reals) -> Reals:
        """The final state projected onto the constraints to rounding: integration satisfies them to its tolerance."""
        chart = self.chart(t, x)
        return self.point(chart, np.zeros(chart.tangent.shape[1]))

    def _require(self, run: Run, t: float, until: float) -> None:
        if run.status.kind != Ending.FINISHED:
            raise SolverError(
                f"{self.equations.name}: from the estimate at t = {t:g} s the motion does not reach the sample at "
                f"t = {until:g} s: {run.status}; improve the start, or give its uncertainty (spread=…)"
            )

    def transition(self, chart: Chart, until: float, depth: int = 0) -> Transition:
        """Propagate state, deviations and noise."""
        t, count = chart.t, chart.tangent.shape[1]
        times = 0.5 * (t + until + (until - t) * NODES) if self.noise else np.zeros(0)
        run = integrate_varied(
            self._driven,
            chart.x,
            chart.tangent,
            until,
            tuple(Direction(f"deviation {i + 1}", "x") for i in range(count)),
            start=t,
            parameters=self.manifold.p,
            inputs=self.recording.constant_inputs(),
            method=self.method,
            samples=np.append(times, until),
            control=self.recording.control,
        )
        self._require(run.run, t, until)
        x, s = (np.concatenate(parts) for parts in zip(*_parts(run.run, len(chart.x), count), strict=True))
        end = self.chart(until, self._settled(until, x[-1]))
        matrix = end.reading.T @ s[-1]
        added = self._added(chart, times, x[:-1], s, matrix) if self.noise else np.zeros((count, count))
        return self._halved(chart, until, depth) if added is None else Transition(end, matrix, added)

    def _added(self, chart: Chart, times: Reals, x: Reals, s: Reals, matrix: Reals) -> Reals | None:
        """Q, or None if the interval is too long for its quadrature."""
        if np.abs(np.linalg.eigvals(chart.reading.T @ s[-1])).min() < FADED:
            return None
        entering = self.noise.input_matrix(times, x, self.recording.inputs_at(times), self.manifold.p)
        counts = independent_states(self.equations)
        through = matrix @ np.linalg.pinv(s[:-1, counts]) @ entering[:, counts]
        half = (times[-1] - times[0]) / (NODES[-1] - NODES[0])
        terms = half * through @ np.swapaxes(through, 1, 2)
        added, rough = (np.tensordot(weights, terms, axes=1) for weights in (KRONROD, GAUSS))
        sizes = np.sqrt(np.diag(added))
        scale = np.outer(sizes, sizes) + UNTOUCHED * max(float(sizes.max()) ** 2, 1e-300)
        return symmetric(added) if np.abs((added - rough) / scale).max() <= ENOUGH else None

    def _halved(self, chart: Chart, until: float, depth: int) -> Transition:
        if depth == HALVINGS:
            raise SolverError(
                f"{self.equations.name}: between t = {chart.t:g} s and {until:g} s deviations change too fast for noise; "
                "do not put noise on stiff parts of the model"
            )
        first = self.transition(chart, 0.5 * (chart.t + until), depth + 1)
        second = self.transition(first.end, until, depth + 1)
        onward = second.matrix
        return Transition(second.end, onward @ first.matrix, symmetric(onward @ first.added @ onward.T + second.added))


def _parts(run: Run, count: int, directions: int) -> list[tuple[Reals, Reals]]:
    return [split(s.states, count, directions) for s in run.segments if len(s.times)]
