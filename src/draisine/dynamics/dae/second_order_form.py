"""Second-order form of a mechanism: masses, forces and constraints in symbols, from any kind of system."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from draisine.dynamics.augmented.formulation import AugmentedFormulation
from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.constraints.configurations import project_samples
from draisine.dynamics.constraints.redundancy import select_rows
from draisine.dynamics.derive import derive
from draisine.dynamics.formulations import Augmented
from draisine.dynamics.lagrangian.energies import Energies, unsupported_by_energies
from draisine.dynamics.lagrangian.euler_angles import in_euler_angles, own_state
from draisine.dynamics.mechanism import Mechanism
from draisine.errors import ModelError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.model.vocabulary import events_with_forces
from draisine.program.equations import Equations, Kind, Quantity, Structure
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

MULTIPLIER = "_multiplier"  # suffix of names of reactions
CONFIGURATIONS = 12  # at which the rank of the constraints is computed


def second_order(system: SecondOrder | Equations | Model | System) -> tuple[SecondOrder, tuple[str, ...]]:
    """Masses, forces and constraints of a mechanism in symbols; and the names of redundant constraints that were left out, which
    only a description may have."""
    if isinstance(system, SecondOrder):
        return system, ()
    if isinstance(system, Equations):
        return _recovered(system), ()
    system = system.freeze() if isinstance(system, Model) else system
    refused = events_with_forces(system)
    if refused:
        raise ModelError(
            f"model {system.name!r}: event {refused[0]!r} depends on forces, which the masses and constraints alone do not give; "
            "leave the event out here, or run the model itself"
        )
    described = derive(system)
    if not unsupported_by_energies(system):
        energies = Energies(system)
        found, left_out = _independent(_by_energies(energies))
        return _with_structure(found, described, in_euler_angles(described.structure, system), *own_state(energies)), left_out
    # slip laws, contacts of surfaces, forces that depend on multipliers: Newton–Euler in the model's own coordinates
    mechanism = Mechanism(system)
    repeated = [mechanism.row_names[spare.row] for spare in mechanism.selection.redundant]
    found = AugmentedFormulation(mechanism, Augmented(), {}, (), None).second_order()
    found = replace(found, outputs=[*found.outputs, *_slips(found, described)])
    return _with_structure(found, described, described.structure, found.q, found.v), tuple(repeated)


def _slips(found: SecondOrder, described: Equations) -> list[tuple[Quantity, ca.SX]]:
    """Slips of wheels that a start sets to zero, which are no outputs of the description."""
    values = _reported(described.motion, [found.t, found.q, found.v, found.u, found.p])["outputs"]
    labels, known = described.motion.output("outputs").labels, {quantity.name for quantity, _ in found.outputs}
    return [
        (Quantity(name, "m/s"), values[labels.index(name)])
        for name, _ in described.structure.slips
        if name in labels and name not in known
    ]


def _with_structure(found: SecondOrder, described: Equations, structure: Structure, q: ca.SX, v: ca.SX) -> SecondOrder:
    """With what starts know of the mechanism; `q` and `v` are coordinates and velocities of the derived equations."""
    twists = described.twists
    if twists is None:
        return found
    known = {"q": (q, described.coordinates), "v": (v, described.velocities), "p": (found.p, found.parameters)}
    parts = []
    for slot in twists.inputs:
        symbols, quantities = known[slot.name]
        names = [quantity.name for quantity in quantities]
        parts.append(symbols[[names.index(name) for name in slot.labels]] if slot.size else ca.SX(0, 1))
    (rows,) = twists.function.call(parts)
    return replace(found, structure=structure, twists=rows, twist_labels=twists.output("twists").labels)


def _by_energies(found: Energies) -> SecondOrder:
    """Euler–Lagrange by differentiation instead of Christoffel symbols, which make long programs."""
    kinetic, momentum = found.kinetic, ca.gradient(found.kinetic, found.v)
    inertia = ca.gradient(kinetic, found.q) - ca.jtimes(momentum, found.q, found.v) - ca.jacobian(momentum, found.t)
    return replace(found.second_order(), force=found.driven - found.gravity + inertia)


def _independent(system: SecondOrder) -> tuple[SecondOrder, tuple[str, ...]]:
    """Without constraints that are redundant in every admissible configuration."""
    names = [name for name, _ in (*system.holonomic, *system.nonholonomic)]
    if not names:
        return system, ()
    positions = ca.vertcat(*[f for _, f in system.holonomic]) if system.holonomic else ca.SX(0, 1)
    rates = [system.rate(positions)] if system.holonomic else []
    matrix = ca.jacobian(ca.vertcat(*rates, *[g for _, g in system.nonholonomic]), system.v)
    defaults = np.array([c.default for c in system.coordinates])
    values = np.array([p.default for p in system.parameters])
    spread = np.random.default_rng(1817).uniform(-0.3, 0.3, (CONFIGURATIONS, len(defaults)))
    spread[0] = 0.0  # rows that are dependent in straight running would not serve
    arguments = [system.t, system.q, system.p]
    residual = ca.Function("positions", arguments, [positions, ca.densify(ca.jacobian(positions, system.q))])
    points, times = project_samples(defaults + spread, np.zeros(CONFIGURATIONS), residual, values).admissible()
    evaluate = ca.Function("rows", arguments, [ca.densify(matrix)])
    found = [evaluate(t, q, values).full() for t, q in zip(times, points, strict=True)]
    samples = [rows for rows in found if np.isfinite(rows).all()]
    if not samples:
        return system, ()
    kept = {names[i] for i in select_rows(np.array(samples)).kept}
    holonomic, nonholonomic = ([pair for pair in rows if pair[0] in kept] for rows in (system.holonomic, system.nonholonomic))
    return replace(system, holonomic=holonomic, nonholonomic=nonholonomic), tuple(name for name in names if name not in kept)


def _recovered(equations: Equations) -> SecondOrder:
    """The second-order system of augmented equations, extracted from their programs."""
    solved, n = equations.dynamics, len(equations.velocities)
    names = [m.name.removesuffix(MULTIPLIER) for m in equations.multipliers]
    levels = [(c.name, c.kind, c.level) for c in equations.constraints]
    holonomic = [name for name in names if (name, Kind.HOLONOMIC, "position") in levels]
    nonholonomic = [name for name in names if (name, Kind.NONHOLONOMIC, "velocity") in levels]
    fits = (
        isinstance(solved, LinearSolveProgram)
        and not solved.iterates
        and solved.size == n + len(names)
        and [*holonomic, *nonholonomic] == names
    )
    if not isinstance(solved, LinearSolveProgram) or not fits:
        raise ModelError(
            f"{equations.name}: masses and constraints cannot be recovered from these equations, since velocities have been "
            "eliminated, constraints left out, or forces depend on multipliers; pass the model itself, or equations by "
            "lagrangian, from_sympy or derive_by_energies"
        )
    t, x, u, p = solved.system.symbols()
    nq = len(equations.coordinates)
    q, v = x[:nq], x[nq : nq + n]
    entries, side = solved.system.function.call([t, x, u, p])
    matrix = ca.SX(solved.entry_pattern.sparsity, ca.vec(entries)) if solved.pattern is not None else entries
    z = ca.SX.sym("z", solved.size)
    rates = solved.after.function.call([t, x, u, p, z])[0]
    slope = ca.substitute(rates, z, ca.SX.zeros(solved.size))
    reported = _reported(equations.report, [t, x, u, p])
    motion = _reported(equations.motion, [t, q, v, u, p])
    index = {f"{c.name}_{c.level}": i for i, c in enumerate(equations.constraints)}
    force = side[:n]
    driven = force - ca.substitute(force, u, ca.SX.zeros(u.numel()))  # inputs only: dampers cannot be separated
    by_time, surplus = None, ca.SX(0)
    if [s.name for s in equations.extra_states] == ["work"]:  # the power of dampers and of what depends on time
        surplus = ca.dot(ca.jacobian(rates[-1], z[:n]).T, v)
        of_surplus = ca.jtimes(surplus, q, slope[:nq]) + ca.jacobian(surplus, t)
        by_time = slope[-1] - ca.dot(driven, v) - of_surplus
    norms = [c.name for c in equations.constraints if c.kind == Kind.NORM]
    if isinstance(equations.events, LinearSolveProgram):
        raise ModelError(
            f"{equations.name}: an event depends on forces, which the masses and constraints alone do not give; leave it out here"
        )
    events = _reported(equations.events, [t, x, u, p])["value"] if equations.events is not None else ca.SX(0, 1)
    outputs = {o.name: o for o in equations.outputs}
    found = SecondOrder(
        name=equations.name,
        t=t,
        q=q,
        v=v,
        u=u,
        p=p,
        coordinates=equations.coordinates,
        velocities=equations.velocities,
        inputs=equations.inputs,
        parameters=equations.parameters,
        q_rate=slope[:nq],
        mass=matrix[:n, :n],
        force=force,
        driven=driven,
        by_time=by_time,
        surplus=surplus,
        kinetic=reported["energy"][0],
        potential=reported["energy"][1],
        holonomic=[(name, motion["residuals"][index[f"{name}_position"]]) for name in holonomic],
        nonholonomic=[(name, motion["residuals"][index[f"{name}_velocity"]]) for name in nonholonomic],
        invariants=[(name, motion["residuals"][index[f"{name}_position"]]) for name in norms],
        outputs=[(outputs[name], motion["outputs"][i]) for i, name in enumerate(equations.motion.output("outputs").labels)],
        events=[(event, events[i]) for i, event in enumerate(equations.event_list)],
        constraint_units={c.name: c.unit for c in equations.constraints if c.unit and c.level == "position"},
    )
    return _with_structure(found, equations, equations.structure, q, v)


def _reported(program: Program | LinearSolveProgram, arguments: list[ca.SX]) -> dict[str, ca.SX]:
    """Results by name; for a program with a linear solve, those that do not depend on the solution."""
    if isinstance(program, LinearSolveProgram):
        arguments = [*arguments, ca.SX.zeros(program.size)]
        program = program.after
    return dict(zip((s.name for s in program.outputs), program.function.call(arguments), strict=True))
