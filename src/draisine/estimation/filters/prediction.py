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

    def then(self, later: Transition) -> Transition:
        """Both, one after the other."""
        onward = later.matrix
        return Transition(later.end, onward @ self.matrix, symmetric(onward @ self.added @ onward.T + later.added))


@dataclass(frozen=True, eq=False)
class Propagator:
    """Propagates states between samples: equations, recorded inputs, process noise."""

    manifold: Manifold
    p: Reals
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

    def chart(self, t: float, x: Reals, p: Reals) -> Chart:
        return self.manifold.chart(t, x, self.u(t), p)

    def points(self, chart: Chart, changes: Reals, covariance: Reals) -> Reals:
        """The states with coordinates ξ, (points, coordinates), of errors with this covariance."""
        del covariance  # it matters where states are restricted by more than equations
        return self.manifold.points(chart, changes, self.u(chart.t))

    def moved(self, chart: Chart, change: Reals, covariance: Reals) -> Chart:
        """The chart about the state with coordinates ξ, whose errors have this covariance in the coordinates of the old one."""
        return self.chart(chart.t, self.points(chart, change[None], covariance)[0], chart.p)

    def propagate(self, chart: Chart, states: Reals, end: Chart) -> tuple[Reals, Chart]:
        """States near that of a chart, (points, states), propagated to the time of `end`, the chart to which its own state comes;
        and the chart about that with the constraints which all of them satisfy."""
        return np.array([self._propagated(chart.t, x, end.t) for x in states]).reshape(len(states), len(chart.x)), end

    def _propagated(self, t: float, x: Reals, until: float) -> Reals:
        run = integrate(
            _compiled(self._driven),
            x,
            until,
            start=t,
            parameters=self.p,
            inputs=self.recording.constant_inputs(),
            method=self.method,
            samples=[until],
            control=self.recording.control,
        )
        self.require(run, t, until)
        return self.settled(until, run.final_state, self.p)

    def settled(self, t: float, x: Reals, p: Reals) -> Reals:
        """A state projected onto the constraints to rounding: integration satisfies them to its tolerance."""
        chart = self.chart(t, x, p)
        return self.manifold.points(chart, np.zeros((1, chart.tangent.shape[1])), self.u(t))[0]

    def require(self, run: Run, t: float, until: float) -> None:
        if run.status.kind != Ending.FINISHED:
            raise SolverError(
                f"{self.equations.name}: from the estimate at t = {t:g} s the motion does not reach the sample at "
                f"t = {until:g} s: {run.status}; improve the start, or give its uncertainty (spread=…)"
            )

    def transition(self, chart: Chart, until: float) -> Transition:
        """Propagate state, deviations and noise."""
        return self.smooth_transition(self._driven, chart, until)

    def smooth_transition(self, equations: Equations, chart: Chart, until: float, depth: int = 0) -> Transition:
        """The same for equations without jumps, with recorded inputs."""
        t, count = chart.t, chart.tangent.shape[1]
        times = 0.5 * (t + until + (until - t) * NODES) if self.noise else np.zeros(0)
        run = integrate_varied(
            equations,
            chart.x,
            chart.tangent,
            until,
            tuple(Direction(f"deviation {i + 1}", "x") for i in range(count)),
            start=t,
            parameters=chart.p,
            inputs=self.recording.constant_inputs(),
            method=self.method,
            samples=np.append(times, until),
            control=self.recording.control,
        )
        self.require(run.run, t, until)
        x, s = (np.concatenate(parts) for parts in zip(*_parts(run.run, len(chart.x), count), strict=True))
        end = self.chart(until, self.settled(until, x[-1], chart.p), chart.p)
        matrix = end.reading.T @ s[-1]
        added = self._added(chart, times, x[:-1], s, matrix) if self.noise else np.zeros((count, count))
        return self._halved(equations, chart, until, depth) if added is None else Transition(end, matrix, added)

    def _added(self, chart: Chart, times: Reals, x: Reals, s: Reals, matrix: Reals) -> Reals | None:
        """Q, or None if the interval is too long for its quadrature."""
        if not len(matrix):  # contacts leave no freedom
            return np.zeros((0, 0))
        if np.abs(np.linalg.eigvals(chart.reading.T @ s[-1])).min() < FADED:
            return None
        entering = self.noise.input_matrix(times, x, self.recording.inputs_at(times), chart.p)
        counts = independent_states(self.equations)
        through = matrix @ np.linalg.pinv(s[:-1, counts]) @ entering[:, counts]
        half = (times[-1] - times[0]) / (NODES[-1] - NODES[0])
        terms = half * through @ np.swapaxes(through, 1, 2)
        added, rough = (np.tensordot(weights, terms, axes=1) for weights in (KRONROD, GAUSS))
        sizes = np.sqrt(np.diag(added))
        scale = np.outer(sizes, sizes) + UNTOUCHED * max(float(sizes.max()) ** 2, 1e-300)
        return symmetric(added) if np.abs((added - rough) / scale).max() <= ENOUGH else None

    def _halved(self, equations: Equations, chart: Chart, until: float, depth: int) -> Transition:
        if depth == HALVINGS:
            raise SolverError(
                f"{self.equations.name}: between t = {chart.t:g} s and {until:g} s deviations change too fast for noise; "
                "do not put noise on stiff parts of the model"
            )
        first = self.smooth_transition(equations, chart, 0.5 * (chart.t + until), depth + 1)
        return first.then(self.smooth_transition(equations, first.end, until, depth + 1))


def _parts(run: Run, count: int, directions: int) -> list[tuple[Reals, Reals]]:
    return [split(s.states, count, directions) for s in run.segments if len(s.times)]
