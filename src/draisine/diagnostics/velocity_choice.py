"""How well the chosen independent velocities serve: what they amplify, here and nearby, and who would do better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draisine.dynamics.constraints.constraint_manifold import ConstraintManifold
from draisine.dynamics.reduced.independent_velocities import SWITCH, amplification


@dataclass(frozen=True)
class Choice:
    """Independent velocities, how many times they amplify the others at the state and at worst near it, and, where that is poor,
    another choice with its amplification at the state. Infinite means that the velocities do not determine the others."""

    independent: tuple[str, ...]
    here: float
    nearby: float
    better: tuple[str, ...] = ()
    better_here: float | None = None

    @property
    def poor(self) -> bool:
        """Whether a run would look for another choice."""
        return self.here > SWITCH


def choice_of(mechanism: ConstraintManifold) -> Choice | None:
    """The choice of reduced equations; None where no velocity has been eliminated."""
    e = mechanism.equations
    if not e.independent or len(e.independent) == len(e.velocities):
        return None
    rows = np.array(
        [mechanism.kept_rows(s) for s in (mechanism.sample_at(mechanism.configuration), *mechanism.samples) if s.finite]
    )
    if not len(rows):
        return Choice(e.independent, np.inf, np.inf)
    amplified = amplification(rows, mechanism.velocities, e.independent)
    here, nearby = float(amplified[0]), float(amplified.max())
    if here <= SWITCH:
        return Choice(e.independent, here, nearby)
    others = {names: float(amplification(rows[:1], mechanism.velocities, names)[0]) for names in e.alternates}
    best = min(others, key=others.__getitem__, default=None)
    if best is None or others[best] >= here:
        return Choice(e.independent, here, nearby)
    return Choice(e.independent, here, nearby, best, others[best])
