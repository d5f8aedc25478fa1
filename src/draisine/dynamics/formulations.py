"""Formulations of the constraints in the equations of motion: reduced, augmented or recursive; each a small frozen object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draisine.program.linear_solve import Solver

if TYPE_CHECKING:
    from draisine.dynamics.stabilization import Baumgarte

__all__ = ["Augmented", "FormulationChoice", "Recursive", "Reduced", "Solver"]


@dataclass(frozen=True)
class Reduced:
    """Reduced formulation: dependent velocities are eliminated symbolically; the state holds the coordinates and the independent
    velocities. Shortest code for small mechanisms; velocity constraints are satisfied exactly."""


@dataclass(frozen=True)
class Augmented:
    """Augmented formulation: nothing is eliminated, all velocities are states, accelerations and multipliers are solved for
    together at every step. For large mechanisms, whose matrix is sparse. Drift is removed by projection; `stabilization` adds
    Baumgarte feedback."""

    stabilization: Baumgarte | None = None
    solver: Solver = Solver.AUTO


@dataclass(frozen=True)
class Recursive:
    """Recursive formulation: articulated inertias inward, accelerations outward, every contact solved for a velocity of the
    joints that lead to it. The cost is linear in the number of bodies. For trees without constraints, with rolling wheels and
    knife edges in planar motion, and with a few loop closures, whose velocities stay states and whose drift is removed by
    projection."""


FormulationChoice = Reduced | Augmented | Recursive
