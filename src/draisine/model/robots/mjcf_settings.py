"""What holds for a whole MJCF file: includes, the settings of <compiler>, default classes, orientations in any form."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from draisine.errors import ModelError
from draisine.model.robots.mass_properties import Array, Pose, quaternion_rotation, rotation_about
from draisine.model.robots.xml_files import Element, Roots, read_xml

_DEPTH = 20  # of includes inside includes


def with_includes(root: Element, files: Roots, depth: int = 0, seen: tuple[str, ...] = ()) -> Element:
    """The elements of a file with those of the files that it includes, each at its place."""
    children: list[Element] = []
    for child in root.children:
        if child.tag != "include":
            children.append(with_includes(child, files, depth, seen))
            continue
        name = child.text("file", "an include")
        found, reason = files.find(name)
        if found is None:
            child.refuse(f"the included file {name!r} {reason}")
        if str(found) in seen or depth >= _DEPTH:
            child.refuse(f"the file {name!r} includes itself")
        inner = read_xml(found, "read_mjcf")
        if inner.tag not in ("mujoco", "mujocoinclude"):
            inner.refuse(f"the first element of an included file is <mujoco> or <mujocoinclude>, not <{inner.tag}>")
        children += with_includes(inner, files, depth + 1, (*seen, str(found))).children
    root.children = children
    return root


@dataclass
class Settings:
    """The settings of <compiler>, and default attributes by class and element."""

    degrees: bool = True
    sequence: str = "xyz"
    limits_by_range: bool = True
    inertia_from_geoms: str = "auto"
    mesh_folder: str = ""
    defaults: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)

    @staticmethod
    def of(root: Element) -> Settings:
        made = Settings()
        for compiler in root.all("compiler"):
            made._read_compiler(compiler)
        made.defaults["main"] = {}
        for default in root.all("default"):
            if default.attributes.get("class", "main") != "main":
                default.refuse("the outermost default class is 'main'; put other classes into it")
            made._read_defaults(default, "main", made.defaults["main"])
        return made

    def _read_compiler(self, compiler: Element) -> None:
        where = "the compiler"
        if "angle" in compiler.attributes:
            self.degrees = compiler.choice("angle", where, ("degree", "radian")) == "degree"
        if compiler.attributes.get("coordinate", "local") != "local":
            compiler.refuse("global coordinates are no longer part of MJCF; save the model by MuJoCo 2 in local ones")
        sequence = compiler.attributes.get("eulerseq", self.sequence)
        if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
            compiler.refuse(f"eulerseq {sequence!r} must be three of x, y, z, X, Y, Z")
        self.sequence = sequence
        self.limits_by_range = compiler.choice("autolimits", where, ("true", "false"), "true") == "true"
        self.inertia_from_geoms = compiler.choice("inertiafromgeom", where, ("auto", "true", "false"), self.inertia_from_geoms)
        self.mesh_folder = compiler.attributes.get("meshdir", compiler.attributes.get("assetdir", self.mesh_folder))
        for key in ("boundmass", "boundinertia", "settotalmass", "balanceinertia", "inertiagrouprange"):
            if compiler.attributes.get(key, "0").strip() not in ("0", "-1", "false", "0 5"):
                compiler.refuse(
                    f"{key} of <compiler> changes masses and is not supported; save the compiled model by MuJoCo first"
                )

    def _read_defaults(self, default: Element, name: str, inherited: dict[str, dict[str, str]]) -> None:
        """Attributes of a class: those of the class around it, and its own."""
        found = {tag: dict(values) for tag, values in inherited.items()}
        for child in default.children:
            if child.tag != "default":
                found[child.tag] = found.get(child.tag, {}) | child.attributes
        self.defaults[name] = found
        for child in default.all("default"):
            inner = child.text("class", "a default")
            if inner in self.defaults:
                child.refuse(f"the default class {inner!r} is defined twice; rename one")
            self._read_defaults(child, inner, found)

    def complete(self, element: Element, inherited: str, kind: str = "") -> Element:
        """An element with the attributes of its class, or of the class of the body around it; `kind` if not that of its tag."""
        name = element.attributes.get("class", inherited)
        if name not in self.defaults:
            element.refuse(f"there is no default class {name!r}")
        given = self.defaults[name].get(kind or element.tag, {})  # a <freejoint> has none
        # an orientation or extent in one form replaces a default in another
        own = element.attributes
        if any(key in own for key in _ORIENTATIONS):
            given = {key: value for key, value in given.items() if key not in _ORIENTATIONS}
        return Element(element.tag, given | own, element.file, element.line, element.children)

    # ------------------------------------------------------------ angles and orientations

    def angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def pose(self, element: Element, where: str) -> Pose:
        """Position and orientation of an element."""
        x, y, z = element.numbers("pos", where, 3, (0.0, 0.0, 0.0))
        rotation = self.rotation(element, where)
        return Pose((x, y, z)) if rotation is None else Pose.of((x, y, z), rotation)

    def rotation(self, element: Element, where: str) -> Array | None:
        given = [key for key in _ORIENTATIONS if key in element.attributes]
        if len(given) > 1:
            element.refuse(f"{where}: several orientations are given: {', '.join(given)}; keep one")
        if not given:
            return None
        values = element.numbers(given[0], where, _ORIENTATIONS[given[0]])
        try:
            return self._rotation(given[0], values)
        except ModelError as problem:
            element.refuse(f"{where}: {problem}")

    def _rotation(self, key: str, values: tuple[float, ...]) -> Array:
        if key == "quat":
            return quaternion_rotation(_nonzero(values))
        if key == "euler":
            rotation = np.eye(3)
            for letter, value in zip(self.sequence, values, strict=True):
                step = rotation_about(letter.lower(), self.angle(value))
                rotation = rotation @ step if letter.islower() else step @ rotation
            return rotation
        if key == "axisangle":
            half = self.angle(values[3]) / 2
            axis = np.array(_nonzero(values[:3])) / np.linalg.norm(values[:3])
            return quaternion_rotation([math.cos(half), *(math.sin(half) * axis)])
        if key == "zaxis":
            return rotation_onto(values)
        x = np.array(_nonzero(values[:3])) / np.linalg.norm(values[:3])
        y = np.array(values[3:]) - (x @ np.array(values[3:])) * x
        y = np.array(_nonzero(y)) / np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)])


_ORIENTATIONS = {"quat": 4, "euler": 3, "axisangle": 4, "xyaxes": 6, "zaxis": 3}


def rotation_onto(direction: tuple[float, ...] | Array) -> Array:
    """The smallest rotation that takes z to this direction."""
    z = np.array(_nonzero(direction)) / np.linalg.norm(direction)
    axis = np.array([-z[1], z[0], 0.0])
    sine = float(np.linalg.norm(axis))
    if sine < 1e-10:
        return np.eye(3) if z[2] > 0 else rotation_about("x", math.pi)
    half = math.atan2(sine, float(z[2])) / 2
    return quaternion_rotation([math.cos(half), *(math.sin(half) * axis / sine)])


def _nonzero(values: tuple[float, ...] | Array) -> tuple[float, ...]:
    if not np.any(values):
        raise ModelError("a direction or quaternion of zeros has no orientation")
    return tuple(float(v) for v in values)
