"""A tree of bodies as a URDF file.

Every joint becomes one URDF joint per coordinate, with massless links between them; a joint that has none is fixed. Where a joint
turns about an axis that does not pass through the origin of its body, the link has its origin on the axis.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from draisine.errors import ArgumentError, ExpressionError, ModelError
from draisine.expr.expression import Call, Expr, Name, evaluate_number, names
from draisine.model import shapes as solids
from draisine.model.items import GROUND, Ball, Body, Coordinate, Displacement, Float, Glide, Joint, Rotate, Translate
from draisine.model.model import Model
from draisine.model.robots.mass_properties import Array, MassProperties, Pose
from draisine.model.robots.robot import MARGIN, UNLIMITED
from draisine.model.system import System
from draisine.results.files import write_text

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def write_urdf(model: Model | System, path: str | Path) -> None:
    """Write a tree of bodies to the URDF file `path`, at the default values of its parameters; `read_urdf` reads it back.

    `model` may have joints with one coordinate, planar and free ones and chains of these, gears between two coordinates, damping
    and dry friction of joints, and limits as `read_urdf` makes them. Wheels and other constraints are refused by name, since URDF
    cannot express them; forces, outputs and events that it cannot express are left out with a warning.
    """
    if not isinstance(path, str | Path):
        raise ArgumentError(f"write_urdf: expected the name of a file such as 'robot.urdf', got {path!r}")
    system = model.freeze() if isinstance(model, Model) else model
    if not isinstance(system, System):
        raise ArgumentError(f"write_urdf: expected a model of bodies and joints, got {model!r}")
    writer = _Writer(system, Path(path))
    text = writer.text()
    write_text(path, text)
    if writer.lost:
        warnings.warn(f"{path}: URDF cannot express {', '.join(writer.lost)}; the file is without them", stacklevel=2)


class _Motion(NamedTuple):
    """A displacement that moves: kind of the URDF joint, axis, coordinates and the pose before it."""

    kind: str
    axis: tuple[float, ...]
    name: str
    before: Pose


@dataclass
class _Writer:
    system: System
    path: Path
    lost: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # names of forces, events, constraints that the file says

    def __post_init__(self) -> None:
        self.values = self.system.parameter_values()
        self.tables = {table.name: (lambda *at, table=table: float(table.at(*at))) for table in self.system.functions}
        self.places: dict[str, tuple[str, Pose]] = {}  # link of a body, and pose of the body in it
        self.coordinates = {c.name: c for joint in self.system.joints for c in joint.coordinates}

    def text(self) -> str:
        system = self.system
        kinds = ((system.wheels, "wheel"), (system.edges, "knife edge"), (system.surface_contacts, "contact"))
        for items, word in (*kinds, (system.surface_parameters, "surface parameter")):
            if items:
                raise ModelError(
                    f"model {system.name!r}: URDF has trees of bodies only; {word} {items[0].name!r} cannot be written"
                )
        mimics = self._mimics()
        lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(system.name)}>"]
        on_ground = [joint for joint in system.joints if joint.parent == GROUND]
        base = (
            on_ground[0]
            if len(on_ground) == 1 and isinstance(on_ground[0].chain[0:1] and on_ground[0].chain[0], Float | Glide)
            else None
        )
        if base is not None:
            kind = "free" if isinstance(base.chain[0], Float) else "planar"
            lines.append(f'  <!-- read_urdf(path, base="{kind}") -->')
            self.places[base.child] = (base.child, Pose())
        else:
            self.places[GROUND] = (GROUND, Pose())
        found = [*self._ground(base is None)]
        for joint in _parents_first(system.joints):
            found += [] if joint is base else list(self._joint(joint, mimics))
        bodies = [line for body in system.bodies for line in self._link(body)]
        frames = [line for point in system.points for line in self._frame(point.name, point.body)]
        self._note_losses(base is not None)
        return "\n".join([*lines, *bodies, *found, *frames, "</robot>", ""])

    # ------------------------------------------------------------ numbers

    def _is_zero(self, expr: Expr) -> bool:
        """Whether an expression is a product with a factor of zero."""
        if isinstance(expr, Call) and expr.function in ("mul", "div", "neg"):
            return any(self._is_zero(part) for part in expr.arguments[: 2 if expr.function == "mul" else 1])
        return not names(expr) - self.values.keys() and self._number(expr) == 0.0

    def _number(self, expr: Expr, **values: float) -> float:
        return evaluate_number(expr, {**self.values, **values}, self.tables)

    def _coefficient(self, expr: Expr, name: str, others: Sequence[str]) -> float:
        """The coefficient of a coordinate in an amount that is affine in it."""
        zero = dict.fromkeys(others, 0.0)
        return self._number(expr, **zero | {name: 1.0}) - self._number(expr, **zero | {name: 0.0})

    # ------------------------------------------------------------ joints

    def _joint(self, joint: Joint, mimics: dict[str, str]) -> Iterator[str]:
        """One URDF joint for each motion of a joint, with massless links between them."""
        link, pose = self.places[joint.parent]
        motions, rest = self._motions(joint, pose)
        if not motions:
            self.places[joint.child] = (joint.child, Pose())
            yield from _written(joint.name, "fixed", link, joint.child, rest)
            return
        for k, motion in enumerate(motions):
            before, axis = motion.before, motion.axis
            last = k == len(motions) - 1
            child = joint.child if last else f"{joint.child}_{k + 1}"
            if last:
                absorbed = motion.kind in ("prismatic", "floating") or not any(rest.position)
                if motion.kind in ("floating", "planar") and not rest.is_identity:
                    absorbed = False
                if absorbed:  # A M(axis) C = A C M(C⁻¹ axis)
                    before, axis = before.then(rest), tuple(float(c) + 0.0 for c in rest.rotation.T @ np.array(axis))
                self.places[joint.child] = (child, Pose() if absorbed else rest)
            else:
                yield f"  <link name={quoteattr(child)}/>"
            yield from _written(motion.name, motion.kind, link, child, before, axis, self._terms(motion, mimics))
            link = child

    def _motions(self, joint: Joint, pose: Pose) -> tuple[list[_Motion], Pose]:
        """The motions of a joint, each with the constant pose before it, and the pose after the last."""
        own = {c.name for c in joint.coordinates}
        chain = list(joint.chain)
        found: list[_Motion] = []
        seen: set[str] = set()
        while chain:
            step = chain.pop(0)
            used = sorted(own & (names(step.angle) if isinstance(step, Rotate) else set()))
            if isinstance(step, Translate):
                used = [c.name for c in joint.coordinates if any(c.name in names(part) for part in step.by)]
            twice = next((name for name in used if name in seen), None)
            if twice is not None:
                raise ModelError(f"joint {joint.name!r}: coordinate {twice!r} moves it in two ways, as URDF joints cannot")
            seen.update(used)
            pose, motions = self._step(joint, step, used, chain, pose)
            found += motions
        return found, pose

    def _step(
        self, joint: Joint, step: Displacement, used: list[str], rest: list[Displacement], pose: Pose
    ) -> tuple[Pose, list[_Motion]]:
        zero = dict.fromkeys(used, 0.0)
        if isinstance(step, Rotate):
            angle = self._number(step.angle, **zero)
            pose = pose.then(Pose(turns=((step.axis, angle),))) if angle else pose
            if not used:
                return pose, []
            gain = self._gain(joint, used[0], self._coefficient(step.angle, used[0], used))
            return Pose(), [_Motion("revolute", tuple(gain * c for c in _AXES[step.axis]), used[0], pose)]
        if isinstance(step, Translate):
            x, y, z = (self._number(part, **zero) for part in step.by)
            pose = pose.then(Pose((x, y, z)))
            if self._starts_floating(used, step, rest):
                rest.pop(0)
                return Pose(), [_Motion("floating", _AXES["z"], used[0].removesuffix("_x"), pose)]
            if self._starts_planar(used, step, rest):
                rest.pop(0)
                return Pose(), [_Motion("planar", _AXES["z"], used[0].removesuffix("_x"), pose)]
            motions = []
            for name in used:
                direction = tuple(self._coefficient(part, name, used) for part in step.by)
                self._gain(joint, name, float(np.linalg.norm(direction)))
                motions.append(_Motion("prismatic", direction, name, pose))
                pose = Pose()
            return pose, motions
        if isinstance(step, Float | Glide):
            return Pose(), [_Motion("floating" if isinstance(step, Float) else "planar", _AXES["z"], joint.name, pose)]
        raise ModelError(f"joint {joint.name!r} is spherical, and URDF has no such joint; use three revolute joints")

    def _gain(self, joint: Joint, name: str, gain: float) -> float:
        if abs(abs(gain) - 1.0) > 1e-12:
            raise ModelError(
                f"joint {joint.name!r} moves by {gain:g} times its coordinate {name!r}; in URDF it is the coordinate"
            )
        return float(np.sign(gain))

    def _starts_floating(self, used: list[str], step: Translate, rest: list[Displacement]) -> bool:
        """Whether the chain goes on as that of a floating joint: along x, y and z, then a ball."""
        return list(map(Name, used)) == list(step.by) and bool(rest) and isinstance(rest[0], Ball) and _stem(used, "xyz")

    def _starts_planar(self, used: list[str], step: Translate, rest: list[Displacement]) -> bool:
        """Whether the chain goes on as that of a planar joint: along x and y, then about z."""
        turn = rest[0] if rest else None
        stem = used[0].removesuffix("_x") if used else ""
        return (
            list(map(Name, used)) == list(step.by[:2])
            and _stem(used, "xy")
            and isinstance(turn, Rotate)
            and turn.axis == "z"
            and turn.angle == Name(f"{stem}_heading")
        )

    # ------------------------------------------------------------ terms of joints

    def _terms(self, motion: _Motion, mimics: dict[str, str]) -> list[str]:
        coordinate = self.coordinates.get(motion.name)
        if motion.kind not in ("revolute", "prismatic") or coordinate is None:
            return []
        found = []
        low, high = self._ends(coordinate)
        if low is not None or high is not None or motion.kind == "prismatic":  # without ends a prismatic joint has 0 and 0
            ends = f'lower="{-UNLIMITED if low is None else low!r}" upper="{UNLIMITED if high is None else high!r}"'
            found.append(f'<limit {ends} effort="{UNLIMITED!r}" velocity="{UNLIMITED!r}"/>')
        damping, friction = self._losses(coordinate)
        if damping or friction:
            found.append(f'<dynamics damping="{damping!r}" friction="{friction!r}"/>')
        return [*found, *([mimics[coordinate.name]] if coordinate.name in mimics else [])]

    def _ends(self, coordinate: Coordinate) -> tuple[float | None, float | None]:
        """The lower and the upper limit of a coordinate: those of its stops, or of an event that stops runs there."""
        if self._limited(coordinate):
            return coordinate.low, coordinate.high
        ends: list[float | None] = [None, None]
        for stop in self.system.stops:
            if stop.measure != Name(coordinate.name) or names(stop.bound) - self.values.keys() or ends[stop.upper] is not None:
                continue
            ends[stop.upper] = self._number(stop.bound)
            self.used.add(stop.name)
            if self._number(stop.restitution):
                self.lost.append(f"restitution of stop {stop.name!r}")
        return ends[0], ends[1]

    def _limited(self, coordinate: Coordinate) -> bool:
        """Whether an event stops runs at the ends of the span."""
        for event in self.system.events:
            if names(event.expression) == {coordinate.name} and event.action == "stop":
                beyond = 2 * MARGIN * (coordinate.high - coordinate.low)
                at = (coordinate.low - beyond, coordinate.low, coordinate.high, coordinate.high + beyond)
                if [self._number(event.expression, **{coordinate.name: q}) > 0.0 for q in at] == [False, True, True, False]:
                    self.used.add(event.name)
                    return True
        return False

    def _losses(self, coordinate: Coordinate) -> tuple[float, float]:
        """Damping d and friction f of forces −d v − f sign v on a coordinate, and of friction laws. Motors need no words."""
        damping = friction = 0.0
        rate = Call("rate", (Name(coordinate.name),))
        for law in self.system.joint_frictions:
            if law.measure == Name(coordinate.name) and not (names(law.static) | names(law.kinetic)) - self.values.keys():
                friction += self._number(law.kinetic)
                self.used.add(law.name)
                if self._number(law.static) != self._number(law.kinetic):
                    self.lost.append(f"static friction of {law.name!r} (the file has the kinetic one)")
        for force in self.system.generalized_forces:
            if force.measure != Name(coordinate.name):
                continue
            if isinstance(force.amount, Name) and force.amount.identifier in {i.name for i in self.system.inputs}:
                self.used.add(force.name)
                continue
            amount = substitute_call(force.amount, rate, Name(coordinate.rate))  # dampers are given by rate(coordinate)
            if names(amount) <= {coordinate.rate, *self.values}:
                try:
                    at = [self._number(amount, **{coordinate.rate: v}) for v in (1.0, 2.0, 0.0, -1.0, -3.0)]
                except ExpressionError:
                    continue
                d, f = at[0] - at[1], at[1] - 2 * at[0]
                expected = [-d - f, -2 * d - f, 0.0, d + f, 3 * d + f]
                if d >= 0.0 and f >= -1e-12 * d and np.allclose(at, expected, rtol=1e-12, atol=0.0) and not _is_nonlinear(amount):
                    damping, friction = damping + d, friction + (f if abs(f) > 1e-12 * d else 0.0)
                    self.used.add(force.name)
        return damping, friction

    def _mimics(self) -> dict[str, str]:
        """Gears between two coordinates, by the coordinate that follows; other constraints are refused."""
        found: dict[str, str] = {}
        for constraint in self.system.constraints:
            _, residual = constraint.residuals[0]
            used = sorted(names(residual) & self.coordinates.keys())
            plain = len(constraint.residuals) == 1 and len(used) == 2 and constraint.level == "position"
            if not plain or names(residual) - {*used, *self.values} or not self._affine(residual, used):
                raise ModelError(
                    f"model {self.system.name!r}: constraint {constraint.name!r} cannot be written; URDF has trees of bodies, "
                    "and joints that mimic one other joint"
                )
            coefficients = {name: self._coefficient(residual, name, used) for name in used}
            follower = next((n for n in used if f"{n}_coupling" == constraint.name), None)
            follower = follower or next((n for n in used if coefficients[n] == 1.0 and n not in found), used[0])
            (leader,) = set(used) - {follower}
            if follower in found or not coefficients[follower]:
                raise ModelError(f"constraint {constraint.name!r}: URDF joint {follower!r} can mimic one joint only")
            ratio = -coefficients[leader] / coefficients[follower] + 0.0
            offset = -self._number(residual, **dict.fromkeys(used, 0.0)) / coefficients[follower] + 0.0
            found[follower] = f'<mimic joint={quoteattr(leader)} multiplier="{ratio!r}" offset="{offset!r}"/>'
        return found

    def _affine(self, residual: Expr, used: Sequence[str]) -> bool:
        try:
            base = self._number(residual, **dict.fromkeys(used, 0.0))
            coefficients = [self._coefficient(residual, name, used) for name in used]
            points = ((0.7, -1.3), (-2.1, 0.4))
            return all(
                np.isclose(
                    self._number(residual, **dict(zip(used, at, strict=True))),
                    base + np.dot(coefficients, at),
                    rtol=1e-10,
                    atol=1e-12,
                )
                for at in points
            )
        except ExpressionError:
            return False

    # ------------------------------------------------------------ links

    def _ground(self, written: bool) -> list[str]:
        shapes = self.system.ground.shapes
        if not written:
            self.lost += [f"the shapes of the ground ({len(shapes)})"] if shapes else []
            return []
        return [f'  <link name="{GROUND}">', *(self._visual(s, Pose(), "the ground") for s in shapes), "  </link>"]

    def _link(self, body: Body) -> Iterator[str]:
        link, pose = self.places[body.name]
        yield f"  <link name={quoteattr(link)}>"
        i = {key: self._number(getattr(body.inertia, key)) for key in ("xx", "yy", "zz", "xy", "yz", "zx")}
        tensor = np.array([[i["xx"], i["xy"], i["zx"]], [i["xy"], i["yy"], i["yz"]], [i["zx"], i["yz"], i["zz"]]])
        center = np.array([self._number(c) for c in body.center_of_mass])
        mass = MassProperties(self._number(body.mass), center, tensor).seen_from(pose)
        if mass.mass or tensor.any():
            at = f'<origin xyz="{_numbers(mass.center)}"/>'
            yield f'    <inertial>{at}<mass value="{mass.mass!r}"/>{_tensor(mass.inertia)}</inertial>'
        for shape in body.shapes:
            yield self._visual(shape, pose, f"body {body.name!r}")
        yield "  </link>"

    def _visual(self, shape: solids.BodyShape, pose: Pose, where: str) -> str:
        x, y, z = (self._number(c) for c in shape.at)
        at = pose.then(Pose((x, y, z), tuple((axis, self._number(angle)) for axis, angle in shape.orientation)))
        if isinstance(shape, solids.Box):
            form = f'<box size="{_numbers([self._number(c) for c in shape.size])}"/>'
        elif isinstance(shape, solids.Sphere):
            form = f'<sphere radius="{self._number(shape.radius)!r}"/>'
        elif isinstance(shape, solids.Cylinder):
            turn = {"x": (("y", np.pi / 2),), "y": (("x", -np.pi / 2),), "z": ()}[shape.axis]
            at = at.then(Pose(turns=turn))
            form = f'<cylinder radius="{self._number(shape.radius)!r}" length="{self._number(shape.length)!r}"/>'
        elif isinstance(shape, solids.MeshFile):
            file, home = shape.full_path.resolve(), self.path.resolve().parent
            name = file.relative_to(home).as_posix() if file.is_relative_to(home) else file.as_uri()
            scale = self._number(shape.scale)
            form = f'<mesh filename={quoteattr(name)} scale="{_numbers([scale] * 3)}"/>'
        else:
            self.lost.append(f"a {type(shape).__name__.lower()} of {where}")
            return ""
        rgb = [int(shape.color[k : k + 2], 16) / 255 for k in (1, 3, 5)] if shape.color else None
        color = f'<material name=""><color rgba="{_numbers([*rgb, 1.0])}"/></material>' if rgb else ""
        return f"    <visual>{_origin(at)}<geometry>{form}</geometry>{color}</visual>"

    def _frame(self, name: str, body: str) -> list[str]:
        if body not in self.places:  # on the ground, of a robot whose root link moves
            self.lost.append(f"point {name!r} of the ground")
            return []
        point = next(p for p in self.system.points if p.name == name)
        link, pose = self.places[body]
        x, y, z = (self._number(c) for c in point.at)
        at = pose.then(Pose((x, y, z), tuple((turn.axis, self._number(turn.angle)) for turn in point.orientation)))
        return [f"  <link name={quoteattr(name)}/>", *_written(f"{name}_mount", "fixed", link, name, at)]

    def _note_losses(self, moving: bool) -> None:
        system = self.system
        groups = (
            (system.generalized_forces, "generalized force"),
            (system.events, "event"),
            (system.stops, "stop"),
            (system.joint_frictions, "friction"),
            (system.point_contacts, "contact"),
        )
        self.lost += [f"{word} {item.name!r}" for items, word in groups for item in items if item.name not in self.used]
        empty = {item.name for item in system.potentials if self._is_zero(item.energy)}  # dampers without a spring
        for items, word in ((system.wrenches, "wrench"), (system.potentials, "potential"), (system.outputs, "output")):
            self.lost += [f"{word} {item.name!r}" for item in items if word != "potential" or item.name not in empty]
        gravity = [self._number(c) for c in system.gravity]
        if gravity != [0.0, 0.0, -9.81]:
            self.lost.append(f"gravity ({', '.join(f'{g:g}' for g in gravity)}) m/s²")


def substitute_call(expr: Expr, old: Call, new: Expr) -> Expr:
    """The expression with one call replaced."""
    if expr == old:
        return new
    if isinstance(expr, Call):
        return Call(expr.function, tuple(substitute_call(part, old, new) for part in expr.arguments))
    return expr


def _stem(used: Sequence[str], letters: str) -> bool:
    """Whether the names are <stem>_x, <stem>_y, …, as `read_urdf` names them."""
    return (
        len(used) == len(letters)
        and [name[-2:] for name in used] == [f"_{c}" for c in letters]
        and len({n[:-2] for n in used}) == 1
    )


def _is_nonlinear(amount: Expr) -> bool:
    """Whether an amount has other functions than those of viscous and dry friction."""
    if isinstance(amount, Call):
        known = ("neg", "mul", "add", "sub", "sign", "div")
        return amount.function not in known or any(_is_nonlinear(part) for part in amount.arguments)
    return False


def _parents_first(joints: Sequence[Joint]) -> list[Joint]:
    by_parent: dict[str, list[Joint]] = {}
    for joint in joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    found: list[Joint] = []
    pending = list(reversed(by_parent.get(GROUND, [])))
    while pending:
        joint = pending.pop()
        found.append(joint)
        pending += reversed(by_parent.get(joint.child, []))
    return found


def _written(
    name: str,
    kind: str,
    parent: str,
    child: str,
    pose: Pose,
    axis: tuple[float, ...] | None = None,
    terms: Sequence[str] = (),
) -> list[str]:
    """The lines of a URDF joint."""
    limited = any(term.startswith("<limit lower") for term in terms)
    kind = "continuous" if kind == "revolute" and not limited else kind
    ends = f"<parent link={quoteattr(parent)}/><child link={quoteattr(child)}/>"
    direction = f'<axis xyz="{_numbers(axis)}"/>' if axis is not None else ""
    lines = [f'  <joint name={quoteattr(name)} type="{kind}">', f"    {_origin(pose)}{ends}{direction}"]
    return [*lines, *(f"    {term}" for term in terms), "  </joint>"]


def _origin(pose: Pose) -> str:
    return "" if pose.is_identity else f'<origin xyz="{_numbers(pose.position)}" rpy="{_numbers(pose.angles)}"/>'


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)


def _tensor(tensor: Array) -> str:
    entries = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
    return "<inertia " + " ".join(f'i{key}="{float(tensor[i, j]) + 0.0!r}"' for key, i, j in entries) + "/>"
