"""Construction of a `Model` from the tables of a model file, by the public builder methods."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from draisine.errors import ModelError, UnitError
from draisine.expr.expression import Number
from draisine.expr.tables import Table
from draisine.expr.units import parse_unit, si_text, unit_of
from draisine.model.contact.dry_friction import IMPACT_ORDERS, IMPACTS
from draisine.model.contact.laws import ROLLING
from draisine.model.file_constraints import read_constraint
from draisine.model.file_joints import pose_of, read_joint
from draisine.model.file_laws import law_of
from draisine.model.file_parts import read_part
from draisine.model.file_stops import read_friction, read_stop
from draisine.model.items import GROUND
from draisine.model.model import Model
from draisine.model.quantities import Entry, FileAmount, amount_in
from draisine.model.shapes import shapes_of

FORMAT = 1  # number of the file format

_Sections = dict[str, tuple[str, Callable[[Model, str, Any, str], None]]]


def model_of(content: dict[str, Any], folder: str = "") -> Model:
    """The validated model described by a file's content; mesh files are relative to `folder`."""
    top = Entry("the model", content).only(*_TOP, *_SECTIONS)
    version = content.get("draisine", FORMAT)
    if version != FORMAT:
        raise ModelError(f"unknown file format {version!r}; this version of draisine reads format {FORMAT}")
    model = Model(top.text("name"), top.text("description", ""))
    sections: _Sections = {**_SECTIONS, "bodies": ("body", partial(_add_body, folder))}
    for key, (word, add) in sections.items():
        for name, table in (top.entry(key).table if top.has(key) else {}).items():
            add(model, name, table, f"{word} {name!r}")
    if top.has("gravity"):
        model.gravity(top.vector("gravity") if isinstance(top.table["gravity"], list) else top.amount("gravity"))
    if top.has("ground"):
        ground = top.entry("ground").only("slope", "bank", "height", "velocity", "shapes", "profile", "friction")
        tilt = (ground.amount("slope", 0), ground.amount("bank", 0))
        shapes = shapes_of(ground.items("shapes", []), "the ground", folder)
        profile, friction = ground.items("profile", []), ground.amount("friction", 1)
        model.ground(*tilt, ground.amount("height", 0), ground.items("velocity", [0, 0]), shapes, profile, friction)
    model.independent(*top.texts("independent", []))
    order = top.text("impacts", IMPACT_ORDERS[0], IMPACT_ORDERS)
    model.impacts(order, without_collision=top.flag("impacts_without_collision", False))
    model.freeze()
    return model


def _add_parameter(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value if isinstance(value, dict) else {"value": value}).only("value", "unit", "description")
    given, unit = entry.amount("value"), entry.text("unit", "")
    own = unit_of(given) if isinstance(given, str) else None
    try:
        declared = parse_unit(unit)
        si = si_text(unit or own or "")  # "102 cm" alone makes the parameter a length
    except UnitError as problem:
        raise ModelError(f"{where}: {problem}") from None
    if isinstance(given, str) and own is None and not isinstance(amount_in(given, "", where), Number):
        model.parameter(name, given, unit, entry.text("description", ""))  # an expression of other parameters
        return
    value = entry.as_number(given, "value", unit or si)
    if own is None and si != unit:  # a bare number is in the parameter's unit
        value = declared.to_si(Fraction(value))
    model.parameter(name, value, si, entry.text("description", ""))


def _add_input(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("unit", "description")
    model.input(name, entry.text("unit", ""), entry.text("description", ""))


def _add_table(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("knots", "values", "kind", "outside")
    table = Table(name, entry.items("knots"), entry.items("values"), entry.text("kind", "spline"), entry.text("outside", "slope"))  # type: ignore[arg-type]
    model._add("tables", table)


def _add_path(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("points", "segments", "curve", "between", "start", "heading", "closed", "width", "beyond")
    model.path(
        name,
        entry.items("points") if entry.has("points") else None,
        segments=entry.items("segments") if entry.has("segments") else None,
        curve=entry.items("curve") if entry.has("curve") else None,
        between=entry.items("between", [0, 1]),
        start=entry.items("start", [0, 0]),
        heading=entry.amount("heading", 0),
        closed=entry.flag("closed", False),
        width=entry.amount("width") if entry.has("width") else None,
        beyond=entry.amount("beyond") if entry.has("beyond") else None,
    )


def _add_body(folder: str, model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("mass", "center_of_mass", "inertia", "description", "shapes")
    inertia: Any = None
    if isinstance(entry.table.get("inertia"), dict):
        tensor = entry.entry("inertia").only("xx", "yy", "zz", "xy", "yz", "zx")
        inertia = {key: tensor.amount(key) for key in tensor.table}
    elif entry.has("inertia"):
        inertia = entry.vector("inertia")
    shapes = shapes_of(entry.items("shapes", []), where, folder)
    model.body(
        name, entry.amount("mass"), entry.vector("center_of_mass", (0, 0, 0)), inertia, entry.text("description", ""), shapes
    )


def _add_point(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("body", "at", "orientation")
    at, orientation = pose_of(entry)
    model.frame(name, entry.text("body"), at, orientation)


def _add_part(model: Model, name: str, value: Any, where: str) -> None:
    read_part(model, name, Entry.of(where, value))


def _add_joint(model: Model, name: str, value: Any, where: str) -> None:
    read_joint(model, name, Entry.of(where, value))


def _add_wheel(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("body", "radius", "tube", "center", "axis", "contact", *_DRY)
    model.wheel(
        name,
        entry.text("body"),
        entry.amount("radius"),
        entry.amount("tube", 0),
        entry.vector("center", (0, 0, 0)),
        entry.text("axis", "y"),
        law_of(entry.entry("contact")) if entry.has("contact") else ROLLING,
        _friction(entry) if entry.has("friction") else None,
        entry.amount("restitution", 0),
        entry.text("impact", IMPACTS[0]),
        entry.amount("tangential_restitution", 0),
        entry.amount("rolling_resistance", 0),
        entry.amount("drilling_resistance", 0),
    )


_DRY = ("friction", "restitution", "impact", "tangential_restitution", "rolling_resistance", "drilling_resistance")


def _friction(entry: Entry) -> FileAmount | tuple[FileAmount, ...]:
    """A coefficient, or a list of static and kinetic friction."""
    return entry.amounts("friction")


def _add_contact(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only(
        "point", "radius", "on", "on_radius", "permanent", "lands_where", "along", "friction_across", *_DRY
    )
    permanent = entry.flag("permanent", False)
    if permanent and entry.has("friction"):
        raise ModelError(f"{where}: a permanent contact does not slip; leave out 'friction', or 'permanent'")
    model.contact(
        name,
        entry.text("point"),
        radius=entry.amount("radius", 0),
        on=entry.text("on", GROUND),
        on_radius=entry.amount("on_radius") if entry.has("on_radius") else None,
        friction=None if permanent else _friction(entry) if entry.has("friction") else 0.0,
        restitution=entry.amount("restitution", 0),
        impact=entry.text("impact", IMPACTS[0]),
        tangential_restitution=entry.amount("tangential_restitution", 0),
        lands_where=entry.expression("lands_where") if entry.has("lands_where") else None,
        along=entry.text("along") if entry.has("along") else None,
        friction_across=entry.amount("friction_across") if entry.has("friction_across") else None,
        rolling_resistance=entry.amount("rolling_resistance", 0),
        drilling_resistance=entry.amount("drilling_resistance", 0),
    )


def _add_surface_parameter(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("unit", "default", "span")
    default = entry.number("default", "", 0.0)
    span = entry.items("span", [default - 1.0, default + 1.0])
    if len(span) != 2 or not all(isinstance(side, int | float) and not isinstance(side, bool) for side in span):
        raise ModelError(f"{where}: 'span' needs two numbers, the lowest and the highest value, got {span!r}")
    low, high = span
    model.surface_parameter(name, entry.text("unit", "m"), default, low, high)


def _add_surface_contact(model: Model, name: str, value: Any, where: str) -> None:
    known = ("first", "surface", "parameters", "second", "second_surface", "second_parameters")
    dry = ("friction", "restitution", "impact", "tangential_restitution")
    entry = Entry.of(where, value).only(*known, "contact", "matter", "along", "velocity", *dry)
    model.touch(
        name,
        entry.text("first"),
        entry.vector("surface"),
        entry.texts("parameters", count=2),
        entry.text("second"),
        entry.vector("second_surface"),
        entry.texts("second_parameters", count=2),
        law_of(entry.entry("contact")) if entry.has("contact") else None,
        entry.text("matter", entry.text("first")),
        entry.text("along") if entry.has("along") else None,
        entry.vector("velocity", (0, 0, 0)),
        _friction(entry) if entry.has("friction") else None,
        entry.amount("restitution", 0),
        entry.text("impact", IMPACTS[0]),
        entry.amount("tangential_restitution", 0),
    )


def _add_edge(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("body", "at", "along", "on_ground")
    model.knife_edge(
        entry.text("body"), entry.vector("at", (0, 0, 0)), entry.text("along", "x"), name, entry.flag("on_ground", False)
    )


def _add_stop(model: Model, name: str, value: Any, where: str) -> None:
    read_stop(model, name, Entry.of(where, value))


def _add_friction(model: Model, name: str, value: Any, where: str) -> None:
    read_friction(model, name, Entry.of(where, value))


def _add_constraint(model: Model, name: str, value: Any, where: str) -> None:
    read_constraint(model, name, Entry.of(where, value))


def _add_generalized_force(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("measure", "amount")
    model.generalized_force(entry.expression("measure"), entry.amount("amount"), name)


def _add_wrench(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("point", "force", "torque", "axes")
    force, torque = entry.vector("force", (0, 0, 0)), entry.vector("torque", (0, 0, 0))
    model.wrench(entry.text("point"), force, torque, entry.text("axes", "world"), name)


def _add_potential(model: Model, name: str, value: Any, where: str) -> None:
    model.potential(name, Entry.of(where, value).only("energy").expression("energy"))


def _add_spring(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("measure", "stiffness", "rest", "damping")
    model.spring(
        entry.expression("measure"),
        entry.amount("stiffness"),
        entry.amount("rest", 0),
        entry.amount("damping", 0),
        name,
    )


def _add_output(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value if isinstance(value, dict) else {"expression": value}).only("expression", "unit", "description")
    model.output(name, entry.expression("expression"), entry.text("unit", ""), entry.text("description", ""))


def _add_event(model: Model, name: str, value: Any, where: str) -> None:
    entry = Entry.of(where, value).only("expression", "action", "direction", "description")
    direction = entry.number("direction", "", 0)
    if direction not in (-1, 0, 1):
        raise ModelError(f"{where}: direction must be 1 (rising), -1 (falling) or 0 (both), got {direction:g}")
    action = entry.text("action", "stop", ("stop", "record"))
    model.event(name, entry.expression("expression"), action, int(direction), entry.text("description", ""))


_TOP = ("draisine", "name", "description", "gravity", "ground", "independent", "impacts", "impacts_without_collision")
_SECTIONS: _Sections = {
    "parameters": ("parameter", _add_parameter),
    "inputs": ("input", _add_input),
    "tables": ("table", _add_table),
    "paths": ("path", _add_path),
    "bodies": ("body", partial(_add_body, "")),
    "points": ("point", _add_point),
    "parts": ("part", _add_part),
    "joints": ("joint", _add_joint),
    "wheels": ("wheel", _add_wheel),
    "edges": ("knife edge", _add_edge),
    "contacts": ("contact", _add_contact),
    "stops": ("stop", _add_stop),
    "frictions": ("friction", _add_friction),
    "surface_contacts": ("contact", _add_surface_contact),
    "surface_parameters": ("surface parameter", _add_surface_parameter),
    "constraints": ("constraint", _add_constraint),
    "generalized_forces": ("generalized force", _add_generalized_force),
    "wrenches": ("wrench", _add_wrench),
    "potentials": ("potential", _add_potential),
    "springs": ("spring", _add_spring),
    "outputs": ("output", _add_output),
    "events": ("event", _add_event),
}
WORDS = {key: word for key, (word, _) in _SECTIONS.items()}  # names of items in error messages
