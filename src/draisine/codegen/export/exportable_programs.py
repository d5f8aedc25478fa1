"""Programs of a system that can be exported, by name, and their documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from draisine.codegen.export.source import Guide
from draisine.errors import ExportError
from draisine.program.equations import ENERGIES, Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program, Slot
from draisine.program.switching import switching_functions
from draisine.results.channel import per_second

_MOST_UNKNOWNS = 100  # of a linearization that is solved for at run time, or of dense Jacobians

_SOLVED = "it is not solved for ẋ; export its residual and linear, or reduce its index first"

Exported = Program | LinearSolveProgram


@dataclass(frozen=True)
class Item:
    """A program to be written, and its documentation."""

    program: Exported
    guide: Guide


def items(equations: Equations, what: Iterable[str], description: str = "") -> list[Item]:
    """The requested programs, in that order; with equations that switch also their switching functions."""
    requested = list(dict.fromkeys(what))
    if {"dynamics", "residual"} & set(requested) and _switching(equations):
        requested = list(dict.fromkeys([*requested, "switching"]))
    unknown = [name for name in requested if name not in WHAT]
    if unknown:
        raise ExportError(f"there is no program {unknown[0]!r} to export; choose from {', '.join(WHAT)}")
    found = []
    for name in requested:
        purpose, make = WHAT[name]
        programs = make(equations)
        if not programs:
            have = ", ".join(other for other, (_, get) in WHAT.items() if other != "linear" and get(equations))
            why = f" (it is given as 0 = F(t, x, ẋ); {_SOLVED})" if isinstance(equations.dynamics, DaeResidual) else ""
            raise ExportError(f"{equations.name!r} has no {name} to export{why}; it has {have}")
        title = f"{purpose}. {equations.name}: {description}" if description else f"{purpose} ({equations.name})"
        found += [Item(program, _guide(equations, program, title)) for program in programs]
    return found


# ---------------------------------------------------------------- the programs


def _own(name: str) -> Callable[[Equations], list[Exported]]:
    return lambda equations: [getattr(equations, name)] if getattr(equations, name) is not None else []


def _report(equations: Equations) -> list[Exported]:
    return [without_uncounted_work(equations.report)]


def without_uncounted_work(program: Exported) -> Exported:
    """A report without the work that it gives as the constant zero though there are inputs, which may do work."""
    if not any(slot.name == "u" and slot.size for slot in program.inputs):
        return program
    slots = {slot.name: slot for slot in program.outputs}
    if "energy" not in slots or "work" not in slots["energy"].labels:
        return program
    last = program.after if isinstance(program, LinearSolveProgram) else program
    energy = last.function.call(last.symbols())[list(slots).index("energy")]
    counted = [k for k, label in enumerate(slots["energy"].labels) if label != "work" or not energy[k].is_zero()]
    if len(counted) == slots["energy"].size:
        return program
    return picked(program, program.name, {name: range(slot.size) for name, slot in slots.items()} | {"energy": counted})


def _dynamics(equations: Equations) -> list[Exported]:
    return [equations.dynamics] if not isinstance(equations.dynamics, DaeResidual) else []


def _residual(equations: Equations) -> list[Exported]:
    """F of 0 = F(t, x, ẋ, u, p)."""
    return [_labeled(equations.dynamics, equations)] if isinstance(equations.dynamics, DaeResidual) else []


def _labeled(dynamics: DaeResidual, equations: Equations) -> Program:
    """The residual under the system's name, with names for the rates."""
    program = dynamics.residual
    labels = tuple(f"d{s.name}/dt" for s in equations.states)
    inputs = [slot._replace(labels=labels, units=()) if slot.name == "xdot" else slot for slot in program.inputs]
    return replace(program, name=f"{equations.name}_residual", inputs=tuple(inputs))


def _linear(equations: Equations) -> list[Exported]:
    """∂xdot/∂x and ∂xdot/∂u, in one program if no linear equations are solved at run time; of a residual, all Jacobians."""
    dynamics, name = equations.dynamics, f"{equations.name}_linear"
    if isinstance(dynamics, LinearSolveProgram | DaeResidual) and dynamics.size > _MOST_UNKNOWNS:
        raise ExportError(
            f"the linearization of {equations.name!r} would have {dynamics.size} equations in dense matrices, more than "
            f"{_MOST_UNKNOWNS}; describe it as a model, which reduces to independent velocities, or export its "
            f"{'residual' if isinstance(dynamics, DaeResidual) else 'dynamics'}"
        )
    if isinstance(dynamics, LinearSolveProgram):
        slots = [slot for slot in ("x", "u") if dynamics.input(slot).size]
        return [dynamics.jacobian("xdot", slot, f"{name}_d{slot}") for slot in slots]
    program, result = (_labeled(dynamics, equations), "residual") if isinstance(dynamics, DaeResidual) else (dynamics, "xdot")
    symbols = program.symbols()
    value = dict(zip((s.name for s in program.outputs), program.function.call(symbols), strict=True))[result]
    by_name = dict(zip((s.name for s in program.inputs), symbols, strict=True))
    wrt = [slot for slot in ("x", "xdot", "u") if slot in by_name and by_name[slot].numel()]
    matrices = {f"d{result}_d{slot}": ca.jacobian(value, by_name[slot]) for slot in wrt}
    return [_built(name, program.inputs, symbols, matrices)]


def _mass_matrix(equations: Equations) -> list[Exported]:
    """M(q), as the derivative of inverse dynamics by the accelerations, in which it is linear; or from the augmented matrix."""
    inverse, dynamics, n = equations.inverse_dynamics, equations.dynamics, len(equations.velocities)
    if inverse is None and n and isinstance(dynamics, LinearSolveProgram) and dynamics.size == n + len(equations.multipliers):
        symbols = dynamics.symbols()
        whole = dynamics.linear(symbols, ca.SX.zeros(dynamics.size))[0]  # the masses do not depend on multipliers
        return [_built(f"{equations.name}_mass_matrix", dynamics.inputs, symbols, {"mass_matrix": whole[:n, :n]})]
    if inverse is None:
        return []
    symbols = inverse.symbols()
    by_name = dict(zip((s.name for s in inverse.inputs), symbols, strict=True))
    matrix = ca.jacobian(inverse.function.call(symbols)[0], by_name["vdot"])
    kept = [(slot, by_name[slot.name]) for slot in inverse.inputs if slot.name in ("q", "p")]
    return [_built(f"{equations.name}_mass_matrix", [s for s, _ in kept], [e for _, e in kept], {"mass_matrix": matrix})]


def _switching(equations: Equations) -> list[Exported]:
    found = switching_functions(equations)
    return [] if found is None else [found]


def _multipliers(equations: Equations) -> list[Exported]:
    slot = equations.report.output("multipliers") if equations.multipliers else None
    return [picked(equations.report, f"{equations.name}_multipliers", {"multipliers": range(slot.size)})] if slot else []


def _contacts(equations: Equations) -> list[Exported]:
    """Contact points and angles, which need no accelerations."""
    labels = equations.report.output("outputs").labels
    contacts = [k for k, label in enumerate(labels) if "_contact_" in label or label.endswith("_track_heading")]
    return [picked(equations.report, f"{equations.name}_contacts", {"outputs": contacts})] if contacts else []


WHAT: Mapping[str, tuple[str, Callable[[Equations], list[Exported]]]] = {
    "dynamics": ("state derivative", _dynamics),
    "residual": ("residual of the equations 0 = F(t, x, xdot, u, p)", _residual),
    "switching": ("functions that are zero where the state derivative or residual switches", _switching),
    "linear": ("linearization about any state", _linear),
    "report": ("velocities, multipliers, outputs, energies, residuals and powers", _report),
    "motion": ("constraint residuals and outputs that need no accelerations", _own("motion")),
    "mass_matrix": ("mass matrix", _mass_matrix),
    "inverse_dynamics": ("generalized forces that a motion needs", _own("inverse_dynamics")),
    "multipliers": ("constraint forces", _multipliers),
    "contacts": ("contact points", _contacts),
    "project": ("one step back onto the position constraints", _own("project")),
    "events": ("quantities whose zeros are events", _own("events")),
    "monitor": ("conditioning of the independent velocities", _own("monitor")),
}


def _built(name: str, slots: Sequence[Slot], symbols: Sequence[ca.SX], outputs: Mapping[str, ca.SX]) -> Program:
    """A program with the slots of another, labels and units included."""
    built = Program.build(name, {s.name: (e, s.labels) for s, e in zip(slots, symbols, strict=True)}, dict(outputs))
    return replace(built, inputs=tuple(slots))


def picked(program: Exported, name: str, entries: Mapping[str, Iterable[int]]) -> Exported:
    """Some entries of some results of a program."""
    if isinstance(program, LinearSolveProgram):
        after = picked(program.after, f"{name}_after", entries)
        assert isinstance(after, Program)
        return replace(program, name=name, after=after)
    symbols = program.symbols()
    results = dict(zip((s.name for s in program.outputs), program.function.call(symbols), strict=True))
    chosen = {slot: list(which) for slot, which in entries.items()}
    built = _built(name, program.inputs, symbols, {slot: results[slot][which] for slot, which in chosen.items()})
    slots = []
    for slot, which in chosen.items():
        old = program.output(slot)
        units = tuple(old.units[k] for k in which) if old.units else ()
        slots.append(Slot(slot, (len(which), 1), tuple(old.labels[k] for k in which), units))
    return replace(built, outputs=tuple(slots))


# ---------------------------------------------------------------- documentation


def _guide(equations: Equations, program: Exported, title: str) -> Guide:
    groups = {
        "t": (Quantity("t", "s", "time"),),
        "x": equations.states,
        "x_new": equations.states,
        "q": equations.coordinates,
        "v": equations.velocities,
        "u": equations.inputs,
        "inputs": equations.inputs,
        "p": equations.arguments,
        "multipliers": equations.multipliers,
        "outputs": equations.outputs,
        "residuals": tuple(Quantity(c.name, c.unit, f"{c.kind}, {c.level} level") for c in equations.constraints),
        "energy": tuple(Quantity(name, "J") for name in ENERGIES),
        "power": tuple(Quantity(f"{u.name}_power", "W") for u in equations.inputs),
        "value": tuple(Quantity(e.name, "", e.description) for e in equations.event_list),
        "xdot": tuple(Quantity(f"d{s.name}/dt", per_second(s.unit)) for s in equations.states),
        "vdot": tuple(Quantity(f"d{v.name}/dt", per_second(v.unit)) for v in equations.velocities),
    }
    # inverse dynamics calls its accelerations by the names of the velocities
    accelerations = {("vdot", v.name): Quantity(v.name, per_second(v.unit), "its rate") for v in equations.velocities}
    known = {(slot, q.name): q for slot, quantities in groups.items() for q in quantities} | accelerations
    known |= {("generalized_forces", v.name): Quantity(v.name, _CONJUGATE_FORCES.get(v.unit, "")) for v in equations.velocities}
    whole = {(slot, ""): Quantity(slot, "", text) for slot, text in _WHOLE.items()}
    slots = [slot.name for slot in program.inputs]
    choice = (f"Independent velocities: {', '.join(equations.independent)}.",) if "x" in slots and equations.independent else ()
    notes = (*choice, *_work_notes(program), *_switching_notes(equations, program))
    return Guide(title, notes, known | whole, with_defaults=("p",) if "p" in slots and equations.parameters else ())


def _work_notes(program: Exported) -> tuple[str, ...]:
    """Where a report has energies but no work, that it has none."""
    energy = next((slot for slot in program.outputs if slot.name == "energy"), None)
    if energy is None or not energy.size or "work" in energy.labels:
        return ()
    return (
        "The work of inputs, dampers and loads is not counted: these equations were derived without it (work=True counts it).",
    )


def _switching_notes(equations: Equations, program: Exported) -> tuple[str, ...]:
    """How to integrate equations that switch, for the head of the state derivative or residual and of the switching functions."""
    results = {slot.name for slot in program.outputs}
    found = switching_functions(equations) if results & {"xdot", "residual", "switching"} else None
    if found is None:
        return ()
    what = "residual" if isinstance(equations.dynamics, DaeResidual) else "state derivative"
    names = ", ".join(found.outputs[0].labels[:_MOST_NAMED]) + (", …" if found.outputs[0].size > _MOST_NAMED else "")
    return (
        f"The {what} jumps, or has a kink, where one of these is zero: {names}. They are the results of {found.name}. Locate "
        "their zeros as events and restart the integration method there: a step across one has an error of order one step.",
        "Where both sides lead back to a zero (dry friction that sticks, a relay), the motion slides along it. Sliding is not "
        "part of this code: steps alternate between the sides.",
    )


_MOST_NAMED = 8  # switching functions in the head of a file

_CONJUGATE_FORCES = {"m/s": "N", "rad/s": "N*m"}  # force or moment that does work on a velocity

_WHOLE = {
    "x": "state",
    "q": "coordinates",
    "v": "velocities",
    "vdot": "rates of the velocities",
    "u": "inputs",
    "p": "parameters",
    "xdot": "rate of the state",
    "switching": "each changes its sign where the branch of a condition changes",
    "dxdot_dx": "row: entry of xdot, column: entry of x",
    "dxdot_du": "row: entry of xdot, column: entry of u",
    "residual": "one per equation; all vanish where xdot is the rate of x",
    "dresidual_dx": "row: entry of residual, column: entry of x",
    "dresidual_dxdot": "row: entry of residual, column: entry of xdot; zero for algebraic unknowns",
    "dresidual_du": "row: entry of residual, column: entry of u",
    "mass_matrix": "rows and columns as the velocities",
    "generalized_forces": "generalized forces, one per velocity",
}
