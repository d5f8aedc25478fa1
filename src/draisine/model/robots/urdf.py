"""URDF: the robot descriptions of ROS, as a `Model`.

Links and joints become bodies and joints of the same names. Fixed joints are welded: masses and shapes are added to the body that
carries them, and a frame keeps the name of the link. Damping and friction of joints become forces, mimicking joints constraints,
limits the end of a run; `notes` of the model lists what is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.robots.mass_properties import MassProperties, Pose, roll_pitch_yaw
from draisine.model.robots.robot import (
    BASES,
    FRICTION,
    LIMITS,
    UNLIMITED,
    Assembly,
    Coupling,
    Robot,
    RobotJoint,
    RobotLink,
    check_options,
)
from draisine.model.robots.xml_files import Element, Roots, read_xml
from draisine.model.shapes import MAX_BYTES, MESHES

# elements and attributes that are known where others would be mistakes
_CHILDREN = {
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
_ATTRIBUTES = {
    "origin": ("xyz", "rpy"),
    "axis": ("xyz",),
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "parent": ("link",),
    "child": ("link",),
}
_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
# elements that a joint may have; of the others the first line says what they are for
_LEFT_OUT = {
    "transmission": "transmissions are ignored (every joint has a motor of its own)",
    "gazebo": "extensions for Gazebo are ignored",
    "collision": "collision geometry is ignored",
    "safety_controller": "safety controllers are ignored",
    "calibration": "calibration positions are ignored",
}


def read_urdf(
    path: str | Path,
    *,
    base: str = "fixed",
    joint_limits: str = "stop",
    friction: str = "dry",
    roots: Sequence[str | Path] | str | Path | None = None,
) -> Model:
    """Read the robot in the URDF file `path`. Any error is a `ModelError` with file and line.

    - `base`: how the root link moves: "fixed" to the ground, "free" or "planar".
    - `joint_limits`: "stop" ends runs where a joint leaves its limits, by the event <joint>_limit; "ignore" leaves them out.
    - `friction` of joints: "dry", −f sign v, with sticking; "smooth", −f tanh(v / 0.01 rad/s or m/s), which creeps instead;
      "ignore".
    - `roots`: the folders below which mesh files are looked for and opened; by default the folder of the file and that of its
      package, the nearest above with a package.xml.

    Every joint with one coordinate has an input <joint>_torque or <joint>_force, except those that mimic another. `notes` of the
    model lists what is ignored in the file: collision geometry, transmissions, limits of effort and velocity.
    """
    check_options({"base": (base, BASES), "joint_limits": (joint_limits, LIMITS), "friction": (friction, FRICTION)}, "read_urdf")
    root = read_xml(path, "read_urdf")
    if root.tag != "robot":
        root.refuse(f"the first element is <{root.tag}>, that of a URDF file is <robot>; is it the right file?")
    file = Path(path)
    robot = _Urdf(root, file, Roots.of(file, roots, "read_urdf")).robot()
    return Assembly(robot, base, joint_limits, friction).finished()


@dataclass
class _Urdf:
    """The elements of a file, on their way to a `Robot`."""

    root: Element
    file: Path
    files: Roots
    left_out: dict[str, list[str]] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def robot(self) -> Robot:
        self.colors = {
            m.text("name", "a material"): self._rgba(m) for m in self.root.all("material") if m.all("color", "texture")
        }
        self.links = self._by_name("link")
        self.joints = self._by_name("joint")
        known = ("link", "joint", "material", *_LEFT_OUT)
        for element in self.root.children:
            if element.tag in _LEFT_OUT:
                named = element.attributes.get("name") or element.attributes.get("reference") or f"line {element.line}"
                self._leave_out(_LEFT_OUT[element.tag], named)
            elif element.tag not in known:
                hint = did_you_mean(element.tag, known).replace("; known are", "; known there are")
                self.losses.append(f"<{element.tag}> in line {element.line} is unknown and ignored{hint}")
        self._warn_of_unknown_words()
        ordered = self._ordered()
        couplings = [c for name, joint in self.joints.items() if (c := self._mimic(name, joint)) is not None]
        followers = {coupling.follower for coupling in couplings}
        links = [self._link(name, joint, followers) for name, joint in ordered]
        notes = [*(f"{what}: {', '.join(names)}" for what, names in self.left_out.items()), *self.notes]
        return Robot(self.root.attributes.get("name", "") or self.file.stem, self.file, links, couplings, notes, self.losses)

    def _warn_of_unknown_words(self) -> None:
        """Misspelled elements and attributes would change the motion without a word."""
        for element in (found for item in self.root.all("link", "joint") for found in item.walk()):
            words = ((_CHILDREN, [child.tag for child in element.children], "<{}>"), (_ATTRIBUTES, element.attributes, "{!r}"))
            for known, used, form in words:
                for word in used:
                    if word not in known.get(element.tag, (word,)) and word not in _LEFT_OUT:
                        hint = did_you_mean(word, known[element.tag])
                        self.losses.append(f"{form.format(word)} of <{element.tag}> in line {element.line} is unknown{hint}")

    def _leave_out(self, what: str, name: str) -> None:
        names = self.left_out.setdefault(what, [])
        if name not in names:
            names.append(name)

    def _by_name(self, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in self.root.all(tag):
            name = element.text("name", f"a {tag}")
            if not name:
                element.refuse(f"a {tag} has an empty name; give it one")
            if name in found:
                element.refuse(f"{tag} {name!r} is defined twice (first in line {found[name].line}); rename one")
            found[name] = element
        return found

    # ------------------------------------------------------------ tree

    def _ordered(self) -> list[tuple[str, Element | None]]:
        """Links with the joints that lead to them, parents first."""
        if not self.links:
            self.root.refuse("the robot has no link")
        leads: dict[str, Element] = {}
        children: dict[str, list[str]] = {}
        for name, joint in self.joints.items():
            ends = [joint.need(role, f"joint {name!r}").text("link", f"joint {name!r}") for role in ("parent", "child")]
            for role, end in zip(("parent", "child"), ends, strict=True):
                if end not in self.links:
                    joint.refuse(f"joint {name!r}: its {role} {end!r} is not a link{did_you_mean(end, list(self.links))}")
            parent, child = ends
            if child in leads:
                joint.refuse(
                    f"link {child!r} is the child of two joints (the other is in line {leads[child].line}); URDF is a tree"
                )
            leads[child] = joint
            children.setdefault(parent, []).append(child)
        roots = [name for name in self.links if name not in leads]
        if not roots:
            self.root.refuse("every link is the child of a joint: the joints form a cycle, and there is no root link")
        if len(roots) > 1:
            self.links[roots[1]].refuse(
                f"the links {', '.join(map(repr, roots))} are children of no joint; a robot has one root link: connect the others"
            )
        found: list[tuple[str, Element | None]] = []
        pending: list[str] = list(roots)
        while pending:
            name = pending.pop()
            found.append((name, leads.get(name)))
            pending += reversed(children.get(name, []))
        if len(found) < len(self.links):
            reached = {name for name, _ in found}
            lost = next(name for name in self.links if name not in reached)
            self.links[lost].refuse(f"link {lost!r} is not connected to the root link {roots[0]!r}: its joints form a cycle")
        return found

    # ------------------------------------------------------------ links

    def _link(self, name: str, joint: Element | None, followers: set[str]) -> RobotLink:
        element = self.links[name]
        where = f"link {name!r}"
        link = RobotLink(name, None, Pose(), element)
        if joint is not None:
            link.parent = joint.need("parent", where).text("link", where)
            link.pose = _origin(joint, f"joint {joint.attributes['name']!r}")
            link.joints = self._joint(joint, followers)
        inertial = element.find("inertial")
        if inertial is not None:
            link.masses.append(self._masses(inertial, name))
        for k, visual in enumerate(element.all("visual")):
            shape = self._shape(visual, f"shape {k + 1} of {where}")
            if shape is not None:
                link.shapes.append((shape, _origin(visual, where)))
        for child in element.children:
            if child.tag == "collision":
                self._leave_out(_LEFT_OUT["collision"], name)
            elif child.tag not in ("inertial", "visual"):
                self._leave_out(f"<{child.tag}> of links is ignored", name)
        return link

    def _masses(self, inertial: Element, name: str) -> MassProperties:
        where = f"link {name!r}"
        mass = inertial.need("mass", where).number("value", where)
        if mass < 0.0:
            inertial.refuse(f"{where}: its mass is {mass:g} kg; it must be zero or positive")
        tensor = np.zeros((3, 3))
        entries = inertial.find("inertia")
        if entries is not None:
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
                key = f"i{'xyz'[i]}{'xyz'[j]}"
                tensor[i, j] = tensor[j, i] = entries.number(key, where, None if i == j else 0.0)
        pose = _origin(inertial, where)
        # programs that write such files subtract m r² and leave a rounding error, of either sign, of what should be zero
        if tensor.any() and np.abs(tensor).max() <= 1e-14 * mass * float(np.dot(pose.position, pose.position)):
            self._leave_out("moments of inertia that are rounding errors are taken as zero", name)
            tensor[:] = 0.0
        return MassProperties(mass, np.zeros(3), tensor).seen_from(pose)

    def _shape(self, visual: Element, where: str) -> dict[str, Any] | None:
        geometry = visual.find("geometry")
        if geometry is None or not geometry.children:
            visual.refuse(f"{where}: <geometry> is missing or empty; give it a <box>, <cylinder>, <sphere> or <mesh>")
        form = geometry.children[0]
        shape = self._form(form, where)
        if shape is not None:
            color = self._color(visual)
            return {**shape, "color": color} if color else shape
        return None

    def _form(self, form: Element, where: str) -> dict[str, Any] | None:
        if form.tag == "mesh":
            return self._mesh(form, where)
        if form.tag == "box":
            sizes = {"size": list(form.numbers("size", where, 3))}
        elif form.tag == "sphere":
            sizes = {"radius": form.number("radius", where)}  # type: ignore[dict-item]
        elif form.tag in ("cylinder", "capsule"):
            if form.tag == "capsule":
                self._leave_out("capsules are drawn as cylinders", where)
            sizes = {key: form.number(key, where) for key in ("radius", "length")} | {"axis": "z"}  # type: ignore[dict-item]
        else:
            self._leave_out(f"<{form.tag}> is no known geometry and not drawn", where)
            return None
        numbers = [n for key, value in sizes.items() if key != "axis" for n in (value if isinstance(value, list) else [value])]
        if min(numbers) <= 0.0:
            self._leave_out("shapes without extent are not drawn", where)
            return None
        return {"kind": "cylinder" if form.tag == "capsule" else form.tag, **sizes}

    def _mesh(self, form: Element, where: str) -> dict[str, Any] | None:
        name = form.text("filename", where)
        scale = form.numbers("scale", where, 3, (1.0, 1.0, 1.0))
        suffix = Path(name).suffix.lower()
        if suffix not in MESHES:
            self._leave_out(f"mesh files other than {', '.join(MESHES)} are not drawn", name)
            return None
        if not (scale[0] == scale[1] == scale[2] > 0.0):
            self._leave_out("meshes with unequal or negative scales are not drawn", name)
            return None
        found, reason = self.files.find(name)
        if found is None:
            self.losses.append(f"the mesh {name!r} of {where} is not drawn: it {reason}")
            return None
        if found.stat().st_size > MAX_BYTES:
            self.losses.append(f"the mesh {name!r} of {where} is not drawn: it has more than {MAX_BYTES} bytes")
            return None
        return {"kind": "mesh", "file": str(found), "scale": scale[0]}

    def _color(self, visual: Element) -> str:
        material = visual.find("material")
        if material is None:
            return ""
        if material.all("color", "texture"):
            color = self._rgba(material)
            if material.attributes.get("name"):
                self.colors.setdefault(material.attributes["name"], color)
            return color
        return self.colors.get(material.attributes.get("name", ""), "")

    def _rgba(self, material: Element) -> str:
        color = material.find("color")
        if color is None:
            self._leave_out("textures are not drawn", material.attributes.get("name", f"line {material.line}"))
            return ""
        parts = color.numbers("rgba", "a material", 4)[:3]
        return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in parts)

    # ------------------------------------------------------------ joints

    def _joint(self, joint: Element, followers: set[str]) -> list[RobotJoint]:
        name = joint.text("name", "a joint")
        where = f"joint {name!r}"
        kind = joint.choice("type", where, _KINDS)
        for child in joint.children:
            if child.tag in _LEFT_OUT:
                self._leave_out(_LEFT_OUT[child.tag], name)
        if kind == "fixed":
            return []
        axis = joint.find("axis")
        direction = (1.0, 0.0, 0.0) if axis is None else axis.numbers("xyz", where, 3, (1.0, 0.0, 0.0))
        if axis is not None and not any(direction) and kind != "floating":
            axis.refuse(f"{where}: its axis is (0, 0, 0), which has no direction")
        made = {"revolute": "revolute", "continuous": "revolute"}.get(kind, kind)
        dynamics = joint.find("dynamics")
        damping, friction = (0.0 if dynamics is None else dynamics.number(key, where, 0.0) for key in ("damping", "friction"))
        for key, value in (("damping", damping), ("friction", friction)):
            if value < 0.0 and dynamics is not None:
                dynamics.refuse(f"{where}: its {key} is {value:g}; it must be zero or positive")
            if value and made in ("floating", "planar"):
                self._leave_out(f"{key} of planar and floating joints is ignored", name)
        limits = self._limits(joint, name, kind)
        motor = name not in followers
        return [
            RobotJoint(
                name, made, joint, axis=direction, limits=limits, damping=damping, friction=friction, motor=motor
            )
        ]  # fmt: skip

    def _limits(self, joint: Element, name: str, kind: str) -> tuple[float, float] | None:
        limit = joint.find("limit")
        where = f"joint {name!r}"
        if limit is None:
            if kind in ("revolute", "prismatic"):
                self._leave_out("joints without <limit> have no limits", name)
            return None
        for key, word in (("effort", "effort"), ("velocity", "velocity")):
            if 0.0 < limit.number(key, where, 0.0, infinite=True) < UNLIMITED:
                self._leave_out(f"limits of {word} are not enforced", name)
        given = (limit.number(key, where, 0.0, infinite=True) for key in ("lower", "upper"))
        low, high = (math.copysign(math.inf, end) if abs(end) >= UNLIMITED else end for end in given)
        if kind not in ("revolute", "prismatic"):
            return None
        if low > high:
            limit.refuse(f"{where}: its lower limit {low:g} is above the upper limit {high:g}; exchange them")
        if low == high:
            self._leave_out("joints with equal limits have none", name)
            return None
        if math.isinf(low) or math.isinf(high):
            if math.isfinite(low) or math.isfinite(high):
                self._leave_out("limits on one side are not enforced", name)
            return None
        return low, high

    def _mimic(self, name: str, joint: Element) -> Coupling | None:
        mimic = joint.find("mimic")
        if mimic is None:
            return None
        where = f"joint {name!r}"
        if joint.text("type", where) == "fixed":
            self._leave_out("fixed joints mimic nothing", name)
            return None
        leader = mimic.text("joint", where)
        if leader not in self.joints:
            mimic.refuse(f"{where} mimics {leader!r}, which is not a joint{did_you_mean(leader, list(self.joints))}")
        return Coupling(name, leader, mimic.number("multiplier", where, 1.0), mimic.number("offset", where, 0.0), mimic)


def _origin(element: Element, where: str) -> Pose:
    origin = element.find("origin")
    if origin is None:
        return Pose()
    x, y, z = origin.numbers("xyz", where, 3, (0.0, 0.0, 0.0))
    return Pose((x, y, z), roll_pitch_yaw(origin.numbers("rpy", where, 3, (0.0, 0.0, 0.0))))
