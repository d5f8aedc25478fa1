"""Drift control: what keeps a computed motion on its constraints and invariants, chosen by name."""

from __future__ import annotations

from draisine.equations.augmented import Baumgarte
from draisine.equations.drift.names import (
    GGL,
    Drift,
    InvariantStabilisation,
    Minimal,
    NoControl,
    Projection,
    Rattle,
    Symplectic,
    VelocityProjection,
)
from draisine.equations.treatment import Augmented, Recursive, Reduced

__all__ = [
    "GGL",
    "Augmented",
    "Baumgarte",
    "Drift",
    "InvariantStabilisation",
    "Minimal",
    "NoControl",
    "Projection",
    "Rattle",
    "Recursive",
    "Reduced",
    "Symplectic",
    "VelocityProjection",
]
