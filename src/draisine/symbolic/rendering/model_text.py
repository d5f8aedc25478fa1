"""Descriptions of models and their equations, as text and as data."""

from __future__ import annotations

from typing import Any

from draisine.model.file_constraints import constraint_table
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual


def derived_in_brief(equations: Equations) -> str:
    """A summary of the equations in one line."""
    dynamics, symbolic = equations.dynamics, f"{len(equations.parameters)} parameters symbolic"
    if isinstance(dynamics, DaeResidual):
        algebraic = dynamics.size - sum(dynamics.differential)
        return f"given as 0 = F(t, x, ẋ): {dynamics.size} unknowns, {algebraic} of them algebraic; {symbolic}"
    if not equations.velocities:
        return f"first order: {len(equations.states)} states; {dynamics.operations} operations per state derivative, {symbolic}"
    constraints = sum(c.level == "velocity" for c in equations.constraints)
    moved = f"derived: {len(equations.velocities)} velocities, {constraints} constraints"
    if isinstance(dynamics, LinearSolveProgram):
        return f"{moved}; accelerations and reactions from {dynamics.size} linear equations; {symbolic}"
    listed = f" ({', '.join(equations.independent)})" if equations.independent else ""
    cost = f"{dynamics.operations} operations per state derivative"
    return f"{moved}, {len(equations.independent)} independent{listed}; {cost}, {symbolic}"


def describe_as_data(equations: Equations, system: System | None = None) -> dict[str, Any]:
    """Names, units, defaults and counts; with the description, its bodies and joints too."""
    return {
        "name": equations.name,
        **(_description_as_data(system) if system is not None else {}),
        "parameters": {
            p.name: {"default": p.default, "unit": p.unit, "description": p.description} for p in equations.parameters
        },
        **_dependent_as_data(equations),
        "inputs": {u.name: {"unit": u.unit, "description": u.description} for u in equations.inputs},
        "coordinates": {c.name: c.unit for c in equations.coordinates},
        "velocities": {v.name: v.unit for v in equations.velocities},
        "independent": list(equations.independent),
        "alternates": [list(a) for a in equations.alternates],
        "constraints": {c.name: {"kind": str(c.kind), "level": c.level} for c in equations.constraints},
        "outputs": {o.name: {"unit": o.unit, "description": o.description} for o in equations.outputs},
        "events": [e.name for e in equations.event_list],
        "operations": {p.name: p.operations for p in (equations.dynamics, equations.report)},
        "notes": list(equations.notes),
    }


def _dependent_as_data(equations: Equations) -> dict[str, Any]:
    found = {
        d.name: {"expression": d.expression, "default": d.default, "unit": d.unit, "description": d.description}
        for d in equations.dependent_parameters
    }
    return {"dependent_parameters": found} if found else {}


def _description_as_data(system: System) -> dict[str, Any]:
    return {
        "description": system.description,
        "bodies": [b.name for b in system.bodies],
        "joints": {
            j.name: {"parent": j.parent, "child": j.child, "coordinates": [c.name for c in j.coordinates]} for j in system.joints
        },
        "wheels": [w.name for w in system.wheels],
        "knife_edges": [e.name for e in system.edges],
        "residual_constraints": _residual_constraints(system),
    }


def describe(equations: Equations, system: System | None = None) -> str:
    """A page of text: the tree of bodies or a list of coordinates, parameters, inputs, constraints, outputs."""
    lines = [f"{system.name}: {system.description}" if system is not None and system.description else equations.name]
    lines += _counts(equations, system)
    if system is not None:
        lines += ["tree", *_tree(system)]
        reported = [(name, table.pop("kind"), _listed(table)) for name, table in _residual_constraints(system).items()]
        lines += ["constraints", *_table(reported)] if reported else []
    else:
        kind = "coordinates" if equations.velocities else "states"
        lines += [kind, *_table([(c.name, f"{c.default:g} {c.unit}".strip(), c.description) for c in equations.coordinates])]
    if equations.parameters:
        lines += [
            "parameters",
            *_table([(p.name, f"{p.default:g} {p.unit}".strip(), p.description) for p in equations.parameters]),
        ]
    if equations.dependent_parameters:
        lines += [
            "dependent parameters",
            *_table(
                [
                    (d.name, f"= {d.expression} = {d.default:g} {d.unit}".strip(), d.description)
                    for d in equations.dependent_parameters
                ]
            ),
        ]
    if equations.inputs:
        lines += ["inputs", *_table([(u.name, u.unit, u.description) for u in equations.inputs])]
    if equations.constraints:
        lines += ["constraints", *_table([(c.name, str(c.kind), f"{c.level} level") for c in equations.constraints])]
    if equations.outputs:
        lines += ["outputs", *_table([(o.name, o.unit, o.description) for o in equations.outputs])]
    if equations.event_list:
        lines += ["events", *_table([(e.name, e.action, e.description) for e in equations.event_list])]
    lines += [f"note: {note}" for note in equations.notes]
    return "\n".join(lines)


def _counts(equations: Equations, system: System | None) -> list[str]:
    dynamics = equations.dynamics
    if isinstance(dynamics, LinearSolveProgram):
        straight = dynamics.system.operations + dynamics.after.operations
        way = "by a sparse factorization" if dynamics.sparse else "with pivoting"
        cost = f"  one state derivative: {straight} operations and the solution of {dynamics.size} equations {way}"
    else:
        cost = f"  one state derivative: {dynamics.operations} operations"
    if not equations.velocities:
        return [f"  {len(equations.coordinates)} states, first order", cost]
    velocities, constraints = len(equations.velocities), sum(c.level == "velocity" for c in equations.constraints)
    bodies = f"{len(system.bodies)} bodies, " if system is not None else ""
    free = len(equations.independent) if system is not None else velocities - constraints
    counts = f"  {bodies}{len(equations.coordinates)} coordinates, {velocities} velocities, {constraints} velocity constraints, "
    chosen = [f"  independent velocities: {', '.join(equations.independent)}"] if system is not None else []
    return [f"{counts}{free} degrees of freedom", *chosen, cost]


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


def _residual_constraints(system: System) -> dict[str, dict[str, Any]]:
    """What a model file would say of each constraint."""
    return {c.name: constraint_table(c, system) for c in system.constraints}


def _listed(table: dict[str, Any]) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, dict):
            return "; ".join(f"{key}: {each}" for key, each in value.items())
        return " – ".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)

    return ", ".join(f"{key} = {shown(value)}" for key, value in table.items())


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [f"  {a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows]
