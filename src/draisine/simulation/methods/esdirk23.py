"""ESDIRK23: embedded pair of orders 2 and 3 with an explicit first stage and one matrix for the two others.

M. R. Kristensen, J. B. Jørgensen, P. G. Thomsen and S. B. Jørgensen, "An ESDIRK method with sensitivity analysis capabilities",
Computers & Chemical Engineering 28 (2004) 2695–2707. With γ = 1 − 1/√2 the advancing formula is L-stable and stiffly
accurate; its stages are the trapezoidal rule and BDF2, and M. E. Hosea and L. F. Shampine, "Analysis and implementation of
TR-BDF2", Appl. Numer. Math. 20 (1996) 21–37, have the same error estimate and interpolant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.numerics.number_range import with_number_range
from draisine.simulation.methods.tableau import ImplicitScheme, check_settings, largest_difference, polynomial

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)
NODES = np.array([0.0, 2.0 * GAMMA, 1.0])
WEIGHTS = np.array([[0.0, 0.0, 0.0], [GAMMA, GAMMA, 0.0], [0.5 * (1.0 - GAMMA), 0.5 * (1.0 - GAMMA), GAMMA]])
EMBEDDED = np.array(
    [
        (6.0 * GAMMA - 1.0) / (12.0 * GAMMA),
        1.0 / (12.0 * GAMMA * (1.0 - 2.0 * GAMMA)),
        (1.0 - 3.0 * GAMMA) / (3.0 * (1.0 - 2.0 * GAMMA)),
    ]
)  # of order 3


def _scheme() -> ImplicitScheme:
    first, last, start, end = np.eye(4)
    hermite = [(1.0, False, last), (0.0, True, start), (1.0, True, end)]
    parabola = [(float(NODES[1]), False, first), (1.0, False, last)]
    return ImplicitScheme(
        order=2,
        power=3,
        coupled=False,
        nodes=NODES[1:],
        weights=WEIGHTS[1:],
        update=np.array([0.0, 1.0]),
        end_rate=np.zeros(2),  # the last stage's own
        filter=1.0 / GAMMA,
        estimate=EMBEDDED - WEIGHTS[2],
        dense=(dense := polynomial(hermite, 3)),
        rough=(rough := polynomial(parabola, 3)),
        mismatch=largest_difference(dense, rough),
        evaluates_end=False,
        real=np.zeros((0, 5)),
        pairs=np.zeros((0, 5), dtype=complex),
    )


SCHEME = _scheme()


@with_number_range
@dataclass(frozen=True)
class ESDIRK23:
    """Order 2 with an error estimate of order 3: for stiff equations at loose tolerances, or with many discontinuities.

    With `step` the run is divided into equal steps, none longer than `step`, and each is solved to rounding error.

    >>> ESDIRK23(rtol=1e-4).order
    2
    """

    rtol: float = 1e-5
    atol: float | Sequence[float] = 1e-8
    step: float | None = None
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 100_000_000

    order = 2
    implicit = True
    highest_index = 2
    scheme = SCHEME
    starter = SCHEME

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def adaptive(self) -> bool:
        return self.step is None

    @property
    def inner_rtol(self) -> float:
        return self.rtol
