"""What consistent starts know of a mechanism: where it stands on the ground, and which of its motions rest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.contact.second_contact import DETAILS, second_contact
from draisine.dynamics.kinematics.tree import Link
from draisine.dynamics.linear_algebra import ZERO
from draisine.dynamics.mechanism import Mechanism
from draisine.expr.expression import Expr, Name
from draisine.expr.tree import Call, walk
from draisine.model.contact.laws import Rolling
from draisine.model.contact.tires import Tire
from draisine.model.contact_items import Wheel
from draisine.model.items import GROUND, Float, Glide, Joint, Rotate, Translate
from draisine.numerics.uniform_numbers import UniformNumbers
from draisine.program.equations import Equations, GroundPose, Structure, ValidRange
from draisine.program.program import DaeResidual, Program

FREE_COORDINATES = 3  # a joint to the ground with so many coordinates moves the root body
MOST_TRIED = 60  # velocities up to which spins of unbalanced shape are examined
SIDEWAYS = 1e-3  # horizontal part of an axis below which it has no direction on the ground
UNCHANGED = 1e-9  # relative difference below which an angle does not enter


def with_structure(equations: Equations, mechanism: Mechanism) -> Equations:
    """The equations with what starts know of the mechanism."""
    roots = [link for link in mechanism.links if link.parent is None]
    poses = [_ground_pose(mechanism, link) for link in roots]
    ignorable = _ignorable_spins(mechanism, equations)
    speeds = dict(_speeds(mechanism))
    bodies = list(dict.fromkeys([*(link.name for link in roots), *speeds.values()]))
    structure = Structure(
        poses=tuple(pose for pose in poses if pose is not None),
        slips=tuple(_slips(mechanism)),
        driven=tuple(name for name in _driven(mechanism) if name not in ignorable),
        bodies=tuple(bodies),
        speeds=tuple(speeds.items()),
        ignorable=(*ignorable, *(c.rate for c in mechanism.system.massless)),
    )
    valid = _valid_ranges(mechanism)
    parts = mechanism.system.parts
    absent = tuple((name, unit, part.within or part.name) for part in parts for name, unit in part.left_out)
    return replace(
        equations,
        structure=structure,
        twists=_twists(mechanism, bodies),
        second_contacts=_second_contacts(mechanism),
        valid_ranges=valid,
        left_out=absent,
    )


def _second_contacts(mechanism: Mechanism) -> Program | None:
    """(t, q, p) → for each wheel or sphere on curved ground, what the status says where it would touch at a second place."""
    scope, contacts = mechanism.scope, mechanism.followed_contacts
    if not contacts:
        return None
    inputs: dict[str, tuple[ca.SX, list[str]] | ca.SX] = {
        "t": scope.t,
        "q": (scope.q, scope.coordinates),
        "p": (scope.p, scope.parameters),
    }
    details = ca.vertcat(*[second_contact(contact) for contact in contacts])
    labels = [f"{contact.name}.{name}" for contact in contacts for name in DETAILS]
    # it runs where a run ends, once
    return Program.build(f"{mechanism.system.name}_second_contacts", inputs, {"details": (details, labels)}, shared=True)


def _valid_ranges(mechanism: Mechanism) -> tuple[ValidRange, ...]:
    """Ranges of load, slip and camber for which tires were measured."""
    outputs = {"load": "normal_force", "slip": "slip_ratio", "slip_angle": "slip_angle", "camber": "camber"}
    tires = [(wheel.name, wheel.contact) for wheel in mechanism.system.wheels if isinstance(wheel.contact, Tire)]
    return tuple(
        ValidRange(f"{name}_{outputs[what]}", low, high, "the range of its tire file")
        for name, tire in tires
        for what, (low, high) in tire.ranges.items()
    )


# -------------------------------------------------------------------------------------------------- motions at rest


def _twists(mechanism: Mechanism, bodies: list[str]) -> Program:
    """(q, v, p) → velocity of the origin and angular velocity of bodies along axes of theirs: forward, left and up by default."""
    scope, by_name = mechanism.scope, {link.name: link for link in mechanism.links}
    values, labels = list[ca.SX](), list[str]()
    for body in bodies:
        twist, spin = mechanism.measures.twists[body], by_name[body].spin
        turning = tuple(ZERO if spin is not None and spin.axis == i else w for i, w in enumerate(twist.angular))
        axes = _vehicle_axes(mechanism, body)
        for vector in (twist.origin, turning):
            values += vector if axes is None else [sum((c * x for c, x in zip(row, vector, strict=True)), ZERO) for row in axes]
        labels += [f"{body}_{kind}{axis}" for kind in "vw" for axis in "xyz"]
    inputs = {"q": (scope.q, scope.coordinates), "v": (scope.v, scope.velocities), "p": (scope.p, scope.parameters)}
    rows = ca.densify(ca.vertcat(*values)) if values else ca.SX(0, 1)
    return Program.build(
        f"{mechanism.system.name}_twists", inputs, {"twists": (rows, labels)}, {}, mechanism.templates.skip_global_cse
    )


def _vehicle_axes(mechanism: Mechanism, body: str) -> list[list[float]] | None:
    """Forward, left and up by default, in the axes of a body; None if these are its own.

    Forward is the body's x axis without its vertical part.
    """
    rotation = ca.vertcat(*[ca.horzcat(*row) for row in mechanism.measures.poses[body].rotation])
    scope, q0 = mechanism.scope, [c.default for c in mechanism.coordinates]
    turn = ca.Function("turn", [scope.q, scope.p], [rotation])(q0, mechanism.default_parameters).full()
    forward = np.array([turn[0, 0], turn[1, 0], 0.0])
    size = float(np.linalg.norm(forward))
    if not size > SIDEWAYS:
        return None
    forward /= size
    axes = np.array([forward, [-forward[1], forward[0], 0.0], [0.0, 0.0, 1.0]]) @ turn
    return None if np.allclose(axes, np.eye(3), rtol=0, atol=UNCHANGED) else axes.tolist()


def _moves_root(joint: Joint) -> bool:
    """Whether a joint moves the root body freely, so that its rates are turning and sway and not rates of a joint."""
    free = any(isinstance(step, Float | Glide) for step in joint.chain)
    return joint.parent == GROUND and (free or len(joint.coordinates) >= FREE_COORDINATES)


def _driven(mechanism: Mechanism) -> list[str]:
    """Rates of joints that carry an input, a force or a spring; not those of the root body."""
    scope, measures = mechanism.scope, mechanism.measures
    rates = {c.name: c.rate for joint in mechanism.system.joints if not _moves_root(joint) for c in joint.coordinates}
    joints = {v.name for joint in mechanism.system.joints if not _moves_root(joint) for v in joint.velocities}
    found = dict[str, None]()
    carried = [g.measure for g in mechanism.system.generalized_forces] + [f.energy for f in mechanism.system.potentials]
    for measure in carried:
        if isinstance(measure, Name) and measure.identifier in rates:
            found[rates[measure.identifier]] = None
        else:
            rate = measures.rate(scope.value(measure), f"'{measure}'")
            found |= dict.fromkeys(name for name in scope.used_in(rate).velocities if name in joints)
    return list(found)


def _slips(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    """Longitudinal slip of wheels that do not roll ideally, with the rate of the wheel's spin."""
    by_name = {link.name: link for link in mechanism.links}
    for wheel in mechanism.system.wheels:
        if not isinstance(wheel.contact, Rolling):
            joint = by_name[wheel.body].joint
            if not any(velocity.unit == "rad/s" for velocity in joint.velocities):
                continue  # it cannot spin: its carrier would have to move
            hinge = joint.coordinates[-1].rate if joint.coordinates and isinstance(joint.chain[-1], Rotate) else ""
            yield f"{wheel.name}_slip_along", hinge


def _speeds(mechanism: Mechanism) -> Iterator[tuple[str, str]]:
    """Velocities of the root bodies, and outputs that measure the velocity of a point; with the body of each."""
    for joint in mechanism.system.joints:
        if _moves_root(joint):
            yield from ((v.name, joint.child) for v in joint.velocities if v.unit == "m/s")
    outputs = {output.name: output.expression for output in mechanism.system.outputs}
    for name in outputs:
        point = measured_point(name, outputs)
        body = mechanism.measures.locate(point)[0] if point else GROUND
        if body != GROUND:
            yield name, body


def measured_point(name: str, outputs: dict[str, Expr]) -> str:
    """The first point or body whose velocity an output measures, directly or through another output."""
    seen, parts = {name}, [iter(walk(outputs[name]))]  # each output once: their tree may be as wide as 2 to their number
    while parts:
        part = next(parts[-1], None)
        if part is None:
            parts.pop()
        elif isinstance(part, Call) and part.function[:-2] in ("velocity", "body_velocity"):
            return str(part.arguments[0])
        elif isinstance(part, Name) and part.identifier in outputs and part.identifier not in seen:
            seen.add(part.identifier)
            parts.append(iter(walk(outputs[part.identifier])))
    return ""


def _ignorable_spins(mechanism: Mechanism, equations: Equations) -> list[str]:
    """Rates of hinges whose angle enters neither the dynamics nor the constraints."""
    tried = [link for link in mechanism.links if link.parent is not None and _hinge(link.joint)]
    if len(equations.velocities) > MOST_TRIED:
        tried = [link for link in tried if link.is_rotor]
    return [link.joint.coordinates[0].rate for link in tried if not _enters(equations, link.joint.coordinates[0].name)]


def _hinge(joint: Joint) -> bool:
    return len(joint.coordinates) == 1 and joint.coordinates[0].unit == "rad" and bool(joint.coordinates[0].rate)


def _enters(e: Equations, coordinate: str) -> bool:
    """Whether accelerations or constraints change with a coordinate, at two states far from the default."""
    names = [q.name for q in e.coordinates]
    random = UniformNumbers(7)
    u = random.uniform(-1, 1, len(e.inputs))
    q0, v0 = np.array([q.default for q in e.coordinates]), np.zeros(len(e.velocities))
    for _ in range(2):
        q, v = q0 + random.uniform(-0.3, 0.3, len(q0)), v0 + random.uniform(-1, 1, len(v0))
        other = q.copy()
        other[names.index(coordinate)] += random.uniform(0.5, 2.5)
        pairs = [[e.motion([0.0], at, v, u, e.default_parameters)[0] for at in (q, other)]]
        if not isinstance(e.dynamics, DaeResidual):
            rest = random.uniform(-1, 1, len(e.states) - len(q0))
            for p in one_contact_at_a_time(e):
                pairs.append([np.ravel(e.dynamics([0.0], np.concatenate([at, rest]), u, p)[0]) for at in (q, other)])
        for first, second in pairs:
            if not np.max(np.abs(first - second), initial=0.0) <= UNCHANGED * np.max(np.abs(first), initial=1.0):
                return True
    return False


def one_contact_at_a_time(e: Equations) -> list[NDArray[np.float64]]:
    """p with one unilateral contact closed, with that on which it depends, and the others open: rows of several may depend on
    each other away from the ground, as those of a wheel on the planes and edges of one profile do."""
    if not e.unilateral:
        return [e.default_parameters]
    found = []
    for k, contact in enumerate(e.unilateral):
        p = e.default_parameters
        modes = p[len(e.parameters) :].reshape(len(e.unilateral), -1)
        modes[[i for i in range(len(modes)) if i not in (k, contact.host)], :2] = 0.0
        found.append(p)
    return found


# --------------------------------------------------------------------------------------------- place on the ground


def _ground_pose(mechanism: Mechanism, root: Link) -> GroundPose | None:
    """The coordinates that shift and turn a tree of bodies on the ground, or None if nothing does."""
    system = mechanism.system
    carried = [link for link in mechanism.links if link.root is root]
    coordinates = [c.name for link in carried for c in link.joint.coordinates]
    bodies = {link.name for link in carried}
    own = [c for c in system.placed if (c.body if isinstance(c, Wheel) else mechanism.measures.locate(c.point)[0]) in bodies]
    places = [(x.name, y.name) for contact in own for x, y in [contact.place]]
    position, heading = _leading_coordinates(root)
    if not heading and not any(position):
        return None
    return GroundPose((*coordinates, *(name for pair in places for name in pair)), (position, *places), heading)


def _leading_coordinates(root: Link) -> tuple[tuple[str, str], tuple[str, ...]]:
    """Position along x and y, and the coordinates of the heading, from the first displacements of a tree."""
    found = {0: "", 1: ""}
    link: Link | None = root
    while link is not None:
        free = {c.name for c in link.joint.coordinates}
        for step in link.joint.chain:
            if isinstance(step, Float):
                return step.position[:2], step.quaternion
            if isinstance(step, Glide):
                return step.position, (step.heading,)
            if isinstance(step, Translate):
                for axis in found:
                    found[axis] = found[axis] or _coordinate(step.by[axis], free)
            elif isinstance(step, Rotate) and step.axis == "z" and _coordinate(step.angle, free):
                return (found[0], found[1]), (_coordinate(step.angle, free),)
            else:
                return (found[0], found[1]), ()  # other axes from here on
        link = link.children[0] if len(link.children) == 1 else None
    return (found[0], found[1]), ()


def _coordinate(amount: Expr, free: set[str]) -> str:
    """The coordinate that an amount is, or nothing."""
    return amount.identifier if isinstance(amount, Name) and amount.identifier in free else ""
