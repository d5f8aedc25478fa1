"""Validation of descriptions: each error names the item, the value given and the remedy.

Masses, moments of inertia and radii are checked at the default parameters (`draisine.model.plausibility`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from draisine.errors import ModelError, UnitError
from draisine.expr.expression import FUNCTIONS, OPERATORS, Call, Expr, Number, did_you_mean, evaluate_number, names, walk
from draisine.expr.units import parse_unit, si_text
from draisine.model.constraints import LEVELS, PAIRS, pairs
from draisine.model.contact.laws import ROLLING, Rolling
from draisine.model.contact_items import Wheel, mode_entries
from draisine.model.dimensions import check_dimensions
from draisine.model.ground_profile import features_of
from draisine.model.items import ALL, GROUND, Ball, Float, Glide, Joint, ResidualConstraint, Rotate, Translate
from draisine.model.plausibility import check_numbers
from draisine.model.system import System
from draisine.model.vocabulary import TIME, check_expressions
from draisine.results.control_characters import refuse_control_characters

if TYPE_CHECKING:
    from draisine.model.shapes import BodyShape

__all__ = ["check_name", "check_numbers", "check_system", "check_system_name"]

AXES = ("x", "y", "z")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SYSTEM_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def check_name(kind: str, name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModelError(f"{kind}: {name!r} is not a valid name; use letters, digits and underscores, beginning with a letter")


def check_system_name(name: str) -> None:
    """The name of a model or of typed equations begins the names of its programs, which are more restricted than others."""
    if not isinstance(name, str) or not _SYSTEM_NAME.fullmatch(name):
        raise ModelError(
            f"model: {name!r} is not a valid name; use letters, digits and single underscores, beginning with a letter and not "
            "ending with an underscore"
        )


def check_system(system: System) -> None:
    """Validate the whole description; raises `ModelError` for the first error."""
    refuse_control_characters(f"the description of model {system.name!r}", system.description)
    _check_names(system)
    _check_units(system)
    _check_tree(system)
    for joint in system.joints:
        _check_joint(joint)
    _check_contacts(system)
    _check_constraints(system)
    _check_forces(system)
    check_expressions(system)
    check_dimensions(system)
    check_numbers(system)
    _check_shapes(system)
    _check_independent(system)


# -------------------------------------------------------------------- names and units


def _check_names(system: System) -> None:
    values: list[tuple[str, str]] = [(TIME, "time")]
    for joint in system.joints:
        values += [(c.name, f"a coordinate of joint {joint.name!r}") for c in joint.coordinates]
        values += [(v.name, f"a velocity of joint {joint.name!r}") for v in joint.velocities]
    values += [(c.name, "a surface parameter") for c in system.massless]
    values += [(c.rate, "the rate of a surface parameter") for c in system.massless]
    values += [(lag.name, f"a relaxation state of wheel {w.name!r}") for w in system.wheels for lag in w.lags]
    values += [(lag.name, f"a relaxation state of contact {c.name!r}") for c in system.surface_contacts for lag in c.lags]
    values += [(item.name, "a parameter") for item in system.parameters]
    values += [(item.name, "a parameter") for item in system.dependent_parameters]
    values += [(item.name, "an input") for item in system.inputs]
    values += [(item.name, "an output") for item in system.outputs]
    values += [(entry.name, f"the mode of contact {c.name!r}") for c in system.unilateral for entry in mode_entries(c.name)]
    frames = [(GROUND, "the world"), *((b.name, "a body") for b in system.bodies), *((p.name, "a point") for p in system.points)]
    contacts = [*((w.name, "a wheel") for w in system.wheels), *((e.name, "a knife edge") for e in system.edges)]
    contacts += [(c.name, "a contact of surfaces") for c in system.surface_contacts]
    contacts += [(c.name, "a contact") for c in system.point_contacts]
    contacts += [(c.name, "a stop") for c in system.stops] + [(c.name, "a friction") for c in system.joint_frictions]
    functions = [(name, "a function of expressions") for name in sorted(FUNCTIONS | OPERATORS)]
    functions += [(table.name, "a table") for table in system.tables]
    functions += [(own.name, f"a coordinate of path {path.name!r}") for path in system.paths for own in path.functions]
    joints = [(j.name, "a joint") for j in system.joints]
    forces = [(f.name, "a generalized force") for f in system.generalized_forces], [(f.name, "a wrench") for f in system.wrenches]
    potentials = [(p.name, "a potential") for p in system.potentials]
    # constraint rows, which name the multipliers
    rows = [(row, f"a constraint of wheel {w.name!r}") for w in system.wheels for row in wheel_rows(system, w)]
    rows += [(f"{e.name}_{row}", f"a constraint of knife edge {e.name!r}") for e in system.edges for row in ("across", "normal")]
    own = ("normal", "touch_x", "touch_y", "tangent_1", "tangent_2", "along", "across")
    rows += [(f"{c.name}_{row}", f"a constraint of contact {c.name!r}") for c in system.surface_contacts for row in own]
    touches, placed = ("normal", "along", "across"), (*own[:3], *own[5:])
    rows += [
        (f"{c.name}_{row}", f"a constraint of contact {c.name!r}")
        for c in system.point_contacts
        for row in (placed if c in system.placed else touches)
    ]
    rows += [(f"{c.name}_normal", f"a constraint of stop {c.name!r}") for c in system.stops]
    rows += [(f"{c.name}_along", f"a constraint of friction {c.name!r}") for c in system.joint_frictions]
    rows += [
        (name, f"a residual of constraint {constraint.name!r}")
        for constraint in system.constraints
        for name, _ in constraint.residuals
    ]
    for name, what in values:
        check_name(what, name)
    for group in (values, frames, contacts, functions, joints, *forces, potentials, rows):
        _check_distinct(system, group)


def wheel_rows(system: System, wheel: Wheel) -> list[str]:
    """Names of the constraint rows of a wheel's contact."""
    if not system.touches(wheel):
        return [f"{wheel.name}_{axis}" for axis in AXES]
    touch = ["touch_x", "touch_y"] if system.ground.curved else []
    rolls = ["along", "across"] if isinstance(wheel.contact, Rolling) else []
    carries = [] if wheel.contact.compliant else ["normal"]
    return [f"{wheel.name}_{row}" for row in (*carries, *touch, *rolls)]


def _check_distinct(system: System, group: Iterable[tuple[str, str]]) -> None:
    seen: dict[str, str] = {}
    for name, what in group:
        check_name(what, name)
        if name == "pi":
            raise ModelError(f"model {system.name!r}: {what} cannot be named 'pi', which is a number in expressions; rename it")
        if name in seen:
            raise ModelError(f"model {system.name!r}: {name!r} names both {seen[name]} and {what}; rename one of them")
        seen[name] = what


def _check_units(system: System) -> None:
    items = [("parameter", item) for item in system.parameters]
    items += [("parameter", item) for item in system.dependent_parameters]  # type: ignore[misc]
    items += [("input", item) for item in system.inputs]  # type: ignore[misc]
    items += [("output", item) for item in system.outputs]  # type: ignore[misc]
    items += [("constraint", item) for item in system.constraints]  # type: ignore[misc]
    for kind, item in items:
        try:
            unit = parse_unit(item.unit)
        except UnitError as problem:
            raise ModelError(f"unit of {kind} {item.name!r}: {problem}") from None
        if unit.scale == 1.0 or kind == "output":  # the expression of an output may be in degrees, for display
            continue
        raise ModelError(
            f"{kind} {item.name!r}: values are in SI units, but its unit is {item.unit!r}; give the unit {si_text(item.unit)!r}"
        )


# -------------------------------------------------------------------- the tree of bodies


def _check_tree(system: System) -> None:
    bodies = dict.fromkeys(body.name for body in system.bodies)
    if not bodies:
        raise ModelError(f"model {system.name!r} has no body; add one with body(…)")
    joint_of: dict[str, Joint] = {}
    for joint in system.joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in bodies and not (name == GROUND and role == "parent"):
                hint = (
                    "; the ground can only be a parent"
                    if name == GROUND
                    else did_you_mean(name, [*bodies, GROUND] if role == "parent" else list(bodies))
                )
                raise ModelError(f"joint {joint.name!r}: its {role} {name!r} is not a body of {system.name!r}{hint}")
        if joint.child in joint_of:
            raise ModelError(
                f"body {joint.child!r} is the child of two joints, {joint_of[joint.child].name!r} and {joint.name!r}; "
                "remove one, since the joints must form a tree, and close the loop by a constraint"
            )
        joint_of[joint.child] = joint
    grounded: set[str] = {GROUND}
    for body in bodies:
        if body not in joint_of:
            raise ModelError(f"body {body!r} has no joint; connect it, for example by free({body!r})")
        grounded |= _path_to_ground(body, joint_of, grounded)


def _path_to_ground(body: str, joint_of: Mapping[str, Joint], grounded: set[str]) -> set[str]:
    """Bodies on the path from a body to those known to be connected to the ground."""
    path: dict[str, None] = {}
    current = body
    while current not in grounded and current in joint_of:
        if current in path:
            visited = list(path)
            cycle = [*visited[visited.index(current) :], current]
            joined = " → ".join(repr(name) for name in reversed(cycle))
            raise ModelError(
                f"the joints form a cycle {joined} without the ground; make 'ground' the parent of one of these bodies"
            )
        path[current] = None
        current = joint_of[current].parent
    return set(path)


def _check_joint(joint: Joint) -> None:
    where = f"joint {joint.name!r}"
    used: set[str] = set()
    for step in joint.chain:
        if isinstance(step, Rotate):
            _check_axis(step.axis, f"{where}: axis of a rotation")
            used |= names(step.angle)
        elif isinstance(step, Translate):
            used = used.union(*map(names, step.by))
        elif isinstance(step, Ball | Float | Glide):
            used |= _check_free(joint, step)
        else:
            raise ModelError(f"{where}: {step!r} is not a displacement; use Rotate, Translate, Ball, Float or Glide")
    for coordinate in joint.coordinates:
        if coordinate.name not in used:
            raise ModelError(
                f"{where}: no displacement uses its coordinate {coordinate.name!r}; use it in the chain or leave it out"
            )
        if not -math.inf < coordinate.low < coordinate.high < math.inf:
            span = f"{coordinate.low:g} to {coordinate.high:g}"
            raise ModelError(f"{where}: the span of coordinate {coordinate.name!r} must increase and be finite, got {span}")


def _check_free(joint: Joint, step: Ball | Float | Glide) -> set[str]:
    """Check a displacement with its own velocities; returns the coordinates it uses."""
    where = f"joint {joint.name!r}"
    if isinstance(step, Float | Glide) and (joint.parent != GROUND or len(joint.chain) > 1):
        raise ModelError(f"{where}: free motion is relative to the ground; use 'ground' as parent and no other displacement")
    coordinates = {c.name: c for c in joint.coordinates}
    used = {*step.moved, step.heading} if isinstance(step, Glide) else set(step.moved)
    for name in sorted(used):
        if name not in coordinates:
            raise ModelError(f"{where}: {name!r} is not among its coordinates; list it there")
        if name in step.moved and coordinates[name].rate:
            raise ModelError(f"{where}: coordinate {name!r} has its rate from the displacement; its own rate must be empty")
        if name not in step.moved and not coordinates[name].rate:
            raise ModelError(f"{where}: coordinate {name!r} needs a name for its rate")
    return used


def _check_axis(axis: str, where: str) -> None:
    if not isinstance(axis, str) or axis not in AXES:
        raise ModelError(f"{where} must be 'x', 'y' or 'z', got {axis!r}")


# -------------------------------------------------------------------- contacts and forces


def _check_ground_friction(system: System) -> None:
    """Contacts that stick, slip and open have coefficients of their own, which the ground does not change."""
    dry = [wheel.name for wheel in system.wheels if wheel.friction is not None]
    dry += [contact.name for contact in system.point_contacts if contact.friction is not None]
    if dry and system.ground.friction != ALL:
        raise ModelError(
            f"contact {dry[0]!r} sticks and slips by its own coefficients, which the friction of the ground does not change; "
            "leave out ground(friction=…), or give the wheel a tire or a contact law"
        )


def _check_contacts(system: System) -> None:
    _check_ground_friction(system)
    bodies = [body.name for body in system.bodies]
    owners = [(f"point {p.name!r}", p.body) for p in system.points]
    for point in system.points:
        for turn in point.orientation:
            _check_axis(turn.axis, f"frame {point.name!r}: axis of a rotation")
    owners += [(f"wheel {w.name!r}", w.body) for w in system.wheels]
    owners += [(f"knife edge {e.name!r}", e.body) for e in system.edges]
    for where, body in owners:
        if body not in bodies and not (body == GROUND and where.startswith("point")):
            raise ModelError(f"{where}: its body {body!r} is not a body of model {system.name!r}{did_you_mean(body, bodies)}")
    if system.ground.profile:
        _check_profile(system)
    for wheel in system.wheels:
        _check_axis(wheel.axis, f"wheel {wheel.name!r}: its axis")
    for edge in system.edges:
        _check_axis(edge.along, f"knife edge {edge.name!r}: its direction")
    _check_surface_contacts(system)
    _check_point_contacts(system)
    for coordinate in system.surface_parameters:
        if not -math.inf < coordinate.low < coordinate.high < math.inf:
            span = f"{coordinate.low:g} to {coordinate.high:g}"
            raise ModelError(f"the span of surface parameter {coordinate.name!r} must increase and be finite, got {span}")


def _check_surface_contacts(system: System) -> None:
    frames = [GROUND, *(b.name for b in system.bodies), *(p.name for p in system.points)]
    known = [c.name for c in system.surface_parameters]
    for contact in system.surface_contacts:
        where = f"contact {contact.name!r}"
        for frame in (contact.first, contact.second, contact.matter):
            if frame not in frames:
                raise ModelError(
                    f"{where}: {frame!r} is neither a point nor a body of model {system.name!r}{did_you_mean(frame, frames)}"
                )
        if contact.along is not None:
            _check_axis(contact.along, f"{where}: the forward axis")
        for parameters, surface in (
            (contact.parameters, contact.surface),
            (contact.second_parameters, contact.second_surface),
        ):
            for name in parameters:
                if name not in known:
                    hint = f"{did_you_mean(name, known)}; add it by surface_parameter({name!r})"
                    raise ModelError(f"{where}: {name!r} is not a surface parameter{hint}")
                if not any(name in names(component) for component in surface):
                    raise ModelError(f"{where}: its surface does not depend on its parameter {name!r}")


def _check_profile(system: System) -> None:
    """On a profile with edges contacts come and go."""
    features_of(system.ground.profile, system.parameter_values())
    for wheel in system.wheels:
        if wheel.friction is None:
            raise ModelError(
                f"wheel {wheel.name!r}: on a ground profile with edges it must be able to leave a plane; give friction="
            )
        if wheel.contact != ROLLING:
            raise ModelError(
                f"wheel {wheel.name!r}: contact laws are not available on a ground profile with edges; leave out contact="
            )
    for contact in system.point_contacts:
        if contact.on_ground and (contact.friction is None or contact.lands_where is not None):
            raise ModelError(
                f"contact {contact.name!r}: on a ground profile with edges it opens where a plane ends; give friction, and leave "
                "out lands_where"
            )
    if system.edges:
        raise ModelError(
            f"knife edge {system.edges[0].name!r}: knife edges cannot pass the edges of a ground profile; leave it out"
        )


def _check_point_contacts(system: System) -> None:
    body_of = {GROUND: GROUND, **{b.name: b.name for b in system.bodies}, **{p.name: p.body for p in system.points}}
    for contact in system.point_contacts:
        where = f"contact {contact.name!r}"
        for frame in (contact.point, contact.on):
            if frame not in body_of:
                hint = did_you_mean(frame, list(body_of))
                raise ModelError(f"{where}: {frame!r} is neither a point nor a body of model {system.name!r}{hint}")
        if body_of[contact.point] == body_of[contact.on]:
            body = body_of[contact.on]
            which = f"both belong to {'the ground' if body == GROUND else f'body {body!r}'}"
            raise ModelError(
                f"{where}: {contact.point!r} and {contact.on!r} {which} and cannot move relative to each other; use a point of "
                "another body"
            )
        if contact.along is not None:
            _check_axis(contact.along, f"{where}: its direction")
        if contact.on_radius == Number(0.0):
            raise ModelError(f"{where}: on_radius is 0; leave it out for a plane, or give the radius of a sphere")


def _check_constraints(system: System) -> None:
    for constraint in system.constraints:
        if constraint.level not in LEVELS:
            raise ModelError(
                f"constraint {constraint.name!r}: its level must be 'position' or 'velocity', got {constraint.level!r}"
                f"{did_you_mean(constraint.level, LEVELS)}"
            )
        if not constraint.residuals:
            raise ModelError(f"constraint {constraint.name!r} has no residual; give an expression that must stay zero")
        for _, residual in constraint.residuals:
            _check_frames(system, constraint, residual)


def _check_frames(system: System, constraint: ResidualConstraint, residual: Expr) -> None:
    """The frames that a residual relates exist, and can move relative to each other."""
    body_of = {GROUND: GROUND, **{b.name: b.name for b in system.bodies}, **{p.name: p.body for p in system.points}}
    related = pairs(residual)
    for frame in (frame for pair in related for frame in pair):
        if frame not in body_of:
            hint = did_you_mean(frame, list(body_of))
            raise ModelError(
                f"constraint {constraint.name!r}: {frame!r} is neither a point nor a body of model {system.name!r}{hint}"
            )
    frames = {name for a, b in related for name in (a, b)}
    if related and len({body_of[frame] for frame in frames}) == 1 and not _has_more(system, residual, frames):
        a, b = related[0]
        body = body_of[a]
        which = f"both belong to {'the ground' if body == GROUND else f'body {body!r}'}"
        raise ModelError(
            f"constraint {constraint.name!r}: {a!r} and {b!r} {which} and cannot move relative to each other; "
            "use a point of another body"
        )


def _has_more(system: System, residual: Expr, frames: set[str]) -> bool:
    """Whether the residual depends on more than the relative pose of these frames."""
    measures = {part.function for part in walk(residual) if isinstance(part, Call)} - FUNCTIONS - OPERATORS - PAIRS
    constants = system.constants | frames
    return bool(measures) or not names(residual) <= constants


def _check_forces(system: System) -> None:
    frames = [*(p.name for p in system.points), *(b.name for b in system.bodies)]
    for wrench in system.wrenches:
        if wrench.point not in frames:
            raise ModelError(
                f"wrench {wrench.name!r}: {wrench.point!r} is neither a point nor a body of model {system.name!r}"
                f"{did_you_mean(wrench.point, frames)}"
            )
        if wrench.axes not in ("world", "body"):
            raise ModelError(f"wrench {wrench.name!r}: axes must be 'world' or 'body', got {wrench.axes!r}")
    for event in system.events:
        if event.action not in ("stop", "record"):
            raise ModelError(f"event {event.name!r}: action must be 'stop' or 'record', got {event.action!r}")
        if event.direction not in (-1, 0, 1):
            raise ModelError(
                f"event {event.name!r}: direction must be 1 (rising), -1 (falling) or 0 (both), got {event.direction!r}"
            )


def _check_independent(system: System) -> None:
    known = [v.name for v in system.velocities]
    for name in system.independent:
        if name not in known:
            raise ModelError(
                f"independent velocities of model {system.name!r}: {name!r} is not a velocity{did_you_mean(name, known)}"
            )
    if len(set(system.independent)) < len(system.independent):
        raise ModelError(
            f"independent velocities of model {system.name!r}: each may be listed once, got {', '.join(system.independent)}"
        )


def _check_shapes(system: System) -> None:
    defaults = system.parameter_values()
    for body in system.bodies:
        _check_shapes_of(body.shapes, f"body {body.name!r}", defaults)
    _check_shapes_of(system.ground.shapes, "the ground", defaults)


def _check_shapes_of(shapes: Sequence[BodyShape], where: str, parameters: Mapping[str, float]) -> None:
    """Check that shapes depend on parameters only and that sizes are positive."""
    for k, shape in enumerate(shapes):
        for name, expr in ((field.name, expr) for field in fields(shape) for expr in _amounts_in(getattr(shape, field.name))):
            what = f"{name} of shape {k + 1} of {where}"
            unknown = sorted(names(expr) - set(parameters) - {"pi"})
            if unknown:
                raise ModelError(f"{what}: {unknown[0]!r} is not a parameter; shapes may depend on parameters only")
            if name in ("radius", "length", "tube", "scale", "size") and not evaluate_number(expr, parameters) > 0:
                raise ModelError(f"{what} is {evaluate_number(expr, parameters):g}; it must be positive")


def _amounts_in(value: Any) -> Iterator[Expr]:
    """All amounts within a field of a shape."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _amounts_in(item)
