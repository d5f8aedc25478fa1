"""Backward differentiation formulas of variable order by the SUNDIALS solvers CVODE and IDA.

A. C. Hindmarsh, P. N. Brown, K. E. Grant, S. L. Lee, R. Serban, D. E. Shumaker and C. S. Woodward, "SUNDIALS: Suite of nonlinear
and differential/algebraic equation solvers", ACM Trans. Math. Softw. 31 (2005) 363–396; in Python by the package scikit-sundae.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.errors import ArgumentError
from draisine.simulation.methods.tableau import Scheme, check_settings

# Steps come from outside; the loop takes them with a polynomial of degree 6 at most.
SCHEME = Scheme(
    order=5,
    history=1,
    stages=1,
    weights=np.zeros((2, 2)),
    nodes=np.zeros(2),
    dense=np.zeros((3, 2)),
    foreign=True,
)


@dataclass(frozen=True)
class CVODE:
    """BDF of order 1 to 5 with variable steps for ẋ = f; needs the extra `draisine[sundials]`.

    >>> CVODE(rtol=1e-6).max_order
    5
    """

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    max_order: int = 5
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    order = 5
    adaptive = True
    implicit = False
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        check_settings(self)
        _check_order("CVODE", self.max_order)


@dataclass(frozen=True)
class IDA:
    """BDF of order 1 to 5 with variable steps for 0 = F(t, x, ẋ) of index 1; needs the extra `draisine[sundials]`.

    >>> IDA(max_order=2).rtol
    1e-08
    """

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    max_order: int = 5
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    order = 5
    adaptive = True
    implicit = True
    highest_index = 1
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        check_settings(self)
        _check_order("IDA", self.max_order)


def _check_order(method: str, order: int) -> None:
    if order not in range(1, 6):
        raise ArgumentError(f"{method}: max_order must be a whole number from 1 to 5, got {order!r}")
