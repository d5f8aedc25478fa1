"""Explicit Runge–Kutta steps outside the compiled loop: one table of numbers, one way to take a step.

The compiled loop (`simulation/stepper/explicit_rk.py`) and its adjoint (`optimal/adjoint/sweep.py`) have steps of their own: they
work on memory that is allocated once, in restricted Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ExplicitTableau(NamedTuple):  # a data class takes longer to define, and every run loads this
    """Butcher's table: X_i = x + h Σ_j a_ij k_j, k_i = f(t + c_i h, X_i), x⁺ = x + h Σ b_i k_i.

    `error` has rows of weights on k that estimate the error of a step.
    """

    order: int
    a: Array  # (stages, stages), strictly lower triangular
    b: Array  # (stages)
    c: Array  # (stages)
    error: Array | None = None

    @property
    def stages(self) -> int:
        return len(self.c)

    def step(self, f: Callable[[Array, Array], Array], t: Array | float, x: Array, h: Array | float) -> tuple[Array, Array]:
        """x⁺, and the rates of the stages (stages, *x.shape). Of many motions side by side, t and h have one number for each.

        >>> import numpy as np
        >>> RK4.step(lambda t, x: -x, 0.0, np.ones(1), 0.1)[0].round(7).tolist()
        [0.9048375]
        """
        length = np.asarray(h)[..., None] if np.ndim(h) else h
        rates = np.empty((self.stages, *x.shape))
        for i in range(self.stages):
            point = x if i == 0 else x + length * np.tensordot(self.a[i, :i], rates[:i], 1)
            rates[i] = f(np.asarray(t + self.c[i] * h), point)
        return x + length * np.tensordot(self.b, rates, 1), rates


# W. Kutta, "Beitrag zur näherungsweisen Integration totaler Differentialgleichungen", Z. Math. Phys. 46 (1901) 435–453.
RK4 = ExplicitTableau(
    order=4,
    a=np.array([[0.0, 0.0, 0.0, 0.0], [1 / 2, 0.0, 0.0, 0.0], [0.0, 1 / 2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
    b=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    c=np.array([0.0, 1 / 2, 1 / 2, 1.0]),
)
