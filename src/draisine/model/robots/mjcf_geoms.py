"""Geoms of MJCF: their mass properties where a body has no <inertial>, and their shapes for pictures."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from draisine.model.robots.mass_properties import MassProperties, Pose
from draisine.model.robots.mjcf_settings import Settings, rotation_onto
from draisine.model.robots.xml_files import Element

KINDS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}


class Geom(NamedTuple):
    """A geom: kind, half sizes as in MJCF, and its pose."""

    kind: str
    sizes: tuple[float, ...]
    pose: Pose


def geom_of(element: Element, settings: Settings, where: str) -> Geom:
    """The geom of an element with its defaults; by `fromto` it extends from one point to another."""
    kind = element.choice("type", where, KINDS, "sphere")
    count = _SIZES.get(kind, 0)
    if "fromto" not in element.attributes or kind not in ("capsule", "cylinder", "box", "ellipsoid"):
        return Geom(kind, _sizes(element, count, where), settings.pose(element, where))
    ends = element.numbers("fromto", where, 6)
    first, last = np.array(ends[:3]), np.array(ends[3:])
    half = float(np.linalg.norm(last - first)) / 2
    if half == 0.0:
        element.refuse(f"{where}: fromto has equal ends")
    own = _sizes(element, 1 if count == 2 else 2, where) if count == 2 else _sizes(element, 1, where) * 2
    center = (first + last) / 2
    return Geom(kind, (*own, half), Pose.of(tuple(center), rotation_onto(first - last)))


def _sizes(element: Element, count: int, where: str) -> tuple[float, ...]:
    if not count:
        return ()
    parts = element.text("size", where).split()
    if len(parts) < count:
        element.refuse(f"{where}: size needs {count} numbers, got {element.attributes['size']!r}")
    sizes = Element(element.tag, {"size": " ".join(parts[:count])}, element.file, element.line).numbers("size", where, count)
    if min(sizes) <= 0.0:
        element.refuse(f"{where}: its size must be positive, got {element.attributes['size']!r}")
    return sizes


def volume_and_inertia(kind: str, sizes: tuple[float, ...]) -> tuple[float, tuple[float, float, float]]:
    """The volume, and the principal moments of inertia of a unit of mass."""
    if kind == "sphere":
        (r,) = sizes
        return 4 / 3 * math.pi * r**3, (0.4 * r * r,) * 3
    if kind == "box":
        x, y, z = sizes
        return 8 * x * y * z, ((y * y + z * z) / 3, (x * x + z * z) / 3, (x * x + y * y) / 3)
    if kind == "ellipsoid":
        x, y, z = sizes
        return 4 / 3 * math.pi * x * y * z, ((y * y + z * z) / 5, (x * x + z * z) / 5, (x * x + y * y) / 5)
    r, half = sizes
    tube = 2 * math.pi * r * r * half
    across = (3 * r * r + 4 * half * half) / 12
    if kind == "cylinder":
        return tube, (across, across, r * r / 2)
    # a capsule: a cylinder, and two half balls whose centers of mass are 3 r / 8 beyond its ends
    balls = 4 / 3 * math.pi * r**3
    a, b = tube / (tube + balls), balls / (tube + balls)
    beyond = 0.4 * r * r + half * half + 0.75 * half * r
    return tube + balls, (a * across + b * beyond, a * across + b * beyond, a * r * r / 2 + b * 0.4 * r * r)


def masses_of(geom: Geom, element: Element, where: str) -> MassProperties | None:
    """Mass properties of a geom; None for those without: planes, and what has no mass."""
    if geom.kind in ("plane", "hfield"):
        return None
    mass = element.number("mass", where) if "mass" in element.attributes else None
    density = element.number("density", where, 1000.0)
    if mass == 0.0 or (mass is None and density == 0.0):
        return None
    if geom.kind in ("mesh", "sdf"):
        element.refuse(
            f'{where}: masses of a {geom.kind} are not computed; give the body an <inertial>, or the geom mass="0" (MuJoCo saves '
            "compiled models with <inertial>)"
        )
    if element.attributes.get("shellinertia", "false") == "true":
        element.refuse(f"{where}: shellinertia is not supported; give the body an <inertial>")
    try:
        volume, moments = volume_and_inertia(geom.kind, geom.sizes)
    except (OverflowError, ZeroDivisionError):
        element.refuse(f"{where}: its size {element.attributes['size']!r} is beyond floating-point numbers")
    mass = density * volume if mass is None else mass
    if mass < 0.0:
        element.refuse(f"{where}: its mass is {mass:g} kg; it must be zero or positive")
    return MassProperties(mass, np.zeros(3), mass * np.diag(moments)).seen_from(geom.pose)


def shape_of(geom: Geom, element: Element) -> dict[str, Any] | None:
    """The shape of a geom, at its pose; None for those that are not drawn."""
    sizes = geom.sizes
    shape: dict[str, Any]
    if geom.kind == "box":
        shape = {"kind": "box", "size": [2 * s for s in sizes]}
    elif geom.kind == "sphere":
        shape = {"kind": "sphere", "radius": sizes[0]}
    elif geom.kind == "cylinder":
        shape = {"kind": "cylinder", "radius": sizes[0], "length": 2 * sizes[1], "axis": "z"}
    elif geom.kind == "capsule":
        shape = {"kind": "tube", "path": [[0.0, 0.0, -sizes[1]], [0.0, 0.0, sizes[1]]], "radius": sizes[0]}
    else:
        return None
    if "rgba" in element.attributes:
        parts = element.numbers("rgba", "a geom", 4)
        if parts[3] == 0.0:
            return None
        shape["color"] = "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in parts[:3])
    return shape
