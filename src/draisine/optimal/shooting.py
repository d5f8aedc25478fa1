"""Multiple shooting: a fixed number of Runge–Kutta steps from each mesh point to the next, with constant controls in between.

Derivatives are exact derivatives of the map Φ of these steps. With K_s = F(X_s), X_s = x + Σ a K, first derivatives are
propagated with the stages. The Hessian of λᵀΦ is Σ (∂W_s)ᵀ (∂²μ_sᵀF) ∂W_s, with W_s all arguments of stage s and μ_s the
multipliers of the stages, computed backward. The map is a sum of rates, so no other term appears.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ModelError
from draisine.numerics.direct_methods import STEPS, MultipleShooting
from draisine.numerics.runge_kutta import RK4
from draisine.optimal.node_functions import CompiledCluster, Formula
from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

A, B, C = RK4.a, RK4.b, RK4.c


def steps_of(scheme: MultipleShooting) -> int:
    """Runge–Kutta steps per interval."""
    return STEPS if scheme.steps is None else scheme.steps


def check_scheme(scheme: MultipleShooting) -> None:
    """Refuse settings that apply to estimation only."""
    if (
        scheme.window is not None
        or scheme.known_start is not None
        or scheme.states
        or scheme.spread
        or scheme.integration is not None
    ):
        raise ArgumentError(
            "MultipleShooting: window, known_start, states, spread and integration are settings of estimate(…); "
            "optimal control takes MultipleShooting(intervals, steps)"
        )


class ShootingCluster:
    """The map from state, control and shared unknowns of each interval to the state at its end and the integral of the cost.

    `formula` gives rates and integrand with further arguments (`Phase.smooth_motion`), those of `Phase.motion` by default.
    """

    def __init__(
        self, phase: Phase, scheme: MultipleShooting, where: Indices, breaks: Reals, formula: Formula | None = None
    ) -> None:
        if phase.algebraic_size:
            raise ModelError(
                f"{phase.equations.name}: its equations solve for accelerations or multipliers at run time, which multiple "
                "shooting does not support; use Collocation, or derive the model with formulation=Reduced()"
            )
        self.where, self._steps = where, steps_of(scheme)
        self._nx, self._n = len(phase.kept), where.shape[1]
        self._count, self._h = len(where), np.diff(breaks) / self._steps
        self._breaks = breaks
        # one cluster for each stage, since τ differs
        self._stages: list[CompiledCluster] = []
        for step in range(self._steps):
            for c in C:
                numbers = phase.node_numbers(breaks[:-1] + (step + c) * self._h)
                self._stages.append(CompiledCluster(formula or phase.motion, where, numbers))
        self._width = phase.motion.width

    @property
    def width(self) -> int:
        return self._width

    @property
    def digest(self) -> str:
        return self._stages[0].digest

    def begin_compiling(self) -> Callable[[], None]:
        compiled = self._stages[0].begin_compiling()

        def finish() -> None:
            compiled()
            for stage in self._stages[1:]:
                stage.adopt(self._stages[0])

        return finish

    @cached_property
    def jacobian_indices(self) -> tuple[Indices, Indices]:
        rows, columns = np.indices((self._width, self._n))
        return rows.ravel(), columns.ravel()

    @cached_property
    def hessian_indices(self) -> tuple[Indices, Indices]:
        rows, columns = np.triu_indices(self._n)
        return rows.astype(np.int64), columns.astype(np.int64)

    def values(self, w: Reals) -> Reals:
        return self._run(w)[0]

    def _run(self, w: Reals) -> tuple[Reals, list[Reals]]:
        """Results, and the arguments of each stage."""
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
                jacobian = np.zeros((len(w), self._width, n))
                rows, columns = cluster.jacobian_indices
                jacobian[:, rows, columns] = cluster.jacobian(inner[step * len(B) + s])
                seed = total[:, :nx] + h * sum((A[s, r] * rates[r][:, :nx] for r in range(s) if A[s, r]), start=np.zeros(1))
                through = jacobian[:, :, :nx] @ seed
                through[:, :, nx:] += jacobian[:, :, nx:]
                seeds.append(seed)
                local.append(jacobian)
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
        state = mu.copy()  # multipliers of a step's result; that of the integral does not change
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
                total += self._stage_hessian(step, s, inner[k], seeds[k], weight)
            state = state.copy()
            state[:, :nx] += sum(back)
        rows, columns = self.hessian_indices
        return np.ascontiguousarray(total[:, rows, columns])

    def _stage_hessian(self, step: int, s: int, at: Reals, seed: Reals, weight: Reals) -> Reals:
        nx, n = self._nx, self._n
        cluster = self._stage(step, s)
        rows, columns = cluster.hessian_indices
        entries = cluster.hessian(at, np.ascontiguousarray(weight))
        hessian = np.zeros((len(at), n, n))
        hessian[:, rows, columns] = entries
        hessian[:, columns, rows] = entries
        inner = np.zeros((len(at), n, n))  # ∂W/∂w
        inner[:, :nx] = seed
        inner[:, np.arange(nx, n), np.arange(nx, n)] = 1.0
        return np.asarray(inner.transpose(0, 2, 1) @ hessian @ inner)
