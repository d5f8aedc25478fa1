"""Mechanisms on the ground: one for each way of attaching a wheel or knife edge to a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from trees import inertia

from draisine.expr.expression import Name, Number
from draisine.gallery.entries.bicycle import bicycle
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model

WHEEL = (0.05, 0.09, 0.05)  # moments of a balanced wheel about x, y (its axle), z


def body(m: Model, name: str, mass: float, center=(0.0, 0.0, 0.0), seed: int = 3) -> str:
    """A body with a full tensor."""
    m.body(name, mass=mass, center_of_mass=center, inertia=inertia(np.random.default_rng(seed)))
    return name


def balanced_wheel(
    m: Model, name: str, carrier: str, at=(0, 0, 0), orientation=(), radius=0.3, tube=0.0, made: dict | None = None
) -> None:
    """A wheel with a hinge about its y axis: coordinate <name>_angle, speed <name>_spin."""
    m.body(name, **({"mass": 2.0, "inertia": WHEEL} | (made or {})))
    m.revolute(f"{name}_angle", carrier, name, axis="y", at=at, orientation=orientation, rate=f"{name}_spin")
    m.wheel(name, name, radius=radius, tube=tube)


def disc(tube: float = 0.0, euler: str = "") -> Model:
    m = Model("disc")
    m.body("disc", mass=1.5, inertia=WHEEL)
    _ = m.free_euler("disc", order=euler) if euler else m.free("disc")
    m.wheel("disc", "disc", radius=0.3, tube=tube)
    return m


def lopsided_disc() -> Model:
    """One body, its mass off the axle, its wheel off its origin."""
    m = Model("lopsided_disc")
    body(m, "disc", 1.5, (0.05, -0.1, 0.08))
    m.free("disc")
    m.wheel("rim", "disc", radius=0.3, tube=0.04, center=(0.1, 0.2, -0.05), axis="x")
    return m


def torus_bicycle() -> Model:
    """Tires of round section, on ground that rises ahead and falls to the left."""
    m = Model.of(replace(bicycle().freeze(), name="torus_bicycle", wheels=()))
    tube = m.parameter("tube", 0.03, "m")
    for wheel in ("rear_wheel", "front_wheel"):
        m.wheel(wheel, wheel, radius=f"r_{wheel} - tube", tube=tube)
    m.ground(slope=m.parameter("slope", 0.12, "rad"), bank=-0.07)
    return m


def unbalanced_bicycle() -> Model:
    """Both wheels out of balance, one of them in its mass, the other in its moments."""
    m = Model("unbalanced_bicycle")
    body(m, "frame", 20.0, (0.3, 0.02, 0.4))
    m.free("frame")
    body(m, "fork", 3.0, (0.02, 0.0, 0.1), seed=5)
    m.revolute("steer", "frame", "fork", axis="z", at=(0.9, 0, 0.1), orientation=[("y", -0.3)])
    balanced_wheel(m, "rear", "frame", made={"center_of_mass": (0.02, 0, 0.01)})
    balanced_wheel(
        m, "front", "fork", at=(0.04, 0, -0.05), radius=0.33, made={"inertia": {"xx": 0.05, "yy": 0.09, "zz": 0.06, "zx": 0.01}}
    )
    return m


def casters() -> Model:
    """A platform on three casters, one of them with camber and toe."""
    m = Model("casters")
    body(m, "platform", 30.0, (0.1, -0.05, 0.2))
    m.free("platform")
    for k, (x, y, turn) in enumerate([(0.6, 0.0, 0.0), (-0.4, 0.4, 0.2), (-0.4, -0.4, 0.0)], start=1):
        body(m, f"fork{k}", 1.0, (-0.02, 0.0, 0.05), seed=k)
        m.revolute(f"swivel{k}", "platform", f"fork{k}", axis="z", at=(x, y, 0), default=0.1 * k)
        orientation = [("x", turn), ("z", turn / 2)] if turn else []
        balanced_wheel(m, f"w{k}", f"fork{k}", at=(-0.08, 0.01, -0.1), radius=0.15, orientation=orientation)
    return m


def trailer() -> Model:
    """A bicycle that draws a single-wheeled trailer on a ball hitch."""
    m = Model.of(replace(bicycle().freeze(), name="trailer"))
    body(m, "cart", 12.0, (-0.5, 0.03, 0.3))
    m.spherical("hitch", "frame", "cart", at=(-0.1, 0.0, 0.2))
    balanced_wheel(m, "cart_wheel", "cart", at=(-0.9, 0.0, -0.2), radius=0.25, tube=0.02)
    return m


def carousel() -> Model:
    """From a post on the ground: an arm that turns, a slider along it, a flap, and a wheel that runs round the post."""
    m = Model("carousel")
    m.ground(slope=0.05, bank=0.03)
    body(m, "arm", 3.0, (0.3, 0.0, 0.05))
    body(m, "slider", 1.0, (0.02, 0.03, 0.0), seed=4)
    body(m, "flap", 1.0, (0.2, 0.0, 0.0), seed=6)
    m.revolute("turn", "ground", "arm", axis="z", at=(0, 0, 0.4))
    m.prismatic("slide", "arm", "slider", axis="x", at=(1.0, 0, 0), span=(-0.2, 0.2))
    m.revolute("flap", "slider", "flap", axis="y", default=0.1, span=(-0.3, 0.5))
    balanced_wheel(m, "runner", "flap", at=(0.5, 0, 0), orientation=[("z", np.pi / 2)], radius=0.25)
    return m


def planar_sprung() -> Model:
    """A body in the plane with two trailing arms, each with a wheel at its end: one wheel leads, one is toed in."""
    m = Model("planar_sprung")
    body(m, "hull", 10.0, (0.1, 0.02, 0.3))
    m.planar("hull")
    for name, x, toe, angle in (("a", 0.7, 0.0, 0.3), ("b", -0.6, 0.15, 0.5)):
        body(m, f"arm_{name}", 1.0, (-0.15, 0.0, 0.01), seed=7)
        chain = {"at": (x, 0.0, 0.35), "orientation": [("z", toe)]} if toe else {"at": (x, 0.0, 0.35)}
        m.revolute(f"swing_{name}", "hull", f"arm_{name}", axis="y", default=angle, span=(angle - 0.2, angle + 0.2), **chain)
        body(m, f"knuckle_{name}", 0.5, (0.01, 0.0, 0.02), seed=8)
        m.revolute(
            f"steer_{name}",
            f"arm_{name}",
            f"knuckle_{name}",
            axis="z",
            at=(-0.3, 0, 0),
            orientation=[("y", -angle)],
            span=(-0.5, 0.5),
        )
        balanced_wheel(m, f"wheel_{name}", f"knuckle_{name}", at=(-0.05, 0.0, 0.0), radius=0.25)
    m.spring("swing_a", 300.0, rest=0.4, damping=5.0)
    m.spring("swing_b", 200.0, rest=0.6)
    return m


def unicycle() -> Model:
    """Wheel, frame with seat, and a flywheel that turns about the vertical; the frame is the free body."""
    m = Model("unicycle")
    body(m, "frame", 8.0, (0.0, 0.02, 0.7))
    m.free("frame")
    balanced_wheel(m, "wheel", "frame", radius=0.25, tube=0.03)
    m.body("flywheel", mass=5.0, inertia=(0.1, 0.1, 0.2))
    m.revolute("yaw_rotor", "frame", "flywheel", axis="z", at=(0.0, 0.0, 1.0), rate="yaw_spin")
    m.generalized_force("yaw_rotor", m.input("yaw_torque"))
    m.generalized_force("wheel_angle", m.input("pedal_torque"))
    return m


def deep_wheel() -> Model:
    """A wheel at the end of three links from the free body: ball, universal joint, hinge; the free body itself has a wheel."""
    m = Model("deep_wheel")
    body(m, "base", 6.0, (0.1, 0.0, 0.3))
    m.free("base")
    m.wheel("base_rim", "base", radius=0.35, tube=0.02)
    body(m, "first", 1.0, (0.2, 0.0, 0.05), seed=9)
    body(m, "second", 1.0, (0.2, 0.02, 0.0), seed=10)
    m.spherical("ball", "base", "first", at=(0.3, 0.0, 0.1))
    m.universal("cross", "first", "second", axes="zy", at=(0.4, 0.0, 0.0))
    balanced_wheel(m, "end", "second", at=(0.4, 0.05, -0.1), orientation=[("x", 0.1)], radius=0.25)
    return m


def skater() -> Model:
    """Two skates on the ice under a free body: a fixed one and one that steers, both held on the ground, on a slope."""
    m = Model("skater")
    m.ground(slope=-0.06)
    body(m, "body", 60.0, (0.05, 0.0, 0.9))
    m.free("body")
    body(m, "foot", 2.0, (0.0, 0.0, 0.05), seed=12)
    m.revolute("ankle", "body", "foot", axis="z", at=(0.4, 0.05, 0.02), orientation=[("y", 0.1)])
    m.knife_edge("body", at=(-0.3, 0.0, 0.0), name="left", on_ground=True)
    m.knife_edge("foot", at=(0.02, 0.0, -0.02), name="right", on_ground=True)
    return m


def snakeboard() -> Model:
    """Blades that only keep their direction, on trucks of a planar board with a rotor."""
    m = Model("snakeboard")
    body(m, "board", 6.0, (0.03, 0.0, 0.1))
    m.planar("board")
    for end, x in (("front", 0.4), ("back", -0.4)):
        m.body(f"{end}_truck", mass=1.0, inertia=(0.01, 0.01, 0.02))
        m.revolute(f"{end}_steer", "board", f"{end}_truck", axis="z", at=(x, 0, 0), default=0.4 if end == "front" else -0.2)
        m.knife_edge(f"{end}_truck", name=f"{end}_blade")
    m.body("rotor", mass=2.0, inertia=(0.1, 0.1, 0.2))
    m.revolute("rotor_angle", "board", "rotor", axis="z")
    m.generalized_force("rotor_angle", m.input("torque"))
    return m


def blade_and_wheel() -> Model:
    """A free body on a wheel behind and a blade ahead that is held on the ground: contacts of both kinds."""
    m = Model("blade_and_wheel")
    body(m, "frame", 20.0, (0.4, 0.0, 0.4))
    m.free_euler("frame", order="zxy")
    balanced_wheel(m, "wheel", "frame", orientation=[("z", 0.05)])
    body(m, "ski", 1.0, (0.0, 0.0, 0.1), seed=13)
    m.revolute("steer", "frame", "ski", axis="z", at=(0.8, 0.0, -0.1), orientation=[("y", -0.2)])
    m.knife_edge("ski", at=(0.05, 0.0, -0.2), name="runner", on_ground=True)
    return m


def tandem_wheels() -> Model:
    """Two wheels one behind the other on two free frames joined by a hinge about the vertical: an articulated bicycle."""
    m = Model("tandem_wheels")
    body(m, "back", 10.0, (0.2, 0.0, 0.3))
    m.free("back")
    body(m, "fore", 10.0, (0.2, 0.0, 0.3), seed=14)
    m.revolute("waist", "back", "fore", axis="z", at=(0.5, 0.0, 0.0))
    balanced_wheel(m, "back_wheel", "back")
    balanced_wheel(m, "fore_wheel", "fore", at=(0.4, 0.02, 0.0), orientation=[("x", -0.08), ("z", 0.03)])
    return m


def geared() -> Model:
    """Hinges that turn by a multiple of their coordinate: a steering gear, and wheels whose angle counts backwards or twice."""
    m = Model("geared")
    body(m, "frame", 20.0, (0.3, 0.0, 0.4))
    m.free("frame")
    body(m, "fork", 2.0, (0.02, 0.0, 0.1), seed=15)
    turn, back, front = (
        Coordinate(n, r, "rad")
        for n, r in (("handle", "handle_rate"), ("back_angle", "back_spin"), ("front_angle", "front_spin"))
    )
    place = Translate((Number(0.9), Number(0.0), Number(0.05)))
    m.joint("head", "frame", "fork", (place, Rotate("y", Number(-0.3)), Rotate("z", 0.5 * Name("handle") + 0.1)), (turn,))
    for name, carrier, angle, coordinate in (
        ("back", "frame", -Name("back_angle"), back),
        ("front", "fork", 2 * Name("front_angle"), front),
    ):
        m.body(f"{name}_wheel", mass=2.0, inertia=WHEEL)
        m.joint(f"{name}_hub", carrier, f"{name}_wheel", (Rotate("y", angle),), (coordinate,))
        m.wheel(f"{name}_wheel", f"{name}_wheel", radius=0.3)
    return m


def two_discs() -> Model:
    """Two trees, each free on its own wheel, with a spring and damper between them."""
    m = Model("two_discs")
    for name, tube in (("one", 0.0), ("two", 0.05)):
        m.body(name, mass=1.5, inertia=WHEEL)
        m.free(name)
        m.wheel(name, name, radius=0.3, tube=tube)
        m.point(f"{name}_cap", name, at=(0.0, 0.05, 0.0))
    m.spring("distance(one_cap, two_cap)", 30.0, rest=0.4, damping=2.0)
    return m


ALL = {
    "disc": disc,
    "torus": lambda: disc(tube=0.08),
    "disc by angles": lambda: disc(euler="zxy"),
    "torus by other angles": lambda: disc(tube=0.05, euler="xyz"),
    "lopsided disc": lopsided_disc,
    "bicycle": bicycle,
    "bicycle with round tires on a slope": torus_bicycle,
    "bicycle out of balance": unbalanced_bicycle,
    "casters": casters,
    "trailer": trailer,
    "carousel": carousel,
    "planar with springs": planar_sprung,
    "unicycle": unicycle,
    "deep wheel": deep_wheel,
    "skater": skater,
    "snakeboard": snakeboard,
    "blade and wheel": blade_and_wheel,
    "tandem": tandem_wheels,
    "geared": geared,
    "two discs": two_discs,
}
