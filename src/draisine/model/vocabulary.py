"""Names allowed in the expressions of a description, by context.

Amounts of bodies, points and contacts depend on parameters only, displacements of a joint also on its own coordinates,
constraints on position and time (at velocity level also on velocities), forces and outputs on all quantities. Functions that are
neither mathematical functions nor tables are measures such as `lean(frame)`, whose arguments may be bodies, points and contacts;
the derivation of the equations defines them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from draisine.errors import ModelError
from draisine.expr.expression import FUNCTIONS, OPERATORS, Call, Expr, Name, did_you_mean, names
from draisine.model.constraints import stretch_of
from draisine.model.contact.dry_friction import SLIP
from draisine.model.contact_items import PointContact, Wheel
from draisine.model.items import GROUND, Rotate, Translate, Vector
from draisine.model.system import System

TIME = "t"


class _Vocabulary(NamedTuple):
    """Names allowed in expressions: quantities with their kinds, frames for measures, and functions."""

    values: Mapping[str, str]
    frames: tuple[str, ...]
    functions: frozenset[str]

    def check(self, expr: Expr, where: str, allowed: frozenset[str], measures: bool = False) -> None:
        """Check an expression; `allowed` are the kinds of quantities (see `_vocabulary`) that may occur."""
        pending: list[tuple[Expr, bool]] = [(expr, False)]  # and whether it is an argument of a measure
        while pending:
            part, measured = pending.pop()
            if isinstance(part, Name):
                self._check_value(part.identifier, where, allowed, measured)
            elif isinstance(part, Call):
                special = part.function not in self.functions
                if special and not measures:
                    raise ModelError(
                        f"{where}: expression '{expr}' calls {part.function!r}, which is neither a function nor a table"
                        f"{did_you_mean(part.function, self.functions - OPERATORS)}"
                    )
                pending += [(argument, measured or special) for argument in part.arguments]

    def _check_value(self, name: str, where: str, allowed: frozenset[str], measured: bool) -> None:
        kind = self.values.get(name)
        if kind in allowed or (measured and all(part in self.frames for part in name.split("."))):
            return
        if kind is not None:
            raise ModelError(f"{where} may depend on {_listed(allowed)} only, but {name!r} is {kind}")
        known = [n for n, k in self.values.items() if k in allowed]
        if name in self.frames:
            raise ModelError(f"{where}: {name!r} is not a quantity; use a measure of it, such as 'lean({name})'")
        raise ModelError(f"{where}: unknown name {name!r}{did_you_mean(name, [*known, *(self.frames if measured else ())])}")


def _listed(kinds: frozenset[str]) -> str:
    plurals = [plural for kind, plural in _PLURAL.items() if kind in kinds]
    return plurals[0] if len(plurals) == 1 else f"{', '.join(plurals[:-1])} and {plurals[-1]}"


_PLURAL = {
    "a parameter": "parameters",
    "a coordinate of this joint": "its own coordinates",
    "a coordinate": "coordinates",
    "a velocity": "velocities",
    "an input": "inputs",
    "an output": "outputs",
    "time": "time",
    "a multiplier": "multipliers of constraints",
    "a position on the ground": "the position x, y",
}
_GROUND_POSITION = "a position on the ground"
_PARAMETERS = frozenset({"a parameter"})
_OWN = frozenset({"a parameter", "a coordinate of this joint"})
_GROUND = frozenset({"a parameter", "time", _GROUND_POSITION})
_REACTIONS = frozenset(_PLURAL) - {"a coordinate of this joint", _GROUND_POSITION}
_EVERYTHING = _REACTIONS - {"a multiplier"}
_MOTION = _EVERYTHING - {"an input"}
_POSITION = _MOTION - {"a velocity"}


def _vocabulary(system: System) -> _Vocabulary:
    values = {TIME: "time"}
    values |= {c.name: "a coordinate" for c in system.coordinates}
    values |= {v.name: "a velocity" for v in system.velocities}
    values |= dict.fromkeys(system.constants, "a parameter")
    values |= {item.name: "an input" for item in system.inputs}
    values |= {item.name: "an output" for item in system.outputs}
    values |= {f"{name}_multiplier": "a multiplier" for constraint in system.constraints for name, _ in constraint.residuals}
    groups: tuple[tuple[Any, ...], ...] = (system.bodies, system.points, system.wheels, system.edges, system.joints)
    groups += (system.surface_contacts, system.point_contacts)
    frames = (GROUND, *(item.name for group in groups for item in group))
    return _Vocabulary(values, frames, FUNCTIONS | OPERATORS | {function.name for function in system.functions})


def amounts(system: System) -> Iterator[tuple[str, Expr]]:
    """All amounts that depend on parameters only, with their descriptions."""
    size = system.downward_gravity
    yield from _components("gravity", system.gravity) if size is None else [("gravity", size)]
    yield "slope of the ground", system.ground.slope
    yield "bank of the ground", system.ground.bank
    for vertex in system.ground.profile:
        yield from (("profile of the ground", part) for part in vertex)
    for body in system.bodies:
        where = f"body {body.name!r}"
        yield f"mass of {where}", body.mass
        yield from _components(f"center_of_mass of {where}", body.center_of_mass)
        for entry in ("xx", "yy", "zz", "xy", "yz", "zx"):
            yield f"inertia {entry} of {where}", getattr(body.inertia, entry)
    for point in system.points:
        yield from _components(f"point {point.name!r}", point.at)
        yield from ((f"rotation about {turn.axis} of frame {point.name!r}", turn.angle) for turn in point.orientation)
    for wheel in system.wheels:
        yield from _components(f"center of wheel {wheel.name!r}", wheel.center)
        yield f"radius of wheel {wheel.name!r}", wheel.radius
        yield f"tube of wheel {wheel.name!r}", wheel.tube
        for name, amount in wheel.contact.amounts().items():
            yield f"{name} of the contact of wheel {wheel.name!r}", amount
        for name, amount in wheel.friction.amounts().items() if wheel.friction is not None else ():
            yield f"{name} of wheel {wheel.name!r}", amount
    for point_contact in system.point_contacts:
        for name, amount in point_contact.amounts().items():
            yield f"{name} of contact {point_contact.name!r}", amount
    yield from joint_amounts(system)
    for contact in system.surface_contacts:
        for name, amount in contact.contact.amounts().items() if contact.contact is not None else ():
            yield f"{name} of the law of contact {contact.name!r}", amount
        for name, amount in contact.friction.amounts().items() if contact.friction is not None else ():
            yield f"{name} of contact {contact.name!r}", amount
    for edge in system.edges:
        yield from _components(f"knife edge {edge.name!r}", edge.at)
    constants = system.constants
    for constraint in system.constraints:
        stretch = stretch_of(constraint)
        if stretch is not None and names(stretch[1]) <= constants:  # otherwise a distance prescribed in time
            yield f"length of constraint {constraint.name!r}", stretch[1]


def joint_amounts(system: System) -> Iterator[tuple[str, Expr]]:
    """Restitution of stops; their bounds and the forces of dry friction where these depend on parameters only."""
    for stop in system.stops:
        yield f"restitution of stop {stop.name!r}", stop.restitution
    moving = [(f"bound of stop {stop.name!r}", stop.bound) for stop in system.stops]
    for friction in system.joint_frictions:
        moving.append((f"static force of friction {friction.name!r}", friction.static))
        moving.append((f"kinetic force of friction {friction.name!r}", friction.kinetic))
    constants = system.constants
    yield from ((where, amount) for where, amount in moving if names(amount) <= constants)


def _components(where: str, vector: Vector) -> Iterator[tuple[str, Expr]]:
    yield from ((f"{where} along {axis}", component) for axis, component in zip("xyz", vector, strict=True))


def check_expressions(system: System) -> None:
    """Check the names in every expression."""
    vocabulary = _vocabulary(system)
    plain = _Vocabulary(vocabulary.values, (), FUNCTIONS | OPERATORS)
    for item in system.dependent_parameters:
        plain.check(item.expression, f"parameter {item.name!r}", _PARAMETERS)
    _check_not_circular("parameters", {item.name: item.expression for item in system.dependent_parameters})
    for where, expr in amounts(system):
        vocabulary.check(expr, where, _PARAMETERS)
    ground = _Vocabulary(
        {**vocabulary.values, "x": _GROUND_POSITION, "y": _GROUND_POSITION}, vocabulary.frames, vocabulary.functions
    )
    g = system.ground
    for what, expr in (("height", g.height), *(("velocity", v) for v in g.velocity), ("friction", g.friction)):
        ground.check(expr, f"{what} of the ground", _GROUND)
    for joint in system.joints:
        own = {c.name: "a coordinate of this joint" for c in joint.coordinates}
        local = _Vocabulary({**vocabulary.values, **own}, vocabulary.frames, vocabulary.functions)
        for step in joint.chain:
            parts = (step.angle,) if isinstance(step, Rotate) else step.by if isinstance(step, Translate) else ()
            for part in parts:
                local.check(part, f"displacement of joint {joint.name!r}", _OWN)
    for contact in system.surface_contacts:
        for what in ("surface", "second_surface", "velocity"):
            for where, component in _components(f"{what} of contact {contact.name!r}", getattr(contact, what)):
                vocabulary.check(component, where, _PARAMETERS | {"a coordinate"})
    for constraint in system.constraints:
        for name, residual in constraint.residuals:
            what = f"constraint {name!r}" if name == constraint.name else f"residual {name!r} of constraint {constraint.name!r}"
            vocabulary.check(residual, what, _POSITION if constraint.level == "position" else _MOTION, measures=True)
    sliding = _Vocabulary({**vocabulary.values, SLIP: "a parameter"}, vocabulary.frames, vocabulary.functions)
    every: list[Wheel | PointContact] = [*system.wheels, *system.point_contacts]
    for slips in every:
        if slips.friction is not None and slips.friction.kinetic is not None and slips.friction.depends_on_slip:
            sliding.check(slips.friction.kinetic, f"kinetic friction of contact {slips.name!r}", _PARAMETERS)
    for point in system.point_contacts:
        if point.lands_where is not None:
            vocabulary.check(point.lands_where, f"lands_where of contact {point.name!r}", _POSITION, measures=True)
    for stop in system.stops:
        for what, expr in (("measure", stop.measure), ("bound", stop.bound)):
            vocabulary.check(expr, f"{what} of stop {stop.name!r}", _POSITION, measures=True)
    for friction in system.joint_frictions:
        vocabulary.check(friction.measure, f"measure of friction {friction.name!r}", _POSITION, measures=True)
        for what, expr in (("static", friction.static), ("kinetic", friction.kinetic)):
            vocabulary.check(expr, f"{what} force of friction {friction.name!r}", _EVERYTHING, measures=True)
    for force in system.generalized_forces:
        vocabulary.check(force.measure, f"measure of generalized force {force.name!r}", _POSITION, measures=True)
        vocabulary.check(force.amount, f"amount of generalized force {force.name!r}", _REACTIONS, measures=True)
    for wrench in system.wrenches:
        for what, vector in (("force", wrench.force), ("torque", wrench.torque)):
            for where, component in _components(f"{what} of wrench {wrench.name!r}", vector):
                vocabulary.check(component, where, _REACTIONS, measures=True)
    for potential in system.potentials:
        vocabulary.check(potential.energy, f"potential {potential.name!r}", _POSITION, measures=True)
    for output in system.outputs:
        vocabulary.check(output.expression, f"output {output.name!r}", _EVERYTHING, measures=True)
    for event in system.events:
        _with_contact_outputs(vocabulary, system, event.expression).check(
            event.expression, f"event {event.name!r}", _REACTIONS, measures=True
        )
    _check_not_circular("outputs", {output.name: output.expression for output in system.outputs})


def _with_contact_outputs(vocabulary: _Vocabulary, system: System, expr: Expr) -> _Vocabulary:
    """The vocabulary with outputs of contacts. Which of them exist is known after the derivation, which refuses the others."""
    own = dict.fromkeys(_contact_outputs(system, expr), "an output")
    return vocabulary._replace(values=own | dict(vocabulary.values))


def events_with_forces(system: System) -> tuple[str, ...]:
    """Events that depend on multipliers or on outputs of contacts."""
    values = _vocabulary(system).values
    forces = {name for name, kind in values.items() if kind == "a multiplier"}
    return tuple(
        event.name
        for event in system.events
        if names(event.expression) & forces or _contact_outputs(system, event.expression) - set(values)
    )


def _contact_outputs(system: System, expr: Expr) -> set[str]:
    """Names in an expression that begin with that of a contact, such as "front_normal_force"."""
    groups: tuple[tuple[Any, ...], ...] = (system.wheels, system.edges, system.surface_contacts, system.point_contacts)
    groups += (system.stops, system.joint_frictions)
    contacts = [item.name for group in groups for item in group]
    return {name for name in names(expr) if any(name.startswith(f"{contact}_") for contact in contacts)}


def _check_not_circular(kind: str, defined: Mapping[str, Expr]) -> None:
    try:
        TopologicalSorter({name: names(expr) & set(defined) for name, expr in defined.items()}).prepare()
    except CycleError as cycle:
        path = " → ".join(repr(name) for name in reversed(cycle.args[1]))
        raise ModelError(f"the {kind} {path} are defined by each other; give one of them an independent expression") from None
