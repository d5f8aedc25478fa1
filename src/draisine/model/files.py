"""Model files: a TOML file is a complete description of a system; writing and reading it gives an equal system.

    draisine = 1
    name = "pendulum"

    [parameters]
    length = { value = 2, unit = "m", description = "pivot to bob" }

    [bodies.bob]
    mass = "1200 g"
    center = [0, 0, "-length"]

    [joints.swing]
    kind = "revolute"
    parent = "ground"
    child = "bob"
    axis = "y"

Bodies and the ground may have `shapes` for drawing (see `draisine.model.shapes`); without them shapes are generated. An amount
is a number in SI units, a text with a fitting unit ("1200 g"), or an expression of parameters ("-length"). Model files are data:
expressions are parsed by draisine's own parser, and no code in a file is executed.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import ArgumentError, DraisineError, ModelError
from draisine.expr.expression import Number
from draisine.expr.tables import Table
from draisine.model.contact.dry_friction import IMPACT_ORDERS, IMPACTS, DryFriction
from draisine.model.contact.laws import Rolling
from draisine.model.contact_items import PointContact, SurfaceContact, Wheel
from draisine.model.file_constraints import constraint_table
from draisine.model.file_joints import joint_table, plain, turns_table
from draisine.model.file_laws import law_table
from draisine.model.file_parts import parts_and_rest
from draisine.model.file_reading import FORMAT, WORDS, model_of
from draisine.model.file_stops import friction_table, stop_table
from draisine.model.items import ALL, GROUND, Body, DependentParameter, Input, Output, Parameter, Point, Vector, Wrench
from draisine.model.model import Model
from draisine.model.shapes import shape_table
from draisine.model.system import System
from draisine.model.toml_files import MAX_DEPTH, flattened, lines, parse_toml, section, with_line
from draisine.results.files import read_text, write_text

if TYPE_CHECKING:
    from draisine.model.contact.paths import GroundPath

MAX_BODIES, MAX_ITEMS = 1_000, 5_000

_ZERO = Number(0.0)


def read_model(path: str | Path, *, bodies: int = MAX_BODIES, items: int = MAX_ITEMS, depth: int = MAX_DEPTH) -> Model:
    """Read and validate a model from the TOML file `path`. Any error is a `ModelError` with file and line.

    A file has at most so many `bodies`, other `items` of one kind, and parts of a dotted key (`depth`): larger ones, which are
    seldom meant, would take long to be read. These limits can be raised.
    """
    if not isinstance(path, str | Path):
        raise ArgumentError(f"read_model: expected the name of a file such as 'cart.toml', got {path!r}")
    limits = {"bodies": bodies, "items": items, "depth": depth}
    return from_toml(read_text(path, ModelError), str(path), Path(path).resolve().parent, **limits)


def write_model(model: Model | System, path: str | Path) -> None:
    """Write a model to the TOML file `path`, which `read_model` reads back as the same system."""
    if not isinstance(path, str | Path):
        raise ArgumentError(f"write_model: expected the name of a file such as 'cart.toml', got {path!r}")
    target = Path(path)
    write_text(target, text_of(_described(model), target.parent))


def from_toml(
    text: str,
    source: str = "model text",
    folder: str | Path = ".",
    *,
    bodies: int = MAX_BODIES,
    items: int = MAX_ITEMS,
    depth: int = MAX_DEPTH,
) -> Model:
    """Read and validate a model from TOML text; errors begin with `source`. Mesh files must lie in `folder` or below.

    `bodies`, `items` and `depth` are the limits of `read_model`.

    >>> m = from_toml('name = "block"\\n[bodies.block]\\nmass = "2 t"\\n[joints.motion]\\nkind = "free"\\nchild = "block"')
    >>> print(m.freeze().bodies[0].mass)
    2000
    """
    content = parse_toml(text, source, ModelError, depth)
    try:
        _check_size(content, bodies, items)
        return model_of(content, str(folder))
    except DraisineError as problem:
        raise ModelError(with_line(source, text, str(problem), WORDS)) from None


def _check_size(content: dict[str, Any], bodies: int, items: int) -> None:
    for key in WORDS:
        count, most = len(content[key]) if isinstance(content.get(key), dict) else 0, bodies if key == "bodies" else items
        if count > most:
            raise ModelError(f"{count:,} {key} are more than {most:,}; raise the limit: read_model(path, {_limit(key)}={count})")


def _limit(key: str) -> str:
    return "bodies" if key == "bodies" else "items"


def to_toml(model: Model | System) -> str:
    """The text of a model file.

    >>> m = Model("block")
    >>> _ = m.free(m.body("block", mass=2.0))
    >>> print(to_toml(m).splitlines()[0])
    draisine = 1
    """
    return text_of(_described(model))


def _described(model: Model | System) -> System:
    system = model.freeze() if isinstance(model, Model) else model
    if not isinstance(system, System):
        raise ArgumentError(
            f"only models of bodies and joints can be written to a model file; {getattr(model, 'name', type(model).__name__)!r} "
            "consists of formulas: keep the Python code that states it, or export its programs (draisine.export)"
        )
    return system


# -------------------------------------------------------------------- writing


def text_of(system: System, target: Path | None = None) -> str:
    """The text of a model file; names of mesh files are relative to the folder `target`."""
    top = {"draisine": FORMAT, "name": system.name, **_given(description=system.description), "gravity": _gravity(system)}
    top |= {} if system.impacts == IMPACT_ORDERS[0] else {"impacts": system.impacts}
    top |= {"impacts_without_collision": True} if system.impacts_without_collision else {}
    ground = _given(slope=plain(system.ground.slope), bank=plain(system.ground.bank), height=plain(system.ground.height))
    if any(v != _ZERO for v in system.ground.velocity):
        ground["velocity"] = [plain(v) for v in system.ground.velocity]
    ground |= _given(profile=[[plain(x), plain(z)] for x, z in system.ground.profile])
    if system.ground.friction != ALL:
        ground["friction"] = plain(system.ground.friction)
    ground |= _given(shapes=[shape_table(s, target) for s in system.ground.shapes])
    parts, system = parts_and_rest(system)
    found = flattened(
        lines(key, value) for key, value in {**top, **_given(ground=ground, independent=list(system.independent))}.items()
    )
    parameters = {item.name: _line(item) for item in system.parameters}
    parameters |= {item.name: _line(item) for item in system.dependent_parameters}
    found += section("parameters", parameters) if parameters else []
    for header, tables in _short_sections(system, "inputs"):
        found += section(header, tables)
    for name, table in parts.items():
        found += section(f"parts.{name}", table)
    for header, tables in _long_sections(system, target):
        for name, table in tables.items():
            found += section(f"{header}.{name}", table)
    for header, tables in _short_sections(system, "outputs"):
        found += section(header, tables)
    for event in system.events:
        rest = _given(direction=event.direction, description=event.description)
        found += section(f"events.{event.name}", {"expression": plain(event.expression), "action": event.action, **rest})
    return "\n".join(found) + "\n"


def _gravity(system: System) -> Any:
    size = system.downward_gravity
    return _vector(system.gravity) if size is None else plain(size)


def _given(**values: Any) -> dict[str, Any]:
    """Without empty and zero values, which are the defaults on reading."""
    return {key: value for key, value in values.items() if value not in ("", 0, [], {}, False)}


def _short_sections(system: System, *headers: str) -> list[tuple[str, dict[str, Any]]]:
    """Sections with one line per item."""
    return [
        (header, {item.name: _line(item) for item in getattr(system, header)}) for header in headers if getattr(system, header)
    ]


def _line(item: Parameter | DependentParameter | Input | Output) -> dict[str, Any]:
    described = _given(unit=item.unit, description=item.description)
    if isinstance(item, Parameter):
        return {"value": item.default, **described}
    if isinstance(item, DependentParameter):
        return {"value": plain(item.expression), **described}
    return {"expression": plain(item.expression), **described} if isinstance(item, Output) else described


def _long_sections(system: System, target: Path | None) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    """Sections with one table per item."""
    return [
        ("tables", {t.name: _table(t) for t in system.tables}),
        ("paths", {p.name: _path(p) for p in system.paths}),
        ("bodies", {b.name: _body(b, target) for b in system.bodies}),
        ("points", {p.name: _point(p) for p in system.points}),
        ("joints", {j.name: joint_table(j) for j in system.joints}),
        ("wheels", {w.name: _wheel(w) for w in system.wheels}),
        (
            "edges",
            {e.name: {"body": e.body, "at": _vector(e.at), "along": e.along, "on_ground": e.on_ground} for e in system.edges},
        ),
        ("contacts", {c.name: _point_contact(c) for c in system.point_contacts}),
        ("stops", {stop.name: stop_table(stop) for stop in system.stops}),
        ("frictions", {friction.name: friction_table(friction) for friction in system.joint_frictions}),
        ("surface_contacts", {c.name: _surface_contact(c) for c in system.surface_contacts}),
        (
            "surface_parameters",
            {c.name: {"unit": c.unit, "default": c.default, "span": [c.low, c.high]} for c in system.surface_parameters},
        ),
        ("constraints", {constraint.name: constraint_table(constraint, system) for constraint in system.constraints}),
        (
            "generalized_forces",
            {e.name: {"measure": plain(e.measure), "amount": plain(e.amount)} for e in system.generalized_forces},
        ),
        ("wrenches", {w.name: _wrench(w) for w in system.wrenches}),
        ("potentials", {p.name: {"energy": plain(p.energy)} for p in system.potentials}),
    ]


def _vector(vector: Vector) -> list[Any]:
    return [plain(component) for component in vector]


def _unless_zero(key: str, vector: Vector) -> dict[str, Any]:
    return {key: _vector(vector)} if any(component != _ZERO for component in vector) else {}


def _table(table: Table) -> dict[str, Any]:
    axes = [axis.tolist() for axis in table.knots]
    knots = axes if len(axes) > 1 else axes[0]
    return {"knots": knots, "values": table.values.tolist(), "kind": table.kind, "outside": table.outside}


def _path(path: GroundPath) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if path.points:
        found["points"] = [list(point) for point in path.points]
    elif path.curve is not None:
        found |= {"curve": [str(part) for part in path.curve], "between": list(path.between)}
    else:
        found |= {"segments": [list(segment) for segment in path.segments], "start": list(path.start), "heading": path.heading}
    return found | _given(closed=path.closed, width=path.width or 0.0) | {"beyond": path.beyond}


def _body(body: Body, target: Path | None) -> dict[str, Any]:
    entries = {key: getattr(body.inertia, key) for key in ("xx", "yy", "zz", "xy", "yz", "zx")}
    inertia = {key: plain(value) for key, value in entries.items() if value != _ZERO}
    return {
        **_given(description=body.description),
        "mass": plain(body.mass),
        **_unless_zero("center_of_mass", body.center_of_mass),
        **_given(inertia=inertia),
        **_given(shapes=[shape_table(s, target) for s in body.shapes]),
    }


def _point(point: Point) -> dict[str, Any]:
    return {"body": point.body, "at": _vector(point.at), **_given(orientation=turns_table(point.orientation))}


def _wheel(wheel: Wheel) -> dict[str, Any]:
    table = {"body": wheel.body, "radius": plain(wheel.radius), **_given(tube=plain(wheel.tube))}
    table |= {**_unless_zero("center", wheel.center), "axis": wheel.axis}
    table |= {} if wheel.friction is None else _friction(wheel.friction)
    return table if isinstance(wheel.contact, Rolling) else {**table, "contact": law_table(wheel.contact)}


def _friction(law: DryFriction) -> dict[str, Any]:
    static, kinetic = (math.inf if amount is None else plain(amount) for amount in (law.static, law.kinetic))
    friction = static if law.static == law.kinetic else [static, kinetic]
    impact = {} if law.impact == IMPACTS[0] else {"impact": law.impact}
    returned = _given(restitution=plain(law.restitution), tangential_restitution=plain(law.tangential_restitution))
    levers = {"rolling_resistance": law.rolling_resistance, "drilling_resistance": law.drilling_resistance}
    resists = {name: plain(lever) for name, lever in levers.items() if lever is not None}
    return {"friction": friction, **returned, **impact, **resists}


def _point_contact(contact: PointContact) -> dict[str, Any]:
    return {
        "point": contact.point,
        **_given(radius=plain(contact.radius)),
        **({"on": contact.on} if contact.on != GROUND else {}),
        **({"on_radius": plain(contact.on_radius)} if contact.on_radius is not None else {}),
        **({"permanent": True} if contact.friction is None else _friction(contact.friction)),
        **({"lands_where": plain(contact.lands_where)} if contact.lands_where is not None else {}),
        **({"along": contact.along} if contact.along is not None else {}),
        **({"friction_across": plain(contact.across)} if contact.across is not None else {}),
    }


def _surface_contact(contact: SurfaceContact) -> dict[str, Any]:
    return {
        "first": contact.first,
        "surface": _vector(contact.surface),
        "parameters": list(contact.parameters),
        "second": contact.second,
        "second_surface": _vector(contact.second_surface),
        "second_parameters": list(contact.second_parameters),
        **({"matter": contact.matter} if contact.matter != contact.first else {}),
        **({"along": contact.along} if contact.along is not None else {}),
        **_unless_zero("velocity", contact.velocity),
        **({"contact": law_table(contact.contact)} if contact.contact is not None and contact.friction is None else {}),
        **({} if contact.friction is None else _friction(contact.friction)),
    }


def _wrench(wrench: Wrench) -> dict[str, Any]:
    vectors = {**_unless_zero("force", wrench.force), **_unless_zero("torque", wrench.torque)}
    return {"point": wrench.point, **vectors, "axes": wrench.axes}
