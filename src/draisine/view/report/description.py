"""Description of a model in a report: picture, bodies, joints, contacts, parameters, equations."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from draisine.bicycle.whipple_matrices import whipple_matrices
from draisine.errors import DraisineError
from draisine.expr.expression import Expr
from draisine.model.contact_items import PointContact, SurfaceContact, Wheel, resistances_of
from draisine.model.file_joints import joint_table
from draisine.model.items import Body, Vector
from draisine.model.system import System
from draisine.program.program import DaeResidual
from draisine.symbolic.rendering.document import LOOP_CLOSURES
from draisine.symbolic.rendering.formulas import mathml_name
from draisine.symbolic.rendering.html import form_of, matrices_of, section_of
from draisine.symbolic.rendering.model_text import derived_in_brief
from draisine.view.drawing import draw
from draisine.view.plots.labels import pretty_unit
from draisine.view.report.chapter import Content, NotApplicable, bullet_list, count_noun, figure, number, paragraph, table
from draisine.view.report.subject import Subject

_ROUNDING = 1e-12  # of the largest entry of a matrix
_MOMENTS = ("xx", "yy", "zz", "xy", "yz", "zx")


def model(subject: Subject) -> Content:
    """Picture and tables of bodies, joints, contacts, forces, states and outputs."""
    doc, system, e = subject.document, subject.system, subject.equations
    lines: list[str] = []
    facts = {}
    if system is None:
        lines.append(paragraph("The model is given as formulas; it has no bodies to draw."))
    else:
        lines += _picture(subject, system)
        parts = [count_noun(len(system.bodies), "body", "bodies"), count_noun(len(system.joints), "joint")]
        parts += [count_noun(len(system.wheels), "wheel")] if system.wheels else []
        parts += [count_noun(len(system.edges), "knife edge")] if system.edges else []
        parts += [count_noun(len(system.point_contacts), "contact")] if system.point_contacts else []
        parts += [count_noun(len(system.constraints), "constraint")] if system.constraints else []
        facts["Made of"] = ", ".join(parts)
        lines += _bodies(subject, system) + _joints(system) + _contacts(subject, system)
        lines += _forces(system)
    lines += [line for t in doc.tables if t.title == LOOP_CLOSURES for line in _captioned(t.head, t.rows, LOOP_CLOSURES)]
    lines += _captioned(
        ("input", "unit", "meaning"),
        [(u.name, pretty_unit(u.unit), u.description) for u in e.inputs],
        "Inputs: given from outside",
    )
    states = [(s.name, pretty_unit(s.unit), number(s.default), s.description) for s in e.states]
    lines += _captioned(("state", "unit", "at the start", "meaning"), states, "State")
    lines += _captioned(
        ("output", "unit", "meaning"),
        [(o.name, pretty_unit(o.unit), o.description) for o in e.outputs],
        "Outputs: quantities with names",
    )
    lines += _captioned(
        ("event", "then", "meaning"), [(v.name, v.action, v.description) for v in e.event_list], "Events of the model itself"
    )
    return Content(tuple(lines), facts)


def parameters(subject: Subject) -> Content | NotApplicable:
    """Values with units; changed ones are marked."""
    if not subject.model.parameters:
        return NotApplicable("The model has no parameters.")
    rows = [
        (
            p.name,
            number(p.default),
            pretty_unit(p.unit),
            p.description,
            "changed for this report" if p.name in subject.changed else "",
        )
        for p in subject.model.parameters
    ]
    rows += [
        (d.name, number(subject.values[d.name]), pretty_unit(d.unit), d.description, f"= {d.expression}")
        for d in (subject.model.dependent_parameters if isinstance(subject.model, System) else ())
    ]
    lines = [paragraph("Parameters are symbolic in all derived and compiled equations; their values in this report are:")]
    lines += table(("name", "value", "unit", "meaning", "remark"), rows)
    return Content(tuple(lines), {"Parameters": f"{len(rows)}, all symbolic"})


def equations(subject: Subject) -> Content:
    """Form of the equations, matrices if they are short, linearized ones of two-wheelers; the listing is an appendix."""
    e, doc = subject.equations, subject.document
    lines = [*form_of(e), paragraph(f"{_capital(derived_in_brief(e))}.")]
    lines += bullet_list(e.notes) if e.notes else []
    kinds = [(c.name, str(c.kind), c.level, pretty_unit(c.unit)) for c in e.constraints]
    lines += _captioned(("constraint", "kind", "level", "unit"), kinds, "Constraints")
    if doc.matrices is not None:
        lines += matrices_of(doc.matrices, level=3)
    lines += _linearized(subject)
    where = "The appendix lists all formulas, from the state to its derivative."
    lines.append(paragraph(where if not isinstance(e.dynamics, DaeResidual) else "The appendix lists the residuals."))
    return Content(tuple(lines), _size(subject))


def _linearized(subject: Subject) -> list[str]:
    """The linearized equations of a two-wheeler about straight running, with their numbers."""
    if (
        not subject.deviation_states
        or subject.system is None
        or subject.system.unilateral
        or not {"lean", "steer"} <= subject.names
    ):
        return []
    try:
        found = whipple_matrices(subject.model)
    except DraisineError:  # not a two-wheeler with an upright straight motion
        return []
    lean = "<mover><mi>q</mi><mo>{}</mo></mover>"
    form = (
        f"<mi>M</mi>{lean.format('¨')}<mo>+</mo><mi>v</mi><msub><mi>C</mi><mn>1</mn></msub>{lean.format('˙')}<mo>+</mo>"
        '<mo stretchy="false">(</mo>'
        "<mi>g</mi><msub><mi>K</mi><mn>0</mn></msub><mo>+</mo><msup><mi>v</mi><mn>2</mn></msup>"
        "<msub><mi>K</mi><mn>2</mn></msub>"
        '<mo stretchy="false">)</mo>'
        "<mi>q</mi><mo>=</mo><mi>f</mi>"
    )
    matrices = {"M": found.M, "C1": found.C1, "K0": found.K0, "K2": found.K2}
    shown = "".join(f"<span><math>{_matrix(name, value)}</math></span> " for name, value in matrices.items())
    return [
        "<h3>Linearized about straight running</h3>",
        f'<p class="form"><math>{form}</math></p>',
        paragraph("q = (lean, steer), f the moments about them, v the speed, g gravity; in SI units:"),
        f'<p class="form scroll">{shown}</p>',
    ]


def _matrix(name: str, value: NDArray[np.float64]) -> str:
    value = np.where(np.abs(value) > _ROUNDING * np.abs(value).max(), value, 0.0)
    rows = "".join(
        "<mtr>" + "".join(f"<mtd><mn>{number(float(x)).replace('-', '−')}</mn></mtd>" for x in row) + "</mtr>" for row in value
    )
    return f"<mrow>{mathml_name(name)}<mo>=</mo><mo>[</mo><mtable>{rows}</mtable><mo>]</mo></mrow>"


def listing(subject: Subject) -> Content:
    """All formulas in order of evaluation."""
    found = subject.document.listing
    lines = [paragraph("Formulas in order of evaluation; names are defined before use.")]
    for section in found.sections:
        lines += section_of(section)
    lines.append(paragraph(f"Results: {', '.join(found.results)} ({found.reported})."))
    return Content(tuple(lines))


def _size(subject: Subject) -> dict[str, str]:
    e = subject.equations
    facts = {"Coordinates": str(len(e.coordinates))}
    if e.velocities:
        facts["Velocities"] = f"{len(e.velocities)}, of them independent: {', '.join(e.independent) or 'none'}"
    if not isinstance(e.dynamics, DaeResidual):
        facts["One state derivative"] = count_noun(e.dynamics.operations, "operation")
    return facts


def _picture(subject: Subject, system: System) -> list[str]:
    return figure(
        draw(system, subject.options.start or None) if not _has_velocities(subject) else draw(system),
        f"{subject.equations.name}: bodies, joints and centers of mass (quartered circles), seen in parallel projection.",
    )


def _has_velocities(subject: Subject) -> bool:
    """Whether the requested start contains velocities, which a drawing cannot show."""
    coordinates = {c.name for c in subject.equations.coordinates}
    return not set(subject.options.start) <= coordinates


def _bodies(subject: Subject, system: System) -> list[str]:
    rows = []
    for body in system.bodies:
        rows.append(
            (
                body.name,
                _amount(subject, body.mass),
                _vector(subject, body.center_of_mass),
                *_moments(subject, body),
                body.description,
            )
        )
    head = ("body", "mass [kg]", "center of mass [m]", *(f"I{m} [kg·m²]" for m in _MOMENTS), "meaning")
    return table(head, rows, "Bodies; vectors in the body's own axes, inertia about the center of mass")


def _moments(subject: Subject, body: Body) -> list[str]:
    found = [_amount(subject, getattr(body.inertia, m)) for m in _MOMENTS]
    return ["" if m in ("xy", "yz", "zx") and value == "0" else value for m, value in zip(_MOMENTS, found, strict=True)]


def _joints(system: System) -> list[str]:
    rows = []
    for joint in system.joints:
        kind = str(joint_table(joint).get("kind", "chain")).replace("_", " ")
        moved = ", ".join(f"{c.name} [{pretty_unit(c.unit) or '–'}]" for c in joint.coordinates) or "none"
        rows.append((joint.name, f"{joint.parent} → {joint.child}", kind, moved))
    return _captioned(("joint", "between", "kind", "coordinates"), rows, "Joints")


def _contacts(subject: Subject, system: System) -> list[str]:
    rows = [
        (
            w.name,
            w.body,
            f"{w.axis} at {_vector(subject, w.center)}",
            _amount(subject, w.radius),
            _amount(subject, w.tube),
            _law(w.contact),
        )
        for w in system.wheels
    ]
    head = ("wheel", "body", "axis", "radius [m]", "tube radius [m]", "contact")
    lines = _captioned(head, rows, "Wheels, which touch the ground")
    edges = [(k.name, k.body, k.along, _vector(subject, k.at), "on the ground" if k.on_ground else "") for k in system.edges]
    lines += _captioned(("knife edge", "body", "along", "at [m]", "height"), edges, "Knife edges: no velocity across the blade")
    pairs = [(c.name, f"{c.first} – {c.second}", _law(c.contact)) for c in system.surface_contacts]
    lines += _captioned(("contact", "between", "law along the surfaces"), pairs, "Bodies that touch")
    return lines + _unilateral(subject, system)


def _unilateral(subject: Subject, system: System) -> list[str]:
    """Contacts that stick, slip and open, with friction and impact."""
    rows = []
    contacts: list[Wheel | PointContact | SurfaceContact] = [*system.wheels, *system.point_contacts, *system.surface_contacts]
    for contact in contacts:
        law = contact.friction
        if law is None:
            continue
        static, kinetic = ("∞" if amount is None else _amount(subject, amount) for amount in (law.static, law.kinetic))
        kinetic = str(law.kinetic) if law.depends_on_slip else kinetic
        if isinstance(contact, SurfaceContact):
            where = f"{contact.first} – {contact.second}"
        else:
            where = f"wheel of {contact.body}" if isinstance(contact, Wheel) else f"{contact.point} – {contact.on}"
        rows.append((contact.name, where, static, kinetic, _amount(subject, law.restitution), law.impact))
    head = ("contact", "between", "static friction", "kinetic friction", "restitution", "impact")
    resistances = [one for c in contacts if not isinstance(c, SurfaceContact) for one in resistances_of(c)]
    levers = [(one.of, one.kind, _amount(subject, one.lever)) for one in resistances]
    lines = _captioned(head, rows, "Contacts that stick, slip and open")
    return lines + _captioned(
        ("contact", "resistance to", "lever arm [m]"), levers, "Moments of contacts, relative to normal forces"
    )


def _forces(system: System) -> list[str]:
    rows = [(e.name, "generalized force", f"{e.amount} along {e.measure}") for e in system.generalized_forces]
    rows += [
        (w.name, "wrench", f"at {w.point}: force {_formulas(w.force)}, torque {_formulas(w.torque)}") for w in system.wrenches
    ]
    rows += [(p.name, "potential energy", str(p.energy)) for p in system.potentials]
    return _captioned(("name", "kind", "amount"), rows, "Forces besides gravity")


def _captioned(head: tuple[str, ...], rows: object, caption: str) -> list[str]:
    rows = [tuple(row) for row in rows]  # type: ignore[attr-defined]
    return table(head, rows, caption) if rows else []


def _amount(subject: Subject, amount: Expr) -> str:
    value = subject.value(amount)
    return str(amount) if value is None else number(value)


def _vector(subject: Subject, vector: Vector) -> str:
    return f"({', '.join(_amount(subject, c) for c in vector)})"


def _formulas(vector: Vector) -> str:
    return f"({', '.join(map(str, vector))})"


def _law(contact: object) -> str:
    """Name of a contact law in words: ShenHedrickElkins is Shen Hedrick Elkins."""
    return " ".join(re.findall("[A-Z][a-z]*", type(contact).__name__)) if contact is not None else "none"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
