"""A mass of 1 kg in a vertical plane, for constraints between it and the origin."""

from __future__ import annotations

import draisine as dr


def planar_mass(name: str) -> dr.Model:
    """Coordinates `x` and `z`, points `o` at the origin and `p` at the mass."""
    m = dr.Model(name)
    m.body("a", mass=0.0)
    m.body("b", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.prismatic("x", "ground", "a", axis="x")
    m.prismatic("z", "a", "b", axis="z")
    m.point("o", "ground")
    m.point("p", "b")
    return m
