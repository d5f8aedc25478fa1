"""Random trees of bodies with joints of every kind, from a seed."""

from __future__ import annotations

import zlib

import numpy as np

from draisine.expr.expression import Name, Number
from draisine.model import joints
from draisine.model.items import Coordinate, Rotate, Translate
from draisine.model.model import Model

RATE_JOINTS = ("revolute", "prismatic", "cylindrical", "screw", "universal", "planar", "fixed", "chain")


def inertia(rng: np.random.Generator, size: float = 0.3) -> dict[str, float]:
    """A full tensor that satisfies the triangle inequality: that of a cloud of points, −∫ r× r× dm."""
    cloud = rng.normal(size=(5, 3)) * size
    tensor = sum((r @ r) * np.eye(3) - np.outer(r, r) for r in cloud)
    return {
        "xx": tensor[0, 0],
        "yy": tensor[1, 1],
        "zz": tensor[2, 2],
        "xy": tensor[0, 1],
        "yz": tensor[1, 2],
        "zx": tensor[2, 0],
    }


def add_body(model: Model, rng: np.random.Generator, name: str) -> str:
    """A body with random mass, center and tensor; some of them by parameters."""
    mass, center = float(rng.uniform(0.5, 3)), [float(c) for c in rng.normal(size=3) * 0.3]
    if rng.random() < 0.3:
        mass, center[1] = model.parameter(f"mass_{name}", mass), model.parameter(f"offset_{name}", center[1])
    model.body(name, mass=mass, center_of_mass=center, inertia=inertia(rng))
    return name


def place(model: Model, rng: np.random.Generator, name: str) -> dict:
    """Where a joint sits on its parent: here and there at the origin, or without a turn, or by a parameter."""
    at = [float(c) for c in rng.normal(size=3) * 0.4] if rng.random() < 0.8 else (0, 0, 0)
    turned = [(str(rng.choice(list("xyz"))), float(rng.uniform(-1.5, 1.5))) for _ in range(rng.integers(0, 3))]
    if turned and rng.random() < 0.3:
        turned[0] = (turned[0][0], model.parameter(f"tilt_{name}", turned[0][1]))
    return {"at": at, "orientation": turned}


def _chained(model: Model, name: str, parent: str, child: str) -> None:
    """A joint of no named kind: gains that are not one, a coordinate in two displacements, and two in one translation."""
    lead = model.parameter(f"lead_{name}", 0.2)
    a, b = (Coordinate(f"{name}_{s}", f"{name}_{s}_rate", "rad") for s in "ab")
    chain = (
        Rotate("x", 2 * Name(a.name) + 0.3),
        Translate((lead * Name(a.name), Name(b.name) - 0.1, Number(0.05))),
        Rotate("z", -Name(b.name)),
    )
    model.joint(name, parent, child, chain, (a, b))


def _axis(model: Model, joint: str, letter: str):
    """A coordinate axis, in some joints opposite or oblique."""
    own = np.random.default_rng(zlib.crc32(f"{model.name} {joint}".encode()))
    vector = tuple(float(c) for c in own.normal(size=3) * (own.random(3) < 0.7))
    return vector if any(vector) and own.random() < 0.3 else f"-{letter}" if own.random() < 0.2 else letter


def add_joint(model: Model, rng: np.random.Generator, kind: str, parent: str, child: str) -> None:
    name = f"j_{child}"
    axis = _axis(model, name, str(rng.choice(list("xyz"))))
    if kind in ("revolute", "prismatic", "cylindrical"):
        getattr(model, kind)(name, parent, child, axis=axis, **place(model, rng, name))
    elif kind == "screw":
        model.screw(name, parent, child, lead=float(rng.uniform(-1, 1)), axis=axis, **place(model, rng, name))
    elif kind == "universal":
        model.universal(name, parent, child, axes="".join(rng.permutation(list("xyz"))[:2]), **place(model, rng, name))
    elif kind == "planar" and parent != "ground":
        model.planar(child, parent=parent)
    elif kind == "glide":
        model.planar(child)
    elif kind == "planar":  # with rates of coordinates as velocities, which `Model.planar` has on moving parents only
        chain = joints.planar(joints.length(f"{child}_x"), joints.length(f"{child}_y"), joints.angle(f"{child}_heading"))
        model.joint(name, parent, child, *chain)
    elif kind == "chain":
        _chained(model, name, parent, child)
    elif kind == "free_euler":
        model.free_euler(child, order=str(rng.choice(["zxy", "xyz", "zyx", "zxz", "yzy", "xzx"])))
    elif kind == "free":
        model.free(child)
    else:
        getattr(model, kind)(name, parent, child, **place(model, rng, name))


_SIZES = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "screw": 1, "universal": 2, "planar": 3, "fixed": 0, "chain": 2}


def tree(seed: int, kinds: tuple[str, ...] = RATE_JOINTS, roots: tuple[str, ...] = ("free_euler",), most: int = 11) -> Model:
    """One to six bodies, at least one velocity and about `most` of them. Joints on the ground are of `roots` or of `kinds`."""
    rng = np.random.default_rng(seed)
    model = Model(f"tree{seed}")
    size = model.parameter("gravity", 9.81)
    model.gravity((0.3 * size, -0.5 * size, -0.8 * size) if seed % 3 == 2 else size)
    bodies, size, wanted = ["ground"], 0, 1 + seed % 6
    while (len(bodies) <= wanted and size < most) or size == 0:
        child = add_body(model, rng, f"b{len(bodies)}")
        parent = str(rng.choice(bodies)) if rng.random() < 0.4 else bodies[-1]
        kind = str(rng.choice(roots if parent == "ground" and rng.random() < 0.5 else kinds))
        add_joint(model, rng, kind, parent, child)
        size += _SIZES.get(kind, 3 if kind == "spherical" else 6)
        bodies.append(child)
    return model


def free_joints_of_every_kind(seed: int) -> tuple[Model, list[str]]:
    """A chain of four bodies from a free one, the kinds of joints changing with the seed; and the names of the bodies."""
    rng = np.random.default_rng(seed)
    model = Model(f"loaded{seed}")
    kinds = [
        "free",
        *(
            ("revolute", "spherical", "screw", "universal", "cylindrical", "prismatic", "chain")[(seed + 3 * k) % 7]
            for k in range(3)
        ),
    ]
    kinds[-1] = "revolute"  # so that there are coordinates with rates
    parent = "ground"
    bodies = []
    for number, kind in enumerate(kinds):
        bodies.append(add_body(model, rng, f"b{number}"))
        add_joint(model, rng, kind, parent, bodies[-1])
        parent = bodies[-1]
    return model, bodies


def coordinates(equations, rng: np.random.Generator) -> np.ndarray:
    """Random coordinates; quaternions of unit length."""
    q = rng.uniform(-0.9, 0.9, len(equations.coordinates))
    names = [c.name for c in equations.coordinates]
    for i, name in enumerate(names):
        if name.endswith("_qw"):
            q[i : i + 4] = (turn := rng.normal(size=4)) / np.linalg.norm(turn)
    return q


def parameters(equations, rng: np.random.Generator) -> np.ndarray:
    """Near the defaults, not at them."""
    return equations.default_parameters * rng.uniform(0.9, 1.1, len(equations.parameters))
