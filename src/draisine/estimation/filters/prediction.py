"""From sample to sample: where a state goes, where its deviations go, and what noise adds on the way.

Motion and deviations are integrated together by the exact variational equations, on compiled kernels. With S(s) what the chart's
tangent vectors have become at time s, white noise that enters through B(s) adds

    Q = ∫ M(s) M(s)ᵀ ds,    M(s) = Φ S(s)⁺ B(s),    Φ = L₁ᵀ S(t₁),

where S⁺ tells tangent vectors by those at the start, and L₁ reads coordinates of the chart at the end; of both only states count
that tell the others. The integral is taken by Kronrod's seven points; where they differ from
Gauss's three among them the interval is halved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.estimation.experiment_data import Recording
from draisine.estimation.filters.chart import Chart, Manifold, symmetric
from draisine.estimation.filters.process_noise import Noise, counting
from draisine.numerics.runge_kutta import gauss_kronrod
from draisine.program.dae_residual import DaeResidual
from draisine.program.equations import Equations
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
ENOUGH = 1e-5  # relative difference of three and seven points; the error of the seven is about its square
UNTOUCHED = 1e-10  # of the largest noise: what is less has come into other directions by rounding, and is judged by that size
FADED = 1e-6  # where so little is left of a deviation, what it was cannot be told from it
HALVINGS = 12


NODES, KRONROD, GAUSS = gauss_kronrod()


@lru_cache(maxsize=32)
def held(equations: Equations) -> Equations:
    """The equations with their choice of velocities for good, and nothing that ends a run."""
    return replace(equations, monitor=None, alternates=(), with_independent=None, events=None, event_list=())


@lru_cache(maxsize=32)
def _compiled(equations: Equations) -> VelocityChoices:
    return prepare(equations)


@dataclass(frozen=True, eq=False)
class Passage:
    """Where a chart's origin has gone, ∂ξ₁/∂ξ₀, and the covariance that noise has added."""

    end: Chart
    matrix: Reals
    added: Reals


@dataclass(frozen=True, eq=False)
class Mover:
    """The model between samples: equations, the inputs that were recorded, noise."""

    manifold: Manifold
    recording: Recording
    noise: Noise
    method: Method

    @staticmethod
    def usual(equations: Equations) -> Method:
        """A method of integration that serves these equations."""
        return STIFF if isinstance(equations.dynamics, DaeResidual) else FINE

    @property
    def equations(self) -> Equations:
        return self.manifold.equations

    @cached_property
    def _driven(self) -> Equations:
        return self.recording.moved_by(self.equations)

    def u(self, t: float) -> Reals:
        """Inputs at an instant."""
        return np.asarray(self.recording.given(np.array([t]))[0])

    def chart(self, t: float, x: Reals) -> Chart:
        return self.manifold.chart(t, x, self.u(t))

    def point(self, chart: Chart, change: Reals) -> Reals:
        return self.manifold.point(chart, change, self.u(chart.t))

    def points(self, chart: Chart, changes: Reals) -> Reals:
        return self.manifold.points(chart, changes, self.u(chart.t))

    def moved(self, t: float, x: Reals, until: float) -> Reals:
        """Where a state goes."""
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
        """The state where it ends, on its constraints to rounding: integration keeps them to its tolerance."""
        chart = self.chart(t, x)
        return self.point(chart, np.zeros(chart.tangent.shape[1]))

    def _require(self, run: Run, t: float, until: float) -> None:
        if run.status.kind != Ending.FINISHED:
            raise SolverError(
                f"{self.equations.name}: from the estimate at t = {t:g} s the motion does not reach the sample at "
                f"t = {until:g} s: {run.status}; start closer to the truth, or say how uncertain the start is (spread=…)"
            )

    def passage(self, chart: Chart, until: float, depth: int = 0) -> Passage:
        """Move on with the deviations and the noise."""
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
        return self._halved(chart, until, depth) if added is None else Passage(end, matrix, added)

    def _added(self, chart: Chart, times: Reals, x: Reals, s: Reals, matrix: Reals) -> Reals | None:
        """Q, or None where the interval is too long for it."""
        if np.abs(np.linalg.eigvals(chart.reading.T @ s[-1])).min() < FADED:
            return None
        entering = self.noise.enters(times, x, self.recording.given(times), self.manifold.p)
        counts = counting(self.equations)
        through = matrix @ np.linalg.pinv(s[:-1, counts]) @ entering[:, counts]
        half = (times[-1] - times[0]) / (NODES[-1] - NODES[0])
        terms = half * through @ np.swapaxes(through, 1, 2)
        added, rough = (np.tensordot(weights, terms, axes=1) for weights in (KRONROD, GAUSS))
        sizes = np.sqrt(np.diag(added))
        scale = np.outer(sizes, sizes) + UNTOUCHED * max(float(sizes.max()) ** 2, 1e-300)
        return symmetric(added) if np.abs((added - rough) / scale).max() <= ENOUGH else None

    def _halved(self, chart: Chart, until: float, depth: int) -> Passage:
        if depth == HALVINGS:
            raise SolverError(
                f"{self.equations.name}: between t = {chart.t:g} s and {until:g} s deviations change too fast to add up noise; "
                "keep noise away from stiff parts of the model"
            )
        first = self.passage(chart, 0.5 * (chart.t + until), depth + 1)
        second = self.passage(first.end, until, depth + 1)
        onward = second.matrix
        return Passage(second.end, onward @ first.matrix, symmetric(onward @ first.added @ onward.T + second.added))


def _parts(run: Run, count: int, directions: int) -> list[tuple[Reals, Reals]]:
    return [split(s.states, count, directions) for s in run.segments if len(s.times)]
