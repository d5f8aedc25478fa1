"""A pendulum of 1 m and 1 kg, driven by a horizontal force `side` at its end: in Cartesian coordinates and in its angle."""

from __future__ import annotations

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.program.equations import Equations


def in_cartesian_coordinates() -> Equations:
    """With the constraint x² + y² = 1, whose multiplier λ is the tension −2 λ of the rod."""
    a, b, side = *dynamicsymbols("x y"), sp.Symbol("side")
    return dr.lagrangian(
        "rod",
        [a, b],
        kinetic=(a.diff() ** 2 + b.diff() ** 2) / 2,
        potential=9.81 * b,
        holonomic={"length": a**2 + b**2 - 1},
        start={b: -1},
        forces={a: side},
        inputs=[side],
    )


def in_its_angle() -> Equations:
    """The angle is 0 below the pivot."""
    angle, side = dynamicsymbols("angle"), sp.Symbol("side")
    return dr.lagrangian(
        "one",
        [angle],
        kinetic=angle.diff() ** 2 / 2,
        potential=-9.81 * sp.cos(angle),
        forces={angle: side * sp.cos(angle)},
        inputs=[side],
    )
