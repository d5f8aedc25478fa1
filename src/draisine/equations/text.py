"""What a model is made of and what was derived, as text for people and as data for programs."""

from __future__ import annotations

from typing import Any

from draisine.model.items import System
from draisine.program.equations import Equations


def derived_in_brief(equations: Equations) -> str:
    """What was derived, in one line."""
    constraints = sum(c.level == "velocity" for c in equations.constraints)
    return (
        f"derived: {len(equations.velocities)} velocities, {constraints} constraints, {len(equations.independent)} independent "
        f"({', '.join(equations.independent)}); {equations.dynamics.operations} operations per state derivative, "
        f"{len(equations.parameters)} parameters symbolic"
    )


def describe_as_data(system: System, equations: Equations) -> dict[str, Any]:
    """Names, units, defaults and counts."""
    return {
        "name": system.name,
        "about": system.about,
        "bodies": [b.name for b in system.bodies],
        "joints": {
            j.name: {"parent": j.parent, "child": j.child, "coordinates": [c.name for c in j.coordinates]} for j in system.joints
        },
        "wheels": [w.name for w in system.wheels],
        "knife_edges": [e.name for e in system.edges],
        "parameters": {p.name: {"default": p.default, "unit": p.unit, "about": p.about} for p in equations.parameters},
        "inputs": {u.name: {"unit": u.unit, "about": u.about} for u in equations.inputs},
        "coordinates": {c.name: c.unit for c in equations.coordinates},
        "velocities": {v.name: v.unit for v in equations.velocities},
        "independent": list(equations.independent),
        "alternates": [list(a) for a in equations.alternates],
        "constraints": {c.name: {"kind": str(c.kind), "level": c.level} for c in equations.constraints},
        "outputs": {o.name: {"unit": o.unit, "about": o.about} for o in equations.outputs},
        "events": [e.name for e in equations.event_list],
        "operations": {p.name: p.operations for p in (equations.dynamics, equations.report)},
        "notes": list(equations.notes),
    }


def describe(system: System, equations: Equations) -> str:
    """A page of text: tree, parameters, inputs, constraints, outputs."""
    velocities, constraints = len(equations.velocities), sum(c.level == "velocity" for c in equations.constraints)
    lines = [f"{system.name}: {system.about}" if system.about else system.name]
    lines.append(
        f"  {len(system.bodies)} bodies, {len(equations.coordinates)} coordinates, {velocities} velocities, "
        f"{constraints} velocity constraints, {len(equations.independent)} degrees of freedom"
    )
    lines.append(f"  independent velocities: {', '.join(equations.independent)}")
    lines.append(f"  one state derivative: {equations.dynamics.operations} operations")
    lines += ["tree", *_tree(system)]
    lines += ["parameters", *_table([(p.name, f"{p.default:g} {p.unit}".strip(), p.about) for p in equations.parameters])]
    if equations.inputs:
        lines += ["inputs", *_table([(u.name, u.unit, u.about) for u in equations.inputs])]
    if equations.constraints:
        lines += ["constraints", *_table([(c.name, str(c.kind), f"{c.level} level") for c in equations.constraints])]
    lines += ["outputs", *_table([(o.name, o.unit, o.about) for o in equations.outputs])]
    if equations.event_list:
        lines += ["events", *_table([(e.name, e.action, e.about) for e in equations.event_list])]
    lines += [f"note: {note}" for note in equations.notes]
    return "\n".join(lines)


def _tree(system: System) -> list[str]:
    lines: list[str] = []

    def grow(parent: str, depth: int) -> None:
        for joint in system.joints:
            if joint.parent == parent:
                coordinates = ", ".join(c.name for c in joint.coordinates) or "fixed"
                lines.append(f"  {'  ' * depth}{parent} → {joint.child} ({coordinates})")
                grow(joint.child, depth + 1)

    grow("ground", 0)
    return lines


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [f"  {a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows]
