"""The method that is chosen by looking at the equations and at the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.methods.radau import Radau
from draisine.simulation.methods.tableau import check_settings


@dataclass(frozen=True)
class Auto:
    """DOP853 for ẋ = f where it is not stiff, Radau where it is; Radau for 0 = F(t, x, ẋ). The run tells which, and why.

    >>> Auto(rtol=1e-6).explicit.order, Auto().implicit.order
    (8, 5)
    """

    rtol: float = 1e-8
    atol: float | Sequence[float] = 1e-10
    first_step: float | None = None
    max_step: float | None = None
    max_steps: int = 10_000_000

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def explicit(self) -> DOP853:
        return DOP853(self.rtol, self.atol, self.first_step, self.max_step, self.max_steps)

    @property
    def implicit(self) -> Radau:
        return Radau(self.rtol, self.atol, first_step=self.first_step, max_step=self.max_step, max_steps=self.max_steps)
