"""Conservative mechanisms for symplectic methods: RATTLE's equations of one step, and coordinates with momenta.

With L = ½ vᵀM(q)v − V(q) and momenta p = M v, one step of RATTLE in L. Jay's form for any mass matrix (E. Hairer, C. Lubich and
G. Wanner, Geometric Numerical Integration, 2nd ed., Springer 2006, VII.1.4, eq. 1.26) is, in velocities w₀ and w₁ that have the
same momenta at both ends,

    M(q₀) w₀ = M(q₀) v₀ + ½h (L_q(q₀, w₀) + A(q₀)ᵀλ),   M(q₁) w₁ = M(q₀) w₀,   q₁ = q₀ + ½h (w₀ + w₁),   f(q₁) = 0,
    M(q₁) v₁ = M(q₁) w₁ + ½h (L_q(q₁, w₁) + A(q₁)ᵀμ),   A(q₁) v₁ = 0.

The first line is solved for w₀, w₁, λ by Newton's method, the second is linear in v₁, μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from draisine.dynamics.dae.stabilization.unreduced import UnreducedSystem, at_state
from draisine.errors import ModelError
from draisine.program.equations import Equations, Quantity
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

_ENOUGH = 0.02  # part of q/h added to the scale of the velocities: 1e4 rounding errors above the tolerance of Newton's method
_TRIES = 4  # random states at which forces are compared with those of T − V


@dataclass(frozen=True, eq=False)
class RattleStep:
    """One step as programs of (guess, q, v, h, p), the guess being z = (w₀, w₁, h λ).

    - `drift`: Newton's method for z, to rounding: → `z_new`, not finite without convergence.
    - `kick`: the final velocities: → `q_new`, `v_new`.
    """

    drift: LinearSolveProgram
    kick: LinearSolveProgram
    coordinates: int
    rows: int


@lru_cache(maxsize=16)
def rattle_step(equations: Equations) -> RattleStep:
    """RATTLE for unreduced equations; raises where it does not apply."""
    system = UnreducedSystem(equations)
    _check_conservative(system, "RATTLE")
    n, m = len(equations.velocities), system.row_count
    q, v, h = ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("h")
    p = system.symbols[3]
    mass, gradient, rows, positions = _functions(system)
    z = ca.SX.sym("z", 2 * n + m)
    w0, w1, impulse = ca.vertsplit(z, [0, n, 2 * n, 2 * n + m])  # impulse of the constraints, h λ
    end = q + h / 2 * (w0 + w1)
    momentum = mass(q, p) @ w0
    residual = ca.vertcat(
        momentum - mass(q, p) @ v - (h * gradient(q, w0, p) + rows(q, p).T @ impulse) / 2,
        mass(end, p) @ w1 - momentum,
        positions(end, p),
    )
    labels = [c.name for c in equations.coordinates]
    slots: Slots = {
        "guess": z,
        "q": (q, labels),
        "v": (v, [s.name for s in equations.velocities]),
        "h": (h, ["h"]),
        "p": (p, [s.name for s in equations.parameters]),
    }
    # Newton's method stops when z changes little relative to its size. Positions are known to rounding only, hence velocities to
    # that part of q/h: the added scale keeps the tolerance attainable for slow motions and short steps
    least = _ENOUGH * ca.sqrt(1 + ca.sumsqr(q)) / h
    solution = ca.SX.sym("solution", z.numel() + 1)
    equation = ca.vertcat(ca.substitute(-residual, z, solution[:-1]), least - solution[-1])
    nothing = ca.SX(solution.numel(), solution.numel())
    name = equations.name
    drift = LinearSolveProgram.build(
        f"{name}_rattle", slots, nothing, equation, solution, {"z_new": solution[:-1]}, start=ca.vertcat(z, least)
    )
    matrix = ca.vertcat(
        ca.horzcat(mass(end, p), -h / 2 * rows(end, p).T),
        ca.horzcat(rows(end, p), ca.SX(m, m)),
    )
    side = ca.vertcat(mass(end, p) @ w1 + h / 2 * gradient(end, w1, p), ca.SX.zeros(m))
    new = ca.SX.sym("new", n + m)
    kick = LinearSolveProgram.build(f"{name}_rattle_end", slots, matrix, side, new, {"q_new": end, "v_new": new[:n]})
    return RattleStep(drift, kick, n, m)


def _functions(system: UnreducedSystem) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
    """M(q), L_q(q, v), A(q) and f(q), with parameters; no time, no inputs."""
    t, _, u, p = system.symbols
    q, v, rest = system.parts
    gone = ca.vertcat(t, u, rest)
    kinetic, potential = system.energies
    still = [system.mass, ca.gradient(kinetic - potential, q), system.rows, ca.densify(system.residuals[0])]
    mass, gradient, rows, positions = ca.substitute(still, [gone], [ca.SX.zeros(gone.numel())])
    return (
        ca.Function("mass", [q, p], [mass]),
        ca.Function("gradient", [q, v, p], [gradient]),
        ca.Function("rows", [q, p], [rows]),
        ca.Function("places", [q, p], [positions]),
    )


def _check_conservative(system: UnreducedSystem, who: str) -> None:
    """Raise if forces do not derive from T − V, or if the system depends on time."""
    e = system.equations
    system.check_holonomic(f"{who} is", "use Reduced() or Projection()")
    system.check_plain_forces(f"{who} is", "use Projection()")
    t, _, u, p = system.symbols
    q, v, rest = system.parts
    kinetic, potential = system.energies
    if ca.depends_on(ca.vertcat(kinetic, potential, system.residuals[0]), t):
        raise ModelError(f"{e.name}: {who} needs a conserved energy, but masses, forces or constraints depend on time")
    momentum = ca.gradient(kinetic, v)
    free = ca.gradient(kinetic - potential, q) - ca.jtimes(momentum, q, v)
    compared = ca.Function("compared", [t, q, v, rest, u, p], [system.force, free, system.mass @ v, momentum])
    random = np.random.default_rng(3)
    default = np.array([c.default for c in e.coordinates])
    for _ in range(_TRIES):
        state = default + 0.1 * random.normal(size=len(default)), random.normal(size=v.numel())
        reported = compared(0.7, *state, np.zeros(rest.numel()), np.zeros(u.numel()), e.default_parameters)
        force, expected, moved, impulse = (np.array(m.full())[:, 0] for m in reported)
        for given, reference in ((force, expected), (moved, impulse)):
            if not np.allclose(given, reference, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(reference)))):
                worst = int(np.argmax(np.abs(given - reference)))
                raise ModelError(
                    f"{e.name}: {who} is for conservative mechanisms, but forces on {e.coordinates[worst].name!r} do not "
                    "derive from its energies (dampers, laws of inputs, gyroscopic forces); use Projection()"
                )


# ---------------------------------------------------------------- coordinates and momenta


@dataclass(frozen=True, eq=False)
class Momenta:
    """A mechanism without constraints in coordinates and momenta, with the maps between velocities and momenta."""

    equations: Equations
    to_momenta: Program  # (q, v, p) → momenta
    to_velocities: Program  # (q, momenta, p) → v


@lru_cache(maxsize=16)
def in_momenta(equations: Equations) -> Momenta:
    """q̇ = M⁻¹p, ṗ = L_q(q, M⁻¹p), of first order, for which Gauss–Legendre methods are symplectic."""
    system = UnreducedSystem(equations)
    if system.row_count or system.nonholonomic:
        name = (system.nonholonomic or [c.name for c in equations.constraints])[0]
        cure = "use Reduced() or Projection()" if system.nonholonomic else "Rattle() is symplectic with holonomic constraints"
        raise ModelError(f"{equations.name}: Gauss–Legendre is symplectic without constraints, but {name} is one; {cure}")
    _check_conservative(system, "a symplectic method")
    n = len(equations.velocities)
    mass, gradient, _, _ = _functions(system)
    t, _, u, p = system.symbols
    q, momenta, v = ca.SX.sym("q", n), ca.SX.sym("momenta", n), ca.SX.sym("v", n)
    speed = ca.solve(mass(q, p), momenta)
    names = [f"{c.name}_momentum" for c in equations.coordinates]
    labels = [*(c.name for c in equations.coordinates), *names]
    parameters = [s.name for s in equations.parameters]
    slots: Slots = {
        "t": (t, ["t"]),
        "x": (ca.vertcat(q, momenta), labels),
        "u": (u, [i.name for i in equations.inputs]),
        "p": (p, parameters),
    }
    rates = ca.vertcat(speed, gradient(q, speed, p))
    rest = ca.SX.zeros(len(equations.extra_states))  # constant in a conservative mechanism
    nothing = ca.SX(0, 1)
    empty: Slots = dict.fromkeys(("v", "multipliers", "outputs", "residuals", "power", "inputs"), nothing)
    motion: Slots = {"t": t, "q": (slots["x"]), "v": nothing, "u": slots["u"], "p": slots["p"]}
    made = Equations(
        name=equations.name,
        coordinates=(*equations.coordinates, *(Quantity(name) for name in names)),
        velocities=(),
        independent=(),
        inputs=equations.inputs,
        parameters=equations.parameters,
        multipliers=(),
        outputs=(),
        force_outputs=frozenset(),
        constraints=(),
        dynamics=Program.build(f"{equations.name}_hamilton", slots, {"xdot": (rates, [f"d{s}/dt" for s in labels])}),
        report=Program.build(f"{equations.name}_report", slots, empty),
        motion=Program.build(f"{equations.name}_motion", motion, {"residuals": nothing, "outputs": nothing}),
        events=None if equations.events is None else at_state(equations.events, slots, [t, ca.vertcat(q, speed, rest), u, p]),
        event_list=equations.event_list,
        notes=("in coordinates and momenta, for symplectic methods",),
    )
    return Momenta(
        made,
        Program.build(f"{equations.name}_momenta", {"q": q, "v": v, "p": p}, {"momenta": (mass(q, p) @ v, names)}),
        Program.build(f"{equations.name}_speeds", {"q": q, "momenta": momenta, "p": p}, {"v": speed}),
    )
