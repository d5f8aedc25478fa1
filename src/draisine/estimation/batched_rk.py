"""Batched explicit Runge–Kutta: steps of many windows at once, with one call of the compiled kernel per stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import Kernel
from draisine.numerics.runge_kutta import ExplicitTableau
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.heun import Heun
from draisine.simulation.methods.rk4 import RK4
from draisine.simulation.methods.selection import Method
from draisine.simulation.methods.tableau import Scheme

Reals = NDArray[np.float64]
Explicit = DOP853 | RK4 | Heun

FINEST = 256  # largest number of steps between two sampling times


def supports_batching(method: Method | None) -> TypeGuard[Explicit]:
    """Whether this method can integrate all windows together."""
    return isinstance(method, DOP853 | RK4 | Heun)


@dataclass(frozen=True, eq=False)
class BatchedRungeKutta:
    """Several motions in a batch. Between two times each takes as many equal steps as its error, or the fixed step, requires."""

    kernel: Kernel  # (t, x, u, p) → ẋ
    method: Explicit
    p: Reals

    def __call__(self, times: Reals, x: Reals, inputs: Reals) -> Reals | None:
        """States (batch, times, states) at `times` (batch, times), with `inputs` (batch, times, inputs) from each time on; a
        repeated time takes no step. None if a motion needs too many steps."""
        found = np.empty((*times.shape, x.shape[1]))
        found[:, 0] = x
        for k in range(times.shape[1] - 1):
            begin, length = times[:, k], times[:, k + 1] - times[:, k]
            found[:, k + 1] = found[:, k]
            moving = np.flatnonzero(length > 0.0)
            if not len(moving):
                continue
            after = self._between(begin[moving], found[moving, k], length[moving], inputs[moving, k])
            if after is None:
                return None
            found[moving, k + 1] = after
        return found if np.isfinite(found).all() else None

    def _between(self, t: Reals, x: Reals, length: Reals, u: Reals) -> Reals | None:
        parts = 1
        if not isinstance(self.method, DOP853):
            parts = max(int(np.ceil(float(length.max()) / self.method.step - 1e-9)), 1)
        after, error = self._parts(t, x, length, u, parts)
        while not (error <= 1.0).all():
            parts *= 2
            if parts > FINEST:
                return None
            again = np.flatnonzero(~(error <= 1.0))
            after[again], error[again] = self._parts(t[again], x[again], length[again], u[again], parts)
        return after

    def _parts(self, t: Reals, x: Reals, length: Reals, u: Reals, parts: int) -> tuple[Reals, Reals]:
        worst, h = np.zeros(len(t)), length / parts
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(parts):
                x, error = self._step(t + k * h, x, h, u)
                worst = np.fmax(worst, np.where(np.isnan(error), np.inf, error))
        return x, worst

    def _step(self, t: Reals, x: Reals, h: Reals, u: Reals) -> tuple[Reals, Reals]:
        tableau = butcher_tableau(self.method.scheme)
        after, rates = tableau.step(lambda t, x: self.kernel.map(t[:, None], x, u, self.p)[0], t, x, h)
        if tableau.error is None or not isinstance(self.method, DOP853):
            return after, np.zeros(len(t))
        return after, self._error(x, after, h, np.tensordot(tableau.error, rates, 1))

    def _error(self, x: Reals, after: Reals, h: Reals, estimates: Reals) -> Reals:
        """Hairer's combination of the error estimates of order 5 and 3, relative to the tolerance, of the worst state."""
        method = self.method
        assert isinstance(method, DOP853)
        scale = np.asarray(method.atol) + method.rtol * np.maximum(np.abs(x), np.abs(after))
        five, three = ((estimates / scale) ** 2).max(axis=2)
        below = five + 0.01 * three
        return np.asarray(h * five / np.sqrt(np.where(below > 0.0, below, 1.0)))


def butcher_tableau(scheme: Scheme) -> ExplicitTableau:
    """The tableau of an explicit Runge–Kutta method, for steps outside the compiled loop."""
    s, error = scheme.stages, None if scheme.error is None else scheme.error[:, : scheme.stages]
    return ExplicitTableau(scheme.order, scheme.weights[:s, :s], scheme.weights[s, :s], scheme.nodes[:s], error)
