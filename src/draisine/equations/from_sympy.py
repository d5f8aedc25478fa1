"""Equations from `sympy.physics.mechanics`: a `KanesMethod`, a `LagrangesMethod` or a `System` becomes `Equations`.

    >>> import sympy as sp
    >>> from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols
    >>> q, u = dynamicsymbols("q u")
    >>> mass, k = sp.symbols("mass k")
    >>> ground, bob = ReferenceFrame("ground"), Point("bob")
    >>> bob.set_vel(ground, u * ground.x)
    >>> method = KanesMethod(ground, [q], [u], kd_eqs=[q.diff() - u])
    >>> _ = method.kanes_equations([Particle("bob", bob, mass)], [(bob, -k * q * ground.x)])
    >>> e = from_sympy(method, {mass: 2.0, k: 8.0})
    >>> [s.name for s in e.states], e.dynamics([0.0], [0.5, 1.0, 0.0], [], [2.0, 8.0])[0].tolist()
    (['q', 'u', 'work'], [1.0, -2.0, -4.0])

What the user described is taken, not what SymPy made of it: velocities, inertias, loads and constraints cross as they stand,
each shared part once, and are differentiated as a program (`kane`, `lagrange`). Dependent speeds are not eliminated; constraints
become rows of the augmented matrix and have multipliers. Where the method has already formed its equations, they are a second
derivation of the same thing: both are compared at random states that fulfil the constraints, and a disagreement is an error.
The published rolling-disc tutorial shows why: with the constraints put into the Lagrangian before it is differentiated, the
equations are wrong, and nothing says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from draisine.equations.augmented import Baumgarte, SecondOrder, augmented
from draisine.equations.kane import Mechanics, State, second_order, states
from draisine.equations.lagrange import lagrangian
from draisine.equations.lexicon import Lexicon, leaves, plain
from draisine.model.errors import ModelError
from draisine.program.equations import Equations

AGREEMENT = 1e-8  # relative, between SymPy's equations and ours
COMPARED = 3  # states


def from_sympy(
    method: Any,
    parameters: Mapping[Any, float] | None = None,
    *,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[Any, float] | None = None,
    name: str = "system",
    stabilisation: Baumgarte | None = None,
    work: bool | None = None,
) -> Equations:
    """Equations of motion of a `KanesMethod`, a `LagrangesMethod` or a `System` of `sympy.physics.mechanics`.

    - `parameters`: constant (symbol or name) → default value; `inputs`: forces given from outside, functions of time or symbols.
    - `outputs`: name → expression of coordinates, their derivatives, speeds, time and constants.
    - `start`: coordinate or speed → default value; where constraints hold, a configuration close to them.
    - `work`: keep the work of the loads as a further state, for the energy balance; by default where loads do any that is not in
      the bodies' potential energies.

    States have SymPy's names; a derivative that serves as a speed is `q_rate`. Constraints are called f1, f2, … (configuration,
    holonomic) and g1, g2, … (velocity, nonholonomic) in the order given; multipliers λ enter as reactions +Aᵀλ. Auxiliary speeds
    are held at zero, and their multipliers are the forces that they bring into evidence.
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod, System

    if not name.isidentifier():
        raise ModelError(f"name={name!r}: use letters, digits and underscores, beginning with a letter")
    formed = method.eom_method if isinstance(method, System) else method
    if isinstance(formed, LagrangesMethod):
        return _from_lagrange(formed, name, parameters or {}, inputs, outputs or {}, start or {}, stabilisation, bool(work))
    if isinstance(method, System):
        mechanics = _from_system(method)
    elif isinstance(method, KanesMethod):
        mechanics = _from_kane(method, name)
    else:
        raise ModelError(f"from_sympy takes a KanesMethod, a LagrangesMethod or a System, got {type(method).__name__}")
    speeds = [*mechanics.speeds, *mechanics.auxiliary]
    words = Lexicon(name, mechanics.coordinates, speeds, inputs, parameters or {})
    defaults = _defaults(name, start or {}, [*words.coordinates, *words.speeds])
    _check_outputs(name, outputs or {}, [*words.coordinates, *words.speeds, *words.inputs, *words.parameters])
    system = second_order(mechanics, words, defaults, dict(outputs or {}))
    sampled = states(system, COMPARED)
    notes = _notes(mechanics, words)
    equations = augmented(system, stabilisation, _has_work(system, sampled) if work is None else work)
    if isinstance(formed, KanesMethod) and formed._fr is not None and formed._frstar is not None:
        notes.append(_compare(equations, formed.mass_matrix, formed.forcing, words, sampled))
    return replace(equations, notes=(*equations.notes, *notes))


def _defaults(name: str, start: Mapping[Any, float], states: Iterable[str]) -> dict[str, float]:
    from draisine.program.expression import closest

    defaults = {plain(s): float(value) for s, value in start.items()}
    known = list(states)
    for word in defaults:
        if word not in known:
            raise ModelError(f"{name}: start gives {word!r}, which is neither a coordinate nor a speed{closest(word, known)}")
    return defaults


def _check_outputs(name: str, outputs: Mapping[str, Any], taken: Iterable[str]) -> None:
    twice = sorted(set(outputs) & set(taken))
    if twice:
        raise ModelError(f"{name}: the output {twice[0]!r} has the name of a state, input or parameter; rename it")


def _notes(m: Mechanics, words: Lexicon) -> list[str]:
    notes = []
    if m.loads and all(body.potential_energy == 0 for body in m.bodies):
        notes.append(
            "no body has a potential energy: the work of all loads, gravity included, counts as work done. Set "
            "body.potential_energy to see it as potential energy"
        )
    if m.auxiliary:
        names = ", ".join(words.speeds[len(m.speeds) :])
        notes.append(f"the auxiliary speeds {names} are held at zero; their multipliers are the forces in their directions")
    return notes


# ---------------------------------------------------------------- what SymPy's objects hold


def _from_kane(method: Any, name: str) -> Mechanics:
    """From a `KanesMethod`, whether or not it has formed its equations."""
    if not method.bodies:
        raise ModelError(
            f"{name}: the KanesMethod knows no bodies; call kanes_equations(bodies, loads) first, or give it bodies and forcelist"
        )
    motion = method._k_nh * method.u + method._f_nh if method._k_nh else ()
    return Mechanics(
        frame=method._inertial,
        coordinates=tuple(method.q),
        speeds=tuple(method.u),
        auxiliary=tuple(method._uaux),
        rates=method.kindiffdict(),
        bodies=tuple(method.bodies),
        loads=tuple(method.loads or ()),
        configuration=tuple(method._f_h),
        motion=tuple(motion),
    )


def _from_system(system: Any) -> Mechanics:
    """From a `System`, from its parts alone: its equations need not have been formed."""
    loads = (*system.loads, *(load for actuator in system.actuators for load in actuator.to_loads()))
    return Mechanics(
        frame=system.frame,
        coordinates=tuple(system.q),
        speeds=tuple(system.u),
        auxiliary=tuple(system.u_aux),
        rates=_rates(system),
        bodies=tuple(system.bodies),
        loads=loads,
        configuration=tuple(system.holonomic_constraints),
        motion=tuple(system.velocity_constraints),
    )


def _rates(system: Any) -> dict[Any, Any]:
    """q̇ by the kinematic differential equations; a speed that is itself a derivative needs none."""
    from sympy.physics.mechanics import KanesMethod

    own = {q.diff(): q.diff() for q in system.q if q.diff() in set(system.u)}
    others = [q for q in system.q if q.diff() not in own]
    if not others:
        return own
    speeds = [u for u in system.u if u not in own]
    equations = [k for k in system.kdes if k != 0]
    auxiliary = tuple(system.u_aux) or None
    return own | KanesMethod(system.frame, others, speeds, kd_eqs=equations, u_auxiliary=auxiliary).kindiffdict()


# ---------------------------------------------------------------- Lagrange


def _from_lagrange(
    method: Any,
    name: str,
    parameters: Mapping[Any, float],
    inputs: Sequence[Any],
    outputs: Mapping[str, Any],
    start: Mapping[Any, float],
    stabilisation: Baumgarte | None,
    work: bool,
) -> Equations:
    """From a `LagrangesMethod`: its Lagrangian, constraints and loads go the road of `lagrangian`."""
    coordinates = list(method.q)
    count = len(method._hol_coneqs)
    parts = {
        "lagrangian": [method._L[0]],
        "holonomic": list(method._hol_coneqs),
        "nonholonomic": list(method.coneqs)[count:],
        "forces": _generalised_forces(method),
        "outputs": list(outputs.values()),
    }
    own = [*coordinates, *(q.diff() for q in coordinates)]
    words = _Words(name, own, inputs, parameters, [e for part in parts.values() for e in part])
    parts = {part: [e.xreplace(words.merged) if words.merged else e for e in items] for part, items in parts.items()}
    _check_outputs(name, outputs, [plain(s) for s in (*own, *inputs, *parameters)])
    defaults = _defaults(name, start, [plain(q) for q in coordinates])
    equations = lagrangian(
        name,
        coordinates,
        parts["lagrangian"][0],
        forces={q: f for q, f in zip(coordinates, parts["forces"], strict=True) if f != 0},
        holonomic=parts["holonomic"],
        nonholonomic=parts["nonholonomic"],
        parameters=words.parameters,
        inputs=words.inputs,
        outputs=dict(zip(outputs, parts["outputs"], strict=True)),
        start={q: defaults.get(plain(q), 0.0) for q in coordinates},
        stabilisation=stabilisation,
        work=work or any(f != 0 for f in parts["forces"]),
    )
    if method.eom is None:
        return equations
    lexicon = Lexicon(name, coordinates, own[len(coordinates) :], inputs, parameters)
    note = _compare(equations, method.mass_matrix, method.forcing, lexicon, _near_the_start(equations))
    return replace(equations, notes=(*equations.notes, note))


def _near_the_start(equations: Equations) -> list[State]:
    """Random states; the two derivations must agree whether or not the constraints hold."""
    rng = np.random.default_rng(1788)
    q, n, m = np.array([c.default for c in equations.coordinates]), len(equations.velocities), len(equations.inputs)
    return [
        State(float(rng.uniform()), q + rng.uniform(-0.5, 0.5, q.size), rng.normal(size=n), rng.normal(size=m))
        for _ in range(COMPARED)
    ]


def _generalised_forces(method: Any) -> list[Any]:
    """Of the forces at points and torques on frames, by their velocities' derivatives with respect to q̇."""
    from sympy.physics.mechanics import ReferenceFrame

    forces = [0] * len(method.q)
    for place, vector in method.forcelist or ():
        turning = isinstance(place, ReferenceFrame)
        velocity = place.ang_vel_in(method.inertial) if turning else place.vel(method.inertial)
        for i, q in enumerate(method.q):
            forces[i] += velocity.diff(q.diff(), method.inertial).dot(vector)
    return forces


class _Words:
    """Constants and inputs of a Lagrangian by name: one symbol each, whatever assumptions it was made with."""

    def __init__(
        self, name: str, states: Sequence[Any], inputs: Sequence[Any], parameters: Mapping[Any, float], expressions: Iterable[Any]
    ) -> None:
        import sympy
        from sympy.physics.vector import dynamicsymbols

        met: dict[str, Any] = {}
        self.merged: dict[Any, Any] = {}
        known = {*states, dynamicsymbols._t}
        for leaf in sorted((s for s in leaves(map(sympy.sympify, expressions)) if s not in known), key=str):
            first = met.setdefault(plain(leaf), leaf)
            if first != leaf:
                self.merged[leaf] = first
        declared = {plain(s) for s in (*inputs, *parameters)}
        missing = [n for n in sorted(met) if n not in declared and not isinstance(met[n], sympy.Derivative)]
        constants = [n for n in missing if isinstance(met[n], sympy.Symbol)]
        functions = [n for n in missing if n not in constants]
        said = [f"constants without a value: {', '.join(constants)}; give each a default: parameters={{symbol or name: value}}"]
        said += [
            f"functions of time that are not coordinates: {', '.join(functions)}; declare them with inputs=[…], or give them "
            "values in parameters"
        ]
        if missing:
            raise ModelError(f"{name} has " + "; and ".join(s for s, n in zip(said, (constants, functions), strict=True) if n))
        self.parameters = {met.get(plain(s), sympy.Symbol(plain(s))): float(value) for s, value in parameters.items()}
        self.inputs = [met.get(plain(s), sympy.Symbol(plain(s))) for s in inputs]


# ---------------------------------------------------------------- energy balance, and the second derivation


def _has_work(system: SecondOrder, sampled: Sequence[State]) -> bool:
    """Whether anything but potential energies does work: loads, or constraints that move by themselves."""
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


def _compare(equations: Equations, matrix: Any, side: Any, words: Lexicon, sampled: Sequence[State]) -> str:
    """SymPy's matrix · (accelerations, multipliers) = side at those found here; the difference, or an error if not rounding."""
    rows, columns = matrix.shape
    lowered = words.lower(list(matrix.T), "the mass matrix"), words.lower(list(side), "the forcing")  # by columns
    loose = ca.vertcat(ca.SX(0, 1), *words.loose.values())
    evaluate = ca.Function("sympy", [words.t, words.q, words.v, words.u, words.p, loose], list(lowered))
    names = [slot.name for slot in equations.report.outputs]
    p, none = equations.default_parameters, np.zeros(loose.numel())
    worst, where, compared = 0.0, "", 0
    for s in sampled:
        m, f = (part.full() for part in evaluate(s.t, s.q, s.v, s.u, p, none))
        m, f = m.reshape(rows, columns, order="F"), f[:, 0]
        if not (np.isfinite(m).all() and np.isfinite(f).all()):
            continue
        x = np.concatenate([s.q, s.v, np.zeros(len(equations.extra_states))])
        told = dict(zip(names, equations.report([s.t], x, s.u, p), strict=True))
        found = np.concatenate([told["vdot"], told["multipliers"]])[:columns]
        scale = np.abs(m) @ np.abs(found) + np.abs(f)
        error = float(np.max(np.abs(m @ found - f) / np.maximum(scale, 1e-300), initial=0.0))
        compared += 1
        if error > worst:
            place = dict(zip((*words.coordinates, *words.speeds), (*s.q, *s.v), strict=True))
            worst, where = error, ", ".join(f"{n} = {value:.4g}" for n, value in place.items())
    if not compared:
        return "SymPy's own equations are not finite at the states tried (a pivot vanished there) and were not compared"
    if worst > AGREEMENT:
        raise ModelError(
            f"{words.name}: the equations formed by SymPy and those derived here from the same bodies, loads and constraints "
            f"disagree by {worst:.1e} at {where}. Usual causes: an acceleration, angular acceleration or acceleration constraint "
            "set by hand that is not the derivative of its velocity, or an angular velocity that is not that of its frame"
        )
    return f"SymPy's own equations agree with these to {worst:.0e} at {compared} random states"
