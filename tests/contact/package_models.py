"""Models of the reference cases as a user of the package describes them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import draisine as dr

GRAVITY = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def plane(name: str, slope: float = 0.0, g: float = GRAVITY) -> tuple[dr.Model, Any]:
    """A model in the vertical plane, and what moves with x and z; the ground is inclined by turning gravity."""
    m = dr.Model(name)
    m.gravity((g * np.sin(slope), 0, -g * np.cos(slope)))
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    return m, second


def particle(slope: float = 0.0, mass: float = 1.0, **contact: Any) -> dr.Model:
    m, carriage = plane("particle", slope)
    body = m.body("body", mass=mass)
    m.fixed("held", carriage, body)
    m.contact("floor", body, **contact)
    return m


def ball(radius: float, slope: float = 0.0, g: float = GRAVITY, **contact: Any) -> dr.Model:
    """A homogeneous ball of mass 1 in the plane; its turn is positive in the rolling sense."""
    m, carriage = plane("ball", slope, g)
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.revolute("turn", carriage, body, axis="y")
    m.contact("floor", body, radius=radius, **contact)
    return m


def ball_in_space(radius: float, **contact: Any) -> dr.Model:
    m = dr.Model("ball_in_space")
    m.gravity(GRAVITY)
    body = m.body("ball", mass=1.0, inertia=(0.4 * radius**2,) * 3)
    m.free(body)
    m.contact("table", body, radius=radius, **contact)
    for axis in "xyz":
        m.output(f"speed_{axis}", f"velocity_{axis}(ball)", "m/s")
    return m


def oscillator(m: float, k: float, friction: Any, belt: float = 0.0) -> dr.Model:
    model = particle(mass=m, friction=friction)
    model.spring("x", k)
    model.ground(velocity=(belt, 0))
    return model


def disc(mass: float, radius: float, friction: float) -> dr.Model:
    """A thin disc: x, y, z of its center, heading, lean (to the right) and spin (forward)."""
    m = dr.Model("disc")
    m.gravity(GRAVITY)
    links = [m.body(f"link_{i}", mass=0.0) for i in range(5)]
    body = m.body("disc", mass=mass, inertia=(mass * radius**2 / 4, mass * radius**2 / 2, mass * radius**2 / 4))
    for axis, parent, child in zip("xyz", ["ground", *links], links, strict=False):
        m.prismatic(axis, parent, child, axis=axis)
    m.revolute("heading", links[2], links[3], axis="z")
    m.revolute("lean", links[3], links[4], axis="x")
    m.revolute("spin", links[4], body, axis="y")
    m.wheel("rim", body, radius, friction=friction)
    return m


def rod(mu: Any, **contact: Any) -> dr.Model:
    """A slender rod of 1 kg and 1 m: x and z of its lower end, theta from the vertical; both ends may touch the floor."""
    m, carriage = plane("rod")
    body = m.body("rod", mass=1.0, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-9))
    m.revolute("theta", carriage, body, axis="y")
    m.contact("foot", m.point("lower", body), friction=mu, **contact)
    m.contact("tip", m.point("upper", body, (0, 0, 1)), friction=mu, **contact)
    for axis in "xz":
        m.output(f"center_{axis}_rate", f"velocity_{axis}({m.point(f'center_{axis}', body, (0, 0, 0.5)).name})", "m/s")
    return m


def on_sphere(radius: float, ball_radius: float, mu: float) -> dr.Model:
    """A ball, or a particle, on a fixed sphere around the origin that stands on a floor."""
    m, carriage = plane("on_sphere")
    body = m.body("ball", mass=1.0, inertia=((0.4 * ball_radius**2 if ball_radius else 1.0),) * 3)
    if ball_radius:
        m.revolute("turn", carriage, body, axis="y")
    else:
        m.fixed("held", carriage, body)
    m.contact("sphere", body, radius=ball_radius, on="ground", on_radius=radius, friction=mu)
    m.contact("floor", body, radius=ball_radius, on=m.point("bottom", "ground", (0, 0, -radius)))
    return m


def block(width: float, height: float, mu: float) -> dr.Model:
    """A uniform block of mass 1; x and z of the middle of its base."""
    m, carriage = plane("block")
    moment = (width**2 + height**2) / 12
    body = m.body("block", mass=1.0, center_of_mass=(0, 0, height / 2), inertia=(moment,) * 3)
    m.revolute("tilt", carriage, body, axis="y")
    for name, side in (("right", 1), ("left", -1)):
        m.contact(name, m.point(f"{name}_corner", body, (side * width / 2, 0, 0)), friction=mu)
    return m


def rimless_wheel(spokes: int, slope: float, inertia: float, mu: float) -> dr.Model:
    """A hub of mass 1 with massless spokes of 1 m."""
    m, carriage = plane("rimless_wheel", slope)
    hub = m.body("hub", mass=1.0, inertia=(inertia,) * 3)
    m.revolute("turn", carriage, hub, axis="y")
    for k in range(spokes):
        at = 2 * np.pi * k / spokes
        m.contact(f"spoke_{k}", m.point(f"tip_{k}", hub, (np.sin(at), 0, -np.cos(at))), friction=mu)
    return m


def planar_bicycle(given: Any, mu: float) -> dr.Model:
    """A bicycle in its plane, steering locked; `given` reads the parameters of the case."""
    m, carriage = plane("planar_bicycle")
    rear, front = given("rR"), given("rF")
    masses, inertias = given("masses"), given("Iyy")
    frame = m.body("frame", mass=0.0)
    m.revolute("pitch", carriage, frame, axis="y")
    for name, i, at in (("rider", 1, given("B")), ("fork", 2, given("H"))):
        part = m.body(name, mass=masses[i], inertia=(inertias[i],) * 3)
        m.fixed(f"{name}_mount", frame, part, at=(at[0], 0, at[1] - rear))
    for name, i, at, radius in (("rear", 0, (0, 0, 0), rear), ("front", 3, (given("w"), 0, front - rear), front)):
        wheel = m.body(name, mass=masses[i], inertia=(inertias[i],) * 3)
        m.revolute(f"{name}_spin", frame, wheel, axis="y", at=at)
        m.wheel(f"{name}_wheel", wheel, radius, friction=mu)
    m.generalized_force("front_spin", -m.input("front_brake", "N*m"))
    m.generalized_force("rear_spin", m.input("drive", "N*m"))
    return m


def cradle(masses: list[float], e: float, radius: float = 0.1) -> dr.Model:
    m = dr.Model("cradle")
    m.gravity(0.0)
    balls = [m.body(f"ball_{i}", mass=mass) for i, mass in enumerate(masses)]
    for i, body in enumerate(balls):
        m.prismatic(f"x_{i}", "ground", body, axis="x")
    for i, (body, other) in enumerate(pairwise(balls)):
        m.contact(f"pair_{i}", body, radius=radius, on=other, on_radius=radius, restitution=e)
    return m


def rod_on_supports(mass: float, length: float, supports: list[float], e: float) -> dr.Model:
    """A level rod above smooth supports: heights of its points above a floor, which is the same at the impact."""
    m = dr.Model("rod_on_supports")
    m.gravity(GRAVITY)
    link = m.body("link", mass=0.0)
    body = m.body("rod", mass=mass, inertia=(1e-9, mass * length**2 / 12, mass * length**2 / 12))
    m.prismatic("z", "ground", link, axis="z")
    m.revolute("tilt", link, body, axis="y")
    for name, at in zip("AB", supports, strict=False):
        m.contact(name, m.point(f"at_{name}", body, (at, 0, 0)), restitution=e)
    return m


def walker(hip: float, mass: float, along: float, slope: float, g: float) -> dr.Model:
    """A hip with two legs of 1 m, each a point mass at a distance from the hip. A foot lands only ahead of the other one: as the
    leg swings forward it passes below the ground."""
    m, carriage = plane("walker", slope, g)
    m.parameter("leg_mass", mass, "kg")
    body = m.body("hip", mass=hip)
    m.fixed("held", carriage, body)
    for side in ("left", "right"):
        m.revolute(f"{side}_turn", body, m.body(side, mass="leg_mass", center_of_mass=(0, 0, -along)), axis="y")
        m.point(f"{side}_tip", side, (0, 0, -1))
    for side, other in (("left", "right"), ("right", "left")):
        ahead = f"position_x({side}_tip) - position_x({other}_tip) - 0.1"
        m.contact(f"{side}_foot", f"{side}_tip", friction=1.0, lands_where=ahead)
    return m
