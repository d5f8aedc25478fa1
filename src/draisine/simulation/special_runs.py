"""What runs with a drift control, a given formulation or sensitivities need beyond others. It imports CasADi."""

from __future__ import annotations

from draisine.simulation.sensitivity import directions_of, integrate_varied, sizes_of, varied_start
from draisine.simulation.stabilization import (
    equations_under,
    refuse_laws,
    refuse_sensitivity,
    scaled,
    symplectic,
    targets_under,
    with_other_controls,
)

__all__ = [
    "directions_of",
    "equations_under",
    "integrate_varied",
    "refuse_laws",
    "refuse_sensitivity",
    "scaled",
    "sizes_of",
    "symplectic",
    "targets_under",
    "varied_start",
    "with_other_controls",
]
