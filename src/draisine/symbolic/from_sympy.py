"""Equations from `sympy.physics.mechanics`: a `KanesMethod`, a `LagrangesMethod` or a `System` becomes `Equations`.

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols
    >>> q, u = dynamicsymbols("q u")
    >>> mass, k = sp.symbols("mass k")
    >>> ground, bob = ReferenceFrame("ground"), Point("bob")
    >>> bob.set_vel(ground, u * ground.x)
    >>> method = KanesMethod(ground, [q], [u], kd_eqs=[q.diff() - u])
    >>> _ = method.kanes_equations([Particle("bob", bob, mass)], [(bob, -k * q * ground.x)])
    >>> e = from_sympy(method, parameters={mass: 2.0, k: 8.0})
    >>> [s.name for s in e.states], e.dynamics([0.0], [0.5, 1.0, 0.0], [], [2.0, 8.0])[0].tolist()
    (['q', 'u', 'work'], [1.0, -2.0, -4.0])

The input is the user's description, not SymPy's equations: velocities, inertias, loads and constraints are converted unchanged,
each shared part once, and differentiated as a program (`kane`, `lagrangian`). Dependent speeds are not eliminated; constraints
become rows of the augmented matrix and have multipliers. If the method has already formed its equations, they are a second
derivation: both are compared at random states that satisfy the constraints, and a disagreement is an error. The published
rolling-disc tutorial shows why: it substitutes the constraints into the Lagrangian before differentiation, and its equations are
wrong without any error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.dynamics.augmented.second_order_system import augmented
from draisine.dynamics.stabilization import Baumgarte
from draisine.errors import ArgumentError, ModelError
from draisine.program.equations import Equations
from draisine.symbolic.kane import Mechanics, State, second_order, states
from draisine.symbolic.kinematic_checks import check_kinematics
from draisine.symbolic.lagrangian import lagrangian
from draisine.symbolic.symbol_table import MechanicsSymbols, check_one_symbol_each, checked_start, checked_units, leaves, plain

AGREEMENT = 1e-8  # relative, between SymPy's equations and these
COMPARED = 3  # states
MULTIPLIER = "_multiplier"  # ends the names of reactions


def from_sympy(
    source: Any,
    *,
    parameters: Mapping[Any, float] | None = None,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    units: Mapping[Any, str] | None = None,
    names: Mapping[str, str] | None = None,
    name: str = "system",
    stabilization: Baumgarte | None = None,
    work: bool | None = None,
) -> Equations:
    """Equations of motion of a `KanesMethod`, a `LagrangesMethod` or a `System` of `sympy.physics.mechanics`.

    - `source`: the method or system, with bodies, loads and constraints.
    - `parameters`: constant (symbol or name) → default value; `inputs`: functions of time or symbols.
    - `outputs`: name → expression of coordinates, their derivatives, speeds, time and constants.
    - `start`: coordinate or speed → default value; with constraints, a configuration that nearly satisfies them.
    - `units`: symbol or name (also of a multiplier) → its SI unit, for tables and figures; nothing is converted.
    - `work`: add the work of the loads as a state, for the energy balance; by default if loads do work that is not in the bodies'
      potential energies; `stabilization`: `Baumgarte(…)` for the constraints.

    States have SymPy's names; a derivative that is a speed is `q_rate`. Constraints are named f1, f2, … (configuration,
    holonomic) and g1, g2, … (velocity, nonholonomic) in the order given, or by `names`: {"f1": "ground"}. Multipliers λ
    enter as reactions +Aᵀλ. Auxiliary speeds are constrained to zero; their multipliers are the noncontributing forces.
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod, System

    if not name.isidentifier():
        raise ModelError(f"name={name!r}: use letters, digits and underscores, beginning with a letter")
    formed = source.eom_method if isinstance(source, System) else source
    of_reactions = {n: unit for n, unit in _by_name(units).items() if n.endswith(MULTIPLIER)}
    of_others = {n: unit for n, unit in _by_name(units).items() if n not in of_reactions}
    if isinstance(formed, LagrangesMethod):
        given = _Given(name, dict(parameters or {}), inputs, dict(outputs or {}), start or {}, of_others, names or {})
        return _with_units(_from_lagrange(formed, given, stabilization, bool(work)), of_reactions)
    if isinstance(source, System):
        mechanics = _from_system(source)
    elif isinstance(source, KanesMethod):
        mechanics = _from_kane(source, name)
    else:
        raise ArgumentError(f"from_sympy takes a KanesMethod, a LagrangesMethod or a System, got {type(source).__name__}")
    mechanics = replace(
        mechanics,
        configuration=_renamed(name, mechanics.configuration, names, [*mechanics.configuration, *mechanics.motion]),
        motion=_renamed(name, mechanics.motion, names, [*mechanics.configuration, *mechanics.motion]),
    )
    speeds = [*mechanics.speeds, *mechanics.auxiliary]
    symbols = MechanicsSymbols(name, mechanics.coordinates, speeds, inputs, parameters or {})
    defaults = checked_start(name, "coordinate or speed", _by_name(start), [*symbols.coordinates, *symbols.speeds])
    known = [*symbols.coordinates, *symbols.speeds, *symbols.inputs, *symbols.parameters]
    _check_outputs(name, outputs or {}, known)
    unit = checked_units(name, of_others, [*known, *(outputs or {})])
    system = second_order(mechanics, symbols, defaults, dict(outputs or {}), unit)
    sampled = states(system, COMPARED)
    notes = _notes(mechanics, symbols)
    equations = augmented(system, stabilization, _has_work(system, sampled) if work is None else work)
    if isinstance(formed, KanesMethod) and formed._fr is not None and formed._frstar is not None:
        for speed in mechanics.auxiliary:  # zero at all times
            symbols.define(speed.diff(), ca.SX(0))
        notes.append(_compare(equations, formed.mass_matrix, formed.forcing, symbols, sampled))
    check_kinematics(mechanics, system, symbols, sampled)
    return _with_units(replace(equations, notes=(*equations.notes, *notes)), of_reactions)


def _with_units(equations: Equations, units: Mapping[str, str]) -> Equations:
    unit = checked_units(equations.name, units, [m.name for m in equations.multipliers])
    return replace(equations, multipliers=tuple(m._replace(unit=unit.get(m.name, m.unit)) for m in equations.multipliers))


def _by_name(given: Mapping[Any, Any] | None) -> dict[str, Any]:
    return {plain(s): value for s, value in (given or {}).items()}


def _check_outputs(name: str, outputs: Mapping[str, Any], taken: Iterable[str]) -> None:
    twice = sorted(set(outputs) & set(taken))
    if twice:
        raise ModelError(f"{name}: the output {twice[0]!r} has the name of a state, input or parameter; rename it")


def _notes(m: Mechanics, symbols: MechanicsSymbols) -> list[str]:
    notes = []
    if m.loads and all(body.potential_energy == 0 for body in m.bodies):
        notes.append(
            "no body has a potential energy: the work of all loads, gravity included, counts as work done. Set "
            "body.potential_energy to see it as potential energy"
        )
    if m.auxiliary:
        names = ", ".join(symbols.speeds[len(m.speeds) :])
        notes.append(
            f"the auxiliary speeds {names} are constrained to zero; their multipliers are the forces in their directions"
        )
    return notes


# ---------------------------------------------------------------- SymPy's objects


def _from_kane(method: Any, name: str) -> Mechanics:
    """From a `KanesMethod`, whether or not it has formed its equations."""
    if not method.bodies:
        raise ModelError(
            f"{name}: the KanesMethod has no bodies; call kanes_equations(bodies, loads) first, or give it bodies and forcelist"
        )
    motion = method._k_nh * method.u + method._f_nh if method._k_nh else ()
    return Mechanics(
        frame=method._inertial,
        coordinates=tuple(method.q),
        speeds=tuple(method.u),
        auxiliary=tuple(method._uaux),
        kinematics=_kinematics(method),
        bodies=tuple(method.bodies),
        loads=tuple(method.loads or ()),
        configuration=_numbered("f", method._f_h),
        motion=_numbered("g", motion),
    )


def _renamed(
    owner: str, items: tuple[tuple[str, Any], ...], names: Mapping[str, str] | None, every: Sequence[tuple[str, Any]]
) -> tuple[tuple[str, Any], ...]:
    known = [n for n, _ in every]
    for word in names or {}:
        if word not in known:
            raise ModelError(f"{owner}: names renames a constraint {word!r}; there are {', '.join(known) or 'none'}")
    return tuple(((names or {}).get(n, n), e) for n, e in items)


def _numbered(stem: str, expressions: Iterable[Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((f"{stem}{i + 1}", e) for i, e in enumerate(expressions))


def _from_system(system: Any) -> Mechanics:
    """From the parts of a `System`: its equations need not have been formed."""
    from sympy.physics.vector import dynamicsymbols

    loads = (*system.loads, *(load for actuator in system.actuators for load in actuator.to_loads()))
    configuration = _numbered("f", system.holonomic_constraints)
    if system._vel_constrs is None:
        rates = tuple((f"{n}_rate", e.diff(dynamicsymbols._t)) for n, e in configuration)
        motion = (*rates, *_numbered("g", system.nonholonomic_constraints))
    else:  # set by hand
        motion = _numbered("g", system.velocity_constraints)
    return Mechanics(
        frame=system.frame,
        coordinates=tuple(system.q),
        speeds=tuple(system.u),
        auxiliary=tuple(system.u_aux),
        kinematics=tuple(k for k in system.kdes if k != 0),  # zero for a speed that is itself a rate
        bodies=tuple(system.bodies),
        loads=loads,
        configuration=configuration,
        motion=motion,
    )


def _kinematics(method: Any) -> tuple[Any, ...]:
    """The kinematic differential equations of a `KanesMethod` as given: its solution of them may divide by zero."""
    solved = method.kindiffdict()
    if set(method._uaux) & set(leaves(solved.values())):
        return tuple(rate - value for rate, value in solved.items())  # the stored equations lack the auxiliary speeds
    rates = type(method.u)(list(solved))
    return tuple(method._k_kqdot_implicit * rates + method._k_ku_implicit * method.u + method._f_k_implicit)


# ---------------------------------------------------------------- Lagrange


@dataclass(frozen=True)
class _Given:
    """The arguments other than the method."""

    name: str
    parameters: dict[Any, float]
    inputs: Sequence[Any]
    outputs: dict[str, Any]
    start: Mapping[Any, float]
    units: Mapping[Any, str]
    names: Mapping[str, str]


def _from_lagrange(method: Any, given: _Given, stabilization: Baumgarte | None, work: bool) -> Equations:
    """From a `LagrangesMethod`: `lagrangian` of its Lagrangian, constraints and loads."""
    import sympy

    name, inputs, parameters, outputs = given.name, given.inputs, given.parameters, given.outputs
    coordinates = list(method.q)
    count = len(method._hol_coneqs)
    parts = {
        "lagrangian": [method._L[0]],
        "holonomic": list(method._hol_coneqs),
        "nonholonomic": list(method.coneqs)[count:],
        "forces": _generalized_forces(method),
        "outputs": list(outputs.values()),
    }
    rates = [q.diff() for q in coordinates]
    own = [*coordinates, *rates]
    symbols = _LagrangianSymbols(name, own, inputs, parameters, [e for part in parts.values() for e in part])
    parts = {part: [sympy.sympify(e, strict=True).xreplace(symbols.merged) for e in items] for part, items in parts.items()}
    _check_outputs(name, outputs, [plain(s) for s in (*own, *inputs, *parameters)])
    holonomic, nonholonomic = _numbered("f", parts["holonomic"]), _numbered("g", parts["nonholonomic"])
    equations = lagrangian(
        name,
        coordinates,
        parts["lagrangian"][0],
        forces={q: f for q, f in zip(coordinates, parts["forces"], strict=True) if f != 0},
        holonomic=dict(_renamed(name, holonomic, given.names, (*holonomic, *nonholonomic))),
        nonholonomic=dict(_renamed(name, nonholonomic, given.names, (*holonomic, *nonholonomic))),
        parameters=symbols.parameters,
        inputs=symbols.inputs,
        outputs=dict(zip(outputs, parts["outputs"], strict=True)),
        start=_by_name(given.start),
        units=given.units,
        stabilization=stabilization,
        work=work or any(f != 0 for f in parts["forces"]) or any(c.xreplace(dict.fromkeys(rates, 0)) != 0 for c in method.coneqs),
    )
    if method.eom is None:
        return equations
    lexicon = MechanicsSymbols(name, coordinates, rates, inputs, parameters)
    note = _compare(equations, method.mass_matrix, method.forcing, lexicon, _random_states(equations))
    return replace(equations, notes=(*equations.notes, note))


def _random_states(equations: Equations) -> list[State]:
    """Random states; the two derivations must agree whether or not the constraints hold."""
    rng = np.random.default_rng(1788)
    q, n, m = np.array([c.default for c in equations.coordinates]), len(equations.velocities), len(equations.inputs)
    return [
        State(float(rng.uniform()), q + rng.uniform(-0.5, 0.5, q.size), rng.normal(size=n), rng.normal(size=m))
        for _ in range(COMPARED)
    ]


def _generalized_forces(method: Any) -> list[Any]:
    """Generalized forces of the forces at points and torques on frames, by derivatives of velocities with respect to q̇."""
    from sympy.physics.mechanics import ReferenceFrame

    forces = [0] * len(method.q)
    for target, vector in method.forcelist or ():
        is_torque = isinstance(target, ReferenceFrame)
        velocity = target.ang_vel_in(method.inertial) if is_torque else target.vel(method.inertial)
        for i, q in enumerate(method.q):
            forces[i] += velocity.diff(q.diff(), method.inertial).dot(vector)
    return forces


class _LagrangianSymbols:
    """Constants and inputs of a Lagrangian by name: one symbol each, independent of SymPy's assumptions."""

    def __init__(
        self, name: str, states: Sequence[Any], inputs: Sequence[Any], parameters: Mapping[Any, float], expressions: Iterable[Any]
    ) -> None:
        import sympy
        from sympy.physics.vector import dynamicsymbols

        known = {*states, dynamicsymbols._t}
        found = sorted((s for s in leaves(map(sympy.sympify, expressions)) if s not in known), key=str)
        rates = [str(s) for s in found if isinstance(s, sympy.Derivative)]
        if rates:
            raise ModelError(
                f"{name} uses {', '.join(rates)}; only coordinates have rates. Write a prescribed motion as an expression of time"
            )
        check_one_symbol_each(name, found)
        check_one_symbol_each(name, (*inputs, *parameters))
        declared = {plain(s) for s in (*inputs, *parameters)}
        missing = [s for s in found if plain(s) not in declared]
        constants = sorted({plain(s) for s in missing if isinstance(s, sympy.Symbol)})
        functions = sorted({plain(s) for s in missing} - set(constants))
        messages = [
            f"constants without a value: {', '.join(constants)}; give each a default: parameters={{symbol or name: value}}",
            f"functions of time that are not coordinates: {', '.join(functions)}; declare them with inputs=[…], or give them "
            "values in parameters",
        ]
        if missing:
            raise ModelError(
                f"{name} has " + "; and ".join(s for s, n in zip(messages, (constants, functions), strict=True) if n)
            )
        # one plain symbol replaces all symbols of a name
        self.merged = {s: sympy.Symbol(plain(s)) for s in found}
        self.parameters = {sympy.Symbol(plain(s)): float(value) for s, value in parameters.items()}
        self.inputs = [sympy.Symbol(plain(s)) for s in inputs]


# ---------------------------------------------------------------- energy balance, and the second derivation


def _has_work(system: SecondOrder, sampled: Sequence[State]) -> bool:
    """Whether anything but potential energies does work: loads, or constraints that depend on time."""
    rates = [system.rate(f) for _, f in system.holonomic]
    rows = ca.vertcat(ca.SX(0, 1), *rates, *[g for _, g in system.nonholonomic])
    moving = ca.substitute(rows, system.v, ca.SX.zeros(system.v.numel()))
    evaluate = ca.Function("work", [system.t, system.q, system.v, system.u, system.p], [system.driven, system.force, moving])
    p = np.array([q.default for q in system.parameters])
    for s in sampled:
        driven, force, motion = (np.abs(part.full()).max(initial=0.0) for part in evaluate(s.t, s.q, s.v, s.u, p))
        if driven > 1e-10 * (1e-6 + force) or motion > 1e-12:
            return True
    return False


def _compare(equations: Equations, matrix: Any, side: Any, symbols: MechanicsSymbols, sampled: Sequence[State]) -> str:
    """Check SymPy's matrix · (accelerations, multipliers) = side with the values computed here; a note, or ModelError."""
    rows, columns = matrix.shape
    lowered = symbols.lower(list(matrix.T), "the mass matrix"), symbols.lower(list(side), "the forcing")  # by columns
    undeclared = ca.vertcat(ca.SX(0, 1), *symbols.without_value.values())
    evaluate = ca.Function("sympy", [symbols.t, symbols.q, symbols.v, symbols.u, symbols.p, undeclared], list(lowered))
    names = [slot.name for slot in equations.report.outputs]
    p, none = equations.default_parameters, np.zeros(undeclared.numel())
    worst, where, compared = 0.0, "", 0
    for s in sampled:
        m, f = (part.full() for part in evaluate(s.t, s.q, s.v, s.u, p, none))
        m, f = m.reshape(rows, columns, order="F"), f[:, 0]
        if not (np.isfinite(m).all() and np.isfinite(f).all()):
            continue
        x = np.concatenate([s.q, s.v, np.zeros(len(equations.extra_states))])
        report = dict(zip(names, equations.report([s.t], x, s.u, p), strict=True))
        found = np.concatenate([report["vdot"], report["multipliers"]])[:columns]
        scale = np.abs(m) @ np.abs(found) + np.abs(f)
        error = float(np.max(np.abs(m @ found - f) / np.maximum(scale, 1e-300), initial=0.0))
        compared += 1
        if error > worst:
            values = zip((*symbols.coordinates, *symbols.speeds), (*s.q, *s.v), strict=True)
            worst, where = error, ", ".join(f"{n} = {value:.4g}" for n, value in values)
    if not compared:
        return "SymPy's equations are not finite at the sampled states (a pivot vanished there) and were not compared"
    if worst > AGREEMENT:
        raise ModelError(
            f"{symbols.name}: the equations formed by SymPy and those derived here from the same bodies, loads and constraints "
            f"disagree by {worst:.1e} at {where}. Usual causes: an acceleration, angular acceleration or acceleration constraint "
            "set by hand that is not the derivative of its velocity, or an angular velocity that is not that of its frame"
        )
    return f"SymPy's equations agree with these to {worst:.0e} at {compared} random states"
