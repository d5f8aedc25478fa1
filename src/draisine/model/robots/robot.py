"""Links and joints of a robot, as files of any format give them, and the `Model` that they become.

Links without joints of their own are welded to the link that carries them: their masses are added to it, and a frame of their
name stays. Names become names of the package: letters, digits and underscores, without those already taken.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from draisine.errors import ArgumentError, DraisineError, ModelError
from draisine.expr.expression import Call, Expr, Name, Number
from draisine.model import joints as kinds
from draisine.model.items import GROUND, Ball, Coordinate, Displacement, Rotate, Translate, Vector
from draisine.model.model import Model
from draisine.model.robots.mass_properties import MassProperties, Pose, quaternion_of, welded
from draisine.model.robots.xml_files import Element
from draisine.model.shapes import BodyShape

BASES = ("fixed", "free", "planar")
LIMITS = ("stop", "ignore")
FRICTION = ("dry", "smooth", "ignore")
SMOOTH_SPEED = 0.01  # rad/s or m/s, where smooth friction has three quarters of its amount
UNLIMITED = 1e9  # of positions, efforts and velocities in URDF files: limits from there on are none
MARGIN = 1e-9  # of the range between limits: a joint may rest on its limit, and leaving it from there is seen
_WORLD = ("ground", "world", "universe")  # root links that are the ground itself
_UNITS = {"revolute": ("rad", "N*m", "torque"), "prismatic": ("m", "N", "force")}
_ZERO = Number(0.0)
_FREE = "x y z qw qx qy qz vx vy vz wx wy wz"  # endings of the coordinates and velocities of a free body


@dataclass(frozen=True)
class RobotJoint:
    """A joint: "revolute", "prismatic", "spherical", "floating" or "planar"; axis and anchor are in the axes of the child."""

    name: str
    kind: str
    element: Element  # for errors
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)
    anchor: tuple[float, ...] = (0.0, 0.0, 0.0)
    limits: tuple[float, float] | None = None
    reference: float = 0.0  # the value of the coordinate where the displacement is zero
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0  # of the spring
    armature: float = 0.0
    motor: bool = True
    absolute: bool = False  # a floating joint whose position is that in the ground; the place of its link is its default


@dataclass
class RobotLink:
    """A link, where it is on its parent, and what moves it there; without joints it is welded."""

    name: str
    parent: str | None
    pose: Pose
    element: Element
    joints: list[RobotJoint] = field(default_factory=list)
    masses: list[MassProperties] = field(default_factory=list)
    shapes: list[tuple[dict[str, Any], Pose]] = field(default_factory=list)
    frames: list[tuple[str, Pose]] = field(default_factory=list)


@dataclass(frozen=True)
class Coupling:
    """follower = ratio · leader + offset, of two joints."""

    follower: str
    leader: str
    ratio: float
    offset: float
    element: Element


@dataclass
class Robot:
    """Links, parents first, and what is ignored in the file: `notes`, and among them `losses`, which a user must know."""

    name: str
    file: Path
    links: list[RobotLink]
    couplings: list[Coupling] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


@dataclass
class Assembly:
    """The model of a robot, and what became of the names of the file: body and pose of links, coordinates of joints."""

    robot: Robot
    base: str
    limits: str
    friction: str
    model: Model = field(init=False)
    carriers: dict[str, tuple[str, Pose]] = field(default_factory=dict)  # of links
    coordinates: dict[str, Coordinate] = field(default_factory=dict)  # of joints with one coordinate
    inputs: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, list[dict[str, Any] | BodyShape]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    lines: dict[str, Element] = field(default_factory=dict)  # by name in the model, for errors
    _given: dict[str, set[str]] = field(default_factory=dict)  # names of the file, of links with their frames and of joints
    _values: set[str] = field(default_factory=lambda: {"t", "pi"})
    _frames: set[str] = field(default_factory=lambda: {GROUND, "pi"})

    def __post_init__(self) -> None:
        name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", self.robot.name)).strip("_")
        self.model = Model(name if name[:1].isalpha() else f"robot_{name}".rstrip("_"))
        links = self.robot.links
        self._given["link"] = {name for link in links for name in (link.name, *(frame for frame, _ in link.frames))}
        self._given["joint"] = {joint.name for link in links for joint in link.joints}
        try:
            bodies = self._weld()
            for link in bodies:
                self._add_body(link)
            self._add_joints(bodies)
            self._add_frames()
            self.model.ground(shapes=self.shapes.get(GROUND, []))
            for coupling in self.robot.couplings:
                self.couple(coupling)
        except DraisineError as problem:
            self.locate(problem)

    def locate(self, problem: DraisineError) -> NoReturn:
        """Raise an error of the model with file and, where it names an item, line."""
        message = str(problem)
        if re.match(rf"{re.escape(str(self.robot.file))}|.*, line \d+: ", message):
            raise problem
        found = [(message.find(repr(name)), element) for name, element in self.lines.items() if repr(name) in message]
        if not found:
            raise ModelError(f"{self.robot.file}: {message}") from None
        min(found, key=lambda pair: pair[0])[1].refuse(message)

    def finished(self) -> Model:
        """The validated model, with its notes; what a user must know is a warning too."""
        robot = self.robot
        if self.renamed:
            pairs = ", ".join(f"{old!r} is {new}" for old, new in self.renamed.items())
            robot.notes.append(f"names of the file that are none of the model: {pairs}")
        if not self.model._items["bodies"]:
            raise ModelError(
                f"{robot.file}: no joint moves, and the root link is fixed to the ground; let it move by base='free'"
            )
        try:
            self.model.freeze()
        except DraisineError as problem:
            self.locate(problem)
        self.model.notes = (*robot.notes, *(loss for loss in robot.losses if loss not in robot.notes))
        if robot.losses:
            first = "; ".join(robot.losses[:3]) + (f"; and {len(robot.losses) - 3} more" if len(robot.losses) > 3 else "")
            warnings.warn(f"{robot.file}: {first} (all are in `notes` of the model)", stacklevel=4)
        return self.model

    # ------------------------------------------------------------ names

    def _named(self, given: str, taken: set[str], derived: Sequence[str] = ("",), word: str = "link") -> str:
        """A name of the package near the given one, such that it and those derived from it are free. Names of the file
        that need no change come first: of the links left-wheel and left_wheel the second keeps its name."""
        stem = _spelled(given, word)
        name, k = stem, 1
        others = self._given.get(word, set()) - {given}
        while name in others or any(name + ending in taken for ending in derived):
            k += 1
            name = f"{stem}_{k}"
        taken.update(name + ending for ending in derived)
        if name != given:
            self.renamed[given] = name
        if name != stem and (word == "joint" or any(_spelled(other, word) == stem for other in others)):
            self.robot.losses.append(f"the {word} {given!r} is {name}, since {stem} is another one's name")
        return name

    def input_name(self, given: str) -> str:
        """A name for an input."""
        return self._named(given, self._values, word="input")

    # ------------------------------------------------------------ bodies

    def _weld(self) -> list[RobotLink]:
        """Links that become bodies; the others belong to one of them or to the ground."""
        found = []
        for link in self.robot.links:
            root = link.parent is None
            if link.joints or (root and self.base != "fixed"):
                self.carriers[link.name] = (self._named(link.name, self._frames), Pose())
                found.append(link)
            else:
                carrier, pose = (GROUND, Pose()) if root else self.carriers[link.parent or ""]
                self.carriers[link.name] = (carrier, pose.then(link.pose))
        return found

    def _add_body(self, link: RobotLink) -> None:
        body = self.carriers[link.name][0]
        self.lines[body] = link.element
        parts = [(part, self.carriers[part.name][1]) for part in self.robot.links if self.carriers[part.name][0] == body]
        masses = [mass.seen_from(pose) for part, pose in parts for mass in part.masses]
        total = welded(masses)
        tensor = total.inertia
        rows = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "yz": (1, 2), "zx": (2, 0)}
        self._gather_shapes(body, parts)
        self.model.body(
            body,
            mass=float(total.mass),
            center_of_mass=[float(c) for c in total.center],
            inertia={key: float(tensor[at]) for key, at in rows.items()},
            shapes=self.shapes.get(body, []),
        )

    def _gather_shapes(self, body: str, parts: Iterable[tuple[RobotLink, Pose]]) -> None:
        for part, pose in parts:
            for shape, at in part.shapes:
                place = pose.then(at)
                turns = [{axis: angle} for axis, angle in place.turns]
                placed = {**shape, "at": list(place.position), "orientation": turns}
                self.shapes.setdefault(body, []).append(placed)

    def _add_frames(self) -> None:
        """Frames of welded links, and those that links have; their names come after those of bodies."""
        fixed = [link for link in self.robot.links if self.carriers[link.name][0] == GROUND]
        self._gather_shapes(GROUND, [(link, self.carriers[link.name][1]) for link in fixed])
        for link in self.robot.links:
            body, pose = self.carriers[link.name]
            is_world = body == GROUND and link.parent is None and link.name in _WORLD
            if not is_world and (body == GROUND or (link.joints == [] and (link.parent is not None or self.base == "fixed"))):
                self.frame(link.name, body, pose)
            for name, at in link.frames:
                self.frame(name, body, pose.then(at))

    def frame(self, given: str, body: str, pose: Pose) -> str:
        """Add a frame of a body, or of the ground."""
        name = self._named(given, self._frames)
        self.model.frame(name, body, pose.position, pose.turns)
        return name

    # ------------------------------------------------------------ joints

    def _add_joints(self, bodies: Sequence[RobotLink]) -> None:
        for link in bodies:
            body = self.carriers[link.name][0]
            if not link.joints:
                self._values |= {f"{body}_{ending}" for ending in (*_FREE.split(), "heading", "heading_rate")}
                self.lines[f"{body}_motion"] = link.element
                self.model.free(body) if self.base == "free" else self.model.planar(body)
                continue
            parent, pose = self.carriers[link.parent or ""]
            place = pose.then(link.pose)
            if link.joints[0].absolute or self._is_free(link, parent, place):
                self._add_free(link.joints[0], body, place)
                continue
            chain: list[Displacement] = [] if place.position == (0.0, 0.0, 0.0) else [Translate(_vector(place.position))]
            chain += [Rotate(axis, Number(angle)) for axis, angle in place.turns]
            coordinates: list[Coordinate] = []
            names = []
            for joint in link.joints:
                name, steps, own = self._motion(joint)
                names.append(name)
                shifted = any(joint.anchor) and joint.kind != "prismatic"
                there, back = Translate(_vector(joint.anchor)), Translate(_vector(-c for c in joint.anchor))
                chain += [there, *steps, back] if shifted else steps
                coordinates += own
            label = names[0] if len(names) == 1 else f"{body}_joints"
            self.lines[label] = link.joints[0].element
            self.model.joint(label, parent, body, _merged(chain), coordinates)
            for joint in link.joints:
                self._add_terms(joint)

    def _is_free(self, link: RobotLink, parent: str, place: Pose) -> bool:
        return parent == GROUND and place.is_identity and [joint.kind for joint in link.joints] == ["floating"]

    def _add_free(self, joint: RobotJoint, body: str, place: Pose) -> None:
        """A floating joint on the ground has the twist in body axes as velocities, and names of the joint; its place is where
        it is by default."""
        name = self._named(joint.name, self._values, ["", *(f"_{a}" for a in _FREE.split())], "joint")
        self.lines[name] = joint.element
        chain, coordinates = kinds.free(name, place.position)
        turn = dict(zip(("qw", "qx", "qy", "qz"), quaternion_of(place.rotation), strict=True))
        placed = [c._replace(default=turn.get(c.name[-2:], c.default)) for c in coordinates]
        self.model.joint(name, GROUND, body, chain, placed)

    def _motion(self, joint: RobotJoint) -> tuple[str, list[Displacement], tuple[Coordinate, ...]]:
        """The name of a joint, its displacements and its coordinates."""
        where = f"joint {joint.name!r}"
        if joint.kind in _UNITS:
            unit, _, ending = _UNITS[joint.kind]
            derived = ("", "_rate", f"_{ending}", "_damping", "_friction", "_stiffness", "_rotor", "_rotor_rate", "_armature")
            name = self._named(joint.name, self._values, derived, "joint")
            maker = kinds.angle if unit == "rad" else kinds.length
            coordinate = maker(name, None, *self._range(joint))
            self.coordinates[joint.name] = coordinate
            amount: Expr = Name(name) if joint.reference == 0.0 else Name(name) - joint.reference
            steps: list[Displacement]
            steps = [*kinds.about(joint.axis, amount, where)] if unit == "rad" else [kinds.along(joint.axis, amount, where)]
            return name, steps, (coordinate,)
        if joint.kind == "planar":
            name = self._named(
                joint.name, self._values, ("", "_x", "_y", "_heading", "_x_rate", "_y_rate", "_heading_rate"), "joint"
            )
            x, y = (kinds.length(f"{name}_{a}") for a in "xy")
            turn = kinds.angle(f"{name}_heading")
            first, second, _ = kinds.across(joint.axis, where)
            turned = kinds.about(joint.axis, Name(turn.name), where)
            if (first, second) == (_vector((1.0, 0.0, 0.0)), _vector((0.0, 1.0, 0.0))):  # the normal is z
                return name, [Translate((Name(x.name), Name(y.name), _ZERO)), *turned], (x, y, turn)
            slides = [kinds.along([c.value for c in way], Name(at.name), where) for way, at in ((first, x), (second, y))]  # type: ignore[attr-defined]
            return name, [*slides, *turned], (x, y, turn)
        own = ["", *(f"_{a}" for a in ("qw", "qx", "qy", "qz", "wx", "wy", "wz"))]
        if joint.kind == "floating":
            own += [f"_{a}{ending}" for a in "xyz" for ending in ("", "_rate")]
        name = self._named(joint.name, self._values, own, "joint")
        (ball,), turns = kinds.spherical(name)
        assert isinstance(ball, Ball)
        if joint.kind == "spherical":
            return name, [ball], turns
        position = tuple(kinds.length(f"{name}_{a}") for a in "xyz")
        return name, [Translate(tuple(Name(c.name) for c in position)), ball], (*position, *turns)  # type: ignore[arg-type]

    def _range(self, joint: RobotJoint) -> tuple[float, tuple[float, float] | None]:
        """The default of a coordinate and its span: zero where the limits allow it, else their middle, which is noted."""
        if joint.limits is None:
            return joint.reference, None
        low, high = joint.limits
        if low <= joint.reference <= high:
            return joint.reference, joint.limits
        middle = (low + high) / 2
        self.robot.notes.append(
            f"joint {joint.name!r} starts at {middle:g} unless the start gives it: {joint.reference:g} is outside of its limits"
        )
        return middle, joint.limits

    def _add_terms(self, joint: RobotJoint) -> None:
        """Motor, damping, friction, spring, limits and rotor of a joint with one coordinate."""
        if joint.name not in self.coordinates:
            return
        coordinate = self.coordinates[joint.name]
        name, rate = coordinate.name, Name(coordinate.rate)
        unit, force, word = _UNITS[joint.kind]
        model = self.model
        if joint.motor:
            self.inputs[joint.name] = f"{name}_{word}"
            model.generalized_force(name, model.input(f"{name}_{word}", force, f"of the motor of joint {name}"), f"{name}_{word}")
        if joint.damping:
            damping = model.parameter(f"{name}_damping", joint.damping, f"{force}*s/{unit}", f"viscous, of joint {name}")
            model.generalized_force(name, -damping * rate, f"{name}_damping")
        if joint.friction and self.friction != "ignore":
            sense = Call("sign", (rate,)) if self.friction == "dry" else Call("tanh", (rate / SMOOTH_SPEED,))
            friction = model.parameter(f"{name}_friction", joint.friction, force, f"dry, of joint {name}")
            model.generalized_force(name, -friction * sense, f"{name}_friction")
        if joint.stiffness:
            stiffness = model.parameter(f"{name}_stiffness", joint.stiffness, f"{force}/{unit}", f"of joint {name}")
            model.spring(name, stiffness, joint.rest, name=f"{name}_spring")
        if joint.limits is not None and self.limits == "stop":
            low, high = joint.limits
            margin = MARGIN * (high - low)
            inside = (Name(name) - (low - margin)) * (high + margin - Name(name))
            model.event(f"{name}_limit", inside, "stop", -1, f"joint {name} leaves {low:g} to {high:g} {unit}")
        if joint.armature:
            self._add_rotor(joint, coordinate)

    def _add_rotor(self, joint: RobotJoint, coordinate: Coordinate) -> None:
        """Armature adds to the diagonal of the mass matrix: a massless disk on the ground that turns at the rate of the joint,
        1 rad per meter of one that slides."""
        name = coordinate.name
        body = self._named(f"{name}_rotor", self._frames)
        half = joint.armature / 2  # of a flat disk, whose other moments do no work here
        self.model.body(body, mass=0.0, inertia=(half, half, joint.armature))
        self.model.revolute(f"{name}_rotor", GROUND, body, axis="z")
        self.model.gear(f"{name}_armature", name, f"{name}_rotor", 1.0)

    # ------------------------------------------------------------ couplings

    def couple(self, coupling: Coupling) -> None:
        """A constraint between two joints, or on one that follows with the ratio zero."""
        where = f"joint {coupling.follower!r}"
        pair = []
        for name in (coupling.follower, coupling.leader):
            if name not in self.coordinates:
                coupling.element.refuse(f"{where} follows {coupling.leader!r}: {name!r} is not a joint with one coordinate")
            pair.append(self.coordinates[name])
        second, first = pair
        if first is second:
            coupling.element.refuse(f"{where} follows itself; name another joint")
        name = self.model._fresh("constraints", f"{second.name}_coupling")
        if coupling.ratio == 0.0:
            self.model.prescribe(name, second.name, coupling.offset)
        else:
            self.model.gear(name, first.name, second.name, coupling.ratio, coupling.offset)


def _spelled(given: str, word: str) -> str:
    """A name of a file with the letters of the package's names."""
    stem = re.sub(r"[^A-Za-z0-9_]", "_", given)
    return stem if stem[:1].isalpha() else f"{word}_{stem}".rstrip("_")


def _vector(components: Iterable[float]) -> Vector:
    x, y, z = (Number(float(c) + 0.0) for c in components)
    return x, y, z


def _merged(chain: Sequence[Displacement]) -> list[Displacement]:
    """A chain in which successive constant translations are one, and none is zero."""
    found: list[Displacement] = []
    for step in chain:
        previous = found[-1] if found else None
        if isinstance(step, Translate) and isinstance(previous, Translate) and _constant(step) and _constant(previous):
            sums = tuple(a.value + b.value for a, b in zip(previous.by, step.by, strict=True))  # type: ignore[attr-defined]
            found[-1] = Translate(_vector(sums))
        else:
            found.append(step)
    return [step for step in found if not (isinstance(step, Translate) and all(c == _ZERO for c in step.by))]


def _constant(step: Translate) -> bool:
    return all(isinstance(component, Number) for component in step.by)


def check_options(options: Mapping[str, tuple[Any, Sequence[str]]], verb: str) -> None:
    """Refuse values that an option does not know."""
    for name, (value, known) in options.items():
        if not isinstance(value, str) or value not in known:
            raise ArgumentError(f"{verb}: {name} must be one of {', '.join(map(repr, known))}, got {value!r}")
