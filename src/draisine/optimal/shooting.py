"""Multiple shooting: a fixed number of Runge–Kutta steps from each point of the mesh to the next, controls constant in between.

Derivatives are exact ones of the map Φ that the steps make. With K_s = F(X_s), X_s = x + Σ a K, sensitivities are carried along
with the stages. For the Hessian of λᵀΦ the stages' multipliers μ_s follow backwards, and it is Σ (∂W_s)ᵀ (∂²μ_sᵀF) ∂W_s, W_s
being all arguments of stage s: a map is a sum of rates, so no other term appears.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError
from draisine.numerics.direct_methods import Grid, breaks_of, check_breaks
from draisine.numerics.runge_kutta import RK4

if TYPE_CHECKING:
    from draisine.optimal.node_functions import CompiledCluster
    from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

A, B, C = RK4.a, RK4.b, RK4.c


@dataclass(frozen=True)
class MultipleShooting:
    """`steps` of the classical Runge–Kutta method in each of the `intervals` (their number, or the points between them)."""

    intervals: int | tuple[float, ...] = 60
    steps: int = 4

    def __post_init__(self) -> None:
        check_breaks("MultipleShooting", self.intervals)
        if self.steps < 1:
            raise ArgumentError(f"Shooting: at least one step per interval is needed, got {self.steps!r}")

    @property
    def order(self) -> int:
        return 4

    def on(self, breaks: Reals) -> MultipleShooting:
        """The same steps on another mesh."""
        return replace(self, intervals=tuple(float(b) for b in breaks))

    @cached_property
    def grid(self) -> Grid:
        breaks = breaks_of(self.intervals)
        n = len(breaks) - 1
        each = np.arange(n)
        point_of = np.stack([each, each + 1], axis=1)
        none = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        return Grid(
            breaks=breaks,
            points=breaks,
            node_point=each,
            node_control=each,
            control_times=breaks[:-1],
            linear=(each, each + 1, np.ones(n)),
            rates=none,
            weights=np.diff(breaks),
            point_local=np.array([0.0, 1.0]),
            point_of=point_of,
            control_local=np.zeros(1),
            control_of=each[:, None],
            node_of=each[:, None],
            node_local=np.zeros(1),
            hermite=False,
            start_node=0,
            end_node=n - 1,
        )


class MapCluster:
    """From the state, control and shared unknowns of each interval to the state at its end and the integral of the cost."""

    def __init__(self, phase: Phase, scheme: MultipleShooting, where: Indices, breaks: Reals) -> None:
        from draisine.optimal.node_functions import CompiledCluster

        if phase.algebraic_size:
            raise ModelError(
                f"{phase.equations.name}: accelerations or multipliers are solved for at run time, which shooting does not do; "
                "use Collocation, or derive the model with formulation=Reduced()"
            )
        self.where, self._steps = where, scheme.steps
        self._nx, self._n = len(phase.kept), where.shape[1]
        self._count, self._h = len(where), np.diff(breaks) / scheme.steps
        self._breaks = breaks
        # one cluster for every stage, as τ differs
        self._stages: list[CompiledCluster] = []
        for step in range(scheme.steps):
            for c in C:
                numbers = phase.node_numbers(breaks[:-1] + (step + c) * self._h)
                self._stages.append(CompiledCluster(phase.motion, where, numbers))
        self._width = phase.motion.width

    @property
    def width(self) -> int:
        return self._width

    def compile(self) -> None:
        self._stages[0].compile()
        for stage in self._stages[1:]:
            stage.adopt(self._stages[0])

    @cached_property
    def slope_places(self) -> tuple[Indices, Indices]:
        rows, columns = np.indices((self._width, self._n))
        return rows.ravel(), columns.ravel()

    @cached_property
    def bend_places(self) -> tuple[Indices, Indices]:
        rows, columns = np.triu_indices(self._n)
        return rows.astype(np.int64), columns.astype(np.int64)

    def values(self, w: Reals) -> Reals:
        return self._run(w)[0]

    def _run(self, w: Reals) -> tuple[Reals, list[Reals]]:
        """Results, and the arguments of every stage."""
        nx, h = self._nx, self._h[:, None]
        total = np.zeros((len(w), self._width))
        total[:, :nx] = w[:, :nx]
        inner = []
        for step in range(self._steps):
            rates: list[Reals] = []
            for s in range(len(B)):
                at = w.copy()
                at[:, :nx] = total[:, :nx] + h * sum((A[s, r] * rates[r][:, :nx] for r in range(s) if A[s, r]), start=np.zeros(1))
                inner.append(at)
                rates.append(self._stage(step, s).values(at))
            total = total + h * sum((B[s] * k for s, k in enumerate(rates)), start=np.zeros(1))
        return total, inner

    def _stage(self, step: int, s: int) -> CompiledCluster:
        return self._stages[step * len(B) + s]

    def _dense_jacobian(self, w: Reals, inner: list[Reals]) -> tuple[Reals, list[Reals], list[Reals]]:
        """∂Φ/∂w (copies, width, n); per stage ∂X/∂w (copies, nx, n) and ∂F/∂W (copies, width, n)."""
        nx, n, h = self._nx, self._n, self._h[:, None, None]
        total = np.zeros((len(w), self._width, n))
        total[:, np.arange(nx), np.arange(nx)] = 1.0
        seeds, local = [], []
        for step in range(self._steps):
            rates: list[Reals] = []
            for s in range(len(B)):
                cluster = self._stage(step, s)
                slope = np.zeros((len(w), self._width, n))
                rows, columns = cluster.slope_places
                slope[:, rows, columns] = cluster.jacobian(inner[step * len(B) + s])
                seed = total[:, :nx] + h * sum((A[s, r] * rates[r][:, :nx] for r in range(s) if A[s, r]), start=np.zeros(1))
                through = slope[:, :, :nx] @ seed
                through[:, :, nx:] += slope[:, :, nx:]
                seeds.append(seed)
                local.append(slope)
                rates.append(through)
            total = total + h * sum((B[s] * k for s, k in enumerate(rates)), start=np.zeros(1))
        return total, seeds, local

    def jacobian(self, w: Reals) -> Reals:
        _, inner = self._run(w)
        return self._dense_jacobian(w, inner)[0].reshape(len(w), -1)

    def hessian(self, w: Reals, mu: Reals) -> Reals:
        nx, n, h = self._nx, self._n, self._h[:, None]
        _, inner = self._run(w)
        _, seeds, local = self._dense_jacobian(w, inner)
        total = np.zeros((len(w), n, n))
        state = mu.copy()  # multipliers of what a step gives; the integral's stays as it is
        for step in reversed(range(self._steps)):
            stage_mu: list[Reals] = [np.zeros(0)] * len(B)
            back: list[Reals] = [np.zeros(0)] * len(B)
            for s in reversed(range(len(B))):
                k = step * len(B) + s
                weight = h * B[s] * state
                for later in range(s + 1, len(B)):
                    if A[later, s]:
                        weight[:, :nx] += h * A[later, s] * back[later]
                stage_mu[s] = weight
                back[s] = np.einsum("ik,ika->ia", weight, local[k][:, :, :nx])
                total += self._bent(step, s, inner[k], seeds[k], weight)
            state = state.copy()
            state[:, :nx] += sum(back)
        rows, columns = self.bend_places
        return np.ascontiguousarray(total[:, rows, columns])

    def _bent(self, step: int, s: int, at: Reals, seed: Reals, weight: Reals) -> Reals:
        nx, n = self._nx, self._n
        cluster = self._stage(step, s)
        rows, columns = cluster.bend_places
        entries = cluster.hessian(at, np.ascontiguousarray(weight))
        hessian = np.zeros((len(at), n, n))
        hessian[:, rows, columns] = entries
        hessian[:, columns, rows] = entries
        inner = np.zeros((len(at), n, n))  # ∂W/∂w
        inner[:, :nx] = seed
        inner[:, np.arange(nx, n), np.arange(nx, n)] = 1.0
        return np.asarray(inner.transpose(0, 2, 1) @ hessian @ inner)
