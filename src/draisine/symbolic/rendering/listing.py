"""Listings: a system's equations as short named formulas that can be executed.

For a mechanism the listing is the program of the state derivative as formulas, with the names of intermediate quantities, body by
body. If accelerations and reactions are solved for together, as in many equations given as formulas, the listing has the linear
equations; for 0 = F(t, x, ẋ) it has the residuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca

from draisine.dynamics.derive import derive
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.reduced.formulation import ReducedFormulation
from draisine.expr.expression import Call, Expr, Name, Number
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual, Program, Slot
from draisine.symbolic.rendering.annotations import chapters as annotated_chapters
from draisine.symbolic.rendering.named_formulas import Annotation, Assignment, Balance, Formulas, Listing, Section

Inputs = Mapping[str, tuple[ca.SX, Sequence[str]]]


def listing(model: Model | System | Equations) -> Listing:
    """The listing of a model's state derivative, or of equations given as formulas."""
    if isinstance(model, Equations):
        if isinstance(model.dynamics, LinearSolveProgram):
            return _solved(model, model.dynamics)
        return _implicit(model, model.dynamics) if isinstance(model.dynamics, DaeResidual) else _explicit(model, model.dynamics)
    equations = derive(model, work=False)
    if isinstance(equations.dynamics, LinearSolveProgram):
        return _solved(equations, equations.dynamics)
    system = model.freeze() if isinstance(model, Model) else model
    mechanism = Mechanism(system)
    plan, _, _ = mechanism.choose(system.independent)
    return _derived(ReducedFormulation(mechanism, plan, {}, (), False))


# ---------------------------------------------------------------- described mechanisms


def _derived(f: ReducedFormulation) -> Listing:
    chapters = [c for c in annotated_chapters(f) if c.annotations]
    (derivative,) = f.in_terms_of_state([f.mechanism.measures.q_rate])
    derivative = ca.vertcat(derivative, *f.dynamics.accelerations.values())
    every = [meaning for chapter in chapters for meaning in chapter.annotations]
    formulas = Formulas(f.mechanism.system.name, lambda results: f.program("listing", results), derivative, every)
    sections, entry = [], 0
    for chapter in chapters:
        lines: list[Assignment] = []
        formulas.write_annotated(range(entry, entry + len(chapter.annotations)), lines)
        entry += len(chapter.annotations)
        sections.append(Section(chapter.title, tuple(lines)))
    last, results = _derivatives(formulas, f.x_labels)
    return _listed(f.mechanism.system.name, formulas, [*sections, last], results)


def _derivatives(formulas: Formulas, states: Sequence[str]) -> tuple[Section, tuple[str, ...]]:
    """One line for each state, even if it repeats a name: these are the results."""
    lines: list[Assignment] = []
    results = []
    for k, state in enumerate(states):
        shown = formulas.write(k, lines)
        if isinstance(shown, Name) and shown.identifier == f"{state}_dot":
            results.append(shown.identifier)
            continue
        results.append(formulas.unique(f"{state}_dot"))
        lines.append(Assignment(results[-1], f"derivative of {state}", shown))
    return Section("Derivative of the state", tuple(lines)), tuple(results)


def _listed(name: str, formulas: Formulas, sections: Sequence[Section], results: tuple[str, ...]) -> Listing:
    kept = tuple(section for section in sections if section.assignments or section.balances)
    return Listing(name, formulas.arguments, results, kept, formulas.functions)


# ---------------------------------------------------------------- typed by notation


def _explicit(equations: Equations, dynamics: Program) -> Listing:
    """ẋ = f: the program as it is."""
    symbols = dynamics.symbols()
    (derivative, *_) = dynamics.function.call(symbols)
    formulas = _formulas(equations, _inputs(dynamics.inputs, symbols), derivative)
    last, results = _derivatives(formulas, [s.name for s in equations.states])
    return _listed(equations.name, formulas, [last], results)


def _implicit(equations: Equations, dynamics: DaeResidual) -> Listing:
    """0 = F: one line for each residual."""
    program = dynamics.residual
    symbols = program.symbols()
    (residual,) = program.function.call(symbols)
    inputs = _inputs(program.inputs, symbols)
    inputs["xdot"] = (inputs["xdot"][0], [f"{s.name}_dot" for s in equations.states])
    formulas = _formulas(equations, inputs, residual)
    labels = program.output("residual").labels or tuple(str(k + 1) for k in range(dynamics.size))
    lines: list[Assignment] = []
    results = []
    for k, label in enumerate(labels):
        shown = formulas.write(k, lines)
        results.append(formulas.unique(f"residual_{_word(label)}"))
        lines.append(Assignment(results[-1], "vanishes", shown))
    reported = "residuals, which vanish where x_dot is the derivative of x"
    section = Section("Residuals, all of which vanish", tuple(lines))
    return Listing(equations.name, formulas.arguments, tuple(results), (section,), formulas.functions, reported)


def _solved(equations: Equations, dynamics: LinearSolveProgram) -> Listing:
    """K z = r, then ẋ from z: entries of the matrix, the linear equations, the derivative."""
    if dynamics.iterates:
        return _iterated(equations, dynamics)
    symbols, z = dynamics.symbols(), ca.SX.sym("z", dynamics.size)
    matrix, side = dynamics.linear(symbols)
    (derivative, *_) = dynamics.after.function.call([*symbols, z])
    unknowns, rows = _unknowns(equations, dynamics, derivative, z)
    places = list(zip(dynamics.entry_pattern.rows, dynamics.entry_pattern.columns, strict=True))
    entries = [_entry(equations, rows, unknowns, i, j, matrix[i, j]) for i, j in places]
    sides = [Annotation(f"F_{row}", f"right side of the equation of {row}", side[i]) for i, row in enumerate(rows)]
    wanted = ca.vertcat(derivative, side, *[matrix[i, j] for i, j in places])
    inputs = {**_inputs(dynamics.inputs, symbols), "z": (z, unknowns)}
    formulas = _formulas(equations, inputs, wanted, [*entries, *sides])
    first, count = derivative.numel(), len(places)
    coefficients: list[Assignment] = []
    formulas.write_annotated(range(count), coefficients)
    shown = {place: formulas.write(first + dynamics.size + k, coefficients) for k, place in enumerate(places)}
    forces: list[Assignment] = []
    formulas.write_annotated(range(count, count + len(sides)), forces)
    balances = []
    for i, row in enumerate(rows):
        terms = [(shown[i, j], Name(unknowns[j])) for j in range(dynamics.size) if (i, j) in shown]
        balances.append(Balance(f"equation of {row}", _sum(terms), formulas.write(first + i, forces)))
    last, results = _derivatives(formulas, [s.name for s in equations.states])
    sections = [
        Section("Coefficients of the linear equations", tuple(coefficients)),
        Section("Forces, and linear equations for accelerations and reactions", tuple(forces), tuple(balances), tuple(unknowns)),
        last,
    ]
    found = _listed(equations.name, formulas, sections, results)
    given = found.arguments[: len(found.arguments) - len(unknowns)]  # the unknowns are no arguments of the whole
    return replace(found, arguments=given)


def _iterated(equations: Equations, dynamics: LinearSolveProgram) -> Listing:
    """Forces that depend on reactions: the residuals of accelerations and reactions; then ẋ from them."""
    symbols, z = dynamics.symbols(), ca.SX.sym("z", dynamics.size)
    matrix, side = dynamics.linear(symbols, z)
    (derivative, *_) = dynamics.after.function.call([*symbols, z])
    unknowns, rows = _unknowns(equations, dynamics, derivative, z)
    inputs = {**_inputs(dynamics.inputs, symbols), "z": (z, unknowns)}
    formulas = _formulas(equations, inputs, ca.densify(ca.vertcat(derivative, matrix @ z - side)))
    lines: list[Assignment] = []
    vanishing = []
    for k, row in enumerate(rows):
        shown = formulas.write(derivative.numel() + k, lines)
        vanishing.append(formulas.unique(f"residual_{row}"))
        lines.append(Assignment(vanishing[-1], f"equation of {row}: vanishes", shown))
    last, results = _derivatives(formulas, [s.name for s in equations.states])
    sections = [Section(f"Equations that {', '.join(unknowns)} fulfil together", tuple(lines)), last]
    reported = "residuals that vanish at the accelerations and reactions, then the derivative of the state"
    return replace(_listed(equations.name, formulas, sections, (*vanishing, *results)), reported=reported)


def _unknowns(equations: Equations, dynamics: LinearSolveProgram, derivative: ca.SX, z: ca.SX) -> tuple[list[str], list[str]]:
    """Names of the unknowns and of the equations: accelerations and multipliers, if that is what they are."""
    velocities = [v.name for v in equations.velocities]
    multipliers = [m.name for m in equations.multipliers]
    if dynamics.size == len(velocities) + len(multipliers):
        constrained = [name.removesuffix("_multiplier") for name in multipliers]
        return [*(f"{v}_dot" for v in velocities), *multipliers], [*velocities, *constrained]
    reported = {state.name: derivative[k] for k, state in enumerate(equations.states)}
    found = []
    for k in range(dynamics.size):
        same = (f"{name}_dot" for name, rate in reported.items() if ca.is_equal(rate, z[k], 1))
        found.append(next(same, f"z{k + 1}"))
    return found, [str(k + 1) for k in range(dynamics.size)]


def _entry(equations: Equations, rows: Sequence[str], unknowns: Sequence[str], i: int, j: int, value: ca.SX) -> Annotation:
    """An entry of K with its name: of the mass matrix, of a constraint row, or by its indices."""
    n = len(equations.velocities)
    if len(rows) != n + len(equations.multipliers):
        return Annotation(f"K_{i + 1}_{j + 1}", f"coefficient of {unknowns[j]} in equation {i + 1}", value)
    if max(i, j) < n:
        return Annotation(f"M_{rows[i]}_{rows[j]}", f"mass matrix, {rows[i]} and {rows[j]}", value)
    if i >= n:
        return Annotation(f"A_{rows[i]}_{rows[j]}", f"constraint row {rows[i]}: coefficient of {rows[j]}", value)
    return Annotation(f"A_{rows[j]}_{rows[i]}", f"constraint row {rows[j]}: coefficient of {rows[i]}", -value)


def _sum(terms: Sequence[tuple[Expr, Expr]]) -> Expr:
    """Coefficients times unknowns; negative coefficients are subtracted."""
    total: Expr | None = None
    for coefficient, unknown in terms:
        negative = isinstance(coefficient, Call) and coefficient.function == "neg"
        size = coefficient.arguments[0] if negative and isinstance(coefficient, Call) else coefficient
        if isinstance(coefficient, Number) and coefficient.value < 0:
            negative, size = True, Number(-coefficient.value)
        term = unknown if size == Number(1.0) else size * unknown
        if total is None:
            total = -term if negative else term
        else:
            total = total - term if negative else total + term
    return Number(0.0) if total is None else total


def _formulas(equations: Equations, inputs: Inputs, wanted: ca.SX, meant: Sequence[Annotation] = ()) -> Formulas:
    return Formulas(equations.name, lambda results: Program.build("listing", inputs, results), wanted, meant)


def _inputs(slots: Sequence[Slot], symbols: Sequence[ca.SX]) -> dict[str, tuple[ca.SX, Sequence[str]]]:
    """Slots with their labels; an entry without one is called after its slot."""
    return {
        slot.name: (symbol, slot.labels or [f"{slot.name}_{k + 1}" for k in range(slot.size)])
        for slot, symbol in zip(slots, symbols, strict=True)
    }


def _word(label: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in label).strip("_")
