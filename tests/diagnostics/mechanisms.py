"""Small mechanisms for the tests of the doctor, of which everything is known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.diagnostics.diagnosis import Diagnosis
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.symbolic.lagrangian import lagrangian

GRAVITY = 9.81


@cache
def diagnosed(name: str) -> Diagnosis:
    """The diagnosis of a model of the gallery as it stands, which several tests look at."""
    return dr.diagnose(dr.gallery.model(name))


def sliders(constraints: Mapping[str, str], coordinates: str = "x y z", level: str = "velocity", **defaults: float) -> Model:
    """Masses on rails, one for each coordinate, with any constraints between them."""
    m = Model("sliders")
    for name in coordinates.split():
        m.body(f"mass_{name}", mass=1.0)
        m.prismatic(name, "ground", f"mass_{name}", axis="x", default=defaults.get(name, 0.0))
    for name, residual in constraints.items():
        m.constrain(name, residual, level=level)
    return m


def vertical_coin() -> Equations:
    """A coin that stays upright and rolls: place, heading, turn (Bloch, Nonholonomic Mechanics and Control, 1.4)."""
    x, y, heading, turn = q = dynamicsymbols("x y heading turn")
    return lagrangian(
        "coin",
        q,
        kinetic=sum(c.diff() ** 2 for c in q) / 2,
        nonholonomic={
            "along": x.diff() - sp.cos(heading) * turn.diff(),
            "across": y.diff() - sp.sin(heading) * turn.diff(),
        },
    )


def trailers(count: int) -> Equations:
    """A car with trailers, each hooked on the axle before it; axle 0 is the last one's (Jean 1996)."""
    x, y = dynamicsymbols("x y")
    angles = [dynamicsymbols(f"angle{i}") for i in range(count + 1)]
    rows, place = {}, (x, y)
    for i, angle in enumerate(angles):
        rows[f"axle{i}"] = sp.sin(angle) * place[0].diff() - sp.cos(angle) * place[1].diff()
        place = (place[0] + sp.cos(angle), place[1] + sp.sin(angle))
    q = [x, y, *angles]
    return lagrangian("train", q, kinetic=sum(c.diff() ** 2 for c in q) / 2, nonholonomic=rows)


def ball(spins: bool) -> Model:
    """A ball that rolls on the plane z = 0, and spins about the vertical or not."""
    m = Model("ball")
    radius = 0.2
    m.body("ball", mass=1.0, inertia=(0.016, 0.016, 0.016))
    m.free("ball", at=(0, 0, radius))
    turning = {a: " + ".join(f"cosine_{a}{b}(ground, ball)*rate_{b}(ball)" for b in "xyz") for a in "xyz"}
    m.constrain("floor", f"position_z(ball) - {radius}", unit="m")
    m.constrain("roll_x", f"velocity_x(ball) - {radius}*({turning['y']})", level="velocity")
    m.constrain("roll_y", f"velocity_y(ball) + {radius}*({turning['x']})", level="velocity")
    if not spins:
        m.constrain("spin", turning["z"], level="velocity")
    return m


def planar(name: str = "body") -> Model:
    """A body in the plane with a rotor on it."""
    m = Model("sledge")
    m.body(name, mass=2.0, inertia=(0.15, 0.15, 0.3))
    m.planar(name)
    m.body("rotor", mass=0.5, inertia=(0.05, 0.05, 0.1))
    m.revolute("rotor", name, "rotor", axis="z")
    return m


def pendulums(count: int = 2, upright: bool = False, lengths: tuple[float, ...] = (1.0, 1.0)) -> Model:
    """Pendulums of point masses side by side; one torque acts on all of them alike."""
    m = Model("twins")
    torque = m.input("torque", "N*m")
    for i in range(count):
        m.body(f"bob{i}", mass=1.0, center_of_mass=(0, 0, lengths[i] if upright else -lengths[i]))
        m.revolute(f"swing{i}", "ground", f"bob{i}", axis="y")
        m.generalized_force(f"swing{i}", torque)
    return m


def truss() -> Model:
    """Two bars on the ground, hinged at their ends: nothing can move."""
    m = Model("truss")
    for name in ("left", "right"):
        m.body(name, mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    m.revolute("left_foot", "ground", "left", axis="y", default=-0.9)
    m.revolute("right_foot", "ground", "right", axis="y", at=(1.2, 0, 0), default=-2.2)
    m.point("left_end", "left", (1, 0, 0))
    m.point("right_end", "right", (1, 0, 0))
    m.close_point("top", "left_end", "right_end", axes="xz")
    return m
