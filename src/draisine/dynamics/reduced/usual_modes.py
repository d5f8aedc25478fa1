"""Reduced equations of the usual modes of unilateral contacts: wheels roll, other contacts are open.

Most of a run goes on in these modes. Their constraints are eliminated as those of ideal contacts are, and their programs have
the layout of all modes: all coordinates, all velocities, the work; parameters and modes. The dependent velocities of the state
are not read; their rates are exact, and the projection sets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from draisine.dynamics.augmented.contact_modes import ContactRows
from draisine.dynamics.formulation import Outputs, least_norm_step
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.outputs import ReportBuilder
from draisine.dynamics.reduced.formulation import ReducedFormulation
from draisine.model.contact_modes import in_modes
from draisine.model.system import System
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program


class Solved(NamedTuple):
    """The report of all modes, and the names of the rows whose forces it solves for, behind the accelerations."""

    program: LinearSolveProgram
    rows: Sequence[str]


def usual_system(system: System, contacts: Sequence[ContactRows]) -> System | None:
    """The description with the contacts in their usual modes; None where they have none: dry friction of joints, which is never
    open, wheels that do not stick, parts of a ground profile, of which a wheel touches one or another, and surfaces, whose
    parameters belong to their contact."""
    if any(pair.friction is not None for pair in system.surface_contacts):
        return None
    if any(c.normal is None or c.bounded or (c.stands and not _can_stick(c)) for c in contacts):
        return None
    fixed = in_modes(system, {c.name: "stick" if c.stands else "open" for c in contacts})
    return replace(fixed, outputs=(), events=())


def _can_stick(contact: ContactRows) -> bool:
    return len(contact.tangential) == 2 and (contact.static is None or not contact.static.is_zero())


def usual_programs(
    general: Mechanism, contacts: Sequence[ContactRows], reduced: ReducedFormulation, report: Solved
) -> Mapping[str, Program]:
    """Programs of (t, x, u, p): `usual_dynamics`, `usual_margins` with the condition of the independent velocities behind them,
    `usual_project`, and `usual_report`. None of them if forces are not unique or the dynamics switch."""
    m, scope = reduced.mechanism, reduced.mechanism.scope
    known = general.scope
    if scope.coordinates != known.coordinates or scope.velocities != known.velocities or scope.input_names != known.input_names:
        return {}
    if scope.parameters != known.parameters[: len(scope.parameters)] or m.selection.redundant:
        return {}
    work = ca.SX.sym("work")
    p = ca.vertcat(scope.p, ca.SX.sym("modes", len(known.parameters) - len(scope.parameters)))
    labels = [*scope.coordinates, *scope.velocities, "work"]
    arguments: Outputs = {
        "t": (scope.t, ["t"]),
        "x": (ca.vertcat(scope.q, scope.v, work), labels),
        "u": (scope.u, scope.input_names),
        "p": (p, known.parameters),
    }
    (q_rate,) = reduced.in_terms_of_state([m.measures.q_rate])
    rates = [reduced.all_accelerations[name] for name in scope.velocities]
    outputs: dict[str, Outputs] = {
        "dynamics": {"xdot": (ca.vertcat(q_rate, *rates, reduced.power), [f"d{name}/dt" for name in labels])},
        "margins": {"margins": _margins(general, contacts, reduced, p)},
        "report": _report(contacts, reduced, report, {name: symbol for name, (symbol, _) in arguments.items()}),
    }
    positions = [r for _, r in m.independent_positions]
    if positions or m.row_names:
        q = least_norm_step(scope.q, positions) if positions else scope.q
        off = ca.vertcat(*[r for _, r in m.position_constraints], scope.v - reduced.all_velocities)
        new = ca.vertcat(q, reduced.all_velocities, work)
        outputs["project"] = {"x_new": (new, labels), "error": (ca.norm_inf(off), ["error"])}
    shared = m.templates.skip_global_cse
    found = {
        f"usual_{name}": Program.build(f"{m.system.name}_usual_{name}", arguments, results, reduced.units, shared)
        for name, results in outputs.items()
    }
    return {} if found["usual_dynamics"].can_switch else found


def _report(
    contacts: Sequence[ContactRows], reduced: ReducedFormulation, report: Solved, arguments: Mapping[str, ca.SX]
) -> Outputs:
    """The results of the report of all modes, at accelerations and forces that are not solved for, and the condition of the
    independent velocities."""
    builder, rows = ReportBuilder(reduced), report.rows
    solved = dict(zip(reduced.row_names, reduced.multipliers, strict=True))
    for c in contacts:
        names = [rows[i] for i in c.rows]
        forces = (
            (builder.force_values[f"{c.name}_{way}_force"] for way in ("normal", "longitudinal", "lateral")) if c.stands else ()
        )
        solved |= dict.fromkeys(names, ca.SX(0)) | dict(zip(names, forces, strict=False))
    accelerations = (reduced.all_accelerations[name] for name in reduced.mechanism.scope.velocities)
    z = ca.vertcat(*accelerations, *(solved[row] for row in rows))
    after = report.program.after
    given = {**arguments, "z": z, "solution": z}  # where an iteration has a last estimate, that is the solution
    results = after.function.call([given[slot.name] for slot in after.inputs])
    found: Outputs = {slot.name: (value, list(slot.labels)) for slot, value in zip(after.outputs, results, strict=True)}
    return {**found, "condition": (_condition(reduced), ["condition"])}


def _condition(reduced: ReducedFormulation) -> ca.SX:
    return ca.SX(1) if reduced.condition is None else reduced.condition


def _margins(general: Mechanism, contacts: Sequence[ContactRows], reduced: ReducedFormulation, p: ca.SX) -> ca.SX:
    """Two margins of every contact as in `ModeRows.margins`, then the condition of the independent velocities."""
    scope, known = reduced.mechanism.scope, general.scope
    symbols = [known.t, known.q, known.v, known.u, known.p]
    of_contacts = ca.Function(
        "contacts", symbols, [ca.vertcat(*[c.gap for c in contacts]), ca.vertcat(*[_static(c) for c in contacts])]
    )
    gaps, static = of_contacts.call([scope.t, scope.q, reduced.all_velocities, scope.u, p])
    forces = ReportBuilder(reduced).force_values
    values = []
    for i, c in enumerate(contacts):
        if not c.stands:
            values += [gaps[i], ca.SX(1)]
            continue
        normal, along, across = (forces[f"{c.name}_{way}_force"] for way in ("normal", "longitudinal", "lateral"))
        room = ca.SX(1) if c.static is None else static[i] * normal - ca.sqrt(along * along + across * across)
        values += [normal, room]
    return ca.vertcat(*values, _condition(reduced))


def _static(contact: ContactRows) -> ca.SX:
    return ca.SX(0) if contact.static is None else contact.static
