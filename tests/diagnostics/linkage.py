"""A four-bar linkage and a slider-crank in the x–z plane, hinges about y."""

from __future__ import annotations

from draisine.model.model import Model


def four_bar(axes: str = "xz", crank: float = 0.3, coupler: float = 0.9, rocker: float = 0.7, base: float = 0.8) -> Model:
    m = Model("linkage")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        m.body(name, mass=1.0, center_of_mass=(length / 2, 0, 0), inertia=(0, 0.1, 0.1))
    m.revolute("phi", "ground", "crank", axis="y", default=-0.8)
    m.revolute("psi", "crank", "coupler", axis="y", at=(crank, 0, 0), default=0.5)
    m.revolute("chi", "ground", "rocker", axis="y", at=(base, 0, 0), default=-1.4)
    m.point("tip", "coupler", (coupler, 0, 0))
    m.point("end", "rocker", (rocker, 0, 0))
    m.close_point("loop", "tip", "end", axes=axes)
    return m


def slider_crank(crank: float = 0.1, rod: float = 0.35) -> Model:
    m = Model("engine")
    for name, length in (("crank", crank), ("rod", rod)):
        m.body(name, mass=1.0, center_of_mass=(length / 2, 0, 0), inertia=(0, 0.1, 0.1))
    m.body("piston", mass=0.5)
    m.revolute("phi", "ground", "crank", axis="y", default=0.6)
    m.revolute("psi", "crank", "rod", axis="y", at=(crank, 0, 0), default=-0.8)
    m.prismatic("stroke", "ground", "piston", axis="x", default=0.8 * (crank + rod))
    m.point("small_end", "rod", (rod, 0, 0))
    m.close_point("pin", "piston", "small_end", axes="xz")
    return m
