"""MJCF: the models of MuJoCo, as a `Model`.

Bodies and joints keep their names. MuJoCo's equality constraints are soft, those of the model exact; contacts between geoms are
ignored. `notes` of the model lists what is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from draisine.errors import DraisineError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.robots.mass_properties import MassProperties, Pose
from draisine.model.robots.mjcf_couplings import add_actuators, add_equalities
from draisine.model.robots.mjcf_geoms import geom_of, masses_of, shape_of
from draisine.model.robots.mjcf_settings import Settings, with_includes
from draisine.model.robots.mjcf_words import unknown_words
from draisine.model.robots.robot import FRICTION, LIMITS, Assembly, Robot, RobotJoint, RobotLink, check_options
from draisine.model.robots.xml_files import Element, Roots, read_xml
from draisine.model.shapes import MAX_BYTES, MESHES

_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating"}
_QUIET = ("compiler", "default", "asset", "worldbody", "equality", "actuator", "option", "size", "visual", "statistic", "custom")
_UNUSED = ("camera", "light")
# attributes of a joint that are taken, and those without effect on the motion between limits
_TAKEN = "name class type axis pos range limited ref springref damping frictionloss stiffness armature"
_SOFT = "group solreflimit solimplimit solreffriction solimpfriction margin user align"


def read_mjcf(
    path: str | Path,
    *,
    joint_limits: str = "stop",
    friction: str = "dry",
    roots: Sequence[str | Path] | str | Path | None = None,
) -> Model:
    """Read the mechanism in the MJCF file `path` of MuJoCo. Any error is a `ModelError` with file and line.

    - `joint_limits`: "stop" ends runs where a joint leaves its range, by the event <joint>_limit; "ignore" leaves ranges out.
    - `friction` of joints (frictionloss): "dry", −f sign v, with sticking; "smooth", −f tanh(v / 0.01 rad/s or m/s); "ignore".
    - `roots`: the folders below which included files and meshes are looked for and opened; by default that of the file and that
      of its package, the nearest above with a package.xml.

    Bodies, joints, springs, damping, armature, masses (given, or of geoms), sites as frames, defaults, includes, constraints of
    <equality>, and motors, position and velocity servos are read; `notes` of the model lists what is not, contacts among it.
    """
    check_options({"joint_limits": (joint_limits, LIMITS), "friction": (friction, FRICTION)}, "read_mjcf")
    root = read_xml(path, "read_mjcf")
    if root.tag != "mujoco":
        root.refuse(f"the first element is <{root.tag}>, that of an MJCF file is <mujoco>; is it the right file?")
    file = Path(path)
    files = Roots.of(file, roots, "read_mjcf")
    reader = _Mjcf(with_includes(root, files), file, files)
    robot = reader.robot()
    assembly = Assembly(robot, "fixed", joint_limits, friction)
    try:
        add_equalities(assembly, root, reader.settings)
        add_actuators(assembly, root, reader.settings)
        assembly.model.gravity(reader.gravity)
    except DraisineError as problem:
        assembly.locate(problem)
    return assembly.finished()


@dataclass
class _Mjcf:
    """The elements of a file, on their way to a `Robot`."""

    root: Element
    file: Path
    files: Roots
    settings: Settings = field(init=False)
    links: list[RobotLink] = field(default_factory=list)
    bodies: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    from_geoms: set[str] = field(default_factory=set)  # bodies with the masses of their geoms
    left_out: dict[str, list[str]] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)

    def robot(self) -> Robot:
        self.losses += unknown_words(self.root)
        self.settings = Settings.of(self.root)
        self.meshes = self._meshes()
        self._read_options()
        for element in self.root.children:
            if element.tag == "tendon":
                self.losses += [f"the tendon {_label(t)} is ignored" for t in element.children]
            elif element.tag not in _QUIET and element.children:
                names = [child.attributes.get("name", f"line {child.line}") for child in element.children]
                self.left_out.setdefault(f"<{element.tag}> is ignored", []).extend(names)
        world = RobotLink("world", None, Pose(), self.root)
        self.links.append(world)
        for body in self.root.all("worldbody"):
            self._fill(world, body, "main", Pose())
        notes = [f"{what}: {', '.join(names)}" for what, names in self.left_out.items()]
        notes.insert(0, "contacts between geoms are ignored")
        return Robot(self.root.attributes.get("model", "") or self.file.stem, self.file, self.links, [], notes, self.losses)

    def _leave_out(self, what: str, name: str) -> None:
        names = self.left_out.setdefault(what, [])
        if name not in names:
            names.append(name)

    def _read_options(self) -> None:
        for option in self.root.all("option"):
            self.gravity = option.numbers("gravity", "the options", 3, self.gravity)
            for key in ("density", "viscosity"):
                if option.number(key, "the options", 0.0):
                    self._lose(f"{key} of the surrounding fluid is ignored", option)
            for flag in option.all("flag"):
                if flag.attributes.get("gravity") == "disable":
                    self.gravity = (0.0, 0.0, 0.0)
                for key in ("passive", "spring", "damper", "frictionloss", "limit", "equality", "actuation"):
                    if flag.attributes.get(key) == "disable":
                        flag.refuse(f'the flag {key}="disable" is not supported; leave out what it disables')

    def _lose(self, what: str, element: Element) -> None:
        self.losses.append(f"{what} (line {element.line})")

    def _meshes(self) -> dict[str, Element]:
        found = {}
        for asset in self.root.all("asset"):
            for mesh in asset.all("mesh"):
                full = self.settings.complete(mesh, "main")
                name = full.attributes.get("name") or Path(full.attributes.get("file", "")).stem
                found[name] = full
        return found

    # ------------------------------------------------------------ bodies

    def _fill(self, link: RobotLink, element: Element, inherited: str, frame: Pose) -> None:
        """What an element contains becomes part of a link; bodies become links of their own."""
        inherited = element.attributes.get("childclass", inherited)
        where = f"body {link.name!r}"
        for child in element.children:
            full = self.settings.complete(child, inherited) if child.tag in ("geom", "site", "joint", "freejoint") else child
            if child.tag == "body":
                self._body(child, link, inherited, frame)
            elif child.tag == "frame":
                self._fill(link, child, inherited, frame.then(self.settings.pose(child, f"a frame of {where}")))
            elif child.tag == "geom":
                self._geom(link, full, frame)
            elif child.tag == "site":
                name = full.attributes.get("name")
                if name:
                    link.frames.append((name, frame.then(self.settings.pose(full, f"site {name!r}"))))
            elif child.tag in ("joint", "freejoint"):
                if link.parent is None:
                    child.refuse("the world has a joint; put it into a body")
                link.joints.append(self._joint(link, full, frame))
            elif child.tag in _UNUSED:
                self._leave_out("cameras and lights are ignored", child.attributes.get("name", f"line {child.line}"))
            elif child.tag != "inertial":
                child.refuse(f"{where}: <{child.tag}> is not supported")

    def _body(self, element: Element, parent: RobotLink, inherited: str, frame: Pose) -> None:
        name = element.attributes.get("name") or f"body_{len(self.links)}"
        where = f"body {name!r}"
        if name in self.bodies or name == "world":
            element.refuse(f"{where} is defined twice; rename one")
        if element.attributes.get("mocap") == "true":
            element.refuse(f"{where}: bodies of motion capture are not supported; prescribe the motion of a joint instead")
        if element.number("gravcomp", where, 0.0):
            self._lose(f"gravity compensation of {where} is ignored", element)
        self.bodies[name] = element
        link = RobotLink(name, parent.name, frame.then(self.settings.pose(element, where)), element)
        self.links.append(link)
        inertial = element.find("inertial")
        by_geoms = self.settings.inertia_from_geoms
        # "true" replaces what a body states by its geoms; MuJoCo keeps it where there are none
        replaced = inertial is None or (by_geoms == "true" and _has_geoms(element))
        link.masses = [] if inertial is None or replaced else [self._masses(inertial, where)]
        if replaced and by_geoms != "false":
            self.from_geoms.add(name)
        self._fill(link, element, inherited, Pose())
        free = [joint for joint in link.joints if joint.kind == "floating"]
        if free and (len(link.joints) > 1 or parent.name != "world"):
            element.refuse(f"{where}: a free joint is the only joint of a body of the world")

    def _masses(self, inertial: Element, where: str) -> MassProperties:
        pose = self.settings.pose(inertial, where)
        mass = inertial.number("mass", where)
        if "fullinertia" in inertial.attributes:
            xx, yy, zz, xy, xz, yz = inertial.numbers("fullinertia", where, 6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(inertial.numbers("diaginertia", where, 3))
        return MassProperties(mass, np.zeros(3), tensor).seen_from(pose)

    def _geom(self, link: RobotLink, element: Element, frame: Pose) -> None:
        where = f"a geom of body {link.name!r}"
        geom = geom_of(element, self.settings, where)
        geom = geom._replace(pose=frame.then(geom.pose))
        if link.parent is not None and link.name in self.from_geoms:
            masses = masses_of(geom, element, where)
            if masses is not None:
                link.masses.append(masses)
        if geom.kind == "mesh":
            shape = self._mesh(element, where)
        else:
            shape = shape_of(geom, element)
            if shape is None and geom.kind not in ("plane", "hfield"):
                self._leave_out(f"geoms of the kind {geom.kind} are not drawn", link.name)
        if shape is not None:
            link.shapes.append((shape, geom.pose))

    def _mesh(self, element: Element, where: str) -> dict[str, object] | None:
        """MuJoCo shifts and turns meshes to their own inertial frame and back; their points stay where the file has them."""
        name = element.text("mesh", where)
        if name not in self.meshes:
            element.refuse(f"{where}: there is no mesh {name!r}{did_you_mean(name, list(self.meshes))}")
        asset = self.meshes[name]
        file = asset.attributes.get("file", "")
        scale = asset.numbers("scale", where, 3, (1.0, 1.0, 1.0))
        moved = any(key in asset.attributes for key in ("refpos", "refquat"))
        if Path(file).suffix.lower() not in MESHES or not scale[0] == scale[1] == scale[2] > 0.0 or moved:
            self._leave_out("meshes that are turned, scaled unequally or of another format are not drawn", name)
            return None
        found, reason = self.files.find(str(Path(self.settings.mesh_folder) / file))
        if found is None or found.stat().st_size > MAX_BYTES:
            self.losses.append(f"the mesh {name!r} of {where} is not drawn: {file!r} {reason or 'is too large'}")
            return None
        return {"kind": "mesh", "file": str(found), "scale": scale[0]}

    # ------------------------------------------------------------ joints

    def _joint(self, link: RobotLink, element: Element, frame: Pose) -> RobotJoint:
        name = element.attributes.get("name") or f"{link.name}_joint_{len(link.joints) + 1}"
        where = f"joint {name!r}"
        if name in self.joints:
            element.refuse(f"{where} is defined twice; rename one")
        self.joints[name] = element
        for key in element.attributes.keys() - set(_TAKEN.split()) - set(_SOFT.split()):
            self._lose(f"{key} of {where} is ignored", element)
        if element.tag == "freejoint":
            return RobotJoint(name, "floating", element, motor=False, absolute=True)
        kind = _KINDS[element.choice("type", where, tuple(_KINDS), "hinge")]
        numbers = {key: element.number(key, where, 0.0) for key in ("damping", "frictionloss", "stiffness", "armature")}
        for key, value in numbers.items():
            if value < 0.0:
                element.refuse(f"{where}: its {key} is {value:g}; it must be zero or positive")
            if value and kind in ("spherical", "floating"):
                self._lose(f"{key} of {where} is ignored", element)
        axis = element.numbers("axis", where, 3, (0.0, 0.0, 1.0))
        if not any(axis):
            element.refuse(f"{where}: its axis is (0, 0, 0), which has no direction")
        axis = tuple(float(c) for c in frame.rotation @ np.array(axis)) if frame.turns else axis
        anchor = tuple(float(c) for c in frame.apply(element.numbers("pos", where, 3, (0.0, 0.0, 0.0))))
        made = RobotJoint(
            name,
            kind,
            element,
            axis,
            anchor,
            damping=numbers["damping"],
            friction=numbers["frictionloss"],
            stiffness=numbers["stiffness"],
            armature=numbers["armature"],
            motor=False,
            absolute=kind == "floating",
        )
        if kind in ("spherical", "floating"):
            if "range" in element.attributes:
                self._leave_out("ranges of ball joints are not enforced", name)
            return replace(made, damping=0.0, friction=0.0, stiffness=0.0, armature=0.0)
        convert = self.settings.angle if kind == "revolute" else float
        reference, rest = (convert(element.number(key, where, 0.0)) for key in ("ref", "springref"))
        return replace(made, reference=reference, rest=rest, limits=self._limits(element, where, kind))

    def _limits(self, element: Element, where: str, kind: str) -> tuple[float, float] | None:
        limited = element.choice("limited", where, ("true", "false", "auto"), "auto")
        if limited == "false" or "range" not in element.attributes:
            return None
        if limited == "auto" and not self.settings.limits_by_range:
            return None
        low, high = element.numbers("range", where, 2)
        if low >= high:
            element.refuse(f"{where}: its range {low:g} to {high:g} does not increase")
        return (self.settings.angle(low), self.settings.angle(high)) if kind == "revolute" else (low, high)


def _label(element: Element) -> str:
    return repr(element.attributes["name"]) if element.attributes.get("name") else f"of line {element.line}"


def _has_geoms(element: Element) -> bool:
    """Whether a body has geoms of its own, perhaps in frames."""
    return any(child.tag == "geom" or (child.tag == "frame" and _has_geoms(child)) for child in element.children)
